//! What the rules of a review refuse.

/// An entry that the rules of a review refuse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what each variant means")]
pub enum Refusal {
    #[error("the id {0:?} is taken")]
    Taken(String),
    #[error("nothing in the review has the id {0:?}")]
    Unknown(String),
    #[error("the trace has no {0}")]
    NoTarget(String),
    #[error("{what} must say something")]
    Silent { what: &'static str },
    #[error("{id:?} is {status} already")]
    Settled { id: String, status: &'static str },
    #[error("{id:?} is a gap: a successor trace addresses it, a review acknowledges or waives it")]
    GapNotResolved { id: String },
    #[error("{id:?} is a comment: it can only be resolved")]
    CommentOnlyResolved { id: String },
    #[error("the review comes to {disposition}, not approve; obstacles: {obstacles}, first {first}")]
    NotApprovable { disposition: &'static str, obstacles: usize, first: String },
    #[error("the trace is approved: comment on it, or take the approval back first")]
    AlreadyApproved,
    #[error("nothing is decided that could be taken back")]
    NothingDecided,
}
