//! Help: the commands by task, and what stands after the options of a command, made to fit the terminal.

use clap::builder::StyledStr;
use clap::{Command, CommandFactory as _};

use crate::args::Args;
use crate::layout::{display_width, wrap};
use crate::terminal;

/// The widest help, which is easier to read than a wider one.
const COLUMNS_MAX: usize = 100;

/// The commands by task. A command that is in no group is listed at the end.
const GROUPS: &[(&str, &[&str])] = &[
    ("Begin with", &["new", "check", "run", "runs", "show", "why", "answer", "verify", "import", "view"]),
    ("Run", &["solve", "task", "resume", "retry", "fork", "checkpoint", "rollback", "replay"]),
    ("Fleet", &["submit", "worker", "queue", "fleet", "cancel"]),
    ("Inspect", &["log", "watch", "state", "blame", "impact", "diff", "stats"]),
    ("Review", &["trace", "review"]),
    ("Rules", &["policy", "capabilities"]),
    ("Variables", &["vars", "repl"]),
    ("Store", &["init", "export", "store", "doctor", "gc", "rm", "serve", "hash"]),
    ("Help", &["explain", "schema", "completions", "man", "help"]),
];

/// Returns the command line with its help.
pub(crate) fn command() -> Command {
    let mut command = Args::command();
    command.build();
    let listed = listed(&command);
    fit_epilogues(Args::command()).help_template(StyledStr::from(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{listed}\nOptions:\n{{options}}{{after-help}}"
    )))
}

/// Lists the commands by group, each with the first line of its help.
fn listed(command: &Command) -> String {
    let all: Vec<(&str, String)> = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| (command.get_name(), command.get_about().map(ToString::to_string).unwrap_or_default()))
        .collect();
    let width = all.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let columns = columns();
    let indent = width + 4;
    let line = |(name, about): &(&str, String)| {
        format!("  {name:width$}  {}\n", wrap(about, columns.checked_sub(indent), indent))
    };
    let mut text = String::new();
    for (title, names) in GROUPS {
        let found = names.iter().filter_map(|name| all.iter().find(|(known, _)| known == name));
        let lines: String = found.map(line).collect();
        if !lines.is_empty() {
            text.push_str(&format!("\n{title}:\n{lines}"));
        }
    }
    let is_grouped = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let others: String = all.iter().filter(|(name, _)| !is_grouped(name)).map(line).collect();
    if !others.is_empty() {
        text.push_str(&format!("\nMore:\n{others}"));
    }
    text
}

/// Returns the columns of help.
fn columns() -> usize {
    terminal::find_width().unwrap_or(COLUMNS_MAX).min(COLUMNS_MAX)
}

/// Makes what follows the options of a command and of all its subcommands fit the terminal.
fn fit_epilogues(command: Command) -> Command {
    let epilogue = command.get_after_help().map(|text| fit(&text.to_string(), columns()));
    let command = match epilogue {
        Some(text) => command.after_help(text),
        None => command,
    };
    command.mut_subcommands(fit_epilogues)
}

/// Makes a text fit: the lines of a paragraph are joined, for they are wrapped later, and a command that is too long is continued
/// on the next line as a shell continues it, so that it can be pasted.
fn fit(text: &str, columns: usize) -> String {
    let text = text.replace("\r", "");
    let mut fitted: Vec<String> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let mut line = line.to_owned();
        while let Some(start) = line.strip_suffix('\\') {
            let Some(next) = lines.next() else { break };
            line = format!("{} {}", start.trim_end(), next.trim_start());
        }
        match command_start(&line) {
            Some(at) => fitted.push(fit_command(&line, at, columns)),
            None => {
                while is_prose(&line)
                    && let Some(next) = lines.next_if(|next| is_prose(next) || next.ends_with(':'))
                {
                    line = format!("{line} {next}");
                }
                fitted.push(fit_row(&line, columns));
            }
        }
    }
    fitted.join("\n")
}

/// Returns where the command of an example begins in a line: after the word for it, or after an indentation.
fn command_start(line: &str) -> Option<usize> {
    const EXAMPLE: &str = "Example: ";
    match line.starts_with(EXAMPLE) {
        true => Some(EXAMPLE.len()),
        false => {
            Some(line.len() - line.trim_start().len()).filter(|indent| *indent > 0 && line.contains("hence "))
        }
    }
}

/// Returns whether a line is part of a paragraph: not empty, not indented, no heading.
fn is_prose(line: &str) -> bool {
    !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':') && !line.starts_with("Example: ")
}

/// Breaks the command that begins at a byte of a line between its words, with what a shell needs to continue it.
fn fit_command(line: &str, at: usize, columns: usize) -> String {
    if display_width(line) <= columns || line.get(at..).is_none_or(|command| command.contains("  ")) {
        return fit_row(line, columns);
    }
    let (start, command) = line.split_at(at);
    let indent = " ".repeat(display_width(start) + 4);
    let mut lines = vec![start.to_owned()];
    for (index, word) in shell_words(command).into_iter().enumerate() {
        let Some(last) = lines.last_mut() else { break };
        // Room for the blank before the word, and for what continues the line.
        if index > 0 && display_width(last) + display_width(word) + 3 > columns {
            last.push_str(" \\");
            lines.push(format!("{indent}{word}"));
        } else {
            last.push_str(if index > 0 { " " } else { "" });
            last.push_str(word);
        }
    }
    lines.join("\n")
}

/// Wraps the second column of an indented line with two columns, which at least two blanks separate.
fn fit_row(line: &str, columns: usize) -> String {
    let start = line.len() - line.trim_start().len();
    let gap = line.get(start..).and_then(|row| row.find("  "));
    let Some(gap) = gap.filter(|_| start > 0).map(|gap| start + gap) else { return line.to_owned() };
    let (first, second) = line.split_at(gap);
    let indent = display_width(line) - display_width(second.trim_start());
    let blanks = " ".repeat(indent - display_width(first));
    format!("{first}{blanks}{}", wrap(second.trim_start(), columns.checked_sub(indent), indent))
}

/// Splits a command at its blanks, except inside quotes.
fn shell_words(command: &str) -> Vec<&str> {
    let mut quote = None;
    command
        .split(|character| match (quote, character) {
            (None, '\'' | '"') => {
                quote = Some(character);
                false
            }
            (Some(open), character) if open == character => {
                quote = None;
                false
            }
            (None, ' ') => true,
            _ => false,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_too_long_can_still_be_pasted() {
        let text = "Examples:\n  hence trace act fix-41 RunTests 'Run the tests' --exit-code 0\n\nThe outcome\nfollows.";
        let expected = "Examples:\n  hence trace act fix-41 RunTests \\\n      'Run the tests' --exit-code 0\n\nThe outcome follows.";
        assert_eq!(fit(text, 42), expected);
        assert_eq!(fit(expected, 100), fit(text, 100));
    }

    #[test]
    fn no_line_of_a_command_in_help_is_wider_than_the_help() {
        fn check(command: &Command, columns: usize) {
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in fit(&text, columns).lines().filter(|line| line.contains("hence ") && !is_prose(line))
            {
                // Less room than this is not wrapped into a column.
                let has_narrow_column = columns == 60 && line.trim().contains("  ");
                assert!(
                    has_narrow_column || display_width(line) <= columns,
                    "{}: {line}",
                    command.get_name()
                );
            }
            command.get_subcommands().for_each(|command| check(command, columns));
        }
        [60, 80, 100].into_iter().for_each(|columns| check(&Args::command(), columns));
    }
}
