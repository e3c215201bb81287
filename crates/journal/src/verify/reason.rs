//! The reasons why a record does not hold.

use std::fmt;

use hence_canon::Digest;

use crate::LineError;

/// A stable word for one kind of break.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "the words are the documentation; docs/format.md explains each")]
pub enum ReasonCode {
    EmptyTrace,
    MissingFinalLf,
    Line(&'static str),
    NotCanonical,
    MissingField,
    BadValue,
    FirstNotHeader,
    HeaderNotFirst,
    IndexMismatch,
    PrevHashMismatch,
    RecordHashMismatch,
    StateBeforeHashMismatch,
    StateAfterHashMismatch,
    StateHashMismatch,
    StepIndexMismatch,
    OutputHashMismatch,
    InputHashMismatch,
    FlowViolation,
    LoopIterationMismatch,
    ProblemSpecHashMismatch,
    InitialStateHashMismatch,
    ResultRefused,
    DocumentUnavailable,
    BytesDiffer,
    RecordCountMismatch,
    HeadMismatch,
}

impl ReasonCode {
    /// Returns the word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EmptyTrace => "empty_trace",
            Self::MissingFinalLf => "missing_final_lf",
            Self::Line(code) => code,
            Self::NotCanonical => "not_canonical",
            Self::MissingField => "missing_field",
            Self::BadValue => "bad_value",
            Self::FirstNotHeader => "first_not_header",
            Self::HeaderNotFirst => "header_not_first",
            Self::IndexMismatch => "index_mismatch",
            Self::PrevHashMismatch => "prev_hash_mismatch",
            Self::RecordHashMismatch => "record_hash_mismatch",
            Self::StateBeforeHashMismatch => "state_before_hash_mismatch",
            Self::StateAfterHashMismatch => "state_after_hash_mismatch",
            Self::StateHashMismatch => "state_hash_mismatch",
            Self::StepIndexMismatch => "step_index_mismatch",
            Self::OutputHashMismatch => "output_hash_mismatch",
            Self::InputHashMismatch => "input_hash_mismatch",
            Self::FlowViolation => "flow_violation",
            Self::LoopIterationMismatch => "loop_iteration_mismatch",
            Self::ProblemSpecHashMismatch => "problem_spec_hash_mismatch",
            Self::InitialStateHashMismatch => "initial_state_hash_mismatch",
            Self::ResultRefused => "result_refused",
            Self::DocumentUnavailable => "document_unavailable",
            Self::BytesDiffer => "bytes_differ",
            Self::RecordCountMismatch => "record_count_mismatch",
            Self::HeadMismatch => "head_mismatch",
        }
    }
}

/// One reason why a record does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reason {
    /// The kind of break.
    pub code: ReasonCode,
    /// The member, where the code alone does not imply it.
    pub member: Option<&'static str>,
    /// The expected value.
    pub expected: Option<String>,
    /// The found value.
    pub found: Option<String>,
}

impl Reason {
    /// Creates a reason from its code alone.
    pub const fn new(code: ReasonCode) -> Self {
        Self { code, member: None, expected: None, found: None }
    }

    /// Creates a reason with an expected and a found value.
    pub fn mismatch(code: ReasonCode, expected: impl fmt::Display, found: impl fmt::Display) -> Self {
        Self { expected: Some(expected.to_string()), found: Some(found.to_string()), ..Self::new(code) }
    }

    /// Creates a reason unless two digests are equal.
    pub fn unless_equal(code: ReasonCode, expected: Digest, found: Digest) -> Option<Self> {
        (expected != found).then(|| Self::mismatch(code, expected, found))
    }

    pub(crate) fn missing_field(member: &'static str) -> Self {
        Self { member: Some(member), ..Self::new(ReasonCode::MissingField) }
    }

    pub(crate) fn bad_value(member: &'static str) -> Self {
        Self { member: Some(member), ..Self::new(ReasonCode::BadValue) }
    }

    pub(crate) fn first_not_header() -> Self {
        Self::new(ReasonCode::FirstNotHeader)
    }

    pub(crate) fn line(error: &LineError) -> Self {
        Self { found: Some(error.to_string()), ..Self::new(ReasonCode::Line(error.code())) }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.code.as_str())?;
        if let Some(member) = self.member {
            write!(out, ":{member}")?;
        }
        match (&self.expected, &self.found) {
            (Some(expected), Some(found)) => write!(out, " (expected {expected}, found {found})"),
            (None, Some(found)) => write!(out, " ({found})"),
            (Some(expected), None) => write!(out, " (expected {expected})"),
            (None, None) => Ok(()),
        }
    }
}
