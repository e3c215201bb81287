//! `hence serve` and `hence view` over real loopback connections: every route, the rules of access, bad input.

mod access;
mod acting;
mod bad_input;
mod live;
mod single_file;
mod views;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Child;
use std::time::Duration;

use hence_testkit::cli::World;
use serde_json::Value;

/// The longest time a test waits for bytes that must come. No test asserts a time.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server of this build in a world of its own.
pub(crate) struct Served {
    pub(crate) child: Child,
    pub(crate) address: String,
    pub(crate) token: String,
}

/// A response of a server.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&self.body)))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the code of an error, which must be of the documented form.
    pub(crate) fn error(&self) -> (u16, String) {
        let error = self.json();
        for member in ["code", "message", "hint"] {
            let text = error["error"][member].as_str().unwrap_or_default();
            assert!(!text.is_empty(), "{member} of {error}");
        }
        assert!(error["error"]["findings"].is_array(), "{error}");
        (self.status, error["error"]["code"].as_str().unwrap().to_owned())
    }
}

impl Served {
    /// Starts `hence serve` on a free port.
    pub(crate) fn start(world: &World) -> Self {
        Self::with(world, &["serve", "--name", "ada", "--json"])
    }

    pub(crate) fn with(world: &World, arguments: &[&str]) -> Self {
        let mut child = world.untimed(arguments).spawn().unwrap();
        let mut report = Vec::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        while !report.ends_with(b"\n}\n") {
            if out.read_until(b'\n', &mut report).unwrap() == 0 {
                let mut said = String::new();
                child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
                panic!("the server did not start: {said}");
            }
        }
        let report: Value = serde_json::from_slice(&report).unwrap();
        let url = report["url"].as_str().unwrap();
        let token = url.split("token=").nth(1).unwrap_or_default().split('&').next().unwrap().to_owned();
        Self { child, address: report["address"].as_str().unwrap().to_owned(), token }
    }

    /// Sends bytes and reads what comes until the server closes.
    pub(crate) fn raw(&self, request: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        // A server that refuses early may not read everything.
        let _ = stream.write_all(request);
        let mut response = Vec::new();
        // A server that refuses early may reset the connection after its response.
        let _ = stream.read_to_end(&mut response);
        response
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            head.push_str(&format!("Host: {}\r\n", self.address));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        parse(&self.raw(&[head.as_bytes(), body].concat()))
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        self.send("GET", &format!("/api/v1{path}"), &[("Authorization", &self.bearer())], b"")
    }

    /// Gets JSON that must be there, and small enough for a screen.
    pub(crate) fn json(&self, path: &str) -> Value {
        let response = self.get(path);
        assert_eq!(response.status, 200, "{path}: {}", String::from_utf8_lossy(&response.body));
        assert_eq!(response.header("content-type"), Some("application/json"));
        assert!(response.body.len() <= 256 * 1024, "{path}: {} bytes", response.body.len());
        response.json()
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Response {
        let headers = [("Authorization", &*self.bearer()), ("Content-Type", "application/json")];
        self.send("POST", &format!("/api/v1{path}"), &headers, body.to_string().as_bytes())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn parse(response: &[u8]) -> Response {
    let text = response;
    let end = text.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or_else(|| {
        panic!("no response: {:?}", String::from_utf8_lossy(response));
    });
    let head = String::from_utf8(text[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let mut body = text[end + 4..].to_vec();
    if headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked") {
        body = unchunked(&body);
    }
    Response { status, headers, body }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(line) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        body.extend_from_slice(&rest[line + 2..line + 2 + size]);
        rest = &rest[line + 4 + size..];
        if size == 0 {
            break;
        }
    }
    body
}

/// A world with a finished run of a problem and one of a skill that waits for a person.
pub(crate) fn world() -> World {
    let world = World::with_run("first");
    world.write("skill.yaml", REFUND);
    let answer = world.ask(&["run", "skill.yaml", "--input", "amount=5", "--run-id", "refund"]);
    assert_eq!(answer.code, 3, "{}", answer.stderr);
    world
}

const REFUND: &str = r#"
id: refund
version: 1.0.0
name: Refund
description: Ask before paying
inputs:
  amount: {type: integer, required: true}
outputs:
  decision: {type: string, required: true}
steps:
  - id: prepare
    uses: number.sum
    input: {values: [inputs.amount, 1]}
    output: {sum: vars.sum}
  - id: approve
    uses: human.ask
    input: {question: "Refund?", options: ["yes", "no"], who: ada, context: vars.sum}
    output: {value: outputs.decision, by: vars.by}
"#;
