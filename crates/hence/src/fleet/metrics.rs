//! Metrics and health of a worker over HTTP. Two fixed paths, no state, no secrets: a responder of its own is smaller than a server.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::prelude::*;

/// The longest request: a line and a few headers.
const REQUEST_BYTES_MAX: usize = 8 * 1024;

/// The longest time that one client is waited for. Clients are served one after the other.
const CLIENT_WAIT: Duration = Duration::from_secs(2);

/// The time between two looks for a client and for the end of the worker.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The answers of the two paths.
pub(super) trait Figures: Sync {
    /// Returns the body of `/metrics`.
    fn metrics(&self) -> String;

    /// Returns whether `/health` is well.
    fn is_healthy(&self) -> bool;
}

/// A bound address.
pub(super) struct MetricsServer(TcpListener);

impl MetricsServer {
    /// Binds an address.
    pub(super) fn bind(address: SocketAddr) -> Result<Self, CliError> {
        let refused =
            |error: io::Error| CliError::new(Code::Listen, format!("cannot listen on {address}: {error}"));
        let listener = TcpListener::bind(address).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        Ok(Self(listener))
    }

    /// Returns the address, with the port that the system chose.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        self.0.local_addr().ok()
    }

    /// Answers until the worker is over.
    pub(super) fn serve(&self, figures: &dyn Figures, is_over: &AtomicBool) {
        while !is_over.load(Ordering::SeqCst) {
            match self.0.accept() {
                // A client that goes away or sends something else is its own problem.
                Ok((client, _)) => drop(answer(client, figures)),
                Err(_) => std::thread::sleep(LOOK_EVERY),
            }
        }
    }
}

fn answer(mut client: TcpStream, figures: &dyn Figures) -> io::Result<()> {
    client.set_nonblocking(false)?;
    client.set_read_timeout(Some(CLIENT_WAIT))?;
    client.set_write_timeout(Some(CLIENT_WAIT))?;
    let mut request = Vec::new();
    let start = std::time::Instant::now();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut part = [0; 1024];
        let count = client.read(&mut part)?;
        request.extend_from_slice(part.get(..count).unwrap_or_default());
        if count == 0 || request.len() > REQUEST_BYTES_MAX || start.elapsed() > CLIENT_WAIT {
            return respond(&mut client, "400 Bad Request", "expected one request with its headers\n");
        }
    }
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    match line {
        b"GET /metrics HTTP/1.1" | b"GET /metrics HTTP/1.0" => {
            respond(&mut client, "200 OK", &figures.metrics())
        }
        b"GET /health HTTP/1.1" | b"GET /health HTTP/1.0" if figures.is_healthy() => {
            respond(&mut client, "200 OK", "ok\n")
        }
        b"GET /health HTTP/1.1" | b"GET /health HTTP/1.0" => {
            respond(&mut client, "503 Service Unavailable", "the queue was not reached within the lease\n")
        }
        line if line.starts_with(b"GET ") => {
            respond(&mut client, "404 Not Found", "expected /metrics or /health\n")
        }
        _ => respond(&mut client, "405 Method Not Allowed", "expected GET\n"),
    }
}

fn respond(client: &mut TcpStream, status: &str, body: &str) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    );
    client.write_all(head.as_bytes())?;
    client.write_all(body.as_bytes())
}
