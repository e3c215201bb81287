//! Ponens traces and policies.

use std::path::Path;

use crate::data::DataError;
use crate::report::Report;

mod embedded;
mod formulas;
mod gallery;
mod goals;
mod grade;
mod import;
mod lineage;
mod reproduce;
mod validate;
mod verdicts;

pub(crate) fn run(dir: &Path, report: &mut Report) -> Result<(), DataError> {
    lineage::run(dir, report)?;
    validate::run(dir, report)?;
    goals::run(dir, report)?;
    reproduce::run(dir, report)?;
    grade::run(dir, report)?;
    import::run(dir, report)?;
    formulas::run(dir, report)?;
    gallery::run(dir, report)?;
    verdicts::run(dir, report)?;
    embedded::run(dir, report)
}
