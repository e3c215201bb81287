//! `hence verify`: reports which levels hold, the first record that does not, and what no hash chain can show.

mod report;

use std::num::NonZeroUsize;

use hence_engine::{Engine, Evidence, RunKind};
use hence_journal::verify::{Break, Completeness, Level, LevelReport, Outcome, Reason, ReasonCode, Report};
use hence_store::{Store as _, StoreError};

use crate::args::VerifyArgs;
use crate::bundle::referenced_blobs;
use crate::interactive::stored_run;
use crate::kind::{self, Purpose};
use crate::prelude::*;
use crate::sink::StoreBlobs;
use crate::skills::{LinkRow, linked_runs};
use crate::target::{self, Journal, other_name};
use crate::{guard, input};

use report::{BlobRow, BrokenRun, LevelRow, ReasonRow};
pub(crate) use report::{VerifyAllReport, VerifyReport};

pub(super) fn run(context: &Context, args: &VerifyArgs) -> Result<Exit, CliError> {
    let Some(target) = &args.target else { return verify_all(context, args) };
    let mut journal = Journal::of_target(context, target)?;
    if let Some(path) = &args.problem {
        journal.set_problem(input::read_file(path)?);
    }
    let (report, shown) = verify_one(&journal, args)?;
    context.print(&shown)?;
    advise(context, args, target, &journal, &report);
    Ok(if shown.holds { Exit::Yes } else { Exit::No })
}

/// Verifies every run of the store.
fn verify_all(context: &Context, args: &VerifyArgs) -> Result<Exit, CliError> {
    let mut all = VerifyAllReport { holds: true, runs: 0, records: 0, broken: Vec::new() };
    for summary in context.store()?.list()? {
        all.runs += 1;
        let verified = Journal::of_run(context, summary.run.as_str())
            .and_then(|journal| verify_one(&journal, args).map(|(_, shown)| shown));
        match verified {
            Ok(shown) => {
                all.records += shown.records;
                if !shown.holds {
                    all.broken.push(BrokenRun { run: shown.target.clone(), verdict: shown.verdict() });
                }
            }
            // One run that cannot be read must not hide the others.
            Err(error) => {
                all.broken.push(BrokenRun { run: summary.run.as_str().to_owned(), verdict: error.message });
            }
        }
    }
    all.holds = all.broken.is_empty();
    context.print(&all)?;
    if let Some(broken) = all.broken.first() {
        context.hint(hint::verify(&broken.run));
    }
    Ok(if all.holds { Exit::Yes } else { Exit::No })
}

fn verify_one(journal: &Journal, args: &VerifyArgs) -> Result<(Report, VerifyReport), CliError> {
    let purpose = Purpose::of_reading(journal, args.execute)?;
    let opened =
        journal.parsed_problem().and_then(|problem| Ok((problem, kind::open(journal, &[], purpose)?)));
    let (report, links) = kind::with_blobs(journal, |blobs| {
        let evidence = Evidence {
            anchor: args.anchor,
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            ..Evidence::of_journal(&journal.bytes, blobs)
        };
        let report = match &opened {
            Ok((problem, run)) => {
                let open_gate = || guard::open_to_read(journal, run.projection(), blobs);
                let evidence = Evidence { problem: *problem, gate: Some(&open_gate), ..evidence };
                let report = run.verify(&evidence, args.level);
                match problem {
                    // Whoever removes the problem of a stored run must not gain a verdict by it.
                    None if journal.store.is_some() => without_document(report, "its problem is missing"),
                    _ => report,
                }
            }
            Err(error) => {
                let mut report = Engine::new().verify(&evidence, args.level.min(Level::Chain));
                add_unchecked(&mut report, args.level, &error.message);
                if journal.store.is_some() { without_document(report, &error.message) } else { report }
            }
        };
        let mut links = if args.level >= Level::Spec { linked_runs(journal, blobs) } else { Vec::new() };
        // A journal's file may have any name; a run is stored under the id its header gives it.
        let stored = journal.store.as_ref().and_then(|_| other_name(&journal.name, &journal.bytes));
        links.extend(stored.map(|named| LinkRow::of_another_run(&journal.name, named)));
        (report, links)
    });
    let blobs = if args.level >= Level::Spec { check_blobs(journal)? } else { Vec::new() };
    let mut shown = describe(&journal.name, &report, links, blobs);
    if args.level >= Level::Spec {
        shown.snapshot = check_snapshot(journal)?;
        shown.holds &= shown.snapshot.is_none();
    }
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
        if needs_it && matches!(level.outcome, Outcome::NotChecked(_)) {
            let found = Some(found.to_owned());
            let reason = Reason { found, ..Reason::new(ReasonCode::DocumentUnavailable) };
            level.outcome = Outcome::broken(0, reason);
        }
    }
    report
}

/// Compares the snapshot from which commands read a stored run with its journal.
fn check_snapshot(journal: &Journal) -> Result<Option<String>, CliError> {
    let (Some(store), Ok(Some(problem))) = (&journal.store, journal.parsed_problem()) else {
        return Ok(None);
    };
    let run = target::find_run(store, &journal.name)?;
    Ok(stored_run::check_snapshot(store, &run, problem))
}

/// Reads the large values that the records of a stored run refer to, and returns those that are missing or altered.
fn check_blobs(journal: &Journal) -> Result<Vec<BlobRow>, CliError> {
    let Some(store) = &journal.store else { return Ok(Vec::new()) };
    let mut rows = Vec::new();
    for digest in referenced_blobs(&journal.bytes, &StoreBlobs(store)) {
        let verdict = match store.blob(&digest) {
            Ok(_) => continue,
            Err(StoreError::NoSuchBlob { .. }) => "missing",
            Err(StoreError::BlobCorrupt { .. }) => "altered",
            Err(error) => return Err(error.into()),
        };
        rows.push(BlobRow { sha256: digest.to_string(), verdict });
    }
    Ok(rows)
}

/// Prints hints about what to do next.
fn advise(context: &Context, args: &VerifyArgs, target: &str, journal: &Journal, report: &Report) {
    let is_torn = journal.bytes.last().is_some_and(|byte| *byte != b'\n');
    let is_unfinished = report.completeness == Some(Completeness::Incomplete);
    // An interactive run has no next step of its own to resume.
    let is_driven = journal.has_problem() && journal.kind == RunKind::Variables;
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

fn describe(target: &str, report: &Report, links: Vec<LinkRow>, blobs: Vec<BlobRow>) -> VerifyReport {
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
        holds: report.holds() && blobs.is_empty() && links.iter().all(|link| link.verdict != "broken"),
        records: report.records,
        intact: intact(report),
        head: report.head.map(|head| head.to_string()),
        complete: report.completeness.map(|found| found == Completeness::Complete),
        levels: levels.collect(),
        links,
        blobs,
        snapshot: None,
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
