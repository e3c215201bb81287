//! A worker that says what it is about to do before it does it.

use std::sync::{Arc, Mutex, PoisonError};

use hence_canon::{Canonical, Float, Value};
use hence_cognition::capability::{CapabilitySpec, CognitiveTypes, Registry};
use hence_cognition::failure::UNDECIDED;
use hence_cognition::run::{Call, CallError, Capabilities, Invocation, NestedRun, Reply, Task};
use hence_cognition::skill::{Recovery, Skill};
use hence_engine::SinkError;

use super::entry::{CallName, Entry, Question, QuestionKind};
use super::history::Standing;
use super::ledger::{Ledger, Promise};
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

    /// Keeps a line; if that fails, the step has no outcome and the run stops.
    fn note(&self, entry: Entry, promise: Promise) -> Result<(), CallError> {
        self.ledger.note(entry, promise).map_err(|error| {
            self.trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            CallError::Waiting("what is under way could not be kept".into())
        })
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

    /// Makes a call whose intent is kept, or that needs none.
    fn make(&mut self, call: &Call<'_>, name: CallName) -> Result<Reply, CallError> {
        let reply = self.inner.call(call);
        let entry = match &reply {
            Err(CallError::Waiting(_)) => {
                let question = Question { kind: QuestionKind::Value, input: call.input.clone() };
                return self.desk.note(Entry::Question { call: name, question }, Promise::Durable).and(reply);
            }
            _ => Entry::Reply { call: name, reply: reply.clone() },
        };
        // A reply that power loss takes back leaves the call undecided, which is safe; the next intent syncs it too.
        self.desk.note(entry, Promise::Kept).and(reply)
    }

    /// Says what is about to be done, and does it: who asks to stop in between comes too late.
    fn intend(&mut self, call: &Call<'_>, name: CallName) -> Result<Reply, CallError> {
        let entry = Entry::Intent {
            call: name.clone(),
            input: Canonical::of(call.input).digest(),
            idempotency_key: call.idempotency_key().into(),
        };
        self.desk.note(entry, Promise::Durable)?;
        self.make(call, name)
    }

    /// Deals with a call that was begun by a process that is gone.
    fn decide(&mut self, call: &Call<'_>, name: CallName) -> Result<Reply, CallError> {
        match self.desk.recovery(call) {
            Recovery::Retry => self.make(call, name),
            Recovery::Ask => {
                let question = Question { kind: QuestionKind::Undecided, input: call.input.clone() };
                self.desk.note(Entry::Question { call: name, question }, Promise::Durable)?;
                Err(undecided(call))
            }
            Recovery::Fail => {
                let message = "undecided after a crash, and its recovery is fail".into();
                let reply = Err(CallError::Failed { class: UNDECIDED.into(), message });
                self.desk.note(Entry::Reply { call: name, reply: reply.clone() }, Promise::Kept)?;
                reply
            }
        }
    }
}

fn undecided(call: &Call<'_>) -> CallError {
    CallError::Waiting(format!("nobody knows whether `{}` happened", call.capability).into())
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
        let effect = self.desk.host.effect(call.capability);
        if effect == Effect::Pure {
            if self.desk.is_stopping() {
                return Err(CallError::Waiting("the run is to stop".into()));
            }
            return self.inner.call(call);
        }
        if self.desk.outside == Outside::Closed {
            return Err(CallError::Waiting("a replay asks nobody".into()));
        }
        let name = CallName::of(call);
        match self.desk.ledger.standing(&name.key) {
            Some(Standing::Replied(reply)) => {
                self.from_kept = true;
                reply
            }
            Some(Standing::Asked(question)) => Err(match question.kind {
                QuestionKind::Undecided => undecided(call),
                QuestionKind::Value => CallError::Waiting("no answer yet".into()),
            }),
            _ if self.desk.is_stopping() => Err(CallError::Waiting("the run is to stop".into())),
            Some(Standing::Begun) => self.decide(call, name),
            Some(Standing::Again) => self.make(call, name),
            None if effect == Effect::Acts => self.intend(call, name),
            None => self.make(call, name),
        }
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
