//! `hence doctor`: what is not as it should be in the store, and what was done about it.

use hence_store::{FileStore, Finding, Gravity, Store as _};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::DoctorArgs;
use crate::bundle::referenced_blobs;
use crate::context::{Context, escape};
use crate::error::CliError;
use crate::exit::Exit;
use crate::report::Text;

/// What a look at the store found.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DoctorReport {
    /// How many runs were looked at; nothing after a rebuild.
    runs: Option<u64>,
    /// How many blobs were read and hashed; nothing after a rebuild.
    blobs: Option<u64>,
    /// What was changed.
    done: Vec<String>,
    /// What is not as it should be.
    findings: Vec<String>,
}

impl Text for DoctorReport {
    fn text(&self) -> String {
        let mut text = String::new();
        if let (Some(runs), Some(blobs)) = (self.runs, self.blobs) {
            text.push_str(&format!("looked at {runs} runs and {blobs} blobs\n"));
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

/// Finds large values that records refer to and the store does not have. The store itself cannot: to it, records are
/// opaque bytes.
fn missing_blobs(store: &FileStore) -> Result<Vec<String>, CliError> {
    let mut missing = Vec::new();
    for summary in store.list()? {
        // A journal that cannot be read is a finding of its own.
        let Ok(journal) = store.journal_bytes(&summary.run) else { continue };
        for digest in referenced_blobs(&journal) {
            if !store.has_blob(&digest)? {
                missing.push(format!("run {}: blob {digest} is missing", summary.run));
            }
        }
    }
    Ok(missing)
}

pub(super) fn run(context: &Context, args: &DoctorArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let harmless =
        |findings: &[Finding]| findings.iter().all(|finding| finding.gravity() == Gravity::Harmless);
    let (mut report, harmless) = if args.rebuild {
        let repaired = store.doctor().repair()?;
        let harmless = harmless(&repaired.left);
        let report = DoctorReport {
            runs: None,
            blobs: None,
            done: repaired.done.iter().map(ToString::to_string).collect(),
            findings: repaired.left.iter().map(ToString::to_string).collect(),
        };
        (report, harmless)
    } else {
        let found = store.doctor().check()?;
        let harmless = harmless(&found.findings);
        let report = DoctorReport {
            runs: Some(found.runs),
            blobs: Some(found.blobs),
            done: Vec::new(),
            findings: found.findings.iter().map(ToString::to_string).collect(),
        };
        (report, harmless)
    };
    let missing = missing_blobs(&store)?;
    let harmless = harmless && missing.is_empty();
    if !missing.is_empty() {
        context.say("hint: importing a run's bundle again brings its missing values back");
    }
    report.findings.extend(missing);
    context.print(&report)?;
    match (harmless, args.rebuild, report.done.is_empty()) {
        (true, ..) => Ok(Exit::Yes),
        (false, true, false) => Ok(Exit::Partial),
        (false, _, _) => {
            if !args.rebuild {
                context
                    .say("hint: `hence doctor --rebuild` mends what can be mended without losing a record");
            }
            Ok(Exit::No)
        }
    }
}
