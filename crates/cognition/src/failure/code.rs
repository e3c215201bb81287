//! Codes: what a caller can act on.

use super::ErrorClass;

/// How many causes are followed to the root. Longer chains come from nesting at its limit and tell nothing new.
pub const CAUSES_MAX: usize = 8;

/// The code of a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names are the codes")]
pub enum ErrorCode {
    NotFound,
    InvalidRequest,
    MaxDepthExceeded,
    SafetyDenied,
    ConfirmationRequired,
    GateExecutionFailure,
    StepTimeout,
    InvalidConfiguration,
    UpstreamTimeout,
    UpstreamFailure,
    RuntimeError,
    InternalError,
}

impl ErrorCode {
    /// Returns the name used on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::InvalidRequest => "invalid_request",
            Self::MaxDepthExceeded => "max_depth_exceeded",
            Self::SafetyDenied => "safety_denied",
            Self::ConfirmationRequired => "confirmation_required",
            Self::GateExecutionFailure => "gate_execution_failure",
            Self::StepTimeout => "step_timeout",
            Self::InvalidConfiguration => "invalid_configuration",
            Self::UpstreamTimeout => "upstream_timeout",
            Self::UpstreamFailure => "upstream_failure",
            Self::RuntimeError => "runtime_error",
            Self::InternalError => "internal_error",
        }
    }

    /// Returns the HTTP status that says the same.
    pub fn http_status(self) -> u16 {
        match self {
            Self::InvalidRequest | Self::MaxDepthExceeded => 400,
            Self::SafetyDenied => 403,
            Self::NotFound => 404,
            Self::InvalidConfiguration => 409,
            Self::ConfirmationRequired => 428,
            Self::RuntimeError | Self::InternalError => 500,
            Self::UpstreamFailure => 502,
            Self::GateExecutionFailure => 503,
            Self::StepTimeout | Self::UpstreamTimeout => 504,
        }
    }
}

/// Returns the code of a chain of causes, outermost first.
pub fn code_of_chain<'a>(chain: impl IntoIterator<Item = &'a ErrorClass>) -> ErrorCode {
    let mut chain = chain.into_iter();
    let Some(outermost) = chain.next() else { return ErrorCode::InternalError };
    match outermost {
        ErrorClass::SkillNotFound | ErrorClass::CapabilityNotFound => ErrorCode::NotFound,
        ErrorClass::InputMapping
        | ErrorClass::ReferenceResolution
        | ErrorClass::OutputMapping
        | ErrorClass::AttachValidation
        | ErrorClass::InvalidExecutionOptions => ErrorCode::InvalidRequest,
        ErrorClass::MaxSkillDepthExceeded => ErrorCode::MaxDepthExceeded,
        ErrorClass::SafetyTrustLevel | ErrorClass::SafetyGateFailed | ErrorClass::GateDenied => {
            ErrorCode::SafetyDenied
        }
        ErrorClass::SafetyConfirmationRequired => ErrorCode::ConfirmationRequired,
        ErrorClass::GateExecution => ErrorCode::GateExecutionFailure,
        ErrorClass::StepTimeout => ErrorCode::StepTimeout,
        ErrorClass::FinalOutputValidation
        | ErrorClass::InvalidSkillSpec
        | ErrorClass::InvalidCapabilitySpec => ErrorCode::InvalidConfiguration,
        ErrorClass::CapabilityExecution
        | ErrorClass::StepExecution
        | ErrorClass::NestedSkillExecution
        | ErrorClass::LineageTimeout => {
            let root = chain.take(CAUSES_MAX).last().unwrap_or(outermost);
            if root.name().to_ascii_lowercase().contains("timeout") {
                ErrorCode::UpstreamTimeout
            } else {
                ErrorCode::UpstreamFailure
            }
        }
        ErrorClass::Runtime => ErrorCode::RuntimeError,
        ErrorClass::Expression | ErrorClass::Other(_) => ErrorCode::InternalError,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(names: &[&str]) -> &'static str {
        let chain: Vec<ErrorClass> = names.iter().map(|name| ErrorClass::named(name)).collect();
        code_of_chain(&chain).name()
    }

    #[test]
    fn the_root_of_an_execution_failure_decides_between_timeout_and_failure() {
        assert_eq!(code(&["StepExecutionError"]), "upstream_failure");
        assert_eq!(
            code(&["StepExecutionError", "CapabilityExecutionError", "TimeoutError"]),
            "upstream_timeout"
        );
        assert_eq!(code(&["TimeoutError"]), "internal_error");
        assert_eq!(code(&["LineageTimeoutError"]), "upstream_timeout");
    }

    #[test]
    fn causes_are_followed_to_the_limit_and_no_further() {
        let chain = |causes: usize| {
            let mut names = vec!["StepExecutionError"; causes];
            names.push("TimeoutError");
            code(&names)
        };
        assert_eq!(chain(CAUSES_MAX), "upstream_timeout");
        assert_eq!(chain(CAUSES_MAX + 1), "upstream_failure");
    }

    #[test]
    fn names_and_classes_convert_both_ways() {
        for name in ["SkillNotFoundError", "ExpressionError", "RuntimeErrorBase", "ConnectionError"] {
            assert_eq!(ErrorClass::named(name).name(), name);
        }
    }
}
