//! The plan and the state of a recorded run. Nothing is executed.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Lenient, Object, Value};
use hence_journal::{Chained, Control, Fold, Reader, Record, RecordIndex, StepRecord, positions};
use hence_state::{LoopLimitRule, ProblemSpec, ReasoningState};

use crate::program::TRACE_ARTIFACT;
use crate::replay::request_of_journal;
use crate::variables::ARTIFACT;
use crate::{
    DEFAULT_POLICY, Deed, Determinism, Engine, Plan, ResumeError, RunKind, Step, recorded_outcome_key,
};

/// A record and the state after it.
pub struct Folded<'a> {
    /// The index of the record.
    pub index: RecordIndex,
    /// The record; `None` for the header.
    pub record: Option<&'a Record>,
    /// The artifact that a step's output belongs under.
    pub key: &'a str,
    /// The state after the record.
    pub state: &'a ReasoningState,
}

/// One step of a routing policy, as far as a reader of a journal needs it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepOutline {
    /// The name used in records.
    pub name: Arc<str>,
    /// The artifact of its output.
    pub artifact_key: Arc<str>,
    /// Whether a replay executes it again.
    pub determinism: Determinism,
    /// The call by which it may change something outside the run.
    pub deed: Option<Deed>,
}

impl Engine {
    /// Plans the run that a journal records, to resume it.
    ///
    /// # Errors
    /// [`ResumeError`] when the journal has no header or the problem is refused.
    pub fn plan_of_journal(&self, journal: &[u8], problem: &Lenient) -> Result<Plan, ResumeError> {
        Ok(self.plan_to_resume(&request_of_journal(journal, problem)?)?)
    }

    /// Returns the state after record `at`, or after the last one, as the fold of the results.
    ///
    /// # Errors
    /// [`ResumeError`] when a record up to there cannot be read or does not follow from the records before it.
    pub fn state_at(
        &self,
        journal: &[u8],
        problem: &Lenient,
        at: Option<RecordIndex>,
    ) -> Result<ReasoningState, ResumeError> {
        self.fold_states(journal, problem, at, |_| {})
    }

    /// As [`state_at`](Self::state_at), and shows the state after every record on the way, the header's first.
    ///
    /// # Errors
    /// As for [`state_at`](Self::state_at).
    pub fn fold_states(
        &self,
        journal: &[u8],
        problem: &Lenient,
        at: Option<RecordIndex>,
        mut visit: impl FnMut(Folded<'_>),
    ) -> Result<ReasoningState, ResumeError> {
        let (first, reader) = Reader::open(journal)?;
        let diverged = |reason: &str| ResumeError::diverged(RecordIndex::HEADER, reason);
        let Record::Header(header) = first.record else {
            return Err(diverged("the first record is no header"));
        };
        let spec = ProblemSpec::decode_lenient(problem, reader.profile())?;
        if spec.canonical().digest() != header.problem_spec_hash {
            return Err(diverged("it names another problem"));
        }
        let keys = self.artifact_keys(&spec);
        let mut fold = Fold::new(&header, spec.into());
        let last = at.unwrap_or(RecordIndex::new(u64::MAX));
        let wanted = positions(journal);
        wanted.get(&RecordIndex::HEADER).into_iter().for_each(|index| fold.snapshot(*index));
        visit(Folded { index: RecordIndex::HEADER, record: None, key: "", state: fold.state() });
        let mut records = reader.peekable();
        // Later records are not read, except that the compat profile needs the next one.
        while let Some(record) =
            records.next_if(|next| next.as_ref().map_or_else(|error| error.index, |next| next.index) <= last)
        {
            let record = record?;
            let key = match &record.record {
                Record::Step(step) => keys.of(step),
                _ => "".into(),
            };
            let next = records.peek().and_then(|next| next.as_ref().ok()).map(|next| &next.record);
            fold.push(record.index, &record.record, &key, next)
                .map_err(|error| ResumeError::diverged(record.index, error))?;
            if wanted.contains(&record.index) {
                fold.snapshot(record.index);
            }
            let (index, state) = (record.index, fold.state());
            visit(Folded { index, record: Some(&record.record), key: &key, state });
        }
        Ok(fold.into_state())
    }

    /// Returns the state after the last of some consecutive records, without its artifacts, from these records alone.
    ///
    /// `header` is the first line of the journal. The run must not have had an error before. Returns nothing where records before
    /// these are needed: there is no step among them, one restores an earlier position, or the profile looks ahead.
    pub fn state_outside_artifacts(
        &self,
        header: &[u8],
        problem: &Lenient,
        records: &[&Chained],
    ) -> Option<Value> {
        let (first, reader) = Reader::open(header).ok()?;
        let Record::Header(header) = first.record else { return None };
        let is_ahead = reader.profile().loop_limit == LoopLimitRule::InStep;
        let spec = ProblemSpec::decode_lenient(problem, reader.profile()).ok()?;
        if is_ahead || spec.canonical().digest() != header.problem_spec_hash {
            return None;
        }
        let keys = self.artifact_keys(&spec);
        let mut fold = Fold::new(&header, spec.into());
        let first_step = records.iter().position(|found| matches!(found.record, Record::Step(_)))?;
        for (place, found) in records.iter().enumerate().skip(first_step) {
            let key = match &found.record {
                Record::Step(step) if place == first_step => {
                    fold.continue_without_artifacts(step.step_index, step.result.started_at().clone());
                    keys.of(step)
                }
                Record::Step(step) => keys.of(step),
                Record::Control(Control::Checkpoint(_)) => continue,
                _ => "".into(),
            };
            fold.push(found.index, &found.record, &key, None).ok()?;
        }
        let state = fold.state().canonical();
        let members = state.value().as_object()?.iter().filter(|(key, _)| &***key != "artifacts");
        Some(members.map(|(key, value)| (key.clone(), value.clone())).collect::<Object>().into())
    }

    /// Returns the artifact key of each step of the problem's program.
    fn artifact_keys(&self, problem: &ProblemSpec) -> ArtifactKeys {
        match RunKind::of(problem.canonical().value()) {
            RunKind::Variables => ArtifactKeys::One(ARTIFACT.into()),
            RunKind::Trace => ArtifactKeys::One(TRACE_ARTIFACT.into()),
            RunKind::Skill | RunKind::Solve => ArtifactKeys::Numbered,
            RunKind::Reason => {
                let name = problem.settings().policy_profile.as_deref().unwrap_or(DEFAULT_POLICY);
                let steps = self.policies.policy(name).unwrap_or_default();
                let key = |step: &Arc<dyn Step>| (step.name().into(), step.artifact_key().into());
                ArtifactKeys::Named(steps.iter().map(key).collect())
            }
        }
    }

    /// Returns whether `step` is the last step of the policy that a problem names: the end of a run whose profile
    /// records no completion.
    pub fn is_last_step(&self, problem: &Value, step: &str) -> bool {
        let named = problem.get("settings").and_then(|settings| settings.get("policy_profile")?.as_str());
        let steps = self.policies.policy(named.unwrap_or(DEFAULT_POLICY)).unwrap_or_default();
        steps.last().is_some_and(|last| last.name() == step)
    }

    /// Returns the steps of the problem's policy in order; `None` when this engine does not know the policy.
    ///
    /// Unlike planning, this does not require what a run needs, such as a language model.
    pub fn outline(&self, problem: &ProblemSpec) -> Option<Vec<StepOutline>> {
        let name = problem.settings().policy_profile.as_deref().unwrap_or(DEFAULT_POLICY);
        let steps = self.steps_to_read(name, Some(problem.settings()))?;
        let outline = |step: &Arc<dyn Step>| StepOutline {
            name: step.name().into(),
            artifact_key: step.artifact_key().into(),
            determinism: step.determinism(problem),
            deed: step.deed(),
        };
        Some(steps.iter().map(outline).collect())
    }
}

/// The artifact keys of the outputs of a program.
enum ArtifactKeys {
    /// Each built-in step has its own key.
    Named(BTreeMap<Arc<str>, Arc<str>>),
    /// Each step of a skill or of the recursive loop has a numbered key.
    Numbered,
    /// All operations on variables have the same key.
    One(Arc<str>),
}

impl ArtifactKeys {
    fn of(&self, record: &StepRecord) -> Arc<str> {
        let step = record.result.step();
        match self {
            Self::Named(keys) => keys.get(step).unwrap_or(step).clone(),
            Self::Numbered => recorded_outcome_key(record),
            Self::One(key) => key.clone(),
        }
    }
}
