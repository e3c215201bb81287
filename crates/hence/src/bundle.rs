//! A run as a folder that can be carried elsewhere.
//!
//! ```text
//! bundle.json      what is in it: format, run, head, and the digest of every other file
//! trace.ndjson     the journal, byte for byte
//! problem.json     and other attachments
//! blobs/<sha256>   the large values the journal names
//! ```

use std::collections::BTreeSet;

use hence_canon::{Digest, parse};
use hence_engine::{Blobs, referenced};
use serde::{Deserialize, Serialize};

use crate::interactive::spills_of;

/// The manifest's name.
pub(crate) const MANIFEST: &str = "bundle.json";
/// The journal's name.
pub(crate) const JOURNAL: &str = "trace.ndjson";
/// The folder of large values.
pub(crate) const BLOBS: &str = "blobs";
/// The only format there is.
pub(crate) const FORMAT: &str = "hence-bundle/1";

/// What a bundle holds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    /// [`FORMAT`].
    pub(crate) format: String,
    /// The run's id.
    pub(crate) run: String,
    /// Where its journal ends.
    pub(crate) head: String,
    /// Every other file.
    pub(crate) files: Vec<BundleFile>,
}

/// One file of a bundle.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BundleFile {
    /// Its path inside the bundle, with `/`.
    pub(crate) path: String,
    /// The digest of its bytes.
    pub(crate) sha256: String,
    /// How many bytes it has.
    pub(crate) bytes: u64,
}

/// How a reference begins in a canonical line.
const REFERENCE: &[u8] = b"\"$blob\"";

/// How the name of a step on variables begins in a canonical line.
const VARIABLES_STEP: &[u8] = b"\"step\":\"vars.";

/// Finds the large values that a journal's results refer to, those of variables among them.
///
/// An event that is itself kept outside the journal and cannot be had is among them; what it refers to is not.
pub(crate) fn referenced_blobs(journal: &[u8], blobs: &dyn Blobs) -> BTreeSet<Digest> {
    let mut found = BTreeSet::new();
    // Most lines refer to nothing, and looking for a mark is cheaper than parsing.
    let has = |line: &[u8], mark: &[u8]| line.windows(mark.len()).any(|window| window == mark);
    for line in journal.split(|byte| *byte == b'\n') {
        let on_variables = has(line, VARIABLES_STEP);
        if !on_variables && !has(line, REFERENCE) {
            continue;
        }
        let Some(record) = parse(line).ok() else { continue };
        let Some(output) = record.get("result").and_then(|result| result.get("output")) else { continue };
        found.extend(referenced(output));
        if on_variables {
            // What is no event refers to nothing; `hence verify` says what is wrong with it.
            let event = hence_engine::resolve(&output.clone().into(), blobs).ok();
            let event = event.and_then(|event| hence_variables::Event::from_value(&event).ok());
            found.extend(event.iter().flat_map(spills_of).map(|spill| spill.sha256));
        }
    }
    found
}
