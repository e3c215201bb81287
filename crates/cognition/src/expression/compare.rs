//! Equality and order as the language sees them: numbers are one kind, and booleans count as numbers.

use hence_canon::{Float, Int, Value};

use super::EvaluateError;

/// What is left of an evaluation's allowance.
pub(super) struct Work(usize);

impl Work {
    pub(super) fn new(allowance: usize) -> Self {
        Self(allowance)
    }

    fn spend(&mut self) -> Result<(), EvaluateError> {
        self.0 = self.0.checked_sub(1).ok_or(EvaluateError::TooMuchWork)?;
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

/// Returns the double that order compares: numbers, booleans, and text that spells a number.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(truth) => Some(f64::from(u8::from(*truth))),
        Value::Int(int) => Some(int.to_f64_lossy()),
        Value::Float(float) => Some(float.get()),
        Value::String(text) => spelled(text.trim()),
        _ => None,
    }
}

/// Reads decimal text, with underscores only between digits.
fn spelled(text: &str) -> Option<f64> {
    if !text.contains('_') {
        return text.parse().ok();
    }
    let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let bytes = text.as_bytes();
    let between = |at: usize| at > 0 && digit(bytes.get(at - 1)) && digit(bytes.get(at + 1));
    let placed = text.match_indices('_').all(|(at, _)| between(at));
    if placed { text.replace('_', "").parse().ok() } else { None }
}
