//! Lineage: which step wrote a value and from what, and what depends on it.
//!
//! Lineage is computed from the outcomes of a run and its skill: reads and writes are declared, so
//! nothing has to be observed during the run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::mapping::MergeStrategy;
use crate::plan::{StepIndex, Writers, references};
use crate::reference::{Namespace, Reference};
use crate::run::StepOutcome;
use crate::skill::{Skill, Step};
use crate::state::Names;

#[cfg(test)]
mod tests;

/// The reads and writes of all steps of one run.
pub struct Lineage<'a> {
    outcomes: &'a [StepOutcome],
    /// For each outcome, its step.
    steps: Vec<Option<&'a Step>>,
    writers: Writers,
    /// For each outcome, what it read and from whom.
    sources: Vec<Vec<Source>>,
}

/// One thing a step read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// The reference that was read.
    pub reference: Reference,
    /// The outcomes it came from, newest first, by their position in the run. None for what the caller gave, and
    /// for what was not there.
    pub from: Vec<usize>,
}

/// One step in the history of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    /// The position of the outcome in the run.
    pub position: usize,
    /// The step.
    pub step_id: Arc<str>,
    /// The target it wrote.
    pub writes: Names,
    /// The sources it read.
    pub sources: Vec<Source>,
}

impl<'a> Lineage<'a> {
    /// Takes in the outcomes of a run of a skill. Outcomes of steps the skill does not have are left out of
    /// every answer.
    pub fn of(skill: &'a Skill, outcomes: &'a [StepOutcome]) -> Self {
        let by_id: BTreeMap<&Arc<str>, usize> =
            skill.steps.iter().enumerate().map(|(index, step)| (&step.id, index)).collect();
        let index_of = |outcome: &StepOutcome| by_id.get(&outcome.step_id).copied();
        let written = outcomes.iter().enumerate().filter_map(|(position, outcome)| {
            let step = StepIndex::new(index_of(outcome)?);
            Some(outcome.writes.iter().map(move |target| (target.to_string(), (position, step))))
        });
        let mut lineage = Self {
            outcomes,
            steps: outcomes.iter().map(|outcome| skill.steps.get(index_of(outcome)?)).collect(),
            writers: written.flatten().collect(),
            sources: Vec::new(),
        };
        lineage.sources = (0..outcomes.len()).map(|position| lineage.read_by(position)).collect();
        lineage
    }

    fn read_by(&self, position: usize) -> Vec<Source> {
        let step = self.steps.get(position).copied().flatten();
        let read: BTreeSet<Reference> = step.into_iter().flat_map(references).collect();
        let source = |reference: Reference| Source { from: self.origin(&reference, position), reference };
        read.into_iter().map(source).collect()
    }

    /// Returns the history of what a reference names at the end of the run: every step that had a part in it,
    /// newest first, back to what the caller gave.
    pub fn blame(&self, reference: &Reference) -> Vec<Written> {
        self.history(self.origin(reference, self.outcomes.len()).into_iter().collect())
    }

    /// Returns the history of what a step wrote: the step itself and every step that had a part in what it read,
    /// newest first, back to what the caller gave.
    pub fn blame_step(&self, step_id: &str) -> Vec<Written> {
        let is_it = |(_, outcome): &(usize, &StepOutcome)| &*outcome.step_id == step_id;
        self.history(self.outcomes.iter().enumerate().filter(is_it).map(|(at, _)| at).collect())
    }

    fn history(&self, mut open: BTreeSet<usize>) -> Vec<Written> {
        let mut history = Vec::new();
        // Sources are always older, so taking the newest first meets every step once.
        while let Some(position) = open.pop_last() {
            let Some(written) = self.written(position) else { continue };
            open.extend(written.sources.iter().flat_map(|source| &source.from));
            history.push(written);
        }
        history
    }

    /// Returns what a step of the run had a part in: every later step that read what it wrote, or what those wrote,
    /// oldest first.
    pub fn impact_of_step(&self, step_id: &str) -> Vec<Written> {
        let is_it = |outcome: &StepOutcome| &*outcome.step_id == step_id;
        self.behind(
            self.outcomes
                .iter()
                .enumerate()
                .filter(|(_, outcome)| is_it(outcome))
                .map(|(at, _)| at)
                .collect(),
        )
    }

    /// Returns every step that read what a reference names, at any time, and what followed from those, oldest
    /// first.
    pub fn impact_of(&self, reference: &Reference) -> Vec<Written> {
        let readers = self
            .sources
            .iter()
            .enumerate()
            .filter(|(_, sources)| sources.iter().any(|source| overlap(&source.reference, reference)));
        let readers: BTreeSet<usize> = readers.map(|(position, _)| position).collect();
        let behind = self.behind(readers.clone());
        let mut all: Vec<Written> =
            readers.into_iter().filter_map(|position| self.written(position)).collect();
        all.extend(behind);
        all.sort_by_key(|written| written.position);
        all
    }

    fn behind(&self, start: BTreeSet<usize>) -> Vec<Written> {
        let mut touched = start.clone();
        for (position, sources) in self.sources.iter().enumerate() {
            if sources.iter().flat_map(|source| &source.from).any(|from| touched.contains(from)) {
                touched.insert(position);
            }
        }
        touched.difference(&start).filter_map(|position| self.written(*position)).collect()
    }

    /// Returns who wrote what a reference names just before `position`, newest first: everyone back to the last
    /// one that replaced it as a whole.
    fn origin(&self, reference: &Reference, position: usize) -> Vec<usize> {
        if matches!(reference.namespace(), Namespace::Inputs | Namespace::Frame) {
            return Vec::new();
        }
        let before =
            self.writers.of_reference(reference).into_iter().map(|(at, _)| at).filter(|at| *at < position);
        let mut newest_first: Vec<usize> = before.collect();
        newest_first.dedup();
        newest_first.reverse();
        let replaced = newest_first.iter().position(|at| self.replaces(*at, reference));
        newest_first.truncate(replaced.map_or(usize::MAX, |at| at + 1));
        newest_first
    }

    /// Returns whether an outcome put something new where a reference points, whatever was there.
    fn replaces(&self, position: usize, reference: &Reference) -> bool {
        let Some(outcome) = self.outcomes.get(position) else { return false };
        let strategy = self.steps.get(position).copied().flatten().map(|step| &step.merge_strategy);
        let assigns = matches!(strategy, Some(Ok(MergeStrategy::Overwrite | MergeStrategy::Replace)));
        let place = format!("{reference}.");
        assigns && outcome.writes.iter().any(|target| place.starts_with(&format!("{target}.")))
    }

    fn written(&self, position: usize) -> Option<Written> {
        let outcome = self.outcomes.get(position)?;
        Some(Written {
            position,
            step_id: outcome.step_id.clone(),
            writes: outcome.writes.clone(),
            sources: self.sources.get(position).cloned().unwrap_or_default(),
        })
    }
}

fn overlap(one: &Reference, other: &Reference) -> bool {
    let (one, other) = (format!("{one}."), format!("{other}."));
    one.starts_with(&other) || other.starts_with(&one)
}
