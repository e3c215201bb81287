//! Calls of HTTP services and their failures: what is repeated, what a message names, and where a request goes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use hence_testkit::cli::World;

/// A server that gives every request the same response, and lists the first lines of requests.
struct Server {
    address: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn answering(status: &'static str, body: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = seen.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                noted.lock().unwrap().push(lines.next().unwrap().unwrap());
                while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
                let length = body.len();
                let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close");
                let _ = stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes());
            }
        });
        Self { address, seen }
    }

    fn requests(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

const RUN: [&str; 6] = ["run", "skill.yaml", "--capabilities", "capabilities.yaml", "--run-id", "r"];

/// Writes a skill of one step that calls `fetch`, a GET of a URL.
fn world(url: &str, input: &str, config: &str) -> World {
    let world = World::new();
    let capabilities = format!(
        "capabilities:\n  fetch:\n    description: Fetches\n    effects: reads\n    provider: {{kind: http, url: \"{url}\", retries: 0}}\n    input: {{type: object, properties: {{id: {{type: integer}}}}}}\n"
    );
    let skill = format!(
        "id: one\nversion: 1.0.0\nname: One\ndescription: One\ninputs: {{}}\noutputs: {{}}\nsteps:\n  - id: get\n    uses: fetch\n    input: {input}\n    output: {{ok: vars.ok}}\n    config: {{{config}}}\n"
    );
    world.write("capabilities.yaml", capabilities).write("skill.yaml", skill);
    world
}

fn json(world: &World, arguments: &[&str]) -> Value {
    let answer = world.ask(&[arguments, &["--json"]].concat());
    serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{}", answer.stderr))
}

/// Checks that `run` and `why` say the same about a failed run, and returns what they say.
fn failed(world: &World) -> (String, String) {
    let report = json(world, &RUN);
    assert_eq!(report["status"], "failed", "{report}");
    let (code, message) = (&report["failure"]["code"], &report["failure"]["message"]);
    let why = json(world, &["why", "r"])["says"].as_str().unwrap().to_owned();
    assert!(why.contains(&format!("{}: ", code.as_str().unwrap())), "{why} has not {code}");
    (code.as_str().unwrap().to_owned(), message.as_str().unwrap().to_owned())
}

#[test]
fn a_permanent_failure_is_not_repeated_and_names_url_item_and_attempt() {
    let config =
        "foreach: {items: \"[7, 8]\", as: id, parallel: 2}, retry: {max_attempts: 3, backoff_seconds: 0}";
    for (status, requests) in [("404 No", 2), ("403 No", 2), ("400 No", 2), ("503 Later", 6), ("429 Slow", 6)]
    {
        let server = Server::answering(status, "nope");
        let world = world(&format!("http://{}/items/{{{{id}}}}", server.address), "{}", config);
        let (_, message) = failed(&world);
        assert_eq!(server.requests().len(), requests, "{status}");
        let attempt = if requests == 2 { 1 } else { 3 };
        let url = format!("GET http://{}/items/7", server.address);
        assert!(message.contains(&url), "{message}");
        assert!(message.contains(&format!("(item 0, attempt {attempt} of 3)")), "{message}");
    }
    let server = Server::answering("404 No", "nope");
    let config = "retry: {max_attempts: 3, backoff_seconds: 0, on: [HttpNotFound]}";
    let world = world(&format!("http://{}/", server.address), "{}", config);
    failed(&world);
    assert_eq!(server.requests().len(), 3, "whoever names the class wants it repeated");
}

#[test]
fn a_time_out_names_the_url_and_has_the_code_of_a_time_out() {
    // The request is accepted and never answered.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let config = "timeout_seconds: 0.3, retry: {max_attempts: 2, backoff_seconds: 0}";
    let world = world(&format!("http://{address}/slow"), "{}", config);
    let (code, message) = failed(&world);
    assert_eq!(code, "step_timeout");
    let wanted = format!("GET http://{address}/slow: no reply within 0.3 seconds (attempt 2 of 2)");
    assert!(message.contains(&wanted), "{message}");
}

#[test]
fn no_proxy_is_used_to_reach_this_machine() {
    let proxy = Server::answering("200 OK", "{}");
    for host in ["127.0.0.1", "localhost", "api.localhost", "127.0.0.2"] {
        let server = Server::answering("200 OK", "{\"ok\": 1}");
        let port = server.address.rsplit_once(':').unwrap().1;
        // Another address of this machine is not listened at; the request must not go to the proxy either.
        let mut world = world(&format!("http://{host}:{port}/x"), "{}", "");
        for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
            world = world.env(name, &format!("http://{}", proxy.address));
        }
        let code = world.ask(&RUN).code;
        if host != "127.0.0.2" {
            assert_eq!((code, server.requests()), (0, vec!["GET /x HTTP/1.1".to_owned()]), "{host}");
        }
    }
    assert_eq!(proxy.requests(), Vec::<String>::new());
}

#[test]
fn an_input_that_breaks_the_contract_is_not_called_and_has_one_code_everywhere() {
    let server = Server::answering("200 OK", "{}");
    let config = "foreach: {items: \"[1.5]\", as: id}, retry: {max_attempts: 3, backoff_seconds: 0}";
    let refused = world(&format!("http://{}/x", server.address), "{}", config);
    failed(&refused);
    assert!(server.requests().is_empty());
    let record = json(&refused, &["show", "r", "get"]).to_string();
    assert!(!record.contains(r#""fetch":1"#), "{record}");
    // The service gives another member than the one that is read.
    let unmapped = world(&format!("http://{}/x", server.address), "{id: 1}", "");
    assert_eq!(failed(&unmapped).0, "invalid_request");
}
