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
    let report = match args.command.join("-").replace(' ', "-").as_str() {
        "" => SchemaReport::Names(all().map(|(name, _)| *name).collect()),
        command => match find(command) {
            Some((_, schema)) => SchemaReport::One(Box::new(sorted(schema()))),
            None => return Err(unknown(command)),
        },
    };
    context.print(&report)?;
    Ok(Exit::Yes)
}

/// The commands that print the same JSON as another one, by the name of its schema.
const SHARED: &[(&str, &[&str])] = &[
    ("capabilities-list", &["capabilities"]),
    (
        "vars-change",
        &[
            "vars-init",
            "vars-spawn",
            "vars-set",
            "vars-rename",
            "vars-rm",
            "vars-checkpoint",
            "vars-rollback",
            "vars-final",
            "vars-fail",
            "vars-cancel",
            "vars-import",
        ],
    ),
    ("vars-get", &["vars-result"]),
    (
        "trace-author",
        &[
            "trace-init",
            "trace-act",
            "trace-artifact",
            "trace-reference",
            "trace-observe",
            "trace-link",
            "trace-residual",
            "trace-complete",
        ],
    ),
    (
        "review-entry",
        &[
            "review-comment",
            "review-item",
            "review-gap",
            "review-check",
            "review-ack",
            "review-resolve",
            "review-waive",
            "review-approve",
            "review-reject",
            "review-request-changes",
            "review-escalate",
            "review-rescind",
        ],
    ),
    (
        "queue-list",
        &["queue-add", "queue-remove", "queue-pause", "queue-resume", "queue-limit", "queue-restored"],
    ),
    ("queue-schedules", &["queue-schedule", "queue-unschedule"]),
];

/// Finds a schema by its name, or by the words of a command that prints it. A file that people write comes before a report.
fn find(name: &str) -> Option<&'static Named> {
    let shared = || SHARED.iter().find(|(_, commands)| commands.contains(&name)).map(|(schema, _)| *schema);
    let named = |name: &str| all().find(|(known, _)| *known == name);
    DOCUMENTS.iter().find(|(known, _)| *known == name).or_else(|| named(name)).or_else(|| named(shared()?))
}

fn unknown(name: &str) -> CliError {
    let of_family = |known: &&str| known.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'));
    let family: Vec<&str> = all().map(|(known, _)| *known).filter(of_family).collect();
    let message = match family.is_empty() {
        true => format!("no schema for {name:?}{}", did_you_mean(name, all().map(|(name, _)| *name))),
        false => format!("the commands of `{name}` print different JSON: {}", family.join(", ")),
    };
    CliError::new(Code::NoSuchPlace, message).with_hint(hint::LIST_SCHEMAS)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::find;

    /// Commands without a report: they print a document, a script, or what the commands typed into them print.
    const WITHOUT: &[&str] = &["task", "schema", "repl", "help"];

    #[test]
    fn every_command_finds_its_schema_by_its_own_words() {
        let mut left = vec![(String::new(), crate::args::Args::command())];
        let mut found = 0;
        while let Some((path, command)) = left.pop() {
            for sub in command.get_subcommands() {
                let name = if path.is_empty() {
                    sub.get_name().to_owned()
                } else {
                    format!("{path}-{}", sub.get_name())
                };
                let is_family =
                    sub.has_subcommands() && find(&name).is_none_or(|_| matches!(&*name, "trace" | "policy"));
                if is_family {
                    left.push((name, sub.clone()));
                } else if !WITHOUT.contains(&&*name) {
                    assert!(find(&name).is_some(), "no schema for `{name}`");
                    found += 1;
                }
            }
        }
        assert!(found > 80, "{found}");
    }
}
