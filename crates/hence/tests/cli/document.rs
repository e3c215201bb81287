//! Refused documents: the error names the place, what was expected and what was found; nothing is stored.

use insta::assert_snapshot;
use serde_json::json;

use hence_testkit::cli::{World, problem};

fn refusal(document: impl AsRef<[u8]>) -> String {
    let world = World::new();
    world.write("problem.json", document);
    let shown = world.refused(&["run", "problem.json"]);
    assert!(!world.path(".hence").exists(), "a refused problem makes no store");
    shown
}

#[test]
fn text_that_is_not_json_is_refused_at_its_place() {
    assert_snapshot!(refusal("{\"version\": \"1.0.0\",\n  \"id\": }"), @r"
    --- stderr
    error[E0101]: problem.json: expected a JSON value, found '}' at line 2, column 9 (`/id`)
    hint: fix the document at that place; `hence explain E0101` says more
    [exit 1]
    ");
    assert_snapshot!(refusal(""), @r"
    --- stderr
    error[E0101]: problem.json is empty: expected a document in JSON or YAML
    hint: `hence new problem|skill|capabilities|policy NAME` writes a document to start from; `hence explain E0101` says more
    [exit 1]
    ");
    assert_snapshot!(refusal(b"{\"id\": \"\xff\"}"), @r"
    --- stderr
    error[E0101]: problem.json: text is not UTF-8 at line 1, column 9
    hint: fix the document at that place; `hence explain E0101` says more
    [exit 1]
    ");
    assert_snapshot!(refusal("{} {}"), @r"
    --- stderr
    error[E0101]: problem.json: expected the end of the text, found '{' at line 1, column 4
    hint: fix the document at that place; `hence explain E0101` says more
    [exit 1]
    ");
}

#[test]
fn duplicate_keys_are_refused() {
    assert_snapshot!(refusal(r#"{"inputs": {"prompt": "a", "prompt": "b"}}"#), @r#"
    --- stderr
    error[E0101]: problem.json: key "prompt" occurs twice in one object at line 1, column 28 (`/inputs/prompt`)
    hint: fix the document at that place; `hence explain E0101` says more
    [exit 1]
    "#);
}

#[test]
fn numbers_outside_json_are_refused() {
    assert_snapshot!(refusal(r#"{"inputs": {"context": NaN}}"#), @r"
    --- stderr
    error[E0101]: problem.json: number is not finite at line 1, column 24 (`/inputs/context`)
    hint: fix the document at that place; `hence explain E0101` says more
    [exit 1]
    ");
    assert_snapshot!(refusal(r#"{"inputs": {"context": -Infinity}}"#), @r"
    --- stderr
    error[E0101]: problem.json: number is not finite at line 1, column 25 (`/inputs/context`)
    hint: fix the document at that place; `hence explain E0101` says more
    [exit 1]
    ");
    assert_snapshot!(refusal(r#"{"inputs": {"context": 1e999}}"#), @r"
    --- stderr
    error[E0101]: problem.json: number is not finite at line 1, column 24 (`/inputs/context`)
    hint: fix the document at that place; `hence explain E0101` says more
    [exit 1]
    ");
}

#[test]
fn lone_surrogates_are_refused() {
    assert_snapshot!(refusal(r#"{"id": "\ud800"}"#), @r"
    --- stderr
    error[E0101]: problem.json: \ud800 is half of a surrogate pair at line 1, column 9 (`/id`)
    hint: fix the document at that place; `hence explain E0101` says more
    [exit 1]
    ");
    assert_snapshot!(refusal(r#"{"id": "\udc00\ud800"}"#), @r"
    --- stderr
    error[E0101]: problem.json: \udc00 is half of a surrogate pair at line 1, column 9 (`/id`)
    hint: fix the document at that place; `hence explain E0101` says more
    [exit 1]
    ");
}

#[test]
fn deep_nesting_is_refused() {
    assert_snapshot!(refusal("[".repeat(10_000)), @r"
    --- stderr
    error[E0101]: problem.json: nesting is deeper than 512 at line 1, column 513 (`/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0…`)
    hint: fix the document at that place; `hence explain E0101` says more
    [exit 1]
    ");
    let objects = format!("{}1{}", "{\"a\":".repeat(10_000), "}".repeat(10_000));
    let shown = refusal(objects);
    assert!(shown.contains("error[E0101]") && shown.len() < 2000, "{shown}");
}

#[test]
fn wrong_types_are_all_listed_at_once() {
    let document = json!({
        "version": 1, "id": "", "created_at": "2026-02-30T00:00:00Z",
        "inputs": {"prompt": [], "goals": "choose"},
        "settings": {"max_steps": "many", "loop": {"enabled": "yes"}},
    });
    assert_snapshot!(refusal(document.to_string()), @r#"
    --- stderr
    error[E0102]: problem.json is refused: 11 findings
      version: expected a string, found integer 1
      id: expected at least one character, found none
      created_at: expected a UTC time such as 2026-02-02T00:00:00Z, found "2026-02-30T00:00:00Z"
      inputs.prompt: expected a string, found list []
      inputs.goals: expected a list, found string "choose"
      settings.max_steps: expected an integer, found string "many"
      settings.loop.enabled: expected true or false, found string "yes"
      settings.loop.start_step: expected a value, found nothing
      settings.loop.end_step: expected a value, found nothing
      settings.loop.max_iterations: expected a value, found nothing
      settings.loop.stop_condition: expected a value, found nothing
    hint: fix what is listed and run it again; nothing was run or stored; `hence explain E0102` says more
    [exit 1]
    "#);
    assert_snapshot!(refusal("[]"), @r"
    --- stderr
    error[E0102]: problem.json is refused: 1 finding
      expected a problem, which is an object, found list []
    hint: fix what is listed and run it again; nothing was run or stored; `hence explain E0102` says more
    [exit 1]
    ");
    assert_snapshot!(refusal("null"), @r"
    --- stderr
    error[E0102]: problem.json is refused: 1 finding
      expected a problem, which is an object, found null
    hint: fix what is listed and run it again; nothing was run or stored; `hence explain E0102` says more
    [exit 1]
    ");
}

#[test]
fn an_unknown_version_is_refused() {
    let mut document = problem("refund-42");
    document["version"] = json!("2.0.0");
    assert_snapshot!(refusal(document.to_string()), @r#"
    --- stderr
    error[E0102]: problem.json is refused: 1 finding
      version: expected a problem of version 1.x.y, found "2.0.0"
    hint: fix what is listed and run it again; nothing was run or stored; `hence explain E0102` says more
    [exit 1]
    "#);
}

#[test]
fn an_unknown_policy_is_refused() {
    let mut document = problem("refund-42");
    document["settings"]["policy_profile"] = json!("no-such-policy");
    assert_snapshot!(refusal(document.to_string()), @r#"
    --- stderr
    error[E0102]: problem.json is refused: 1 finding
      settings.policy_profile: expected one of the policies default, found "no-such-policy"
    hint: fix what is listed and run it again; nothing was run or stored; `hence explain E0102` says more
    [exit 1]
    "#);
}

#[test]
fn a_refusal_in_json_lists_the_same_findings() {
    let world = World::new();
    world.write("problem.json", r#"{"version": "1.0.0", "id": 7}"#);
    assert_snapshot!(world.cli(&["run", "problem.json", "--json"]), @r#"
    --- stderr
    {
      "error": {
        "code": "E0102",
        "message": "problem.json is refused: 3 findings",
        "findings": [
          "id: expected a string, found integer 7",
          "created_at: expected a value, found nothing",
          "inputs: expected a value, found nothing"
        ],
        "hint": "fix what is listed and run it again; nothing was run or stored"
      }
    }
    [exit 1]
    "#);
}

#[test]
fn a_missing_file_or_a_folder_is_named_in_the_error() {
    let world = World::new();
    assert_snapshot!(world.refused(&["run", "nowhere.json"]), @r"
    --- stderr
    error[E0401]: cannot open nowhere.json: it does not exist
    hint: check the path and its permissions; `hence explain E0401` says more
    [exit 2]
    ");
    std::fs::create_dir(world.path("folder")).unwrap();
    assert_snapshot!(world.refused(&["run", "folder"]), @r"
    --- stderr
    error[E0401]: cannot read folder: expected a file, found a folder
    hint: check the path and its permissions; `hence explain E0401` says more
    [exit 2]
    ");
    assert_snapshot!(world.refused(&["hash", "folder"]), @r"
    --- stderr
    error[E0401]: cannot read folder: expected a file, found a folder
    hint: check the path and its permissions; `hence explain E0401` says more
    [exit 2]
    ");
    world.write("file", "");
    assert_snapshot!(world.refused(&["run", "file/problem.json"]), @r"
    --- stderr
    error[E0401]: cannot open file/problem.json: expected a folder, found a file
    hint: check the path and its permissions; `hence explain E0401` says more
    [exit 2]
    ");
}

#[test]
fn a_document_above_the_limit_is_refused_before_it_is_parsed() {
    let world = World::new();
    let file = std::fs::File::create(world.path("huge.json")).unwrap();
    file.set_len(64 * 1024 * 1024 + 1).unwrap();
    assert_snapshot!(world.refused(&["run", "huge.json"]), @r"
    --- stderr
    error[E0401]: huge.json has more than 64 MiB, the limit of a document
    hint: keep large values outside the document and refer to them; `hence explain E0401` says more
    [exit 2]
    ");
    file.set_len(64 * 1024 * 1024).unwrap();
    let shown = world.refused(&["run", "huge.json"]);
    assert!(shown.contains("error[E0101]"), "at the limit it is read: {shown}");
}

#[test]
fn a_document_can_come_from_standard_input() {
    let world = World::new();
    let answer = world.ask_with_input(&["run", "-"], problem("piped").to_string().as_bytes());
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let answer = world.ask_with_input(&["run", "-"], b"{");
    assert_eq!(answer.code, 1);
    assert!(answer.stderr.starts_with("error[E0101]: standard input: "), "{}", answer.stderr);
}
