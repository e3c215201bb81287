//! The world as the loop sees it: an interpreter, contexts, models and child runs. Whoever drives a run implements these.

use std::sync::{Arc, OnceLock};

use hence_canon::Value;
use hence_journal::RecordIndex;
use hence_sandbox::{Limits as BlockLimits, Sandbox, SandboxError};

use crate::context::{Context, ContextFault};
use crate::conversation::Request;
use crate::limits::{Exhausted, Used};
use crate::record::{ChildLink, CodeError, ModelReply};
use crate::spec::{AnswerForms, ModelPin, Spec};

/// The tools that running a block needs, also in a replay.
pub trait Tools: Sync {
    /// Starts an interpreter.
    ///
    /// # Errors
    /// [`SandboxError`] when it does not start.
    fn interpreter(&self, limits: BlockLimits) -> Result<Box<dyn Sandbox>, SandboxError>;

    /// Returns the cell for the memory of an interpreter that knows the functions of the host and nothing else. With it, the
    /// next interpreter of these tools need not read those functions again.
    fn introduced(&self, _: AnswerForms) -> Option<&OnceLock<Vec<u8>>> {
        None
    }

    /// Returns the contexts of the run, which are the ones that it pins.
    ///
    /// # Errors
    /// [`ContextFault`] when a context is gone or has changed.
    fn contexts(&self) -> Result<&[Context], ContextFault>;
}

/// A model that gave no reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoReply {
    /// The model refuses this request, and will refuse it again: a block sees an exception.
    Refused(String),
    /// The model cannot be reached now. The run stops and can be resumed.
    Unavailable(String),
}

/// A child run to start, or to resume when it was started before.
#[derive(Clone, Debug)]
pub struct NewChild {
    /// The id of the run.
    pub run: Arc<str>,
    /// Everything that its problem pins, but the contexts.
    pub spec: Spec,
    /// The context of the child; its question is its context when there is none.
    pub context: Value,
}

/// The end of a child run.
#[derive(Clone, Debug)]
pub struct ChildEnd {
    /// Its answer, or the limit that ended it.
    pub answer: Result<Value, String>,
    /// The usage, its own children included.
    pub used: Used,
    /// Its journal.
    pub link: ChildLink,
}

/// The exception that a block sees when a model or a child run gives no answer.
pub(crate) const CALL_ERROR: &str = "RuntimeError";

impl ChildEnd {
    /// Returns the answer as the record of the parent's call holds it.
    pub fn recorded_answer(&self) -> Result<Value, CodeError> {
        self.answer.clone().map_err(|reason| {
            let message = format!("child run {} ended without an answer: {reason}", self.link.run);
            CodeError::new(CALL_ERROR, message)
        })
    }

    /// Returns the usage as the record of the parent's call holds it: the child is a sub-call itself.
    pub fn recorded_usage(&self) -> Used {
        Used { sub_calls: self.used.sub_calls.saturating_add(1), ..self.used.clone() }
    }
}

/// The reason why a run that is driven stops before its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Halt {
    /// Somebody asked it to stop.
    Asked,
    /// A limit of time is used up.
    Exhausted(Exhausted),
}

/// The models and child runs of a run that is driven.
pub trait Models: Sync {
    /// Asks a model. `index` is the record that the reply will have, and names the call in the call log: a call whose
    /// reply is logged is not made again.
    ///
    /// # Errors
    /// [`NoReply`].
    fn ask(&self, index: RecordIndex, model: &ModelPin, request: &Request) -> Result<ModelReply, NoReply>;

    /// Returns whether the reply to a request is known, because an earlier process got it.
    fn knows_reply(&self, _: RecordIndex, _: &Request) -> bool {
        false
    }

    /// Returns whether an earlier process began a child run.
    fn knows_child(&self, _: &NewChild) -> bool {
        false
    }

    /// Starts or resumes a child run and drives it to its end.
    ///
    /// # Errors
    /// [`NoReply`] when it stopped before its end; it can be resumed.
    fn child(&self, child: &NewChild) -> Result<ChildEnd, NoReply>;

    /// Returns why the run must stop here, if it must.
    fn halt(&self) -> Option<Halt>;

    /// Returns the number of calls that may be under way at the same time.
    fn concurrency(&self) -> usize;
}
