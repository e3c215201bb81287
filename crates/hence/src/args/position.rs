//! The arguments of `hence checkpoint` and `hence rollback`.

use clap::Args as ClapArgs;
use hence_variables::StateId;

use super::{PlaceRef, RunRef};

#[derive(ClapArgs, Clone)]
#[command(after_help = "Example: hence checkpoint vendor-choice before-verify --at Compute")]
pub(crate) struct CheckpointArgs {
    #[command(flatten)]
    pub(crate) run: PlaceRef,
    /// The checkpoint's name
    pub(crate) name: String,
    /// The record before the position: an index, or a step's name for its last execution [default: the last]
    #[arg(long, value_name = "STEP")]
    pub(crate) at: Option<String>,
    #[command(flatten)]
    pub(crate) variables: VariablesArgs,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: hence rollback vendor-choice before-verify && hence resume vendor-choice")]
pub(crate) struct RollbackArgs {
    #[command(flatten)]
    pub(crate) run: RunRef,
    /// The checkpoint's name; every run has `initial_state`
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) name: String,
    /// Let calls that act be made again without asking
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) variables: VariablesArgs,
}

/// Options for runs of variables only.
#[derive(ClapArgs, Clone)]
pub(crate) struct VariablesArgs {
    /// The state, in a run of variables [default: the first]
    #[arg(long, value_name = "ID")]
    pub(crate) state: Option<StateId>,
    /// Refuse unless that state has exactly this many mutations
    #[arg(long, value_name = "N")]
    pub(crate) if_mutation_count: Option<u64>,
    /// The time of the change, in a run of variables, such as 2026-02-09T10:00:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
}

impl VariablesArgs {
    pub(crate) fn is_empty(&self) -> bool {
        self.state.is_none() && self.if_mutation_count.is_none() && self.now.is_none()
    }
}
