//! Errors that belong to a run's record, as opposed to errors of this program.

use std::sync::Arc;

use hence_canon::{Object, Value};

/// The code of the errors of a result that a policy blocked. The engine alone gives it.
pub const POLICY_VIOLATION: &str = "policy_violation";

/// An entry of the state's append-only list of errors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepError {
    /// A stable word for programs.
    pub code: Arc<str>,
    /// A sentence for people.
    pub message: Arc<str>,
    /// The step it belongs to, when the record does not already say.
    pub step: Option<Arc<str>>,
}

impl StepError {
    /// Makes an error without a step.
    pub fn new(code: impl Into<Arc<str>>, message: impl Into<Arc<str>>) -> Self {
        Self { code: code.into(), message: message.into(), step: None }
    }

    /// Names the step.
    #[must_use]
    pub fn in_step(self, step: impl Into<Arc<str>>) -> Self {
        Self { step: Some(step.into()), ..self }
    }

    /// Reads an error: an object with texts `code` and `message`, perhaps a text `step`, and nothing else.
    pub fn decode(value: &Value) -> Option<Self> {
        let object = value.as_object()?;
        let text = |key: &str| object.get(key).and_then(Value::as_str).map(Arc::from);
        let step = match object.get("step") {
            None => None,
            Some(_) => Some(text("step")?),
        };
        let members = if step.is_some() { 3 } else { 2 };
        (object.len() == members).then_some(Self { code: text("code")?, message: text("message")?, step })
    }
}

impl From<&StepError> for Value {
    fn from(error: &StepError) -> Self {
        let members = [("code", &error.code), ("message", &error.message)];
        let step = error.step.iter().map(|step| ("step", step));
        members.into_iter().chain(step).map(|(key, text)| (key, text.clone())).collect::<Object>().into()
    }
}
