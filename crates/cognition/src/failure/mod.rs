//! What can go wrong in a run: classes of failure, their chain of causes, and the code a caller acts on.

mod class;
mod code;

pub use class::ErrorClass;
pub use code::{CAUSES_MAX, ErrorCode, code_of_chain};

use std::fmt;
use std::sync::Arc;

/// The class of a call that was begun and of which nobody knows whether it happened. It is tried again only where a
/// step names it.
pub const UNDECIDED: &str = "Undecided";

/// A failure with everything that led to it, outermost first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// What kind of failure it is.
    pub class: ErrorClass,
    /// What happened, for people.
    pub message: Arc<str>,
    /// What it came from.
    pub cause: Option<Arc<Failure>>,
}

impl Failure {
    /// Returns a failure without a cause.
    pub fn new(class: ErrorClass, message: impl fmt::Display) -> Self {
        Self { class, message: message.to_string().into(), cause: None }
    }

    /// Returns this failure as what `cause` led to.
    #[must_use]
    pub fn because(mut self, cause: Self) -> Self {
        self.cause = Some(Arc::new(cause));
        self
    }

    /// Iterates over the chain, this failure first.
    pub fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |failure| failure.cause.as_deref())
    }

    /// Returns the code of the chain.
    pub fn code(&self) -> ErrorCode {
        code_of_chain(self.chain().map(|failure| &failure.class))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}
