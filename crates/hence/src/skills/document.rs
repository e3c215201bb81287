//! A skill document as written, with all findings about it.

use hence_canon::{Canonical, JsonPointer, Value, parse};
use hence_capabilities::Library;
use hence_cognition::capability::Registry as _;
use hence_cognition::plan::check;
use hence_cognition::run::Prepared;
use hence_cognition::skill::{Rule, Severity, Skill, SkillFinding, Step, Uses};
use hence_yaml::Document;

use crate::code::Code;
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

/// Returns whether a document is meant to be a skill: it has steps, or it is written in YAML.
pub(crate) fn is_skill(name: &str, bytes: &[u8]) -> bool {
    let has_steps = |value: &Value| value.get("steps").is_some();
    match parse(bytes) {
        Ok(value) => has_steps(&value),
        Err(_) if name.ends_with(".yaml") || name.ends_with(".yml") => true,
        Err(_) => hence_yaml::parse(bytes).is_ok_and(|document| has_steps(document.value())),
    }
}

/// Returns a finding for each call of something that does not exist. A skill without a plan is checked no further.
fn unknown_calls(skill: &Skill, library: &Library) -> Vec<SkillFinding> {
    let steps = skill.steps.iter().enumerate();
    let unknown = steps.filter(|(_, step)| match &step.uses {
        Uses::Capability(id) => library.capability(id).is_none(),
        Uses::Skill(id) => library.skill(id).is_none(),
    });
    let finding = |(index, step): (usize, &Step)| SkillFinding {
        rule: Rule::UnknownCapability,
        pointer: JsonPointer::root().child("steps").child(index).child("uses"),
        message: format!("nothing here is called `{}`", step.uses),
    };
    unknown.map(finding).collect()
}

impl SkillDocument {
    /// Reads a skill and checks it against the capabilities that exist.
    pub(crate) fn read(name: &str, bytes: &[u8], library: &Library) -> Result<Self, CliError> {
        let name = input::shown_name(name).to_owned();
        let document = hence_yaml::parse(bytes).map_err(|error| CliError::at(Code::NotJson, &name, error))?;
        let reading = Skill::read(document.value());
        let mut findings = reading.findings;
        if let Some(skill) = &reading.skill {
            findings.extend(super::action_types::of_skill(skill));
            match Prepared::of(skill, library) {
                Ok(ready) => findings.extend(check(ready.skill(), ready.plan(), Some(library))),
                Err(more) => {
                    findings.extend(more);
                    findings.extend(unknown_calls(skill, library));
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

    /// Returns the skill, if it has no errors.
    ///
    /// The skill is read from its canonical form: the order in which a person wrote the members of a mapping affects
    /// records, and the digest that a run pins does not cover it.
    pub(crate) fn runnable(self, library: &Library) -> Result<(Prepared, Canonical), CliError> {
        let errors: Vec<&SkillFinding> =
            self.findings.iter().filter(|finding| finding.rule.severity() == Severity::Error).collect();
        let source = Canonical::of(self.document.value());
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
