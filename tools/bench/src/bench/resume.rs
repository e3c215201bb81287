//! Resuming a run, against reading and hashing its journal.

use std::convert::Infallible;

use hence_canon::Digest;
use hence_engine::{NoBlobs, Plan, Reason, Run};
use hence_journal::verify::read_verified;

use crate::measure::{Compared, compare};
use crate::table::{Budget, Row, Table};
use crate::{Error, machine, sample};

/// The number of steps in the journal.
const STEPS: usize = 100_000;

pub(crate) fn run(table: &mut Table) -> Result<(), Error> {
    measure(table, "steps with an artifact each", sample::trivial_steps(STEPS)?)?;
    measure(table, "a loop of the built-in skill", sample::loop_steps(STEPS)?)
}

fn measure(table: &mut Table, what: &str, plan: Plan) -> Result<(), Error> {
    let journal = sample::journal(plan.clone())?;
    let path = std::env::temp_dir().join(format!("hence-bench-{}.ndjson", std::process::id()));
    std::fs::write(&path, &journal)?;
    // The last line is left out, so that there is something left to do.
    let whole = journal.strip_suffix(b"\n").unwrap_or_default();
    let end = whole.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let resume = |plan: Plan| -> Result<Run<'static, Reason>, Error> {
        let journal = std::fs::read(&path)?;
        let journal = journal.get(..end).unwrap_or_default();
        Ok(Run::resume(Reason::new(plan), journal, &NoBlobs)?)
    };
    let going = resume(plan.clone()).map(|resumed| !resumed.has_ended());
    let hash = || std::fs::read(&path).map(|journal| Digest::of(&journal));
    let compared = compare(|| plan.clone(), resume, hash);
    let read = || {
        let journal = std::fs::read(&path).unwrap_or_default();
        read_verified(&journal, machine::threads(), |_| Ok::<(), Infallible>(())).is_ok()
    };
    let read_once = compare(|| (), |()| read(), hash);
    std::fs::remove_file(&path)?;
    if !going? {
        return Err("a run without its last record is taken for one that has ended".into());
    }
    let row = |path: String, budget, compared: Compared| Row {
        path,
        figure: Some(compared.ratio),
        unit: "×",
        budget,
        detail: format!(
            "{:.0?} against {:.0?} for {} MB",
            compared.subject,
            compared.baseline,
            journal.len() / 1_000_000
        ),
    };
    let verified = format!("read, verify and decode 100k records, {what} / read and hash the journal");
    table.push(row(verified, None, read_once));
    let resumed = format!("resume a run of 100k steps, {what} / read and hash its journal");
    table.push(row(resumed, Some(Budget::AtMost(2.0)), compared));
    Ok(())
}
