//! Tasks: the goals of a problem with their ids and methods.

use std::collections::BTreeSet;
use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_state::{ProblemSpec, TaskSpec};

use super::{INTERMEDIATE, TASKS_MAX, list_of, text_of};

/// Returns the tasks of a problem: each goal, in order, and then the declared tasks that are about no goal; where there are
/// goals, these are intermediate. Without goals and tasks, the prompt is the one task.
pub(crate) fn tasks(goals: &[Arc<str>], declared: &[TaskSpec], prompt: &str) -> Value {
    let mut ids: BTreeSet<Arc<str>> = declared.iter().map(|task| task.id.clone()).collect();
    let mut found = Vec::new();
    let mut used = BTreeSet::new();
    let prompt = Arc::from(prompt);
    let goals = match (goals, declared) {
        ([], []) => std::slice::from_ref(&prompt),
        (goals, _) => goals,
    };
    for (number, goal) in (1..).zip(goals) {
        match declared.iter().find(|task| task.goal == *goal && !used.contains(&task.id)) {
            Some(task) => {
                used.insert(task.id.clone());
                found.push(task.document.clone());
            }
            None => found.push(bare(free_id(number, &mut ids), goal)),
        }
    }
    let others = declared.iter().filter(|task| !used.contains(&task.id));
    found.extend(others.map(|task| match (goals.is_empty(), task.document.as_object()) {
        (false, Some(object)) => object.with(INTERMEDIATE, true).into(),
        _ => task.document.clone(),
    }));
    found.into()
}

fn bare(id: Arc<str>, goal: &str) -> Value {
    Object::from_iter([("id", Value::from(id)), ("goal", goal.into())]).into()
}

/// Returns an id for the goal of this number that no task has.
fn free_id(number: usize, ids: &mut BTreeSet<Arc<str>>) -> Arc<str> {
    let mut id = format!("goal_{number}");
    while ids.contains(&*id) {
        id.push('_');
    }
    let id: Arc<str> = id.into();
    ids.insert(id.clone());
    id
}

/// Turns the tasks that a capability proposes into tasks with ids, after those that the problem declares.
///
/// # Errors
/// The expected and the found value, in words.
pub(crate) fn check_tasks(problem: &ProblemSpec, reply: &Value) -> Result<Value, String> {
    if reply.get("tasks").and_then(Value::as_array).is_none() {
        return Err("expected an object with `tasks`, a list".to_owned());
    }
    let declared = problem.tasks();
    let mut ids: BTreeSet<Arc<str>> = declared.iter().map(|task| task.id.clone()).collect();
    let mut found: Vec<Value> = declared.iter().map(|task| task.document.clone()).collect();
    for (number, proposed) in (1..).zip(list_of(reply, "tasks")) {
        let goal = proposed.as_str().unwrap_or_else(|| text_of(proposed, "goal"));
        if goal.trim().is_empty() {
            return Err(format!("expected task {number} to be a text or to have a `goal`"));
        }
        let id = text_of(proposed, "id");
        if declared.iter().any(|task| *task.id == *id || *task.goal == *goal) {
            continue;
        }
        let is_free = !id.is_empty()
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && ids.insert(id.into());
        let id = if is_free { id.into() } else { free_id(number, &mut ids) };
        found.push(bare(id, goal));
    }
    match found.len() {
        0 => Err("expected at least one task, found none".to_owned()),
        count if count > TASKS_MAX => Err(format!("expected at most {TASKS_MAX} tasks, found {count}")),
        _ => Ok(found.into()),
    }
}
