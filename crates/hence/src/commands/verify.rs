//! `hence verify`: reports which levels hold, the first record that does not, and what no hash chain can show.

mod report;

use std::num::NonZeroUsize;

use hence_engine::{Evidence, RunKind};
use hence_journal::verify::{Break, Completeness, Level, Outcome, Report};

use crate::args::VerifyArgs;
use crate::kind::{self, Purpose};
use crate::prelude::*;
use crate::skills::{LinkRow, linked_runs};
use crate::target::{Journal, other_name};
use crate::{guard, input};

pub(crate) use report::VerifyReport;
use report::{LevelRow, ReasonRow};

pub(super) fn run(context: &Context, args: &VerifyArgs) -> Result<Exit, CliError> {
    let mut journal = Journal::of_target(context, &args.target)?;
    if let Some(path) = &args.problem {
        journal.set_problem(input::read_file(path)?);
    }
    let problem = journal.parsed_problem()?;
    let run = kind::open(&journal, &[], Purpose::of_reading(&journal, args.execute)?)?;
    let (report, links) = kind::with_blobs(&journal, |blobs| {
        let open_gate = || guard::open_to_read(&journal, run.projection(), blobs);
        let evidence = Evidence {
            problem,
            anchor: args.anchor,
            gate: Some(&open_gate),
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            ..Evidence::of_journal(&journal.bytes, blobs)
        };
        let mut links = if args.level >= Level::Spec { linked_runs(&journal, blobs) } else { Vec::new() };
        // A journal's file may have any name; a run is stored under the id its header gives it.
        let stored = journal.store.as_ref().and_then(|_| other_name(&journal.name, &journal.bytes));
        links.extend(stored.map(|named| LinkRow::of_another_run(&journal.name, named)));
        (run.verify(&evidence, args.level), links)
    });
    let shown = describe(&journal.name, &report, links);
    context.print(&shown)?;
    advise(context, args, &journal, &report);
    Ok(if shown.holds { Exit::Yes } else { Exit::No })
}

/// Prints hints about what to do next.
fn advise(context: &Context, args: &VerifyArgs, journal: &Journal, report: &Report) {
    let target = &args.target;
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
