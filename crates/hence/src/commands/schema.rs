//! `hence schema`: the JSON Schema of each command's `--json` output.

use schemars::{Schema, schema_for};
use serde::Serialize;

use super::run::RunReport;
use super::{diff, doctor, explain, export, hash, import, log, replay, runs, show, state, stats, verify};
use crate::args::SchemaArgs;
use crate::code::Code;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::report::Text;

/// A name, and how to make the schema of what is printed under it.
type Named = (&'static str, fn() -> Schema);

/// The commands that print JSON.
const SCHEMAS: &[Named] = &[
    ("run", || schema_for!(RunReport)),
    ("resume", || schema_for!(RunReport)),
    ("runs", || schema_for!(runs::RunsReport)),
    ("log", || schema_for!(log::LogReport)),
    ("show", || schema_for!(show::ShowReport)),
    ("state", || schema_for!(state::StateReport)),
    ("verify", || schema_for!(verify::VerifyReport)),
    ("replay", || schema_for!(replay::ReplayReport)),
    ("diff", || schema_for!(diff::DiffReport)),
    ("export", || schema_for!(export::ExportReport)),
    ("import", || schema_for!(import::ImportReport)),
    ("hash", || schema_for!(hash::HashReport)),
    ("stats", || schema_for!(stats::StoreStats)),
    ("stats-run", || schema_for!(stats::RunStats)),
    ("doctor", || schema_for!(doctor::DoctorReport)),
    ("explain", || schema_for!(explain::ExplainReport)),
];

fn all() -> impl Iterator<Item = &'static Named> {
    SCHEMAS.iter().chain(super::vars::SCHEMAS)
}

#[derive(Serialize)]
#[serde(untagged)]
enum SchemaReport {
    Names(Vec<&'static str>),
    One(Box<Schema>),
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
            Some((_, schema)) => SchemaReport::One(Box::new(schema())),
            None => {
                return Err(CliError::new(Code::NoSuchPlace, format!("no schema for {command:?}"))
                    .advise("`hence schema` lists the names"));
            }
        },
    };
    context.print(&report)?;
    Ok(Exit::Yes)
}
