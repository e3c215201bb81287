//! Control blocks that decide how often and what a step calls: foreach, while, router, scatter.

use std::sync::Arc;

use hence_canon::{JsonPointer, Object, Value};

use crate::skill::control::{Reader, alone};
use crate::skill::{Findings, Rule, SkillFinding, SourceExpression, Uses};

pub(crate) const FOREACH_KEYS: [&str; 5] = ["items", "as", "index_as", "parallel", "on_error"];
/// The largest number of parallel calls of one step.
pub const PARALLEL_MAX: u64 = 256;

/// One call per item. The item is added to the input; results are collected per member, aligned with the items.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Foreach {
    items: SourceExpression,
    /// The input under which a call gets its item.
    pub item_name: Arc<str>,
    /// The input under which a call gets the position of its item, from 0.
    pub index_name: Option<Arc<str>>,
    /// The number of parallel calls. Results do not depend on it.
    pub parallel: u64,
    /// The effect of a failing item.
    pub on_error: ItemErrors,
}

/// The effect of a failing item of a foreach.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ItemErrors {
    /// The step fails and later items are not called.
    #[default]
    Fail,
    /// The item gives `null` and the others continue.
    Continue,
}

impl Foreach {
    /// Reads a block on its own; a void one is `None`.
    pub fn parse(config: &Value) -> (Option<Self>, Vec<SkillFinding>) {
        alone(Self::read, config)
    }

    /// Returns the expression that gives the list.
    pub fn items(&self) -> &SourceExpression {
        &self.items
    }

    pub(super) fn read(config: &Value, pointer: &JsonPointer, findings: &mut Findings) -> Option<Self> {
        let mut block = Reader::open("foreach", &FOREACH_KEYS, config, pointer, findings)?;
        let items = block.formula("items")?;
        let on_error = match block.object.get("on_error").map(Value::as_str) {
            None | Some(Some("fail")) => ItemErrors::Fail,
            Some(Some("continue")) => ItemErrors::Continue,
            Some(_) => {
                block.malformed("on_error", "`fail` or `continue`");
                ItemErrors::Fail
            }
        };
        Some(Self {
            items,
            item_name: block.name_or("as", Some("item")).unwrap_or_else(|| "item".into()),
            index_name: block.name_or("index_as", None),
            parallel: block.at_least_one("parallel", 1, PARALLEL_MAX),
            on_error,
        })
    }
}

/// The largest number of iterations of one step.
pub const ITERATIONS_MAX: u64 = 1_000_000;

pub(crate) const WHILE_KEYS: [&str; 2] = ["condition", "max_iterations"];
const ITERATIONS_DEFAULT: u64 = 10;

/// The first call is unconditional; each further one needs the condition, read after the writes of the last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct While {
    condition: SourceExpression,
    /// The largest number of calls.
    pub max_iterations: u64,
}

impl While {
    /// Reads a block on its own; a void one is `None`.
    pub fn parse(config: &Value) -> (Option<Self>, Vec<SkillFinding>) {
        alone(Self::read, config)
    }

    /// Returns the condition for another call.
    pub fn condition(&self) -> &SourceExpression {
        &self.condition
    }

    pub(super) fn read(config: &Value, pointer: &JsonPointer, findings: &mut Findings) -> Option<Self> {
        let mut block = Reader::open("while", &WHILE_KEYS, config, pointer, findings)?;
        let condition = block.formula("condition")?;
        let max_iterations = block.at_least_one("max_iterations", ITERATIONS_DEFAULT, ITERATIONS_MAX);
        Some(Self { condition, max_iterations })
    }
}

pub(crate) const ROUTER_KEYS: [&str; 3] = ["on", "cases", "default"];

/// Chooses a capability by the text of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Router {
    on: SourceExpression,
    /// The capability for each case, in declared order.
    pub cases: Vec<(Arc<str>, Uses)>,
    /// The capability for values without a case.
    pub default: Option<Uses>,
}

/// The choice of a router.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Route {
    /// The capability or skill to call.
    pub uses: Uses,
    /// The case that matched, or `__default__`.
    pub matched: Arc<str>,
}

impl Router {
    /// Reads a block on its own; a void one is `None`.
    pub fn parse(config: &Value) -> (Option<Self>, Vec<SkillFinding>) {
        alone(Self::read, config)
    }

    /// Returns the expression that decides.
    pub fn on(&self) -> &SourceExpression {
        &self.on
    }

    /// Returns the route for a value. Cases are compared with its JSON text; `null` matches none.
    pub fn route(&self, value: &Value) -> Option<Route> {
        let text: Option<Arc<str>> = match value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string().into()),
        };
        let case = text.and_then(|text| self.cases.iter().find(|(key, _)| *key == text));
        let matched = case.map(|(key, uses)| Route { uses: uses.clone(), matched: key.clone() });
        matched.or_else(|| Some(Route { uses: self.default.clone()?, matched: "__default__".into() }))
    }

    pub(super) fn read(config: &Value, pointer: &JsonPointer, findings: &mut Findings) -> Option<Self> {
        let mut block = Reader::open("router", &ROUTER_KEYS, config, pointer, findings)?;
        let on = block.formula("on");
        let cases = match block.object.get("cases") {
            Some(Value::Object(cases)) => routes(cases, &mut block),
            _ => Vec::new(),
        };
        if cases.is_empty() {
            block.malformed("cases", "an object with at least one capability");
        }
        let default = match block.object.get("default") {
            None | Some(Value::Null) => None,
            Some(Value::String(id)) if !id.trim().is_empty() => Some(Uses::parse(id.trim())),
            Some(_) => {
                block.malformed("default", "a capability");
                None
            }
        };
        on.filter(|_| !cases.is_empty()).map(|on| Self { on, cases, default })
    }
}

fn routes(cases: &Object, block: &mut Reader<'_>) -> Vec<(Arc<str>, Uses)> {
    let mut routes = Vec::new();
    for (key, value) in cases.iter() {
        match value.as_str().map(str::trim) {
            Some(id) if !id.is_empty() => routes.push((key.clone(), Uses::parse(id))),
            _ => {
                let pointer = block.pointer.child("cases").child(key);
                block.findings.add(Rule::Control, pointer, "a case names a capability");
            }
        }
    }
    routes
}

pub(crate) const SCATTER_KEYS: [&str; 2] = ["capabilities", "merge"];

/// Calls several capabilities with the same input and brings their results together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scatter {
    /// The capabilities or skills to call, at least two.
    pub branches: Vec<Uses>,
    /// The way the results are merged.
    pub merge: ScatterMerge,
}

/// The way the results of a scatter are merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ScatterMerge {
    /// One member per branch that succeeded.
    #[default]
    Collect,
    /// Lists of the same name joined in declared order; other values become items.
    ConcatLists,
    /// The first branch in declared order that succeeds.
    FirstSuccess,
}

impl ScatterMerge {
    /// Every way.
    pub const ALL: [Self; 3] = [Self::Collect, Self::ConcatLists, Self::FirstSuccess];

    /// Returns the name used in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Collect => "collect",
            Self::ConcatLists => "concat_lists",
            Self::FirstSuccess => "first_success",
        }
    }
}

impl Scatter {
    /// Reads a block on its own; a void one is `None`.
    pub fn parse(config: &Value) -> (Option<Self>, Vec<SkillFinding>) {
        alone(Self::read, config)
    }

    pub(super) fn read(config: &Value, pointer: &JsonPointer, findings: &mut Findings) -> Option<Self> {
        let mut block = Reader::open("scatter", &SCATTER_KEYS, config, pointer, findings)?;
        let mut branches = Vec::new();
        for (index, value) in
            block.object.get("capabilities").and_then(Value::as_array).unwrap_or_default().iter().enumerate()
        {
            match value.as_str().map(str::trim) {
                Some(id) if !id.is_empty() => branches.push(Uses::parse(id)),
                _ => {
                    let pointer = block.pointer.child("capabilities").child(index);
                    block.findings.add(Rule::Control, pointer, "a branch names a capability");
                }
            }
        }
        let merge = match block.object.get("merge") {
            None => ScatterMerge::Collect,
            Some(given) => {
                let named = ScatterMerge::ALL.into_iter().find(|merge| given.as_str() == Some(merge.name()));
                named.unwrap_or_else(|| {
                    block.malformed("merge", "`collect`, `concat_lists` or `first_success`");
                    ScatterMerge::Collect
                })
            }
        };
        if branches.len() < 2 {
            block.malformed("capabilities", "a list of at least two capabilities");
            return None;
        }
        Some(Self { branches, merge })
    }
}
