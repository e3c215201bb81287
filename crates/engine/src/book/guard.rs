//! The book of a run under policies: who is asked before a result is kept.

use hence_canon::{Canonical, Value};
use hence_journal::{Control, Reader, Record, RecordIndex};
use hence_state::{Outcome, StepResult};

use super::{Book, BookError};
use crate::blob::{self, Blobs};
use crate::gate::{self, Blocked, Gates, Judgement, Opening, POLICIES_STEP, VERDICTS_STEP};
use crate::sink::Sink;
use crate::{Custody, GateError};

impl Book {
    /// Returns where the run stands with its policies.
    pub fn custody(&self) -> &Custody {
        &self.custody
    }

    /// Records the policies the run goes by from here on: the pinned ones at its beginning, others where it is blocked.
    ///
    /// # Errors
    /// [`BookError::Gate`] when they cannot be enforced or may not come here; nothing is kept then.
    pub fn lay_policies(
        &mut self,
        gates: &dyn Gates,
        policies: &Value,
        sink: &mut dyn Sink,
    ) -> Result<RecordIndex, BookError> {
        let output = Canonical::of(policies);
        let times = self.next_times()?;
        let result = |outcome| StepResult::new(POLICIES_STEP, &Value::Null, times.0, times.1, outcome);
        // Whether they may come is asked of a copy, so that nothing is kept for policies that may not.
        let judged = self.custody.clone().take(&result.clone()(Outcome::Success(output.clone())));
        judged.map_err(|untimely| match (untimely, self.custody.pin()) {
            (gate::Untimely::NotThePinned, Some(pin)) => {
                GateError::OtherPolicies { pinned: pin.to_string(), found: output.digest().to_string() }
            }
            (untimely, _) => untimely.into(),
        })?;
        self.go_by(gates, policies)?;
        let outcome = self.store(output, sink)?;
        self.record(POLICIES_STEP, result(outcome), sink)
    }

    /// Takes up the policies of a run that was read back, and everything they have seen.
    ///
    /// # Errors
    /// [`BookError::Gate`] when they are not at hand or cannot be enforced.
    pub fn guard(&mut self, gates: &dyn Gates, journal: &[u8], blobs: &dyn Blobs) -> Result<(), BookError> {
        if !self.custody.is_pinned() {
            return Ok(());
        }
        let unread = |error: &dyn std::fmt::Display| GateError::Policies(error.to_string());
        let (_, reader) = Reader::open(journal).map_err(|error| unread(&error))?;
        for chained in reader {
            let chained = chained.map_err(|error| unread(&error))?;
            if let Some(output) = laid(&chained.record) {
                let policies = blob::resolve(output, blobs).map_err(|error| unread(&error))?;
                self.go_by(gates, &policies)?;
            } else if let Some(gate) = self.gate.as_mut().filter(|_| is_seen(&chained.record)) {
                gate.take_in(chained.index, &chained.record, blobs);
            }
        }
        match self.gate {
            Some(_) => Ok(()),
            None => Err(GateError::Policies("no record says what they are".to_owned()).into()),
        }
    }

    fn go_by(&mut self, gates: &dyn Gates, policies: &Value) -> Result<(), GateError> {
        match &mut self.gate {
            Some(gate) => gate.amend(policies)?,
            None => {
                let problem = self.fold.state().problem();
                let opening = Opening { header: &self.header, problem, policies };
                self.gate = Some(gates.open(opening)?);
            }
        }
        Ok(())
    }

    /// Returns a result as it is to be recorded: as it is, with remarks, or blocked.
    ///
    /// # Errors
    /// [`BookError::Gate`] when the problem pins policies and nobody enforces them.
    pub fn judge(&mut self, result: StepResult, blobs: &dyn Blobs) -> Result<StepResult, BookError> {
        if !self.custody.is_pinned() {
            return Ok(result);
        }
        let index = self.next_index();
        let judgement = self.gate.as_mut().ok_or(GateError::Unguarded)?.judge(index, &result, blobs);
        if judgement.blocks.is_empty() {
            return Ok(gate::remark(result, judgement.remarks));
        }
        Ok(gate::block(result, judgement))
    }

    /// Records what the policies say of the whole run, if they are owed; `Some` when they block its completion.
    ///
    /// # Errors
    /// [`BookError`]; what was kept before stays kept.
    pub fn judge_end(&mut self, sink: &mut dyn Sink) -> Result<Option<Blocked>, BookError> {
        if !self.custody.owes_verdicts() {
            return Ok(None);
        }
        let judgement = self.gate.as_mut().ok_or(GateError::Unguarded)?.judge_end(sink.blobs());
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

    /// Tells the gate of a record that was kept.
    pub(super) fn tell_gate(&mut self, index: RecordIndex, record: &Record, blobs: &dyn Blobs) {
        if let Some(gate) = self.gate.as_mut().filter(|_| is_seen(record)) {
            gate.take_in(index, record, blobs);
        }
    }
}

/// Returns the policies a record lays down.
fn laid(record: &Record) -> Option<&Canonical> {
    match record {
        Record::Step(step) if &**step.result.step() == POLICIES_STEP => step.result.outcome().output(),
        _ => None,
    }
}

/// Returns whether a record is something policies speak of: what was done, not what was said about it or blocked.
fn is_seen(record: &Record) -> bool {
    match record {
        Record::Step(step) => {
            let is_aside = [POLICIES_STEP, VERDICTS_STEP].contains(&&**step.result.step());
            !is_aside && !step.result.outcome().is_blocked()
        }
        Record::Control(control) => matches!(control, Control::Loop(_)),
        Record::Header(_) => false,
    }
}
