//! The levels that decode records: linked and spec.

use std::collections::BTreeSet;
use std::sync::Arc;

use hence_canon::Digest;
use hence_state::{LoopLimitRule, ProblemSpec, Profile, StepIndexRule, StepStatus};

use super::{Break, Completeness, Follower, Outcome, Reason, ReasonCode, Verifiable};
use crate::RecordIndex;
use crate::checkpoints::{CheckpointError, Checkpoints, positions};
use crate::fold::Fold;
use crate::reader::Reader;
use crate::record::{Chained, Control, Header, LoopAction, Record, StepRecord};

/// The findings of the levels linked and spec.
#[derive(Clone, Debug)]
pub struct Trusted {
    /// Whether the level holds.
    pub outcome: Outcome,
    /// Whether the run reached a legal end. Meaningful when the level holds.
    pub completeness: Completeness,
    /// The parts that could not be checked.
    pub unchecked: Vec<String>,
}

/// Checks what the journal alone can show: links between states, output and input hashes, the order of steps.
///
/// The chain level is expected to hold.
pub fn check_linked(journal: &[u8], program: &dyn Verifiable) -> Trusted {
    check(journal, program, None)
}

/// Checks that the journal belongs to `problem` and that every state follows from the results.
///
/// The chain level is expected to hold.
pub fn check_spec(journal: &[u8], program: &dyn Verifiable, problem: &Arc<ProblemSpec>) -> Trusted {
    check(journal, program, Some(problem))
}

fn check(journal: &[u8], program: &dyn Verifiable, problem: Option<&Arc<ProblemSpec>>) -> Trusted {
    let broken = |line, reasons| Trusted {
        outcome: Outcome::Broken(Break { line, reasons }),
        completeness: Completeness::Incomplete,
        unchecked: Vec::new(),
    };
    let unreadable = |error: crate::reader::ReadError| {
        let reason = Reason { found: Some(error.error.to_string()), ..Reason::new(ReasonCode::BadValue) };
        broken(error.index.get(), vec![reason])
    };
    let (header, reader) = match Reader::open(journal) {
        Ok((Chained { record: Record::Header(header), .. }, reader)) => (header, reader),
        Ok(_) => return broken(0, vec![Reason::first_not_header()]),
        Err(error) => return unreadable(error),
    };
    let mut walk = Walk::new(&header, *reader.profile(), program, problem);
    let reasons = walk.header(&header);
    if !reasons.is_empty() {
        return broken(0, reasons);
    }
    let wanted = positions(journal);
    walk.keep(&wanted, RecordIndex::HEADER);
    let mut records = reader.peekable();
    while let Some(record) = records.next() {
        let record = match record {
            Ok(record) => record,
            Err(error) => return unreadable(error),
        };
        // Only the compat profile looks ahead, and a record that cannot be read is reported at its own turn.
        let next = records.peek().and_then(|next| next.as_ref().ok()).map(|next| &next.record);
        let reasons = walk.record(record.index, &record.record, next);
        if !reasons.is_empty() {
            return broken(record.index.get(), reasons);
        }
        walk.keep(&wanted, record.index);
    }
    Trusted {
        outcome: Outcome::Holds,
        completeness: walk.follower.completeness(),
        unchecked: walk.follower.unchecked(),
    }
}

/// A pass over the records of a journal, at one record.
struct Walk<'a> {
    profile: Profile,
    follower: Box<dyn Follower + 'a>,
    /// The fold of the states; `None` at the linked level, which has no problem.
    fold: Option<Fold>,
    problem_hash: Option<Digest>,
    state_hash: Digest,
    step_index: u64,
    checkpoints: Checkpoints,
}

impl<'a> Walk<'a> {
    fn new(
        header: &Header,
        profile: Profile,
        program: &'a dyn Verifiable,
        problem: Option<&Arc<ProblemSpec>>,
    ) -> Self {
        Self {
            profile,
            follower: program.follow(header, problem),
            fold: problem.map(|problem| Fold::new(header, problem.clone())),
            problem_hash: problem.map(|problem| problem.canonical().digest()),
            state_hash: header.initial_state_hash,
            step_index: 0,
            checkpoints: Checkpoints::default(),
        }
    }

    fn header(&mut self, header: &Header) -> Vec<Reason> {
        let problem = self.problem_hash.and_then(|expected| {
            Reason::unless_equal(ReasonCode::ProblemSpecHashMismatch, expected, header.problem_spec_hash)
        });
        let state = self.fold.as_mut().and_then(|fold| {
            let expected = fold.state_mut().digest();
            Reason::unless_equal(ReasonCode::InitialStateHashMismatch, expected, header.initial_state_hash)
        });
        if let Some(fold) = &self.fold {
            self.follower.state(fold.state());
        }
        problem.into_iter().chain(state).collect()
    }

    /// Takes a snapshot after the record just checked, if a rollback returns to it.
    fn keep(&mut self, wanted: &BTreeSet<RecordIndex>, index: RecordIndex) {
        if wanted.contains(&index) {
            self.follower.keep(index);
            self.fold.iter_mut().for_each(|fold| fold.snapshot(index));
        }
    }

    fn record(&mut self, index: RecordIndex, record: &Record, next: Option<&Record>) -> Vec<Reason> {
        let mut reasons = Vec::new();
        match record {
            Record::Header(_) => reasons.push(Reason::new(ReasonCode::HeaderNotFirst)),
            Record::Step(step) => {
                self.step(step, &mut reasons);
                let key = self.follower.artifact_key(step);
                let code = ReasonCode::StateAfterHashMismatch;
                self.fold((index, record), &key, next, step.state_after_hash, code, &mut reasons);
                self.state_hash = step.state_after_hash;
            }
            Record::Control(control) => {
                match self.position(index, control) {
                    Ok(()) => reasons.extend(self.follower.control(control)),
                    Err(error) => reasons.push(refused(&error)),
                }
                self.control((index, record), control, next, &mut reasons);
            }
        }
        if let Some(fold) = &self.fold {
            self.follower.state(fold.state());
        }
        reasons
    }

    fn step(&mut self, step: &StepRecord, reasons: &mut Vec<Reason>) {
        let (expected, found) = (self.state_hash, step.state_before_hash);
        reasons.extend(Reason::unless_equal(ReasonCode::StateBeforeHashMismatch, expected, found));
        if step.step_index.get() != self.step_index {
            reasons.push(Reason::mismatch(ReasonCode::StepIndexMismatch, self.step_index, step.step_index));
        }
        let (expected, found) = (step.result.outcome().output_hash(), step.result.output_hash());
        reasons.extend(Reason::unless_equal(ReasonCode::OutputHashMismatch, expected, found));
        reasons.extend(self.follower.step(step));
        let failed = step.result.outcome().status() == StepStatus::Failed;
        if self.profile.step_index == StepIndexRule::EveryResult || !failed {
            self.step_index += 1;
        }
    }

    /// Checks a checkpoint or a rollback.
    fn position(&mut self, index: RecordIndex, control: &Control) -> Result<(), CheckpointError> {
        match control {
            Control::Checkpoint(control) => self.checkpoints.add(&control.name, control.position, index),
            Control::Rollback(control) => {
                self.checkpoints.check_rollback(&control.name, control.to)?;
                self.step_index += 1;
                Ok(())
            }
            Control::Complete { .. } | Control::Loop(_) => Ok(()),
        }
    }

    fn control(
        &mut self,
        record: (RecordIndex, &Record),
        control: &Control,
        next: Option<&Record>,
        reasons: &mut Vec<Reason>,
    ) {
        let changes = match control {
            Control::Complete { .. } | Control::Rollback(_) => true,
            Control::Checkpoint(_) => false,
            Control::Loop(control) => {
                self.profile.loop_limit == LoopLimitRule::InControl
                    && control.action == LoopAction::MaxIterationsReached
            }
        };
        if !changes {
            let (expected, found) = (self.state_hash, control.state_hash());
            reasons.extend(Reason::unless_equal(ReasonCode::StateHashMismatch, expected, found));
        }
        self.fold(record, "", next, control.state_hash(), ReasonCode::StateHashMismatch, reasons);
        self.state_hash = control.state_hash();
    }

    /// Applies a record and compares the state with the hash that the record claims.
    fn fold(
        &mut self,
        (index, record): (RecordIndex, &Record),
        key: &str,
        next: Option<&Record>,
        claimed: Digest,
        code: ReasonCode,
        reasons: &mut Vec<Reason>,
    ) {
        let Some(fold) = &mut self.fold else { return };
        if let Err(error) = fold.push(index, record, key, next)
            && !reasons.iter().any(|known| known.code == ReasonCode::ResultRefused)
        {
            reasons.push(refused(&error));
        }
        let reason = Reason::unless_equal(code, fold.state_mut().digest(), claimed);
        // The same hash compared twice is one reason.
        if !reasons.iter().any(|known| known.code == code) {
            reasons.extend(reason);
        }
    }
}

fn refused(error: &dyn std::error::Error) -> Reason {
    Reason { found: Some(error.to_string()), ..Reason::new(ReasonCode::ResultRefused) }
}
