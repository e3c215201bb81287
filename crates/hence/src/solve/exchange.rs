//! The exchange with a model whose reply a record of the loop holds: it follows from the records before and from the problem.

use hence_canon::{Object, Value};
use hence_solve::{Entry, FINISH_REASON_KEY, Message, ModelPin, ModelReply, Request, Role, Spec, SubCall};

use crate::exchanges::ExchangeRow;
use crate::kind::{Purpose, StoredSolveRun};
use crate::prelude::*;
use crate::target::Journal;

/// The messages of a conversation that are given.
#[derive(Clone, Copy)]
pub(crate) enum Messages {
    /// All.
    All,
    /// The first, and as many of the last as have at most so many bytes.
    Newest(usize),
}

/// Returns the exchange whose reply an entry is; nothing for a block, for the end of a run, and for a call that a child answered.
///
/// `before` reads the journal up to the record.
pub(crate) fn exchange_of(
    entry: &Entry,
    spec: Option<&Spec>,
    messages: Messages,
    before: impl FnOnce() -> Result<Journal, CliError>,
) -> Option<ExchangeRow> {
    let turns = spec.map(|spec| &spec.model);
    let (capability, pin, request, reply) = match entry {
        Entry::Turn(turn) => ("turn", turns, request_before(before, entry), reply_value(&turn.reply)),
        Entry::Compact(compact) => {
            ("summary", turns, request_before(before, entry), reply_value(&compact.reply))
        }
        Entry::Call(call) if call.child.is_none() => {
            let pin = spec.and_then(|spec| spec.sub_call_model(Some(&call.model)));
            let request = SubCall::request(&call.prompt, call.context.as_ref());
            (call.function.as_str(), pin, Ok(request), answer_value(call))
        }
        Entry::Call(_) | Entry::Block(_) | Entry::End(_) => return None,
    };
    let (request, missing) = match request {
        Ok(request) => (request, None),
        Err(reason) => (Request { system: None, messages: Vec::new() }, Some(reason)),
    };
    let (shown, left_out) = shortened(&request.messages, messages);
    let mut members = pin.map(asked_members).unwrap_or_default();
    members.push(("messages", shown.iter().map(|message| message_value(message)).collect()));
    members.push(("messages_left_out", left_out.into()));
    members.push(("requests", vec![reply].into()));
    members.extend(request.system.map(|system| ("system", system.into())));
    Some(ExchangeRow {
        call: Some(Data(Object::from_iter([("capability", capability)]).into())),
        sha256: None,
        exchange: Some(Data(members.into_iter().collect::<Object>().into())),
        missing,
    })
}

/// Returns who was asked, and with which parameters.
fn asked_members(pin: &ModelPin) -> Vec<(&'static str, Value)> {
    let mut parameters = pin.settings.clone();
    let mut members = Vec::new();
    for key in ["api", "endpoint"] {
        members.extend(pin.settings.get(key).map(|value| (key, value.clone())));
        parameters = parameters.without(key);
    }
    // The key is the name of a secret; it is no parameter of the request.
    members.push(("parameters", parameters.without("key").into()));
    members
}

fn message_value(message: &Message) -> Object {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    Object::from_iter([("role", Value::from(role)), ("content", message.text.clone().into())])
}

/// Returns the messages that are given, and the number of those that are left out after the first.
fn shortened(messages: &[Message], given: Messages) -> (Vec<&Message>, u64) {
    let Messages::Newest(mut left) = given else { return (messages.iter().collect(), 0) };
    let mut kept: Vec<&Message> = Vec::new();
    let (first, rest) = messages.split_at_checked(1).unwrap_or_default();
    for message in rest.iter().rev() {
        match left.checked_sub(message.text.len()) {
            Some(less) => left = less,
            None => break,
        }
        kept.push(message);
    }
    let left_out = (rest.len() - kept.len()) as u64;
    kept.extend(first);
    kept.reverse();
    (kept, left_out)
}

/// Returns the request that the records before an entry make, if it is the one that the record names.
fn request_before(
    before: impl FnOnce() -> Result<Journal, CliError>,
    entry: &Entry,
) -> Result<Request, String> {
    let read = || -> Result<Request, CliError> {
        let journal = before()?;
        let stored = StoredSolveRun::open(&journal, Purpose::Read)?;
        let run = stored.read_back(&journal)?;
        let progress = run.program().progress();
        Ok(match entry {
            Entry::Compact(_) => progress.compact_request(),
            _ => progress.turn_request(),
        })
    };
    let request = read().map_err(|error| error.message)?;
    let named = match entry {
        Entry::Turn(turn) => turn.request,
        Entry::Compact(compact) => compact.request,
        _ => return Ok(request),
    };
    match request.digest() == named {
        true => Ok(request),
        false => Err("the record names another conversation than the one that the records before it make; its system prompt may be missing".to_owned()),
    }
}

fn reply_value(reply: &ModelReply) -> Value {
    let mut members: Vec<(&str, Value)> = vec![
        ("outcome", "used".into()),
        ("text", reply.text.clone().into()),
        ("tokens_in", reply.usage.tokens_in.into()),
        ("tokens_out", reply.usage.tokens_out.into()),
    ];
    members.extend(reply.finish_reason.clone().map(|reason| (FINISH_REASON_KEY, reason.into())));
    members.extend(reply.answered_by.clone().map(|model| ("model", model.into())));
    members.into_iter().collect::<Object>().into()
}

fn answer_value(call: &SubCall) -> Value {
    let usage = &call.used.calls;
    let mut members: Vec<(&str, Value)> =
        vec![("tokens_in", usage.tokens_in.into()), ("tokens_out", usage.tokens_out.into())];
    match &call.answer {
        Ok(answer) => members.extend([("outcome", "used".into()), ("text", answer.clone())]),
        Err(error) => {
            let reason = format!("{}: {}", error.kind, error.message);
            members.extend([("outcome", "failed".into()), ("reason", reason.into())]);
        }
    }
    let repeated = call.cached_from.map(|record| format!("the answer of record {record}, to an equal call"));
    members.extend(repeated.map(|repeated| ("reason", repeated.into())));
    members.extend(call.finish_reason.clone().map(|reason| (FINISH_REASON_KEY, reason.into())));
    members.extend(call.answered_by.clone().map(|model| ("model", model.into())));
    members.into_iter().collect::<Object>().into()
}
