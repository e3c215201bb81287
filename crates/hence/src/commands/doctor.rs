//! `hence doctor`: checks the store and repairs it.

use hence_fleet::FolderFinding;
use hence_sandbox::{INSTALL_COMMAND, Monty, WorkerProgram};
use hence_store::{Condition, Finding, Gravity, RunId, RunSummary, StoreHandle, VIEW_FILE};

use crate::args::DoctorArgs;
use crate::bundle::IMPORTED;
use crate::commands::review::{REVIEWED_TRACE, REVIEWS, broken_reviews};
use crate::commands::vars::{HANDLERS, wrong_line};
use crate::commands::verify::{Extent, judge};
use crate::interactive::{SCOPES, stored_run};
use crate::measured::RunTimes;
use crate::prelude::*;
use crate::progress::Progress;
use crate::run_view::{RunRowView, status_of};
use crate::skills;
use crate::solve::{SYSTEM, system_name};
use crate::standing_view::{StandingView, WRONG_VIEW};
use crate::target::{self, Journal};
use crate::time_log::{TIMES, TIMES_ELSEWHERE};

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
            text.push_str(&format!("checked {} and {}\n", counted(runs, "run"), counted(blobs, "blob")));
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

/// Checks what the store itself cannot, because records are opaque bytes to it: everything that `hence verify` checks
/// without executing anything again.
fn check_records(
    context: &Context,
    store: &StoreHandle,
    runs: &[RunSummary],
) -> Result<Vec<String>, CliError> {
    let mut found = Vec::new();
    let mut progress = Progress::new(context, "runs checked", runs.len());
    for RunSummary { run, condition, .. } in runs {
        progress.step();
        // A damaged journal is already a finding.
        if matches!(condition, Condition::Damaged(_)) {
            continue;
        }
        let findings = match judge(store, run, &Extent::STORED) {
            Ok(shown) => shown.findings(),
            Err(error) => vec![error.message],
        };
        found.extend(findings.into_iter().map(|finding| format!("run {run}: {finding}")));
    }
    Ok(found)
}

/// Checks the reviews of a store.
fn check_reviews(_: &Context, store: &StoreHandle, _: &[RunSummary]) -> Result<Vec<String>, CliError> {
    let broken = broken_reviews(store)?;
    Ok(broken.into_iter().map(|(id, finding)| format!("review {id} does not hold: {finding}")).collect())
}

/// Checks one store, or repairs it, and returns how grave the findings are. `records` checks its journals.
fn examine(
    context: &Context,
    (store, within): (&StoreHandle, &str),
    records: impl FnOnce(&Context, &StoreHandle, &[RunSummary]) -> Result<Vec<String>, CliError>,
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
    // Listed once: the index, which makes it cheap, may be out of date, and looking does not rebuild it.
    let runs = store.list()?;
    let records = records(context, store, &runs)?;
    let mut gravity = if records.is_empty() { gravity } else { Gravity::Damage };
    report.findings.extend(records.into_iter().map(placed));
    // A time log proves nothing, so nothing in it is damage.
    report.findings.extend(time_logs(store, &runs).into_iter().map(placed));
    report.findings.extend(foreign_files(store, &runs).into_iter().map(placed));
    let is_repair = report.runs.is_none();
    for run in leftover_logs(store, &runs) {
        if is_repair && skills::remove_covered_log(store, &run)? {
            report.done.push(placed(format!("run {run}: removed a call log that its records cover")));
        } else {
            gravity = gravity.max(Gravity::Repairable);
            let message = format!("run {run}: a call log is left over; its records cover every call in it");
            report.findings.push(placed(message));
        }
    }
    for RunSummary { run, .. } in &runs {
        if let Some(wrong) = wrong_line(store, run) {
            gravity = Gravity::Damage;
            report.findings.push(placed(format!("run {run}: {wrong}")));
        }
    }
    for finding in wrong_tombstones(store)? {
        gravity = Gravity::Damage;
        report.findings.push(placed(finding));
    }
    for (run, differs) in wrong_snapshots(store, &runs) {
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
    for summary in runs.iter().filter(|summary| store.has_wrong_view::<StandingView>(summary)) {
        let run = &summary.run;
        if is_repair && store.remove_view(run).is_ok() {
            report
                .done
                .push(placed(format!("run {run}: removed its cached view, which the journal replaces")));
        } else {
            gravity = gravity.max(Gravity::Repairable);
            report.findings.push(placed(format!("run {run}: {WRONG_VIEW}")));
        }
    }
    // A rebuild has just replaced the index.
    let shown = if is_repair { Vec::new() } else { store.wrong_views::<RunRowView>()? };
    for run in shown {
        gravity = gravity.max(Gravity::Repairable);
        report.findings.push(placed(format!("index: what it shows of run {run} is not what its files say")));
    }
    Ok(gravity)
}

/// Lists the tombstones that are not those of the runs they are named after, or that contradict themselves.
fn wrong_tombstones(store: &StoreHandle) -> Result<Vec<String>, CliError> {
    let mut found = Vec::new();
    for run in store.tombstones()? {
        // One that cannot be read is already a finding.
        let Ok(Some(stone)) = store.tombstone(&run) else { continue };
        if !super::remove::is_tombstone_of(&stone, &run) {
            found.push(format!("removed/{run}: it is not the tombstone of a run of that name"));
        } else if let Some(contradiction) = super::remove::contradiction(&stone) {
            found.push(format!("removed/{run}: {contradiction}"));
        }
    }
    Ok(found)
}

/// Lists the runs whose snapshot is not what their journal says.
fn wrong_snapshots(store: &StoreHandle, runs: &[RunSummary]) -> Vec<(RunId, String)> {
    let mut found = Vec::new();
    for RunSummary { run, .. } in runs {
        let Ok(start) = Journal::start_of_run(store, run) else { continue };
        if let Ok(Some(problem)) = start.parsed_problem() {
            let differs = stored_run::check_snapshot(store, run, problem);
            found.extend(differs.map(|differs| (run.clone(), differs)));
        }
    }
    found
}

/// The files next to a journal that some command writes.
const KNOWN_FILES: [&str; 14] = [
    target::PROBLEM,
    skills::SKILL,
    skills::NESTED,
    skills::CAPABILITIES,
    skills::CALLS,
    skills::RETRY,
    TIMES,
    TIMES_ELSEWHERE,
    stored_run::SNAPSHOT,
    VIEW_FILE,
    SYSTEM,
    HANDLERS,
    REVIEWED_TRACE,
    IMPORTED,
];

/// Lists the files next to journals that no command writes or reads: somebody else put them there, or renamed one of the run.
fn foreign_files(store: &StoreHandle, runs: &[RunSummary]) -> Vec<String> {
    let mut found = Vec::new();
    for RunSummary { run, .. } in runs {
        // A folder that cannot be listed is reported with the store.
        for name in store.attachments(run).unwrap_or_default() {
            if !KNOWN_FILES.contains(&name.as_str()) {
                found.push(format!("run {run}: {name}: no command writes a file of that name"));
            }
        }
    }
    found
}

/// Describes the time logs that hold something else than measurements of their run.
fn time_logs(store: &StoreHandle, runs: &[RunSummary]) -> Vec<String> {
    let mut found = Vec::new();
    for RunSummary { run, condition, .. } in runs {
        // A journal that cannot be read is reported with the records.
        if matches!(condition, Condition::Damaged(_)) {
            continue;
        }
        let Ok(journal) = store.journal_bytes(run) else { continue };
        let times = RunTimes::of_run(store, run, &journal);
        found.extend(times.remarks.into_iter().map(|remark| format!("run {run}: {remark}")));
    }
    found
}

/// Lists the runs that have ended and still have a call log, although their records say everything that is in it.
fn leftover_logs(store: &StoreHandle, runs: &[RunSummary]) -> Vec<RunId> {
    let ended =
        |summary: &RunSummary| ["completed", "partial", "failed"].contains(&status_of(store, summary));
    // A log that cannot be read is reported with the records, and is never removed.
    let is_covered = |run: &RunId| skills::has_covered_log(store, run).unwrap_or(false);
    runs.iter().filter(|run| is_covered(&run.run) && ended(run)).map(|run| run.run.clone()).collect()
}

pub(super) fn run(context: &Context, args: &DoctorArgs) -> Result<Exit, CliError> {
    let store = context.store()?.only_looked_at();
    let counted = (!args.rebuild).then_some(0);
    let mut report = DoctorReport { runs: counted, blobs: counted, done: Vec::new(), findings: Vec::new() };
    let mut gravity = examine(context, (&store, ""), check_records, &mut report)?;
    if let Some(scopes) = store.within(SCOPES)? {
        gravity = gravity.max(examine(context, (&scopes, SCOPES), check_records, &mut report)?);
    }
    if let Some(reviews) = store.within(REVIEWS)? {
        gravity = gravity.max(examine(context, (&reviews, REVIEWS), check_reviews, &mut report)?);
    }
    for finding in context.place.findings_beside_runs(&[SCOPES, REVIEWS]) {
        if matches!(finding, FolderFinding::Damage(_)) {
            gravity = Gravity::Damage;
        }
        report.findings.push(finding.to_string());
    }
    say_worker(context, &store);
    context.print(&report)?;
    match gravity {
        Gravity::Harmless => return Ok(Exit::Yes),
        Gravity::Repairable => context.hint(hint::REBUILD),
        Gravity::Damage => context.hint(hint::DAMAGE),
    }
    Ok(if args.rebuild { Exit::Partial } else { Exit::No })
}

/// Says which Python worker runs blocks of `hence solve`, or how to install it where a run needs it.
fn say_worker(context: &Context, store: &StoreHandle) {
    match Monty::find() {
        Ok(WorkerProgram { path, version }) => context.say(format_args!(
            "blocks of `hence solve` run in {} {version}, protocol {}: {}",
            Monty::NAME,
            Monty::PROTOCOL,
            path.display()
        )),
        Err(error) => {
            let runs = store.list().unwrap_or_default();
            let is_solve = |run: &RunSummary| store.attachment_start(&run.run, &system_name(), 1).is_ok();
            if runs.iter().any(is_solve) {
                context.say(format_args!("{error}; to install it: {INSTALL_COMMAND}"));
            }
        }
    }
}
