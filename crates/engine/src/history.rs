//! What a journal says that cannot be computed again: who asked for what, which times, which outcomes.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Canonical, Lenient, Object, Value};
use hence_journal::{
    Chained, ClockSource, Control, DecodeError, Fold, Header, LineError, ReadError, Reader, Record,
    RecordIndex, StepRecord, positions,
};
use hence_state::{Outcome, ProblemSpec, Profile, ReasoningState, StepResult, Timestamp};

use crate::gate::{POLICIES_STEP, attempt};
use crate::{Engine, Mark, Plan, Request, ResumeError, interactive, recorded_outcome_key};

/// What a journal says about one step that a replay cannot compute.
#[derive(Clone)]
pub(crate) struct Recorded {
    pub(crate) outcome: Outcome,
    /// What stands beside it, such as what the step cost.
    pub(crate) others: Object,
}

impl Recorded {
    /// Returns what a step gave before policies looked at it.
    pub(crate) fn of_attempt(result: &StepResult) -> Self {
        let attempt = attempt(result);
        Self { outcome: attempt.outcome().clone(), others: attempt.others().clone() }
    }
}

/// What a journal says that a replay cannot compute.
pub(crate) struct History {
    pub(crate) header: Header,
    pub(crate) outcomes: BTreeMap<RecordIndex, Recorded>,
    pub(crate) steps: Vec<Arc<str>>,
    /// The checkpoints and rollbacks, which somebody asked for from outside.
    pub(crate) marks: BTreeMap<RecordIndex, Mark>,
    /// The policies somebody laid down, by record.
    pub(crate) policies: BTreeMap<RecordIndex, Canonical>,
    /// The last record that can be read.
    pub(crate) last: RecordIndex,
    /// The times the caller gave, when the header says they were given.
    times: Option<Vec<Timestamp>>,
}

impl History {
    /// Reads a journal as far as it can be read.
    ///
    /// # Errors
    /// [`ReadError`] when there is no header.
    pub(crate) fn read(journal: &[u8]) -> Result<Self, ReadError> {
        let (first, reader) = Reader::open(journal)?;
        let Record::Header(header) = first.record else {
            return Err(ReadError { index: RecordIndex::HEADER, error: DecodeError::Line(LineError::Blank) });
        };
        let mut times = vec![header.created_at.clone()];
        let (mut outcomes, mut steps, mut policies) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
        let (mut marks, mut last) = (BTreeMap::new(), RecordIndex::HEADER);
        // A line that cannot be read ends what can be fed to the replay; comparing bytes will point at it.
        for Chained { record, index, .. } in reader.map_while(Result::ok) {
            last = index;
            match record {
                Record::Step(record) => {
                    times.push(record.result.finished_at().clone());
                    steps.push(record.result.step().clone());
                    if &**record.result.step() == POLICIES_STEP {
                        policies
                            .extend(record.result.outcome().output().map(|output| (index, output.clone())));
                    }
                    let made = attempt(&record.result);
                    let (outcome, others) = (made.outcome().clone(), made.others().clone());
                    outcomes.insert(index, Recorded { outcome, others });
                }
                Record::Control(Control::Complete { at, .. }) => times.push(at),
                Record::Control(Control::Loop(control)) => times.extend(control.at),
                Record::Control(Control::Checkpoint(control)) => {
                    marks.insert(index, Mark::Checkpoint { name: control.name, position: control.position });
                }
                Record::Control(Control::Rollback(control)) => {
                    times.push(control.at);
                    marks.insert(index, Mark::Rollback { name: control.name });
                }
                Record::Header(_) => {}
            }
        }
        let times = (header.clock == Some(ClockSource::Given)).then_some(times);
        Ok(Self { header, outcomes, steps, marks, policies, last, times })
    }

    /// Makes the request that the run must have come from.
    pub(crate) fn request(&self, problem: Value) -> Request {
        Request {
            trace_id: Some(self.header.trace_id.to_string()),
            engine_version: Some(self.header.engine_version.to_string()),
            now: Some(self.header.created_at.to_string()),
            times: self.times.clone(),
            ..Request::of_value(problem, Profile::named(self.header.profile))
        }
    }
}

impl Engine {
    /// Plans the run that a journal records.
    ///
    /// # Errors
    /// [`ResumeError`] when the journal has no header or the problem is refused.
    pub fn plan_of_journal(&self, journal: &[u8], problem: &Lenient) -> Result<Plan, ResumeError> {
        let history = History::read(journal)?;
        let mut request = history.request(Value::Null);
        request.problem = problem.clone();
        Ok(self.plan_to_resume(&request)?)
    }

    /// Returns the state after record `at`, or after the last one, as the fold of the results. Nothing is executed.
    ///
    /// # Errors
    /// [`ResumeError`] when a record up to there cannot be read or does not fit.
    pub fn state_at(
        &self,
        journal: &[u8],
        problem: &Lenient,
        at: Option<RecordIndex>,
    ) -> Result<ReasoningState, ResumeError> {
        let (first, reader) = Reader::open(journal)?;
        let diverged = |index, reason: String| ResumeError::Diverged { index, reason };
        let Record::Header(header) = first.record else {
            return Err(diverged(RecordIndex::HEADER, "the first record is no header".to_owned()));
        };
        let spec = ProblemSpec::decode_lenient(problem, reader.profile())?;
        if spec.canonical().digest() != header.problem_spec_hash {
            return Err(diverged(RecordIndex::HEADER, "it names another problem".to_owned()));
        }
        let keys = self.artifact_keys(&spec);
        let mut fold = Fold::new(&header, spec.into());
        let last = at.unwrap_or(RecordIndex::new(u64::MAX));
        let wanted = positions(journal);
        wanted.get(&RecordIndex::HEADER).into_iter().for_each(|index| fold.snapshot(*index));
        let mut records = reader.peekable();
        // Records behind the one asked for are only looked at where the compat profile needs the next one.
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
                .map_err(|error| diverged(record.index, error.to_string()))?;
            if wanted.contains(&record.index) {
                fold.snapshot(record.index);
            }
        }
        Ok(fold.into_state())
    }

    /// Returns which artifact each step of the problem's program produces.
    fn artifact_keys(&self, problem: &ProblemSpec) -> ArtifactKeys {
        let document = problem.canonical().value();
        if interactive::is_pinned(document) {
            return ArtifactKeys::One(interactive::ARTIFACT.into());
        }
        if interactive::pins_document(document) {
            return ArtifactKeys::Numbered;
        }
        let name = problem.settings().policy_profile.as_deref().unwrap_or(crate::DEFAULT_POLICY);
        let steps = self.policies.policy(name).unwrap_or_default();
        ArtifactKeys::Named(
            steps.iter().map(|step| (step.name().into(), step.artifact_key().into())).collect(),
        )
    }

    /// Returns whether `step` is the last of the policy a problem asks for: the end of a run whose profile records
    /// no completion.
    pub fn is_last_step(&self, problem: &Value, step: &str) -> bool {
        let named = problem.get("settings").and_then(|settings| settings.get("policy_profile")?.as_str());
        let steps = self.policies.policy(named.unwrap_or(crate::DEFAULT_POLICY)).unwrap_or_default();
        steps.last().is_some_and(|last| last.name() == step)
    }
}

/// Which artifact a step's output belongs to. Only the program of a run knows.
enum ArtifactKeys {
    /// The built-in steps say it themselves.
    Named(BTreeMap<Arc<str>, Arc<str>>),
    /// Each step of a skill has its own.
    Numbered,
    /// All operations of an interactive run have one.
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
