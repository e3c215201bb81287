//! What is known about calls that are under way, until their step is recorded.
//!
//! A step becomes a record as a whole, and only when it is due. What happens before that is kept in lines beside the
//! journal: that a call is about to be made ([`Entry::Intent`]), what it gave, what a person is asked and answered, and
//! outcomes that wait for an earlier step. None of it is part of the chain: once the step is recorded, the record is
//! what counts, and when the run ends the lines are removed.
//!
//! | the process dies | what is there | the run taken up again |
//! |---|---|---|
//! | before the intent is durable | nothing | makes the call |
//! | between intent and reply | an intent without a reply: *undecided* | does what the step's recovery says |
//! | after the reply is kept | intent and reply | answers the call from the reply |
//! | after the step is recorded | the record | looks at the record only |

mod attendant;
mod entry;
mod history;
mod ledger;
mod recorder;

pub use attendant::{CallExecutor, CallResult, Found, Make};
pub use entry::{Answer, CallName, Entry, EntryError, Question, QuestionKind};
pub use history::{BadCallLog, CallHistory, CallStatus, RefusedAnswer};
pub use ledger::{CallLog, Ledger, NoCallLog, Promise};
pub(crate) use recorder::{Desk, Outside, Recorder};
