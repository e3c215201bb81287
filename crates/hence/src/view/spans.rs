//! The timeline: what took how long, in windows, and as a whole in buckets.

use std::collections::BTreeMap;

use hence_canon::time::Instant;
use hence_engine::{Measured, MeasuredTimes, RunKind, Span};
use hence_journal::{Record, RecordIndex};
use hence_review::wire::Action;
use hence_server::Window;
use hence_store::StoreError;

use super::Views;
use super::calls::{OpenCall, open_calls};
use super::opened::Opened;
use super::projected::Projected;
use super::records::{ReadLine, outcome_of, read_lines, times_of_lines};
use super::shown::List;
use super::solved::{self, Asked};
use crate::commands::log::LogRow;
use crate::exchanges::ExchangeRow;
use crate::prelude::*;
use crate::sink::StoreBlobs;
use crate::time_log::{times_elsewhere_name, times_name};

/// The most buckets of an overview.
pub(super) const BUCKETS_MAX: u64 = 2000;

/// The buckets of an overview, unless the request names another number.
pub(super) const BUCKETS_DEFAULT: u64 = 500;

/// The bytes at the start of a time log that hold its first measurements.
const FIRST_BYTES: u64 = 64 * 1024;

/// The records that an overview reads at a time.
const CHUNK_RECORDS: u64 = 4096;

/// Something that took time.
#[derive(Serialize, JsonSchema)]
pub(super) struct SpanRow {
    /// The record it belongs to; the number of records for a wait that has not ended, and for a call whose step has no record.
    index: u64,
    /// `steps`, `calls`, `models`, `people` or `control`.
    track: &'static str,
    /// The step, the capability, or the control record.
    name: String,
    /// The key of a call.
    key: Option<String>,
    /// The status of the step, `answered` or `waiting` of a question, `undecided` or `running` of a call whose step has no record.
    status: Option<&'static str>,
    /// Milliseconds after the start; null when it is not known. Of an action of a trace, as the trace states it.
    start_ms: Option<i64>,
    /// Milliseconds after the start.
    end_ms: Option<i64>,
    /// The duration by a clock that never goes back.
    duration_ms: Option<u64>,
    /// Whether the times were measured. Without them only the order is known.
    measured: bool,
    /// The attempt of a call, where its key says it.
    attempt: Option<u64>,
    /// The language model of a call, where its exchange is stored.
    model: Option<String>,
}

/// The spans of a window.
#[derive(Serialize, JsonSchema)]
pub(super) struct SpanList {
    /// The number of records.
    total: u64,
    /// The first record of the window.
    from: u64,
    /// The record at which the next window begins.
    next: Option<u64>,
    /// The first measured time; null when nothing was measured.
    t0: Option<String>,
    /// The spans, in the order of the records.
    items: Vec<SpanRow>,
}

/// A stretch of records.
#[derive(Serialize, JsonSchema, Default)]
pub(super) struct BucketRow {
    /// Its first record.
    from: u64,
    /// Its last record.
    to: u64,
    /// The first measured time in it, in milliseconds after the start.
    start_ms: Option<i64>,
    /// The last measured time in it.
    end_ms: Option<i64>,
    /// The number of its steps.
    steps: u64,
    /// The number of its calls that were measured.
    calls: u64,
    /// The number of its waits for people.
    people: u64,
    /// The number of its steps that failed or were blocked.
    failed: u64,
    /// The sum of the measured durations of its steps.
    busy_ms: u64,
    /// The sum of the measured waits.
    wait_ms: u64,
}

/// The whole run in buckets.
#[derive(Serialize, JsonSchema)]
pub(super) struct Overview {
    /// The number of records.
    total: u64,
    /// The first measured time.
    t0: Option<String>,
    /// The last measured time, in milliseconds after the first.
    end_ms: Option<i64>,
    /// The buckets, in the order of the records.
    items: Vec<BucketRow>,
}

/// Returns the first measured time of a run.
fn first_time(run: &Opened) -> Result<Option<Instant>, CliError> {
    let mut first: Option<Instant> = None;
    for name in [times_elsewhere_name(), times_name()] {
        let bytes = match run.store.attachment_range(&run.id, &name, 0, FIRST_BYTES) {
            Ok((bytes, _)) => bytes,
            Err(StoreError::NoSuchAttachment { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        let lines = bytes.split(|byte| *byte == b'\n').take(FIRST_LINES);
        for at in lines.filter_map(Measured::of_line).map(|measured| start_of(&measured)) {
            first = Some(first.map_or(at, |first| first.min(at)));
        }
    }
    Ok(first)
}

/// The lines at the start of a time log among which the earliest time is.
const FIRST_LINES: usize = 16;

fn start_of(measured: &Measured) -> Instant {
    match measured {
        Measured::Step { span, .. } => span.started_at,
        Measured::Call { call, .. } => call.span.started_at,
        Measured::Asked { at, .. } | Measured::Answered { at, .. } | Measured::Record { at, .. } => *at,
    }
}

/// The clock of a timeline.
#[derive(Clone, Copy)]
struct Start(Option<Instant>);

impl Start {
    fn millis(self, at: Instant) -> Option<i64> {
        at.as_millis().checked_sub(self.0?.as_millis())
    }
}

impl Views {
    pub(super) fn spans(&self, run: &Opened, window: Window) -> Result<SpanList, CliError> {
        let first = first_time(run)?;
        let (total, lines) = read_lines(run, window)?;
        let times = solved::times_of_window(run, &lines)?;
        let start = Start(first);
        let read = lines.len() as u64;
        let mut lines = lines.into_iter();
        let limit = if window == Window::WHOLE { u64::MAX } else { read.max(1) };
        let bounded = Window { limit, ..window };
        let list = List::of(bounded, total, |_| {
            let line = lines.next()?;
            Some(spans_of(run, &line, &times, start))
        });
        let mut items: Vec<SpanRow> = list.items.into_iter().flatten().collect();
        if list.next.is_none() {
            items.extend(open_waits(&times, total, start));
            items.extend(open_calls(run).into_iter().map(|call| open_row(call, total)));
        }
        let t0 = first.map(Instant::to_millis_text);
        Ok(SpanList { total, from: window.from, next: list.next, t0, items })
    }

    pub(super) fn overview(&self, run: &Opened, buckets: u64) -> Result<Overview, CliError> {
        let first = first_time(run)?;
        let start = Start(first);
        let total = run.lines()?.count();
        let size = total.div_ceil(buckets.clamp(1, BUCKETS_MAX)).max(1);
        let mut items: Vec<BucketRow> = Vec::new();
        let (mut from, mut end_ms) = (0, None);
        while from < total {
            let (_, lines) = read_lines(run, Window { from, limit: CHUNK_RECORDS })?;
            let Some(last) = lines.last().map(|line| line.index) else { break };
            let times = times_of_lines(run, &lines)?;
            for line in &lines {
                if line.index % size == 0 {
                    items.push(BucketRow { from: line.index, ..BucketRow::default() });
                }
                if let Some(bucket) = items.last_mut() {
                    bucket.add(line, &times, start);
                    end_ms = end_ms.max(bucket.end_ms);
                }
            }
            from = last + 1;
        }
        Ok(Overview { total, t0: first.map(Instant::to_millis_text), end_ms, items })
    }
}

impl BucketRow {
    fn add(&mut self, line: &ReadLine, times: &MeasuredTimes, start: Start) {
        self.to = line.index;
        if let Ok(chained) = &line.record
            && let Record::Step(step) = &chained.record
        {
            self.steps += 1;
            // What a skill's outcome says is stored outside some records; an overview reads none of them.
            let has_failed = step.result.outcome().is_blocked()
                || step.result.outcome().status() == hence_state::StepStatus::Failed;
            self.failed += u64::from(has_failed);
        }
        let Some(times) = times.of(RecordIndex::new(line.index)) else { return };
        let span = times.span;
        let begins = start.millis(span.map_or(times.recorded_at, |span| span.started_at));
        let ends = start.millis(times.recorded_at);
        self.start_ms = [self.start_ms, begins].into_iter().flatten().min();
        self.end_ms = self.end_ms.max(ends);
        self.calls += times.calls.len() as u64;
        self.people += times.waits.len() as u64;
        self.busy_ms = self.busy_ms.saturating_add(span.map_or(0, |span| span.duration_ms));
        let waited: u64 = times.waits.iter().filter_map(|wait| wait.duration_ms()).sum();
        self.wait_ms = self.wait_ms.saturating_add(waited);
    }
}

fn spans_of(run: &Opened, line: &ReadLine, times: &MeasuredTimes, start: Start) -> Vec<SpanRow> {
    let measured = times.of(RecordIndex::new(line.index));
    let row = match &line.record {
        Ok(chained) => LogRow::of(run.kind(), &StoreBlobs(&run.store), line.index, Ok(chained.clone())),
        Err(error) => LogRow::of(run.kind(), &StoreBlobs(&run.store), line.index, Err(error.clone())),
    };
    let is_step = row.kind == "step";
    let span = measured.and_then(|times| times.span);
    let recorded = measured.and_then(|times| start.millis(times.recorded_at));
    let mut rows = vec![SpanRow {
        index: line.index,
        track: if is_step { "steps" } else { "control" },
        name: if is_step { row.what } else { format!("{} {}", row.kind, row.what) },
        key: None,
        status: row.status,
        start_ms: span.map_or(recorded, |span| start.millis(span.started_at)),
        end_ms: span.map_or(recorded, |span| start.millis(span.ended_at)),
        duration_ms: span.map(|span| span.duration_ms),
        measured: measured.is_some(),
        attempt: None,
        model: None,
    }];
    if run.kind() == RunKind::Solve {
        rows.extend(solved_span(run, line, times, start, rows.first()));
        return rows;
    }
    let Some(measured) = measured else { return rows };
    let models = if measured.calls.is_empty() { BTreeMap::new() } else { models_of(run, line) };
    for call in &measured.calls {
        let model = models.get(&*call.capability).cloned();
        let track = if model.is_some() { "models" } else { "calls" };
        rows.push(call_row(line.index, track, &call.capability, &call.key, call.span, start, model));
    }
    rows.extend(measured.waits.iter().map(|wait| wait_row(line.index, wait, start)));
    rows
}

/// Returns the span of the call whose reply a record of `hence solve` is.
fn solved_span(
    run: &Opened,
    line: &ReadLine,
    times: &MeasuredTimes,
    start: Start,
    step: Option<&SpanRow>,
) -> Option<SpanRow> {
    let asked = Asked::of(run, &solved::entry_of(run, line)?)?;
    let track = asked.track();
    let name = asked.child.unwrap_or_else(|| asked.capability.to_owned());
    let status = Some(asked.status);
    match solved::calls_by_record(times).get(&line.index) {
        Some(call) => {
            let row = call_row(line.index, track, &name, &call.key, call.span, start, Some(asked.model));
            Some(SpanRow { status, attempt: None, ..row })
        }
        // Only the time of its record is known.
        None => Some(SpanRow {
            index: line.index,
            track,
            name,
            key: None,
            status,
            start_ms: step.and_then(|step| step.end_ms),
            end_ms: step.and_then(|step| step.end_ms),
            duration_ms: None,
            measured: false,
            attempt: None,
            model: Some(asked.model),
        }),
    }
}

/// Returns the span of a call whose step has no record. When it began was not measured.
fn open_row(call: OpenCall, total: u64) -> SpanRow {
    SpanRow {
        index: total,
        track: "calls",
        name: call.capability,
        attempt: attempt_of(&call.key),
        key: Some(call.key),
        status: Some(call.status),
        start_ms: None,
        end_ms: None,
        duration_ms: None,
        measured: false,
        model: None,
    }
}

fn call_row(
    index: u64,
    track: &'static str,
    capability: &str,
    key: &str,
    span: Span,
    start: Start,
    model: Option<String>,
) -> SpanRow {
    SpanRow {
        index,
        track,
        name: capability.to_owned(),
        key: Some(key.to_owned()),
        status: None,
        start_ms: start.millis(span.started_at),
        end_ms: start.millis(span.ended_at),
        duration_ms: Some(span.duration_ms),
        measured: true,
        attempt: attempt_of(key),
        model,
    }
}

/// Returns the attempt at the end of a call's key.
pub(super) fn attempt_of(key: &str) -> Option<u64> {
    key.rsplit('/').next()?.parse().ok()
}

fn wait_row(index: u64, wait: &hence_engine::WaitTimes, start: Start) -> SpanRow {
    SpanRow {
        index,
        track: "people",
        name: wait.step.to_string(),
        key: Some(wait.key.to_string()),
        status: Some(if wait.answered_at.is_some() { "answered" } else { "waiting" }),
        start_ms: wait.asked_at.and_then(|at| start.millis(at)),
        end_ms: wait.answered_at.and_then(|at| start.millis(at)),
        duration_ms: wait.duration_ms(),
        measured: true,
        attempt: None,
        model: None,
    }
}

fn open_waits(times: &MeasuredTimes, total: u64, start: Start) -> Vec<SpanRow> {
    let open = times.open_waits().iter().filter(|wait| wait.answered_at.is_none());
    open.map(|wait| wait_row(total, wait, start)).collect()
}

/// Returns the models that the calls of a record asked, by capability.
fn models_of(run: &Opened, line: &ReadLine) -> BTreeMap<String, String> {
    let mut models = BTreeMap::new();
    if outcome_of(run, line).is_none() {
        return models;
    }
    let Ok(record) = hence_canon::parse(&line.bytes) else { return models };
    let Some(result) = record.get("result") else { return models };
    for exchange in ExchangeRow::of_result(result, &StoreBlobs(&run.store)) {
        let text = |value: Option<&hence_canon::Value>| Some(value?.as_str()?.to_owned());
        let capability = exchange.call.as_ref().and_then(|call| text(call.0.get("capability")));
        let parameters = exchange.exchange.as_ref().and_then(|exchange| exchange.0.get("parameters"));
        let model = parameters.and_then(|parameters| text(parameters.get("model")));
        if let (Some(capability), Some(model)) = (capability, model) {
            models.insert(capability, model);
        }
    }
    models
}

/// Returns the actions of a trace as spans: their order, and their durations where the trace has them.
pub(super) fn spans_of_trace(projected: &Projected, window: Window) -> SpanList {
    let actions = projected.trace.actions();
    let first = actions.iter().filter_map(time_of_action).min();
    let start = Start(first);
    let list = List::of_slice(window, actions, |action| {
        let execution = action.object("execution");
        let duration = execution.and_then(|execution| execution.get("duration_ms")?.as_u64());
        let began = time_of_action(action).and_then(|at| start.millis(at));
        let took = duration.and_then(|duration| i64::try_from(duration).ok()).unwrap_or(0);
        SpanRow {
            index: action.position().get() as u64,
            track: "steps",
            name: action.label().to_owned(),
            key: action.id().map(|id| format!("action:{id}")),
            status: status_of_action(action),
            start_ms: began,
            end_ms: began.and_then(|began| began.checked_add(took)),
            duration_ms: duration,
            measured: false,
            attempt: None,
            model: None,
        }
    });
    let t0 = first.map(Instant::to_millis_text);
    SpanList { total: actions.len() as u64, from: window.from, next: list.next, t0, items: list.items }
}

/// Returns the time that a trace states for an action.
pub(super) fn time_of_action(action: &Action) -> Option<Instant> {
    action.text("timestamp")?.parse().ok()
}

/// Returns the status that a trace states for an action, in the words of steps.
pub(super) fn status_of_action(action: &Action) -> Option<&'static str> {
    let stated = action.object("result").and_then(|result| result.get("status")?.as_str());
    match action.text("status").or(stated)? {
        "completed" | "success" | "succeeded" | "passed" => Some("success"),
        "failed" | "failure" | "error" => Some("failed"),
        "partial" => Some("partial"),
        "blocked" => Some("blocked"),
        "skipped" | "cancelled" | "refused" | "rejected" | "denied" => Some("skipped"),
        "pending" | "running" | "in_progress" => Some("running"),
        _ => Some("unknown"),
    }
}
