//! The arguments of `hence rm` and `hence gc`.

use clap::Args as ClapArgs;

#[derive(ClapArgs)]
#[command(after_help = "Example: hence rm vendor-choice --yes\n\n\
    Without --yes it prints what would be removed. A tombstone keeps the head and the hash of every record.")]
pub(crate) struct RmArgs {
    /// The whole ids of runs
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// Also remove the runs nested in them
    #[arg(long)]
    pub(crate) with_children: bool,
    /// Remove them
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(ClapArgs)]
#[command(
    after_help = "Example: hence gc --plan --older-than 90d\n         hence gc --apply --older-than 90d --status completed\n\n\
    Only runs that have ended are removed, unless --status names others, and large values that no record refers to.\n\
    A run that another run comes from stays as long as that one does."
)]
#[command(group = clap::ArgGroup::new("does").required(true).args(["plan", "apply"]))]
pub(crate) struct GcArgs {
    /// Print what would be removed
    #[arg(long)]
    pub(crate) plan: bool,
    /// Remove it
    #[arg(long)]
    pub(crate) apply: bool,
    /// The age of runs to remove: created before this time, as 30d, 12h or 2026-02-09
    #[arg(long, value_name = "TIME", default_value = "30d")]
    pub(crate) older_than: String,
    /// Remove only runs with this status; may be repeated [default: completed, partial, failed]
    #[arg(long, value_name = "STATUS", value_parser = crate::commands::RUN_STATUSES)]
    pub(crate) status: Vec<String>,
}
