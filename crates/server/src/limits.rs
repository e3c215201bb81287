//! The limits of the server, each with its reason.

use std::time::Duration;

/// The most bytes of a response for a screen. A page that scrolls asks for many of them.
pub const RESPONSE_BYTES_MAX: usize = 256 * 1024;

/// The most bytes of raw data in one response: journals, blobs and documents are read in pieces.
pub const RAW_BYTES_MAX: u64 = 1024 * 1024;

/// The most bytes of a request's body. An answer of a person is text.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;

/// The most items of a list in one response.
pub const ITEMS_MAX: u64 = 1000;

/// The items of a list in one response, unless the request names another number.
pub const ITEMS_DEFAULT: u64 = 100;

/// The most connections at once. More wait in the queue of the operating system until one is closed.
pub const CONNECTIONS_MAX: usize = 2048;

/// The most live streams at once. The rest of the connections is for requests that end.
pub const WATCHERS_MAX: usize = 1500;

/// The most requests that read the store at once. Reading is bound by processors, so more would only be slower.
pub const READERS_MAX: usize = 8;

/// The most live streams that read the store at once.
pub const STREAM_READERS_MAX: usize = 2;

/// The most requests that wait for their turn to read.
pub const QUEUE_MAX: usize = 64;

/// The most sessions. The oldest one is forgotten when there are more.
pub const SESSIONS_MAX: usize = 1000;

/// The longest time in which the head of a request must arrive, and its body.
pub const ARRIVAL: Duration = Duration::from_secs(30);

/// The longest time a reader may take to accept the next bytes of a response.
pub const WRITE_PAUSE_MAX: Duration = Duration::from_secs(60);

/// The most bytes of the head of a request.
pub const HEAD_BYTES_MAX: usize = 32 * 1024;

/// The pause between two looks at a topic that somebody watches.
pub const LOOK_PAUSE: Duration = Duration::from_millis(250);

/// The longest pause without an event on a stream; then a comment keeps the connection open.
pub const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The time that open requests get to end when the server stops.
pub const FAREWELL: Duration = Duration::from_secs(3);

/// The shortest token in a token file. A shorter one could be guessed.
pub const TOKEN_CHARACTERS_MIN: usize = 32;

const _: () = assert!(WATCHERS_MAX < CONNECTIONS_MAX);
