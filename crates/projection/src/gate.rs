//! Policies at the gate of a run: each step is judged before it is recorded, by the actions it would become.

use std::sync::Arc;

use hence_canon::{Digest, Object, Value};
use hence_engine::{Blobs, FinalVerdict, Gate, GateError, Judgement};
use hence_journal::{ActivePath, Control, Head, Header, Record, RecordCount, RecordIndex};
use hence_policy::monitor::{Monitor, Violation};
use hence_policy::policy::Policy;
use hence_policy::verdict::Verdict;
use hence_policy::{Options, check};
use hence_review::model::{Action, Artifact, encode};
use hence_review::vocabulary::{EvaluationStatus, PolicySeverity};
use hence_state::{POLICY_VIOLATION, ProblemSpec, StepError, StepResult, Timestamp};

use crate::delta::TraceDelta;
use crate::foreseen::Foreseen;
use crate::policies::{policy_specification, read_policies};
use crate::projection::Projection;
use crate::view::Program;

/// A gate that projects each step into actions and asks a policy monitor about them.
///
/// A violated policy of severity error blocks the step; one of severity warning or info is recorded with the result.
/// Policies that need the future or the whole trace are judged before the run completes.
pub struct PolicyGate<'a> {
    projection: Projection<'a>,
    created_at: Timestamp,
    /// The installed policies by record; the last on the active path are in force.
    installed: ActivePath<Vec<Policy>>,
    monitor: Monitor,
    /// The admitted delta, until its record is appended.
    pending: Option<(RecordIndex, TraceDelta)>,
    /// The last record.
    last: RecordIndex,
    /// The error after which the gate blocks every result.
    fault: Option<String>,
    /// The calls that the step which is due has made.
    foreseen: Foreseen,
}

impl<'a> PolicyGate<'a> {
    /// Begins with the header of a run. No policies are installed yet.
    ///
    /// # Errors
    /// [`GateError::Policies`] when the run cannot be projected.
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
        Ok(Self {
            projection,
            created_at,
            installed: ActivePath::default(),
            monitor,
            pending: None,
            last,
            fault: None,
            foreseen: Foreseen::default(),
        })
    }

    /// Returns the policies in force.
    fn policies(&self) -> &[Policy] {
        self.installed.last().map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the trace so far.
    fn trace(&self) -> Object {
        trace_of(&self.projection, self.policies(), self.last)
    }

    /// Returns a monitor that has seen all recorded actions.
    fn replayed_monitor(&self) -> Result<Monitor, String> {
        let mut monitor = Monitor::start(&self.trace(), self.policies(), Options::default());
        let artifacts = self.projection.artifacts();
        let mut known = 0;
        for (at, action) in self.projection.actions().iter().enumerate() {
            // Artifacts are in the order in which actions made them; the last action makes the rest known.
            let is_last = at + 1 == self.projection.actions().len();
            let made = artifacts.iter().skip(known).take_while(|artifact| {
                is_last || artifact.common.producer_action_id.is_none_or(|id| id <= action.common.id)
            });
            let made: Vec<&Artifact> = made.collect();
            known += made.len();
            let offer = monitor.propose(&object(action), &objects(&made));
            let _ = offer.map_err(|fault| fault.to_string())?.admit();
        }
        Ok(monitor)
    }

    /// Offers the actions of a delta to the monitor in order and admits each until one is blocked.
    fn offer(&mut self, delta: &TraceDelta) -> Judgement {
        let mut judgement = Judgement::default();
        let mut admitted = 0;
        for (action, made) in by_action(delta) {
            let offer = match self.monitor.propose(&object(action), &objects(&made)) {
                Ok(offer) => offer,
                Err(fault) => {
                    judgement.blocks.push(blocking(&format!("the step cannot be judged: {fault}")));
                    break;
                }
            };
            judgement.blocks.extend(offer.violations().iter().filter_map(block));
            judgement.remarks.extend(offer.violations().iter().map(remark));
            if !judgement.blocks.is_empty() {
                break;
            }
            let _ = offer.admit();
            admitted += 1;
        }
        // The actions admitted before the block are not recorded either.
        if !judgement.blocks.is_empty() && admitted > 0 {
            self.renew();
        }
        judgement
    }

    fn renew(&mut self) {
        match self.replayed_monitor() {
            Ok(monitor) => self.monitor = monitor,
            Err(fault) => self.fault = Some(fault),
        }
    }

    fn apply(&mut self, delta: TraceDelta) {
        if let Err(error) = self.projection.apply(delta) {
            self.fault.get_or_insert(error.to_string());
        }
    }

    /// Observes a record that was not judged: a control record, or a record of an earlier process.
    fn observe_unjudged(&mut self, index: RecordIndex, record: &Record) {
        let delta = match record {
            Record::Step(step) => self.projection.preview_step(index, &hence_engine::attempt(&step.result)),
            Record::Control(control) => Ok(self.projection.preview_control(index, control)),
            Record::Header(_) => return,
        };
        match delta {
            Ok(delta) => {
                for (action, made) in by_action(&delta) {
                    match self.monitor.propose(&object(action), &objects(&made)) {
                        Ok(offer) => drop(offer.admit()),
                        Err(fault) => self.fault = Some(fault.to_string()),
                    }
                }
                self.apply(delta);
            }
            Err(error) => self.fault = Some(error.to_string()),
        }
    }
}

impl Gate for PolicyGate<'_> {
    fn set_policies(&mut self, index: RecordIndex, policies: &Value) -> Result<(), GateError> {
        self.forget_calls();
        let before = self.installed.clone();
        self.installed.push(index, read_policies(policies)?);
        match self.replayed_monitor() {
            Ok(monitor) => {
                self.monitor = monitor;
                Ok(())
            }
            Err(fault) => {
                self.installed = before;
                Err(GateError::Policies(fault))
            }
        }
    }

    fn judge(&mut self, index: RecordIndex, result: &StepResult) -> Judgement {
        let blocked = |why: &str| Judgement {
            blocks: vec![blocking(&format!("the step cannot be judged: {why}"))],
            remarks: Vec::new(),
        };
        if let Some(fault) = &self.fault {
            return blocked(fault);
        }
        let delta = match self.projection.preview_step(index, result) {
            Ok(delta) => delta,
            Err(error) => return blocked(&error.to_string()),
        };
        let judgement = self.offer(&delta);
        self.pending = judgement.blocks.is_empty().then_some((index, delta));
        judgement
    }

    fn note_call(&mut self, index: RecordIndex, result: &StepResult) {
        if let Ok(delta) = self.projection.preview_step(index, result)
            && let Err(fault) = self.foreseen.note(&self.monitor, &delta, result.step())
        {
            self.fault.get_or_insert(fault.to_string());
        }
    }

    fn forget_calls(&mut self) {
        self.foreseen = Foreseen::after(self.projection.actions().len());
    }

    fn precheck(&mut self, index: RecordIndex, result: &StepResult) -> Judgement {
        let mut judgement = Judgement::default();
        // A step that cannot be projected yet is judged when its result exists.
        let Ok(delta) = self.projection.preview_step(index, result) else { return judgement };
        let mut foreseen = std::mem::take(&mut self.foreseen);
        let policies = self.installed.last().map(Vec::as_slice).unwrap_or_default();
        let found = foreseen
            .judge(&mut self.monitor, &delta, policies, &|| trace_of(&self.projection, policies, self.last));
        self.foreseen = foreseen;
        match found {
            Ok(violations) => {
                judgement.blocks.extend(violations.iter().filter_map(block));
                judgement.remarks.extend(violations.iter().map(remark));
            }
            Err(fault) => judgement.blocks.push(blocking(&format!("the step cannot be judged: {fault}"))),
        }
        judgement
    }

    fn observe(&mut self, index: RecordIndex, record: &Record) {
        self.last = index;
        match self.pending.take() {
            Some((judged, delta)) if judged == index => self.apply(delta),
            _ => self.observe_unjudged(index, record),
        }
        self.forget_calls();
        if let Record::Control(Control::Rollback(control)) = record {
            self.installed.rollback_to(index, control.to);
            self.renew();
        }
    }

    fn final_verdict(&mut self) -> FinalVerdict {
        let completed = Control::Complete { state_hash: Digest::of(b""), at: self.created_at.clone() };
        let delta = self.projection.preview_control(RecordIndex::new(self.last.get() + 1), &completed);
        self.apply(delta);
        let report = check(&self.trace().into(), self.policies(), Options::default());
        let mut blocks: Vec<_> = report.verdicts.iter().filter_map(block_end).collect();
        blocks.extend(
            self.fault.as_deref().map(|fault| blocking(&format!("the run cannot be judged: {fault}"))),
        );
        FinalVerdict { blocks, verdicts: report.to_value() }
    }
}

/// Returns the trace up to a record, with the policies in force.
fn trace_of(projection: &Projection<'_>, policies: &[Policy], last: RecordIndex) -> Object {
    // The head of the journal is not known here, and no policy speaks of it.
    let head = Head { hash: Digest::of(b""), records: RecordCount::new(last.get() + 1) };
    let trace = encode(&projection.trace(head));
    let policies: Value = policies.iter().map(policy_specification).collect();
    trace.as_object().cloned().unwrap_or_default().with("policies", policies)
}

/// Pairs each action of a delta with the artifacts it makes known.
pub(crate) fn by_action(delta: &TraceDelta) -> Vec<(&Action, Vec<&Artifact>)> {
    let mut pairs: Vec<(&Action, Vec<&Artifact>)> =
        delta.actions.iter().map(|action| (action, Vec::new())).collect();
    for artifact in &delta.artifacts {
        let producer = artifact.common.producer_action_id;
        // An artifact that no action of the delta produced becomes known with the first action.
        let place = pairs.iter().position(|(action, _)| Some(action.common.id) == producer).unwrap_or(0);
        if let Some((_, made)) = pairs.get_mut(place) {
            made.push(artifact);
        }
    }
    pairs
}

pub(crate) fn object<'v, T>(part: &'v T) -> Object
where
    Value: From<&'v T>,
{
    Value::from(part).as_object().cloned().unwrap_or_default()
}

pub(crate) fn objects(artifacts: &[&Artifact]) -> Vec<Object> {
    artifacts.iter().map(|artifact| object(*artifact)).collect()
}

/// Returns the error that blocks a step, if the violated policy is of severity error.
fn block(violation: &Violation) -> Option<StepError> {
    let why = violation.explanation.to_string();
    let message = || stated(violation.policy_id.as_str(), violation.statement.as_deref(), &why);
    (violation.severity == PolicySeverity::Error).then(|| blocking(&message()))
}

/// Returns a violation for people: the policy, what it demands in plain words, and what was found.
fn stated(policy: &str, statement: Option<&str>, why: &str) -> String {
    match statement.map(|text| text.trim().trim_end_matches('.')).filter(|text| !text.is_empty()) {
        Some(statement) => format!("policy {policy}: {statement}. Found: {why}"),
        None => format!("policy {policy}: {why}"),
    }
}

fn blocking(message: &str) -> StepError {
    StepError::new(POLICY_VIOLATION, message)
}

/// Returns the remark that is recorded with a result that violates a policy.
fn remark(violation: &Violation) -> Value {
    Object::from_iter([
        ("policy_id", Value::from(violation.policy_id.as_str())),
        ("severity", violation.severity.as_str().into()),
        ("status", EvaluationStatus::Failed.as_str().into()),
        ("note", violation.explanation.to_string().into()),
    ])
    .into()
}

/// Returns the error that blocks the end of a run: a policy failed, or its verdict is unknown.
fn block_end(verdict: &Verdict) -> Option<StepError> {
    let word = match verdict.status {
        EvaluationStatus::Failed => "failed",
        EvaluationStatus::Unknown => "cannot be decided",
        EvaluationStatus::Passed | EvaluationStatus::NotApplicable => return None,
    };
    let why = verdict.note().unwrap_or_else(|| word.to_owned());
    (verdict.severity == PolicySeverity::Error)
        .then(|| blocking(&stated(verdict.policy_id.as_str(), verdict.statement.as_deref(), &why)))
}
