//! Commands that change a trace: what they write is another document.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use hence_review::vocabulary::{MetaStatus, ResidualKind, ResidualSeverity};

use crate::args::review::{Part, StampArgs};

/// What becomes of a changed trace.
#[derive(ClapArgs)]
pub(crate) struct EditArgs {
    /// Write the new document there, as JSON [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// The id of the successor [default: the id before with the next number behind a dot]
    #[arg(long, value_name = "ID", conflicts_with = "draft")]
    pub(crate) id: Option<String>,
    /// Keep the id: the trace is still being written and nobody has bound or reviewed it
    #[arg(long)]
    pub(crate) draft: bool,
    #[command(flatten)]
    pub(crate) stamp: StampArgs,
}

#[derive(ClapArgs)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct TraceResidualsArgs {
    /// A trace as JSON or YAML, or - for standard input
    #[arg(required = true)]
    pub(crate) file: Option<String>,
    /// Only gaps that are open
    #[arg(long)]
    pub(crate) open: bool,
    /// Only gaps the trace declares, not those that follow from it
    #[arg(long)]
    pub(crate) declared: bool,
    #[command(subcommand)]
    pub(crate) change: Option<ResidualsChange>,
}

#[derive(Subcommand)]
pub(crate) enum ResidualsChange {
    /// Declare a gap, in a successor of the trace
    Add(ResidualsAddArgs),
    /// Declare every gap that follows from the trace, in a successor of it
    Derive(ResidualsDeriveArgs),
}

#[derive(ClapArgs)]
#[command(
    after_help = "Example: hence trace residuals add trace.json 'Clocks agree within a second' --kind assumption \
                  --severity medium --on action:4 --out next.json"
)]
pub(crate) struct ResidualsAddArgs {
    /// A trace as JSON or YAML, or - for standard input
    pub(crate) file: String,
    /// The gap in plain language
    pub(crate) statement: String,
    /// Its id [default: the first free of r1, r2, …]
    #[arg(long, value_name = "ID")]
    pub(crate) residual_id: Option<String>,
    /// Its kind: assumption, unverified, out_of_scope, limitation or open_question
    #[arg(long)]
    pub(crate) kind: ResidualKind,
    /// Its severity: info, low, medium, high or critical
    #[arg(long)]
    pub(crate) severity: ResidualSeverity,
    /// The part it is about
    #[arg(long, value_name = "trace|action:ID|artifact:ID|policy:ID|…")]
    pub(crate) on: Option<Part>,
    /// How it could be closed
    #[arg(long, value_name = "TEXT")]
    pub(crate) check: Option<String>,
    /// Why it is a gap
    #[arg(long, value_name = "TEXT")]
    pub(crate) rationale: Option<String>,
    #[command(flatten)]
    pub(crate) edit: EditArgs,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence trace residuals derive trace.json --out next.json")]
pub(crate) struct ResidualsDeriveArgs {
    /// A trace as JSON or YAML, or - for standard input
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) edit: EditArgs,
}

#[derive(Subcommand)]
pub(crate) enum TraceMetaCommand {
    /// List the units of intent of a trace, and the actions that belong to none
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
    /// A trace as JSON or YAML, or - for standard input
    pub(crate) file: String,
    /// The unit's id
    pub(crate) unit: String,
    /// The unit of intent in a line
    pub(crate) title: String,
    /// The actions, which must lie side by side
    #[arg(long, value_name = "1,2,5-7")]
    pub(crate) actions: ActionIds,
    /// What was wanted, at length
    #[arg(long, value_name = "TEXT")]
    pub(crate) intent: Option<String>,
    /// What came of it
    #[arg(long, value_name = "TEXT")]
    pub(crate) outcome: Option<String>,
    /// Whether it was finished: completed, partial or abandoned
    #[arg(long)]
    pub(crate) status: Option<MetaStatus>,
    /// The unit it lies in
    #[arg(long, value_name = "UNIT")]
    pub(crate) parent: Option<String>,
    #[command(flatten)]
    pub(crate) edit: EditArgs,
}

#[derive(ClapArgs)]
#[command(
    after_help = "Example: hence trace meta merge trace.json m1 m2 --title 'Read and mend' --out next.json"
)]
pub(crate) struct MetaMergeArgs {
    /// A trace as JSON or YAML, or - for standard input
    pub(crate) file: String,
    /// The units; the first keeps its id
    #[arg(required = true, num_args = 2.., value_name = "UNIT")]
    pub(crate) units: Vec<String>,
    /// The title of what they become
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: String,
    #[command(flatten)]
    pub(crate) edit: EditArgs,
}

#[derive(ClapArgs)]
#[command(
    after_help = "Example: hence trace meta split trace.json m1 --before 4 --as m2 'Mend it' --out next.json"
)]
pub(crate) struct MetaSplitArgs {
    /// A trace as JSON or YAML, or - for standard input
    pub(crate) file: String,
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
    /// A trace as JSON or YAML, or - for standard input
    pub(crate) file: String,
    /// The unit
    pub(crate) unit: String,
    #[command(flatten)]
    pub(crate) edit: EditArgs,
}

/// What units are derived from.
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
    /// A trace as JSON or YAML, or - for standard input
    pub(crate) file: String,
    /// What to derive them from
    #[arg(long, value_name = "BASIS")]
    pub(crate) from: MetaBasis,
    #[command(flatten)]
    pub(crate) edit: EditArgs,
}

/// How many actions one list may name: as many as a trace can sensibly have.
const ACTIONS_NAMED_MAX: usize = 1_000_000;

/// Actions as a person lists them.
#[derive(Clone)]
pub(crate) struct ActionIds(pub(crate) Vec<i64>);

impl FromStr for ActionIds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number =
            |text: &str| text.trim().parse::<i64>().map_err(|_| format!("{text:?} is no action's number"));
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
