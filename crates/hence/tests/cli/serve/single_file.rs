//! `hence view --html`: a page that needs no server.

use std::io::Read as _;

use serde_json::{Value, json};

use super::{Served, world};

/// Reads the data of a page, as the page does.
fn embedded(page: &str) -> Value {
    let start = page.find("id=\"hence-data\">").unwrap() + "id=\"hence-data\">".len();
    let block: Value = serde_json::from_str(page[start..].split("</script>").next().unwrap()).unwrap();
    assert_eq!((&block["format"], &block["encoding"]), (&json!("hence-view/2"), &json!("gzip+base64")));
    let script =
        "import base64,gzip,sys;sys.stdout.buffer.write(gzip.decompress(base64.b64decode(sys.stdin.read())))";
    let mut python = std::process::Command::new("python3")
        .args(["-c", script])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = python.stdin.take().unwrap();
    let data = block["data"].as_str().unwrap().to_owned();
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, data.as_bytes()).unwrap());
    let mut text = Vec::new();
    python.stdout.take().unwrap().read_to_end(&mut text).unwrap();
    writer.join().unwrap();
    assert!(python.wait().unwrap().success());
    assert_eq!(block["bytes"], text.len());
    let mut data: Value = serde_json::from_slice(&text).unwrap();
    // Responses are texts, of which the page reads those that a view asks for.
    for response in data["responses"].as_object_mut().unwrap().values_mut() {
        *response = serde_json::from_str(response.as_str().unwrap()).unwrap();
    }
    data
}

fn has_python() -> bool {
    let found = std::process::Command::new("python3").arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: there is no Python to read gzip with");
    }
    found
}

#[test]
fn a_page_in_one_file_has_the_json_of_the_api() {
    let world = world();
    let answer = world.ask(&["view", "refund", "--html", "page.html"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let page = String::from_utf8(world.read("page.html")).unwrap();
    assert!(!page.contains("http://") || !page.contains("src=\"http"), "nothing is fetched");
    if !has_python() {
        return;
    }
    let data = embedded(&page);
    assert_eq!((&data["run"], &data["kind"]), (&json!("refund"), &json!("skill")));
    assert_eq!(data["left_out"], json!([]));
    let served = Served::start(&world);
    for view in [
        "/records",
        "/state/patches",
        "/story",
        "/actions",
        "/artifacts",
        "/gaps",
        "/policies",
        "/calls",
        "/review",
        "/documents",
    ] {
        assert_eq!(
            data["responses"][format!("/runs/refund{view}")],
            served.json(&format!("/runs/refund{view}")),
            "{view}"
        );
    }
    assert_eq!(data["responses"]["/waiting"]["items"][0]["may_answer"], false, "nobody answers from a file");
    assert_eq!(
        data["raw"]["/runs/refund/journal"]["text"].as_str().unwrap().as_bytes(),
        world.journal("refund")
    );
    let again = world.ask(&["view", "refund", "--html", "again.html"]);
    assert_eq!(again.code, 0);
    assert_eq!(world.read("page.html"), world.read("again.html"), "the same run gives the same page");
}

#[test]
fn a_trace_that_is_no_run_of_ours_is_shown_as_one() {
    let world = world();
    assert_eq!(world.ask(&["trace", "export", "first", "--out", "trace.json"]).code, 0);
    let elsewhere = hence_testkit::cli::World::new();
    elsewhere.write("trace.json", world.read("trace.json"));
    let answer = elsewhere.ask(&["view", "trace.json", "--html", "page.html"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let served = Served::with(&elsewhere, &["view", "trace.json", "--no-open", "--json"]);
    let summary = served.json("/runs/first");
    assert_eq!((&summary["kind"], &summary["records"]), (&json!("trace"), &Value::Null));
    assert_eq!(served.json("/runs/first/verdict")["integrity"]["status"], "not_checked");
    assert!(!served.json("/runs/first/story")["items"].as_array().unwrap().is_empty());
    assert_eq!(served.get("/runs/first/records").error(), (404, "E0403".into()));
    if has_python() {
        let data = embedded(&String::from_utf8(elsewhere.read("page.html")).unwrap());
        assert_eq!(data["kind"], "trace");
        assert!(data["responses"]["/runs/first/actions"]["total"].as_u64().unwrap() > 5);
    }
}

#[test]
fn a_page_needs_one_run() {
    let world = world();
    insta::assert_snapshot!(world.refused(&["view", "--html", "page.html"]));
    insta::assert_snapshot!(world.refused(&["view", "nothing", "--html", "page.html"]));
}
