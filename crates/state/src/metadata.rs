//! What a state says about the run it belongs to.

use std::sync::Arc;

use hence_canon::write_string;

use crate::Timestamp;

/// The metadata of a state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Metadata {
    /// The run.
    pub trace_id: Arc<str>,
    /// The routing policy asked for.
    pub policy_profile: Option<Arc<str>>,
    /// The model profile asked for.
    pub model_profile: Option<Arc<str>>,
    /// When the problem was stated.
    pub created_at: Timestamp,
    /// When the state last changed.
    pub updated_at: Timestamp,
}

impl Metadata {
    /// Writes the canonical form: a state is hashed after every step, and this is part of it each time.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let members = [
            ("{\"created_at\":", Some(self.created_at.as_str())),
            (",\"model_profile\":", self.model_profile.as_deref()),
            (",\"policy_profile\":", self.policy_profile.as_deref()),
            (",\"trace_id\":", Some(&*self.trace_id)),
            (",\"updated_at\":", Some(self.updated_at.as_str())),
        ];
        for (opening, text) in members {
            out.extend_from_slice(opening.as_bytes());
            match text {
                Some(text) => write_string(text, out),
                None => out.extend_from_slice(b"null"),
            }
        }
        out.push(b'}');
    }
}
