//! Runs of skills: what a step costs, and how that grows.

use std::sync::Arc;

use hence_canon::{Canonical, Object, Value};
use hence_capabilities::Library;
use hence_cognition::capability::TrustLevel;
use hence_cognition::run::Prepared;
use hence_cognition::schedule::FailureMode;
use hence_cognition::skill::Skill;
use hence_engine::{MemorySink, Run, Sink};
use hence_skills::{Links, NewSkillRun, SkillProgram, SkillRun, finish};
use hence_state::{ProblemSpec, Profile, Timestamp};

use crate::measure::{exponent, time_of};
use crate::sample::object;
use crate::table::{Budget, Row, Table};
use crate::{Error, machine};

/// The speed of the reference runtime of the document on the linear skill of 1000 steps, in steps a second.
const REFERENCE_STEPS_PER_SECOND: f64 = 930.0;
/// Lengths of the linear skills, in steps.
const STEPS: [usize; 4] = [10, 100, 1_000, 10_000];
/// Sizes of the value a linear skill carries along, in bytes.
const CARRIED: [(usize, &str); 2] = [(10_000, "10 KB"), (1_000_000, "1 MB")];
/// The budget of a run of trivial steps.
const SPEED: Budget = Budget::AtLeast(100.0);
/// The most bytes a trivial step writes.
const TRIVIAL_BYTES_MAX: usize = 100_000;
/// The memory of a run is a tree, so time goes with n log n, which is 1.13 here; ten thousand steps also leave the caches.
const GROWTH_MAX: f64 = 1.3;
/// The number of steps that start side by side.
const FAN_OUT: usize = 500;
/// The number of items a step repeats over.
const ITEMS: usize = 5_000;
/// The number of times each run is made at least.
const TURNS: usize = 5;
/// The length of the runs that are made no more often than that.
const STEPS_MEASURED: usize = 10_000;

pub(crate) fn run(table: &mut Table) -> Result<(), Error> {
    for (bytes, size) in CARRIED {
        linear(table, bytes, size)?;
    }
    measure_chains(table, "names in no order", Some(SPEED), unordered)?;
    wide(table, &format!("fan-out of {FAN_OUT} steps and one that joins them"), &fan_out(), FAN_OUT + 1)?;
    wide(table, &format!("one step over {ITEMS} items"), &foreach(), ITEMS)
}

/// Measures chains of steps, each reading what the one before wrote.
fn linear(table: &mut Table, bytes: usize, size: &str) -> Result<(), Error> {
    // The reference runtime's figure is one of trivial steps, and the step that makes a large value is none.
    let budget = (bytes < TRIVIAL_BYTES_MAX).then_some(SPEED);
    measure_chains(table, &format!("{size} state"), budget, |count| chain(count, bytes))
}

fn measure_chains(
    table: &mut Table,
    what: &str,
    budget: Option<Budget>,
    chain: impl Fn(usize) -> Value,
) -> Result<(), Error> {
    let mut points = Vec::new();
    let mut detail = Vec::new();
    for count in STEPS {
        let case = Case::of(&chain(count))?;
        case.run()?;
        // Short runs are made more often: one that something disturbed weighs less.
        let turns = (TURNS * STEPS_MEASURED / count).clamp(TURNS, TURNS * 20) | 1;
        let time = time_of(turns, || case.run()).as_secs_f64();
        let rate = count_of(count)? / time;
        detail.push(format!("{count}: {:.1} µs", 1e6 / rate));
        if count == 1_000 {
            table.push(Row {
                path: format!("linear skill, 1000 steps, {what}, speed / reference runtime"),
                figure: Some(rate / REFERENCE_STEPS_PER_SECOND),
                unit: "×",
                budget,
                detail: format!(
                    "{rate:.0} steps a second, kept in memory; reference {REFERENCE_STEPS_PER_SECOND:.0}"
                ),
            });
        }
        // Short runs cost what beginning costs.
        if count >= 1_000 {
            points.push((count_of(count)?, time));
        }
    }
    table.push(Row {
        path: format!("linear skill, 1000 to 10 000 steps, {what}: exponent (1 is linear)"),
        figure: Some(exponent(&points)),
        unit: "",
        budget: Some(Budget::AtMost(GROWTH_MAX)),
        detail: format!("per step at {}", detail.join(", ")),
    });
    Ok(())
}

/// Measures a skill that does `parts` things side by side.
fn wide(table: &mut Table, what: &str, skill: &Value, parts: usize) -> Result<(), Error> {
    let case = Case::of(skill)?;
    case.run()?;
    let rate = count_of(parts)? / time_of(TURNS, || case.run()).as_secs_f64();
    table.push(Row {
        path: format!("skill with {what}, speed / reference runtime's linear steps"),
        figure: Some(rate / REFERENCE_STEPS_PER_SECOND),
        unit: "×",
        budget: None,
        detail: format!("{rate:.0} a second on {} threads", machine::threads()),
    });
    Ok(())
}

/// A skill ready to run.
pub(super) struct Case {
    pub(super) library: Library,
    pub(super) prepared: Prepared,
    pub(super) source: Canonical,
    pub(super) problem: Arc<ProblemSpec>,
}

impl Case {
    pub(super) fn of(document: &Value) -> Result<Self, Error> {
        let source = Canonical::of(document);
        let skill = Skill::read(source.value()).skill.ok_or("the skill to measure on is broken")?;
        let new = NewSkillRun {
            capabilities: None,
            policies: None,
            id: "bench".to_owned(),
            created_at: Timestamp::parse("2026-01-01T00:00:00Z")?,
            inputs: Object::new(),
            frame: None,
            on_failure: FailureMode::FailFast,
            trust: TrustLevel::default(),
            limits: Default::default(),
            links: Links::default(),
        };
        let problem = ProblemSpec::decode(&new.problem(&skill, &source), &Profile::STRICT)?;
        let library = Library::built_in();
        let prepared = Prepared::of(&skill, &library).map_err(|problems| format!("{problems:?}"))?;
        Ok(Self { library, prepared, source, problem: Arc::new(problem) })
    }

    pub(super) fn run(&self) -> Result<(SkillRun<'_, '_>, MemorySink), Error> {
        let (run, header) = Run::start(SkillProgram::new(
            self.problem.clone(),
            &self.prepared,
            &self.source,
            &self.library,
        )?)?;
        let mut sink = MemorySink::default();
        sink.append(&header)?;
        let run = finish(run, machine::threads(), &mut sink, |_| {})?;
        match run.program().report().failure {
            Some(failure) => Err(failure.failure.message.to_string().into()),
            None => Ok((run, sink)),
        }
    }
}

fn count_of(count: usize) -> Result<f64, Error> {
    Ok(f64::from(u32::try_from(count)?))
}

/// A chain of `count` additions behind a step that writes a text of `bytes`.
pub(super) fn chain(count: usize, bytes: usize) -> Value {
    let carried = object([("parts", vec![Value::from("x".repeat(bytes))].into())]);
    let first = step("carry", "text.join", carried, [("text", "vars.carried")], object([]));
    let second = step("n00000", "number.sum", adding(Value::from(1)), [("sum", "vars.n00000")], object([]));
    let others = (1..count).map(|number| {
        let (before, target) = (format!("vars.n{:05}", number - 1), format!("vars.n{number:05}"));
        step(&format!("n{number:05}"), "number.sum", adding(before.into()), [("sum", &target)], object([]))
    });
    skill([first, second].into_iter().chain(others).collect())
}

/// A chain of `count` additions whose names sort otherwise than they run.
fn unordered(count: usize) -> Value {
    let name = |number: usize| format!("n{}", number * 7_919 % 10_007);
    let steps = (0..count).map(|number| {
        let before = if number == 0 { Value::from(1) } else { format!("vars.{}", name(number - 1)).into() };
        let target = format!("vars.{}", name(number));
        step(&name(number), "number.sum", adding(before), [("sum", &target)], object([]))
    });
    skill(steps.collect())
}

/// Steps that depend on nothing, and one that adds up what they wrote.
fn fan_out() -> Value {
    let free = object([("depends_on", Vec::<Value>::new().into())]);
    let mut steps: Vec<Value> = (0..FAN_OUT)
        .map(|number| {
            let target = format!("vars.n{number:05}");
            step(
                &format!("n{number:05}"),
                "number.sum",
                adding(Value::from(number)),
                [("sum", &target)],
                free.clone(),
            )
        })
        .collect();
    let all: Vec<Value> = (0..FAN_OUT).map(|number| format!("vars.n{number:05}").into()).collect();
    let names: Vec<Value> = (0..FAN_OUT).map(|number| format!("n{number:05}").into()).collect();
    let joined = object([("depends_on", names.into())]);
    steps.push(step("all", "number.sum", object([("values", all.into())]), [("sum", "outputs.sum")], joined));
    skill(steps)
}

/// One number rounded for each item.
fn foreach() -> Value {
    let items: Vec<Value> = (0..ITEMS).map(Value::from).collect();
    let list =
        step("list", "data.unique", object([("items", items.into())]), [("items", "vars.items")], object([]));
    let each = object([("foreach", object([("items", "vars.items".into()), ("as", "value".into())]))]);
    skill(vec![list, step("each", "number.round", object([]), [("value", "vars.rounded")], each)])
}

fn adding(value: Value) -> Value {
    object([("values", vec![value, Value::from(1)].into())])
}

fn step(id: &str, uses: &str, input: Value, output: [(&str, &str); 1], config: Value) -> Value {
    let output = object(output.map(|(member, target)| (member, target.into())));
    object([
        ("id", id.into()),
        ("uses", uses.into()),
        ("input", input),
        ("output", output),
        ("config", config),
    ])
}

fn skill(steps: Vec<Value>) -> Value {
    object([
        ("id", "bench".into()),
        ("version", "1.0.0".into()),
        ("name", "Bench".into()),
        ("description", "What does a step cost?".into()),
        ("inputs", object([])),
        ("outputs", object([])),
        ("steps", steps.into()),
    ])
}
