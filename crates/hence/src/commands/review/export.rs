//! `hence review export`: trace and review as one document.

use hence_review::review_log::merged;

use super::store::ReviewStore;
use crate::args::ReviewNameArgs;
use crate::prelude::*;

/// The merged view. Its JSON form is the document itself.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct MergedReport(Data);

impl Text for MergedReport {
    fn text(&self) -> String {
        escape_json(&hence_canon::pretty(&self.0.0))
    }

    fn form(&self) -> Form {
        Form::Document
    }
}

pub(super) fn run(context: &Context, args: &ReviewNameArgs) -> Result<Exit, CliError> {
    let (review, head) = ReviewStore::open(context)?.read_with_head(&args.review)?;
    context.print(&MergedReport(Data(merged(&review, head))))?;
    Ok(Exit::Yes)
}
