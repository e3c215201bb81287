//! Starting, resuming and driving a stored run of any kind, and reporting how it ended.
//!
//! One file, because every way in must leave the lease, the call log and the report in the same state on every way out.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hence_canon::Value;
use hence_cognition::budget::Limits;
use hence_engine::{Blobs, Driven, MemorySink, Pause, Program, Run, RunError, Sink};
use hence_projection::Program as Projected;
use hence_skills::{CallHistory, CallLog, OpenTimers, Stop};
use hence_state::{ProblemSpec, Status};
use hence_store::{
    AttachmentName, Condition, Cut, Durability, NewRun, RunId, RunWriter, StoreError, StoreHandle,
};

use super::{begins_with, conflict, whole_records};
use crate::clock;
use crate::guard::{self, PolicyCounts};
use crate::interrupt::Interrupt;
use crate::live::LiveLine;
use crate::prelude::*;
use crate::sink::{StoreBlobs, StoreSink};
use crate::skills::{self, NestedRuns, NestedStuck, WaitingRow, calls_name};
use crate::standing::PARTIAL;
use crate::standing_view;
use crate::time_log::TimeLog;
use crate::usage::UsageReport;

/// A program that a [`RunDriver`] can drive, and the capabilities it calls.
pub(crate) trait Drivable {
    /// The program.
    type Program<'a>: Program
    where
        Self: 'a;

    /// The report of a run that ended or waits.
    type Report: Text + Serialize;

    /// Makes the program at the beginning of its run.
    fn program(&self) -> Result<Self::Program<'_>, RunError>;

    /// Returns the problem.
    fn problem(&self) -> &Arc<ProblemSpec>;

    /// Returns the program as its trace shows it.
    fn projected(&self) -> Projected<'_>;

    /// Returns whether calls of the run must be logged.
    fn needs_call_log(&self) -> bool;

    /// Returns the capabilities that the run may call.
    fn callees(&self) -> BTreeSet<Arc<str>> {
        BTreeSet::new()
    }

    /// Checks that everything a resumed run needs is available.
    fn check_resumable(&self, _: &Run<'_, Self::Program<'_>>) -> Result<(), CliError> {
        Ok(())
    }

    /// Checks that this machine has the programs that the run may start.
    fn check_programs(&self, _: &Run<'_, Self::Program<'_>>) -> Result<(), CliError> {
        Ok(())
    }

    /// Returns the listener that can stop the run from outside; `None` when the run cannot be stopped.
    fn interrupt(&self, _: Option<Duration>) -> Option<Interrupt> {
        None
    }

    /// Drives the run as far as it goes.
    fn drive<'g, 'a>(
        &'a self,
        run: Run<'g, Self::Program<'a>>,
        calls: Calls<'_>,
        sink: &mut dyn Sink,
    ) -> Result<Driven<'g, Self::Program<'a>>, RunError>;

    /// Does what follows from records that are durable, once: also when an earlier process died before it could.
    fn follow_up(&self, _: &RunDriver<'_>, _: &Run<'_, Self::Program<'_>>) -> Result<(), CliError> {
        Ok(())
    }

    /// Returns what the recorded steps and the calls that only the call log has used, and the limits of the run.
    fn usage(&self, journal: &[u8], calls: Option<&CallHistory>, blobs: &dyn Blobs) -> UsageReport;

    /// Describes the steps and parts of steps that failed. A run that completed in spite of them is partial.
    fn failures(&self, _: &Run<'_, Self::Program<'_>>) -> Vec<String> {
        Vec::new()
    }

    /// Returns whether `hence retry` can continue the run: a step of it failed.
    fn can_retry(&self, _: &Run<'_, Self::Program<'_>>) -> bool {
        false
    }

    /// Returns the advice for a run that failed before.
    fn advice_after_failure(&self, id: &RunId, run: &Run<'_, Self::Program<'_>>) -> hint::Hint {
        hint::after_failure(id.as_str(), self.can_retry(run))
    }

    /// Returns the exit code of a run that completed.
    fn exit_of(&self, _: &Self::Report) -> Exit {
        Exit::Yes
    }

    /// Returns whether a run that failed has an answer nevertheless, although not the whole one.
    fn is_partial(&self, _: &Run<'_, Self::Program<'_>>) -> bool {
        false
    }

    /// Describes a run that ended or waits.
    fn report(
        &self,
        run: &Run<'_, Self::Program<'_>>,
        end: RunEnd,
        blobs: &dyn Blobs,
    ) -> Result<Self::Report, CliError>;
}

/// The driver, the call log, the stop signal and the time log of a run that is being driven.
pub(crate) struct Calls<'a> {
    pub(crate) driver: &'a RunDriver<'a>,
    pub(crate) log: &'a Arc<CallLog<'static>>,
    pub(crate) stop: &'a dyn Stop,
    pub(crate) meter: &'a Arc<TimeLog>,
}

/// Drives one stored run.
#[derive(Clone, Copy)]
pub(crate) struct RunDriver<'a> {
    pub(crate) context: &'a Context,
    pub(crate) store: &'a StoreHandle,
    pub(crate) id: &'a RunId,
    /// The file to which the journal is copied; `-` is standard output.
    pub(crate) copy: Option<&'a str>,
    pub(crate) options: DriveOptions<'a>,
}

/// The options of driving a run.
#[derive(Clone, Copy, Default)]
pub(crate) struct DriveOptions<'a> {
    /// The policies that replace the ones in force, where the run is blocked.
    pub(crate) amended: Option<&'a Value>,
    /// The longest time the run may take.
    pub(crate) deadline: Option<Duration>,
    /// Limits for this command, next to those that the run pins.
    pub(crate) limits: Option<&'a Limits>,
    /// The request to stop the run; without one, signals and the deadline stop it.
    pub(crate) stop: Option<&'a dyn Stop>,
    /// Whether a run that may start a program which this machine lacks is refused: another machine may drive it.
    pub(crate) checks_programs: bool,
    /// The place where nested runs are executed.
    pub(crate) nested: NestedRuns,
    /// The receiver of a run that is created and not driven.
    pub(crate) hand_over: Option<&'a HandOver<'a>>,
    /// The treatment of model calls of `hence solve` that were under way when an earlier process ended.
    pub(crate) undecided: UndecidedCalls,
}

/// The word of the user about model calls that were under way when an earlier process ended.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum UndecidedCalls {
    /// None: the recovery that the run pins decides.
    #[default]
    AsPinned,
    /// They may be asked again.
    Repeat,
}

/// The receiver of a run that exists and is to be driven by somebody else. It gets the names of the capabilities that the run may call.
pub(crate) type HandOver<'a> = dyn Fn(&RunId, BTreeSet<Arc<str>>) -> Result<Exit, CliError> + 'a;

/// The start of a run: by this command, or by an earlier one.
pub(crate) enum Start {
    /// By this command.
    Now,
    /// By this command, which has waited for a timer since.
    BeforeTimer,
    /// Earlier; a torn append may have been cut from its journal.
    Earlier(Option<Cut>),
    /// Earlier; this command resumed it and has waited for a timer since.
    EarlierBeforeTimer(Option<Cut>),
    /// Earlier, and it had ended.
    Ended(Option<Cut>),
}

/// The end of driving a run once.
enum Drove {
    /// It ended, waits for somebody, or was stopped; it was reported.
    Reported(Exit),
    /// It waited for a timer that is due now.
    TimerDue(Start),
}

/// The part of a report that all kinds of runs share.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunEnd {
    /// `completed`, `partial`, `failed` or `waiting`.
    #[serde(skip)]
    pub(crate) status: String,
    /// The run's id.
    #[serde(skip)]
    pub(crate) run: String,
    /// The questions and undecided calls that the run waits for.
    pub(crate) waiting: Vec<WaitingRow>,
    /// The usage of the run, and its limits.
    pub(crate) usage: UsageReport,
    /// The number of records in the journal.
    pub(crate) records: u64,
    /// The head: keep it elsewhere, and `hence verify --anchor` shows a cut or rewritten journal.
    pub(crate) head: String,
    /// The path of the journal.
    pub(crate) journal: String,
    /// `created` by this command, `resumed`, or `already_ended`: then nothing was run.
    pub(crate) start: &'static str,
    /// The unfinished append that was cut from the end of the journal.
    pub(crate) cut: Option<String>,
    /// The policies of the run; `null` when it has none.
    pub(crate) policies: Option<PolicyCounts>,
}

impl RunEnd {
    /// Returns whether the run waits for an answer.
    pub(crate) fn is_waiting(&self) -> bool {
        self.status == WAITING
    }

    /// Returns the last rows of a text.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let escape = crate::escape::escape;
        let mut rows: Vec<(&str, String)> = self.waiting.iter().flat_map(WaitingRow::rows).collect();
        rows.extend(self.usage.rows());
        rows.push(("status", self.status.clone()));
        rows.extend(self.policies.as_ref().map(PolicyCounts::row));
        rows.push(("run", escape(&self.run)));
        rows.push(("head", self.head.clone()));
        rows.push(("record", escape(&self.journal)));
        rows
    }
}

const WAITING: &str = "waiting";

/// The longest time between two looks at the clock and the wish to stop, while a run waits for a timer.
const TIMER_LOOK: Duration = Duration::from_millis(50);

impl RunDriver<'_> {
    /// Starts a run and drives it. The same program with the same problem under the same id is the same run: it is
    /// resumed, never executed twice.
    pub(crate) fn start<K: Drivable>(
        &self,
        kind: &K,
        policies: Option<&Value>,
        attachments: Vec<(AttachmentName, Vec<u8>)>,
    ) -> Result<Exit, CliError> {
        let blobs = StoreBlobs(self.store);
        let (run, first) = self.first_records(kind, policies, &blobs)?;
        let header = first.journal.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
        if begins_with(self.store, self.id, header) {
            return self.continue_existing(kind);
        }
        guard::say_judged_afterwards(self.context, policies);
        self.create(kind, run, first, attachments)
    }

    /// Starts a run and drives it; `None` when another run has the id. Two processes never get the same run.
    pub(crate) fn start_new<K: Drivable>(
        &self,
        kind: &K,
        policies: Option<&Value>,
        attachments: &[(AttachmentName, Vec<u8>)],
    ) -> Result<Option<Exit>, CliError> {
        let blobs = StoreBlobs(self.store);
        let (run, first) = self.first_records(kind, policies, &blobs)?;
        match self.store_first(first, attachments.to_vec()) {
            Ok(writer) => {
                guard::say_judged_afterwards(self.context, policies);
                self.begin(kind, run, writer).map(Some)
            }
            Err(
                StoreError::AlreadyCreated { .. }
                | StoreError::RunConflict { .. }
                | StoreError::RunRemoved { .. },
            ) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes the first records of a run: its header and its policies.
    fn first_records<'g, K: Drivable>(
        &self,
        kind: &'g K,
        policies: Option<&Value>,
        blobs: &'g StoreBlobs<'g>,
    ) -> Result<(Run<'g, K::Program<'g>>, MemorySink), CliError> {
        let (run, header) = kind.program().and_then(Run::start).map_err(|error| stopped(self.id, error))?;
        let gate = guard::open(header.line(), kind.problem(), kind.projected(), blobs)
            .map_err(|error| guard::refused(self.id.as_str(), error))?;
        let mut run = run.with_gate(gate);
        let mut first = MemorySink { journal: header.line().to_vec(), ..MemorySink::default() };
        if run.policy_state().is_pinned() {
            // The run exists with its policies or not at all.
            run.install_policies(policies.unwrap_or(&Value::Null), &mut first)
                .map_err(|error| stopped(self.id, error))?;
        }
        Ok((run, first))
    }

    /// Says that a run had ended, and what can be done with a failed or partial one.
    fn say_ended<'a, K: Drivable>(&self, kind: &'a K, run: &Run<'_, K::Program<'a>>) {
        let (id, status) = (self.id, status_of(kind, run));
        self.context.say(format_args!("run {id}: already {status}; nothing was run again"));
        if status == PARTIAL || run.state().status() == Status::Failed {
            self.context.say(format_args!("{}", kind.advice_after_failure(id, run)));
        }
    }

    /// Prints what a fork shares, stores its first records and drives it.
    pub(crate) fn create_shared<'a, K: Drivable>(
        &self,
        kind: &'a K,
        run: Run<'_, K::Program<'a>>,
        first: MemorySink,
        attachments: Vec<(AttachmentName, Vec<u8>)>,
        said: &str,
    ) -> Result<Exit, CliError> {
        if begins_with(self.store, self.id, &first.journal) {
            return self.resume(kind);
        }
        self.context.say(said);
        self.create(kind, run, first, attachments)
    }

    /// Stores the first records of a run and drives it.
    pub(crate) fn create<'a, K: Drivable>(
        &self,
        kind: &'a K,
        run: Run<'_, K::Program<'a>>,
        first: MemorySink,
        attachments: Vec<(AttachmentName, Vec<u8>)>,
    ) -> Result<Exit, CliError> {
        let header = first.journal.clone();
        match self.store_first(first, attachments.clone()) {
            Ok(writer) => self.begin(kind, run, writer),
            Err(StoreError::AlreadyCreated { .. }) => self.continue_existing(kind),
            Err(error @ StoreError::RunConflict { .. }) => {
                let differences = conflict::differences(self.store, self.id, &attachments, &header);
                Err(CliError::from(error).with_findings(differences))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Drives a run that was just created, or hands it over.
    fn begin<'a, K: Drivable>(
        &self,
        kind: &'a K,
        run: Run<'_, K::Program<'a>>,
        writer: Box<dyn RunWriter>,
    ) -> Result<Exit, CliError> {
        let Some(hand_over) = self.options.hand_over else {
            return self.drive(kind, run, writer, Start::Now);
        };
        let (sink, times) = StoreSink::measured(self.store, writer);
        times.created(&self.store.journal_bytes(self.id)?);
        // A time that could not be measured is no reason to refuse the run.
        let _ = times.finish();
        // The receiver's first act may be to open the run.
        drop(sink);
        hand_over(self.id, kind.callees())
    }

    /// Resumes a run that exists, or hands it over.
    fn continue_existing<K: Drivable>(&self, kind: &K) -> Result<Exit, CliError> {
        match self.options.hand_over {
            None => self.resume(kind),
            Some(hand_over) => hand_over(self.id, kind.callees()),
        }
    }

    /// Stores the first records of a run, which must not exist.
    fn store_first(
        &self,
        first: MemorySink,
        attachments: Vec<(AttachmentName, Vec<u8>)>,
    ) -> Result<Box<dyn RunWriter>, StoreError> {
        for blob in first.blobs.values() {
            self.store.put_blob(blob, Durability::Synced)?;
        }
        self.store.create(NewRun { id: self.id.clone(), attachments, lines: first.journal })
    }

    /// Resumes the run where its journal ends.
    ///
    /// The journal is checked before the run is opened for writing, so that no byte of a refused run changes, not even a
    /// torn tail; a run that has ended needs no writer at all.
    pub(crate) fn resume<K: Drivable>(&self, kind: &K) -> Result<Exit, CliError> {
        match self.reopen(kind, None)? {
            Drove::Reported(exit) => Ok(exit),
            Drove::TimerDue(start) => self.continue_after_timers(kind, start),
        }
    }

    /// Continues a run that waited for a timer, from what its journal says, as often as it waits for another one.
    fn continue_after_timers<K: Drivable>(&self, kind: &K, mut start: Start) -> Result<Exit, CliError> {
        loop {
            match self.reopen(kind, Some(start))? {
                Drove::Reported(exit) => return Ok(exit),
                Drove::TimerDue(next) => start = next,
            }
        }
    }

    fn reopen<K: Drivable>(&self, kind: &K, begun: Option<Start>) -> Result<Drove, CliError> {
        let (store, id) = (self.store, self.id);
        // Nothing may be appended after a line that is not a record.
        if let Condition::Damaged(reason) = store.summary(id)?.condition {
            return Err(StoreError::Damaged { run: id.clone(), reason }.into());
        }
        let (run, torn) = self.read_back(kind)?;
        if run.has_ended() && !torn {
            guard::refuse_amendment(id.as_str(), self.options.amended)?;
            self.tidy();
            kind.follow_up(self, &run)?;
            self.say_ended(kind, &run);
            return self.report(kind, &run, Vec::new(), Start::Ended(None)).map(Drove::Reported);
        }
        kind.check_resumable(&run)?;
        if self.options.checks_programs {
            kind.check_programs(&run)?;
        }
        let opened = store.open(id)?;
        if let Some(cut) = &opened.cut {
            self.context.say(format_args!("run {id}: {cut}"));
        }
        // Another process may have appended between the reading and the opening; now this one holds the lease.
        let run = if run.head() == opened.writer.head() { run } else { self.read_back(kind)?.0 };
        if run.has_ended() {
            drop(opened.writer);
            self.tidy();
            kind.follow_up(self, &run)?;
            self.say_ended(kind, &run);
            return self.report(kind, &run, Vec::new(), Start::Ended(opened.cut)).map(Drove::Reported);
        }
        let start = begun.unwrap_or(Start::Earlier(opened.cut));
        let (journal, blobs) = (store.journal_bytes(id)?, StoreBlobs(store));
        let gate = guard::open_and_observe(&journal, kind.problem(), kind.projected(), &blobs)
            .map_err(|error| guard::refused(id.as_str(), error))?;
        self.drive_once(kind, run.with_gate(gate), opened.writer, start)
    }

    /// Removes the call log of a run that has ended: a process may have died between the last record and the removal.
    fn tidy(&self) {
        // Nothing depends on it, so a store that cannot be written is no reason to refuse; `doctor` reports the log.
        let _ = skills::remove_covered_log(self.store, self.id);
    }

    fn read_back<'g, 'a, K: Drivable>(
        &self,
        kind: &'a K,
    ) -> Result<(Run<'g, K::Program<'a>>, bool), CliError> {
        let journal = self.store.journal_bytes(self.id)?;
        let whole = whole_records(&journal);
        let program = kind.program().map_err(hence_engine::ResumeError::from);
        let run = program.and_then(|program| Run::resume(program, whole, &StoreBlobs(self.store)));
        let run = run.map_err(|error| CliError::resume(self.id.as_str(), error))?;
        Ok((run, whole.len() < journal.len()))
    }

    /// Drives the run as far as it goes, and waits for its timers.
    fn drive<'a, K: Drivable>(
        &self,
        kind: &'a K,
        run: Run<'_, K::Program<'a>>,
        writer: Box<dyn RunWriter>,
        start: Start,
    ) -> Result<Exit, CliError> {
        match self.drive_once(kind, run, writer, start)? {
            Drove::Reported(exit) => Ok(exit),
            Drove::TimerDue(start) => self.continue_after_timers(kind, start),
        }
    }

    /// Drives the run until it ends or waits. Each record is durable before the next one is appended.
    fn drive_once<'a, K: Drivable>(
        &self,
        kind: &'a K,
        mut run: Run<'_, K::Program<'a>>,
        mut writer: Box<dyn RunWriter>,
        start: Start,
    ) -> Result<Drove, CliError> {
        let (store, id) = (self.store, self.id);
        let history = skills::history(store, id)?;
        let has_log = history.is_some() || kind.needs_call_log();
        let log = match has_log {
            true => {
                let file = writer.side_log(&calls_name())?;
                let id = id.clone();
                CallLog::new(history.unwrap_or_default(), move |line, durability| {
                    Ok(file.append(&skills::sealed_calls(&id, line), durability)?)
                })
            }
            false => CallLog::in_memory(),
        };
        let log = Arc::new(log);
        let (mut sink, times) = StoreSink::measured(store, writer);
        if let Some(live) = LiveLine::begin(self.context) {
            times.show_in(live);
        }
        let journal = store.journal_bytes(id)?;
        if matches!(start, Start::Now) {
            times.created(&journal);
        }
        let again =
            guard::policies_to_reinstall(id.as_str(), run.policy_state(), &journal, &StoreBlobs(store))?;
        // What a person amends is installed once, not again after each timer.
        let is_after_timer = matches!(start, Start::BeforeTimer | Start::EarlierBeforeTimer(_));
        for policies in again.iter().chain(self.options.amended.filter(|_| !is_after_timer)) {
            run.install_policies(policies, &mut sink).map_err(|error| stopped(id, error))?;
            guard::say_judged_afterwards(self.context, Some(policies));
        }
        let interrupt = match self.options.stop {
            None => kind.interrupt(self.options.deadline),
            Some(_) => None,
        };
        let stop: &dyn Stop = match (self.options.stop, &interrupt) {
            (Some(stop), _) => stop,
            (None, Some(interrupt)) => interrupt,
            (None, None) => &hence_skills::NeverStop,
        };
        // A timer that is due is answered before anything asks for it.
        self.answer_timers(&log)?;
        let driven = kind.drive(run, Calls { driver: self, log: &log, stop, meter: &times }, &mut sink);
        if let Some(failure) = times.finish() {
            self.context.say(format_args!("run {id}: not every time was measured: {failure}"));
        }
        let driven = driven.map_err(|error| stopped(id, error))?;
        let (Driven::Finished(run) | Driven::Blocked(run, _) | Driven::Paused(run, _)) = &driven;
        kind.follow_up(self, run)?;
        standing_view::refresh(store, id);
        match driven {
            Driven::Finished(run) => {
                drop(log);
                // A log whose every call is recorded is removed; if a crash happens before that, the log is ignored.
                // One that holds the reply to a step that ran ahead of a failure stays: no record has it.
                if has_log && skills::records_cover_calls(store, id)? {
                    sink.writer.detach(&calls_name())?;
                }
                self.report(kind, &run, Vec::new(), start).map(Drove::Reported)
            }
            Driven::Blocked(_, blocked) => {
                let executed = guard::executed_calls(store, id, &blocked);
                Err(guard::blocked(id.as_str(), &blocked, &executed))
            }
            Driven::Paused(_, Pause::Waiting(_)) if self.wait_for_timer(&log, stop) => {
                Ok(Drove::TimerDue(match start {
                    Start::Now => Start::BeforeTimer,
                    Start::Earlier(cut) => Start::EarlierBeforeTimer(cut),
                    other => other,
                }))
            }
            Driven::Paused(run, Pause::Waiting(_)) => {
                let waiting = WaitingRow::all(self.context, id.as_str(), &log.history());
                self.report_as(kind, &run, WAITING.to_owned(), waiting, start).map(Drove::Reported)
            }
            Driven::Paused(run, Pause::Stopped) => {
                let records = counted(run.head().records.get(), "record");
                let reason = interrupt.as_ref().map_or("it was stopped", Interrupt::reason);
                let message = format!("run {id} was stopped after {records}: {reason}");
                let history = log.history();
                let made =
                    history.executed().map(|call| format!("was made: {} ({})", call.capability, call.key));
                let open =
                    history.undecided().map(|call| format!("was begun: {} ({})", call.capability, call.key));
                Err(CliError::new(Code::Interrupted, message)
                    .with_findings(made.chain(open).collect::<Vec<_>>())
                    .with_hint(hint::continue_with(self.context, id.as_str())))
            }
        }
    }

    /// Answers the timers of the run that are due.
    fn answer_timers(&self, log: &CallLog<'_>) -> Result<(), CliError> {
        let Some(now) = clock::wall() else { return Ok(()) };
        let answered = log.answer_timers(now);
        answered.map(|_| ()).map_err(|error| {
            CliError::new(
                Code::Disk,
                format!("run {}: a timer that is due could not be noted: {error}", self.id),
            )
        })
    }

    /// Waits for the next timer, if the run waits for nothing else and no worker drives it: a worker parks the run instead. Returns
    /// whether the timer is due.
    fn wait_for_timer(&self, log: &CallLog<'_>, stop: &dyn Stop) -> bool {
        let OpenTimers::Only(due) = log.history().open_timers() else { return false };
        if self.options.stop.is_some() {
            return false;
        }
        self.context.say(format_args!("run {}: waits until {due}", self.id));
        while !stop.is_wanted() {
            let Some(now) = clock::wall() else { return false };
            let left = due.as_millis().saturating_sub(now.as_millis());
            let Ok(left) = u64::try_from(left) else { return true };
            if left == 0 {
                return true;
            }
            std::thread::sleep(Duration::from_millis(left).min(TIMER_LOOK));
        }
        false
    }

    fn report<'a, K: Drivable>(
        &self,
        kind: &'a K,
        run: &Run<'_, K::Program<'a>>,
        waiting: Vec<WaitingRow>,
        start: Start,
    ) -> Result<Exit, CliError> {
        self.report_as(kind, run, status_of(kind, run), waiting, start)
    }

    /// Prints the report of a run. A failed run exits with 1, a partial one with 5.
    fn report_as<'a, K: Drivable>(
        &self,
        kind: &'a K,
        run: &Run<'_, K::Program<'a>>,
        status: String,
        waiting: Vec<WaitingRow>,
        start: Start,
    ) -> Result<Exit, CliError> {
        let (context, store, id) = (self.context, self.store, self.id);
        let exit = match run.state().status() {
            _ if status == WAITING => Exit::Waiting,
            _ if status == PARTIAL => Exit::Partial,
            Status::Failed if kind.is_partial(run) => Exit::Partial,
            Status::Failed => Exit::No,
            Status::Pending | Status::Running | Status::Completed => Exit::Yes,
        };
        let (start, cut) = match start {
            Start::Now | Start::BeforeTimer => ("created", None),
            Start::Earlier(cut) | Start::EarlierBeforeTimer(cut) => ("resumed", cut),
            Start::Ended(cut) => ("already_ended", cut),
        };
        let end = RunEnd {
            status,
            run: id.as_str().to_owned(),
            waiting,
            usage: kind.usage(
                &store.journal_bytes(id)?,
                skills::history(store, id)?.as_ref(),
                &StoreBlobs(store),
            ),
            records: run.head().records.get(),
            head: run.head().to_string(),
            journal: store.journal_location(id),
            start,
            cut: cut.as_ref().map(ToString::to_string),
            policies: PolicyCounts::of(store, id, kind.projected()),
        };
        let report = kind.report(run, end, &StoreBlobs(store))?;
        let exit = if exit == Exit::Yes { kind.exit_of(&report) } else { exit };
        match self.copy {
            None => context.print(&report)?,
            Some("-") => {
                context.write(&store.journal_bytes(id)?)?;
                context.print_aside(&report);
            }
            Some(path) => {
                context.print(&report)?;
                if let Err(error) = std::fs::write(path, store.journal_bytes(id)?) {
                    let error = CliError::file("write", Path::new(path), error);
                    context.report_error(&error.with_hint(hint::copy(id.as_str())));
                    return Ok(Exit::Partial);
                }
            }
        }
        Ok(exit)
    }
}

/// Returns the status of a run that has ended, as people see it.
fn status_of<'a, K: Drivable>(kind: &'a K, run: &Run<'_, K::Program<'a>>) -> String {
    match run.state().status() {
        Status::Completed if !kind.failures(run).is_empty() => PARTIAL.to_owned(),
        status => status.to_string(),
    }
}

/// Turns the error that stopped a run into one that names the run.
pub(super) fn stopped(id: &RunId, error: RunError) -> CliError {
    match error {
        RunError::Blocked(blocked) => guard::blocked(id.as_str(), &blocked, &[]),
        RunError::CallLog(error) if error.is::<NestedStuck>() => CliError::of_run(Code::Nested, id, error),
        RunError::Mismatch(error) => CliError::from_error(Code::Refused, error),
        RunError::Book(book) if guard::is_refusal(&book) => CliError::of_run(Code::Gate, id, book),
        error => CliError::from(error).with_hint(hint::fix_and_resume(id.as_str())),
    }
}
