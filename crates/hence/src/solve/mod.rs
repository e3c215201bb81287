//! The world of `hence solve`: contexts on disk, the Python worker, language models, child runs in the store.

mod arguments;
mod children;
mod contexts;
mod exchange;
mod host;
mod linked;
mod live;
mod log_sync;
#[cfg(feature = "models")]
mod models;
#[cfg(not(feature = "models"))]
#[path = "no_models.rs"]
mod models;
mod tools;

pub(crate) use arguments::{NewSolve, new_spec};
pub(crate) use children::{AfterChildren, EndedChildren};
pub(crate) use exchange::{Messages, exchange_of};
pub(crate) use host::{CONCURRENCY_DEFAULT, HostParts, SolveHost};
pub(crate) use linked::linked_children;
pub(crate) use live::Live;
pub(crate) use log_sync::LogSync;
pub(crate) use models::{ModelSet, pin_like};
pub(crate) use tools::{Interpreters, SolveTools};

use hence_store::AttachmentName;

/// The attachment that holds the system prompt.
pub(crate) const SYSTEM: &str = "system.md";

/// Returns the name of the attachment.
pub(crate) fn system_name() -> AttachmentName {
    AttachmentName::new(SYSTEM).expect("the name is plain")
}
