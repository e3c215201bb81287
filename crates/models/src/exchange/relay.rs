//! A way from the client to the endpoint that lets only so much through.
//!
//! The client reads a whole reply, or the body of an error, into memory, whatever its size, and takes no limit. So it is
//! given an address on this machine, behind which each request is passed on to the endpoint and the reply back, counted.
//! Nothing else can be reached through it, and it ends with the call.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Url};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::{Trouble, trouble};
use crate::failure::FailureClass;
use crate::settings::Delivery;

/// Most bytes of a request's head: the client's own are some hundred.
const HEAD_BYTES_MAX: u64 = 64 * 1024;

/// Most bytes of an error's body that are passed on; what is behind them is left unread. People are shown far less.
const ERROR_BYTES_MAX: u64 = 64 * 1024;

/// How many bytes of JSON a byte of text can take, written as `\u0000`.
const ESCAPED_BYTES_MAX: u64 = 6;

/// What a reply may have besides its text: names, ids, counts.
const ENVELOPE_BYTES_MAX: u64 = 1024 * 1024;

/// Returns how many bytes a reply in one piece, or one event of a stream, may have.
fn piece_bytes_max(reply_bytes_max: u64) -> u64 {
    reply_bytes_max.saturating_mul(ESCAPED_BYTES_MAX).saturating_add(ENVELOPE_BYTES_MAX)
}

/// Passes requests on to one endpoint, as long as it lives.
pub(super) struct Relay {
    base: Url,
    path: Arc<Path>,
    task: JoinHandle<()>,
}

/// What every connection knows.
struct Path {
    client: Client,
    endpoint: Url,
    delivery: Delivery,
    reply_bytes_max: u64,
    /// What went wrong on the way, which the client cannot know.
    fault: Mutex<Option<Trouble>>,
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Relay {
    /// Opens a way to an endpoint.
    pub(super) fn open(
        client: Client,
        endpoint: Url,
        delivery: Delivery,
        reply_bytes_max: u64,
    ) -> Result<Self, std::io::Error> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let listener = TcpListener::from_std(listener)?;
        let base = at(&endpoint, address).ok_or_else(|| std::io::Error::other("it has no host"))?;
        let path = Arc::new(Path { client, endpoint, delivery, reply_bytes_max, fault: Mutex::new(None) });
        let shared = path.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let path = shared.clone();
                // A connection that breaks is told by what the client does not get.
                tokio::spawn(async move { path.serve(stream).await.ok() });
            }
        });
        Ok(Self { base, path, task })
    }

    /// Returns the address that stands for the endpoint's.
    pub(super) fn base(&self) -> &Url {
        &self.base
    }

    /// Takes what went wrong on the way, if anything did.
    pub(super) fn take_fault(&self) -> Option<Trouble> {
        self.path.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Returns an endpoint's address with another host in the place of its own.
fn at(endpoint: &Url, address: SocketAddr) -> Option<Url> {
    let mut base = endpoint.clone();
    base.set_scheme("http").ok()?;
    base.set_ip_host(address.ip()).ok()?;
    base.set_port(Some(address.port())).ok()?;
    Some(base)
}

impl Path {
    fn fail(&self, trouble: Trouble) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(trouble);
    }

    async fn serve(&self, stream: TcpStream) -> Result<(), std::io::Error> {
        stream.set_nodelay(true)?;
        let mut stream = BufReader::new(stream);
        let Some(request) = self.read(&mut stream).await? else { return Ok(()) };
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) => {
                self.fail(trouble::of_transport(&error));
                return Ok(());
            }
        };
        self.pass_on(response, stream.get_mut()).await
    }

    /// Reads a request and makes the one that goes to the endpoint; `None` for what is none.
    async fn read(
        &self,
        stream: &mut BufReader<TcpStream>,
    ) -> Result<Option<reqwest::RequestBuilder>, std::io::Error> {
        let (mut lines, mut head) = (Vec::new(), (&mut *stream).take(HEAD_BYTES_MAX));
        loop {
            let mut line = String::new();
            if head.read_line(&mut line).await? == 0 {
                return Ok(None);
            }
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let Some((method, target)) = lines.first().and_then(|line| request_line(line)) else {
            return Ok(None);
        };
        let headers: HeaderMap = lines.iter().skip(1).filter_map(|line| header_line(line)).collect();
        let length =
            headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        let mut body = Vec::new();
        stream.take(length.unwrap_or(0)).read_to_end(&mut body).await?;
        let Ok(url) = self.endpoint.join(target) else { return Ok(None) };
        let own = [header::HOST, header::CONNECTION, header::CONTENT_LENGTH, header::TRANSFER_ENCODING];
        let passed = headers.into_iter().filter_map(|(name, value)| Some((name?, value)));
        let passed = passed.filter(|(name, _)| !own.contains(name)).collect();
        Ok(Some(self.client.request(method, url).headers(passed).body(body)))
    }

    /// Passes a response on, as far as it is let through.
    async fn pass_on(
        &self,
        mut response: reqwest::Response,
        stream: &mut TcpStream,
    ) -> Result<(), std::io::Error> {
        let mut head =
            format!("HTTP/1.1 {}\r\nconnection: close\r\ntransfer-encoding: chunked\r\n", response.status());
        let own = [header::CONNECTION, header::CONTENT_LENGTH, header::TRANSFER_ENCODING];
        for (name, value) in response.headers().iter().filter(|(name, _)| !own.contains(name)) {
            head.extend(value.to_str().map(|value| format!("{name}: {value}\r\n")));
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).await?;
        let mut limit = Limit::of(&response, self.delivery, self.reply_bytes_max);
        loop {
            let chunk = match response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                Err(error) => {
                    self.fail(trouble::of_transport(&error));
                    return Ok(());
                }
            };
            match limit.take(&chunk) {
                Taken::All => write_chunk(stream, &chunk).await?,
                Taken::UpTo(bytes) => {
                    write_chunk(stream, chunk.get(..bytes).unwrap_or_default()).await?;
                    break;
                }
                Taken::TooMuch => {
                    let message = format!("the reply has more than {} bytes", self.reply_bytes_max);
                    self.fail(Trouble::lasting(FailureClass::ReplyTooLarge, message));
                    return Ok(());
                }
            }
        }
        stream.write_all(b"0\r\n\r\n").await
    }
}

async fn write_chunk(stream: &mut TcpStream, chunk: &[u8]) -> Result<(), std::io::Error> {
    if chunk.is_empty() {
        // An empty chunk would be the end.
        return Ok(());
    }
    stream.write_all(format!("{:x}\r\n", chunk.len()).as_bytes()).await?;
    stream.write_all(chunk).await?;
    stream.write_all(b"\r\n").await
}

/// How much of a body is let through.
struct Limit {
    kind: Counted,
    bytes_max: u64,
    bytes: u64,
}

/// What of a body is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counted {
    /// All of it; more is too much.
    Whole,
    /// Each line: a stream may go on as long as there is time, and its text is counted by who reads it.
    Lines,
    /// All of it; more is left out.
    Error,
}

enum Taken {
    All,
    UpTo(usize),
    TooMuch,
}

impl Limit {
    fn of(response: &reqwest::Response, delivery: Delivery, reply_bytes_max: u64) -> Self {
        let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        // Only who asked for a stream reads it piece by piece, whatever the endpoint calls its reply.
        let is_stream =
            delivery == Delivery::Streamed && kind.is_some_and(|kind| kind.starts_with("text/event-stream"));
        let (kind, bytes_max) = match response.status().is_success() {
            false => (Counted::Error, ERROR_BYTES_MAX),
            true if is_stream => (Counted::Lines, piece_bytes_max(reply_bytes_max)),
            true => (Counted::Whole, piece_bytes_max(reply_bytes_max)),
        };
        // What says beforehand that it is too much is not read at all.
        let announced = response.content_length().filter(|_| kind == Counted::Whole).unwrap_or(0);
        Self { kind, bytes_max, bytes: if announced > bytes_max { announced } else { 0 } }
    }

    fn take(&mut self, chunk: &[u8]) -> Taken {
        let before = self.bytes;
        self.bytes = match (self.kind, chunk.iter().rposition(|byte| *byte == b'\n')) {
            (Counted::Lines, Some(last)) => (chunk.len() - last) as u64,
            _ => before.saturating_add(chunk.len() as u64),
        };
        match self.kind {
            _ if self.bytes <= self.bytes_max => Taken::All,
            Counted::Error => {
                Taken::UpTo(usize::try_from(self.bytes_max.saturating_sub(before)).unwrap_or(usize::MAX))
            }
            Counted::Whole | Counted::Lines => Taken::TooMuch,
        }
    }
}

fn request_line(line: &str) -> Option<(Method, &str)> {
    let mut words = line.split(' ');
    Some((words.next()?.parse().ok()?, words.next()?))
}

fn header_line(line: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = line.split_once(':')?;
    Some((name.parse().ok()?, value.trim().parse().ok()?))
}
