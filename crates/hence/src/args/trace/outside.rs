//! Commands that reach outside the trace: programs and a repository.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(ClapArgs)]
#[command(
    after_help = "Example: hence trace reproduce trace.json --run --with . --timeout 60\n\nWithout --run nothing is executed. \
                  With it, only commands of the class safe are, without a shell, in a scratch folder that is removed \
                  afterwards."
)]
pub(crate) struct TraceReproduceArgs {
    /// A trace as JSON or YAML, or - for standard input
    pub(crate) file: String,
    /// Execute what is safe, and compare with what was recorded
    #[arg(long)]
    pub(crate) run: bool,
    /// Copy this folder into the scratch folder first
    #[arg(long, value_name = "DIR", requires = "run")]
    pub(crate) with: Option<PathBuf>,
    /// Only this action; may be given several times
    #[arg(long, value_name = "ID")]
    pub(crate) action: Vec<i64>,
    /// Seconds after which a command is ended
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: u64,
    /// Pass this variable of the environment on; may be given several times [always: PATH]
    #[arg(long, value_name = "NAME")]
    pub(crate) env: Vec<String>,
}

#[derive(ClapArgs)]
#[command(
    after_help = "Example: hence trace bind trace.json --out trace.json\n\nStamps repository, branch, commit and content hash \
                  on the trace, and a note `Trace-Id: …` on the commit under refs/notes/ponens."
)]
pub(crate) struct TraceBindArgs {
    /// A trace as JSON or YAML, or - for standard input
    pub(crate) file: String,
    /// A folder of the repository
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) repo: PathBuf,
    /// Only say whether the trace is unbound, dirty, stale or bound
    #[arg(long, conflicts_with_all = ["out", "no_note"])]
    pub(crate) check: bool,
    /// Write the stamped trace there, as JSON [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Stamp the trace only; leave the repository as it is
    #[arg(long)]
    pub(crate) no_note: bool,
}
