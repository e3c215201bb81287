//! `hence hash`: prints the digest, or the bytes, of a document's canonical form.

use hence_canon::{Canonical, parse};

use crate::args::HashArgs;
use crate::input;
use crate::prelude::*;

/// The digest of a document.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HashReport {
    /// SHA-256 of the canonical bytes, in hex.
    sha256: String,
    /// The number of canonical bytes.
    bytes: usize,
    /// The name of the canonical form.
    canonicalization: &'static str,
}

impl Text for HashReport {
    fn text(&self) -> String {
        self.sha256.clone()
    }

    fn form(&self) -> Form {
        Form::Document
    }
}

pub(super) fn run(context: &Context, args: &HashArgs) -> Result<Exit, CliError> {
    let bytes = input::read_parsable(&args.file, Code::NotJson)?;
    let value = parse(&bytes).map_err(|error| CliError::not_json(input::shown_name(&args.file), error))?;
    let canonical = Canonical::of(&value);
    if args.canonical {
        context.write(canonical.bytes())?;
    } else {
        context.print(&HashReport {
            sha256: canonical.digest().to_string(),
            bytes: canonical.bytes().len(),
            canonicalization: hence_journal::CANONICALIZATION,
        })?;
    }
    Ok(Exit::Yes)
}
