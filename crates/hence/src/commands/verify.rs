//! `hence verify`: reports which levels hold, the first record that does not, and what no hash chain can show.

pub(crate) mod report;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

use hence_engine::{Engine, Evidence, RunKind};
use hence_journal::Head;
use hence_journal::verify::{Break, Completeness, Level, LevelReport, Outcome, Reason, ReasonCode, Report};
use hence_store::{Condition, RunId, RunSummary, StoreError, StoreHandle};

use crate::args::VerifyArgs;
use crate::bundle::referenced_blobs;
use crate::commands::review::{REVIEWS, broken_reviews};
use crate::interactive::{SCOPES, stored_run};
use crate::kind::{self, Purpose};
use crate::prelude::*;
use crate::progress::Progress;
use crate::sink::StoreBlobs;
use crate::skills::{self, LinkRow, linked_runs};
use crate::standing_view::{StandingView, WRONG_VIEW};
use crate::target::{self, Journal, other_name};
use crate::{guard, input};

use report::{BlobRow, BrokenRun, LevelRow, ReasonRow};
pub(crate) use report::{VerifyAllReport, VerifyReport};

pub(super) fn run(context: &Context, args: &VerifyArgs) -> Result<Exit, CliError> {
    let Some(target) = &args.target else { return verify_all(context, args) };
    let mut journal = Journal::of_target_to_judge(context, target)?;
    if let Some(path) = &args.problem {
        journal.set_problem(&path.display().to_string(), input::read_file(path)?);
    }
    let (report, shown) = verify_one(&journal, &Extent::of(args))?;
    context.print(&shown)?;
    advise(context, args, target, &journal, &report);
    Ok(if shown.holds { Exit::Yes } else { Exit::No })
}

/// The extent of a verification.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    level: Level,
    anchor: Option<Head>,
    execute: bool,
    /// Whether an append that was never finished is left out: the store itself reports it.
    without_torn: bool,
}

impl Extent {
    /// Everything that needs no program to be executed again.
    pub(super) const STORED: Self =
        Self { level: Level::Spec, anchor: None, execute: false, without_torn: true };

    fn of(args: &VerifyArgs) -> Self {
        Self { level: args.level, anchor: args.anchor, execute: args.execute, without_torn: false }
    }
}

/// Verifies every run of the store, those of shared scopes, and the reviews.
fn verify_all(context: &Context, args: &VerifyArgs) -> Result<Exit, CliError> {
    let mut all = VerifyAllReport { holds: true, runs: 0, records: 0, broken: Vec::new() };
    let store = context.store()?.only_looked_at();
    verify_store(context, &store, "", &Extent::of(args), &mut all)?;
    if let Some(scopes) = store.within(SCOPES)? {
        verify_store(context, &scopes, SCOPES, &Extent::of(args), &mut all)?;
    }
    if let Some(reviews) = store.within(REVIEWS)? {
        for summary in reviews.list()? {
            all.runs += 1;
            all.records += summary.head().map_or(0, |head| head.records.get());
            let mut findings: Vec<String> =
                reviews.misplaced_in(&summary.run)?.iter().map(ToString::to_string).collect();
            if let Condition::Torn { bytes, .. } = summary.condition {
                findings.push(format!("its last line is torn: {bytes} bytes that are no record"));
            }
            if !findings.is_empty() {
                let verdict = "a file of it is not what it should be".to_owned();
                let run = format!("{REVIEWS}/{}", summary.run);
                all.broken.push(BrokenRun { run, verdict, findings, is_run: true });
            }
        }
        for (run, finding) in broken_reviews(&reviews)? {
            let (run, verdict) = (format!("{REVIEWS}/{run}"), "the review does not hold".to_owned());
            all.broken.push(BrokenRun { run, verdict, findings: vec![finding], is_run: true });
        }
        note_misplaced(&reviews, &mut all)?;
    }
    all.holds = all.broken.is_empty();
    context.print(&all)?;
    if let Some(broken) = all.broken.first() {
        let is_run = store.find(&broken.run).is_ok_and(|found| found.as_str() == broken.run);
        context.hint(if is_run { hint::verify(&broken.run) } else { hint::DAMAGE });
    }
    Ok(if all.holds { Exit::Yes } else { Exit::No })
}

/// Verifies every run of one store.
fn verify_store(
    context: &Context,
    store: &StoreHandle,
    within: &str,
    extent: &Extent,
    all: &mut VerifyAllReport,
) -> Result<(), CliError> {
    let runs = store.list()?;
    let mut progress = Progress::new(context, "runs verified", runs.len());
    for (RunSummary { run, .. }, verified) in judge_all(store, runs, extent, || progress.step()) {
        all.runs += 1;
        let run = if within.is_empty() { run.as_str().to_owned() } else { format!("{within}/{run}") };
        match verified {
            Ok(shown) => {
                all.records += shown.records;
                if !shown.holds {
                    let (verdict, mut findings) = (shown.verdict(), shown.findings());
                    findings.extend(shown.snapshot);
                    all.broken.push(BrokenRun { run, verdict, findings, is_run: true });
                }
            }
            // One run that cannot be read must not hide the others.
            Err(error) => {
                all.broken.push(BrokenRun { run, verdict: error.message, findings: Vec::new(), is_run: true })
            }
        }
    }
    note_misplaced(store, all)
}

/// Verifies runs on all cores, in their order. `done` is called after each.
fn judge_all(
    store: &StoreHandle,
    runs: Vec<RunSummary>,
    extent: &Extent,
    mut done: impl FnMut(),
) -> Vec<(RunSummary, Result<VerifyReport, CliError>)> {
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(runs.len());
    let next = AtomicUsize::new(0);
    let (sender, receiver) = std::sync::mpsc::channel();
    let mut verdicts: Vec<Option<Result<VerifyReport, CliError>>> = Vec::new();
    verdicts.resize_with(runs.len(), || None);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next, runs) = (sender.clone(), &next, &runs);
            scope.spawn(move || {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(summary) = runs.get(place) else { break };
                    if sender.send((place, judge(store, &summary.run, extent))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for (place, verdict) in receiver {
            if let Some(slot) = verdicts.get_mut(place) {
                *slot = Some(verdict);
            }
            done();
        }
    });
    let each = runs.into_iter().zip(verdicts);
    each.filter_map(|(summary, verdict)| Some((summary, verdict?))).collect()
}

/// Notes journals that no list shows, and links, pipes and devices in the folder of a store.
fn note_misplaced(store: &StoreHandle, all: &mut VerifyAllReport) -> Result<(), CliError> {
    for finding in store.misplaced()? {
        let verdict = "the store does not hold".to_owned();
        let run = store.location();
        all.broken.push(BrokenRun { run, verdict, findings: vec![finding.to_string()], is_run: false });
    }
    Ok(())
}

/// Verifies a run of a store, as far as it can be read.
pub(super) fn judge(store: &StoreHandle, run: &RunId, extent: &Extent) -> Result<VerifyReport, CliError> {
    let mut journal = Journal::of_stored_to_judge(store.clone(), run)?;
    if extent.without_torn {
        journal.bytes.truncate(kind::whole_records(&journal.bytes).len());
    }
    verify_one(&journal, extent).map(|(_, shown)| shown)
}

/// Verifies a stored run up to a level. Nothing that its record declares is executed.
pub(crate) fn verify_stored(
    store: &StoreHandle,
    run: &RunId,
    level: Level,
) -> Result<VerifyReport, CliError> {
    judge(store, run, &Extent { level, anchor: None, execute: false, without_torn: false })
}

fn verify_one(journal: &Journal, extent: &Extent) -> Result<(Report, VerifyReport), CliError> {
    let Extent { level, anchor, execute, .. } = *extent;
    let purpose = Purpose::of_reading(journal, execute)?;
    let opened =
        journal.parsed_problem().and_then(|problem| Ok((problem, kind::open(journal, &[], purpose)?)));
    let (report, links) = kind::with_blobs(journal, |blobs| {
        let evidence = Evidence {
            anchor,
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            ..Evidence::of_journal(&journal.bytes, blobs)
        };
        let report = match &opened {
            Ok((problem, run)) => {
                let open_gate = || guard::open_to_read(journal, run.projection(), blobs);
                let evidence = Evidence { problem: *problem, gate: Some(&open_gate), ..evidence };
                let report = run.verify(&evidence, level);
                let missing = journal.store.as_ref().and_then(|_| match problem {
                    // Whoever removes the problem of a stored run must not gain a verdict by it.
                    None => Some("problem.json is missing".to_owned()),
                    Some(problem) => kind::document_defect(journal, &problem.value),
                });
                match journal.unreadable.first().cloned().or(missing) {
                    Some(found) => without_document(report, &found),
                    None => report,
                }
            }
            Err(error) => {
                let mut report = Engine::new().verify(&evidence, level.min(Level::Chain));
                add_unchecked(&mut report, level, &error.message);
                let problem = journal.parsed_problem().ok().flatten();
                let defect = problem.and_then(|problem| kind::document_defect(journal, &problem.value));
                let found = journal.unreadable.first().cloned().or(defect);
                let found = found.unwrap_or_else(|| error.message.clone());
                if journal.store.is_some() { without_document(report, &found) } else { report }
            }
        };
        let mut links = if level >= Level::Spec { linked_runs(journal, blobs) } else { Vec::new() };
        // A journal's file may have any name; a run is stored under the id its header gives it.
        let stored = journal.store.as_ref().and_then(|_| other_name(&journal.name, &journal.bytes));
        links.extend(stored.map(|named| LinkRow::of_another_run(&journal.name, named)));
        (report, links)
    });
    let mut shown = describe(&journal.name, &report, links);
    shown.called = opened.as_ref().map(|(_, run)| run.declared_calls()).unwrap_or_default();
    if journal.capabilities.is_some() {
        shown
            .not_shown
            .push("in which folder declared commands ran: capabilities.json says it, and nothing pins it");
    }
    // A database knows the head of a run next to its records: it shows a journal that was cut.
    if let Some(store) = journal.store.as_ref().filter(|_| report.holds())
        && let Ok(summary) = store.summary(&target::find_run(store, &journal.name)?)
        && let Condition::Damaged(reason) = summary.condition
    {
        shown.beside.push(format!("the store: {reason}"));
    }
    if let Some(store) = journal.store.as_ref().filter(|_| level >= Level::Spec) {
        let run = target::find_run(store, &journal.name)?;
        shown.blobs = check_blobs(store, journal);
        shown.beside.extend(store.misplaced_in(&run)?.iter().map(ToString::to_string));
        shown.beside.extend(journal.capabilities.as_deref().and_then(skills::attachment_defect));
        shown.beside.extend(skills::call_log_defect(store, &run));
        shown.beside.extend(skills::retry_claim_defect(store, &run));
        shown.snapshot = check_snapshot(store, &run, journal);
        let calls = journal.kind == RunKind::Skill || journal.capabilities.is_some();
        if shown.complete == Some(false) && calls {
            shown
                .not_shown
                .push("what happened after the last record: no hash covers the call log next to it");
        }
    }
    shown.holds &= shown.blobs.is_empty() && shown.beside.is_empty() && shown.snapshot.is_none();
    Ok((report, shown))
}

/// Adds the levels above chain up to `wanted`, none of which could be checked.
fn add_unchecked(report: &mut Report, wanted: Level, why: &str) {
    let anchored = report.levels.pop();
    for level in [Level::Linked, Level::Spec, Level::Replay].into_iter().filter(|level| *level <= wanted) {
        let outcome = Outcome::NotChecked(why.to_owned());
        report.levels.push(LevelReport { level, outcome, unchecked: Vec::new() });
    }
    report.levels.extend(anchored);
}

/// Breaks the levels that a stored run cannot pass without a document that it pins.
fn without_document(mut report: Report, found: &str) -> Report {
    for level in &mut report.levels {
        let needs_it = matches!(level.level, Level::Spec | Level::Replay);
        if needs_it && !matches!(level.outcome, Outcome::Broken(_)) {
            let found = Some(found.to_owned());
            let reason = Reason { found, ..Reason::new(ReasonCode::DocumentUnavailable) };
            level.outcome = Outcome::broken(0, reason);
        }
    }
    report
}

/// Compares the snapshot from which commands read a stored run with its journal.
fn check_snapshot(store: &StoreHandle, run: &RunId, journal: &Journal) -> Option<String> {
    if let Ok(summary) = store.summary(run)
        && store.has_wrong_view::<StandingView>(&summary)
    {
        return Some(WRONG_VIEW.to_owned());
    }
    stored_run::check_snapshot(store, run, journal.parsed_problem().ok().flatten()?)
}

/// Reads the large values that the records of a stored run refer to, and returns those that are missing or altered.
fn check_blobs(store: &StoreHandle, journal: &Journal) -> Vec<BlobRow> {
    let mut rows = Vec::new();
    for digest in referenced_blobs(&journal.bytes, &StoreBlobs(store)) {
        let verdict = match store.blob(&digest) {
            Ok(_) => continue,
            Err(StoreError::NoSuchBlob { .. }) => "missing",
            Err(StoreError::BlobCorrupt { .. }) => "altered",
            // A link, a pipe, a folder, or a file that is too large for a value.
            Err(_) => "unreadable",
        };
        rows.push(BlobRow { sha256: digest.to_string(), verdict });
    }
    rows
}

/// Prints hints about what to do next.
fn advise(context: &Context, args: &VerifyArgs, target: &str, journal: &Journal, report: &Report) {
    let is_torn = journal.bytes.last().is_some_and(|byte| *byte != b'\n');
    let is_unfinished = report.completeness == Some(Completeness::Incomplete);
    // An interactive run has no next step of its own to resume.
    let is_driven = journal.has_problem() && journal.kind.is_driven_from_outside();
    let is_resumable =
        journal.store.is_some() && report.records > 0 && (is_torn || is_unfinished) && !is_driven;
    let is_bare = args.anchor.is_none() && report.outcome(Level::Chain).is_some_and(Outcome::holds);
    let is_cut_perhaps = is_unfinished && is_bare;
    if is_resumable {
        context.hint(if is_torn { hint::resume_torn(target) } else { hint::resume(target) });
    } else if !report.holds() && !is_cut_perhaps {
        context.hint(hint::compare_with_copy(target));
    }
    if is_bare {
        context.hint(hint::anchor(target));
    }
}

/// Returns the number of records that hold, counted from the first: all before the first break of any level.
fn intact(report: &Report) -> u64 {
    let breaks = report.levels.iter().filter_map(|level| match &level.outcome {
        // The anchor is about the end of the journal; the records before it may hold or not.
        Outcome::Broken(found) if level.level != Level::Anchored => Some(found.line),
        _ => None,
    });
    breaks.min().unwrap_or(report.records).min(report.records)
}

fn describe(target: &str, report: &Report, links: Vec<LinkRow>) -> VerifyReport {
    let levels = report.levels.iter().map(|level| {
        let (verdict, found, why) = match &level.outcome {
            Outcome::Holds => ("holds", None, None),
            Outcome::Broken(found) => ("broken", Some(found), None),
            Outcome::NotChecked(why) => ("not_checked", None, Some(why.clone())),
        };
        LevelRow {
            level: level.level.as_str(),
            verdict,
            line: found.map(|found| found.line),
            reasons: found.map(reasons).unwrap_or_default(),
            unchecked: why.into_iter().chain(level.unchecked.iter().cloned()).collect(),
        }
    });
    VerifyReport {
        target: target.to_owned(),
        holds: report.holds() && links.iter().all(|link| link.verdict != "broken"),
        records: report.records,
        intact: intact(report),
        head: report.head.map(|head| head.to_string()),
        complete: report.completeness.map(|found| found == Completeness::Complete),
        levels: levels.collect(),
        links,
        blobs: Vec::new(),
        beside: Vec::new(),
        snapshot: None,
        called: BTreeMap::new(),
        not_shown: report.not_shown(),
    }
}

fn reasons(found: &Break) -> Vec<ReasonRow> {
    let row = |reason: &hence_journal::verify::Reason| ReasonRow {
        code: reason.code.as_str(),
        member: reason.member,
        expected: reason.expected.clone(),
        found: reason.found.clone(),
    };
    found.reasons.iter().map(row).collect()
}
