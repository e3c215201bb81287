//! The HTTP client of `http` capabilities and of language models.
//!
//! It follows no redirects, because a redirect would carry a secret to a host that no file declares. It uses no proxy
//! to reach this machine. It leaves no connection open after a call, unless its caller asks for it, and reads no more of
//! a body than its caller allows.

use std::io::Read as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Certificate, Client};
pub use reqwest::{Method, StatusCode, Url, header};

/// The maximum number of bytes of a certificate file: the bundles of whole systems have a quarter of it.
const CA_FILE_BYTES_MAX: u64 = 1024 * 1024;

/// A client that trusts the system's certificate authorities and those of one file.
#[derive(Debug, Default)]
pub struct HttpClient {
    ca_file: Option<PathBuf>,
    reuse: Reuse,
    direct: OnceLock<Client>,
    proxied: OnceLock<Client>,
}

/// Whether a connection serves further requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Reuse {
    #[default]
    Never,
    WhileOpen,
}

/// A request that can be sent repeatedly.
#[derive(Clone)]
pub struct HttpRequest {
    /// The method.
    pub method: Method,
    /// The address.
    pub url: Url,
    /// The headers; those that carry a secret are marked as sensitive.
    pub headers: header::HeaderMap,
    /// The body.
    pub body: Option<Vec<u8>>,
}

/// A response whose body has not been read yet.
#[derive(Debug)]
pub struct HttpResponse(reqwest::Response);

/// The stage of a request at which it failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// No client or no request could be built. Another attempt fails the same way.
    Setup,
    /// No connection was made, so nothing was sent.
    Connect,
    /// The request may have been sent, and no complete response arrived.
    Exchange,
}

/// A request without a complete response. No message contains the address, because it may hold a secret.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", .causes.join(": "))]
pub struct TransportError {
    /// The stage at which the request failed.
    pub stage: Stage,
    causes: Vec<String>,
}

/// A body that was not read to the end.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BodyError {
    /// The body has more bytes than allowed; the rest was not read.
    #[error("the body is larger than allowed")]
    TooLarge,
    /// The connection failed.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

impl TransportError {
    fn setup(message: impl ToString) -> Self {
        Self { stage: Stage::Setup, causes: vec![message.to_string()] }
    }

    fn of(error: reqwest::Error) -> Self {
        let stage = match (error.is_builder(), error.is_connect()) {
            (true, _) => Stage::Setup,
            (false, true) => Stage::Connect,
            (false, false) => Stage::Exchange,
        };
        let error = error.without_url();
        let mut causes = vec![error.to_string()];
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            causes.push(cause.to_string());
            source = cause.source();
        }
        Self { stage, causes }
    }

    /// Returns the deepest cause, which is the most specific one.
    pub fn root_cause(&self) -> &str {
        self.causes.last().map(String::as_str).unwrap_or_default()
    }
}

impl HttpClient {
    /// Returns a client that also trusts the authorities in a PEM file, which is read before the first request.
    pub fn new(ca_file: Option<PathBuf>) -> Self {
        Self { ca_file, ..Self::default() }
    }

    /// Leaves connections open for later requests, which must run in the same [`Connections`].
    #[must_use]
    pub fn keeping_connections(self) -> Self {
        Self { reuse: Reuse::WhileOpen, ..self }
    }

    /// Sends a request and returns the response as soon as its headers have arrived.
    ///
    /// # Errors
    /// [`TransportError`] when there is no response.
    pub async fn send(&self, request: HttpRequest) -> Result<HttpResponse, TransportError> {
        let client = self.client_for(&request.url)?;
        let mut builder = client.request(request.method, request.url).headers(request.headers);
        if let Some(body) = request.body {
            builder = builder.body(body);
        }
        builder.send().await.map(HttpResponse).map_err(TransportError::of)
    }

    fn client_for(&self, url: &Url) -> Result<&Client, TransportError> {
        let cell = if is_loopback(url) { &self.direct } else { &self.proxied };
        if let Some(client) = cell.get() {
            return Ok(client);
        }
        // A crypto provider that is already installed works as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = Client::builder().redirect(reqwest::redirect::Policy::none());
        let builder = match self.reuse {
            Reuse::Never => builder.pool_max_idle_per_host(0),
            Reuse::WhileOpen => builder.tcp_nodelay(true),
        };
        // A name of this machine is never looked up: another machine must not answer for it.
        let builder =
            if is_loopback(url) { builder.no_proxy().dns_resolver(Arc::new(Loopback)) } else { builder };
        let builder = match &self.ca_file {
            None => builder,
            Some(file) => builder.tls_certs_merge(read_certificates(file)?),
        };
        let client = builder.build().map_err(TransportError::of)?;
        Ok(cell.get_or_init(|| client))
    }
}

impl HttpResponse {
    /// Returns the status.
    pub fn status(&self) -> StatusCode {
        self.0.status()
    }

    /// Returns the headers.
    pub fn headers(&self) -> &header::HeaderMap {
        self.0.headers()
    }

    /// Returns the content type, or an empty text if the response has none.
    pub fn content_type(&self) -> &str {
        let declared = self.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        declared.unwrap_or_default()
    }

    /// Returns the next bytes of the body that have arrived; `None` at its end.
    ///
    /// # Errors
    /// [`TransportError`] when the body breaks off.
    pub async fn chunk(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, TransportError> {
        self.0.chunk().await.map_err(TransportError::of)
    }

    /// Reads the whole body.
    ///
    /// # Errors
    /// [`BodyError`] when the body has more bytes than allowed, or breaks off.
    pub async fn body(&mut self, bytes_max: u64) -> Result<Vec<u8>, BodyError> {
        if self.0.content_length().is_some_and(|bytes| bytes > bytes_max) {
            return Err(BodyError::TooLarge);
        }
        let body = self.body_start(bytes_max.saturating_add(1)).await?;
        if body.len() as u64 > bytes_max { Err(BodyError::TooLarge) } else { Ok(body) }
    }

    /// Reads the beginning of the body, at most `bytes_max` bytes.
    ///
    /// # Errors
    /// [`TransportError`] when the body breaks off before that.
    pub async fn body_start(&mut self, bytes_max: u64) -> Result<Vec<u8>, TransportError> {
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        let mut body = Vec::new();
        while body.len() < bytes_max {
            let Some(chunk) = self.chunk().await? else { break };
            let chunk = chunk.as_ref();
            body.extend_from_slice(chunk.get(..bytes_max - body.len()).unwrap_or(chunk));
        }
        Ok(body)
    }
}

/// A place where requests of one caller run, so that connections can stay open between them.
///
/// A connection belongs to the runtime that opened it. [`block_on`] makes a runtime for one call and ends it; this one
/// lives until it is dropped, on a thread of its own.
#[derive(Debug)]
pub struct Connections {
    handle: tokio::runtime::Handle,
    /// The task that keeps the thread until it is aborted.
    life: tokio::task::AbortHandle,
}

impl Connections {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system's error when it cannot be started.
    pub fn open() -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (handle, life) = (runtime.handle().clone(), runtime.spawn(std::future::pending::<()>()));
        let abort = life.abort_handle();
        std::thread::Builder::new().name("connections".to_owned()).spawn(move || {
            let _ = runtime.block_on(life);
            // A name lookup cannot be cancelled, and waiting for it could take long.
            runtime.shutdown_background();
        })?;
        Ok(Self { handle, life: abort })
    }

    /// Runs a future on this thread; `None` when it does not finish in time. Many threads may do so at the same time.
    pub fn block_on<T>(&self, timeout: Duration, future: impl Future<Output = T>) -> Option<T> {
        self.handle.block_on(async { tokio::time::timeout(timeout, future).await }).ok()
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        self.life.abort();
    }
}

/// Runs a future on this thread; `None` when it does not finish in time.
///
/// # Errors
/// The system's error when no runtime can be created.
pub fn block_on<T>(timeout: Duration, future: impl Future<Output = T>) -> std::io::Result<Option<T>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(async { tokio::time::timeout(timeout, future).await });
    // A name lookup cannot be cancelled, and waiting for it would exceed the time.
    runtime.shutdown_background();
    Ok(result.ok())
}

/// Returns whether a URL leads to this machine, so that nothing on a network can read or redirect the request.
pub fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        let name = host.strip_suffix('.').unwrap_or(host);
        match host.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(address) => address.to_canonical().is_loopback(),
            Err(_) => name == "localhost" || name.ends_with(".localhost"),
        }
    })
}

/// The addresses of this machine, for every name.
struct Loopback;

impl Resolve for Loopback {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        // The port is that of the URL.
        let addresses = addresses.map(|address| SocketAddr::new(address, 0));
        Box::pin(std::future::ready(Ok(Box::new(addresses.into_iter()) as Addrs)))
    }
}

fn read_certificates(file: &Path) -> Result<Vec<Certificate>, TransportError> {
    let failed = |reason: &dyn std::fmt::Display| {
        TransportError::setup(format!("ca_file {}: {reason}", file.display()))
    };
    let bytes = read_limited(file).map_err(|error| failed(&error))?;
    let certificates = Certificate::from_pem_bundle(&bytes).map_err(|error| failed(&error))?;
    if certificates.is_empty() { Err(failed(&"it holds no certificate")) } else { Ok(certificates) }
}

fn read_limited(file: &Path) -> Result<Vec<u8>, std::io::Error> {
    let mut bytes = Vec::new();
    std::fs::File::open(file)?.take(CA_FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > CA_FILE_BYTES_MAX {
        return Err(std::io::Error::other(format!("it has more than {CA_FILE_BYTES_MAX} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ca_file_at_the_limit_is_read_and_one_byte_more_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        for (more, is_read) in [(0, true), (1, false)] {
            std::fs::write(&file, vec![b'\n'; usize::try_from(CA_FILE_BYTES_MAX).unwrap() + more]).unwrap();
            assert_eq!(read_limited(&file).is_ok(), is_read);
        }
    }

    #[test]
    fn loopback_is_this_machine_and_nothing_that_looks_like_it() {
        let local = |url: &str| is_loopback(&Url::parse(url).unwrap());
        for url in [
            "http://localhost/",
            "http://LOCALHOST:8080/",
            "http://localhost./",
            "http://api.localhost:8080/v1",
            "http://127.0.0.1:8080/v1",
            "http://127.1/",
            "http://2130706433/",
            "https://127.9.9.9/",
            "http://[::1]:1/",
            "http://[::ffff:127.0.0.1]/",
        ] {
            assert!(local(url), "{url}");
        }
        for url in [
            "http://localhost.example.org/",
            "http://notlocalhost/",
            "http://10.0.0.1/",
            "http://127.0.0.1.example.org/",
            "http://[::2]/",
        ] {
            assert!(!local(url), "{url}");
        }
    }
}
