//! Foreach: one call per item of a list.

use std::sync::Arc;

use hence_canon::{JsonPointer, Value};

use super::{Reader, alone};
use crate::skill::{Formula, Problem, Problems};

pub(crate) const KEYS: [&str; 5] = ["items", "as", "index_as", "parallel", "on_error"];
/// More calls at once than this are a queue for someone else.
pub const PARALLEL_MAX: u64 = 256;

/// One call per item. The item is added to the input; results are collected per member, aligned with the items.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Foreach {
    items: Formula,
    /// The input under which a call gets its item.
    pub item_name: Arc<str>,
    /// The input under which a call gets the position of its item, from 0.
    pub index_name: Option<Arc<str>>,
    /// How many calls may be under way at once. Results do not depend on it.
    pub parallel: u64,
    /// What a failing item means.
    pub on_error: ItemErrors,
}

/// What a failing item of a foreach means.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ItemErrors {
    /// The step fails and later items are not called.
    #[default]
    Fail,
    /// The item gives `null` and the others go on.
    Continue,
}

impl Foreach {
    /// Reads a block on its own; a void one is `None`.
    pub fn parse(config: &Value) -> (Option<Self>, Vec<Problem>) {
        alone(Self::read, config)
    }

    /// Returns the expression that gives the list.
    pub fn items(&self) -> &Formula {
        &self.items
    }

    pub(super) fn read(config: &Value, pointer: &JsonPointer, problems: &mut Problems) -> Option<Self> {
        let mut block = Reader::open("foreach", &KEYS, config, pointer, problems)?;
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
