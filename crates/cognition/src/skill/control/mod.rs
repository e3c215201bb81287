//! Control blocks of a step: condition, retry, foreach, while, router, scatter.
//!
//! A malformed value is always a finding, and a skill with findings does not run. The value that is read in
//! its place (a default, or no block at all) is that of the reference implementation, so
//! that documents written for it mean the same here once they are fixed.

mod blocks;
mod retry;

#[cfg(test)]
pub(super) use blocks::{FOREACH_KEYS, ROUTER_KEYS, SCATTER_KEYS, WHILE_KEYS};
#[cfg(test)]
pub(super) use retry::RETRY_KEYS;

pub use blocks::{
    Foreach, ITERATIONS_MAX, ItemErrors, PARALLEL_MAX, Route, Router, Scatter, ScatterMerge, While,
};
pub use retry::{RETRY_ATTEMPTS_MAX, Retry};

use std::sync::Arc;

use hence_canon::{JsonPointer, Object, Value};

use super::Findings;
use super::{Rule, SkillFinding, SourceExpression};
use crate::reference::Reference;
use crate::state::Names;

/// The control blocks of one step.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Control {
    /// Runs the step only when this holds.
    pub condition: Option<SourceExpression>,
    /// Tries a call again when it fails.
    pub retry: Option<Retry>,
    /// Chooses what is called.
    pub router: Option<Router>,
    /// The pattern of its calls.
    pub flow: Flow,
    /// The texts of the [`references`](Self::references).
    pub reads: Names,
}

/// The pattern of a step's calls.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Flow {
    /// Once.
    #[default]
    Once,
    /// Once per item of a list.
    Foreach(Foreach),
    /// At least once, and again while a condition holds.
    While(While),
    /// Several capabilities on one input.
    Scatter(Scatter),
}

impl Control {
    pub(super) fn read(config: &Object, pointer: &JsonPointer, findings: &mut Findings) -> Self {
        let condition =
            config.get("condition").and_then(|value| condition(value, &pointer.child("condition"), findings));
        let retry =
            config.get("retry").and_then(|value| Retry::read(value, &pointer.child("retry"), findings));
        let router =
            config.get("router").and_then(|value| Router::read(value, &pointer.child("router"), findings));
        let scatter =
            config.get("scatter").and_then(|value| Scatter::read(value, &pointer.child("scatter"), findings));
        let foreach =
            config.get("foreach").and_then(|value| Foreach::read(value, &pointer.child("foreach"), findings));
        let whiles =
            config.get("while").and_then(|value| While::read(value, &pointer.child("while"), findings));
        report_conflicts(config, pointer, findings);
        let flow = match (scatter, foreach, whiles) {
            (Some(scatter), _, _) => Flow::Scatter(scatter),
            (None, Some(foreach), _) => Flow::Foreach(foreach),
            (None, None, Some(whiles)) => Flow::While(whiles),
            (None, None, None) => Flow::Once,
        };
        let control = Self { condition, retry, router, flow, reads: Names::default() };
        let reads = control.references().iter().map(|reference| reference.to_string().into()).collect();
        Self { reads, ..control }
    }

    /// Iterates over the expressions, each with its place in the config.
    pub fn formulas(&self) -> impl Iterator<Item = (JsonPointer, &SourceExpression)> {
        let at = |tokens: &[&str]| tokens.iter().collect::<JsonPointer>();
        let flow = match &self.flow {
            Flow::Foreach(foreach) => Some((at(&["foreach", "items"]), foreach.items())),
            Flow::While(whiles) => Some((at(&["while", "condition"]), whiles.condition())),
            Flow::Once | Flow::Scatter(_) => None,
        };
        let condition = self.condition.as_ref().map(|formula| (at(&["condition"]), formula));
        let router = self.router.as_ref().map(|router| (at(&["router", "on"]), router.on()));
        condition.into_iter().chain(router).chain(flow)
    }

    /// Returns every reference in the expressions.
    pub fn references(&self) -> Vec<Reference> {
        let expressions = self.formulas().filter_map(|(_, formula)| formula.expression().ok());
        expressions.flat_map(crate::expression::Expression::references).collect()
    }
}

fn condition(value: &Value, pointer: &JsonPointer, findings: &mut Findings) -> Option<SourceExpression> {
    match value {
        Value::String(text) => Some(formula(text, pointer, findings)),
        other => {
            let message = format_args!("a condition is an expression in a string, found {}", other.kind());
            findings.add(Rule::Control, pointer.clone(), message);
            None
        }
    }
}

/// Reads an expression and reports one that cannot be read.
fn formula(text: &str, pointer: &JsonPointer, findings: &mut Findings) -> SourceExpression {
    let formula = SourceExpression::read(text);
    if let Err(error) = formula.expression() {
        findings.add(Rule::Expression, pointer.clone(), error);
    }
    formula
}

/// Blocks that exclude each other: each of them decides how often, or what, the step calls.
const CONFLICTS: [(&str, &str); 4] =
    [("scatter", "foreach"), ("scatter", "while"), ("foreach", "while"), ("scatter", "router")];

fn report_conflicts(config: &Object, pointer: &JsonPointer, findings: &mut Findings) {
    for (one, other) in CONFLICTS {
        if config.contains_key(one) && config.contains_key(other) {
            let message = format_args!("`{other}` cannot stand beside `{one}`");
            findings.add(Rule::ControlConflict, pointer.child(other), message);
        }
    }
}

/// A block that is being read.
struct Reader<'a> {
    name: &'static str,
    object: &'a Object,
    pointer: &'a JsonPointer,
    findings: &'a mut Findings,
}

impl<'a> Reader<'a> {
    fn open(
        name: &'static str,
        keys: &[&str],
        config: &'a Value,
        pointer: &'a JsonPointer,
        findings: &'a mut Findings,
    ) -> Option<Self> {
        let Value::Object(object) = config else {
            let message = format_args!("`{name}` is an object, found {}", config.kind());
            findings.add(Rule::Control, pointer.clone(), message);
            return None;
        };
        for key in object.keys().filter(|key| !keys.contains(&&***key)) {
            findings.add_unknown_key(pointer, &format!("`{name}`"), key, keys);
        }
        Some(Self { name, object, pointer, findings })
    }

    fn malformed(&mut self, key: &str, expected: &str) {
        let found =
            self.object.get(key).map_or_else(|| "nothing".to_owned(), |value| value.kind().to_string());
        let message = format_args!("`{}` needs {expected}, found {found}", self.name);
        self.findings.add(Rule::Control, self.pointer.child(key), message);
    }

    /// Reads a required expression; a missing or blank one makes the block void.
    fn formula(&mut self, key: &str) -> Option<SourceExpression> {
        match self.object.get(key).and_then(Value::as_str).map(str::trim) {
            Some(text) if !text.is_empty() => Some(formula(text, &self.pointer.child(key), self.findings)),
            _ => {
                self.malformed(key, "an expression in a string");
                None
            }
        }
    }

    /// Reads a whole number of at least one; anything else counts as `default`.
    fn at_least_one(&mut self, key: &str, default: u64, max: u64) -> u64 {
        match self.object.get(key) {
            None => default,
            Some(value) => match value.as_u64() {
                Some(count) if count >= 1 => {
                    if count > max {
                        let message = format_args!("`{key}` is {count}, limit is {max}");
                        self.findings.add(Rule::Control, self.pointer.child(key), message);
                    }
                    count
                }
                _ => {
                    self.malformed(key, "a whole number of at least 1");
                    default
                }
            },
        }
    }

    fn name_or(&mut self, key: &str, default: Option<&str>) -> Option<Arc<str>> {
        match self.object.get(key) {
            None | Some(Value::Null) => default.map(Arc::from),
            Some(Value::String(name)) if !name.is_empty() => Some(name.clone()),
            Some(_) => {
                self.malformed(key, "a name");
                default.map(Arc::from)
            }
        }
    }
}

/// Runs a block's reader on its own.
fn alone<T>(
    read: impl FnOnce(&Value, &JsonPointer, &mut Findings) -> Option<T>,
    config: &Value,
) -> (Option<T>, Vec<SkillFinding>) {
    let mut findings = Findings::default();
    let block = read(config, &JsonPointer::root(), &mut findings);
    (block, findings.into_vec())
}
