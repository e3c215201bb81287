//! Verifies the journal of a run of the loop.

use std::sync::Arc;

use hence_canon::Canonical;
use hence_engine::{
    Blobs, Evidence, Judge, ProgramFollower, ResumeError, Role, RunError, recorded_outcome_key,
};
use hence_journal::verify::{
    Completeness, Follower, Level, LevelReport, Outcome, Reason as Finding, ReasonCode, Verifiable,
};
use hence_journal::{Control, Header, RecordIndex, StepRecord};
use hence_state::ProblemSpec;

use crate::ports::Tools;
use crate::program::SolveProgram;
use crate::progress::{Next, Progress};
use crate::record::{Entry, NotAnEntry};

/// A journal of the loop, to be verified.
pub struct SolveJournal<'a, 'e> {
    /// The problem.
    pub problem: &'a Arc<ProblemSpec>,
    /// The system prompt, if it is available.
    pub system: Option<&'a Arc<str>>,
    /// The interpreter and the contexts, or the reason why there are none.
    pub tools: Result<&'a dyn Tools, String>,
    /// The journal and what belongs to it.
    pub evidence: &'a Evidence<'e>,
}

impl Verifiable for SolveJournal<'_, '_> {
    fn follow<'s>(&'s self, _: &Header, problem: Option<&Arc<ProblemSpec>>) -> Box<dyn Follower + 's> {
        Box::new(ProgramFollower::new(SolveJudge::new(self, problem), problem))
    }

    fn replay(&self) -> LevelReport {
        let tools = self.tools.clone().and_then(|tools| {
            tools.contexts().map_err(|fault| format!("context {fault}"))?;
            Ok(tools)
        });
        match tools {
            Ok(tools) => {
                let program = SolveProgram::new(self.problem.clone(), self.system.cloned(), Some(tools));
                self.evidence.replay(program.map_err(|error| ResumeError::Run(RunError::from(error))))
            }
            Err(reason) => LevelReport {
                level: Level::Replay,
                outcome: Outcome::NotChecked(reason),
                unchecked: Vec::new(),
            },
        }
    }
}

#[derive(Clone)]
struct SolveJudge<'a> {
    /// The position; `None` when it is not known, because no later record can be judged then.
    progress: Option<Progress>,
    blobs: &'a dyn Blobs,
    unchecked: Vec<String>,
    ended: bool,
    records: u64,
}

impl<'a> SolveJudge<'a> {
    fn new(journal: &'a SolveJournal<'_, '_>, problem: Option<&Arc<ProblemSpec>>) -> Self {
        let mut unchecked = Vec::new();
        let progress = problem.and_then(|problem| {
            let begun = Progress::begin(problem.clone(), journal.system.cloned());
            begun
                .map(Progress::without_indices)
                .map_err(|reason| unchecked.push(format!("the order of steps ({reason})")))
                .ok()
        });
        if problem.is_none() {
            unchecked.push("the order of steps (the problem is not known)".to_owned());
        }
        if journal.system.is_none() {
            unchecked.push("what was sent to the model (the system prompt is missing)".to_owned());
        }
        Self { progress, blobs: journal.evidence.blobs, unchecked, ended: false, records: 0 }
    }
}

/// Returns why the count of sub-calls in a record cannot be: a call without a child is one, and a call that a limit refused none.
/// The count decides when a limit is reached.
fn miscounted(entry: &Entry) -> Option<String> {
    let Entry::Call(call) = entry else { return None };
    let count = call.used.sub_calls;
    let may_be_refused = call.answer.is_err() && call.cached_from.is_none();
    let is_possible = match (&call.child, count) {
        (Some(_), count) => count > 0,
        (None, 1) => true,
        (None, count) => count == 0 && may_be_refused,
    };
    (!is_possible).then(|| format!("{count} sub-calls of one call"))
}

/// Returns why a record cannot state a finish reason or a model that answered: only a reply of a model comes with them.
fn misattributed(entry: &Entry) -> Option<String> {
    let Entry::Call(call) = entry else { return None };
    let is_stated = call.finish_reason.is_some() || call.answered_by.is_some();
    let is_reply = call.answer.is_ok() && call.cached_from.is_none() && call.child.is_none();
    (is_stated && !is_reply).then(|| "what an endpoint stated about a reply that no model gave".to_owned())
}

impl Judge for SolveJudge<'_> {
    fn step(&mut self, _: Role, record: &StepRecord, unchecked: &mut Vec<String>) -> Vec<Finding> {
        self.records += 1;
        let result = &record.result;
        let refused =
            |found: String| Finding { found: Some(found), ..Finding::new(ReasonCode::ResultRefused) };
        let entry = match Entry::read(result, self.blobs) {
            Ok(entry) => entry,
            Err(NotAnEntry::Blob(error)) => {
                let lost = self.progress.take().map_or("", |_| ", nor whether later steps follow");
                unchecked.push(format!("step {}{lost} ({error})", record.step_index));
                return Vec::new();
            }
            Err(error @ NotAnEntry::OtherStep(_)) => {
                let found = Some(error.to_string());
                return vec![Finding { found, ..Finding::new(ReasonCode::FlowViolation) }];
            }
            Err(error) => return vec![refused(error.to_string())],
        };
        self.ended |= matches!(entry, Entry::End(_));
        let expected = Canonical::of(&entry.input()).digest();
        let input = Finding::unless_equal(ReasonCode::InputHashMismatch, expected, result.input_hash());
        let mut findings: Vec<Finding> = input.into_iter().collect();
        if let Entry::Call(call) = &entry
            && let Some(child) = &call.child
        {
            unchecked.push(format!("the records of child run {} (it is verified by itself)", child.run));
        }
        findings.extend(miscounted(&entry).map(refused));
        findings.extend(misattributed(&entry).map(refused));
        let index = RecordIndex::new(self.records);
        if let Some(progress) = &mut self.progress {
            let applied = progress.apply(index, result.finished_at(), entry);
            findings.extend(applied.err().map(refused));
        }
        findings
    }

    fn control(&mut self, control: &Control) -> Vec<Finding> {
        self.records += 1;
        let may_complete = self.progress.as_ref().is_none_or(|progress| progress.next() == Next::Complete);
        match control {
            Control::Complete { .. } if may_complete && !self.ended => {
                self.ended = true;
                Vec::new()
            }
            _ => vec![Finding::new(ReasonCode::FlowViolation)],
        }
    }

    fn artifact_key(&self, record: &StepRecord) -> Arc<str> {
        recorded_outcome_key(record)
    }

    fn unchecked_at_start(&self) -> Vec<String> {
        self.unchecked.clone()
    }

    fn completeness(&self) -> Completeness {
        if self.ended { Completeness::Complete } else { Completeness::Incomplete }
    }
}
