//! Failures of a run: classes, chains of causes, and the codes a caller acts on.

use std::fmt;
use std::sync::Arc;

use hence_canon::words;

/// The class of an undecided call. Such a call is retried only where a
/// step names it.
pub const UNDECIDED: &str = "Undecided";

/// The class of a call without a reply in time, for a provider that says more about it than the time.
pub const TIMED_OUT: &str = "StepTimeoutError";

/// The class of a call whose input breaks its contract: the call is not made.
pub const INPUT_REFUSED: &str = "InputMappingError";

/// The class of a call whose input the capability cannot work on.
pub const INVALID_INPUT: &str = "InvalidInput";

/// The class of a call whose input is beyond a limit of the capability.
pub const INPUT_TOO_LARGE: &str = "InputTooLarge";

/// The class of a call whose output does not match the contract.
pub const CONTRACT_BROKEN: &str = "ContractBroken";

/// Classes of failure that another attempt does not change: what was asked for is not there, not allowed or not
/// understood, or it was done and its answer cannot be used.
const PERMANENT: [&str; 17] = [
    "CommandInputCut",
    "CommandNotStarted",
    "CommandOutputInvalid",
    "CommandOutputTooLarge",
    CONTRACT_BROKEN,
    "HttpDenied",
    "HttpMisconfigured",
    "HttpNotFound",
    "HttpOutputTooLarge",
    "HttpRedirected",
    "HttpRefused",
    "ModelReplyTooLarge",
    "ModelRequestRefused",
    "ModelSchemaInvalid",
    "ModelUnauthorized",
    "NotFound",
    "SecretMissing",
];

/// The class of a call that was not made, because it might have exceeded a limit.
pub const BUDGET_EXCEEDED: &str = "BudgetExceededError";

/// The class of a call that was cut off when the time of a limit was over.
pub const BUDGET_CUT_OFF: &str = "BudgetCutOff";

/// The class of a call that was not made, because policies hold it back.
pub const HELD_BACK: &str = "PolicyViolationError";

/// A failure with everything that led to it, outermost first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The class.
    pub class: ErrorClass,
    /// The message, for people.
    pub message: Arc<str>,
    /// The cause.
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
    /// Calls inside a nested skill do not count: they may get another input the next time.
    pub fn is_of_input(&self) -> bool {
        let is_refusal = |class: &ErrorClass| match class {
            ErrorClass::InputMapping => true,
            ErrorClass::Other(name) => [INVALID_INPUT, INPUT_TOO_LARGE].contains(&&**name),
            _ => false,
        };
        let cause = self.cause.as_deref().filter(|_| self.class == ErrorClass::CapabilityExecution);
        is_refusal(&self.class) || cause.is_some_and(|cause| is_refusal(&cause.class))
    }

    /// Returns whether trying the same call again could help.
    pub fn may_pass(&self) -> bool {
        let is_final = |name: &str| name == UNDECIDED || PERMANENT.contains(&name);
        self.class.may_pass() && !self.chain().any(|cause| is_final(cause.class.name()))
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

/// The class of a failure. Its name is what records and callers see.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names say what failed")]
pub enum ErrorClass {
    SkillNotFound,
    CapabilityNotFound,
    InvalidSkillSpec,
    InvalidCapabilitySpec,
    ReferenceResolution,
    InputMapping,
    OutputMapping,
    StepExecution,
    CapabilityExecution,
    NestedSkillExecution,
    LineageTimeout,
    BudgetExceeded,
    PolicyViolation,
    FinalOutputValidation,
    MaxSkillDepthExceeded,
    InvalidExecutionOptions,
    AttachValidation,
    SafetyTrustLevel,
    SafetyGateFailed,
    SafetyConfirmationRequired,
    StepTimeout,
    GateDenied,
    GateExecution,
    Expression,
    /// The base of all of the above.
    Runtime,
    /// A class of a capability's own making.
    Other(Arc<str>),
}

/// Names and classes in one place, for reading and for writing.
const NAMES: [(&str, ErrorClass); 25] = [
    ("SkillNotFoundError", ErrorClass::SkillNotFound),
    ("CapabilityNotFoundError", ErrorClass::CapabilityNotFound),
    ("InvalidSkillSpecError", ErrorClass::InvalidSkillSpec),
    ("InvalidCapabilitySpecError", ErrorClass::InvalidCapabilitySpec),
    ("ReferenceResolutionError", ErrorClass::ReferenceResolution),
    ("InputMappingError", ErrorClass::InputMapping),
    ("OutputMappingError", ErrorClass::OutputMapping),
    ("StepExecutionError", ErrorClass::StepExecution),
    ("CapabilityExecutionError", ErrorClass::CapabilityExecution),
    ("NestedSkillExecutionError", ErrorClass::NestedSkillExecution),
    ("LineageTimeoutError", ErrorClass::LineageTimeout),
    (BUDGET_EXCEEDED, ErrorClass::BudgetExceeded),
    (HELD_BACK, ErrorClass::PolicyViolation),
    ("FinalOutputValidationError", ErrorClass::FinalOutputValidation),
    ("MaxSkillDepthExceededError", ErrorClass::MaxSkillDepthExceeded),
    ("InvalidExecutionOptionsError", ErrorClass::InvalidExecutionOptions),
    ("AttachValidationError", ErrorClass::AttachValidation),
    ("SafetyTrustLevelError", ErrorClass::SafetyTrustLevel),
    ("SafetyGateFailedError", ErrorClass::SafetyGateFailed),
    ("SafetyConfirmationRequiredError", ErrorClass::SafetyConfirmationRequired),
    ("StepTimeoutError", ErrorClass::StepTimeout),
    ("GateDeniedError", ErrorClass::GateDenied),
    ("GateExecutionError", ErrorClass::GateExecution),
    ("ExpressionError", ErrorClass::Expression),
    ("RuntimeErrorBase", ErrorClass::Runtime),
];

impl ErrorClass {
    /// Returns the class of that name; an unknown name is a class of its own.
    pub fn named(name: &str) -> Self {
        NAMES
            .into_iter()
            .find(|(known, _)| *known == name)
            .map_or_else(|| Self::Other(name.into()), |(_, class)| class)
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        match self {
            Self::Other(name) => name,
            known => NAMES.iter().find(|(_, class)| class == known).map_or("", |(name, _)| name),
        }
    }

    /// Returns whether the run must stop here whatever its mode: a gate, a trust check or a policy denied the call.
    pub fn is_safety(&self) -> bool {
        matches!(
            self,
            Self::SafetyTrustLevel
                | Self::SafetyGateFailed
                | Self::SafetyConfirmationRequired
                | Self::GateDenied
                | Self::GateExecution
                | Self::PolicyViolation
        )
    }

    /// Returns whether a step fails with this class whatever its items and branches may forgive: a denial, or a limit.
    pub fn is_final(&self) -> bool {
        self.is_safety() || *self == Self::BudgetExceeded
    }

    fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::CapabilityExecution | Self::NestedSkillExecution | Self::StepTimeout | Self::Other(_)
        )
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// The longest chain of causes that is followed. Longer ones come from nesting at its limit and add nothing.
pub const CAUSES_MAX: usize = 8;

words! {
    /// The code of a failure.
    #[expect(missing_docs, reason = "the names are the codes")]
    pub enum ErrorCode {
        NotFound = "not_found",
        InvalidRequest = "invalid_request",
        MaxDepthExceeded = "max_depth_exceeded",
        SafetyDenied = "safety_denied",
        ConfirmationRequired = "confirmation_required",
        GateExecutionFailure = "gate_execution_failure",
        StepTimeout = "step_timeout",
        BudgetExceeded = "budget_exceeded",
        PolicyViolation = "policy_violation",
        InvalidConfiguration = "invalid_configuration",
        UpstreamTimeout = "upstream_timeout",
        UpstreamFailure = "upstream_failure",
        RuntimeError = "runtime_error",
        InternalError = "internal_error",
    }
}

impl ErrorCode {
    /// Returns the corresponding HTTP status.
    pub fn http_status(self) -> u16 {
        match self {
            Self::InvalidRequest | Self::MaxDepthExceeded => 400,
            Self::SafetyDenied | Self::PolicyViolation => 403,
            Self::NotFound => 404,
            Self::InvalidConfiguration => 409,
            Self::ConfirmationRequired => 428,
            Self::BudgetExceeded => 429,
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
        ErrorClass::BudgetExceeded => ErrorCode::BudgetExceeded,
        ErrorClass::PolicyViolation => ErrorCode::PolicyViolation,
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
        code_of_chain(&chain).as_str()
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
