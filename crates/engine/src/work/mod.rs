//! Working a problem out: tasks, evidence, conclusions, checks and the answer, for profiles whose steps work.
//!
//! Everything here is a function of the problem and of the artifacts of earlier steps. Methods are expressions, or pure
//! capabilities that the [`Callees`](crate::Callees) of the engine compute. A capability that a step is bound to proposes;
//! the functions here decide what of it enters the step's output, so the checks always come after the proposal.

mod answer;
mod compute;
mod evidence;
mod names;
mod notes;
mod plan;
mod tasks;
mod text;
mod verify;

pub(crate) use answer::{answer, check_answer};
pub(crate) use compute::{check_conclusions, conclude};
pub(crate) use evidence::{check_items, items};
pub(crate) use notes::notes;
pub(crate) use plan::findings;
pub(crate) use tasks::{check_tasks, tasks};
pub(crate) use verify::{check_verification, verification};

use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_state::ProblemSpec;

/// The most tasks of one problem: each is worked out anew in every iteration.
pub(crate) const TASKS_MAX: usize = 1000;

/// The member of a conclusion that names the capability which proposed it. Conclusions of methods have none.
const BY: &str = "by";

/// The member of a task and its conclusion that says that nobody asked for it: other tasks need it.
const INTERMEDIATE: &str = "intermediate";

/// Returns a text member of a value, empty when there is none.
fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the items of a list under a member.
fn list_of<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).unwrap_or_default()
}

/// Returns the texts in a list under a member.
fn texts_of(value: &Value, key: &str) -> Vec<Arc<str>> {
    list_of(value, key).iter().filter_map(|item| item.as_str().map(Arc::from)).collect()
}

/// Returns the context of a problem without its evidence.
pub(crate) fn context(problem: &ProblemSpec) -> Value {
    let inputs = problem.canonical().value().get("inputs");
    let context = inputs.and_then(|inputs| inputs.get("context")).and_then(Value::as_object);
    context.map(|context| context.without("evidence")).unwrap_or_default().into()
}

/// Makes an object of members, of which some may be absent.
fn members<'k>(members: impl IntoIterator<Item = Option<(&'k str, Value)>>) -> Value {
    members.into_iter().flatten().collect::<Object>().into()
}
