//! `hence fork`: a run that shares everything before a step of another one.

use std::sync::Arc;

use hence_canon::{Canonical, Digest, Object, Value};
use hence_capabilities::Library;
use hence_engine::{Blobs, Gate, Sink, SinkError};
use hence_journal::{Reader, Sealed};
use hence_skills::{
    Carried, EffectiveRecord, ForkError, Links, NewSkillRun, Origin, Pinned, RecordKind, SkillRun,
    effective_records, shared_before, shared_records,
};
use hence_state::{ProblemSpec, Profile};
use hence_store::{Durability, NewRun, RunId, Store as _, StoreError};

use super::end::Beginning;
use super::going::{Given, Going};
use super::{
    Kept, SKILL, SkillDocument, capabilities, given, read_whole, required, run, secrets, whole_records,
    with_blobs,
};
use crate::args::skill::ForkArgs;
use crate::code::Code;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::hint;
use crate::sink::StoreBlobs;
use crate::target::Journal;
use crate::{guard, input};

/// Forks a run.
pub(crate) fn fork(context: &Context, args: &ForkArgs) -> Result<Exit, CliError> {
    let journal = Journal::of_run(context, &args.run)?;
    let origin = required(&journal)?;
    let before = read_whole(&origin, &journal)?;
    let from: Arc<str> = args.from.as_str().into();
    let kept = other_capabilities(required(&journal)?, &args.capabilities.capabilities)?;
    let kept = match &args.with {
        None => kept,
        Some(file) => other_skill(file, kept)?,
    };
    let outcomes = before.outcomes();
    let shared = shared_before(&origin.prepared, outcomes, &kept.prepared, &from)
        .map_err(|error| refused(&journal.name, error))?;
    let other = other_policies(args, &kept)?;
    let sharing = Sharing::of(&journal, shared, other)?;
    let asked = asked(args, &journal, &origin, &kept, &sharing)?;
    let value = asked.problem(kept.prepared.skill(), &kept.source);
    let problem = ProblemSpec::decode(&value, &Profile::STRICT)
        .map_err(|findings| CliError::refused("the problem of the fork", &findings))?;
    let kept = Kept { problem: Arc::new(problem), ..kept };
    let id = RunId::new(&asked.id)
        .map_err(|error| CliError::from_error(Code::Refused, error).with_hint(hint::OTHER_RUN_ID))?;
    let outcomes = outcomes.get(..shared).unwrap_or_default();
    secrets::require(&kept.library, kept.prepared.skill(), &asked.inputs, outcomes)?;
    let store = context.store()?;
    let blobs = StoreBlobs(&store);
    let Kept { problem, prepared, source, library, .. } = &kept;
    let carried = &sharing.carried;
    let begun = SkillRun::carry_over(problem.clone(), prepared, source, library, carried, |header| {
        let gate = guard::open(header.line(), problem, kept.program(), &blobs)?;
        Ok(Beginnings { journal: Vec::new(), kept: &blobs, gate })
    });
    let (forked, sink) = begun.map_err(|error| refused(&journal.name, error))?;
    let Beginnings { journal: lines, gate, .. } = sink;
    let attachments = run::attachments(&kept, &value);
    let new = NewRun { id: id.clone(), attachments, lines };
    let going = Going { context, store: &store, kept: &kept, id: &id, copy: None, given: Given::default() };
    let name = &journal.name;
    let results = if shared == 1 { "result" } else { "results" };
    match store.create(new) {
        Ok(writer) => {
            context.say(format_args!("run {id} shares {shared} {results} with {name} and goes on at {from}"));
            going.go(forked, (writer, gate), Beginning::Here)
        }
        // The same fork is the same run: it is taken up.
        Err(StoreError::AlreadyCreated { .. }) => going.take_up(),
        Err(error) => Err(error.into()),
    }
}

/// Reads other declarations of what may be called from here on, if there are any.
fn other_capabilities(kept: Kept, files: &[String]) -> Result<Kept, CliError> {
    if files.is_empty() {
        return Ok(kept);
    }
    let mut library = Library::with(capabilities::read(files)?).with_skills(kept.shelf.skills());
    let document = SkillDocument::read(SKILL, kept.source.bytes(), &library)?;
    let (prepared, source) = document.runnable(&library)?;
    if let Some(pinned) = Pinned::of(&kept.problem) {
        secrets::find_again(&mut library, prepared.skill(), &pinned.inputs);
    }
    Ok(Kept { prepared, source, library, ..kept })
}

/// Reads another skill to go on with, which may call what the run may call.
fn other_skill(file: &str, kept: Kept) -> Result<Kept, CliError> {
    let bytes = input::read_document(file)?;
    let (prepared, source) = SkillDocument::read(file, &bytes, &kept.library)?.runnable(&kept.library)?;
    Ok(Kept { prepared, source, ..kept })
}

fn asked(
    args: &ForkArgs,
    journal: &Journal,
    origin: &Kept,
    kept: &Kept,
    sharing: &Sharing,
) -> Result<NewSkillRun, CliError> {
    let pinned = Pinned::of(&origin.problem)
        .ok_or_else(|| CliError::new(Code::Refused, format!("{} pins no skill", journal.name)))?;
    let set: Vec<(Arc<str>, Value)> =
        args.set.iter().map(|text| given::setting(text)).collect::<Result<_, _>>()?;
    let redactor = kept.library.redactor();
    let set = set.into_iter().map(|(place, value)| (place, redactor.value(&value))).collect();
    let link = Origin {
        run: journal.name.as_str().into(),
        record: sharing.record,
        hash: sharing.hash,
        from: args.from.as_str().into(),
        set,
    };
    let declared = kept.library.declarations();
    let capabilities = (!declared.is_empty()).then(|| declared.canonical().digest());
    let id = args.run_id.clone().unwrap_or_else(|| {
        let set: Object = link.set.iter().cloned().collect();
        let mut what = vec![
            ("hash", Value::from(link.hash)),
            ("from", link.from.clone().into()),
            ("set", set.into()),
            ("skill", kept.source.digest().into()),
            ("capabilities", capabilities.map(Value::from).into()),
        ];
        what.extend(sharing.policies().map(|digest| ("policies", digest.into())));
        let digest = Canonical::of(&Object::from_iter(what).into()).digest().to_string();
        format!("{}-fork-{}", journal.name, digest.chars().take(8).collect::<String>())
    });
    Ok(NewSkillRun {
        id,
        created_at: origin.problem.created_at().clone(),
        capabilities,
        policies: sharing.policies(),
        inputs: pinned.inputs,
        frame: pinned.frame.as_object().cloned(),
        on_failure: pinned.on_failure,
        trust: pinned.trust,
        links: Links { parent: None, origin: Some(link), ..pinned.links },
    })
}

/// Returns the policies to go by instead of those the run pins: what the command line names, and another skill.
fn other_policies(args: &ForkArgs, kept: &Kept) -> Result<Option<Value>, CliError> {
    match &args.with {
        Some(file) => guard::given_for_skill(file, &kept.prepared.skill().policies, &args.policies),
        None => guard::given(&args.policies),
    }
}

/// What a fork shares with the run it comes from.
struct Sharing {
    carried: Vec<Carried>,
    /// The last shared record of that run, and its hash.
    record: u64,
    hash: Digest,
}

impl Sharing {
    /// Reads what is shared. By its own policies it is judged as it was, blocked attempts and amendments included; by
    /// others the outcomes alone are judged anew.
    fn of(journal: &Journal, outcomes: usize, other: Option<Value>) -> Result<Self, CliError> {
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

    /// Returns the digest of the policies the fork begins with.
    fn policies(&self) -> Option<Digest> {
        match self.carried.first() {
            Some(Carried::Policies(policies)) => Some(Canonical::of(policies).digest()),
            _ => None,
        }
    }
}

/// Keeps the first records of a fork until they are stored as a whole, and asks its gate. Large values are stored at once:
/// one that nobody names in the end says nothing.
struct Beginnings<'a> {
    journal: Vec<u8>,
    kept: &'a StoreBlobs<'a>,
    gate: Option<Box<dyn Gate + 'a>>,
}

impl Sink for Beginnings<'_> {
    fn append(&mut self, record: &Sealed) -> Result<(), SinkError> {
        self.journal.extend_from_slice(record.line());
        Ok(())
    }

    fn put_blob(&mut self, value: &Canonical) -> Result<(), SinkError> {
        self.kept.0.put_blob(value.bytes(), Durability::Synced)?;
        Ok(())
    }

    fn blobs(&self) -> &dyn Blobs {
        self.kept
    }

    fn gate(&mut self) -> Option<&mut (dyn Gate + '_)> {
        match &mut self.gate {
            Some(gate) => Some(&mut **gate),
            None => None,
        }
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
