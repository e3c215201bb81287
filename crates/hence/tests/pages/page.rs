//! One page: its files, its console blocks, and the comparison of what they print.

use std::path::Path;

use super::shell::{Folder, Printed};

/// The result of executing a page.
pub(crate) struct Outcome {
    /// The page with the output of this build where it differs.
    pub(crate) text: String,
    /// The places where it differs.
    pub(crate) findings: Vec<String>,
    /// The number of executed commands.
    pub(crate) commands: usize,
}

/// A command of a console block, with the lines the page shows for it.
struct Entry<'a> {
    line: usize,
    command: Vec<&'a str>,
    shown: Vec<&'a str>,
}

/// Executes the console blocks of a page.
pub(crate) fn execute(name: &str, text: &str, repository: &Path) -> Outcome {
    let mut folder = Folder::new(repository);
    let lines: Vec<&str> = text.lines().collect();
    if let Some(reply) = lines.iter().find_map(|line| model_comment(line)) {
        folder.serve_model(reply);
    }
    let mut outcome = Outcome { text: String::new(), findings: Vec::new(), commands: 0 };
    let mut at = 0;
    while at < lines.len() {
        let fence = lines[at].trim_start();
        let file = at.checked_sub(1).and_then(|before| file_comment(lines[before]));
        push(&mut outcome.text, lines[at]);
        at += 1;
        let Some(language) = fence.strip_prefix("```") else { continue };
        let end = (at..lines.len()).find(|line| lines[*line].trim_end() == "```").unwrap_or(lines.len());
        let body = &lines[at..end];
        if let Some(file) = file {
            folder.write(file, &format!("{}\n", body.join("\n")));
        }
        if language == "console" {
            for entry in entries(body, at + 1) {
                compare(name, &entry, &folder.run(&entry.command.join("\n")), &mut outcome);
            }
        } else {
            body.iter().for_each(|line| push(&mut outcome.text, line));
        }
        if end < lines.len() {
            push(&mut outcome.text, lines[end]);
        }
        at = end + 1;
    }
    outcome
}

/// Returns the reply of the scripted model that a page asks, if this is the comment about it.
fn model_comment(line: &str) -> Option<&str> {
    line.trim().strip_prefix("<!-- model says: ")?.strip_suffix(" -->")
}

/// Returns the name of the file that the block after this comment holds.
fn file_comment(line: &str) -> Option<&str> {
    line.trim().strip_prefix("<!-- file: ")?.strip_suffix(" -->")
}

/// Splits a console block into commands. A backslash at the end of a line continues the command.
fn entries<'a>(body: &[&'a str], first: usize) -> Vec<Entry<'a>> {
    let mut entries: Vec<Entry<'a>> = Vec::new();
    let mut continues = false;
    for (offset, line) in body.iter().enumerate() {
        if let Some(command) = line.strip_prefix("$ ") {
            entries.push(Entry { line: first + offset, command: vec![command], shown: Vec::new() });
            continues = command.ends_with('\\');
        } else if let Some(entry) = entries.last_mut() {
            if continues {
                entry.command.push(line);
                continues = line.ends_with('\\');
            } else {
                entry.shown.push(line);
            }
        } else {
            panic!("line {}: a console block begins with `$ `", first + offset);
        }
    }
    entries
}

fn compare(name: &str, entry: &Entry<'_>, printed: &Printed, outcome: &mut Outcome) {
    outcome.commands += 1;
    let mut found: Vec<String> = printed.text.lines().map(|line| line.trim_end().to_owned()).collect();
    if printed.code != 0 {
        found.push(format!("[exit {}]", printed.code));
    }
    let mut shown = entry.shown.clone();
    while shown.last().is_some_and(|line| line.trim().is_empty()) {
        shown.pop();
    }
    push(&mut outcome.text, &format!("$ {}", entry.command.join("\n")));
    if matches(&shown, &found) {
        entry.shown.iter().for_each(|line| push(&mut outcome.text, line));
        return;
    }
    outcome.findings.push(format!(
        "{name}:{}: `{}` prints something else\n--- the page\n{}\n--- this build\n{}\n",
        entry.line,
        entry.command.join(" "),
        shown.join("\n"),
        found.join("\n")
    ));
    found.iter().for_each(|line| push(&mut outcome.text, &hide_changing(line)));
}

/// Returns whether printed lines match the lines of a page.
fn matches(shown: &[&str], found: &[String]) -> bool {
    match shown.split_first() {
        None => found.is_empty(),
        Some((&"…", rest)) => (0..=found.len()).any(|skipped| matches(rest, &found[skipped..])),
        Some((line, rest)) => found
            .split_first()
            .is_some_and(|(first, others)| line_matches(line, first) && matches(rest, others)),
    }
}

/// Returns whether a line matches; `…` stands for anything.
fn line_matches(shown: &str, found: &str) -> bool {
    match shown.trim_end().split_once('…') {
        None => shown.trim_end() == found,
        Some((before, after)) => found.strip_prefix(before).is_some_and(|rest| {
            let places = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            places.into_iter().any(|at| line_matches(after, &rest[at..]))
        }),
    }
}

/// Puts an ellipsis in place of digests and measured times and durations, which differ from run to run.
fn hide_changing(line: &str) -> String {
    let mut hidden = String::new();
    let mut rest = line;
    while let Some(next) = rest.chars().next() {
        let after_word = hidden.ends_with(|c: char| c.is_ascii_alphanumeric());
        let hidden_bytes = if after_word { 0 } else { changing_bytes(rest) };
        if hidden_bytes > 0 {
            hidden.push('…');
            rest = rest[hidden_bytes..].trim_start_matches('…');
        } else {
            hidden.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    hidden
}

/// Returns the length of the digest, date or duration at the beginning of a text, or 0.
fn changing_bytes(text: &str) -> usize {
    let digest = text.find(|c| !matches!(c, '0'..='9' | 'a'..='f')).unwrap_or(text.len());
    if digest >= 12 {
        return digest;
    }
    let date = text.find(|c: char| !(c.is_ascii_digit() || "-T:.Z".contains(c))).unwrap_or(text.len());
    if text.starts_with("20") && text[..date].contains('T') && text[..date].contains('-') {
        return date;
    }
    let number = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let unit = text[number..].trim_start();
    let is_duration = number > 0
        && ["ms", "s"].iter().any(|unit_name| {
            unit.strip_prefix(unit_name)
                .is_some_and(|after| !after.starts_with(|c: char| c.is_ascii_alphanumeric()))
        });
    if is_duration && text[number..].starts_with(' ') { number } else { 0 }
}

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

#[test]
fn an_ellipsis_stands_for_text_within_a_line_and_for_whole_lines() {
    let found = ["one 1 ms".to_owned(), "two".to_owned(), "three".to_owned()];
    assert!(matches(&["one … ms", "…", "three"], &found));
    assert!(matches(&["…"], &found));
    assert!(!matches(&["one … s", "two", "three"], &found));
    assert!(!matches(&["one 1 ms", "two"], &found));
}
