//! Tasks that a problem declares, the methods that work them out, and the checks of constraints.

use std::sync::Arc;

use hence_canon::{JsonPointer, Value};

use super::binding::{BindingMember, read_members, read_pointer};
use crate::schema::SchemaReader;
use crate::{Category, Findings, StepsRule, Typing};

/// A task: a goal, and the way it is worked out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskSpec {
    /// The name of the task in expressions: `tasks.ID`.
    pub id: Arc<str>,
    /// The goal.
    pub goal: Arc<str>,
    /// The method, if the problem declares one.
    pub method: Option<MethodSpec>,
    /// The ids of tasks and items of evidence without which the task is not worked out.
    pub needs: Vec<Arc<str>>,
    /// The task as the document spells it.
    pub document: Value,
}

/// The way to work a task out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MethodSpec {
    /// An expression over context, evidence and other tasks.
    Expression(Arc<str>),
    /// A call of a pure capability.
    Capability {
        /// Its id.
        id: Arc<str>,
        /// The members of its input.
        input: Vec<(Arc<str>, BindingMember)>,
        /// The part of its output that is the result; the whole output when absent.
        output: Option<JsonPointer>,
    },
}

/// An expression that says whether a constraint is met.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConstraintCheck {
    /// The text of the constraint.
    pub constraint: Arc<str>,
    /// The expression.
    pub expression: Arc<str>,
    /// The ids of the evidence that the check needs.
    pub evidence: Vec<Arc<str>>,
}

impl MethodSpec {
    /// Reads a method: the text of an expression, `{"expression": …}`, or `{"capability": …, "input": …, "output": …}`.
    ///
    /// # Errors
    /// The first defect, in words.
    pub fn read(value: &Value) -> Result<Self, String> {
        let mut reader = SchemaReader::new(Typing::Strict, StepsRule::Worked, &[]);
        let method = read_method(&mut reader, value, &JsonPointer::root());
        match (method, Findings::some(reader.into_findings())) {
            (Some(method), None) => Ok(method),
            (_, Some(findings)) => Err(findings.to_string()),
            (None, None) => Err("it is no method".to_owned()),
        }
    }
}

/// Returns whether a text can name a task in an expression.
fn is_task_id(text: &str) -> bool {
    text.bytes().next().is_some_and(|first| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Reads a list of texts that are not blank.
pub(super) fn read_names(
    reader: &mut SchemaReader<'_>,
    value: &Value,
    path: &JsonPointer,
) -> Option<Vec<Arc<str>>> {
    Some(reader.items(value, path, SchemaReader::non_empty_text))
}

/// Reads `inputs.tasks`.
pub(super) fn read_tasks(
    reader: &mut SchemaReader<'_>,
    value: &Value,
    path: &JsonPointer,
) -> Option<Vec<TaskSpec>> {
    let tasks = reader.items(value, path, read_task);
    for (index, task) in tasks.iter().enumerate() {
        if tasks.get(..index).unwrap_or_default().iter().any(|other| other.id == task.id) {
            let message = format!("two tasks have the id {:?}", task.id);
            reader.report(&path.child(index).child("id"), Category::ValueError, message);
        }
    }
    Some(tasks)
}

fn read_task(reader: &mut SchemaReader<'_>, value: &Value, path: &JsonPointer) -> Option<TaskSpec> {
    let node = reader.model(value, path)?;
    let id = reader.required(&node, "id", |reader, value, path| {
        let id = reader.non_empty_text(value, path)?;
        if !is_task_id(&id) {
            reader.mismatch(path, Category::ValueError, "a letter, then letters, digits and `_`", value);
            return None;
        }
        Some(id)
    });
    let goal = reader.required(&node, "goal", SchemaReader::non_empty_text);
    let method = reader.optional(&node, "method", read_method);
    let needs = reader.optional(&node, "needs", read_names).unwrap_or_default();
    reader.refuse_unknown(&node, &["id", "goal", "method", "needs"]);
    Some(TaskSpec { id: id?, goal: goal?, method, needs, document: value.clone() })
}

fn read_method(reader: &mut SchemaReader<'_>, value: &Value, path: &JsonPointer) -> Option<MethodSpec> {
    if value.as_str().is_some() {
        return reader.non_empty_text(value, path).map(MethodSpec::Expression);
    }
    let node = reader.model(value, path)?;
    if node.object.contains_key("expression") {
        let expression = reader.required(&node, "expression", SchemaReader::non_empty_text);
        reader.refuse_unknown(&node, &["expression"]);
        return expression.map(MethodSpec::Expression);
    }
    let id = reader.required(&node, "capability", SchemaReader::non_empty_text);
    let input = reader.optional(&node, "input", read_members);
    let output = reader.optional(&node, "output", read_pointer);
    reader.refuse_unknown(&node, &["capability", "input", "output"]);
    Some(MethodSpec::Capability { id: id?, input: input.unwrap_or_default(), output })
}

/// Reads `inputs.constraint_checks`.
pub(super) fn read_constraint_checks(
    reader: &mut SchemaReader<'_>,
    value: &Value,
    path: &JsonPointer,
) -> Option<Vec<ConstraintCheck>> {
    Some(reader.items(value, path, |reader, value, path| {
        let node = reader.model(value, path)?;
        let constraint = reader.required(&node, "constraint", SchemaReader::non_empty_text);
        let expression = reader.required(&node, "expression", SchemaReader::non_empty_text);
        let evidence = reader.optional(&node, "evidence", read_names).unwrap_or_default();
        reader.refuse_unknown(&node, &["constraint", "expression", "evidence"]);
        Some(ConstraintCheck { constraint: constraint?, expression: expression?, evidence })
    }))
}
