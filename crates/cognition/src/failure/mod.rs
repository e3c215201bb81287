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

/// The class of a call whose input the capability cannot work on.
pub const INVALID_INPUT: &str = "InvalidInput";

/// The class of a call whose input is beyond a limit of the capability.
pub const INPUT_TOO_LARGE: &str = "InputTooLarge";

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

    /// Returns whether a call was refused for what it was called with: the same input is refused every time.
    ///
    /// What a nested skill called inside may be another input the next time, and is not meant.
    pub fn is_of_input(&self) -> bool {
        let is_refusal = |class: &ErrorClass| match class {
            ErrorClass::InputMapping => true,
            ErrorClass::Other(name) => [INVALID_INPUT, INPUT_TOO_LARGE].contains(&&**name),
            _ => false,
        };
        let cause = self.cause.as_deref().filter(|_| self.class == ErrorClass::CapabilityExecution);
        is_refusal(&self.class) || cause.is_some_and(|cause| is_refusal(&cause.class))
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
