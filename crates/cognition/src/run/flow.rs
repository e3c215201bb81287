//! Calling once, per item, or while a condition holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Object, Value};

use super::invoke::{Caller, Invoked, Stop};
use crate::expression::ExpressionError;
use crate::failure::{ErrorClass, Failure};
use crate::mapping::{InputMappingError, OutputMapping, OutputMappingError};
use crate::skill::{Foreach, Formula, ITERATIONS_MAX, ItemErrors, PARALLEL_MAX, Step, Uses, While};
use crate::state::Memory;

/// What the calls of a step came to.
pub(super) struct Flowed {
    pub(super) input: Value,
    pub(super) produced: Object,
    pub(super) commits: Vec<Value>,
    pub(super) meta: Object,
}

impl Flowed {
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
pub(super) fn evaluate(formula: &Formula, memory: &Memory) -> Result<Value, Failure> {
    let value = formula
        .expression()
        .map_err(|error| ExpressionError::from(error.clone()))
        .and_then(|expression| expression.evaluate(memory).map_err(ExpressionError::from));
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
    ) -> Result<Flowed, Stop> {
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
            let results = self.invoke_side_by_side(inputs.collect(), first as u64);
            for (index, result) in (first..).zip(results) {
                match (result, foreach.on_error) {
                    (Ok(invoked), _) => {
                        attempts += attempts_of(&invoked.meta).unwrap_or(0);
                        collected.add(index, invoked.output);
                        meta = invoked.meta;
                    }
                    (Err(Stop::Failed(failure)), ItemErrors::Continue) if !failure.class.is_safety() => {
                        let error = [("index", Value::from(index)), ("class", failure.class.name().into())];
                        errors.push(Object::from_iter(error));
                    }
                    (Err(stop), _) => return Err(stop),
                }
            }
        }
        meta = meta.with("foreach_count", items.len()).with("foreach_total_attempts", attempts);
        if !errors.is_empty() {
            meta = meta.with("foreach_errors", errors);
        }
        let produced = collected.into_object(items.len());
        // Nothing to call for means nothing produced, and so nothing to write.
        let commits = if items.is_empty() { Vec::new() } else { vec![produced.clone().into()] };
        Ok(Flowed { input, produced, commits, meta })
    }

    pub(super) fn repeat(&mut self, whiles: &While, uses: &Uses, memory: &Memory) -> Result<Flowed, Stop> {
        let mut seen = memory.clone();
        let mut commits = Vec::new();
        loop {
            self.place.iteration = commits.len() as u64;
            let input = input_of(self.step, &seen)?;
            let Invoked { output, meta } = self.invoke(uses, &input)?;
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
                return Ok(Flowed { input, produced: output, commits, meta });
            }
        }
    }
}

/// Returns the input of one item's call.
fn item_input(foreach: &Foreach, base: &Object, index: usize, item: &Value) -> Value {
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
