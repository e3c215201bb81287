//! `hence check`: everything that is wrong with a skill, each finding where it stands.

use hence_canon::JsonPointer;
use hence_cognition::skill::{Problem, Rule, Severity};
use hence_yaml::Span;

use crate::args::skill::CheckArgs;
use crate::input;
use crate::prelude::*;
use crate::skills::{Calls, FileFinding, ReferencedFiles, SkillDocument};

/// How many characters of a line are shown.
const LINE_CHARACTERS_MAX: usize = 160;

/// What was found in a skill.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CheckReport {
    /// The file.
    file: String,
    /// Whether nothing keeps the skill from running.
    runs: bool,
    /// How many findings keep it from running.
    errors: usize,
    /// How many do not.
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
    /// What was expected and what was found.
    message: String,
    /// Where in the document, as a JSON pointer.
    pointer: String,
    /// The line, from 1.
    line: usize,
    /// The column, from 1.
    column: usize,
    /// How many characters it concerns on that line.
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
            let source: String = finding.source.chars().take(LINE_CHARACTERS_MAX).map(visible).collect();
            let before = " ".repeat(column.saturating_sub(1).min(LINE_CHARACTERS_MAX));
            let room = (source.chars().count() + 1).saturating_sub(*column).max(1);
            let carets = "^".repeat(finding.width.clamp(1, room));
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

/// A character that would move the caret or drive the terminal takes one visible place instead.
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
    let bytes = input::read_document(&args.document)?;
    let ReferencedFiles { library, findings: files, calls } =
        ReferencedFiles::read(&args.document, &bytes, &args.capabilities, &args.nested)?;
    let document = SkillDocument::read(&args.document, &bytes, &library)?;
    // Of what nobody could read it cannot be said that it declares nothing of that name.
    let is_told = |problem: &&Problem| calls == Calls::Known || problem.rule != Rule::UnknownCapability;
    let mut findings: Vec<FindingRow> = files.iter().map(|finding| file_row(&document, finding)).collect();
    findings.extend(document.problems.iter().filter(is_told).map(|problem| row(&document, problem)));
    findings.sort_by_key(|finding| (finding.line, finding.column));
    let errors = findings.iter().filter(|finding| finding.severity == "error").count();
    let warnings = findings.len() - errors;
    context.print(&CheckReport { file: document.name, runs: errors == 0, errors, warnings, findings })?;
    Ok(if errors == 0 { Exit::Yes } else { Exit::No })
}

fn row(document: &SkillDocument, problem: &Problem) -> FindingRow {
    let severity = match problem.rule.severity() {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let finding = (severity, problem.rule.to_string(), problem.message.clone());
    row_at(document, &problem.pointer, span(document, problem), finding)
}

/// What is wrong with a file that the skill names, at the place where it names it.
fn file_row(document: &SkillDocument, finding: &FileFinding) -> FindingRow {
    let FileFinding { rule, pointer, message } = finding;
    let place = document.document.place(pointer);
    let is_line = place.value.start.line == place.value.end.line;
    let span = if is_line { place.value } else { place.head() };
    row_at(document, pointer, span, ("error", (*rule).to_owned(), message.clone()))
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

/// Returns what to underline: the key for what is wrong with a member as a whole, else the value.
fn span(document: &SkillDocument, problem: &Problem) -> Span {
    let place = document.document.place(&problem.pointer);
    let is_there = document.document.value().pointer(&problem.pointer).is_some();
    let is_about_key = matches!(problem.rule, Rule::UnknownKey | Rule::Alias);
    if is_there && !is_about_key && place.value.start.line == place.value.end.line {
        place.value
    } else {
        place.head()
    }
}
