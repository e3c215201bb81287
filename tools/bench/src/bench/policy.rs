//! Policies over long traces: every operator and every shape of formula in use, whole traces and while the run happens.

mod formulas;
mod trace;

use std::time::Duration;

use hence_canon::{Object, Value};
use hence_policy::eval::Subject;
use hence_policy::monitor::Monitor;
use hence_policy::policy::{Policy, PolicyId};
use hence_policy::{Options, check_subject};

use self::formulas::{OPERATORS, SHAPES};
use crate::Error;
use crate::measure::{exponent, time_of};
use crate::table::{Budget, Row, Table};

/// Lengths of the traces, in actions. A build without optimisation only tries the benchmark out.
const ACTIONS: [usize; 3] =
    if cfg!(debug_assertions) { [500, 2_000, 8_000] } else { [1_000, 10_000, 100_000] };
/// The number of policies a large gallery has.
const GALLERY: usize = 210;
/// The time one policy may take on the longest trace, in seconds.
const SECONDS_MAX: f64 = 1.0;
/// The number of times each evaluation is timed.
const TURNS: usize = 3;
/// The number of actions a monitor is shown.
const WATCHED: usize = if cfg!(debug_assertions) { 1_000 } else { 10_000 };

/// The cost of one formula.
struct Cost {
    name: &'static str,
    /// Actions and seconds.
    points: Vec<(f64, f64)>,
}

impl Cost {
    fn longest(&self) -> f64 {
        self.points.last().map_or(0.0, |(_, seconds)| *seconds)
    }

    fn told(&self) -> String {
        let times: Vec<String> = self
            .points
            .iter()
            .map(|(actions, seconds)| format!("{actions}: {:.2?}", Duration::from_secs_f64(*seconds)))
            .collect();
        times.join(", ")
    }
}

pub(crate) fn run(table: &mut Table) -> Result<(), Error> {
    let traces: Vec<Value> = ACTIONS.iter().map(|actions| trace::of(*actions)).collect();
    let read = measured_reading(&traces)?;
    let subjects: Vec<Subject> = traces.iter().map(Subject::read).collect::<Result<_, _>>()?;
    for (name, formula) in OPERATORS {
        let cost = measured(name, formula, &subjects)?;
        table.push(Row {
            path: format!("policy with {name} on {} actions, trace made ready", longest_trace()),
            figure: Some(cost.longest() + read.longest()),
            unit: " s",
            budget: Some(Budget::AtMost(SECONDS_MAX)),
            detail: format!("exponent {:.2}; {}", exponent(&cost.points), cost.told()),
        });
    }
    shapes(table, &subjects, &read)?;
    gallery(table, &subjects)?;
    watched(table)
}

/// Times making traces ready: finding their parts and building their lineage.
fn measured_reading(traces: &[Value]) -> Result<Cost, Error> {
    let mut points = Vec::new();
    for (actions, trace) in ACTIONS.iter().zip(traces) {
        let time = time_of(TURNS, || Subject::read(trace).is_ok());
        points.push((f64::from(u32::try_from(*actions)?), time.as_secs_f64()));
    }
    Ok(Cost { name: "reading", points })
}

fn longest_trace() -> usize {
    ACTIONS.iter().copied().max().unwrap_or(0)
}

fn policy(name: &str, formula: &str) -> Result<Policy, Error> {
    let id = PolicyId::new(name).ok_or("a policy needs an id")?;
    Ok(Policy::from_formula(&id, formula))
}

fn measured(name: &'static str, formula: &str, subjects: &[Subject]) -> Result<Cost, Error> {
    let policy = policy(name, formula)?;
    let mut points = Vec::new();
    for (actions, subject) in ACTIONS.iter().zip(subjects) {
        let time = time_of(TURNS, || check_subject(subject, [&policy], Options::default()));
        points.push((f64::from(u32::try_from(*actions)?), time.as_secs_f64()));
    }
    Ok(Cost { name, points })
}

/// Times every shape in use and tells of the slowest.
fn shapes(table: &mut Table, subjects: &[Subject], read: &Cost) -> Result<(), Error> {
    let mut costs = Vec::new();
    for shape in SHAPES {
        costs.push(measured(shape, shape, subjects)?);
    }
    costs.sort_by(|left, right| right.longest().total_cmp(&left.longest()));
    let slowest: Vec<String> =
        costs.iter().take(3).map(|cost| format!("`{}`: {}", cost.name, cost.told())).collect();
    table.push(Row {
        path: format!(
            "slowest of {} shapes of policies on {} actions, trace made ready",
            SHAPES.len(),
            longest_trace()
        ),
        figure: costs.first().map(|cost| cost.longest() + read.longest()),
        unit: " s",
        budget: Some(Budget::AtMost(SECONDS_MAX)),
        detail: format!("{}; making the trace ready: {}", slowest.join("; "), read.told()),
    });
    let growths = costs.iter().map(|cost| (exponent(&cost.points), cost));
    let steepest = growths.max_by(|left, right| left.0.total_cmp(&right.0));
    table.push(Row {
        path: format!(
            "growth of {} shapes of policies, 1000 to 100 000 actions: steepest exponent",
            SHAPES.len()
        ),
        figure: steepest.map(|(exponent, _)| exponent),
        unit: "",
        budget: Some(Budget::AtMost(1.2)),
        detail: steepest
            .map(|(_, cost)| format!("1 is linear, 2 is quadratic; `{}`: {}", cost.name, cost.told()))
            .unwrap_or_default(),
    });
    Ok(())
}

/// Times a whole gallery on the longest trace.
fn gallery(table: &mut Table, subjects: &[Subject]) -> Result<(), Error> {
    let policies: Vec<Policy> = SHAPES
        .iter()
        .cycle()
        .take(GALLERY)
        .enumerate()
        .map(|(at, shape)| policy(&format!("p{at}"), shape))
        .collect::<Result<_, _>>()?;
    let Some(longest) = subjects.last() else { return Ok(()) };
    let time = time_of(1, || check_subject(longest, &policies, Options::default()));
    table.push(Row {
        path: format!("{GALLERY} policies on {} actions", longest_trace()),
        figure: Some(time.as_secs_f64()),
        unit: " s",
        budget: Some(Budget::AtMost(10.0)),
        detail: format!("{:.2?} a policy", time / u32::try_from(GALLERY)?),
    });
    Ok(())
}

/// Times what a monitor costs an action, for each operator alone and for all shapes it can watch together.
fn watched(table: &mut Table) -> Result<(), Error> {
    let trace = trace::of(WATCHED);
    let steps = trace::steps(&trace);
    let mut rows = Vec::new();
    for (name, formula) in OPERATORS {
        rows.push(((*name).to_owned(), vec![policy(name, formula)?]));
    }
    let all = SHAPES.iter().enumerate().map(|(at, shape)| policy(&format!("p{at}"), shape));
    rows.push((format!("all {} shapes together", SHAPES.len()), all.collect::<Result<_, _>>()?));
    for (name, policies) in rows {
        let header = trace.as_object().cloned().unwrap_or_default();
        let mut monitor = Monitor::start(&header, &policies, Options::default());
        let watching = policies.len() - monitor.deferred().len();
        if watching == 0 {
            continue;
        }
        let time = time_of(1, || steps.iter().try_for_each(|step| admit(&mut monitor, step)));
        let each = time / u32::try_from(WATCHED)?;
        table.push(Row {
            path: format!("monitor, {name}: an action"),
            figure: Some(each.as_secs_f64() * 1e6),
            unit: " µs",
            budget: None,
            detail: format!("{watching} policies watched over {WATCHED} actions"),
        });
    }
    Ok(())
}

fn admit(monitor: &mut Monitor, (action, artifacts): &(Object, Vec<Object>)) -> Result<(), Error> {
    let _ = monitor.propose(action, artifacts)?.admit();
    Ok(())
}

#[cfg(test)]
mod tests {
    use hence_review::vocabulary::EvaluationStatus;

    use super::*;

    #[test]
    fn every_formula_is_decided_and_many_are_triggered() {
        let trace = trace::of(500);
        let subject = Subject::read(&trace).unwrap();
        let formulas = OPERATORS.iter().map(|(_, formula)| *formula).chain(SHAPES.iter().copied());
        let mut decided = 0;
        for formula in formulas {
            let report = check_subject(&subject, [&policy("p", formula).unwrap()], Options::default());
            let verdict = report.verdicts.first().unwrap();
            assert_ne!(verdict.status, EvaluationStatus::Unknown, "{formula}: {:?}", verdict.reason);
            decided += usize::from(verdict.status != EvaluationStatus::NotApplicable);
        }
        assert!(decided > SHAPES.len() * 3 / 4, "{decided} are not vacuous");
    }

    #[test]
    fn a_monitor_takes_the_trace_in() {
        let trace = trace::of(200);
        let policies: Vec<Policy> = SHAPES.iter().map(|shape| policy(shape, shape).unwrap()).collect();
        let mut monitor = Monitor::start(&Object::new(), &policies, Options::default());
        trace::steps(&trace).iter().try_for_each(|step| admit(&mut monitor, step)).unwrap();
        assert_eq!(monitor.len(), 200);
    }
}
