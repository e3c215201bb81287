//! Running a skill, and taking a run of one up.

use std::num::NonZeroUsize;
use std::sync::Arc;

use hence_canon::{Canonical, Digest, Object, Value};
use hence_cognition::run::Prepared;
use hence_cognition::schedule::FailureMode;
use hence_engine::Sink;
use hence_skills::{FinishedSkill, NewSkillRun, Pinned, SkillRun, SkillRunError};
use hence_state::{ProblemSpec, Profile, ProfileName, Timestamp};
use hence_store::{Condition, Cut, FileStore, NewRun, RunId, Store, StoreError};

use super::capabilities::{self, CAPABILITIES, capabilities_name};
use super::end::{self, Beginning};
use super::{Kept, SkillDocument, attachment_name, given, library_for, whole_records};
use crate::args::RunArgs;
use crate::code::Code;
use crate::context::{Context, escape};
use crate::error::CliError;
use crate::exit::Exit;
use crate::sink::{StoreBlobs, StoreSink};
use crate::target::{Journal, problem_name};
use crate::{guard, hint};

/// How many steps run at a time. What they write does not depend on it.
const WORKERS: NonZeroUsize = NonZeroUsize::new(8).expect("8 is not 0");

/// Refuses options that mean nothing for a problem.
pub(crate) fn refuse_options(args: &RunArgs) -> Result<(), CliError> {
    if args.skill.is_empty() {
        return Ok(());
    }
    let message = "--input, --inputs, --frame, --on-failure and --capabilities are for skills, and this document has no steps";
    Err(CliError::new(Code::Refused, message))
}

/// Runs a skill.
pub(crate) fn run(context: &Context, args: &RunArgs, bytes: &[u8]) -> Result<Exit, CliError> {
    if args.profile != ProfileName::Strict || args.engine_version.is_some() {
        return Err(CliError::new(Code::Refused, "a skill runs in the strict profile of this engine"));
    }
    let library = library_for(&args.problem, bytes, &args.skill.capabilities)?;
    let (prepared, source) = SkillDocument::read(&args.problem, bytes, &library)?.runnable(&library)?;
    let policies = guard::given_for_skill(&args.problem, &prepared.skill().policies, &args.policies)?;
    let store = context.store_or_new()?;
    let declared = library.declarations();
    let pinned = (!declared.is_empty()).then(|| declared.canonical().digest());
    let asked = asked(args, &prepared, (&source, pinned, policies.as_ref()), &store)?;
    let value = asked.problem(prepared.skill(), &source);
    let problem = ProblemSpec::decode(&value, &Profile::STRICT)
        .map_err(|findings| CliError::refused(crate::input::shown_name(&args.problem), &findings))?;
    let kept = Kept { problem: Arc::new(problem), prepared, source, library };
    let id = RunId::new(&asked.id).map_err(|error| {
        CliError::new(Code::Refused, error.to_string()).advise("choose another id with --run-id")
    })?;
    let (mut run, header) =
        SkillRun::start(kept.problem.clone(), &kept.prepared, &kept.source, &kept.library)
            .map_err(|error| stopped(&id, error))?;
    let mut attachments = vec![
        (problem_name(), Canonical::of(&value).bytes().to_vec()),
        (attachment_name(), kept.source.bytes().to_vec()),
    ];
    // A new deployment must not break runs in flight: what may be called is kept as it was.
    attachments
        .extend(pinned.map(|_| (capabilities_name(), capabilities::kept(kept.library.declarations()))));
    let blobs = StoreBlobs(&store);
    let gate = guard::open(header.line(), &kept.problem, kept.program(), &blobs)
        .map_err(|error| guard::refused(id.as_str(), &error))?;
    let first = guard::begin(&header, gate, &store, |sink| {
        let laid = run.lay_policies(policies.as_ref().unwrap_or(&Value::Null), sink);
        laid.map(|_| ()).map_err(|error| stopped(&id, error))
    })?;
    let new = NewRun { id: id.clone(), attachments, lines: first.lines };
    match store.create(new) {
        Ok(writer) => {
            let sink = guard::guarded(StoreSink::new(&store, writer), first.gate);
            let ended = finish(context, &id, run, &kept, sink)?;
            end::report(context, &store, &id, &ended, Beginning::Here, args.journal.as_deref())
        }
        // The same skill with the same inputs under the same id is the same run: it is taken up.
        Err(StoreError::AlreadyCreated { .. }) => {
            take_up(context, &store, &kept, &id, (None, args.journal.as_deref()))
        }
        // So it is when only the folder of the capabilities is another: the header names what they say.
        Err(StoreError::RunConflict { differs, .. })
            if differs.contains(CAPABILITIES) && begins_with(&store, &id, header.line()) =>
        {
            take_up(context, &store, &kept, &id, (None, args.journal.as_deref()))
        }
        Err(error) => Err(error.into()),
    }
}

/// Tells whether a stored run begins with a header.
fn begins_with(store: &FileStore, id: &RunId, header: &[u8]) -> bool {
    store.journal_bytes(id).is_ok_and(|journal| journal.starts_with(header))
}

/// Gathers what a run is asked to do.
fn asked(
    args: &RunArgs,
    prepared: &Prepared,
    (source, capabilities, policies): (&Canonical, Option<Digest>, Option<&Value>),
    store: &FileStore,
) -> Result<NewSkillRun, CliError> {
    let skill = prepared.skill();
    let policies = policies.map(|policies| Canonical::of(policies).digest());
    let inputs = given::inputs(&args.skill, skill)?;
    let frame = given::frame(&args.skill)?;
    let on_failure = match args.skill.on_failure.as_deref() {
        Some("continue") => FailureMode::Continue,
        _ => FailureMode::FailFast,
    };
    let id = args.trace_id.clone().unwrap_or_else(|| {
        let mut what = vec![
            ("skill", Value::from(source.digest())),
            ("inputs", inputs.clone().into()),
            ("frame", frame.clone().into()),
            ("on_failure", format!("{on_failure:?}").into()),
        ];
        what.extend(capabilities.map(|digest| ("capabilities", digest.into())));
        what.extend(policies.map(|digest| ("policies", digest.into())));
        let digest = Canonical::of(&Object::from_iter(what).into()).digest();
        format!("{}-{}", skill.id, digest.to_string().chars().take(8).collect::<String>())
    });
    let created_at = match &args.now {
        Some(text) => {
            Timestamp::parse(text).map_err(|error| CliError::new(Code::Refused, format!("--now: {error}")))?
        }
        // A run that is there keeps its time, so that it is found again.
        None => stored_time(store, &id).unwrap_or_else(now),
    };
    Ok(NewSkillRun { id, created_at, capabilities, policies, inputs, frame, on_failure })
}

fn stored_time(store: &FileStore, id: &str) -> Option<Timestamp> {
    let bytes = store.attachment(&RunId::new(id).ok()?, &problem_name()).ok()?;
    let problem = hence_canon::parse(&bytes).ok()?;
    Pinned::of_value(&problem)?;
    Timestamp::parse(problem.get("created_at")?.as_str()?).ok()
}

/// The time of creation is something a run is given, by whoever creates it; from there on no clock is read.
fn now() -> Timestamp {
    let text = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    Timestamp::parse(&text).expect("the format is the one that is read")
}

/// Takes a stored run up.
pub(crate) fn resume(
    context: &Context,
    kept: &Kept,
    journal: &Journal,
    amended: Option<&Value>,
) -> Result<Exit, CliError> {
    let store = context.store()?;
    let id = crate::target::find_run(&store, &journal.name)?;
    take_up(context, &store, kept, &id, (amended, None))
}

/// Takes a run up where its record ends. The record is judged before the run is opened for writing.
fn take_up(
    context: &Context,
    store: &FileStore,
    kept: &Kept,
    id: &RunId,
    (amended, copy): (Option<&Value>, Option<&str>),
) -> Result<Exit, CliError> {
    if let Condition::Damaged(reason) = store.summary(id)?.condition {
        return Err(StoreError::Damaged { run: id.clone(), reason }.into());
    }
    let read_back = || -> Result<(SkillRun<'_>, bool), CliError> {
        let journal = store.journal_bytes(id)?;
        let whole = whole_records(&journal);
        let run = kept.read_back(whole, &StoreBlobs(store));
        Ok((run.map_err(|error| CliError::resume_skill(id.as_str(), error))?, whole.len() < journal.len()))
    };
    let (run, torn) = read_back()?;
    if run.has_ended() && !torn {
        guard::refuse_amendment(id.as_str(), amended)?;
        context.say(format_args!("run {id} had ended already; nothing was run again"));
        return end::report(context, store, id, &run.ended(), Beginning::Before(None), copy);
    }
    let opened = store.open(id)?;
    if let Some(cut) = &opened.cut {
        context.say(format_args!("run {id}: {cut}"));
    }
    // Somebody may have written between the reading and the opening; from here on nobody else does.
    let mut run = if run.head() == opened.writer.head() { run } else { read_back()?.0 };
    let cut: Option<Cut> = opened.cut;
    let ended = match run.has_ended() {
        true => run.ended(),
        false => {
            let (journal, blobs) = (store.journal_bytes(id)?, StoreBlobs(store));
            let gate = guard::open_behind(&journal, &kept.problem, kept.program(), &blobs)
                .map_err(|error| guard::refused(id.as_str(), &error))?;
            let mut sink = guard::guarded(StoreSink::new(store, opened.writer), gate);
            if let Some(amended) = amended {
                run.lay_policies(amended, &mut *sink).map_err(|error| stopped(id, error))?;
            }
            finish(context, id, run, kept, sink)?
        }
    };
    end::report(context, store, id, &ended, Beginning::Before(cut), copy)
}

/// Runs to the end, each record durable before the next.
fn finish(
    context: &Context,
    id: &RunId,
    run: SkillRun<'_>,
    kept: &Kept,
    mut sink: Box<dyn Sink + '_>,
) -> Result<FinishedSkill, CliError> {
    let watched = context.is_watched();
    let finished = run.finish(&kept.library, WORKERS, &mut *sink, |outcome| {
        if watched {
            context.say(format_args!("{}  {}", escape(&outcome.step_id), outcome.status.name()));
        }
    });
    finished.map_err(|error| stopped(id, error))
}

fn stopped(id: &RunId, error: SkillRunError) -> CliError {
    match error {
        SkillRunError::Blocked(blocked) => guard::blocked(id.as_str(), &blocked),
        SkillRunError::Book(ref book) if let Some(refused) = guard::refused_book(id.as_str(), book) => {
            refused
        }
        SkillRunError::Book(_) | SkillRunError::Outcome(_) | SkillRunError::Waiting(_) => {
            CliError::new(Code::Stopped, error.to_string())
                .advise(format!("mend the cause, then {}", hint::resume(id.as_str())))
        }
        other => CliError::new(Code::Refused, other.to_string()),
    }
}
