//! The policy object and its id.

use std::fmt;
use std::sync::Arc;

use hence_canon::{Canonical, Digest, Object, Value, meant};
use hence_review::vocabulary::{ActionCategory, ActionType, ArtifactType, PolicyScope, PolicySeverity};

use super::rule::{Rule, RuleError};
use super::selector::{Selector, SelectorError};
use crate::lint::{Finding, FindingKind, LanguageLevel, lint, lint_written};

/// The two styles of policy objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Style {
    /// As the specification writes it: `policy_id`, and every required member present.
    Specification,
    /// As galleries and packs write it: `id`, and defaults for what is missing.
    Gallery,
}

/// A policy as a document holds it. Errors in it are stored, not dropped: they become lint errors and an
/// `unknown` verdict.
#[derive(Clone, Debug)]
pub struct Policy {
    id: PolicyId,
    style: Style,
    source: Object,
    rule: Result<Rule, RuleError>,
    selector: Result<Option<Selector>, SelectorError>,
}

impl Policy {
    /// Reads a policy object; `None` if it has neither `policy_id` nor `id`.
    pub fn read(source: &Object) -> Option<Self> {
        let id = |key: &str| source.get(key).and_then(Value::as_str).and_then(PolicyId::new);
        let (id, style) = match id("policy_id") {
            Some(id) => (id, Style::Specification),
            None => (id("id")?, Style::Gallery),
        };
        let selector = match source.get("applies_when").filter(|value| !value.is_null()) {
            Some(value) => Selector::read(value).map(Some),
            None => Ok(None),
        };
        Some(Self { id, style, source: source.clone(), rule: Rule::read(source), selector })
    }

    /// Makes a policy from an id and a formula.
    pub fn from_formula(id: &PolicyId, formula: &str) -> Self {
        let source: Object = [("id", id.as_str()), ("formula", formula)].into_iter().collect();
        let rule = Rule::read(&source);
        Self { id: id.clone(), style: Style::Gallery, source, rule, selector: Ok(None) }
    }

    /// Returns the id.
    pub fn id(&self) -> &PolicyId {
        &self.id
    }

    /// Returns the object with all its members.
    pub fn source(&self) -> &Object {
        &self.source
    }

    /// Returns a text member.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.source.get(key).and_then(Value::as_str)
    }

    /// Returns the name, or else the id.
    pub fn name(&self) -> &str {
        self.text("name").unwrap_or(self.id.as_str())
    }

    /// Returns the description in plain language.
    pub fn description(&self) -> Option<&str> {
        self.text("statement").or_else(|| self.text("description")).or_else(|| self.text("rationale"))
    }

    /// Returns the severity of a failure; a warning unless the object states another.
    pub fn severity(&self) -> PolicySeverity {
        self.text("severity").and_then(PolicySeverity::from_word).unwrap_or(PolicySeverity::Warning)
    }

    /// Returns the formula and the words it defines.
    ///
    /// # Errors
    /// [`RuleError`] when it is missing or cannot be read.
    pub fn rule(&self) -> Result<&Rule, &RuleError> {
        self.rule.as_ref()
    }

    /// Returns the selector, if the policy has one.
    ///
    /// # Errors
    /// [`SelectorError`] when it cannot be read.
    pub fn selector(&self) -> Result<Option<&Selector>, &SelectorError> {
        self.selector.as_ref().map(Option::as_ref)
    }

    /// Returns the digest of the policy's canonical form, without the download counter that galleries add.
    pub fn digest(&self) -> Digest {
        Canonical::of(&self.source.without("downloads").into()).digest()
    }

    /// Lints the object and its formula.
    pub fn lint(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut report = |kind: FindingKind| findings.push(Finding::from(kind));
        if self.style == Style::Specification {
            for member in ["name", "severity", "scope", "kind"] {
                if self.text(member).is_none_or(|text| text.trim().is_empty()) {
                    report(FindingKind::MissingMember(member));
                }
            }
        }
        for (member, words) in [("severity", PolicySeverity::WORDS), ("scope", PolicyScope::WORDS)] {
            let is_word = |found: &&Value| found.as_str().is_some_and(|word| words.contains(&word));
            let found = self.source.get(member).filter(|found| !found.is_null() && !is_word(found));
            if let Some(found) = found {
                let (member, found) = (member.to_owned(), found.to_string());
                report(FindingKind::InvalidMember { member, found, expected: words.join(", ") });
            }
        }
        for found in self.source.keys().filter(|key| !MEMBERS.contains(&&***key)) {
            if let Some(meant) = meant(found, MEMBERS.iter().copied()) {
                report(FindingKind::MisspeltMember { found: found.to_string(), meant });
            }
        }
        if let Err(fault) = &self.selector {
            let member = format!("applies_when{}", fault.path);
            let (found, expected) = (fault.found.clone(), fault.expected.to_owned());
            report(FindingKind::InvalidMember { member, found, expected });
        }
        findings.extend(self.lint_rule());
        findings
    }

    fn lint_rule(&self) -> Vec<Finding> {
        let rule = match &self.rule {
            Ok(rule) => rule,
            Err(RuleError::Missing) => return vec![FindingKind::MissingMember("formula").into()],
            Err(RuleError::Syntax(error)) => return vec![FindingKind::Syntax(error.clone()).into()],
            Err(RuleError::Definition { word, fault }) => {
                let (member, found) = (format!("predicates.{word}"), fault.clone());
                let expected = "a formula".to_owned();
                return vec![FindingKind::InvalidMember { member, found, expected }.into()];
            }
        };
        let mut findings = lint(rule.formula());
        findings.retain(|finding| match &finding.kind {
            FindingKind::CustomWord(word) | FindingKind::ForeignType(word) => !rule.defines(word),
            _ => true,
        });
        self.compare_types(&mut findings);
        findings.extend(lint_written(rule.formula()));
        for (_, meaning) in rule.definitions() {
            let mut found = lint(meaning);
            self.compare_types(&mut found);
            findings.extend(found);
            findings.extend(lint_written(meaning));
        }
        let found = LanguageLevel::of(rule.expr());
        if let Some(declared) = self.text("language_level").filter(|declared| *declared != found.as_str()) {
            findings.push(FindingKind::Level { declared: declared.to_owned(), found }.into());
        }
        findings
    }

    /// Drops findings about types that the policy declares, and reports names that are nearly a standard type as misspelt.
    fn compare_types(&self, findings: &mut Vec<Finding>) {
        let declared = self.source.get("custom_actions").and_then(Value::as_array).unwrap_or_default();
        findings.retain_mut(|finding| {
            let FindingKind::ForeignType(found) = &finding.kind else { return true };
            if declared.iter().any(|declared| declared.as_str() == Some(found)) {
                return false;
            }
            let known: Vec<ActionType> = ActionType::all().collect();
            let others = ArtifactType::WORDS.iter().chain(ActionCategory::WORDS).copied();
            if let Some(meant) = meant(found, known.iter().map(ActionType::as_str).chain(others)) {
                let (found, meant) = (found.clone(), meant.to_owned());
                finding.kind = FindingKind::MisspeltType { found, meant };
            }
            true
        });
    }
}

/// The members of a policy object that mean something here or in the galleries that are read.
const MEMBERS: &[&str] = &[
    "applies_when",
    "category",
    "custom_actions",
    "description",
    "domain",
    "downloads",
    "example",
    "examples",
    "fix_domain",
    "formula",
    "governance_state",
    "group",
    "id",
    "kind",
    "language_level",
    "name",
    "pack",
    "policy_id",
    "predicates",
    "rationale",
    "reasoner",
    "reference_model",
    "scope",
    "severity",
    "statement",
    "tags",
    "tier",
    "version",
];

/// The id of a policy: any text that is not empty.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PolicyId(Arc<str>);

impl PolicyId {
    /// Wraps an id, unless it is empty.
    pub fn new(id: &str) -> Option<Self> {
        (!id.trim().is_empty()).then(|| Self(id.into()))
    }

    /// Returns the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PolicyId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(&self.0)
    }
}
