//! Making a call: what is known of it answers, what may change something is said before it is done, what it came to is kept.

use hence_canon::Canonical;
use hence_cognition::failure::UNDECIDED;
use hence_cognition::run::{Call, CallError, Reply};
use hence_cognition::skill::Recovery;
use hence_engine::SinkError;

use super::entry::{CallName, Entry, Question, QuestionKind};
use super::history::CallStatus;
use super::ledger::{Ledger, Promise};
use crate::host::Effect;

/// Attends to calls of one capability. Steps of skills and bound steps of problems are called through it, so that a crash
/// means the same to both.
pub struct CallExecutor<'a> {
    /// What is known about calls, and where more of it is kept.
    pub ledger: &'a Ledger<'a>,
    /// What calling the capability does to the world.
    pub effect: Effect,
    /// What becomes of a call of which nobody knows whether it happened.
    pub recovery: &'a dyn Fn() -> Recovery,
    /// Says whether nothing new is to be begun.
    pub is_stopping: &'a dyn Fn() -> bool,
}

/// What attending to a call came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallResult {
    /// What the call gave, or why it gave nothing.
    pub reply: Result<Reply, CallError>,
    /// Where that was found.
    pub found: Found,
}

/// Where a reply was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// The call was made, or nobody could answer it.
    Now,
    /// It was made before; what it gave was kept.
    InLog,
}

/// Makes a call.
pub type Make<'m> = dyn FnMut(&Call<'_>) -> Result<Reply, CallError> + 'm;

impl CallExecutor<'_> {
    /// Makes a call through `make`, unless it is known what it gave or somebody has to say first.
    ///
    /// # Errors
    /// Why a line could not be kept. Nothing may be called after it; the run stops and can be resumed.
    pub fn call(&self, call: &Call<'_>, make: &mut Make<'_>) -> Result<CallResult, SinkError> {
        let now = |reply| CallResult { reply, found: Found::Now };
        let stopping = || now(Err(CallError::Waiting("the run is to stop".into())));
        if self.effect == Effect::Pure {
            return Ok(if (self.is_stopping)() { stopping() } else { now(make(call)) });
        }
        let name = CallName::of(call);
        Ok(match self.ledger.standing(&name.key) {
            Some(CallStatus::Replied(reply)) => CallResult { reply, found: Found::InLog },
            Some(CallStatus::Asked(question)) => now(Err(match question.kind {
                QuestionKind::Undecided => undecided(call),
                QuestionKind::Value => CallError::Waiting("no answer yet".into()),
            })),
            _ if (self.is_stopping)() => stopping(),
            Some(CallStatus::Begun) => now(self.decide(call, name, make)?),
            Some(CallStatus::Again) => now(self.make(call, name, make)?),
            None if self.effect == Effect::Acts => now(self.intend(call, name, make)?),
            None => now(self.make(call, name, make)?),
        })
    }

    /// Deals with a call that may have happened, by what the recovery says.
    ///
    /// # Errors
    /// Why a line could not be kept.
    pub fn recover(
        &self,
        call: &Call<'_>,
        make: &mut Make<'_>,
    ) -> Result<Result<Reply, CallError>, SinkError> {
        self.decide(call, CallName::of(call), make)
    }

    /// Makes a call whose intent is kept, or that needs none.
    fn make(
        &self,
        call: &Call<'_>,
        name: CallName,
        make: &mut Make<'_>,
    ) -> Result<Result<Reply, CallError>, SinkError> {
        let reply = make(call);
        let (entry, promise) = match &reply {
            Err(CallError::Waiting(_)) => {
                let question = Question { kind: QuestionKind::Value, input: call.input.clone() };
                (Entry::Question { call: name, question }, Promise::Durable)
            }
            // A reply that power loss takes back leaves the call undecided, which is safe; the next intent syncs it too.
            _ => (Entry::Reply { call: name, reply: reply.clone() }, Promise::Kept),
        };
        self.ledger.note(entry, promise)?;
        Ok(reply)
    }

    /// Says what is about to be done, and does it: who asks to stop in between comes too late.
    fn intend(
        &self,
        call: &Call<'_>,
        name: CallName,
        make: &mut Make<'_>,
    ) -> Result<Result<Reply, CallError>, SinkError> {
        let entry = Entry::Intent {
            call: name.clone(),
            input: Canonical::of(call.input).digest(),
            idempotency_key: call.idempotency_key().into(),
        };
        self.ledger.note(entry, Promise::Durable)?;
        self.make(call, name, make)
    }

    /// Deals with a call that was begun by a process that is gone.
    fn decide(
        &self,
        call: &Call<'_>,
        name: CallName,
        make: &mut Make<'_>,
    ) -> Result<Result<Reply, CallError>, SinkError> {
        match (self.recovery)() {
            Recovery::Retry => self.make(call, name, make),
            Recovery::Ask => {
                let question = Question { kind: QuestionKind::Undecided, input: call.input.clone() };
                self.ledger.note(Entry::Question { call: name, question }, Promise::Durable)?;
                Ok(Err(undecided(call)))
            }
            Recovery::Fail => {
                let message = "undecided after a crash, and its recovery is fail".into();
                let reply = Err(CallError::Failed { class: UNDECIDED.into(), message });
                self.ledger.note(Entry::Reply { call: name, reply: reply.clone() }, Promise::Kept)?;
                Ok(reply)
            }
        }
    }
}

fn undecided(call: &Call<'_>) -> CallError {
    CallError::Waiting(format!("nobody knows whether `{}` happened", call.capability).into())
}
