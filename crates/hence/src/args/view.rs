//! The arguments of `hence serve` and `hence view`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::Replace;

#[derive(ClapArgs)]
#[command(after_help = "Example: hence serve --listen 127.0.0.1:8080\n\n\
                  On an address that others can reach it starts only with --token-file. docs/api.md describes the API, the \
                  token file and the limits.")]
pub(crate) struct ServeArgs {
    /// The address to listen on; the port 0 stands for a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// A file with named tokens and their roles; it replaces the token that is made at each start
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// A further name under which the server is reached, as a proxy passes it on; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// The name that is recorded with what the owner of the printed address does [default: HENCE_AUTHOR, USER or LOGNAME of the environment, or local]
    #[arg(long, value_name = "NAME", conflicts_with = "token_file")]
    pub(crate) name: Option<String>,
}

#[derive(ClapArgs)]
#[command(
    after_help = "Examples: hence view vendor-choice\n          hence view vendor-choice --html report.html\n          hence view trace.json"
)]
pub(crate) struct ViewArgs {
    /// A run or a prefix of its id, or the file of a review trace [default: the list of runs]
    #[arg(value_name = "RUN|FILE")]
    pub(crate) target: Option<String>,
    /// Write the page with its data to this file instead of serving it; it needs no server and no network
    #[arg(long, value_name = "FILE", conflicts_with_all = ["no_open", "listen"])]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) replace: Replace,
    /// Print the address without opening a browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// The loopback address to listen on; the port 0 stands for a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// The name that is recorded with what you do on the page [default: HENCE_AUTHOR, USER or LOGNAME of the environment, or local]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}
