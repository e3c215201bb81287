//! The values of shared scopes that a run read when it was made.
//!
//! Other runs write to a shared scope at any time, so a run reads it once, before its first record, and its problem
//! pins what was there. A replay reads the problem, and no other run.

use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_cognition::run::{SharedValue, SharedValues};
use hence_cognition::skill::Skill;

use crate::host::Host;
use crate::reach::with_nested;

/// The member of a problem's settings with the values.
pub(crate) const SHARED_KEY: &str = "shared";

/// The values of shared scopes that a run read, and the session it belongs to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SharedInputs {
    /// The session whose variables the run shares; without one they are its own.
    pub session: Option<Arc<str>>,
    /// The variables that were there, in the order in which the skill declares them.
    pub variables: Vec<SharedInput>,
}

/// A variable of a shared scope, as it was when the run was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedInput {
    /// The name, without `vars.`.
    pub name: Arc<str>,
    /// The scope: `global` or `session`.
    pub scope: Arc<str>,
    /// The type.
    pub value_type: Arc<str>,
    /// Whether writes to it are refused.
    pub read_only: bool,
    /// The value.
    pub value: Value,
}

impl SharedInputs {
    /// Returns the values, for the interpreter.
    pub(crate) fn values(&self) -> SharedValues {
        let value = |shared: &SharedInput| SharedValue {
            name: shared.name.clone(),
            scope: shared.scope.clone(),
            value: shared.value.clone(),
        };
        self.variables.iter().map(value).collect()
    }

    /// Returns the variables that a skill declares.
    pub(crate) fn of_skill<'a>(&'a self, skill: &'a Skill) -> impl Iterator<Item = &'a SharedInput> {
        self.variables.iter().filter(|shared| skill.shared_scope(&shared.name) == Some(&shared.scope))
    }

    /// Returns what a nested run pins: the variables that its skill, or one that it nests, declares; nothing when none of
    /// them declares any.
    pub(crate) fn for_nested(&self, skill: &Skill, host: &dyn Host) -> Self {
        let skills = with_nested(skill, host);
        if skills.iter().all(|skill| skill.shared_variables().next().is_none()) {
            return Self::default();
        }
        let is_declared = |shared: &&SharedInput| {
            skills.iter().any(|skill| skill.shared_scope(&shared.name) == Some(&shared.scope))
        };
        let variables = self.variables.iter().filter(is_declared).cloned().collect();
        Self { session: self.session.clone(), variables }
    }

    /// Returns the member of a problem's settings; `None` when nothing is shared.
    pub(crate) fn value(&self) -> Option<Value> {
        if *self == Self::default() {
            return None;
        }
        let one = |shared: &SharedInput| -> Value {
            let mut members = vec![
                ("name", Value::from(shared.name.clone())),
                ("scope", shared.scope.clone().into()),
                ("type", shared.value_type.clone().into()),
                ("value", shared.value.clone()),
            ];
            members.extend(shared.read_only.then_some(("read_only", Value::Bool(true))));
            members.into_iter().collect::<Object>().into()
        };
        let variables = self.variables.iter().map(one).collect::<Vec<_>>();
        let mut members = vec![("variables", Value::from(variables))];
        members.extend(self.session.clone().map(|session| ("session", session.into())));
        Some(members.into_iter().collect::<Object>().into())
    }

    /// Reads the member of a problem's settings; `None` when it is malformed.
    pub(crate) fn read(settings: &Value) -> Option<Self> {
        let Some(value) = settings.get(SHARED_KEY) else { return Some(Self::default()) };
        let one = |item: &Value| {
            let text = |key: &str| item.get(key)?.as_str().map(Arc::from);
            let read_only = match item.get("read_only") {
                None => false,
                Some(word) => word.as_bool()?,
            };
            let (name, scope, value_type) = (text("name")?, text("scope")?, text("type")?);
            Some(SharedInput { name, scope, value_type, read_only, value: item.get("value")?.clone() })
        };
        let session = match value.get("session") {
            None => None,
            Some(session) => Some(session.as_str()?.into()),
        };
        let variables = value.get("variables")?.as_array()?.iter().map(one).collect::<Option<_>>()?;
        Some(Self { session, variables })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_inputs_read_back_and_no_malformed_ones_count_as_none() {
        let shared = |read_only| SharedInput {
            name: "fact".into(),
            scope: "global".into(),
            value_type: "text".into(),
            read_only,
            value: "x".into(),
        };
        for variables in [Vec::new(), vec![shared(false), shared(true)]] {
            for session in [None, Some("s1".into())] {
                let inputs = SharedInputs { session, variables: variables.clone() };
                let settings: Object = inputs.value().map(|value| (SHARED_KEY, value)).into_iter().collect();
                assert_eq!(SharedInputs::read(&settings.into()), Some(inputs));
            }
        }
        for wrong in ["1", "{}", r#"{"variables": [1]}"#, r#"{"variables": [{"name": "a"}]}"#] {
            let value = hence_canon::parse(wrong.as_bytes()).unwrap();
            let settings = Object::from_iter([(SHARED_KEY, value)]);
            assert_eq!(SharedInputs::read(&settings.into()), None, "{wrong}");
        }
    }
}
