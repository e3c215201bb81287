//! The loop over part of the policy's steps.

use std::sync::Arc;

use hence_canon::{Int, Object, Value};

use crate::blank::is_blank;
use crate::walk::{Number, Presence, Walk, expected};
use crate::{Category, FieldPath, Stage, StepError, Typing};

/// A loop: repeat the steps from one to another until a condition is met.
#[derive(Clone, Debug)]
pub struct LoopSettings {
    /// The first step of the segment.
    pub start_step: Arc<str>,
    /// The last step of the segment.
    pub end_step: Arc<str>,
    /// How often the segment may run. More than `u64` can count is as good as for ever.
    pub max_iterations: u64,
    /// How that number is spelled in messages.
    pub max_iterations_text: String,
    /// When to stop.
    pub stop_condition: StopCondition,
}

impl LoopSettings {
    /// Returns the error of a loop that ran as often as it may without meeting its condition.
    pub fn limit_error(&self) -> StepError {
        let message = format!("Loop stop condition not met after {} iteration(s).", self.max_iterations_text);
        StepError::new("loop_max_iterations_reached", message).in_step(self.end_step.clone())
    }
}

/// A comparison between a value of the state and a constant.
#[derive(Clone, Debug)]
pub struct StopCondition {
    /// A dotted path that starts with `artifacts.`.
    pub path: Arc<str>,
    /// The comparison.
    pub operator: Operator,
    /// The constant: a string, an integer or a boolean.
    pub value: Value,
}

/// How a stop condition compares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the words say it")]
pub enum Operator {
    Equals,
    NotEquals,
    Gt,
    Gte,
    Lt,
    Lte,
}

impl Operator {
    const WORDS: [(&'static str, Self); 6] = [
        ("equals", Self::Equals),
        ("not_equals", Self::NotEquals),
        ("gt", Self::Gt),
        ("gte", Self::Gte),
        ("lt", Self::Lt),
        ("lte", Self::Lte),
    ];

    /// Returns the word used in records.
    pub fn as_str(self) -> &'static str {
        Self::WORDS.iter().find(|(_, operator)| *operator == self).map_or("", |(word, _)| word)
    }

    fn compares_order(self) -> bool {
        !matches!(self, Self::Equals | Self::NotEquals)
    }
}

impl StopCondition {
    /// Returns whether the condition is met by what its path resolves to.
    ///
    /// Nothing, and null, meet no condition. Booleans equal the integers 0 and 1; order is for integers only.
    pub fn is_met(&self, found: Option<&Value>) -> bool {
        let Some(found) = found.filter(|found| !found.is_null()) else { return false };
        let compared = || Some(found.as_int()?.cmp(self.value.as_int()?));
        match self.operator {
            Operator::Equals => loosely_equal(found, &self.value),
            Operator::NotEquals => !loosely_equal(found, &self.value),
            Operator::Gt => compared().is_some_and(std::cmp::Ordering::is_gt),
            Operator::Gte => compared().is_some_and(std::cmp::Ordering::is_ge),
            Operator::Lt => compared().is_some_and(std::cmp::Ordering::is_lt),
            Operator::Lte => compared().is_some_and(std::cmp::Ordering::is_le),
        }
    }
}

impl From<&StopCondition> for Value {
    fn from(condition: &StopCondition) -> Self {
        let members: [(&str, Value); 3] = [
            ("path", condition.path.clone().into()),
            ("operator", condition.operator.as_str().into()),
            ("value", condition.value.clone()),
        ];
        members.into_iter().collect::<Object>().into()
    }
}

/// Equality across number kinds: `true`, `1` and `1.0` are one value; a string is never a number.
fn loosely_equal(left: &Value, right: &Value) -> bool {
    let number = |value: &Value| match value {
        Value::Bool(flag) => Some(Int::from(i64::from(*flag))),
        Value::Int(int) => Some(int.clone()),
        Value::Float(float) if float.get().fract() == 0.0 => format!("{:.0}", float.get() + 0.0).parse().ok(),
        _ => None,
    };
    match (number(left), number(right)) {
        (Some(left), Some(right)) => left == right,
        _ => left == right,
    }
}

/// The fields of a loop that passed the schema, before the loop's own rules.
struct Draft<'v> {
    enabled: &'v Value,
    start_step: Arc<str>,
    end_step: Arc<str>,
    max_iterations: Number,
    max_raw: &'v Value,
    path: Arc<str>,
    operator: Option<Operator>,
    value: &'v Value,
}

pub(super) fn decode_loop(walk: &mut Walk<'_>, settings: &Object, path: &FieldPath) -> Option<LoopSettings> {
    let value = walk.member(settings, path, "loop", Presence::Optional)?;
    let path = path.child("loop");
    let object = walk.object(value, &path, Category::ModelType)?;
    let draft = draft(walk, object, &path)?;
    // The loop's own rules are judged after the schema of the whole document; a disabled loop has none.
    if draft.enabled == &Value::Bool(false) || is_false_number(draft.enabled) {
        return None;
    }
    rules(walk, draft, &path)
}

/// `0` and `0.0` disable a loop without being booleans.
fn is_false_number(value: &Value) -> bool {
    loosely_equal(value, &Value::Bool(false)) && !matches!(value, Value::Bool(_))
}

fn draft<'v>(walk: &mut Walk<'_>, object: &'v Object, path: &FieldPath) -> Option<Draft<'v>> {
    let mark = walk.mark();
    let enabled = walk.member(object, path, "enabled", Presence::Required);
    if let Some(enabled) = enabled {
        walk.boolean(enabled, &path.child("enabled"));
    }
    let start_step = required_text(walk, object, path, "start_step");
    let end_step = required_text(walk, object, path, "end_step");
    let max_raw = walk.member(object, path, "max_iterations", Presence::Required);
    let max_iterations = max_raw.and_then(|value| {
        walk.integer_above(value, &path.child("max_iterations"), 0, Category::GreaterThanEqual)
    });
    let condition = walk.member(object, path, "stop_condition", Presence::Required);
    let condition = condition.and_then(|value| stop_condition(walk, value, &path.child("stop_condition")));
    walk.no_others(object, path, &["enabled", "start_step", "end_step", "max_iterations", "stop_condition"]);
    if !walk.clean_since(mark) {
        return None;
    }
    let (path, operator, value) = condition?;
    Some(Draft {
        enabled: enabled?,
        start_step: start_step?,
        end_step: end_step?,
        max_iterations: max_iterations?,
        max_raw: max_raw?,
        path,
        operator,
        value,
    })
}

fn required_text(walk: &mut Walk<'_>, object: &Object, path: &FieldPath, key: &str) -> Option<Arc<str>> {
    let value = walk.member(object, path, key, Presence::Required)?;
    walk.some_text(value, &path.child(key))
}

/// Reads path, operator and value; the operator is `None` for the words the schema knows and no engine runs.
fn stop_condition<'v>(
    walk: &mut Walk<'_>,
    value: &'v Value,
    path: &FieldPath,
) -> Option<(Arc<str>, Option<Operator>, &'v Value)> {
    let object = walk.object(value, path, Category::ModelType)?;
    let target = required_text(walk, object, path, "path");
    let mut words: Vec<(&str, Option<Operator>)> =
        Operator::WORDS.iter().map(|(word, operator)| (*word, Some(*operator))).collect();
    if walk.typing == Typing::Lax {
        words.extend(["contains", "not_contains", "in", "not_in"].map(|word| (word, None)));
    }
    let operator = walk.member(object, path, "operator", Presence::Required);
    let operator = operator.and_then(|word| walk.word(word, &path.child("operator"), &words));
    let constant = object.get("value");
    if constant.is_none() {
        walk.report(&path.child("value"), Category::Missing, "expected a value, found none");
    }
    walk.no_others(object, path, &["path", "operator", "value"]);
    Some((target?, operator?, constant?))
}

/// The rules an enabled loop must meet beyond its schema.
fn rules(walk: &mut Walk<'_>, draft: Draft<'_>, path: &FieldPath) -> Option<LoopSettings> {
    let mark = walk.mark();
    let mut report = |tokens: &[&str], message: String| {
        let path = tokens.iter().fold(path.clone(), |path, token| path.child(token));
        walk.report_at(Stage::LoopRules, &path, Category::ValueError, message);
    };
    if !matches!(draft.enabled, Value::Bool(_)) {
        report(&["enabled"], expected("true or false", draft.enabled));
    }
    for (key, text) in [("start_step", &draft.start_step), ("end_step", &draft.end_step)] {
        if is_blank(text) {
            report(&[key], "expected the name of a step, found only white space".to_owned());
        }
    }
    if matches!(draft.max_iterations, Number::Text | Number::Whole(_)) {
        report(&["max_iterations"], expected("an integer", draft.max_raw));
    }
    if !draft.path.starts_with("artifacts.") {
        let message = format!("expected a path that starts with `artifacts.`, found {:?}", draft.path);
        report(&["stop_condition", "path"], message);
    }
    match (draft.operator, draft.value) {
        (None, _) => report(
            &["stop_condition", "operator"],
            "expected one of equals, not_equals, gt, gte, lt, lte".to_owned(),
        ),
        (Some(operator), Value::Int(_)) if operator.compares_order() => {}
        (Some(operator), value) if operator.compares_order() => {
            report(&["stop_condition", "value"], expected("an integer to compare with", value));
        }
        (Some(_), Value::String(_) | Value::Int(_) | Value::Bool(_)) => {}
        (Some(_), value) => {
            report(&["stop_condition", "value"], expected("a string, an integer or a boolean", value));
        }
    }
    if !walk.clean_since(mark) {
        return None;
    }
    let (max_iterations, max_iterations_text) = match draft.max_iterations {
        Number::Int(int) => (int.as_u64().unwrap_or(u64::MAX), int.to_string()),
        // The reference engine counts `true` as one and prints it in its own language.
        _ => (1, "True".to_owned()),
    };
    Some(LoopSettings {
        start_step: draft.start_step,
        end_step: draft.end_step,
        max_iterations,
        max_iterations_text,
        stop_condition: StopCondition {
            path: draft.path,
            operator: draft.operator?,
            value: draft.value.clone(),
        },
    })
}
