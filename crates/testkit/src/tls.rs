//! A TLS server, under a certificate for `localhost` of the tests' own authority.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A server that sends the same response to every client that accepts its certificate.
pub struct TlsServer {
    /// The port on the loopback interface.
    pub port: u16,
    seen: Receiver<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tls")
}

/// Returns the file with the certificate of the authority.
pub fn authority() -> String {
    folder().join("ca.pem").display().to_string()
}

impl TlsServer {
    /// Starts a server with one response.
    pub fn answering(response: String) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let chain = vec![CertificateDer::from_pem_file(folder().join("server.pem")).unwrap()];
        let key = PrivateKeyDer::from_pem_file(folder().join("server.key")).unwrap();
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (send, seen) = mpsc::channel();
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let connection = ServerConnection::new(config.clone()).unwrap();
                let mut reader = BufReader::new(StreamOwned::new(connection, stream));
                // A client that does not trust the certificate closes before a request.
                let Some(request) = read(&mut reader) else { continue };
                let _ = send.send(request);
                let stream = reader.get_mut();
                let _ = stream.write_all(response.as_bytes());
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        });
        Self { port, seen }
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<String> {
        self.seen.try_iter().collect()
    }
}

fn read(reader: &mut BufReader<StreamOwned<ServerConnection, std::net::TcpStream>>) -> Option<String> {
    let mut text = String::new();
    while reader.read_line(&mut text).ok()? > 2 {}
    let length =
        text.to_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(text + &String::from_utf8(body).ok()?)
}
