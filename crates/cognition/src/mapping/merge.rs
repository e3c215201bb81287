//! Strategies for a target that already has a value.

use std::fmt;
use std::str::FromStr;

use hence_canon::{Kind, Object, Value};

/// The way a step's output is combined with the present value of its target.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MergeStrategy {
    /// Assigns; one mapping may not name a target twice.
    #[default]
    Overwrite,
    /// Concatenates lists.
    Append,
    /// Merges maps key by key; anything else is taken from the new side.
    DeepMerge,
    /// Assigns, also twice.
    Replace,
}

/// A name that is none of the four strategies.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected overwrite, append, deep_merge or replace, found {0}")]
pub struct UnknownStrategy(pub String);

impl MergeStrategy {
    /// Every strategy in the order of the document.
    pub const ALL: [Self; 4] = [Self::Overwrite, Self::Append, Self::DeepMerge, Self::Replace];

    /// Returns the name used in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Overwrite => "overwrite",
            Self::Append => "append",
            Self::DeepMerge => "deep_merge",
            Self::Replace => "replace",
        }
    }

    /// Reads the `merge_strategy` of a step's config; an absent one is `overwrite`, an explicit `null` is wrong.
    ///
    /// # Errors
    /// [`UnknownStrategy`] for anything but the four names.
    pub fn from_config(config: Option<&Value>) -> Result<Self, UnknownStrategy> {
        match config {
            None => Ok(Self::default()),
            Some(Value::String(name)) => name.parse(),
            Some(other) => Err(UnknownStrategy(other.kind().to_string())),
        }
    }
}

impl FromStr for MergeStrategy {
    type Err = UnknownStrategy;

    fn from_str(name: &str) -> Result<Self, UnknownStrategy> {
        Self::ALL
            .into_iter()
            .find(|strategy| strategy.name() == name)
            .ok_or_else(|| UnknownStrategy(format!("{name:?}")))
    }
}

impl fmt::Display for MergeStrategy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// Two values a strategy cannot bring together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{strategy} needs {needs} on both sides, found {existing} and {value}")]
pub struct MergeError {
    /// The strategy.
    pub strategy: MergeStrategy,
    /// The kind of value the strategy needs.
    pub needs: &'static str,
    /// The kind of the present value.
    pub existing: Kind,
    /// The kind of the produced value.
    pub value: Kind,
}

/// Brings a new value together with what is there, if anything is.
pub(super) fn merge(
    strategy: MergeStrategy,
    existing: Option<&Value>,
    value: Value,
) -> Result<Value, MergeError> {
    match strategy {
        MergeStrategy::Overwrite | MergeStrategy::Replace => Ok(value),
        MergeStrategy::Append => match (existing, value) {
            (None, value @ Value::Array(_)) => Ok(value),
            (Some(Value::Array(items)), Value::Array(more)) => {
                Ok(items.iter().chain(more.iter()).cloned().collect())
            }
            (existing, value) => Err(refused(strategy, "a list", existing, Kind::Array, &value)),
        },
        MergeStrategy::DeepMerge => match (existing, value) {
            (None, value @ Value::Object(_)) => Ok(value),
            (Some(Value::Object(base)), Value::Object(overlay)) => Ok(deep(base, &overlay).into()),
            (existing, value) => Err(refused(strategy, "an object", existing, Kind::Object, &value)),
        },
    }
}

fn refused(
    strategy: MergeStrategy,
    needs: &'static str,
    existing: Option<&Value>,
    absent: Kind,
    value: &Value,
) -> MergeError {
    MergeError { strategy, needs, existing: existing.map_or(absent, Value::kind), value: value.kind() }
}

fn deep(base: &Object, overlay: &Object) -> Object {
    let kept = base.iter().map(|(key, value)| {
        let merged = match (value, overlay.get(key)) {
            (value, None) => value.clone(),
            (Value::Object(base), Some(Value::Object(overlay))) => deep(base, overlay).into(),
            (_, Some(new)) => new.clone(),
        };
        (key.clone(), merged)
    });
    let added = overlay.iter().filter(|(key, _)| !base.contains_key(key));
    kept.chain(added.map(|(key, value)| (key.clone(), value.clone()))).collect()
}
