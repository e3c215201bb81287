//! Running a skill, and taking a run of one up.

use std::sync::Arc;

use hence_canon::{Canonical, Digest, Object, Value};
use hence_cognition::capability::TrustLevel;
use hence_cognition::run::Prepared;
use hence_cognition::schedule::FailureMode;
use hence_skills::{Links, NewSkillRun, Pinned, SkillRun};
use hence_state::{ProblemSpec, Profile, ProfileName, Timestamp};
use hence_store::{AttachmentName, FileStore, NewRun, RunId, Store, StoreError};

use super::capabilities::{self, CAPABILITIES, capabilities_name};
use super::end::Beginning;
use super::going::{Given, Going, stopped};
use super::{Kept, Shelf, SkillDocument, attachment_name, given, library_for, secrets};
use crate::args::RunArgs;
use crate::code::Code;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::guard;
use crate::hint;
use crate::sink::StoreBlobs;
use crate::target::{Journal, problem_name};

/// Refuses options that mean nothing for a problem.
pub(crate) fn refuse_options(args: &RunArgs) -> Result<(), CliError> {
    if args.skill.is_empty() {
        return Ok(());
    }
    let message = "--input, --inputs, --frame, --on-failure, --trust, --skill, --max-depth and --deadline are for skills, and this document has no steps";
    Err(CliError::new(Code::Refused, message))
}

/// Runs a skill.
pub(crate) fn run(context: &Context, args: &RunArgs, bytes: &[u8]) -> Result<Exit, CliError> {
    if args.profile != ProfileName::Strict || args.engine_version.is_some() {
        return Err(CliError::new(Code::Refused, "a skill runs in the strict profile of this engine"));
    }
    let shelf = Shelf::read(&args.problem, bytes, &args.skill.nested)?;
    let mut library =
        library_for(&args.problem, bytes, &args.skill.capabilities)?.with_skills(shelf.skills());
    shelf.check(&library)?;
    let (prepared, source) = SkillDocument::read(&args.problem, bytes, &library)?.runnable(&library)?;
    let policies = guard::given_for_skill(&args.problem, &prepared.skill().policies, &args.policies)?;
    let declared = library.declarations();
    let pinned = (!declared.is_empty()).then(|| declared.canonical().digest());
    let max_depth = args.skill.max_depth;
    let links = Links { nested: shelf.pins(), max_depth, ..Links::default() };
    let inputs =
        secrets::take(&mut library, prepared.skill(), given::inputs(&args.skill, prepared.skill())?)?;
    let frame = given::frame(&args.skill)?.map(|frame| library.redactor().object(&frame));
    secrets::require(&library, prepared.skill(), &inputs, &[])?;
    let store = context.store_or_new()?;
    let pins = Pins { capabilities: pinned, policies: policies.as_ref(), links };
    let asked = asked(args, &prepared, &source, pins, &store, (inputs, frame))?;
    let value = asked.problem(prepared.skill(), &source);
    let problem = ProblemSpec::decode(&value, &Profile::STRICT)
        .map_err(|findings| CliError::refused(crate::input::shown_name(&args.problem), &findings))?;
    let kept = Kept { problem: Arc::new(problem), prepared, source, library, shelf };
    let id = RunId::new(&asked.id)
        .map_err(|error| CliError::from_error(Code::Refused, error).with_hint(hint::OTHER_RUN_ID))?;
    let (mut run, header) =
        SkillRun::start(kept.problem.clone(), &kept.prepared, &kept.source, &kept.library)
            .map_err(|error| stopped(&id, error))?;
    let attachments = attachments(&kept, &value);
    let blobs = StoreBlobs(&store);
    let gate = guard::open(header.line(), &kept.problem, kept.program(), &blobs)
        .map_err(|error| guard::refused(id.as_str(), error))?;
    let first = guard::begin(&header, gate, &store, |sink| {
        let laid = run.install_policies(policies.as_ref().unwrap_or(&Value::Null), sink);
        laid.map(|_| ()).map_err(|error| stopped(&id, error))
    })?;
    let new = NewRun { id: id.clone(), attachments, lines: first.lines };
    let given = Given { amended: None, deadline: args.skill.deadline.deadline };
    let going = Going { context, store: &store, kept: &kept, id: &id, copy: args.journal.as_deref(), given };
    match store.create(new) {
        Ok(writer) => going.go(run, (writer, first.gate), Beginning::Here),
        // The same skill with the same inputs under the same id is the same run: it is taken up.
        Err(StoreError::AlreadyCreated { .. }) => going.take_up(),
        // So it is when only the folder of the capabilities is another: the header names what they say.
        Err(StoreError::RunConflict { differs, .. })
            if differs.contains(CAPABILITIES) && begins_with(&store, &id, header.line()) =>
        {
            going.take_up()
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns what lies beside the journal of a new run.
pub(super) fn attachments(kept: &Kept, problem: &Value) -> Vec<(AttachmentName, Vec<u8>)> {
    let mut attachments = vec![
        (problem_name(), Canonical::of(problem).bytes().to_vec()),
        (attachment_name(), kept.source.bytes().to_vec()),
    ];
    attachments.extend(shared_attachments(kept));
    attachments
}

/// Returns what lies beside the journals of a run and of the runs it nests.
pub(super) fn shared_attachments(kept: &Kept) -> Vec<(AttachmentName, Vec<u8>)> {
    let declared = kept.library.declarations();
    // A new deployment must not break runs in flight: what may be called is kept as it was.
    let capabilities = (!declared.is_empty()).then(|| (capabilities_name(), capabilities::kept(declared)));
    capabilities.into_iter().chain(kept.shelf.attachment()).collect()
}

/// Tells whether a stored run begins with a header.
fn begins_with(store: &FileStore, id: &RunId, header: &[u8]) -> bool {
    store.journal_bytes(id).is_ok_and(|journal| journal.starts_with(header))
}

/// Gathers what a run is asked to do.
struct Pins<'a> {
    capabilities: Option<Digest>,
    policies: Option<&'a Value>,
    links: Links,
}

fn asked(
    args: &RunArgs,
    prepared: &Prepared,
    source: &Canonical,
    pins: Pins<'_>,
    store: &FileStore,
    (inputs, frame): (Object, Option<Object>),
) -> Result<NewSkillRun, CliError> {
    let skill = prepared.skill();
    let Pins { capabilities, policies, links } = pins;
    let policies = policies.map(|policies| Canonical::of(policies).digest());
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
        what.extend(args.skill.trust.as_deref().map(|trust| ("trust", trust.into())));
        if !links.nested.is_empty() {
            what.push(("nested", links.nested.iter().map(|pin| pin.digest.to_string()).collect()));
        }
        what.extend(links.max_depth.map(|depth| ("max_depth", u64::from(depth).into())));
        what.extend(policies.map(|digest| ("policies", digest.into())));
        let digest = Canonical::of(&Object::from_iter(what).into()).digest();
        format!("{}-{}", skill.id, digest.to_string().chars().take(8).collect::<String>())
    });
    let created_at = match &args.now {
        Some(text) => Timestamp::parse(text).map_err(|error| CliError::at(Code::Refused, "--now", error))?,
        // A run that is there keeps its time, so that it is found again.
        None => stored_time(store, &id).unwrap_or_else(now),
    };
    let trust = args.skill.trust.as_deref().and_then(TrustLevel::find).unwrap_or_default();
    Ok(NewSkillRun { id, created_at, capabilities, policies, inputs, frame, on_failure, trust, links })
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
    given: Given<'_>,
) -> Result<Exit, CliError> {
    let store = context.store()?;
    let id = crate::target::find_run(&store, &journal.name)?;
    Going { context, store: &store, kept, id: &id, copy: None, given }.take_up()
}
