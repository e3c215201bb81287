//! `hence trace hash`: the content hash that a review is bound to.

use hence_review::ContentHash;

use super::document::Document;
use crate::args::TraceFileArgs;
use crate::prelude::*;

/// The content hash of a trace.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HashReport {
    /// The trace's id, if it has one.
    trace_id: Option<String>,
    /// SHA-256 over the trace without its binding stamps, as `sha256:` and hex.
    content_hash: String,
    /// The hash the trace carries, if it carries one.
    recorded: Option<String>,
    /// Whether that is the hash of its content; nothing when it carries none.
    matches: Option<bool>,
}

impl Text for HashReport {
    fn text(&self) -> String {
        self.content_hash.clone()
    }

    fn form(&self) -> Form {
        Form::Document
    }
}

pub(super) fn run(context: &Context, args: &TraceFileArgs) -> Result<Exit, CliError> {
    let document = Document::of_file_or_run(context, &args.file)?;
    let trace = document.trace();
    let content_hash = ContentHash::of(&document.value).to_string();
    let recorded = trace.entry().text("content_hash").map(str::to_owned);
    let matches = recorded.as_ref().map(|recorded| *recorded == content_hash);
    context.print(&HashReport {
        trace_id: trace.trace_id().map(str::to_owned),
        content_hash,
        recorded,
        matches,
    })?;
    if matches == Some(false) {
        context.say("the trace carries another content_hash: it was changed after it was bound");
    }
    Ok(if matches == Some(false) { Exit::No } else { Exit::Yes })
}
