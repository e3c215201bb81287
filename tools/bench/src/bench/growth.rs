//! The growth of a run's cost with its steps.

use std::time::Duration;

use hence_engine::{Blobs, NoBlobs};
use hence_engine::{Plan, Reason, Run, Sink, SinkError};

use crate::measure::{exponent, slope, time_of};
use crate::table::{Budget, Row, Table};
use crate::{Error, sample};

/// Lengths of the runs, in steps.
const STEPS: [usize; 4] = [1_000, 2_000, 5_000, 10_000];
/// The number of times each run is made.
const TURNS: usize = 5;

/// A way to plan a run of so many steps.
type Planner = fn(usize) -> Result<Plan, Error>;

pub(crate) fn run(table: &mut Table) -> Result<(), Error> {
    measure(table, "steps with an artifact each", sample::trivial_steps)?;
    measure(table, "a loop of the built-in skill", sample::loop_steps)
}

fn measure(table: &mut Table, what: &str, planner: Planner) -> Result<(), Error> {
    let mut points = Vec::new();
    let mut detail = Vec::new();
    for count in STEPS {
        let plan = planner(count)?;
        let time = time_of(TURNS, || execute(plan.clone()));
        execute(plan)?;
        points.push((f64::from(u32::try_from(count)?), time.as_secs_f64()));
        detail.push(format!("{count}: {:.2?}", time / u32::try_from(count)?));
    }
    let per_step = Duration::from_secs_f64(slope(&points).max(0.0));
    table.push(Row {
        path: format!("growth of a run of 1000 to 10 000 steps, {what}: exponent (1 is linear)"),
        figure: Some(exponent(&points)),
        unit: "",
        budget: Some(Budget::AtMost(1.1)),
        detail: format!("slope {per_step:.2?} a step; per step at {}", detail.join(", ")),
    });
    Ok(())
}

/// Runs a plan, letting its records go.
fn execute(plan: Plan) -> Result<u64, Error> {
    let (run, header) = Run::start(Reason::new(plan))?;
    let mut sink = Counted { bytes: header.line().len() };
    let finished = run.finish(&mut sink, |_| {})?;
    Ok(finished.head.records.get())
}

/// Counts bytes and keeps none: what remains is what the run itself costs.
struct Counted {
    bytes: usize,
}

impl Sink for Counted {
    fn append(&mut self, record: &hence_journal::Sealed) -> Result<(), SinkError> {
        self.bytes += record.line().len();
        Ok(())
    }

    fn put_blob(&mut self, _: &hence_canon::Canonical) -> Result<(), SinkError> {
        Err("a trivial step has no large output".into())
    }

    fn blobs(&self) -> &dyn Blobs {
        &NoBlobs
    }
}
