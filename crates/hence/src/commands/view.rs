//! `hence view`: a run in the browser, or as one file.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use hence_canon::Value;

use super::serve::{Serving, own_access, serve};
use super::trace::export::read_trace_file;
use crate::args::view::ViewArgs;
use crate::new_file::{self, Existing, Mode};
use crate::prelude::*;
use crate::view::{Embedding, Views, segment};

/// The programs that open an address, in the order in which they are tried.
const OPENERS: [&str; 3] = ["xdg-open", "open", "wslview"];

/// A page that was written.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ViewReport {
    /// The run or trace.
    run: String,
    /// The file.
    file: String,
    /// Its size.
    bytes: usize,
    /// The parts that are not in it, in sentences.
    left_out: Vec<String>,
}

impl Text for ViewReport {
    fn text(&self) -> String {
        let mut rows =
            vec![("run", escape(&self.run)), ("page", escape(&self.file)), ("bytes", self.bytes.to_string())];
        rows.extend(self.left_out.iter().map(|left_out| ("left out", escape(left_out))));
        pairs(&rows)
    }
}

pub(super) fn run(context: &Context, args: &ViewArgs) -> Result<Exit, CliError> {
    let trace = match &args.target {
        Some(target) => read_trace_file(target)?,
        None => None,
    };
    let views = Views::of_store(context.place.clone());
    let views = match &trace {
        Some(trace) => views.with_trace(named_trace(trace, args)),
        None => {
            context.store()?;
            views
        }
    };
    let name = match (views.trace_id(), &args.target) {
        (Some(id), _) => Some(id.to_owned()),
        (None, Some(target)) => Some(views.full_id(target)?),
        (None, None) => None,
    };
    if let Some(path) = &args.html {
        let Some(name) = name else {
            let message = "a page in one file is about one run or trace";
            return Err(CliError::new(Code::NoSuchRun, message).with_hint(hint::NAME_ONE));
        };
        return write_page(context, &views, &name, path, args.replace.existing());
    }
    if !args.listen.ip().is_loopback() {
        let message = format!("{} can be reached from elsewhere; `hence serve` does that", args.listen);
        return Err(CliError::new(Code::Listen, message).with_hint(hint::TOKENS_NEEDED));
    }
    let (access, token, person) = own_access(args.name.as_deref())?;
    let to = name.as_ref().map_or_else(|| "/".to_owned(), |name| format!("/run/{}", segment(name)));
    let (token, views) = (Some((token, person)), Arc::new(views));
    let serving = Serving { listen: args.listen, hosts: &[], views, to, first: name, access, token };
    serve(context, serving, |report| {
        if !args.no_open {
            open_browser(context, report.url());
        }
        Ok(())
    })
}

/// Returns a trace that has an id: its own, or the name of its file.
fn named_trace(trace: &Value, args: &ViewArgs) -> Value {
    let has_id = trace.get("trace_id").and_then(Value::as_str).is_some_and(|id| !id.is_empty());
    match trace.as_object().filter(|_| !has_id) {
        Some(object) => {
            let file = args.target.as_deref().map(Path::new).and_then(Path::file_stem);
            let name = file.and_then(|name| name.to_str()).unwrap_or("trace");
            object.with("trace_id", name).into()
        }
        None => trace.clone(),
    }
}

fn write_page(
    context: &Context,
    views: &Views,
    name: &str,
    path: &Path,
    existing: Existing,
) -> Result<Exit, CliError> {
    let embedding: Embedding = views.embedding(name)?;
    let unwritable =
        |error: String| CliError::new(Code::Stopped, format!("the page cannot be made: {error}"));
    let data = serde_json::to_vec(&embedding).map_err(|error| unwritable(error.to_string()))?;
    let page = hence_server::single_file(&data).map_err(|error| unwritable(error.to_string()))?;
    new_file::write(path, page.as_bytes(), Mode::Plain, existing)?;
    context.print(&ViewReport {
        run: embedding.run().to_owned(),
        file: path.display().to_string(),
        bytes: page.len(),
        left_out: embedding.left_out,
    })?;
    Ok(Exit::Yes)
}

/// Opens an address in the browser of this machine, if there is one. Nothing depends on it: the address is printed.
///
/// The program is not supervised as those of capabilities are: a browser outlives the command that opened it.
fn open_browser(context: &Context, url: &str) {
    let quiet = |program: &&str| {
        let mut command = Command::new(program);
        command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().is_ok()
    };
    if !OPENERS.iter().any(quiet) {
        context.say("no browser was found; open the address above");
    }
}
