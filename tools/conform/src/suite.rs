//! The suites, by name. One module per specification document or family of them.

use std::path::Path;

use crate::data::DataError;
use crate::report::Report;

mod canonical_json;
mod cognitive;

/// Runs one folder of data into a report.
pub(crate) type Suite = fn(&Path, &mut Report) -> Result<(), DataError>;

/// Every suite this tool knows.
pub(crate) const SUITES: &[(&str, Suite)] = &[("cognitive", cognitive::run), ("reasoning", reasoning)];

/// Finds a suite by name.
pub(crate) fn find(name: &str) -> Option<Suite> {
    SUITES.iter().find(|(known, _)| *known == name).map(|(_, suite)| *suite)
}

fn reasoning(dir: &Path, report: &mut Report) -> Result<(), DataError> {
    canonical_json::run(dir, report)
}
