//! `hence serve`: the runs of the store over HTTP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hence_server::{Access, Identity, Role, Server, read_token_file};
use hence_skills::Stop as _;

use super::review::stamp::author_of_environment;
use crate::args::view::ServeArgs;
use crate::interrupt::Interrupt;
use crate::prelude::*;
use crate::view::{ViewService, Views};

/// The name of whoever uses the printed address, where nothing else names them.
const LOCAL: &str = "local";

/// The runs that are read whole at a time, for the list of runs.
const INDEXED_AT_ONCE: usize = 4;

/// The pause between two looks for runs that were not read.
const INDEX_PAUSE: Duration = Duration::from_secs(2);

/// A server that answers.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ServeReport {
    /// The address it listens on.
    address: String,
    /// The address to open; with a token in its fragment, unless a token file names the tokens.
    url: String,
    /// The store.
    store: String,
    /// The name that is recorded with what the owner of the address does; null with a token file.
    name: Option<String>,
}

impl Text for ServeReport {
    fn text(&self) -> String {
        let mut rows = vec![("serving", escape(&self.store)), ("open", self.url.clone())];
        rows.extend(self.name.iter().map(|name| ("as", escape(name))));
        rows.push(("stop", "Ctrl-C".to_owned()));
        pairs(&rows)
    }
}

impl ServeReport {
    /// Returns the address to open.
    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

/// The address of the server, its store, and who may use it.
pub(super) struct Serving<'a> {
    pub(super) listen: SocketAddr,
    pub(super) hosts: &'a [String],
    pub(super) views: Arc<Views>,
    /// The place of the page that is opened.
    pub(super) to: String,
    /// The run that is looked at first.
    pub(super) first: Option<String>,
    pub(super) access: Access,
    /// The token for the printed address, with the name of its owner.
    pub(super) token: Option<(String, String)>,
}

pub(super) fn run(context: &Context, args: &ServeArgs) -> Result<Exit, CliError> {
    // A store that cannot be opened is reported before anybody connects.
    context.store()?;
    let views = Arc::new(Views::of_store(context.place.clone()));
    let (access, token) = match &args.token_file {
        Some(path) => {
            let refused = |error| {
                CliError::at(Code::Listen, path.display().to_string(), error).with_hint(hint::TOKEN_FILE)
            };
            (Access::with_tokens(read_token_file(path).map_err(refused)?), None)
        }
        None if args.listen.ip().is_loopback() => {
            let (access, token, name) = own_access(args.name.as_deref())?;
            (access, Some((token, name)))
        }
        None => {
            let message = format!(
                "{} can be reached from elsewhere, and no --token-file says who may ask",
                args.listen
            );
            return Err(CliError::new(Code::Listen, message).with_hint(hint::TOKENS_NEEDED));
        }
    };
    let to = "/".to_owned();
    let serving = Serving { listen: args.listen, hosts: &args.host, views, to, first: None, access, token };
    serve(context, serving, |_| Ok(()))
}

/// Makes the access of one person with every role.
pub(super) fn own_access(name: Option<&str>) -> Result<(Access, String, String), CliError> {
    let name = name.map(str::to_owned).or_else(author_of_environment).unwrap_or_else(|| LOCAL.to_owned());
    let identity = Identity::new(&name, Role::ALL);
    let (access, token) =
        Access::with_random_token(identity).map_err(|error| CliError::from_error(Code::Listen, error))?;
    Ok((access, token, name))
}

/// Serves until somebody stops it.
pub(super) fn serve(
    context: &Context,
    serving: Serving<'_>,
    started: impl FnOnce(&ServeReport) -> Result<(), CliError>,
) -> Result<Exit, CliError> {
    let Serving { listen, hosts, views, to, first, access, token } = serving;
    let service = Arc::new(ViewService(views.clone()));
    let server = Server::bind(listen, hosts, access, service)
        .map_err(|error| CliError::new(Code::Listen, format!("cannot listen on {listen}: {error}")))?;
    let interrupt = Interrupt::listen(None);
    let address = server.address();
    let fragment = match &token {
        Some((token, _)) => format!("#token={token}&to={to}"),
        None => format!("#{to}"),
    };
    let report = ServeReport {
        address: address.to_string(),
        url: format!("http://{address}/{fragment}"),
        store: context.place.to_string(),
        name: token.map(|(_, name)| name),
    };
    context.print(&report)?;
    started(&report)?;
    let is_over = AtomicBool::new(false);
    let served = std::thread::scope(|threads| {
        threads.spawn(|| index_runs(&views, first.as_deref(), &is_over));
        let served = server.run(&UntilInterrupted(&interrupt));
        is_over.store(true, Ordering::SeqCst);
        served
    });
    served.map_err(|error| CliError::new(Code::Listen, format!("the server stopped: {error}")))?;
    context.say("stopped");
    Ok(Exit::Yes)
}

/// Reads the runs that the list of runs says little about, while nobody waits for it.
fn index_runs(views: &Views, first: Option<&str>, is_over: &AtomicBool) {
    if let Some(run) = first {
        views.count_lines(run);
    }
    while !is_over.load(Ordering::SeqCst) {
        // A store that cannot be read is reported by the requests that need it.
        let has_more = views.index_some(INDEXED_AT_ONCE).unwrap_or(false);
        let until = std::time::Instant::now() + INDEX_PAUSE;
        while !has_more && !is_over.load(Ordering::SeqCst) && std::time::Instant::now() < until {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

struct UntilInterrupted<'a>(&'a Interrupt);

impl hence_server::Stop for UntilInterrupted<'_> {
    fn is_wanted(&self) -> bool {
        self.0.is_wanted()
    }
}
