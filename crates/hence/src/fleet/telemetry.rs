//! Traces of a worker for OpenTelemetry: one span for each drive of a run and for each request to the queue that matters, sent as OTLP
//! over HTTP in JSON.
//!
//! The trace of a run has an id that follows from the run's id, so the drives of different workers meet in one trace. Requests that are
//! about no run belong to the trace of the worker. Nothing waits for the collector: spans that find no room are dropped and counted.
//! It uses the HTTP client and the JSON encoder that the program has anyway; no crate was added for it. How many the SDK of OpenTelemetry
//! would add was not measured.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hence_canon::Digest;
use hence_capabilities::client::{HttpClient, HttpRequest, Method, StatusCode, Url, block_on, header};
use hence_fleet::{RequestReport, Settlement, Token, WorkerEvent};
use serde_json::{Value, json};

use super::observer::end_words;

/// The most spans that wait to be sent.
const WAITING_MAX: usize = 2048;

/// The most spans in one request.
const BATCH_MAX: usize = 512;

/// The longest time that a span waits to be sent.
const SEND_EVERY: Duration = Duration::from_secs(5);

/// The longest time that one request may take.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(10);

/// The pauses before a request is repeated that the collector asked to repeat.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(1)];

/// The most bytes of an answer that are read.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;

/// The path of traces below the base address of a collector.
const TRACES_PATH: &str = "v1/traces";

/// The place that traces are sent to.
#[derive(Debug, Clone)]
pub(crate) struct Collector {
    url: Url,
    headers: header::HeaderMap,
}

impl Collector {
    /// Reads the address of a collector. An empty text stands for the variables that every program with OpenTelemetry reads, and
    /// without them for this machine.
    pub(crate) fn parse(address: &str) -> Result<Self, String> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let traces = variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
        let url = match (address, traces) {
            ("", Some(traces)) => read_url(&traces)?,
            ("", None) => {
                let base = variable("OTEL_EXPORTER_OTLP_ENDPOINT");
                below(read_url(base.as_deref().unwrap_or("http://127.0.0.1:4318"))?)
            }
            (base, _) => below(read_url(base)?),
        };
        let headers = variable("OTEL_EXPORTER_OTLP_TRACES_HEADERS");
        let headers = headers.or_else(|| variable("OTEL_EXPORTER_OTLP_HEADERS"));
        let mut all = header::HeaderMap::new();
        for pair in
            headers.iter().flat_map(|headers| headers.split(',')).filter(|pair| !pair.trim().is_empty())
        {
            let (name, value) = read_header(pair).ok_or(
                "expected NAME=VALUE pairs with commas between them in OTEL_EXPORTER_OTLP_HEADERS; nothing was sent",
            )?;
            all.insert(name, value);
        }
        all.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
        Ok(Self { url, headers: all })
    }

    /// Returns the address, without what may be secret in it.
    pub(crate) fn shown(&self) -> String {
        let port = self.url.port().map(|port| format!(":{port}")).unwrap_or_default();
        format!(
            "{}://{}{port}{}",
            self.url.scheme(),
            self.url.host_str().unwrap_or_default(),
            self.url.path()
        )
    }
}

fn read_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| "expected the address of a collector, such as http://127.0.0.1:4318".to_owned())
}

/// Returns the address of traces below a base address.
fn below(mut base: Url) -> Url {
    let path = format!("{}/{TRACES_PATH}", base.path().trim_end_matches('/'));
    base.set_path(&path);
    base
}

/// Reads one header, whose value may be percent-encoded.
fn read_header(pair: &str) -> Option<(header::HeaderName, header::HeaderValue)> {
    let (name, value) = pair.split_once('=')?;
    let value: Vec<u8> = percent_encoding::percent_decode_str(value.trim()).collect();
    let mut value = header::HeaderValue::from_bytes(&value).ok()?;
    value.set_sensitive(true);
    Some((header::HeaderName::from_bytes(name.trim().as_bytes()).ok()?, value))
}

/// The spans that were handled so far.
#[derive(Debug, Default)]
pub(super) struct SpanCounts {
    pub(super) sent: AtomicU64,
    pub(super) dropped: AtomicU64,
}

/// The end of the spans' way at which a worker gives them away. Dropping it ends the sender after the last span.
pub(super) struct Telemetry {
    sender: SyncSender<Value>,
    worker: String,
    /// Names the trace of this worker.
    nonce: u64,
    requests: AtomicU64,
}

/// The other end, which sends them.
pub(super) struct SpanSender {
    receiver: Receiver<Value>,
    collector: Collector,
    resource: Value,
}

/// Returns both ends.
pub(super) fn telemetry(
    collector: Collector,
    worker: &str,
    host: &str,
    nonce: u64,
) -> (Telemetry, SpanSender) {
    let (sender, receiver) = sync_channel(WAITING_MAX);
    let service = std::env::var("OTEL_SERVICE_NAME").ok().filter(|name| !name.is_empty());
    let resource = json!({"attributes": [
        text("service.name", service.as_deref().unwrap_or("hence-worker")),
        text("service.version", env!("CARGO_PKG_VERSION")),
        text("service.instance.id", worker),
        text("host.name", host),
        number("process.pid", std::process::id().into()),
    ]});
    let telemetry = Telemetry { sender, worker: worker.to_owned(), nonce, requests: AtomicU64::new(0) };
    (telemetry, SpanSender { receiver, collector, resource })
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// Returns an attribute that is a number, which JSON of this protocol writes as a text.
fn number(key: &str, value: u64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}

/// Returns the first bytes of a hash as an id.
fn id(parts: &[&str], bytes: usize) -> String {
    let mut hex = Vec::new();
    // The separator cannot be in a run's id or a worker's name, so no two lists of parts run together.
    Digest::of(parts.join("\n").as_bytes()).write_hex(&mut hex);
    hex.truncate(bytes * 2);
    String::from_utf8(hex).unwrap_or_default()
}

const TRACE_ID_BYTES: usize = 16;
const SPAN_ID_BYTES: usize = 8;

/// Kinds of spans, as the protocol numbers them.
const CLIENT: u32 = 3;
const CONSUMER: u32 = 5;

/// A span that ends now.
struct Span<'a> {
    trace: String,
    id: String,
    parent: Option<String>,
    name: &'a str,
    kind: u32,
    took: Duration,
    attributes: Vec<Value>,
    error: Option<String>,
}

impl Telemetry {
    /// Makes spans of an event.
    pub(super) fn hear(&self, event: &WorkerEvent<'_>, counts: &SpanCounts) {
        match event {
            WorkerEvent::Driven { claim, settlement, took } => {
                let (end, reason) = end_words(settlement);
                let failed = matches!(settlement, Settlement::Failed { .. } | Settlement::Hopeless { .. });
                self.give(
                    Span {
                        trace: run_trace(claim.run.as_str()),
                        id: self.drive_id(claim.run.as_str(), claim.token),
                        parent: None,
                        name: "drive",
                        kind: CONSUMER,
                        took: *took,
                        attributes: vec![
                            text("hence.run", claim.run.as_str()),
                            text("hence.queue", claim.queue.as_str()),
                            text("hence.worker", &self.worker),
                            number("hence.claim", claim.token.0),
                            number("hence.lag_ms", claim.lag.get()),
                            text("hence.end", end),
                            text("hence.reason", &reason),
                        ],
                        error: failed.then_some(reason),
                    },
                    counts,
                );
            }
            WorkerEvent::Requested(report) => self.requested(report, counts),
            _ => {}
        }
    }

    /// Makes a span of a request, unless it is one of the many that change nothing: a claim that got none, a renewal.
    fn requested(&self, report: &RequestReport<'_>, counts: &SpanCounts) {
        let is_routine = match report.request {
            "claim" => report.claimed == 0,
            "heartbeat" => true,
            _ => false,
        };
        if is_routine && report.error.is_none() {
            return;
        }
        let own = self.nonce.to_string();
        let (trace, parent) = match report.claim {
            Some((run, token)) => (run_trace(run.as_str()), Some(self.drive_id(run.as_str(), token))),
            None => (id(&["worker", &self.worker, &own], TRACE_ID_BYTES), None),
        };
        let request = self.requests.fetch_add(1, Ordering::Relaxed).to_string();
        let mut attributes =
            vec![text("hence.worker", &self.worker), number("hence.claimed", report.claimed as u64)];
        attributes.extend(report.claim.map(|(run, _)| text("hence.run", run.as_str())));
        self.give(
            Span {
                trace,
                id: id(&["request", &self.worker, &own, &request], SPAN_ID_BYTES),
                parent,
                name: &format!("queue.{}", report.request),
                kind: CLIENT,
                took: report.took,
                attributes,
                error: report.error.map(ToString::to_string),
            },
            counts,
        );
    }

    fn drive_id(&self, run: &str, token: Token) -> String {
        id(&["drive", run, &self.worker, &token.0.to_string()], SPAN_ID_BYTES)
    }

    fn give(&self, span: Span<'_>, counts: &SpanCounts) {
        let Ok(end) = SystemTime::now().duration_since(UNIX_EPOCH) else { return };
        let start = end.saturating_sub(span.took);
        let mut written = json!({
            "traceId": span.trace,
            "spanId": span.id,
            "name": span.name,
            "kind": span.kind,
            "startTimeUnixNano": start.as_nanos().to_string(),
            "endTimeUnixNano": end.as_nanos().to_string(),
            "attributes": span.attributes,
            "status": match span.error {
                Some(message) => json!({"code": 2, "message": message}),
                None => json!({}),
            },
        });
        if let (Some(parent), Some(object)) = (span.parent, written.as_object_mut()) {
            object.insert("parentSpanId".to_owned(), parent.into());
        }
        // Full, or over because the worker ends.
        if self.sender.try_send(written).is_err() {
            counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn run_trace(run: &str) -> String {
    id(&["run", run], TRACE_ID_BYTES)
}

impl SpanSender {
    /// Sends spans until the worker gives none any more, and reports each change between delivered and not delivered.
    pub(super) fn run(self, counts: &SpanCounts, mut say: impl FnMut(&str)) {
        let client = HttpClient::default();
        let mut was_delivered = true;
        let mut is_open = true;
        while is_open {
            let mut batch = Vec::new();
            is_open = self.fill(&mut batch);
            if batch.is_empty() {
                continue;
            }
            let count = batch.len() as u64;
            match self.send(&client, batch) {
                Ok(rejected) => {
                    let rejected = rejected.min(count);
                    counts.sent.fetch_add(count - rejected, Ordering::Relaxed);
                    counts.dropped.fetch_add(rejected, Ordering::Relaxed);
                    if rejected > 0 {
                        say(&format!("the collector rejected {rejected} of {count} spans"));
                    } else if !was_delivered {
                        say("spans are delivered again");
                    }
                    was_delivered = true;
                }
                Err(reason) => {
                    // Those that came meanwhile too, so that a worker which ends waits for one request in vain, not for several.
                    let waiting = self.receiver.try_iter().take(WAITING_MAX).count() as u64;
                    counts.dropped.fetch_add(count + waiting, Ordering::Relaxed);
                    if was_delivered {
                        say(&format!("spans are dropped: {} {reason}", self.collector.shown()));
                    }
                    was_delivered = false;
                }
            }
        }
    }

    /// Collects the next spans. Returns whether more can come.
    fn fill(&self, batch: &mut Vec<Value>) -> bool {
        let Ok(first) = self.receiver.recv() else { return false };
        batch.push(first);
        let start = Instant::now();
        while batch.len() < BATCH_MAX {
            match self.receiver.recv_timeout(SEND_EVERY.saturating_sub(start.elapsed())) {
                Ok(span) => batch.push(span),
                Err(RecvTimeoutError::Timeout) => return true,
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
        true
    }

    /// Sends one request, again if the collector asks for it. Returns the number of spans that it rejected.
    fn send(&self, client: &HttpClient, spans: Vec<Value>) -> Result<u64, String> {
        let scope = json!({"name": "hence.worker", "version": env!("CARGO_PKG_VERSION")});
        let document = json!({"resourceSpans": [
            {"resource": self.resource, "scopeSpans": [{"scope": scope, "spans": spans}]},
        ]});
        let request = HttpRequest {
            method: Method::POST,
            url: self.collector.url.clone(),
            headers: self.collector.headers.clone(),
            body: Some(document.to_string().into_bytes()),
        };
        let mut pauses = PAUSES.iter();
        loop {
            let (status, answer) = send_once(client, request.clone())?;
            if status.is_success() {
                let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
                // A number of 64 bits is a text in the JSON of this protocol; some collectors write a number.
                let rejected = answer.pointer("/partialSuccess/rejectedSpans").unwrap_or(&Value::Null);
                return Ok(rejected.as_u64().or_else(|| rejected.as_str()?.parse().ok()).unwrap_or_default());
            }
            // The statuses after which the protocol lets a client try again.
            let may_retry = matches!(status.as_u16(), 429 | 502 | 503 | 504);
            match pauses.next().filter(|_| may_retry) {
                // The collector asked for patience. This thread does nothing but send, so nobody else waits.
                Some(pause) => std::thread::sleep(*pause),
                None => return Err(format!("answered {status}")),
            }
        }
    }
}

fn send_once(client: &HttpClient, request: HttpRequest) -> Result<(StatusCode, Vec<u8>), String> {
    let done = block_on(REQUEST_TIME_MAX, async {
        let mut response = client.send(request).await.map_err(|error| error.root_cause().to_owned())?;
        let body = response.body_start(ANSWER_BYTES_MAX).await;
        Ok((response.status(), body.map_err(|error| error.root_cause().to_owned())?))
    });
    done.map_err(|error| error.to_string())?
        .unwrap_or_else(|| Err(format!("did not answer within {} s", REQUEST_TIME_MAX.as_secs())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_go_below_the_base_address() {
        let shown = |text: &str| Collector::parse(text).map(|collector| collector.shown());
        assert_eq!(shown("http://127.0.0.1:4318").unwrap(), "http://127.0.0.1:4318/v1/traces");
        assert_eq!(shown("https://otel.example/base/").unwrap(), "https://otel.example/base/v1/traces");
        assert_eq!(shown("http://me:word@otel.example/").unwrap(), "http://otel.example/v1/traces");
        for wrong in ["127.0.0.1:4318", "ftp://otel.example", "collector", "http://"] {
            assert!(shown(wrong).unwrap_err().contains("http://127.0.0.1:4318"), "{wrong}");
        }
    }

    #[test]
    fn headers_are_decoded_and_never_printed() {
        let (name, value) = read_header(" Authorization = Bearer%20abc ").unwrap();
        assert_eq!((name.as_str(), value.as_bytes()), ("authorization", &b"Bearer abc"[..]));
        assert!(!format!("{value:?}").contains("abc"));
        assert!(read_header("no value").is_none() && read_header("a b=c").is_none());
    }

    #[test]
    fn ids_have_the_size_of_the_protocol_and_name_one_thing_each() {
        let trace = run_trace("r");
        assert_eq!(trace.len(), 32);
        assert_ne!(trace, run_trace("r2"));
        assert_ne!(id(&["drive", "r", "w1"], 8), id(&["drive", "r", "w11"], 8));
        assert_eq!(id(&["drive", "r", "w1"], 8).len(), 16);
    }
}
