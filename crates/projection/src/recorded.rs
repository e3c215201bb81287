//! A recorded run, read once from its first byte to its head.

use std::num::NonZeroUsize;
use std::sync::Arc;

use hence_canon::Lenient;
use hence_engine::{Blobs, is_seen};
use hence_journal::verify::{Outcome, check_chain};
use hence_journal::{Reader, Record, read_tail};
use hence_review::model::Trace;
use hence_skills::CallHistory;
use hence_state::ProblemSpec;

use crate::ProjectError;
use crate::link::RunLink;
use crate::program::Program;
use crate::projection::Projection;

/// A run as it was recorded.
#[derive(Clone, Copy)]
pub struct RecordedRun<'a> {
    /// The bytes of its journal. An append that never finished is left out.
    pub journal: &'a [u8],
    /// The problem the journal names.
    pub problem: &'a Lenient,
    /// Where its large values are fetched from.
    pub blobs: &'a dyn Blobs,
    /// The runs it came out of.
    pub links: &'a [RunLink],
    /// What is under way beside the record, without what it tells already: there stands what people are asked.
    /// Without it only the question of the step that is due is known.
    pub calls: Option<&'a CallHistory>,
}

/// Shows a run as a trace. The same run, with the same under way beside it, gives the same trace.
///
/// # Errors
/// [`ProjectError`] when the journal does not hold, names another problem, or lacks a large value.
pub fn trace_of_run(program: Program<'_>, run: &RecordedRun<'_>) -> Result<Trace, ProjectError> {
    let tail = read_tail(run.journal)?;
    let whole = run.journal.len() - tail.torn_bytes;
    let journal = run.journal.get(..whole).unwrap_or_default();
    if let Outcome::Broken(found) = check_chain(journal, NonZeroUsize::MIN).outcome {
        let reasons: Vec<String> = found.reasons.iter().map(ToString::to_string).collect();
        return Err(ProjectError::Broken { record: found.line, reasons: reasons.join("; ") });
    }
    let (first, reader) = Reader::open(journal)?;
    let Record::Header(header) = first.record else { return Err(ProjectError::NoHeader) };
    let problem = ProblemSpec::decode_lenient(run.problem, reader.profile())?;
    let found = problem.canonical().digest();
    if found != header.problem_spec_hash {
        return Err(ProjectError::OtherProblem { expected: header.problem_spec_hash, found });
    }
    let is_guarded = problem.settings().policies.is_some();
    let mut projection = Projection::begin(header, Arc::new(problem), program, run.blobs)?;
    for chained in reader {
        let chained = chained?;
        // What policies were, said or blocked is no action: the one is told by the evaluations, the other never was.
        if is_guarded && matches!(chained.record, Record::Step(_)) && !is_seen(&chained.record) {
            continue;
        }
        let piece = match &chained.record {
            Record::Step(record) => projection.look_at_step(chained.index, &record.result)?,
            Record::Control(control) => projection.look_at_control(chained.index, control),
            Record::Header(_) => continue,
        };
        projection.take(piece)?;
    }
    if let Some(calls) = run.calls {
        projection.know_calls(calls);
    }
    Ok(projection.trace(tail.head, run.links))
}
