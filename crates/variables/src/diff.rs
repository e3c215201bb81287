//! What changed between two views: of two states, two checkpoints, or two positions of a journal.

use crate::{Found, Name, View};

/// A variable that is not the same in two views.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Which.
    pub name: Name,
    /// How the first view has it.
    pub before: Option<Found>,
    /// How the second view has it.
    pub after: Option<Found>,
}

/// Returns what differs, by name. When something was written and how often it was read does not count.
pub fn diff(before: &View, after: &View) -> Vec<Difference> {
    let added = after.keys().filter(|name| !before.contains_key(*name));
    let mut names: Vec<&Name> = before.keys().chain(added).collect();
    names.sort();
    let differences = names.into_iter().map(|name| Difference {
        name: name.clone(),
        before: before.get(name).cloned(),
        after: after.get(name).cloned(),
    });
    differences.filter(|difference| !difference.is_empty()).collect()
}

impl Difference {
    fn is_empty(&self) -> bool {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => {
                before.home == after.home && before.variable.says_the_same(&after.variable)
            }
            (None, None) => true,
            _ => false,
        }
    }
}
