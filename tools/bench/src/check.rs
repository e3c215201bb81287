//! `bench --check`: measures the benchmarks whose budgets are recorded as met, and reports budgets that are missed now.

use crate::Error;
use crate::bench::{self, Bench};
use crate::table::Table;

/// The budgets that are met.
const RECORDED: &str = include_str!("../met-budgets.txt");
/// The number of times a benchmark is measured before a missed budget counts: a busy machine disturbs one of them.
const ATTEMPTS: usize = 3;

/// A budget that is recorded as met.
#[derive(PartialEq, Debug)]
struct Recorded<'a> {
    bench: &'a str,
    /// The part of the budget by which a figure may miss it.
    tolerance: f64,
    row: &'a str,
}

/// Measures and returns the rows whose budgets are missed by more than their tolerance.
pub(crate) fn run() -> Result<Vec<String>, Error> {
    let recorded = read(RECORDED)?;
    let mut missed = Vec::new();
    for bench in bench::ALL {
        let of_bench: Vec<&Recorded<'_>> = recorded.iter().filter(|line| line.bench == bench.name).collect();
        if !of_bench.is_empty() {
            missed.extend(check(bench, of_bench)?);
        }
    }
    Ok(missed)
}

/// Measures a benchmark until every recorded budget was met once, or often enough.
fn check(bench: &Bench, mut open: Vec<&Recorded<'_>>) -> Result<Vec<String>, Error> {
    for _ in 0..ATTEMPTS {
        eprintln!("measuring {}", bench.name);
        let mut table = Table::default();
        (bench.run)(&mut table).map_err(|error| format!("{}: {error}", bench.name))?;
        print!("{}", table.as_text());
        let mut still_open = Vec::new();
        for recorded in open {
            let row = table.find(recorded.row).ok_or_else(|| format!("no row `{}`", recorded.row))?;
            if !row.is_met_within(recorded.tolerance) {
                still_open.push(recorded);
            }
        }
        open = still_open;
        if open.is_empty() {
            break;
        }
    }
    Ok(open.into_iter().map(|recorded| recorded.row.to_owned()).collect())
}

fn read(text: &str) -> Result<Vec<Recorded<'_>>, Error> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| read_line(line).ok_or_else(|| format!("not a recorded budget: `{line}`").into()))
        .collect()
}

fn read_line(line: &str) -> Option<Recorded<'_>> {
    let (bench, rest) = line.split_once(' ')?;
    let (per_cent, row) = rest.trim_start().split_once(' ')?;
    let tolerance = f64::from(per_cent.parse::<u8>().ok()?) / 100.0;
    bench::ALL.iter().any(|known| known.name == bench).then_some(Recorded {
        bench,
        tolerance,
        row: row.trim(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recorded_budget_names_a_benchmark() {
        let recorded = read(RECORDED).unwrap();
        assert!(recorded.iter().any(|line| line.bench == "state-hash"));
        assert!(recorded.iter().all(|line| line.tolerance < 1.0 && !line.row.is_empty()));
    }

    #[test]
    fn a_line_that_is_not_a_budget_is_refused() {
        assert!(read("# only a comment\n\n").unwrap().is_empty());
        for line in ["verify", "verify 10", "nothing 10 a row", "verify ten a row"] {
            assert!(read(line).is_err(), "{line}");
        }
        let expected = Recorded { bench: "verify", tolerance: 0.1, row: "a row" };
        assert_eq!(read("verify  10  a row").unwrap(), [expected]);
    }
}
