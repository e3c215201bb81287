//! A language model, as far as the built-in steps need one.

use hence_state::ModelRequest;

/// Answers a prompt. The reply is recorded; a replay never asks again.
pub trait Model: Send + Sync {
    /// Returns the reply's text.
    ///
    /// # Errors
    /// The provider's own words about what went wrong; they are recorded.
    fn complete(&self, request: &ModelRequest, prompt: &str) -> Result<String, String>;
}
