//! Several capabilities on one input.

use std::sync::Arc;

use hence_canon::{Object, Value};

use super::flow::Flowed;
use super::invoke::{Caller, Stop};
use crate::failure::{ErrorClass, Failure};
use crate::skill::{Scatter, ScatterMerge};

impl Caller<'_, '_> {
    /// Calls every branch and brings the results together in declared order: which one was faster never shows.
    pub(super) fn scatter(&mut self, scatter: &Scatter, input: Value) -> Result<Flowed, Stop> {
        let mut succeeded: Vec<(Arc<str>, Object)> = Vec::new();
        let mut failed: Vec<(Arc<str>, Failure)> = Vec::new();
        let calls = scatter.branches.iter().map(|branch| (branch, input.clone())).collect();
        for (branch, result) in scatter.branches.iter().zip(self.invoke_side_by_side(calls, 0)) {
            let name: Arc<str> = branch.to_string().into();
            match result {
                Ok(invoked) => succeeded.push((name, invoked.output)),
                Err(Stop::Failed(failure)) if failure.class.is_safety() => return Err(failure.into()),
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
                Flowed::once(input, output, meta.with("scatter_winner", winner))
            }
            ScatterMerge::Collect => {
                let meta = counted(meta, succeeded.len(), &failed);
                Flowed::once(input, succeeded.into_iter().collect(), meta)
            }
            ScatterMerge::ConcatLists => {
                let meta = counted(meta, succeeded.len(), &failed);
                Flowed::once(input, concat(&succeeded), meta)
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
    let errors: Object =
        failed.iter().map(|(name, failure)| (name.clone(), failure.message.clone())).collect();
    meta.with("scatter_errors", errors)
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
