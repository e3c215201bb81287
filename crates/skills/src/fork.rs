//! Forking a run: another one that shares everything before a step.
//!
//! The results before the step are recorded again behind another header; nothing is executed for them. The problem of the
//! fork names the run it comes from and the last record it shares, by its hash. In a run under policies they are judged
//! again, by the policies that judged them then.

use std::sync::Arc;

use hence_canon::{Canonical, Value};
use hence_cognition::capability::Registry;
use hence_cognition::run::{InvalidIntervention, Prepared, StepOutcome};
use hence_cognition::skill::Step;
use hence_engine::{BlobError, Blobs, Sink, SinkError, attempt, resolve, was_started};
use hence_journal::Sealed;
use hence_state::ProblemSpec;

use crate::effective_records::{EffectiveRecord, RecordKind};
use crate::kept::{self, RecordedOutcomeError};
use crate::links::Origin;
use crate::run::{SkillRun, SkillRunError};

/// Why a run cannot be forked there.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    /// The skill has no such step.
    #[error("the skill has no step `{0}`")]
    NoSuchStep(Arc<str>),
    /// Something before the step has no outcome.
    #[error("step `{missing}` comes before `{from}`, and the run has no result of it")]
    NotReached {
        /// The step to fork from.
        from: Arc<str>,
        /// The step without a result.
        missing: Arc<str>,
    },
    /// The other skill differs before the step, so what was recorded would not follow from it.
    #[error("step `{step}` comes before `{from}` and is not the same in both skills")]
    Differs {
        /// The step to fork from.
        from: Arc<str>,
        /// The first step that differs.
        step: Arc<str>,
    },
    /// Policies block a result that is to be shared.
    #[error("step `{step}` is to be shared, and the policies block it: {why}")]
    Blocked {
        /// The step.
        step: Arc<str>,
        /// What they say.
        why: String,
    },
    /// Policies blocked an attempt that is to be shared, and now they do not.
    #[error("an attempt of step `{0}` was blocked and would not be now")]
    NotBlocked(Arc<str>),
    /// What is to be shared cannot be read.
    #[error("step `{step}`: {source}")]
    Kept {
        /// The step.
        step: Arc<str>,
        /// Why.
        source: RecordedOutcomeError,
    },
    /// A place cannot be set.
    #[error(transparent)]
    Set(#[from] InvalidIntervention),
    /// The new run cannot begin.
    #[error(transparent)]
    Run(#[from] SkillRunError),
    /// A record could not be kept.
    #[error("a record could not be kept: {0}")]
    Sink(SinkError),
}

/// Something that a fork records again.
#[derive(Clone, Debug)]
pub enum Carried {
    /// The policies the run goes by from here on.
    Policies(Value),
    /// An attempt that policies blocked: what it gave, or nothing when it was blocked before it was executed.
    Blocked(Arc<str>, Option<StepOutcome>),
    /// The outcome of a step.
    Outcome(StepOutcome),
}

impl Carried {
    /// Reads what a record in effect says.
    ///
    /// # Errors
    /// [`ForkError::Kept`] when it cannot be read.
    pub fn read(one: &EffectiveRecord, blobs: &dyn Blobs) -> Result<Self, ForkError> {
        let (result, step) = (&one.result, one.result.step());
        let unread = |source: RecordedOutcomeError| ForkError::Kept { step: step.clone(), source };
        let outcome = || kept::read(&attempt(result), blobs).map_err(unread);
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

/// Returns how many outcomes of a run a fork from a step shares.
///
/// # Errors
/// [`ForkError`] when the step is not there, something before it has no outcome, or the skills differ before it.
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

/// Returns what of a run a fork shares that shares so many outcomes: everything in effect up to the last of them, and the
/// policies it begins with in any case.
pub fn shared_records(effective: &[EffectiveRecord], outcomes: usize) -> &[EffectiveRecord] {
    let policies = effective.iter().take_while(|one| one.kind == RecordKind::Policies).count();
    let mut steps = effective.iter().enumerate().filter(|(_, one)| one.kind == RecordKind::Step);
    let last = outcomes.checked_sub(1).and_then(|last| steps.nth(last));
    effective.get(..last.map_or(policies, |(at, _)| at + 1)).unwrap_or_default()
}

fn in_plan_order(prepared: &Prepared) -> impl Iterator<Item = &Step> {
    let steps = &prepared.skill().steps;
    prepared.plan().order().iter().filter_map(|index| steps.get(index.position()))
}

impl<'a> SkillRun<'a> {
    /// Begins a run with what it shares with another one, and keeps header and records in the sink that `open` makes of the
    /// header.
    ///
    /// # Errors
    /// [`ForkError`] when it does not belong to the skill, the policies judge it otherwise than they did, or what the fork
    /// sets cannot be set.
    pub fn carry_over<S: Sink>(
        problem: Arc<ProblemSpec>,
        prepared: &'a Prepared,
        source: &Canonical,
        registry: &dyn Registry,
        shared: &[Carried],
        open: impl FnOnce(&Sealed) -> Result<S, SinkError>,
    ) -> Result<(Self, S), ForkError> {
        let (mut run, header) = Self::start(problem, prepared, source, registry)?;
        let mut sink = open(&header).map_err(ForkError::Sink)?;
        sink.append(&header).map_err(ForkError::Sink)?;
        let last = shared.iter().rposition(|one| matches!(one, Carried::Outcome(_)));
        if last.is_none() {
            run.check_change(None)?;
        }
        for (at, one) in shared.iter().enumerate() {
            match one {
                Carried::Policies(policies) => {
                    run.install_policies(policies, &mut sink)?;
                }
                Carried::Blocked(step, attempt) => run.carry_blocked(step, attempt.as_ref(), &mut sink)?,
                Carried::Outcome(outcome) => {
                    if last == Some(at) {
                        run.check_change(Some(outcome))?;
                    }
                    run.carry(outcome, &mut sink)?;
                }
            }
        }
        Ok((run, sink))
    }

    /// The change is made with the last outcome; whether it can be is asked of the memory without it.
    fn check_change(&self, last: Option<&StepOutcome>) -> Result<(), ForkError> {
        let change = self.pinned().links.origin.as_ref().and_then(Origin::intervention);
        let Some(change) = change else { return Ok(()) };
        let memory = match last {
            Some(last) => self.memory_after(last),
            None => self.execution().memory.clone(),
        };
        change.apply(&memory)?;
        Ok(())
    }

    fn carry(&mut self, outcome: &StepOutcome, sink: &mut dyn Sink) -> Result<(), ForkError> {
        // What was blocked before is settled by the outcome that is shared.
        self.forget_blocked(&outcome.step_id);
        match self.commit(outcome.clone(), sink)? {
            Ok(_) => Ok(()),
            Err(blocked) => Err(ForkError::Blocked { step: blocked.step.clone(), why: blocked.why() }),
        }
    }

    fn carry_blocked(
        &mut self,
        step: &Arc<str>,
        attempt: Option<&StepOutcome>,
        sink: &mut dyn Sink,
    ) -> Result<(), ForkError> {
        let blocked = match attempt {
            Some(outcome) => self.commit(outcome.clone(), sink)?.is_err(),
            None => self.precheck_due(sink)?.is_some(),
        };
        if blocked { Ok(()) } else { Err(ForkError::NotBlocked(step.clone())) }
    }
}
