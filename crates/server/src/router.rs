//! Routes from operations: checks, then the operation in a thread that may block.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method as HttpMethod, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::access::Identity;
use crate::guard::Guard;
use crate::limits::{ARRIVAL, BODY_BYTES_MAX, QUEUE_MAX, READERS_MAX, STREAM_READERS_MAX};
use crate::live::Topics;
use crate::openapi::openapi_document;
use crate::operation::{ApiError, BodyOf, Method, Operation, Refusal, Reply, Service};
use crate::{Call, page};

/// The prefix of all operations.
pub(crate) const PREFIX: &str = "/api/v1";

const HEAD: HeaderName = HeaderName::from_static("hence-head");
const TOTAL_BYTES: HeaderName = HeaderName::from_static("hence-total-bytes");

/// The turns of requests that read: a few at once, some that wait, no more.
#[derive(Clone)]
pub(crate) struct Readers {
    turns: Arc<Semaphore>,
    /// The turns of live streams: many of them wake at once, and a request does not wait behind them.
    stream_turns: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
}

impl Readers {
    pub(crate) fn new() -> Self {
        let (turns, stream_turns) = (Semaphore::new(READERS_MAX), Semaphore::new(STREAM_READERS_MAX));
        Self { turns: Arc::new(turns), stream_turns: Arc::new(stream_turns), waiting: Arc::default() }
    }

    /// Runs something that blocks, for a live stream, when it is its turn; `None` when it panicked.
    pub(crate) async fn read_for_stream<T: Send + 'static>(
        self,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let _turn = self.stream_turns.acquire().await.ok()?;
        tokio::task::spawn_blocking(read).await.ok()
    }

    /// Runs something that blocks when it is its turn, and refuses when too many wait already.
    async fn read_or_refuse<T: Send + 'static>(
        self,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        if self.turns.available_permits() == 0 && self.waiting.load(Ordering::SeqCst) >= QUEUE_MAX {
            return Err(Refusal::Busy("too many requests wait for their turn"));
        }
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let waiting = self.waiting.clone();
        let turn = self.turns.acquire().await;
        waiting.fetch_sub(1, Ordering::SeqCst);
        let _turn = turn.map_err(|_| Refusal::Broken)?;
        tokio::task::spawn_blocking(read).await.map_err(|_| Refusal::Broken)
    }
}

/// Everything that requests share.
pub(crate) struct Shared {
    pub(crate) service: Arc<dyn Service>,
    pub(crate) guard: Guard,
    readers: Readers,
    topics: Arc<Topics>,
    openapi: String,
}

/// A session, as the page sees it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Session {
    /// The name of the token, which is recorded with everything its owner does.
    name: String,
    /// `read`, `answer`, `review`.
    roles: Vec<&'static str>,
    /// The version of the server.
    version: &'static str,
    /// The store that is served.
    store: String,
}

/// The exchange of a token for a session.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exchange {
    /// The token.
    token: String,
}

impl Shared {
    pub(crate) fn new(service: Arc<dyn Service>, guard: Guard) -> Arc<Self> {
        let openapi = openapi_document(&*service);
        let topics = Topics::new(service.clone());
        Arc::new(Self { service, guard, readers: Readers::new(), topics, openapi })
    }

    fn refuse(&self, refusal: &Refusal) -> Response {
        let mut response = error_response(&self.service.refuse(refusal), refusal.status());
        if matches!(refusal, Refusal::Busy(_)) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }

    fn session(&self, identity: &Identity) -> Response {
        let session = Session {
            name: identity.name().to_owned(),
            roles: identity.roles().iter().map(|role| role.as_str()).collect(),
            version: self.service.version(),
            store: self.service.store(),
        };
        json_response(serde_json::to_vec(&session).unwrap_or_default(), None)
    }
}

/// The parameters of a path, or the reason why they are no text.
type Segments = Result<RawPathParams, RawPathParamsRejection>;

/// Makes the routes of a service.
pub(crate) fn routes(shared: Arc<Shared>) -> Router {
    let mut router = Router::new();
    let mut operations = shared.service.operations();
    operations.sort_by_key(|operation| operation.path);
    let mut paths: Vec<(&'static str, MethodRouter<Arc<Shared>>)> = Vec::new();
    for operation in operations {
        let (path, filter) = (operation.path, filter(operation.method));
        let operation = Arc::new(operation);
        let handler = move |State(shared): State<Arc<Shared>>, segments: Segments, request: Request| {
            answer(shared, operation.clone(), segments, request)
        };
        match paths.last_mut() {
            Some((known, methods)) if *known == path => {
                *methods = std::mem::take(methods).on(filter, handler);
            }
            _ => paths.push((path, on(filter, handler))),
        }
    }
    for (path, methods) in paths {
        router = router.route(&format!("{PREFIX}{path}"), methods);
    }
    let session = on(MethodFilter::GET, show_session)
        .on(MethodFilter::POST, begin_session)
        .on(MethodFilter::DELETE, end_session);
    router
        .route(&format!("{PREFIX}/session"), session)
        .route(&format!("{PREFIX}/openapi.json"), on(MethodFilter::GET, show_openapi))
        .method_not_allowed_fallback(wrong_method)
        .fallback(page_or_nothing)
        .layer(axum::middleware::from_fn_with_state(shared.clone(), finish))
        .with_state(shared)
}

fn filter(method: Method) -> MethodFilter {
    match method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Delete => MethodFilter::DELETE,
    }
}

/// Checks where a request comes from, and adds the headers that every response has.
async fn finish(
    State(shared): State<Arc<Shared>>,
    request: Request,
    next: axum::middleware::Next,
) -> Response {
    let mut response = match shared.guard.check_source(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => shared.refuse(&refusal),
    };
    page::add_headers(response.headers_mut());
    response
}

async fn answer(
    shared: Arc<Shared>,
    operation: Arc<Operation>,
    segments: Segments,
    request: Request,
) -> Response {
    match answer_or_refuse(&shared, operation, segments, request).await {
        Ok(response) => response,
        Err(refusal) => shared.refuse(&refusal),
    }
}

async fn answer_or_refuse(
    shared: &Arc<Shared>,
    operation: Arc<Operation>,
    segments: Segments,
    request: Request,
) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let who = shared.guard.check_role(&parts.headers, &parts.method, operation.role)?;
    let segments = segments.map_err(|_| {
        Refusal::Request("the address is not UTF-8 when its percent signs are undone".to_owned())
    })?;
    let segments = segments.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let last_event = parts.headers.get("last-event-id").map(|id| id.to_str().unwrap_or("?").to_owned());
    let call = Call::read(&operation, segments, parts.uri.query().unwrap_or_default())?
        .with_identity(who)
        .with_last_event(last_event);
    let call = match operation.body {
        BodyOf::Nothing => call,
        BodyOf::Json(_) => call.with_body(read_body(&parts.headers, body).await?),
    };
    let replied = shared.readers.clone().read_or_refuse(move || (operation.answer)(&call)).await?;
    match replied {
        Ok(Reply::Events { topic, feed }) => shared.topics.stream(&topic, feed, shared.readers.clone()),
        Ok(reply) => Ok(response_of(reply)),
        Err(error) => Ok(error_response(&error, error.status)),
    }
}

async fn read_body(headers: &HeaderMap, body: Body) -> Result<Vec<u8>, Refusal> {
    let found = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("none");
    let essence = found.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        return Err(Refusal::ContentType(found.to_owned()));
    }
    // A little more than the limit is read, so that a client which sends everything first gets its answer.
    match timeout(ARRIVAL, to_bytes(body, 2 * BODY_BYTES_MAX)).await {
        Err(_) => Err(Refusal::Request("the body did not arrive in time".to_owned())),
        Ok(Ok(bytes)) if bytes.len() <= BODY_BYTES_MAX => Ok(bytes.into()),
        Ok(_) => Err(Refusal::BodySize { limit: BODY_BYTES_MAX }),
    }
}

fn response_of(reply: Reply) -> Response {
    match reply {
        Reply::Json { text, head } => json_response(text, head),
        Reply::Bytes { bytes, content_type, file_name, total } => {
            let mut response = Response::new(Body::from(bytes));
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
            headers.insert(TOTAL_BYTES, HeaderValue::from(total));
            let disposition = file_name.map_or_else(|| "attachment".to_owned(), |name| attachment(&name));
            headers.insert(header::CONTENT_DISPOSITION, value(&disposition));
            response
        }
        // Streams are answered where the topics are known.
        Reply::Events { .. } => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Returns a header that names a file, with the plain characters of the name only.
fn attachment(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    format!("attachment; filename=\"{}\"", name.chars().map(plain).collect::<String>())
}

fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""))
}

fn json_response(text: Vec<u8>, head: Option<String>) -> Response {
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(head) = head {
        headers.insert(HEAD, value(&head));
    }
    response
}

fn error_response(error: &ApiError, status: u16) -> Response {
    let mut response = json_response(error.text.clone().into_bytes(), None);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

async fn show_openapi(State(shared): State<Arc<Shared>>) -> Response {
    json_response(shared.openapi.clone().into_bytes(), None)
}

async fn show_session(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    match shared.guard.check_role(request.headers(), &HttpMethod::GET, crate::Role::Read) {
        Ok(identity) => shared.session(&identity),
        Err(refusal) => shared.refuse(&refusal),
    }
}

async fn begin_session(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let read = read_body(&parts.headers, body)
        .await
        .and_then(|body| Call::default().with_body(body).read_body::<Exchange>());
    let token = match read {
        Ok(exchange) => exchange.token,
        Err(refusal) => return shared.refuse(&refusal),
    };
    let Some(identity) = shared.guard.access.identity_of_token(&token) else {
        return shared.refuse(&Refusal::NoSession);
    };
    let mut response = shared.session(&identity);
    let Ok(secret) = shared.guard.access.begin(identity) else { return shared.refuse(&Refusal::Broken) };
    let cookie = format!("{}={secret}; HttpOnly; SameSite=Strict; Path=/", shared.guard.cookie);
    response.headers_mut().insert(header::SET_COOKIE, value(&cookie));
    response
}

async fn end_session(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let headers = request.headers();
    if let Err(refusal) = shared.guard.check_role(headers, &HttpMethod::DELETE, crate::Role::Read) {
        return shared.refuse(&refusal);
    }
    if let Some(secret) = shared.guard.session(headers) {
        shared.guard.access.end(secret);
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    let cookie = format!("{}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0", shared.guard.cookie);
    response.headers_mut().insert(header::SET_COOKIE, value(&cookie));
    response
}

async fn wrong_method(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    shared.refuse(&Refusal::Method(request.method().to_string()))
}

async fn page_or_nothing(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let path = request.uri().path();
    if path.starts_with("/api") {
        return shared.refuse(&Refusal::NoRoute(path.to_owned()));
    }
    if !matches!(*request.method(), HttpMethod::GET | HttpMethod::HEAD) {
        return shared.refuse(&Refusal::Method(request.method().to_string()));
    }
    match page::asset(path, request.headers()) {
        Some(response) => response,
        None => shared.refuse(&Refusal::NoRoute(path.to_owned())),
    }
}
