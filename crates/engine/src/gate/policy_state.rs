//! The order of policy records in a run. One state machine for running, resuming and verifying.

use hence_canon::{Canonical, Digest};
use hence_state::{ProblemSpec, StepResult};

use super::{POLICIES_STEP, VERDICTS_STEP};
use crate::blob;

/// The state of a run's policies: it decides which policy record may come next.
#[derive(Clone, Debug)]
pub struct PolicyState {
    pin: Option<Digest>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// No policies are recorded yet.
    NotInstalled,
    /// A step may follow.
    Open,
    /// The last result was blocked.
    Blocked,
    /// The verdicts are recorded; only completion may follow.
    Judged,
}

/// The role of a result in a run with policies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The policies that are in force from here on.
    Policies,
    /// The verdicts of the policies on the whole run.
    Verdicts,
    /// A blocked attempt: the same step stays due.
    Blocked,
    /// A step of the program.
    Own,
}

/// A record that the policies do not allow at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyOrderError {
    /// The run has no policies.
    #[error("the problem pins no policies")]
    NotPinned,
    /// The first step record must install the policies.
    #[error("the policies must be recorded before the first step")]
    NotInstalled,
    /// Policies that are not the pinned ones.
    #[error("the recorded policies are not the ones the problem pins")]
    NotPinnedOnes,
    /// An amendment although no step is blocked.
    #[error("nothing is blocked, so the policies cannot be amended")]
    NothingBlocked,
    /// A result after the verdicts.
    #[error("the verdicts are recorded, so only completion may follow")]
    Judged,
    /// Completion without verdicts.
    #[error("a run under policies completes behind its verdicts")]
    NotJudged,
}

impl PolicyState {
    /// Returns the state at the beginning of a run.
    pub fn of(problem: &ProblemSpec) -> Self {
        Self { pin: problem.settings().policies, stage: Stage::NotInstalled }
    }

    /// Returns whether the problem pins policies.
    pub fn is_pinned(&self) -> bool {
        self.pin.is_some()
    }

    /// Returns the digest of the pinned policies.
    pub fn pin(&self) -> Option<Digest> {
        self.pin
    }

    /// Returns whether the policies are recorded, or there are none.
    pub fn is_installed(&self) -> bool {
        self.pin.is_none() || self.stage != Stage::NotInstalled
    }

    /// Returns whether the last result was blocked.
    pub fn is_blocked(&self) -> bool {
        self.stage == Stage::Blocked
    }

    /// Returns whether the verdicts must be recorded before the run can complete.
    pub fn needs_verdicts(&self) -> bool {
        self.pin.is_some() && self.stage != Stage::Judged
    }

    /// Applies a result and returns its role.
    ///
    /// # Errors
    /// [`PolicyOrderError`] when the result is not allowed here; nothing changes then.
    pub fn apply(&mut self, result: &StepResult) -> Result<Role, PolicyOrderError> {
        let is_aside = [POLICIES_STEP, VERDICTS_STEP].contains(&&**result.step());
        let Some(pin) = self.pin else {
            return if is_aside { Err(PolicyOrderError::NotPinned) } else { Ok(Role::Own) };
        };
        let role = match &**result.step() {
            _ if self.stage == Stage::Judged => return Err(PolicyOrderError::Judged),
            POLICIES_STEP => {
                match self.stage {
                    Stage::NotInstalled if !has_digest(result, pin) => {
                        return Err(PolicyOrderError::NotPinnedOnes);
                    }
                    Stage::Open => return Err(PolicyOrderError::NothingBlocked),
                    _ => {}
                }
                Role::Policies
            }
            _ if self.stage == Stage::NotInstalled => return Err(PolicyOrderError::NotInstalled),
            _ if result.outcome().is_blocked() => Role::Blocked,
            VERDICTS_STEP => Role::Verdicts,
            _ => Role::Own,
        };
        self.stage = match role {
            Role::Policies | Role::Own => Stage::Open,
            Role::Blocked => Stage::Blocked,
            Role::Verdicts => Stage::Judged,
        };
        Ok(role)
    }

    /// Checks that the run may complete.
    ///
    /// # Errors
    /// [`PolicyOrderError`] when verdicts are missing.
    pub fn complete(&self) -> Result<(), PolicyOrderError> {
        if self.needs_verdicts() { Err(PolicyOrderError::NotJudged) } else { Ok(()) }
    }
}

/// Returns whether the output of a result has the digest `pin`, inline or as a reference.
fn has_digest(result: &StepResult, pin: Digest) -> bool {
    result.outcome().output().is_some_and(|output| output_digest(output) == pin)
}

/// Returns the digest of an output, inline or as a reference.
fn output_digest(output: &Canonical) -> Digest {
    blob::referenced(output.value()).unwrap_or_else(|| output.digest())
}

#[cfg(test)]
mod tests {
    use hence_canon::{Value, parse};
    use hence_state::{Outcome, POLICY_VIOLATION, Profile, StepError, Timestamp};

    use super::*;

    fn result(step: &str, outcome: Outcome) -> StepResult {
        let at = Timestamp::parse("2026-02-02T00:00:00Z").unwrap();
        StepResult::new(step, &Value::Null, at.clone(), at, outcome)
    }

    fn gives(step: &str, json: &str) -> StepResult {
        result(step, Outcome::Success(parse(json.as_bytes()).unwrap().into()))
    }

    fn blocked(step: &str) -> StepResult {
        result(step, Outcome::Failed(vec![StepError::new(POLICY_VIOLATION, "no")]))
    }

    fn policy_state(settings: &str) -> PolicyState {
        let json = format!(
            r#"{{"version":"1.0.0","id":"r","created_at":"2026-02-02T00:00:00Z","inputs":{{"prompt":"x"}},
                "settings":{settings}}}"#
        );
        PolicyState::of(&ProblemSpec::decode(&parse(json.as_bytes()).unwrap(), &Profile::STRICT).unwrap())
    }

    fn pinned() -> PolicyState {
        policy_state(&format!(r#"{{"policies":{{"sha256":"{}"}}}}"#, Digest::of(br#"{"policies":[]}"#)))
    }

    #[test]
    fn policies_come_first_and_verdicts_last() {
        let mut policy_state = pinned();
        assert_eq!(policy_state.apply(&gives("A", "{}")), Err(PolicyOrderError::NotInstalled));
        assert_eq!(
            policy_state.apply(&gives(POLICIES_STEP, r#"{"policies":[1]}"#)),
            Err(PolicyOrderError::NotPinnedOnes)
        );
        assert_eq!(policy_state.apply(&gives(POLICIES_STEP, r#"{"policies":[]}"#)), Ok(Role::Policies));
        assert_eq!(policy_state.apply(&gives("A", "{}")), Ok(Role::Own));
        assert_eq!(policy_state.complete(), Err(PolicyOrderError::NotJudged));
        assert_eq!(policy_state.apply(&gives(VERDICTS_STEP, "{}")), Ok(Role::Verdicts));
        assert_eq!(policy_state.apply(&gives("B", "{}")), Err(PolicyOrderError::Judged));
        assert_eq!(policy_state.complete(), Ok(()));
    }

    #[test]
    fn policies_are_amended_only_where_they_block() {
        let mut policy_state = pinned();
        policy_state.apply(&gives(POLICIES_STEP, r#"{"policies":[]}"#)).unwrap();
        let other = gives(POLICIES_STEP, r#"{"policies":[1]}"#);
        assert_eq!(policy_state.apply(&other), Err(PolicyOrderError::NothingBlocked));
        assert_eq!(policy_state.apply(&blocked("A")), Ok(Role::Blocked));
        assert_eq!(policy_state.apply(&other), Ok(Role::Policies));
        assert_eq!(policy_state.apply(&blocked(VERDICTS_STEP)), Ok(Role::Blocked));
        assert!(policy_state.is_blocked() && policy_state.needs_verdicts());
    }

    #[test]
    fn without_policies_no_order_is_enforced() {
        let mut policy_state = policy_state("{}");
        assert_eq!(policy_state.apply(&gives(POLICIES_STEP, "{}")), Err(PolicyOrderError::NotPinned));
        assert_eq!(policy_state.apply(&blocked("A")), Ok(Role::Own));
        assert!(policy_state.is_installed() && !policy_state.needs_verdicts());
    }
}
