//! Where a rule looks, cheap to carry along and spelled out only when there is a finding.

use hence_canon::JsonPointer;

use crate::wire::Entry;

/// One step into a document.
#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a> From<&'a str> for Step<'a> {
    fn from(key: &'a str) -> Self {
        Self::Key(key)
    }
}

impl From<usize> for Step<'_> {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// The deepest place a rule looks at: `/goals/0/acceptance/0/binding/policy_id` and its like, with room to spare.
const DEPTH_MAX: usize = 8;

/// A place in a document.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    steps: [Step<'a>; DEPTH_MAX],
    depth: usize,
}

impl<'a> Place<'a> {
    pub(super) const fn root() -> Self {
        Self { steps: [Step::Index(0); DEPTH_MAX], depth: 0 }
    }

    /// Returns an entry of a top-level list.
    pub(super) fn of(list: &'a str, entry: &Entry) -> Self {
        Self::root().child(list).child(entry.index())
    }

    /// Returns a place inside this one; deeper than [`DEPTH_MAX`] it stays at the enclosing place.
    pub(super) fn child(mut self, step: impl Into<Step<'a>>) -> Self {
        if let Some(slot) = self.steps.get_mut(self.depth) {
            *slot = step.into();
            self.depth += 1;
        }
        self
    }
}

impl From<Place<'_>> for JsonPointer {
    fn from(place: Place<'_>) -> Self {
        place
            .steps
            .iter()
            .take(place.depth)
            .map(|step| match step {
                Step::Key(key) => (*key).to_owned(),
                Step::Index(index) => index.to_string(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_pointer_up_to_its_depth() {
        let full = (0..DEPTH_MAX).fold(Place::root(), |place, step| place.child(step));
        assert_eq!(JsonPointer::from(full).to_string(), "/0/1/2/3/4/5/6/7");
        assert_eq!(JsonPointer::from(full.child("x")).to_string(), "/0/1/2/3/4/5/6/7");
        assert_eq!(JsonPointer::from(Place::root().child("a/b").child(3)).to_string(), "/a~1b/3");
    }
}
