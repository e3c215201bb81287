//! Decisions by weighted criteria.

use hence_canon::{JsonPointer, Object, Value};

use crate::amount::Amount;
use crate::arguments::{Arguments, place};
use crate::builtin::{BuiltIn, optional, required};
use crate::number::rounded;
use crate::refusal::Refusal;

pub(crate) const ALL: &[&BuiltIn] = &[&MATRIX];

/// The number of digits to which scores are rounded: the weights do not justify a higher precision.
const SCORE_DIGITS: u64 = 6;

const MATRIX: BuiltIn = BuiltIn {
    id: "decision.matrix",
    does: "Rank options by weighted criteria, each scaled from 0 (worst) to 1 (best)",
    takes: &[
        required("options", "array", "The options"),
        required(
            "criteria",
            "array",
            "Objects with `name`, `weight` above 0, `better` (higher, lower), and `at` if the place is not the name",
        ),
        optional("label", "string", "Where an option's name stands; `name` by default"),
    ],
    gives: &[
        required(
            "ranking",
            "array",
            "Objects with `rank`, `label`, `score`, `scores` by criterion, and `option`, best first",
        ),
        required("best", "any", "The label of the first"),
        required("margin", "any", "How far the second is behind; null for a single option"),
    ],
    call: matrix,
};

struct Criterion {
    name: String,
    at: JsonPointer,
    weight: f64,
    lower_is_better: bool,
}

fn criterion((index, value): (usize, &Value)) -> Result<Criterion, Refusal> {
    let wrong = |what: &str| Refusal::input(format_args!("criterion {index}: {what}"));
    let name = value.get("name").and_then(Value::as_str).ok_or_else(|| wrong("`name` is a string"))?;
    let at = match value.get("at") {
        None | Some(Value::Null) => JsonPointer::root().child(name),
        Some(at) => place("at", at.as_str().ok_or_else(|| wrong("`at` is a place"))?)?,
    };
    let weight = Amount::of(
        value.get("weight").unwrap_or(&Value::Null),
        &format_args!("criterion {index}: `weight`"),
    )?;
    let weight = weight.real();
    if weight <= 0.0 {
        return Err(wrong("`weight` is above 0"));
    }
    let lower_is_better = match value.get("better").and_then(Value::as_str) {
        Some("higher") => false,
        Some("lower") => true,
        _ => return Err(wrong("`better` is higher or lower")),
    };
    Ok(Criterion { name: name.to_owned(), at, weight, lower_is_better })
}

fn matrix(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let options = arguments.list("options")?;
    let label = place("label", arguments.text_or("label", "name")?)?;
    let criteria =
        arguments.list("criteria")?.iter().enumerate().map(criterion).collect::<Result<Vec<_>, _>>()?;
    let total: f64 = criteria.iter().map(|criterion| criterion.weight).sum();
    if criteria.is_empty() || !total.is_finite() {
        return Err(Refusal::input("there is at least one criterion, and weights have a finite sum"));
    }
    let mut rows: Vec<(f64, Object, &Value)> =
        options.iter().map(|option| (0.0, Object::new(), option)).collect();
    for criterion in &criteria {
        let scaled = scaled(options, criterion)?;
        for ((score, scores, _), scaled) in rows.iter_mut().zip(scaled) {
            *score += scaled * criterion.weight / total;
            *scores = scores.with(criterion.name.as_str(), rounded(scaled, SCORE_DIGITS)?);
        }
    }
    // The sort is stable: options with equal scores stay in order.
    rows.sort_by(|left, right| right.0.total_cmp(&left.0));
    let labels = |option: &Value| option.pointer(&label).cloned().unwrap_or_default();
    let best = rows.first().map(|(_, _, option)| labels(option)).unwrap_or_default();
    let margin = match rows.as_slice() {
        [first, second, ..] => rounded(first.0 - second.0, SCORE_DIGITS)?,
        _ => Value::Null,
    };
    let ranked = (1_u64..).zip(rows).map(|(rank, (score, scores, option))| {
        Ok(Object::from_iter([
            ("rank", Value::from(rank)),
            ("label", labels(option)),
            ("score", rounded(score, SCORE_DIGITS)?),
            ("scores", scores.into()),
            ("option", option.clone()),
        ]))
    });
    let ranking = ranked.collect::<Result<Vec<Object>, Refusal>>()?;
    Ok(Object::from_iter([("ranking", Value::from(ranking)), ("best", best), ("margin", margin)]))
}

/// Scales the values of a criterion to 0 to 1, 1 being best; if all values are equal, each is 1.
fn scaled(options: &[Value], criterion: &Criterion) -> Result<Vec<f64>, Refusal> {
    let real = |(index, option): (usize, &Value)| {
        let value = option.pointer(&criterion.at).unwrap_or(&Value::Null);
        Amount::of(value, &format_args!("option {index}: `{}`", criterion.name)).map(Amount::real)
    };
    let values = options.iter().enumerate().map(real).collect::<Result<Vec<f64>, Refusal>>()?;
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let width = high - low;
    let scale = |value: f64| match width {
        width if width <= 0.0 => 1.0,
        // Both are halved first, because the difference of two distant doubles can overflow.
        _ if !width.is_finite() => (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0),
        width => (value - low) / width,
    };
    let turned = |share: f64| if criterion.lower_is_better && width > 0.0 { 1.0 - share } else { share };
    Ok(values.into_iter().map(|value| turned(scale(value))).collect())
}

#[cfg(test)]
mod tests {
    use crate::testing::table;

    #[test]
    fn options_are_ranked_by_weight_and_direction() {
        table(
            "decision.matrix",
            &[
                (
                    r#"{"options": [{"name": "a", "price": 10, "q": 1}, {"name": "b", "price": 20, "q": 3}],
                    "criteria": [{"name": "price", "weight": 3, "better": "lower"}, {"name": "quality", "at": "/q", "weight": 1, "better": "higher"}]}"#,
                    r#"{"best": "a", "margin": 0.5, "ranking": [
                    {"rank": 1, "label": "a", "score": 0.75, "scores": {"price": 1.0, "quality": 0.0}, "option": {"name": "a", "price": 10, "q": 1}},
                    {"rank": 2, "label": "b", "score": 0.25, "scores": {"price": 0.0, "quality": 1.0}, "option": {"name": "b", "price": 20, "q": 3}}]}"#,
                ),
                (
                    r#"{"options": [{"name": "a", "x": -1.7e308}, {"name": "b", "x": 1.7e308}], "criteria": [{"name": "x", "weight": 1, "better": "higher"}]}"#,
                    r#"{"best": "b", "margin": 1.0, "ranking": [
                    {"rank": 1, "label": "b", "score": 1.0, "scores": {"x": 1.0}, "option": {"name": "b", "x": 1.7e308}},
                    {"rank": 2, "label": "a", "score": 0.0, "scores": {"x": 0.0}, "option": {"name": "a", "x": -1.7e308}}]}"#,
                ),
                (
                    r#"{"options": [], "criteria": [{"name": "x", "weight": 1, "better": "lower"}]}"#,
                    r#"{"ranking": [], "best": null, "margin": null}"#,
                ),
                (
                    r#"{"options": [{}], "criteria": [{"name": "x", "weight": 1, "better": "lower"}]}"#,
                    "!option 0: `x` is a number, found null",
                ),
                (
                    r#"{"options": [], "criteria": [{"name": "x", "weight": 0, "better": "lower"}]}"#,
                    "!criterion 0: `weight` is above 0",
                ),
                (
                    r#"{"options": [], "criteria": [{"name": "x", "weight": 1}]}"#,
                    "!criterion 0: `better` is higher or lower",
                ),
                (r#"{"options": [], "criteria": []}"#, "!there is at least one criterion"),
            ],
        );
    }
}
