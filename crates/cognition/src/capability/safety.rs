//! Who may call a capability, and what must agree before and after.

use std::sync::Arc;

use hence_canon::Value;

/// How much a caller is trusted, least first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[expect(missing_docs, reason = "the names are the levels")]
pub enum TrustLevel {
    Sandbox,
    #[default]
    Standard,
    Elevated,
    Privileged,
}

impl TrustLevel {
    /// Returns the level of that name.
    pub fn find(name: &str) -> Option<Self> {
        Some(match name {
            "sandbox" => Self::Sandbox,
            "standard" => Self::Standard,
            "elevated" => Self::Elevated,
            "privileged" => Self::Privileged,
            _ => return None,
        })
    }

    /// Returns the level's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
            Self::Standard => "standard",
            Self::Elevated => "elevated",
            Self::Privileged => "privileged",
        }
    }
}

/// The trust a capability demands.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum RequiredTrust {
    /// Anyone may call it.
    #[default]
    None,
    /// Callers of at least this level may.
    AtLeast(TrustLevel),
    /// A level nobody knows: nobody may.
    Unknown(Arc<str>),
}

/// A capability that must agree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gate {
    /// The capability that is asked.
    pub capability: Arc<str>,
    /// What its no means.
    pub on_denied: OnDenied,
}

/// What the no of a gate means.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnDenied {
    /// The run stops.
    #[default]
    Block,
    /// The run stops until a person has confirmed.
    RequireHuman,
    /// A warning event, nothing else.
    Warn,
    /// The step gives nothing, and the run goes on.
    Degrade,
}

/// The safety rules of a capability.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Safety {
    /// The trust it demands.
    pub trust: RequiredTrust,
    /// Whether a person must have confirmed it for this run.
    pub confirmation: Confirmation,
    /// What is asked before the call, with its input.
    pub before: Vec<Gate>,
    /// What is asked after the call, with its output.
    pub after: Vec<Gate>,
}

/// Whether a capability must have been confirmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Confirmation {
    /// It need not.
    #[default]
    NotNeeded,
    /// It must.
    Needed,
}

impl Safety {
    /// Reads safety rules. What is not understood is read as the strictest it could mean.
    pub fn read(value: &Value) -> Self {
        let trust = match value.get("trust_level") {
            None | Some(Value::Null) => RequiredTrust::None,
            Some(Value::String(name)) => TrustLevel::find(name)
                .map_or_else(|| RequiredTrust::Unknown(name.clone()), RequiredTrust::AtLeast),
            Some(other) => RequiredTrust::Unknown(other.to_string().into()),
        };
        let confirmation = match value.get("requires_confirmation") {
            None | Some(Value::Null | Value::Bool(false)) => Confirmation::NotNeeded,
            Some(_) => Confirmation::Needed,
        };
        let gates = |key: &str| match value.get(key) {
            Some(Value::Array(items)) => items.iter().map(gate).collect(),
            _ => Vec::new(),
        };
        Self {
            trust,
            confirmation,
            before: gates("mandatory_pre_gates"),
            after: gates("mandatory_post_gates"),
        }
    }
}

/// A gate that cannot be read is one that cannot be asked, and so fails closed.
fn gate(value: &Value) -> Gate {
    let capability =
        value.as_str().or_else(|| value.get("capability").and_then(Value::as_str)).unwrap_or_default();
    let on_denied = match value.get("on_fail").and_then(Value::as_str) {
        Some("require_human") => OnDenied::RequireHuman,
        Some("warn") => OnDenied::Warn,
        Some("degrade") => OnDenied::Degrade,
        _ => OnDenied::Block,
    };
    Gate { capability: capability.into(), on_denied }
}
