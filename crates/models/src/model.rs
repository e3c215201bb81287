//! Asking a model: prompts, retries, judgement, repairs.

use std::time::Duration;

use genai::chat::ChatMessage;
use hence_canon::{Object, Value};

use crate::exchange::{Line, MayPass, Said, Trouble};
use crate::failure::{AskError, FailureClass};
use crate::patience::Next;
use crate::schema::Shape;
use crate::secret::Secret;
use crate::settings::{InvalidSettings, ModelSettings, Structure};
use crate::usage::{Tokens, report};
use crate::{reply, template::NotGiven};

/// A language model that can be asked.
#[derive(Clone, Debug)]
pub struct Model {
    settings: ModelSettings,
}

/// What a model is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// What the prompts are filled from.
    pub input: &'a Value,
    /// What the reply must look like; without a schema it is taken in its own words.
    pub schema: Option<&'a Value>,
    /// The key, if the endpoint wants one.
    pub key: Option<&'a Secret>,
    /// How long the answer may take, with every retry and repair.
    pub timeout: Duration,
    /// How many bytes of text a reply may have.
    pub reply_bytes_max: u64,
}

/// What a model answered, after all repairs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The object the reply is; `{"text": …}` when no shape is asked for.
    pub output: Object,
    /// What the call reports about itself: `llm_calls`, `tokens_in`, `tokens_out` and, with prices, `cost`.
    pub meta: Object,
}

impl Model {
    /// Reads a model's settings.
    ///
    /// # Errors
    /// [`InvalidSettings`] with everything that is wrong.
    pub fn read(settings: &Object) -> Result<Self, InvalidSettings> {
        Ok(Self { settings: ModelSettings::read(settings)? })
    }

    /// Returns the settings.
    pub fn settings(&self) -> &ModelSettings {
        &self.settings
    }

    /// Asks the model.
    ///
    /// # Errors
    /// [`AskError`] when there is no usable answer in time. The key shows in none of them.
    pub fn ask(&self, question: &Question<'_>) -> Result<Answer, AskError> {
        let shape = question.schema.map(Shape::read).transpose();
        let shape = shape.map_err(|reason| failed(FailureClass::SchemaInvalid, reason))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime
            .map_err(|error| failed(FailureClass::Unreachable, format!("no runtime for a call: {error}")))?;
        let asked = runtime.block_on(async {
            let asking = Asking::begin(&self.settings, question, shape.as_ref())?.answer();
            let timed_out = Err(AskError::TimedOut(question.timeout));
            tokio::time::timeout(question.timeout, asking).await.unwrap_or(timed_out)
        });
        // A lookup of a name cannot be broken off; nobody waits for it.
        runtime.shutdown_background();
        asked.map_err(|error| hide(error, question.key))
    }
}

fn failed(class: FailureClass, message: String) -> AskError {
    AskError::Failed { class, message }
}

fn hide(error: AskError, key: Option<&Secret>) -> AskError {
    match (error, key) {
        (AskError::Failed { class, message }, Some(key)) => failed(class, key.hidden_in(&message)),
        (error, _) => error,
    }
}

/// A call under way.
struct Asking<'a> {
    settings: &'a ModelSettings,
    shape: Option<&'a Shape>,
    key: Option<&'a Secret>,
    line: Line<'a>,
    system: Option<String>,
    messages: Vec<ChatMessage>,
    replies: u64,
    tokens: Tokens,
}

impl<'a> Asking<'a> {
    fn begin(
        settings: &'a ModelSettings,
        question: &Question<'a>,
        shape: Option<&'a Shape>,
    ) -> Result<Self, AskError> {
        let input = question.input;
        let unfit = |NotGiven(name)| {
            let message = format!("the prompt names `{name}`, which the input does not have");
            failed(FailureClass::InvalidInput, message)
        };
        let system =
            settings.system.as_ref().map(|template| template.fill(input)).transpose().map_err(unfit)?;
        let prompt = settings.prompt.fill(input).map_err(unfit)?;
        let asking = Self {
            settings,
            shape,
            key: question.key,
            line: Line::open(settings, question, shape).map_err(|trouble| about(settings, trouble))?,
            system: with_shape(system, shape, settings.structure),
            messages: vec![ChatMessage::user(prompt)],
            replies: 0,
            tokens: Tokens::default(),
        };
        Ok(asking)
    }

    /// Asks until a reply is what it must look like, or often enough.
    async fn answer(mut self) -> Result<Answer, AskError> {
        loop {
            let said = self.exchange().await.map_err(|trouble| about(self.settings, trouble))?;
            self.replies += 1;
            self.tokens = self.tokens.plus(said.tokens);
            if self.key.is_some_and(|key| key.is_in(&said.text)) {
                let message = "the reply shows the key it was asked with".to_owned();
                return Err(about(self.settings, Trouble::lasting(FailureClass::ReplyInvalid, message)));
            }
            match reply::judge(&said.text, self.shape) {
                Ok(output) => {
                    let meta = report(self.replies, self.tokens, self.settings.prices.as_ref());
                    return Ok(Answer { output, meta });
                }
                Err(wrong) if self.replies > u64::from(self.settings.repairs) => {
                    return Err(self.given_up(&wrong));
                }
                Err(wrong) => self.messages.extend(repair(said.text, &wrong)),
            }
        }
    }

    /// Makes one request, again and again while its trouble may pass.
    async fn exchange(&self) -> Result<Said, Trouble> {
        let mut failures = 0;
        loop {
            let trouble = match self.line.exchange(self.system.as_deref(), &self.messages).await {
                Ok(said) => return Ok(said),
                Err(trouble) => trouble,
            };
            let MayPass::Yes(asked) = trouble.may_pass else { return Err(trouble) };
            failures += 1;
            let Trouble { class, message, .. } = trouble;
            match self.settings.patience.next(failures, asked) {
                Next::Wait(wait) => tokio::time::sleep(wait).await,
                Next::TriedEnough if failures == 1 => return Err(Trouble::lasting(class, message)),
                Next::TriedEnough => {
                    return Err(Trouble::lasting(class, format!("{message} ({failures} times in a row)")));
                }
                Next::AskedTooMuch(wait) => {
                    let longest = self.settings.patience.wait_max;
                    let message = format!("{message}; it asks to wait {wait:?}, allowed are {longest:?}");
                    return Err(Trouble::lasting(class, message));
                }
            }
        }
    }

    fn given_up(&self, wrong: &str) -> AskError {
        let Tokens { input, output, .. } = self.tokens;
        let replies = self.replies;
        let message = format!(
            "none of {replies} replies can be used ({input} tokens in, {output} out); of the last, {wrong}"
        );
        about(self.settings, Trouble::lasting(FailureClass::ReplyInvalid, message))
    }
}

fn about(settings: &ModelSettings, trouble: Trouble) -> AskError {
    let message = format!("model `{}` at {}: {}", settings.model, settings.endpoint, trouble.message);
    failed(trouble.class, message)
}

/// Shows the schema in the system prompt where the provider does not hold the model to it.
fn with_shape(system: Option<String>, shape: Option<&Shape>, structure: Structure) -> Option<String> {
    let Some(shape) = shape.filter(|_| structure != Structure::Schema) else {
        return system;
    };
    let demand = format!(
        "Reply with one JSON object that satisfies this JSON Schema, and with nothing else:\n{}",
        shape.schema()
    );
    Some(system.map_or_else(|| demand.clone(), |system| format!("{system}\n\n{demand}")))
}

/// What is said to a model whose reply cannot be used.
fn repair(said: String, wrong: &str) -> [ChatMessage; 2] {
    // Some endpoints refuse a turn without a word.
    let said = if said.trim().is_empty() { "(nothing)".to_owned() } else { said };
    let demand = format!(
        "That reply cannot be used: {wrong}. Reply again with the whole JSON object, corrected, and with nothing else."
    );
    [ChatMessage::assistant(said), ChatMessage::user(demand)]
}
