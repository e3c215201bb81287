//! Running one block: feeds the interpreter, answers what it asks, and collects what it leaves.

use std::collections::BTreeSet;
use std::sync::Arc;

use hence_canon::Value;
use hence_sandbox::{Answer, Event, PyValue, Sandbox};

use crate::context::{Content, Context};
use crate::functions::{Functions, Reply};
use crate::ports::Halt;
use crate::progress::{Next, Progress};
use crate::record::{Block, BlockEnd, CodeError, Function, Operation, SubCall};
use crate::session::{Interrupted, Session, feed_own};
use crate::spec::{AnswerForms, Rules, Spec};
use crate::subscripts;
use crate::variables::{SolveVariables, is_kept};

/// The expression that lists the names of the interpreter with the types of their values.
const NAMES: &str = "[[__k, __py_type(__v).__name__] for __k, __v in __py_list(__py_locals().items())]";

/// The name of the limit of a block that took away what the loop's own code needs.
pub(crate) const NAMES_LIMIT: &str = "names";

/// The reason why the answer of a block that raised is none.
const RAISED_FINAL: &str =
    "the block raised an exception, so it has not answered; assign it in a block that ends";

/// The types whose values JSON has.
const DATA_TYPES: [&str; 10] =
    ["str", "int", "float", "bool", "NoneType", "list", "tuple", "dict", "set", "frozenset"];

/// A sub-call that a block asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CallRequest {
    pub(crate) turn: u64,
    pub(crate) block: u64,
    pub(crate) function: Function,
    pub(crate) model: Arc<str>,
    pub(crate) prompt: Arc<str>,
    pub(crate) context: Option<Value>,
}

impl CallRequest {
    /// Returns whether a recorded call is this one.
    pub(crate) fn is_of(&self, call: &SubCall) -> bool {
        (self.turn, self.block, self.function) == (call.turn, call.block, call.function)
            && (&self.model, &self.prompt, &self.context) == (&call.model, &call.prompt, &call.context)
    }
}

/// Answers the sub-calls of a block: by asking, or from what is recorded.
pub(crate) trait CallSource {
    /// Answers calls that may be made at the same time, in their order.
    fn ask(&mut self, requests: &[CallRequest]) -> Result<Vec<Result<Value, CodeError>>, Interrupted>;

    /// Returns why the run must stop in the middle of a block, if it must. What is recorded never does.
    fn halt(&self) -> Option<Halt> {
        None
    }
}

/// A block that is about to run, and the run before it.
pub(crate) struct BlockStart {
    pub(crate) turn: u64,
    pub(crate) block: u64,
    code: Arc<str>,
    pub(crate) spec: Arc<Spec>,
    pub(crate) variables: SolveVariables,
}

impl BlockStart {
    /// Returns the block that is due.
    pub(crate) fn of(progress: &Progress) -> Result<Self, Interrupted> {
        let Next::Block { turn, block, code } = progress.next() else {
            return Err(Interrupted::Diverged("no block is due".to_owned()));
        };
        let variables = progress.variables().scratch();
        Ok(Self { turn, block, code, spec: progress.spec().clone(), variables })
    }
}

/// Runs a block in an interpreter that has run everything before it.
pub(crate) fn run(
    session: &mut Session<'_>,
    sandbox: &mut dyn Sandbox,
    start: BlockStart,
    calls: &mut dyn CallSource,
) -> Result<Block, Interrupted> {
    let contexts = session.tools.contexts()?;
    let (turn, block, code) = (start.turn, start.block, start.code.clone());
    load_mentioned(session, sandbox, contexts, &code)?;
    let traced = subscripts::trace(&code, &|name| is_text(contexts, name));
    session.traces |= traced.is_changed;
    let inputs = std::mem::take(&mut session.pending);
    let inputs: Vec<(&str, &Value)> = inputs.iter().map(|(name, value)| (&**name, value)).collect();
    let mut functions = Functions::new(start, contexts);
    let mut event = sandbox.feed(&traced.code, &inputs)?;
    let end = loop {
        // A block that asks its host again and again must not outlive the limits of the run.
        if let (Event::Call(_) | Event::Lookup(_), Some(halt)) = (&event, calls.halt()) {
            return Err(Interrupted::Halt(halt));
        }
        event = match event {
            Event::Call(call) => match functions.answer(&call, calls)? {
                Reply::Value(value) => sandbox.resume(Answer::Value(&value))?,
                Reply::Raise(error) => {
                    sandbox.resume(Answer::Raise { kind: &error.kind, message: &error.message })?
                }
                Reply::Unknown => sandbox.resume(Answer::Undefined)?,
            },
            Event::Lookup(name) => match functions.too_large(&name) {
                Some(message) => sandbox.resume(Answer::Raise { kind: "MemoryError", message: &message })?,
                None => sandbox.resume(Answer::Undefined)?,
            },
            Event::Completed(_) => break BlockEnd::Completed,
            Event::Raised(error) => {
                let (kind, message) = (error.kind.into(), error.message.into());
                break BlockEnd::Raised(CodeError { kind, message, line: error.line });
            }
            Event::Stopped(limit) => break BlockEnd::Stopped { limit: limit.as_str().into() },
        };
    };
    let printed = sandbox.take_output();
    let uses = used_contexts(contexts, &code, &traced.used);
    let mut made = Block {
        turn,
        block,
        code,
        end,
        printed: printed.text.into(),
        calls: functions.calls,
        operations: std::mem::take(&mut functions.operations),
        others: Vec::new(),
        refused: Vec::new(),
        reads: Vec::new(),
        reads_left_out: 0,
        uses,
    };
    if !matches!(made.end, BlockEnd::Stopped { .. }) {
        finish(session, sandbox, &mut functions, &mut made)?;
    }
    (made.reads, made.reads_left_out) = functions.take_reads();
    Ok(made)
}

/// Collects what a block leaves. A block that took away what the loop needs for it counts as stopped.
fn finish(
    session: &mut Session<'_>,
    sandbox: &mut dyn Sandbox,
    functions: &mut Functions<'_>,
    made: &mut Block,
) -> Result<(), Interrupted> {
    let operations = made.operations.clone();
    let read = match session.traces {
        true => feed_own(sandbox, "__taken()", &[]).map(|taken| functions.note_taken(&taken)),
        false => Ok(()),
    };
    let collected = read.and_then(|()| match functions.rolled_back {
        true => {
            session.restart_with(&functions.variables);
            Ok(())
        }
        false => collect(session, sandbox, functions, made),
    });
    match collected {
        Err(Interrupted::OwnCode(limit, _)) => {
            let limit = limit.map_or(NAMES_LIMIT, |limit| limit.as_str()).into();
            (made.end, made.operations) = (BlockEnd::Stopped { limit }, operations);
            (made.others, made.refused) = (Vec::new(), Vec::new());
            Ok(())
        }
        other => other,
    }
}

/// Returns whether a name is that of a context whose parts are characters.
fn is_text(contexts: &[Context], name: &str) -> bool {
    Context::numbered(name)
        .and_then(|number| contexts.iter().find(|context| context.number == number))
        .is_some_and(|context| !matches!(context.content, Content::Value(_)))
}

/// Returns the numbers of the contexts whose value a block uses in a way that does not say which parts it looks at.
fn used_contexts(contexts: &[Context], code: &str, used: &BTreeSet<String>) -> Vec<u64> {
    let names = |context: &Context| -> Vec<String> {
        let short = (context.number == 0).then(|| "context".to_owned());
        short.into_iter().chain([Context::name(context.number)]).collect()
    };
    let is_used = |context: &&Context| match &context.content {
        Content::Value(_) => names(context).iter().any(|name| mentions(code, name)),
        // Code has no more than the functions of the host for a text that is not loaded.
        _ if !context.is_loaded_whole() => false,
        _ => names(context).iter().any(|name| used.contains(name)),
    };
    contexts.iter().filter(is_used).map(|context| context.number as u64).collect()
}

/// Gives the interpreter the contexts that a block mentions for the first time. A small one is a value; a large one is an object whose
/// parts come from the host.
fn load_mentioned(
    session: &mut Session<'_>,
    sandbox: &mut dyn Sandbox,
    contexts: &[Context],
    code: &str,
) -> Result<(), Interrupted> {
    for context in contexts {
        let (number, name) = (context.number, Context::name(context.number));
        let is_first = number == 0;
        let is_mentioned = mentions(code, &name) || (is_first && mentions(code, "context"));
        if !is_mentioned || !session.loaded.insert(number) {
            continue;
        }
        let (input, mut own) = match context.load()? {
            Some(value) => ((&*name, value), format!("__in['{name}'] = {name}\n")),
            None => {
                let (kind, length, refusal) = context.large();
                let own = format!("{name} = {kind}('{name}', {length}, __refusal)\n");
                (("__refusal", refusal.into()), own)
            }
        };
        if is_first {
            own.push_str(&format!("context = {name}\nif '{name}' in __in:\n    __in['context'] = {name}\n"));
        }
        feed_own(sandbox, &own, &[(input.0, &input.1)])?;
    }
    Ok(())
}

/// Returns whether code contains a name as a whole word.
pub fn mentions(code: &str, name: &str) -> bool {
    let is_part =
        |letter: Option<char>| letter.is_some_and(|letter| letter == '_' || letter.is_alphanumeric());
    code.match_indices(name).any(|(at, _)| {
        let before = code.get(..at).and_then(|text| text.chars().next_back());
        let after = code.get(at + name.len()..).and_then(|text| text.chars().next());
        !is_part(before) && !is_part(after)
    })
}

/// A name, and the type of its value.
type TypedName = (Arc<str>, Arc<str>);

/// Lists the names that the run keeps, with the types of their values.
fn list_names(sandbox: &mut dyn Sandbox, forms: AnswerForms) -> Result<Vec<TypedName>, Interrupted> {
    let listed = feed_own(sandbox, NAMES, &[])?;
    let pair = |item: &Value| Some((Arc::from(item.at(0)?.as_str()?), Arc::from(item.at(1)?.as_str()?)));
    let names = listed.data().and_then(Value::as_array).unwrap_or_default().iter().filter_map(pair);
    Ok(names.filter(|(name, _): &TypedName| is_kept(name, forms)).collect())
}

/// Reads the values of names. A value that is not data is left out, with its type.
fn read_values(
    sandbox: &mut dyn Sandbox,
    names: &[&Arc<str>],
) -> Result<Vec<Result<Value, Arc<str>>>, Interrupted> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let list: Vec<&str> = names.iter().map(|name| &***name).collect();
    let all = feed_own(sandbox, &format!("[{}]", list.join(", ")), &[])?;
    if let Some(values) = all.data().and_then(Value::as_array) {
        return Ok(values.iter().cloned().map(Ok).collect());
    }
    let mut values = Vec::with_capacity(names.len());
    for name in names {
        values.push(match feed_own(sandbox, name, &[])? {
            PyValue::Data(value) => Ok(value),
            PyValue::Other { kind, .. } => Err(kind.into()),
        });
    }
    Ok(values)
}

/// Makes the names that a block leaves variables of the run.
fn collect(
    session: &mut Session<'_>,
    sandbox: &mut dyn Sandbox,
    functions: &mut Functions<'_>,
    made: &mut Block,
) -> Result<(), Interrupted> {
    let forms = functions.forms();
    let listed = list_names(sandbox, forms)?;
    let is_data = |kind: &str| DATA_TYPES.contains(&kind);
    let (data, others): (Vec<_>, Vec<_>) = listed.iter().partition(|(_, kind)| is_data(kind));
    made.others = others.into_iter().cloned().collect();
    let names: Vec<&Arc<str>> = data.into_iter().map(|(name, _)| name).collect();
    let values = read_values(sandbox, &names)?;
    let now: BTreeSet<Arc<str>> = listed.iter().map(|(name, _)| name.clone()).collect();
    for gone in session.names.difference(&now) {
        functions.delete(gone, made);
    }
    // The answer seals the variables, so it is written last.
    let mut left: Vec<(_, _)> = names.into_iter().zip(values).collect();
    left.sort_by_key(|(name, _)| &***name == "Final");
    let has_failed = functions.rules() == Rules::Second && matches!(made.end, BlockEnd::Raised(_));
    let mut is_dropped = false;
    for (name, value) in left {
        match value {
            Ok(value) if has_failed && &**name == "Final" => is_dropped |= !value.is_null(),
            Ok(value) if functions.was_set(name) => {
                // `set` names the variable of the run; the interpreter gets its value.
                let stored = functions.variables.value(name).unwrap_or(value);
                session.pending.insert(name.clone(), stored);
            }
            Ok(value) => functions.leave(name, value, made),
            Err(kind) => made.others.push((name.clone(), kind)),
        }
    }
    made.others.sort();
    session.names = now;
    if is_dropped {
        // A later block that does not assign it must not answer with it.
        feed_own(sandbox, "Final = None", &[])?;
    }
    if has_failed {
        is_dropped |= functions.drop_final();
        if forms == AnswerForms::Compat {
            is_dropped |= drop_answer(sandbox)?;
        }
        if is_dropped {
            made.refused.push(("Final".into(), RAISED_FINAL.into()));
        }
        return Ok(());
    }
    if functions.variables.answer().is_none() {
        functions.leave_final(made);
    }
    if forms == AnswerForms::Compat && functions.variables.answer().is_none() {
        accept_answer(sandbox, functions, made)?;
    }
    Ok(())
}

/// Makes the dict `answer` of other runtimes wait again, and returns whether it was ready.
fn drop_answer(sandbox: &mut dyn Sandbox) -> Result<bool, Interrupted> {
    let answer = feed_own(sandbox, "answer", &[])?;
    let is_ready = answer.data().is_some_and(is_ready);
    if is_ready {
        feed_own(sandbox, "answer['ready'] = False", &[])?;
    }
    Ok(is_ready)
}

/// Returns whether the dict `answer` of other runtimes says that it is ready.
fn is_ready(answer: &Value) -> bool {
    match answer.get("ready") {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::Int(number)) => number.as_i64() != Some(0),
        Some(Value::String(text)) => !text.is_empty(),
        Some(_) => true,
    }
}

/// Sets `Final` from the dict `answer` of other runtimes, once it says that it is ready.
fn accept_answer(
    sandbox: &mut dyn Sandbox,
    functions: &mut Functions<'_>,
    made: &mut Block,
) -> Result<(), Interrupted> {
    let answer = feed_own(sandbox, "answer", &[])?;
    let Some(answer) = answer.data() else { return Ok(()) };
    if let Some(content) = answer.get("content").filter(|content| is_ready(answer) && !content.is_null()) {
        functions.leave(&"Final".into(), content.clone(), made);
    }
    Ok(())
}

/// Adds a write that a block leaves, if it changes the variable.
pub(crate) fn changes(known: Option<&Value>, value: &Value) -> bool {
    known != Some(value)
}

/// Makes the operation of a write.
pub(crate) fn set(name: &Arc<str>, value: Value) -> Operation {
    Operation::Set { name: name.clone(), value }
}
