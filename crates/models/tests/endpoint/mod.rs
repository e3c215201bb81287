//! An endpoint that does what a script says: one reaction for each request, in order, and nothing after the last.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// What the endpoint does with one request.
pub(crate) enum Reaction {
    /// Sends a whole response.
    Reply { status: &'static str, headers: Vec<(&'static str, String)>, body: String },
    /// Sends a whole JSON response in chunks of so many bytes.
    Chunked { body: String, chunk_bytes: usize },
    /// Sends events in chunks of so many bytes, and ends the response properly or breaks it off.
    Stream { events: String, chunk_bytes: usize, end: End },
    /// Sends a response that goes on and on with the same piece, until the client has gone or the limit is reached.
    Endless { piece: String, bytes_max: usize },
    /// Says nothing until the test is over.
    Hang,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Proper,
    Cut,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: serde_json::Value,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
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
pub(crate) struct Endpoint {
    address: std::net::SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Endpoint {
    pub(crate) fn with(script: Vec<Reaction>) -> Self {
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
            // The listener closes here: whoever asks once more finds nobody.
        });
        Self { address, shared, thread: Some(thread) }
    }

    /// Returns the base address, as settings name it.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1/", self.address)
    }

    /// Returns the requests so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap().clone()
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        *self.shared.ended.0.lock().unwrap() = true;
        self.shared.ended.1.notify_all();
        // Wakes a thread that waits for a request that never came.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(mut stream: TcpStream, reaction: &Reaction, shared: &Shared) {
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let Some(request) = read(&stream) else { return };
    shared.requests.lock().unwrap().push(request);
    // A client that has gone away is its own business.
    let _ = match reaction {
        Reaction::Reply { status, headers, body } => reply(&mut stream, status, headers, body),
        Reaction::Chunked { body, chunk_bytes } => chunked(&mut stream, body, *chunk_bytes),
        Reaction::Stream { events, chunk_bytes, end } => {
            stream_events(&mut stream, events, *chunk_bytes, *end)
        }
        Reaction::Endless { piece, bytes_max } => endless(&mut stream, piece, *bytes_max),
        Reaction::Hang => {
            let (lock, condition) = &shared.ended;
            let _ended = condition.wait_while(lock.lock().unwrap(), |ended| !*ended).unwrap();
            Ok(())
        }
    };
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
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
) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    for (key, value) in headers {
        head.push_str(&format!("{key}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes())
}

const STREAM_HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

fn stream_events(stream: &mut TcpStream, events: &str, chunk: usize, end: End) -> std::io::Result<()> {
    stream.write_all(STREAM_HEAD)?;
    for piece in events.as_bytes().chunks(chunk) {
        write_chunk(stream, piece)?;
    }
    if end == End::Proper { stream.write_all(b"0\r\n\r\n") } else { Ok(()) }
}

fn chunked(stream: &mut TcpStream, body: &str, chunk: usize) -> std::io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\n";
    stream.write_all(format!("{head}transfer-encoding: chunked\r\n\r\n").as_bytes())?;
    body.as_bytes().chunks(chunk).try_for_each(|piece| write_chunk(stream, piece))?;
    stream.write_all(b"0\r\n\r\n")
}

fn endless(stream: &mut TcpStream, piece: &str, bytes_max: usize) -> std::io::Result<()> {
    stream.write_all(STREAM_HEAD)?;
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
