//! The values of shared scopes that a tree of runs read before its first step.

use std::sync::Arc;

use hence_canon::Value;

use crate::skill::Skill;

/// A variable of a shared scope, as it was when the outermost run began.
#[derive(Clone, Debug)]
pub struct SharedValue {
    /// The name, without `vars.`.
    pub name: Arc<str>,
    /// The scope it was read from.
    pub scope: Arc<str>,
    /// The value.
    pub value: Value,
}

/// The values of shared scopes that a tree of runs read. Each run has those that its own skill declares.
#[derive(Clone, Debug, Default)]
pub struct SharedValues(Arc<[SharedValue]>);

impl SharedValues {
    /// Returns the values that a skill declares, by the scope in which it declares them.
    pub(crate) fn of_skill<'a>(&'a self, skill: &'a Skill) -> impl Iterator<Item = &'a SharedValue> {
        self.0.iter().filter(|shared| skill.shared_scope(&shared.name) == Some(&shared.scope))
    }
}

impl FromIterator<SharedValue> for SharedValues {
    fn from_iter<I: IntoIterator<Item = SharedValue>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}
