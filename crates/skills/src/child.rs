//! Runs that steps nest: each a run of its own, linked to the one that started it.
//!
//! A nested skill is executed inside the step that uses it. When it has ended, its outcomes are written as a journal of their own,
//! whose problem names the parent; the parent's record names it by id and head. Whoever dies in between writes the
//! same bytes again: they follow from the replies that are kept.

use std::sync::Arc;

use hence_canon::{Canonical, Object, Value, parse};
use hence_cognition::run::{NestedRun, Prepared};
use hence_cognition::skill::Skill;
use hence_engine::{MemorySink, Sink, SinkError};
use hence_journal::Head;
use hence_state::{ProblemSpec, Profile, Timestamp};

use crate::host::Host;
use crate::links::{Links, Parent};
use crate::pinned::{NewSkillRun, Pinned};
use crate::run::SkillRun;

/// A nested run that has ended, whole.
#[derive(Clone, Debug)]
pub struct ChildRun {
    /// Its id.
    pub id: Arc<str>,
    /// Its problem, which names the parent.
    pub problem: Canonical,
    /// Its skill.
    pub skill: Canonical,
    /// Its journal.
    pub journal: Vec<u8>,
    /// Its large values.
    pub blobs: Vec<Vec<u8>>,
    /// Where its journal ends.
    pub head: Head,
}

/// Knows the documents of nested skills, and keeps their runs.
pub trait ChildRuns: Sync {
    /// Returns the document of a skill that may be nested; `None` leaves runs of it without a journal of their own.
    fn source(&self, skill: &str) -> Option<Canonical>;

    /// Keeps a run, durably. One that is kept already is no change.
    ///
    /// # Errors
    /// Why it could not; the step that nests it then has no outcome.
    fn keep(&self, child: &ChildRun) -> Result<(), SinkError>;
}

/// Keeps no nested runs: for replays, and for hosts without a store.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoChildRuns;

impl ChildRuns for NoChildRuns {
    fn source(&self, _: &str) -> Option<Canonical> {
        None
    }

    fn keep(&self, _: &ChildRun) -> Result<(), SinkError> {
        Ok(())
    }
}

/// What a run hands down to the runs it nests.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    pub(crate) run: Arc<str>,
    /// How often the run returned to an earlier position.
    pub(crate) returns: u64,
    pub(crate) created_at: Timestamp,
    pub(crate) pinned: Pinned,
}

impl Family {
    /// Names a run of the family. A step that is taken again behind a return nests other runs than it did before, and
    /// what the record names already stays what it was.
    fn name(&self, id: &Arc<str>) -> Arc<str> {
        match id.strip_prefix(&*self.run).filter(|below| self.returns > 0 && !below.is_empty()) {
            Some(below) => format!("{}~{}{below}", self.run, self.returns).into(),
            None => id.clone(),
        }
    }
}

impl ChildRun {
    /// Writes a nested run as a journal; `None` when it could not even begin.
    pub(crate) fn of(run: &NestedRun, source: Canonical, family: &Family, host: &dyn Host) -> Option<Self> {
        let id = family.name(run.run_id.as_ref()?);
        let skill = Skill::read(&parse(source.bytes()).ok()?).skill?;
        let prepared = Prepared::of(&skill, host).ok()?;
        let parent = family.name(run.parent_run_id.as_ref()?);
        let asked = NewSkillRun {
            id: id.to_string(),
            created_at: family.created_at.clone(),
            capabilities: family.pinned.capabilities,
            // What a nested run does is judged with the step that runs it.
            policies: None,
            inputs: run.inputs.clone(),
            frame: None,
            on_failure: family.pinned.on_failure,
            trust: family.pinned.trust,
            links: Links {
                nested: family.pinned.links.nested.clone(),
                max_depth: family.pinned.links.max_depth,
                parent: Some(Parent { run: parent, step: run.step_id.clone(), depth: run.depth }),
                origin: None,
            },
        };
        let problem = asked.problem(&skill, &source);
        let spec = Arc::new(ProblemSpec::decode(&problem, &Profile::STRICT).ok()?);
        let (mut child, header) = SkillRun::start(spec, &prepared, &source, host).ok()?;
        let mut sink = MemorySink::default();
        sink.append(&header).ok()?;
        for outcome in &run.outcomes {
            child.commit(outcome.clone(), &mut sink).ok()?.ok()?;
        }
        let head = child.end(&mut sink).ok()?.finished.head;
        let MemorySink { journal, blobs } = sink;
        let blobs = blobs.into_values().collect();
        Some(Self { id, problem: Canonical::of(&problem), skill: source, journal, blobs, head })
    }

    /// Returns by what the parent's record names it.
    pub(crate) fn link(&self) -> Value {
        let members = [("run", Value::from(self.id.clone())), ("head", self.head.to_string().into())];
        Object::from_iter(members).into()
    }
}
