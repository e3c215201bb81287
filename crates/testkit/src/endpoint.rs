//! A scripted HTTP endpoint: one reaction for each request, in order, and a closed port after the last.

use std::io::{BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// The reaction of the endpoint to one request.
pub enum Reaction {
    /// Sends a whole response.
    Reply {
        /// The status line without the protocol, as `200 OK`.
        status: &'static str,
        /// The headers besides the length.
        headers: Vec<(&'static str, String)>,
        /// The body.
        body: String,
    },
    /// Sends a whole JSON response in chunks.
    Chunked {
        /// The body.
        body: String,
        /// The bytes of a chunk.
        chunk_bytes: usize,
    },
    /// Sends events in chunks, and ends the response properly or breaks it off.
    Stream {
        /// The events, as they are sent.
        events: String,
        /// The bytes of a chunk.
        chunk_bytes: usize,
        /// The end of the response.
        end: End,
    },
    /// Sends the same piece again and again, until the client disconnects or the limit is reached.
    Endless {
        /// The piece.
        piece: String,
        /// The limit.
        bytes_max: usize,
    },
    /// Sends nothing until the test is over.
    Hang,
}

/// The end of a streamed response.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The last chunk is sent.
    Proper,
    /// The connection is closed before the last chunk.
    Cut,
}

/// A request the endpoint received.
#[derive(Clone, Debug)]
pub struct Request {
    /// The path of the request line.
    pub path: String,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, which must be JSON.
    pub body: serde_json::Value,
}

impl Request {
    /// Returns the value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

#[derive(Default)]
struct Shared {
    requests: Mutex<Vec<Request>>,
    over: AtomicBool,
    ended: (Mutex<bool>, Condvar),
}

/// A scripted endpoint on the loopback interface.
pub struct Endpoint {
    address: std::net::SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Endpoint {
    /// Starts an endpoint that reacts to requests by a script.
    pub fn with(script: Vec<Reaction>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let held = shared.clone();
        let thread = std::thread::spawn(move || {
            for reaction in script {
                let Ok((stream, _)) = listener.accept() else { return };
                if held.over.load(Ordering::SeqCst) {
                    return;
                }
                serve(stream, &reaction, &held);
            }
            // The listener closes here: further requests are refused.
        });
        Self { address, shared, thread: Some(thread) }
    }

    /// Returns the base address, as settings name it.
    pub fn url(&self) -> String {
        format!("http://{}/v1/", self.address)
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap().clone()
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        *self.shared.ended.0.lock().unwrap() = true;
        self.shared.ended.1.notify_all();
        // Wakes the thread if it still waits for a request.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(mut stream: TcpStream, reaction: &Reaction, shared: &Shared) {
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
    let Some(request) = read(&mut BufReader::new(&stream)) else { return };
    shared.requests.lock().unwrap().push(request);
    // A client that disconnected is not an error of the endpoint.
    let _ = react(&mut stream, reaction, Connection::Close, || {
        let (lock, condition) = &shared.ended;
        let _ended = condition.wait_while(lock.lock().unwrap(), |ended| !*ended).unwrap();
    });
}

/// The longest wait for a request on an open connection.
pub(crate) const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// The fate of a connection after a whole response, as the response announces it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Connection {
    Close,
    KeepAlive,
}

impl Connection {
    fn header(self) -> &'static str {
        match self {
            Self::Close => "connection: close\r\n",
            Self::KeepAlive => "connection: keep-alive\r\n",
        }
    }
}

/// Sends a reaction. `hang` returns when the test is over.
pub(crate) fn react(
    stream: &mut TcpStream,
    reaction: &Reaction,
    connection: Connection,
    hang: impl FnOnce(),
) -> std::io::Result<()> {
    match reaction {
        Reaction::Reply { status, headers, body } => reply(stream, status, headers, body, connection),
        Reaction::Chunked { body, chunk_bytes } => chunked(stream, body, *chunk_bytes, connection),
        Reaction::Stream { events, chunk_bytes, end } => {
            stream_events(stream, events, *chunk_bytes, *end, connection)
        }
        Reaction::Endless { piece, bytes_max } => endless(stream, piece, *bytes_max),
        Reaction::Hang => {
            hang();
            Ok(())
        }
    }
}

/// Reads one request; `None` at the end of the connection.
pub(crate) fn read(reader: &mut impl std::io::BufRead) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().split_once(": ") {
            Some((key, value)) => headers.push((key.to_lowercase(), value.to_owned())),
            None => break,
        }
    }
    let length = headers.iter().find(|(key, _)| key == "content-length")?.1.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { path, headers, body: serde_json::from_slice(&body).ok()? })
}

fn reply(
    stream: &mut TcpStream,
    status: &str,
    headers: &[(&'static str, String)],
    body: &str,
    connection: Connection,
) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {status}\r\n{}content-length: {}\r\n", connection.header(), body.len());
    for (key, value) in headers {
        head.push_str(&format!("{key}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes())
}

fn write_head(stream: &mut TcpStream, media_type: &str, connection: Connection) -> std::io::Result<()> {
    let head = format!("HTTP/1.1 200 OK\r\n{}content-type: {media_type}\r\n", connection.header());
    stream.write_all(format!("{head}transfer-encoding: chunked\r\n\r\n").as_bytes())
}

fn stream_events(
    stream: &mut TcpStream,
    events: &str,
    chunk: usize,
    end: End,
    connection: Connection,
) -> std::io::Result<()> {
    write_head(stream, "text/event-stream", connection)?;
    for piece in events.as_bytes().chunks(chunk) {
        write_chunk(stream, piece)?;
    }
    if end == End::Proper { stream.write_all(b"0\r\n\r\n") } else { Ok(()) }
}

fn chunked(stream: &mut TcpStream, body: &str, chunk: usize, connection: Connection) -> std::io::Result<()> {
    write_head(stream, "application/json", connection)?;
    body.as_bytes().chunks(chunk).try_for_each(|piece| write_chunk(stream, piece))?;
    stream.write_all(b"0\r\n\r\n")
}

fn endless(stream: &mut TcpStream, piece: &str, bytes_max: usize) -> std::io::Result<()> {
    write_head(stream, "text/event-stream", Connection::Close)?;
    for _ in 0..bytes_max / piece.len() {
        write_chunk(stream, piece.as_bytes())?;
    }
    Ok(())
}

fn write_chunk(stream: &mut TcpStream, piece: &[u8]) -> std::io::Result<()> {
    let mut bytes = format!("{:x}\r\n", piece.len()).into_bytes();
    bytes.extend_from_slice(piece);
    bytes.extend_from_slice(b"\r\n");
    stream.write_all(&bytes)
}
