//! A unix socket in front of a server that loses connections on purpose.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The moment at which connections are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Never.
    Never,
    /// Once: when the server answers next. It has done what it was asked to.
    NextAnswer,
    /// Once: after so many bytes of the next request have reached the server.
    NextRequestAfter(u64),
    /// Again and again: each connection after a number of bytes in one direction, both drawn from this seed.
    Always(u64),
}

/// The proxy. Its threads end with the test process.
pub struct Proxy {
    folder: tempfile::TempDir,
    state: Arc<State>,
}

struct State {
    server: Mutex<PathBuf>,
    cut: Mutex<Cut>,
    connections: AtomicU64,
    cuts: AtomicU64,
}

impl Proxy {
    /// Starts a proxy in front of the server whose socket is in `folder`.
    pub fn start(server: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("hence-px-").tempdir().expect("a temporary folder");
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).expect("a socket");
        let state = Arc::new(State {
            server: Mutex::new(server.join(".s.PGSQL.5432")),
            cut: Mutex::new(Cut::Never),
            connections: AtomicU64::new(0),
            cuts: AtomicU64::new(0),
        });
        let accepting = state.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = accepting.server.lock().expect("no panic").clone();
                // A server that is down looks like a connection that is lost at once.
                let Ok(server) = UnixStream::connect(server) else { continue };
                let number = accepting.connections.fetch_add(1, Ordering::SeqCst);
                forward(&accepting, number, Direction::Request, &client, &server);
                forward(&accepting, number, Direction::Answer, &server, &client);
            }
        });
        Self { folder, state }
    }

    /// Returns the folder of the proxy's socket.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Says when connections are lost from now on.
    pub fn cut(&self, cut: Cut) {
        *self.state.cut.lock().expect("no panic") = cut;
    }

    /// Returns how many connections were lost.
    pub fn cuts(&self) -> u64 {
        self.state.cuts.load(Ordering::SeqCst)
    }

    /// Leads new connections to another server.
    pub fn lead_to(&self, folder: &Path) {
        *self.state.server.lock().expect("no panic") = folder.join(".s.PGSQL.5432");
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Request,
    Answer,
}

fn forward(state: &Arc<State>, number: u64, direction: Direction, from: &UnixStream, to: &UnixStream) {
    let state = state.clone();
    let (mut from, mut to) = (from.try_clone().expect("a socket"), to.try_clone().expect("a socket"));
    std::thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        let mut passed = 0;
        loop {
            let length = match from.read(&mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(length) => length,
            };
            let allowed = state.allowed(number, direction, passed, length);
            let part = buffer.get(..allowed).unwrap_or_default();
            if to.write_all(part).is_err() {
                break;
            }
            passed += u64::try_from(allowed).expect("small");
            if allowed < length {
                state.cuts.fetch_add(1, Ordering::SeqCst);
                break;
            }
        }
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    });
}

impl State {
    /// Returns how many of the next bytes of a connection are passed on.
    fn allowed(&self, number: u64, direction: Direction, passed: u64, length: usize) -> usize {
        let mut cut = self.cut.lock().expect("no panic");
        let bytes = match (*cut, direction) {
            (Cut::NextAnswer, Direction::Answer) => 0,
            (Cut::NextRequestAfter(bytes), Direction::Request) => bytes,
            (Cut::Always(seed), _) => {
                let drawn = draw(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                // Half of the connections are lost while they ask, half while they are answered.
                let is_mine = (drawn & 1 == 0) == (direction == Direction::Request);
                // A connection is made with less than 1000 bytes; statements have some thousands.
                let limit = 300 + (drawn >> 8) % 9_000;
                if is_mine { limit.saturating_sub(passed) } else { u64::MAX }
            }
            _ => u64::MAX,
        };
        let allowed = usize::try_from(bytes).unwrap_or(usize::MAX).min(length);
        if allowed < length && !matches!(*cut, Cut::Always(_)) {
            *cut = Cut::Never;
        }
        allowed
    }
}

/// Draws a number from a seed.
pub fn draw(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
