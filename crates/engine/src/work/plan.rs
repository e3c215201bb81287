//! Findings about the methods, checks and evidence of a problem, before anything runs.

use std::collections::BTreeSet;

use hence_canon::{JsonPointer, Value, did_you_mean};
use hence_state::{BindingMember, Finding, MethodSpec, ProblemSpec, Stage, finding};

use super::names::{Name, ROOTS, names_in, names_of_input, parse};
use super::{TASKS_MAX, text_of};
use crate::{Callees, Determinism};

/// The meanings that the names of a problem can have.
struct Known<'p> {
    tasks: BTreeSet<&'p str>,
    /// The ids of the evidence; `None` where a capability acquires it.
    evidence: Option<BTreeSet<&'p str>>,
    /// Whether a capability decides about the tasks.
    tasks_are_open: bool,
    /// The context without the evidence.
    context: Value,
    /// The items of evidence that the problem states, as methods see them.
    items: Vec<Value>,
}

/// Returns everything that is wrong with the tasks, checks and evidence of a problem.
pub(crate) fn findings(problem: &ProblemSpec, callees: Option<&dyn Callees>) -> Vec<Finding> {
    let is_bound = |step: &str| problem.settings().bindings.iter().any(|binding| &*binding.step == step);
    let ids = problem.evidence().iter().map(|item| text_of(item, "id")).filter(|id| !id.is_empty());
    let generated = (1..=problem.goals().len()).map(|number| format!("goal_{number}")).collect::<Vec<_>>();
    let declared = problem.tasks().iter().map(|task| &*task.id);
    let known = Known {
        tasks: declared.chain(generated.iter().map(String::as_str)).collect(),
        evidence: (!is_bound("AcquireEvidence")).then(|| ids.collect()),
        tasks_are_open: is_bound("Decompose"),
        context: super::context(problem),
        items: super::items(problem.evidence(), &[], 0),
    };
    let inputs = JsonPointer::root().child("inputs");
    let mut found = Vec::new();
    let count = problem.tasks().len().saturating_add(problem.goals().len());
    if count > TASKS_MAX {
        let message = format!("expected at most {TASKS_MAX} goals and tasks, found {count}");
        found.push(at(inputs.child("tasks"), message));
    }
    for (index, task) in problem.tasks().iter().enumerate() {
        let place = inputs.child("tasks").child(index);
        for (number, id) in task.needs.iter().enumerate() {
            if !known.has(id) {
                let message = format!("expected the id of a task or of evidence, found {id:?}");
                found.push(at(place.child("needs").child(number), message));
            }
        }
        if let Some(method) = &task.method {
            found.extend(method_findings(&known, method, callees, &place.child("method")));
        }
    }
    for (index, check) in problem.constraint_checks().iter().enumerate() {
        let place = inputs.child("constraint_checks").child(index);
        found.extend(expression_findings(&known, &check.expression, &place.child("expression")));
        found.extend(missing_evidence(&known, &check.evidence, &place.child("evidence")));
    }
    let paths = JsonPointer::root().child("settings").child("verification_paths");
    for (index, path) in problem.settings().verification_paths.iter().enumerate() {
        let place = paths.child(index);
        let expression = path.expression.iter();
        found.extend(
            expression.flat_map(|text| expression_findings(&known, text, &place.child("expression"))),
        );
        found.extend(missing_evidence(&known, &path.evidence, &place.child("evidence")));
    }
    found.extend(evidence_findings(problem, &known, &inputs.child("context").child("evidence")));
    found
}

fn at(place: JsonPointer, message: impl Into<String>) -> Finding {
    finding(Stage::Policy, place, message.into())
}

impl Known<'_> {
    fn has(&self, id: &str) -> bool {
        let is_evidence = self.evidence.as_ref().is_none_or(|ids| ids.contains(id));
        self.has_task(id) || is_evidence || id.starts_with("evidence_")
    }

    fn has_task(&self, id: &str) -> bool {
        self.tasks_are_open || self.tasks.contains(id)
    }

    /// Returns the defect of a name.
    fn defect(&self, name: &Name) -> Option<String> {
        let Name { root, id, is_optional, .. } = name;
        match (&**root, id.as_deref()) {
            (root, _) if !ROOTS.contains(&root) => {
                let meant = did_you_mean(root, ROOTS);
                Some(format!("`{root}` is no name here; names begin with {}{meant}", ROOTS.join(", ")))
            }
            ("tasks", Some(id)) if !self.has_task(id) => {
                let meant = did_you_mean(id, self.tasks.iter().copied());
                Some(format!("there is no task `{id}`{meant}"))
            }
            ("evidence", Some(id)) if !is_optional && !id.starts_with("evidence_") => {
                let ids = self.evidence.as_ref()?;
                if !ids.contains(id) {
                    let meant = did_you_mean(id, ids.iter().copied());
                    return Some(format!("there is no evidence `{id}`{meant}"));
                }
                let item = self.items.iter().find(|item| text_of(item, "id") == id)?;
                let defect =
                    member_defect(item, format!("evidence.{id}"), name.below.iter().map(|word| &**word));
                // Evidence need not say what is asked of it: that is not decided. A misspelt member is a slip.
                defect.filter(|defect| defect.contains("; did you mean"))
            }
            ("context", Some("evidence")) if !is_optional => {
                Some("the evidence is no part of `context` here; `evidence.ID` names an item".to_owned())
            }
            ("context", Some(id)) if !is_optional => {
                let words = std::iter::once(id).chain(name.below.iter().map(|word| &**word));
                member_defect(&self.context, "context".to_owned(), words)
            }
            _ => None,
        }
    }
}

/// Returns why a name means nothing in the context or evidence that the problem states.
fn member_defect<'n>(
    mut value: &Value,
    mut place: String,
    words: impl Iterator<Item = &'n str>,
) -> Option<String> {
    for word in words {
        let members = match value {
            Value::Object(members) => members,
            // An item of a list and a part of a text are judged when they are read.
            Value::Array(_) | Value::String(_) => return None,
            _ => return Some(format!("`{place}` has no members, so there is no `{place}.{word}`")),
        };
        let Some(member) = members.get(word) else {
            let meant = did_you_mean(word, members.keys().map(|key| &**key));
            return Some(format!("the problem states no `{place}.{word}`{meant}"));
        };
        (value, place) = (member, format!("{place}.{word}"));
    }
    None
}

fn expression_findings(known: &Known<'_>, text: &str, place: &JsonPointer) -> Vec<Finding> {
    let expression = match parse(text) {
        Ok(expression) => expression,
        Err(error) => return vec![at(place.clone(), error)],
    };
    let names = names_in(&expression);
    if names.is_empty() {
        let message = format!("`{text}` names nothing; names begin with {}", ROOTS.join(", "));
        return vec![at(place.clone(), message)];
    }
    names.iter().filter_map(|name| known.defect(name)).map(|defect| at(place.clone(), defect)).collect()
}

fn method_findings(
    known: &Known<'_>,
    method: &MethodSpec,
    callees: Option<&dyn Callees>,
    place: &JsonPointer,
) -> Vec<Finding> {
    let (id, input) = match method {
        MethodSpec::Expression(text) => return expression_findings(known, text, place),
        MethodSpec::Capability { id, input, .. } => (id, input),
    };
    let mut found = Vec::new();
    let capability = place.child("capability");
    match callees.map(|callees| (callees.find(id), callees.is_recomputed(id))) {
        None => found.push(at(capability, format!("there is no capability `{id}` here"))),
        Some((Err(reason), _)) => found.push(at(capability, reason)),
        Some((Ok(Determinism::Deterministic), true)) => {}
        Some((Ok(_), _)) => {
            let message = format!(
                "`{id}` is no built-in pure function; bind a step to it under `settings.bindings` instead"
            );
            found.push(at(capability, message));
        }
    }
    for ((name, _), read) in
        input.iter().filter(|(_, member)| matches!(member, BindingMember::At(_))).zip(names_of_input(input))
    {
        if let Some(defect) = known.defect(&read) {
            found.push(at(place.child("input").child(name).child("at"), defect));
        }
    }
    found
}

fn missing_evidence(known: &Known<'_>, needed: &[std::sync::Arc<str>], place: &JsonPointer) -> Vec<Finding> {
    let Some(ids) = &known.evidence else { return Vec::new() };
    let missing =
        needed.iter().enumerate().filter(|(_, id)| !ids.contains(&***id) && !id.starts_with("evidence_"));
    let finding = |(index, id): (usize, &std::sync::Arc<str>)| {
        let meant = did_you_mean(id, ids.iter().copied());
        at(place.child(index), format!("there is no evidence `{id}`{meant}"))
    };
    missing.map(finding).collect()
}

/// Returns the findings about items of evidence: ids that are no texts or occur twice, and tasks that do not exist.
fn evidence_findings(problem: &ProblemSpec, known: &Known<'_>, place: &JsonPointer) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut ids = BTreeSet::new();
    for (index, item) in problem.evidence().iter().enumerate() {
        let place = place.child(index);
        match item.get("id") {
            None | Some(Value::Null) => {}
            Some(Value::String(id)) if !id.is_empty() => {
                if !ids.insert(id.clone()) {
                    found.push(at(place.child("id"), format!("two items of evidence have the id `{id}`")));
                }
            }
            Some(other) => {
                found.push(at(
                    place.child("id"),
                    format!("expected a text that is not empty, found {}", other.kind()),
                ));
            }
        }
        let supported = match item.get("supports") {
            Some(Value::Array(tasks)) => tasks.to_vec(),
            Some(Value::Null) | None => Vec::new(),
            Some(other) => vec![other.clone()],
        };
        for task in &supported {
            let message = match task.as_str() {
                Some(task) if known.has_task(task) => continue,
                Some(task) => {
                    format!("there is no task `{task}`{}", did_you_mean(task, known.tasks.iter().copied()))
                }
                None => format!("expected the ids of tasks, found {}", task.kind()),
            };
            found.push(at(place.child("supports"), message));
        }
    }
    found
}
