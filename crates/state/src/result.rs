//! The result of a step.

use std::sync::{Arc, LazyLock};

use hence_canon::{Canonical, Digest, Object, ObjectWriter, Value};

use crate::{POLICY_VIOLATION, StepError, Timestamp};

/// The version of the result's form.
pub const RESULT_VERSION: &str = "1.0.0";

/// The version as results share it.
static VERSION: LazyLock<Arc<str>> = LazyLock::new(|| RESULT_VERSION.into());

/// What a step did. The only thing that changes a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepResult {
    version: Arc<str>,
    step: Arc<str>,
    input_hash: Digest,
    output_hash: Digest,
    started_at: Timestamp,
    finished_at: Timestamp,
    outcome: Outcome,
    /// Members this version does not know, kept for the ones that do.
    others: Object,
}

/// How a step ended. Success has no errors, failure has no output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It produced an output.
    Success(Canonical),
    /// It produced errors.
    Failed(Vec<StepError>),
    /// It had nothing to do.
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

    /// Returns whether policies blocked the step: it failed, and every error says so.
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
    /// Makes the result of a step that was given `input`.
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

    /// Puts other members beside the outcome.
    #[must_use]
    pub fn beside(self, others: Object) -> Self {
        Self { others, ..self }
    }

    /// Takes a result back from a record, with the hashes it claims.
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

    /// Returns the result with a member of its own beside those of the form.
    #[must_use]
    pub fn with_other(self, key: &str, value: impl Into<Value>) -> Self {
        Self { others: self.others.with(key, value), ..self }
    }

    /// Returns the result as if the step had ended otherwise.
    #[must_use]
    pub fn ending_in(self, outcome: Outcome) -> Self {
        Self { output_hash: outcome.output_hash(), outcome, ..self }
    }

    /// Returns the step's name.
    pub fn step(&self) -> &Arc<str> {
        &self.step
    }

    /// Returns the hash of what the step was given.
    pub fn input_hash(&self) -> Digest {
        self.input_hash
    }

    /// Returns the hash of what the step produced, as the result claims it.
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

    /// Returns how the step ended.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// Returns the members this version does not know.
    pub fn others(&self) -> &Object {
        &self.others
    }

    /// Returns the canonical form.
    pub fn canonical(&self) -> Canonical {
        self.write(ObjectWriter::new()).finish()
    }

    /// Writes the members, in the order of their keys. Others come first: none of them can be taken for a known one.
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
