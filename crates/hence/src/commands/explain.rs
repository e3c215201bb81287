//! `hence explain`: the page of an error code.

use crate::args::ExplainArgs;
use crate::prelude::*;

/// Error codes and their meaning.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExplainReport {
    /// The requested codes.
    codes: Vec<CodeReport>,
}

/// One error code.
#[derive(Serialize, JsonSchema)]
struct CodeReport {
    /// The code.
    code: &'static str,
    /// The meaning in one line.
    title: &'static str,
    /// The page in Markdown, if one code was requested.
    page: Option<&'static str>,
}

impl Text for ExplainReport {
    fn text(&self) -> String {
        match self.codes.as_slice() {
            [CodeReport { page: Some(page), .. }] => (*page).to_owned(),
            codes => {
                let rows: Vec<[String; 2]> =
                    codes.iter().map(|code| [code.code.to_owned(), code.title.to_owned()]).collect();
                columns(&rows)
            }
        }
    }
}

pub(super) fn run(context: &Context, args: &ExplainArgs) -> Result<Exit, CliError> {
    let report = |code: Code, page| CodeReport { code: code.as_str(), title: code.title(), page };
    let codes = match &args.code {
        None => Code::ALL.iter().map(|code| report(*code, None)).collect(),
        Some(text) => match Code::find(text) {
            Some(code) => vec![report(code, Some(code.page()))],
            None => {
                return Err(CliError::new(Code::NoSuchPlace, format!("no error code {text:?}"))
                    .with_hint(hint::LIST_CODES));
            }
        },
    };
    context.print(&ExplainReport { codes })?;
    Ok(Exit::Yes)
}
