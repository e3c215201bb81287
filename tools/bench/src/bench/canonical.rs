//! Writing, scanning and reading canonical JSON, against hashing its bytes.

use hence_canon::{Digest, canonical_bytes, parse, scan};

use crate::measure::{Compared, compare};
use crate::table::{Budget, Row, Table};
use crate::{Error, sample};

/// The speed that parsing is to reach.
const PARSE: Budget = Budget::AtLeast(0.3);
/// The number of records in the document.
const RECORDS: usize = 2_000;

pub(crate) fn run(table: &mut Table) -> Result<(), Error> {
    let journal = sample::journal(sample::trivial_steps(RECORDS)?)?;
    let lines = journal.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let records = lines.map(parse).collect::<Result<Vec<_>, _>>()?;
    let document = records.into_iter().collect();
    let bytes = canonical_bytes(&document);
    let raw = || Digest::of(&bytes);
    let length = bytes.len();
    push(table, "canonical write", None, compare(|| (), |()| canonical_bytes(&document), raw), length);
    push(table, "canonical proof", None, compare(|| (), |()| scan::prove(&bytes).is_ok(), raw), length);
    push(table, "strict parse", Some(PARSE), compare(|| (), |()| parse(&bytes), raw), length);
    Ok(())
}

fn push(table: &mut Table, path: &str, budget: Option<Budget>, compared: Compared, bytes: usize) {
    let megabytes = f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)) / 1e6;
    table.push(Row {
        path: format!("{path}, throughput / raw SHA-256"),
        figure: Some(compared.ratio.recip()),
        unit: "×",
        budget,
        detail: format!("{:.0} MB/s", megabytes / compared.subject.as_secs_f64()),
    });
}
