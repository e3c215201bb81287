//! One request and its response, in time and within bounds.

use std::sync::OnceLock;
use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, Response};

use super::request::Request;
use crate::authorities::Authorities;

/// Makes exchanges with one server.
pub(super) struct Exchange {
    client: OnceLock<Client>,
    authorities: Authorities,
}

/// What a server answered.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) retry_after_seconds: Option<u64>,
    pub(super) body: Vec<u8>,
}

/// Why there is no answer.
pub(super) enum Trouble {
    /// Nothing went out.
    NotSent(String),
    /// Something went out, and no whole answer came back.
    Interrupted(String),
    /// It took too long.
    TimedOut,
    /// The answer is larger than allowed.
    TooLarge,
}

impl Exchange {
    /// Trusts these authorities besides the system's.
    pub(super) fn trusting(authorities: Authorities) -> Self {
        Self { client: OnceLock::new(), authorities }
    }

    /// Sends a request and reads the whole response, up to a limit.
    pub(super) fn send(
        &self,
        request: &Request,
        timeout: Duration,
        bytes_max: u64,
    ) -> Result<Answer, Trouble> {
        let client = self.client()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Trouble::NotSent(error.to_string()))?;
        let exchange = async { tokio::time::timeout(timeout, exchange(&client, request, bytes_max)).await };
        let result = runtime.block_on(exchange);
        // A lookup of a name that hangs must not be waited for.
        runtime.shutdown_background();
        result.unwrap_or(Err(Trouble::TimedOut))
    }

    fn client(&self) -> Result<Client, Trouble> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        // Whoever came first has chosen; any choice will do.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            // A redirect would take a secret somewhere nobody named.
            .redirect(Policy::none())
            // Connections belong to the call they were made for.
            .pool_max_idle_per_host(0);
        let client = self.authorities.trusted_by(client).map_err(Trouble::NotSent)?;
        let client = client.build().map_err(|error| Trouble::NotSent(explain(error)))?;
        Ok(self.client.get_or_init(|| client).clone())
    }
}

async fn exchange(client: &Client, request: &Request, bytes_max: u64) -> Result<Answer, Trouble> {
    let mut builder =
        client.request(request.method.clone(), request.url.clone()).headers(request.headers.clone());
    if let Some(body) = &request.body {
        builder = builder.body(body.clone());
    }
    let mut response = builder.send().await.map_err(|error| {
        let not_sent = error.is_connect() || error.is_builder();
        let explained = explain(error);
        if not_sent { Trouble::NotSent(explained) } else { Trouble::Interrupted(explained) }
    })?;
    if response.content_length().is_some_and(|bytes| bytes > bytes_max) {
        return Err(Trouble::TooLarge);
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| Trouble::Interrupted(explain(error)))? {
        if (body.len() + chunk.len()) as u64 > bytes_max {
            return Err(Trouble::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer {
        status: response.status().as_u16(),
        retry_after_seconds: retry_after(&response),
        headers: response.headers().clone(),
        body,
    })
}

/// Reads how many seconds a server wants to be left alone; a date would need a clock we share with it.
fn retry_after(response: &Response) -> Option<u64> {
    response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()
}

/// Puts a chain of causes into a line, without the URL: it may hold a secret, and is known anyway.
fn explain(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}
