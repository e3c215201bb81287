//! HTTP services: a request built from the input, and a JSON response.

mod kind;
mod request;
mod response;

use std::sync::Arc;
use std::time::{Duration, Instant};

use hence_canon::{Float, Object, Value};
use hence_cognition::failure::TIMED_OUT;
use hence_cognition::run::{CallError, Reply};

use crate::client::header::{HeaderMap, HeaderName, RETRY_AFTER};
use crate::client::{BodyError, HttpClient, HttpRequest, Method, Stage, TransportError, block_on};
use crate::provider::{Provider, ProviderCall};
use crate::registry::Effects;
use crate::template::Template;
pub(crate) use kind::HttpKind;
use response::Gives;

/// The longest wait between two attempts, even if a server asks for a longer one.
const WAIT_SECONDS_MAX: u64 = 60;

/// One declared HTTP capability.
struct Http {
    method: Method,
    url: Template,
    query: Vec<(Arc<str>, Template)>,
    headers: Vec<(HeaderName, Template)>,
    body: Body,
    gives: Gives,
    /// The header that carries the idempotency key, which is the same for every attempt.
    idempotency_header: Option<HeaderName>,
    /// The number of retries.
    retries: u64,
    /// The first wait between two attempts; each further wait is twice as long.
    backoff: Duration,
    client: HttpClient,
}

/// The body of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Body {
    /// No body.
    None,
    /// The whole input, as JSON.
    Input,
    /// One member of the input, as JSON.
    Member(Arc<str>),
}

/// The response of a server.
struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

/// An exchange without a usable response.
enum ExchangeError {
    /// No request can be sent, now or later.
    Misconfigured(String),
    /// No request was sent.
    NotSent(String),
    /// The request was sent, and no complete response arrived.
    Interrupted(String),
    /// The exchange took too long.
    TimedOut,
    /// The response is larger than allowed.
    TooLarge,
}

impl From<TransportError> for ExchangeError {
    fn from(error: TransportError) -> Self {
        match error.stage {
            Stage::Setup => Self::Misconfigured(error.to_string()),
            Stage::Connect => Self::NotSent(error.to_string()),
            Stage::Exchange => Self::Interrupted(error.to_string()),
        }
    }
}

impl From<BodyError> for ExchangeError {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge => Self::TooLarge,
            // The request was sent, whatever interrupted the response.
            BodyError::Transport(error) => Self::Interrupted(error.to_string()),
        }
    }
}

impl Provider for Http {
    fn describe(&self) -> Option<String> {
        Some(format!("request `{} {}`", self.method, self.url))
    }

    fn knows_repeated_calls(&self) -> bool {
        self.idempotency_header.is_some()
    }

    fn named_inputs(&self) -> Vec<(&'static str, Arc<str>)> {
        let named = |member: &'static str, template: &Template| {
            let values = template.placeholders().filter(|placeholder| placeholder.secret().is_none());
            values.filter_map(|placeholder| Some((member, placeholder.member()?))).collect::<Vec<_>>()
        };
        let query = self.query.iter().flat_map(|(_, template)| named("query", template));
        let headers = self.headers.iter().flat_map(|(_, template)| named("headers", template));
        named("url", &self.url).into_iter().chain(query).chain(headers).collect()
    }

    fn call(&self, call: &ProviderCall<'_>) -> Result<Reply, CallError> {
        let started = Instant::now();
        let request = self.request(call)?;
        let target = self.target(call);
        let mut attempts = 0;
        loop {
            attempts += 1;
            let left = call.timeout.saturating_sub(started.elapsed());
            let result = self.exchange(&request, left, call.output_bytes_max);
            let wait = self.wait_before_next(attempts, &result, call.effects);
            // A wait that would exceed the time limit is not started.
            match wait.filter(|wait| *wait < call.timeout.saturating_sub(started.elapsed())) {
                Some(wait) => std::thread::sleep(wait),
                None => {
                    let judged = self.judge(result, call, attempts);
                    return judged.map_err(|error| named(error, &target, attempts));
                }
            }
        }
    }
}

impl Http {
    /// Sends a request and reads the whole response, at most `bytes_max` bytes of body.
    fn exchange(
        &self,
        request: &HttpRequest,
        timeout: Duration,
        bytes_max: u64,
    ) -> Result<Answer, ExchangeError> {
        let exchange = async {
            let mut response = self.client.send(request.clone()).await?;
            let body = response.body(bytes_max).await?;
            Ok(Answer { status: response.status().as_u16(), headers: response.headers().clone(), body })
        };
        let answered =
            block_on(timeout, exchange).map_err(|error| ExchangeError::NotSent(error.to_string()))?;
        answered.unwrap_or(Err(ExchangeError::TimedOut))
    }

    /// Returns whether a request that was sent may be sent again. One that acts may only if the service knows it by its
    /// key: a PUT or DELETE that took effect late would undo what others did in between.
    fn is_repeatable(&self, effects: Effects) -> bool {
        effects != Effects::Writes || is_safe(&self.method) || self.idempotency_header.is_some()
    }

    /// Returns the wait before the next attempt; `None` when there is none.
    fn wait_before_next(
        &self,
        attempts: u64,
        result: &Result<Answer, ExchangeError>,
        effects: Effects,
    ) -> Option<Duration> {
        if attempts > self.retries {
            return None;
        }
        let is_repeatable = self.is_repeatable(effects);
        let asked = match result {
            Ok(answer) if answer.status == 429 => retry_after_seconds(&answer.headers),
            Ok(answer) if is_repeatable && matches!(answer.status, 502..=504) => {
                retry_after_seconds(&answer.headers)
            }
            Err(ExchangeError::NotSent(_)) => None,
            Err(ExchangeError::Interrupted(_)) if is_repeatable => None,
            _ => return None,
        };
        let exponent = u32::try_from(attempts - 1).unwrap_or(u32::MAX).min(16);
        let own = self.backoff.saturating_mul(2u32.saturating_pow(exponent));
        let asked =
            asked.map_or(Duration::ZERO, |seconds| Duration::from_secs(seconds.min(WAIT_SECONDS_MAX)));
        Some(own.min(Duration::from_secs(WAIT_SECONDS_MAX)).max(asked))
    }

    /// Returns the reply or the error that an exchange results in.
    fn judge(
        &self,
        result: Result<Answer, ExchangeError>,
        call: &ProviderCall<'_>,
        attempts: u64,
    ) -> Result<Reply, CallError> {
        let meta = Object::from_iter([("tool_calls", Value::from(attempts))]);
        match result {
            Ok(answer) if (200..300).contains(&answer.status) => {
                match response::output(&answer, self.gives) {
                    Ok(output) => Ok(Reply { output, meta }),
                    Err(message) => Err(self.after_sending(call, "HttpOutputInvalid", message)),
                }
            }
            Ok(answer) => {
                let message = response::said(&answer);
                let class = response::class(answer.status);
                Err(match response::is_refusal(answer.status) {
                    true => failed(class, message),
                    false => self.after_sending(call, class, message),
                })
            }
            Err(ExchangeError::Misconfigured(message)) => Err(failed("HttpMisconfigured", message)),
            Err(ExchangeError::NotSent(message)) => Err(failed("HttpUnreachable", message)),
            Err(ExchangeError::Interrupted(message)) => {
                Err(self.after_sending(call, "HttpInterrupted", message))
            }
            Err(ExchangeError::TooLarge) => {
                let message = format!("the response has more than {} bytes", call.output_bytes_max);
                Err(self.after_sending(call, "HttpOutputTooLarge", message))
            }
            Err(ExchangeError::TimedOut) => {
                let seconds = Float::new(call.timeout.as_secs_f64()).expect("a duration is finite");
                Err(self.unless_harmless(call, CallError::TimedOut(seconds)))
            }
        }
    }

    /// Returns the error of a request that was sent, and of which the answer does not say that nothing was done.
    fn after_sending(&self, call: &ProviderCall<'_>, class: &str, message: String) -> CallError {
        self.unless_harmless(call, failed(class, message))
    }

    /// Returns an error as undecided, unless the request changes nothing. Also a request that the service knows by its key
    /// may have taken effect; the key only makes it safe to repeat.
    fn unless_harmless(&self, call: &ProviderCall<'_>, error: CallError) -> CallError {
        let is_harmless = call.effects != Effects::Writes || is_safe(&self.method);
        if is_harmless { error } else { error.undecided() }
    }
}

/// Adds to an error what was requested, and how often.
fn named(error: CallError, target: &str, attempts: u64) -> CallError {
    match error {
        CallError::Failed { class, message } => {
            let requests = if attempts > 1 { format!(" after {attempts} requests") } else { String::new() };
            CallError::Failed { class, message: format!("{target}: {message}{requests}").into() }
        }
        CallError::TimedOut(_) => failed(TIMED_OUT, format!("{target}: {error}")),
        CallError::Undecided(call) => named(call.cause.clone(), target, attempts).undecided(),
        other => other,
    }
}

/// Returns whether a method changes nothing.
fn is_safe(method: &Method) -> bool {
    [Method::GET, Method::HEAD].contains(method)
}

/// Returns whether a method is idempotent.
fn is_idempotent(method: &Method) -> bool {
    [Method::GET, Method::HEAD, Method::PUT, Method::DELETE].contains(method)
}

/// Reads the number of seconds in `Retry-After`. A date is ignored, because it requires a clock shared with the server.
fn retry_after_seconds(headers: &HeaderMap) -> Option<u64> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()
}

fn failed(class: &str, message: String) -> CallError {
    CallError::Failed { class: class.into(), message: message.into() }
}

#[cfg(test)]
mod tests;
