//! `hence check`: all findings about a skill or a problem, each with its place.

mod other;
mod problem;

use hence_canon::{JsonPointer, Position, Value};
use hence_capabilities::Library;
use hence_cognition::skill::{Rule, Severity, SkillFinding};
use hence_yaml::{Span, YamlError, YamlErrorKind};

use crate::args::skill::CheckArgs;
use crate::input;
use crate::prelude::*;
use crate::skills::{Calls, FileFinding, ReferencedFiles, SkillDocument};
use crate::terminal;

/// The number of characters shown of a line.
const LINE_CHARACTERS_MAX: usize = 160;

/// The findings about a skill or a problem.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CheckReport {
    /// The file.
    file: String,
    /// True if it can run.
    runs: bool,
    /// The number of findings that prevent it from running.
    errors: usize,
    /// The number of other findings.
    warnings: usize,
    /// All findings in the order of the file.
    findings: Vec<FindingRow>,
}

/// One finding.
#[derive(Serialize, JsonSchema)]
struct FindingRow {
    /// `error` or `warning`.
    severity: &'static str,
    /// The rule that is broken.
    rule: String,
    /// The expected and the found value, in words.
    message: String,
    /// The place in the document, as a JSON pointer.
    pointer: String,
    /// The line, from 1.
    line: usize,
    /// The column, from 1.
    column: usize,
    /// The number of characters concerned on that line.
    width: usize,
    /// The line's text.
    source: String,
}

impl Text for CheckReport {
    fn text(&self) -> String {
        let file = escape(&self.file);
        let mut text = String::new();
        for finding in &self.findings {
            let FindingRow { severity, rule, line, column, .. } = finding;
            let gutter = " ".repeat(line.to_string().len());
            let room = terminal::width().map(|width| width.saturating_sub(gutter.len() + 3));
            let room = room.unwrap_or(LINE_CHARACTERS_MAX).min(LINE_CHARACTERS_MAX);
            let Excerpt { source, before, carets } =
                Excerpt::of(&finding.source, *column, finding.width, room);
            text.push_str(&format!(
                "{severity}[{rule}]: {}\n{gutter}--> {file}:{line}:{column}\n{gutter} |\n{line} | {source}\n{gutter} | {before}{carets}\n\n",
                escape(&finding.message)
            ));
        }
        let count =
            |count: usize, thing: &str| format!("{count} {thing}{}", if count == 1 { "" } else { "s" });
        let verdict = if self.runs { "can run" } else { "cannot run" };
        text + &format!(
            "{file}: {verdict}; {}, {}",
            count(self.errors, "error"),
            count(self.warnings, "warning")
        )
    }
}

impl CheckReport {
    /// Prints the report. With `--quiet` a text has no warnings, only their number.
    fn print(mut self, context: &Context) -> Result<(), CliError> {
        if context.is_quiet() && !context.is_json() {
            self.findings.retain(|finding| finding.severity == "error");
        }
        context.print(&self)
    }
}

/// The part of a line that a finding is about, as wide as the terminal.
struct Excerpt {
    source: String,
    before: String,
    carets: String,
}

impl Excerpt {
    fn of(source: &str, column: usize, width: usize, room: usize) -> Self {
        let source: Vec<char> = source.chars().map(visible).collect();
        let at = column.saturating_sub(1).min(source.len());
        // The beginning of a line says most; it goes only if the place would not be seen otherwise.
        let end = (at + width.max(1)).min(source.len());
        let start = if end <= room { 0 } else { at.saturating_sub(room / 4) };
        let mut shown: Vec<char> = source.iter().copied().skip(start).take(room).collect();
        if let Some(first) = shown.first_mut().filter(|_| start > 0) {
            *first = '…';
        }
        if let Some(last) = shown.last_mut().filter(|_| source.len() > start + room) {
            *last = '…';
        }
        let left = (shown.len() + start).saturating_sub(at).max(1);
        Self {
            source: shown.into_iter().collect(),
            before: " ".repeat(at - start),
            carets: "^".repeat(width.clamp(1, left)),
        }
    }
}

/// Replaces a character that would move the caret or control the terminal by one visible character.
fn visible(c: char) -> char {
    if c == '\t' {
        ' '
    } else if escape(&c.to_string()).chars().count() == 1 {
        c
    } else {
        '\u{fffd}'
    }
}

pub(super) fn run(context: &Context, args: &CheckArgs) -> Result<Exit, CliError> {
    let bytes = input::read_parsable(&args.document, Code::NotJson)?;
    if problem::is_problem(&bytes) {
        return problem::run(context, args, &bytes);
    }
    if let Some(kind) = other::kind_of(&args.document, &bytes)? {
        return other::run(context, args, &bytes, kind);
    }
    let ReferencedFiles { library, findings: files, calls } =
        ReferencedFiles::read(&args.document, &bytes, &args.capabilities, &args.nested)?;
    let document = SkillDocument::read(&args.document, &bytes, &library)?;
    // A capabilities file that cannot be read may declare any name, so unknown names are not reported then.
    let is_reported = |found: &&SkillFinding| calls == Calls::Known || found.rule != Rule::UnknownCapability;
    let mut findings: Vec<FindingRow> = files.iter().map(|finding| file_row(&document, finding)).collect();
    findings.extend(document.findings.iter().filter(is_reported).map(|found| row(&document, found)));
    findings.extend(document.document.repeated().iter().map(|twice| repeated_row(&document, twice)));
    findings.extend(unbound_rows(&document, &library));
    findings.sort_by_key(|finding| (finding.line, finding.column));
    let errors = findings.iter().filter(|finding| finding.severity == "error").count();
    let warnings = findings.len() - errors;
    CheckReport { file: document.name, runs: errors == 0, errors, warnings, findings }.print(context)?;
    Ok(if errors == 0 { Exit::Yes } else { Exit::No })
}

/// Returns a warning for each use of a capability that has a contract and no provider.
fn unbound_rows(document: &SkillDocument, library: &Library) -> Vec<FindingRow> {
    let mut rows = Vec::new();
    let mut left = vec![(JsonPointer::root(), document.document.value())];
    while let Some((place, value)) = left.pop() {
        let members = value.as_object().into_iter().flat_map(|object| object.iter());
        left.extend(members.map(|(key, member)| (place.child(key), member)));
        let items = value.as_array().unwrap_or_default().iter().enumerate();
        left.extend(items.map(|(index, item)| (place.child(index), item)));
        let Some(uses) = value.get("uses").and_then(Value::as_str) else { continue };
        if library.declarations().get(uses).is_some_and(|declared| !declared.provider.is_bound()) {
            let pointer = place.child("uses");
            let message = format!("`{uses}` has a contract and no provider: a call of it fails");
            let span = document.document.place(&pointer).value;
            rows.push(row_at(document, &pointer, span, ("warning", "unbound".to_owned(), message)));
        }
    }
    rows
}

fn row(document: &SkillDocument, found: &SkillFinding) -> FindingRow {
    let severity = match found.rule.severity() {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let finding = (severity, found.rule.to_string(), found.message.clone());
    row_at(document, &found.pointer, span(document, found), finding)
}

/// Returns the finding about a file that the skill names, at the place of the name.
fn file_row(document: &SkillDocument, finding: &FileFinding) -> FindingRow {
    let FileFinding { rule, pointer, message } = finding;
    let place = document.document.place(pointer);
    let is_line = place.value.start.line == place.value.end.line;
    let span = if is_line { place.value } else { place.head() };
    row_at(document, pointer, span, ("error", (*rule).to_owned(), message.clone()))
}

/// Returns the finding about a key that occurs a second time, at that place.
fn repeated_row(document: &SkillDocument, twice: &YamlError) -> FindingRow {
    let start = twice.position;
    let width = match &twice.kind {
        YamlErrorKind::DuplicateKey(key) => key.chars().count(),
        _ => 1,
    };
    let end = Position { offset: start.offset, line: start.line, column: start.column + width };
    let finding = ("error", "duplicate-key".to_owned(), twice.kind.to_string());
    row_at(document, &JsonPointer::root(), Span { start, end }, finding)
}

fn row_at(
    document: &SkillDocument,
    pointer: &JsonPointer,
    span: Span,
    (severity, rule, message): (&'static str, String, String),
) -> FindingRow {
    let source = document.text.lines().nth(span.start.line.saturating_sub(1)).unwrap_or_default();
    let width = if span.end.line == span.start.line {
        span.end.column.saturating_sub(span.start.column)
    } else {
        (source.trim_end().chars().count() + 1).saturating_sub(span.start.column)
    };
    FindingRow {
        severity,
        rule,
        message,
        pointer: pointer.to_string(),
        line: span.start.line,
        column: span.start.column,
        width,
        source: source.to_owned(),
    }
}

/// Returns the span to underline: the key for findings about a whole member, else the value.
fn span(document: &SkillDocument, found: &SkillFinding) -> Span {
    let place = document.document.place(&found.pointer);
    let is_there = document.document.value().pointer(&found.pointer).is_some();
    let is_about_key = matches!(found.rule, Rule::UnknownKey | Rule::Alias);
    if is_there && !is_about_key && place.value.start.line == place.value.end.line {
        place.value
    } else {
        place.head()
    }
}

#[cfg(test)]
mod tests {
    use super::Excerpt;

    #[test]
    fn the_place_of_a_finding_is_seen_however_long_its_line_is() {
        let line = "0123456789abcdefghij";
        for room in 8..30 {
            for column in 1..=21 {
                let Excerpt { source, before, carets } = Excerpt::of(line, column, 2, room);
                assert!(source.chars().count() <= room, "{room} {column}");
                let marked = source.chars().nth(before.len()).filter(|c| *c != '…');
                let expected = line.chars().nth(column - 1);
                assert!(
                    marked == expected || source.ends_with('…'),
                    "{room} {column}: {source} {before}{carets}"
                );
                assert!(!carets.is_empty() && before.len() <= room, "{room} {column}");
            }
        }
        let whole = Excerpt::of(line, 3, 2, 40);
        assert_eq!((whole.source.as_str(), whole.before.len(), whole.carets.as_str()), (line, 2, "^^"));
    }
}
