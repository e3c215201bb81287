//! `hence review handoff`: the reviewer's packet.

use hence_review::review_log::{handoff, handoff_markdown};
use hence_review::wire::Trace;

use super::store::ReviewStore;
use crate::args::ReviewHandoffArgs;
use crate::commands::trace::document::Document;
use crate::prelude::*;

/// The packet. Its JSON form is the document itself.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct HandoffReport {
    packet: Data,
    #[serde(skip)]
    #[schemars(skip)]
    markdown: String,
}

impl Text for HandoffReport {
    fn text(&self) -> String {
        self.markdown.clone()
    }

    fn form(&self) -> Form {
        Form::Document
    }
}

pub(super) fn run(context: &Context, args: &ReviewHandoffArgs) -> Result<Exit, CliError> {
    let earlier = args
        .after
        .iter()
        .map(|name| Document::of_file_or_run(context, name).map(|document| document.trace()));
    let earlier = earlier.collect::<Result<Vec<Trace>, _>>()?;
    let review = ReviewStore::open(context)?.read_whole(&args.review)?;
    let packet = Data(handoff(&review, &earlier));
    context.print(&HandoffReport { packet, markdown: handoff_markdown(&review, &earlier) })?;
    Ok(Exit::Yes)
}
