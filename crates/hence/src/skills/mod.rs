//! Runs of skills: what every command needs to know about one, and the ways in which they differ from problems.

mod answer;
mod calls;
mod capabilities;
mod document;
mod end;
mod fork;
mod given;
mod going;
mod linked;
mod nested;
mod run;
mod secrets;
mod surroundings;
mod verify;
mod waiting;

use std::sync::Arc;

use hence_canon::{Canonical, Digest, Value, parse};
use hence_capabilities::{Declarations, Library};
use hence_cognition::checkpoint;
use hence_cognition::run::{Prepared, StepOutcome};
use hence_cognition::skill::Skill;
use hence_engine::{Blobs, Difference, NoBlobs, Replay, changes};
use hence_journal::{Lines, RecordIndex};
use hence_projection::Program;
use hence_skills::{Pinned, Recorded, ResumeSkillError, SkillReplay, SkillRun, SkillVariables};
use hence_state::{ProblemSpec, Profile};
use hence_store::{AttachmentName, RunId, Store};

use crate::code::Code;
use crate::error::CliError;
use crate::sink::StoreBlobs;
use crate::target::{Journal, PROBLEM};
use crate::{guard, hint};

pub(crate) use answer::{AnswerReport, answer};
pub(crate) use calls::{StoreCallLog, calls_name, history, roll_back};
pub(crate) use capabilities::{
    CAPABILITIES, capabilities_name, kept as kept_capabilities, kinds, library_for, read as read_capabilities,
};
pub(crate) use document::{SkillDocument, is_skill};
pub(crate) use end::SkillRunReport;
pub(crate) use fork::fork;
pub(crate) use going::Given;
pub(crate) use linked::{LinkRow, linked_runs};
pub(crate) use nested::{Shelf, nested_name};
pub(crate) use run::{refuse_options, resume, run};
pub(crate) use surroundings::{Calls, FileFinding, Surroundings};
pub(crate) use verify::verify;
pub(crate) use waiting::WaitingRow;

/// The attachment that holds the skill.
pub(crate) const SKILL: &str = "skill.json";

/// Returns the name of the skill's attachment.
pub(crate) fn attachment_name() -> AttachmentName {
    AttachmentName::new(SKILL).expect("the name is plain")
}

/// A stored run of a skill: its problem and its program.
pub(crate) struct Kept {
    pub(crate) problem: Arc<ProblemSpec>,
    pub(crate) prepared: Prepared,
    pub(crate) source: Canonical,
    pub(crate) library: Library,
    pub(crate) shelf: Shelf,
}

impl Kept {
    /// Reads what a run is made of; `None` when its problem pins no skill.
    pub(crate) fn of(journal: &Journal) -> Result<Option<Self>, CliError> {
        Self::of_given(journal, &[])
    }

    /// Reads what a run is made of, with its capabilities from files a person names if there are any.
    pub(crate) fn of_given(journal: &Journal, files: &[String]) -> Result<Option<Self>, CliError> {
        let Some(bytes) = &journal.problem else { return Ok(None) };
        // What is not JSON is judged by those who need a problem.
        let Ok(problem) = parse(bytes) else { return Ok(None) };
        let Some(pinned) = Pinned::of_value(&problem) else { return Ok(None) };
        let problem = ProblemSpec::decode(&problem, &Profile::STRICT)
            .map_err(|findings| CliError::refused(PROBLEM, &findings))?;
        let Some(skill) = &journal.skill else {
            let message = format!("{}: its skill is not at hand", journal.name);
            let advice = hint::put_next_to_journal("skill", SKILL);
            return Err(CliError::new(Code::NoSuchPlace, message).with_hint(advice));
        };
        let document = parse(skill).map_err(|error| CliError::not_json(SKILL, error))?;
        let shelf = Shelf::kept(&journal.name, journal.nested.as_deref(), &pinned.links.nested)?;
        let mut library = library_pinned(journal, files, pinned.capabilities)?.with_skills(shelf.skills());
        let prepared = prepare(&document, &library).ok_or_else(|| {
            let message = format!("{}: {SKILL} is not a skill that can run", journal.name);
            CliError::new(Code::Refused, message).with_hint(hint::check(SKILL))
        })?;
        secrets::find_again(&mut library, prepared.skill(), &pinned.inputs);
        Ok(Some(Self {
            problem: Arc::new(problem),
            prepared,
            source: Canonical::of(&document),
            library,
            shelf,
        }))
    }

    /// Reads what is there of the run back.
    pub(crate) fn read_back(
        &self,
        journal: &[u8],
        blobs: &dyn Blobs,
    ) -> Result<SkillRun<'_>, ResumeSkillError> {
        let problem = self.problem.clone();
        SkillRun::resume(problem, &self.prepared, &self.source, &self.library, journal, blobs)
    }
}

impl Kept {
    /// Returns the program of the run, as its trace shows it.
    pub(crate) fn program(&self) -> Program<'_> {
        Program::Skill { prepared: &self.prepared, source: &self.source, host: &self.library }
    }

    /// Runs the skill again and puts the journal it made into `written`.
    pub(crate) fn replay(
        &self,
        run: &str,
        journal: &[u8],
        blobs: &dyn Blobs,
        written: &mut Vec<u8>,
    ) -> Result<SkillReplay, CliError> {
        let gate = guard::open(journal, &self.problem, self.program(), blobs)
            .map_err(|error| guard::refused(run, error))?;
        let Self { problem, prepared, source, library, .. } = self;
        let recorded = Recorded { journal, blobs, gate };
        hence_skills::replay(problem.clone(), prepared, source, library, recorded, written)
            .map_err(|error| CliError::resume_skill(run, error))
    }

    /// Reads the variables that the steps wrote.
    pub(crate) fn variables(
        &self,
        journal: &[u8],
        blobs: &dyn Blobs,
    ) -> Result<SkillVariables, ResumeSkillError> {
        let problem = self.problem.clone();
        SkillRun::variables_of(problem, &self.prepared, &self.source, &self.library, journal, blobs)
    }
}

/// Returns what a run may call: what was kept beside it, unless files are named that say the same.
pub(crate) fn library_pinned(
    journal: &Journal,
    files: &[String],
    pinned: Option<Digest>,
) -> Result<Library, CliError> {
    let kept = || match pinned {
        None => Ok(Declarations::default()),
        Some(digest) => capabilities::read_kept(&journal.name, journal.capabilities.as_deref(), digest),
    };
    if files.is_empty() {
        return kept().map(Library::with);
    }
    let before = kept().ok();
    capabilities::read_again(&journal.name, files, pinned, before.as_ref()).map(Library::with)
}

fn prepare(document: &Value, library: &Library) -> Option<Prepared> {
    let reading = Skill::read(document);
    let skill = reading.skill.as_ref().filter(|_| !reading.is_refused())?;
    Prepared::of(skill, library).ok()
}

/// Runs `with` on the place where a journal's large values are.
pub(crate) fn with_blobs<T>(journal: &Journal, with: impl FnOnce(&dyn Blobs) -> T) -> T {
    match &journal.store {
        Some(store) => with(&StoreBlobs(store)),
        None => with(&NoBlobs),
    }
}

/// Reads a journal back, as far as its records are whole.
fn read_whole<'k>(kept: &'k Kept, journal: &Journal) -> Result<SkillRun<'k>, CliError> {
    let whole = whole_records(&journal.bytes);
    let run = with_blobs(journal, |blobs| kept.read_back(whole, blobs));
    run.map_err(|error| CliError::resume_skill(&journal.name, error))
}

/// Returns a journal without the torn tail of an append that was never finished.
pub(crate) fn whole_records(journal: &[u8]) -> &[u8] {
    let torn = hence_journal::read_tail(journal).map_or(0, |tail| tail.torn_bytes);
    journal.get(..journal.len().saturating_sub(torn)).unwrap_or_default()
}

/// Returns the run that nests a run and the run it was forked from, if there are any.
pub(crate) fn links(store: &dyn Store, run: &RunId) -> (Option<String>, Option<String>) {
    let problem = store.attachment(run, &crate::target::problem_name()).ok();
    let problem = problem.and_then(|bytes| parse(&bytes).ok());
    let Some(links) = problem.as_ref().and_then(Pinned::of_value).map(|pinned| pinned.links) else {
        return (None, None);
    };
    let parent = links.parent.map(|parent| parent.run.to_string());
    (parent, links.origin.map(|origin| origin.run.to_string()))
}

/// Returns the step that is due in a run that has not ended.
pub(crate) fn due_step(kept: &Kept, journal: &Journal) -> Result<Option<String>, CliError> {
    Ok(read_whole(kept, journal)?.due().map(ToString::to_string))
}

/// Returns the execution state of a run, in the form in which it is exchanged.
pub(crate) fn cognition(journal: &Journal) -> Result<Value, CliError> {
    let kept = required(journal)?;
    let run = read_whole(&kept, journal)?;
    Ok(checkpoint::save(run.execution()))
}

/// Returns a run's program and its outcomes so far.
pub(crate) fn outcomes(journal: &Journal) -> Result<(Kept, Vec<StepOutcome>), CliError> {
    let kept = required(journal)?;
    let outcomes = read_whole(&kept, journal)?.outcomes().to_vec();
    Ok((kept, outcomes))
}

fn required(journal: &Journal) -> Result<Kept, CliError> {
    Kept::of(journal)?.ok_or_else(|| {
        let message = format!("{} is not a run of a skill", journal.name);
        CliError::new(Code::NoSuchPlace, message).with_hint(hint::places(&journal.name))
    })
}

/// Runs a skill again and compares every byte.
pub(crate) fn replay(kept: &Kept, journal: &Journal) -> Result<Replay, CliError> {
    let mut written = Vec::new();
    let replay =
        with_blobs(journal, |blobs| kept.replay(&journal.name, &journal.bytes, blobs, &mut written))?;
    let difference = replay.first_difference.map(|line| {
        let value = |bytes| Lines::of(bytes).get(RecordIndex::new(line)).and_then(|line| parse(line).ok());
        let (recorded, replayed) = (value(&journal.bytes), value(&written));
        let members = match (&recorded, &replayed) {
            (Some(recorded), Some(replayed)) => {
                changes(recorded, replayed).into_iter().map(|change| change.pointer.to_string()).collect()
            }
            _ => Vec::new(),
        };
        Difference { line, recorded, replayed, members }
    });
    Ok(Replay { difference, executed: replay.executed, read: replay.read })
}
