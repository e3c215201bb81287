//! `hence verify`: what holds, where it first breaks, and what no hash chain can show.

use std::num::NonZeroUsize;

use hence_engine::{Blobs, Engine, Evidence, NoBlobs, RecordedSteps};
use hence_journal::verify::{Break, Completeness, Level, Outcome, Report};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::VerifyArgs;
use crate::context::{Context, escape};
use crate::error::CliError;
use crate::exit::Exit;
use crate::report::{Text, columns};
use crate::sink::StoreBlobs;
use crate::target::Journal;
use crate::{hint, input};

/// What holds of a journal.
#[derive(Serialize, JsonSchema)]
pub(crate) struct VerifyReport {
    /// The run or file.
    target: String,
    /// Whether no checked level is broken.
    holds: bool,
    /// How many lines the journal has.
    records: u64,
    /// Where it ends, when the chain holds.
    head: Option<String>,
    /// Whether it tells a whole run, when that could be judged.
    complete: Option<bool>,
    /// What each level found, cheapest first.
    levels: Vec<LevelRow>,
    /// What the checks made cannot show.
    not_shown: Vec<&'static str>,
}

/// What one level found.
#[derive(Serialize, JsonSchema)]
struct LevelRow {
    /// `bytes`, `chain`, `linked`, `spec`, `replay` or `anchored`.
    level: &'static str,
    /// `holds`, `broken` or `not_checked`.
    verdict: &'static str,
    /// The first bad line, from 0.
    line: Option<u64>,
    /// Everything wrong with that line.
    reasons: Vec<ReasonRow>,
    /// Why the level, or part of it, was not checked.
    unchecked: Vec<String>,
}

/// One thing that does not hold.
#[derive(Serialize, JsonSchema)]
struct ReasonRow {
    /// A stable word.
    code: &'static str,
    /// The member it is about.
    member: Option<&'static str>,
    /// What should stand there.
    expected: Option<String>,
    /// What does.
    found: Option<String>,
}

impl Text for VerifyReport {
    fn text(&self) -> String {
        let mut text = format!("{}: {}\n", escape(&self.target), self.verdict());
        let rows: Vec<[String; 3]> = self.levels.iter().map(LevelRow::row).collect();
        text.push_str(&columns(&rows));
        // What a level could not check, unless the level above it has.
        let highest = self.levels.iter().rev().find(|row| row.verdict == "holds" && row.level != "anchored");
        if let Some(row) = highest {
            for unchecked in &row.unchecked {
                text.push_str(&format!("  {}: not checked: {}\n", row.level, escape(unchecked)));
            }
        }
        if let Some(head) = &self.head {
            text.push_str(&format!("head {head}\n"));
        }
        if self.complete == Some(false) {
            text.push_str("the run is unfinished: more records should follow\n");
        }
        text.push_str("not shown by these checks:\n");
        for sentence in &self.not_shown {
            text.push_str(&format!("  {sentence}\n"));
        }
        text
    }
}

impl VerifyReport {
    fn verdict(&self) -> String {
        let broken = self.levels.iter().find(|row| row.verdict == "broken");
        match (broken, broken.and_then(|row| row.line)) {
            (Some(row), Some(line)) => format!("broken at record {line} of {} ({})", self.records, row.level),
            _ => format!("{} records hold", self.records),
        }
    }
}

impl LevelRow {
    fn row(&self) -> [String; 3] {
        let reasons: Vec<String> = self.reasons.iter().map(ReasonRow::text).collect();
        let details = match (self.verdict, self.line) {
            ("broken", Some(line)) => format!("record {line}: {}", reasons.join("; ")),
            ("not_checked", _) => self.unchecked.join("; "),
            _ => String::new(),
        };
        [format!("  {}", self.level), self.verdict.replace('_', " "), escape(&details)]
    }
}

impl ReasonRow {
    fn text(&self) -> String {
        let member = self.member.map(|member| format!(":{member}")).unwrap_or_default();
        let expected =
            self.expected.as_ref().map(|expected| format!(" expected {expected}")).unwrap_or_default();
        let found = self.found.as_ref().map(|found| format!(" found {found}")).unwrap_or_default();
        format!("{}{member}{expected}{found}", self.code)
    }
}

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
    let report = Engine::new().verify(&evidence, args.level);
    context.print(&describe(&journal.name, &report))?;
    advise(context, &args.target, &report);
    Ok(if report.holds() { Exit::Yes } else { Exit::No })
}

/// Says what to do next: how to see what a bare chain cannot show.
fn advise(context: &Context, target: &str, report: &Report) {
    let unanchored = matches!(report.outcome(Level::Anchored), Some(Outcome::NotChecked(_)) | None);
    if unanchored {
        context.say(format!(
            "hint: a head kept elsewhere shows a cut or rewritten journal: `hence verify --anchor HASH:COUNT {}`",
            hint::word(target)
        ));
    }
}

fn describe(target: &str, report: &Report) -> VerifyReport {
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
        holds: report.holds(),
        records: report.records,
        head: report.head.map(|head| head.to_string()),
        complete: report.completeness.map(|found| found == Completeness::Complete),
        levels: levels.collect(),
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
