//! How a run behaves.

use std::collections::BTreeSet;
use std::sync::Arc;

use hence_canon::Float;

use crate::capability::TrustLevel;
use crate::schedule::FailureMode;
use crate::skill::Step;

/// How deep skills may nest unless a run says otherwise.
pub const SKILL_DEPTH_DEFAULT: u32 = 10;

/// How deep skills may nest whatever a run says: each level costs stack.
pub const SKILL_DEPTH_MAX: u32 = 32;
const _: () = assert!(SKILL_DEPTH_DEFAULT <= SKILL_DEPTH_MAX);

/// How long one call may take unless a step or a run says otherwise.
pub const TIMEOUT_SECONDS_DEFAULT: u32 = 60;

/// Options of a run, inherited by the runs it nests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunOptions {
    /// What a failing step means for the others.
    pub on_failure: FailureMode,
    /// How many levels of skills may run below the first, at most [`SKILL_DEPTH_MAX`].
    pub max_skill_depth: u32,
    /// How much the caller is trusted.
    pub trust_level: TrustLevel,
    /// Capabilities a person has confirmed for this run.
    pub confirmed_capabilities: BTreeSet<Arc<str>>,
    /// How long one call may take, unless its step says otherwise.
    pub default_step_timeout_seconds: Option<Float>,
    /// How long the whole lineage may take before no further skill is nested.
    pub max_lineage_timeout_seconds: Option<Float>,
    /// What jitter is drawn from.
    pub seed: Arc<str>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            on_failure: FailureMode::default(),
            max_skill_depth: SKILL_DEPTH_DEFAULT,
            trust_level: TrustLevel::default(),
            confirmed_capabilities: BTreeSet::new(),
            default_step_timeout_seconds: None,
            max_lineage_timeout_seconds: None,
            seed: "".into(),
        }
    }
}

impl RunOptions {
    /// Returns how long one call of a step may take.
    pub fn timeout_of(&self, step: &Step) -> Float {
        let positive = |seconds: &Float| seconds.get() > 0.0;
        let given = step.timeout_seconds.or(self.default_step_timeout_seconds).filter(positive);
        given.unwrap_or_else(|| {
            Float::new(f64::from(TIMEOUT_SECONDS_DEFAULT)).expect("a whole number is finite")
        })
    }
}
