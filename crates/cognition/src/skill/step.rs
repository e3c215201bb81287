//! Steps of a skill.

use std::fmt;
use std::sync::Arc;

use hence_canon::{Float, JsonPointer, Object, Value};

use crate::budget::Limits;
use crate::expression::{Expression, ParseExpressionError};
use crate::mapping::{
    InputMapping, InvalidInputMapping, InvalidOutputMapping, InvalidTarget, MergeStrategy, OutputMapping,
    UnknownStrategy,
};
use crate::skill::Findings;
use crate::skill::Rule;
use crate::skill::control::Control;
use crate::skill::document::limits;
use crate::skill::variable::{self, DeclaredVariable};

pub(super) const KEYS: [&str; 7] =
    ["id", "uses", "input", "output", "config", "input_mapping", "output_mapping"];
pub(super) const CONFIG_KEYS: [&str; 12] = [
    "depends_on",
    "timeout_seconds",
    "merge_strategy",
    "condition",
    "retry",
    "foreach",
    "while",
    "router",
    "scatter",
    "recovery",
    "limits",
    "variables",
];

/// Members of `config` that skills of public registries also write next to it. A step without them waits for the one before
/// it and has no time-out, so nothing is done that they forbid. Any other member there would be a guard that guards nothing.
const HARMLESS_KEYS: [&str; 2] = ["depends_on", "timeout_seconds"];

/// Members that people and registries write next to ours. A run does not read them.
const REGISTRY_KEYS: [&str; 4] = ["name", "description", "metadata", "notes"];

/// One step: what it calls, from what, to where, and when.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The id, unique in its skill.
    pub id: Arc<str>,
    /// The capability or skill it calls.
    pub uses: Uses,
    /// The text of `uses`.
    pub uses_text: Arc<str>,
    /// The input mapping; a malformed one fails the step.
    pub input: Result<InputMapping, InvalidInputMapping>,
    /// The output mapping; a malformed one fails the step.
    pub output: Result<OutputMapping, InvalidOutputMapping>,
    /// The mapping from its capability's hints, if it has none of its own and has been wired.
    pub wired: Option<Object>,
    /// The merge strategy; an unknown one fails the step.
    pub merge_strategy: Result<MergeStrategy, UnknownStrategy>,
    /// The steps it waits for.
    pub depends_on: DependsOn,
    /// The timeout of one call.
    pub timeout_seconds: Option<Float>,
    /// The recovery of an undecided call, if the step sets one.
    pub recovery: Option<Recovery>,
    /// The most that its calls may use, those of its loops and of the skills it nests included.
    pub limits: Limits,
    /// The control blocks.
    pub control: Control,
    /// The declarations of the variables it writes, if it has any.
    pub variables: Option<Box<[DeclaredVariable]>>,
}

/// The steps that a step waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DependsOn {
    /// The step declared before it, if there is one.
    Previous,
    /// Exactly these.
    Steps(Box<[Arc<str>]>),
    /// Something that is not a list of step ids: the skill cannot be planned.
    Malformed,
}

impl Step {
    /// Reads a step. One without an id or a callee gets a name for messages and calls nothing, so that the others keep
    /// their positions and all of them are checked; the document is refused then.
    pub(super) fn read(value: &Value, index: usize, pointer: &JsonPointer, findings: &mut Findings) -> Self {
        let empty = Object::new();
        let object = value.as_object().unwrap_or_else(|| {
            let message = format_args!("a step is an object, found {}", value.kind());
            findings.add(Rule::Shape, pointer.clone(), message);
            &empty
        });
        if value.as_object().is_none() {
            return Self::calling_nothing(index);
        }
        for key in object.keys().filter(|key| !KEYS.contains(&&***key)) {
            if HARMLESS_KEYS.contains(&&**key) {
                let message = format_args!("`{key}` has no effect here; it is read in `config`");
                findings.add(Rule::Ignored, pointer.child(key), message);
            } else if CONFIG_KEYS.contains(&&**key) {
                let message = format_args!("a step has no `{key}`; write it below `config`");
                findings.add(Rule::UnknownKey, pointer.child(key), message);
            } else if REGISTRY_KEYS.contains(&&**key) {
                let message = format_args!("`{key}` is for readers; a run does not read it");
                findings.add(Rule::Ignored, pointer.child(key), message);
            } else {
                findings.add_unknown_key(pointer, "a step", key, &KEYS);
            }
        }
        let id = non_empty(object, "id", pointer, findings);
        let uses = non_empty(object, "uses", pointer, findings);
        let (input, input_pointer) = mapping(object, ["input", "input_mapping"], pointer, findings);
        let (output, output_pointer) = mapping(object, ["output", "output_mapping"], pointer, findings);
        let (config, config_pointer) = mapping(object, ["config"; 2], pointer, findings);
        report_output_shape(&output, &output_pointer, findings);
        for key in config.keys().filter(|key| !CONFIG_KEYS.contains(&&***key)) {
            findings.add_unknown_key(&config_pointer, "a config", key, &CONFIG_KEYS);
        }
        let input = InputMapping::parse(&input.into());
        if let Err(error) = &input {
            findings.add(Rule::InputMapping, input_pointer, error);
        }
        let merge_strategy = MergeStrategy::from_config(config.get("merge_strategy"));
        if let Err(error) = &merge_strategy {
            findings.add(Rule::MergeStrategy, config_pointer.child("merge_strategy"), error);
        }
        let uses = uses.unwrap_or_default();
        Self {
            id: id.unwrap_or_else(|| unnamed(index)),
            uses: Uses::parse(&uses),
            uses_text: uses,
            input,
            output: OutputMapping::parse(&output.into()),
            wired: None,
            merge_strategy,
            depends_on: depends_on(&config, &config_pointer, findings),
            timeout_seconds: timeout(&config, &config_pointer, findings),
            recovery: Recovery::read(&config, &config_pointer, findings),
            limits: limits(config.get("limits"), &config_pointer.child("limits"), findings),
            control: Control::read(&config, &config_pointer, findings),
            variables: variable::read(&config, &config_pointer, findings),
        }
    }

    fn calling_nothing(index: usize) -> Self {
        Self {
            id: unnamed(index),
            uses: Uses::parse(""),
            uses_text: "".into(),
            input: Ok(InputMapping::empty()),
            output: Ok(OutputMapping::default()),
            wired: None,
            merge_strategy: MergeStrategy::from_config(None),
            depends_on: DependsOn::Previous,
            timeout_seconds: None,
            recovery: None,
            limits: Limits::default(),
            control: Control::default(),
            variables: None,
        }
    }
}

/// Returns the name, in messages, of a step without an id. An id could be the same text; such a skill does not run.
fn unnamed(index: usize) -> Arc<str> {
    format!("step {index}").into()
}

/// Reads a required non-empty string.
pub(super) fn non_empty(
    object: &Object,
    key: &str,
    pointer: &JsonPointer,
    findings: &mut Findings,
) -> Option<Arc<str>> {
    match object.get(key) {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        other => {
            let found = other.map_or_else(|| "nothing".to_owned(), ToString::to_string);
            let message = format_args!("`{key}` is a non-empty string, found {found}");
            findings.add(Rule::Shape, pointer.child(key), message);
            None
        }
    }
}

/// Reads an object that may be absent or `null`, also under its old name.
fn mapping(
    object: &Object,
    names: [&str; 2],
    pointer: &JsonPointer,
    findings: &mut Findings,
) -> (Object, JsonPointer) {
    let [name, alias] = names;
    let (key, value) = match (object.get(name), object.get(alias)) {
        (None, Some(value)) => {
            findings.add(Rule::Alias, pointer.child(alias), format_args!("write `{name}` for `{alias}`"));
            (alias, Some(value))
        }
        (value, other) => {
            if other.is_some() && name != alias {
                let message = format_args!("`{alias}` is not read beside `{name}`");
                findings.add(Rule::UnknownKey, pointer.child(alias), message);
            }
            (name, value)
        }
    };
    let pointer = pointer.child(key);
    match value {
        None | Some(Value::Null) => (Object::new(), pointer),
        Some(Value::Object(object)) => (object.clone(), pointer),
        Some(other) => {
            findings.add(
                Rule::Shape,
                pointer.clone(),
                format_args!("`{key}` is an object, found {}", other.kind()),
            );
            (Object::new(), pointer)
        }
    }
}

fn report_output_shape(output: &Object, pointer: &JsonPointer, findings: &mut Findings) {
    for (field, target) in output.iter() {
        let place = pointer.child(field);
        match target.as_str() {
            Some(text) if !text.is_empty() && !field.is_empty() => {
                match crate::mapping::Target::parse(text) {
                    Ok(_) => {}
                    Err(error) => findings.add(rule_of_target(&error), place, error),
                }
            }
            _ => findings.add(Rule::Shape, place, "an output maps a field name to a target"),
        }
    }
}

pub(crate) fn rule_of_target(error: &InvalidTarget) -> Rule {
    match error {
        InvalidTarget::NoDot(_) | InvalidTarget::ReadOnly(_) | InvalidTarget::UnknownNamespace(_) => {
            Rule::TargetNamespace
        }
        _ => Rule::Target,
    }
}

fn depends_on(config: &Object, pointer: &JsonPointer, findings: &mut Findings) -> DependsOn {
    let pointer = pointer.child("depends_on");
    match config.get("depends_on") {
        None | Some(Value::Null) => DependsOn::Previous,
        Some(Value::Array(items)) => {
            let mut steps = Vec::new();
            let mut malformed = false;
            for (index, item) in items.iter().enumerate() {
                match item {
                    Value::String(id) => steps.push(id.clone()),
                    other => {
                        let message = format_args!("a dependency is a step id, found {}", other.kind());
                        findings.add(Rule::DependsOn, pointer.child(index), message);
                        malformed = true;
                    }
                }
            }
            if malformed { DependsOn::Malformed } else { DependsOn::Steps(steps.into()) }
        }
        Some(other) => {
            let message = format_args!("depends_on is a list of step ids, found {}", other.kind());
            findings.add(Rule::DependsOn, pointer, message);
            DependsOn::Malformed
        }
    }
}

fn timeout(config: &Object, pointer: &JsonPointer, findings: &mut Findings) -> Option<Float> {
    let given = config.get("timeout_seconds")?;
    let seconds = match given {
        Value::Int(int) => Float::new(int.to_f64_lossy()).ok(),
        Value::Float(float) => Some(*float),
        _ => None,
    };
    let seconds = seconds.filter(|seconds| seconds.get() > 0.0);
    if seconds.is_none() {
        findings.add(Rule::Control, pointer.child("timeout_seconds"), "a timeout is a number above 0");
    }
    seconds
}

/// The callee of a step, a route or a branch.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Uses {
    /// A capability by its id.
    Capability(Arc<str>),
    /// A nested skill by its id: `skill:<id>`.
    Skill(Arc<str>),
}

impl Uses {
    /// Reads the text of `uses`.
    pub fn parse(text: &str) -> Self {
        match text.strip_prefix("skill:") {
            Some(id) => Self::Skill(id.trim().into()),
            None => Self::Capability(text.into()),
        }
    }
}

impl fmt::Display for Uses {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capability(id) => out.write_str(id),
            Self::Skill(id) => write!(out, "skill:{id}"),
        }
    }
}

/// The rule for an undecided call: its intent is logged and, after a crash, its outcome is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recovery {
    /// Call again with the same idempotency key.
    Retry,
    /// Wait until a person has reported what happened.
    Ask,
    /// Fail the call.
    Fail,
}

impl Recovery {
    /// Every recovery.
    pub const ALL: [Self; 3] = [Self::Retry, Self::Ask, Self::Fail];

    /// Returns the name used in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Ask => "ask",
            Self::Fail => "fail",
        }
    }

    /// Returns the recovery of that name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|recovery| recovery.name() == name)
    }

    pub(super) fn read(config: &Object, pointer: &JsonPointer, findings: &mut Findings) -> Option<Self> {
        let given = config.get("recovery")?;
        let recovery = given.as_str().and_then(Self::find);
        if recovery.is_none() {
            let found = match given {
                Value::String(text) => format!("{text:?}"),
                other => other.kind().to_string(),
            };
            let message = format_args!("a recovery is retry, ask or fail, found {found}");
            findings.add(Rule::Control, pointer.child("recovery"), message);
        }
        recovery
    }
}

/// The text of an expression, read once. One that cannot be read fails where it is evaluated, and in the check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceExpression {
    text: Arc<str>,
    parsed: Result<Expression, ParseExpressionError>,
}

impl SourceExpression {
    /// Reads an expression.
    pub fn read(text: &str) -> Self {
        Self { text: text.into(), parsed: text.parse() }
    }

    /// Returns the text.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Returns the expression.
    ///
    /// # Errors
    /// The defect of the text.
    pub fn expression(&self) -> Result<&Expression, &ParseExpressionError> {
        self.parsed.as_ref()
    }
}
