//! `conform SUITE DIR`: runs a folder of conformance data and reports what matched.
//!
//! Failures are printed by id, listed deviations by id and reason; the last line is `N passed, M failed`.
//! Exit code 0: nothing failed; 1: something did; 2: the data could not be read.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool")]

mod data;
mod deviations;
mod report;
mod suite;

use std::path::Path;
use std::process::ExitCode;

use report::Report;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, dir] = arguments.as_slice() else { return usage() };
    let Some(run) = suite::find(name) else { return usage() };
    let outcome = deviations::load(name).and_then(|deviations| {
        let mut report = Report::new(deviations);
        run(Path::new(dir), &mut report)?;
        Ok(report)
    });
    match outcome {
        Ok(report) => report.finish(),
        Err(error) => {
            eprintln!("conform: {error}");
            ExitCode::from(2)
        }
    }
}

fn usage() -> ExitCode {
    let names: Vec<&str> = suite::SUITES.iter().map(|(name, _)| *name).collect();
    eprintln!("usage: conform SUITE DIR\n  SUITE is one of: {}", names.join(", "));
    ExitCode::from(2)
}
