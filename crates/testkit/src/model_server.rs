//! A scripted language model behind a server on the loopback interface, in both API shapes.
//!
//! The script is a function of what is asked, so requests may come in any order and at the same time. Paths below
//! `/v1/` decide the shape of the API, as with real providers: `chat/completions` or `messages`.

use std::io::BufReader;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::endpoint::{Connection, End, READ_TIMEOUT, Reaction, Request, react, read};
use crate::providers::{Voice, busy, error, json_reply};

/// The bytes of one chunk of a streamed reply: small, so that events are torn.
const CHUNK_BYTES: usize = 17;

/// One request to the model, as both APIs state it.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The number of requests before this one.
    pub number: usize,
    /// The shape of the API.
    pub voice: Voice,
    /// The name of the model.
    pub model: String,
    /// The system prompt, or nothing.
    pub system: String,
    /// The roles and texts of the other messages, in order.
    pub messages: Vec<(String, String)>,
    /// Whether the client asks for a stream.
    pub is_streamed: bool,
    /// The request as it came.
    pub request: Request,
}

impl Asked {
    fn of(number: usize, request: Request) -> Self {
        let voice = if request.path.contains("/messages") { Voice::Anthropic } else { Voice::OpenAi };
        let body = &request.body;
        let text = |value: &serde_json::Value| match value.as_str() {
            Some(text) => text.to_owned(),
            // Content may be a list of parts.
            None => {
                let parts = value.as_array().into_iter().flatten();
                parts.filter_map(|part| part.get("text")?.as_str()).collect()
            }
        };
        let mut system = body.get("system").map(&text).unwrap_or_default();
        let mut messages = Vec::new();
        for message in body.get("messages").and_then(|all| all.as_array()).into_iter().flatten() {
            let role = message.get("role").and_then(|role| role.as_str()).unwrap_or_default();
            let content = message.get("content").map(&text).unwrap_or_default();
            match role {
                "system" | "developer" => system.push_str(&content),
                _ => messages.push((role.to_owned(), content)),
            }
        }
        let model = body.get("model").and_then(|name| name.as_str()).unwrap_or_default().to_owned();
        let is_streamed = body.get("stream").and_then(|stream| stream.as_bool()).unwrap_or_default();
        Self { number, voice, model, system, messages, is_streamed, request }
    }

    /// Returns the text of the last message: the question, or the demand for a better reply.
    pub fn last(&self) -> &str {
        self.messages.last().map(|(_, text)| text.as_str()).unwrap_or_default()
    }

    /// Returns the text of the first message.
    pub fn first(&self) -> &str {
        self.messages.first().map(|(_, text)| text.as_str()).unwrap_or_default()
    }
}

/// The model's reaction to one request.
pub enum Said {
    /// A reply, whole or streamed as the request asks: 10 tokens of prompt, one token for each byte of text.
    Text(String),
    /// A reply after a wait.
    Slow(Duration, String),
    /// The status 429 with `retry-after`, in seconds.
    RateLimited(&'static str),
    /// An error with this status line, as `503 Service Unavailable`.
    Error(&'static str, String),
    /// A body that is no reply.
    Malformed(String),
    /// A reply that breaks off before its end.
    Cut(String),
    /// Nothing until the test is over.
    Nothing,
    /// Bytes of the test's own.
    Reaction(Reaction),
}

impl Said {
    /// Returns a reply that is a JSON document.
    pub fn json(value: &serde_json::Value) -> Self {
        Self::Text(value.to_string())
    }

    fn reaction(self, asked: &Asked) -> Reaction {
        let voice = asked.voice;
        match self {
            Self::Text(text) | Self::Slow(_, text) if asked.is_streamed => voice.streamed(&text, CHUNK_BYTES),
            Self::Text(text) | Self::Slow(_, text) => voice.whole(&text),
            Self::RateLimited(seconds) => busy("429 Too Many Requests", "retry-after", seconds),
            Self::Error(status, message) => error(status, &message),
            Self::Malformed(body) => json_reply("200 OK", body),
            Self::Cut(text) => voice.cut(&text, End::Cut),
            Self::Nothing => Reaction::Hang,
            Self::Reaction(reaction) => reaction,
        }
    }
}

type Script = dyn Fn(&Asked) -> Said + Send + Sync;

struct Shared {
    script: Box<Script>,
    asked: Mutex<Vec<Asked>>,
    count: AtomicUsize,
    open: Mutex<Vec<TcpStream>>,
    is_over: AtomicBool,
    over: (Mutex<bool>, Condvar),
}

/// A server that runs until it is dropped. Requests are answered at the same time, each connection on its own thread.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl ModelServer {
    /// Starts a server that answers each request by a function of it.
    pub fn answering(script: impl Fn(&Asked) -> Said + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            script: Box::new(script),
            asked: Mutex::default(),
            count: AtomicUsize::new(0),
            open: Mutex::default(),
            is_over: AtomicBool::new(false),
            over: Default::default(),
        });
        let held = shared.clone();
        let thread = std::thread::spawn(move || {
            let mut connections = Vec::new();
            while let Ok((stream, _)) = listener.accept() {
                if held.is_over.load(Ordering::SeqCst) {
                    break;
                }
                let held = held.clone();
                connections.push(std::thread::spawn(move || held.serve(stream)));
            }
            for connection in connections {
                let _ = connection.join();
            }
        });
        Self { address, shared, thread: Some(thread) }
    }

    /// Starts a server that gives these answers, one for each request in the order of arrival, and errors after the last.
    pub fn with(script: Vec<Said>) -> Self {
        let rest = Mutex::new(std::collections::VecDeque::from(script));
        Self::answering(move |_| {
            let next = rest.lock().unwrap().pop_front();
            next.unwrap_or_else(|| {
                Said::Error("500 Internal Server Error", "the script has ended".to_owned())
            })
        })
    }

    /// Returns the base address, as settings name it.
    pub fn url(&self) -> String {
        format!("http://{}/v1/", self.address)
    }

    /// Returns the model `name` of this server, as `--model` names it.
    pub fn model(&self, voice: Voice, name: &str) -> String {
        let address = self.address;
        match voice {
            Voice::OpenAi => format!("http://{address}/v1#{name}"),
            Voice::Anthropic => format!("anthropic+http://{address}/v1#{name}"),
        }
    }

    /// Returns the requests so far, in the order of arrival.
    pub fn asked(&self) -> Vec<Asked> {
        let mut asked = self.shared.asked.lock().unwrap().clone();
        asked.sort_by_key(|asked| asked.number);
        asked
    }

    /// Returns the number of requests so far.
    pub fn count(&self) -> usize {
        self.shared.count.load(Ordering::SeqCst)
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream) {
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
        self.open.lock().unwrap().extend(stream.try_clone());
        if self.is_over.load(Ordering::SeqCst) {
            return;
        }
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        while let Some(request) = read(&mut reader) {
            let asked = Asked::of(self.count.fetch_add(1, Ordering::SeqCst), request);
            self.asked.lock().unwrap().push(asked.clone());
            let said = (self.script)(&asked);
            if let Said::Slow(wait, _) = &said {
                // The wait is what the script asks for; it ends early when the test is over.
                let (lock, condition) = &self.over;
                drop(condition.wait_timeout_while(lock.lock().unwrap(), *wait, |over| !*over).unwrap());
            }
            let reaction = said.reaction(&asked);
            let sent = react(&mut writer, &reaction, Connection::KeepAlive, || {
                let (lock, condition) = &self.over;
                drop(condition.wait_while(lock.lock().unwrap(), |over| !*over).unwrap());
            });
            let is_whole = match reaction {
                Reaction::Reply { .. } | Reaction::Chunked { .. } => true,
                Reaction::Stream { end, .. } => end == End::Proper,
                Reaction::Endless { .. } | Reaction::Hang => false,
            };
            // A client that disconnected is not an error of the server.
            if sent.is_err() || !is_whole {
                let _ = writer.shutdown(Shutdown::Both);
                return;
            }
        }
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        *self.shared.over.0.lock().unwrap() = true;
        self.shared.over.1.notify_all();
        for stream in self.shared.open.lock().unwrap().iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // Wakes the thread that waits for a connection.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
