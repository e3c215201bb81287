//! The calls of recorded steps: to whom, with what, and what came back.

use std::collections::BTreeMap;

use hence_canon::Value;
use hence_capabilities::Library;
use hence_cognition::budget::{Limits, Usage};
use hence_cognition::run::{Effect, MadeCall, StepOutcome};
use hence_engine::{MeasuredTimes, RunKind};
use hence_journal::{Chained, Record, RecordIndex};
use hence_server::Window;
use hence_skills::{Host as _, QuestionKind};
use hence_store::Lease;

use super::Views;
use super::opened::Opened;
use super::records::{ExchangeShown, ReadLine, outcome_of, read_lines};
use super::shown::{Budget, List, Shown};
use super::solved::{self, Asked};
use super::spans::attempt_of;
use crate::exchanges::ExchangeRow;
use crate::measured::CallTimesRow;
use crate::prelude::*;
use crate::sink::StoreBlobs;
use crate::skills;
use crate::usage::{CostRow, UsageReport};

/// The records that a list of calls reads at a time.
const CHUNK_RECORDS: u64 = 512;

/// The records before one that are searched for the same capability.
const BEFORE_RECORDS: u64 = 2000;

/// A call in a list.
#[derive(Serialize, JsonSchema, Clone)]
pub(super) struct CallRow {
    /// The record of its step; the number of records for a call whose step has none.
    pub(super) index: u64,
    /// The step.
    step: String,
    /// The capability; of a call of `hence solve`: `turn`, `summary`, `llm_query` or `rlm_query`.
    capability: String,
    /// The key of the call, where it is known.
    key: Option<String>,
    /// `replied`, `failed`, `undecided`, `running` or `repeated`; where the record does not list its calls and its step has not
    /// succeeded, the status of the step.
    status: String,
    /// `pure`, `reads`, `acts` or `asks`, as the record or the declaration says it.
    effect: Option<&'static str>,
    /// The attempt, where the key says it.
    attempt: Option<u64>,
    /// The measured duration.
    duration_ms: Option<u64>,
    /// The number of exchanges with language models that the record names.
    exchanges: usize,
    /// Tokens sent to language models; zero where only the sum of several calls of the step is known.
    tokens_in: u64,
    /// Tokens received.
    tokens_out: u64,
    /// The cost in each currency.
    cost: Vec<CostRow>,
    /// The language model, for a call of `hence solve`.
    model: Option<String>,
    /// The child run that answered, for a call of `hence solve`.
    child: Option<String>,
    /// The last earlier record of the same capability, among those that were read.
    previous: Option<u64>,
}

/// One call of a record.
#[derive(Serialize, JsonSchema)]
struct MadeRow {
    key: String,
    capability: String,
    /// `replied`, `failed` or `undecided`; where the record does not list its calls and its step has not succeeded, the status
    /// of the step.
    status: Option<&'static str>,
    effect: Option<&'static str>,
    attempt: Option<u64>,
    /// The input, where the record has it.
    input: Option<Shown>,
    /// The key by which the capability recognises a repeated call.
    idempotency_key: Option<String>,
    /// The person who decided what became of the call.
    decided_by: Option<String>,
    started_at: Option<String>,
    ended_at: Option<String>,
    duration_ms: Option<u64>,
}

/// The usage of a step.
#[derive(Serialize, JsonSchema)]
struct StepUsage {
    /// The calls.
    calls: u64,
    /// Tokens sent to language models.
    tokens_in: u64,
    /// Tokens received.
    tokens_out: u64,
    /// The cost in each currency.
    cost: Vec<CostRow>,
}

/// The calls of one record.
#[derive(Serialize, JsonSchema)]
pub(super) struct CallDetail {
    /// The record.
    pub(super) index: u64,
    /// The step.
    step: String,
    /// The capability that the step uses.
    capability: String,
    /// The status of the step.
    status: Option<&'static str>,
    /// The input of the step.
    input: Option<Shown>,
    /// The output of the step.
    output: Option<Shown>,
    /// The hash of the record.
    hash: Option<String>,
    /// The calls.
    calls: Vec<MadeRow>,
    /// The exchanges with language models.
    pub(super) exchanges: Vec<ExchangeShown>,
    /// The usage of the step.
    usage: StepUsage,
    /// The last earlier record with the same capability.
    previous: Option<u64>,
}

fn step_name(line: &ReadLine) -> Option<&str> {
    match &line.record {
        Ok(Chained { record: Record::Step(step), .. }) if !step.result.step().starts_with('$') => {
            Some(step.result.step())
        }
        _ => None,
    }
}

/// Returns the capability of a record's step; for a bound step its own name.
fn capability_of(line: &ReadLine, outcome: Option<&StepOutcome>) -> Option<String> {
    match outcome {
        Some(outcome) => Some(outcome.uses.to_string()),
        None => step_name(line).map(str::to_owned),
    }
}

fn used(outcome: Option<&StepOutcome>, line: &ReadLine) -> UsageReport {
    let usage = match (outcome, &line.record) {
        (Some(outcome), _) => Usage::of_meta(&outcome.meta),
        (None, Ok(Chained { record: Record::Step(step), .. })) => {
            let metrics = step.result.others().get("metrics").and_then(Value::as_object);
            metrics.map(Usage::of_meta).unwrap_or_default()
        }
        _ => Default::default(),
    };
    UsageReport::of(&usage, &Limits::default())
}

impl Views {
    pub(super) fn calls(
        &self,
        run: &Opened,
        capability: Option<&str>,
        window: Window,
    ) -> Result<List<CallRow>, CliError> {
        let mut budget = Budget::of(window);
        let effects = DeclaredEffects::of(run);
        let (mut items, mut previous): (Vec<CallRow>, BTreeMap<String, u64>) = (Vec::new(), BTreeMap::new());
        let mut from = window.from;
        loop {
            let (total, lines) = read_lines(run, Window { from, limit: CHUNK_RECORDS })?;
            let Some(last) = lines.last().map(|line| line.index) else {
                let open = open_calls(run).into_iter().map(|open| open.row(total, &effects));
                items.extend(open.filter(|row| capability.is_none_or(|wanted| row.capability == wanted)));
                return Ok(List { total: None, from: window.from, next: None, items });
            };
            let times = solved::times_of_window(run, &lines)?;
            for line in &lines {
                let rows = rows_of(run, line, &times, &effects, &mut previous);
                let rows: Vec<CallRow> = rows
                    .into_iter()
                    .filter(|row| capability.is_none_or(|wanted| row.capability == wanted))
                    .collect();
                let is_full = !items.is_empty() && (items.len() + rows.len()) as u64 > window.limit;
                if is_full || (!rows.iter().all(|row| budget.take(row)) && !items.is_empty()) {
                    return Ok(List { total: None, from: window.from, next: Some(line.index), items });
                }
                items.extend(rows);
            }
            from = last + 1;
            let is_far = window != Window::WHOLE && from - window.from >= SCANNED_RECORDS_MAX;
            if is_far && from < total {
                return Ok(List { total: None, from: window.from, next: Some(from), items });
            }
        }
    }

    pub(super) fn call(&self, run: &Opened, index: u64) -> Result<CallDetail, CliError> {
        let detail = self.record(run, index)?;
        let line = self.line_at(run, index)?;
        let outcome = outcome_of(run, &line);
        let Some(capability) = capability_of(&line, outcome.as_ref()) else {
            let message = format!("run {}: record {index} is no step, so it calls nothing", run.id);
            return Err(CliError::new(Code::NoSuchPlace, message).with_hint(hint::records(run.name())));
        };
        let solved = solved::entry_of(run, &line).and_then(|entry| Asked::of(run, &entry));
        let used = match &solved {
            Some(asked) => UsageReport::of(&asked.usage, &Limits::default()),
            None => used(outcome.as_ref(), &line),
        };
        let UsageReport { tokens_in, tokens_out, cost, .. } = used;
        let mut made = made_rows(outcome.as_ref(), &detail.calls, detail.status, &DeclaredEffects::of(run));
        if let Some(asked) = &solved {
            for row in &mut made {
                row.capability = asked.capability.to_owned();
                row.status = Some(asked.status);
                row.attempt = None;
            }
        }
        let counted = outcome.as_ref().map(|outcome| outcome.called.values().sum());
        let usage = StepUsage { calls: counted.unwrap_or(made.len() as u64), tokens_in, tokens_out, cost };
        Ok(CallDetail {
            index,
            step: detail.what,
            status: detail.status,
            input: detail.input,
            output: detail.output,
            hash: detail.hash,
            calls: made,
            exchanges: detail.exchanges,
            usage,
            previous: previous_of(run, index, &capability)?,
            capability,
        })
    }
}

/// The most records that one list of calls reads: a run may have many steps that call nothing.
const SCANNED_RECORDS_MAX: u64 = 20_000;

/// Finds the last earlier record of the same capability, not too far away.
fn previous_of(run: &Opened, index: u64, capability: &str) -> Result<Option<u64>, CliError> {
    let from = index.saturating_sub(BEFORE_RECORDS);
    let (_, lines) = read_lines(run, Window { from, limit: index - from })?;
    let is_same =
        |line: &&ReadLine| capability_of(line, outcome_of(run, line).as_ref()).as_deref() == Some(capability);
    Ok(lines.iter().rev().find(is_same).map(|line| line.index))
}

/// The effects that the capabilities of a run declare.
struct DeclaredEffects(Option<Library>);

impl DeclaredEffects {
    fn of(run: &Opened) -> Self {
        if run.kind().is_driven_from_outside() || run.kind() == RunKind::Solve {
            return Self(None);
        }
        let attached = run.store.attachment(&run.id, &skills::capabilities_name()).ok();
        // Declarations that cannot be read are reported by what needs them; the built-in functions are known all the same.
        let declared = attached.and_then(|bytes| skills::read_attached_capabilities(&bytes).ok());
        Self(Some(Library::with(declared.unwrap_or_default())))
    }

    /// Returns the effect of a call; nothing for a capability that is neither declared nor built in.
    fn effect(&self, capability: &str) -> Option<&'static str> {
        let library = self.0.as_ref()?;
        let effect = library.effect(capability);
        let is_known = effect != Effect::Acts || library.declarations().get(capability).is_some();
        is_known.then(|| effect.as_str())
    }
}

/// A call of a step that has no record yet.
pub(super) struct OpenCall {
    pub(super) step: String,
    pub(super) capability: String,
    pub(super) key: String,
    /// `undecided`, or `running` while a process holds the run.
    pub(super) status: &'static str,
}

impl OpenCall {
    fn row(self, index: u64, effects: &DeclaredEffects) -> CallRow {
        CallRow {
            index,
            effect: effects.effect(&self.capability),
            attempt: attempt_of(&self.key),
            status: self.status.to_owned(),
            step: self.step,
            capability: self.capability,
            key: Some(self.key),
            duration_ms: None,
            exchanges: 0,
            tokens_in: 0,
            tokens_out: 0,
            cost: Vec::new(),
            model: None,
            child: None,
            previous: None,
        }
    }
}

/// Returns the calls that were begun and of which nothing else is known.
pub(super) fn open_calls(run: &Opened) -> Vec<OpenCall> {
    // A call log that cannot be read is reported by what needs it.
    let Ok(Some(history)) = skills::history(&run.store, &run.id) else { return Vec::new() };
    let is_held = !matches!(run.store.lease(&run.id), Ok(Lease::Free));
    let asked = history.questions().filter(|(_, question)| question.kind == QuestionKind::Undecided);
    let calls = history.undecided().chain(asked.map(|(call, _)| call));
    let mut found: Vec<OpenCall> = Vec::new();
    for call in calls {
        if found.iter().all(|known| *known.key != *call.key) {
            found.push(OpenCall {
                step: call.step.to_string(),
                capability: call.capability.to_string(),
                key: call.key.to_string(),
                status: if is_held { "running" } else { "undecided" },
            });
        }
    }
    found
}

/// Returns the status of a call that its record does not list: a step that succeeded got its replies.
fn unlisted_status(step: &'static str) -> &'static str {
    match step {
        "success" | "partial" | "degraded" => "replied",
        other => other,
    }
}

fn rows_of(
    run: &Opened,
    line: &ReadLine,
    times: &MeasuredTimes,
    effects: &DeclaredEffects,
    previous: &mut BTreeMap<String, u64>,
) -> Vec<CallRow> {
    if run.kind() == RunKind::Solve {
        return solved_row(run, line, times, previous).into_iter().collect();
    }
    let outcome = outcome_of(run, line);
    let Some(step) = step_name(line) else { return Vec::new() };
    let Some(uses) = capability_of(line, outcome.as_ref()) else { return Vec::new() };
    let measured = times.of(RecordIndex::new(line.index));
    let measured: Vec<_> = measured.iter().flat_map(|times| &times.calls).collect();
    let before = previous.insert(uses.clone(), line.index);
    // A built-in step of a problem calls nothing.
    if run.kind().is_driven_from_outside() || (outcome.is_none() && measured.is_empty()) {
        return Vec::new();
    }
    let exchanges = count_exchanges(run, line);
    let listed: Vec<&MadeCall> = outcome.iter().flat_map(StepOutcome::listed_calls).collect();
    let is_only = measured.len().max(listed.len()) <= 1;
    let usage_of = |made: Option<&MadeCall>| match made.and_then(|made| made.reply.as_ref().ok()) {
        _ if is_only => used(outcome.as_ref(), line),
        Some(reply) => UsageReport::of(&Usage::of_meta(&reply.meta), &Limits::default()),
        None => UsageReport::default(),
    };
    let status = match &line.record {
        Ok(Chained { record: Record::Step(step), .. }) => {
            crate::standing::of_step(run.kind(), &step.result, &StoreBlobs(&run.store))
        }
        _ => "unknown",
    };
    let row = |capability: &str, key: Option<&str>, made: Option<&MadeCall>, duration_ms: Option<u64>| {
        let UsageReport { tokens_in, tokens_out, cost, .. } = usage_of(made);
        CallRow {
            index: line.index,
            step: step.to_owned(),
            capability: capability.to_owned(),
            key: key.map(str::to_owned),
            status: made.map_or(unlisted_status(status), |made| made.outcome().as_str()).to_owned(),
            effect: made.map(|made| made.effect.as_str()).or_else(|| effects.effect(capability)),
            attempt: key.and_then(attempt_of),
            duration_ms,
            exchanges,
            tokens_in,
            tokens_out,
            cost,
            model: None,
            child: None,
            previous: before,
        }
    };
    if !measured.is_empty() {
        let made = |key: &str| listed.iter().find(|made| &*made.key == key).copied();
        let one = |call: &&hence_engine::CallTimes| {
            row(&call.capability, Some(&call.key), made(&call.key), Some(call.span.duration_ms))
        };
        return measured.iter().map(one).collect();
    }
    if !listed.is_empty() {
        return listed.iter().map(|made| row(&made.capability, Some(&made.key), Some(made), None)).collect();
    }
    vec![row(&uses, None, None, None)]
}

/// Returns the call whose reply a record of `hence solve` is.
fn solved_row(
    run: &Opened,
    line: &ReadLine,
    times: &MeasuredTimes,
    previous: &mut BTreeMap<String, u64>,
) -> Option<CallRow> {
    let asked = Asked::of(run, &solved::entry_of(run, line)?)?;
    let measured = solved::calls_by_record(times).get(&line.index).map(|call| call.span.duration_ms);
    let UsageReport { tokens_in, tokens_out, cost, .. } = UsageReport::of(&asked.usage, &Limits::default());
    Some(CallRow {
        index: line.index,
        previous: previous.insert(asked.capability.to_owned(), line.index),
        step: asked.step,
        capability: asked.capability.to_owned(),
        key: Some(format!("solve/{}", line.index)),
        status: asked.status.to_owned(),
        effect: None,
        attempt: None,
        duration_ms: measured,
        exchanges: 1,
        tokens_in,
        tokens_out,
        cost,
        model: Some(asked.model),
        child: asked.child,
    })
}

fn count_exchanges(run: &Opened, line: &ReadLine) -> usize {
    let record = hence_canon::parse(&line.bytes).ok();
    let result = record.as_ref().and_then(|record| record.get("result"));
    result.map_or(0, |result| ExchangeRow::count_of_result(result, &StoreBlobs(&run.store)))
}

fn made_rows(
    outcome: Option<&StepOutcome>,
    measured: &[CallTimesRow],
    step: Option<&'static str>,
    effects: &DeclaredEffects,
) -> Vec<MadeRow> {
    let listed: Vec<&MadeCall> = outcome.into_iter().flat_map(StepOutcome::listed_calls).collect();
    let of_listed = |made: &&MadeCall| {
        let times = measured.iter().find(|call| *call.key == *made.key);
        MadeRow {
            key: made.key.to_string(),
            capability: made.capability.to_string(),
            status: Some(made.outcome().as_str()),
            effect: Some(made.effect.as_str()),
            attempt: attempt_of(&made.key),
            input: Some(Shown::of(&made.input)),
            idempotency_key: Some(made.idempotency_key.to_string()),
            decided_by: made.decided_by().map(str::to_owned),
            started_at: times.map(|call| call.started_at.clone()),
            ended_at: times.map(|call| call.ended_at.clone()),
            duration_ms: times.map(|call| call.duration_ms),
        }
    };
    if !listed.is_empty() {
        return listed.iter().map(of_listed).collect();
    }
    let of_measured = |call: &CallTimesRow| MadeRow {
        key: call.key.clone(),
        capability: outcome.map(|outcome| outcome.uses.to_string()).unwrap_or_default(),
        status: step.map(unlisted_status),
        effect: outcome.and_then(|outcome| effects.effect(&outcome.uses)),
        attempt: attempt_of(&call.key),
        input: None,
        idempotency_key: None,
        decided_by: None,
        started_at: Some(call.started_at.clone()),
        ended_at: Some(call.ended_at.clone()),
        duration_ms: Some(call.duration_ms),
    };
    measured.iter().map(of_measured).collect()
}
