//! Variables: operations on the store, and documents.

use std::path::Path;

use crate::data::DataError;
use crate::report::Report;

mod compare;
mod documents;
mod fixture;
mod operation;
mod store;
mod world;

pub(crate) fn run(dir: &Path, report: &mut Report) -> Result<(), DataError> {
    store::run(dir, report)?;
    documents::run(dir, report)
}
