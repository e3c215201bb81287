//! Live events with resume, and the end of the server.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use serde_json::Value;

use super::{Served, world};

/// A stream of events.
struct Watcher {
    lines: std::io::Lines<BufReader<TcpStream>>,
}

impl Watcher {
    fn of(served: &Served, path: &str, last: Option<u64>) -> Self {
        let mut stream = served.connect();
        let last = last.map(|id| format!("Last-Event-ID: {id}\r\n")).unwrap_or_default();
        let request = format!(
            "GET /api/v1{path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n{last}\r\n",
            served.address, served.token
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut lines = BufReader::new(stream).lines();
        assert!(lines.next().unwrap().unwrap().contains(" 200 "));
        Self { lines }
    }

    /// Returns the name, the id and the data of the next event; `None` at the end.
    fn next(&mut self) -> Option<(String, Option<u64>, Value)> {
        let (mut name, mut id) = (None, None);
        for line in self.lines.by_ref() {
            let line = line.ok()?;
            if let Some(found) = line.strip_prefix("event: ") {
                name = Some(found.to_owned());
            } else if let Some(found) = line.strip_prefix("id: ") {
                id = found.parse().ok();
            } else if let (Some(data), Some(name)) = (line.strip_prefix("data: "), &name) {
                return Some((name.clone(), id, serde_json::from_str(data).unwrap()));
            }
        }
        None
    }
}

#[test]
fn a_watcher_sees_new_records_and_resumes_after_the_last_one_it_got() {
    let world = world();
    let served = Served::start(&world);
    let mut watcher = Watcher::of(&served, "/runs/refund/events", None);
    let (name, _, status) = watcher.next().unwrap();
    assert_eq!(
        (&*name, &status["status"], &status["records"]),
        ("status", &Value::from("waiting"), &Value::from(2))
    );
    assert_eq!(world.ask(&["answer", "refund", "approve", "--value", "yes", "--resume"]).code, 0);
    let mut seen = Vec::new();
    loop {
        let (name, id, data) = watcher.next().unwrap();
        if name == "record" {
            assert_eq!(data["index"].as_u64(), id);
            seen.push(id.unwrap());
        }
        if data["status"] == "completed" && name == "status" {
            break;
        }
    }
    let mut again = Watcher::of(&served, "/runs/refund/events", Some(2));
    let mut indexes = Vec::new();
    let total = served.json("/runs/refund")["records"].as_u64().unwrap();
    while indexes.last() != Some(&(total - 1)) {
        let (name, id, _) = again.next().unwrap();
        if name == "record" {
            indexes.push(id.unwrap());
        }
    }
    assert_eq!(indexes, (3..total).collect::<Vec<_>>(), "each record once, in order, none left out");
    assert!(seen.iter().all(|index| *index >= 2), "{seen:?}");
    assert_eq!(served.get("/runs/refund/events?after=x").error(), (400, "E0801".into()));
}

#[test]
fn the_store_is_watched_and_a_run_that_is_gone_ends_its_stream() {
    let world = world();
    let served = Served::start(&world);
    let mut store = Watcher::of(&served, "/events", None);
    assert_eq!(store.next().unwrap().2["runs"], 2);
    let mut run = Watcher::of(&served, "/runs/first/events", None);
    assert_eq!(run.next().unwrap().0, "status");
    world.run_problem(&hence_testkit::cli::problem("third"));
    let changed = store.next().unwrap().2;
    assert_eq!(changed["runs"], 3, "{changed}");
    std::fs::rename(world.path(".hence/runs/first"), world.path("gone")).unwrap();
    let gone = loop {
        let (name, _, data) = run.next().unwrap();
        if name == "gone" {
            break data;
        }
    };
    assert_eq!(gone["error"]["code"], "E0202");
    assert!(run.next().is_none(), "the stream has ended");
}

#[test]
fn a_server_that_is_told_to_stop_ends_its_streams_and_exits() {
    let world = world();
    let mut served = Served::start(&world);
    let mut watcher = Watcher::of(&served, "/runs/first/events", None);
    watcher.next().unwrap();
    let pid = served.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    assert!(watcher.next().is_none());
}
