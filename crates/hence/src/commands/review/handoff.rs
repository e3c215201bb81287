//! `hence review handoff`: the reviewer's packet.

use hence_review::docket::{handoff, handoff_markdown};
use schemars::JsonSchema;
use serde::Serialize;

use super::desk::Desk;
use crate::args::ReviewNameArgs;
use crate::context::Context;
use crate::data::Data;
use crate::error::CliError;
use crate::exit::Exit;
use crate::report::Text;

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
}

pub(super) fn run(context: &Context, args: &ReviewNameArgs) -> Result<Exit, CliError> {
    let (_, review) = Desk::open(context)?.read_whole(&args.review)?;
    context.print(&HandoffReport { packet: Data(handoff(&review)), markdown: handoff_markdown(&review) })?;
    Ok(Exit::Yes)
}
