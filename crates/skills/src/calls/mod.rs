//! The call log: what is known about calls under way until their step is recorded.
//!
//! A step becomes a record as a whole, and only when it is due. Until then the lines next to the journal hold what
//! happened: that a call is about to be made ([`Entry::Intent`]), its reply, questions to people and their answers, and
//! outcomes that wait for an earlier step. None of it is part of the chain: once the step is recorded, only the record
//! counts, and when the run ends the log is removed, unless it holds a call of a step without a record.
//!
//! | the process dies | the log has | the resumed run |
//! |---|---|---|
//! | before the intent is durable | nothing | makes the call |
//! | between intent and reply | an intent without a reply: *undecided* | follows the step's recovery |
//! | while a repeated call is made | the new intent of that attempt: *undecided* | follows the step's recovery |
//! | after the reply is logged | intent and reply | answers the call from the log |
//! | after the step is recorded | lines that no longer count | reads the record only |

mod entry;
mod executor;
mod gate;
mod history;
mod log;
mod timer;

pub use entry::{Answer, CallName, Entry, EntryError, Intent, Question, QuestionKind, Spent};
pub(crate) use executor::LoggedWorker;
pub use executor::{CallExecutor, CallFn, CallResult, ReplySource};
pub(crate) use gate::{CallGate, MayCall, is_noted};
pub use history::{BadCallLog, CallHistory, CallStatus, RefusedAnswer};
pub use log::CallLog;
pub use timer::{OpenTimers, WAIT_FOR, WAIT_UNTIL, is_timer};
