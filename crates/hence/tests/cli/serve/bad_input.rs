//! Bad input: documented errors, nothing changed, and the server still answers.

use std::io::Write as _;

use serde_json::json;

use super::{Served, world};

#[test]
fn what_does_not_exist_or_is_not_understood_is_an_error_with_a_code() {
    let world = world();
    let served = Served::start(&world);
    let before = world.stored();
    for (path, expected) in [
        ("/nothing", (404, "E0403")),
        ("/runs/nothing", (404, "E0202")),
        ("/runs/nothing/records", (404, "E0202")),
        ("/runs/%00", (404, "E0202")),
        ("/runs/..%2f..%2fetc", (404, "E0202")),
        ("/runs/first/records/99999", (404, "E0403")),
        ("/runs/first/records/nostep", (404, "E0403")),
        ("/runs/first/records/18446744073709551616", (404, "E0403")),
        ("/runs/first/records?from=-1", (400, "E0801")),
        ("/runs/first/records?limit=1001", (400, "E0801")),
        ("/runs/first/records?limit=0", (400, "E0801")),
        ("/runs/first/records?limit=many", (400, "E0801")),
        ("/runs/first/records?page=1", (400, "E0801")),
        ("/runs/first/records?from=1&from=2", (400, "E0801")),
        ("/runs/first/state?at=99999", (404, "E0403")),
        ("/runs/first/state?pointer=/nothing", (404, "E0403")),
        ("/runs/first/state?pointer=nothing", (400, "E0801")),
        ("/runs/first/state/values?pointer=", (400, "E0801")),
        ("/runs/first/lineage?node=action:999", (404, "E0403")),
        ("/runs/first/lineage?depth=1", (400, "E0801")),
        ("/runs/first/lineage?node=action:1&direction=sideways", (400, "E0801")),
        ("/runs/first/calls/0", (404, "E0403")),
        ("/runs/first/documents/trace.ndjson", (404, "E0403")),
        ("/runs/first/documents/..%2Fformat", (404, "E0403")),
        ("/runs/first/documents/skill.json", (404, "E0403")),
        ("/runs/first/review/handoff", (404, "E0202")),
        ("/blobs/abc", (400, "E0801")),
        ("/blobs/0000000000000000000000000000000000000000000000000000000000000000", (404, "E0208")),
        ("/compare?left=first", (400, "E0801")),
        ("/compare?left=first&right=nothing", (404, "E0202")),
        ("/runs?sort=luck", (400, "E0801")),
        ("/runs?waiting=perhaps", (400, "E0801")),
    ] {
        let (status, code) = served.get(path).error();
        assert_eq!((status, &*code), expected, "{path}");
    }
    // Bytes that are no text are an error with a code, too, whichever it is.
    for path in ["/runs/%ff", "/runs/first/records?from=%ff", "/blobs/%ff"] {
        let (status, code) = served.get(path).error();
        assert!((400..500).contains(&status) && code.starts_with('E'), "{path}: {status} {code}");
    }
    let token = format!("Bearer {}", served.token);
    let head = served.send("HEAD", "/api/v1/runs", &[("Authorization", &token)], b"");
    assert_eq!((head.status, head.body.len()), (200, 0));
    hence_testkit::cli::assert_unchanged(&before, &world.stored());
}

#[test]
fn bodies_methods_and_requests_that_are_wrong_are_refused() {
    let world = world();
    let served = Served::start(&world);
    let token = format!("Bearer {}", served.token);
    let send = |method: &str, path: &str, kind: &str, body: &[u8]| {
        let headers = [("Authorization", &*token), ("Content-Type", kind)];
        served.send(method, &format!("/api/v1{path}"), &headers, body)
    };
    let answers = "/runs/refund/answers";
    assert_eq!(send("POST", answers, "text/plain", b"{}").error(), (415, "E0802".into()));
    assert_eq!(send("POST", answers, "application/json", b"{").error(), (400, "E0801".into()));
    assert_eq!(send("POST", answers, "application/json", b"[]").error(), (400, "E0801".into()));
    assert_eq!(send("POST", answers, "application/json", b"{\"step\":7}").error(), (400, "E0801".into()));
    assert_eq!(send("PUT", answers, "application/json", b"{}").error(), (405, "E0801".into()));
    assert_eq!(send("DELETE", "/runs", "application/json", b"").error(), (405, "E0801".into()));
    let deep = "[".repeat(100_000);
    assert_eq!(send("POST", answers, "application/json", deep.as_bytes()).error(), (400, "E0801".into()));
    let long = vec![b' '; 1024 * 1024 + 1];
    assert_eq!(send("POST", answers, "application/json", &long).error(), (413, "E0803".into()));
    let refused = send("POST", answers, "application/json", &long).json();
    let hint = refused["error"]["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("send less at a time"), "waiting alone does not help: {hint}");
    let head = format!(
        "POST /api/v1{answers} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: {token}\r\n\
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        served.address
    );
    let chunks = format!("10000\r\n{}\r\n", "x".repeat(0x10000)).repeat(17);
    let response = super::parse(&served.raw(format!("{head}{chunks}0\r\n\r\n").as_bytes()));
    assert_eq!(response.error(), (413, "E0803".into()), "also when no length is stated");
    for noise in [&b"\x16\x03\x01\x02\x00"[..], b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", &[0; 100]] {
        served.raw(noise);
    }
    let long_head = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(100_000));
    served.raw(long_head.as_bytes());
    assert_eq!(served.get("/runs").status, 200, "it still answers");
}

#[test]
fn a_damaged_journal_shows_what_holds_and_where_trust_ends() {
    let world = world();
    let mut journal = world.journal("first");
    let lines: Vec<usize> =
        journal.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    let place = lines[3] + 40;
    journal[place] ^= 1;
    world.set_journal("first", &journal);
    let served = Served::start(&world);
    let verdict = served.json("/runs/first/verdict");
    assert_eq!(verdict["integrity"]["status"], "broken");
    assert_eq!(verdict["integrity"]["report"]["intact"], 4);
    assert_eq!(verdict["gaps"]["status"], "not_checked", "no gap is claimed of a broken chain");
    assert_eq!(served.json("/runs/first/records")["total"], lines.len());
    assert_eq!(served.get("/runs/first/journal?bytes=1000000").body, journal);
    assert_eq!(served.get("/runs/first/story").error(), (422, "E0302".into()));
    world.set_journal("first", b"\xff\xfe not a journal\n{}\n");
    assert_eq!(served.json("/runs/first/records")["items"][0]["kind"], "unreadable");
    assert_eq!(served.json("/runs/first")["status"], "damaged");
    world.set_journal("first", b"");
    assert_eq!(served.json("/runs/first/records")["items"], json!([]));
    assert_eq!(served.json("/runs/first/verdict")["integrity"]["status"], "broken");
}

#[test]
fn a_torn_journal_shows_its_whole_records() {
    let world = world();
    let journal = world.journal("first");
    world.set_journal("first", &journal[..journal.len() - 30]);
    let served = Served::start(&world);
    let summary = served.json("/runs/first");
    assert!(summary["torn_bytes"].as_u64().unwrap() > 0, "{summary}");
    let records = served.json("/runs/first/records");
    let last = records["items"].as_array().unwrap().last().unwrap();
    assert_eq!(last["kind"], "unreadable");
}

#[test]
fn a_store_that_vanishes_is_an_error_until_it_is_back() {
    let world = world();
    let served = Served::start(&world);
    assert_eq!(served.get("/runs").status, 200);
    std::fs::rename(world.path(".hence"), world.path("away")).unwrap();
    for path in ["/runs", "/runs/first", "/runs/first/records", "/waiting", "/runs/first/events", "/events"] {
        assert_eq!(served.get(path).error(), (500, "E0201".into()), "{path}");
    }
    std::fs::rename(world.path("away"), world.path(".hence")).unwrap();
    assert_eq!(served.get("/runs").status, 200);
}

#[test]
fn connections_that_send_nothing_do_not_keep_others_out() {
    let world = world();
    let served = Served::start(&world);
    let mut idle: Vec<_> = (0..300).map(|_| served.connect()).collect();
    for stream in &mut idle {
        stream.write_all(b"GET /api/v1/runs HTTP/1.1\r\nHost: ").unwrap();
    }
    assert_eq!(served.get("/runs").status, 200);
}

#[test]
fn texts_of_runs_stay_text() {
    let world = world();
    let hostile = "<script>alert(1)</script>\u{202e}\u{1b}[31m";
    let mut problem = hence_testkit::cli::problem("hostile");
    problem["inputs"]["prompt"] = json!(hostile);
    world.run_problem(&problem);
    let served = Served::start(&world);
    assert_eq!(served.json("/runs/hostile")["question"], hostile);
    let response = served.get("/runs/hostile");
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
    let trace = served.get("/runs/hostile/trace");
    assert!(trace.header("content-disposition").unwrap().starts_with("attachment"));
}
