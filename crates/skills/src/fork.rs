//! Forking a run: another one that shares everything before a step.
//!
//! The outcomes before the step are recorded again behind another header; nothing is executed for them. The problem of the
//! fork names the run it comes from and the last record it shares, by its hash.

use std::sync::Arc;

use hence_canon::Canonical;
use hence_cognition::capability::Registry;
use hence_cognition::run::{InvalidIntervention, Prepared, StepOutcome};
use hence_cognition::skill::Step;
use hence_engine::{Sink, SinkError};
use hence_state::ProblemSpec;

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

fn in_plan_order(prepared: &Prepared) -> impl Iterator<Item = &Step> {
    let steps = &prepared.skill().steps;
    prepared.plan().order().iter().filter_map(|index| steps.get(index.position()))
}

impl<'a> SkillRun<'a> {
    /// Begins a run with outcomes of another one and keeps header and records in `sink`.
    ///
    /// # Errors
    /// [`ForkError`] when they do not belong to the skill, or what the fork sets cannot be set.
    pub fn carry_over(
        problem: Arc<ProblemSpec>,
        prepared: &'a Prepared,
        source: &Canonical,
        registry: &dyn Registry,
        outcomes: &[StepOutcome],
        sink: &mut dyn Sink,
    ) -> Result<Self, ForkError> {
        let (mut run, header) = Self::start(problem, prepared, source, registry)?;
        let change = run.pinned().links.origin.as_ref().and_then(Origin::intervention);
        sink.append(&header).map_err(ForkError::Sink)?;
        let (last, before) = match outcomes.split_last() {
            Some((last, before)) => (Some(last), before),
            None => (None, outcomes),
        };
        for outcome in before {
            run.carry(outcome, sink)?;
        }
        if let Some(change) = change {
            // The change is made with the last outcome; whether it can be is asked of the memory without it.
            let memory = match last {
                Some(last) => run.memory_after(last),
                None => run.execution().memory.clone(),
            };
            change.apply(&memory)?;
        }
        if let Some(last) = last {
            run.carry(last, sink)?;
        }
        Ok(run)
    }

    fn carry(&mut self, outcome: &StepOutcome, sink: &mut dyn Sink) -> Result<(), ForkError> {
        match self.commit(outcome.clone(), sink)? {
            Ok(_) => Ok(()),
            Err(blocked) => Err(SkillRunError::from(blocked).into()),
        }
    }
}
