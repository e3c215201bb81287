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

/// Adds the tasks that a capability proposes to those of the problem, which stay in any case: whoever asks decides what is asked.
/// In a problem with goals, nobody asked for the added tasks: they are marked as intermediate, and their values
/// are not part of the answer.
///
/// # Errors
/// The expected and the found value, in words.
pub(crate) fn check_tasks(problem: &ProblemSpec, prompt: &str, reply: &Value) -> Result<Value, String> {
    if reply.get("tasks").and_then(Value::as_array).is_none() {
        return Err("expected an object with `tasks`, a list".to_owned());
    }
    let own = tasks(problem.goals(), problem.tasks(), prompt);
    let mut found = own.as_array().unwrap_or_default().to_vec();
    let mut ids: BTreeSet<Arc<str>> = found.iter().map(|task| text_of(task, "id").into()).collect();
    let is_declared = |id: &str| problem.tasks().iter().any(|task| &*task.id == id);
    for (number, proposed) in (1..).zip(list_of(reply, "tasks")) {
        let goal = proposed.as_str().unwrap_or_else(|| text_of(proposed, "goal"));
        if goal.trim().is_empty() {
            return Err(format!("expected task {number} to be a text or to have a `goal`"));
        }
        let id = text_of(proposed, "id");
        let is_known = ids.contains(id);
        let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        match found.iter_mut().find(|task| text_of(task, "goal") == goal) {
            // A goal without a declared task may get the id that the capability uses for it.
            Some(task) if is_id && !is_known && !is_declared(text_of(task, "id")) => {
                ids.insert(id.into());
                *task = bare(id.into(), goal);
            }
            Some(_) => {}
            // Said again in other words: those of the problem count.
            None if is_known => {}
            None => {
                let id = if is_id { Arc::from(id) } else { free_id(number, &mut ids) };
                ids.insert(id.clone());
                found.push(match bare(id, goal) {
                    Value::Object(task) if !problem.goals().is_empty() => {
                        task.with(INTERMEDIATE, true).into()
                    }
                    task => task,
                });
            }
        }
    }
    match found.len() {
        count if count > TASKS_MAX => Err(format!("expected at most {TASKS_MAX} tasks, found {count}")),
        _ => Ok(found.into()),
    }
}
