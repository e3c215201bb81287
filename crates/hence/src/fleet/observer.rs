//! The messages and the figures of a worker.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hence_fleet::{JobKind, Observer, QueueReport, Settlement, WorkerEvent};

use super::telemetry::{SpanCounts, SpanSender, Telemetry};
use super::time_text;
use crate::clock;
use crate::escape::escape;

/// The form of the messages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LogForm {
    /// Nothing is said.
    Quiet,
    /// Lines for people.
    Text,
    /// One JSON object in each line.
    Json,
}

/// The upper bounds of the classes of durations, in milliseconds.
const CLASSES_MS: [u64; 9] = [10, 50, 100, 500, 1000, 5000, 30_000, 300_000, 3_600_000];

/// Durations by class.
#[derive(Default)]
struct Durations {
    counts: [u64; CLASSES_MS.len()],
    count: u64,
    sum_ms: u64,
}

impl Durations {
    fn add(&mut self, duration: Duration) {
        let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        for (count, _) in self.counts.iter_mut().zip(CLASSES_MS).filter(|(_, most)| millis <= *most) {
            *count += 1;
        }
        self.count += 1;
        self.sum_ms = self.sum_ms.saturating_add(millis);
    }

    fn write(&self, out: &mut String, name: &str, help: &str) {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} histogram");
        for (count, most) in self.counts.iter().zip(CLASSES_MS) {
            let _ = writeln!(out, "{name}_bucket{{le=\"{}\"}} {count}", seconds(most));
        }
        let _ = writeln!(out, "{name}_bucket{{le=\"+Inf\"}} {}", self.count);
        let _ = writeln!(out, "{name}_sum {}\n{name}_count {}", seconds(self.sum_ms), self.count);
    }
}

fn seconds(millis: u64) -> String {
    format!("{}.{:03}", millis / 1000, millis % 1000)
}

#[derive(Default)]
struct Figures {
    /// Ends of drives by their word.
    ends: BTreeMap<&'static str, u64>,
    lags: Durations,
    drives: Durations,
    driving: u64,
    queue_errors: u64,
    renewed: Option<Instant>,
    is_draining: bool,
}

/// Somebody who writes messages and counts.
pub(super) struct WorkerObserver {
    name: String,
    form: LogForm,
    lease: Duration,
    figures: Mutex<Figures>,
    telemetry: Mutex<Option<Telemetry>>,
    spans: SpanCounts,
}

impl WorkerObserver {
    pub(super) fn new(name: &str, form: LogForm, lease: Duration, telemetry: Option<Telemetry>) -> Self {
        let (figures, telemetry) = (Mutex::default(), Mutex::new(telemetry));
        Self { name: name.to_owned(), form, lease, figures, telemetry, spans: SpanCounts::default() }
    }

    /// Sends spans until [`end_telemetry`](Self::end_telemetry) is called.
    pub(super) fn send_spans(&self, sender: SpanSender) {
        sender.run(&self.spans, |change| self.say("telemetry", &[("says", change)]));
    }

    /// Makes no more spans. Those that wait are still sent.
    pub(super) fn end_telemetry(&self) {
        drop(self.telemetry.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    fn figures(&self) -> MutexGuard<'_, Figures> {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the worker reached its queue within the last lease.
    pub(super) fn is_healthy(&self) -> bool {
        self.figures().renewed.is_some_and(|at| at.elapsed() <= self.lease)
    }

    /// Returns the figures in the text format of Prometheus.
    pub(super) fn metrics(&self, queues: &[QueueReport], now_ms: u64) -> String {
        let figures = self.figures();
        let mut out = String::new();
        let _ = writeln!(out, "# HELP hence_worker_drives_total Drives that ended, by their end.");
        let _ = writeln!(out, "# TYPE hence_worker_drives_total counter");
        for (end, count) in &figures.ends {
            let _ = writeln!(out, "hence_worker_drives_total{{end=\"{end}\"}} {count}");
        }
        figures.lags.write(&mut out, "hence_worker_claim_lag_seconds", "Time from ready to claimed.");
        figures.drives.write(&mut out, "hence_worker_drive_seconds", "Duration of a drive.");
        let gauges = [
            ("hence_worker_driving", "Runs that are driven now.", figures.driving),
            ("hence_worker_draining", "Whether the worker is about to end.", figures.is_draining.into()),
        ];
        for (name, help, value) in gauges {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
        }
        let errors = "hence_worker_queue_errors_total";
        let _ = writeln!(out, "# HELP {errors} Requests to the queue that failed.\n# TYPE {errors} counter");
        let _ = writeln!(out, "{errors} {}", figures.queue_errors);
        let spans = "hence_worker_spans_total";
        let _ = writeln!(
            out,
            "# HELP {spans} Spans for a collector, by what became of them.\n# TYPE {spans} counter"
        );
        for (word, count) in [("sent", &self.spans.sent), ("dropped", &self.spans.dropped)] {
            let _ = writeln!(out, "{spans}{{outcome=\"{word}\"}} {}", count.load(Ordering::Relaxed));
        }
        write_queues(&mut out, queues, now_ms);
        out
    }

    fn say(&self, event: &str, members: &[(&str, &str)]) {
        let line = match self.form {
            LogForm::Quiet => return,
            LogForm::Text => {
                let told: Vec<String> =
                    members.iter().map(|(name, value)| format!("{name} {}", escape(value))).collect();
                format!("{event}: {}", told.join(", "))
            }
            LogForm::Json => {
                let mut object = serde_json::Map::new();
                let at = clock::wall().map(|at| at.to_string());
                object.insert("at".to_owned(), at.into());
                object.insert("worker".to_owned(), self.name.clone().into());
                object.insert("event".to_owned(), event.into());
                object.extend(members.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())));
                serde_json::Value::Object(object).to_string()
            }
        };
        // A closed stderr must not end a worker.
        let _ = writeln!(std::io::stderr().lock(), "{line}");
    }
}

fn write_queues(out: &mut String, queues: &[QueueReport], now_ms: u64) {
    let _ = writeln!(out, "# HELP hence_queue_jobs Jobs of a queue by state.\n# TYPE hence_queue_jobs gauge");
    for queue in queues {
        for (kind, count) in &queue.jobs {
            let _ = writeln!(
                out,
                "hence_queue_jobs{{queue=\"{}\",state=\"{}\"}} {count}",
                queue.name,
                kind_word(*kind)
            );
        }
    }
    let lag = "hence_queue_lag_seconds";
    let _ = writeln!(
        out,
        "# HELP {lag} Time for which the longest waiting job could be claimed.\n# TYPE {lag} gauge"
    );
    for queue in queues {
        let waited = queue.ready_since.map_or(0, |since| now_ms.saturating_sub(since.millis()));
        let _ = writeln!(out, "{lag}{{queue=\"{}\"}} {}", queue.name, seconds(waited));
    }
}

/// Returns the word for a kind of state.
pub(super) fn kind_word(kind: JobKind) -> &'static str {
    match kind {
        JobKind::Ready => "ready",
        JobKind::Claimed => "claimed",
        JobKind::Parked => "parked",
        JobKind::Ended => "ended",
        JobKind::Dead => "dead",
        JobKind::Quarantined => "quarantined",
        JobKind::Cancelled => "cancelled",
    }
}

/// Returns the word and the reason of the end of a drive.
pub(super) fn end_words(settlement: &Settlement) -> (&'static str, String) {
    match settlement {
        Settlement::Ended { status } => ("ended", status.clone()),
        Settlement::Parked(hence_fleet::Wait::Person(place)) => ("parked", place.clone()),
        Settlement::Parked(hence_fleet::Wait::Until(at)) => ("parked", format!("until {}", time_text(*at))),
        Settlement::Parked(hence_fleet::Wait::Children(_)) => ("parked", "for other runs".to_owned()),
        Settlement::Failed { reason } => ("failed", reason.clone()),
        Settlement::Hopeless { reason } => ("hopeless", reason.clone()),
        Settlement::Released => ("released", "at a safe point".to_owned()),
        Settlement::Busy { holder } => ("busy", holder.clone()),
        Settlement::Declined { reason } => ("declined", reason.clone()),
    }
}

impl Observer for WorkerObserver {
    fn hear(&self, event: &WorkerEvent<'_>) {
        if let Some(telemetry) = &*self.telemetry.lock().unwrap_or_else(PoisonError::into_inner) {
            telemetry.hear(event, &self.spans);
        }
        match event {
            WorkerEvent::Registered(id) => {
                self.figures().renewed = Some(Instant::now());
                self.say("registered", &[("as", id.name.as_str())]);
            }
            WorkerEvent::Renewed => self.figures().renewed = Some(Instant::now()),
            WorkerEvent::Claimed(claim) => {
                let mut figures = self.figures();
                figures.driving += 1;
                figures.lags.add(claim.lag.duration());
                drop(figures);
                self.say("claimed", &[("run", claim.run.as_str()), ("queue", claim.queue.as_str())]);
            }
            WorkerEvent::Driven { claim, settlement, took } => {
                let (end, reason) = end_words(settlement);
                let mut figures = self.figures();
                figures.driving = figures.driving.saturating_sub(1);
                *figures.ends.entry(end).or_default() += 1;
                figures.drives.add(*took);
                drop(figures);
                self.say(end, &[("run", claim.run.as_str()), ("reason", &reason)]);
            }
            WorkerEvent::QueueFailed(error) => {
                self.figures().queue_errors += 1;
                self.say("queue", &[("error", &error.to_string())]);
            }
            WorkerEvent::Remark(remark) => self.say("queue", &[("remark", remark)]),
            WorkerEvent::Draining => {
                self.figures().is_draining = true;
                self.say("draining", &[("until", "every run is at a safe point")]);
            }
            _ => {}
        }
    }
}
