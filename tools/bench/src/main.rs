//! `bench [NAME…]`: measures the budgets of `hence` and reports which are met.
//!
//! Every figure is a ratio between two things measured turn by turn in the same run, so that it means the same on
//! another machine. A run of everything also writes `docs/benchmarks.md`. `bench --check` measures the benchmarks that
//! `met-budgets.txt` lists and fails when a budget listed there is missed by more than its tolerance. Exit code 0:
//! done; 1: a benchmark could not be measured, or a listed budget is missed; 2: an unknown name.
//!
//! A benchmark is one file in `bench/` and one line in `bench.rs`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool")]

mod bench;
mod check;
mod machine;
mod measure;
mod page;
mod sample;
mod table;

use std::process::ExitCode;

use bench::Bench;
use table::Table;

/// The error of a benchmark that cannot measure.
type Error = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    if cfg!(debug_assertions) {
        eprintln!("bench: built without --release, the figures mean nothing");
    }
    if names == ["--check"] {
        return check();
    }
    let Some(benches) = select(&names) else { return usage() };
    let mut table = Table::default();
    let outcome = benches.iter().try_for_each(|bench| {
        eprintln!("measuring {}", bench.name);
        (bench.run)(&mut table).map_err(|error| format!("{}: {error}", bench.name))
    });
    print!("{}", table.as_text());
    let written = match outcome {
        Ok(()) if names.is_empty() && !cfg!(debug_assertions) => page::write(&table),
        Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    };
    written.map_or_else(|error| fail(&error), |()| ExitCode::SUCCESS)
}

fn check() -> ExitCode {
    match check::run() {
        Ok(missed) if missed.is_empty() => {
            println!("every budget that is recorded as met is met");
            ExitCode::SUCCESS
        }
        Ok(missed) => {
            missed.iter().for_each(|row| println!("missed: {row}"));
            ExitCode::FAILURE
        }
        Err(error) => fail(&error),
    }
}

fn fail(error: &Error) -> ExitCode {
    eprintln!("bench: {error}");
    ExitCode::FAILURE
}

/// Returns the benchmarks of those names, all of them for none; `None` when a name is unknown.
fn select(names: &[String]) -> Option<Vec<&'static Bench>> {
    if names.is_empty() {
        return Some(bench::ALL.iter().collect());
    }
    names.iter().map(|name| bench::ALL.iter().find(|bench| bench.name == name)).collect()
}

fn usage() -> ExitCode {
    let names: Vec<&str> = bench::ALL.iter().map(|bench| bench.name).collect();
    eprintln!("usage: bench [NAME…]\n       bench --check\n  NAME is one of: {}", names.join(", "));
    ExitCode::from(2)
}
