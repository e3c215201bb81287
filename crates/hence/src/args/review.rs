//! The arguments of `hence review`.

use std::str::FromStr;

use clap::Args as ClapArgs;
use hence_review::model::{
    ActionId, ArtifactId, CheckOutcome, PolicyId, ReferenceArtifactId, Target, TargetPart,
};
use hence_review::vocabulary::{ResidualKind, ResidualSeverity};

use super::ReviewRef;

/// The author and the time of an entry.
#[derive(ClapArgs)]
pub(crate) struct StampArgs {
    /// The author of the entry [default: HENCE_AUTHOR, USER or LOGNAME of the environment]
    #[arg(long, value_name = "NAME")]
    pub(crate) author: Option<String>,
    /// The time of the entry, as 2026-02-02T00:00:00Z [default: the system's time, recorded as such]
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence review open vendor-choice --author ada --now 2026-11-03T10:00:00Z")]
pub(crate) struct ReviewOpenArgs {
    /// The file of a trace (JSON or YAML), - for standard input, or a run of the store
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
    #[command(flatten)]
    pub(crate) review: ReviewRef,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence review handoff vendor-choice --after first.json")]
pub(crate) struct ReviewHandoffArgs {
    #[command(flatten)]
    pub(crate) review: ReviewRef,
    /// An earlier trace of the chain, whose open gaps are shown; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) after: Vec<String>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence review comment vendor-choice 'Why two batches?' --on action:4")]
pub(crate) struct ReviewCommentArgs {
    #[command(flatten)]
    pub(crate) review: ReviewRef,
    /// The text of the comment
    pub(crate) body: String,
    /// The part of the trace it is about
    #[arg(long, value_name = "trace|action:ID|artifact:ID|policy:ID|…", default_value = "trace")]
    pub(crate) on: Part,
    /// The comment to reply to
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
    #[command(flatten)]
    pub(crate) review: ReviewRef,
    /// The request in one line
    pub(crate) title: String,
    /// The request in full
    #[arg(long, value_name = "TEXT")]
    pub(crate) body: Option<String>,
    /// The part of the trace it is about
    #[arg(long, value_name = "trace|action:ID|artifact:ID|policy:ID|…", default_value = "trace")]
    pub(crate) on: Part,
    /// Prevent approval until the item is resolved or waived
    #[arg(long)]
    pub(crate) blocking: bool,
    /// The person who should do it
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
    #[command(flatten)]
    pub(crate) review: ReviewRef,
    /// The gap in plain language
    pub(crate) statement: String,
    /// Its kind: assumption, unverified, out_of_scope, limitation or open_question
    #[arg(long, default_value = "unverified")]
    pub(crate) kind: ResidualKind,
    /// Its severity: info, low, medium, high or critical
    #[arg(long, default_value = "medium")]
    pub(crate) severity: ResidualSeverity,
    /// The part of the trace it is about
    #[arg(long, value_name = "trace|action:ID|artifact:ID|policy:ID|…", default_value = "trace")]
    pub(crate) on: Part,
    /// A check that would close it
    #[arg(long, value_name = "TEXT")]
    pub(crate) check: Option<String>,
    #[command(flatten)]
    pub(crate) stamp: StampArgs,
}

#[derive(ClapArgs)]
#[command(
    after_help = "Example: hence review check vendor-choice confirmed 'verification#2' --note 'hence replay'\n\n\
                  A recorded result (of a command, a service, a model) is not confirmed by a replay, which only reads it: \
                  `hence review handoff` names the call that would check it, and --note says how it was checked."
)]
pub(crate) struct ReviewCheckArgs {
    #[command(flatten)]
    pub(crate) review: ReviewRef,
    /// The result: confirmed, diverged, accepted (unchecked; needs a note), or reread (only read again; no check)
    pub(crate) outcome: CheckOutcome,
    /// The artifact that was checked
    pub(crate) artifact: String,
    /// The way it was checked
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    #[command(flatten)]
    pub(crate) stamp: StampArgs,
}

#[derive(ClapArgs)]
pub(crate) struct ReviewSubjectArgs {
    #[command(flatten)]
    pub(crate) review: ReviewRef,
    /// The id of an item, a gap or a comment, as `hence review handoff` shows it
    pub(crate) id: String,
    /// The reason; a waiver needs one
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    #[command(flatten)]
    pub(crate) stamp: StampArgs,
}

#[derive(ClapArgs)]
pub(crate) struct ReviewDecisionArgs {
    #[command(flatten)]
    pub(crate) review: ReviewRef,
    /// The reason; everything but an approval needs one
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    #[command(flatten)]
    pub(crate) stamp: StampArgs,
}

/// A part of a trace, as named on the command line.
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
