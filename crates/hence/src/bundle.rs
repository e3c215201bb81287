//! A run as a folder that can be carried elsewhere.
//!
//! ```text
//! bundle.json      what is in it: format, run, head, and the digest of every other file
//! trace.ndjson     the journal, byte for byte
//! problem.json     and other attachments
//! blobs/<sha256>   the large values the journal names
//! ```

use std::collections::BTreeSet;

use hence_canon::{Digest, Value, parse};
use hence_engine::referenced;
use serde::{Deserialize, Serialize};

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

/// Finds the large values that a journal's results refer to.
pub(crate) fn referenced_blobs(journal: &[u8]) -> BTreeSet<Digest> {
    // Most lines refer to nothing, and looking for the mark is cheaper than parsing.
    let is_marked = |line: &[u8]| line.windows(REFERENCE.len()).any(|window| window == REFERENCE);
    let output = |line: &[u8]| {
        if !is_marked(line) {
            return None;
        }
        let record = parse(line).ok()?;
        record.get("result")?.get("output").and_then(|output: &Value| referenced(output))
    };
    journal.split(|byte| *byte == b'\n').filter_map(output).collect()
}
