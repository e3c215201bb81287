//! Traces no policy can be judged on.

/// Something in a trace that would make a verdict ambiguous.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceDefect {
    /// The document is not an object.
    #[error("a trace is an object, found {found}")]
    NotAnObject {
        /// The kind of value found.
        found: hence_canon::Kind,
    },
    /// A list that is something else.
    #[error("`/{list}` must be a list, found {found}")]
    NotAList {
        /// The key of the list.
        list: &'static str,
        /// The kind of value found.
        found: hence_canon::Kind,
    },
    /// An item that is not an object.
    #[error("`/{list}/{index}` must be an object, found {found}")]
    ItemNotAnObject {
        /// The key of the list.
        list: &'static str,
        /// The place in the list.
        index: usize,
        /// The kind of value found.
        found: hence_canon::Kind,
    },
    /// Two items with the same id.
    #[error("id {id} occurs twice: `/{list}/{first}` and `/{list}/{second}`")]
    DuplicateId {
        /// The key of the list.
        list: &'static str,
        /// The id, as written.
        id: String,
        /// Where it occurs first.
        first: usize,
        /// Where it occurs again.
        second: usize,
    },
}
