//! Scatter: several capabilities on one input.

use hence_canon::{JsonPointer, Value};

use super::{Reader, alone};
use crate::skill::{Problem, Problems, Rule, Uses};

pub(crate) const KEYS: [&str; 2] = ["capabilities", "merge"];

/// Calls several capabilities with the same input and brings their results together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scatter {
    /// What is called, at least two.
    pub branches: Vec<Uses>,
    /// How the results become one.
    pub merge: ScatterMerge,
}

/// How the results of a scatter become one.
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
    pub fn parse(config: &Value) -> (Option<Self>, Vec<Problem>) {
        alone(Self::read, config)
    }

    pub(super) fn read(config: &Value, pointer: &JsonPointer, problems: &mut Problems) -> Option<Self> {
        let mut block = Reader::open("scatter", &KEYS, config, pointer, problems)?;
        let mut branches = Vec::new();
        for (index, value) in
            block.object.get("capabilities").and_then(Value::as_array).unwrap_or_default().iter().enumerate()
        {
            match value.as_str().map(str::trim) {
                Some(id) if !id.is_empty() => branches.push(Uses::parse(id)),
                _ => {
                    let pointer = block.pointer.child("capabilities").child(index);
                    block.problems.add(Rule::Control, pointer, "a branch names a capability");
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
