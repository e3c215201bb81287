//! The result of a step, and the errors it can carry.

use std::sync::{Arc, LazyLock};

use hence_canon::{Canonical, Digest, Object, ObjectWriter, Value};

use crate::Timestamp;

/// The version of the result document.
pub const RESULT_VERSION: &str = "1.0.0";

/// The version, shared by all results.
static VERSION: LazyLock<Arc<str>> = LazyLock::new(|| RESULT_VERSION.into());

/// The outcome of one step with its times and hashes. Only results change a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepResult {
    version: Arc<str>,
    step: Arc<str>,
    input_hash: Digest,
    output_hash: Digest,
    started_at: Timestamp,
    finished_at: Timestamp,
    outcome: Outcome,
    /// Members that this version does not know, preserved for those that do.
    others: Object,
}

/// The end of a step. Success has no errors, failure has no output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The step produced an output.
    Success(Canonical),
    /// The step produced errors.
    Failed(Vec<StepError>),
    /// The step had nothing to do.
    Skipped,
}

/// The word for an outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the words say it")]
pub enum StepStatus {
    Success,
    Failed,
    Skipped,
}

impl StepStatus {
    /// Returns the word used in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    /// Reads the word used in records.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Success, Self::Failed, Self::Skipped].into_iter().find(|status| status.as_str() == word)
    }
}

impl Outcome {
    /// Returns the word for this outcome.
    pub const fn status(&self) -> StepStatus {
        match self {
            Self::Success(_) => StepStatus::Success,
            Self::Failed(_) => StepStatus::Failed,
            Self::Skipped => StepStatus::Skipped,
        }
    }

    /// Returns the output, if there is one.
    pub const fn output(&self) -> Option<&Canonical> {
        match self {
            Self::Success(output) => Some(output),
            Self::Failed(_) | Self::Skipped => None,
        }
    }

    /// Returns whether policies blocked the step: every error has the code [`POLICY_VIOLATION`].
    pub fn is_blocked(&self) -> bool {
        matches!(self, Self::Failed(errors) if !errors.is_empty()
            && errors.iter().all(|error| &*error.code == POLICY_VIOLATION))
    }

    /// Returns the hash a result must carry for this outcome: of the output, or of `{}` when there is none.
    pub fn output_hash(&self) -> Digest {
        static NO_OUTPUT: LazyLock<Digest> = LazyLock::new(|| Digest::of(b"{}"));
        self.output().map_or(*NO_OUTPUT, Canonical::digest)
    }
}

impl StepResult {
    /// Creates the result of a step that read `input`.
    pub fn new(
        step: impl Into<Arc<str>>,
        input: &Value,
        started_at: Timestamp,
        finished_at: Timestamp,
        outcome: Outcome,
    ) -> Self {
        Self {
            version: VERSION.clone(),
            step: step.into(),
            input_hash: Digest::of(&hence_canon::canonical_bytes(input)),
            output_hash: outcome.output_hash(),
            started_at,
            finished_at,
            outcome,
            others: Object::new(),
        }
    }

    /// Returns the result with these members that the document does not know.
    #[must_use]
    pub fn with_others(self, others: Object) -> Self {
        Self { others, ..self }
    }

    /// Restores a result from a record, with the hashes the record claims.
    #[expect(clippy::too_many_arguments, reason = "one argument per member of the record")]
    pub fn restore(
        version: impl Into<Arc<str>>,
        step: impl Into<Arc<str>>,
        input_hash: Digest,
        output_hash: Digest,
        started_at: Timestamp,
        finished_at: Timestamp,
        outcome: Outcome,
        others: Object,
    ) -> Self {
        let (version, step) = (version.into(), step.into());
        Self { version, step, input_hash, output_hash, started_at, finished_at, outcome, others }
    }

    /// Returns the result with one more member that the document does not know.
    #[must_use]
    pub fn with_other(self, key: &str, value: impl Into<Value>) -> Self {
        Self { others: self.others.with(key, value), ..self }
    }

    /// Returns the result with another outcome.
    #[must_use]
    pub fn with_outcome(self, outcome: Outcome) -> Self {
        Self { output_hash: outcome.output_hash(), outcome, ..self }
    }

    /// Returns the step's name.
    pub fn step(&self) -> &Arc<str> {
        &self.step
    }

    /// Returns the hash of the step's input.
    pub fn input_hash(&self) -> Digest {
        self.input_hash
    }

    /// Returns the hash of the step's output, as the result claims it.
    pub fn output_hash(&self) -> Digest {
        self.output_hash
    }

    /// Returns when the step started.
    pub fn started_at(&self) -> &Timestamp {
        &self.started_at
    }

    /// Returns when the step finished.
    pub fn finished_at(&self) -> &Timestamp {
        &self.finished_at
    }

    /// Returns the outcome.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// Returns the members that this version does not know.
    pub fn others(&self) -> &Object {
        &self.others
    }

    /// Returns the canonical form.
    pub fn canonical(&self) -> Canonical {
        self.write(ObjectWriter::new()).finish()
    }

    /// Writes the members in the order of their keys. Unknown ones come first; none has the key of a known one.
    pub fn write<'a>(&self, writer: ObjectWriter<'a>) -> ObjectWriter<'a> {
        let other = |writer: ObjectWriter<'a>, (key, value): (&Arc<str>, &Value)| {
            writer.value(key.to_string(), value)
        };
        let mut writer = self.others.iter().fold(writer, other);
        if let Outcome::Failed(errors) = &self.outcome {
            writer = writer.value("errors", &errors.iter().collect());
        }
        writer = writer.text("finished_at", self.finished_at.as_str()).digest("input_hash", self.input_hash);
        if let Outcome::Success(output) = &self.outcome {
            writer = writer.canonical("output", output);
        }
        writer
            .digest("output_hash", self.output_hash)
            .text("started_at", self.started_at.as_str())
            .text("status", self.outcome.status().as_str())
            .text("step", &self.step)
            .text("version", &self.version)
    }
}

/// The code of the errors of a result that a policy blocked. Only the engine sets it.
pub const POLICY_VIOLATION: &str = "policy_violation";

/// An entry of the state's append-only list of errors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepError {
    /// A stable word for programs.
    pub code: Arc<str>,
    /// A sentence for people.
    pub message: Arc<str>,
    /// The step it belongs to, when the record does not name it.
    pub step: Option<Arc<str>>,
}

impl StepError {
    /// Creates an error without a step.
    pub fn new(code: impl Into<Arc<str>>, message: impl Into<Arc<str>>) -> Self {
        Self { code: code.into(), message: message.into(), step: None }
    }

    /// Returns the error with the name of its step.
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
