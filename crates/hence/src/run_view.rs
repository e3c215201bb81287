//! The view of a run that lists show: its status, its times and the runs it is linked to.
//!
//! The index of the store caches it, so that a list reads only the runs that have changed since the last one. A status says
//! nothing about questions and calls in progress: they are in the call log, which changes without the journal.

use hence_canon::{Object, Value};
use hence_engine::{Engine, RunKind};
use hence_journal::{Chained, Control, LoopAction, Record};
use hence_state::{Profile, StepStatus};
use hence_store::{Condition, Damage, DatedView, Lease, RunSummary, RunView, StoreHandle, VIEW_RECORDS_MIN};

use crate::bundle::referenced_blobs;
use crate::chain::first_break;
use crate::journal_end::last_change;
use crate::measured;
use crate::sink::StoreBlobs;
use crate::skills::{self, LinkedTo};
use crate::standing::{self, PARTIAL};
use crate::standing_view::StandingView;
use crate::target;
use crate::time_log::TIMES;

/// The status of a run that has not ended.
pub(crate) const UNFINISHED: &str = "unfinished";

/// The status of a run that the system refuses to read: whether it is whole is not known.
pub(crate) const UNREADABLE: &str = "unreadable";

/// Every status that a journal alone gives. One that cannot be read gives none.
const STATUSES: [&str; 7] = ["blocked", "completed", "damaged", "failed", "interactive", PARTIAL, UNFINISHED];

/// The version of the cached form. Another one is computed again.
const VERSION: u64 = 5;

/// The text of a journal with a large value.
const BLOB_MARK: &str = "\"$blob\"";

/// The view of a run that lists show.
pub(crate) struct RunRowView {
    /// One of [`STATUSES`], or [`UNREADABLE`].
    pub(crate) status: &'static str,
    /// The time its problem states as its creation.
    pub(crate) created_at: Option<String>,
    /// The measured time of its creation.
    pub(crate) measured_at: Option<String>,
    /// The skill that its problem pins.
    pub(crate) skill: Option<String>,
    /// The runs that its problem names.
    pub(crate) links: LinkedTo,
    /// The run that retries it.
    pub(crate) retry: Option<String>,
    /// Whether everything that the status depends on could be read.
    is_certain: bool,
}

impl RunView for RunRowView {
    const ATTACHMENTS: &'static [&'static str] = &[target::PROBLEM, skills::RETRY, TIMES];

    fn compute(store: &StoreHandle, summary: &RunSummary) -> Self {
        let header = decoded_header(summary);
        let created_at = header.as_ref().and_then(|(chained, _)| match &chained.record {
            Record::Header(header) => Some(header.created_at.to_string()),
            _ => None,
        });
        let status = status_of(store, summary);
        Self {
            status,
            created_at,
            measured_at: measured::created_at(store, summary),
            skill: skill_of(store, summary),
            links: skills::links(store, &summary.run),
            retry: skills::claimed_retry(store, &summary.run).map(|run| run.as_str().to_owned()),
            is_certain: match status {
                UNREADABLE => false,
                "completed" => is_long(summary) || has_every_value(store, summary),
                _ => true,
            },
        }
    }

    fn encode(&self) -> Option<Value> {
        let text = |text: &Option<String>| Value::from(text.clone());
        let value = Object::from_iter([
            ("created_at", text(&self.created_at)),
            ("measured_at", text(&self.measured_at)),
            ("origin", text(&self.links.origin)),
            ("parent", text(&self.links.parent)),
            ("retries", text(&self.links.retries)),
            ("retry", text(&self.retry)),
            ("skill", text(&self.skill)),
            ("status", Value::from(self.status)),
            ("version", Value::from(VERSION)),
        ]);
        self.is_certain.then(|| value.into())
    }

    fn decode(value: &Value) -> Option<Self> {
        if value.get("version")?.as_u64()? != VERSION {
            return None;
        }
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let status = value.get("status")?.as_str()?;
        Some(Self {
            status: known_status(status)?,
            created_at: text("created_at"),
            measured_at: text("measured_at"),
            skill: text("skill"),
            links: LinkedTo { parent: text("parent"), origin: text("origin"), retries: text("retries") },
            retry: text("retry"),
            is_certain: true,
        })
    }
}

impl DatedView for RunRowView {
    /// Returns when the run was created: measured, or else as its problem states.
    fn created(&self) -> Option<&str> {
        self.measured_at.as_deref().or(self.created_at.as_deref())
    }
}

/// Returns the id of the skill that the problem of a run pins.
fn skill_of(store: &StoreHandle, summary: &RunSummary) -> Option<String> {
    let problem = store.attachment(&summary.run, &target::problem_name()).ok()?;
    let problem = hence_canon::parse_lenient(&problem).ok()?.value;
    if RunKind::of(&problem) != RunKind::Skill {
        return None;
    }
    Some(problem.get("settings")?.get("skill")?.get("id")?.as_str()?.to_owned())
}

/// Returns the status of a run: from its last record, and for a completed one from the view of it that is cached, if it is
/// long.
pub(crate) fn status_of(store: &StoreHandle, summary: &RunSummary) -> &'static str {
    let is_completed = matches!(
        last_change(store, summary, decoded_header(summary).map(|(_, profile)| profile)),
        Some(Chained { record: Record::Control(Control::Complete { .. }), .. })
    );
    match is_completed && is_long(summary) && other_run(summary).is_none() {
        true => store.view_of::<StandingView>(summary).status,
        false => status_computed(store, summary),
    }
}

/// Returns the status of a run, from its records. A run whose chain is broken is damaged, whatever its last record says.
///
/// A long run that is driven from outside grows by a record with each command, and one that a process writes while it is looked
/// at: their chains are checked by the commands that read them.
pub(crate) fn status_computed(store: &StoreHandle, summary: &RunSummary) -> &'static str {
    let status = status_with(store, summary, decoded_header(summary).map(|(_, profile)| profile));
    let is_written = || !matches!(store.lease(&summary.run), Ok(Lease::Free));
    let is_growing = status == "interactive" && is_long(summary) || status == UNFINISHED && is_written();
    if other_run(summary).is_some() {
        return "damaged";
    }
    if status == UNREADABLE || is_growing {
        return status;
    }
    match store.journal_bytes(&summary.run) {
        Ok(journal) if first_break(&journal).is_some() => "damaged",
        Err(error) if error.is_refused_by_the_system() => UNREADABLE,
        Ok(_) | Err(_) => status,
    }
}

/// Returns why the system refuses to read a run.
pub(crate) fn refusal(store: &StoreHandle, summary: &RunSummary) -> Option<String> {
    match &summary.condition {
        Condition::Damaged(Damage::Refused(reason)) => Some(reason.clone()),
        _ => store.read_journal_at(&summary.run, 0).err().map(|error| error.to_string()),
    }
}

/// Returns the id of the run whose journal this is, if the store has it under another one.
pub(crate) fn other_run(summary: &RunSummary) -> Option<String> {
    target::other_name(summary.run.as_str(), summary.header.as_deref()?.as_bytes())
}

/// Returns whether a run is so long that what depends on all its records is cached.
pub(crate) fn is_long(summary: &RunSummary) -> bool {
    summary.head().is_some_and(|head| head.records.get() >= VIEW_RECORDS_MIN)
}

/// Returns a status by its name.
pub(crate) fn known_status(name: &str) -> Option<&'static str> {
    STATUSES.into_iter().find(|known| *known == name)
}

fn decoded_header(summary: &RunSummary) -> Option<(Chained, Profile)> {
    Chained::decode_header(summary.header.as_deref()?.as_bytes()).ok()
}

/// Returns whether the store has every large value of a run: a step whose outcome is in a missing one may have failed.
pub(crate) fn has_every_value(store: &StoreHandle, summary: &RunSummary) -> bool {
    let Ok(journal) = store.journal_bytes(&summary.run) else { return false };
    let has_values = str::from_utf8(&journal).map_or(true, |text| text.contains(BLOB_MARK));
    !has_values
        || referenced_blobs(&journal, &StoreBlobs(store))
            .iter()
            .all(|digest| store.has_blob(digest).unwrap_or(false))
}

fn status_with(store: &StoreHandle, summary: &RunSummary, profile: Option<Profile>) -> &'static str {
    match summary.condition {
        Condition::Damaged(Damage::Refused(_)) => return UNREADABLE,
        Condition::Damaged(_) => return "damaged",
        Condition::Whole { .. } | Condition::Torn { .. } => {}
    }
    match last_change(store, summary, profile).map(|chained| chained.record) {
        Some(Record::Control(Control::Complete { .. })) => {
            if standing::failures(store, &summary.run).is_empty() { "completed" } else { PARTIAL }
        }
        Some(Record::Control(Control::Loop(control)))
            if control.action == LoopAction::MaxIterationsReached =>
        {
            "failed"
        }
        Some(Record::Step(step)) if step.result.outcome().is_blocked() => "blocked",
        Some(Record::Step(step)) if step.result.outcome().status() == StepStatus::Failed => "failed",
        // Only the program of the run knows what the step means for the run.
        Some(Record::Step(step)) => after_step(store, summary, profile, step.result.step()),
        Some(_) => UNFINISHED,
        None => "damaged",
    }
}

fn after_step(
    store: &StoreHandle,
    summary: &RunSummary,
    profile: Option<Profile>,
    step: &str,
) -> &'static str {
    let problem = store.attachment(&summary.run, &target::problem_name()).ok();
    let Some(problem) = problem.and_then(|bytes| hence_canon::parse_lenient(&bytes).ok()) else {
        return UNFINISHED;
    };
    if RunKind::of(&problem.value).is_driven_from_outside() {
        return "interactive";
    }
    // The compat profile records no completion: a run ends with the last step of its policy.
    if !has_completion(profile) && Engine::new().is_last_step(&problem.value, step) {
        return "completed";
    }
    UNFINISHED
}

fn has_completion(profile: Option<Profile>) -> bool {
    profile.is_some_and(|profile| profile.completion == hence_state::CompletionRule::Recorded)
}
