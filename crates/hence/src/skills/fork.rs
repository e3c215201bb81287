//! `hence fork`: a run that shares everything before a step of another one.

use std::sync::Arc;

use hence_canon::{Canonical, Object, Value};
use hence_capabilities::Library;
use hence_engine::MemorySink;
use hence_journal::{Lines, RecordIndex};
use hence_skills::{ForkError, Links, NewSkillRun, Origin, Pinned, SkillRun, shared_before};
use hence_state::{ProblemSpec, Profile};
use hence_store::{NewRun, RunId, Store as _, StoreError};

use super::end::Beginning;
use super::going::{Given, Going};
use super::{Kept, SKILL, SkillDocument, capabilities, given, read_whole, required, run, secrets};
use crate::args::skill::ForkArgs;
use crate::code::Code;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::input;
use crate::target::Journal;

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
        .map_err(|error| refused(&journal.name, &error))?;
    let carried = outcomes.get(..shared).unwrap_or_default();
    let asked = asked(args, &journal, &origin, &kept, shared as u64)?;
    let value = asked.problem(kept.prepared.skill(), &kept.source);
    let problem = ProblemSpec::decode(&value, &Profile::STRICT)
        .map_err(|findings| CliError::refused("the problem of the fork", &findings))?;
    let kept = Kept { problem: Arc::new(problem), ..kept };
    let id = RunId::new(&asked.id).map_err(|error| {
        CliError::new(Code::Refused, error.to_string()).advise("choose another id with --run-id")
    })?;
    secrets::require(&kept.library, kept.prepared.skill(), &asked.inputs, carried)?;
    let mut sink = MemorySink::default();
    let Kept { problem, prepared, source, library, .. } = &kept;
    let forked = SkillRun::carry_over(problem.clone(), prepared, source, library, carried, &mut sink)
        .map_err(|error| refused(&journal.name, &error))?;
    let attachments = run::attachments(&kept, &value);
    let new = NewRun { id: id.clone(), attachments, lines: sink.journal };
    let store = context.store()?;
    let going = Going { context, store: &store, kept: &kept, id: &id, copy: None, given: Given::default() };
    let name = &journal.name;
    match store.create(new) {
        Ok(writer) => {
            context.say(format_args!("run {id} shares {shared} results with {name} and goes on at {from}"));
            going.go(forked, (writer, None), Beginning::Here)
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
    record: u64,
) -> Result<NewSkillRun, CliError> {
    let pinned = Pinned::of(&origin.problem)
        .ok_or_else(|| CliError::new(Code::Refused, format!("{} pins no skill", journal.name)))?;
    let settings = origin.problem.canonical().value().get("settings");
    if settings.is_some_and(|settings| settings.get("policies").is_some()) {
        let message =
            format!("run {} pins policies, and a fork of it would not be judged by them", journal.name);
        return Err(
            CliError::new(Code::Fork, message).advise("run the skill anew with what should be different")
        );
    }
    let line = Lines::of(&journal.bytes).get(RecordIndex::new(record)).unwrap_or_default();
    let hash = record_hash(line).ok_or_else(|| {
        CliError::new(Code::BadRecord, format!("{}: record {record} has no hash", journal.name))
    })?;
    let set: Vec<(Arc<str>, Value)> =
        args.set.iter().map(|text| given::setting(text)).collect::<Result<_, _>>()?;
    let redactor = kept.library.redactor();
    let set = set.into_iter().map(|(place, value)| (place, redactor.value(&value))).collect();
    let link =
        Origin { run: journal.name.as_str().into(), record, hash, from: args.from.as_str().into(), set };
    let declared = kept.library.declarations();
    let capabilities = (!declared.is_empty()).then(|| declared.canonical().digest());
    let id = args.run_id.clone().unwrap_or_else(|| {
        let set: Object = link.set.iter().cloned().collect();
        let what = [
            ("hash", Value::from(link.hash)),
            ("from", link.from.clone().into()),
            ("set", set.into()),
            ("skill", kept.source.digest().into()),
            ("capabilities", capabilities.map(Value::from).into()),
        ];
        let digest = Canonical::of(&Object::from_iter(what).into()).digest().to_string();
        format!("{}-fork-{}", journal.name, digest.chars().take(8).collect::<String>())
    });
    Ok(NewSkillRun {
        id,
        created_at: origin.problem.created_at().clone(),
        capabilities,
        policies: None,
        inputs: pinned.inputs,
        frame: pinned.frame.as_object().cloned(),
        on_failure: pinned.on_failure,
        trust: pinned.trust,
        links: Links { nested: pinned.links.nested, parent: None, origin: Some(link) },
    })
}

fn record_hash(line: &[u8]) -> Option<hence_canon::Digest> {
    hence_canon::parse(line).ok()?.get("record_hash")?.as_str()?.parse().ok()
}

fn refused(run: &str, error: &ForkError) -> CliError {
    let made = CliError::new(Code::Fork, format!("run {run}: {error}"));
    match error {
        ForkError::NoSuchStep(_) | ForkError::NotReached { .. } => {
            made.advise(format!("`hence log {}` lists its steps", crate::hint::word(run)))
        }
        ForkError::Differs { .. } => made.advise("fork from that step or an earlier one"),
        _ => made,
    }
}
