//! `hence trace reproduce`: the commands that can be run again, and whether they give the same output.

mod pipeline;
mod scratch;

use std::collections::BTreeMap;
use std::time::Duration;

use hence_capabilities::process::Confinement;
use hence_review::reproduce::{Candidate, CommandClass, Masks, Outcome, Reproduction, candidates, compare};

use super::document::Document;
use crate::args::TraceReproduceArgs;
use crate::prelude::*;
use pipeline::{Ended, Limits, run_pipeline};
use scratch::Scratch;

/// The longest output in the text report, in characters.
const SHOWN_CHARACTERS_MAX: usize = 200;

/// The word for a command that had no network and a disk that was read-only outside the scratch folder.
const ISOLATED: &str = "isolated";

/// The commands of a trace and the outcomes of running them again.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ReproduceReport {
    /// The trace's id, if it has one.
    trace_id: Option<String>,
    /// Whether anything was run.
    ran: bool,
    /// Each action that says how to reproduce it.
    candidates: Vec<CandidateRow>,
    /// The number that gave the recorded output.
    reproduced: usize,
    /// The number that gave another output.
    diverged: usize,
    /// The number that could not be started, did not end, or have no recorded output.
    not_judged: usize,
    /// The number that were not run.
    not_run: usize,
}

/// An action that says how to reproduce it.
#[derive(Serialize, JsonSchema)]
struct CandidateRow {
    /// The action's id.
    action_id: i64,
    /// Its label.
    label: String,
    /// The command as written.
    command: String,
    /// `safe`, `caution`, `unknown` or `unsafe`.
    class: &'static str,
    /// The reason for its class, or the reason it was not run.
    reason: String,
    /// The recorded output.
    expected: Option<String>,
    /// The recorded exit code.
    expected_exit_code: Option<i64>,
    /// `not_run`, `reproduced`, `diverged`, `nothing_recorded`, `timed_out` or `not_started`.
    outcome: &'static str,
    /// The exit code of the last program.
    exit_code: Option<i32>,
    /// Its output, cut at a limit.
    output: Option<String>,
    /// The differences: the exit code, the numbers of tests or the text.
    difference: Option<String>,
    /// `isolated`, or why the command could reach the network or write outside the scratch folder; null when it was not
    /// started.
    isolation: Option<String>,
    /// The parts of the output that were left out of the comparison, by kind.
    masked: BTreeMap<String, usize>,
}

impl CandidateRow {
    fn of(candidate: &Candidate) -> Self {
        Self {
            action_id: candidate.action_id,
            label: candidate.label.clone(),
            command: candidate.command.clone(),
            class: candidate.judgement.class.as_str(),
            reason: candidate.judgement.reason.clone(),
            expected: candidate.expected.text.clone(),
            expected_exit_code: candidate.expected.exit_code,
            outcome: "not_run",
            exit_code: None,
            output: None,
            difference: None,
            isolation: None,
            masked: BTreeMap::new(),
        }
    }

    fn text(&self, ran: bool) -> String {
        let mut text = format!(
            "action {}  {}\n  {}\n  {}: {}\n",
            self.action_id,
            escape(&self.label),
            escape(&self.command),
            self.class,
            escape(&self.reason)
        );
        if ran {
            let code = self.exit_code.map(|code| format!(", exit {code}")).unwrap_or_default();
            text.push_str(&format!("  {}{code}\n", self.outcome.replace('_', " ")));
            if let Some(isolation) = self.isolation.as_ref().filter(|isolation| **isolation != *ISOLATED) {
                text.push_str(&format!("    {}\n", escape(isolation)));
            }
        }
        if !self.masked.is_empty() {
            let kinds: Vec<String> =
                self.masked.iter().map(|(kind, count)| format!("{} {count}", escape(kind))).collect();
            text.push_str(&format!("    left out  {}\n", kinds.join(", ")));
        }
        if let Some(difference) = &self.difference {
            text.push_str(&format!("    differs   {}\n", escape(difference)));
        }
        if self.outcome == "diverged" {
            let shown = |text: &Option<String>| one_line(text.as_deref().unwrap_or(""), SHOWN_CHARACTERS_MAX);
            text.push_str(&format!("    recorded  {}\n", shown(&self.expected)));
            text.push_str(&format!("    now       {}\n", shown(&self.output)));
        }
        text
    }
}

impl Text for ReproduceReport {
    fn text(&self) -> String {
        if self.candidates.is_empty() {
            return "no action says how to reproduce it\n".to_owned();
        }
        let mut text: String = self.candidates.iter().map(|row| row.text(self.ran)).collect();
        text.push_str(&if self.ran {
            let isolated = self.candidates.iter().filter(|row| row.isolation.as_deref() == Some(ISOLATED)).count();
            let started = self.candidates.iter().filter(|row| row.isolation.is_some()).count();
            let isolation = match started {
                0 => String::new(),
                _ => format!(
                    "{isolated} of {started} ran isolated: without network, with a disk that is read-only outside the scratch folder\n"
                ),
            };
            format!(
                "{isolation}{} reproduced, {} diverged, {} not judged, {} not run\n",
                self.reproduced, self.diverged, self.not_judged, self.not_run
            )
        } else {
            let safe = self.candidates.iter().filter(|row| row.class == CommandClass::Safe.as_str()).count();
            format!("nothing was run; --run would run {safe} of {}\n", self.candidates.len())
        });
        text
    }
}

pub(super) fn run(context: &Context, args: &TraceReproduceArgs) -> Result<Exit, CliError> {
    let document = Document::of_file_or_run(context, &args.file)?;
    let trace = document.trace();
    let masks = Masks::with(&args.mask).map_err(|error| CliError::from_error(Code::Argument, error))?;
    let mut found = candidates(&trace);
    if let Some(id) = args.action.iter().find(|id| !found.iter().any(|known| known.action_id == **id)) {
        return Err(CliError::new(Code::NoSuchPlace, format!("no action {id} says how to reproduce it"))
            .with_hint(hint::LIST_REPRODUCIBLE));
    }
    found.retain(|candidate| args.action.is_empty() || args.action.contains(&candidate.action_id));
    let rows = if args.run {
        let scratch = Scratch::new(args.with.as_deref())?;
        found.iter().map(|candidate| again(args, &masks, &scratch, candidate)).collect()
    } else {
        found.iter().map(CandidateRow::of).collect()
    };
    let report = counted(trace.trace_id().map(str::to_owned), args.run, rows);
    context.print(&report)?;
    Ok(if report.diverged + report.not_judged == 0 { Exit::Yes } else { Exit::No })
}

fn counted(trace_id: Option<String>, ran: bool, candidates: Vec<CandidateRow>) -> ReproduceReport {
    let count = |outcomes: &[&str]| candidates.iter().filter(|row| outcomes.contains(&row.outcome)).count();
    ReproduceReport {
        trace_id,
        ran,
        reproduced: count(&["reproduced"]),
        diverged: count(&["diverged"]),
        not_judged: count(&["nothing_recorded", "timed_out", "not_started"]),
        not_run: count(&["not_run"]),
        candidates,
    }
}

/// Runs one candidate again, if it is safe.
fn again(args: &TraceReproduceArgs, masks: &Masks, scratch: &Scratch, candidate: &Candidate) -> CandidateRow {
    let mut row = CandidateRow::of(candidate);
    let judgement = &candidate.judgement;
    let pipeline = match (&judgement.pipeline, judgement.class) {
        (Some(pipeline), CommandClass::Safe) => pipeline,
        _ => return row,
    };
    if pipeline.expands {
        row.reason = "a variable or a pattern that only a shell would replace".to_owned();
        return row;
    }
    let folder = match scratch.inside(candidate.working_directory.as_deref()) {
        Ok(folder) => folder,
        Err(reason) => {
            row.reason = reason;
            return row;
        }
    };
    let limits = Limits { timeout: Duration::from_secs(args.timeout), passed: &args.env };
    let (ended, confinement) = run_pipeline(pipeline, &folder, &scratch.places(), &limits);
    row.isolation = match (&ended, confinement) {
        (Ended::NotStarted(_), _) => None,
        (_, Confinement::Confined) => Some(ISOLATED.to_owned()),
        (_, Confinement::Open(reason)) => Some(format!("not isolated: {reason}")),
    };
    match ended {
        Ended::NotStarted(reason) => {
            row.outcome = "not_started";
            row.reason = reason;
        }
        Ended::TimedOut => row.outcome = "timed_out",
        Ended::Done { exit_code, output } => {
            let compared = compare(&candidate.expected, Outcome { text: &output, exit_code }, masks);
            (row.outcome, row.difference) = match compared.result {
                Reproduction::Reproduced => ("reproduced", None),
                Reproduction::Diverged(difference) => ("diverged", Some(difference)),
                Reproduction::NothingRecorded => ("nothing_recorded", None),
            };
            row.masked = compared.masked;
            row.exit_code = exit_code;
            row.output = Some(output);
        }
    }
    row
}
