//! Taking up a run, against reading and hashing its journal.

use hence_canon::Digest;
use hence_engine::{NoBlobs, Plan, Resumed, Run};

use crate::measure::compare;
use crate::table::{Budget, Row, Table};
use crate::{Error, sample};

/// How many steps the run has taken.
const STEPS: usize = 100_000;

pub(crate) fn run(table: &mut Table) -> Result<(), Error> {
    measure(table, "steps with an artifact each", sample::trivial_steps(STEPS)?)?;
    measure(table, "a loop of the built-in skill", sample::loop_steps(STEPS)?)
}

fn measure(table: &mut Table, what: &str, plan: Plan) -> Result<(), Error> {
    let journal = sample::journal(plan.clone())?;
    let path = std::env::temp_dir().join(format!("hence-bench-{}.ndjson", std::process::id()));
    std::fs::write(&path, &journal)?;
    // The last line is left out, so that there is something to take up.
    let whole = journal.strip_suffix(b"\n").unwrap_or_default();
    let end = whole.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let resume = |plan: Plan| -> Result<Resumed, Error> {
        let journal = std::fs::read(&path)?;
        let journal = journal.get(..end).unwrap_or_default();
        Ok(Run::resume(plan, journal, &NoBlobs)?)
    };
    let going = resume(plan.clone()).map(|resumed| matches!(resumed, Resumed::Going(_)));
    let hash = || std::fs::read(&path).map(|journal| Digest::of(&journal));
    let compared = compare(|| plan.clone(), resume, hash);
    std::fs::remove_file(&path)?;
    if !going? {
        return Err("a run without its last record is taken for one that has ended".into());
    }
    table.push(Row {
        path: format!("resume a run of 100k steps, {what} / read and hash its journal"),
        figure: Some(compared.ratio),
        unit: "×",
        budget: Some(Budget::AtMost(2.0)),
        detail: format!(
            "{:.0?} against {:.0?} for {} MB",
            compared.subject,
            compared.baseline,
            journal.len() / 1_000_000
        ),
    });
    Ok(())
}
