//! Measures the first page of the list of runs: `list_load ADDRESS RUNS_PER_PAGE TIMES`.
//!
//! Prints the median and the slowest of so many pages in microseconds, through the calls that `hence runs` makes: the page with its
//! cached views, and the bounded count. `tools/bench-postgres` fills the tables before.

use std::time::Instant;

use hence_store::{NewestRequest, Store as _};
use hence_store_postgres::PostgresStore;

/// The attachments that the view of a list depends on.
const NAMES: &[&str] = &["problem.json", "retry.json", "times.ndjson"];

/// The number of runs from which on `hence runs` does not count.
const COUNTED_MAX: u64 = 10_001;

#[allow(clippy::print_stdout, reason = "the figures are the output")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, runs, times] = arguments.as_slice() else {
        return Err("usage: list_load ADDRESS RUNS_PER_PAGE TIMES".into());
    };
    let (runs_max, times): (usize, usize) = (runs.parse()?, times.parse()?);
    let store = PostgresStore::connect(address)?;
    let (mut first, mut tenth, mut count) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..times {
        let mut after = None;
        for page in 1..=10 {
            let start = Instant::now();
            let listed = store.list_newest(NAMES, &NewestRequest { after, since: None, runs_max })?;
            let listed = listed.ok_or("a database lists by creation")?;
            let elapsed = start.elapsed().as_micros();
            if listed.listing.runs.len() != runs_max
                || listed.listing.runs.iter().any(|run| run.view.is_none())
            {
                return Err("a page has fewer runs than asked for, or a run without its view".into());
            }
            match page {
                1 => first.push(elapsed),
                10 => tenth.push(elapsed),
                _ => {}
            }
            after = listed.next;
        }
        let start = Instant::now();
        store.count_up_to(COUNTED_MAX)?;
        count.push(start.elapsed().as_micros());
    }
    let figures = |name: &str, mut times: Vec<u128>| {
        times.sort_unstable();
        let (median, most) = (times.get(times.len() / 2), times.last());
        println!("{name}_us={} {name}_max_us={}", median.unwrap_or(&0), most.unwrap_or(&0));
    };
    figures("first", first);
    figures("tenth", tenth);
    figures("count", count);
    Ok(())
}
