//! Nested runs: each is a run of its own, linked to the run that started it.
//!
//! A nested skill is executed inside the step that uses it. When it has ended, its outcomes are written as a journal
//! of their own, whose problem names the parent; the parent's record names the nested run by id and head. After a
//! crash in between, the same bytes are written again: they follow from the replies in the call log.

use std::sync::Arc;

use hence_canon::{Canonical, Object, Value, parse};
use hence_cognition::failure::{ErrorClass, Failure};
use hence_cognition::run::{NestedRun, Prepared, RunRequest, StepOutcome, VariableRules};
use hence_cognition::skill::{Skill, Step};
use hence_cognition::state::Memory;
use hence_engine::{Measured, MemorySink, Run, Sink, SinkError};
use hence_journal::{Head, RecordIndex};
use hence_state::{Clock, ProblemSpec, Profile, Timestamp};

use crate::calls::Entry;
use crate::host::Host;
use crate::links::{Links, Parent};
use crate::pinned::{NewSkillRun, Pinned};
use crate::program::SkillProgram;
use crate::variables::{self, SkillVariables};

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

    /// Returns whether nested runs are handed to others instead of being executed inside the step that uses them.
    fn are_shared(&self) -> bool {
        false
    }

    /// Creates a nested run with its first record and asks others to drive it. Doing it again changes nothing.
    ///
    /// # Errors
    /// [`SinkError`], also when nobody can drive it; the step that nests the run then has no outcome.
    fn hand_over(&self, child: &ChildRun) -> Result<(), SinkError> {
        Err(format!("nobody can be asked to drive run {}", child.id).into())
    }

    /// Returns the call log of a nested run that others drove to its end; `None` while it has not ended.
    ///
    /// # Errors
    /// [`SinkError`] when it cannot be read.
    fn calls_of_ended(&self, _child: &str) -> Result<Option<Vec<Entry>>, SinkError> {
        Ok(None)
    }
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

impl Family {
    /// Returns the request for a nested run.
    fn new_run(
        &self,
        id: &str,
        inputs: &Object,
        parent: Option<Parent>,
        skill: &Skill,
        host: &dyn Host,
    ) -> NewSkillRun {
        NewSkillRun {
            id: id.to_owned(),
            created_at: self.created_at.clone(),
            capabilities: self.pinned.capabilities,
            // A nested run is judged with the step that runs it.
            policies: None,
            inputs: inputs.clone(),
            frame: None,
            on_failure: self.pinned.on_failure,
            trust: self.pinned.trust,
            // The calls of a nested run are counted with those of the outermost run.
            limits: Default::default(),
            links: Links {
                nested: self.pinned.links.nested.clone(),
                max_depth: self.pinned.links.max_depth,
                parent,
                origin: None,
                shared: self.pinned.links.shared.for_nested(skill, host),
            },
        }
    }
}

/// The variables of a nested run while it is executed. The journal of the run, which is written when it has ended, follows
/// the same rules at the same times.
pub(crate) struct NestedVariables {
    variables: SkillVariables,
    clock: Clock,
    steps: u64,
}

impl NestedVariables {
    /// Begins the variables of a nested run; `None` when its skill declares none, or they cannot begin.
    pub(crate) fn of(skill: &Skill, request: &RunRequest, family: &Family, host: &dyn Host) -> Option<Self> {
        if !SkillVariables::are_declared(skill) {
            return None;
        }
        // No rule depends on the ids that follow from the parent.
        let asked = family.new_run(request.run_id.as_ref()?, &request.inputs, None, skill, host);
        let problem = asked.problem(skill, &Canonical::of(&Value::Null));
        let problem = ProblemSpec::decode(&problem, &Profile::STRICT).ok()?;
        let variables = SkillVariables::begin(&problem, skill).ok()?;
        Some(Self { variables, clock: Clock::ticking(family.created_at.clone()), steps: 0 })
    }
}

impl VariableRules for NestedVariables {
    fn judge(
        &mut self,
        step: &Step,
        outcome: &StepOutcome,
        memory: &Memory,
    ) -> Result<Vec<Arc<str>>, Failure> {
        let at = self.clock.at(self.steps + 1);
        let at = at.map_err(|error| Failure::new(ErrorClass::OutputMapping, error))?;
        let after = self.variables.after(step, outcome, memory, &at, RecordIndex::new(self.steps + 1));
        let after = after.map_err(|refusal| variables::failure(&refusal))?;
        let gone = self.variables.gone_in(&after);
        (self.variables, self.steps) = (after, self.steps + 1);
        Ok(gone.iter().map(|name| name.as_str().into()).collect())
    }
}

/// The part of a nested run that is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    FirstRecord,
    Whole,
}

impl ChildRun {
    /// Writes a nested run as a journal; `None` when the run could not start.
    pub(crate) fn of(run: &NestedRun, source: Canonical, family: &Family, host: &dyn Host) -> Option<Self> {
        Self::written(run, source, family, host, Extent::Whole)
    }

    /// Writes the first record of a nested run; `None` when the run cannot start.
    pub(crate) fn begun(
        run: &NestedRun,
        source: Canonical,
        family: &Family,
        host: &dyn Host,
    ) -> Option<Self> {
        Self::written(run, source, family, host, Extent::FirstRecord)
    }

    fn written(
        run: &NestedRun,
        source: Canonical,
        family: &Family,
        host: &dyn Host,
        extent: Extent,
    ) -> Option<Self> {
        let id = family.name(run.run_id.as_ref()?);
        let skill = Skill::read(&parse(source.bytes()).ok()?).skill?;
        let prepared = Prepared::of(&skill, host).ok()?;
        let parent = family.name(run.parent_run_id.as_ref()?);
        let parent = Parent { run: parent, step: run.step_id.clone(), depth: run.depth };
        let asked = family.new_run(&id, &run.inputs, Some(parent), &skill, host);
        let problem = asked.problem(&skill, &source);
        let spec = Arc::new(ProblemSpec::decode(&problem, &Profile::STRICT).ok()?);
        let program = SkillProgram::new(spec, &prepared, &source, host).ok()?;
        let (mut child, header) = Run::start(program).ok()?;
        let mut sink = MemorySink::default();
        sink.append(&header).ok()?;
        let (program, book) = child.parts();
        if extent == Extent::Whole {
            for outcome in &run.outcomes {
                program.commit(book, outcome.clone(), &mut sink).ok()?.ok()?;
            }
            program.end(book, &mut sink).ok()?;
        }
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
