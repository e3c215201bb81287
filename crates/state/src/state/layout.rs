//! The canonical form of a state as parts, so that hashing it costs what has changed.
//!
//! Canonical order puts `artifacts` first and everything that changes with each step behind it:
//!
//! ```text
//! {"artifacts":{ … one part per artifact, one per later output … },
//!  "assumptions":…,"constraints":…,"errors":…,"metadata":…,"problem": <problem>   one part
//!  ,"status":…,"step_index":…,"version":…}                                        one part
//! ```

use hence_canon::{Canonical, Digest, Part, PartedDigest, write_string, write_texts};

use super::{Core, STATE_VERSION};
use crate::ITERATIONS_KEY;

/// Parts behind the artifacts.
const END_PARTS: usize = 2;
/// What the first of them takes as a rule, the problem left out.
const END_ROOM: usize = 256;

#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    parts: PartedDigest,
    end: End,
}

/// Whether the parts behind the artifacts say what the state says.
///
/// They change with every mutation, and a journal that is folded back asks for few of the states on the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum End {
    #[default]
    Laid,
    Stale,
}

impl Core {
    pub(super) fn digest(&mut self) -> Digest {
        self.lay_end();
        self.layout.parts.digest()
    }

    pub(super) fn canonical(&self) -> Canonical {
        if self.layout.end == End::Stale {
            let mut laid = self.clone();
            laid.lay_end();
            return laid.canonical();
        }
        Canonical::from_canonical(&self.layout.parts.bytes())
            .expect("the parts are canonical and in canonical order")
    }

    /// Lays all parts anew.
    pub(super) fn relay(&mut self) {
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
        let [middle, end] = self.end_parts();
        parts.push(middle);
        parts.push(end);
        self.layout = Layout { parts, end: End::Laid };
    }

    /// Takes note that the parts behind the artifacts have changed.
    pub(super) fn relay_end(&mut self) {
        self.layout.end = End::Stale;
    }

    fn lay_end(&mut self) {
        if self.layout.end == End::Laid {
            return;
        }
        self.layout.end = End::Laid;
        let at = self.layout.parts.len() - END_PARTS;
        let [middle, end] = self.end_parts();
        self.layout.parts.replace(at, middle);
        self.layout.parts.replace(at + 1, end);
    }

    /// Lays a new artifact that stands at `position` among the first outputs.
    pub(super) fn lay_first(&mut self, position: usize) {
        // A new first member takes the opening's place and gives its neighbour a comma: all is rehashed anyway.
        if position == 0 {
            return self.relay();
        }
        let part = self.artifact_part(position);
        if let Some((at, part)) = part {
            self.layout.parts.insert(at, part);
        }
    }

    /// Lays an artifact that was overwritten.
    pub(super) fn lay_overwritten(&mut self, position: usize) {
        if let Some((at, part)) = self.artifact_part(position) {
            self.layout.parts.replace(at, part);
        }
    }

    /// Lays the newest of the later outputs.
    pub(super) fn lay_later(&mut self) {
        let (count, position) = (self.artifacts.later().len(), self.artifacts.iterations_position());
        if count == 1 && position == 0 {
            return self.relay();
        }
        let Some(newest) = self.artifacts.later().last() else { return };
        let opening = 1 + position;
        if count == 1 {
            self.layout.parts.insert(opening, iterations_opening(position));
            self.layout.parts.insert(opening + 1, Part::with_value("", newest.canonical()));
            self.layout.parts.insert(opening + 2, Part::literal(*b"]"));
        } else {
            self.layout.parts.insert(opening + count, Part::with_value(",", newest.canonical()));
        }
    }

    /// Returns the part of the first output at `position`, and where among all parts it belongs.
    fn artifact_part(&self, position: usize) -> Option<(usize, Part)> {
        let (key, output) = self.artifacts.iter().nth(position)?;
        let behind_iterations = !self.artifacts.later().is_empty() && &**key > ITERATIONS_KEY;
        let iterations = if behind_iterations { self.artifacts.later().len() + 2 } else { 0 };
        let member = position + usize::from(behind_iterations);
        Some((1 + position + iterations, Part::with_value(key_prefix(key, member), output.clone())))
    }

    fn end_parts(&self) -> [Part; END_PARTS] {
        let mut middle = Vec::with_capacity(END_ROOM);
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
