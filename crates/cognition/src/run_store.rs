//! A bounded list of runs, newest first: what an API answers "what is running" from.

use std::collections::VecDeque;
use std::sync::Arc;

use hence_canon::Value;

use crate::state::{RunStatus, Timestamp};

/// How many runs are kept unless said otherwise.
pub const RUNS_DEFAULT: usize = 100;

/// What is known about a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunEntry {
    /// The run.
    pub run_id: Arc<str>,
    /// Its skill.
    pub skill_id: Arc<str>,
    /// How it stands.
    pub status: RunStatus,
    /// The trace it belongs to.
    pub trace_id: Option<Arc<str>>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// What it gave.
    pub result: Value,
    /// Why it failed.
    pub error: Option<Arc<str>>,
}

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunEnd {
    /// It gave this.
    Completed(Value),
    /// It failed because of this.
    Failed(Arc<str>),
}

/// A change that does not fit what is known about a run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RunStoreError {
    /// The id is taken.
    #[error("run `{0}` exists already")]
    Exists(Arc<str>),
    /// No such run is kept.
    #[error("no run `{0}`")]
    Unknown(Arc<str>),
    /// It has ended; an end is final.
    #[error("run `{0}` has ended")]
    Ended(Arc<str>),
}

/// The newest runs, oldest first inside.
#[derive(Clone, Debug)]
pub struct RunStore {
    entries: VecDeque<RunEntry>,
    runs_max: usize,
}

impl RunStore {
    /// Returns an empty store that keeps at least one run.
    pub fn new(runs_max: usize) -> Self {
        Self { entries: VecDeque::new(), runs_max: runs_max.max(1) }
    }

    /// Adds a run that has started; the oldest makes room.
    ///
    /// # Errors
    /// [`RunStoreError::Exists`] when the id is taken.
    pub fn create(
        &mut self,
        run_id: Arc<str>,
        skill_id: Arc<str>,
        trace_id: Option<Arc<str>>,
        created_at: Timestamp,
    ) -> Result<(), RunStoreError> {
        if self.get(&run_id).is_some() {
            return Err(RunStoreError::Exists(run_id));
        }
        self.entries.push_back(RunEntry {
            run_id,
            skill_id,
            status: RunStatus::Running,
            trace_id,
            created_at,
            finished_at: None,
            result: Value::Null,
            error: None,
        });
        while self.entries.len() > self.runs_max {
            self.entries.pop_front();
        }
        Ok(())
    }

    /// Ends a run.
    ///
    /// # Errors
    /// [`RunStoreError`] when it is not kept or has ended before.
    pub fn end(&mut self, run_id: &str, end: RunEnd, finished_at: Timestamp) -> Result<(), RunStoreError> {
        let entry = self.entries.iter_mut().find(|entry| &*entry.run_id == run_id);
        let entry = entry.ok_or_else(|| RunStoreError::Unknown(run_id.into()))?;
        if entry.status != RunStatus::Running {
            return Err(RunStoreError::Ended(run_id.into()));
        }
        entry.finished_at = Some(finished_at);
        match end {
            RunEnd::Completed(result) => {
                entry.status = RunStatus::Completed;
                entry.result = result;
            }
            RunEnd::Failed(error) => {
                entry.status = RunStatus::Failed;
                entry.error = Some(error);
            }
        }
        Ok(())
    }

    /// Returns a run.
    pub fn get(&self, run_id: &str) -> Option<&RunEntry> {
        self.entries.iter().find(|entry| &*entry.run_id == run_id)
    }

    /// Iterates over the runs, newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = &RunEntry> {
        self.entries.iter().rev()
    }
}

impl Default for RunStore {
    fn default() -> Self {
        Self::new(RUNS_DEFAULT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instant() -> Timestamp {
        "2026-01-02T03:04:05Z".parse().unwrap()
    }

    #[test]
    fn the_oldest_makes_room_and_an_end_is_final() {
        let mut store = RunStore::new(2);
        for id in ["r1", "r2", "r3"] {
            store.create(id.into(), "s".into(), None, instant()).unwrap();
        }
        assert_eq!(store.newest_first().map(|entry| &*entry.run_id).collect::<Vec<_>>(), ["r3", "r2"]);
        store.end("r2", RunEnd::Completed(1.into()), instant()).unwrap();
        let late = store.end("r2", RunEnd::Failed("late".into()), instant());
        assert_eq!(late, Err(RunStoreError::Ended("r2".into())));
        assert_eq!(
            store.end("r1", RunEnd::Completed(1.into()), instant()),
            Err(RunStoreError::Unknown("r1".into()))
        );
        let twice = store.create("r2".into(), "other".into(), None, instant());
        assert_eq!(twice, Err(RunStoreError::Exists("r2".into())));
    }
}
