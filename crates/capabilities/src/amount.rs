//! Numbers that stay exact while they are whole.

use hence_canon::{Float, Int, Value};

use crate::refusal::Refusal;

/// A whole number, or a double once a calculation involves one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Amount {
    Whole(i128),
    Real(f64),
}

impl Amount {
    pub(crate) const ZERO: Self = Self::Whole(0);

    /// Reads a number. Whole numbers of more than 38 digits are refused: they would not stay exact.
    pub(crate) fn of(value: &Value, place: &dyn std::fmt::Display) -> Result<Self, Refusal> {
        match value {
            Value::Int(int) => {
                let whole = match int.as_i64() {
                    Some(small) => Some(i128::from(small)),
                    None => int.to_string().parse().ok(),
                };
                whole
                    .map(Self::Whole)
                    .ok_or_else(|| Refusal::too_large(format_args!("{place}: {int} has more than 38 digits")))
            }
            Value::Float(float) => Ok(Self::Real(float.get())),
            other => Err(Refusal::input(format_args!("{place} is a number, found {}", other.kind()))),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a double was asked for")]
    pub(crate) fn real(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Real(real) => real,
        }
    }

    pub(crate) fn value(self) -> Result<Value, Refusal> {
        match self {
            Self::Whole(whole) => {
                let int: Int = whole.to_string().parse().map_err(Refusal::input)?;
                Ok(int.into())
            }
            Self::Real(real) => real_value(real),
        }
    }

    pub(crate) fn plus(self, other: Self) -> Result<Self, Refusal> {
        self.combine(other, i128::checked_add, |left, right| left + right)
    }

    pub(crate) fn minus(self, other: Self) -> Result<Self, Refusal> {
        self.combine(other, i128::checked_sub, |left, right| left - right)
    }

    pub(crate) fn times(self, other: Self) -> Result<Self, Refusal> {
        self.combine(other, i128::checked_mul, |left, right| left * right)
    }

    /// Divides; whole numbers that divide without a remainder stay whole.
    pub(crate) fn over(self, other: Self) -> Result<Self, Refusal> {
        match (self, other) {
            (_, Self::Whole(0)) => Err(Refusal::input("nothing can be divided by 0")),
            (Self::Whole(left), Self::Whole(right))
                if left.checked_rem(right).is_none_or(|rest| rest == 0) =>
            {
                left.checked_div(right).map(Self::Whole).ok_or_else(overflow)
            }
            (left, right) => finite(left.real() / right.real()).map(Self::Real),
        }
    }

    fn combine(
        self,
        other: Self,
        whole: fn(i128, i128) -> Option<i128>,
        real: fn(f64, f64) -> f64,
    ) -> Result<Self, Refusal> {
        match (self, other) {
            (Self::Whole(left), Self::Whole(right)) => {
                whole(left, right).map(Self::Whole).ok_or_else(overflow)
            }
            (left, right) => finite(real(left.real(), right.real())).map(Self::Real),
        }
    }
}

/// Returns a double as a value.
pub(crate) fn real_value(real: f64) -> Result<Value, Refusal> {
    Float::new(real).map(Value::from).map_err(|_| overflow())
}

fn finite(real: f64) -> Result<f64, Refusal> {
    if real.is_finite() { Ok(real) } else { Err(overflow()) }
}

fn overflow() -> Refusal {
    Refusal::too_large("the result is out of range")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_stay_whole_until_they_cannot() {
        let (max, one) = (Amount::Whole(i128::MAX), Amount::Whole(1));
        assert_eq!(Amount::Whole(i128::MAX - 1).plus(one), Ok(max));
        assert!(max.plus(one).is_err());
        assert_eq!(Amount::Whole(6).over(Amount::Whole(3)), Ok(Amount::Whole(2)));
        assert_eq!(Amount::Whole(1).over(Amount::Whole(4)), Ok(Amount::Real(0.25)));
        assert!(Amount::Whole(i128::MIN).over(Amount::Whole(-1)).is_err());
        assert!(one.over(Amount::ZERO).is_err());
        assert!(Amount::Real(f64::MAX).times(Amount::Real(2.0)).is_err());
    }
}
