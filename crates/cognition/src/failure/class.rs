//! Classes of failure.

use std::fmt;
use std::sync::Arc;

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
const NAMES: [(&str, ErrorClass); 23] = [
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

    /// Returns whether the run must stop here whatever its mode: a gate or a trust check said no.
    pub fn is_safety(&self) -> bool {
        matches!(
            self,
            Self::SafetyTrustLevel
                | Self::SafetyGateFailed
                | Self::SafetyConfirmationRequired
                | Self::GateDenied
                | Self::GateExecution
        )
    }

    /// Returns whether trying the same call again could help.
    pub fn may_pass(&self) -> bool {
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
