//! Capabilities that follow the script of a case, in virtual time.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Float, Object, Value};
use hence_cognition::capability::{CapabilitySpec, CognitiveTypes, Registry};
use hence_cognition::run::{Call, CallError, Capabilities, Invocation, NestedRun, Reply, Task, one_by_one};
use hence_cognition::skill::Skill;

pub(super) struct Mock {
    table: Object,
    specs: BTreeMap<Arc<str>, Arc<CapabilitySpec>>,
    skills: BTreeMap<Arc<str>, Arc<Skill>>,
    types: CognitiveTypes,
    made: BTreeMap<Arc<str>, usize>,
    clock_seconds: f64,
    pub(super) calls: Vec<Value>,
    pub(super) waits: Vec<Value>,
    pub(super) nested: Vec<NestedRun>,
}

impl Mock {
    pub(super) fn new(case: &Value, skills: BTreeMap<Arc<str>, Arc<Skill>>) -> Self {
        let table = case.get("capabilities").and_then(Value::as_object).cloned().unwrap_or_default();
        let spec =
            |(id, behaviour): (&Arc<str>, &Value)| (id.clone(), Arc::new(CapabilitySpec::read(behaviour).0));
        Self {
            specs: table.iter().map(spec).collect(),
            table,
            skills,
            types: case.get("cognitive_types").map(CognitiveTypes::read).unwrap_or_default(),
            made: BTreeMap::new(),
            clock_seconds: 0.0,
            calls: Vec::new(),
            waits: Vec::new(),
            nested: Vec::new(),
        }
    }

    /// Returns what the next call of a capability does; the last of a sequence repeats.
    fn behaviour(&mut self, id: &Arc<str>) -> Value {
        let made = self.made.entry(id.clone()).or_default();
        let listed = self.table.get(id).cloned().unwrap_or_default();
        let behaviour = match listed.get("sequence").and_then(Value::as_array) {
            Some(sequence) => sequence.get(*made).or(sequence.last()).cloned().unwrap_or_default(),
            None => listed,
        };
        *made += 1;
        behaviour
    }
}

impl Registry for Mock {
    fn capability(&self, id: &str) -> Option<Arc<CapabilitySpec>> {
        self.specs.get(id).cloned()
    }

    fn skill(&self, id: &str) -> Option<Arc<Skill>> {
        self.skills.get(id).cloned()
    }

    fn cognitive_types(&self) -> CognitiveTypes {
        self.types.clone()
    }
}

impl Capabilities for Mock {
    fn call(&mut self, call: &Call<'_>) -> Result<Reply, CallError> {
        let made = [("capability", Value::from(call.capability.clone())), ("input", call.input.clone())];
        self.calls.push(Object::from_iter(made).into());
        let behaviour = self.behaviour(call.capability);
        let sleeps = behaviour.get("sleep_ms").and_then(Value::as_u64).unwrap_or(0) as f64 / 1000.0;
        if sleeps > call.timeout_seconds.get() {
            self.clock_seconds += call.timeout_seconds.get();
            return Err(CallError::TimedOut(call.timeout_seconds));
        }
        self.clock_seconds += sleeps;
        if let Some(error) = behaviour.get("error") {
            let message = error.as_str().unwrap_or("error").into();
            return Err(CallError::Failed { class: "RuntimeError".into(), message });
        }
        let meta = behaviour.get("meta").and_then(Value::as_object).cloned().unwrap_or_default();
        Ok(Reply { output: output(&behaviour, call.input), meta })
    }

    fn side_by_side(&mut self, tasks: Vec<Task<'_>>) -> Vec<Invocation> {
        one_by_one(self, tasks)
    }

    fn wait(&mut self, seconds: Float) {
        self.clock_seconds += seconds.get();
        self.waits.push(seconds.into());
    }

    fn elapsed_seconds(&mut self) -> Float {
        Float::new(self.clock_seconds)
            .or_else(|_| Float::new(f64::MAX))
            .expect("the largest double is finite")
    }

    fn nested_run_ended(&mut self, run: &NestedRun) -> Option<Value> {
        self.nested.push(run.clone());
        None
    }
}

fn output(behaviour: &Value, input: &Value) -> Value {
    if let Some(output) = behaviour.get("ok").or_else(|| behaviour.get("non_mapping")) {
        return output.clone();
    }
    if let Some(Value::Object(picks)) = behaviour.get("pick") {
        let pick = |(out, field): (&Arc<str>, &Value)| {
            (out.clone(), field.as_str().and_then(|field| input.get(field)).cloned().unwrap_or_default())
        };
        return picks.iter().map(pick).collect::<Object>().into();
    }
    let name = behaviour.get("echo_as").and_then(Value::as_str).unwrap_or("echo");
    Object::from_iter([(name, input.clone())]).into()
}
