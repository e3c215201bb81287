//! Capabilities on numbers; whole numbers stay exact.

use hence_canon::{Object, Value};

use crate::amount::{Amount, real_value};
use crate::arguments::Arguments;
use crate::builtin::{BuiltIn, choice, optional, required};
use crate::order::compare;
use crate::refusal::Refusal;

/// The maximum number of digits after the point for rounding: a double has no more.
pub(crate) const DIGITS_MAX: u64 = 15;

/// The operators of `number.calculate`.
const OPERATORS: [&str; 4] = ["add", "subtract", "multiply", "divide"];

pub(crate) const ALL: &[&BuiltIn] = &[&SUM, &STATISTICS, &ROUND, &CALCULATE];

const SUM: BuiltIn = BuiltIn {
    id: "number.sum",
    does: "Add numbers up",
    takes: &[required("values", "array", "The numbers")],
    gives: &[required("sum", "number", "The sum; whole if all numbers are")],
    call: |arguments| {
        let totals = Totals::of(arguments.list("values")?.iter())?;
        Ok(Object::from_iter([("sum", totals.sum.value()?)]))
    },
};

const STATISTICS: BuiltIn = BuiltIn {
    id: "number.statistics",
    does: "Count numbers, add them up, and give mean, smallest and largest",
    takes: &[required("values", "array", "The numbers")],
    gives: &[
        required("count", "integer", "How many"),
        required("sum", "number", "The sum"),
        required("mean", "any", "The mean, or null when there are none"),
        required("min", "any", "The smallest, or null"),
        required("max", "any", "The largest, or null"),
    ],
    call: |arguments| {
        let values = arguments.list("values")?;
        let totals = Totals::of(values.iter())?.members()?;
        Ok([("count", Value::from(values.len()))].into_iter().chain(totals).collect())
    },
};

const ROUND: BuiltIn = BuiltIn {
    id: "number.round",
    does: "Round a number, halves away from zero",
    takes: &[
        required("value", "number", "The number"),
        optional("digits", "integer", "Digits behind the point; 0 by default, at most 15"),
    ],
    gives: &[required("value", "number", "The number; whole without digits behind the point")],
    call: round,
};

const CALCULATE: BuiltIn = BuiltIn {
    id: "number.calculate",
    does: "Calculate with two numbers",
    takes: &[
        required("left", "number", "One number"),
        choice("operator", &OPERATORS, "add, subtract, multiply or divide"),
        required("right", "number", "The other"),
    ],
    gives: &[required("value", "number", "The result; whole if it can be")],
    call: calculate,
};

/// The count, sum, minimum and maximum of several numbers.
pub(crate) struct Totals {
    count: u64,
    sum: Amount,
    min: Value,
    max: Value,
}

impl Totals {
    pub(crate) fn of<'a>(values: impl Iterator<Item = &'a Value>) -> Result<Self, Refusal> {
        let mut totals = Self { count: 0, sum: Amount::ZERO, min: Value::Null, max: Value::Null };
        for value in values {
            let amount = Amount::of(value, &format_args!("value {}", totals.count))?;
            totals.sum = totals.sum.plus(amount)?;
            if totals.count == 0 || compare(value, &totals.min).is_lt() {
                totals.min = value.clone();
            }
            if totals.count == 0 || compare(value, &totals.max).is_gt() {
                totals.max = value.clone();
            }
            totals.count += 1;
        }
        Ok(totals)
    }

    pub(crate) fn members(&self) -> Result<[(&'static str, Value); 4], Refusal> {
        let mean = match self.count {
            0 => Value::Null,
            count => self.sum.over(Amount::Whole(count.into()))?.value()?,
        };
        Ok([("sum", self.sum.value()?), ("mean", mean), ("min", self.min.clone()), ("max", self.max.clone())])
    }
}

fn round(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let digits = arguments.count_or("digits", 0)?;
    if digits > DIGITS_MAX {
        return Err(Refusal::input(format_args!("`digits` is at most {DIGITS_MAX}, found {digits}")));
    }
    let value = match (Amount::of(arguments.value("value")?, &"`value`")?, digits) {
        (whole @ Amount::Whole(_), _) => whole.value()?,
        (Amount::Real(real), 0) => {
            let text = format!("{:.0}", real.round());
            let whole: i128 =
                text.parse().map_err(|_| Refusal::too_large("the number is too large to be whole"))?;
            Amount::Whole(whole).value()?
        }
        (Amount::Real(real), _) => rounded(real, digits)?,
    };
    Ok(Object::from_iter([("value", value)]))
}

/// Rounds to `digits` digits after the point; a number that is too large for that is not changed.
pub(crate) fn rounded(real: f64, digits: u64) -> Result<Value, Refusal> {
    let scale = (0..digits).fold(1.0, |scale, _| scale * 10.0);
    let scaled = (real * scale).round() / scale;
    real_value(if scaled.is_finite() { scaled } else { real })
}

fn calculate(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let left = Amount::of(arguments.value("left")?, &"`left`")?;
    let right = Amount::of(arguments.value("right")?, &"`right`")?;
    let result = match arguments.word("operator", &OPERATORS)? {
        "subtract" => left.minus(right)?,
        "multiply" => left.times(right)?,
        "divide" => left.over(right)?,
        _ => left.plus(right)?,
    };
    Ok(Object::from_iter([("value", result.value()?)]))
}

#[cfg(test)]
mod tests {
    use crate::testing::table;

    #[test]
    fn whole_numbers_stay_exact() {
        table(
            "number.sum",
            &[
                (
                    r#"{"values": [9007199254740993, 18446744073709551615]}"#,
                    r#"{"sum": 18455751272964292608}"#,
                ),
                (r#"{"values": [1, 0.5]}"#, r#"{"sum": 1.5}"#),
                (r#"{"values": []}"#, r#"{"sum": 0}"#),
                (r#"{"values": [1, "2"]}"#, "!value 1 is a number, found string"),
                (r#"{"values": [1e308, 1e308]}"#, "!the result is out of range"),
                (
                    r#"{"values": [1000000000000000000000000000000000000000]}"#,
                    "!value 0: 1000000000000000000000000000000000000000 has more than 38 digits",
                ),
            ],
        );
        table(
            "number.statistics",
            &[
                (r#"{"values": [3, 1, 2]}"#, r#"{"count": 3, "sum": 6, "mean": 2, "min": 1, "max": 3}"#),
                (r#"{"values": []}"#, r#"{"count": 0, "sum": 0, "mean": null, "min": null, "max": null}"#),
            ],
        );
        table(
            "number.round",
            &[
                (r#"{"value": 2.5}"#, r#"{"value": 3}"#),
                (r#"{"value": -2.5}"#, r#"{"value": -3}"#),
                (r#"{"value": 1.23456, "digits": 2}"#, r#"{"value": 1.23}"#),
                (r#"{"value": 7, "digits": 2}"#, r#"{"value": 7}"#),
                (r#"{"value": 1e308, "digits": 15}"#, r#"{"value": 1e308}"#),
                (r#"{"value": 1e308}"#, "!the number is too large to be whole"),
                (r#"{"value": 1.5, "digits": 16}"#, "!`digits` is at most 15, found 16"),
            ],
        );
        table(
            "number.calculate",
            &[
                (r#"{"left": 6, "operator": "divide", "right": 3}"#, r#"{"value": 2}"#),
                (r#"{"left": 1, "operator": "divide", "right": 4}"#, r#"{"value": 0.25}"#),
                (r#"{"left": 1, "operator": "subtract", "right": 0.5}"#, r#"{"value": 0.5}"#),
                (
                    r#"{"left": 3, "operator": "multiply", "right": 9223372036854775807}"#,
                    r#"{"value": 27670116110564327421}"#,
                ),
                (r#"{"left": 1, "operator": "divide", "right": 0}"#, "!nothing can be divided by 0"),
                (r#"{"left": 1, "operator": "divide", "right": 0.0}"#, "!the result is out of range"),
                (r#"{"left": null, "right": 1}"#, "!`left` is a number, found null"),
            ],
        );
    }
}
