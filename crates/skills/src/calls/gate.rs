//! The question whether a call may be made, asked before each call that acts of a run under policies.
//!
//! Steps are executed on threads, and the gate belongs to the book, which is not shared. So the thread sends its question
//! and waits: nothing is recorded while a step that acts is executed, because everything before it is.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};

use hence_cognition::failure::HELD_BACK;
use hence_cognition::run::{Call, CallError, Effect, MadeCall, Reply, key_text};

use super::history::LostCall;

/// A question whether a call may be made.
pub(crate) struct MayCall {
    /// The step of the outermost run that makes the call, or whose gate or nested skill does.
    pub(crate) step: Arc<str>,
    /// The calls of the step that were made since its last question.
    pub(crate) made: Vec<MadeCall>,
    /// The answers of people inside nested skills so far.
    pub(crate) answers: Vec<MadeCall>,
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

/// The gate before the calls of a run. The calls of a step that may act are made one after the other there, so that it
/// never depends on timing which one is held back.
pub(crate) struct CallGate {
    ask: Ask,
    /// The calls of each step.
    calls: Mutex<BTreeMap<Arc<str>, Calls>>,
}

/// The calls that a step has made.
#[derive(Default)]
struct Calls {
    /// Those made since its last question.
    new: Vec<MadeCall>,
    /// The answers of people inside nested skills.
    answers: Vec<MadeCall>,
    /// The number of attempts of a call that a question told of already, by the key of the call.
    told: BTreeMap<Arc<str>, u64>,
}

impl CallGate {
    pub(crate) fn new<M: From<MayCall> + Send + 'static>(send: Sender<M>) -> Self {
        let ask = Box::new(move |question| send.send(M::from(question)).is_ok());
        Self { ask, calls: Mutex::default() }
    }

    /// Notes a call that was made, with its reply.
    pub(super) fn note(&self, call: &Call<'_>, effect: Effect, reply: &Result<Reply, CallError>) {
        let Some(made) = MadeCall::of(call, effect, reply).filter(|made| !made.is_held() && is_noted(made))
        else {
            return;
        };
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = calls.entry(outermost_step(call)).or_default();
        calls.answers.extend((made.effect == Effect::Asks).then(|| made.clone()));
        match calls.told.remove(&made.key) {
            None => calls.new.extend(made.each_begun()),
            // A limit refused to repeat it, so nothing was done since.
            Some(told) if (1..=told).contains(&made.begun) => {}
            Some(_) => calls.new.push(made),
        }
    }

    /// Asks whether a call that acts may be made. Each time it was begun before is a deed of its own.
    ///
    /// # Errors
    /// [`CallError`] when policies hold it back, or the run ends.
    pub(super) fn ask(&self, call: &Call<'_>, lost: Option<&LostCall>) -> Result<(), CallError> {
        let stopping = || CallError::Waiting("the run is to stop".into());
        let held = |message: Arc<str>| {
            let error = CallError::Failed { class: HELD_BACK.into(), message };
            match lost {
                Some(lost) => error.undecided_with(lost.meta(lost.begun)),
                None => error,
            }
        };
        let next = MadeCall::of(call, Effect::Acts, &Err(held("".into()))).ok_or_else(stopping)?;
        let step = outermost_step(call);
        let mut all = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = all.entry(step.clone()).or_default();
        let (mut made, answers) = (std::mem::take(&mut calls.new), calls.answers.clone());
        let begun = next.each_begun();
        if !begun.is_empty() {
            calls.told.insert(next.key.clone(), next.begun);
        }
        made.extend(begun);
        drop(all);
        let (reply, answer) = mpsc::channel();
        let question = MayCall { step, made, answers, next, reply };
        let answer = if (self.ask)(question) { answer.recv().ok() } else { None };
        match answer {
            Some(Ok(())) => Ok(()),
            Some(Err(message)) => Err(held(message)),
            None => Err(stopping()),
        }
    }
}

/// Returns whether later calls of a step are judged after a call. An answer to the step itself or to the question whether
/// its own call may be made is part of that call.
pub(crate) fn is_noted(made: &MadeCall) -> bool {
    (!made.is_held() || made.begun > 0) && (made.effect != Effect::Asks || !made.place().nested.is_empty())
}

/// Returns the step of the outermost run that makes a call: the first part of its path, or the step itself. The record
/// of the call is that of this step.
pub(super) fn outermost_step(call: &Call<'_>) -> Arc<str> {
    match call.place.path.split_once('/') {
        Some((step, _)) => key_text(step).into(),
        None => call.step_id.clone(),
    }
}
