//! `hence doctor`: what is not as it should be in the store, and what was done about it.

use hence_store::{Finding, Gravity, Store as _};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::DoctorArgs;
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

pub(super) fn run(context: &Context, args: &DoctorArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let harmless =
        |findings: &[Finding]| findings.iter().all(|finding| finding.gravity() == Gravity::Harmless);
    let (report, harmless) = if args.rebuild {
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
