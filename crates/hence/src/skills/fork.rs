//! `hence fork`: a new run that shares the records of a skill's run before a step.

use std::sync::Arc;

use hence_canon::{Canonical, Digest, Object, Value};
use hence_capabilities::Library;
use hence_cognition::budget::Limits;
use hence_cognition::run::StepOutcome;
use hence_engine::{Blobs, MemorySink, Sink, SinkError};
use hence_journal::{Lines, Reader, Sealed};
use hence_skills::{
    Carried, EffectiveRecord, ForkError, Links, NewSkillRun, Origin, Pinned, RecordKind, carry_over,
    effective_records, first_failed, shared_before, shared_records,
};
use hence_state::{ProblemSpec, Profile};
use hence_store::{AttachmentName, Durability, RunId, StoreHandle};

use super::again::{ActingCalls, Again};
use super::{SKILL, SkillDocument, capabilities, given, secrets};
use crate::args::skill::ForkArgs;
use crate::code::Code;
use crate::commands::{find_record, step_at};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::kind::{
    Drivable as _, DriveOptions, OpenRun as _, RunDriver, StoredSkillRun, whole_records, with_blobs,
};
use crate::sink::StoreBlobs;
use crate::target::Journal;
use crate::{guard, hint, input};

/// Forks a run of a skill.
pub(crate) fn fork(context: &Context, journal: &Journal, args: &ForkArgs) -> Result<Exit, CliError> {
    let origin = StoredSkillRun::require(journal)?;
    let before = origin.read_back(journal)?;
    // The index of a record stands for its step, as in `RUN@INDEX`.
    let is_index = origin.prepared.skill().step(&args.from).is_none() && args.from.parse::<u64>().is_ok();
    let recorded = match is_index {
        true => step_at(&Lines::of(&journal.bytes), &journal.profile(), find_record(journal, &args.from)?),
        false => None,
    };
    let args = &ForkArgs { from: recorded.unwrap_or_else(|| args.from.clone()), ..args.clone() };
    let from: Arc<str> = args.from.as_str().into();
    let run = other_capabilities(StoredSkillRun::require(journal)?, &args.capabilities.capabilities)?;
    let run = match &args.with {
        None => run,
        Some(file) => other_skill(file, run)?,
    };
    let outcomes = before.program().outcomes();
    let is_in_fork = |call: &ActingCalls| run.prepared.skill().step(&call.step).is_some();
    let without_record = ActingCalls::without_result(journal)?.into_iter().filter(is_in_fork);
    let shared = shared_before(&origin.prepared, outcomes, &run.prepared, &from)
        .map_err(|error| refused(&journal.name, error))?;
    let again = Again {
        run: &journal.name,
        what: "these calls act, and the fork makes them again under other idempotency keys",
        calls: repeated(outcomes.get(shared..).unwrap_or_default(), &run, journal)
            .into_iter()
            .chain(without_record)
            .collect(),
        advice: hint::repeat_calls(&journal.name, first_failed(outcomes).is_some()),
    };
    let other = other_policies(args, &run)?;
    let sharing = Sharing::of(journal, shared, other)?;
    let (link, id) = link(args, journal, &run, &sharing)?;
    let asked = new_run(journal, (&origin, &run), &sharing, link, id, &args.limits.limits())?;
    let results = if shared == 1 { "result" } else { "results" };
    let said =
        format!("run {} shares {shared} {results} with {} and continues at {from}", asked.id, journal.name);
    let confirm = || again.confirm(context, args.yes);
    create_shared(context, journal, run, &sharing, Created { asked, more: Vec::new(), said }, confirm)
}

/// A run that is about to be created with shared records.
pub(super) struct Created {
    pub(super) asked: NewSkillRun,
    /// Attachments besides the documents of the run.
    pub(super) more: Vec<(AttachmentName, Vec<u8>)>,
    /// The message for people.
    pub(super) said: String,
}

/// Returns the calls that act which the steps of a fork made in its origin.
fn repeated(outcomes: &[StepOutcome], run: &StoredSkillRun, journal: &Journal) -> Vec<ActingCalls> {
    let is_in_fork = |outcome: &&StepOutcome| run.prepared.skill().step(&outcome.step_id).is_some();
    let outcomes = outcomes.iter().filter(is_in_fork);
    outcomes.flat_map(|outcome| ActingCalls::of_outcome(outcome, &run.library, journal)).collect()
}

/// Creates a run that begins with shared records, and drives it. `confirm` is asked last, before anything is stored, and
/// not for a run that exists.
pub(super) fn create_shared(
    context: &Context,
    journal: &Journal,
    run: StoredSkillRun,
    sharing: &Sharing,
    created: Created,
    confirm: impl FnOnce() -> Result<(), CliError>,
) -> Result<Exit, CliError> {
    let Created { asked, more, said } = created;
    let value = asked.problem(run.prepared.skill(), &run.source);
    let problem = ProblemSpec::decode(&value, &Profile::STRICT)
        .map_err(|findings| CliError::refused("the problem of the new run", &findings))?;
    let run = StoredSkillRun { problem: Arc::new(problem), ..run };
    let id = RunId::new(&asked.id)
        .map_err(|error| CliError::from_error(Code::Argument, error).with_hint(hint::OTHER_RUN_ID))?;
    secrets::require(&run.library, run.prepared.skill(), &asked.inputs, &sharing.outcomes())?;
    let store = context.store()?;
    let driver = RunDriver { context, store: &store, id: &id, copy: None, options: DriveOptions::default() };
    let (mut first, blobs) =
        (FirstRecords { memory: MemorySink::default(), stored: &store }, StoreBlobs(&store));
    let open_gate = |header: &Sealed| guard::open(header.line(), &run.problem, run.projection(), &blobs);
    let program = run.program()?;
    let forked = carry_over(program, &sharing.carried, open_gate, &mut first)
        .map_err(|error| refused(&journal.name, error))?;
    if !store.has_run(&id)? {
        confirm()?;
    }
    let attachments = run.attachments(&value).into_iter().chain(more).collect();
    driver.create_shared(&run, forked, first.memory, attachments, &said)
}

/// Replaces the capabilities of the run by those of the files, if any are named.
fn other_capabilities(run: StoredSkillRun, files: &[String]) -> Result<StoredSkillRun, CliError> {
    if files.is_empty() {
        return Ok(run);
    }
    let mut library = Library::with(capabilities::read(files)?).with_skills(run.nested.skills());
    let document = SkillDocument::read(SKILL, run.source.bytes(), &library)?;
    let (prepared, source) = document.runnable(&library)?;
    if let Some(pinned) = Pinned::of(&run.problem) {
        secrets::find_again(&mut library, prepared.skill(), &pinned.inputs);
    }
    Ok(StoredSkillRun { prepared, source, library, ..run })
}

/// Replaces the skill of the run by another one, which may call the same capabilities.
fn other_skill(file: &str, run: StoredSkillRun) -> Result<StoredSkillRun, CliError> {
    let bytes = input::read_parsable(file, Code::NotJson)?;
    let (prepared, source) = SkillDocument::read(file, &bytes, &run.library)?.runnable(&run.library)?;
    Ok(StoredSkillRun { prepared, source, ..run })
}

/// Returns the link of a fork to its origin, and the id of the fork.
fn link(
    args: &ForkArgs,
    journal: &Journal,
    run: &StoredSkillRun,
    sharing: &Sharing,
) -> Result<(Origin, String), CliError> {
    let set: Vec<(Arc<str>, Value)> =
        args.set.iter().map(|text| given::setting(text)).collect::<Result<_, _>>()?;
    let redactor = run.library.redactor();
    let set = set.into_iter().map(|(place, value)| (place, redactor.value(&value))).collect();
    let link = Origin {
        run: journal.name.as_str().into(),
        record: sharing.record,
        hash: sharing.hash,
        from: args.from.as_str().into(),
        set,
        idempotency_root: None,
        used: Default::default(),
    };
    let id = args.run_id.clone().unwrap_or_else(|| {
        let set: Object = link.set.iter().cloned().collect();
        let mut what = vec![
            ("hash", Value::from(link.hash)),
            ("from", link.from.clone().into()),
            ("set", set.into()),
            ("skill", run.source.digest().into()),
            ("capabilities", declared(run).map(Value::from).into()),
        ];
        let limits = args.limits.limits();
        what.extend((!limits.is_empty()).then(|| ("limits", limits.value().into())));
        what.extend(sharing.policies().map(|digest| ("policies", digest.into())));
        let digest = Canonical::of(&Object::from_iter(what).into()).digest().to_string();
        format!("{}-fork-{}", journal.name, digest.chars().take(8).collect::<String>())
    });
    Ok((link, id))
}

/// Returns the digest of the capabilities that a run declares, if it declares any.
fn declared(run: &StoredSkillRun) -> Option<Digest> {
    let declared = run.library.declarations();
    (!declared.is_empty()).then(|| declared.canonical().digest())
}

/// Describes a run that shares the records of another one: what the other was, what it will be, and the limits that are
/// given in place of its own.
pub(super) fn new_run(
    journal: &Journal,
    (origin, run): (&StoredSkillRun, &StoredSkillRun),
    sharing: &Sharing,
    link: Origin,
    id: String,
    given: &Limits,
) -> Result<NewSkillRun, CliError> {
    let pinned = Pinned::of(&origin.problem)
        .ok_or_else(|| CliError::new(Code::Refused, format!("{} pins no skill", journal.name)))?;
    Ok(NewSkillRun {
        id,
        created_at: origin.problem.created_at().clone(),
        capabilities: declared(run),
        policies: sharing.policies(),
        inputs: pinned.inputs,
        frame: pinned.frame.as_object().cloned(),
        on_failure: pinned.on_failure,
        trust: pinned.trust,
        limits: pinned.limits.replaced_by(given),
        links: Links { parent: None, origin: Some(link), ..pinned.links },
    })
}

/// Returns the policies that replace the ones the run pins: those that the command line and another skill name.
fn other_policies(args: &ForkArgs, run: &StoredSkillRun) -> Result<Option<Value>, CliError> {
    match &args.with {
        Some(file) => guard::read_policies_of_skill(file, &run.prepared.skill().policies, &args.policies),
        None => guard::read_policies(&args.policies),
    }
}

/// The records that a fork shares with its origin.
pub(super) struct Sharing {
    carried: Vec<Carried>,
    /// The last shared record of the origin, and its hash.
    pub(super) record: u64,
    pub(super) hash: Digest,
}

impl Sharing {
    /// Reads the shared records. With the same policies, blocked attempts and amendments are shared too; with other
    /// policies only the outcomes are, and they are judged again.
    pub(super) fn of(journal: &Journal, outcomes: usize, other: Option<Value>) -> Result<Self, CliError> {
        let unread = |error| CliError::at(Code::BadRecord, &journal.name, error);
        let whole = whole_records(&journal.bytes);
        let effective = effective_records(whole).map_err(unread)?;
        let shared = shared_records(&effective, outcomes);
        let (record, hash) = match shared.last() {
            Some(last) => (last.index.get(), last.hash),
            None => (0, Reader::open(whole).map_err(unread)?.0.hash),
        };
        let read = |one: &EffectiveRecord| with_blobs(journal, |blobs| Carried::read(one, blobs));
        let carried: Vec<Carried> = match other {
            None => shared.iter().map(read).collect::<Result<_, _>>(),
            Some(policies) => {
                let steps = shared.iter().filter(|one| one.kind == RecordKind::Step);
                [Ok(Carried::Policies(policies))].into_iter().chain(steps.map(read)).collect()
            }
        }
        .map_err(|error| refused(&journal.name, error))?;
        Ok(Self { carried, record, hash })
    }

    /// Returns the shared outcomes.
    fn outcomes(&self) -> Vec<StepOutcome> {
        let outcome = |one: &Carried| match one {
            Carried::Outcome(outcome) => Some(outcome.clone()),
            Carried::Policies(_) | Carried::Blocked(..) => None,
        };
        self.carried.iter().filter_map(outcome).collect()
    }

    /// Returns the digest of the policies the fork begins with.
    fn policies(&self) -> Option<Digest> {
        match self.carried.first() {
            Some(Carried::Policies(policies)) => Some(Canonical::of(policies).digest()),
            _ => None,
        }
    }
}

/// The first records of a fork, held in memory until they are stored in one operation. Large values of the origin are
/// read from the store.
pub(crate) struct FirstRecords<'a> {
    pub(crate) memory: MemorySink,
    pub(crate) stored: &'a StoreHandle,
}

impl Sink for FirstRecords<'_> {
    fn append(&mut self, record: &Sealed) -> Result<(), SinkError> {
        self.memory.append(record)
    }

    fn put_blob(&mut self, value: &Canonical) -> Result<(), SinkError> {
        // A blob that no record refers to is harmless.
        self.stored.put_blob(value.bytes(), Durability::Synced)?;
        Ok(())
    }

    fn blobs(&self) -> &dyn Blobs {
        self
    }
}

impl Blobs for FirstRecords<'_> {
    fn get(&self, digest: &Digest) -> Result<Option<Vec<u8>>, SinkError> {
        StoreBlobs(self.stored).get(digest)
    }
}

fn refused(run: &str, error: ForkError) -> CliError {
    let hint = match &error {
        ForkError::NoSuchStep(_) | ForkError::NotReached { .. } => Some(hint::steps(run)),
        ForkError::Differs { .. } => Some(hint::FORK_EARLIER),
        ForkError::Blocked { step, .. } => Some(hint::fork_earlier(step)),
        _ => None,
    };
    CliError::of_run(Code::Fork, run, error).with_hint(hint)
}
