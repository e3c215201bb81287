//! What became of a run of a skill, as people and programs read it.

use std::path::Path;

use hence_canon::Value;
use hence_skills::FinishedSkill;
use hence_state::Status;
use hence_store::{Cut, FileStore, RunId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::{Context, escape};
use crate::data::Data;
use crate::error::CliError;
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
    /// `completed` or `failed`.
    status: String,
    /// What the skill gave, by name.
    outputs: Data,
    /// Each step and how it ended, in the order of the record.
    steps: Vec<StepRow>,
    /// Why it failed.
    failure: Option<FailureRow>,
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
        rows.push(("status", self.status.clone()));
        rows.push(("run", escape(&self.run)));
        rows.push(("head", self.head.clone()));
        rows.push(("record", escape(&self.journal)));
        text + &pairs(&rows)
    }
}

/// Prints what became of a run; a failed run is a finding.
pub(super) fn report(
    context: &Context,
    store: &FileStore,
    id: &RunId,
    ended: &FinishedSkill,
    beginning: Beginning,
    copy: Option<&str>,
) -> Result<Exit, CliError> {
    let report = describe(store, id, ended, beginning);
    match copy {
        None => context.print(&report)?,
        Some("-") => {
            context.write(&store_bytes(store, id)?)?;
            context.print_aside(&report);
        }
        Some(path) => {
            context.print(&report)?;
            if let Err(error) = std::fs::write(path, store_bytes(store, id)?) {
                let error = CliError::file("write", Path::new(path), &error);
                context.report_error(&error.advise(hint::copy(id.as_str())));
                return Ok(Exit::Partial);
            }
        }
    }
    Ok(if ended.finished.state.status() == Status::Failed { Exit::No } else { Exit::Yes })
}

fn store_bytes(store: &FileStore, id: &RunId) -> Result<Vec<u8>, CliError> {
    use hence_store::Store as _;
    Ok(store.journal_bytes(id)?)
}

fn describe(store: &FileStore, id: &RunId, ended: &FinishedSkill, beginning: Beginning) -> SkillRunReport {
    let FinishedSkill { finished, report } = ended;
    let (resumed, cut) = match beginning {
        Beginning::Here => (false, None),
        Beginning::Before(cut) => (true, cut.as_ref().map(ToString::to_string)),
    };
    let steps = report.outcomes.iter().map(|outcome| StepRow {
        step: outcome.step_id.to_string(),
        status: outcome.status.name(),
        error: outcome.failure.as_ref().map(ToString::to_string),
    });
    let failure = report.failure.as_ref().map(|failure| FailureRow {
        code: failure.code().name(),
        message: failure.failure.to_string(),
        step: failure.step_id.as_ref().map(ToString::to_string),
    });
    SkillRunReport {
        run: id.as_str().to_owned(),
        skill: report.state.skill_id.to_string(),
        status: finished.state.status().to_string(),
        outputs: Data(report.state.memory.outputs().to_object().into()),
        steps: steps.collect(),
        failure,
        records: finished.head.records.get(),
        head: finished.head.to_string(),
        journal: store.journal_path(id).display().to_string(),
        resumed,
        cut,
    }
}
