//! What validation found.

use std::fmt;

use hence_canon::{JsonPointer, Object, Value};

use super::rule::Rule;

/// The severity of a finding, in validation of traces and in linting of policies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// Worth a look; the document can still be used.
    Warning,
    /// The document breaks a rule of its format, or cannot be evaluated.
    Error,
}

impl Severity {
    /// Returns the word for reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}

/// One broken rule, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// Its severity here.
    pub severity: Severity,
    /// The place in the document.
    pub pointer: JsonPointer,
    /// What it is about, by the ids a reader knows: `a5`, `2:a1`; empty for the trace itself.
    pub subject: String,
    /// What was expected and what was found.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {} at `{}`: {}", self.severity, self.rule, self.pointer, self.message)
    }
}

impl From<&Finding> for Value {
    fn from(finding: &Finding) -> Self {
        let members: Object = [
            ("level", Value::from(finding.severity.to_string())),
            ("rule", finding.rule.id().into()),
            ("pointer", finding.pointer.to_string().into()),
            ("subject", finding.subject.as_str().into()),
            ("message", finding.message.as_str().into()),
        ]
        .into_iter()
        .collect();
        members.into()
    }
}

/// Everything validation found in one document, in document order per family of rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub(super) findings: Vec<Finding>,
}

impl Report {
    /// Returns all findings.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns the errors.
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.severity == Severity::Error)
    }

    /// Returns the warnings.
    pub fn warnings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.severity == Severity::Warning)
    }

    /// Returns whether there are no errors.
    pub fn is_valid(&self) -> bool {
        self.errors().next().is_none()
    }

    /// Returns whether the document has the structure of a trace, whatever else is wrong with it.
    pub fn has_structure(&self) -> bool {
        !self.errors().any(|finding| finding.rule.is_structural())
    }
}
