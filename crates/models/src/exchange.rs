//! Messages to a model and its replies, for the record.

use std::sync::{Mutex, PoisonError};

use hence_canon::{Object, Value};

use crate::api::Message;
use crate::client::{ModelReply, RequestError};
use crate::settings::{Api, ModelSettings};

/// The conversation about one question as it goes on. A call that times out leaves what was known until then.
///
/// Texts stand in it as they were sent and received, secrets included: whoever stores it removes those first.
#[derive(Debug)]
pub(crate) struct Exchange(Mutex<Parts>);

#[derive(Debug)]
struct Parts {
    api: Api,
    endpoint: String,
    /// The body of a request without its messages. `None` until something is sent.
    parameters: Option<Object>,
    system: Option<String>,
    /// The messages of the first request. Later ones follow from the replies.
    messages: Vec<Message>,
    requests: Vec<Sent>,
}

/// One request and what became of it.
#[derive(Debug)]
struct Sent {
    outcome: Outcome,
    /// The reason why the reply was not used, or why there is none.
    reason: Option<String>,
    reply: Option<ModelReply>,
    /// The message that asked for another reply.
    asked_again: Option<String>,
}

#[derive(Clone, Copy, Debug)]
enum Outcome {
    NoReply,
    Failed,
    Rejected,
    Used,
}

impl Outcome {
    fn name(self) -> &'static str {
        match self {
            Self::NoReply => "no_reply",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
            Self::Used => "used",
        }
    }
}

impl Exchange {
    pub(crate) fn new(settings: &ModelSettings) -> Self {
        Self(Mutex::new(Parts {
            api: settings.api,
            endpoint: settings.endpoint.to_string(),
            parameters: None,
            system: None,
            messages: Vec::new(),
            requests: Vec::new(),
        }))
    }

    fn change(&self, change: impl FnOnce(&mut Parts)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn change_last(&self, change: impl FnOnce(&mut Sent)) {
        self.change(|parts| {
            if let Some(last) = parts.requests.last_mut() {
                change(last);
            }
        });
    }

    /// Notes a request that is about to be sent.
    pub(crate) fn sends(&self, body: &Object, system: Option<&str>, messages: &[Message]) {
        self.change(|parts| {
            if parts.parameters.is_none() {
                parts.parameters = Some(body.without("messages").without("system"));
                parts.system = system.map(str::to_owned);
                parts.messages = messages.to_vec();
            }
            let sent = Sent { outcome: Outcome::NoReply, reason: None, reply: None, asked_again: None };
            parts.requests.push(sent);
        });
    }

    /// Notes that the last request failed, and what was received of a reply.
    pub(crate) fn failed(&self, error: &RequestError) {
        self.change_last(|sent| {
            sent.outcome = Outcome::Failed;
            sent.reason = Some(format!("{}: {}", error.class.name(), error.message));
            sent.reply = error.received.as_deref().cloned();
        });
    }

    /// Notes the reply to the last request. It is used unless it is rejected later.
    pub(crate) fn replied(&self, reply: &ModelReply) {
        self.change_last(|sent| {
            sent.outcome = Outcome::Used;
            sent.reply = Some(reply.clone());
        });
    }

    /// Notes why the last reply cannot be used, and the message that asks for another one, if one does.
    pub(crate) fn rejected(&self, reason: &str, asked_again: Option<&str>) {
        self.change_last(|sent| {
            sent.outcome = Outcome::Rejected;
            sent.reason = Some(reason.to_owned());
            sent.asked_again = asked_again.map(str::to_owned);
        });
    }

    /// Returns the exchange as data; `None` if nothing was sent.
    pub(crate) fn value(&self) -> Option<Value> {
        let parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let parameters = parts.parameters.clone()?;
        let mut members: Vec<(&str, Value)> = vec![
            ("api", parts.api.name().into()),
            ("endpoint", parts.endpoint.as_str().into()),
            ("parameters", parameters.into()),
        ];
        members.extend(parts.system.as_ref().map(|system| ("system", system.as_str().into())));
        members.push(("messages", parts.messages.iter().map(Message::value).collect()));
        members.push(("requests", parts.requests.iter().map(sent_value).collect()));
        Some(members.into_iter().collect::<Object>().into())
    }
}

fn sent_value(sent: &Sent) -> Value {
    let mut members: Vec<(&str, Value)> = vec![("outcome", sent.outcome.name().into())];
    members.extend(sent.reason.as_ref().map(|reason| ("reason", reason.as_str().into())));
    if let Some(reply) = &sent.reply {
        let texts = [
            ("text", Some(&reply.text)),
            ("finish_reason", reply.finish_reason.as_ref()),
            ("model", reply.model.as_ref()),
            ("id", reply.id.as_ref()),
            ("request_id", reply.request_id.as_ref()),
        ];
        members.extend(texts.into_iter().filter_map(|(key, text)| Some((key, text?.as_str().into()))));
        if let Some(tokens) = reply.tokens {
            members.push(("tokens_in", tokens.input.into()));
            members.push(("tokens_out", tokens.output.into()));
        }
    }
    members.extend(sent.asked_again.as_ref().map(|text| ("asked_again", text.as_str().into())));
    members.into_iter().collect::<Object>().into()
}
