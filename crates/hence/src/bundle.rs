//! The format of a bundle: a run as a portable folder.
//!
//! ```text
//! bundle.json      the manifest: format, run, head, and the digest of every other file
//! trace.ndjson     the journal, byte for byte
//! problem.json     and other attachments
//! blobs/<sha256>   the large values the journal refers to
//! ```

use std::collections::BTreeSet;

use hence_canon::{Digest, parse};
use hence_engine::{Blobs, referenced};
use hence_store::AttachmentName;
use serde::{Deserialize, Serialize};

use crate::interactive::{spills_of, stored_run};

/// The file name of the manifest.
pub(crate) const MANIFEST: &str = "bundle.json";
/// The file name of the journal.
pub(crate) const JOURNAL: &str = "trace.ndjson";
/// The folder of large values.
pub(crate) const BLOBS: &str = "blobs";
/// The folder of the bundles of nested runs, each in a folder of its own. Only `hence import` of the outer bundle reads it.
pub(crate) const CHILDREN: &str = "children";
/// The attachment by which earlier versions marked a run that came from a bundle. It is not part of a bundle.
pub(crate) const IMPORTED: &str = "imported";

/// Returns whether an attachment belongs to the store and not to the run: the mark of an import, a snapshot, a
/// cached view.
pub(crate) fn is_local(name: &AttachmentName) -> bool {
    [IMPORTED, stored_run::SNAPSHOT, hence_store::VIEW_FILE].contains(&name.as_str())
}

/// The only format so far.
pub(crate) const FORMAT: &str = "hence-bundle/1";

/// The manifest of a bundle.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    /// [`FORMAT`].
    pub(crate) format: String,
    /// The run's id.
    pub(crate) run: String,
    /// The head of its journal.
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
    /// Its size in bytes.
    pub(crate) bytes: u64,
}

/// The member name of a reference in a canonical line.
const REFERENCE: &[u8] = b"\"$blob\"";

/// The start of the name of a step on variables in a canonical line.
const VARIABLES_STEP: &[u8] = b"\"step\":\"vars.";

/// Returns the large values that the results in a journal refer to, including those of variables and what was exchanged
/// with models.
///
/// If an event is itself a large value and missing, it is returned, but the values it refers to are not.
pub(crate) fn referenced_blobs(journal: &[u8], blobs: &dyn Blobs) -> BTreeSet<Digest> {
    let mut found = BTreeSet::new();
    // Most lines refer to nothing, and searching for a marker is cheaper than parsing.
    let has = |line: &[u8], mark: &[u8]| line.windows(mark.len()).any(|window| window == mark);
    for line in journal.split(|byte| *byte == b'\n') {
        let on_variables = has(line, VARIABLES_STEP);
        if !on_variables && !has(line, REFERENCE) {
            continue;
        }
        let Some(record) = parse(line).ok() else { continue };
        let Some(result) = record.get("result") else { continue };
        // The outcome of a failed step is next to its errors; that of a blocked one is in what policies blocked.
        let blocked = result.get(hence_engine::BLOCKED_MEMBER);
        let places = [result.get("outcome"), blocked.and_then(|blocked| blocked.get("output"))];
        found.extend(places.into_iter().flatten().filter_map(referenced));
        let exchanges = crate::exchanges::of_result(result, blobs);
        found.extend(exchanges.iter().filter_map(|exchange| referenced(&exchange.named)));
        let Some(output) = result.get("output") else { continue };
        found.extend(referenced(output));
        if on_variables {
            // Output that is not an event refers to nothing; `hence verify` reports it.
            let event = hence_engine::resolve(&output.clone().into(), blobs).ok();
            let event = event.and_then(|event| hence_variables::Event::from_value(&event).ok());
            found.extend(event.iter().flat_map(spills_of).map(|spill| spill.sha256));
        }
    }
    found
}
