//! A gate that shows the run to a monitor.

use std::sync::Arc;

use hence_canon::{Digest, Object, Value};
use hence_engine::{Blobs, FinalVerdict, Gate, GateError, Judgement};
use hence_journal::{Control, Head, Header, Record, RecordCount, RecordIndex, Way};
use hence_policy::monitor::Monitor;
use hence_policy::policy::Policy;
use hence_policy::{Options, check};
use hence_projection::{Piece, Program, Projection};
use hence_review::model::{Action, Artifact, encode, encode_action, encode_artifact};
use hence_state::{ProblemSpec, StepResult, Timestamp};

use crate::{document, judged};

/// What of an action is known only once it was carried out.
const UNKNOWN_BEFORE: [&str; 5] = ["inputs", "outputs", "result", "result_summary", "evidence"];

/// Judges a run by the trace it becomes.
pub struct Guard<'a> {
    projection: Projection<'a>,
    created_at: Timestamp,
    /// The policies that were laid down; the last on the way are in force.
    laid: Way<Vec<Policy>>,
    monitor: Monitor,
    /// What was judged and admitted, until it is known to be recorded.
    pending: Option<(RecordIndex, Piece)>,
    /// The last record.
    last: RecordIndex,
    /// Why nothing can be judged any more.
    fault: Option<String>,
}

impl<'a> Guard<'a> {
    /// Begins with the header of a run. It goes by no policies yet.
    ///
    /// # Errors
    /// [`GateError::Policies`] when the run cannot be shown as a trace.
    pub fn begin(
        header: &Header,
        problem: &Arc<ProblemSpec>,
        program: Program<'a>,
        blobs: &'a dyn Blobs,
    ) -> Result<Self, GateError> {
        let created_at = header.created_at.clone();
        let projection = Projection::begin(header.clone(), problem.clone(), program, blobs)
            .map_err(|error| GateError::Policies(error.to_string()))?;
        let monitor = Monitor::start(&Object::new(), [], Options::default());
        let last = RecordIndex::HEADER;
        Ok(Self { projection, created_at, laid: Way::default(), monitor, pending: None, last, fault: None })
    }

    /// Returns the policies in force.
    fn policies(&self) -> &[Policy] {
        self.laid.last().map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the trace so far.
    fn trace(&self) -> Object {
        // The head of the journal is not known here, and no policy speaks of it.
        let head = Head { hash: Digest::of(b""), records: RecordCount::new(self.last.get() + 1) };
        let trace = encode(&self.projection.trace(head, &[]));
        let policies: Value = self.policies().iter().map(document::specification).collect();
        trace.as_object().cloned().unwrap_or_default().with("policies", policies)
    }

    /// Returns a monitor that has seen all that is recorded.
    fn caught_up(&self) -> Result<Monitor, String> {
        let mut monitor = Monitor::start(&self.trace(), self.policies(), Options::default());
        let artifacts = self.projection.artifacts();
        let mut known = 0;
        for (at, action) in self.projection.actions().iter().enumerate() {
            // Artifacts stand in the order in which actions made them; the last action makes known what is left.
            let is_last = at + 1 == self.projection.actions().len();
            let made = artifacts.iter().skip(known).take_while(|artifact| {
                is_last || artifact.common.producer_action_id.is_none_or(|id| id <= action.common.id)
            });
            let made: Vec<&Artifact> = made.collect();
            known += made.len();
            let offer = monitor.propose(&object(encode_action(action)), &objects(&made));
            let _ = offer.map_err(|fault| fault.to_string())?.admit();
        }
        Ok(monitor)
    }

    /// Offers the actions of a piece in order, admitting each as long as nothing blocks.
    fn offer(&mut self, piece: &Piece) -> Judgement {
        let mut judgement = Judgement::default();
        let mut admitted = 0;
        for (action, made) in by_action(piece) {
            let offer = match self.monitor.propose(&object(encode_action(action)), &objects(&made)) {
                Ok(offer) => offer,
                Err(fault) => {
                    judgement.blocks.push(judged::blocking(&format!("the step cannot be judged: {fault}")));
                    break;
                }
            };
            judgement.blocks.extend(offer.violations().iter().filter_map(judged::block));
            judgement.remarks.extend(offer.violations().iter().map(judged::remark));
            if !judgement.blocks.is_empty() {
                break;
            }
            let _ = offer.admit();
            admitted += 1;
        }
        // What was admitted before the block is not going to happen either.
        if !judgement.blocks.is_empty() && admitted > 0 {
            self.renew();
        }
        judgement
    }

    fn renew(&mut self) {
        match self.caught_up() {
            Ok(monitor) => self.monitor = monitor,
            Err(fault) => self.fault = Some(fault),
        }
    }

    fn take(&mut self, piece: Piece) {
        if let Err(error) = self.projection.take(piece) {
            self.fault.get_or_insert(error.to_string());
        }
    }

    /// Sees a record it has not judged: a decision between steps, or what was recorded before.
    fn see(&mut self, index: RecordIndex, record: &Record) {
        let piece = match record {
            Record::Step(step) => self.projection.look_at_step(index, &hence_engine::attempt(&step.result)),
            Record::Control(control) => Ok(self.projection.look_at_control(index, control)),
            Record::Header(_) => return,
        };
        match piece {
            Ok(piece) => {
                for (action, made) in by_action(&piece) {
                    match self.monitor.propose(&object(encode_action(action)), &objects(&made)) {
                        Ok(offer) => drop(offer.admit()),
                        Err(fault) => self.fault = Some(fault.to_string()),
                    }
                }
                self.take(piece);
            }
            Err(error) => self.fault = Some(error.to_string()),
        }
    }
}

impl Gate for Guard<'_> {
    fn set_policies(&mut self, index: RecordIndex, policies: &Value) -> Result<(), GateError> {
        let before = self.laid.clone();
        self.laid.go_on(index, document::read(policies)?);
        match self.caught_up() {
            Ok(monitor) => {
                self.monitor = monitor;
                Ok(())
            }
            Err(fault) => {
                self.laid = before;
                Err(GateError::Policies(fault))
            }
        }
    }

    fn judge(&mut self, index: RecordIndex, result: &StepResult) -> Judgement {
        let blocked = |why: &str| Judgement {
            blocks: vec![judged::blocking(&format!("the step cannot be judged: {why}"))],
            remarks: Vec::new(),
        };
        if let Some(fault) = &self.fault {
            return blocked(fault);
        }
        let piece = match self.projection.look_at_step(index, result) {
            Ok(piece) => piece,
            Err(error) => return blocked(&error.to_string()),
        };
        let judgement = self.offer(&piece);
        self.pending = judgement.blocks.is_empty().then_some((index, piece));
        judgement
    }

    fn precheck(&mut self, index: RecordIndex, result: &StepResult) -> Judgement {
        let mut judgement = Judgement::default();
        // A step that cannot be shown yet is judged when its result is there.
        let Ok(piece) = self.projection.look_at_step(index, result) else { return judgement };
        let Some(action) = piece.actions.first() else { return judgement };
        let action =
            UNKNOWN_BEFORE.iter().fold(object(encode_action(action)), |action, key| action.without(key));
        let Ok(offer) = self.monitor.propose(&action, &[]) else { return judgement };
        for violation in offer.violations().iter().filter(|violation| violation.is_certain) {
            judgement.blocks.extend(judged::block(violation));
            judgement.remarks.push(judged::remark(violation));
        }
        judgement
    }

    fn take_in(&mut self, index: RecordIndex, record: &Record) {
        self.last = index;
        match self.pending.take() {
            Some((judged, piece)) if judged == index => self.take(piece),
            _ => self.see(index, record),
        }
        if let Record::Control(Control::Rollback(control)) = record {
            self.laid.return_to(index, control.to);
            self.renew();
        }
    }

    fn final_verdict(&mut self) -> FinalVerdict {
        let completed = Control::Complete { state_hash: Digest::of(b""), at: self.created_at.clone() };
        let piece = self.projection.look_at_control(RecordIndex::new(self.last.get() + 1), &completed);
        self.take(piece);
        let report = check(&self.trace().into(), self.policies(), Options::default());
        let mut blocks: Vec<_> = report.verdicts.iter().filter_map(judged::block_end).collect();
        blocks.extend(
            self.fault
                .as_deref()
                .map(|fault| judged::blocking(&format!("the run cannot be judged: {fault}"))),
        );
        FinalVerdict { blocks, verdicts: report.to_value() }
    }
}

/// Pairs each action of a piece with the artifacts it makes known.
fn by_action(piece: &Piece) -> Vec<(&Action, Vec<&Artifact>)> {
    let is_here = |artifact: &Artifact| {
        piece.actions.iter().any(|action| Some(action.common.id) == artifact.common.producer_action_id)
    };
    let mut pairs: Vec<(&Action, Vec<&Artifact>)> =
        piece.actions.iter().map(|action| (action, Vec::new())).collect();
    for artifact in &piece.artifacts {
        let producer = artifact.common.producer_action_id;
        let pair = match is_here(artifact) {
            true => pairs.iter_mut().find(|(action, _)| Some(action.common.id) == producer),
            false => pairs.first_mut(),
        };
        if let Some((_, made)) = pair {
            made.push(artifact);
        }
    }
    pairs
}

fn object(value: Value) -> Object {
    value.as_object().cloned().unwrap_or_default()
}

fn objects(artifacts: &[&Artifact]) -> Vec<Object> {
    artifacts.iter().map(|artifact| object(encode_artifact(artifact))).collect()
}
