//! Driving a claimed run: what `hence resume` does, with the end told to the queue instead of a person.

use std::collections::BTreeSet;

use hence_fleet::{CHILDREN_MAX, Claim, Job, JobState, Runner, Schedule, Settlement, StopFlag, Time, Wait};
use hence_skills::{OpenTimers, Stop, is_nested_run};
use hence_store::{RunId, StoreHandle};

use crate::code::Code;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::kind::{self, DriveOptions, Imported, Purpose};
use crate::skills::{self, NestedRuns};
use crate::store_place::StorePlace;
use crate::target::Journal;

/// A runner on the runs of a store.
pub(super) struct StoreRunner {
    context: Context,
    store: StoreHandle,
    nested: NestedRuns,
}

struct Stopping<'a>(&'a StopFlag);

impl Stop for Stopping<'_> {
    fn is_wanted(&self) -> bool {
        self.0.is_set()
    }
}

impl StoreRunner {
    pub(super) fn new(place: StorePlace, store: StoreHandle, nested: NestedRuns) -> Self {
        Self { context: Context::of_worker(place, store.clone()), store, nested }
    }

    fn resume(&self, run: &RunId, stop: &StopFlag) -> Result<Exit, Settlement> {
        let failed = |error: CliError| self.failed(run, &error);
        let journal = Journal::of_stored(self.store.clone(), run).map_err(failed)?;
        // Nobody is there to allow what an imported run would call.
        let opened = kind::open(&journal, &[], Purpose::Resume(Imported::Refused));
        let opened = opened.map_err(|error| self.not_opened(run, &error))?;
        let stopping = Stopping(stop);
        let options = DriveOptions {
            stop: Some(&stopping),
            checks_programs: true,
            nested: self.nested,
            ..DriveOptions::default()
        };
        opened.resume(&self.context, &journal, options).map_err(failed)
    }

    /// Returns the end of a claim on a run that this program cannot open: the skill, the nested skills or the capabilities that it pins
    /// are not there, or this version of the program does not know one of them. A worker of another version may.
    fn not_opened(&self, run: &RunId, error: &CliError) -> Settlement {
        match error.code {
            Code::NoSuchPlace
            | Code::Refused
            | Code::Argument
            | Code::Nested
            | Code::Capabilities
            | Code::OtherCapabilities => Settlement::Declined { reason: reason(error) },
            _ => self.failed(run, error),
        }
    }

    /// Returns the event that a waiting run waits for.
    fn wait(&self, run: &RunId) -> Option<Wait> {
        let history = skills::history(&self.store, run).ok()??;
        // Of a timer and a question the timer decides: an answer wakes the run in any case.
        if let OpenTimers::Only(due) | OpenTimers::AndPeople(due) = history.open_timers() {
            return Some(Wait::Until(Time::from_millis(u64::try_from(due.as_millis()).unwrap_or_default())));
        }
        let people = history.questions().filter(|(call, _)| !is_nested_run(&call.capability));
        let questions: Vec<String> = people.map(|(call, _)| call.step.to_string()).collect();
        let nested: BTreeSet<RunId> = history.shared_runs().filter_map(|run| RunId::new(run).ok()).collect();
        match questions.as_slice() {
            [] if nested.len() > CHILDREN_MAX => {
                Some(Wait::Person("more nested runs than one run may wait for".to_owned()))
            }
            [] if !nested.is_empty() => Some(Wait::Children(nested)),
            [] => None,
            steps => Some(Wait::Person(format!("step {}", steps.join(", ")))),
        }
    }

    /// Wakes the run around a nested one that ended, if it does not wait for nested runs alone: those are waited for by the queue.
    fn wake_parent(&self, run: &RunId) {
        let Some(parent) = skills::parent_of(&self.store, run) else { return };
        // Should it fail, the run around it is looked at now and then.
        let Ok(queue) = self.context.place.queue() else { return };
        let waits = |job: &Job| matches!(job.state, JobState::Parked { wait: Wait::Children(_), .. });
        if matches!(queue.job(&parent), Ok(Some(job)) if !waits(&job)) {
            let _ = queue.wake(&parent);
        }
    }

    /// Returns the end of a claim whose drive stopped with an error.
    fn failed(&self, run: &RunId, error: &CliError) -> Settlement {
        let reason = reason(error);
        match error.code {
            Code::Interrupted => Settlement::Released,
            Code::InUse => Settlement::Busy { holder: holder(&error.message) },
            // A person has to change the policies or the run.
            Code::Blocked => Settlement::Parked(Wait::Person(reason)),
            // Another worker may have the secret, the capability or the program.
            Code::OtherCapabilities | Code::SecretMissing | Code::Worker | Code::Model => {
                Settlement::Declined { reason }
            }
            // Trying again reads the same bytes.
            Code::NoSuchRun
            | Code::Damaged
            | Code::BadRecord
            | Code::Diverged
            | Code::Refused
            | Code::Argument
            | Code::Imported
            | Code::Gate
            | Code::Capabilities
            | Code::Nested
            | Code::NoSuchPlace
            | Code::Driven => Settlement::Hopeless { reason },
            // A bound step that waits for a person stops its run.
            Code::BoundStep => match self.wait(run) {
                Some(wait) => Settlement::Parked(wait),
                None => Settlement::Failed { reason },
            },
            _ => Settlement::Failed { reason },
        }
    }
}

/// Returns the holder of a lease that the message of an error names.
fn holder(message: &str) -> String {
    let named = ["being written by ", "taken over by "].iter().find_map(|words| message.split_once(words));
    named.map_or(message, |(_, holder)| holder.split(';').next().unwrap_or(holder)).to_owned()
}

/// The most findings of an error that a reason names.
const FINDINGS_MAX: usize = 3;

/// Returns an error as the reason that `hence why` and `hence fleet` show.
fn reason(error: &CliError) -> String {
    let named = error.findings.iter().take(FINDINGS_MAX).map(String::as_str).collect::<Vec<_>>().join("; ");
    let more = match error.findings.len().saturating_sub(FINDINGS_MAX) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let colon = if named.is_empty() { "" } else { ": " };
    format!("{} {}{colon}{named}{more}", error.code, error.message)
}

impl Runner for StoreRunner {
    fn drive(&self, claim: &Claim, stop: &StopFlag) -> Settlement {
        let run = &claim.run;
        let ended = |status: &str| {
            self.wake_parent(run);
            Settlement::Ended { status: status.to_owned() }
        };
        match self.resume(run, stop) {
            Ok(Exit::Waiting) => match self.wait(run) {
                Some(wait) => Settlement::Parked(wait),
                None => {
                    Settlement::Failed { reason: "it waits, and its log does not say for what".to_owned() }
                }
            },
            Ok(Exit::Yes) => ended("completed"),
            Ok(Exit::Partial) => ended("partial"),
            Ok(Exit::No | Exit::Usage | Exit::Store) => ended("failed"),
            Err(settlement) => settlement,
        }
    }

    fn submit_scheduled(&self, schedule: &Schedule, due: Time) -> Result<(), String> {
        super::schedule::fire(&self.context, &self.store, schedule, due).map_err(|error| reason(&error))
    }
}
