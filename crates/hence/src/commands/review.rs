//! `hence review`: the work of reviewers on a trace, recorded in a journal of its own.

mod export;
mod handoff;
pub(crate) mod open;
pub(crate) mod record;
pub(crate) mod stamp;
pub(crate) mod status;
pub(crate) mod store;

use super::commands;
use crate::args;
pub(super) use store::{REVIEWS, TRACE as REVIEWED_TRACE, broken_reviews};

commands! { ReviewCommand {
    /// Open a review of a trace, or of a run written as a trace
    Open(args::ReviewOpenArgs) => open::run, "review-open": open::OpenReport;
    /// Show the status of a review and whether its journal holds, or list all reviews
    #[command(after_help = "Example: hence review status vendor-choice")]
    Status(args::ReviewStatusArgs) => status::run,
        "review-one": status::StatusReport, "review-list": status::ListReport;
    /// Write the reviewer's packet: orient, re-check, work through, look for gaps, decide
    Handoff(args::ReviewHandoffArgs) => handoff::run, "review-handoff": handoff::HandoffReport;
    /// Write trace and review as one document
    #[command(after_help = "Example: hence review export vendor-choice > reviewed.json")]
    Export(args::ReviewNameArgs) => export::run, "review-export": export::MergedReport;
    /// Comment on a trace or a part of it
    Comment(args::ReviewCommentArgs) => record::comment, "review-entry": record::EntryReport;
    /// Raise an item; a blocking one prevents approval
    Item(args::ReviewItemArgs) => record::item;
    /// Declare a gap that nobody declared
    Gap(args::ReviewGapArgs) => record::gap;
    /// Record the result of checking a claim again
    Check(args::ReviewCheckArgs) => record::check;
    /// Acknowledge an item or a gap
    #[command(after_help = "Example: hence review ack vendor-choice u1 --note 'known' --author ada")]
    Ack(args::ReviewSubjectArgs) => record::acknowledge;
    /// Resolve an item or a comment
    #[command(after_help = "Example: hence review resolve vendor-choice i1 --note 'fixed in 4f2a' --author ada")]
    Resolve(args::ReviewSubjectArgs) => record::resolve;
    /// Accept an item or a gap as it is, with a reason
    #[command(after_help = "Example: hence review waive vendor-choice u1 --note 'accepted until May' --author ada")]
    Waive(args::ReviewSubjectArgs) => record::waive;
    /// Approve the trace, if nothing prevents it
    #[command(after_help = "Example: hence review approve vendor-choice --author ada")]
    Approve(args::ReviewDecisionArgs) => record::approve;
    /// Reject the trace, with a reason
    #[command(after_help = "Example: hence review reject vendor-choice --note 'the evidence is old' --author ada")]
    Reject(args::ReviewDecisionArgs) => record::reject;
    /// Ask for a successor trace, and name what must change
    #[command(after_help = "Example: hence review request-changes vendor-choice --note 'test the refund path' --author ada")]
    RequestChanges(args::ReviewDecisionArgs) => record::request_changes;
    /// Leave the decision to a person, with a reason
    #[command(after_help = "Example: hence review escalate vendor-choice --note 'legal must see it' --author ada")]
    Escalate(args::ReviewDecisionArgs) => record::escalate;
    /// Withdraw the last decision, with a reason
    #[command(after_help = "Example: hence review rescind vendor-choice --note 'approved too early' --author ada")]
    Rescind(args::ReviewDecisionArgs) => record::rescind;
} }
