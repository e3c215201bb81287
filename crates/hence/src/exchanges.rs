//! Exchanges with language models, as records name them.

use hence_canon::Value;
use hence_cognition::run::{EXCHANGE_KEY, EXCHANGES_KEY};
use hence_engine::{BLOCKED_MEMBER, Blobs};

use crate::prelude::*;

/// An exchange with a model that a record names.
pub(crate) struct NamedExchange {
    /// The call it belongs to: capability, iteration, item and attempt, where the record says so.
    pub(crate) call: Option<Value>,
    /// The reference, or why there is none.
    pub(crate) named: Value,
}

/// Returns the exchanges that the result of a record names, including those in an outcome that is stored outside the
/// journal.
pub(crate) fn of_result(result: &Value, blobs: &dyn Blobs) -> Vec<NamedExchange> {
    let blocked = result.get(BLOCKED_MEMBER).and_then(|blocked| blocked.get("output"));
    let outcomes = [result.get("output"), result.get("outcome"), blocked];
    let mut found: Vec<NamedExchange> = Vec::new();
    for outcome in outcomes.into_iter().flatten() {
        // What cannot be read is reported as such by whoever needs it.
        let Ok(outcome) = hence_engine::resolve(&outcome.clone().into(), blobs) else { continue };
        found.extend(of_outcome(&outcome));
    }
    found.extend(result.get("metrics").into_iter().flat_map(listed));
    found
}

/// Returns the exchanges that the report about a step lists.
fn listed(meta: &Value) -> Vec<NamedExchange> {
    let entries = meta.get(EXCHANGES_KEY).and_then(Value::as_array).unwrap_or_default();
    let one = |entry: &Value| {
        let named = entry.get(EXCHANGE_KEY)?.clone();
        Some(NamedExchange { call: Some(entry.as_object()?.without(EXCHANGE_KEY).into()), named })
    };
    entries.iter().filter_map(one).collect()
}

fn of_outcome(outcome: &Value) -> Vec<NamedExchange> {
    let mut found: Vec<NamedExchange> = outcome.get("meta").into_iter().flat_map(listed).collect();
    // The record of a step in trouble lists its calls, and each reply names its exchange.
    let calls = outcome.get("calls").and_then(Value::as_array).unwrap_or_default();
    for named in calls.iter().filter_map(|call| call.get("meta")?.get(EXCHANGE_KEY).cloned()) {
        if !found.iter().any(|known| known.named == named) {
            found.push(NamedExchange { call: None, named });
        }
    }
    found
}

/// One exchange with a language model.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExchangeRow {
    /// The call: capability, iteration, item and attempt; null where the record does not say.
    pub(crate) call: Option<Data>,
    /// The digest under which the exchange is stored; null if it is not.
    pub(crate) sha256: Option<String>,
    /// The messages sent and received: `api`, `endpoint`, `parameters`, `system`, `messages` and `requests`, of which each has
    /// its outcome, the reason, and the reply as it came. Null if it is not available.
    pub(crate) exchange: Option<Data>,
    /// The reason why it is not available.
    pub(crate) missing: Option<String>,
}

impl ExchangeRow {
    /// Reads the exchanges that a result names.
    pub(crate) fn of_result(result: &Value, blobs: &dyn Blobs) -> Vec<Self> {
        of_result(result, blobs).into_iter().map(|exchange| Self::read(exchange, blobs)).collect()
    }

    /// Counts the exchanges that a result names.
    pub(crate) fn count_of_result(result: &Value, blobs: &dyn Blobs) -> usize {
        of_result(result, blobs).len()
    }

    fn read(NamedExchange { call, named }: NamedExchange, blobs: &dyn Blobs) -> Self {
        let call = call.map(Data);
        let Some(digest) = hence_engine::referenced(&named) else {
            let reason = named.get("not_stored").and_then(Value::as_str).unwrap_or("no digest names it");
            return Self { call, sha256: None, exchange: None, missing: Some(reason.to_owned()) };
        };
        let sha256 = Some(digest.to_string());
        match hence_engine::resolve(&named.into(), blobs) {
            Ok(exchange) => Self { call, sha256, exchange: Some(Data(exchange)), missing: None },
            Err(error) => Self { call, sha256, exchange: None, missing: Some(error.to_string()) },
        }
    }

    /// Returns whether the record names something that is not there.
    pub(crate) fn is_missing(&self) -> bool {
        self.missing.is_some()
    }

    /// Returns the exchange for people: who was asked what, and what came back.
    pub(crate) fn text(&self) -> String {
        let call = self.call.as_ref().map(|call| format!(" of {}", described(&call.0))).unwrap_or_default();
        let Some(Data(exchange)) = &self.exchange else {
            let reason = self.missing.as_deref().unwrap_or_default();
            return format!("model call{call}: not available: {}", escape(reason));
        };
        let word = |value: &Value, key: &str| value.get(key).map(plain).unwrap_or_default();
        let parameters = exchange.get("parameters").cloned().unwrap_or_default();
        let endpoint = exchange.get("endpoint").map(|endpoint| format!(" at {}", escape(&plain(endpoint))));
        let api = exchange.get("api").map(|api| format!(" ({})", escape(&plain(api))));
        let mut lines = vec![format!(
            "model call{call}: {}{}{}",
            escape(&word(&parameters, "model")),
            endpoint.unwrap_or_default(),
            api.unwrap_or_default(),
        )];
        if let Some(reason) = &self.missing {
            lines.push(format!("  not available  {}", escape(reason)));
        }
        let others = parameters.as_object().map(|all| all.without("model")).unwrap_or_default();
        lines.push(format!("  parameters  {}", escape(&Value::from(others).to_string())));
        if exchange.get("system").is_some() {
            lines.push(block("system", &word(exchange, "system")));
        }
        for message in exchange.get("messages").and_then(Value::as_array).unwrap_or_default() {
            lines.push(block(&word(message, "role"), &word(message, "content")));
        }
        for (number, request) in
            (1..).zip(exchange.get("requests").and_then(Value::as_array).unwrap_or_default())
        {
            let facts = ["model", "finish_reason", "id", "request_id", "tokens_in", "tokens_out"];
            let facts = facts.iter().filter(|key| request.get(key).is_some());
            let facts: Vec<String> = facts.map(|key| format!("{key} {}", word(request, key))).collect();
            let reason =
                request.get("reason").map(|reason| format!(": {}", plain(reason))).unwrap_or_default();
            let outcome = word(request, "outcome");
            lines.push(format!("  request {number}  {}{}", escape(&outcome), escape(&reason)));
            if !facts.is_empty() {
                lines.push(format!("    {}", escape(&facts.join(", "))));
            }
            if request.get("text").is_some() {
                lines.push(block("reply", &word(request, "text")));
            }
            if request.get("asked_again").is_some() {
                lines.push(block("user", &word(request, "asked_again")));
            }
        }
        lines.join("\n")
    }
}

fn described(call: &Value) -> String {
    let count = |key: &str| call.get(key).and_then(Value::as_u64).unwrap_or(0);
    let capability = call.get("capability").and_then(Value::as_str).unwrap_or_default();
    let mut text = escape(capability).to_string();
    for (key, first) in [("iteration", 0), ("item", 0), ("attempt", 1)] {
        if count(key) != first {
            text.push_str(&format!(", {key} {}", count(key)));
        }
    }
    text
}

/// Returns a text that may have been cut, or any other value, as one text.
fn plain(value: &Value) -> String {
    if let Some(cut) = value.get("cut") {
        let start = cut.get("text").and_then(Value::as_str).unwrap_or_default();
        let bytes = cut.get("bytes").map(ToString::to_string).unwrap_or_default();
        return format!("{start}\n… ({bytes} bytes in all)");
    }
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns a text of several lines under its title.
fn block(title: &str, text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("    {}", escape(line))).collect();
    format!("  {}\n{}", escape(title), lines.join("\n"))
}
