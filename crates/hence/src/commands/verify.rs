//! `hence verify`: what holds, where it first breaks, and what no hash chain can show.

mod report;

use std::num::NonZeroUsize;

use hence_engine::{Blobs, Engine, Evidence, NoBlobs, RecordedSteps};
use hence_journal::verify::{Break, Completeness, Level, Outcome, Report};

use crate::args::VerifyArgs;
use crate::input;
use crate::prelude::*;
use crate::sink::StoreBlobs;
use crate::skills::{LinkRow, linked_runs};
use crate::target::Journal;

pub(crate) use report::VerifyReport;
use report::{LevelRow, ReasonRow};

pub(super) fn run(context: &Context, args: &VerifyArgs) -> Result<Exit, CliError> {
    let mut journal = Journal::of_target(context, &args.target)?;
    if let Some(path) = &args.problem {
        journal.problem = Some(input::read_file(path)?);
    }
    let problem = journal.parsed_problem()?;
    let store_blobs = journal.store.as_ref().map(|store| StoreBlobs(store));
    let blobs: &dyn Blobs = match &store_blobs {
        Some(blobs) => blobs,
        None => &NoBlobs,
    };
    let evidence = Evidence {
        journal: &journal.bytes,
        problem: problem.as_ref(),
        anchor: args.anchor,
        blobs,
        recorded: RecordedSteps::FromJournal,
        threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
    };
    let mut links = Vec::new();
    let report = match crate::skills::Kept::of(&journal)? {
        Some(kept) => {
            if args.level >= Level::Spec {
                links = linked_runs(&kept, &journal, blobs);
            }
            crate::skills::verify(&kept, &evidence, args.level)
        }
        None => {
            let engine = crate::bound::to_read(Engine::new(), &journal, &[])?;
            crate::guard::gated(engine).verify(&evidence, args.level)
        }
    };
    let shown = describe(&journal.name, &report, links);
    context.print(&shown)?;
    // A run that is driven from outside has no next step of its own to resume with.
    let is_driven = problem.is_some_and(|problem| hence_engine::is_interactive(&problem.value));
    let next = if is_driven { Next::FromOutside } else { Next::OfItsOwn };
    advise(context, args, &journal, &report, next);
    Ok(if shown.holds { Exit::Yes } else { Exit::No })
}

/// Where the next record of a run comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The run's program has a step to go on with.
    OfItsOwn,
    /// Somebody drives the run.
    FromOutside,
}

/// Says what to do next.
fn advise(context: &Context, args: &VerifyArgs, journal: &Journal, report: &Report, next: Next) {
    let target = &args.target;
    let is_torn = journal.bytes.last().is_some_and(|byte| *byte != b'\n');
    let is_unfinished = report.completeness == Some(Completeness::Incomplete);
    let is_resumable =
        journal.store.is_some() && report.records > 0 && (is_torn || is_unfinished) && next == Next::OfItsOwn;
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

/// Returns how many records hold, counted from the first: all before the first break of any level.
fn intact(report: &Report) -> u64 {
    let breaks = report.levels.iter().filter_map(|level| match &level.outcome {
        // The anchor is about the end; the records before it may hold or not.
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
