//! What became of a run, as people and programs read it.

use hence_store::{FileStore, RunId};

use super::{Beginning, Ended};
use crate::prelude::*;
use crate::skills::WaitingRow;

/// What became of a run.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunReport {
    /// The run's id.
    run: String,
    /// `completed`, `failed` or `waiting`.
    status: String,
    /// The synthesis, when there is one.
    answer: Option<Data>,
    /// What verification said: `passed`, `failed`, or nothing.
    verification: Option<String>,
    /// What went wrong, in order.
    errors: Vec<RunErrorReport>,
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

/// An error of the run's record.
#[derive(Serialize, JsonSchema)]
struct RunErrorReport {
    code: String,
    message: String,
    step: Option<String>,
}

impl Text for RunReport {
    fn text(&self) -> String {
        let mut rows = Vec::new();
        if let Some(answer) = &self.answer {
            let text = answer.0.get("summary").and_then(hence_canon::Value::as_str).map(str::to_owned);
            rows.push(("answer", escape(&text.unwrap_or_else(|| answer.0.to_string()))));
        }
        if let Some(verification) = &self.verification {
            rows.push(("verification", escape(verification)));
        }
        for error in &self.errors {
            rows.push(("error", escape(&format!("{}: {}", error.code, error.message))));
        }
        rows.extend(self.waiting.iter().flat_map(WaitingRow::rows));
        rows.push(("status", self.status.clone()));
        rows.push(("run", escape(&self.run)));
        rows.push(("head", self.head.clone()));
        rows.push(("record", escape(&self.journal)));
        pairs(&rows)
    }
}

/// Describes a run that came to its end, or waits.
pub(super) fn describe(store: &FileStore, id: &RunId, ended: Ended) -> Result<RunReport, CliError> {
    let Ended { finished, beginning, waiting } = ended;
    let state = &finished.state;
    let (resumed, cut) = match beginning {
        Beginning::Here => (false, None),
        Beginning::Before(cut) => (true, cut.as_ref().map(ToString::to_string)),
    };
    let blobs = crate::sink::StoreBlobs(store);
    let newest = |key: &str| {
        let newest = state.artifacts().newest(key);
        newest.map(|value| hence_engine::resolve(value, &blobs)).transpose()
    };
    let verification = newest("verification")?;
    let errors = state.errors().iter().map(|error| RunErrorReport {
        code: error.code.to_string(),
        message: error.message.to_string(),
        step: error.step.as_ref().map(ToString::to_string),
    });
    Ok(RunReport {
        run: id.as_str().to_owned(),
        status: if waiting.is_empty() { state.status().to_string() } else { "waiting".to_owned() },
        answer: newest("synthesis")?.map(Data),
        verification: verification.and_then(|value| value.get("status")?.as_str().map(str::to_owned)),
        errors: errors.collect(),
        waiting,
        records: finished.head.records.get(),
        head: finished.head.to_string(),
        journal: store.journal_path(id).display().to_string(),
        resumed,
        cut,
    })
}
