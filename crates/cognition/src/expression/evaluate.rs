//! From a tree and a memory to a value.

use hence_canon::Value;

use super::ast::{Expression, Node, Operator};
use super::compare::{Work, equal, number};
use crate::state::Memory;

/// How many comparisons of values one evaluation may make, at any depth of lists and maps.
///
/// A condition over a large state should cost milliseconds; a million comparisons already do.
pub const WORK_MAX: usize = 1_000_000;

/// An expression that has no value in a memory.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EvaluateError {
    /// The right side of `in` holds nothing.
    #[error("`in` looks into a list, a string or an object, found {found} (at byte {offset})")]
    NotAContainer {
        /// What stands on the right.
        found: hence_canon::Kind,
        /// Where the operator stands.
        offset: usize,
    },
    /// The left side of `in` cannot be inside the right one.
    #[error("`in {container}` looks for a string, found {found} (at byte {offset})")]
    NotAMember {
        /// What stands on the right.
        container: hence_canon::Kind,
        /// What stands on the left.
        found: hence_canon::Kind,
        /// Where the operator stands.
        offset: usize,
    },
    /// More than [`WORK_MAX`] comparisons.
    #[error("evaluation takes more than {WORK_MAX} comparisons")]
    TooMuchWork,
}

impl Expression {
    /// Returns the value in `memory`. References are permissive: what is missing is `null`.
    ///
    /// # Errors
    /// [`EvaluateError`] for `in` between things that cannot contain each other, and for too much work.
    pub fn evaluate(&self, memory: &Memory) -> Result<Value, EvaluateError> {
        let mut work = Work::new(WORK_MAX);
        evaluate(&self.0.root, memory, &mut work)
    }

    /// Returns whether the value in `memory` counts as true.
    ///
    /// # Errors
    /// As [`Expression::evaluate`].
    pub fn is_true(&self, memory: &Memory) -> Result<bool, EvaluateError> {
        self.evaluate(memory).map(|value| is_true(&value))
    }
}

/// Returns whether a value counts as true: everything but `null`, `false`, zero and what is empty.
pub fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Int(int) => int.as_i64() != Some(0),
        Value::Float(float) => float.get() != 0.0,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(object) => !object.is_empty(),
    }
}

fn evaluate(node: &Node, memory: &Memory, work: &mut Work) -> Result<Value, EvaluateError> {
    match node {
        Node::Literal(value) => Ok(value.clone()),
        Node::Reference(reference) => Ok(reference.find(memory).unwrap_or_default()),
        Node::Whole(namespace) => Ok(namespace.whole(memory).into()),
        Node::List(nodes) => {
            let items = nodes.iter().map(|node| evaluate(node, memory, work));
            items.collect::<Result<Vec<Value>, _>>().map(Value::from)
        }
        Node::Not(inner) => evaluate(inner, memory, work).map(|value| Value::Bool(!is_true(&value))),
        Node::And(operands) => first_where(operands, memory, work, |value| !is_true(value)),
        Node::Or(operands) => first_where(operands, memory, work, is_true),
        Node::Compare { operator, sides, at } => {
            let left = evaluate(&sides.0, memory, work)?;
            let right = evaluate(&sides.1, memory, work)?;
            compare(*operator, &left, &right, *at, work).map(Value::Bool)
        }
    }
}

/// Returns the first operand that decides, else the last; the ones behind it are not evaluated.
fn first_where(
    operands: &[Node],
    memory: &Memory,
    work: &mut Work,
    decides: impl Fn(&Value) -> bool,
) -> Result<Value, EvaluateError> {
    let mut last = Value::Null;
    for operand in operands {
        last = evaluate(operand, memory, work)?;
        if decides(&last) {
            break;
        }
    }
    Ok(last)
}

fn compare(
    operator: Operator,
    left: &Value,
    right: &Value,
    at: usize,
    work: &mut Work,
) -> Result<bool, EvaluateError> {
    let ordered = |holds: fn(&f64, &f64) -> bool| match (number(left), number(right)) {
        (Some(left), Some(right)) => holds(&left, &right),
        // Text that is no number has no order here; neither have lists, maps and null.
        _ => false,
    };
    Ok(match operator {
        Operator::Equal => equal(left, right, work)?,
        Operator::NotEqual => !equal(left, right, work)?,
        Operator::Greater => ordered(f64::gt),
        Operator::Less => ordered(f64::lt),
        Operator::GreaterOrEqual => ordered(f64::ge),
        Operator::LessOrEqual => ordered(f64::le),
        Operator::In => contains(right, left, at, work)?,
        Operator::NotIn => !contains(right, left, at, work)?,
    })
}

fn contains(
    container: &Value,
    member: &Value,
    offset: usize,
    work: &mut Work,
) -> Result<bool, EvaluateError> {
    let not_a_member =
        || EvaluateError::NotAMember { container: container.kind(), found: member.kind(), offset };
    match (container, member) {
        (Value::Null, _) => Ok(false),
        (Value::Array(items), _) => {
            for item in items.iter() {
                if equal(item, member, work)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        (Value::String(text), Value::String(part)) => Ok(text.contains(&**part)),
        (Value::String(_), _) | (Value::Object(_), Value::Array(_) | Value::Object(_)) => Err(not_a_member()),
        (Value::Object(object), Value::String(key)) => Ok(object.contains_key(key)),
        // Keys are strings; a number or a boolean is never one of them.
        (Value::Object(_), _) => Ok(false),
        _ => Err(EvaluateError::NotAContainer { found: container.kind(), offset }),
    }
}
