//! The part of a run that `hence why` and `hence state` show and that depends on all of its records.
//!
//! The store caches the view of a long run next to its journal, bound to the head and to the files it was computed from, so
//! that looking at a run does not cost its history.

use hence_canon::{Object, Value};
use hence_cognition::run::describe_failures;
use hence_cognition::state::StepStatus;
use hence_engine::{Engine, RunKind};
use hence_store::{RunId, RunSummary, RunView, StoreHandle};

use crate::chain::first_break;
use crate::commands::state::CognitionParts;
use crate::kind::{self, Purpose};
use crate::measured::{RunTimes, WaitTimesRow};
use crate::run_view::{UNFINISHED, has_every_value, is_long, status_computed};
use crate::sink::StoreBlobs;
use crate::skills::{self, DecisionRow};
use crate::standing;
use crate::target::{self, Journal};
use crate::time_log::{TIMES, TIMES_ELSEWHERE};

/// The version of the cached form. Another one is computed again.
const VERSION: u64 = 3;

/// The finding about a cached view that the journal contradicts.
pub(crate) const WRONG_VIEW: &str =
    "the cached view of it is not what the journal says; delete the file `view`, it is a cache";

/// The part of a run that depends on all of its records.
#[derive(Default)]
pub(crate) struct StandingView {
    /// The status, from the journal alone.
    pub(crate) status: &'static str,
    /// The reason why its documents cannot be read, or why its records do not follow.
    pub(crate) damage: Option<String>,
    /// The approvals and rejections on record.
    pub(crate) decisions: Vec<DecisionRow>,
    /// The steps and parts of steps that failed, where the run completed all the same.
    pub(crate) failures: Vec<String>,
    /// The step that `failures` begins with, or the first one that failed as a whole.
    pub(crate) first_failure: Option<String>,
    /// Whether a whole step failed.
    pub(crate) has_failed_step: bool,
    /// The step that is due in a run that has not ended.
    pub(crate) due: Option<String>,
    /// The measured time of the last change.
    pub(crate) since: Option<String>,
    /// The measured questions that no record has answered.
    pub(crate) asked: Vec<WaitTimesRow>,
    /// The defects of the time log.
    pub(crate) remarks: Vec<String>,
    /// The present state without its artifacts; `None` when the records do not give one.
    pub(crate) state: Option<Value>,
    /// The parts of the cognitive state of a skill's run that its history does not lengthen; `None` until a command asks for it.
    pub(crate) cognition: Option<CognitionParts>,
    /// Whether everything it depends on could be read.
    pub(crate) is_certain: bool,
}

impl RunView for StandingView {
    const ATTACHMENTS: &'static [&'static str] =
        &[target::PROBLEM, skills::SKILL, skills::NESTED, skills::CAPABILITIES, TIMES, TIMES_ELSEWHERE];

    fn compute(store: &StoreHandle, summary: &RunSummary) -> Self {
        let status = status_computed(store, summary);
        match Journal::of_stored(store.clone(), &summary.run) {
            Ok(journal) => Self::of_journal(store, summary, &journal, status),
            Err(error) => Self { status, damage: Some(error.message), ..Self::default() },
        }
    }

    fn compute_like(store: &StoreHandle, summary: &RunSummary, cached: &Self) -> Self {
        let view = Self::compute(store, summary);
        let is_asked = cached.cognition.is_some();
        let journal = is_asked.then(|| Journal::of_stored(store.clone(), &summary.run).ok()).flatten();
        Self { cognition: journal.and_then(|journal| CognitionParts::of_journal(&journal)), ..view }
    }

    fn encode(&self) -> Option<Value> {
        let texts =
            |texts: &[String]| Value::from(texts.iter().cloned().map(Value::from).collect::<Vec<_>>());
        let rows = |rows: Vec<Value>| Value::from(rows);
        let value = Object::from_iter([
            ("asked", rows(self.asked.iter().map(WaitTimesRow::to_value).collect())),
            ("cognition", self.cognition.as_ref().map_or(Value::Null, CognitionParts::to_value)),
            ("decisions", rows(self.decisions.iter().map(DecisionRow::to_value).collect())),
            ("due", self.due.clone().into()),
            ("failures", texts(&self.failures)),
            ("first_failure", self.first_failure.clone().into()),
            ("has_failed_step", Value::Bool(self.has_failed_step)),
            ("remarks", texts(&self.remarks)),
            ("since", self.since.clone().into()),
            ("state", self.state.clone()?),
            ("status", self.status.into()),
            ("version", VERSION.into()),
        ]);
        (self.is_certain && self.damage.is_none()).then(|| value.into())
    }

    fn decode(value: &Value) -> Option<Self> {
        if value.get("version")?.as_u64()? != VERSION {
            return None;
        }
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let list = |key: &str| value.get(key)?.as_array();
        let texts = |key: &str| -> Option<Vec<String>> {
            list(key)?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
        };
        Some(Self {
            status: crate::run_view::known_status(value.get("status")?.as_str()?)?,
            damage: None,
            decisions: list("decisions")?.iter().map(DecisionRow::of_value).collect::<Option<_>>()?,
            failures: texts("failures")?,
            first_failure: text("first_failure"),
            has_failed_step: value.get("has_failed_step")?.as_bool()?,
            due: text("due"),
            since: text("since"),
            asked: list("asked")?.iter().map(WaitTimesRow::of_value).collect::<Option<_>>()?,
            remarks: texts("remarks")?,
            state: Some(value.get("state")?.clone()),
            cognition: CognitionParts::of_value(value.get("cognition")?)?,
            is_certain: true,
        })
    }
}

impl StandingView {
    fn of_journal(
        store: &StoreHandle,
        summary: &RunSummary,
        journal: &Journal,
        status: &'static str,
    ) -> Self {
        let records = kind::whole_records(&journal.bytes);
        let times = RunTimes::of(journal);
        let last = crate::journal_end::last_change(store, summary, Some(journal.profile()));
        let since = last.and_then(|last| times.row(last.index.get())).map(|row| row.recorded_at().to_owned());
        let is_skill = journal.has_problem() && journal.kind == RunKind::Skill;
        let decisions = match is_skill {
            true => DecisionRow::of_journal(records, &StoreBlobs(store)),
            false => Vec::new(),
        };
        let outcomes = match status == standing::PARTIAL {
            true => standing::failures(store, &summary.run),
            false => Vec::new(),
        };
        let failed = outcomes.iter().find(|outcome| outcome.status == StepStatus::Failed);
        if status == "damaged"
            && let Some(damage) = first_break(&journal.bytes)
        {
            return Self { status, damage: Some(damage), since, ..Self::default() };
        }
        let (due, damage) = match status == UNFINISHED && journal.has_problem() {
            true => match kind::open(journal, &[], Purpose::Read).and_then(|run| run.due_step(journal)) {
                Ok(due) => (due, None),
                Err(error) => (None, Some(error.message)),
            },
            false => (None, None),
        };
        Self {
            status,
            damage,
            decisions,
            failures: describe_failures(&outcomes),
            first_failure: failed.or(outcomes.first()).map(|outcome| outcome.step_id.to_string()),
            has_failed_step: failed.is_some(),
            due,
            since,
            asked: times.open_waits(),
            remarks: times.remarks,
            state: state_without_artifacts(journal, records),
            cognition: None,
            is_certain: has_every_value(store, summary),
        }
    }
}

/// Caches the view of a long run that has just been written, so that the next command which looks at it does not read its
/// history.
pub(crate) fn refresh(store: &StoreHandle, run: &RunId) {
    // A cache that cannot be written is not an error: the journal has everything.
    if let Ok(summary) = store.summary(run)
        && is_long(&summary)
    {
        store.view_of::<StandingView>(&summary);
    }
}

/// Returns the present state of a run without its artifacts, which are as long as its history.
fn state_without_artifacts(journal: &Journal, records: &[u8]) -> Option<Value> {
    let problem = journal.parsed_problem().ok().flatten()?;
    let state = Engine::new().state_at(records, problem, None).ok()?;
    let state = state.canonical();
    let members = state.value().as_object()?.iter().filter(|(key, _)| &***key != "artifacts");
    Some(members.map(|(key, value)| (key.clone(), value.clone())).collect::<Object>().into())
}
