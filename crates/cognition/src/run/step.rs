//! Executing one step.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Object, Value};

use super::failed_part::NESTED_ERRORS_KEY;
use super::flow::{CallsResult, evaluate, input_of};
use super::invoke::{CallOutput, CallStats, Caller, Stop};
use super::{Context, Note, StepOutcome, Waiting};
use crate::budget::{Costs, Usage, costs_value};
use crate::expression::is_true;
use crate::failure::{ErrorClass, Failure};
use crate::skill::{Flow, Step, Uses};
use crate::state::{Memory, Names, StepStatus, TraceMetrics};

/// The member of an outcome's `meta` that names the runs a step nested.
pub const NESTED_RUNS_KEY: &str = "nested_runs";

/// The member of an outcome's `meta` that lists what was exchanged with models, call by call.
pub const EXCHANGES_KEY: &str = "exchanges";

/// Executes a step on a snapshot of memory. Nothing is written; [`settle`](super::settle) does that when the
/// outcome is due.
///
/// # Errors
/// [`Waiting`] when a call has no answer yet. There is then no outcome; the step is executed again when there is.
pub fn execute(step: &Step, memory: &Memory, context: &mut Context<'_>) -> Result<StepOutcome, Waiting> {
    let mut caller = Caller::new(step, context);
    let attempt = attempt(step, memory, &mut caller);
    let CallStats { metrics, mut notes, called, nested, nested_errors, made, exchanges, cost } = caller.stats;
    if !context.path.is_empty() {
        // The step that nests this run lists its calls too.
        context.made.extend(made.iter().cloned());
    }
    let outcome = StepOutcome { metrics, called, calls: made, ..blank(step) };
    let outcome = match attempt {
        Ok(Some(result)) => completed(outcome, result),
        Ok(None) => outcome.without_effect(StepStatus::Skipped),
        Err((input, Stop::Failed(failure))) => StepOutcome { input, ..outcome }.failed(failure),
        Err((input, Stop::Degraded(reason))) => {
            notes.push(Note { kind: "step_degraded".into(), message: reason });
            StepOutcome { input, ..outcome }.without_effect(StepStatus::Degraded)
        }
        Err((_, Stop::Waiting(waiting))) => return Err(waiting),
    };
    let outcome = StepOutcome { meta: with_cost(outcome.meta, &cost), ..outcome };
    let meta = if nested.is_empty() { outcome.meta } else { outcome.meta.with(NESTED_RUNS_KEY, nested) };
    let meta = match nested_errors.is_empty() || outcome.status == StepStatus::Failed {
        true => meta,
        false => meta.with(NESTED_ERRORS_KEY, nested_errors),
    };
    let meta = if exchanges.is_empty() { meta } else { meta.with(EXCHANGES_KEY, exchanges) };
    Ok(StepOutcome { notes, meta, ..outcome })
}

/// Returns what is reported about a step with the cost of all of its calls, not only of the last.
fn with_cost(meta: Object, cost: &Costs) -> Object {
    // The report of a single call is left as the provider wrote it.
    if cost.is_empty() || Usage::of_meta(&meta).cost == *cost {
        meta
    } else {
        meta.with("cost", costs_value(cost))
    }
}

/// Returns the outcome of a step that has done nothing yet.
pub fn blank(step: &Step) -> StepOutcome {
    let reads = step.input.as_ref().map_or_else(|_| Names::default(), |mapping| mapping.reads().clone());
    StepOutcome {
        step_id: step.id.clone(),
        uses: step.uses_text.clone(),
        status: StepStatus::Completed,
        input: Object::new().into(),
        produced: None,
        commits: Vec::new(),
        wired: step.wired.clone(),
        reads,
        control_reads: step.control.reads.clone(),
        writes: Names::default(),
        meta: Object::new(),
        metrics: TraceMetrics::default(),
        called: BTreeMap::new(),
        calls: Vec::new(),
        notes: Vec::new(),
        failure: None,
    }
}

fn completed(outcome: StepOutcome, result: CallsResult) -> StepOutcome {
    StepOutcome {
        input: result.input,
        produced: Some(result.produced.into()),
        commits: result.commits,
        meta: result.meta,
        ..outcome
    }
}

type Attempt = Result<Option<CallsResult>, (Value, Stop)>;

/// Returns the result of the calls, nothing if the condition did not hold, or the reason it stopped and its input.
fn attempt(step: &Step, memory: &Memory, caller: &mut Caller<'_, '_>) -> Attempt {
    let no_input = |failure: Failure| (Object::new().into(), Stop::Failed(failure));
    // The condition comes first: a step that is not wanted need not have an input.
    if let Some(condition) = &step.control.condition
        && !is_true(&evaluate(condition, memory).map_err(no_input)?)
    {
        return Ok(None);
    }
    let input = input_of(step, memory).map_err(no_input)?;
    flow(step, memory, caller, input.clone()).map(Some).map_err(|stop| (input, stop))
}

fn flow(
    step: &Step,
    memory: &Memory,
    caller: &mut Caller<'_, '_>,
    input: Value,
) -> Result<CallsResult, Stop> {
    if let Flow::Scatter(scatter) = &step.control.flow {
        return caller.scatter(scatter, input);
    }
    let (uses, matched) = route(step, memory)?;
    let result = match &step.control.flow {
        Flow::Foreach(foreach) => caller.foreach(foreach, &uses, memory, input)?,
        Flow::While(whiles) => caller.repeat(whiles, &uses, memory)?,
        Flow::Once | Flow::Scatter(_) => {
            let CallOutput { output, meta } = caller.invoke(&uses, &input)?;
            CallsResult::once(input, output, meta)
        }
    };
    Ok(match matched {
        None => result,
        Some(matched) => CallsResult { meta: result.meta.with("router_matched", matched), ..result },
    })
}

/// Returns what a step calls, and the case that chose it.
pub(super) fn route(step: &Step, memory: &Memory) -> Result<(Uses, Option<Arc<str>>), Failure> {
    let Some(router) = &step.control.router else { return Ok((step.uses.clone(), None)) };
    let value = evaluate(router.on(), memory)?;
    match router.route(&value) {
        Some(route) => Ok((route.uses, Some(route.matched))),
        None => {
            let message = format_args!("no case for {value} and no default");
            Err(Failure::new(ErrorClass::Expression, message))
        }
    }
}
