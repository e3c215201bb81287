//! Every view of a run.

use serde_json::{Value, json};

use super::{Served, world};

#[test]
fn every_view_of_a_run_answers_and_names_its_head() {
    let world = world();
    let served = Served::start(&world);
    for view in [
        "",
        "/verdict",
        "/verdict?replay=true",
        "/records",
        "/records?lines=true&limit=2",
        "/records/1",
        "/search?text=hello",
        "/state",
        "/state?at=0&pointer=/problem",
        "/state/changes",
        "/state/values?pointer=/status",
        "/state/patches",
        "/spans",
        "/spans/overview",
        "/story",
        "/actions",
        "/artifacts",
        "/lineage",
        "/gaps",
        "/policies",
        "/calls",
        "/review",
        "/documents",
    ] {
        for run in ["first", "refund"] {
            let response = served.get(&format!("/runs/{run}{view}"));
            assert_eq!(response.status, 200, "{run}{view}: {}", String::from_utf8_lossy(&response.body));
            assert_eq!(response.header("hence-head"), Some(&*world.head(run)), "{run}{view}");
        }
    }
    assert_eq!(served.get("/runs/fir/records/raw").status, 404);
    assert_eq!(served.json("/runs/fir")["run"], "first", "a prefix is enough");
}

#[test]
fn runs_are_searched_and_counted() {
    let world = world();
    let served = Served::start(&world);
    let all = served.json("/runs?sort=run");
    assert_eq!(all["total"], 2);
    assert_eq!(all["items"][0]["run"], "first");
    assert_eq!(all["items"][1]["status"], "waiting");
    assert_eq!(all["items"][1]["skill"], "refund");
    assert_eq!(all["facets"]["waiting"], 1);
    assert_eq!(served.json("/runs?waiting=true")["items"][0]["run"], "refund");
    assert_eq!(served.json("/runs?search=REFUND")["total"], 1);
    assert_eq!(served.json("/runs?kind=reason&kind=skill")["total"], 2);
    assert_eq!(served.json("/runs?search=nothing")["items"], json!([]));
    let one = served.json("/runs?sort=run&limit=1");
    assert_eq!((&one["next"], &one["items"].as_array().unwrap().len()), (&json!(1), &1));
}

#[test]
fn a_summary_says_what_was_asked_what_came_out_and_how_it_continues() {
    let world = world();
    let served = Served::start(&world);
    let first = served.json("/runs/first");
    assert_eq!(first["status"], "completed");
    assert!(first["answer"]["whole"].as_bool().unwrap(), "{first}");
    assert_eq!(first["why"]["standing"], "completed");
    let waits = served.json("/runs/refund");
    assert_eq!(waits["why"]["waiting"][0]["question"], "Refund?");
    assert_eq!(waits["kind"], "skill");
    let verdict = served.json("/runs/first/verdict?replay=true");
    assert_eq!(verdict["integrity"]["status"], "holds");
    assert_eq!(verdict["replay"]["status"], "holds");
    assert_eq!(verdict["policies"]["status"], "none");
    assert_eq!(verdict["review"]["status"], "none");
    assert_eq!(served.json("/runs/first/verdict")["replay"]["status"], "not_checked");
}

#[test]
fn records_are_the_lines_of_the_journal() {
    let world = world();
    let served = Served::start(&world);
    let journal = world.journal("first");
    let shown = served.json("/runs/first/records?lines=true");
    let lines: Vec<&str> = std::str::from_utf8(&journal).unwrap().lines().collect();
    assert_eq!(shown["total"], lines.len());
    for (item, line) in shown["items"].as_array().unwrap().iter().zip(&lines) {
        assert_eq!(item["line"], **line);
        let start = item["offset"].as_u64().unwrap() as usize;
        assert_eq!(&journal[start..start + line.len()], line.as_bytes());
    }
    assert_eq!(served.get("/runs/first/records/3/raw").body, lines[3].as_bytes());
    let bytes = served.get("/runs/first/journal?offset=5&bytes=20");
    assert_eq!(bytes.body, &journal[5..25]);
    assert_eq!(bytes.header("hence-total-bytes"), Some(&*journal.len().to_string()));
    for part in ["journal", "documents/problem.json"] {
        let after = served.get(&format!("/runs/first/{part}?offset=9007199254740990&bytes=1"));
        assert_eq!((after.status, after.body.len()), (200, 0), "{part}: no file is that long");
    }
    let window = served.json("/runs/first/records?from=4&limit=2");
    assert_eq!((&window["items"][0]["index"], &window["next"]), (&json!(4), &json!(6)));
    assert_eq!(served.json("/runs/first/records?from=1000")["items"], json!([]));
    let document = served.get("/runs/first/documents/problem.json");
    assert_eq!(document.body, world.read(".hence/runs/first/problem.json"));
}

/// Applies operations to a document, as a page does.
fn apply(document: &mut Value, operation: &Value) {
    let at = operation["at"].as_str().unwrap();
    let Some((parent, key)) = at.rsplit_once('/') else {
        *document = operation["value"].clone();
        return;
    };
    let key = key.replace("~1", "/").replace("~0", "~");
    match document.pointer_mut(parent).unwrap() {
        Value::Array(items) => {
            let place: usize = key.parse().unwrap();
            match items.get_mut(place) {
                Some(item) => *item = operation["value"].clone(),
                None => items.push(operation["value"].clone()),
            }
        }
        Value::Object(members) if operation["op"] == "remove" => {
            members.remove(&key).unwrap();
        }
        Value::Object(members) => {
            members.insert(key, operation["value"].clone());
        }
        other => panic!("{at} is inside {other}"),
    }
}

#[test]
fn the_patches_of_all_records_make_every_state() {
    let world = world();
    world.write("loop.json", hence_testkit::cli::problem("looped").to_string());
    let served = Served::start(&world);
    for run in ["first", "refund"] {
        let patches = served.json(&format!("/runs/{run}/state/patches"));
        let mut state = Value::Null;
        for item in patches["items"].as_array().unwrap() {
            item["patch"].as_array().unwrap().iter().for_each(|operation| apply(&mut state, operation));
            let at = item["index"].to_string();
            let stated = world.ask(&["state", run, "--at", &at, "--raw"]);
            assert_eq!(state, serde_json::from_slice::<Value>(&stated.stdout).unwrap(), "{run} after {at}");
        }
    }
}

#[test]
fn a_change_of_state_is_found_between_two_records() {
    let world = world();
    let served = Served::start(&world);
    let changes = served.json("/runs/first/state/changes?after=0&at=1");
    let pointers: Vec<&str> =
        changes["items"].as_array().unwrap().iter().map(|item| item["pointer"].as_str().unwrap()).collect();
    assert!(pointers.contains(&"/step_index") && pointers.contains(&"/artifacts/normalized"), "{pointers:?}");
    let values = served.json("/runs/first/state/values?pointer=/step_index");
    let items = values["items"].as_array().unwrap();
    assert_eq!((&items[0]["index"], &items[0]["value"]["value"]), (&json!(0), &json!(0)));
    assert_eq!(items[1]["change"], "changed");
    assert!(served.get("/runs/first/state/changes?after=5&at=1").status == 400);
}

#[test]
fn lineage_is_followed_from_a_node() {
    let world = world();
    let served = Served::start(&world);
    let whole = served.json("/runs/first/lineage");
    assert!(whole["nodes"].as_array().unwrap().len() > 5);
    let around = served.json("/runs/first/lineage?node=artifact:problem&direction=descendants&depth=1");
    let nodes = around["nodes"].as_array().unwrap();
    assert!(nodes.len() > 1 && nodes.len() < whole["nodes"].as_array().unwrap().len(), "{around}");
    assert_eq!(nodes[0]["id"], "artifact:problem");
    let actions = served.json("/runs/first/actions");
    assert_eq!(actions["items"][0]["index"], 0, "an action names its record");
}

#[test]
fn two_runs_are_compared() {
    let world = world();
    let served = Served::start(&world);
    let same = served.json("/compare?left=first&right=first");
    assert_eq!((&same["equal"], &same["first"]), (&json!(true), &Value::Null));
    let other = served.json("/compare?left=first&right=refund");
    assert_eq!(other["first"], 0);
    assert!(!other["items"].as_array().unwrap().is_empty());
}

#[test]
fn the_api_describes_itself() {
    let world = world();
    let served = Served::start(&world);
    let document = served.json("/openapi.json");
    assert_eq!(document["openapi"], "3.1.0");
    let paths = document["paths"].as_object().unwrap();
    let page = include_str!("../../../../../docs/api.md");
    for path in paths.keys() {
        assert!(page.contains(path.as_str()), "docs/api.md does not describe {path}");
    }
    let response =
        &paths["/runs/{run}/records"]["get"]["responses"]["200"]["content"]["application/json"]["schema"];
    let name = response["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
    assert!(document["components"]["schemas"][name]["properties"]["items"].is_object(), "{name}");
}
