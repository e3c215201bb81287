//! `hence new` and `hence init`: first versions of documents, and an empty store.

use std::path::{Path, PathBuf};

use super::schema;
use crate::args::new::{InitArgs, NewArgs, NewKind};
use crate::clock;
use crate::new_file::{self, Existing, Mode};
use crate::prelude::*;

/// The folder next to a document that holds the JSON Schemas its first line names, for editors.
const SCHEMAS: &str = ".schemas";

/// The longest name of a document.
const NAME_CHARACTERS_MAX: usize = 64;

/// Documents that were written.
#[derive(Serialize, JsonSchema)]
pub(crate) struct NewReport {
    /// The files that were written, without the schemas for editors.
    files: Vec<String>,
    /// The schemas for editors.
    schemas: Vec<String>,
    /// Commands to go on with.
    next: Vec<String>,
}

impl Text for NewReport {
    fn text(&self) -> String {
        let rows = |name: &'static str, texts: &[String]| -> Vec<(&'static str, String)> {
            texts.iter().map(|text| (name, escape(text))).collect()
        };
        pairs(&[rows("wrote", &self.files), rows("next", &self.next)].concat())
    }
}

/// A file to write: its path, its content and the name of the schema in its first line, if it has one.
struct Planned {
    path: PathBuf,
    text: String,
    schema: Option<&'static str>,
}

pub(super) fn run(context: &Context, args: &NewArgs) -> Result<Exit, CliError> {
    let name = checked_name(&args.name)?;
    let planned = planned(args, name, &clock::now()?.to_string());
    let existing = Existing::forced(args.force);
    new_file::refuse_existing(planned.iter().map(|file| file.path.as_path()), existing)?;
    let mut schemas = Vec::new();
    for file in &planned {
        // The schema comes first: a document that names a missing one would be worse than a schema nobody names.
        if let Some(schema) = file.schema {
            let folder = file.path.parent().unwrap_or(Path::new("")).join(SCHEMAS);
            let path = folder.join(format!("{schema}.json"));
            let text = format!("{}\n", schema::document(schema).unwrap_or_default());
            new_file::write(&path, text.as_bytes(), Mode::Plain, Existing::Replace)?;
            schemas.push(path.display().to_string());
        }
        new_file::write(&file.path, file.text.as_bytes(), Mode::Plain, existing)?;
    }
    let files: Vec<String> = planned.iter().map(|file| file.path.display().to_string()).collect();
    let next = advice(context, next(context, args.kind, files.first().map_or("", String::as_str)));
    context.print(&NewReport { files, schemas, next })?;
    Ok(Exit::Yes)
}

/// Leaves advice out of a text that is to hold results only.
fn advice(context: &Context, next: Vec<String>) -> Vec<String> {
    if context.is_quiet() && !context.is_json() { Vec::new() } else { next }
}

/// Refuses names that are no plain file names or ids.
fn checked_name(name: &str) -> Result<&str, CliError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&c);
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins && name.chars().all(is_plain) && name.len() <= NAME_CHARACTERS_MAX {
        return Ok(name);
    }
    let message = format!(
        "expected a name of letters, digits, `-`, `_` and `.`, up to {NAME_CHARACTERS_MAX} and beginning with a letter or digit, found {name:?}"
    );
    Err(CliError::new(Code::Argument, message).with_hint(hint::OTHER_NAME))
}

fn planned(args: &NewArgs, name: &str, created_at: &str) -> Vec<Planned> {
    let file = |path: PathBuf, template: &str, schema: Option<&'static str>| {
        let text = template.replace("NAME", name).replace("FILE", &path.display().to_string());
        Planned { path, text, schema }
    };
    let folder = args.dir.as_path();
    let capabilities =
        |path: PathBuf| file(path, include_str!("../templates/capabilities.yaml"), Some("capabilities"));
    match args.kind {
        NewKind::Skill => {
            let folder = folder.join(name);
            let skill =
                file(folder.join("skill.yaml"), include_str!("../templates/skill.yaml"), Some("skill"));
            vec![skill, capabilities(folder.join("capabilities.yaml"))]
        }
        NewKind::Problem => {
            let path = folder.join(format!("{name}.json"));
            let template = include_str!("../templates/problem.json").replace("CREATED_AT", created_at);
            vec![file(path, &template, None)]
        }
        NewKind::Capabilities => vec![capabilities(folder.join(format!("{name}.capabilities.yaml")))],
        NewKind::Policy => {
            let path = folder.join(format!("{name}.policy.yaml"));
            vec![file(path, include_str!("../templates/policy.yaml"), Some("policy"))]
        }
    }
}

fn next(context: &Context, kind: NewKind, file: &str) -> Vec<String> {
    let command = |words: &[&str]| hint::command(context, words);
    let mut next = vec![command(&["check", file])];
    match kind {
        NewKind::Skill => {
            next.push(command(&[
                "run",
                file,
                "--input",
                r#"notes=["buy milk", "call the bank about the account"]"#,
            ]));
        }
        NewKind::Problem => next.push(command(&["run", file])),
        NewKind::Capabilities => next.push(command(&["capabilities", "--capabilities", file])),
        NewKind::Policy => next.push(command(&["policy", "test", file])),
    }
    next
}

/// A store that exists now.
#[derive(Serialize, JsonSchema)]
pub(crate) struct InitReport {
    /// The folder of the store.
    store: String,
    /// True if it was created now.
    created: bool,
    /// Commands to go on with.
    next: Vec<String>,
}

impl Text for InitReport {
    fn text(&self) -> String {
        let what = if self.created { "created" } else { "exists" };
        let mut rows = vec![("store", escape(&format!("{} ({what})", self.store)))];
        rows.extend(self.next.iter().map(|next| ("next", escape(next))));
        pairs(&rows)
    }
}

pub(super) fn init(context: &Context, _args: &InitArgs) -> Result<Exit, CliError> {
    let created = context.place.is_empty();
    context.store_or_new()?;
    let next = vec![hint::command(context, &["new", "skill", "first"]), hint::command(context, &["runs"])];
    context.print(&InitReport { store: context.place.to_string(), created, next: advice(context, next) })?;
    Ok(Exit::Yes)
}
