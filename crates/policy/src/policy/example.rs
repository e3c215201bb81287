//! Examples: small traces with the verdict a policy must give.

use hence_canon::{Object, Value};
use hence_review::vocabulary::{ActionType, EvaluationStatus};

use super::Policy;
use crate::check::{Options, check};

/// A small trace and the verdict it must get.
#[derive(Clone, Debug)]
pub struct Example {
    /// A description of the example.
    pub about: String,
    /// The verdict it must get.
    pub expect: EvaluationStatus,
    /// The actions that must be named as violating, if the example states them.
    pub violating: Option<Vec<i64>>,
    /// The trace.
    pub trace: Value,
}

/// An error in an example.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("example {index} of `{policy}`: {fault}")]
pub struct ExampleError {
    /// The policy.
    pub policy: String,
    /// Its index among the examples.
    pub index: usize,
    /// The error.
    pub fault: String,
}

/// The result of running an example.
#[derive(Clone, Debug)]
pub struct ExampleOutcome {
    /// The description of the example.
    pub about: String,
    /// The difference from the expected verdict; `None` if there is none.
    pub difference: Option<String>,
}

impl Policy {
    /// Reads the examples the policy brings.
    ///
    /// # Errors
    /// [`ExampleError`] for an example that is not one.
    pub fn examples(&self) -> Result<Vec<Example>, ExampleError> {
        let items = self.source().get("example").or_else(|| self.source().get("examples"));
        let items = items.and_then(Value::as_array).unwrap_or(&[]);
        items.iter().enumerate().map(|(index, item)| self.example(index, item)).collect()
    }

    /// Runs the policy on its own examples.
    ///
    /// # Errors
    /// [`ExampleError`] for an example that is not one.
    pub fn test(&self) -> Result<Vec<ExampleOutcome>, ExampleError> {
        Ok(self.examples()?.into_iter().map(|example| self.run(example)).collect())
    }

    fn run(&self, example: Example) -> ExampleOutcome {
        let report = check(&example.trace, [self], Options::default());
        let difference = report.verdicts.first().and_then(|verdict| {
            let note = verdict.note().map_or(String::new(), |note| format!(" ({note})"));
            if verdict.status != example.expect {
                return Some(format!("expected {}, found {}{note}", example.expect, verdict.status));
            }
            let expected = example.violating.as_ref()?;
            let found = &verdict.violating.action_ids;
            (found != expected).then(|| format!("expected violating {expected:?}, found {found:?}{note}"))
        });
        ExampleOutcome { about: example.about, difference }
    }

    fn example(&self, index: usize, item: &Value) -> Result<Example, ExampleError> {
        let fault =
            |fault: &str| ExampleError { policy: self.id().to_string(), index, fault: fault.to_owned() };
        let object = item.as_object().ok_or_else(|| fault("expected an object"))?;
        let expect = object.get("expect").and_then(Value::as_str).and_then(EvaluationStatus::from_word);
        let expect =
            expect.ok_or_else(|| fault("`expect` must be passed, failed, not_applicable or unknown"))?;
        let about = object.get("about").and_then(Value::as_str).unwrap_or("").to_owned();
        let ids = object.get("violating").and_then(Value::as_array);
        let violating = ids.map(|ids| ids.iter().filter_map(Value::as_i64).collect());
        let members = object.without("expect").without("about").without("violating");
        Ok(Example { about, expect, violating, trace: complete(&members).into() })
    }
}

/// Fills in what an example may leave out: ids that count from 1, and the category a type implies.
fn complete(members: &Object) -> Object {
    let actions = members.get("actions").and_then(Value::as_array).unwrap_or(&[]);
    let completed = actions.iter().enumerate().map(|(at, action)| match action.as_object() {
        Some(action) => complete_action(at, action).into(),
        None => action.clone(),
    });
    members.with("actions", completed.collect::<Value>())
}

fn complete_action(at: usize, action: &Object) -> Object {
    let mut action = action.clone();
    if action.get("id").is_none() {
        action = action.with("id", at + 1);
    }
    let implied = action.get("type").and_then(Value::as_str).and_then(ActionType::from_word);
    match implied {
        Some(implied) if action.get("category").is_none() => action.with("category", implied.category()),
        _ => action,
    }
}
