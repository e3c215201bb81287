//! `hence schema`: prints the JSON Schema of a command's `--json` output.

use hence_canon::did_you_mean;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use super::vars::VarsCommand;
use super::{Command, PolicyCommand, ReviewCommand, StoreCommand, TraceCommand};
use crate::args::SchemaArgs;
use crate::fleet::QueueCommand;
use crate::prelude::*;

/// A name, and the function that makes the schema of the JSON printed under it.
pub(crate) type Named = (&'static str, fn() -> Schema);

/// The schemas of documents rather than of reports: people and editors read them.
const DOCUMENTS: &[Named] = &[
    ("problem", problem_document),
    ("skill", skill_document),
    ("capabilities", capabilities_file),
    ("policy", policy_file),
    ("trace", trace_document),
];

/// Returns the schema of a report. A member that is always there is required, even where it may be null.
pub(crate) fn schema_of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

fn all() -> impl Iterator<Item = &'static Named> {
    let families = [
        Command::SCHEMAS,
        VarsCommand::SCHEMAS,
        PolicyCommand::SCHEMAS,
        StoreCommand::SCHEMAS,
        QueueCommand::SCHEMAS,
        TraceCommand::SCHEMAS,
        ReviewCommand::SCHEMAS,
        DOCUMENTS,
    ];
    families.into_iter().flatten()
}

fn problem_document() -> Schema {
    from_value(&hence_state::ProblemSpec::json_schema())
}

fn skill_document() -> Schema {
    from_value(&hence_cognition::skill::json_schema())
}

fn capabilities_file() -> Schema {
    from_value(&hence_capabilities::registry::json_schema(&crate::skills::kinds()))
}

fn policy_file() -> Schema {
    from_value(&hence_policy::policy::json_schema())
}

fn trace_document() -> Schema {
    from_value(&hence_review::model::json_schema())
}

fn from_value(schema: &impl ToString) -> Schema {
    serde_json::from_str(&schema.to_string()).expect("a JSON Schema is an object")
}

/// Returns a schema with its members sorted. Otherwise their order would depend on a feature of serde_json that any
/// dependency can enable.
fn sorted(schema: Schema) -> serde_json::Value {
    let mut schema = schema.to_value();
    schema.sort_all_objects();
    schema
}

/// Returns the text of the schema of a document that people write.
pub(super) fn document(name: &str) -> Option<String> {
    let (_, schema) = DOCUMENTS.iter().find(|(known, _)| *known == name)?;
    serde_json::to_string_pretty(&sorted(schema())).ok()
}

#[derive(Serialize)]
#[serde(untagged)]
enum SchemaReport {
    Names(Vec<&'static str>),
    One(Box<serde_json::Value>),
}

impl Text for SchemaReport {
    fn text(&self) -> String {
        match self {
            Self::Names(names) => names.join("\n"),
            Self::One(schema) => serde_json::to_string_pretty(schema).unwrap_or_default(),
        }
    }

    fn form(&self) -> Form {
        Form::Document
    }
}

pub(super) fn run(context: &Context, args: &SchemaArgs) -> Result<Exit, CliError> {
    let report = match &args.command {
        None => SchemaReport::Names(all().map(|(name, _)| *name).collect()),
        Some(command) => match all().find(|(name, _)| name == command) {
            Some((_, schema)) => SchemaReport::One(Box::new(sorted(schema()))),
            None => {
                let meant = did_you_mean(command, all().map(|(name, _)| *name));
                return Err(CliError::new(Code::NoSuchPlace, format!("no schema for {command:?}{meant}"))
                    .with_hint(hint::LIST_SCHEMAS));
            }
        },
    };
    context.print(&report)?;
    Ok(Exit::Yes)
}
