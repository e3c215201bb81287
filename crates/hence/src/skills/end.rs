//! What became of a run of a skill, as people and programs read it.

use std::path::Path;

use hence_canon::Value;
use hence_cognition::run::StepOutcome;
use hence_cognition::state::ExecutionState;
use hence_journal::Head;
use hence_skills::{FinishedSkill, SkillRun};
use hence_state::Status;
use hence_store::{Cut, Store as _};
use schemars::JsonSchema;
use serde::Serialize;

use super::WaitingRow;
use super::going::Going;
use crate::data::Data;
use crate::error::CliError;
use crate::escape::escape;
use crate::escape::escape_json;
use crate::exit::Exit;
use crate::hint;
use crate::report::{Text, pairs};

/// Where a run was begun.
pub(super) enum Beginning {
    /// By this command.
    Here,
    /// Before; this is what had to be cut from its journal.
    Before(Option<Cut>),
}

/// What became of a run of a skill.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SkillRunReport {
    /// The run's id.
    run: String,
    /// The skill's id.
    skill: String,
    /// `completed`, `failed` or `waiting`.
    status: String,
    /// What the skill gave, by name.
    outputs: Data,
    /// Each step and how it ended, in the order of the record.
    steps: Vec<StepRow>,
    /// Why it failed.
    failure: Option<FailureRow>,
    /// What it waits for.
    waiting: Vec<WaitingRow>,
    /// How many records the journal holds.
    records: u64,
    /// The head: keep it elsewhere, and `hence verify --anchor` shows a cut or rewritten journal.
    head: String,
    /// Where the journal lies.
    journal: String,
    /// Whether the run had been started before and was taken up.
    resumed: bool,
    /// What was cut from the end of the journal: an append that was never finished.
    cut: Option<String>,
}

/// A step of a run.
#[derive(Serialize, JsonSchema)]
struct StepRow {
    step: String,
    status: &'static str,
    /// Why it failed.
    error: Option<String>,
}

/// Why a run failed.
#[derive(Serialize, JsonSchema)]
struct FailureRow {
    code: &'static str,
    message: String,
    step: Option<String>,
}

impl Text for SkillRunReport {
    fn text(&self) -> String {
        let mut text = String::new();
        for (name, value) in self.outputs.0.as_object().into_iter().flat_map(|outputs| outputs.iter()) {
            let shown = match value {
                // A report is read as its author laid it out.
                Value::String(value) if value.contains('\n') => {
                    value.lines().map(|line| format!("  {}\n", escape(line))).collect()
                }
                Value::String(value) => format!("  {}\n", escape(value)),
                other => hence_canon::pretty(other)
                    .lines()
                    .map(|line| format!("  {}\n", escape_json(line)))
                    .collect(),
            };
            text.push_str(&format!("{}:\n{shown}\n", escape(name)));
        }
        let mut rows = Vec::new();
        for step in self.steps.iter().filter(|step| step.status != "completed") {
            let why = step.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
            rows.push((step.status, escape(&format!("{}{why}", step.step))));
        }
        if let Some(failure) = &self.failure {
            rows.push(("error", escape(&format!("{}: {}", failure.code, failure.message))));
        }
        rows.extend(self.waiting.iter().flat_map(WaitingRow::rows));
        rows.push(("status", self.status.clone()));
        rows.push(("run", escape(&self.run)));
        rows.push(("head", self.head.clone()));
        rows.push(("record", escape(&self.journal)));
        text + &pairs(&rows)
    }
}

/// Prints what became of a run; a failed run is a finding.
pub(super) fn report(
    going: &Going<'_>,
    ended: &FinishedSkill,
    beginning: Beginning,
) -> Result<Exit, CliError> {
    let FinishedSkill { finished, report } = ended;
    let failure = report.failure.as_ref().map(|failure| FailureRow {
        code: failure.code().as_str(),
        message: failure.failure.to_string(),
        step: failure.step_id.as_ref().map(ToString::to_string),
    });
    let status = finished.state.status().to_string();
    let base = describe(going, &report.state, &report.outcomes, finished.head, beginning);
    let exit = if finished.state.status() == Status::Failed { Exit::No } else { Exit::Yes };
    print(going, &SkillRunReport { status, failure, ..base }, exit)
}

/// Prints what a run waits for.
pub(super) fn report_waiting(
    going: &Going<'_>,
    run: &SkillRun<'_>,
    waiting: Vec<WaitingRow>,
    beginning: Beginning,
) -> Result<Exit, CliError> {
    let base = describe(going, run.execution(), run.outcomes(), run.head(), beginning);
    print(going, &SkillRunReport { status: "waiting".to_owned(), waiting, ..base }, Exit::Waiting)
}

fn print(going: &Going<'_>, report: &SkillRunReport, exit: Exit) -> Result<Exit, CliError> {
    let (context, store, id) = (going.context, going.store, going.id);
    match going.copy {
        None => context.print(report)?,
        Some("-") => {
            context.write(&store.journal_bytes(id)?)?;
            context.print_aside(report);
        }
        Some(path) => {
            context.print(report)?;
            if let Err(error) = std::fs::write(path, store.journal_bytes(id)?) {
                let error = CliError::file("write", Path::new(path), error);
                context.report_error(&error.with_hint(hint::copy(id.as_str())));
                return Ok(Exit::Partial);
            }
        }
    }
    Ok(exit)
}

fn describe(
    going: &Going<'_>,
    state: &ExecutionState,
    outcomes: &[StepOutcome],
    head: Head,
    beginning: Beginning,
) -> SkillRunReport {
    let (resumed, cut) = match beginning {
        Beginning::Here => (false, None),
        Beginning::Before(cut) => (true, cut.as_ref().map(ToString::to_string)),
    };
    let steps = outcomes.iter().map(|outcome| StepRow {
        step: outcome.step_id.to_string(),
        status: outcome.status.as_str(),
        error: outcome.failure.as_ref().map(ToString::to_string),
    });
    SkillRunReport {
        run: going.id.as_str().to_owned(),
        skill: state.skill_id.to_string(),
        status: String::new(),
        outputs: Data(state.memory.outputs().to_object().into()),
        steps: steps.collect(),
        failure: None,
        waiting: Vec::new(),
        records: head.records.get(),
        head: head.to_string(),
        journal: going.store.journal_path(going.id).display().to_string(),
        resumed,
        cut,
    }
}
