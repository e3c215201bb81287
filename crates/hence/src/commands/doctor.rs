//! `hence doctor`: checks the store and repairs it.

use std::num::NonZeroUsize;

use hence_journal::verify::{Outcome, check_chain};
use hence_store::{Condition, FileStore, Finding, Gravity, RunId, RunSummary, Store as _, StoreError};

use crate::args::DoctorArgs;
use crate::bundle::referenced_blobs;
use crate::commands::review::{REVIEWS, broken_reviews};
use crate::commands::runs::status_of;
use crate::interactive::{SCOPES, stored_run};
use crate::kind::whole_records;
use crate::measured::RunTimes;
use crate::prelude::*;
use crate::sink::StoreBlobs;
use crate::skills;
use crate::target::{Journal, other_name};

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

/// Checks what the store itself cannot, because records are opaque bytes to it: whether the chain of each journal holds,
/// whether it is stored under its own id, and whether the large values its records refer to are there.
fn check_records(store: &FileStore) -> Result<Vec<String>, CliError> {
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut found = Vec::new();
    for summary in store.list()? {
        let run = &summary.run;
        // A damaged or unreadable journal is already a finding.
        let (Ok(journal), false) =
            (store.journal_bytes(run), matches!(summary.condition, Condition::Damaged(_)))
        else {
            continue;
        };
        let journal = whole_records(&journal);
        if let Outcome::Broken(broken) = check_chain(journal, threads).outcome {
            let reasons: Vec<String> = broken.reasons.iter().map(ToString::to_string).collect();
            found.push(format!("run {run}: broken at record {}: {}", broken.line, reasons.join("; ")));
        }
        if let Some(named) = other_name(run.as_str(), journal) {
            found.push(format!("run {run}: its journal is that of run {named}"));
        }
        for digest in referenced_blobs(journal, &StoreBlobs(store)) {
            if !store.has_blob(&digest)? {
                found.push(format!("run {run}: blob {digest} is missing"));
            }
        }
    }
    Ok(found)
}

/// Checks one store, or repairs it, and returns how grave the findings are. `records` checks its journals.
fn examine(
    store: &FileStore,
    within: &str,
    records: impl FnOnce(&FileStore) -> Result<Vec<String>, CliError>,
    report: &mut DoctorReport,
) -> Result<Gravity, CliError> {
    let placed = |text: String| if within.is_empty() { text } else { format!("{within}: {text}") };
    let findings = match (&mut report.runs, &mut report.blobs) {
        (Some(runs), Some(blobs)) => {
            let checked = store.doctor().check()?;
            *runs += checked.runs;
            *blobs += checked.blobs;
            checked.findings
        }
        _ => {
            let repaired = store.doctor().repair()?;
            report.done.extend(repaired.done.iter().map(|done| placed(done.to_string())));
            repaired.left
        }
    };
    let gravity = findings.iter().map(Finding::gravity).max().unwrap_or(Gravity::Harmless);
    report.findings.extend(findings.iter().map(|finding| placed(finding.to_string())));
    // Listing runs repairs the index, so this comes after the check of the index.
    let records = records(store)?;
    let mut gravity = if records.is_empty() { gravity } else { Gravity::Damage };
    report.findings.extend(records.into_iter().map(placed));
    // A time log proves nothing, so nothing in it is damage.
    report.findings.extend(time_logs(store)?.into_iter().map(placed));
    let is_repair = report.runs.is_none();
    for run in leftover_logs(store)? {
        if is_repair && skills::remove_covered_log(store, &run)? {
            report.done.push(placed(format!("run {run}: removed a call log that its records cover")));
        } else {
            gravity = gravity.max(Gravity::Repairable);
            let message = format!("run {run}: a call log is left over; its records cover every call in it");
            report.findings.push(placed(message));
        }
    }
    for (run, differs) in wrong_snapshots(store)? {
        let removed = is_repair
            && store
                .open(&run)
                .is_ok_and(|mut opened| opened.writer.detach(&stored_run::snapshot_name()).is_ok());
        if removed {
            report.done.push(placed(format!("run {run}: removed its snapshot, which the journal replaces")));
        } else {
            gravity = gravity.max(Gravity::Repairable);
            report.findings.push(placed(format!("run {run}: {differs}")));
        }
    }
    Ok(gravity)
}

/// Lists the runs whose snapshot is not what their journal says.
fn wrong_snapshots(store: &FileStore) -> Result<Vec<(RunId, String)>, CliError> {
    let mut found = Vec::new();
    for summary in store.list()? {
        let Ok(start) = Journal::start_of_run(store, &summary.run) else { continue };
        if let Ok(Some(problem)) = start.parsed_problem() {
            let differs = stored_run::check_snapshot(store, &summary.run, problem);
            found.extend(differs.map(|differs| (summary.run, differs)));
        }
    }
    Ok(found)
}

/// Describes the time logs that hold something else than measurements of their run.
fn time_logs(store: &FileStore) -> Result<Vec<String>, CliError> {
    let mut found = Vec::new();
    for RunSummary { run, .. } in store.list()? {
        // A journal that cannot be read is reported with the records.
        let Ok(journal) = store.journal_bytes(&run) else { continue };
        let times = RunTimes::of_run(store, &run, &journal);
        found.extend(times.remarks.into_iter().map(|remark| format!("run {run}: {remark}")));
    }
    Ok(found)
}

/// Lists the runs that have ended and still have a call log, although their records say everything that is in it.
fn leftover_logs(store: &FileStore) -> Result<Vec<RunId>, CliError> {
    let ended =
        |summary: &RunSummary| ["completed", "partial", "failed"].contains(&status_of(store, summary));
    // A log that cannot be read is reported by `hence why`, and is never removed.
    let is_covered = |run: &RunId| skills::has_covered_log(store, run).unwrap_or(false);
    Ok(store
        .list()?
        .into_iter()
        .filter(|run| is_covered(&run.run) && ended(run))
        .map(|run| run.run)
        .collect())
}

/// Opens a store in the folder of a store, if there is one.
fn open_within(store: &FileStore, name: &str) -> Result<Option<FileStore>, CliError> {
    match FileStore::open_within(store.folder(), name) {
        Ok(inner) => Ok(Some(inner)),
        Err(StoreError::NotAStore { path, .. }) if !path.exists() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn run(context: &Context, args: &DoctorArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let counted = (!args.rebuild).then_some(0);
    let mut report = DoctorReport { runs: counted, blobs: counted, done: Vec::new(), findings: Vec::new() };
    let mut gravity = examine(&store, "", check_records, &mut report)?;
    if let Some(scopes) = open_within(&store, SCOPES)? {
        gravity = gravity.max(examine(&scopes, SCOPES, check_records, &mut report)?);
    }
    if let Some(reviews) = open_within(&store, REVIEWS)? {
        gravity = gravity.max(examine(&reviews, REVIEWS, broken_reviews, &mut report)?);
    }
    context.print(&report)?;
    match gravity {
        Gravity::Harmless => return Ok(Exit::Yes),
        Gravity::Repairable => context.hint(hint::REBUILD),
        Gravity::Damage => context.hint(hint::DAMAGE),
    }
    Ok(if args.rebuild { Exit::Partial } else { Exit::No })
}
