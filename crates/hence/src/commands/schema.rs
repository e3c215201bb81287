//! `hence schema`: prints the JSON Schema of a command's `--json` output.

mod forms;

use hence_canon::did_you_mean;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use super::vars::VarsCommand;
use super::{Command, PolicyCommand, ReviewCommand, StoreCommand, TraceCommand};
use crate::args::SchemaArgs;
use crate::fleet::QueueCommand;
use crate::prelude::*;

use forms::{FORMS, any_of};

/// A name, and the function that makes the schema of the JSON printed under it.
pub(crate) type Named = (&'static str, fn() -> Schema);

/// The schemas of documents rather than of reports: people and editors read them.
const DOCUMENTS: &[Named] = &[
    ("problem", problem_document),
    ("skill", skill_document),
    ("capabilities-file", capabilities_file),
    ("policy", policy_file),
    ("trace", trace_document),
];

/// The schemas of documents that commands print without a report of their own.
const PRINTED: &[Named] =
    &[("task", task_document), ("schema", schema_document), ("document", other_document)];

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
        PRINTED,
    ];
    families.into_iter().flatten()
}

/// Returns every name that has a schema, each once.
fn names() -> Vec<&'static str> {
    let forms = FORMS.iter().map(|(command, _)| *command);
    let mut names: Vec<&str> = Vec::new();
    for name in forms.chain(all().map(|(name, _)| *name)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
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

fn task_document() -> Schema {
    schemars::json_schema!({
        "title": "TaskDocument",
        "description": "A task tree, a trajectory or a cost report of a run of `hence solve`.",
        "type": "object",
    })
}

fn schema_document() -> Schema {
    schemars::json_schema!({
        "title": "SchemaReport",
        "description": "The names of all schemas, or one JSON Schema.",
        "type": ["array", "object"],
        "items": {"type": "string"},
    })
}

fn other_document() -> Schema {
    schemars::json_schema!({
        "title": "OtherDocument",
        "description": "A document that is printed as it is, in a format of its own.",
    })
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
    let name = if name == "capabilities" { "capabilities-file" } else { name };
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
        "" => SchemaReport::Names(names()),
        command => match find(command) {
            Some(schema) => SchemaReport::One(Box::new(sorted(schema))),
            None => return Err(unknown(command)),
        },
    };
    context.print(&report)?;
    Ok(Exit::Yes)
}

/// The commands that print the same JSON as another one, by the name of its schema.
const SHARED: &[(&str, &[&str])] = &[
    ("position", &["checkpoint", "rollback"]),
    ("lineage", &["blame", "impact"]),
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
    ("capabilities-list", &["capabilities-show"]),
    ("trace-meta", &["trace-meta-list"]),
    ("trace-edit", &["trace-residuals-add", "trace-residuals-derive"]),
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

/// Finds the schema of a name: of everything that the command of these words prints, or of one report or document.
fn find(name: &str) -> Option<Schema> {
    let named = |name: &str| all().find(|(known, _)| *known == name).copied();
    if let Some((command, forms)) = FORMS.iter().find(|(command, _)| *command == name) {
        return Some(any_of(command, forms.iter().filter_map(|form| named(form))));
    }
    let shared = || SHARED.iter().find(|(_, commands)| commands.contains(&name)).map(|(schema, _)| *schema);
    named(name).or_else(|| named(shared()?)).map(|(_, schema)| schema())
}

fn unknown(name: &str) -> CliError {
    let of_family = |known: &&str| known.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'));
    let family: Vec<&str> = names().into_iter().filter(of_family).collect();
    let message = match family.is_empty() {
        true => format!("no schema for {name:?}{}", did_you_mean(name, names())),
        false => format!("the commands of `{name}` print different JSON: {}", family.join(", ")),
    };
    CliError::new(Code::NoSuchPlace, message).with_hint(hint::LIST_SCHEMAS)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::{FORMS, all, find};

    /// The commands that print JSON of no form of their own: `help` prints text, and `repl` what is typed into it prints.
    const WITHOUT: &[&str] = &["repl", "help"];

    #[test]
    fn every_form_of_a_command_has_a_schema() {
        for (command, forms) in FORMS {
            for form in *forms {
                assert!(all().any(|(known, _)| known == form), "{command}: {form}");
            }
        }
    }

    #[test]
    fn every_command_finds_its_schema_by_its_own_words() {
        let mut left = vec![(String::new(), crate::args::Args::command())];
        let (mut found, mut missing) = (0, Vec::new());
        while let Some((path, command)) = left.pop() {
            for sub in command.get_subcommands() {
                let name = if path.is_empty() {
                    sub.get_name().to_owned()
                } else {
                    format!("{path}-{}", sub.get_name())
                };
                if sub.has_subcommands() {
                    left.push((name, sub.clone()));
                } else if !WITHOUT.contains(&&*name) {
                    found += 1;
                    if find(&name).is_none() {
                        missing.push(name);
                    }
                }
            }
        }
        assert!(missing.is_empty(), "no schema for {missing:?}");
        assert!(found > 80, "{found}");
    }
}
