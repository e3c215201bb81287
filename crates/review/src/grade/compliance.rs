//! How many policies passed, beside the mark.

use crate::vocabulary::EvaluationStatus;
use crate::wire::Trace;

/// The verdicts of policies, counted. Policies that do not apply are left out.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Compliance {
    /// How many passed.
    pub passed: usize,
    /// How many applied.
    pub total: usize,
    /// The names of those that failed, in the order given.
    pub failed: Vec<String>,
}

impl Compliance {
    /// Counts verdicts, given by the name of their policy.
    pub fn of<'a>(verdicts: impl IntoIterator<Item = (&'a str, EvaluationStatus)>) -> Self {
        let mut compliance = Self::default();
        for (name, status) in verdicts {
            match status {
                EvaluationStatus::NotApplicable => continue,
                EvaluationStatus::Passed => compliance.passed += 1,
                EvaluationStatus::Failed => compliance.failed.push(name.to_owned()),
                EvaluationStatus::Unknown => {}
            }
            compliance.total += 1;
        }
        compliance
    }

    /// Counts the verdicts a trace records; nothing when it records none.
    pub fn recorded(trace: &Trace) -> Option<Self> {
        let evaluations: Vec<_> = trace.policy_evaluations().collect();
        let verdicts = evaluations.iter().filter_map(|found| Some((found.policy_id()?, found.status()?)));
        let compliance = Self::of(verdicts);
        (compliance.total > 0).then_some(compliance)
    }
}
