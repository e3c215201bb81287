//! What a person can type after `hence review`.

use std::str::FromStr;

use clap::{Args as ClapArgs, Subcommand};
use hence_review::model::{
    ActionId, ArtifactId, CheckOutcome, PolicyId, ReferenceArtifactId, Target, TargetPart,
};
use hence_review::vocabulary::{ResidualKind, ResidualSeverity};

#[derive(Subcommand)]
pub(crate) enum ReviewCommand {
    /// Open a review of a trace, or of a run shown as one
    Open(ReviewOpenArgs),
    /// Say where a review stands and whether its journal holds, or list all reviews
    Status(ReviewStatusArgs),
    /// Write the reviewer's packet: orient, re-check, work through, hunt for gaps, decide
    Handoff(ReviewHandoffArgs),
    /// Write trace and review as one document
    Export(ReviewNameArgs),
    /// Comment on a trace or a part of it
    Comment(ReviewCommentArgs),
    /// Raise an item; a blocking one stops approval
    Item(ReviewItemArgs),
    /// Declare a gap that nobody declared
    Gap(ReviewGapArgs),
    /// Record what came of checking claims again
    Check(ReviewCheckArgs),
    /// Acknowledge an item or a gap
    Ack(ReviewSubjectArgs),
    /// Resolve an item or a comment
    Resolve(ReviewSubjectArgs),
    /// Accept an item or a gap as it is, and say why
    Waive(ReviewSubjectArgs),
    /// Approve the trace, if nothing stands in the way
    Approve(ReviewDecisionArgs),
    /// Reject the trace, and say why
    Reject(ReviewDecisionArgs),
    /// Ask for a successor trace, and say what must change
    RequestChanges(ReviewDecisionArgs),
    /// Leave the decision to a person, and say why
    Escalate(ReviewDecisionArgs),
    /// Take the last decision back, and say why
    Rescind(ReviewDecisionArgs),
}

/// Who does it, and when.
#[derive(ClapArgs)]
pub(crate) struct StampArgs {
    /// Who does it [default: HENCE_AUTHOR, USER or LOGNAME of the environment]
    #[arg(long, value_name = "NAME")]
    pub(crate) author: Option<String>,
    /// When, as 2026-02-02T00:00:00Z [default: the system's time, recorded as such]
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence review open vendor-choice --author ada --now 2026-11-03T10:00:00Z")]
pub(crate) struct ReviewOpenArgs {
    /// A trace's file (JSON or YAML), - for standard input, or a run of the store
    pub(crate) trace: String,
    /// The review's id [default: the trace's id]
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) stamp: StampArgs,
}

#[derive(ClapArgs)]
pub(crate) struct ReviewStatusArgs {
    /// The review, or a prefix of its id [default: list all]
    pub(crate) review: Option<String>,
}

#[derive(ClapArgs)]
pub(crate) struct ReviewNameArgs {
    /// The review, or a prefix of its id
    pub(crate) review: String,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence review handoff vendor-choice --after first.json")]
pub(crate) struct ReviewHandoffArgs {
    /// The review, or a prefix of its id
    pub(crate) review: String,
    /// A trace this one follows: what it left open is shown; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) after: Vec<String>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence review comment vendor-choice 'Why two batches?' --on action:4")]
pub(crate) struct ReviewCommentArgs {
    /// The review, or a prefix of its id
    pub(crate) review: String,
    /// What to say
    pub(crate) body: String,
    /// The part it is about
    #[arg(long, value_name = "trace|action:ID|artifact:ID|policy:ID|…", default_value = "trace")]
    pub(crate) on: Part,
    /// The comment it answers
    #[arg(long, value_name = "ID")]
    pub(crate) reply_to: Option<String>,
    #[command(flatten)]
    pub(crate) stamp: StampArgs,
}

#[derive(ClapArgs)]
#[command(
    after_help = "Example: hence review item vendor-choice 'Show the quotes' --blocking --on artifact:problem"
)]
pub(crate) struct ReviewItemArgs {
    /// The review, or a prefix of its id
    pub(crate) review: String,
    /// What is wanted, in a line
    pub(crate) title: String,
    /// What is wanted, at length
    #[arg(long, value_name = "TEXT")]
    pub(crate) body: Option<String>,
    /// The part it is about
    #[arg(long, value_name = "trace|action:ID|artifact:ID|policy:ID|…", default_value = "trace")]
    pub(crate) on: Part,
    /// Stop approval until it is resolved or waived
    #[arg(long)]
    pub(crate) blocking: bool,
    /// Who should do it
    #[arg(long, value_name = "NAME")]
    pub(crate) assignee: Option<String>,
    #[command(flatten)]
    pub(crate) stamp: StampArgs,
}

#[derive(ClapArgs)]
#[command(
    after_help = "Example: hence review gap vendor-choice 'Nobody compared support' --kind unverified --severity high"
)]
pub(crate) struct ReviewGapArgs {
    /// The review, or a prefix of its id
    pub(crate) review: String,
    /// The gap in plain language
    pub(crate) statement: String,
    /// Its kind: assumption, unverified, out_of_scope, limitation or open_question
    #[arg(long, default_value = "unverified")]
    pub(crate) kind: ResidualKind,
    /// Its severity: info, low, medium, high or critical
    #[arg(long, default_value = "medium")]
    pub(crate) severity: ResidualSeverity,
    /// The part it is about
    #[arg(long, value_name = "trace|action:ID|artifact:ID|policy:ID|…", default_value = "trace")]
    pub(crate) on: Part,
    /// How it could be closed
    #[arg(long, value_name = "TEXT")]
    pub(crate) check: Option<String>,
    #[command(flatten)]
    pub(crate) stamp: StampArgs,
}

#[derive(ClapArgs)]
#[command(
    after_help = "Example: hence review check vendor-choice confirmed 'verification#2' --note 'hence replay'"
)]
pub(crate) struct ReviewCheckArgs {
    /// The review, or a prefix of its id
    pub(crate) review: String,
    /// What came of it: confirmed, diverged, or accepted (unchecked; needs a note)
    pub(crate) outcome: CheckOutcome,
    /// The artifact that was checked
    pub(crate) artifact: String,
    /// How it was checked
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    #[command(flatten)]
    pub(crate) stamp: StampArgs,
}

#[derive(ClapArgs)]
pub(crate) struct ReviewSubjectArgs {
    /// The review, or a prefix of its id
    pub(crate) review: String,
    /// The id of an item, a gap or a comment, as `hence review handoff` shows it
    pub(crate) id: String,
    /// Why; a waiver needs it
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    #[command(flatten)]
    pub(crate) stamp: StampArgs,
}

#[derive(ClapArgs)]
pub(crate) struct ReviewDecisionArgs {
    /// The review, or a prefix of its id
    pub(crate) review: String,
    /// Why; everything but an approval needs it
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    #[command(flatten)]
    pub(crate) stamp: StampArgs,
}

/// A part of a trace, as a person names it.
#[derive(Clone)]
pub(crate) struct Part(pub(crate) Target);

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let part = match text.split_once(':') {
            None if text == "trace" => TargetPart::Trace,
            Some(("action", id)) => {
                let id = id.parse().map_err(|_| format!("an action's id is a number, found {id:?}"))?;
                TargetPart::Action(ActionId(id))
            }
            Some(("artifact", id)) => TargetPart::Artifact(ArtifactId::new(id)),
            Some(("policy", id)) => TargetPart::Policy(PolicyId::new(id)),
            Some(("policy_evaluation", id)) => TargetPart::PolicyEvaluation(PolicyId::new(id)),
            Some(("reference_artifact", id)) => TargetPart::ReferenceArtifact(ReferenceArtifactId::new(id)),
            _ => {
                return Err("expected trace, action:ID, artifact:ID, policy:ID, policy_evaluation:ID or \
                            reference_artifact:ID"
                    .to_owned());
            }
        };
        Ok(Self(part.into()))
    }
}
