//! A world for runs: capabilities that echo, fail or answer as their id says, in virtual time.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Float, Object, Value};

use crate::capability::{CapabilitySpec, Registry};
use crate::run::{
    Call, CallError, CallPurpose, Capabilities, Invocation, NestedRun, Reply, RunReport, RunRequest, Task,
    one_by_one, run,
};
use crate::skill::Skill;
use crate::testing::json;

#[derive(Default)]
pub(super) struct World {
    pub(super) specs: BTreeMap<String, Arc<CapabilitySpec>>,
    pub(super) skills: BTreeMap<String, Arc<Skill>>,
    /// The results of calls, by capability: `!message` fails, `~` times out, `?` waits, anything else is the output as JSON.
    replies: BTreeMap<String, Vec<String>>,
    pub(super) calls: Vec<(String, Value, CallPurpose)>,
    pub(super) keys: Vec<String>,
    pub(super) waits: Vec<f64>,
    pub(super) nested: Vec<NestedRun>,
    pub(super) elapsed: f64,
}

impl World {
    pub(super) fn with(mut self, id: &str, spec: &str, replies: &[&str]) -> Self {
        self.specs.insert(id.to_owned(), Arc::new(CapabilitySpec::read(&json(spec)).0));
        self.replies.insert(id.to_owned(), replies.iter().rev().map(|reply| (*reply).to_owned()).collect());
        self
    }

    pub(super) fn nesting(mut self, id: &str, steps: &str) -> Self {
        self.skills.insert(id.to_owned(), Arc::new(skill(id, steps)));
        self
    }

    pub(super) fn run(&mut self, steps: &str, request: RunRequest) -> RunReport {
        run(&skill("main", steps), request, self)
    }

    pub(super) fn called(&self) -> Vec<&str> {
        self.calls.iter().map(|(id, _, _)| id.as_str()).collect()
    }
}

pub(super) fn skill(id: &str, steps: &str) -> Skill {
    let text = format!(
        r#"{{"id": "{id}", "version": "1.2.0", "name": "N", "description": "D", "inputs": {{}}, "outputs": {{}}, "steps": {steps}}}"#
    );
    Skill::read(&json(&text)).skill.expect("test data is a skill")
}

pub(super) fn request(inputs: &str) -> RunRequest {
    RunRequest { inputs: json(inputs).as_object().cloned().unwrap_or_default(), ..RunRequest::default() }
}

impl Registry for World {
    fn capability(&self, id: &str) -> Option<Arc<CapabilitySpec>> {
        self.specs.get(id).cloned()
    }

    fn skill(&self, id: &str) -> Option<Arc<Skill>> {
        self.skills.get(id).cloned()
    }
}

impl Capabilities for World {
    fn call(&mut self, call: &Call<'_>) -> Result<Reply, CallError> {
        let id = call.capability.to_string();
        self.keys.push(call.key());
        self.calls.push((id.clone(), call.input.clone(), call.purpose));
        let replies = self.replies.entry(id).or_default();
        let reply = if replies.len() > 1 { replies.pop() } else { replies.last().cloned() };
        let output = match reply.as_deref() {
            None => Object::from_iter([("echo", call.input.clone())]).into(),
            Some("?") => return Err(CallError::Waiting("an answer".into())),
            Some("~") => return Err(CallError::TimedOut(call.timeout_seconds)),
            Some(text) => match text.strip_prefix('!') {
                Some(message) => {
                    return Err(CallError::Failed { class: "Broken".into(), message: message.into() });
                }
                None => json(text),
            },
        };
        let meta = Object::from_iter([("tokens_in", 2), ("llm_calls", 1)]);
        Ok(Reply { output, meta })
    }

    fn side_by_side(&mut self, tasks: Vec<Task<'_>>) -> Vec<Invocation> {
        one_by_one(self, tasks)
    }

    fn wait(&mut self, seconds: Float) {
        self.waits.push(seconds.get());
    }

    fn elapsed_seconds(&mut self) -> Float {
        Float::new(self.elapsed).unwrap()
    }

    fn nested_run_ended(&mut self, run: &NestedRun) -> Option<Value> {
        self.nested.push(run.clone());
        None
    }
}
