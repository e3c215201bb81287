//! What a state says about the run it belongs to.

use std::sync::Arc;

use hence_canon::{Object, Value};

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

impl From<&Metadata> for Value {
    fn from(metadata: &Metadata) -> Self {
        let members: [(&str, Value); 5] = [
            ("trace_id", metadata.trace_id.clone().into()),
            ("policy_profile", metadata.policy_profile.clone().into()),
            ("model_profile", metadata.model_profile.clone().into()),
            ("created_at", metadata.created_at.as_str().into()),
            ("updated_at", metadata.updated_at.as_str().into()),
        ];
        members.into_iter().collect::<Object>().into()
    }
}
