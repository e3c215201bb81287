//! The arguments of commands that reach outside the trace: programs and a repository.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::args::{Output, TraceRef};

#[derive(ClapArgs)]
#[command(
    after_help = "Example: hence trace reproduce trace.json --run --with . --timeout 60\n\nWithout --run nothing is executed. \
                  With it, only safe commands are executed, without a shell, in a scratch folder that is removed \
                  afterwards. Exit code, numbers of tests and text are compared; times, durations, temporary paths, \
                  addresses, process ids and random seeds in the text are left out, and counted."
)]
pub(crate) struct TraceReproduceArgs {
    #[command(flatten)]
    pub(crate) file: TraceRef,
    /// Execute safe commands, and compare the results with the recorded ones
    #[arg(long)]
    pub(crate) run: bool,
    /// Copy this folder into the scratch folder first
    #[arg(long, value_name = "DIR", requires = "run")]
    pub(crate) with: Option<PathBuf>,
    /// Reproduce only this action; may be repeated
    #[arg(long, value_name = "ID")]
    pub(crate) action: Vec<i64>,
    /// The time limit of a command, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: u64,
    /// Leave out what this regular expression matches when outputs are compared; may be repeated
    #[arg(long, value_name = "REGEX", requires = "run")]
    pub(crate) mask: Vec<String>,
    /// Pass this environment variable on; may be repeated [always: PATH]
    #[arg(long, value_name = "NAME")]
    pub(crate) env: Vec<String>,
}

#[derive(ClapArgs)]
#[command(
    after_help = "Example: hence trace bind trace.json --out bound.json\n\nStamps repository, branch, commit and content hash \
                  on the trace, and a note `Trace-Id: …` on the commit under refs/notes/ponens."
)]
pub(crate) struct TraceBindArgs {
    #[command(flatten)]
    pub(crate) file: TraceRef,
    /// A folder of the repository
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) repo: PathBuf,
    /// Only show whether the trace is unbound, dirty, stale or bound
    #[arg(long, conflicts_with_all = ["out", "no_note"])]
    pub(crate) check: bool,
    #[command(flatten)]
    pub(crate) output: Output,
    /// Stamp only the trace; do not change the repository
    #[arg(long)]
    pub(crate) no_note: bool,
}
