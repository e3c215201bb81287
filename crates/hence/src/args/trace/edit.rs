//! The arguments of commands that change a trace; they write a new document.

use std::str::FromStr;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use hence_review::vocabulary::{MetaStatus, ResidualKind, ResidualSeverity};

use crate::args::review::{Part, StampArgs};
use crate::args::{Output, TraceRef};

/// The destination and the identity of a changed trace.
#[derive(ClapArgs)]
pub(crate) struct EditArgs {
    #[command(flatten)]
    pub(crate) output: Output,
    /// The id of the successor [default: the old id with a dot and the next number]
    #[arg(long, value_name = "ID", conflicts_with = "draft")]
    pub(crate) id: Option<String>,
    /// Keep the id, while the trace is neither bound nor reviewed
    #[arg(long)]
    pub(crate) draft: bool,
    #[command(flatten)]
    pub(crate) stamp: StampArgs,
}

#[derive(ClapArgs)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct TraceResidualsArgs {
    /// A trace as JSON or YAML, - for standard input, or a run
    #[arg(required = true)]
    pub(crate) file: Option<String>,
    /// List only open gaps
    #[arg(long)]
    pub(crate) open: bool,
    /// List only declared gaps, not derived ones
    #[arg(long)]
    pub(crate) declared: bool,
    #[command(subcommand)]
    pub(crate) change: Option<ResidualsChange>,
}

#[derive(Subcommand)]
pub(crate) enum ResidualsChange {
    /// Declare a gap, in a successor of the trace
    Add(ResidualsAddArgs),
    /// Declare every derived gap, in a successor of the trace
    Derive(ResidualsDeriveArgs),
}

#[derive(ClapArgs)]
#[command(
    after_help = "Example: hence trace residuals add trace.json 'Clocks agree within a second' --kind assumption \
                  --severity medium --on action:4 --out next.json"
)]
pub(crate) struct ResidualsAddArgs {
    #[command(flatten)]
    pub(crate) file: TraceRef,
    /// The gap in plain language
    pub(crate) statement: String,
    /// The id of the gap [default: the first free one of r1, r2, …]
    #[arg(long, value_name = "ID")]
    pub(crate) residual_id: Option<String>,
    /// Its kind: assumption, unverified, out_of_scope, limitation or open_question
    #[arg(long)]
    pub(crate) kind: ResidualKind,
    /// Its severity: info, low, medium, high or critical
    #[arg(long)]
    pub(crate) severity: ResidualSeverity,
    /// The part of the trace it is about
    #[arg(long, value_name = "trace|action:ID|artifact:ID|policy:ID|…")]
    pub(crate) on: Option<Part>,
    /// A check that would close it
    #[arg(long, value_name = "TEXT")]
    pub(crate) check: Option<String>,
    /// The reason it is a gap
    #[arg(long, value_name = "TEXT")]
    pub(crate) rationale: Option<String>,
    #[command(flatten)]
    pub(crate) edit: EditArgs,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence trace residuals derive trace.json --out next.json")]
pub(crate) struct ResidualsDeriveArgs {
    #[command(flatten)]
    pub(crate) file: TraceRef,
    #[command(flatten)]
    pub(crate) edit: EditArgs,
}

#[derive(Subcommand)]
pub(crate) enum TraceMetaCommand {
    /// List the units of intent of a trace, and the actions that belong to none
    #[command(after_help = "Example: hence trace meta list trace.json")]
    List(super::TraceFileArgs),
    /// Group actions into a unit, or change the unit of that id
    Set(MetaSetArgs),
    /// Join units into the first of them
    Merge(MetaMergeArgs),
    /// Cut a unit in two before an action
    Split(MetaSplitArgs),
    /// Drop a unit; its actions stay
    Drop(MetaDropArgs),
    /// Derive units from the plans or the turns the trace records
    Derive(MetaDeriveArgs),
}

#[derive(ClapArgs)]
#[command(
    after_help = "Example: hence trace meta set trace.json m1 'Read the code' --actions 1-4,6 --out next.json"
)]
pub(crate) struct MetaSetArgs {
    #[command(flatten)]
    pub(crate) file: TraceRef,
    /// The unit's id
    pub(crate) unit: String,
    /// The unit of intent in a line
    pub(crate) title: String,
    /// The actions, which must be consecutive
    #[arg(long, value_name = "1,2,5-7")]
    pub(crate) actions: ActionIds,
    /// The intent in full
    #[arg(long, value_name = "TEXT")]
    pub(crate) intent: Option<String>,
    /// The outcome
    #[arg(long, value_name = "TEXT")]
    pub(crate) outcome: Option<String>,
    /// The status: completed, partial or abandoned
    #[arg(long)]
    pub(crate) status: Option<MetaStatus>,
    /// The unit that contains it
    #[arg(long, value_name = "UNIT")]
    pub(crate) parent: Option<String>,
    #[command(flatten)]
    pub(crate) edit: EditArgs,
}

#[derive(ClapArgs)]
#[command(
    after_help = "Example: hence trace meta merge trace.json m1 m2 --title 'Read and fix' --out next.json"
)]
pub(crate) struct MetaMergeArgs {
    #[command(flatten)]
    pub(crate) file: TraceRef,
    /// The units; the first keeps its id
    #[arg(required = true, num_args = 2.., value_name = "UNIT")]
    pub(crate) units: Vec<String>,
    /// The title of the merged unit
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: String,
    #[command(flatten)]
    pub(crate) edit: EditArgs,
}

#[derive(ClapArgs)]
#[command(
    after_help = "Example: hence trace meta split trace.json m1 --before 4 --as m2 'Fix it' --out next.json"
)]
pub(crate) struct MetaSplitArgs {
    #[command(flatten)]
    pub(crate) file: TraceRef,
    /// The unit
    pub(crate) unit: String,
    /// The title of the new unit
    pub(crate) title: String,
    /// The first action of the new unit
    #[arg(long, value_name = "ACTION")]
    pub(crate) before: i64,
    /// The id of the new unit
    #[arg(long = "as", value_name = "UNIT")]
    pub(crate) new: String,
    #[command(flatten)]
    pub(crate) edit: EditArgs,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence trace meta drop trace.json m1 --out next.json")]
pub(crate) struct MetaDropArgs {
    #[command(flatten)]
    pub(crate) file: TraceRef,
    /// The unit
    pub(crate) unit: String,
    #[command(flatten)]
    pub(crate) edit: EditArgs,
}

/// The basis units are derived from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum MetaBasis {
    /// The planning actions (source plan_declared)
    Plan,
    /// The turns of the user (source turn_segmented)
    Turns,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence trace meta derive trace.json --from turns --out next.json")]
pub(crate) struct MetaDeriveArgs {
    #[command(flatten)]
    pub(crate) file: TraceRef,
    /// The basis to derive them from
    #[arg(long, value_name = "BASIS")]
    pub(crate) from: MetaBasis,
    #[command(flatten)]
    pub(crate) edit: EditArgs,
}

/// The most actions one list may name; no real trace has more.
const ACTIONS_NAMED_MAX: usize = 1_000_000;

/// A list of actions, as written on the command line: `1,2,5-7`.
#[derive(Clone)]
pub(crate) struct ActionIds(pub(crate) Vec<i64>);

impl FromStr for ActionIds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            text.trim().parse::<i64>().map_err(|_| format!("{text:?} is not the number of an action"))
        };
        let mut ids = Vec::new();
        for part in text.split(',') {
            // A minus sign in front belongs to the number.
            let range =
                part.get(1..).and_then(|rest| rest.find('-')).and_then(|at| part.split_at_checked(at + 1));
            let (first, last) = match range {
                Some((first, last)) => (number(first)?, number(last.get(1..).unwrap_or_default())?),
                None => (number(part)?, number(part)?),
            };
            for id in first..=last {
                if ids.len() == ACTIONS_NAMED_MAX {
                    return Err(format!("more than {ACTIONS_NAMED_MAX} actions"));
                }
                ids.push(id);
            }
        }
        Ok(Self(ids))
    }
}

#[cfg(test)]
mod tests {
    use super::{ACTIONS_NAMED_MAX, ActionIds};

    #[test]
    fn actions_are_listed_by_number_and_range() {
        let read = |text: &str| text.parse::<ActionIds>().map(|ids| ids.0);
        assert_eq!(read("1, 2,5-7"), Ok(vec![1, 2, 5, 6, 7]));
        assert_eq!(read("-2--1"), Ok(vec![-2, -1]));
        assert!(read("").is_err() && read("a").is_err() && read("1-").is_err() && read("é-1").is_err());
        assert_eq!(read(&format!("1-{ACTIONS_NAMED_MAX}")).map(|ids| ids.len()), Ok(ACTIONS_NAMED_MAX));
        assert!(read(&format!("0-{ACTIONS_NAMED_MAX}")).is_err());
    }
}
