//! What a run under policies owes besides its steps. One machine for running, resuming and verifying.

use hence_canon::{Canonical, Digest};
use hence_state::{ProblemSpec, StepResult};

use super::{POLICIES_STEP, VERDICTS_STEP};
use crate::blob;

/// Where a run stands with its policies.
#[derive(Clone, Debug)]
pub struct PolicyState {
    pin: Option<Digest>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// No record says yet which policies there are.
    NotInstalled,
    /// Steps may come.
    Going,
    /// The last result was blocked.
    Blocked,
    /// All verdicts are in; only completion may come.
    Judged,
}

/// What a result is to a run under policies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The policies the run goes by from here on.
    Policies,
    /// What they say of the whole run.
    Verdicts,
    /// An attempt that was blocked: the program stands where it stood.
    Blocked,
    /// A step of the program.
    Own,
}

/// A record that policies do not allow here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyOrderError {
    /// The run has no policies.
    #[error("the problem pins no policies")]
    NotPinned,
    /// The first record must say which policies there are.
    #[error("the policies must be recorded before the first step")]
    NotInstalled,
    /// Policies that are not the pinned ones.
    #[error("the recorded policies are not the ones the problem pins")]
    NotThePinned,
    /// Policies can be amended where they block, and nowhere else.
    #[error("nothing is blocked, so the policies cannot be amended")]
    NothingBlocked,
    /// The verdicts are in.
    #[error("the verdicts are recorded, so only completion may follow")]
    Judged,
    /// Completion without verdicts.
    #[error("a run under policies completes behind its verdicts")]
    NotJudged,
}

impl PolicyState {
    /// Begins a run of a problem.
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

    /// Takes a result and says what it is.
    ///
    /// # Errors
    /// [`PolicyOrderError`] when it may not come here; nothing changes then.
    pub fn take(&mut self, result: &StepResult) -> Result<Role, PolicyOrderError> {
        let is_aside = [POLICIES_STEP, VERDICTS_STEP].contains(&&**result.step());
        let Some(pin) = self.pin else {
            return if is_aside { Err(PolicyOrderError::NotPinned) } else { Ok(Role::Own) };
        };
        let role = match &**result.step() {
            _ if self.stage == Stage::Judged => return Err(PolicyOrderError::Judged),
            POLICIES_STEP => {
                match self.stage {
                    Stage::NotInstalled if !says(result, pin) => return Err(PolicyOrderError::NotThePinned),
                    Stage::Going => return Err(PolicyOrderError::NothingBlocked),
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
            Role::Policies | Role::Own => Stage::Going,
            Role::Blocked => Stage::Blocked,
            Role::Verdicts => Stage::Judged,
        };
        Ok(role)
    }

    /// Takes the completion of the run.
    ///
    /// # Errors
    /// [`PolicyOrderError`] when verdicts are owed.
    pub fn complete(&self) -> Result<(), PolicyOrderError> {
        if self.needs_verdicts() { Err(PolicyOrderError::NotJudged) } else { Ok(()) }
    }
}

/// Returns whether a result gives the policies of a digest, itself or by reference.
fn says(result: &StepResult, pin: Digest) -> bool {
    result.outcome().output().is_some_and(|output| said(output) == pin)
}

/// Returns the digest of what an output says, wherever it is kept.
pub(crate) fn said(output: &Canonical) -> Digest {
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
        assert_eq!(policy_state.take(&gives("A", "{}")), Err(PolicyOrderError::NotInstalled));
        assert_eq!(
            policy_state.take(&gives(POLICIES_STEP, r#"{"policies":[1]}"#)),
            Err(PolicyOrderError::NotThePinned)
        );
        assert_eq!(policy_state.take(&gives(POLICIES_STEP, r#"{"policies":[]}"#)), Ok(Role::Policies));
        assert_eq!(policy_state.take(&gives("A", "{}")), Ok(Role::Own));
        assert_eq!(policy_state.complete(), Err(PolicyOrderError::NotJudged));
        assert_eq!(policy_state.take(&gives(VERDICTS_STEP, "{}")), Ok(Role::Verdicts));
        assert_eq!(policy_state.take(&gives("B", "{}")), Err(PolicyOrderError::Judged));
        assert_eq!(policy_state.complete(), Ok(()));
    }

    #[test]
    fn policies_are_amended_only_where_they_block() {
        let mut policy_state = pinned();
        policy_state.take(&gives(POLICIES_STEP, r#"{"policies":[]}"#)).unwrap();
        let other = gives(POLICIES_STEP, r#"{"policies":[1]}"#);
        assert_eq!(policy_state.take(&other), Err(PolicyOrderError::NothingBlocked));
        assert_eq!(policy_state.take(&blocked("A")), Ok(Role::Blocked));
        assert_eq!(policy_state.take(&other), Ok(Role::Policies));
        assert_eq!(policy_state.take(&blocked(VERDICTS_STEP)), Ok(Role::Blocked));
        assert!(policy_state.is_blocked() && policy_state.needs_verdicts());
    }

    #[test]
    fn without_policies_there_is_nothing_to_take_custody_of() {
        let mut policy_state = policy_state("{}");
        assert_eq!(policy_state.take(&gives(POLICIES_STEP, "{}")), Err(PolicyOrderError::NotPinned));
        assert_eq!(policy_state.take(&blocked("A")), Ok(Role::Own));
        assert!(policy_state.is_installed() && !policy_state.needs_verdicts());
    }
}
