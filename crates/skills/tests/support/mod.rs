//! Helpers of the tests of runs: a worker, the document of a skill, and the problem that pins it.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::Arc;

use hence_canon::{Canonical, Float, Object, Value, parse};
use hence_cognition::capability::{CapabilitySpec, Registry};
use hence_cognition::run::{Call, CallError, Capabilities, Invocation, Prepared, Reply, Task, one_by_one};
use hence_cognition::schedule::FailureMode;
use hence_cognition::skill::Skill;
use hence_skills::{Host, Links, NewSkillRun};
use hence_state::{ProblemSpec, Profile, Timestamp};

/// A host that performs its calls itself.
pub(crate) trait World: Host {
    fn carry_out(&self, call: &Call<'_>) -> Result<Reply, CallError>;
}

/// A worker that passes each call to its world, one after the other, and never waits.
pub(crate) struct Worker<'a, W>(pub(crate) &'a W);

impl<W: World> Registry for Worker<'_, W> {
    fn capability(&self, id: &str) -> Option<Arc<CapabilitySpec>> {
        self.0.capability(id)
    }

    fn skill(&self, id: &str) -> Option<Arc<Skill>> {
        self.0.skill(id)
    }
}

impl<W: World> Capabilities for Worker<'_, W> {
    fn call(&mut self, call: &Call<'_>) -> Result<Reply, CallError> {
        self.0.carry_out(call)
    }

    fn side_by_side(&mut self, tasks: Vec<Task<'_>>) -> Vec<Invocation> {
        one_by_one(self, tasks)
    }

    fn wait(&mut self, _: Float) {}

    fn elapsed_seconds(&mut self) -> Float {
        Float::new(0.0).unwrap()
    }
}

/// Returns the document of a skill without inputs and outputs.
pub(crate) fn document(id: &str, steps: &str) -> Value {
    let text = format!(
        r#"{{"id": "{id}", "version": "1.0.0", "name": "N", "description": "D", "inputs": {{}}, "outputs": {{}}, "steps": {steps}}}"#
    );
    parse(text.as_bytes()).unwrap()
}

/// Returns the skill of a document.
pub(crate) fn skill(source: &Canonical) -> Skill {
    let reading = Skill::read(&parse(source.bytes()).unwrap());
    assert!(reading.findings.is_empty(), "{:?}", reading.findings);
    reading.skill.unwrap()
}

/// A skill that is ready to run, and the problem that pins it.
pub(crate) struct Made {
    pub(crate) problem: Arc<ProblemSpec>,
    pub(crate) prepared: Prepared,
    pub(crate) source: Canonical,
}

/// Returns the default parameters of a run.
pub(crate) fn new_run(id: &str) -> NewSkillRun {
    NewSkillRun {
        trust: Default::default(),
        id: id.into(),
        created_at: Timestamp::parse("2026-02-02T00:00:00Z").unwrap(),
        inputs: Object::new(),
        frame: None,
        on_failure: FailureMode::FailFast,
        capabilities: None,
        policies: None,
        limits: Default::default(),
        links: Links::default(),
    }
}

/// Prepares a skill, and makes the problem of a run of it.
pub(crate) fn made(source: Canonical, registry: &dyn Registry, asked: &NewSkillRun) -> Made {
    let skill = skill(&source);
    let prepared = Prepared::of(&skill, registry).unwrap();
    let problem = ProblemSpec::decode(&asked.problem(&skill, &source), &Profile::STRICT).unwrap();
    Made { problem: Arc::new(problem), prepared, source }
}
