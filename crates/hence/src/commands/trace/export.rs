//! `hence trace export`: a run as a review trace.

use hence_engine::{Blobs, Engine, NoBlobs, is_interactive};
use hence_projection::{Program, ProjectError, RecordedRun, trace_of_run};
use hence_review::ContentHash;
use hence_review::model::{self, Trace};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::TraceExportArgs;
use crate::code::Code;
use crate::context::Context;
use crate::error::CliError;
use crate::escape::{escape, escape_json};
use crate::exit::Exit;
use crate::hint;
use crate::report::{Text, pairs};
use crate::sink::StoreBlobs;
use crate::skills::Kept;
use crate::target::Journal;

/// A trace that was written to a file.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExportReport {
    /// The run.
    run: String,
    /// The file.
    file: String,
    /// The content hash of the trace.
    content_hash: String,
    /// How many actions it has.
    actions: usize,
    /// How many gaps it declares.
    residuals: usize,
}

impl Text for ExportReport {
    fn text(&self) -> String {
        pairs(&[
            ("run", escape(&self.run)),
            ("trace", escape(&self.file)),
            ("content", self.content_hash.clone()),
            ("actions", self.actions.to_string()),
            ("gaps", format!("{} declared", self.residuals)),
        ])
    }
}

pub(super) fn run(context: &Context, args: &TraceExportArgs) -> Result<Exit, CliError> {
    let (name, trace) = exported(context, &args.run)?;
    let value = model::encode(&trace);
    let text = format!("{}\n", escape_json(&hence_canon::pretty(&value)));
    let Some(path) = &args.out else {
        context.write(text.as_bytes())?;
        return Ok(Exit::Yes);
    };
    std::fs::write(path, text).map_err(|error| CliError::file("write", path, &error))?;
    context.print(&ExportReport {
        run: name,
        file: path.display().to_string(),
        content_hash: ContentHash::of(&value).to_string(),
        actions: trace.members.actions.len(),
        residuals: trace.members.residuals.len(),
    })?;
    Ok(Exit::Yes)
}

/// Shows a run of the store, or a journal's file, as a trace.
pub(crate) fn exported(context: &Context, run: &str) -> Result<(String, Trace), CliError> {
    let journal = Journal::of_target(context, run)?;
    let problem = journal.required_problem()?;
    let store_blobs = journal.store.as_ref().map(|store| StoreBlobs(store));
    let blobs: &dyn Blobs = match &store_blobs {
        Some(blobs) => blobs,
        None => &NoBlobs,
    };
    let recorded = RecordedRun { journal: &journal.bytes, problem: &problem, blobs, links: &[] };
    let engine = Engine::new();
    let kept = Kept::of(&journal)?;
    let program = match &kept {
        Some(kept) => Program::Skill { prepared: &kept.prepared, source: &kept.source, host: &kept.library },
        None if is_interactive(&problem.value) => Program::Variables,
        None => Program::Reason(&engine),
    };
    let trace = trace_of_run(program, &recorded).map_err(|error| refused(&journal.name, error))?;
    Ok((journal.name, trace))
}

fn refused(run: &str, error: ProjectError) -> CliError {
    match error {
        ProjectError::Blob(error) => error.into(),
        ProjectError::Read(error) => {
            CliError::new(Code::BadRecord, format!("run {run}: {error}")).advise(hint::verify(run))
        }
        ProjectError::Problem(findings) => CliError::refused(&format!("the problem of run {run}"), &findings),
        ProjectError::OtherProblem { .. } | ProjectError::Broken { .. } => {
            CliError::new(Code::Diverged, format!("run {run}: {error}")).advise(hint::verify(run))
        }
        other => CliError::new(Code::Damaged, format!("run {run}: {other}")).advise(hint::verify(run)),
    }
}
