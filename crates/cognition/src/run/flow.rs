//! Calling once, per item, or while a condition holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Float, Object, Value};

use crate::expression::ExpressionError;
use crate::failure::{ErrorClass, Failure};
use crate::mapping::{InputMappingError, OutputMapping, OutputMappingError};
use crate::reference::MissingName;
use crate::run::capabilities::{key_part, nested_run_id};
use crate::run::driver::run_in;
use crate::run::failed_part::{FOREACH_ERRORS_KEY, FailedPart, SCATTER_ERRORS_KEY};
use crate::run::invoke::{CallOutput, Caller, Stop};
use crate::run::outcome::SCATTER_WINNER_KEY;
use crate::run::{CallError, CallPlace, Context, NestedCall, NestedRun, RunRequest, SKILL_DEPTH_MAX};
use crate::skill::{
    Foreach, ITERATIONS_MAX, ItemErrors, PARALLEL_MAX, Scatter, ScatterMerge, SourceExpression, Step, Uses,
    While,
};
use crate::state::{Frame, Memory, Names, RunStatus};

/// The combined result of the calls of a step.
pub(super) struct CallsResult {
    pub(super) input: Value,
    pub(super) produced: Object,
    pub(super) commits: Vec<Value>,
    pub(super) meta: Object,
}

impl CallsResult {
    pub(super) fn once(input: Value, produced: Object, meta: Object) -> Self {
        Self { input, commits: vec![produced.clone().into()], produced, meta }
    }
}

/// Makes the input of a step.
pub(super) fn input_of(step: &Step, memory: &Memory) -> Result<Value, Failure> {
    let mapping = step.input.as_ref().map_err(|error| Failure::new(ErrorClass::InputMapping, error))?;
    mapping.resolve(memory).map_err(|error| {
        let failure = Failure::new(ErrorClass::InputMapping, &error);
        match &error {
            InputMappingError::Reference { source, .. } => {
                failure.because(Failure::new(ErrorClass::ReferenceResolution, source))
            }
            InputMappingError::Invalid(_) => failure,
        }
    })
}

/// Evaluates an expression of a step.
pub(super) fn evaluate(formula: &SourceExpression, memory: &Memory) -> Result<Value, Failure> {
    let value =
        formula.expression().map_err(|error| ExpressionError::from(error.clone())).and_then(|expression| {
            expression.evaluate(memory, MissingName::ErrorUnlessOptional).map_err(ExpressionError::from)
        });
    value.map_err(|error| Failure::new(ErrorClass::Expression, format_args!("`{}`: {error}", formula.text())))
}

/// Writes an output of a step.
pub(super) fn write(step: &Step, memory: &Memory, produced: &Value) -> Result<Memory, OutputMappingError> {
    let strategy = step.merge_strategy.clone()?;
    let mapping: &OutputMapping = step.output.as_ref().map_err(|error| error.clone())?;
    mapping.apply(memory, produced, strategy)
}

impl Caller<'_, '_> {
    pub(super) fn foreach(
        &mut self,
        foreach: &Foreach,
        uses: &Uses,
        memory: &Memory,
        input: Value,
    ) -> Result<CallsResult, Stop> {
        let items = match evaluate(foreach.items(), memory)? {
            Value::Array(items) => items,
            other => {
                let message = format_args!("`{}` is a list, found {}", foreach.items().text(), other.kind());
                return Err(Failure::new(ErrorClass::Expression, message).into());
            }
        };
        let base = input.as_object().cloned().unwrap_or_default();
        let mut collected = Collected::default();
        let mut meta = Object::new();
        let mut attempts = 0;
        let mut errors = Vec::new();
        // Whole waves are called, so which calls are made depends on the items and never on timing.
        let width = usize::try_from(foreach.parallel.clamp(1, PARALLEL_MAX)).unwrap_or(1);
        for (wave, chunk) in items.chunks(width).enumerate() {
            let first = wave * width;
            let inputs =
                (first..).zip(chunk).map(|(index, item)| (uses, item_input(foreach, &base, index, item)));
            let results = all_answered(self.invoke_side_by_side(inputs.collect(), first as u64))?;
            for (index, result) in (first..).zip(results) {
                match (result, foreach.on_error) {
                    (Ok(output), _) => {
                        attempts += attempts_of(&output.meta).unwrap_or(0);
                        collected.add(index, output.output);
                        meta = output.meta;
                    }
                    (Err(Stop::Failed(failure)), ItemErrors::Continue) if !failure.class.is_final() => {
                        errors.push(FailedPart::item(index, &failure));
                    }
                    (Err(stop), _) => return Err(stop),
                }
            }
        }
        meta = meta.with("foreach_count", items.len()).with("foreach_total_attempts", attempts);
        if !errors.is_empty() {
            meta = meta.with(FOREACH_ERRORS_KEY, errors);
        }
        let produced = collected.into_object(items.len());
        // Nothing to call for means nothing produced, and so nothing to write.
        let commits = if items.is_empty() { Vec::new() } else { vec![produced.clone().into()] };
        Ok(CallsResult { input, produced, commits, meta })
    }

    pub(super) fn repeat(
        &mut self,
        whiles: &While,
        uses: &Uses,
        memory: &Memory,
    ) -> Result<CallsResult, Stop> {
        let mut seen = memory.clone();
        let mut commits = Vec::new();
        loop {
            self.place.iteration = commits.len() as u64;
            let input = input_of(self.step, &seen)?;
            let CallOutput { output, meta } = self.invoke(uses, &input)?;
            let produced = Value::from(output.clone());
            seen = write(self.step, &seen, &produced)
                .map_err(|error| Failure::new(ErrorClass::OutputMapping, error))?;
            commits.push(produced);
            let exhausted = commits.len() as u64 >= whiles.max_iterations.min(ITERATIONS_MAX);
            if exhausted || !crate::expression::is_true(&evaluate(whiles.condition(), &seen)?) {
                let meta = meta
                    .with("while_iterations", commits.len())
                    .with("while_condition", whiles.condition().text().clone())
                    .with("while_exhausted", exhausted);
                return Ok(CallsResult { input, produced: output, commits, meta });
            }
        }
    }
}

/// Returns the results of calls that were made side by side, or the first call that waits for an answer.
///
/// A failure comes after the answer: a step does not end while nobody knows what became of a call that was started.
fn all_answered(results: Vec<Result<CallOutput, Stop>>) -> Result<Vec<Result<CallOutput, Stop>>, Stop> {
    let mut answered = Vec::with_capacity(results.len());
    for result in results {
        match result {
            Err(waiting @ Stop::Waiting(_)) => return Err(waiting),
            other => answered.push(other),
        }
    }
    Ok(answered)
}

/// Returns the input of one item's call.
pub(super) fn item_input(foreach: &Foreach, base: &Object, index: usize, item: &Value) -> Value {
    let input = base.with(foreach.item_name.clone(), item.clone());
    match &foreach.index_name {
        Some(name) => input.with(name.clone(), index).into(),
        None => input.into(),
    }
}

/// Results of items, collected per member and aligned with the items.
#[derive(Default)]
struct Collected {
    order: Vec<Arc<str>>,
    members: BTreeMap<Arc<str>, Vec<Value>>,
}

impl Collected {
    fn add(&mut self, index: usize, output: Object) {
        for (key, value) in output.iter() {
            let list = self.members.entry(key.clone()).or_insert_with(|| {
                self.order.push(key.clone());
                Vec::new()
            });
            list.resize(index, Value::Null);
            list.push(value.clone());
        }
    }

    fn into_object(mut self, count: usize) -> Object {
        let order = std::mem::take(&mut self.order);
        let list = |key: Arc<str>| {
            let mut values = self.members.remove(&key).unwrap_or_default();
            values.resize(count, Value::Null);
            (key, Value::from(values))
        };
        order.into_iter().map(list).collect()
    }
}

/// Returns how many attempts a provider reports for a call.
pub(super) fn attempts_of(meta: &Object) -> Option<usize> {
    meta.get("attempts").and_then(Value::as_array).map(<[Value]>::len)
}

impl Caller<'_, '_> {
    /// Calls every branch and brings the results together in declared order: which one was faster never shows.
    pub(super) fn scatter(&mut self, scatter: &Scatter, input: Value) -> Result<CallsResult, Stop> {
        let mut succeeded: Vec<(Arc<str>, Object)> = Vec::new();
        let mut failed: Vec<(Arc<str>, Failure)> = Vec::new();
        let calls = scatter.branches.iter().map(|branch| (branch, input.clone())).collect();
        let results = all_answered(self.invoke_side_by_side(calls, 0))?;
        for (branch, result) in scatter.branches.iter().zip(results) {
            let name: Arc<str> = branch.to_string().into();
            match result {
                Ok(output) => succeeded.push((name, output.output)),
                Err(Stop::Failed(failure)) if failure.class.is_final() => return Err(failure.into()),
                Err(Stop::Failed(failure)) => failed.push((name, failure)),
                Err(waiting @ Stop::Waiting(_)) => return Err(waiting),
                Err(Stop::Degraded(reason)) => {
                    failed.push((name, Failure::new(ErrorClass::SafetyGateFailed, reason)));
                }
            }
        }
        if succeeded.is_empty() {
            return Err(all_failed(scatter.merge, failed).into());
        }
        let meta = Object::from_iter([
            ("scatter_strategy", Value::from(scatter.merge.name())),
            ("scatter_count", scatter.branches.len().into()),
        ]);
        Ok(match scatter.merge {
            ScatterMerge::FirstSuccess => {
                let (winner, output) = succeeded.into_iter().next().unwrap_or_default();
                CallsResult::once(input, output, meta.with(SCATTER_WINNER_KEY, winner))
            }
            ScatterMerge::Collect => {
                let meta = counted(meta, succeeded.len(), &failed);
                CallsResult::once(input, succeeded.into_iter().collect(), meta)
            }
            ScatterMerge::ConcatLists => {
                let meta = counted(meta, succeeded.len(), &failed);
                CallsResult::once(input, concat(&succeeded), meta)
            }
        })
    }
}

fn all_failed(merge: ScatterMerge, failed: Vec<(Arc<str>, Failure)>) -> Failure {
    let class = match merge {
        ScatterMerge::FirstSuccess => ErrorClass::Expression,
        ScatterMerge::Collect | ScatterMerge::ConcatLists => ErrorClass::CapabilityExecution,
    };
    let failure = Failure::new(class, format_args!("all {} branches failed", failed.len()));
    match failed.into_iter().next() {
        Some((_, first)) => failure.because(first),
        None => failure,
    }
}

fn counted(meta: Object, succeeded: usize, failed: &[(Arc<str>, Failure)]) -> Object {
    let meta = meta.with("scatter_succeeded", succeeded).with("scatter_failed", failed.len());
    if failed.is_empty() {
        return meta;
    }
    meta.with(SCATTER_ERRORS_KEY, FailedPart::branches(failed))
}

/// Joins members of the same name: lists end to end, anything else as one more item.
fn concat(outputs: &[(Arc<str>, Object)]) -> Object {
    let mut joined: Vec<(Arc<str>, Vec<Value>)> = Vec::new();
    for (key, value) in outputs.iter().flat_map(|(_, output)| output.iter()) {
        let at = joined.iter().position(|(name, _)| name == key).unwrap_or_else(|| {
            joined.push((key.clone(), Vec::new()));
            joined.len() - 1
        });
        let Some((_, list)) = joined.get_mut(at) else { continue };
        match value {
            Value::Array(items) => list.extend(items.iter().cloned()),
            other => list.push(other.clone()),
        }
    }
    joined.into_iter().collect()
}

impl Caller<'_, '_> {
    /// Runs a skill below this one. It shares nothing with this run but options, trace, lineage and what the
    /// outermost run read from shared scopes.
    pub(super) fn nested(&mut self, id: &Arc<str>, input: &Value, attempt: u64) -> Result<CallOutput, Stop> {
        self.may_nest(id)?;
        let Some(skill) = self.context.capabilities.skill(id) else {
            return Err(Failure::new(ErrorClass::SkillNotFound, format_args!("no skill `{id}`")).into());
        };
        self.stats.note_call(format!("skill:{id}").into());
        let lineage: Names = self.context.lineage.iter().chain([id]).cloned().collect();
        let parent = self.context.run_id.as_deref();
        let run_id = parent.map(|parent| nested_run_id(parent, &self.step.id, &self.place, attempt));
        let inputs = input.as_object().cloned().unwrap_or_default();
        let request = RunRequest {
            inputs: inputs.clone(),
            frame: Frame::default(),
            options: self.context.options.clone(),
            trace_id: self.context.trace_id.clone(),
            idempotency_root: self.context.idempotency_root.clone(),
            run_id: run_id.clone(),
            parent_run_id: self.context.run_id.clone(),
            intervention: None,
            shared: self.context.shared.clone(),
        };
        let CallPlace { path, iteration, item, .. } = &self.place;
        let (step, skill_id) = (key_part(&self.step.id), key_part(id));
        let path: Arc<str> = format!("{path}{step}/{iteration}.{item}/{skill_id}/{attempt}/").into();
        let call = NestedCall { skill_id: id, run_id: run_id.as_ref(), place: &self.place, path: &path };
        if let Some(known) = self.context.capabilities.known_nested_run(&call) {
            self.stats.made.extend(known.made);
            self.stats.nested.extend(known.link);
            let output = known.result?;
            return Ok(CallOutput { output, meta: Object::new() });
        }
        let begun = NestedRun {
            skill_id: id.clone(),
            depth: self.context.depth() + 1,
            parent_skill_id: self.context.skill_id.clone(),
            parent_run_id: self.context.run_id.clone(),
            lineage: lineage.clone(),
            status: RunStatus::Pending,
            run_id,
            step_id: self.step.id.clone(),
            path: path.clone(),
            inputs,
            outcomes: Vec::new(),
        };
        if let Some(waiting) = self.context.capabilities.nested_run_begins(&begun) {
            return Err(Stop::Waiting(waiting));
        }
        let (report, made) = run_in(&skill, &request, (lineage, path), self.context.capabilities);
        let held =
            made.iter().find(|call| call.is_held()).and_then(|call| call.reply.as_ref().err()).cloned();
        self.stats.made.extend(made);
        // A run that policies stopped before a call has not ended: it continues when they let the call through.
        if let Some(CallError::Failed { message, .. }) = held {
            return Err(Failure::new(ErrorClass::PolicyViolation, message).into());
        }
        if let Some(waiting) = report.waiting {
            return Err(Stop::Waiting(waiting));
        }
        for outcome in &report.outcomes {
            self.stats.add_outcome(outcome);
        }
        if report.failure.is_none() {
            self.stats.nested_errors.extend(FailedPart::nested(id, &report.outcomes));
        }
        let ended = NestedRun { status: report.state.status, outcomes: report.outcomes, ..begun };
        self.stats.nested.extend(self.context.capabilities.nested_run_ended(&ended));
        match report.failure {
            None => Ok(CallOutput { output: report.state.result(), meta: hence_canon::Object::new() }),
            // A denial is a denial at every level, and so is a limit.
            Some(failed) if failed.failure.chain().any(|cause| cause.class.is_final()) => {
                let cause = failed.failure.chain().find(|cause| cause.class.is_final());
                Err(cause.cloned().unwrap_or(failed.failure).into())
            }
            Some(failed) => {
                let message = format_args!("skill `{id}`: {}", failed.failure);
                Err(Failure::new(ErrorClass::NestedSkillExecution, message).because(failed.failure).into())
            }
        }
    }

    fn may_nest(&mut self, id: &Arc<str>) -> Result<(), Failure> {
        if id.is_empty() {
            return Err(Failure::new(
                ErrorClass::NestedSkillExecution,
                "`skill:` is followed by the id of a skill",
            ));
        }
        let limit = self.context.options.max_skill_depth.min(SKILL_DEPTH_MAX);
        if depth_below(self.context) > limit {
            let message = format_args!("skills nest deeper than {limit}");
            return Err(Failure::new(ErrorClass::MaxSkillDepthExceeded, message));
        }
        let deadline = self.context.options.max_lineage_timeout_seconds.map(Float::get);
        let elapsed = self.context.capabilities.elapsed_seconds().get();
        match deadline.filter(|deadline| elapsed >= *deadline) {
            None => Ok(()),
            Some(deadline) => {
                let message = format_args!("the run has taken {elapsed} of {deadline} seconds");
                Err(Failure::new(ErrorClass::LineageTimeout, message))
            }
        }
    }
}

fn depth_below(context: &Context<'_>) -> u32 {
    context.depth().saturating_add(1)
}
