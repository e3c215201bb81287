//! The outputs of the steps of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Canonical, ObjectWriter};

use crate::{ArtifactRule, StepIndex};

/// The artifact that lists the outputs of repeated steps. No step may use it as its own key.
pub const ITERATIONS_KEY: &str = "iterations";

/// The outputs of a run: the first of each key under the key, later ones in a list that only grows.
#[derive(Clone, Debug, Default)]
pub struct Artifacts {
    /// Ordered by key, as the canonical form is.
    first: Vec<(Arc<str>, Canonical)>,
    later: Vec<Produced>,
    /// The number of later outputs before those in `later`, which a state read from a snapshot does not hold.
    later_omitted: usize,
    later_by_key: BTreeMap<Arc<str>, Vec<usize>>,
}

/// An output of a repeated step.
#[derive(Clone, Debug)]
pub struct Produced {
    /// The key that the output belongs under.
    pub key: Arc<str>,
    /// The step.
    pub step: Arc<str>,
    /// The state's step index before the step ran.
    pub step_index: StepIndex,
    /// The output.
    pub output: Canonical,
}

impl Produced {
    pub(crate) fn canonical(&self) -> Canonical {
        ObjectWriter::new()
            .text("key", &self.key)
            .canonical("output", &self.output)
            .text("step", &self.step)
            .count("step_index", self.step_index.get())
            .finish()
    }
}

impl Artifacts {
    /// Returns the first output under `key`.
    pub fn first(&self, key: &str) -> Option<&Canonical> {
        self.find(key).ok().and_then(|at| self.first.get(at)).map(|(_, output)| output)
    }

    /// Returns the newest output under `key`.
    pub fn newest(&self, key: &str) -> Option<&Canonical> {
        let newest = self.later_by_key.get(key).and_then(|places| self.later.get(*places.last()?));
        newest.map(|later| &later.output).or_else(|| self.first(key))
    }

    /// Iterates over all outputs under `key`, oldest first.
    pub fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Canonical> {
        let places = self.later_by_key.get(key).into_iter().flatten();
        let later = places.filter_map(|place| self.later.get(*place)).map(|later| &later.output);
        self.first(key).into_iter().chain(later)
    }

    /// Iterates over first outputs by key, in canonical order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Arc<str>, &Canonical)> {
        self.first.iter().map(|(key, output)| (key, output))
    }

    /// Returns the outputs of repeated steps, oldest first.
    pub fn later(&self) -> &[Produced] {
        &self.later
    }

    /// Returns the number of outputs of repeated steps, with those that are not held here.
    pub fn later_count(&self) -> usize {
        self.later_omitted + self.later.len()
    }

    /// Returns the outputs of a run of which only the first is held, and the number of later ones.
    pub(crate) fn without_later(key: Arc<str>, first: Canonical, later_omitted: usize) -> Self {
        Self { first: vec![(key, first)], later_omitted, ..Self::default() }
    }

    /// Returns whether every output is held.
    pub(crate) fn is_whole(&self) -> bool {
        self.later_omitted == 0
    }

    /// Returns the keys of the artifacts object in canonical order.
    pub fn keys(&self) -> Vec<&str> {
        let mut keys: Vec<&str> = self.first.iter().map(|(key, _)| &**key).collect();
        if self.later_count() > 0 {
            keys.insert(self.iterations_position(), ITERATIONS_KEY);
        }
        keys
    }

    /// Returns the position of the list of later outputs among the keys.
    pub(crate) fn iterations_position(&self) -> usize {
        self.first.partition_point(|(key, _)| &**key < ITERATIONS_KEY)
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        self.first.binary_search_by(|(present, _)| (**present).cmp(key))
    }

    /// Inserts an output under the rule of the run's profile and returns its place.
    pub fn insert(&mut self, rule: ArtifactRule, produced: Produced) -> Placement {
        match (self.find(&produced.key), rule) {
            (Err(at), _) => {
                self.first.insert(at, (produced.key, produced.output));
                Placement::First(at)
            }
            (Ok(at), ArtifactRule::Overwrite) => {
                if let Some((_, slot)) = self.first.get_mut(at) {
                    *slot = produced.output;
                }
                Placement::Overwritten(at)
            }
            (Ok(_), ArtifactRule::AppendOnly) => {
                self.later_by_key.entry(produced.key.clone()).or_default().push(self.later.len());
                self.later.push(produced);
                Placement::Later
            }
        }
    }
}

/// The place of an inserted output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// The output is the first of its key, at this position among the keys.
    First(usize),
    /// The output replaced the one at this position.
    Overwritten(usize),
    /// The output was appended to the list of later outputs.
    Later,
}
