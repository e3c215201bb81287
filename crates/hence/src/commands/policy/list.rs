//! `hence policy list` and `hence policy show`.

use std::collections::BTreeMap;

use hence_canon::Value;
use hence_policy::formula::Alphabet;
use hence_policy::lint::LanguageLevel;
use hence_policy::policy::{ByConstruction, Policy, PolicySet};

use super::source;
use crate::args::{PolicyListArgs, PolicyShowArgs};
use crate::prelude::*;

/// The characters of a policy's statement in a row.
const SENTENCE_CHARACTERS_MAX: usize = 100;

/// The policies of a source.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ListReport {
    /// The policies, in the order they were read.
    policies: Vec<PolicyRow>,
}

/// One policy.
#[derive(Serialize, JsonSchema)]
struct PolicyRow {
    /// Its id.
    policy_id: String,
    /// The pack it belongs to.
    pack: Option<String>,
    /// The severity of a failure.
    severity: &'static str,
    /// Its meaning in plain language.
    statement: Option<String>,
    /// The kinds of traces that cannot violate it, each with the reason. It is for traces that others write.
    by_construction: Vec<String>,
}

impl PolicyRow {
    fn of(policy: &Policy, set: &PolicySet) -> Self {
        let pack = set.packs().iter().find(|pack| pack.members().contains(policy.id()));
        Self {
            policy_id: policy.id().to_string(),
            pack: pack.map(|pack| pack.id().to_owned()),
            severity: policy.severity().as_str(),
            statement: policy.description().map(str::to_owned),
            by_construction: ByConstruction::of(policy).sentences(),
        }
    }
}

impl Text for ListReport {
    fn text(&self) -> String {
        let row = |policy: &PolicyRow| {
            let cell = |text: &Option<String>| {
                text.as_deref().map_or_else(|| "-".to_owned(), |text| one_line(text, SENTENCE_CHARACTERS_MAX))
            };
            let id = one_line(&policy.policy_id, SENTENCE_CHARACTERS_MAX);
            [cell(&policy.pack), id, policy.severity.to_owned(), cell(&policy.statement)]
        };
        let mut text = columns(&self.policies.iter().map(row).collect::<Vec<_>>());
        for policy in &self.policies {
            for sentence in &policy.by_construction {
                text.push_str(&format!("{}: {}\n", escape(&policy.policy_id), escape(sentence)));
            }
        }
        text
    }
}

pub(super) fn list(context: &Context, args: &PolicyListArgs) -> Result<Exit, CliError> {
    let set = source::load_or_built_in(&args.sources)?;
    let policies = set.policies().iter().map(|policy| PolicyRow::of(policy, &set)).collect();
    context.print(&ListReport { policies })?;
    Ok(Exit::Yes)
}

/// A policy.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ShowReport {
    /// Its id.
    policy_id: String,
    /// Its name.
    name: String,
    /// The severity of a failure: info, warning or error.
    severity: &'static str,
    /// Its meaning in plain language.
    statement: Option<String>,
    /// Its formula; null if it cannot be read.
    formula: Option<FormulaReport>,
    /// The reason why the formula cannot be read.
    fault: Option<String>,
    /// Its selector as written; null if it applies to every trace.
    applies_when: Option<Data>,
    /// The number of its examples.
    examples: usize,
    /// SHA-256 of its content, in hex.
    sha256: String,
    /// The kinds of traces that cannot violate it, each with the reason. It is for traces that others write.
    by_construction: Vec<String>,
}

/// A formula.
#[derive(Serialize, JsonSchema)]
struct FormulaReport {
    /// In logical symbols.
    unicode: String,
    /// In ASCII.
    ascii: String,
    /// The part of the language it needs: pure_temporal, scoped_temporal or structural.
    level: &'static str,
    /// The words the policy defines itself, and their formulas.
    definitions: BTreeMap<String, String>,
}

impl ShowReport {
    fn of(policy: &Policy) -> Result<Self, CliError> {
        let examples = policy.examples();
        let examples = examples.map_err(|fault| CliError::new(Code::Policies, fault.to_string()))?;
        let selector = policy.source().get("applies_when").filter(|value| !Value::is_null(value));
        Ok(Self {
            policy_id: policy.id().to_string(),
            name: policy.name().to_owned(),
            severity: policy.severity().as_str(),
            statement: policy.description().map(str::to_owned),
            formula: policy.rule().ok().map(|rule| FormulaReport {
                unicode: rule.formula().expr().print(Alphabet::Unicode),
                ascii: rule.formula().expr().print(Alphabet::Ascii),
                level: LanguageLevel::of(rule.expr()).as_str(),
                definitions: rule
                    .definitions()
                    .map(|(word, meaning)| (word.as_str().to_owned(), meaning.expr().to_string()))
                    .collect(),
            }),
            fault: policy.rule().err().map(ToString::to_string),
            applies_when: selector.cloned().map(Data::from),
            examples: examples.len(),
            sha256: policy.digest().to_string(),
            by_construction: ByConstruction::of(policy).sentences(),
        })
    }
}

impl Text for ShowReport {
    fn text(&self) -> String {
        let mut rows = vec![
            ("policy", escape(&self.policy_id)),
            ("name", escape(&self.name)),
            ("severity", self.severity.to_owned()),
        ];
        if let Some(statement) = &self.statement {
            rows.push(("statement", escape(statement)));
        }
        if let Some(formula) = &self.formula {
            rows.push(("formula", escape(&formula.unicode)));
            rows.push(("ascii", escape(&formula.ascii)));
            for (word, meaning) in &formula.definitions {
                rows.push(("where", format!("{} = {}", escape(word), escape(meaning))));
            }
            rows.push(("level", formula.level.to_owned()));
        }
        if let Some(fault) = &self.fault {
            rows.push(("fault", escape(fault)));
        }
        if let Some(selector) = &self.applies_when {
            rows.push(("applies when", escape(&selector.0.to_string())));
        }
        rows.extend(self.by_construction.iter().map(|sentence| ("note", escape(sentence))));
        rows.push(("examples", self.examples.to_string()));
        rows.push(("sha256", self.sha256.clone()));
        pairs(&rows)
    }
}

pub(super) fn show(context: &Context, args: &PolicyShowArgs) -> Result<Exit, CliError> {
    let set = source::load_or_built_in(&args.sources)?;
    let Some(policy) = set.get(&args.id) else {
        let meant =
            hence_canon::did_you_mean(&args.id, set.policies().iter().map(|policy| policy.id().as_str()));
        let error = CliError::new(Code::NoSuchPlace, format!("no policy {:?}{meant}", args.id));
        return Err(error.with_hint(hint::LIST_POLICIES));
    };
    context.print(&ShowReport::of(policy)?)?;
    Ok(Exit::Yes)
}
