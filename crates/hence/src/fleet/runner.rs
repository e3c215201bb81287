//! Driving a claimed run: what `hence resume` does, with the end told to the queue instead of a person.

use hence_fleet::{Claim, Runner, Schedule, Settlement, StopFlag, Time, Wait};
use hence_skills::{OpenTimers, Stop};
use hence_store::{RunId, StoreHandle};

use crate::code::Code;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::kind::{self, DriveOptions, Imported, Purpose};
use crate::skills;
use crate::store_place::StorePlace;
use crate::target::Journal;

/// A runner on the runs of a store.
pub(super) struct StoreRunner {
    context: Context,
    store: StoreHandle,
}

struct Stopping<'a>(&'a StopFlag);

impl Stop for Stopping<'_> {
    fn is_wanted(&self) -> bool {
        self.0.is_set()
    }
}

impl StoreRunner {
    pub(super) fn new(place: StorePlace, store: StoreHandle) -> Self {
        Self { context: Context::of_worker(place, store.clone()), store }
    }

    fn resume(&self, run: &RunId, stop: &StopFlag) -> Result<Exit, CliError> {
        let journal = Journal::of_stored(self.store.clone(), run)?;
        // Nobody is there to allow what an imported run would call.
        let opened = kind::open(&journal, &[], Purpose::Resume(Imported::Refused))?;
        let stopping = Stopping(stop);
        let options = DriveOptions { stop: Some(&stopping), ..DriveOptions::default() };
        opened.resume(&self.context, &journal, options)
    }

    /// Returns the event that a waiting run waits for.
    fn wait(&self, run: &RunId) -> Option<Wait> {
        let history = skills::history(&self.store, run).ok()??;
        // Of a timer and a question the timer decides: an answer wakes the run in any case.
        if let OpenTimers::Only(due) | OpenTimers::AndPeople(due) = history.open_timers() {
            return Some(Wait::Until(Time::from_millis(u64::try_from(due.as_millis()).unwrap_or_default())));
        }
        let questions: Vec<String> = history.questions().map(|(call, _)| call.step.to_string()).collect();
        match questions.as_slice() {
            [] => None,
            steps => Some(Wait::Person(format!("step {}", steps.join(", ")))),
        }
    }

    /// Returns the end of a claim whose drive stopped with an error.
    fn failed(&self, run: &RunId, error: &CliError) -> Settlement {
        let reason = format!("{} {}", error.code, error.message);
        match error.code {
            Code::Interrupted => Settlement::Released,
            Code::InUse => Settlement::Busy { holder: error.message.clone() },
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

impl Runner for StoreRunner {
    fn drive(&self, claim: &Claim, stop: &StopFlag) -> Settlement {
        let run = &claim.run;
        let ended = |status: &str| Settlement::Ended { status: status.to_owned() };
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
            Err(error) => self.failed(run, &error),
        }
    }

    fn submit_scheduled(&self, schedule: &Schedule, due: Time) -> Result<(), String> {
        super::schedule::fire(&self.context, &self.store, schedule, due)
            .map_err(|error| format!("{} {}", error.code, error.message))
    }
}
