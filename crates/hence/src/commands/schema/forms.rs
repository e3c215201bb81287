//! The commands that print one of several forms of JSON, and the schema that describes all of them.

use schemars::Schema;
use serde_json::{Map, Value, json};

use super::Named;

/// The commands whose JSON has several forms, each with the names of their schemas.
pub(super) const FORMS: &[(&str, &[&str])] = &[
    ("run", &["run-problem", "run-skill"]),
    ("resume", RUNS),
    ("fork", &["run-problem", "run-skill", "solve", "position"]),
    ("retry", RUNS),
    ("answer", &["answer-given", "run-problem", "run-skill", "solve"]),
    ("capabilities", &["capabilities-file", "capabilities-list"]),
    ("verify", &["verify-run", "store-verify"]),
    ("stats", &["stats-store", "stats-run"]),
    ("import", &["import-bundle", "import-log", "trace"]),
    ("view", &["view-page", "serve"]),
    ("hash", &["hash-digest", "document"]),
    ("review-status", &["review-one", "review-list"]),
    ("trace-export", &["trace-file", "trace", "document"]),
    ("trace-residuals", &["trace-gaps", "trace-edit", "trace"]),
    ("trace-bind", &["trace-bound", "trace"]),
    ("trace-meta-set", EDITS),
    ("trace-meta-merge", EDITS),
    ("trace-meta-split", EDITS),
    ("trace-meta-drop", EDITS),
    ("trace-meta-derive", EDITS),
];

/// The forms of a command that continues a run of any kind.
const RUNS: &[&str] = &["run-problem", "run-skill", "solve"];

/// The forms of a command that edits a trace: a report with `--out`, the trace itself without.
const EDITS: &[&str] = &["trace-edit", "trace"];

/// Returns a schema that each of the forms fits. Each form is a definition under its own name.
///
/// It says `anyOf`: members may be added to a report, so a report may fit more than one form.
pub(super) fn any_of(command: &str, forms: impl Iterator<Item = Named>) -> Schema {
    let (mut choices, mut definitions) = (Vec::new(), Map::new());
    for (name, schema) in forms {
        let place = format!("#/$defs/{name}");
        let mut form = schema().to_value();
        if let Some(members) = form.as_object_mut() {
            members.remove("$schema");
        }
        move_references(&mut form, &place);
        definitions.insert(name.to_owned(), form);
        choices.push(json!({ "$ref": place }));
    }
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": command,
        "anyOf": choices,
        "$defs": definitions,
    });
    Schema::try_from(schema).expect("a JSON Schema is an object")
}

/// Changes the references of a schema that becomes a definition: they named places below its own root.
fn move_references(schema: &mut Value, place: &str) {
    match schema {
        Value::Object(members) => {
            for (key, member) in members.iter_mut() {
                match member {
                    Value::String(reference) if key == "$ref" => {
                        if let Some(below) = reference.strip_prefix('#') {
                            *reference = format!("{place}{below}");
                        }
                    }
                    _ => move_references(member, place),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| move_references(item, place)),
        _ => {}
    }
}
