//! `hence schema`: the JSON Schema of each command's `--json` output.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use super::run::RunReport;
use super::{
    check, completions, diff, doctor, explain, export, hash, import, lineage, log, policy, position, replay,
    review, runs, show, state, stats, trace, verify, why,
};
use crate::args::SchemaArgs;
use crate::code::Code;
use crate::context::{Context, ErrorReport};
use crate::error::CliError;
use crate::exit::Exit;
use crate::hint;
use crate::report::Text;

/// A name, and how to make the schema of what is printed under it.
pub(super) type Named = (&'static str, fn() -> Schema);

/// The commands that print JSON.
const SCHEMAS: &[Named] = &[
    ("run", schema_of::<RunReport>),
    ("resume", schema_of::<RunReport>),
    ("checkpoint", schema_of::<position::PositionReport>),
    ("rollback", schema_of::<position::PositionReport>),
    ("run-skill", schema_of::<crate::skills::SkillRunReport>),
    ("fork", schema_of::<crate::skills::SkillRunReport>),
    ("answer", schema_of::<crate::skills::AnswerReport>),
    ("check", schema_of::<check::CheckReport>),
    ("blame", schema_of::<lineage::LineageReport>),
    ("impact", schema_of::<lineage::LineageReport>),
    ("runs", schema_of::<runs::RunsReport>),
    ("log", schema_of::<log::LogReport>),
    ("show", schema_of::<show::ShowReport>),
    ("state", schema_of::<state::StateReport>),
    ("verify", schema_of::<verify::VerifyReport>),
    ("why", schema_of::<why::WhyReport>),
    ("replay", schema_of::<replay::ReplayReport>),
    ("diff", schema_of::<diff::DiffReport>),
    ("export", schema_of::<export::ExportReport>),
    ("hash", schema_of::<hash::HashReport>),
    ("stats", schema_of::<stats::StoreStats>),
    ("stats-run", schema_of::<stats::RunStats>),
    ("doctor", schema_of::<doctor::DoctorReport>),
    ("explain", schema_of::<explain::ExplainReport>),
    ("completions", schema_of::<completions::CompletionsReport>),
    // Not a command: what every command prints to stderr when it is refused.
    ("error", schema_of::<ErrorReport<'_>>),
    // Not a command either: what people write, for their editors.
    ("skill", skill_document),
    ("capabilities", capabilities_file),
];

/// Makes the schema of what is printed: a member that is always there is required, also where it may be null.
pub(super) fn schema_of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// Every name: those of this level and those of families of commands.
fn all() -> impl Iterator<Item = &'static Named> {
    SCHEMAS
        .iter()
        .chain(import::SCHEMAS)
        .chain(super::vars::SCHEMAS)
        .chain(policy::SCHEMAS)
        .chain(trace::SCHEMAS)
        .chain(review::SCHEMAS)
}

/// Returns the schema of skill documents.
fn skill_document() -> Schema {
    let text = hence_cognition::skill::json_schema().to_string();
    serde_json::from_str(&text).expect("a JSON Schema is an object")
}

/// Returns the schema of capabilities files.
fn capabilities_file() -> Schema {
    let text = hence_capabilities::registry::json_schema(&crate::skills::kinds()).to_string();
    serde_json::from_str(&text).expect("a JSON Schema is an object")
}

/// Returns a schema with its members sorted. Without it their order would follow a feature of serde_json that any
/// dependency can switch on.
fn sorted(schema: Schema) -> serde_json::Value {
    let mut schema = schema.to_value();
    schema.sort_all_objects();
    schema
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
}

pub(super) fn run(context: &Context, args: &SchemaArgs) -> Result<Exit, CliError> {
    let report = match &args.command {
        None => SchemaReport::Names(all().map(|(name, _)| *name).collect()),
        Some(command) => match all().find(|(name, _)| name == command) {
            Some((_, schema)) => SchemaReport::One(Box::new(sorted(schema()))),
            None => {
                return Err(CliError::new(Code::NoSuchPlace, format!("no schema for {command:?}"))
                    .with_hint(hint::LIST_SCHEMAS));
            }
        },
    };
    context.print(&report)?;
    Ok(Exit::Yes)
}
