//! The calls of bound steps while a run is driven: what is known about them, and where more of it is kept.

use std::sync::Arc;

use hence_capabilities::Library;
use hence_skills::CallHistory;
use hence_state::ProblemSpec;
use hence_store::{RunId, RunWriter, Store};

use super::{BoundCallees, bound_problem, pinned};
use crate::error::CliError;
use crate::skills::{self, StoreCallLog};
use crate::target::Journal;

/// A run whose bound steps may be called: lines are kept beside its journal.
pub(crate) struct Calling(Arc<BoundCallees>);

impl Calling {
    /// Begins to keep lines, if a bound step may call anything but pure functions, or there are lines already.
    pub(crate) fn open(
        means: Option<&Arc<BoundCallees>>,
        problem: &ProblemSpec,
        (store, id): (&dyn Store, &RunId),
        writer: &mut dyn RunWriter,
    ) -> Result<Option<Self>, CliError> {
        let Some(means) = means else { return Ok(None) };
        let history = skills::history(store, id)?;
        let mut bindings = problem.settings().bindings.iter();
        if history.is_none() && !bindings.any(|binding| means.reaches_out(&binding.capability)) {
            return Ok(None);
        }
        let log = StoreCallLog::open(writer)?;
        means.attend(history.unwrap_or_default(), Box::new(log));
        Ok(Some(Self(means.clone())))
    }

    /// Ends keeping lines, and returns what is known.
    pub(crate) fn close(self) -> CallHistory {
        self.0.leave()
    }
}

/// Returns what the bound steps of a run may call, to judge an answer by; `None` when it has no bound steps.
pub(crate) fn answering_library(journal: &Journal) -> Result<Option<Library>, CliError> {
    match bound_problem(journal) {
        Some(problem) => skills::library_pinned(journal, &[], pinned(&problem)).map(Some),
        None => Ok(None),
    }
}
