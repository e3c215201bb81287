//! A skill document as written, with all findings about it.

use hence_canon::{Canonical, Value, parse};
use hence_capabilities::Library;
use hence_cognition::plan::{check, check_unplanned};
use hence_cognition::run::Prepared;
use hence_cognition::skill::{Severity, Skill, SkillFinding, with_order};
use hence_yaml::Document;

use crate::code::Code;
use crate::context::Context;
use crate::error::CliError;
use crate::hint;
use crate::input;

/// A skill document that has been read.
pub(crate) struct SkillDocument {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) document: Document,
    /// All findings, in the order of the document.
    pub(crate) findings: Vec<SkillFinding>,
}

/// Returns whether a document has the prompt of a problem. An input of a skill is declared by an object.
pub(crate) fn has_prompt(value: &Value) -> bool {
    value
        .get("inputs")
        .and_then(|inputs| inputs.get("prompt"))
        .is_some_and(|prompt| prompt.as_str().is_some())
}

/// Returns whether a document is meant to be a skill: it has steps and is no problem, or it is written in YAML.
pub(crate) fn is_skill(name: &str, bytes: &[u8]) -> bool {
    let has_steps = |value: &Value| value.get("steps").is_some() && !has_prompt(value);
    match parse(bytes) {
        Ok(value) => has_steps(&value),
        Err(_) if name.ends_with(".yaml") || name.ends_with(".yml") => true,
        Err(_) => hence_yaml::parse(bytes).is_ok_and(|document| has_steps(document.value())),
    }
}

impl SkillDocument {
    /// Reads a skill and checks it against the capabilities that exist.
    pub(crate) fn read(name: &str, bytes: &[u8], library: &Library) -> Result<Self, CliError> {
        let name = input::shown_name(name).to_owned();
        let document =
            hence_yaml::parse_repeated(bytes).map_err(|error| CliError::at(Code::NotJson, &name, error))?;
        let reading = Skill::read(document.value());
        let mut findings = reading.findings;
        // One kind of defect must not hide another, so also what is not a skill yet is checked as far as it goes.
        if let Some(skill) = reading.skill.as_ref().or(reading.unfinished.as_ref()) {
            findings.extend(super::action_types::of_skill(skill, library));
            match Prepared::of(skill, library) {
                Ok(ready) => findings.extend(check(ready.skill(), ready.plan(), Some(library))),
                Err(more) => {
                    findings.extend(more);
                    findings.extend(check_unplanned(&skill.wired(library), Some(library)));
                }
            }
        }
        // Two checks may report the same finding.
        let mut seen = std::collections::BTreeSet::new();
        findings.retain(|finding| seen.insert(finding.to_string()));
        findings.sort_by_key(|finding| document.place(&finding.pointer).head().start.offset);
        let text = String::from_utf8_lossy(bytes).into_owned();
        Ok(Self { name, text, document, findings })
    }

    /// Tells the user of warnings in one line, because a run goes on in spite of them.
    pub(crate) fn say_warnings(&self, context: &Context) {
        let is_warning = |finding: &&SkillFinding| finding.rule.severity() == Severity::Warning;
        let mut warnings = self.findings.iter().filter(is_warning);
        if let Some(first) = warnings.next() {
            let more = match warnings.count() {
                0 => String::new(),
                count => format!(", and {count} more"),
            };
            let check = hint::command(context, &["check", &self.name]);
            context
                .say(format_args!("warning: {}: {}{more}; `{check}` shows where", self.name, first.message));
        }
    }

    /// Returns the skill, if it has no errors.
    ///
    /// The skill is read from the form that the run pins, in which the order of mappings is data: so what runs is exactly
    /// what the digest covers.
    pub(crate) fn runnable(self, library: &Library) -> Result<(Prepared, Canonical), CliError> {
        if let Some(twice) = self.document.repeated().first() {
            return Err(CliError::at(Code::NotJson, &self.name, twice.clone()));
        }
        let errors: Vec<&SkillFinding> =
            self.findings.iter().filter(|finding| finding.rule.severity() == Severity::Error).collect();
        let source = Canonical::of(&with_order(self.document.value()));
        let canonical = parse(source.bytes()).map_err(|error| CliError::not_json(&self.name, error))?;
        match super::prepare(&canonical, library) {
            Some(prepared) if errors.is_empty() => Ok((prepared, source)),
            _ => {
                let things = if errors.len() == 1 { "finding" } else { "findings" };
                let message = format!("{} is refused: {} {things}", self.name, errors.len());
                let line = |finding: &&SkillFinding| {
                    let at = self.document.place(&finding.pointer).head().start;
                    format!("{}:{}: {}: {}", at.line, at.column, finding.rule, finding.message)
                };
                let hint = hint::check_lines(&self.name);
                Err(CliError::new(Code::Refused, message)
                    .with_hint(hint)
                    .with_findings(errors.iter().map(line)))
            }
        }
    }
}
