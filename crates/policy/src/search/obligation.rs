//! What the future still owes: boolean combinations of formulas about the next position.

use std::collections::BTreeSet;

use super::automaton::NodeId;

/// An obligation, simplified so that equal ones usually look equal.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Obligation {
    Constant(bool),
    /// A formula holds at the next position; `at_end` is what counts when there is none.
    Next {
        node: NodeId,
        at_end: bool,
    },
    Not(Box<Obligation>),
    All(BTreeSet<Obligation>),
    Any(BTreeSet<Obligation>),
}

impl Obligation {
    pub(super) fn not(self) -> Self {
        match self {
            Self::Constant(value) => Self::Constant(!value),
            Self::Not(inner) => *inner,
            other => Self::Not(Box::new(other)),
        }
    }

    pub(super) fn all(parts: impl IntoIterator<Item = Self>) -> Self {
        Self::join(parts, true)
    }

    pub(super) fn any(parts: impl IntoIterator<Item = Self>) -> Self {
        Self::join(parts, false)
    }

    /// Joins parts; `neutral` is the constant that changes nothing, its opposite decides alone.
    fn join(parts: impl IntoIterator<Item = Self>, neutral: bool) -> Self {
        let mut kept = BTreeSet::new();
        for part in parts {
            match (part, neutral) {
                (Self::Constant(value), _) if value == neutral => {}
                (Self::Constant(value), _) => return Self::Constant(value),
                (Self::All(inner), true) | (Self::Any(inner), false) => kept.extend(inner),
                (other, _) => drop(kept.insert(other)),
            }
        }
        if kept.iter().any(|part| matches!(part, Self::Not(inner) if kept.contains(inner))) {
            return Self::Constant(!neutral);
        }
        match (kept.len(), neutral) {
            (0, _) => Self::Constant(neutral),
            (1, _) => kept.pop_first().unwrap_or(Self::Constant(neutral)),
            (_, true) => Self::All(kept),
            (_, false) => Self::Any(kept),
        }
    }

    /// Returns what the obligation amounts to when the trace ends here; `settled` knows what is decided by then.
    pub(super) fn at_end(&self, settled: &dyn Fn(NodeId) -> Option<bool>) -> bool {
        match self {
            Self::Constant(value) => *value,
            Self::Next { node, at_end } => settled(*node).unwrap_or(*at_end),
            Self::Not(inner) => !inner.at_end(settled),
            Self::All(parts) => parts.iter().all(|part| part.at_end(settled)),
            Self::Any(parts) => parts.iter().any(|part| part.at_end(settled)),
        }
    }

    /// Replaces what is owed at the next position by what `progress` makes of it there.
    pub(super) fn progress(&self, progress: &mut dyn FnMut(NodeId) -> Self) -> Self {
        match self {
            Self::Constant(value) => Self::Constant(*value),
            Self::Next { node, .. } => progress(*node),
            Self::Not(inner) => inner.progress(progress).not(),
            Self::All(parts) => {
                Self::all(parts.iter().map(|part| part.progress(progress)).collect::<Vec<_>>())
            }
            Self::Any(parts) => {
                Self::any(parts.iter().map(|part| part.progress(progress)).collect::<Vec<_>>())
            }
        }
    }
}
