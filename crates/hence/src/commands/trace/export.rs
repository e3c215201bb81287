//! `hence trace export`: a run as a review trace, and traces in the forms of other tools.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use hence_canon::{Value, parse};
use hence_journal::RecordIndex;
use hence_projection::{ProjectError, RecordedRun, trace_with_records};
use hence_review::export::{in_toto_statement, otlp_json, prov_json};
use hence_review::lineage::Lineage;
use hence_review::{ContentHash, wire};
use hence_skills::CallHistory;

use super::document::Document;
use crate::args::{TraceExportArgs, TraceForm};
use crate::kind::{self, Purpose};
use crate::measured::RunTimes;
use crate::prelude::*;
use crate::target::Journal;

/// A trace that was written to a file.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExportReport {
    /// The run.
    run: String,
    /// The file.
    file: String,
    /// The form it is written in: `trace`, `otlp`, `prov` or `in-toto`.
    format: &'static str,
    /// The content hash of the trace.
    content_hash: String,
    /// The number of its actions.
    actions: usize,
    /// The number of its declared gaps.
    residuals: usize,
}

impl Text for ExportReport {
    fn text(&self) -> String {
        pairs(&[
            ("run", escape(&self.run)),
            (self.format, escape(&self.file)),
            ("content", self.content_hash.clone()),
            ("actions", self.actions.to_string()),
            ("gaps", format!("{} declared", self.residuals)),
        ])
    }
}

pub(super) fn run(context: &Context, args: &TraceExportArgs) -> Result<Exit, CliError> {
    let (name, value) = match read_trace_file(&args.run)? {
        Some(value) => (args.run.clone(), value),
        None => exported(context, &args.run)?,
    };
    let trace = wire::Trace::read(&value);
    let document = match args.format {
        TraceForm::Trace => value.clone(),
        TraceForm::Otlp => otlp_json(&trace),
        TraceForm::Prov => prov_json(&trace, &Lineage::of(&trace)),
        TraceForm::InToto => in_toto_statement(&value),
    };
    if let Some(path) = args.output.write(context, &document)? {
        context.print(&ExportReport {
            run: name,
            file: path.display().to_string(),
            format: args.format.as_str(),
            content_hash: ContentHash::of(&value).to_string(),
            actions: trace.actions().len(),
            residuals: trace.residuals().count(),
        })?;
    }
    if args.format == TraceForm::InToto {
        context.say("the statement is not signed: it says what it is about, not that anybody vouches for it");
    }
    Ok(Exit::Yes)
}

/// The most bytes of a first line that are read to recognise a journal. A header has digests and no data.
const HEADER_BYTES_MAX: u64 = 64 * 1024;

/// Reads a trace from a file; `None` when the name is that of a run or of a journal file.
pub(crate) fn read_trace_file(name: &str) -> Result<Option<Value>, CliError> {
    let path = Path::new(name);
    if !path.is_file() || begins_like_a_journal(path)? {
        return Ok(None);
    }
    let value = Document::required(name)?.value;
    if value.get("actions").is_none() {
        let message = format!("{name}: expected a trace with actions, or the journal of a run");
        return Err(CliError::new(Code::NotJson, message));
    }
    Ok(Some(value))
}

/// Returns whether a file is a journal, by its name or its first line. A damaged journal is still a journal.
fn begins_like_a_journal(path: &Path) -> Result<bool, CliError> {
    if path.extension().is_some_and(|ending| ending == "ndjson") {
        return Ok(true);
    }
    let file = std::fs::File::open(path).map_err(|error| CliError::file("open", path, error))?;
    let mut line = Vec::new();
    BufReader::new(file.take(HEADER_BYTES_MAX))
        .read_until(b'\n', &mut line)
        .map_err(|error| CliError::file("read", path, error))?;
    let header = parse(&line).ok();
    Ok(header.is_some_and(|header| header.get("record_hash").is_some()))
}

/// Returns the name and the trace of a run of the store or of a journal file.
pub(crate) fn exported(context: &Context, run: &str) -> Result<(String, Value), CliError> {
    let journal = Journal::of_target(context, run)?;
    let (trace, _) = projected(context, &journal)?;
    Ok((journal.name, trace))
}

/// Returns the trace of a journal, and the record of each of its actions.
pub(crate) fn projected(context: &Context, journal: &Journal) -> Result<(Value, Vec<RecordIndex>), CliError> {
    let problem = journal.required_problem()?;
    let calls = call_history(journal)?;
    let times = RunTimes::of(journal);
    times.say(context, &journal.name);
    let run = kind::open(journal, &[], Purpose::Read)?;
    let projected = kind::with_blobs(journal, |blobs| {
        let (journal, calls) = (&*journal.bytes, calls.as_ref());
        let recorded = RecordedRun { journal, problem, blobs, links: &[], calls };
        trace_with_records(run.projection(), &recorded, &times.times)
    });
    projected.map_err(|error| refused(&journal.name, error))
}

/// Reads the call log of a run of the store; a journal file has none.
fn call_history(journal: &Journal) -> Result<Option<CallHistory>, CliError> {
    let Some(store) = &journal.store else { return Ok(None) };
    let id = crate::target::find_run(store, &journal.name)?;
    crate::skills::history(store, &id)
}

fn refused(run: &str, error: ProjectError) -> CliError {
    match error {
        ProjectError::Blob(error) => error.into(),
        ProjectError::Read(error) => {
            CliError::of_run(Code::BadRecord, run, error).with_hint(hint::verify(run))
        }
        ProjectError::Policies(error) => crate::guard::refused(run, error),
        ProjectError::PolicyForm(error) => CliError::new(Code::NotATrace, error.to_string()),
        ProjectError::Problem(findings) => CliError::refused(&format!("the problem of run {run}"), &findings),
        ProjectError::OtherProblem { .. }
        | ProjectError::Broken { .. }
        | ProjectError::OtherSkill { .. }
        | ProjectError::Outcome { .. }
        | ProjectError::Diverged(_)
        | ProjectError::Event { .. } => {
            CliError::of_run(Code::Diverged, run, error).with_hint(hint::verify(run))
        }
        other => CliError::of_run(Code::Damaged, run, other).with_hint(hint::verify(run)),
    }
}
