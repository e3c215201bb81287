//! The functions that a block can call, and the variables as the block changes them.

use std::collections::BTreeSet;
use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_journal::RecordIndex;
use hence_sandbox::{HostCall, PyValue};

use crate::block::{self, BlockStart, CallRequest, CallSource};
use crate::context::{Content, Context, SLICE_CHARACTERS_MAX, Span, Text};
use crate::record::{Block, CodeError, Function, Operation, Read};
use crate::session::Interrupted;
use crate::spec::{AnswerForms, Rules, Spec};
use crate::variables::{SolveVariables, is_kept};

/// The most places that one search returns.
const FOUND_MAX: u64 = 1000;

/// The most sub-calls of one batch.
const BATCH_MAX: usize = 10_000;

/// The most separate reads that a record lists. More of them are joined with their neighbours in the same text; reads of further texts
/// are counted.
const READS_MAX: usize = 200;

/// The answer to a call.
pub(crate) enum Reply {
    /// A value.
    Value(Value),
    /// An exception.
    Raise(CodeError),
    /// There is no such function.
    Unknown,
}

/// The host of one block.
pub(crate) struct Functions<'a> {
    spec: Arc<Spec>,
    contexts: &'a [Context],
    turn: u64,
    block: u64,
    /// The number of sub-calls so far.
    pub(crate) calls: u64,
    /// The variables with the changes of the block so far.
    pub(crate) variables: SolveVariables,
    pub(crate) operations: Vec<Operation>,
    set: BTreeSet<Arc<str>>,
    pub(crate) rolled_back: bool,
    reads: Vec<Read>,
    /// The answer that the block gave through a function. It counts when the block ends.
    answer: Option<GivenAnswer>,
}

/// An answer that a block gives through a function.
enum GivenAnswer {
    /// The value.
    Value(Value),
    /// The name of the variable that holds it at the end of the block.
    Variable(Arc<str>),
}

/// A call that a block made wrongly.
type Refused<T> = Result<T, CodeError>;

impl<'a> Functions<'a> {
    pub(crate) fn new(start: BlockStart, contexts: &'a [Context]) -> Self {
        Self {
            contexts,
            turn: start.turn,
            block: start.block,
            spec: start.spec,
            calls: 0,
            variables: start.variables,
            operations: Vec::new(),
            set: BTreeSet::new(),
            rolled_back: false,
            reads: Vec::new(),
            answer: None,
        }
    }

    pub(crate) fn rules(&self) -> Rules {
        self.spec.rules
    }

    pub(crate) fn forms(&self) -> AnswerForms {
        self.spec.forms
    }

    pub(crate) fn was_set(&self, name: &str) -> bool {
        self.set.contains(name)
    }

    /// Returns the message for a context that is too large to be one value; `None` for any other name.
    pub(crate) fn too_large(&self, name: &str) -> Option<String> {
        Some(self.context(name)?.large().2)
    }

    fn context(&self, name: &str) -> Option<&'a Context> {
        let number = Context::numbered(name)?;
        self.contexts.iter().find(|context| context.number == number)
    }

    /// Answers a call.
    pub(crate) fn answer(
        &mut self,
        call: &HostCall,
        calls: &mut dyn CallSource,
    ) -> Result<Reply, Interrupted> {
        let arguments: Vec<Value> = call
            .arguments
            .iter()
            .map(|argument| match argument {
                PyValue::Data(value) => Ok(value.clone()),
                PyValue::Other { kind, .. } => {
                    Err(CodeError::new("TypeError", format!("a {kind} cannot be passed to {}", call.name)))
                }
            })
            .collect::<Refused<_>>()
            .unwrap_or_default();
        if arguments.len() < call.arguments.len() {
            let message = "only text, numbers, lists and dicts of them can be passed";
            return Ok(Reply::Raise(CodeError::new("TypeError", message)));
        }
        let refused = |error| Ok(Reply::Raise(error));
        let value = match (&*call.name, arguments.as_slice()) {
            ("__llm", [prompts, model, errors, single]) => {
                let requests = match self.requests(Function::Llm, prompts, None, model) {
                    Ok(requests) => requests,
                    Err(error) => return refused(error),
                };
                return self.batch(&requests, errors, single, calls);
            }
            ("__rlm", [prompts, contexts, model, errors, single]) => {
                let contexts = (!contexts.is_null()).then_some(contexts);
                let requests = match self.requests(Function::Rlm, prompts, contexts, model) {
                    Ok(requests) => requests,
                    Err(error) => return refused(error),
                };
                return self.batch(&requests, errors, single, calls);
            }
            ("__slice", [start, end, name, item]) => {
                let place = self.text(name, item).and_then(|found| Ok((found, number("start", start)?, end)));
                match place {
                    Ok(((text, read), start, end)) => return self.slice(text, read, start, end),
                    Err(error) => return refused(error),
                }
            }
            ("__search", [wanted, name, start, limit, item]) => {
                return self.search((wanted, name, start, limit, item));
            }
            ("__file", [name, item]) => return self.file(name, item),
            ("__get", [name]) => self.get(name),
            ("__set", [name, value]) => self.set_variable(name, value),
            ("__checkpoint", [name]) => self.checkpoint(name),
            ("__rollback", [name]) => self.roll_back(name),
            ("__final", [value]) if self.has_final_function() => self.set_variable(&"Final".into(), value),
            ("__final_var", [name]) if self.rules() == Rules::Second && self.has_final_function() => {
                text("name", name).map(|name| {
                    self.answer = Some(GivenAnswer::Variable(name));
                    Value::Null
                })
            }
            ("__count", [wanted, name]) => return self.count(wanted, name),
            ("__show_vars", []) => Ok(self.show()),
            _ => return Ok(Reply::Unknown),
        };
        Ok(match value {
            Ok(value) => Reply::Value(value),
            Err(error) => Reply::Raise(error),
        })
    }

    /// Returns whether a function can answer. The first rules let every block use the one of other runtimes.
    fn has_final_function(&self) -> bool {
        self.rules() == Rules::First || self.forms() == AnswerForms::Compat
    }

    fn count(&mut self, wanted: &Value, name: &Value) -> Result<Reply, Interrupted> {
        let found = text("text", wanted).and_then(|wanted| Ok((wanted, self.text(name, &Value::Null)?)));
        let (wanted, (text, read)) = match found {
            Ok(found) => found,
            Err(error) => return Ok(Reply::Raise(error)),
        };
        self.note(Read { start: 0, end: text.index().characters(), ..read });
        Ok(Reply::Value(text.count(&wanted)?.into()))
    }

    fn requests(
        &self,
        function: Function,
        prompts: &Value,
        contexts: Option<&Value>,
        model: &Value,
    ) -> Refused<Vec<CallRequest>> {
        let prompts = prompts.as_array().unwrap_or_default();
        if prompts.len() > BATCH_MAX {
            let message = format!("a batch has at most {BATCH_MAX} prompts, found {}", prompts.len());
            return Err(CodeError::new("ValueError", message));
        }
        let given = match model {
            Value::Null => None,
            other => Some(text("model", other)?),
        };
        let Some(model) = self.spec.sub_call_model(given.as_deref()) else {
            let given = given.unwrap_or_default();
            let message =
                format!("the run knows no model {given:?}: leave it out, or name one that the run pins");
            return Err(CodeError::new("ValueError", message));
        };
        let contexts = contexts.map(|contexts| contexts.as_array().unwrap_or_default());
        if contexts.is_some_and(|contexts| contexts.len() != prompts.len()) {
            return Err(CodeError::new("ValueError", "there must be one context for each prompt"));
        }
        let request = |(place, prompt): (usize, &Value)| {
            Ok(CallRequest {
                turn: self.turn,
                block: self.block,
                function,
                model: model.name.clone(),
                prompt: text("prompt", prompt)?,
                context: contexts.and_then(|contexts| contexts.get(place).cloned()),
            })
        };
        prompts.iter().enumerate().map(request).collect()
    }

    fn batch(
        &mut self,
        requests: &[CallRequest],
        errors: &Value,
        single: &Value,
        calls: &mut dyn CallSource,
    ) -> Result<Reply, Interrupted> {
        let keeps = match errors.as_str() {
            Some("raise") => false,
            Some("keep") => true,
            _ => {
                let error = CodeError::new("ValueError", "errors must be \"raise\" or \"keep\"");
                return Ok(Reply::Raise(error));
            }
        };
        let answers = calls.ask(requests)?;
        self.calls += requests.len() as u64;
        let failed: Vec<usize> = answers
            .iter()
            .enumerate()
            .filter(|(_, answer)| answer.is_err())
            .map(|(place, _)| place)
            .collect();
        if let Some(first) = failed.first().filter(|_| !keeps) {
            let Some(Err(error)) = answers.into_iter().nth(*first) else { return Ok(Reply::Unknown) };
            let message = match failed.as_slice() {
                [_] if single.as_u64() == Some(1) => error.message,
                _ => format!(
                    "{} of {} calls failed (first: number {first}: {}); repeating the others costs nothing, errors=\"keep\" returns them",
                    failed.len(),
                    requests.len(),
                    error.message
                )
                .into(),
            };
            return Ok(Reply::Raise(CodeError { message, ..error }));
        }
        let values = answers.into_iter().map(|answer| match answer {
            Ok(value) => value,
            Err(error) => Object::from_iter([("error", error.value())]).into(),
        });
        let values: Vec<Value> = values.collect();
        Ok(Reply::Value(match (single.as_u64(), values.as_slice()) {
            (Some(1), [only]) => only.clone(),
            _ => values.into(),
        }))
    }

    /// Finds the text that a call is about.
    fn text(&self, name: &Value, item: &Value) -> Refused<(&'a Text, Read)> {
        let name = text("name", name)?;
        let Some(context) = self.context(&name) else {
            return Err(CodeError::new("KeyError", format!("there is no input {name}")));
        };
        let read = |item: u64| Read { context: context.number as u64, item, start: 0, end: 0 };
        match &context.content {
            Content::Text(text) => Ok((text, read(0))),
            Content::Texts(texts) => {
                let Some(place) = item.as_u64() else {
                    let message = format!("{name} is a list of {} files: name one with item=0", texts.len());
                    return Err(CodeError::new("ValueError", message));
                };
                let found = usize::try_from(place).ok().and_then(|place| texts.get(place));
                let found = found.ok_or_else(|| {
                    CodeError::new(
                        "IndexError",
                        format!("{name} has {} files, no number {place}", texts.len()),
                    )
                })?;
                Ok((found, read(place)))
            }
            Content::Value(_) => {
                Err(CodeError::new("TypeError", format!("{name} is no text but {}", context.describe())))
            }
        }
    }

    fn slice(&mut self, text: &Text, read: Read, start: i64, end: &Value) -> Result<Reply, Interrupted> {
        let length = text.index().characters();
        let end = match end {
            Value::Null => Ok(length),
            other => number("end", other).map(|end| from_end(end, length)),
        };
        let end = match end {
            Ok(end) => end.min(length),
            Err(error) => return Ok(Reply::Raise(error)),
        };
        let start = from_end(start, length);
        if end.saturating_sub(start) > SLICE_CHARACTERS_MAX {
            let message = format!("a slice has at most {SLICE_CHARACTERS_MAX} characters");
            return Ok(Reply::Raise(CodeError::new("MemoryError", message)));
        }
        let found = text.slice(start, end)?;
        if start < end {
            self.note(Read { start, end, ..read });
        }
        Ok(Reply::Value(found.into()))
    }

    fn search(
        &mut self,
        (wanted, name, start, limit, item): (&Value, &Value, &Value, &Value, &Value),
    ) -> Result<Reply, Interrupted> {
        let asked = (|| {
            let limit = number("limit", limit)?.clamp(0, i64::try_from(FOUND_MAX).unwrap_or(i64::MAX));
            let start = u64::try_from(number("start", start)?).unwrap_or(0);
            Ok((text("text", wanted)?, text("name", name)?, start, usize::try_from(limit).unwrap_or(0)))
        })();
        let (wanted, name, start, limit) = match asked {
            Ok(asked) => asked,
            Err(error) => return Ok(Reply::Raise(error)),
        };
        let whole_list = match self.context(&name).map(|context| &context.content) {
            Some(Content::Texts(texts)) if item.is_null() => Some(texts),
            _ => None,
        };
        let mut places: Vec<Value> = Vec::new();
        if let Some(texts) = whole_list {
            let number = self.context(&name).map_or(0, |context| context.number as u64);
            for (place, text) in texts.iter().enumerate() {
                let left = limit.saturating_sub(places.len());
                if left == 0 {
                    break;
                }
                let read = Read { context: number, item: place as u64, start: 0, end: 0 };
                for span in text.find(&wanted, start, left)? {
                    places.push(self.place(text, read, span, Some(place))?);
                }
            }
        } else {
            let (text, read) = match self.text(&Value::from(name), item) {
                Ok(found) => found,
                Err(error) => return Ok(Reply::Raise(error)),
            };
            let item = item.as_u64().and_then(|item| usize::try_from(item).ok());
            for span in text.find(&wanted, start, limit)? {
                places.push(self.place(text, read, span, item)?);
            }
        }
        Ok(Reply::Value(places.into()))
    }

    /// Returns a found place as the code sees it, and notes that the text around it was read.
    fn place(
        &mut self,
        text: &Text,
        read: Read,
        span: Span,
        item: Option<usize>,
    ) -> Result<Value, Interrupted> {
        let around = text.around(span)?;
        self.note(Read { start: span.start, end: span.end, ..read });
        let mut members: Vec<(&str, Value)> =
            vec![("start", span.start.into()), ("end", span.end.into()), ("text", around.into())];
        if let Some(item) = item {
            members.push(("item", item.into()));
            members.push(("path", text.path.clone().into()));
        }
        Ok(members.into_iter().collect::<Object>().into())
    }

    fn note(&mut self, read: Read) {
        self.reads.push(read);
    }

    /// Returns one file of a list that is too large to be a value.
    fn file(&mut self, name: &Value, item: &Value) -> Result<Reply, Interrupted> {
        let (text, read) = match self.text(name, item) {
            Ok(found) => found,
            Err(error) => return Ok(Reply::Raise(error)),
        };
        let characters = text.index().characters();
        if characters > SLICE_CHARACTERS_MAX {
            let message = format!(
                "{} has {characters} characters: read it with slice(…, item={})",
                text.path, read.item
            );
            return Ok(Reply::Raise(CodeError::new("MemoryError", message)));
        }
        let members = [("path", Value::from(text.path.clone())), ("text", text.slice(0, characters)?.into())];
        self.note(Read { start: 0, end: characters, ..read });
        Ok(Reply::Value(members.into_iter().collect::<Object>().into()))
    }

    /// Notes the parts that a block took with brackets, as the interpreter lists them: name, file, start, end.
    pub(crate) fn note_taken(&mut self, taken: &PyValue) {
        for item in taken.data().and_then(Value::as_array).unwrap_or_default() {
            let read = (|| {
                let count = |place: usize| item.at(place)?.as_u64();
                let name = item.at(0)?;
                let (text, read) = self.text(name, item.at(1)?).ok()?;
                let end = count(3)?.min(text.index().characters());
                Some(Read { start: count(2)?, end, ..read })
            })();
            // A block can write anything into the list; what is no part of a context is left out.
            self.reads.extend(read.filter(|read| read.start < read.end));
        }
    }

    /// Returns the parts of contexts that were read: sorted, joined where they touch, and at most [`READS_MAX`]; and the number of
    /// those that are left out.
    pub(crate) fn take_reads(&mut self) -> (Vec<Read>, u64) {
        let mut reads = std::mem::take(&mut self.reads);
        reads.sort_unstable();
        let joined = join(reads, 0);
        let mut gap = 1024;
        let mut joined = joined;
        while joined.len() > READS_MAX && gap < u64::MAX / 2 {
            joined = join(joined, gap);
            gap *= 4;
        }
        let left_out = joined.len().saturating_sub(READS_MAX) as u64;
        joined.truncate(READS_MAX);
        (joined, left_out)
    }

    fn get(&self, name: &Value) -> Refused<Value> {
        let name = text("name", name)?;
        if let (Some(GivenAnswer::Value(value)), "Final") = (&self.answer, &*name) {
            return Ok(value.clone());
        }
        let found = self.variables.value(&name);
        found.ok_or_else(|| CodeError::new("KeyError", format!("there is no variable {name}")))
    }

    fn set_variable(&mut self, name: &Value, value: &Value) -> Refused<Value> {
        let name = text("name", name)?;
        if self.rules() == Rules::Second {
            if !is_kept(&name, self.forms()) {
                let message = format!("{name} is a name of the session, no variable of the run");
                return Err(CodeError::new("ValueError", message));
            }
            if &*name == "Final" {
                self.answer = Some(GivenAnswer::Value(value.clone()));
                return Ok(Value::Null);
            }
        }
        let written = self.variables.set(&name, value, "", RecordIndex::HEADER);
        written.map_err(|refusal| CodeError::new("ValueError", refusal.to_string()))?;
        self.set.insert(name.clone());
        self.operations.push(block::set(&name, value.clone()));
        Ok(Value::Null)
    }

    fn checkpoint(&mut self, name: &Value) -> Refused<Value> {
        let name = text("name", name)?;
        let taken = self.variables.checkpoint(&name, RecordIndex::HEADER);
        taken.map_err(|refusal| CodeError::new("ValueError", refusal.to_string()))?;
        self.operations.push(Operation::Checkpoint { name });
        Ok(Value::Null)
    }

    fn roll_back(&mut self, name: &Value) -> Refused<Value> {
        let name = text("name", name)?;
        let back = self.variables.roll_back(&name, RecordIndex::HEADER);
        back.map_err(|refusal| CodeError::new("KeyError", refusal.to_string()))?;
        self.rolled_back = true;
        self.operations.push(Operation::Rollback { name });
        Ok(Value::Null)
    }

    fn show(&self) -> Value {
        let contexts =
            self.contexts.iter().map(|context| (Context::name(context.number), context.describe()));
        let listed = self.variables.list();
        let variables = listed.into_iter().map(|(name, kind)| (name.to_string(), kind.to_owned()));
        contexts.chain(variables).collect::<Object>().into()
    }

    /// Records a value that the block leaves under a name, if the variable changes.
    pub(crate) fn leave(&mut self, name: &Arc<str>, value: Value, made: &mut Block) {
        let known = self.variables.value(name);
        // `Final` is null until it is set.
        let known = known.or_else(|| (&**name == "Final").then_some(Value::Null));
        if !block::changes(known.as_ref(), &value) {
            return;
        }
        match self.variables.set(name, &value, "", RecordIndex::HEADER) {
            Ok(()) => made.operations.push(block::set(name, value)),
            Err(refusal) => made.refused.push((name.clone(), refusal.to_string().into())),
        }
    }

    /// Records the answer that the block gave through a function.
    pub(crate) fn leave_final(&mut self, made: &mut Block) {
        let value = match self.answer.take() {
            None => return,
            Some(GivenAnswer::Value(value)) => value,
            Some(GivenAnswer::Variable(name)) => match self.variables.value(&name) {
                Some(value) => value,
                None => {
                    let reason = format!("there is no variable {name}");
                    made.refused.push(("Final".into(), reason.into()));
                    return;
                }
            },
        };
        self.leave(&"Final".into(), value, made);
    }

    /// Drops the answer that the block gave through a function, and returns whether it gave one.
    pub(crate) fn drop_final(&mut self) -> bool {
        self.answer.take().is_some()
    }

    /// Records that a name is gone.
    pub(crate) fn delete(&mut self, name: &Arc<str>, made: &mut Block) {
        if self.variables.delete(name, "", RecordIndex::HEADER).is_ok() {
            made.operations.push(Operation::Delete { name: name.clone() });
        }
    }
}

/// Joins reads of one text that are at most `gap` characters apart.
fn join(reads: Vec<Read>, gap: u64) -> Vec<Read> {
    let mut joined: Vec<Read> = Vec::new();
    for read in reads {
        match joined.last_mut() {
            Some(last)
                if (last.context, last.item) == (read.context, read.item)
                    && read.start <= last.end.saturating_add(gap) =>
            {
                last.end = last.end.max(read.end);
            }
            _ => joined.push(read),
        }
    }
    joined
}

fn text(what: &str, value: &Value) -> Refused<Arc<str>> {
    match value {
        Value::String(text) => Ok(text.clone()),
        other => Err(CodeError::new("TypeError", format!("{what} must be a str, found {}", other.kind()))),
    }
}

fn number(what: &str, value: &Value) -> Refused<i64> {
    let found = value.as_i64();
    found.ok_or_else(|| CodeError::new("TypeError", format!("{what} must be an int, found {}", value.kind())))
}

/// Returns a position as Python counts it: a negative one counts from the end.
fn from_end(position: i64, length: u64) -> u64 {
    match u64::try_from(position) {
        Ok(position) => position.min(length),
        Err(_) => length.saturating_sub(position.unsigned_abs()),
    }
}
