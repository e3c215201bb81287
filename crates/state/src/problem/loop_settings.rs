//! The loop over part of the policy's steps.

use std::sync::Arc;

use hence_canon::read::Found;
use hence_canon::{Int, JsonPointer, Object, Value};

use crate::schema::{Node, Number, SchemaReader};
use crate::text::is_blank;
use crate::{Category, Stage, StepError, Typing};

/// A loop: repeat the steps from one to another until a condition is met.
#[derive(Clone, Debug)]
pub struct LoopSettings {
    /// The first step of the segment.
    pub start_step: Arc<str>,
    /// The last step of the segment.
    pub end_step: Arc<str>,
    /// The most iterations of the segment. A number beyond `u64` means no limit in practice.
    pub max_iterations: u64,
    /// The spelling of that number in messages.
    pub max_iterations_text: String,
    /// The condition that ends the loop.
    pub stop_condition: StopCondition,
}

impl LoopSettings {
    /// Returns the error of a loop that reached its limit without meeting its condition.
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

/// The comparison of a stop condition.
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

pub(super) fn read_loop(
    reader: &mut SchemaReader<'_>,
    value: &Value,
    path: &JsonPointer,
) -> Option<LoopSettings> {
    let node = reader.model(value, path)?;
    let draft = read_draft(reader, &node)?;
    // The loop's own rules are judged after the schema of the whole document; a disabled loop has none.
    if draft.enabled == &Value::Bool(false) || is_false_number(draft.enabled) {
        return None;
    }
    check_rules(reader, draft, path)
}

/// `0` and `0.0` disable a loop without being booleans.
fn is_false_number(value: &Value) -> bool {
    loosely_equal(value, &Value::Bool(false)) && !matches!(value, Value::Bool(_))
}

fn read_draft<'v>(reader: &mut SchemaReader<'_>, node: &Node<'v>) -> Option<Draft<'v>> {
    let mark = reader.mark();
    let enabled = reader.required(node, "enabled", |reader, value, path| {
        reader.boolean(value, path);
        Some(value)
    });
    let start_step = reader.required(node, "start_step", SchemaReader::non_empty_text);
    let end_step = reader.required(node, "end_step", SchemaReader::non_empty_text);
    let max_iterations = reader.required(node, "max_iterations", |reader, value, path| {
        Some((reader.integer_above(value, path, 0, Category::GreaterThanEqual)?, value))
    });
    let condition = reader.required(node, "stop_condition", read_stop_condition);
    reader.refuse_unknown(node, &["enabled", "start_step", "end_step", "max_iterations", "stop_condition"]);
    if !reader.clean_since(mark) {
        return None;
    }
    let ((max_iterations, max_raw), (path, operator, value)) = (max_iterations?, condition?);
    Some(Draft {
        enabled: enabled?,
        start_step: start_step?,
        end_step: end_step?,
        max_iterations,
        max_raw,
        path,
        operator,
        value,
    })
}

/// Reads path, operator and value; the operator is `None` for the words the schema knows and no engine runs.
fn read_stop_condition<'v>(
    reader: &mut SchemaReader<'_>,
    value: &'v Value,
    path: &JsonPointer,
) -> Option<(Arc<str>, Option<Operator>, &'v Value)> {
    let node = reader.model(value, path)?;
    let target = reader.required(&node, "path", SchemaReader::non_empty_text);
    let mut words: Vec<(&str, Option<Operator>)> =
        Operator::WORDS.iter().map(|(word, operator)| (*word, Some(*operator))).collect();
    if reader.typing == Typing::Lax {
        words.extend(["contains", "not_contains", "in", "not_in"].map(|word| (word, None)));
    }
    let operator = reader.required(&node, "operator", |reader, value, path| reader.word(value, path, &words));
    let constant = reader.required(&node, "value", |_, value, _| Some(value));
    reader.refuse_unknown(&node, &["path", "operator", "value"]);
    Some((target?, operator?, constant?))
}

/// The rules an enabled loop must meet beyond its schema.
fn check_rules(reader: &mut SchemaReader<'_>, draft: Draft<'_>, path: &JsonPointer) -> Option<LoopSettings> {
    let mark = reader.mark();
    let mut report = |tokens: &[&str], expected: String, found: Option<&Value>| {
        let place = path.join(&tokens.iter().collect());
        let found = found.map_or(Found::Unstated, |value| Found::Value(value.clone()));
        reader.add(Stage::LoopRules, &place, Category::ValueError, expected, found);
    };
    if !matches!(draft.enabled, Value::Bool(_)) {
        report(&["enabled"], "true or false".to_owned(), Some(draft.enabled));
    }
    for (key, text) in [("start_step", &draft.start_step), ("end_step", &draft.end_step)] {
        if is_blank(text) {
            report(&[key], "expected the name of a step, found only white space".to_owned(), None);
        }
    }
    if matches!(draft.max_iterations, Number::Text | Number::Whole(_)) {
        report(&["max_iterations"], "an integer".to_owned(), Some(draft.max_raw));
    }
    if !draft.path.starts_with("artifacts.") {
        let message = format!("expected a path that starts with `artifacts.`, found {:?}", draft.path);
        report(&["stop_condition", "path"], message, None);
    }
    match (draft.operator, draft.value) {
        (None, _) => report(
            &["stop_condition", "operator"],
            "expected one of equals, not_equals, gt, gte, lt, lte".to_owned(),
            None,
        ),
        (Some(operator), Value::Int(_)) if operator.compares_order() => {}
        (Some(operator), value) if operator.compares_order() => {
            report(&["stop_condition", "value"], "an integer to compare with".to_owned(), Some(value));
        }
        (Some(_), Value::String(_) | Value::Int(_) | Value::Bool(_)) => {}
        (Some(_), value) => {
            report(&["stop_condition", "value"], "a string, an integer or a boolean".to_owned(), Some(value));
        }
    }
    if !reader.clean_since(mark) {
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
