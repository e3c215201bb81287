//! Ponens traces and policies.

use std::path::Path;

use crate::data::DataError;
use crate::report::Report;

mod goals;
mod grade;
mod import;
mod lineage;
mod reproduce;
mod validate;

pub(crate) fn run(dir: &Path, report: &mut Report) -> Result<(), DataError> {
    import::run(dir, report)?;
    lineage::run(dir, report)?;
    validate::run(dir, report)?;
    goals::run(dir, report)?;
    reproduce::run(dir, report)?;
    grade::run(dir, report)
}
