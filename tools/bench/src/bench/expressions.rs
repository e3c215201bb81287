//! Reads of memory by steps: expressions and references.

use hence_canon::{Object, Value};
use hence_cognition::expression::Expression;
use hence_cognition::mapping::InputMapping;
use hence_cognition::reference::MissingName;
use hence_cognition::state::Memory;

use crate::Error;
use crate::measure::{compare, exponent};
use crate::sample::object;
use crate::table::{Budget, Row, Table};

/// The number of terms the expressions have.
const TERMS: [u32; 3] = [1, 10, 50];
/// The number of variables.
const VARIABLES: [u32; 3] = [100, 1_000, 10_000];
/// The number of references the input has.
const REFERENCES: u32 = 50;
/// The number of times something is done before the clock is looked at.
const TIMES: u32 = 20;

pub(crate) fn run(table: &mut Table) -> Result<(), Error> {
    expressions(table)?;
    references(table)
}

/// Compares evaluating what was parsed once with parsing it each time.
fn expressions(table: &mut Table) -> Result<(), Error> {
    let memory = memory(VARIABLES[1])?;
    let mut points = Vec::new();
    for terms in TERMS {
        let term = |number: u32| format!("vars.n{:05}.count > {number}", number * 7 % VARIABLES[1]);
        let text = (0..terms).map(term).collect::<Vec<_>>().join(" or vars.absent == 'x' and ");
        let parsed: Expression = text.parse()?;
        let often = |work: &dyn Fn() -> bool| (0..TIMES).filter(|_| work()).count();
        let compared = compare(
            || (),
            |()| often(&|| parsed.evaluate(&memory, MissingName::Null).is_ok()),
            || {
                often(&|| {
                    text.parse::<Expression>()
                        .is_ok_and(|parsed| parsed.evaluate(&memory, MissingName::Null).is_ok())
                })
            },
        );
        let each = compared.subject.as_secs_f64() / f64::from(TIMES);
        points.push((f64::from(terms), each));
        if terms == TERMS[1] {
            table.push(Row {
                path: format!("expression of {terms} comparisons, parsed once / parsed each time"),
                figure: Some(compared.ratio),
                unit: "×",
                budget: None,
                detail: format!("{:.0} a second", 1.0 / each),
            });
        }
    }
    table.push(Row {
        path: "expression, 1 to 50 comparisons: exponent (1 is linear)".to_owned(),
        figure: Some(exponent(&points)),
        unit: "",
        budget: Some(Budget::AtMost(1.1)),
        detail: per(&points, "expression"),
    });
    Ok(())
}

/// Compares resolving an input with writing down the value it comes to, and tells how that grows with memory.
fn references(table: &mut Table) -> Result<(), Error> {
    let mut points = Vec::new();
    for variables in VARIABLES {
        let memory = memory(variables)?;
        let reference = |number: u32| format!("vars.n{:05}.count", number * 13 % variables);
        let input: Object =
            (0..REFERENCES).map(|number| (format!("i{number}"), Value::from(reference(number)))).collect();
        let mapping = InputMapping::parse(&input.into())?;
        let resolved = mapping.resolve(&memory)?;
        let often = |work: &dyn Fn() -> bool| (0..TIMES).filter(|_| work()).count();
        let compared = compare(
            || (),
            |()| often(&|| mapping.resolve(&memory).is_ok()),
            || often(&|| !hence_canon::canonical_bytes(&resolved).is_empty()),
        );
        let each = compared.subject.as_secs_f64() / f64::from(TIMES) / f64::from(REFERENCES);
        points.push((f64::from(variables), each));
        if variables == VARIABLES[1] {
            table.push(Row {
                path: format!("input of {REFERENCES} references resolved / its value written"),
                figure: Some(compared.ratio),
                unit: "×",
                budget: None,
                detail: format!("{:.0} references a second, {variables} variables", 1.0 / each),
            });
        }
    }
    table.push(Row {
        path: "reference resolved, 100 to 10 000 variables: exponent (0 is constant)".to_owned(),
        figure: Some(exponent(&points)),
        unit: "",
        budget: Some(Budget::AtMost(0.3)),
        detail: per(&points, "reference"),
    });
    Ok(())
}

fn per(points: &[(f64, f64)], what: &str) -> String {
    let listed = points.iter().map(|(size, time)| format!("{size:.0}: {:.0} ns", time * 1e9));
    format!("per {what} at {}", listed.collect::<Vec<_>>().join(", "))
}

fn memory(variables: u32) -> Result<Memory, Error> {
    let variable = |number: u32| {
        let list = vec![Value::from("first"), Value::from("second")];
        (format!("n{number:05}"), object([("count", Value::from(0)), ("list", list.into())]))
    };
    let vars: Object = (0..variables).map(variable).collect();
    Ok(Memory::from_blocks(&object([("vars", vars.into())]))?)
}
