//! The grade of a trace as a record for reviewers, with advice to improve it.
//!
//! Six dimensions, each between 0 and 1, are weighted into a mark out of a hundred. Policy verdicts are listed next to
//! the mark and never change it: a trace can be an excellent record of bad work.

mod dimension;

use crate::lineage::Lineage;
use crate::validate::Report;
use crate::wire::Trace;

pub(crate) use dimension::replayable;
pub use dimension::{Compliance, Dimension, DimensionKind};

/// The mark as a letter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs, reason = "letters")]
pub enum Letter {
    A,
    B,
    C,
    D,
    F,
}

impl Letter {
    /// Returns the letter of a mark.
    pub const fn of(overall: u32) -> Self {
        match overall {
            90.. => Self::A,
            80..=89 => Self::B,
            70..=79 => Self::C,
            60..=69 => Self::D,
            _ => Self::F,
        }
    }

    /// Returns the letter as text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
            Self::F => "F",
        }
    }
}

/// The grade of one trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Grade {
    /// The mark, 0 to 100.
    pub overall: u32,
    /// The mark as a letter.
    pub letter: Letter,
    /// The dimensions, in the order of the rubric.
    pub dimensions: Vec<Dimension>,
}

impl Grade {
    /// Returns the sum of the weights that entered the mark.
    pub fn applicable_weight(&self) -> u32 {
        self.dimensions.iter().filter(|dimension| dimension.score.is_some()).map(Dimension::weight).sum()
    }
}

/// Grades a trace by its content and the findings of validation.
pub fn grade(trace: &Trace, lineage: &Lineage, report: &Report) -> Grade {
    let dimensions = vec![
        dimension::structure(trace, report),
        dimension::rationale(trace),
        dimension::negative_space(trace),
        dimension::reproducibility(trace),
        dimension::evidence(trace),
        dimension::lineage(trace, lineage, report),
    ];
    let weighted = |dimension: &Dimension| Some((dimension.score?, f64::from(dimension.weight())));
    let (sum, weight) = dimensions
        .iter()
        .filter_map(weighted)
        .fold((0.0, 0.0), |(sum, total), (score, weight)| (sum + score * weight, total + weight));
    let overall = round_half_even(100.0 * sum / weight);
    Grade { overall, letter: Letter::of(overall), dimensions }
}

fn round_half_even(mark: f64) -> u32 {
    let rounded = mark.round_ties_even().clamp(0.0, 100.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 100")]
    let whole = rounded as u32;
    whole
}

#[cfg(test)]
mod tests {
    use hence_canon::{Value, parse};

    use super::*;
    use crate::validate::validate;

    fn graded(value: &Value) -> Grade {
        let trace = Trace::read(value);
        grade(&trace, &Lineage::of(&trace), &validate(value))
    }

    #[test]
    fn halves_round_to_the_even_mark() {
        assert_eq!([0.5, 1.5, 2.5, 64.5, 101.0].map(round_half_even), [0, 2, 2, 64, 100]);
        assert_eq!([89, 90].map(Letter::of), [Letter::B, Letter::A]);
    }

    #[test]
    fn any_document_has_a_grade_and_an_empty_one_a_bad_one() {
        let empty = graded(&parse(b"{}").unwrap());
        assert_eq!((empty.overall, empty.letter), (0, Letter::F));
        assert_eq!(empty.applicable_weight(), 100);
        assert!(
            empty
                .dimensions
                .iter()
                .filter(|dimension| dimension.score.is_some())
                .all(|dimension| dimension.raise.is_some())
        );
        assert_eq!(graded(&Value::Null).overall, 0);
    }

    #[test]
    fn a_full_trace_gets_full_marks_and_no_advice() {
        let full = graded(
            &parse(
                br#"{"trace_id": "t", "trigger": {"type": "TaskReceived"}, "commit_sha": "f00", "reproducibility": {"status": "reproducible"},
                "outcome": {"type": "ProcessCompleted", "summary": "Everything asked for was done."},
                "actions": [{"id": 1, "category": "gateway", "type": "ExclusiveDecision", "rationale": "Because both ways were weighed first."},
                  {"id": 2, "type": "RunTests", "rationale": "Because nothing else would show it.", "result_summary": "3 passed",
                   "reproducibility": {"status": "reproducible"}, "outputs": ["m", "g", "r"]}],
                "artifacts": [{"artifact_id": "m", "artifact_type": "FormalModel", "producer_action_id": 2},
                  {"artifact_id": "g", "artifact_type": "VerificationGoal", "payload": {"target_artifact_id": "m"}, "producer_action_id": 2},
                  {"artifact_id": "r", "artifact_type": "VerificationResult", "producer_action_id": 2}],
                "residuals": [
                  {"residual_id": "a", "kind": "limitation", "severity": "low", "suggested_check": "c", "target": {"target_type": "trace"}},
                  {"residual_id": "b", "kind": "limitation", "severity": "high", "suggested_check": "c", "related_artifact_ids": ["r"]},
                  {"residual_id": "c", "kind": "limitation", "severity": "info", "suggested_check": "c", "target": {"target_type": "trace"}}]}"#,
            )
            .unwrap(),
        );
        assert_eq!((full.overall, full.letter), (100, Letter::A), "{:?}", full.dimensions);
        assert!(full.dimensions.iter().all(|dimension| dimension.raise.is_none()));
    }
}
