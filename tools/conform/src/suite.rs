//! The suites, by name. One module per specification document or family of them.

use std::path::Path;

use crate::data::DataError;
use crate::report::Report;

mod cognitive;
mod ponens;
mod reasoning;
mod rlm;

/// Runs one folder of data into a report.
pub(crate) type Suite = fn(&Path, &mut Report) -> Result<(), DataError>;

/// Every suite this tool knows.
pub(crate) const SUITES: &[(&str, Suite)] = &[
    ("cognitive", cognitive::run),
    ("ponens", ponens::run),
    ("reasoning", reasoning::run),
    ("rlm", rlm::run),
];

/// Runs one folder of data against a verifier that is another program.
pub(crate) type ExternalSuite = fn(&Path, &str, &mut Report) -> Result<(), DataError>;

/// Finds the part of a suite that another program can be asked about: the journals of `reasoning`.
pub(crate) fn find_external(name: &str) -> Option<ExternalSuite> {
    (name == "reasoning").then_some(reasoning::run_external as ExternalSuite)
}

/// Finds a suite by name.
pub(crate) fn find(name: &str) -> Option<Suite> {
    SUITES.iter().find(|(known, _)| *known == name).map(|(_, suite)| *suite)
}
