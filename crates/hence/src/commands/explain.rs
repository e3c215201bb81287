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
    code: String,
    /// The meaning in one line.
    title: &'static str,
    /// The page in Markdown, if one code was requested.
    page: Option<String>,
}

impl Text for ExplainReport {
    fn text(&self) -> String {
        match self.codes.as_slice() {
            [CodeReport { page: Some(page), .. }] => page.clone(),
            codes => {
                let rows: Vec<[String; 2]> =
                    codes.iter().map(|code| [code.code.clone(), code.title.to_owned()]).collect();
                columns(&rows)
            }
        }
    }

    fn form(&self) -> Form {
        match self.codes.as_slice() {
            [CodeReport { page: Some(_), .. }] => Form::Page,
            _ => Form::Lines,
        }
    }
}

/// The page of the rules of variables.
const RULES: &str = include_str!("../../../../docs/variables-rules.md");

/// Returns what a rule of variables says.
fn rule(name: &str) -> Option<String> {
    let row = RULES.lines().find_map(|line| {
        let mut cells = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ");
        (cells.next()?.eq_ignore_ascii_case(name)).then(|| (cells.next(), cells.next()))
    });
    let (says, codes) = row?;
    Some(format!("{}: {}\ncodes: {}\n", name.to_uppercase(), says?, codes?))
}

pub(super) fn run(context: &Context, args: &ExplainArgs) -> Result<Exit, CliError> {
    let report = |code: Code, page: Option<&str>| CodeReport {
        code: code.as_str().to_owned(),
        title: code.title(),
        page: page.map(str::to_owned),
    };
    let codes = match &args.code {
        None => Code::ALL.iter().map(|code| report(*code, None)).collect(),
        Some(text) => match Code::find(text) {
            Some(code) => vec![report(code, Some(code.page()))],
            None if rule(text).is_some() => {
                let page = rule(text);
                vec![CodeReport { code: text.to_uppercase(), title: "a rule of variables", page }]
            }
            None => {
                let meant = hence_canon::did_you_mean(text, Code::ALL.iter().map(|code| code.as_str()));
                return Err(CliError::new(Code::NoSuchPlace, format!("no error code {text:?}{meant}"))
                    .with_hint(hint::LIST_CODES));
            }
        },
    };
    context.print(&ExplainReport { codes })?;
    Ok(Exit::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_that_a_refusal_names_is_explained() {
        let source = include_str!("../../../variables/src/refusal.rs");
        let quoted = source.split('"').filter(|text| {
            let parts = text.split_once('-');
            parts.is_some_and(|(word, number)| {
                word.chars().all(|letter| letter.is_ascii_uppercase()) && number.parse::<u32>().is_ok()
            })
        });
        let rules: Vec<&str> = quoted.collect();
        assert!(rules.len() > 40, "{rules:?}");
        for name in rules.into_iter().chain(["FINAL-6", "FINAL-7", "RENAME-3", "NAME-4"]) {
            assert!(rule(name).is_some(), "{name} is not in docs/variables-rules.md");
        }
        assert_eq!(rule("READ-99"), None);
    }
}
