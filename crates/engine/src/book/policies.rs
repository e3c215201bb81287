//! The book of a run with policies: the gate is asked before a result is appended.

use hence_canon::{Canonical, Value};
use hence_journal::RecordIndex;
use hence_state::{Outcome, StepResult};

use super::{Book, BookError};
use crate::gate::{self, Blocked, BlockedAt, Gate, Judgement, POLICIES_STEP, ProposedCall, VERDICTS_STEP};
use crate::sink::Sink;
use crate::{GateError, PolicyState};

impl Book<'_> {
    /// Returns the state of the run's policies: not installed, open, blocked or judged.
    pub fn policy_state(&self) -> &PolicyState {
        &self.policy_state
    }

    /// Records the policies that are in force from here on: the pinned ones at the beginning, others where the run is blocked.
    ///
    /// # Errors
    /// [`BookError::Gate`] when they cannot be enforced or may not come here; nothing is appended then.
    pub fn install_policies(
        &mut self,
        policies: &Value,
        sink: &mut dyn Sink,
    ) -> Result<RecordIndex, BookError> {
        let output = Canonical::of(policies);
        let times = self.next_times()?;
        let result = |outcome| StepResult::new(POLICIES_STEP, &Value::Null, times.0, times.1, outcome);
        // A copy of the policy state checks whether they may come here, so that nothing is stored for refused policies.
        let judged = self.policy_state.clone().apply(&result.clone()(Outcome::Success(output.clone())));
        judged.map_err(|error| match (error, self.policy_state.pin()) {
            (gate::PolicyOrderError::NotPinnedOnes, Some(pin)) => {
                GateError::OtherPolicies { pinned: pin.to_string(), found: output.digest().to_string() }
            }
            (error, _) => error.into(),
        })?;
        let index = self.next_index();
        self.gate()?.set_policies(index, policies)?;
        let outcome = self.store(output, sink)?;
        self.record(POLICIES_STEP, result(outcome), sink)
    }

    /// Returns a result as it will be recorded: unchanged, with remarks, or blocked.
    ///
    /// # Errors
    /// [`BookError::Gate`] when the problem pins policies and there is no gate.
    pub fn judge(&mut self, result: StepResult) -> Result<StepResult, BookError> {
        if !self.policy_state.is_pinned() {
            return Ok(result);
        }
        let index = self.next_index();
        let judgement = self.gate()?.judge(index, &result);
        if judgement.blocks.is_empty() {
            return Ok(gate::remark(result, judgement.remarks));
        }
        Ok(gate::block(result, judgement))
    }

    /// Judges a call of a step before it is made, by a result the step might give if this call were its only one, after the
    /// calls that the step made before. Nothing is recorded.
    ///
    /// # Errors
    /// [`BookError::Gate`] when the problem pins policies and there is no gate.
    pub fn foresee(&mut self, call: &ProposedCall) -> Result<Judgement, BookError> {
        if !self.policy_state.is_pinned() {
            return Ok(Judgement::default());
        }
        let index = self.next_index();
        let gate = self.gate()?;
        call.before.iter().for_each(|made| gate.note_call(index, made));
        let mut judgement = gate.precheck(index, &call.result);
        if !call.position.is_empty() {
            for block in &mut judgement.blocks {
                block.message = format!("{}: {}", call.position, block.message).into();
            }
        }
        Ok(judgement)
    }

    /// Asks whether a step may be executed, and records the block when one of its calls may not be made.
    ///
    /// # Errors
    /// [`BookError`]; what was appended before stays.
    pub fn precheck(
        &mut self,
        calls: Vec<ProposedCall>,
        sink: &mut dyn Sink,
    ) -> Result<Option<Blocked>, BookError> {
        let mut held = None;
        for call in calls {
            let judgement = self.foresee(&call)?;
            if !judgement.blocks.is_empty() {
                held = Some((judgement, call.result));
                break;
            }
        }
        let Some((judgement, result)) = held else { return Ok(None) };
        let (step, errors) = (result.step().clone(), judgement.blocks.clone());
        let index = self.record(&step, gate::block_unstarted(result, judgement), sink)?;
        Ok(Some(Blocked { index, step, errors, at: BlockedAt::BeforeExecution }))
    }

    /// Returns the result of a step that stopped before one of its calls, as it will be recorded: blocked, if policies hold
    /// the call back. `call` has all calls that the step made before.
    ///
    /// # Errors
    /// [`BookError::Gate`] when the problem pins policies and there is no gate.
    pub fn stop_before(&mut self, call: &ProposedCall, result: StepResult) -> Result<StepResult, BookError> {
        if self.policy_state.is_pinned() {
            self.gate()?.forget_calls();
        }
        let judgement = self.foresee(call)?;
        if judgement.blocks.is_empty() {
            return self.judge(result);
        }
        Ok(gate::block(result, judgement))
    }

    /// Records the verdicts of the policies on the whole run, if they are missing; `Some` when they block its completion.
    ///
    /// # Errors
    /// [`BookError`]; what was appended before stays.
    pub fn final_verdict(&mut self, sink: &mut dyn Sink) -> Result<Option<Blocked>, BookError> {
        if !self.policy_state.needs_verdicts() {
            return Ok(None);
        }
        let judgement = self.gate()?.final_verdict();
        let (started_at, finished_at) = self.next_times()?;
        let outcome = self.store(Canonical::of(&judgement.verdicts), sink)?;
        let result = StepResult::new(VERDICTS_STEP, &Value::Null, started_at, finished_at, outcome);
        let blocks = judgement.blocks;
        if blocks.is_empty() {
            self.record(VERDICTS_STEP, result, sink)?;
            return Ok(None);
        }
        let errors = blocks.clone();
        let blocked = gate::block(result, Judgement { blocks, remarks: Vec::new() });
        let index = self.record(VERDICTS_STEP, blocked, sink)?;
        Ok(Some(Blocked { index, step: VERDICTS_STEP.into(), errors, at: BlockedAt::End }))
    }

    fn gate(&mut self) -> Result<&mut (dyn Gate + '_), GateError> {
        match &mut self.gate {
            Some(gate) => Ok(&mut **gate),
            None => Err(GateError::Unguarded),
        }
    }
}
