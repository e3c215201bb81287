//! Runs of problems: the built-in program on the command line.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Canonical, Value};
use hence_capabilities::Library;
use hence_cognition::budget::Usage;
use hence_engine::{
    Blobs, Driven, Engine, Event, Evidence, MemorySink, Plan, Reason, Replay, Request, ResumeError, Run,
    RunError, Sink,
};
use hence_journal::verify::{Level, Report};
use hence_projection::Program;
use hence_skills::{CallHistory, Links, Origin, is_same_result};
use hence_state::{ProblemSpec, Profile, StepResult, Timestamp};
use hence_store::{AttachmentName, RunId, StoreHandle};

use super::driver::Calls;
use super::fork;
use super::misspelt;
use super::new_id::NewId;
use super::pinned_problem::{Prepared, prepare};
use super::reason_report::RunReport;
use super::{Drivable, DriveOptions, HandOver, OpenRun, Purpose, RunDriver, RunEnd, calls_of, with_blobs};
use crate::args::RunArgs;
use crate::args::position::{CheckpointArgs, RollbackArgs};
use crate::args::skill::{BlameArgs, ForkArgs, ImpactArgs, RetryArgs};
use crate::bound::{self, BoundCallees};
use crate::prelude::*;
use crate::sink::StoreBlobs;
use crate::skills::{ActingCalls, FirstRecords};
use crate::target::{Journal, find_run, problem_name};
use crate::usage::{self, UsageReport};
use crate::{clock, commands, guard, input, skills};

/// A run of a problem, opened from its journal.
pub(super) struct ReasonRun {
    engine: Engine,
    callees: Option<Arc<BoundCallees>>,
}

/// A run of a problem with its plan, ready to be driven.
struct PlannedRun {
    engine: Engine,
    callees: Option<Arc<BoundCallees>>,
    plan: Plan,
}

/// Returns the profile of a new run: of the strict ones, always the newest.
pub(super) fn profile_of(args: &RunArgs) -> Profile {
    if args.profile.is_strict() { Profile::STRICT_2 } else { Profile::named(args.profile) }
}

/// Starts a run of the problem in `bytes`.
pub(crate) fn start(
    context: &Context,
    args: &RunArgs,
    bytes: Vec<u8>,
    hand_over: Option<&HandOver<'_>>,
) -> Result<Exit, CliError> {
    skills::refuse_options(args)?;
    let (name, profile) = (input::shown_name(&args.problem), profile_of(args));
    let document = input::parse_problem(&args.problem, &bytes, &profile)?;
    if args.profile.is_strict() {
        misspelt::refuse(name, &document.value)?;
    }
    let policies = guard::read_policies(&args.policies)?;
    let Prepared { document, callees, attachments } =
        prepare(args, name, document, bytes, policies.as_ref())?;
    let mut request = Request::new(document, profile);
    // A text that is no time is a finding of the plan, with all others.
    let now = args.now.as_deref().filter(|now| args.profile.is_strict() && Timestamp::parse(now).is_ok());
    now.map(clock::given).transpose()?;
    request.now.clone_from(&args.now);
    request.engine_version.clone_from(&args.engine_version);
    let engine = engine_with(callees.as_ref());
    let plan = engine.plan(&request).map_err(|findings| CliError::refused(name, &findings))?;
    let new_id = NewId::of_problem(args, plan.trace_id());
    let mut run = PlannedRun { engine, callees, plan };
    // An id that no run can have is refused before anything is stored.
    let store = context.store_or_new()?;
    let mut tried = 0;
    loop {
        let (id, number) = new_id.next(&store, tried)?;
        request.trace_id = Some(id.as_str().to_owned());
        run.plan = run.engine.plan(&request).map_err(|findings| CliError::refused(name, &findings))?;
        let options = DriveOptions { hand_over, ..DriveOptions::default() };
        let driver = RunDriver { context, store: &store, id: &id, copy: args.journal.as_deref(), options };
        if new_id.is_given() {
            return driver.start(&run, policies.as_ref(), attachments);
        }
        if let Some(exit) = driver.start_new(&run, policies.as_ref(), &attachments)? {
            if number > 1 {
                let named = args.run_id.as_deref().unwrap_or_else(|| run.problem().id());
                context.say(format_args!("{}", hint::another_run(named, id.as_str())));
            }
            return Ok(exit);
        }
        tried = number;
    }
}

fn engine_with(callees: Option<&Arc<BoundCallees>>) -> Engine {
    match callees {
        Some(callees) => Engine::new().with_callees(callees.clone()),
        None => Engine::new(),
    }
}

impl ReasonRun {
    pub(super) fn open(journal: &Journal, files: &[String], purpose: Purpose) -> Result<Self, CliError> {
        let problem = journal.parsed_problem()?.map(|document| &document.value);
        let callees = |library: Library| {
            let callees = match purpose {
                Purpose::Read => BoundCallees::to_read(library),
                Purpose::Execute | Purpose::Resume(_) => BoundCallees::new(library),
            };
            Some(Arc::new(callees))
        };
        let Some(problem) = problem.filter(|problem| bound::binds(problem)) else {
            if !files.is_empty() {
                let message = format!("run {} was made without declared capabilities", journal.name);
                return Err(
                    CliError::new(Code::OtherCapabilities, message).with_hint(hint::LEAVE_CAPABILITIES_OUT)
                );
            }
            // Methods of tasks may compute built-in functions.
            let callees = callees(Library::built_in());
            return Ok(Self { engine: engine_with(callees.as_ref()), callees });
        };
        let library = match skills::library_pinned(journal, files, bound::pinned_capabilities(problem)) {
            Ok(library) => library,
            // A journal that was copied elsewhere without its declarations can still be read.
            Err(_) if files.is_empty() && purpose == Purpose::Read => Library::built_in(),
            Err(error) => return Err(error),
        };
        if let Purpose::Resume(imported) = purpose {
            imported.check(journal, &library)?;
        }
        let library = if purpose == Purpose::Execute { library.with_declared_replayed() } else { library };
        let callees = callees(library);
        Ok(Self { engine: engine_with(callees.as_ref()), callees })
    }

    fn planned(&self, journal: &Journal) -> Result<PlannedRun, CliError> {
        let plan = self
            .engine
            .plan_of_journal(&journal.bytes, journal.required_problem()?)
            .map_err(|error| CliError::resume(&journal.name, error))?;
        Ok(PlannedRun { engine: self.engine.clone(), callees: self.callees.clone(), plan })
    }
}

/// Returns what the bound steps of a problem used, and its limits.
fn usage_of(
    problem: &Value,
    callees: Option<&BoundCallees>,
    journal: &[u8],
    calls: Option<&CallHistory>,
    blobs: &dyn Blobs,
) -> UsageReport {
    let mut used = callees.map(|callees| callees.used(problem, journal, blobs)).unwrap_or_default();
    let logged = callees.zip(calls).map(|(callees, calls)| callees.logged(calls));
    used.add(&logged.unwrap_or_default());
    used.add(&Links::of_problem(problem).map(|links| links.used_before()).unwrap_or_default());
    UsageReport::of(&used, &usage::limits_of(problem).unwrap_or_default())
}

impl OpenRun for ReasonRun {
    fn declared_calls(&self) -> BTreeMap<String, u64> {
        self.callees.as_ref().map(|callees| callees.library().declared_calls()).unwrap_or_default()
    }

    fn usage(&self, journal: &Journal) -> UsageReport {
        let Ok(Some(problem)) = journal.parsed_problem() else { return UsageReport::default() };
        let (callees, calls) = (self.callees.as_deref(), calls_of(journal));
        with_blobs(journal, |blobs| usage_of(&problem.value, callees, &journal.bytes, calls.as_ref(), blobs))
    }

    fn projection(&self) -> Program<'_> {
        Program::Reason(&self.engine)
    }

    fn verify(&self, evidence: &Evidence<'_>, level: Level) -> Report {
        self.engine.verify(evidence, level)
    }

    fn replay(&self, evidence: &Evidence<'_>) -> Result<Replay, ResumeError> {
        self.engine.replay(evidence)
    }

    fn resume(
        &self,
        context: &Context,
        journal: &Journal,
        options: DriveOptions<'_>,
    ) -> Result<Exit, CliError> {
        if options.deadline.is_some() {
            let message = "--deadline is for skills, and this run has none";
            return Err(CliError::new(Code::Argument, message).with_hint(hint::LEAVE_IT_OUT));
        }
        let store = context.store()?;
        let id = find_run(&store, &journal.name)?;
        RunDriver { context, store: &store, id: &id, copy: None, options }.resume(&self.planned(journal)?)
    }

    fn checkpoint(
        &self,
        context: &Context,
        journal: &Journal,
        args: &CheckpointArgs,
    ) -> Result<Exit, CliError> {
        commands::checkpoint_run(context, journal, args, || Ok(self.planned(journal)?.program()?))
    }

    fn roll_back(&self, context: &Context, journal: &Journal, args: &RollbackArgs) -> Result<Exit, CliError> {
        let planned = || Ok(self.planned(journal)?.program()?);
        commands::roll_back_run(context, journal, args, planned, |result| self.acting(journal, result))
    }

    fn fork(&self, context: &Context, journal: &Journal, args: &ForkArgs) -> Result<Exit, CliError> {
        if args.with.is_some() || !args.policies.is_empty() || !args.capabilities.capabilities.is_empty() {
            let message = "--with, --policy and --capabilities fork skills, and this run has none";
            return Err(CliError::new(Code::Fork, message).with_hint(hint::LEAVE_THEM_OUT));
        }
        let point = fork::ForkPoint::find(journal, &args.from)?;
        skills::Again {
            run: &journal.name,
            what: "these calls act, and the fork makes them again under other idempotency keys",
            calls: point
                .after
                .iter()
                .flat_map(|result| self.acting(journal, result))
                .chain(skills::ActingCalls::without_result(journal)?)
                .collect(),
            advice: hint::repeat_calls(&journal.name, true),
        }
        .confirm(context, args.yes)?;
        let set: Vec<(Arc<str>, Value)> =
            args.set.iter().map(|text| skills::setting(text)).collect::<Result<_, _>>()?;
        let link = point.link(journal, &args.from, set, None);
        let problem = fork::forked_problem(journal, &link, args.run_id.as_deref(), &args.limits.limits())?;
        let said = fork::shared_text(&problem.id, journal, &point);
        self.create_shared(context, journal, &point, problem, Vec::new(), &said)
    }

    fn retry(&self, context: &Context, journal: &Journal, args: &RetryArgs) -> Result<Exit, CliError> {
        let Some(failed) = fork::failed_record(journal) else {
            let message = format!("run {}: no step failed, so there is nothing to retry", journal.name);
            return Err(CliError::new(Code::Retry, message).with_hint(hint::retry_nothing(&journal.name)));
        };
        let point = fork::ForkPoint::find(journal, &failed.index.get().to_string())?;
        let store = context.store()?;
        let id = find_run(&store, &journal.name)?;
        let links = Links::of_problem(&journal.required_problem()?.value);
        let root = skills::root_of(&journal.name, links.as_ref());
        let before = links.as_ref().map(Links::used_before).unwrap_or_default();
        // What a person or a recovery gave up is undecided again: nobody knows whether it happened.
        let lines = skills::undecided_again(&store, &id)?;
        let is_retry = links.is_some_and(|links| links.idempotency_root().is_some());
        let new = skills::claim_retry(&store, &id, args.run_id.as_deref(), is_retry)?;
        let link = point.link(journal, failed.result.step(), Vec::new(), Some(root));
        let link = Origin { used: self.used_by_failed(&store, &id, &lines, &before)?, ..link };
        let limits = args.limits.limits();
        let problem = fork::forked_problem(journal, &link, Some(new.as_str()), &limits)?;
        let said = format!("run {new} retries {} at {}", journal.name, failed.result.step());
        let log = (skills::calls_name(), skills::sealed_calls(&new, &lines));
        self.create_shared(context, journal, &point, problem, vec![log], &said)
    }

    fn start_like(
        &self,
        context: &Context,
        journal: &Journal,
        id: &RunId,
        created_at: &Timestamp,
        hand_over: &HandOver<'_>,
    ) -> Result<Exit, CliError> {
        let document = journal.required_problem()?.clone();
        let mut attachments = vec![(problem_name(), Canonical::of(&document.value).bytes().to_vec())];
        attachments.extend(journal.capabilities.clone().map(|bytes| (skills::capabilities_name(), bytes)));
        let mut request = Request::new(document, journal.profile());
        request.trace_id = Some(id.as_str().to_owned());
        request.now = Some(created_at.as_str().to_owned());
        let plan = self
            .engine
            .plan(&request)
            .map_err(|findings| CliError::refused("the problem of the template", &findings))?;
        let run = PlannedRun { engine: self.engine.clone(), callees: self.callees.clone(), plan };
        let store = context.store()?;
        let policies = hence_engine::first_installed(&journal.bytes, &StoreBlobs(&store))
            .map_err(|error| guard::refused(id.as_str(), error))?;
        let options = DriveOptions { hand_over: Some(hand_over), ..DriveOptions::default() };
        let driver = RunDriver { context, store: &store, id, copy: None, options };
        driver.start(&run, policies.as_ref(), attachments)
    }

    fn blame(&self, context: &Context, journal: &Journal, args: &BlameArgs) -> Result<Exit, CliError> {
        commands::blame_trace(context, journal, self.projection(), args)
    }

    fn impact(&self, context: &Context, journal: &Journal, args: &ImpactArgs) -> Result<Exit, CliError> {
        commands::impact_trace(context, journal, self.projection(), args)
    }
}

impl ReasonRun {
    /// Returns what the runs that a retry continues used and no record of the retry counts: their failed calls. `lines` is
    /// the call log of the retry.
    fn used_by_failed(
        &self,
        store: &StoreHandle,
        id: &RunId,
        lines: &[u8],
        before: &Usage,
    ) -> Result<Usage, CliError> {
        let logged = |history: &CallHistory| {
            self.callees.as_ref().map(|callees| callees.logged(history)).unwrap_or_default()
        };
        let mut used = logged(&skills::history(store, id)?.unwrap_or_default());
        used = used.without(&logged(&CallHistory::read(lines).unwrap_or_default()));
        used.add(before);
        Ok(used)
    }

    /// Returns the call that acts which a recorded bound step made.
    fn acting(&self, journal: &Journal, result: &StepResult) -> Vec<ActingCalls> {
        let problem = journal.parsed_problem().ok().flatten();
        let spec = problem.and_then(|problem| ProblemSpec::decode(&problem.value, &journal.profile()).ok());
        let Some((spec, callees)) = spec.zip(self.callees.as_ref()) else { return Vec::new() };
        let bindings = spec.settings().bindings.iter().filter(|binding| binding.step == *result.step());
        let acting = bindings.filter(|binding| callees.acts(&binding.capability));
        let call = |capability: Arc<str>| ActingCalls { step: result.step().clone(), capability, times: 1 };
        acting.map(|binding| call(binding.capability.clone())).collect()
    }

    /// Creates a run that begins with shared results, and drives it.
    fn create_shared(
        &self,
        context: &Context,
        journal: &Journal,
        origin: &fork::ForkPoint,
        problem: fork::ForkedProblem,
        more: Vec<(AttachmentName, Vec<u8>)>,
        said: &str,
    ) -> Result<Exit, CliError> {
        let fork::ForkedProblem { id, document } = problem;
        // A fork follows the rules of its origin.
        let request = Request::new(document.clone(), journal.profile());
        let plan = self
            .engine
            .plan(&request)
            .map_err(|findings| CliError::refused("the problem of the fork", &findings))?;
        let run = PlannedRun { engine: self.engine.clone(), callees: self.callees.clone(), plan };
        let store = context.store()?;
        let options = DriveOptions::default();
        let driver = RunDriver { context, store: &store, id: &id, copy: None, options };
        let blobs = StoreBlobs(&store);
        let mut first = FirstRecords { memory: MemorySink::default(), stored: &store };
        let (forked, header) = Run::start(run.program()?)?;
        let refused = |error| guard::refused(id.as_str(), error);
        let gate = guard::open(header.line(), run.problem(), run.projected(), &blobs).map_err(refused)?;
        let mut forked = forked.with_gate(gate);
        first.memory.journal.extend_from_slice(header.line());
        if forked.policy_state().is_pinned() {
            let policies = hence_engine::first_installed(&journal.bytes, &blobs).map_err(refused)?;
            forked.install_policies(&policies.unwrap_or_default(), &mut first)?;
        }
        share(&mut forked, origin, journal, &mut first)?;
        let mut attachments = vec![(problem_name(), Canonical::of(&document.value).bytes().to_vec())];
        attachments.extend(journal.capabilities.clone().map(|bytes| (skills::capabilities_name(), bytes)));
        attachments.extend(more);
        driver.create_shared(&run, forked, first.memory, attachments, said)
    }
}

/// Appends the shared results again. Deterministic steps are executed again, so that a change before the fork shows: each
/// must give the result that the origin recorded.
fn share(
    run: &mut Run<'_, Reason>,
    origin: &fork::ForkPoint,
    journal: &Journal,
    first: &mut FirstRecords<'_>,
) -> Result<(), CliError> {
    for shared in &origin.shared {
        loop {
            run.offer_result(shared);
            let differs = || {
                let message = format!(
                    "run {}: step `{}` comes before `{}` and gives another result with what is set",
                    journal.name,
                    shared.step(),
                    origin.from
                );
                CliError::new(Code::Fork, message).with_hint(hint::FORK_EARLIER)
            };
            match run.step(first)? {
                Event::Decision { .. } => {}
                Event::Step { .. } => {
                    let last = hence_journal::Reader::open(&first.memory.journal).ok();
                    let last = last.and_then(|(_, reader)| reader.last()?.ok());
                    let is_same = match last.map(|chained| chained.record) {
                        Some(hence_journal::Record::Step(record)) => is_same_result(shared, &record.result),
                        _ => false,
                    };
                    if !is_same {
                        return Err(differs());
                    }
                    break;
                }
                Event::Blocked(blocked) => return Err(guard::blocked(&journal.name, &blocked, &[])),
                Event::Verdicts { .. } | Event::Completed { .. } => return Err(differs()),
            }
        }
    }
    Ok(())
}

impl Drivable for PlannedRun {
    type Program<'a> = Reason;
    type Report = RunReport;

    fn program(&self) -> Result<Reason, RunError> {
        Ok(Reason::new(self.plan.clone()))
    }

    fn problem(&self) -> &Arc<ProblemSpec> {
        self.plan.problem()
    }

    fn projected(&self) -> Program<'_> {
        Program::Reason(&self.engine)
    }

    fn needs_call_log(&self) -> bool {
        self.callees.as_ref().is_some_and(|callees| callees.needs_call_log(self.problem()))
    }

    fn check_programs(&self, _: &Run<'_, Reason>) -> Result<(), CliError> {
        let Some(callees) = &self.callees else { return Ok(()) };
        let calls = self.problem().settings().bindings.iter().map(|binding| &binding.capability);
        skills::secrets::missing_programs(callees.library(), calls)
    }

    fn usage(&self, journal: &[u8], calls: Option<&CallHistory>, blobs: &dyn Blobs) -> UsageReport {
        usage_of(self.problem().canonical().value(), self.callees.as_deref(), journal, calls, blobs)
    }

    fn drive<'g>(
        &self,
        run: Run<'g, Reason>,
        calls: Calls<'_>,
        sink: &mut dyn Sink,
    ) -> Result<Driven<'g, Reason>, RunError> {
        let problem = self.problem().canonical().value();
        // Malformed limits were refused when the run was created.
        let limits = usage::limits_of(problem).unwrap_or_default();
        let limits = calls.driver.options.limits.map_or_else(|| limits.clone(), |more| limits.and(more));
        let (store, id) = (calls.driver.store, calls.driver.id);
        let journal = store.journal_bytes(id).unwrap_or_default();
        if let Some(callees) = &self.callees {
            let links = Links::of_problem(problem);
            callees.set_root(links.as_ref().and_then(Links::idempotency_root).cloned());
            let mut past = callees.used(problem, &journal, &StoreBlobs(store));
            past.add(&links.map(|links| links.used_before()).unwrap_or_default());
            // What failed before, or was begun, is in no record.
            past.add(&callees.logged(&calls.log.history()));
            callees.start_log(calls.log.clone(), calls.meter.clone(), limits.clone(), past);
            callees.store_exchanges_in(store);
        }
        let context = calls.driver.context;
        let watched = context.is_watched();
        let driven = run.drive(sink, |event| {
            if watched {
                context.say(line(event));
            }
        });
        self.callees.iter().for_each(|callees| callees.finish_log());
        driven
    }

    fn report(&self, run: &Run<'_, Reason>, end: RunEnd, blobs: &dyn Blobs) -> Result<RunReport, CliError> {
        RunReport::of(run.state(), end, blobs)
    }

    fn exit_of(&self, report: &RunReport) -> Exit {
        report.exit()
    }
}

/// Returns the progress line of an appended record.
fn line(event: &Event) -> String {
    match event {
        Event::Step { index, step, status } => {
            format!("{:>5}  {}  {}", index.get(), escape(step), status.as_str())
        }
        Event::Decision { index, action, iteration } => {
            format!("{:>5}  loop iteration {iteration}: {}", index.get(), action.as_str())
        }
        Event::Blocked(blocked) => format!("{:>5}  {}  blocked", blocked.index.get(), escape(&blocked.step)),
        Event::Verdicts { index } => format!("{:>5}  policies judged", index.get()),
        Event::Completed { index } => match index {
            Some(index) => format!("{:>5}  completed", index.get()),
            None => "       completed".to_owned(),
        },
    }
}
