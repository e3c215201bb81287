//! Tasks are fit for threads.

use std::sync::{Arc, Mutex};

use hence_canon::Float;

use super::world::{World, request, skill};
use crate::capability::{CapabilitySpec, Registry};
use crate::run::{Call, CallError, Capabilities, Invocation, Reply, Task, run};
use crate::skill::Skill;

/// Every worker has its own way to one world.
#[derive(Clone)]
struct Workers(Arc<Mutex<World>>);

impl Registry for Workers {
    fn capability(&self, id: &str) -> Option<Arc<CapabilitySpec>> {
        self.0.lock().unwrap().capability(id)
    }

    fn skill(&self, id: &str) -> Option<Arc<Skill>> {
        self.0.lock().unwrap().skill(id)
    }
}

impl Capabilities for Workers {
    fn call(&mut self, call: &Call<'_>) -> Result<Reply, CallError> {
        self.0.lock().unwrap().call(call)
    }

    fn side_by_side(&mut self, tasks: Vec<Task<'_>>) -> Vec<Invocation> {
        std::thread::scope(|scope| {
            let mut workers = Vec::new();
            for task in tasks {
                let mut worker = self.clone();
                workers.push(scope.spawn(move || task(&mut worker)));
            }
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        })
    }

    fn wait(&mut self, seconds: Float) {
        self.0.lock().unwrap().wait(seconds);
    }

    fn elapsed_seconds(&mut self) -> Float {
        self.0.lock().unwrap().elapsed_seconds()
    }
}

#[test]
fn items_and_branches_on_threads_give_what_one_worker_gives() {
    let steps = r#"[
        {"id": "a", "uses": "c", "output": {"echo": "vars.a"}, "config": {"foreach": {"items": "[1, 2, 3, 4, 5]", "parallel": 3}}},
        {"id": "b", "uses": "c", "input": {"x": "vars.a"}, "output": {"c": "vars.b"},
            "config": {"scatter": {"capabilities": ["c", "d", "skill:in"]}}}]"#;
    let inner = r#"[{"id": "i", "uses": "d", "input": {"x": "inputs.x"}, "output": {"echo": "outputs.o"}}]"#;
    let world = || World::default().with("c", "{}", &[]).with("d", "{}", &[]).nesting("in", inner);
    let serial = run(&skill("main", steps), request("{}"), &mut world());
    let parallel = run(&skill("main", steps), request("{}"), &mut Workers(Arc::new(Mutex::new(world()))));
    assert_eq!(parallel.outcomes, serial.outcomes);
    assert_eq!(parallel.state, serial.state);
}
