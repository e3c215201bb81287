//! The question whether a call may be made, asked before each call that acts of a run under policies.
//!
//! Steps are executed on threads, and the gate belongs to the book, which is not shared. So the thread sends its question
//! and waits: nothing is recorded while a step that acts is executed, because everything before it is.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};

use hence_cognition::failure::HELD_BACK;
use hence_cognition::run::{Call, CallError, CallPurpose, Effect, MadeCall, Reply};

/// A question whether a call may be made.
pub(crate) struct MayCall {
    /// The step that makes the call.
    pub(crate) step: Arc<str>,
    /// The calls that act which the step has made itself so far.
    pub(crate) made: Vec<MadeCall>,
    /// The call. Its reply is not known.
    pub(crate) next: MadeCall,
    reply: Sender<Result<(), Arc<str>>>,
}

impl MayCall {
    /// Lets the call be made.
    pub(crate) fn allow(&self) {
        // A thread that does not wait any more has stopped.
        let _ = self.reply.send(Ok(()));
    }

    /// Holds the call back.
    pub(crate) fn refuse(&self, why: &str) {
        let _ = self.reply.send(Err(why.into()));
    }
}

/// Sends a question to whoever holds the book; `false` when nobody does any more.
type Ask = Box<dyn Fn(MayCall) -> bool + Send + Sync>;

/// The gate before the calls of a run. Calls that act are made one after the other there, so that it never depends on
/// timing which one is held back.
pub(crate) struct CallGate {
    ask: Ask,
    /// The calls that act which each step has made itself.
    made: Mutex<BTreeMap<Arc<str>, Vec<MadeCall>>>,
}

impl CallGate {
    pub(crate) fn new<M: From<MayCall> + Send + 'static>(send: Sender<M>) -> Self {
        let ask = Box::new(move |question| send.send(M::from(question)).is_ok());
        Self { ask, made: Mutex::default() }
    }

    /// Returns whether the gate judges a call: one that acts, of a step of the run itself.
    pub(super) fn judges(call: &Call<'_>, effect: Effect) -> bool {
        effect == Effect::Acts && call.purpose == CallPurpose::Step && call.place.path.is_empty()
    }

    /// Notes a call that was made, with its reply.
    pub(super) fn note(&self, call: &Call<'_>, reply: &Result<Reply, CallError>) {
        let made = MadeCall::of(call, Effect::Acts, reply).filter(|made| !made.is_held());
        let mut all = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(call.step_id.clone()).or_default().extend(made);
    }

    /// Asks whether a call that acts may be made.
    ///
    /// # Errors
    /// [`CallError`] when policies hold it back, or the run ends.
    pub(super) fn ask(&self, call: &Call<'_>) -> Result<(), CallError> {
        let stopping = || CallError::Waiting("the run is to stop".into());
        let unknown = Err(CallError::Failed { class: HELD_BACK.into(), message: "".into() });
        let next = MadeCall::of(call, Effect::Acts, &unknown).ok_or_else(stopping)?;
        let all = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let made = all.get(call.step_id).cloned().unwrap_or_default();
        drop(all);
        let (reply, answer) = mpsc::channel();
        let question = MayCall { step: call.step_id.clone(), made, next, reply };
        let answer = if (self.ask)(question) { answer.recv().ok() } else { None };
        match answer {
            Some(Ok(())) => Ok(()),
            Some(Err(message)) => Err(CallError::Failed { class: HELD_BACK.into(), message }),
            None => Err(stopping()),
        }
    }
}
