//! A worker that says what it is about to do before it does it.

use std::sync::{Arc, Mutex, PoisonError};

use hence_canon::{Float, Value};
use hence_cognition::capability::{CapabilitySpec, CognitiveTypes, Registry};
use hence_cognition::run::{Call, CallError, Capabilities, Invocation, NestedRun, Reply, Task};
use hence_cognition::skill::{Recovery, Skill};
use hence_engine::SinkError;

use super::attendant::{CallExecutor, Found};
use super::ledger::Ledger;
use crate::child::{ChildRun, ChildRuns, Family};
use crate::host::{Effect, Host};
use crate::stop::Stop;

/// How long a wait between two attempts may go on before it is asked whether the run is to stop.
const WAIT_SLICE_SECONDS: f64 = 0.05;

/// What the workers of a run share.
pub(crate) struct Desk<'a> {
    pub(crate) host: &'a dyn Host,
    pub(crate) skill: &'a Skill,
    pub(crate) ledger: &'a Ledger<'a>,
    pub(crate) stop: &'a dyn Stop,
    pub(crate) outside: Outside,
    pub(crate) children: &'a dyn ChildRuns,
    pub(crate) family: Family,
    /// The first line that could not be kept. Nothing is called after it.
    pub(crate) trouble: Mutex<Option<SinkError>>,
}

/// Whether calls that are not pure may be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outside {
    /// They are made.
    Open,
    /// They are not: a replay asks nobody.
    Closed,
}

impl Desk<'_> {
    /// Takes the first line that could not be kept.
    pub(crate) fn take_trouble(&self) -> Option<SinkError> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns whether something could not be kept.
    pub(crate) fn has_trouble(&self) -> bool {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn is_stopping(&self) -> bool {
        self.stop.is_wanted() || self.has_trouble()
    }

    /// Returns what the step says about calls of which nobody knows whether they happened, or else the host.
    fn recovery(&self, call: &Call<'_>) -> Recovery {
        let nested = if call.place.path.is_empty() { None } else { self.host.skill(call.skill_id) };
        let step = match &nested {
            Some(skill) => skill.step(call.step_id),
            None => self.skill.step(call.step_id),
        };
        step.and_then(|step| step.recovery).unwrap_or_else(|| self.host.recovery(call.capability))
    }
}

/// Carries out the calls of a step through another worker, and keeps what is under way.
pub(crate) struct Recorder<'a> {
    pub(crate) inner: &'a mut (dyn Capabilities + 'a),
    pub(crate) desk: &'a Desk<'a>,
    /// Whether the last call was answered from what was kept.
    pub(crate) from_kept: bool,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(inner: &'a mut (dyn Capabilities + 'a), desk: &'a Desk<'a>) -> Self {
        Self { inner, desk, from_kept: false }
    }
}

impl Registry for Recorder<'_> {
    fn capability(&self, id: &str) -> Option<Arc<CapabilitySpec>> {
        self.inner.capability(id)
    }

    fn skill(&self, id: &str) -> Option<Arc<Skill>> {
        self.desk.host.skill(id)
    }

    fn cognitive_types(&self) -> CognitiveTypes {
        self.inner.cognitive_types()
    }
}

impl Capabilities for Recorder<'_> {
    fn call(&mut self, call: &Call<'_>) -> Result<Reply, CallError> {
        self.from_kept = false;
        let desk = self.desk;
        let effect = desk.host.effect(call.capability);
        if effect != Effect::Pure && desk.outside == Outside::Closed {
            return Err(CallError::Waiting("a replay asks nobody".into()));
        }
        let (recovery, is_stopping) = (|| desk.recovery(call), || desk.is_stopping());
        let attendant =
            CallExecutor { ledger: desk.ledger, effect, recovery: &recovery, is_stopping: &is_stopping };
        let attended = attendant.call(call, &mut |call| self.inner.call(call));
        // If a line could not be kept, the step has no outcome and the run stops.
        let attended = attended.map_err(|error| {
            desk.trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            CallError::Waiting("what is under way could not be kept".into())
        })?;
        self.from_kept = attended.found == Found::InLog;
        attended.reply
    }

    fn side_by_side(&mut self, tasks: Vec<Task<'_>>) -> Vec<Invocation> {
        let desk = self.desk;
        let attended = tasks.into_iter().map(|task| -> Task<'_> {
            Box::new(move |inner| task(&mut Recorder { inner, desk, from_kept: false }))
        });
        self.inner.side_by_side(attended.collect())
    }

    fn wait(&mut self, seconds: Float) {
        // Whoever tried before has waited already.
        let mut left = if self.from_kept { 0.0 } else { seconds.get() };
        while left > 0.0 && !self.desk.is_stopping() {
            let slice = left.min(WAIT_SLICE_SECONDS);
            left -= slice;
            if let Ok(slice) = Float::new(slice) {
                self.inner.wait(slice);
            }
        }
    }

    fn elapsed_seconds(&mut self) -> Float {
        self.inner.elapsed_seconds()
    }

    fn nested_run_ended(&mut self, run: &NestedRun) -> Option<Value> {
        let desk = self.desk;
        let source = desk.children.source(&run.skill_id)?;
        let child = ChildRun::of(run, source, &desk.family, desk.host)?;
        // What the run follows from must not be lost before it.
        let kept = desk.ledger.sync().and_then(|()| desk.children.keep(&child));
        if let Err(error) = kept {
            desk.trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
        Some(child.link())
    }
}
