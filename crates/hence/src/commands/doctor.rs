//! `hence doctor`: checks the store and repairs it.

use hence_store::{FileStore, Finding, Gravity, Store as _};

use crate::args::DoctorArgs;
use crate::bundle::referenced_blobs;
use crate::prelude::*;
use crate::sink::StoreBlobs;

/// The result of a check or a repair of the store.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DoctorReport {
    /// The number of checked runs; null after a rebuild.
    runs: Option<u64>,
    /// The number of blobs read and hashed; null after a rebuild.
    blobs: Option<u64>,
    /// The changes that were made.
    done: Vec<String>,
    /// The defects that were found.
    findings: Vec<String>,
}

impl Text for DoctorReport {
    fn text(&self) -> String {
        let mut text = String::new();
        if let (Some(runs), Some(blobs)) = (self.runs, self.blobs) {
            text.push_str(&format!("checked {runs} runs and {blobs} blobs\n"));
        }
        for done in &self.done {
            text.push_str(&format!("done: {}\n", escape(done)));
        }
        for finding in &self.findings {
            text.push_str(&format!("found: {}\n", escape(finding)));
        }
        if self.findings.is_empty() {
            text.push_str("nothing is wrong\n");
        }
        text
    }
}

/// Lists large values that records refer to and the store does not have. The store itself cannot list them: to it,
/// records are opaque bytes.
fn missing_blobs(store: &FileStore) -> Result<Vec<String>, CliError> {
    let mut missing = Vec::new();
    for summary in store.list()? {
        // An unreadable journal is already a finding.
        let Ok(journal) = store.journal_bytes(&summary.run) else { continue };
        for digest in referenced_blobs(&journal, &StoreBlobs(store)) {
            if !store.has_blob(&digest)? {
                missing.push(format!("run {}: blob {digest} is missing", summary.run));
            }
        }
    }
    Ok(missing)
}

pub(super) fn run(context: &Context, args: &DoctorArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let gravest =
        |findings: &[Finding]| findings.iter().map(Finding::gravity).max().unwrap_or(Gravity::Harmless);
    let texts = |findings: &[Finding]| findings.iter().map(ToString::to_string).collect();
    let (mut report, gravity) = if args.rebuild {
        let repaired = store.doctor().repair()?;
        let done = repaired.done.iter().map(ToString::to_string).collect();
        let report = DoctorReport { runs: None, blobs: None, done, findings: texts(&repaired.left) };
        (report, gravest(&repaired.left))
    } else {
        let found = store.doctor().check()?;
        let (runs, blobs) = (Some(found.runs), Some(found.blobs));
        let report = DoctorReport { runs, blobs, done: Vec::new(), findings: texts(&found.findings) };
        (report, gravest(&found.findings))
    };
    // Listing runs repairs the index, so this comes after the check of the index.
    let missing = missing_blobs(&store)?;
    let gravity = if missing.is_empty() { gravity } else { Gravity::Damage };
    report.findings.extend(missing);
    context.print(&report)?;
    match gravity {
        Gravity::Harmless => return Ok(Exit::Yes),
        Gravity::Repairable => context.hint(hint::REBUILD),
        Gravity::Damage => context.hint(hint::DAMAGE),
    }
    Ok(if args.rebuild { Exit::Partial } else { Exit::No })
}
