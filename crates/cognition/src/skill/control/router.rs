//! Router: choosing what a step calls.

use std::sync::Arc;

use hence_canon::{JsonPointer, Object, Value};

use super::{Reader, alone};
use crate::skill::{Formula, Problem, Problems, Rule, Uses};

pub(crate) const KEYS: [&str; 3] = ["on", "cases", "default"];

/// Chooses a capability by the text of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Router {
    on: Formula,
    /// What is called for which text, in declared order.
    pub cases: Vec<(Arc<str>, Uses)>,
    /// What is called when no case matches.
    pub default: Option<Uses>,
}

/// What a router chose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Route {
    /// What is called.
    pub uses: Uses,
    /// The case that matched, or `__default__`.
    pub matched: Arc<str>,
}

impl Router {
    /// Reads a block on its own; a void one is `None`.
    pub fn parse(config: &Value) -> (Option<Self>, Vec<Problem>) {
        alone(Self::read, config)
    }

    /// Returns the expression that decides.
    pub fn on(&self) -> &Formula {
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

    pub(super) fn read(config: &Value, pointer: &JsonPointer, problems: &mut Problems) -> Option<Self> {
        let mut block = Reader::open("router", &KEYS, config, pointer, problems)?;
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
                block.problems.add(Rule::Control, pointer, "a case names a capability");
            }
        }
    }
    routes
}
