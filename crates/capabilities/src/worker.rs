//! The worker, which executes calls.

use std::sync::Arc;

use hence_canon::{Float, Object};
use hence_cognition::capability::{CapabilitySpec, Registry};
use hence_cognition::run::{Call, CallError, Capabilities, Invocation, Reply, Task, one_by_one};
use hence_cognition::skill::Skill;
use hence_skills::is_timer;

use crate::human;
use crate::library::Library;
use crate::outside;
use crate::refusal::Refusal;
use crate::wait;

/// The maximum number of calls of one step that run in parallel, each on its own thread.
const TASKS_AT_ONCE: usize = 16;

/// The executor of the calls of one step.
pub(crate) struct Worker<'a>(pub(crate) &'a Library);

impl Registry for Worker<'_> {
    fn capability(&self, id: &str) -> Option<Arc<CapabilitySpec>> {
        self.0.capability(id)
    }

    fn skill(&self, id: &str) -> Option<Arc<Skill>> {
        self.0.skill(id)
    }
}

impl Capabilities for Worker<'_> {
    fn call(&mut self, call: &Call<'_>) -> Result<Reply, CallError> {
        if &**call.capability == human::HUMAN_ASK {
            return human::ask(call.input);
        }
        if is_timer(call.capability) {
            return wait::start(call.capability, call.input);
        }
        match self.0.call_built_in(call.capability, call.input) {
            Some(Ok(output)) => Ok(Reply { output: output.into(), meta: Object::new() }),
            Some(Err(refusal)) => Err(failed(refusal)),
            None => match self.0.declarations().get(call.capability) {
                Some(declared) => {
                    self.0.note_call(call.capability);
                    outside::call(declared, (self.0.vault(), self.0.exchanges()), call)
                }
                None => {
                    Err(failed(Refusal::new("NotFound", format_args!("no capability `{}`", call.capability))))
                }
            },
        }
    }

    fn side_by_side(&mut self, tasks: Vec<Task<'_>>) -> Vec<Invocation> {
        if tasks.len() < 2 {
            return one_by_one(self, tasks);
        }
        let mut done = Vec::with_capacity(tasks.len());
        let mut left = tasks.into_iter();
        loop {
            let wave: Vec<Task<'_>> = left.by_ref().take(TASKS_AT_ONCE).collect();
            if wave.is_empty() {
                return done;
            }
            std::thread::scope(|scope| {
                let spawned: Vec<_> =
                    wave.into_iter().map(|task| scope.spawn(|| task(&mut Worker(self.0)))).collect();
                done.extend(spawned.into_iter().map(|thread| thread.join().expect("calls do not panic")));
            });
        }
    }

    fn wait(&mut self, seconds: Float) {
        if let Ok(wait) = std::time::Duration::try_from_secs_f64(seconds.get()) {
            std::thread::sleep(wait);
        }
    }

    fn elapsed_seconds(&mut self) -> Float {
        Float::new(self.0.started().elapsed().as_secs_f64()).expect("a duration in seconds is finite")
    }
}

fn failed(refusal: Refusal) -> CallError {
    CallError::Failed { class: refusal.class, message: refusal.message }
}
