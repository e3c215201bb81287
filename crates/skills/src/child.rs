//! Nested runs: each is a run of its own, linked to the run that started it.
//!
//! A nested skill is executed inside the step that uses it. When it has ended, its outcomes are written as a journal
//! of their own, whose problem names the parent; the parent's record names the nested run by id and head. After a
//! crash in between, the same bytes are written again: they follow from the replies in the call log.

use std::sync::Arc;

use hence_canon::{Canonical, Object, Value, parse};
use hence_cognition::run::{NestedRun, Prepared};
use hence_cognition::skill::Skill;
use hence_engine::{Measured, MemorySink, Run, Sink, SinkError};
use hence_journal::Head;
use hence_state::{ProblemSpec, Profile, Timestamp};

use crate::host::Host;
use crate::links::{Links, Parent};
use crate::pinned::{NewSkillRun, Pinned};
use crate::program::SkillProgram;
use crate::shared_inputs::SharedInputs;

/// A nested run that has ended.
#[derive(Clone, Debug)]
pub struct ChildRun {
    /// The id of the run.
    pub id: Arc<str>,
    /// The problem of the run, which names the parent.
    pub problem: Canonical,
    /// The skill of the run.
    pub skill: Canonical,
    /// The journal of the run.
    pub journal: Vec<u8>,
    /// The large values of the run.
    pub blobs: Vec<Vec<u8>>,
    /// The head of the journal.
    pub head: Head,
    /// The measurements made while the run was executed; empty when nothing was measured.
    pub measured: Vec<Measured>,
}

/// The documents of nested skills, and the store of their runs.
pub trait ChildRuns: Sync {
    /// Returns the document of a skill that may be nested; with `None`, runs of the skill get no journal of their own.
    fn source(&self, skill: &str) -> Option<Canonical>;

    /// Stores a run durably. Storing it again changes nothing.
    ///
    /// # Errors
    /// [`SinkError`]; the step that nests the run then has no outcome.
    fn store(&self, child: &ChildRun) -> Result<(), SinkError>;
}

/// A set without documents that stores no runs: for replays, and for hosts without a store.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoChildRuns;

impl ChildRuns for NoChildRuns {
    fn source(&self, _: &str) -> Option<Canonical> {
        None
    }

    fn store(&self, _: &ChildRun) -> Result<(), SinkError> {
        Ok(())
    }
}

/// The properties of a run that its nested runs inherit.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    pub(crate) run: Arc<str>,
    /// The number of rollbacks of the run.
    pub(crate) rollbacks: u64,
    pub(crate) created_at: Timestamp,
    pub(crate) pinned: Pinned,
}

impl Family {
    /// Returns the id of a nested run. A step that is executed again after a rollback nests runs with other ids than
    /// before, because the journal still names the earlier runs.
    pub(crate) fn name(&self, id: &Arc<str>) -> Arc<str> {
        match id.strip_prefix(&*self.run).filter(|below| self.rollbacks > 0 && !below.is_empty()) {
            Some(below) => format!("{}~{}{below}", self.run, self.rollbacks).into(),
            None => id.clone(),
        }
    }
}

impl ChildRun {
    /// Writes a nested run as a journal; `None` when the run could not start.
    pub(crate) fn of(run: &NestedRun, source: Canonical, family: &Family, host: &dyn Host) -> Option<Self> {
        let id = family.name(run.run_id.as_ref()?);
        let skill = Skill::read(&parse(source.bytes()).ok()?).skill?;
        let prepared = Prepared::of(&skill, host).ok()?;
        let parent = family.name(run.parent_run_id.as_ref()?);
        let asked = NewSkillRun {
            id: id.to_string(),
            created_at: family.created_at.clone(),
            capabilities: family.pinned.capabilities,
            // A nested run is judged with the step that runs it.
            policies: None,
            inputs: run.inputs.clone(),
            frame: None,
            on_failure: family.pinned.on_failure,
            trust: family.pinned.trust,
            // The calls of a nested run are counted with those of the outermost run.
            limits: Default::default(),
            links: Links {
                nested: family.pinned.links.nested.clone(),
                max_depth: family.pinned.links.max_depth,
                parent: Some(Parent { run: parent, step: run.step_id.clone(), depth: run.depth }),
                origin: None,
                // A nested skill gets what it needs as inputs.
                shared: SharedInputs::default(),
            },
        };
        let problem = asked.problem(&skill, &source);
        let spec = Arc::new(ProblemSpec::decode(&problem, &Profile::STRICT).ok()?);
        let program = SkillProgram::new(spec, &prepared, &source, host).ok()?;
        let (mut child, header) = Run::start(program).ok()?;
        let mut sink = MemorySink::default();
        sink.append(&header).ok()?;
        let (program, book) = child.parts();
        for outcome in &run.outcomes {
            program.commit(book, outcome.clone(), &mut sink).ok()?.ok()?;
        }
        program.end(book, &mut sink).ok()?;
        let head = child.head();
        let MemorySink { journal, blobs } = sink;
        let blobs = blobs.into_values().collect();
        let problem = Canonical::of(&problem);
        Some(Self { id, problem, skill: source, journal, blobs, head, measured: Vec::new() })
    }

    /// Returns the link by which the parent's record names the nested run.
    pub(crate) fn link(&self) -> Value {
        let members = [("run", Value::from(self.id.clone())), ("head", self.head.to_string().into())];
        Object::from_iter(members).into()
    }
}
