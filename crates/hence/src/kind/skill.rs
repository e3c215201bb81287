//! Runs of skills on the command line.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use hence_canon::{Canonical, Value, parse};
use hence_capabilities::Library;
use hence_cognition::capability::TrustLevel;
use hence_cognition::run::{Prepared, SKILL_DEPTH_MAX, describe_failures};
use hence_cognition::schedule::FailureMode;
use hence_engine::{Blobs, Driven, Evidence, Meter, Replay, ResumeError, Run, RunError, Sink, replay};
use hence_journal::verify::{Level, Report};
use hence_projection::Program;
use hence_skills::{
    CallHistory, CallLog, Driver, LinkedRuns, Links, NestedDrive, NewSkillRun, Parent, Pinned, SharedInputs,
    SkillJournal, SkillProgram, SkillRun, SkillVariables, Stop, callees, logged_usage, reaches_out,
    recorded_usage, with_nested,
};
use hence_state::{ProblemSpec, Profile, Status, StepResult, Timestamp};
use hence_store::{AttachmentName, RunId, StoreHandle};

use super::driver::{Calls, stopped};
use super::new_id::NewId;
use super::skill_report::SkillRunReport;
use super::{
    Drivable, DriveOptions, HandOver, OpenRun, RunDriver, RunEnd, calls_of, whole_records, with_blobs,
};
use crate::args::RunArgs;
use crate::args::position::{CheckpointArgs, RollbackArgs};
use crate::args::skill::{BlameArgs, ForkArgs, ImpactArgs, RetryArgs};
use crate::interactive::{publish_skill, read_shared};
use crate::interrupt::Interrupt;
use crate::prelude::*;
use crate::sink::{StoreBlobs, StoreExchanges};
use crate::skills::{
    self, ActingCalls, NestedQueue, NestedSkills, SKILL, SkillDocument, StoreChildren, attachment_name,
    capabilities_attachment, capabilities_name, drive_nested, library_pinned, prepare, secrets,
};
use crate::target::{Journal, PROBLEM, find_run, problem_name};
use crate::usage::{self, Callers, UsageReport};
use crate::{commands, guard};

/// The number of steps that run at a time. The journal does not depend on it.
const WORKERS: NonZeroUsize = NonZeroUsize::new(8).expect("8 is not 0");

/// A run of a skill: its problem, its skill, its capabilities and the skills it may nest.
pub(crate) struct StoredSkillRun {
    pub(crate) problem: Arc<ProblemSpec>,
    pub(crate) prepared: Prepared,
    pub(crate) source: Canonical,
    pub(crate) library: Library,
    pub(crate) nested: NestedSkills,
}

/// Starts a run of the skill in `bytes`.
pub(crate) fn start(
    context: &Context,
    args: &RunArgs,
    bytes: &[u8],
    hand_over: Option<&HandOver<'_>>,
) -> Result<Exit, CliError> {
    if !args.profile.is_strict() || args.engine_version.is_some() {
        return Err(CliError::new(Code::Argument, "a skill runs in the strict profile of this engine"));
    }
    if args.model.is_some() {
        let message = "--model is for problems; a skill names its models in a capabilities file";
        return Err(CliError::new(Code::Argument, message).with_hint(hint::LEAVE_IT_OUT));
    }
    let nested = NestedSkills::read(&args.problem, bytes, &args.skill.nested)?;
    let mut library =
        skills::library_for(&args.problem, bytes, &args.skill.capabilities)?.with_skills(nested.skills());
    nested.check(&library)?;
    let document = SkillDocument::read(&args.problem, bytes, &library)?;
    document.say_warnings(context);
    let (prepared, source) = document.runnable(&library)?;
    let policies = guard::read_policies_of_skill(&args.problem, &prepared.skill().policies, &args.policies)?;
    let inputs =
        secrets::take(&mut library, prepared.skill(), skills::inputs(&args.skill, prepared.skill())?)?;
    let frame = skills::frame(&args.skill)?.map(|frame| library.redactor().object(&frame));
    secrets::require(&library, prepared.skill(), &inputs, &[])?;
    let store = context.store_or_new()?;
    let declared = library.declarations();
    let asked = NewSkillRun {
        id: prepared.skill().id.to_string(),
        created_at: crate::clock::now()?,
        capabilities: (!declared.is_empty()).then(|| declared.canonical().digest()),
        policies: policies.as_ref().map(|policies| Canonical::of(policies).digest()),
        inputs,
        frame,
        on_failure: match args.skill.on_failure.as_deref() {
            Some("continue") => FailureMode::Continue,
            _ => FailureMode::FailFast,
        },
        trust: args.skill.trust.as_deref().and_then(TrustLevel::find).unwrap_or_default(),
        limits: args.limits.limits(),
        links: Links { nested: nested.pins(), max_depth: args.skill.max_depth, ..Links::default() },
    };
    let new_id = NewId::of_skill(args, &prepared.skill().id);
    let problem = Arc::new(problem_of(args, &asked, &prepared, &source)?);
    let mut run = StoredSkillRun { problem, prepared, source, library, nested };
    let mut tried = 0;
    loop {
        let (id, number) = new_id.next(&store, tried)?;
        let created_at = match &args.now {
            Some(text) => crate::clock::given_second(text)?,
            // The time of a stored run is used again; with another time it would be another problem.
            None => match stored_time(&store, &id).filter(|_| new_id.is_given()) {
                Some(stored) => stored,
                None => crate::clock::now()?,
            },
        };
        // What a stored run read is used again: meanwhile others may have written to the scopes.
        let shared = match stored_shared(&store, &id).filter(|_| new_id.is_given()) {
            Some(stored) => stored,
            None => {
                let skills = with_nested(run.prepared.skill(), &run.library);
                read_shared(context, &skills, args.skill.session.as_deref())?
            }
        };
        let links = Links { shared, ..asked.links.clone() };
        let asked = NewSkillRun { id: id.as_str().to_owned(), created_at, links, ..asked.clone() };
        run.problem = Arc::new(problem_of(args, &asked, &run.prepared, &run.source)?);
        let attachments = run.attachments(run.problem.canonical().value());
        let deadline = args.skill.deadline.deadline;
        let options = DriveOptions { deadline, hand_over, ..DriveOptions::default() };
        let driver = RunDriver { context, store: &store, id: &id, copy: args.journal.as_deref(), options };
        if new_id.is_given() {
            return driver.start(&run, policies.as_ref(), attachments);
        }
        if let Some(exit) = driver.start_new(&run, policies.as_ref(), &attachments)? {
            return Ok(exit);
        }
        tried = number;
    }
}

/// Makes the problem of a new run.
fn problem_of(
    args: &RunArgs,
    asked: &NewSkillRun,
    prepared: &Prepared,
    source: &Canonical,
) -> Result<ProblemSpec, CliError> {
    ProblemSpec::decode(&asked.problem(prepared.skill(), source), &Profile::STRICT)
        .map_err(|findings| CliError::refused(crate::input::shown_name(&args.problem), &findings))
}

fn stored_shared(store: &StoreHandle, id: &RunId) -> Option<SharedInputs> {
    let bytes = store.attachment(id, &problem_name()).ok()?;
    Some(Pinned::of_value(&parse(&bytes).ok()?)?.links.shared)
}

fn stored_time(store: &StoreHandle, id: &RunId) -> Option<Timestamp> {
    let bytes = store.attachment(id, &problem_name()).ok()?;
    let problem = parse(&bytes).ok()?;
    Pinned::of_value(&problem)?;
    Timestamp::parse(problem.get("created_at")?.as_str()?).ok()
}

impl StoredSkillRun {
    /// Opens the run of a journal; `None` when its problem pins no skill. `files` are the capabilities files that the
    /// command line names.
    pub(crate) fn open(journal: &Journal, files: &[String]) -> Result<Option<Self>, CliError> {
        let Some(problem) = journal.parsed_problem()? else { return Ok(None) };
        let Some(pinned) = Pinned::of_value(&problem.value) else { return Ok(None) };
        let problem = ProblemSpec::decode(&problem.value, &Profile::STRICT)
            .map_err(|findings| CliError::refused(PROBLEM, &findings))?;
        let Some(skill) = &journal.skill else {
            let message = format!("{}: its skill is missing", journal.name);
            let advice = hint::put_next_to_journal("skill", SKILL);
            return Err(CliError::new(Code::NoSuchPlace, message).with_hint(advice));
        };
        let document = parse(skill).map_err(|error| CliError::not_json(SKILL, error))?;
        let nested = NestedSkills::stored(&journal.name, journal.nested.as_deref(), &pinned.links.nested)?;
        let mut library = library_pinned(journal, files, pinned.capabilities)?.with_skills(nested.skills());
        let prepared = prepare(&document, &library).ok_or_else(|| {
            let message = format!("{}: {SKILL} is not a skill that can run", journal.name);
            CliError::new(Code::Refused, message).with_hint(hint::check(SKILL))
        })?;
        secrets::find_again(&mut library, prepared.skill(), &pinned.inputs);
        let source = Canonical::of(&document);
        Ok(Some(Self { problem: Arc::new(problem), prepared, source, library, nested }))
    }

    /// Lets a replay call declared capabilities that say they are deterministic.
    pub(super) fn executing_declared(self) -> Self {
        Self { library: self.library.with_declared_replayed(), ..self }
    }

    /// Opens the run of a journal, which must be a run of a skill.
    pub(crate) fn require(journal: &Journal) -> Result<Self, CliError> {
        Self::open(journal, &[])?.ok_or_else(|| {
            let message = format!("{} is not a run of a skill", journal.name);
            CliError::new(Code::NoSuchPlace, message).with_hint(hint::places(&journal.name))
        })
    }

    /// Reads the run back from its journal, without a torn tail.
    pub(crate) fn read_back(&self, journal: &Journal) -> Result<SkillRun<'static, '_>, CliError> {
        let whole = whole_records(&journal.bytes);
        let run = with_blobs(journal, |blobs| Run::resume(self.program()?, whole, blobs));
        run.map_err(|error: ResumeError| CliError::resume(&journal.name, error))
    }

    /// Reads the variables that the steps wrote, and the status of the run.
    pub(crate) fn variables(
        &self,
        journal: &[u8],
        blobs: &dyn Blobs,
    ) -> Result<(SkillVariables, Status), ResumeError> {
        let program = self.program()?.with_variables().map_err(RunError::from)?;
        let run = Run::resume(program, journal, blobs)?;
        let variables = run.program().variables().cloned().ok_or_else(|| ResumeError::Diverged {
            index: hence_journal::RecordIndex::HEADER,
            reason: "it has no variables".to_owned(),
        })?;
        Ok((variables, run.state().status()))
    }

    /// Returns the run that nests this one, if one does.
    pub(crate) fn parent(&self) -> Option<Parent> {
        Pinned::of(&self.problem)?.links.parent
    }

    /// Drives a nested run for this one, which is the outermost run around it and is only read.
    pub(crate) fn drive_nested(
        &self,
        journal: &Journal,
        step: &str,
        (child, log, stop, handing): (&RunId, &CallLog<'_>, &dyn Stop, &NestedQueue<'_>),
    ) -> Result<NestedDrive, CliError> {
        let store = handing.store;
        self.library.store_exchanges_in(Arc::new(StoreExchanges(store.clone())));
        let shared = self.shared_attachments();
        let children = StoreChildren { store, nested: &self.nested, shared, handing };
        let meter = &hence_engine::NoMeter;
        let driver = Driver { workers: WORKERS, log, stop, children: &children, meter };
        let driven = driver.drive_nested(self.read_back(journal)?, step, child.as_str());
        driven.map_err(|error| stopped(child, error))
    }

    /// Returns the documents that are stored next to the journal of a new run.
    pub(crate) fn attachments(&self, problem: &Value) -> Vec<(AttachmentName, Vec<u8>)> {
        let mut attachments = vec![
            (problem_name(), Canonical::of(problem).bytes().to_vec()),
            (attachment_name(), self.source.bytes().to_vec()),
        ];
        attachments.extend(self.shared_attachments());
        attachments
    }

    /// Returns the documents that are stored next to the journals of a run and of the runs it nests.
    fn shared_attachments(&self) -> Vec<(AttachmentName, Vec<u8>)> {
        let declared = self.library.declarations();
        // Changed capabilities files must not break unfinished runs, so a copy of the declarations is stored.
        let capabilities =
            (!declared.is_empty()).then(|| (capabilities_name(), capabilities_attachment(declared)));
        capabilities.into_iter().chain(self.nested.attachment()).collect()
    }
}

/// Publishes what a nested run and the runs that it nests wrote to shared scopes. One that is not in the store, or did not
/// come about here, has nothing to publish.
fn publish_nested(context: &Context, store: &StoreHandle, run: &str, depth: u32) -> Result<(), CliError> {
    let Ok(id) = RunId::new(run) else { return Ok(()) };
    if depth > SKILL_DEPTH_MAX || !matches!(store.was_made_here(&id), Ok(true)) {
        return Ok(());
    }
    let journal = Journal::of_stored(context.store()?, &id)?;
    let Some(nested) = StoredSkillRun::open(&journal, &[])? else { return Ok(()) };
    for child in skills::nested_runs(&journal.bytes, &StoreBlobs(store)) {
        publish_nested(context, store, &child, depth + 1)?;
    }
    if nested.prepared.skill().shared_variables().next().is_none() {
        return Ok(());
    }
    let variables = nested.variables(whole_records(&journal.bytes), &StoreBlobs(store));
    let (variables, _) = variables.map_err(|error| CliError::resume(run, error))?;
    publish_skill(context, store, run, &variables)
}

impl OpenRun for StoredSkillRun {
    fn declared_calls(&self) -> BTreeMap<String, u64> {
        self.library.declared_calls()
    }

    fn usage(&self, journal: &Journal) -> UsageReport {
        let calls = calls_of(journal);
        with_blobs(journal, |blobs| Drivable::usage(self, &journal.bytes, calls.as_ref(), blobs))
    }

    fn projection(&self) -> Program<'_> {
        Program::Skill { prepared: &self.prepared, source: &self.source, host: &self.library }
    }

    fn verify(&self, evidence: &Evidence<'_>, level: Level) -> Report {
        let Self { problem, prepared, source, library, .. } = self;
        let linked = LinkedRuns::ComparedByCaller;
        let journal = SkillJournal { problem, prepared, source, host: library, evidence, linked };
        evidence.verify(&journal, level)
    }

    fn replay(&self, evidence: &Evidence<'_>) -> Result<Replay, ResumeError> {
        replay(self.program()?, evidence)
    }

    fn resume(
        &self,
        context: &Context,
        journal: &Journal,
        options: DriveOptions<'_>,
    ) -> Result<Exit, CliError> {
        let store = context.store()?;
        let id = find_run(&store, &journal.name)?;
        // A nested run that has not ended was handed over: what it calls depends on the run around it.
        if let Some(parent) = self.parent().filter(|_| store.was_made_here(&id).is_ok_and(|made| made))
            && let run = self.read_back(journal)?
            && !run.has_ended()
        {
            if options.checks_programs {
                self.check_programs(&run)?;
            }
            return drive_nested(context, &store, &id, parent, options);
        }
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
        let acting = |result: &StepResult| ActingCalls::of_record(result, journal, &self.library);
        commands::roll_back_run(context, journal, args, || Ok(self.program()?), acting)
    }

    fn fork(&self, context: &Context, journal: &Journal, args: &ForkArgs) -> Result<Exit, CliError> {
        skills::fork(context, journal, args)
    }

    fn retry(&self, context: &Context, journal: &Journal, args: &RetryArgs) -> Result<Exit, CliError> {
        skills::retry(context, journal, args)
    }

    fn blame(&self, context: &Context, journal: &Journal, args: &BlameArgs) -> Result<Exit, CliError> {
        commands::blame_skill(context, journal, self, args)
    }

    fn impact(&self, context: &Context, journal: &Journal, args: &ImpactArgs) -> Result<Exit, CliError> {
        commands::impact_skill(context, journal, self, args)
    }

    fn start_like(
        &self,
        context: &Context,
        journal: &Journal,
        id: &RunId,
        created_at: &Timestamp,
        hand_over: &HandOver<'_>,
    ) -> Result<Exit, CliError> {
        let problem = &journal.required_problem()?.value;
        let members = problem.as_object().cloned().unwrap_or_default();
        let problem: Value = members.with("id", id.as_str()).with("created_at", created_at.as_str()).into();
        let spec = ProblemSpec::decode(&problem, &Profile::STRICT)
            .map_err(|findings| CliError::refused(PROBLEM, &findings))?;
        let mut run = Self::require(journal)?;
        run.problem = Arc::new(spec);
        let store = context.store()?;
        let policies = hence_engine::first_installed(&journal.bytes, &StoreBlobs(&store))
            .map_err(|error| guard::refused(id.as_str(), error))?;
        let attachments = run.attachments(&problem);
        let options = DriveOptions { hand_over: Some(hand_over), ..DriveOptions::default() };
        let driver = RunDriver { context, store: &store, id, copy: None, options };
        driver.start(&run, policies.as_ref(), attachments)
    }

    fn due_step(&self, journal: &Journal) -> Result<Option<String>, CliError> {
        Ok(self.read_back(journal)?.program().due().map(ToString::to_string))
    }
}

impl Drivable for StoredSkillRun {
    type Program<'a> = SkillProgram<'a>;
    type Report = SkillRunReport;

    fn program(&self) -> Result<SkillProgram<'_>, RunError> {
        Ok(SkillProgram::new(self.problem.clone(), &self.prepared, &self.source, &self.library)?)
    }

    fn problem(&self) -> &Arc<ProblemSpec> {
        &self.problem
    }

    fn projected(&self) -> Program<'_> {
        self.projection()
    }

    fn needs_call_log(&self) -> bool {
        reaches_out(self.prepared.skill(), &self.library)
    }

    fn callees(&self) -> BTreeSet<Arc<str>> {
        with_nested(self.prepared.skill(), &self.library).iter().flat_map(|skill| callees(skill)).collect()
    }

    fn check_resumable(&self, run: &Run<'_, SkillProgram<'_>>) -> Result<(), CliError> {
        match Pinned::of(&self.problem) {
            Some(pinned) => secrets::require(
                &self.library,
                self.prepared.skill(),
                &pinned.inputs,
                run.program().outcomes(),
            ),
            None => Ok(()),
        }
    }

    fn check_programs(&self, run: &Run<'_, SkillProgram<'_>>) -> Result<(), CliError> {
        secrets::require_programs(&self.library, self.prepared.skill(), run.program().outcomes())
    }

    fn interrupt(&self, deadline: Option<Duration>) -> Option<Interrupt> {
        Some(Interrupt::listen(deadline))
    }

    fn drive<'g, 'a>(
        &'a self,
        run: SkillRun<'g, 'a>,
        calls: Calls<'_>,
        sink: &mut dyn Sink,
    ) -> Result<Driven<'g, SkillProgram<'a>>, RunError> {
        let RunDriver { context, store, .. } = *calls.driver;
        self.library.store_exchanges_in(Arc::new(StoreExchanges(store.clone())));
        let handing = NestedQueue::new(context, store, calls.driver.id, &calls.driver.options);
        let shared = self.shared_attachments();
        let children = StoreChildren { store, nested: &self.nested, shared, handing: &handing };
        let meter: &dyn Meter = &**calls.meter;
        let driver =
            Driver { workers: WORKERS, log: calls.log, stop: calls.stop, children: &children, meter };
        let watched = context.is_watched();
        let limits = calls.driver.options.limits.cloned().unwrap_or_default();
        // What was rolled back was paid for.
        let journal = store.journal_bytes(calls.driver.id).unwrap_or_default();
        let mut used = usage::of_journal(&journal, &StoreBlobs(store), Callers::Skill(&self.library));
        for outcome in run.program().outcomes() {
            used = used.without(&recorded_usage(outcome, &self.library));
        }
        driver.drive_within((&limits, &used), run, sink, |outcome| {
            if watched {
                context.say(format_args!("{}  {}", escape(&outcome.step_id), outcome.status.as_str()));
            }
        })
    }

    fn follow_up(&self, driver: &RunDriver<'_>, run: &Run<'_, SkillProgram<'_>>) -> Result<(), CliError> {
        // Only a run that was made in this store publishes: a record that came from elsewhere is data.
        if !driver.store.was_made_here(driver.id)? {
            return Ok(());
        }
        let RunDriver { context, store, id, .. } = *driver;
        let nested = with_nested(self.prepared.skill(), &self.library);
        if nested.iter().skip(1).any(|skill| skill.shared_variables().next().is_some()) {
            // The writes of a nested run were made before the step that nests it ended.
            for child in skills::nested_runs(&store.journal_bytes(id)?, &StoreBlobs(store)) {
                publish_nested(context, store, &child, 1)?;
            }
        }
        match run.program().variables() {
            Some(variables) => publish_skill(context, store, id.as_str(), variables),
            None => Ok(()),
        }
    }

    fn usage(&self, journal: &[u8], calls: Option<&CallHistory>, blobs: &dyn Blobs) -> UsageReport {
        let pinned = Pinned::of(&self.problem);
        let mut used = usage::of_journal(journal, blobs, Callers::Skill(&self.library));
        used.add(&calls.map(|calls| logged_usage(&self.library, calls)).unwrap_or_default());
        used.add(&pinned.as_ref().map(|pinned| pinned.links.used_before()).unwrap_or_default());
        let limits = pinned.map(|pinned| pinned.limits).unwrap_or_default();
        UsageReport::of(&used, &limits.and(&self.prepared.skill().limits))
    }

    fn failures(&self, run: &Run<'_, SkillProgram<'_>>) -> Vec<String> {
        describe_failures(run.program().outcomes())
    }

    fn can_retry(&self, run: &Run<'_, SkillProgram<'_>>) -> bool {
        hence_skills::first_failed(run.program().outcomes()).is_some()
    }

    fn report(
        &self,
        run: &Run<'_, SkillProgram<'_>>,
        end: RunEnd,
        _: &dyn Blobs,
    ) -> Result<SkillRunReport, CliError> {
        Ok(SkillRunReport::of(run.program(), end))
    }
}
