//! Runs of the recursive loop on the command line.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hence_canon::{Value, parse};
use hence_cognition::budget::Limits;
use hence_engine::{Blobs, Driven, Evidence, MemorySink, Replay, ResumeError, Run, RunError, Sink, replay};
use hence_journal::verify::{Level, Report};
use hence_journal::{Reader, Record};
use hence_projection::Program;
use hence_solve::{
    Entry, Progress, SolveJournal, SolveProgram, SolveRun, SolveVariables, Spec, Tools, Used, carry, drive,
};
use hence_state::{ProblemSpec, Profile, Status, Timestamp};
use hence_store::{AttachmentName, RunId, StoreHandle};

use super::driver::Calls;
use super::new_id::NewId;
use super::solve_report::SolveReport;
use super::{
    Drivable, DriveOptions, Imported, OpenRun, Purpose, RunDriver, RunEnd, fork, whole_records, with_blobs,
};
use crate::args::position::{CheckpointArgs, RollbackArgs};
use crate::args::skill::{BlameArgs, ForkArgs, ImpactArgs, RetryArgs};
use crate::args::solve::SolveArgs;
use crate::commands;
use crate::interrupt::Interrupt;
use crate::prelude::*;
use crate::sink::StoreBlobs;
use crate::skills::FirstRecords;
use crate::solve::{
    self, AfterChildren, CONCURRENCY_DEFAULT, EndedChildren, HostParts, Interpreters, Live, LogSync,
    ModelSet, NewSolve, SolveHost, SolveTools, system_name,
};
use crate::target::{Journal, PROBLEM, find_run, problem_name};
use crate::usage::UsageReport;

/// A run of the loop: its problem, its system prompt and its tools.
pub(crate) struct StoredSolveRun {
    pub(crate) problem: Arc<ProblemSpec>,
    pub(crate) spec: Spec,
    pub(crate) system: Option<Arc<str>>,
    tools: SolveTools,
    models: Option<ModelSet>,
    concurrency: usize,
    /// Whether somebody else wrote the record, and with it the blocks, their limits and the paths of the contexts.
    is_foreign: bool,
}

/// Starts a run.
pub(crate) fn start(context: &Context, args: &SolveArgs) -> Result<Exit, CliError> {
    let store = context.store_or_new()?;
    let interpreters = Interpreters::default();
    let NewSolve { spec, system } = solve::new_spec(args, &store, &interpreters)?;
    let new_id = match &args.run_id {
        Some(id) => NewId::Given(id.clone()),
        None => NewId::Suffixed("solve".to_owned()),
    };
    let mut tried = 0;
    loop {
        let (id, number) = new_id.next(&store, tried)?;
        let created_at = match (&args.now, stored_time(&store, &id).filter(|_| new_id.is_given())) {
            (Some(text), _) => crate::clock::given_second(text)?,
            (None, Some(stored)) => stored,
            (None, None) => crate::clock::now()?,
        };
        let run = StoredSolveRun {
            models: Some(ModelSet::open(&spec)?),
            concurrency: args.concurrency,
            tools: SolveTools::new(&spec.contexts, Some(store.clone()), interpreters.clone()),
            ..StoredSolveRun::new(
                &spec.problem(id.as_str(), created_at.as_str()),
                Some(system.clone()),
                &store,
            )?
        };
        let options = DriveOptions { deadline: args.deadline, ..DriveOptions::default() };
        let driver = RunDriver { context, store: &store, id: &id, copy: None, options };
        if new_id.is_given() {
            return driver.start(&run, None, run.attachments());
        }
        if let Some(exit) = driver.start_new(&run, None, &run.attachments())? {
            return Ok(exit);
        }
        tried = number;
    }
}

/// Returns the time of a stored run of the loop: with another one it would be another problem.
fn stored_time(store: &StoreHandle, id: &RunId) -> Option<Timestamp> {
    let problem = parse(&store.attachment(id, &problem_name()).ok()?).ok()?;
    Spec::read(&problem).ok()?;
    Timestamp::parse(problem.get("created_at")?.as_str()?).ok()
}

impl StoredSolveRun {
    fn new(document: &Value, system: Option<Arc<str>>, store: &StoreHandle) -> Result<Self, CliError> {
        Self::read(document, system, Some(store))
    }

    fn read(
        document: &Value,
        system: Option<Arc<str>>,
        store: Option<&StoreHandle>,
    ) -> Result<Self, CliError> {
        let problem = ProblemSpec::decode(document, &Profile::STRICT)
            .map_err(|findings| CliError::refused(PROBLEM, &findings))?;
        let spec = Spec::read(document).map_err(|finding| CliError::at(Code::Refused, PROBLEM, finding))?;
        let tools = SolveTools::new(&spec.contexts, store.cloned(), Interpreters::default());
        Ok(Self {
            problem: Arc::new(problem),
            spec,
            system,
            tools,
            models: None,
            concurrency: CONCURRENCY_DEFAULT,
            is_foreign: false,
        })
    }

    /// Opens the run of a journal.
    pub(crate) fn open(journal: &Journal, purpose: Purpose) -> Result<Self, CliError> {
        let document = &journal.required_problem()?.value;
        let system = match &journal.store {
            Some(store) => {
                let id = find_run(store, &journal.name)?;
                store.attachment(&id, &system_name()).ok().and_then(|bytes| String::from_utf8(bytes).ok())
            }
            None => None,
        };
        let mut run = Self::read(document, system.map(Arc::from), journal.store.as_ref())?;
        if let Purpose::Resume(imported) = purpose {
            refuse_imported(imported, journal, &run.spec)?;
            run.models = Some(ModelSet::open(&run.spec)?);
        } else {
            run.is_foreign = !journal.was_made_here()?;
        }
        Ok(run)
    }

    /// Reads the run back from its journal, without a torn tail.
    pub(crate) fn read_back(&self, journal: &Journal) -> Result<SolveRun<'static, '_>, CliError> {
        let whole = whole_records(&journal.bytes);
        let run = with_blobs(journal, |blobs| Run::resume(self.program()?, whole, blobs));
        run.map_err(|error: ResumeError| CliError::resume(&journal.name, error))
    }

    /// Reads the variables of the run, and its status.
    pub(crate) fn variables(
        &self,
        journal: &[u8],
        blobs: &dyn Blobs,
    ) -> Result<(SolveVariables, Status), ResumeError> {
        let run = Run::resume(self.program()?, journal, blobs)?;
        Ok((run.program().progress().variables().clone(), run.state().status()))
    }

    fn attachments(&self) -> Vec<(AttachmentName, Vec<u8>)> {
        let mut attachments = vec![(problem_name(), self.problem.canonical().bytes().to_vec())];
        attachments.extend(self.system.as_ref().map(|system| (system_name(), system.as_bytes().to_vec())));
        attachments
    }

    /// Returns the reason why blocks cannot run here, if there is one.
    fn tools_for_replay(&self) -> Result<&dyn Tools, String> {
        if self.is_foreign {
            let why = "the run was not made in this store, so its blocks are not run and its contexts are not opened";
            return Err(why.to_owned());
        }
        let worker = self.tools.interpreters().program()?;
        if *worker.version != *self.spec.interpreter.version {
            return Err(format!(
                "the run pins the interpreter {} {}, found {}",
                self.spec.interpreter.name, self.spec.interpreter.version, worker.version
            ));
        }
        Ok(&self.tools)
    }

    fn host_parts<'a>(&'a self, driver: &'a RunDriver<'_>, calls: &'a Calls<'_>) -> Option<HostParts<'a>> {
        Some(HostParts {
            live: Live::start(driver.context.is_watched()),
            store: driver.store,
            models: self.models.as_ref()?,
            system: self.system.as_ref()?,
            stop: calls.stop,
            interpreters: self.tools.interpreters().clone(),
            started: Instant::now(),
            spec: &self.spec,
            created_at: self.problem.created_at().clone(),
            concurrency: self.concurrency,
            owner: driver.id,
            log: calls.log.clone(),
            log_sync: LogSync::start(calls.log.clone()),
            known: Mutex::default(),
            undecided: driver.options.undecided,
            children: EndedChildren::default(),
        })
    }
}

impl OpenRun for StoredSolveRun {
    fn projection(&self) -> Program<'_> {
        Program::Solve
    }

    fn verify(&self, evidence: &Evidence<'_>, level: Level) -> Report {
        let (problem, system) = (&self.problem, self.system.as_ref());
        let journal = SolveJournal { problem, system, tools: self.tools_for_replay(), evidence };
        evidence.verify(&journal, level)
    }

    fn replay(&self, evidence: &Evidence<'_>) -> Result<Replay, ResumeError> {
        let stopped = |message: String| RunError::Stopped { step: "solve.block".into(), message };
        self.tools_for_replay().map_err(stopped)?;
        self.tools.contexts().map_err(|fault| stopped(format!("context {fault}")))?;
        replay(self.program()?, evidence)
    }

    fn usage(&self, journal: &Journal) -> UsageReport {
        with_blobs(journal, |blobs| Drivable::usage(self, &journal.bytes, None, blobs))
    }

    fn resume(
        &self,
        context: &Context,
        journal: &Journal,
        options: DriveOptions<'_>,
    ) -> Result<Exit, CliError> {
        let store = context.store()?;
        let id = find_run(&store, &journal.name)?;
        RunDriver { context, store: &store, id: &id, copy: None, options }.resume(self)
    }

    fn checkpoint(
        &self,
        context: &Context,
        journal: &Journal,
        args: &CheckpointArgs,
    ) -> Result<Exit, CliError> {
        commands::checkpoint_run(context, journal, args, || Ok(self.program()?))
    }

    fn roll_back(&self, context: &Context, journal: &Journal, args: &RollbackArgs) -> Result<Exit, CliError> {
        // Asking a model changes nothing outside, so nothing is repeated that acts.
        commands::roll_back_run(context, journal, args, || Ok(self.program()?), |_| Vec::new())
    }

    fn fork(&self, context: &Context, journal: &Journal, args: &ForkArgs) -> Result<Exit, CliError> {
        fork_run(self, context, journal, args)
    }

    fn retry(&self, _: &Context, journal: &Journal, _: &RetryArgs) -> Result<Exit, CliError> {
        let message =
            format!("run {}: a limit ended it, and that is final; there is nothing to retry", journal.name);
        Err(CliError::new(Code::Retry, message).with_hint(hint::continue_by_fork(&journal.name)))
    }

    fn blame(&self, context: &Context, journal: &Journal, args: &BlameArgs) -> Result<Exit, CliError> {
        commands::blame_trace(context, journal, self.projection(), args)
    }

    fn impact(&self, context: &Context, journal: &Journal, args: &ImpactArgs) -> Result<Exit, CliError> {
        commands::impact_trace(context, journal, self.projection(), args)
    }
}

/// Starts a run that shares the turns before one, and continues it, with another model if one is named.
fn fork_run(
    origin: &StoredSolveRun,
    context: &Context,
    journal: &Journal,
    args: &ForkArgs,
) -> Result<Exit, CliError> {
    if args.with.is_some() || !args.policies.is_empty() || !args.set.is_empty() {
        let message =
            "--with, --policy and --set are for other runs; a run of `hence solve` forks with --model";
        return Err(CliError::new(Code::Fork, message).with_hint(hint::LEAVE_THEM_OUT));
    }
    refuse_imported(args.imported.imported(), journal, &origin.spec)?;
    let from = turn_record(journal, &args.from)?;
    let point = fork::ForkPoint::find(journal, &from.to_string())?;
    let mut set: Vec<(Arc<str>, Value)> = Vec::new();
    if let Some(model) = &args.model {
        let model = solve::pin_like(model, &origin.spec.model)?;
        set.push(("settings.solve.model".into(), model.value()));
        // Shared blocks asked the origin's model, and run again when the interpreter is rebuilt: sub-calls stay with it.
        if origin.spec.sub_model.is_none() {
            set.push(("settings.solve.sub_model".into(), origin.spec.model.value()));
        }
    }
    let mut limits = args.budget.raised(&origin.spec.limits);
    limits.calls = limits.calls.replaced_by(&args.limits.limits());
    if limits != origin.spec.limits {
        set.push(("settings.solve.limits".into(), limits.value()));
    }
    let link = point.link(journal, &args.from, set, None);
    let fork::ForkedProblem { id, document } =
        fork::forked_problem(journal, &link, args.run_id.as_deref(), &Limits::default())?;
    let shared = point.shared.len() as u64;
    let document = with_shared(&document.value, origin.program()?.progress(), shared, limits.turns);
    let spec = Spec::read(&document).map_err(|finding| CliError::at(Code::Fork, PROBLEM, finding))?;
    let store = context.store()?;
    let run = StoredSolveRun {
        models: Some(ModelSet::open(&spec)?),
        ..StoredSolveRun::new(&document, origin.system.clone(), &store)?
    };
    let (mut forked, header) = Run::start(run.program()?)?;
    let mut first = FirstRecords { memory: MemorySink::default(), stored: &store };
    first.memory.journal.extend_from_slice(header.line());
    for result in &point.shared {
        let entry = Entry::read(result, &StoreBlobs(&store))
            .map_err(|error| CliError::of_run(Code::BadRecord, &journal.name, error))?;
        carry(&mut forked, entry, &mut first)?;
    }
    let said = fork::shared_text(&id, journal, &point);
    let driver = RunDriver { context, store: &store, id: &id, copy: None, options: DriveOptions::default() };
    driver.create_shared(&run, forked, first.memory, run.attachments(), &said)
}

/// Returns the problem of a fork with the number of records that it shares, and the numbers of turns that their requests name.
fn with_shared(document: &Value, of: &Progress, shared: u64, turns: u64) -> Value {
    let object = document.as_object().cloned().unwrap_or_default();
    let settings = object.get("settings").and_then(Value::as_object).cloned().unwrap_or_default();
    let origin = settings.get("origin").and_then(Value::as_object).cloned().unwrap_or_default();
    let origin = hence_solve::with_named_turns(origin.with("shared", shared), of, shared, turns);
    object.with("settings", settings.with("origin", origin)).into()
}

/// Refuses to ask the models of a run that came from elsewhere, unless the user allowed it.
fn refuse_imported(imported: Imported, journal: &Journal, spec: &Spec) -> Result<(), CliError> {
    if imported == Imported::Trusted || journal.was_made_here()? {
        return Ok(());
    }
    let message = format!(
        "run {} was not made in this store, so no model is asked that its record names",
        journal.name
    );
    let model = format!("model {}", spec.model.name);
    Err(CliError::new(Code::Imported, message).with_findings([model]))
}

/// The place of a fork that shares everything before the limit which ended its origin.
const FROM_END: &str = "end";

/// Returns the record of a turn, or of the end by a limit.
fn turn_record(journal: &Journal, from: &str) -> Result<u64, CliError> {
    let unread = |error| CliError::at(Code::BadRecord, &journal.name, error);
    let effective = hence_skills::effective_records(whole_records(&journal.bytes)).map_err(unread)?;
    if [FROM_END, hence_solve::END_STEP].contains(&from.trim()) {
        let end = effective.iter().find(|record| &**record.result.step() == hence_solve::END_STEP);
        return end.map(|record| record.index.get()).ok_or_else(|| {
            let message = format!("--from: no limit ended run {}, so name a turn", journal.name);
            CliError::new(Code::Fork, message)
        });
    }
    let turn = from.strip_prefix("turn").unwrap_or(from).trim();
    let wanted: u64 = turn.parse().map_err(|_| {
        let message = format!("--from: expected the number of a turn, or `{FROM_END}`, found {from:?}");
        CliError::new(Code::Fork, message)
    })?;
    let found = effective.iter().find(|record| {
        let output = record.result.outcome().output();
        let turn = || output.and_then(|output| output.value().get("turn")?.as_u64());
        &**record.result.step() == hence_solve::TURN_STEP && turn() == Some(wanted)
    });
    found
        .map(|record| record.index.get())
        .ok_or_else(|| CliError::new(Code::Fork, format!("run {} has no turn {wanted}", journal.name)))
}

impl Drivable for StoredSolveRun {
    type Program<'a> = SolveProgram<'a>;
    type Report = SolveReport;

    fn program(&self) -> Result<SolveProgram<'_>, RunError> {
        Ok(SolveProgram::new(self.problem.clone(), self.system.clone(), Some(&self.tools))?)
    }

    fn problem(&self) -> &Arc<ProblemSpec> {
        &self.problem
    }

    fn projected(&self) -> Program<'_> {
        Program::Solve
    }

    fn needs_call_log(&self) -> bool {
        true
    }

    fn interrupt(&self, deadline: Option<Duration>) -> Option<Interrupt> {
        Some(Interrupt::listen(deadline))
    }

    fn drive<'g, 'a>(
        &'a self,
        run: SolveRun<'g, 'a>,
        calls: Calls<'_>,
        sink: &mut dyn Sink,
    ) -> Result<Driven<'g, SolveProgram<'a>>, RunError> {
        let stopped =
            |message: &str| RunError::Stopped { step: "solve.turn".into(), message: message.to_owned() };
        let parts = self.host_parts(calls.driver, &calls);
        let parts = parts.ok_or_else(|| stopped("its models or its system prompt are not available"))?;
        let host = SolveHost {
            parts: &parts,
            run: calls.driver.id,
            depth: self.spec.depth(),
            position: Mutex::default(),
        };
        if let Some(parent) = &self.spec.parent {
            // The command that drives a whole tree logs all its calls with the outermost run.
            let root = RunId::new(&parent.root).map_err(|error| stopped(&error.to_string()))?;
            if parts.store.has_run(&root).unwrap_or(false) {
                parts.learn(&root).map_err(|error| stopped(&error.message))?;
            }
        }
        host.tell(run.program().progress());
        let mut after = AfterChildren::new(sink, &parts.children, parts.store);
        let driven = drive(run, &host, &mut after, &mut |progress| host.tell(progress));
        let released = after.release();
        let driven = driven?;
        released.map_err(|error| stopped(&error.to_string()))?;
        Ok(driven)
    }

    fn usage(&self, journal: &[u8], _: Option<&hence_skills::CallHistory>, blobs: &dyn Blobs) -> UsageReport {
        UsageReport::of(&used(journal, blobs).calls, &self.spec.limits.calls)
    }

    fn advice_after_failure(&self, id: &RunId, _: &SolveRun<'_, '_>) -> hint::Hint {
        hint::continue_by_fork(id.as_str())
    }

    fn is_partial(&self, run: &SolveRun<'_, '_>) -> bool {
        run.program().progress().end().is_some_and(|end| end.partial.is_some())
    }

    fn report(&self, run: &SolveRun<'_, '_>, end: RunEnd, _: &dyn Blobs) -> Result<SolveReport, CliError> {
        Ok(SolveReport::of(run.program().progress(), &self.spec, end))
    }
}

/// Returns what the recorded steps of a run used, also those that a rollback left behind: they were paid for.
pub(crate) fn used(journal: &[u8], blobs: &dyn Blobs) -> Used {
    let mut sum = Used::default();
    let Ok((_, reader)) = Reader::open(whole_records(journal)) else { return sum };
    for chained in reader.map_while(Result::ok) {
        let Record::Step(step) = chained.record else { continue };
        match Entry::read(&step.result, blobs) {
            Ok(Entry::Turn(turn)) => sum.calls.add(&turn.reply.usage),
            Ok(Entry::Compact(compact)) => sum.calls.add(&compact.reply.usage),
            Ok(Entry::Call(call)) => sum.add(&call.used),
            Ok(Entry::Block(_) | Entry::End(_)) | Err(_) => {}
        }
    }
    sum
}
