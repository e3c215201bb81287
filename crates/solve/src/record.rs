//! The records of a run: what each step holds, how it is written and read.

use std::sync::Arc;

use hence_canon::read::{Finding, Reader};
use hence_canon::{Canonical, Digest, Object, Value};
use hence_cognition::budget::Usage;
use hence_engine::{BlobError, Blobs, resolve};
use hence_state::{Outcome, StepResult};

use crate::block_record::{block_members, read_block};
use crate::conversation::{Message, Request};
use crate::limits::{Exhausted, Used};

/// The step of a model's reply.
pub const TURN_STEP: &str = "solve.turn";
/// The step of a sub-call.
pub const CALL_STEP: &str = "solve.call";
/// The step of a block.
pub const BLOCK_STEP: &str = "solve.block";
/// The step of a summary that replaces earlier turns in the conversation.
pub const COMPACT_STEP: &str = "solve.compact";
/// The step of a run that ended without an answer.
pub const END_STEP: &str = "solve.end";

/// The member of a failed result that holds the best partial answer.
const PARTIAL_KEY: &str = "partial";

/// The member that says why the model stopped.
pub const FINISH_REASON_KEY: &str = "finish_reason";
/// The member that names the model that answered. Records made before it existed have none.
pub const ANSWERED_BY_KEY: &str = "answered_by";

/// A reply of a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelReply {
    /// The text.
    pub text: Arc<str>,
    /// The reason why the model stopped, if it said so.
    pub finish_reason: Option<Arc<str>>,
    /// The model that answered, as the endpoint names it. A name such as `latest` is answered by one version or another.
    pub answered_by: Option<Arc<str>>,
    /// The tokens and the cost.
    pub usage: Usage,
}

impl ModelReply {
    /// Returns whether the model stopped at its limit of tokens, as the APIs name that.
    pub fn is_cut(&self) -> bool {
        let cut = ["length", "max_tokens", "model_length", "model_context_window_exceeded"];
        self.finish_reason.as_deref().is_some_and(|reason| cut.contains(&reason))
    }
}

/// A turn: the conversation so far was sent, and this came back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turn {
    /// The number of the turn, from 1.
    pub turn: u64,
    /// The model that was asked.
    pub model: Arc<str>,
    /// The digest of the request.
    pub request: Digest,
    /// The reply.
    pub reply: ModelReply,
}

hence_canon::words! {
    /// The function that made a sub-call.
    pub enum Function {
        /// One completion.
        Llm = "llm_query",
        /// A child run.
        Rlm = "rlm_query",
    }
}

/// A child run that answered a sub-call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChildLink {
    /// The run.
    pub run: Arc<str>,
    /// The head of its journal.
    pub head: Arc<str>,
}

/// An error that a block sees as an exception.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodeError {
    /// The type of the exception.
    pub kind: Arc<str>,
    /// The message.
    pub message: Arc<str>,
    /// The line of the block, from 1.
    pub line: Option<u64>,
}

impl CodeError {
    /// Makes an error without a line.
    pub fn new(kind: &str, message: impl Into<Arc<str>>) -> Self {
        Self { kind: kind.into(), message: message.into(), line: None }
    }

    /// Returns the error as a record and a failed slot of a batch hold it.
    pub fn value(&self) -> Value {
        let mut members =
            vec![("type", Value::from(self.kind.clone())), ("message", self.message.clone().into())];
        members.extend(self.line.map(|line| ("line", line.into())));
        members.into_iter().collect::<Object>().into()
    }

    pub(crate) fn read(mut reader: Reader<'_>) -> Result<Self, Finding> {
        Ok(Self {
            kind: reader.text("type")?,
            message: reader.text("message")?,
            line: reader.optional_count("line")?,
        })
    }
}

/// A sub-call of a block, with its answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SubCall {
    /// The turn.
    pub turn: u64,
    /// The block of the turn, from 1.
    pub block: u64,
    /// The function.
    pub function: Function,
    /// The model that was asked.
    pub model: Arc<str>,
    /// The prompt.
    pub prompt: Arc<str>,
    /// The context that a child was given.
    pub context: Option<Value>,
    /// The answer: a text of a model, or the `Final` of a child.
    pub answer: Result<Value, CodeError>,
    /// The reason why the model stopped, if it said so.
    pub finish_reason: Option<Arc<str>>,
    /// The model that answered, as the endpoint names it.
    pub answered_by: Option<Arc<str>>,
    /// The usage of the call, its children included.
    pub used: Used,
    /// The record of an equal call whose answer this one repeats.
    pub cached_from: Option<u64>,
    /// The child run that answered.
    pub child: Option<ChildLink>,
}

impl SubCall {
    /// Returns the request that a model is sent for a call which no child run answers.
    pub fn request(prompt: &Arc<str>, context: Option<&Value>) -> Request {
        let text = match context {
            None => prompt.clone(),
            Some(Value::String(context)) => format!("{prompt}\n\n{context}").into(),
            Some(context) => format!("{prompt}\n\n{context}").into(),
        };
        Request { system: None, messages: vec![Message::user(text)] }
    }

    /// Returns the digest of everything that decides about the answer.
    pub fn identity(function: Function, model: &str, prompt: &str, context: Option<&Value>) -> Digest {
        let members: [(&str, Value); 4] = [
            ("function", function.as_str().into()),
            ("model", model.into()),
            ("prompt", prompt.into()),
            ("context", context.cloned().unwrap_or_default()),
        ];
        Canonical::of(&members.into_iter().collect::<Object>().into()).digest()
    }
}

/// A change of the run's variables by a block, in the order in which it happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operation {
    /// A variable was written: by `set`, or left by the block.
    Set {
        /// The name.
        name: Arc<str>,
        /// The value.
        value: Value,
    },
    /// A variable is gone.
    Delete {
        /// The name.
        name: Arc<str>,
    },
    /// The variables were named.
    Checkpoint {
        /// The name.
        name: Arc<str>,
    },
    /// The variables returned to those that have a name.
    Rollback {
        /// The name.
        name: Arc<str>,
    },
}

/// The end of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BlockEnd {
    /// It ran to its end.
    Completed,
    /// It raised an exception that it did not catch.
    Raised(CodeError),
    /// A limit of the interpreter stopped it; the variables of the interpreter are those before it.
    Stopped {
        /// The name of the limit.
        limit: Arc<str>,
    },
}

/// Characters of a context that a block read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Read {
    /// The number of the context.
    pub context: u64,
    /// The number of the file in a list of files.
    pub item: u64,
    /// The first character.
    pub start: u64,
    /// The character after the last.
    pub end: u64,
}

/// A block that ran.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// The turn.
    pub turn: u64,
    /// The number of the block in its turn, from 1.
    pub block: u64,
    /// The code.
    pub code: Arc<str>,
    /// The end.
    pub end: BlockEnd,
    /// The printed text.
    pub printed: Arc<str>,
    /// The number of sub-calls, whose records come before this one.
    pub calls: u64,
    /// The changes of variables.
    pub operations: Vec<Operation>,
    /// The names that hold values which are not data, such as functions, with their types.
    pub others: Vec<(Arc<str>, Arc<str>)>,
    /// The writes that the rules of variables refuse, with the reason.
    pub refused: Vec<(Arc<str>, Arc<str>)>,
    /// The parts of contexts that were read, in order, joined where they touch.
    pub reads: Vec<Read>,
    /// The number of parts that were read and are not listed.
    pub reads_left_out: u64,
    /// The numbers of the contexts whose values the code uses in a way that does not say which parts it looks at.
    pub uses: Vec<u64>,
}

/// A summary that replaces earlier turns in the conversation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compaction {
    /// The last turn that the summary covers.
    pub turn: u64,
    /// The digest of the request.
    pub request: Digest,
    /// The summary.
    pub reply: ModelReply,
}

/// The end of a run without an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End {
    /// The limit.
    pub exhausted: Exhausted,
    /// The best partial answer.
    pub partial: Option<Arc<str>>,
}

/// One record of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Entry {
    /// A turn.
    Turn(Turn),
    /// A sub-call.
    Call(Box<SubCall>),
    /// A block.
    Block(Box<Block>),
    /// A compaction.
    Compact(Compaction),
    /// The end without an answer.
    End(End),
}

/// A result that is not an entry.
#[derive(Debug, thiserror::Error)]
pub enum NotAnEntry {
    /// A value is stored outside the journal and is missing or damaged.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// A member is missing or invalid.
    #[error(transparent)]
    Member(#[from] Finding),
    /// It is the step of another program.
    #[error("expected a step of the loop, found {0:?}")]
    OtherStep(Arc<str>),
}

/// Stores large values: returns what a record holds, the value or a reference to it.
pub(crate) type Store<'a> = dyn FnMut(Value) -> Result<Value, hence_engine::RunError> + 'a;

impl Entry {
    /// Returns the name of the step.
    pub fn step(&self) -> &'static str {
        match self {
            Self::Turn(_) => TURN_STEP,
            Self::Call(_) => CALL_STEP,
            Self::Block(_) => BLOCK_STEP,
            Self::Compact(_) => COMPACT_STEP,
            Self::End(_) => END_STEP,
        }
    }

    /// Returns the input of the step: everything but what the step found out.
    pub fn input(&self) -> Value {
        let members: Vec<(&str, Value)> = match self {
            Self::Turn(turn) => vec![
                ("turn", turn.turn.into()),
                ("model", turn.model.clone().into()),
                ("request_sha256", turn.request.into()),
            ],
            Self::Compact(compact) => {
                vec![("turn", compact.turn.into()), ("request_sha256", compact.request.into())]
            }
            Self::Call(call) => {
                let id = SubCall::identity(call.function, &call.model, &call.prompt, call.context.as_ref());
                vec![("turn", call.turn.into()), ("block", call.block.into()), ("call_sha256", id.into())]
            }
            Self::Block(block) => {
                let code = Digest::of(block.code.as_bytes());
                vec![("turn", block.turn.into()), ("block", block.block.into()), ("code_sha256", code.into())]
            }
            Self::End(_) => Vec::new(),
        };
        members.into_iter().collect::<Object>().into()
    }

    /// Returns the output of the step, with large values stored by `store`.
    ///
    /// # Errors
    /// The error of `store`.
    pub(crate) fn output(&self, store: &mut Store<'_>) -> Result<Value, hence_engine::RunError> {
        let members: Vec<(&str, Value)> = match self {
            Self::Turn(turn) => {
                let mut members = reply_members(("turn", turn.turn), turn.request, &turn.reply, store)?;
                members.push(("model", turn.model.clone().into()));
                members
            }
            Self::Compact(compact) => {
                reply_members(("turn", compact.turn), compact.request, &compact.reply, store)?
            }
            Self::Call(call) => call_members(call, store)?,
            Self::Block(block) => block_members(block, store)?,
            Self::End(_) => Vec::new(),
        };
        Ok(members.into_iter().collect::<Object>().into())
    }

    /// Returns the best partial answer, as a failed result holds it.
    pub(crate) fn partial(end: &End) -> Option<(&'static str, Value)> {
        end.partial.clone().map(|partial| (PARTIAL_KEY, partial.into()))
    }

    /// Reads the entry of a result.
    ///
    /// # Errors
    /// [`NotAnEntry`].
    pub fn read(result: &StepResult, blobs: &dyn Blobs) -> Result<Self, NotAnEntry> {
        if &**result.step() == END_STEP {
            return read_end(result, blobs);
        }
        let output = match result.outcome().output() {
            Some(output) => resolve(output, blobs)?,
            None => return Err(Finding::other("the step has no output").into()),
        };
        let reader = Reader::new(&output)?;
        match &**result.step() {
            TURN_STEP => {
                let model = Reader::new(&output)?.text("model")?;
                let (turn, request, reply) = read_reply(reader, blobs)?;
                Ok(Self::Turn(Turn { turn, model, request, reply }))
            }
            COMPACT_STEP => {
                let (turn, request, reply) = read_reply(reader, blobs)?;
                Ok(Self::Compact(Compaction { turn, request, reply }))
            }
            CALL_STEP => Ok(Self::Call(Box::new(read_call(reader, blobs)?))),
            BLOCK_STEP => Ok(Self::Block(Box::new(read_block(reader, blobs)?))),
            _ => Err(NotAnEntry::OtherStep(result.step().clone())),
        }
    }
}

fn read_end(result: &StepResult, blobs: &dyn Blobs) -> Result<Entry, NotAnEntry> {
    let Outcome::Failed(errors) = result.outcome() else {
        return Err(Finding::other("a run that ends without an answer fails").into());
    };
    let Some(error) = errors.first() else { return Err(Finding::other("it has no error").into()) };
    let limit = error.code.strip_prefix("limit_").unwrap_or(&error.code).to_owned();
    let partial = match result.others().get(PARTIAL_KEY) {
        None => None,
        Some(value) => Some(text_value(resolve(&Canonical::of(value), blobs)?)?),
    };
    let exhausted = Exhausted { limit, message: error.message.to_string() };
    Ok(Entry::End(End { exhausted, partial }))
}

fn reply_members(
    turn: (&'static str, u64),
    request: Digest,
    reply: &ModelReply,
    store: &mut Store<'_>,
) -> Result<Vec<(&'static str, Value)>, hence_engine::RunError> {
    let mut members = vec![
        (turn.0, Value::from(turn.1)),
        ("request_sha256", request.into()),
        ("reply", store(reply.text.clone().into())?),
        ("usage", reply.usage.value().into()),
    ];
    members.extend(stated_members(reply.finish_reason.as_ref(), reply.answered_by.as_ref()));
    Ok(members)
}

/// Returns the members for what an endpoint stated about a reply. Endpoints state both, one or none.
fn stated_members(
    finish_reason: Option<&Arc<str>>,
    answered_by: Option<&Arc<str>>,
) -> impl Iterator<Item = (&'static str, Value)> {
    let stated = [(FINISH_REASON_KEY, finish_reason), (ANSWERED_BY_KEY, answered_by)];
    stated.map(|(key, text)| text.map(|text| (key, Value::from(text.clone())))).into_iter().flatten()
}

fn read_reply(mut reader: Reader<'_>, blobs: &dyn Blobs) -> Result<(u64, Digest, ModelReply), NotAnEntry> {
    let reply = ModelReply {
        text: stored_text(&mut reader, "reply", blobs)?,
        finish_reason: reader.optional_text(FINISH_REASON_KEY)?,
        answered_by: reader.optional_text(ANSWERED_BY_KEY)?,
        usage: reader.required("usage", |value| Ok(Usage::read(value)))?,
    };
    Ok((reader.count("turn")?, reader.parsed("request_sha256")?, reply))
}

fn call_members(
    call: &SubCall,
    store: &mut Store<'_>,
) -> Result<Vec<(&'static str, Value)>, hence_engine::RunError> {
    let mut members = vec![
        ("turn", call.turn.into()),
        ("block", call.block.into()),
        ("function", call.function.as_str().into()),
        ("model", call.model.clone().into()),
        ("prompt", store(call.prompt.clone().into())?),
        ("used", call.used.value()),
    ];
    match &call.answer {
        // A value may look like a reference, so it is held inside a list.
        Ok(value) => members.push(("answer", store(Value::from(vec![value.clone()]))?)),
        Err(error) => members.push(("error", error.value())),
    }
    if let Some(context) = &call.context {
        members.push(("context", store(Value::from(vec![context.clone()]))?));
    }
    members.extend(stated_members(call.finish_reason.as_ref(), call.answered_by.as_ref()));
    members.extend(call.cached_from.map(|record| ("cached_from", record.into())));
    members.extend(call.child.as_ref().map(|child| {
        let link = [("run", child.run.clone()), ("head", child.head.clone())];
        ("child", link.into_iter().collect::<Object>().into())
    }));
    Ok(members)
}

fn read_call(mut reader: Reader<'_>, blobs: &dyn Blobs) -> Result<SubCall, NotAnEntry> {
    let answer = match reader.optional_object("error")? {
        Some(error) => Err(CodeError::read(error)?),
        None => Ok(stored_value(&mut reader, "answer", blobs)?),
    };
    let context = match reader.value("context") {
        Some(value) => Some(unwrapped(resolve(&Canonical::of(value), blobs)?)?),
        None => None,
    };
    let child = match reader.optional_object("child")? {
        None => None,
        Some(mut link) => Some(ChildLink { run: link.text("run")?, head: link.text("head")? }),
    };
    Ok(SubCall {
        turn: reader.count("turn")?,
        block: reader.count("block")?,
        function: reader.parsed("function")?,
        model: reader.text("model")?,
        prompt: stored_text(&mut reader, "prompt", blobs)?,
        context,
        answer,
        finish_reason: reader.optional_text(FINISH_REASON_KEY)?,
        answered_by: reader.optional_text(ANSWERED_BY_KEY)?,
        used: reader.required("used", |value| Ok(Used::read(value)))?,
        cached_from: reader.optional_count("cached_from")?,
        child,
    })
}

pub(crate) fn stored_text(
    reader: &mut Reader<'_>,
    key: &'static str,
    blobs: &dyn Blobs,
) -> Result<Arc<str>, NotAnEntry> {
    let value = reader.required(key, |value| Ok(value.clone()))?;
    text_value(resolve(&Canonical::of(&value), blobs)?)
}

fn text_value(value: Value) -> Result<Arc<str>, NotAnEntry> {
    Ok(hence_canon::read::text(&value)?)
}

pub(crate) fn stored_value(
    reader: &mut Reader<'_>,
    key: &'static str,
    blobs: &dyn Blobs,
) -> Result<Value, NotAnEntry> {
    let value = reader.required(key, |value| Ok(value.clone()))?;
    unwrapped(resolve(&Canonical::of(&value), blobs)?)
}

/// Takes a value out of the list that holds it.
fn unwrapped(value: Value) -> Result<Value, NotAnEntry> {
    match value.as_array() {
        Some([only]) => Ok(only.clone()),
        _ => Err(Finding::expected("a list with one value", &value).into()),
    }
}
