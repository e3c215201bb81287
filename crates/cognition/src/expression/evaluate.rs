//! From a tree and a memory to a value.

use std::cmp::Ordering;

use hence_canon::{Float, Int, Value};

use crate::expression::ast::{Expression, Node, Operator};
use crate::reference::{MissingName, MissingReference};
use crate::state::Memory;

/// The largest number of comparisons in one evaluation, at any depth of lists and maps.
///
/// A condition over a large state should cost milliseconds; a million comparisons already do.
pub const WORK_MAX: usize = 1_000_000;

/// An expression that has no value in a memory.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EvaluateError {
    /// The right side of `in` holds nothing.
    #[error("`in` looks into a list, a string or an object, found {found} (at byte {offset})")]
    NotAContainer {
        /// The kind of the right operand.
        found: hence_canon::Kind,
        /// The offset of the operator.
        offset: usize,
    },
    /// The left side of `in` cannot be inside the right one.
    #[error("`in {container}` looks for a string, found {found} (at byte {offset})")]
    NotAMember {
        /// The kind of the right operand.
        container: hence_canon::Kind,
        /// The kind of the left operand.
        found: hence_canon::Kind,
        /// The offset of the operator.
        offset: usize,
    },
    /// A name under which memory holds nothing.
    #[error("{0}; `{name} ?? DEFAULT` gives a value for this case", name = .0.reference)]
    MissingName(MissingReference),
    /// The evaluation needs more than [`WORK_MAX`] comparisons.
    #[error("evaluation takes more than {WORK_MAX} comparisons")]
    TooMuchWork,
}

impl Expression {
    /// Returns the value in `memory`.
    ///
    /// # Errors
    /// [`EvaluateError`] for names that are missing and must not be, for `in` between things that cannot contain each
    /// other, and for too much work.
    pub fn evaluate(&self, memory: &Memory, missing: MissingName) -> Result<Value, EvaluateError> {
        self.evaluate_reading(memory, missing).map(|(value, _)| value)
    }

    /// Returns the value in `memory`, and whether any name that `memory` holds was read for it: a default may have taken the place of
    /// every name, or an operand without names may have decided.
    ///
    /// # Errors
    /// As [`Expression::evaluate`].
    pub fn evaluate_reading(
        &self,
        memory: &Memory,
        missing: MissingName,
    ) -> Result<(Value, bool), EvaluateError> {
        let mut work = Work::new(WORK_MAX);
        let value = evaluate(&self.0.root, (memory, missing), &mut work)?;
        Ok((value, work.has_read))
    }

    /// Returns whether the value in `memory` counts as true.
    ///
    /// # Errors
    /// As [`Expression::evaluate`].
    pub fn is_true(&self, memory: &Memory, missing: MissingName) -> Result<bool, EvaluateError> {
        self.evaluate(memory, missing).map(|value| is_true(&value))
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

fn evaluate(node: &Node, names: (&Memory, MissingName), work: &mut Work) -> Result<Value, EvaluateError> {
    let (memory, missing) = names;
    match node {
        Node::Literal(value) => Ok(value.clone()),
        Node::Reference(reference) => {
            let value = reference.named(memory, missing).map_err(EvaluateError::MissingName)?;
            // A null may stand for a name that is missing.
            work.has_read |= !value.is_null() || reference.named(memory, MissingName::Error).is_ok();
            Ok(value)
        }
        Node::Whole(namespace) => {
            work.has_read = true;
            Ok(namespace.whole(memory).into())
        }
        Node::List(nodes) => {
            let items = nodes.iter().map(|node| evaluate(node, names, work));
            items.collect::<Result<Vec<Value>, _>>().map(Value::from)
        }
        Node::Not(inner) => evaluate(inner, names, work).map(|value| Value::Bool(!is_true(&value))),
        Node::And(operands) => first_where(operands, names, work, |value| !is_true(value)),
        Node::Or(operands) => first_where(operands, names, work, is_true),
        Node::Else(operands) => {
            let Some((last, others)) = operands.split_last() else { return Ok(Value::Null) };
            for operand in others {
                let value = evaluate(operand, (memory, MissingName::Null), work)?;
                if !value.is_null() {
                    return Ok(value);
                }
            }
            evaluate(last, names, work)
        }
        Node::Compare { operator, sides, at } => {
            let left = evaluate(&sides.0, names, work)?;
            let right = evaluate(&sides.1, names, work)?;
            compare(*operator, &left, &right, *at, work).map(Value::Bool)
        }
    }
}

/// Returns the first operand that decides, else the last; later operands are not evaluated.
fn first_where(
    operands: &[Node],
    names: (&Memory, MissingName),
    work: &mut Work,
    decides: impl Fn(&Value) -> bool,
) -> Result<Value, EvaluateError> {
    let mut last = Value::Null;
    for operand in operands {
        last = evaluate(operand, names, work)?;
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
    // Text that is no number has no order here; neither have lists, maps and null.
    let ordered = |holds: fn(Ordering) -> bool| order(left, right).is_some_and(holds);
    Ok(match operator {
        Operator::Equal => equal(left, right, work)?,
        Operator::NotEqual => !equal(left, right, work)?,
        Operator::Greater => ordered(Ordering::is_gt),
        Operator::Less => ordered(Ordering::is_lt),
        Operator::GreaterOrEqual => ordered(Ordering::is_ge),
        Operator::LessOrEqual => ordered(Ordering::is_le),
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

/// The work of one evaluation.
pub(super) struct Work {
    /// The number of comparisons that it may still make.
    allowance: usize,
    /// Whether it read a name that memory holds.
    has_read: bool,
}

impl Work {
    pub(super) fn new(allowance: usize) -> Self {
        Self { allowance, has_read: false }
    }

    fn spend(&mut self) -> Result<(), EvaluateError> {
        self.allowance = self.allowance.checked_sub(1).ok_or(EvaluateError::TooMuchWork)?;
        Ok(())
    }
}

/// Compares structurally: `1`, `1.0` and `true` are equal, `"1"` is not.
pub(super) fn equal(left: &Value, right: &Value, work: &mut Work) -> Result<bool, EvaluateError> {
    work.spend()?;
    match (left, right) {
        (Value::Null, Value::Null) => Ok(true),
        (Value::String(left), Value::String(right)) => Ok(left == right),
        (Value::Array(left), Value::Array(right)) => {
            if left.len() != right.len() {
                return Ok(false);
            }
            for (left, right) in left.iter().zip(right.iter()) {
                if !equal(left, right, work)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Object(left), Value::Object(right)) => {
            if left.shares_with(right) {
                return Ok(true);
            }
            if left.len() != right.len() {
                return Ok(false);
            }
            for ((left_key, left), (right_key, right)) in left.iter_sorted().zip(right.iter_sorted()) {
                if left_key != right_key || !equal(left, right, work)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ => Ok(equal_numbers(left, right)),
    }
}

fn equal_numbers(left: &Value, right: &Value) -> bool {
    match (exact(left), exact(right)) {
        (Some(Exact::Int(left)), Some(Exact::Int(right))) => left == right,
        (Some(Exact::Float(left)), Some(Exact::Float(right))) => left.get() == right.get(),
        (Some(Exact::Int(int)), Some(Exact::Float(float)))
        | (Some(Exact::Float(float)), Some(Exact::Int(int))) => whole(float).as_ref() == Some(&int),
        _ => false,
    }
}

enum Exact {
    Int(Int),
    Float(Float),
}

fn exact(value: &Value) -> Option<Exact> {
    match value {
        Value::Bool(truth) => Some(Exact::Int(i64::from(*truth).into())),
        Value::Int(int) => Some(Exact::Int(int.clone())),
        Value::Float(float) => Some(Exact::Float(*float)),
        _ => None,
    }
}

/// Returns the integer a float is, if it is one. Formatting without a fraction is exact at any size.
fn whole(float: Float) -> Option<Int> {
    let float = float.get();
    if float.fract() == 0.0 { format!("{float:.0}").parse().ok() } else { None }
}

/// A number that has an order.
enum Ordered {
    Int(Int),
    Double(f64),
}

/// Compares numbers, booleans and texts that spell a number, exactly at any size.
fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (ordered(left)?, ordered(right)?) {
        (Ordered::Int(left), Ordered::Int(right)) => Some(left.cmp(&right)),
        (Ordered::Int(left), Ordered::Double(right)) => left.cmp_f64(right),
        (Ordered::Double(left), Ordered::Int(right)) => right.cmp_f64(left).map(Ordering::reverse),
        (Ordered::Double(left), Ordered::Double(right)) => left.partial_cmp(&right),
    }
}

fn ordered(value: &Value) -> Option<Ordered> {
    match value {
        Value::String(text) => spelled(text.trim()),
        _ => exact(value).map(|number| match number {
            Exact::Int(int) => Ordered::Int(int),
            Exact::Float(float) => Ordered::Double(float.get()),
        }),
    }
}

/// Reads decimal text, with underscores only between digits.
fn spelled(text: &str) -> Option<Ordered> {
    let read = |text: &str| match text.parse() {
        Ok(int) => Some(Ordered::Int(int)),
        Err(_) => text.parse().ok().map(Ordered::Double),
    };
    if !text.contains('_') {
        return read(text);
    }
    let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let bytes = text.as_bytes();
    let between = |at: usize| at > 0 && digit(bytes.get(at - 1)) && digit(bytes.get(at + 1));
    let placed = text.match_indices('_').all(|(at, _)| between(at));
    if placed { read(&text.replace('_', "")) } else { None }
}
