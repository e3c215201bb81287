//! Traces of a worker: the spans that a collector gets, and a collector that is not there.

use hence_testkit::cli::World;
use hence_testkit::endpoint::{Endpoint, Reaction};
use serde_json::Value;

const CAPABILITIES: &str = r#"
capabilities:
  works: {description: Works, provider: {kind: command, command: [/bin/echo, '{}']}}
  secretive:
    description: Needs a secret that no worker here has
    provider: {kind: command, command: [/bin/echo, '{}'], secret_environment: {TOKEN: {$secret: TOKEN}}}
secrets:
  TOKEN: {environment: TOKEN_OF_OTHERS}
"#;

fn world() -> World {
    let world = World::new();
    world.write("capabilities.yaml", CAPABILITIES);
    for uses in ["works", "secretive"] {
        let steps = format!("  - id: only\n    uses: {uses}\n    input: {{}}\n    output: {{}}\n");
        let head = "version: 1.0.0\nname: N\ndescription: D\ninputs: {}\noutputs: {}\n";
        world.write(&format!("{uses}.yaml"), format!("id: {uses}\n{head}steps:\n{steps}"));
    }
    world
}

fn submit(world: &World, uses: &str) {
    let skill = format!("{uses}.yaml");
    let words = ["submit", &skill, "--capabilities", "capabilities.yaml", "--run-id", uses];
    // Whoever submits has the secret; the workers do not.
    let answer = world.command(&words).env("TOKEN_OF_OTHERS", "abcdefghijklmnop").output().unwrap();
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
}

fn reply(status: &'static str, body: &str) -> Reaction {
    Reaction::Reply { status, headers: Vec::new(), body: body.to_owned() }
}

/// Returns the value of an attribute of a span, as a text.
fn attribute<'a>(span: &'a Value, key: &str) -> Option<&'a str> {
    let all = span["attributes"].as_array()?;
    let value = &all.iter().find(|attribute| attribute["key"] == key)?["value"];
    value["stringValue"].as_str().or_else(|| value["intValue"].as_str())
}

fn spans(document: &Value) -> &[Value] {
    document["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap()
}

#[test]
fn a_collector_gets_a_span_for_each_drive_and_for_the_requests_around_it() {
    let world = world();
    submit(&world, "works");
    // The first answer asks for patience; the worker sends the same spans again.
    let collector = Endpoint::with(vec![
        reply("503 Service Unavailable", ""),
        reply("200 OK", "{\"partialSuccess\": {}}"),
    ]);
    let base = collector.url().replace("/v1/", "/");
    let ended = world
        .command(&["worker", "--until-idle", "--name", "w", "--otlp", &base])
        .env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20word")
        .output()
        .unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let requests = collector.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].body, requests[1].body);
    let request = &requests[1];
    assert_eq!((request.path.as_str(), request.header("authorization")), ("/v1/traces", Some("Bearer word")));
    assert!(!String::from_utf8_lossy(&ended.stderr).contains("word"));
    let spans = spans(&request.body);
    let names: Vec<&str> = spans.iter().map(|span| span["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["queue.register", "queue.claim", "drive", "queue.settle", "queue.unregister"]);
    let (drive, settle) = (&spans[2], &spans[3]);
    for (key, value) in
        [("hence.run", "works"), ("hence.queue", "default"), ("hence.worker", "w"), ("hence.end", "ended")]
    {
        assert_eq!(attribute(drive, key), Some(value), "{drive}");
    }
    assert_eq!((&settle["traceId"], &settle["parentSpanId"]), (&drive["traceId"], &drive["spanId"]));
    assert_ne!(spans[0]["traceId"], drive["traceId"]);
    let nanos = |span: &Value, key: &str| span[key].as_str().unwrap().parse::<u128>().unwrap();
    for span in spans {
        assert!(nanos(span, "startTimeUnixNano") <= nanos(span, "endTimeUnixNano"), "{span}");
        assert_eq!(span["status"], serde_json::json!({}), "{span}");
    }
}

#[test]
fn the_drives_of_one_run_by_several_workers_meet_in_one_trace() {
    let world = world();
    submit(&world, "secretive");
    let traces: Vec<Value> = ["one", "two"]
        .iter()
        .map(|name| {
            let collector = Endpoint::with(vec![reply("200 OK", "{}")]);
            let base = collector.url().replace("/v1/", "");
            world.ask(&["worker", "--until-idle", "--name", name, "--otlp", &base]);
            let request = collector.requests().remove(0);
            let drive = spans(&request.body).iter().find(|span| span["name"] == "drive").unwrap().clone();
            assert_eq!(attribute(&drive, "hence.end"), Some("declined"));
            assert!(attribute(&drive, "hence.reason").unwrap().contains("TOKEN"), "{drive}");
            drive
        })
        .collect();
    assert_eq!(traces[0]["traceId"], traces[1]["traceId"]);
    assert_ne!(traces[0]["spanId"], traces[1]["spanId"]);
}

#[test]
fn a_collector_that_refuses_or_is_not_there_costs_spans_and_nothing_else() {
    let world = world();
    for (run, script, says) in [
        ("works", vec![reply("400 Bad Request", "")], "answered 400"),
        (
            "again",
            vec![reply("200 OK", "{\"partialSuccess\": {\"rejectedSpans\": \"2\"}}")],
            "rejected 2 of 5 spans",
        ),
        ("alone", Vec::new(), "spans are dropped"),
    ] {
        let words = ["submit", "works.yaml", "--capabilities", "capabilities.yaml", "--run-id", run];
        assert_eq!(world.ask(&words).code, 0);
        let collector = Endpoint::with(script);
        let base = collector.url().replace("/v1/", "");
        let ended = world.ask(&["worker", "--until-idle", "--otlp", &base]);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        assert!(ended.stderr.contains(says), "{run}: {}", ended.stderr);
        assert_eq!(world.ask(&["verify", run]).code, 0);
    }
    let wrong = world.ask(&["worker", "--until-idle", "--otlp", "collector"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("such as http://127.0.0.1:4318"), "{}", wrong.stderr);
}
