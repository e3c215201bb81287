//! The artifact key of a skill step's output in the state.

use std::sync::Arc;

use hence_journal::StepRecord;
use hence_state::StepIndex;

use crate::gate::{POLICIES_STEP, VERDICTS_STEP};

/// The digits of a step's number. A longer run stays correct; only its keys are no longer sorted.
const DIGITS: usize = 6;

/// Returns the artifact key of a step that ran at `index`: its number, then its name.
///
/// A state is hashed from front to back, with its artifacts in the order of their keys. A name may sort anywhere, and
/// everything after it would be hashed again. With the number first, new artifacts come last, and only they are hashed.
pub fn outcome_key(index: StepIndex, step: &str) -> String {
    let number = index.get().to_string();
    let mut key = String::with_capacity(DIGITS + 1 + step.len());
    (number.len()..DIGITS).for_each(|_| key.push('0'));
    [number.as_str(), ":", step].into_iter().for_each(|part| key.push_str(part));
    key
}

/// Returns the artifact of a record of a skill's run. Records of policies and verdicts have the name of
/// their step.
pub fn recorded_outcome_key(record: &StepRecord) -> Arc<str> {
    let step = record.result.step();
    match &**step {
        POLICIES_STEP | VERDICTS_STEP => step.clone(),
        own => outcome_key(record.step_index, own).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_steps_have_greater_keys_whatever_they_are_called() {
        let keys =
            [(9, "s9"), (10, "s10"), (11, "a")].map(|(at, step)| outcome_key(StepIndex::new(at), step));
        assert!(keys.is_sorted());
        assert_eq!(keys[2], "000011:a");
    }
}
