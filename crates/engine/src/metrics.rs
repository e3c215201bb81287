//! Totals over a journal: steps, statuses, decisions, durations.

use std::collections::BTreeMap;

use hence_canon::{Object, Value};
use hence_journal::{Chained, Control, Record};
use hence_state::Timestamp;

/// Totals over the records of a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// The number of executed steps.
    pub steps_total: u64,
    /// Executions by step.
    pub step_counts: BTreeMap<String, u64>,
    /// Executions by status.
    pub step_status_counts: BTreeMap<String, u64>,
    /// The number of control records.
    pub controls_total: u64,
    /// Control records by kind.
    pub control_counts: BTreeMap<String, u64>,
    /// Control records by action.
    pub control_action_counts: BTreeMap<String, u64>,
    /// The sum of the durations of all steps.
    pub total_step_duration_ms: u64,
    /// The duration of the longest step.
    pub max_step_duration_ms: u64,
    /// The time from the earliest start to the latest finish.
    pub trace_duration_ms: u64,
    earliest: Option<Timestamp>,
    latest: Option<Timestamp>,
}

impl Metrics {
    /// Counts one record.
    pub fn note(&mut self, record: &Chained) {
        match &record.record {
            Record::Header(_) => {}
            Record::Step(step) => {
                let result = &step.result;
                self.steps_total += 1;
                count(&mut self.step_counts, result.step());
                count(&mut self.step_status_counts, result.outcome().status().as_str());
                self.time(result.started_at(), result.finished_at());
            }
            Record::Control(control) => {
                self.controls_total += 1;
                let (kind, action) = match control {
                    Control::Loop(control) => ("loop", control.action.as_str()),
                    Control::Complete { .. } => ("run", "complete"),
                    Control::Checkpoint(_) => ("checkpoint", "take"),
                    Control::Rollback(_) => ("rollback", "return"),
                };
                count(&mut self.control_counts, kind);
                count(&mut self.control_action_counts, action);
            }
        }
    }

    /// Adds the duration of a step. Times that do not exist in the calendar are ignored.
    fn time(&mut self, started: &Timestamp, finished: &Timestamp) {
        let Some(duration) = millis(finished, started) else { return };
        self.total_step_duration_ms += duration;
        self.max_step_duration_ms = self.max_step_duration_ms.max(duration);
        if self.earliest.as_ref().is_none_or(|earliest| earliest.is_after(started)) {
            self.earliest = Some(started.clone());
        }
        if self.latest.as_ref().is_none_or(|latest| finished.is_after(latest)) {
            self.latest = Some(finished.clone());
        }
        let whole = self.latest.as_ref().zip(self.earliest.as_ref());
        self.trace_duration_ms = whole.and_then(|(latest, earliest)| millis(latest, earliest)).unwrap_or(0);
    }
}

fn millis(later: &Timestamp, earlier: &Timestamp) -> Option<u64> {
    u64::try_from(later.millis_since(earlier)?).ok()
}

fn count(counts: &mut BTreeMap<String, u64>, key: &str) {
    *counts.entry(key.to_owned()).or_default() += 1;
}

impl From<&Metrics> for Value {
    fn from(metrics: &Metrics) -> Self {
        let counts = |counts: &BTreeMap<String, u64>| -> Value {
            counts.iter().map(|(key, count)| (key.as_str(), *count)).collect::<Object>().into()
        };
        let members: [(&str, Value); 9] = [
            ("steps_total", metrics.steps_total.into()),
            ("step_counts", counts(&metrics.step_counts)),
            ("step_status_counts", counts(&metrics.step_status_counts)),
            ("controls_total", metrics.controls_total.into()),
            ("control_counts", counts(&metrics.control_counts)),
            ("control_action_counts", counts(&metrics.control_action_counts)),
            ("total_step_duration_ms", metrics.total_step_duration_ms.into()),
            ("max_step_duration_ms", metrics.max_step_duration_ms.into()),
            ("trace_duration_ms", metrics.trace_duration_ms.into()),
        ];
        members.into_iter().collect::<Object>().into()
    }
}
