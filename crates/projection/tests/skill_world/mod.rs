//! A world of capabilities, and skills run in it.

use std::num::NonZeroUsize;
use std::sync::Arc;

use hence_canon::{Canonical, Float, Object, Value, canonical_bytes, parse};
use hence_cognition::capability::{CapabilitySpec, Registry, TrustLevel};
use hence_cognition::run::{Call, CallError, Capabilities, Invocation, Prepared, Reply, Task, one_by_one};
use hence_cognition::schedule::FailureMode;
use hence_cognition::skill::Skill;
use hence_engine::{Determinism, MemorySink, Run, RunError, Sink, without_defects};
use hence_projection::{Program, RecordedRun, trace_of_run};
use hence_review::validate::validate_canonical;
use hence_skills::{
    CallHistory, Carried, Host, Links, NewSkillRun, Origin, SkillProgram, carry_over, finish, shared_before,
};
use hence_state::{ProblemSpec, Profile, Timestamp};

/// The action type of each capability, with the prefix of its id.
pub(crate) struct World;

impl Registry for World {
    fn capability(&self, id: &str) -> Option<Arc<CapabilitySpec>> {
        let (action, gate) = match id {
            "note" => ("Explain", None),
            "formalize" => ("Formalize", None),
            "goal" => ("DefineVerificationGoal", None),
            "prove" => ("Verify", None),
            "analyse" => ("StateSpaceAnalysis", None),
            "simulate" => ("CoSimulate", None),
            "tests" => ("GenerateTests", None),
            "conform" => ("ConformanceCheck", None),
            "check" => ("RunTests", None),
            "person" | "silent" => ("AskUser", None),
            "warned" => ("RunCommand", Some("warn")),
            "degraded" => ("RunCommand", Some("degrade")),
            "blocked" => ("RunCommand", Some("block")),
            "echo" | "count" | "fail" | "big" | "picky" | "no" => ("RunCommand", None),
            _ => return None,
        };
        let gate = gate.map(|on_fail| {
            format!(r#","safety":{{"mandatory_pre_gates":[{{"capability":"no","on_fail":"{on_fail}"}}]}}"#)
        });
        let text = format!(r#"{{"action":"{action}"{}}}"#, gate.unwrap_or_default());
        let (spec, problems) = CapabilitySpec::read(&parse(text.as_bytes()).unwrap());
        assert!(problems.is_empty());
        Some(Arc::new(spec))
    }

    fn skill(&self, id: &str) -> Option<Arc<Skill>> {
        let text = r#"{"id": "inner", "version": "1.0.0", "name": "N", "description": "D", "inputs": {}, "outputs": {},
            "steps": [{"id": "n", "uses": "echo", "input": {"x": "inputs.x"}, "output": {"x": "outputs.x"}}]}"#;
        (id == "inner").then(|| Arc::new(Skill::read(&parse(text.as_bytes()).unwrap()).skill.unwrap()))
    }
}

impl Host for World {
    fn determinism(&self, capability: &str) -> Determinism {
        if ["person", "silent"].contains(&capability) {
            Determinism::Recorded
        } else {
            Determinism::Deterministic
        }
    }

    fn worker(&self) -> Box<dyn Capabilities + Send + '_> {
        Box::new(Worker)
    }
}

struct Worker;

impl Registry for Worker {
    fn capability(&self, id: &str) -> Option<Arc<CapabilitySpec>> {
        World.capability(id)
    }

    fn skill(&self, id: &str) -> Option<Arc<Skill>> {
        World.skill(id)
    }
}

impl Capabilities for Worker {
    fn call(&mut self, call: &Call<'_>) -> Result<Reply, CallError> {
        let failed = || CallError::Failed { class: "Broken".into(), message: "no".into() };
        let output = match &**call.capability {
            "fail" => return Err(failed()),
            "picky" if call.input.get("item") == Some(&Value::from(2)) => return Err(failed()),
            "silent" => return Err(CallError::Waiting("nobody answered".into())),
            "no" => parse(br#"{"allowed": false, "reason": "not today"}"#).unwrap(),
            "person" => parse(br#"{"answer": "yes", "reason": "it is ready"}"#).unwrap(),
            "big" => Object::from_iter([("text", "x".repeat(20 * 1024))]).into(),
            "count" => {
                let next = call.input.get("n").and_then(Value::as_u64).unwrap_or(0) + 1;
                Object::from_iter([("n", next)]).into()
            }
            _ => call.input.clone(),
        };
        // What the input has under `report` is what the provider reports about the call.
        let meta = call.input.get("report").and_then(Value::as_object).cloned().unwrap_or_default();
        Ok(Reply { output, meta })
    }

    fn side_by_side(&mut self, tasks: Vec<Task<'_>>) -> Vec<Invocation> {
        one_by_one(self, tasks)
    }

    fn wait(&mut self, _: Float) {}

    fn elapsed_seconds(&mut self) -> Float {
        Float::new(0.0).unwrap()
    }
}

fn given() -> Object {
    let inputs = parse(br#"{"a": 1, "zero": 0, "list": [1, 2, 3], "empty": []}"#).unwrap();
    inputs.as_object().unwrap().clone()
}

/// A skill that was run.
pub(crate) struct Case {
    prepared: Prepared,
    source: Canonical,
    problem: Value,
    sink: MemorySink,
}

impl Case {
    pub(crate) fn of(steps: &str) -> Self {
        Self::with(steps, FailureMode::FailFast, "{}")
    }

    pub(crate) fn with(steps: &str, on_failure: FailureMode, frame: &str) -> Self {
        let skill = format!(
            r#"{{"id": "main", "version": "1.0.0", "name": "N", "description": "D", "inputs": {{}}, "outputs": {{}}, "steps": {steps}}}"#
        );
        Self::of_skill(&skill, on_failure, frame)
    }

    pub(crate) fn of_skill(skill: &str, on_failure: FailureMode, frame: &str) -> Self {
        Self::linked(skill, on_failure, frame, Links::default(), "r")
    }

    /// Runs the same skill again as a fork from a step, with places set before it.
    pub(crate) fn forked(&self, from: &str, set: Vec<(Arc<str>, Value)>) -> Self {
        let outcomes = {
            let problem = Arc::new(ProblemSpec::decode(&self.problem, &Profile::STRICT).unwrap());
            let journal = &self.sink.journal;
            let run = Run::resume(
                SkillProgram::new(problem, &self.prepared, &self.source, &World).unwrap(),
                journal,
                &self.sink.blobs,
            );
            run.unwrap().program().outcomes().to_vec()
        };
        let shared = shared_before(&self.prepared, &outcomes, &self.prepared, &from.into()).unwrap();
        let hash = hence_canon::Digest::of(b"the last record that is shared");
        let origin = Origin {
            run: "r".into(),
            record: shared as u64,
            hash,
            from: from.into(),
            set,
            idempotency_root: None,
            used: Default::default(),
        };
        let links = Links { origin: Some(origin), ..Links::default() };
        let new = self.new_run("r-fork", links);
        let problem = new.problem(self.prepared.skill(), &self.source);
        let spec = Arc::new(ProblemSpec::decode(&problem, &Profile::STRICT).unwrap());
        let carried: Vec<Carried> = outcomes[..shared].iter().cloned().map(Carried::Outcome).collect();
        let mut sink = MemorySink::default();
        let program = SkillProgram::new(spec, &self.prepared, &self.source, &World).unwrap();
        let run = carry_over(program, &carried, |_| Ok(None), &mut sink).unwrap();
        finish(run, NonZeroUsize::MIN, &mut sink, |_| {}).unwrap();
        Self { prepared: self.prepared.clone(), source: self.source.clone(), problem, sink }
    }

    fn new_run(&self, id: &str, links: Links) -> NewSkillRun {
        NewSkillRun {
            id: id.to_owned(),
            created_at: Timestamp::parse("2026-02-02T00:00:00Z").unwrap(),
            capabilities: None,
            policies: None,
            limits: Default::default(),
            links,
            inputs: given(),
            frame: None,
            on_failure: FailureMode::FailFast,
            trust: TrustLevel::default(),
        }
    }

    fn linked(skill: &str, on_failure: FailureMode, frame: &str, links: Links, id: &str) -> Self {
        let source = Canonical::of(&parse(skill.as_bytes()).unwrap());
        let reading = Skill::read(&parse(source.bytes()).unwrap());
        assert!(!reading.is_refused(), "{:?}", reading.findings);
        let prepared = Prepared::of(&reading.skill.unwrap(), &World).unwrap();
        let new = NewSkillRun {
            trust: TrustLevel::default(),
            id: id.to_owned(),
            created_at: Timestamp::parse("2026-02-02T00:00:00Z").unwrap(),
            capabilities: None,
            policies: None,
            limits: Default::default(),
            links,
            inputs: given(),
            frame: parse(frame.as_bytes()).unwrap().as_object().cloned().filter(|frame| !frame.is_empty()),
            on_failure,
        };
        let problem = new.problem(prepared.skill(), &source);
        let spec = Arc::new(ProblemSpec::decode(&problem, &Profile::STRICT).unwrap());
        let (run, header) = Run::start(SkillProgram::new(spec, &prepared, &source, &World).unwrap()).unwrap();
        let mut sink = MemorySink::default();
        sink.append(&header).unwrap();
        match finish(run, NonZeroUsize::MIN, &mut sink, |_| {}) {
            Ok(_) | Err(RunError::Waiting { .. }) => {}
            Err(error) => panic!("{error}"),
        }
        Self { prepared, source, problem, sink }
    }

    pub(crate) fn trace(&self) -> Value {
        self.trace_until(self.sink.journal.len())
    }

    /// Shows the run as far as a byte of its journal, twice, and demands a trace without findings.
    pub(crate) fn trace_until(&self, end: usize) -> Value {
        self.trace_beside(end, None)
    }

    /// Shows the run with what is under way beside it.
    pub(crate) fn trace_with(&self, calls: &CallHistory) -> Value {
        self.trace_beside(self.sink.journal.len(), Some(calls))
    }

    fn trace_beside(&self, end: usize, calls: Option<&CallHistory>) -> Value {
        let problem = without_defects(self.problem.clone());
        let journal = &self.sink.journal[..end];
        let recorded = RecordedRun { journal, problem: &problem, blobs: &self.sink.blobs, links: &[], calls };
        let program = Program::Skill { prepared: &self.prepared, source: &self.source, host: &World };
        let trace = trace_of_run(program, &recorded).unwrap();
        let again = trace_of_run(program, &recorded).unwrap();
        assert_eq!(canonical_bytes(&trace), canonical_bytes(&again));
        let report = validate_canonical(&trace);
        // A type that only policy packs or the skill know is the one thing the specification cannot know.
        let is_own_word = |found: &&hence_review::validate::Finding| {
            found.rule != hence_review::validate::Rule::ActionTypeUnknown
        };
        let unexpected: Vec<_> = report.findings().iter().filter(is_own_word).collect();
        assert!(unexpected.is_empty(), "{unexpected:#?}");
        trace
    }

    /// Returns where each record ends.
    pub(crate) fn ends(&self) -> Vec<usize> {
        let bytes = self.sink.journal.iter().enumerate();
        bytes.filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect()
    }

    /// Returns the gaps of the run, each with its kind.
    pub(crate) fn residuals(&self) -> Vec<(String, String)> {
        let trace = self.trace();
        texts(&trace, "/residuals", "residual_id")
            .into_iter()
            .zip(texts(&trace, "/residuals", "kind"))
            .collect()
    }
}

pub(crate) fn at(value: &Value, pointer: &str) -> Value {
    value.pointer(&pointer.parse().unwrap()).cloned().unwrap_or_default()
}

pub(crate) fn texts(value: &Value, pointer: &str, key: &str) -> Vec<String> {
    let list = at(value, pointer);
    let items = list.as_array().unwrap_or_default().to_vec();
    items.iter().map(|item| item.get(key).unwrap().as_str().unwrap().to_owned()).collect()
}
