//! Goals and their acceptance items, as authored.

use crate::vocabulary::{AcceptanceKind, AcceptanceStatus};

use super::entry::entry;

entry! {
    /// A goal as written.
    Goal
}

impl Goal {
    /// Returns the id, under either of its names.
    pub fn id(&self) -> Option<&str> {
        self.text("id").or_else(|| self.text("goal_id"))
    }

    /// Returns what is to be achieved.
    pub fn intent(&self) -> &str {
        self.text("intent").unwrap_or("")
    }

    /// Returns the acceptance items.
    pub fn acceptance(&self) -> impl Iterator<Item = AcceptanceItem> {
        self.entries("acceptance").map(AcceptanceItem)
    }
}

entry! {
    /// An acceptance item as written.
    AcceptanceItem
}

impl AcceptanceItem {
    /// Returns the id, under either of its names.
    pub fn id(&self) -> Option<&str> {
        self.text("id").or_else(|| self.text("acceptance_id"))
    }

    /// Returns what the item is bound to.
    pub fn kind(&self) -> Option<AcceptanceKind> {
        self.text("kind").and_then(AcceptanceKind::from_word)
    }

    /// Returns the status its author gave it; an item without one is still to do.
    pub fn authored_status(&self) -> AcceptanceStatus {
        self.text("status").and_then(AcceptanceStatus::from_word).unwrap_or(AcceptanceStatus::Todo)
    }

    /// Returns a text of the binding.
    pub fn binding_text(&self, key: &str) -> Option<&str> {
        self.object("binding")?.get(key)?.as_str()
    }

    /// Returns whether the goal needs this item; items that do not say are needed.
    pub fn is_required(&self) -> bool {
        self.bool("required") != Some(false)
    }
}
