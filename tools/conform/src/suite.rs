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

/// Finds a suite by name.
pub(crate) fn find(name: &str) -> Option<Suite> {
    SUITES.iter().find(|(known, _)| *known == name).map(|(_, suite)| *suite)
}
