//! Conclusions: each task with the value of its method and the evidence it stands on, or undecided with the reason.

use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_state::MethodSpec;

use super::names::{Names, Worked, names_of_method};
use super::{BY, INTERMEDIATE, list_of, members, text_of, texts_of};
use crate::Callees;

/// A task as Decompose recorded it.
struct Task<'v> {
    id: &'v str,
    goal: &'v str,
    is_intermediate: bool,
    method: Option<Result<MethodSpec, String>>,
    needs: Vec<Arc<str>>,
}

impl<'v> Task<'v> {
    fn of(value: &'v Value) -> Self {
        Self {
            id: text_of(value, "id"),
            goal: text_of(value, "goal"),
            is_intermediate: value.get(INTERMEDIATE).and_then(Value::as_bool).unwrap_or_default(),
            method: value.get("method").filter(|method| !method.is_null()).map(MethodSpec::read),
            needs: texts_of(value, "needs"),
        }
    }

    /// Returns the tasks among `ids` that must be worked out before this one.
    fn after<'t>(&self, tasks: &[Task<'t>]) -> Vec<&'t str> {
        let names = match &self.method {
            Some(Ok(method)) => names_of_method(method),
            _ => Vec::new(),
        };
        let named = names.iter().filter(|name| &*name.root == "tasks").filter_map(|name| name.id.as_ref());
        let wanted: Vec<&Arc<str>> = named.chain(&self.needs).collect();
        tasks.iter().map(|task| task.id).filter(|id| wanted.iter().any(|wanted| &***wanted == *id)).collect()
    }

    fn work_out(&self, names: &Names, callees: Option<&dyn Callees>) -> Result<Worked, String> {
        let method = match &self.method {
            None => return Err("no method is declared for it".to_owned()),
            Some(method) => method.as_ref().map_err(|error| format!("its method cannot be read: {error}"))?,
        };
        names.require_needed(&self.needs)?;
        names.work_out(method, self.id, callees)
    }

    fn decided(&self, worked: &Worked) -> Value {
        let method = match &self.method {
            Some(Ok(MethodSpec::Expression(text))) => Some(("method", text.clone().into())),
            Some(Ok(MethodSpec::Capability { id, .. })) => Some(("method", id.clone().into())),
            _ => None,
        };
        members([
            Some(("task", self.id.into())),
            Some(("goal", self.goal.into())),
            Some(("status", "decided".into())),
            Some(("value", worked.value.clone())),
            Some(("evidence", worked.evidence.iter().cloned().collect())),
            self.is_intermediate.then(|| (INTERMEDIATE, true.into())),
            method,
        ])
    }

    fn undecided(&self, reason: &str, evidence: &[Arc<str>]) -> Value {
        members([
            Some(("task", self.id.into())),
            Some(("goal", self.goal.into())),
            Some(("status", "undecided".into())),
            Some(("reason", reason.into())),
            Some(("evidence", evidence.iter().cloned().collect())),
        ])
    }
}

/// Works all tasks out, those first that others need.
pub(crate) fn conclude(
    context: Value,
    tasks: &[Value],
    items: &[Value],
    callees: Option<&dyn Callees>,
) -> Value {
    summary(conclusions(context, tasks, items, callees))
}

fn conclusions(
    context: Value,
    tasks: &[Value],
    items: &[Value],
    callees: Option<&dyn Callees>,
) -> Vec<Value> {
    let tasks: Vec<Task<'_>> = tasks.iter().map(Task::of).collect();
    let mut names = Names::new(context, items);
    let mut found: Vec<Option<Value>> = vec![None; tasks.len()];
    loop {
        let mut is_progress = false;
        for (slot, task) in found.iter_mut().zip(&tasks).filter(|(slot, _)| slot.is_none()) {
            if !task.after(&tasks).iter().all(|id| names.is_settled(id)) {
                continue;
            }
            is_progress = true;
            *slot = Some(match task.work_out(&names, callees) {
                Ok(worked) => {
                    let decided = task.decided(&worked);
                    names.decide(task.id, worked);
                    decided
                }
                Err(reason) => {
                    names.leave_undecided(task.id);
                    task.undecided(&reason, &names.supporting_ids(task.id))
                }
            });
        }
        if !is_progress {
            break;
        }
    }
    let circular =
        |task: &Task<'_>| task.undecided("it needs a task that needs it", &names.supporting_ids(task.id));
    found.into_iter().zip(&tasks).map(|(found, task)| found.unwrap_or_else(|| circular(task))).collect()
}

/// Makes the output of Compute.
fn summary(conclusions: Vec<Value>) -> Value {
    let decided = conclusions.iter().filter(|conclusion| text_of(conclusion, "status") == "decided").count();
    let counts: [(&str, Value); 4] = [
        ("task_count", conclusions.len().into()),
        ("decided_count", decided.into()),
        ("undecided_count", (conclusions.len() - decided).into()),
        ("conclusions", conclusions.into()),
    ];
    counts.into_iter().collect::<Object>().into()
}

/// Turns the conclusions that a capability proposes into those of the step. What a declared method decides stays; a
/// proposal that differs from it is recorded next to it.
///
/// # Errors
/// The expected and the found value, in words.
pub(crate) fn check_conclusions(
    context: Value,
    tasks: &[Value],
    items: &[Value],
    callees: Option<&dyn Callees>,
    capability: &str,
    reply: &Value,
) -> Result<Value, String> {
    if reply.get("conclusions").and_then(Value::as_array).is_none() {
        return Err("expected an object with `conclusions`, a list".to_owned());
    }
    let proposed = list_of(reply, "conclusions");
    let worked = conclusions(context, tasks, items, callees).into_iter().map(|own| {
        let proposal = proposed.iter().find(|proposal| text_of(proposal, "task") == text_of(&own, "task"));
        match (text_of(&own, "status"), proposal) {
            ("decided", Some(proposal)) => {
                let other = proposal.get("value").filter(|value| Some(*value) != own.get("value"));
                match (own.as_object(), other) {
                    (Some(object), Some(other)) => {
                        let other = [(BY, Value::from(capability)), ("value", other.clone())];
                        object.with("disagrees", Object::from_iter(other)).into()
                    }
                    _ => own,
                }
            }
            ("decided", None) => own,
            (_, Some(proposal)) => {
                let task = tasks.iter().find(|task| text_of(task, "id") == text_of(&own, "task"));
                let is_intermediate = task.is_some_and(|task| Task::of(task).is_intermediate);
                adopted(&own, proposal, capability, is_intermediate)
            }
            (_, None) => own,
        }
    });
    let output = summary(worked.collect());
    let unused = unused(tasks, proposed);
    match output.as_object() {
        Some(object) if !unused.is_empty() => Ok(object.with("rejected", unused).into()),
        _ => Ok(output),
    }
}

/// Returns the proposals that say nothing about a task or were made for one that has a proposal, each with the reason.
fn unused(tasks: &[Value], proposed: &[Value]) -> Vec<Value> {
    let mut seen: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    for proposal in proposed {
        let task = text_of(proposal, "task");
        let reason = match (tasks.iter().any(|known| text_of(known, "id") == task), seen.contains(&task)) {
            (false, _) => format!("there is no task `{task}`"),
            (true, true) => format!("the first conclusion about task `{task}` counts"),
            (true, false) => {
                seen.push(task);
                continue;
            }
        };
        let members = [("reason", Value::from(reason)), ("conclusion", proposal.clone())];
        found.push(Object::from_iter(members).into());
    }
    found
}

/// Returns the conclusion that a capability proposes for a task that no method decides.
fn adopted(own: &Value, proposal: &Value, capability: &str, is_intermediate: bool) -> Value {
    let value = proposal.get("value").filter(|value| !value.is_null());
    let goal = ("goal", own.get("goal").cloned().unwrap_or_default());
    let task = ("task", own.get("task").cloned().unwrap_or_default());
    let evidence = ("evidence", texts_of(proposal, "evidence").into_iter().collect());
    let by = (BY, capability.into());
    match value.filter(|_| text_of(proposal, "status") != "undecided") {
        Some(value) => members([
            Some(task),
            Some(goal),
            Some(("status", "decided".into())),
            Some(("value", value.clone())),
            Some(evidence),
            is_intermediate.then(|| (INTERMEDIATE, true.into())),
            Some(by),
        ]),
        None => {
            let reason = match text_of(proposal, "reason") {
                "" => "the reply gives neither a value nor a reason",
                reason => reason,
            };
            let status = ("status", "undecided".into());
            members([
                Some(task),
                Some(goal),
                Some(status),
                Some(("reason", reason.into())),
                Some(evidence),
                Some(by),
            ])
        }
    }
}
