//! The provider kind `unbound`: a contract for which nobody has named a provider yet.

use std::sync::Arc;

use hence_canon::{Value, parse};
use hence_cognition::run::{CallError, Reply};

use crate::provider::{Provider, ProviderCall, ProviderKind};
use crate::registry::Members;

/// The name of the kind.
pub(crate) const UNBOUND: &str = "unbound";

/// The class of the failure of every call.
const CLASS: &str = "NotBound";

/// The provider kind of capabilities that are declared by their contract alone: `kind: unbound`.
///
/// Skills that use such a capability can be loaded and checked. A call fails and has no effect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnboundKind;

struct Unbound {
    reason: Option<Arc<str>>,
}

impl ProviderKind for UnboundKind {
    fn name(&self) -> &'static str {
        UNBOUND
    }

    fn read(&self, members: &mut Members<'_, '_>) -> Option<Arc<dyn Provider>> {
        Some(Arc::new(Unbound { reason: members.text("reason") }))
    }

    fn schema(&self) -> Value {
        parse(
            br#"{
          "description": "No provider yet: skills that use the capability can be checked, and every call fails.",
          "properties": {"reason": {"type": "string", "description": "Why there is none, for the message of a failed call."}}
        }"#,
        )
        .expect("the text above is JSON")
    }
}

impl Provider for Unbound {
    fn call(&self, _call: &ProviderCall<'_>) -> Result<Reply, CallError> {
        let reason = self.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let message = format!("the capability has a contract and no provider{reason}");
        Err(CallError::Failed { class: CLASS.into(), message: message.into() })
    }

    fn is_bound(&self) -> bool {
        false
    }
}
