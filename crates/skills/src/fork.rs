//! Forks: a new run that shares the results of another run before a step.
//!
//! The results before the step are recorded again after a new header; nothing is executed for them. The problem of the
//! fork names its origin and the hash of the last shared record. In a run with policies the results are judged again,
//! by the policies that judged them in the origin.

use std::sync::Arc;

use hence_canon::Value;
use hence_cognition::run::{InvalidIntervention, Prepared, StepOutcome};
use hence_cognition::skill::Step;
use hence_engine::{
    BlobError, Blobs, Gate, GateError, Run, RunError, Sink, SinkError, attempt, resolve, was_started,
};
use hence_journal::Sealed;

use crate::effective_records::{EffectiveRecord, RecordKind};
use crate::links::Origin;
use crate::program::{SkillProgram, SkillRun};
use crate::recorded_outcome::{self, RecordedOutcomeError};

/// The reason why a run cannot be forked at a step.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    /// The skill has no such step.
    #[error("the skill has no step `{0}`")]
    NoSuchStep(Arc<str>),
    /// A step before the fork has no outcome.
    #[error("step `{missing}` comes before `{from}`, and the run has no result of it")]
    NotReached {
        /// The step to fork from.
        from: Arc<str>,
        /// The step without a result.
        missing: Arc<str>,
    },
    /// The other skill differs before the step, so the recorded outcomes would not follow from it.
    #[error("step `{step}` comes before `{from}` and is not the same in both skills")]
    Differs {
        /// The step to fork from.
        from: Arc<str>,
        /// The first step that differs.
        step: Arc<str>,
    },
    /// Policies block a result that would be shared.
    #[error("step `{step}` is to be shared, and the policies block it: {why}")]
    Blocked {
        /// The step.
        step: Arc<str>,
        /// The violations.
        why: String,
    },
    /// Policies blocked a shared attempt in the origin and do not block it now.
    #[error("an attempt of step `{0}` was blocked and would not be now")]
    NotBlocked(Arc<str>),
    /// A shared record cannot be read.
    #[error("step `{step}`: {source}")]
    Unreadable {
        /// The step.
        step: Arc<str>,
        /// The cause.
        source: RecordedOutcomeError,
    },
    /// A value cannot be set.
    #[error(transparent)]
    Set(#[from] InvalidIntervention),
    /// The new run cannot start.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A record could not be appended.
    #[error("a record could not be appended: {0}")]
    Sink(SinkError),
}

/// A record that a fork appends again.
#[derive(Clone, Debug)]
pub enum Carried {
    /// The policies that are in force from here on.
    Policies(Value),
    /// An attempt that policies blocked: its outcome, or `None` when it was blocked before it was executed.
    Blocked(Arc<str>, Option<StepOutcome>),
    /// The outcome of a step.
    Outcome(StepOutcome),
}

impl Carried {
    /// Reads a record in effect as a record to append again.
    ///
    /// # Errors
    /// [`ForkError::Unreadable`] when it cannot be read.
    pub fn read(one: &EffectiveRecord, blobs: &dyn Blobs) -> Result<Self, ForkError> {
        let (result, step) = (&one.result, one.result.step());
        let unread = |source: RecordedOutcomeError| ForkError::Unreadable { step: step.clone(), source };
        let outcome = || recorded_outcome::read(&attempt(result), blobs).map_err(unread);
        Ok(match one.kind {
            RecordKind::Step => Self::Outcome(outcome()?),
            RecordKind::Blocked if was_started(result) => Self::Blocked(step.clone(), Some(outcome()?)),
            RecordKind::Blocked => Self::Blocked(step.clone(), None),
            RecordKind::Policies => {
                let output =
                    result.outcome().output().ok_or_else(|| unread(RecordedOutcomeError::Nothing))?;
                let read = resolve(output, blobs).map_err(|error: BlobError| unread(error.into()))?;
                Self::Policies(read)
            }
        })
    }
}

/// Returns the number of outcomes that a fork from a step shares.
///
/// # Errors
/// [`ForkError`] when the step does not exist, a step before it has no outcome, or the skills differ before it.
pub fn shared_before(
    origin: &Prepared,
    outcomes: &[StepOutcome],
    skill: &Prepared,
    from: &Arc<str>,
) -> Result<usize, ForkError> {
    let before: Vec<&Step> = in_plan_order(skill).take_while(|step| step.id != *from).collect();
    if !in_plan_order(skill).any(|step| step.id == *from) {
        return Err(ForkError::NoSuchStep(from.clone()));
    }
    let mut recorded = outcomes.iter();
    for step in &before {
        let was = origin.skill().step(&step.id);
        if was != Some(*step) {
            return Err(ForkError::Differs { from: from.clone(), step: step.id.clone() });
        }
        match recorded.next() {
            Some(outcome) if outcome.step_id == step.id => {}
            Some(outcome) => {
                return Err(ForkError::Differs { from: from.clone(), step: outcome.step_id.clone() });
            }
            None => return Err(ForkError::NotReached { from: from.clone(), missing: step.id.clone() }),
        }
    }
    Ok(before.len())
}

/// Returns the records that a fork shares, given the number of shared outcomes: all records in effect up to the last
/// outcome, and in any case the policies at the beginning.
pub fn shared_records(effective: &[EffectiveRecord], outcomes: usize) -> &[EffectiveRecord] {
    let policies = effective.iter().take_while(|one| one.kind == RecordKind::Policies).count();
    let mut steps = effective.iter().enumerate().filter(|(_, one)| one.kind == RecordKind::Step);
    let last = outcomes.checked_sub(1).and_then(|last| steps.nth(last));
    effective.get(..last.map_or(policies, |(at, _)| at + 1)).unwrap_or_default()
}

pub(crate) fn in_plan_order(prepared: &Prepared) -> impl Iterator<Item = &Step> {
    let steps = &prepared.skill().steps;
    prepared.plan().order().iter().filter_map(|index| steps.get(index.position()))
}

/// Starts a fork with the records it shares with its origin, and appends header and records to `sink`.
///
/// `open_gate` opens the gate of the fork, where its problem pins policies.
///
/// # Errors
/// [`ForkError`] when the records do not belong to the skill, the policies judge them differently than before, or a
/// value that the fork sets is refused.
pub fn carry_over<'g, 'a>(
    program: SkillProgram<'a>,
    shared: &[Carried],
    open_gate: impl FnOnce(&Sealed) -> Result<Option<Box<dyn Gate + 'g>>, GateError>,
    sink: &mut dyn Sink,
) -> Result<SkillRun<'g, 'a>, ForkError> {
    let (run, header) = Run::start(program)?;
    sink.append(&header).map_err(ForkError::Sink)?;
    let gate = open_gate(&header).map_err(|error| ForkError::Sink(error.into()))?;
    let mut run = run.with_gate(gate);
    let last = shared.iter().rposition(|one| matches!(one, Carried::Outcome(_)));
    if last.is_none() {
        check_change(run.program(), None)?;
    }
    for (at, one) in shared.iter().enumerate() {
        match one {
            Carried::Policies(policies) => {
                run.install_policies(policies, sink)?;
            }
            Carried::Blocked(step, attempt) => carry_blocked(&mut run, step, attempt.as_ref(), sink)?,
            Carried::Outcome(outcome) => {
                if last == Some(at) {
                    check_change(run.program(), Some(outcome))?;
                }
                carry(&mut run, outcome, sink)?;
            }
        }
    }
    Ok(run)
}

/// Checks the values that the fork sets. They are set together with the last shared outcome, so the check uses the
/// memory after that outcome.
fn check_change(program: &SkillProgram<'_>, last: Option<&StepOutcome>) -> Result<(), ForkError> {
    let change = program.pinned().links.origin.as_ref().and_then(Origin::intervention);
    let Some(change) = change else { return Ok(()) };
    let memory = match last {
        Some(last) => program.memory_after(last),
        None => program.execution().memory.clone(),
    };
    change.apply(&memory)?;
    Ok(())
}

fn carry(run: &mut SkillRun<'_, '_>, outcome: &StepOutcome, sink: &mut dyn Sink) -> Result<(), ForkError> {
    let (program, book) = run.parts();
    // The shared outcome replaces the blocked attempt before it.
    program.forget_blocked(&outcome.step_id);
    match program.commit(book, outcome.clone(), sink)? {
        Ok(()) => Ok(()),
        Err(blocked) => Err(ForkError::Blocked { step: blocked.step.clone(), why: blocked.why() }),
    }
}

fn carry_blocked(
    run: &mut SkillRun<'_, '_>,
    step: &Arc<str>,
    attempt: Option<&StepOutcome>,
    sink: &mut dyn Sink,
) -> Result<(), ForkError> {
    let (program, book) = run.parts();
    let blocked = match attempt {
        Some(outcome) => program.commit(book, outcome.clone(), sink)?.is_err(),
        None => match program.progress().due() {
            Some(due) => program.precheck(book, due, sink)?.is_some(),
            None => false,
        },
    };
    if blocked { Ok(()) } else { Err(ForkError::NotBlocked(step.clone())) }
}
