//! Arguments of `hence import`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::Replace;

const USAGE: &str = "\
hence import [FORMAT] <FILE> [--out PATH]
       hence import --latest <AGENT> [--out PATH]
       hence import [bundle] <DIR>";

const FORMATS: &str = "\
Formats:
  claude-code, codex, gemini, pi   logs of agent sessions
  otlp                             OpenTelemetry spans: JSON, JSON lines or protobuf
  openinference                    spans with the attributes of OpenInference
  langfuse                         traces or observations of Langfuse
  auto                             detect which of these the file is
  bundle                           a folder that `hence export` wrote

Without FORMAT a folder is a bundle, and the format of a file is detected from its content.

Example: hence import claude-code session.jsonl --out trace.json
         hence import --latest claude-code --out trace.json
         hence import auto spans.pb
         hence import /tmp/vendor-choice --store /srv/hence";

#[derive(ClapArgs)]
#[command(override_usage = USAGE, after_help = FORMATS)]
pub(crate) struct ImportArgs {
    /// The format, or the file or folder itself
    #[arg(
        value_name = "FORMAT",
        required_unless_present = "latest",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) first: String,
    /// The file, - for standard input, or the folder of a bundle
    #[arg(value_name = "FILE")]
    pub(crate) second: Option<String>,
    /// Import the newest session of this agent on this machine: claude-code or codex, instead of FORMAT and FILE
    #[arg(long, value_name = "AGENT", conflicts_with_all = ["first", "second"])]
    pub(crate) latest: Option<String>,
    /// The file to write the trace to [default: standard output]; a folder for a log of several traces
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) replace: Replace,
    /// Import only the trace of this id
    #[arg(long, value_name = "ID")]
    pub(crate) trace: Option<String>,
    /// The folder the session ran in; paths inside it become relative [default: the one in the log]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
    /// The home folder of the session; paths inside it start with ~
    #[arg(long, value_name = "DIR")]
    pub(crate) home: Option<String>,
}
