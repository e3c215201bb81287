//! Driving a run of the built-in skill as far as it goes, each record durable before the next.

use std::sync::Arc;

use hence_canon::Value;
use hence_engine::{Finished, Gate, Plan, Resumed, Run, RunError};
use hence_skills::CallHistory;
use hence_store::{FileStore, RunId, RunWriter};

use super::{Beginning, Ended, line, read_back};
use crate::bound::{BoundCallees, Calling};
use crate::guard;
use crate::prelude::*;
use crate::sink::StoreSink;
use crate::skills::{WaitingRow, calls_name};

/// A run, where it is kept, and what its bound steps call.
pub(super) struct Going<'a> {
    pub(super) context: &'a Context,
    pub(super) store: &'a FileStore,
    pub(super) id: &'a RunId,
    pub(super) plan: Plan,
    pub(super) means: Option<&'a Arc<BoundCallees>>,
}

impl Going<'_> {
    /// Lays policies down, if there are any to, and runs to the end or to where somebody has to say something.
    pub(super) fn go<'p>(
        self,
        mut run: Run,
        (mut writer, gate): (Box<dyn RunWriter>, Option<Box<dyn Gate + '_>>),
        policies: impl IntoIterator<Item = &'p Value>,
        beginning: Beginning,
    ) -> Result<Ended, CliError> {
        let place = (self.store as &dyn hence_store::Store, self.id);
        let calling = Calling::open(self.means, self.plan.problem(), place, &mut *writer)?;
        let mut kept_in = StoreSink::new(self.store, writer);
        let mut sink = guard::guarded(&mut kept_in, gate);
        for policies in policies {
            run.install_policies(policies, &mut *sink).map_err(|error| not_amended(self.id, error))?;
        }
        let watched = self.context.is_watched();
        let finished = run.finish(&mut *sink, |event| {
            if watched {
                self.context.say(line(event));
            }
        });
        drop(sink);
        let history = calling.map(Calling::close);
        match finished {
            Ok(finished) => {
                // What was under way is recorded. Lines that stay behind after a crash here say nothing.
                if history.is_some() {
                    kept_in.writer.detach(&calls_name())?;
                }
                Ok(Ended { finished, beginning, waiting: Vec::new() })
            }
            Err(RunError::Waiting { .. }) => {
                drop(kept_in);
                self.waiting(&history.unwrap_or_default(), beginning)
            }
            Err(RunError::Blocked(blocked)) => Err(guard::blocked(self.id.as_str(), &blocked)),
            Err(error) => Err(CliError::from(error).with_hint(hint::fix_and_resume(self.id.as_str()))),
        }
    }

    fn waiting(self, history: &CallHistory, beginning: Beginning) -> Result<Ended, CliError> {
        let waiting = WaitingRow::all(self.context, self.id.as_str(), history);
        let finished = match read_back(self.store, self.plan, self.id)?.0 {
            Resumed::Going(run) => Finished { state: run.state().clone(), head: run.head() },
            Resumed::Ended(finished) => finished,
        };
        Ok(Ended { finished, beginning, waiting })
    }
}

/// Names why the policies of a run stay as they are.
fn not_amended(id: &RunId, error: RunError) -> CliError {
    match error {
        RunError::Book(book) if guard::is_refusal(&book) => CliError::of_run(Code::Gate, id, book),
        other => other.into(),
    }
}
