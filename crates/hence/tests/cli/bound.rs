//! Problems whose steps are bound to capabilities.

use std::path::PathBuf;

use insta::assert_snapshot;
use serde_json::Value;

use hence_testkit::cli::{World, verified};
use hence_testkit::endpoint::Endpoint;
use hence_testkit::providers::{VOICES, Voice, error};

fn example() -> World {
    let world = World::new();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/checkout-errors");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        world.write(path.file_name().unwrap().to_str().unwrap(), std::fs::read(&path).unwrap());
    }
    world
}

const RUN: [&str; 4] = ["run", "problem.json", "--capabilities", "capabilities.yaml"];

fn json(world: &World, arguments: &[&str]) -> Value {
    let answer = world.ask(&[arguments, &["--json"]].concat());
    serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{}", answer.stderr))
}

fn holds_at_every_level(world: &World, run: &str) {
    let levels = json(world, &["verify", run])["levels"].clone();
    let verdicts: Vec<&str> =
        levels.as_array().unwrap().iter().map(|row| row["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["holds", "holds", "holds", "holds", "holds", "not_checked"]);
}

#[test]
fn evidence_comes_from_a_command_and_a_replay_never_starts_it() {
    let world = example();
    assert_snapshot!(world.cli(&RUN));
    // Everybody who runs the example gets the head its page shows.
    assert!(String::from_utf8(world.read("README.md")).unwrap().contains(&world.head("checkout-errors")));
    let evidence = json(&world, &["state", "checkout-errors", "/artifacts/evidence"]);
    assert_eq!(evidence.as_array().unwrap().len(), 3);
    assert_eq!(evidence[1]["claim"], r#"POST /checkout answered 503 after 2ms: pool "primary" is exhausted"#);
    // The settings pin the capabilities, and a copy is stored next to the journal.
    let pinned = json(&world, &["state", "checkout-errors", "/problem/settings/capabilities/sha256"]);
    assert_eq!(pinned.as_str().unwrap().len(), 64);
    let whole = world.journal("checkout-errors");
    for gone in ["failed-requests.sh", "requests.log", "capabilities.yaml"] {
        std::fs::remove_file(world.path(gone)).unwrap();
    }
    let replay = json(&world, &["replay", "checkout-errors"]);
    assert_eq!((&replay["equal"], &replay["read"]), (&true.into(), &1.into()));
    holds_at_every_level(&world, "checkout-errors");
    assert_eq!(world.ask(&["resume", "checkout-errors"]).code, 0);
    assert_eq!(world.journal("checkout-errors"), whole);
}

#[test]
fn a_trace_names_the_capability_of_a_bound_step() {
    let world = example();
    assert_eq!(world.ask(&RUN).code, 0);
    let answer = world.ask(&["trace", "export", "checkout-errors"]);
    world.write("trace.json", &answer.stdout);
    assert_eq!(world.ask(&["trace", "validate", "trace.json"]).code, 0);
    let trace: Value = serde_json::from_slice(&answer.stdout).unwrap();
    let action = &trace["actions"][3];
    assert_eq!(action["execution"]["tool"], "requests.failed");
    assert!(
        action["rationale"].as_str().unwrap().contains("bind this step to the capability requests.failed")
    );
    assert_eq!(action["reproducibility"]["status"], "partially_reproducible");
}

#[test]
fn a_run_cut_at_any_record_resumes_to_the_same_bytes() {
    let world = example();
    assert_eq!(world.ask(&RUN).code, 0);
    let whole = world.journal("checkout-errors");
    let ends: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] == b'\n').map(|at| at + 1).collect();
    for end in ends.into_iter().chain([whole.len() - 3]) {
        world.set_journal("checkout-errors", &whole[..end]);
        let answer = world.ask(&["resume", "checkout-errors"]);
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        assert!(world.journal("checkout-errors") == whole, "cut at byte {end}");
    }
}

#[test]
fn an_unusable_result_of_a_capability_stops_the_run_until_the_capability_is_fixed() {
    let world = example();
    let good = std::fs::read(world.path("failed-requests.sh")).unwrap();
    for (script, said) in [
        ("echo broken >&2; exit 3", "CommandFailed: "),
        (r#"echo '{"evidence": ["a"]}'"#, "capability `requests.failed`: "),
        ("echo not JSON", "CommandOutputInvalid: "),
    ] {
        world.write("failed-requests.sh", script);
        let answer = world.ask(&RUN);
        assert_eq!(answer.code, 1);
        assert!(answer.stderr.contains("E0335") && answer.stderr.contains(said), "{}", answer.stderr);
        assert!(answer.stderr.contains("hence resume checkout-errors"), "{}", answer.stderr);
        // Only the earlier records exist, and they hold.
        assert_eq!(json(&world, &["replay", "checkout-errors"])["equal"], true);
    }
    world.write("failed-requests.sh", good);
    assert_eq!(world.ask(&["resume", "checkout-errors"]).code, 0);
    holds_at_every_level(&world, "checkout-errors");
    let undisturbed = example();
    assert_eq!(undisturbed.ask(&RUN).code, 0);
    assert_eq!(undisturbed.journal("checkout-errors"), world.journal("checkout-errors"));
}

#[test]
fn an_impossible_binding_is_refused_with_a_hint() {
    let world = example();
    let problem = String::from_utf8(std::fs::read(world.path("problem.json")).unwrap()).unwrap();
    let capabilities = String::from_utf8(std::fs::read(world.path("capabilities.yaml")).unwrap()).unwrap();
    let mut said = world.cli(&["run", "problem.json"]);
    world.write("other.json", problem.replace("requests.failed", "requests.faild"));
    said += &world.cli(&["run", "other.json", "--capabilities", "capabilities.yaml"]);
    world.write(
        "gated.yaml",
        capabilities.replace("effects: reads", "effects: reads\n    confirmation: required"),
    );
    said += &world.cli(&["run", "problem.json", "--capabilities", "gated.yaml"]);
    world.write("audit.json", problem.replace("AcquireEvidence", "Audit"));
    said += &world.cli(&["run", "audit.json", "--capabilities", "capabilities.yaml"]);
    said +=
        &world.cli(&["run", "problem.json", "--capabilities", "capabilities.yaml", "--profile", "compat"]);
    world.write("plain.json", problem.replace("bindings", "unbound"));
    said += &world.cli(&["run", "plain.json", "--capabilities", "capabilities.yaml"]);
    assert_snapshot!(said);
}

#[test]
fn other_capabilities_than_the_run_pins_are_refused() {
    let world = example();
    assert_eq!(world.ask(&RUN).code, 0);
    let capabilities = String::from_utf8(std::fs::read(world.path("capabilities.yaml")).unwrap()).unwrap();
    world.write("other.yaml", capabilities.replace("Find the", "Look for the"));
    for command in ["resume", "replay"] {
        let answer = world.ask(&[command, "checkout-errors", "--capabilities", "other.yaml"]);
        assert_eq!(answer.code, 1);
        assert!(answer.stderr.contains("E0321"), "{}", answer.stderr);
    }
    let again =
        world.ask(&["run", "problem.json", "--capabilities", "other.yaml", "--run-id", "checkout-errors"]);
    assert_eq!(again.code, 1, "{}", again.stderr);
}

fn asking_a_model(world: &World, voice: Voice, url: &str) {
    world.write(
        "problem.json",
        verified(serde_json::json!({"version": "1.0.0", "id": "asked", "created_at": "2026-11-09T09:00:00Z",
            "inputs": {"prompt": "Why?", "goals": ["a", "b"]},
            "settings": {"bindings": {"Synthesize": {"capability": "write.summary"}}}}))
        .to_string(),
    );
    let api = voice.api();
    world.write(
        "capabilities.yaml",
        format!(
            "capabilities:\n  write.summary:\n    description: Write the summary\n    effects: reads\n    \
             output:\n      type: object\n      required: [summary]\n      properties: {{summary: {{type: string}}}}\n    \
             provider:\n      kind: llm\n      api: {api}\n      model: m-1\n      endpoint: {url}\n      stream: false\n      \
             repairs: 1\n      retries: {{max: 0}}\n      price: {{currency: USD, input: '0.15', output: '0.60'}}\n      \
             prompt: 'Sum up {{{{/problem/inputs/prompt}}}}: {{{{/problem/inputs/goals}}}}'\n"
        ),
    );
}

#[test]
fn a_summary_comes_from_a_model_with_what_it_cost_and_replays_without_it() {
    for voice in VOICES {
        let world = World::new();
        let script = vec![voice.whole("no JSON"), voice.whole(r#"{"summary": "because"}"#)];
        let endpoint = Endpoint::with(script);
        asking_a_model(&world, voice, &endpoint.url());
        let report = json(&world, &RUN);
        assert_eq!(
            (&report["answer"]["summary"], &report["status"]),
            (&"because".into(), &"completed".into())
        );
        let asked = endpoint.requests().first().unwrap().body.to_string();
        assert!(asked.contains(r#"Sum up Why?: [\"a\",\"b\"]"#), "{asked}");
        drop(endpoint);
        let shown = json(&world, &["show", "asked", "Synthesize"]);
        let exchange = &shown["exchanges"][0]["exchange"];
        assert_eq!(exchange["messages"][0]["content"], "Sum up Why?: [\"a\",\"b\"]", "{shown}");
        assert_eq!(exchange["requests"][0]["outcome"], "rejected", "{shown}");
        let mut metrics = shown["record"]["result"]["metrics"].clone();
        metrics.as_object_mut().unwrap().remove("exchanges");
        assert_eq!(
            metrics,
            serde_json::json!({"llm_calls": 2, "tokens_in": 20, "tokens_out": 29,
                               "cost": {"amount": "0.0000204", "currency": "USD"}}),
            "{shown}"
        );
        let replay = json(&world, &["replay", "asked"]);
        assert_eq!((&replay["equal"], &replay["read"]), (&true.into(), &1.into()));
        holds_at_every_level(&world, "asked");
    }
}

#[test]
fn a_run_whose_model_failed_can_be_resumed() {
    let world = World::new();
    let voice = Voice::OpenAi;
    let endpoint = Endpoint::with(vec![
        error("401 Unauthorized", "who are you?"),
        voice.whole("never"),
        voice.whole("JSON"),
        voice.whole(r#"{"summary": "at last"}"#),
    ]);
    asking_a_model(&world, voice, &endpoint.url());
    let answer = world.ask(&RUN);
    assert!(answer.stderr.contains("ModelUnauthorized"), "{}", answer.stderr);
    assert_eq!(answer.code, 1);
    let answer = world.ask(&["resume", "asked"]);
    assert!(answer.stderr.contains("none of 2 replies can be used"), "{}", answer.stderr);
    assert_eq!((answer.code, endpoint.requests().len()), (1, 3));
    assert_eq!(world.ask(&["resume", "asked"]).code, 0);
    assert_eq!(json(&world, &["state", "asked", "/artifacts/synthesis/summary"]), "at last");
    // The attempts that failed are on record too.
    let shown = json(&world, &["show", "asked", "Synthesize"]);
    let attempts: Vec<(u64, &str)> = shown["exchanges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let last = one["exchange"]["requests"].as_array().unwrap().last().unwrap();
            (one["call"]["attempt"].as_u64().unwrap(), last["outcome"].as_str().unwrap())
        })
        .collect();
    assert_eq!(attempts, [(1, "failed"), (2, "rejected"), (3, "used")], "{shown}");
    assert_eq!(world.ask(&["verify", "asked"]).code, 0);
}
