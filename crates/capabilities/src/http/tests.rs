use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use hence_canon::{Float, Value, parse};
use hence_cognition::run::{Call, CallError, CallPlace, CallPurpose};
use hence_skills::Host as _;

use crate::{Declarations, Kinds, Library, Source};

mod tls;

/// The reaction of a server to one connection after it has read the request.
type Act = Box<dyn FnOnce(&mut TcpStream) + Send>;

/// A real server on this machine: one scripted reaction per connection, and the requests it received.
struct Server {
    address: String,
    seen: Receiver<String>,
}

impl Server {
    fn of(acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (send, seen) = mpsc::channel();
        std::thread::spawn(move || {
            for act in acts {
                let Ok((mut stream, _)) = listener.accept() else { return };
                let request = read_request(&mut stream);
                let _ = send.send(request);
                act(&mut stream);
            }
        });
        Self { address, seen }
    }

    fn answering(responses: &[&str]) -> Self {
        Self::of(responses.iter().map(|response| answer(response)).collect())
    }

    fn requests(&self) -> Vec<String> {
        self.seen.try_iter().collect()
    }
}

/// Sends nothing until the caller closes the connection.
fn until_the_caller_leaves(stream: &mut TcpStream) {
    let _ = stream.read_to_end(&mut Vec::new());
}

fn answer(response: &str) -> Act {
    let response = response.to_owned();
    Box::new(move |stream| drop(stream.write_all(response.as_bytes())))
}

fn json(status: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

fn read_request(stream: &mut TcpStream) -> String {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut text = String::new();
    while reader.read_line(&mut text).unwrap_or(0) > 2 {}
    let length =
        text.to_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    text + &String::from_utf8(body).unwrap()
}

struct Asked<'a> {
    provider: &'a str,
    more: &'a str,
    input: &'a str,
    seconds: f64,
}

impl Default for Asked<'_> {
    fn default() -> Self {
        Self { provider: "", more: "", input: "{}", seconds: 10.0 }
    }
}

fn declare(provider: &str, more: &str) -> Result<Declarations, Vec<String>> {
    let document = format!(
        r#"{{"capabilities": {{"c": {{"description": "d", "provider": {{"kind": "http", {provider}}}{more}}}}},
            "secrets": {{"TOKEN": {{"environment": "HENCE_TEST_NOT_SET"}}}}}}"#
    );
    let source = Source { document: parse(document.as_bytes()).unwrap(), folder: PathBuf::from("/") };
    Declarations::read(vec![source], &Kinds::standard())
        .map_err(|problems| problems.iter().map(|found| found.problem.to_string()).collect())
}

fn ask(asked: &Asked<'_>) -> Result<Value, CallError> {
    let mut library = Library::with(declare(asked.provider, asked.more).unwrap());
    library.hold_secret("TOKEN", Ok("hunter2-hunter2".to_owned()));
    let (capability, input): (Arc<str>, Value) = ("c".into(), parse(asked.input.as_bytes()).unwrap());
    let call = Call {
        capability: &capability,
        input: &input,
        purpose: CallPurpose::Step,
        skill_id: &"s".into(),
        step_id: &"step".into(),
        place: &CallPlace::default(),
        attempt: 1,
        timeout_seconds: Float::new(asked.seconds).unwrap(),
    };
    library.worker().call(&call).map(|reply| reply.output)
}

fn get(server: &Server, more: &str) -> Result<Value, CallError> {
    let provider = format!(r#""url": "http://{}/x", "backoff_seconds": 0.01{more}"#, server.address);
    ask(&Asked { provider: &provider, ..Asked::default() })
}

fn post(server: &Server, more: &str) -> Result<Value, CallError> {
    get(server, &format!(r#", "method": "POST"{more}"#))
}

fn class(result: Result<Value, CallError>) -> String {
    match result {
        Err(CallError::Failed { class, .. }) => class.to_string(),
        Err(CallError::TimedOut(_)) => "TimedOut".to_owned(),
        Err(CallError::Undecided(_)) => "Undecided".to_owned(),
        other => panic!("expected a failure, found {other:?}"),
    }
}

#[test]
fn a_request_is_made_from_the_input_and_secrets_and_its_body_comes_back() {
    let server = Server::answering(&[&json("200 OK", r#"{"n": 9007199254740993}"#)]);
    let provider = format!(
        r#""method": "PUT", "url": "http://{}/tickets/{{{{id}}}}?fixed=1",
           "query": {{"q": "{{{{term}}}}", "left_out": "{{{{absent}}}}", "pair": "{{{{id}}}}-{{{{term}}}}"}},
           "headers": {{"Authorization": "Bearer {{{{secrets.TOKEN}}}}", "X-Term": "t-{{{{term}}}}"}},
           "body": "payload""#,
        server.address
    );
    let input = r#"{"id": "a/b ?", "term": "ü", "payload": {"b": 1, "a": 2.0}}"#;
    let asked =
        ask(&Asked { provider: &provider.replace("t-{{term}}", "t-{{id}}"), input, ..Asked::default() });
    assert_eq!(asked.unwrap().to_string(), r#"{"n":9007199254740993}"#);
    let request = server.requests().remove(0);
    let mut lines = request.lines();
    assert_eq!(
        lines.next(),
        Some("PUT /tickets/a%2Fb%20%3F?fixed=1&pair=a%2Fb%20%3F-%C3%BC&q=%C3%BC HTTP/1.1")
    );
    assert!(request.contains("authorization: Bearer hunter2-hunter2\r\n"), "{request}");
    assert!(
        request.contains("x-term: t-a/b ?\r\n") && request.contains("content-type: application/json"),
        "{request}"
    );
    assert!(request.ends_with(r#"{"a":2.0,"b":1}"#), "{request}");
}

#[test]
fn a_whole_response_has_status_headers_and_any_body() {
    let server = Server::answering(&[
        "HTTP/1.1 201 Created\r\nContent-Type: text/plain\r\nSet-Cookie: a=b\r\nX-One: 1\r\nContent-Length: 2\r\n\r\nhi",
        &json("200 OK", "[1, 2]"),
        "HTTP/1.1 204 No Content\r\n\r\n",
    ]);
    let whole = get(&server, r#", "gives": "response""#).unwrap();
    assert_eq!(
        whole.to_string(),
        r#"{"body":"hi","headers":{"content-length":"2","content-type":"text/plain","x-one":"1"},"status":201}"#
    );
    assert_eq!(get(&server, r#", "gives": "response""#).unwrap().get("body").unwrap().to_string(), "[1,2]");
    assert_eq!(get(&server, "").unwrap().to_string(), "{}");
}

#[test]
fn every_status_has_a_class_that_retries_can_name() {
    for (status, expected) in [
        ("301 Moved\r\nLocation: http://127.0.0.1:1/", "HttpRedirected"),
        ("400 Bad", "HttpRefused"),
        ("401 Who", "HttpDenied"),
        ("403 No", "HttpDenied"),
        ("404 Where", "HttpNotFound"),
        ("408 Late", "HttpTooEarlyOrLate"),
        ("429 Slow", "HttpTooManyRequests"),
        ("500 Oh", "HttpServerError"),
        ("503 Later", "HttpServerError"),
    ] {
        let server = Server::answering(&[&json(status, r#"{"why": "because"}"#)]);
        let refused = get(&server, r#", "retries": 0"#);
        let said = refused.as_ref().unwrap_err().to_string();
        assert!(said.ends_with(r#"{"why": "because"}"#), "{said}");
        assert_eq!(class(refused), expected, "{status}");
    }
}

#[test]
fn what_is_no_answer_has_a_class_too() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let provider = format!(r#""url": "http://{nobody}/", "retries": 0"#);
    assert_eq!(class(ask(&Asked { provider: &provider, ..Asked::default() })), "HttpUnreachable");
    let server = Server::answering(&[
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"cut\":",
        "this is no HTTP\r\n\r\n",
        &json("200 OK", "{\"a\": 1, \"a\": 2}"),
        &json("200 OK", "[]"),
    ]);
    assert_eq!(class(get(&server, r#", "retries": 0"#)), "HttpInterrupted");
    assert_eq!(class(get(&server, r#", "retries": 0"#)), "HttpInterrupted");
    assert_eq!(class(get(&server, "")), "HttpOutputInvalid");
    assert_eq!(class(get(&server, "")), "HttpOutputInvalid");
    let latin = Server::of(vec![Box::new(|stream| {
        drop(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\xff"));
    })]);
    assert_eq!(class(get(&latin, r#", "gives": "response""#)), "HttpOutputInvalid");
}

#[test]
fn a_slow_server_is_left_on_time() {
    // One server sends nothing, the other one byte at a time without end.
    for act in [
        Box::new(until_the_caller_leaves) as Act,
        Box::new(|stream: &mut TcpStream| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
            while stream.write_all(b" ").is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        }),
    ] {
        let server = Server::of(vec![act]);
        let provider = format!(r#""url": "http://{}/", "retries": 0"#, server.address);
        let slow = ask(&Asked { provider: &provider, seconds: 0.3, ..Asked::default() });
        assert_eq!(class(slow), "StepTimeoutError");
    }
}

#[test]
fn a_response_at_the_limit_is_read_and_a_larger_one_is_not() {
    let limit = r#", "output_bytes_max": 8"#;
    let server = Server::of(vec![
        answer(&json("200 OK", r#"{"a": 1}"#)),
        answer(&json("200 OK", r#"{"a": 12}"#)),
        // This response has no length and no end.
        Box::new(|stream| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n{");
            while stream.write_all(&[b' '; 4096]).is_ok() {}
        }),
    ]);
    let provider = format!(r#""url": "http://{}/", "retries": 0"#, server.address);
    let ask = || ask(&Asked { provider: &provider, more: limit, ..Asked::default() });
    assert_eq!(ask().unwrap().to_string(), r#"{"a":1}"#);
    assert_eq!(class(ask()), "HttpOutputTooLarge");
    assert_eq!(class(ask()), "HttpOutputTooLarge");
}

#[test]
fn a_request_that_may_be_made_twice_is_made_again() {
    let fine = json("200 OK", r#"{"ok": true}"#);
    let server = Server::answering(&[&json("503 Later", ""), &json("429 Slow\r\nRetry-After: 0", ""), &fine]);
    assert_eq!(get(&server, "").unwrap().to_string(), r#"{"ok":true}"#);
    assert_eq!(server.requests().len(), 3);
    // A request whose answer would not change is not repeated.
    let server = Server::answering(&[&json("404 Where", ""), &fine]);
    assert_eq!(class(get(&server, "")), "HttpNotFound");
    assert_eq!(server.requests().len(), 1);
    // A broken connection is retried too.
    let server = Server::of(vec![Box::new(|_| ()), answer(&fine)]);
    assert!(get(&server, "").is_ok());
    // The number of retries is the declared one.
    let later = json("503 Later", "");
    let server = Server::answering(&[&later, &later, &fine]);
    assert_eq!(class(get(&server, r#", "retries": 1"#)), "HttpServerError");
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_server_that_asks_for_more_time_than_there_is_is_not_waited_for() {
    let server = Server::answering(&[&json("429 Slow\r\nRetry-After: 3600", "")]);
    assert_eq!(class(get(&server, "")), "HttpTooManyRequests");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_request_that_must_not_be_made_twice_is_undecided_instead() {
    let fine = json("200 OK", r#"{"ok": true}"#);
    let statuses = [
        "300 Many",
        "301 Moved",
        "302 Found",
        "303 See",
        "304 Same",
        "307 There",
        "308 Always",
        "408 Late",
        "500 Oh",
        "502 Bad",
        "503 Later",
        "504 Slow",
        "599 Odd",
    ];
    for status in statuses {
        let server =
            Server::answering(&[&json(&format!("{status}\r\nLocation: http://127.0.0.1:1/"), ""), &fine]);
        assert_eq!(class(post(&server, "")), "Undecided", "{status}");
        assert_eq!(server.requests().len(), 1, "{status}");
        // A key makes it safe to repeat the request; whether it took effect is as unknown.
        let server = Server::answering(&[&json(status, "")]);
        let keyed = post(&server, r#", "idempotency_header": "Key", "retries": 0"#);
        assert_eq!(class(keyed), "Undecided", "{status}");
    }
    for act in [
        answer(&json("200 OK", "[]")),
        Box::new(|_| ()),
        answer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"),
    ] {
        let server = Server::of(vec![act, answer(&fine)]);
        assert_eq!(class(post(&server, "")), "Undecided");
        assert_eq!(server.requests().len(), 1);
    }
    // A refusal is a decision, so the call is not undecided.
    for (status, expected) in [
        ("400 Bad", "HttpRefused"),
        ("401 Who", "HttpDenied"),
        ("404 Where", "HttpNotFound"),
        ("409 Clash", "HttpRefused"),
        ("425 Early", "HttpTooEarlyOrLate"),
        ("429 Slow", "HttpTooManyRequests"),
    ] {
        let server = Server::answering(&[&json(status, ""), &fine]);
        assert_eq!(class(post(&server, "")), expected);
    }
    // A call that times out is undecided.
    let server = Server::of(vec![Box::new(until_the_caller_leaves)]);
    let provider = format!(r#""method": "POST", "url": "http://{}/""#, server.address);
    assert_eq!(class(ask(&Asked { provider: &provider, seconds: 0.2, ..Asked::default() })), "Undecided");
}

#[test]
fn a_put_or_delete_that_acts_is_undecided_too() {
    for method in ["PUT", "DELETE"] {
        let request = |server: &Server, more: &str| {
            let provider = format!(
                r#""method": "{method}", "url": "http://{}/", "backoff_seconds": 0.01"#,
                server.address
            );
            ask(&Asked { provider: &provider, more, seconds: 0.5, ..Asked::default() })
        };
        let acts =
            [Box::new(until_the_caller_leaves) as Act, answer(&json("503 Later", "")), Box::new(|_| ())];
        for act in acts {
            let server = Server::of(vec![act, answer(&json("200 OK", "{}"))]);
            assert_eq!(class(request(&server, r#", "effects": "writes""#)), "Undecided", "{method}");
            assert_eq!(server.requests().len(), 1, "{method} is sent once");
        }
        let server = Server::answering(&[&json("503 Later", ""), &json("200 OK", "{}")]);
        assert!(request(&server, r#", "effects": "reads""#).is_ok(), "{method} that changes nothing");
        let server = Server::of(vec![answer(&json("503 Later", "")), Box::new(until_the_caller_leaves)]);
        let provider = format!(
            r#""method": "{method}", "url": "http://{}/", "backoff_seconds": 0.01, "idempotency_header": "Key""#,
            server.address
        );
        let keyed = ask(&Asked { provider: &provider, seconds: 0.5, ..Asked::default() });
        assert_eq!(class(keyed), "Undecided", "{method} may have taken effect");
        assert_eq!(server.requests().len(), 2, "the service knows {method} by its key");
    }
}

#[test]
fn an_idempotency_key_makes_it_safe_and_is_the_same_each_time() {
    let server = Server::answering(&[&json("503 Later", ""), &json("200 OK", "{}")]);
    assert!(post(&server, r#", "idempotency_header": "Idempotency-Key""#).is_ok());
    let keys: Vec<String> = server
        .requests()
        .iter()
        .filter_map(|request| {
            Some(request.lines().find_map(|line| line.strip_prefix("idempotency-key: "))?.to_owned())
        })
        .collect();
    assert_eq!(keys.len(), 2);
    assert_eq!((keys[0].len(), &keys[0]), (64, &keys[1]));
}

#[test]
fn a_server_that_repeats_a_secret_does_not_give_it_away() {
    let headers = r#", "headers": {"X-Api-Key": "{{secrets.TOKEN}}"}"#;
    let server = Server::answering(&[
        &json("200 OK", r#"{"you_said": "key hunter2-hunter2", "encoded": "aHVudGVyMi1odW50ZXIy"}"#),
        &json("401 Who", "bad key hunter2-hunter2"),
    ]);
    let said = get(&server, headers).unwrap();
    assert_eq!(said.to_string(), r#"{"encoded":"[secret TOKEN]","you_said":"key [secret TOKEN]"}"#);
    let refused = get(&server, headers).unwrap_err().to_string();
    let address = &server.address;
    assert_eq!(refused, format!("HttpDenied: GET http://{address}/x: status 401: bad key [secret TOKEN]"));
}

#[test]
fn an_error_names_method_and_url_without_secrets() {
    let missing = json("404 No", "nope");
    let server = Server::answering(&[&missing]);
    let provider = format!(
        r#""url": "http://{}/items/{{{{id}}}}?api_key=abcdef&page=2", "query": {{"q": "{{{{q}}}}", "t": "{{{{secrets.TOKEN}}}}"}}"#,
        server.address
    );
    let asked = Asked { provider: &provider, input: r#"{"id": "a b", "q": "x"}"#, ..Asked::default() };
    let said = ask(&asked).unwrap_err().to_string();
    let address = &server.address;
    let url = format!("http://{address}/items/a%20b?api_key=…&page=2&q=x&t=secrets.TOKEN");
    assert_eq!(said, format!("HttpNotFound: GET {url}: status 404: nope"));
    // A request that was repeated says how often.
    let later = json("503 Later", "");
    let server = Server::answering(&[&later, &later]);
    let said = get(&server, r#", "retries": 1"#).unwrap_err().to_string();
    assert!(said.ends_with("/x: status 503 after 2 requests"), "{said}");
}

#[test]
fn inputs_that_fit_no_url_are_refused_before_anything_is_sent() {
    let server = Server::answering(&[]);
    let provider =
        format!(r#""url": "http://{}/a/{{{{id}}}}/b", "headers": {{"X-A": "{{{{h}}}}"}}"#, server.address);
    for (input, message) in [
        (r#"{"h": "x"}"#, "the input `id` is missing"),
        (r#"{"id": null, "h": "x"}"#, "the input `id` is missing"),
        (r#"{"id": [1], "h": "x"}"#, "found list"),
        (r#"{"id": "..", "h": "x"}"#, "the inputs make \"..\" of a part of the path"),
        (r#"{"id": ".", "h": "x"}"#, "the inputs make \".\" of a part of the path"),
        (r#"{"id": "", "h": "x"}"#, "the inputs make \"\" of a part of the path"),
        (r#"{"id": 1, "h": "a\r\nHost: elsewhere"}"#, "the header `x-a` would hold what a header cannot"),
    ] {
        let refused = ask(&Asked { provider: &provider, input, ..Asked::default() });
        let said = refused.as_ref().unwrap_err().to_string();
        assert!(said.contains(message), "{input}: {said}");
        assert_eq!(class(refused), "InputMappingError");
    }
}

#[test]
fn inputs_that_lead_to_another_path_together_are_refused() {
    let server = Server::answering(&[]);
    let cases =
        [("{{a}}.{{b}}", "", ""), ("{{a}}{{b}}", "", ""), ("{{a}}{{b}}", ".", "."), (".{{a}}{{b}}", ".", "")];
    for (segment, a, b) in cases {
        for tail in ["/x", "", "?q=1"] {
            let provider = format!(r#""url": "http://{}/files/{segment}{tail}""#, server.address);
            let input = format!(r#"{{"a": "{a}", "b": "{b}"}}"#);
            let said = ask(&Asked { provider: &provider, input: &input, ..Asked::default() });
            let said = said.unwrap_err().to_string();
            assert!(said.contains("of a part of the path"), "{segment} {input}: {said}");
        }
    }
    // A dot elsewhere, and an empty value in the query, are what they are.
    let ok = json("200 OK", "{}");
    let server = Server::answering(&[&ok]);
    let provider =
        format!(r#""url": "http://{}/files/{{{{a}}}}.txt", "query": {{"q": "{{{{b}}}}"}}"#, server.address);
    assert!(
        ask(&Asked { provider: &provider, input: r#"{"a": "..", "b": "."}"#, ..Asked::default() }).is_ok()
    );
}

#[test]
fn declarations_that_could_send_a_secret_astray_are_refused() {
    for (provider, message) in [
        (r#""url": "http://{{host}}/""#, "a host that has no places in it"),
        (r#""url": "https://example.com{{path}}""#, "a host that has no places in it"),
        (r#""url": "ftp://example.com/""#, "expected http:// or https://"),
        (r#""url": "https://u:p@example.com/""#, "no user and no password"),
        (r#""url": "https://example.com/{{secrets.TOKEN}}""#, "not into the path"),
        (r#""url": "http://example.com/", "headers": {"A": "{{secrets.TOKEN}}"}"#, "secrets go over https"),
        (
            r#""url": "https://example.com/", "headers": {"A": "{{secrets.NONE}}"}"#,
            "no secret `NONE` is declared",
        ),
        (
            r#""url": "https://example.com/", "headers": {"Authorization": "Bearer abc"}"#,
            "never written down",
        ),
        (r#""url": "https://example.com/", "headers": {"a b": "c"}"#, "no name of a header"),
        (
            r#""url": "https://example.com/", "method": "POST", "retries": 1"#,
            "only with an `idempotency_header`",
        ),
        (r#""url": "https://example.com/", "retries": 11"#, "from 0 to 10"),
        (r#""url": "https://example.com/", "query": {"a": "{{"}"#, "`{{` without `}}`"),
        (r#""url": "https://example.com/{id}""#, "`{id}` is no placeholder: write `{{id}}`"),
        (
            r#""url": "https://example.com/", "headers": {"A": "{secrets.TOKEN}"}"#,
            "write `{{secrets.TOKEN}}`",
        ),
    ] {
        let refused = declare(provider, "").unwrap_err();
        assert!(refused.iter().any(|found| found.contains(message)), "{provider}: {refused:?}");
    }
    assert!(declare(r#""url": "https://example.com/", "retries": 10"#, "").is_ok());
}
