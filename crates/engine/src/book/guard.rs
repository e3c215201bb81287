//! The book of a run under policies: who is asked before a result is kept.

use hence_canon::{Canonical, Value};
use hence_journal::RecordIndex;
use hence_state::{Outcome, StepResult};

use super::{Book, BookError};
use crate::gate::{self, Blocked, Judgement, POLICIES_STEP, VERDICTS_STEP};
use crate::sink::Sink;
use crate::{GateError, PolicyState};

impl Book {
    /// Returns where the run stands with its policies.
    pub fn policy_state(&self) -> &PolicyState {
        &self.policy_state
    }

    /// Records the policies the run goes by from here on: the pinned ones at its beginning, others where it is blocked.
    ///
    /// # Errors
    /// [`BookError::Gate`] when they cannot be enforced or may not come here; nothing is kept then.
    pub fn install_policies(
        &mut self,
        policies: &Value,
        sink: &mut dyn Sink,
    ) -> Result<RecordIndex, BookError> {
        let output = Canonical::of(policies);
        let times = self.next_times()?;
        let result = |outcome| StepResult::new(POLICIES_STEP, &Value::Null, times.0, times.1, outcome);
        // Whether they may come is asked of a copy, so that nothing is kept for policies that may not.
        let judged = self.policy_state.clone().take(&result.clone()(Outcome::Success(output.clone())));
        judged.map_err(|untimely| match (untimely, self.policy_state.pin()) {
            (gate::PolicyOrderError::NotThePinned, Some(pin)) => {
                GateError::OtherPolicies { pinned: pin.to_string(), found: output.digest().to_string() }
            }
            (untimely, _) => untimely.into(),
        })?;
        sink.gate().ok_or(GateError::Unguarded)?.set_policies(self.next_index(), policies)?;
        let outcome = self.store(output, sink)?;
        self.record(POLICIES_STEP, result(outcome), sink)
    }

    /// Returns a result as it is to be recorded: as it is, with remarks, or blocked.
    ///
    /// # Errors
    /// [`BookError::Gate`] when the problem pins policies and nobody enforces them.
    pub fn judge(&mut self, result: StepResult, sink: &mut dyn Sink) -> Result<StepResult, BookError> {
        if !self.policy_state.is_pinned() {
            return Ok(result);
        }
        let index = self.next_index();
        let judgement = sink.gate().ok_or(GateError::Unguarded)?.judge(index, &result);
        if judgement.blocks.is_empty() {
            return Ok(gate::remark(result, judgement.remarks));
        }
        Ok(gate::block(result, judgement))
    }

    /// Asks whether a step may be executed; what blocks it whatever it gives is recorded. `result` is one it might give.
    ///
    /// # Errors
    /// [`BookError`]; what was kept before stays kept.
    pub fn precheck(
        &mut self,
        result: StepResult,
        sink: &mut dyn Sink,
    ) -> Result<Option<Blocked>, BookError> {
        let index = self.next_index();
        let Some(gate) = sink.gate().filter(|_| self.policy_state.is_pinned()) else { return Ok(None) };
        let judgement = gate.precheck(index, &result);
        if judgement.blocks.is_empty() {
            return Ok(None);
        }
        let (step, errors) = (result.step().clone(), judgement.blocks.clone());
        let index = self.record(&step, gate::block_unstarted(result, judgement), sink)?;
        Ok(Some(Blocked { index, step, errors }))
    }

    /// Records what the policies say of the whole run, if they are owed; `Some` when they block its completion.
    ///
    /// # Errors
    /// [`BookError`]; what was kept before stays kept.
    pub fn final_verdict(&mut self, sink: &mut dyn Sink) -> Result<Option<Blocked>, BookError> {
        if !self.policy_state.needs_verdicts() {
            return Ok(None);
        }
        let judgement = sink.gate().ok_or(GateError::Unguarded)?.final_verdict();
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
        Ok(Some(Blocked { index, step: VERDICTS_STEP.into(), errors }))
    }
}
