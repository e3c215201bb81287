//! `hence trace report`: a trace in Markdown, for a pull request.

use hence_review::grade::Compliance;
use hence_review::markdown_report;

use super::document::Document;
use super::grade::graded;
use crate::args::TraceFileArgs;
use crate::prelude::*;

/// A report in Markdown.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MarkdownReport {
    /// The text; parts that come from the trace are escaped.
    markdown: String,
}

impl Text for MarkdownReport {
    fn text(&self) -> String {
        self.markdown.clone()
    }

    fn form(&self) -> Form {
        Form::Document
    }
}

pub(super) fn run(context: &Context, args: &TraceFileArgs) -> Result<Exit, CliError> {
    let document = Document::of_file_or_run(context, &args.file)?;
    let trace = document.trace();
    let grade = graded(&document, &trace);
    let markdown = markdown_report(&trace, &grade, Compliance::recorded(&trace).as_ref());
    context.print(&MarkdownReport { markdown })?;
    Ok(Exit::Yes)
}
