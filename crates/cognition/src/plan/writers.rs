//! The writers of each target, and the steps that read from them.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::StepIndex;
use crate::mapping::Target;
use crate::reference::{Namespace, Reference};
use crate::skill::{Skill, Step};

/// The declared writes of a skill, by target text, in plan order.
///
/// Keys end with a dot so that everything below `working.artifacts.` is one range.
pub(crate) struct Writers {
    by_target: BTreeMap<String, Vec<(usize, StepIndex)>>,
}

impl Writers {
    pub(super) fn of(skill: &Skill, order: &[StepIndex]) -> Self {
        let planned = order.iter().enumerate().flat_map(|(position, index)| {
            let step = skill.steps.get(index.position());
            step.into_iter().flat_map(targets).map(move |target| (target.to_string(), (position, *index)))
        });
        planned.collect()
    }

    /// Iterates over the targets.
    pub(super) fn targets(&self) -> impl Iterator<Item = &str> {
        self.by_target.keys().map(|target| target.trim_end_matches('.'))
    }

    /// Iterates over targets with more than one writer.
    pub(super) fn shared(&self) -> impl Iterator<Item = (&str, &[(usize, StepIndex)])> {
        let several = self.by_target.iter().filter(|(_, writers)| writers.len() > 1);
        several.map(|(target, writers)| (target.trim_end_matches('.'), writers.as_slice()))
    }

    /// Returns the writers whose targets overlap a reference: the same place, one above it or one below it.
    pub(crate) fn of_reference(&self, reference: &Reference) -> Vec<(usize, StepIndex)> {
        let place = format!("{reference}.");
        let mut found: Vec<(usize, StepIndex)> = Vec::new();
        // Above: every prefix of the path that ends at a dot.
        for (at, _) in place.match_indices('.') {
            found
                .extend(place.get(..=at).and_then(|prefix| self.by_target.get(prefix)).into_iter().flatten());
        }
        let below = self.by_target.range::<str, _>((Bound::Excluded(place.as_str()), Bound::Unbounded));
        found.extend(
            below.take_while(|(target, _)| target.starts_with(&place)).flat_map(|(_, writers)| writers),
        );
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns, per step, the earlier steps in plan order whose writes it reads.
    pub(super) fn reads_from(&self, skill: &Skill, order: &[StepIndex]) -> Vec<Vec<StepIndex>> {
        let mut all = vec![Vec::new(); skill.steps.len()];
        for (position, index) in order.iter().enumerate() {
            let Some(step) = skill.steps.get(index.position()) else { continue };
            let references = written_references(step);
            let writers = references.iter().flat_map(|reference| self.of_reference(reference));
            let mut found: Vec<StepIndex> =
                writers.filter(|(writer, _)| *writer < position).map(|(_, index)| index).collect();
            found.sort_unstable();
            found.dedup();
            if let Some(place) = all.get_mut(index.position()) {
                *place = found;
            }
        }
        all
    }
}

/// Collects targets with the position at which, and the step by which, each is written.
impl FromIterator<(String, (usize, StepIndex))> for Writers {
    fn from_iter<I: IntoIterator<Item = (String, (usize, StepIndex))>>(written: I) -> Self {
        let mut by_target: BTreeMap<String, Vec<(usize, StepIndex)>> = BTreeMap::new();
        for (target, writer) in written {
            by_target.entry(format!("{target}.")).or_default().push(writer);
        }
        Self { by_target }
    }
}

/// Iterates over what a step declares to write.
pub(super) fn targets(step: &Step) -> impl Iterator<Item = &Target> {
    step.output.iter().flat_map(|mapping| mapping.entries().map(|(_, target)| target))
}

/// Returns everything a step declares to read: input, control blocks, and fields copied from memory.
pub(crate) fn references(step: &Step) -> Vec<Reference> {
    let input = step.input.iter().flat_map(|mapping| mapping.references().into_iter().cloned());
    let copied = step.output.iter().flat_map(|mapping| {
        mapping.entries().filter_map(|(field, _)| match field {
            crate::mapping::ProducedField::Memory(reference) => Some(reference.clone()),
            crate::mapping::ProducedField::Member(_) => None,
        })
    });
    input.chain(step.control.references()).chain(copied).collect()
}

/// Returns what a step declares to read of what steps can write.
fn written_references(step: &Step) -> Vec<Reference> {
    let mut all = references(step);
    all.retain(|reference| !matches!(reference.namespace(), Namespace::Inputs | Namespace::Frame));
    all
}
