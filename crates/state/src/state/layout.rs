//! The canonical form of a state as parts, so that hashing it costs what has changed.
//!
//! Canonical order puts `artifacts` first and everything that changes with each step after it, in the tail:
//!
//! ```text
//! {"artifacts":{ … one part per artifact, one per later output … },
//!  "assumptions":…,"constraints":…,"errors":…,"metadata":…,"problem": <problem>   one part
//!  ,"status":…,"step_index":…,"version":…}                                        one part
//! ```

use hence_canon::{Canonical, Digest, Midstate, Part, PartedDigest, write_string, write_texts};

use super::{Core, STATE_VERSION};
use crate::ITERATIONS_KEY;

/// The number of parts after the artifacts.
const TAIL_PARTS: usize = 2;
/// The usual size of the first of them, without the problem.
const TAIL_BYTES: usize = 256;

const IN_ORDER: &str = "the parts are canonical and in canonical order";

#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    parts: PartedDigest,
    tail: Tail,
}

/// Whether the parts after the artifacts match the state.
///
/// They change with every mutation, but folding a journal asks for the hash of few states.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Tail {
    #[default]
    Fresh,
    Stale,
}

impl Core {
    pub(super) fn digest(&mut self) -> Digest {
        self.refresh_tail();
        self.layout.parts.digest()
    }

    pub(super) fn canonical(&self) -> Canonical {
        if self.layout.tail == Tail::Stale {
            let mut fresh = self.clone();
            fresh.refresh_tail();
            return fresh.canonical();
        }
        if !self.artifacts.is_whole() {
            let mut held = self.clone();
            held.rebuild();
            return Canonical::from_canonical(&held.layout.parts.bytes()).expect(IN_ORDER);
        }
        Canonical::from_canonical(&self.layout.parts.bytes()).expect(IN_ORDER)
    }

    /// Writes all parts again.
    pub(super) fn rebuild(&mut self) {
        let mut parts = PartedDigest::new();
        parts.push(Part::literal(*br#"{"artifacts":{"#));
        for (position, key) in self.artifacts.keys().into_iter().enumerate() {
            if key == ITERATIONS_KEY {
                parts.push(iterations_opening(position));
                for (at, later) in self.artifacts.later().iter().enumerate() {
                    parts.push(Part::with_value(if at == 0 { "" } else { "," }, later.canonical()));
                }
                parts.push(Part::literal(*b"]"));
            } else if let Some(output) = self.artifacts.first(key) {
                parts.push(Part::with_value(key_prefix(key, position), output.clone()));
            }
        }
        self.tail_parts().into_iter().for_each(|part| parts.push(part));
        self.layout = Layout { parts, tail: Tail::Fresh };
    }

    /// Makes the artifacts those of another state of the same run.
    pub(super) fn restore_artifacts(&mut self, earlier: &Self) {
        self.artifacts = earlier.artifacts.clone();
        self.layout = earlier.layout.clone();
        self.invalidate_tail();
    }

    /// Marks the parts after the artifacts as changed.
    pub(super) fn invalidate_tail(&mut self) {
        self.layout.tail = Tail::Stale;
    }

    fn refresh_tail(&mut self) {
        if self.layout.tail == Tail::Fresh {
            return;
        }
        self.layout.tail = Tail::Fresh;
        let at = self.layout.parts.len() - TAIL_PARTS;
        let [middle, end] = self.tail_parts();
        self.layout.parts.replace(at, middle);
        self.layout.parts.replace(at + 1, end);
    }

    /// Inserts the part of a new artifact at `position` among the first outputs.
    pub(super) fn insert_first(&mut self, position: usize) {
        // A new first member moves its neighbour behind a comma, so everything is hashed again anyway.
        if position == 0 {
            return self.rebuild();
        }
        let part = self.artifact_part(position);
        if let Some((at, part)) = part {
            self.layout.parts.insert(at, part);
        }
    }

    /// Replaces the part of an artifact that was overwritten.
    pub(super) fn replace_first(&mut self, position: usize) {
        if let Some((at, part)) = self.artifact_part(position) {
            self.layout.parts.replace(at, part);
        }
    }

    /// Appends the part of the newest of the later outputs.
    pub(super) fn append_later(&mut self) {
        let (count, position) = (self.artifacts.later_count(), self.artifacts.iterations_position());
        if count == 1 && position == 0 {
            return self.rebuild();
        }
        let Some(newest) = self.artifacts.later().last() else { return };
        let opening = 1 + position;
        if count == 1 {
            self.layout.parts.insert(opening, iterations_opening(position));
            self.layout.parts.insert(opening + 1, Part::with_value("", newest.canonical()));
            self.layout.parts.insert(opening + 2, Part::literal(*b"]"));
        } else {
            let at = self.layout.parts.len() - self.parts_after_later();
            self.layout.parts.insert(at, Part::with_value(",", newest.canonical()));
        }
    }

    /// Returns the number of parts after the last of the later outputs: the end of their list, the artifacts whose key
    /// sorts after it, and the tail.
    fn parts_after_later(&self) -> usize {
        1 + self.artifacts.iter().len() - self.artifacts.iterations_position() + TAIL_PARTS
    }

    /// Returns the hasher after the last of the later outputs, if there is one and the state was hashed.
    pub(super) fn midstate_after_later(&mut self) -> Option<Midstate> {
        if self.artifacts.later_count() == 0 {
            return None;
        }
        self.digest();
        self.layout.parts.midstate(self.layout.parts.len() - self.parts_after_later())
    }

    /// Continues the parts after the later outputs, which are not held.
    pub(super) fn continue_after_later(&mut self, midstate: Midstate) {
        let mut parts = PartedDigest::after(midstate);
        parts.push(Part::literal(*b"]"));
        let position = self.artifacts.iterations_position();
        for (at, (key, output)) in self.artifacts.iter().enumerate().skip(position) {
            parts.push(Part::with_value(key_prefix(key, at + 1), output.clone()));
        }
        self.tail_parts().into_iter().for_each(|part| parts.push(part));
        self.layout = Layout { parts, tail: Tail::Fresh };
    }

    /// Returns the part of the first output at `position`, and its place among all parts.
    fn artifact_part(&self, position: usize) -> Option<(usize, Part)> {
        let (key, output) = self.artifacts.iter().nth(position)?;
        let after_iterations = !self.artifacts.later().is_empty() && &**key > ITERATIONS_KEY;
        let iterations = if after_iterations { self.artifacts.later().len() + 2 } else { 0 };
        let member = position + usize::from(after_iterations);
        Some((1 + position + iterations, Part::with_value(key_prefix(key, member), output.clone())))
    }

    fn tail_parts(&self) -> [Part; TAIL_PARTS] {
        let mut middle = Vec::with_capacity(TAIL_BYTES);
        middle.extend_from_slice(b"},\"assumptions\":");
        write_texts(&self.assumptions, &mut middle);
        middle.extend_from_slice(b",\"constraints\":");
        write_texts(&self.constraints, &mut middle);
        middle.extend_from_slice(b",\"errors\":");
        if self.errors.is_empty() {
            middle.extend_from_slice(b"[]");
        } else {
            middle.extend_from_slice(&hence_canon::canonical_bytes(&self.errors.iter().collect()));
        }
        middle.extend_from_slice(b",\"metadata\":");
        self.metadata.write(&mut middle);
        middle.extend_from_slice(b",\"problem\":");
        let end = format!(
            ",\"status\":\"{}\",\"step_index\":{},\"version\":\"{STATE_VERSION}\"}}",
            self.status, self.step_index
        );
        [Part::with_value(middle, self.problem.canonical().clone()), Part::literal(end)]
    }
}

fn iterations_opening(position: usize) -> Part {
    let mut opening = key_prefix(ITERATIONS_KEY, position);
    opening.push(b'[');
    Part::literal(opening)
}

fn key_prefix(key: &str, position: usize) -> Vec<u8> {
    let mut prefix = Vec::with_capacity(key.len() + 4);
    if position > 0 {
        prefix.push(b',');
    }
    write_string(key, &mut prefix);
    prefix.push(b':');
    prefix
}
