//! Writing a changed trace as a new document.

use hence_canon::Value;
use hence_review::ContentHash;
use hence_review::succession::{Succession, SuccessionError, Successor, succeed};
use hence_review::validate::validate;
use hence_review::wire::Trace;

use crate::args::EditArgs;
use crate::commands::review::stamp::given;
use crate::prelude::*;

/// A changed trace that was written to a file.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EditReport {
    /// The file.
    file: String,
    /// The trace's id.
    trace_id: String,
    /// The trace it replaces; nothing for a draft.
    supersedes: Option<String>,
    /// Its content hash.
    content_hash: String,
    /// The ids of the changed gaps or units.
    changed: Vec<String>,
    /// The number of its validation errors.
    errors: usize,
}

impl Text for EditReport {
    fn text(&self) -> String {
        let mut rows = vec![("trace", escape(&self.trace_id)), ("file", escape(&self.file))];
        rows.extend(self.supersedes.iter().map(|id| ("replaces", escape(id))));
        let changed: Vec<String> = self.changed.iter().map(|id| escape(id)).collect();
        rows.push(("changed", if changed.is_empty() { "nothing".to_owned() } else { changed.join(", ") }));
        rows.push(("content", self.content_hash.clone()));
        if self.errors > 0 {
            rows.push(("errors", format!("{}; `hence trace validate` lists them", self.errors)));
        }
        pairs(&rows)
    }
}

/// Writes the successor or draft of a changed trace.
pub(super) fn write(
    context: &Context,
    args: &EditArgs,
    before: &Value,
    changed: &Value,
    ids: Vec<String>,
) -> Result<Exit, CliError> {
    let how = if args.draft {
        Succession::Draft
    } else {
        let (created_by, created_at) = given(&args.stamp)?;
        Succession::Successor(Successor { id: args.id.clone(), created_by, created_at })
    };
    let document = succeed(before, changed, &how).map_err(refused)?;
    let Some(path) = args.output.write(context, &document)? else { return Ok(Exit::Yes) };
    let old = Trace::read(before).trace_id().map(str::to_owned);
    context.print(&EditReport {
        file: path.display().to_string(),
        trace_id: Trace::read(&document).trace_id().unwrap_or("").to_owned(),
        supersedes: old.filter(|_| !args.draft),
        content_hash: ContentHash::of(&document).to_string(),
        changed: ids,
        errors: validate(&document).errors().count(),
    })?;
    Ok(Exit::Yes)
}

fn refused(error: SuccessionError) -> CliError {
    let hint = match &error {
        SuccessionError::Bound => Some(hint::NO_DRAFT),
        SuccessionError::NoId => Some(hint::TRACE_ID_OR_DRAFT),
        SuccessionError::SameId(_) => Some(hint::OTHER_SUCCESSOR_ID),
        _ => None,
    };
    CliError::from_error(Code::TraceUnchanged, error).with_hint(hint)
}
