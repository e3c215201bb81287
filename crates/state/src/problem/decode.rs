//! The problem's schema, top down.

use std::sync::Arc;

use hence_canon::read::Found;
use hence_canon::{Canonical, Defect, DefectKind, JsonPointer, Value};

use super::settings::{Settings, read_settings};
use super::task::{ConstraintCheck, TaskSpec, read_constraint_checks, read_names, read_tasks};
use super::{NESTING_MAX, ProblemSpec};
use crate::schema::{Node, SchemaReader};
use crate::text::is_blank;
use crate::{
    Category, Finding, Findings, Profile, Rule, Stage, StepsRule, Timestamp, Typing, Version, finding,
};

/// The only major version of the document there is.
const MAJOR_VERSION: u64 = 1;

#[derive(Default)]
struct Inputs {
    prompt: Option<Arc<str>>,
    constraints: Vec<Arc<str>>,
    goals: Vec<Arc<str>>,
    evidence: Vec<Value>,
    assumptions: Vec<Arc<str>>,
    tasks: Vec<TaskSpec>,
    constraint_checks: Vec<ConstraintCheck>,
}

struct Draft {
    id: Option<Arc<str>>,
    created_at: Option<Timestamp>,
    inputs: Inputs,
    settings: Settings,
}

pub(super) fn decode(value: &Value, defects: &[Defect], profile: &Profile) -> Result<ProblemSpec, Findings> {
    let root = JsonPointer::root();
    let Some(object) = value.as_object() else {
        let rule = Rule { stage: Stage::NotObject, category: Category::ModelType };
        let found = Found::Value(value.clone());
        return Err(Findings::one(Finding::new(rule, "a problem, which is an object", found)));
    };
    let mut reader = SchemaReader::new(profile.typing, profile.steps, defects);
    let draft = read_problem(&mut reader, &Node { object, path: root.clone() });
    let depth = value.depth();
    if depth > NESTING_MAX {
        let message = format!("problem nests {depth} deep, limit is {NESTING_MAX}");
        reader.report(&root, Category::ValueError, message);
    }
    let mut findings = reader.into_findings();
    // A loop's own rules are reported after the schema of the whole document.
    findings.sort_by_key(|finding| finding.rule.stage);
    if findings.is_empty() {
        findings.extend(unhashable(defects));
    }
    match (Findings::some(findings), draft) {
        (None, Draft { id: Some(id), created_at: Some(created_at), inputs, settings }) => Ok(ProblemSpec {
            canonical: Canonical::of(value),
            id,
            created_at,
            prompt: inputs.prompt.unwrap_or_default(),
            constraints: inputs.constraints,
            goals: inputs.goals,
            evidence: inputs.evidence,
            assumptions: inputs.assumptions,
            tasks: inputs.tasks,
            constraint_checks: inputs.constraint_checks,
            settings,
        }),
        (Some(findings), _) => Err(findings),
        // A draft lacks a field only when there is a finding about it.
        (None, _) => Err(Findings::one(finding(Stage::Schema, root, "a required member could not be read"))),
    }
}

fn read_problem(reader: &mut SchemaReader<'_>, root: &Node<'_>) -> Draft {
    let mark = reader.mark();
    let version = reader.required(root, "version", SchemaReader::text);
    let id = reader.required(root, "id", SchemaReader::non_empty_text);
    let created_at = reader.required(root, "created_at", SchemaReader::timestamp);
    let inputs = reader.required(root, "inputs", read_inputs).unwrap_or_default();
    let settings = reader.optional(root, "settings", read_settings).unwrap_or_default();
    reader.optional(root, "provenance", SchemaReader::dict);
    if let Some(version) = version
        && (reader.schema_holds_since(mark) || reader.typing == Typing::Strict)
    {
        check_version(reader, &version, root);
    }
    Draft { id, created_at, inputs, settings }
}

fn check_version(reader: &mut SchemaReader<'_>, text: &str, root: &Node<'_>) {
    // The lax schema checks the version as a rule of the whole document, without a path.
    let (parsed, path) = match reader.typing {
        Typing::Strict => (Version::parse(text), root.pointer_to("version")),
        Typing::Lax => (Version::parse_lax(text), root.path.clone()),
    };
    match parsed {
        Err(error) => reader.report(&path, Category::ValueError, error.to_string()),
        Ok(version) if version.major() != Some(MAJOR_VERSION) => {
            let message = format!("expected a problem of version {MAJOR_VERSION}.x.y, found {text:?}");
            reader.report(&path, Category::ValueError, message);
        }
        Ok(_) => {}
    }
}

fn read_inputs(reader: &mut SchemaReader<'_>, value: &Value, path: &JsonPointer) -> Option<Inputs> {
    let node = reader.model(value, path)?;
    let mark = reader.mark();
    let texts = |reader: &mut SchemaReader<'_>, value: &Value, path: &JsonPointer| {
        Some(reader.items(value, path, SchemaReader::text))
    };
    let mut inputs = Inputs {
        prompt: reader.required(&node, "prompt", read_prompt),
        constraints: reader.optional(&node, "constraints", texts).unwrap_or_default(),
        goals: reader.optional(&node, "goals", texts).unwrap_or_default(),
        evidence: reader.optional(&node, "context", read_evidence).unwrap_or_default(),
        ..Inputs::default()
    };
    if reader.steps == StepsRule::Worked {
        inputs.assumptions = reader.optional(&node, "assumptions", read_names).unwrap_or_default();
        inputs.tasks = reader.optional(&node, "tasks", read_tasks).unwrap_or_default();
        let checks = reader.optional(&node, "constraint_checks", read_constraint_checks);
        inputs.constraint_checks = checks.unwrap_or_default();
        checks_name_constraints(reader, &inputs, &node);
    }
    if reader.schema_holds_since(mark) {
        texts_are_not_blank(reader, &inputs, &node);
    }
    Some(inputs)
}

/// Checks that each constraint check is about a constraint that the problem states, and that none has two checks.
fn checks_name_constraints(reader: &mut SchemaReader<'_>, inputs: &Inputs, node: &Node<'_>) {
    for (index, check) in inputs.constraint_checks.iter().enumerate() {
        let place = node.pointer_to("constraint_checks").child(index).child("constraint");
        if !inputs.constraints.contains(&check.constraint) {
            let message = "expected the text of one of the constraints, word for word";
            reader.report(&place, Category::ValueError, message);
        }
        let before = inputs.constraint_checks.get(..index).unwrap_or_default();
        if before.iter().any(|other| other.constraint == check.constraint) {
            reader.report(&place, Category::ValueError, "another check is about the same constraint");
        }
    }
}

/// Reads the prompt; that it is not blank is a rule of all inputs together.
fn read_prompt(reader: &mut SchemaReader<'_>, value: &Value, path: &JsonPointer) -> Option<Arc<str>> {
    let blank = value.as_str().is_some_and(|text| !text.is_empty() && is_blank(text));
    if blank { reader.text(value, path) } else { reader.non_empty_text(value, path) }
}

/// Reads `context.evidence`: under strict typing a list of objects, otherwise any list.
fn read_evidence(reader: &mut SchemaReader<'_>, value: &Value, path: &JsonPointer) -> Option<Vec<Value>> {
    let context = reader.dict(value, path)?;
    reader.optional(&context, "evidence", |reader, value, path| match reader.typing {
        Typing::Lax => value.as_array().map(<[Value]>::to_vec),
        Typing::Strict => Some(
            reader.items(value, path, |reader, item, path| reader.dict(item, path).map(|_| item.clone())),
        ),
    })
}

fn texts_are_not_blank(reader: &mut SchemaReader<'_>, inputs: &Inputs, node: &Node<'_>) {
    let mut blanks = Vec::new();
    if inputs.prompt.as_deref().is_some_and(is_blank) {
        blanks.push((node.pointer_to("prompt"), "expected a prompt, found only white space".to_owned()));
    }
    for (key, texts) in [("constraints", &inputs.constraints), ("goals", &inputs.goals)] {
        for (index, _) in texts.iter().enumerate().filter(|(_, text)| is_blank(text)) {
            let place = node.pointer_to(key).child(index);
            blanks.push((place, format!("expected {key} that are not blank")));
        }
    }
    // The lax schema reports the first of them, as a rule of all inputs together.
    match reader.typing {
        Typing::Strict => {
            blanks
                .into_iter()
                .for_each(|(place, message)| reader.report(&place, Category::ValueError, message));
        }
        Typing::Lax => {
            if let Some((_, message)) = blanks.into_iter().next() {
                reader.report(&node.path, Category::ValueError, message);
            }
        }
    }
}

/// Returns the defects that keep a document from having a canonical form.
fn unhashable(defects: &[Defect]) -> impl Iterator<Item = Finding> {
    defects.iter().filter(|defect| defect.kind != DefectKind::DuplicateKey).map(|defect| {
        let (category, message) = match defect.kind {
            DefectKind::NonFinite | DefectKind::DuplicateKey => {
                (Category::ValueError, "number is not finite")
            }
            DefectKind::LoneSurrogate => (Category::StringUnicode, "text holds half of a surrogate pair"),
            DefectKind::LoneSurrogateInKey => (Category::StringUnicode, "key holds half of a surrogate pair"),
        };
        let rule = Rule { stage: Stage::Hashing, category };
        Finding::new(rule, message, Found::Unstated).under(&defect.pointer)
    })
}
