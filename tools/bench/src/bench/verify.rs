//! Verifying a journal at the level chain, against hashing its bytes.

use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Command, Stdio};

use hence_canon::Digest;
use hence_journal::verify::check_chain;

use crate::measure::{Compared, compare};
use crate::table::{Budget, Row, Table};
use crate::{Error, machine, sample};

/// Threads, steps the journal tells, and the budget. One thread is measured on a journal so short that a turn is rarely
/// interrupted; two need one that is long against starting a thread.
const IN_MEMORY: [(usize, usize, f64); 2] = [(1, 1_000, 0.6), (2, 20_000, 1.0)];
/// The number of steps in the journal of the file.
const STEPS_IN_FILE: usize = 100_000;

pub(crate) fn run(table: &mut Table) -> Result<(), Error> {
    for (threads, steps, limit) in IN_MEMORY {
        let journal = sample::journal(sample::trivial_steps(steps)?)?;
        let threads = NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN);
        let check = check_chain(&journal, threads);
        if !check.outcome.holds() {
            return Err(format!("the journal to measure on is broken: {:?}", check.outcome).into());
        }
        let compared = compare(|| (), |()| check_chain(&journal, threads), || Digest::of(&journal));
        table.push(Row {
            path: format!("verify, level chain, {threads} thread(s), throughput / raw SHA-256"),
            figure: Some(compared.ratio.recip()),
            unit: "×",
            budget: Some(Budget::AtLeast(limit)),
            detail: detail(compared, check.records, journal.len()),
        });
    }
    against_sha256sum(&sample::journal(sample::trivial_steps(STEPS_IN_FILE)?)?, table)
}

fn detail(compared: Compared, records: u64, bytes: usize) -> String {
    format!(
        "{:.2?} for {records} records in {:.1} MB, {:.2?} to hash them",
        compared.subject,
        f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)) / 1e6,
        compared.baseline
    )
}

/// Reads and verifies a journal in a file, against `sha256sum` of that file.
fn against_sha256sum(journal: &[u8], table: &mut Table) -> Result<(), Error> {
    let path = std::env::temp_dir().join(format!("hence-bench-{}.ndjson", std::process::id()));
    std::fs::write(&path, journal)?;
    let measured = measure_file(&path);
    std::fs::remove_file(&path)?;
    let (figure, detail) = match measured? {
        Some((compared, records)) => (Some(compared.ratio.recip()), detail(compared, records, journal.len())),
        None => (None, "there is no command sha256sum here".to_owned()),
    };
    table.push(Row {
        path: "verify a journal file of 100k records, all cores, speed / sha256sum of the file".to_owned(),
        figure,
        unit: "×",
        budget: Some(Budget::AtLeast(1.0)),
        detail,
    });
    Ok(())
}

fn measure_file(path: &Path) -> Result<Option<(Compared, u64)>, Error> {
    let sha256sum = || Command::new("sha256sum").arg(path).stdout(Stdio::null()).status();
    if !sha256sum().is_ok_and(|status| status.success()) {
        return Ok(None);
    }
    let verify = || std::fs::read(path).map(|journal| check_chain(&journal, machine::threads()));
    let records = verify()?.records;
    Ok(Some((compare(|| (), |()| verify().is_ok_and(|check| check.outcome.holds()), sha256sum), records)))
}
