//! Ponens traces and policies.

use std::path::Path;

use crate::data::DataError;
use crate::report::Report;

mod lineage;
mod validate;

pub(crate) fn run(dir: &Path, report: &mut Report) -> Result<(), DataError> {
    lineage::run(dir, report)?;
    validate::run(dir, report)
}
