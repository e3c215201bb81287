//! `conform SUITE DIR`: runs a folder of conformance data and reports what matched.
//! `conform reasoning DIR --verifier COMMAND` gives its journals to another verifier instead.
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

use deviations::Deviations;
use report::Report;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (name, dir, verifier) = match *arguments.as_slice() {
        [name, dir] => (name, dir, None),
        [name, dir, "--verifier", command] => (name, dir, Some(command)),
        _ => return usage(),
    };
    let outcome = match (verifier, suite::find(name), suite::find_external(name)) {
        (None, Some(run), _) => deviations::load(name).and_then(|deviations| {
            let mut report = Report::new(deviations);
            run(Path::new(dir), &mut report)?;
            Ok(report)
        }),
        (Some(command), _, Some(run)) => {
            let mut report = Report::new(Deviations::new());
            run(Path::new(dir), command, &mut report).map(|()| report)
        }
        _ => return usage(),
    };
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
    eprintln!(
        "usage: conform SUITE DIR\n       conform reasoning DIR --verifier COMMAND\n  SUITE is one of: {}",
        names.join(", ")
    );
    ExitCode::from(2)
}
