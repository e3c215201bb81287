//! `--model`: a language model proposes, and the checks decide. The real client asks a scripted server.

use hence_testkit::cli::World;
use hence_testkit::model_server::{Asked, ModelServer, Said};
use hence_testkit::providers::{VOICES, Voice};
use serde_json::{Value, json};

fn problem() -> Value {
    json!({
        "version": "1.0.0", "id": "bridge", "created_at": "2026-11-02T09:00:00Z",
        "inputs": {
            "prompt": "Is the bridge safe?",
            "goals": ["Is the bridge safe?"],
            "context": {"evidence": [
                {"id": "survey", "source": "survey, page 4", "claim": "the bridge carries 44 tonnes", "tonnes": 44},
                {"id": "cats", "source": "a letter", "claim": "I like cats"}
            ]}
        },
        "settings": {"verification_paths": [{"name": "load", "evidence": ["survey"], "expression": "evidence.survey.tonnes >= 40"}]}
    })
}

/// Returns the step that a request is for, by the first words of its prompt.
fn step(asked: &Asked) -> &'static str {
    let steps = [
        ("Restate", "Normalize"),
        ("Split", "Decompose"),
        ("Say which", "AcquireEvidence"),
        ("Decide each", "Compute"),
        ("Try to refute", "Verify"),
        ("Write the answer", "Synthesize"),
    ];
    steps.iter().find(|(words, _)| asked.first().starts_with(words)).map(|(_, step)| *step).unwrap()
}

/// Returns what a good model says in a step.
fn good(step: &str) -> Value {
    match step {
        "Normalize" => json!({"normalized_prompt": "Is the bridge safe?"}),
        "Decompose" => json!({"tasks": [{"id": "safe", "goal": "Is the bridge safe?"}]}),
        "AcquireEvidence" => json!({"links": [{"evidence": "survey", "tasks": ["safe"]}]}),
        "Compute" => {
            json!({"conclusions": [{"task": "safe", "status": "decided", "value": "yes, for up to 44 tonnes",
            "evidence": ["survey"], "reason": "the survey says so"}]})
        }
        "Verify" => {
            json!({"judgements": [{"about": "safe", "status": "holds", "reason": "the survey is clear"}]})
        }
        _ => {
            json!({"sentences": [{"text": "The bridge is safe for up to 44 tonnes", "evidence": ["survey"]}]})
        }
    }
}

/// Runs the problem with a model that says `other` in one step and is good in the others.
fn run_with(
    voice: Voice,
    problem: &Value,
    at: &'static str,
    other: Value,
) -> (World, i32, Value, ModelServer) {
    let server = ModelServer::answering(move |asked| {
        let step = step(asked);
        Said::json(&if step == at { other.clone() } else { good(step) })
    });
    let world = World::new();
    world.write("problem.json", problem.to_string());
    let model = server.model(voice, "m-1");
    let answer = world.ask(&["run", "problem.json", "--model", &model, "--json"]);
    let report = serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{}", answer.stderr));
    (world, answer.code, report, server)
}

fn state(world: &World, pointer: &str) -> Value {
    let answer = world.ask(&["state", "bridge", pointer, "--json"]);
    serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{}", answer.stderr))
}

#[test]
fn a_model_works_a_problem_out_and_a_replay_asks_nobody() {
    for voice in VOICES {
        let (world, code, report, server) = run_with(voice, &problem(), "none", json!(null));
        assert_eq!(code, 0, "{report}");
        assert_eq!(report["answer"]["summary"], "Is the bridge safe: yes, for up to 44 tonnes [survey].");
        assert_eq!(report["answer"]["words"], "The bridge is safe for up to 44 tonnes [survey].");
        assert_eq!(report["verification"], "passed");
        assert_eq!(server.count(), 6);
        let asked = server.asked();
        assert!(asked.iter().all(|asked| asked.voice == voice && asked.system.contains("Never add facts")));
        drop(server);
        assert_eq!(world.ask(&["verify", "bridge"]).code, 0);
        let replay = world.ask(&["replay", "bridge", "--json"]);
        assert_eq!(serde_json::from_slice::<Value>(&replay.stdout).unwrap()["equal"], true);
        // The prompts and the replies are on record, and the problem pins the declarations.
        let shown = world.cli(&["show", "bridge", "Compute"]);
        assert!(shown.contains("Decide each task from the evidence"), "{shown}");
        assert!(state(&world, "/problem/settings/capabilities/sha256").to_string().len() > 64);
        assert!(state(&world, "/problem/settings/model").to_string().contains("#m-1"));
        assert_eq!(world.ask(&["trace", "export", "bridge", "--out", "t.json"]).code, 0);
        assert_eq!(world.ask(&["trace", "validate", "t.json"]).code, 0);
    }
}

#[test]
fn claims_that_do_not_stand_on_evidence_are_rejected_and_kept() {
    let claim = |evidence: Value| json!({"conclusions": [{"task": "safe", "status": "decided", "value": "yes", "evidence": evidence, "reason": "r"}]});
    for (evidence, reason) in [
        (json!([]), "it cites no evidence"),
        (json!(["nope"]), "it cites `nope`, which is no evidence"),
        (json!(["cats"]), "it cites `cats`, which does not support the task"),
        (json!(["survey", "cats"]), "it cites `cats`, which does not support the task"),
    ] {
        let (world, code, report, _server) = run_with(Voice::OpenAi, &problem(), "Compute", claim(evidence));
        assert_eq!((code, &report["verification"]), (1, &json!("failed")), "{report}");
        let rejected = state(&world, "/artifacts/verification/rejected").to_string();
        assert!(rejected.contains(reason) && rejected.contains("\"yes\""), "{rejected}");
        let summary = report["answer"]["summary"].as_str().unwrap();
        assert!(summary.contains("Rejected: Is the bridge safe"), "{summary}");
        // The sentence that stood on the rejected claim is not in the answer.
        assert!(!summary.contains("The bridge is safe for up to"), "{summary}");
        assert_eq!(world.ask(&["verify", "bridge"]).code, 0);
    }
}

#[test]
fn a_claim_that_breaks_a_constraint_is_rejected() {
    let mut problem = problem();
    problem["inputs"]["constraints"] = json!(["Never above 44 tonnes"]);
    problem["inputs"]["tasks"] = json!([{"id": "safe", "goal": "Is the bridge safe?"}]);
    let check = json!([{"constraint": "Never above 44 tonnes", "expression": "tasks.safe <= evidence.survey.tonnes"}]);
    problem["inputs"]["constraint_checks"] = check;
    let claim = json!({"conclusions": [{"task": "safe", "status": "decided", "value": 60, "evidence": ["survey"], "reason": "r"}]});
    let (world, code, _, _server) = run_with(Voice::Anthropic, &problem, "Compute", claim);
    assert_eq!(code, 1);
    let rejected = state(&world, "/artifacts/verification/rejected").to_string();
    assert!(rejected.contains("breaks the constraint"), "{rejected}");
}

#[test]
fn a_model_can_fail_a_verification_and_never_pass_one() {
    let mut unchecked = problem();
    unchecked["settings"] = json!({});
    let (_, code, report, _server) = run_with(Voice::OpenAi, &unchecked, "none", json!(null));
    assert_eq!((code, &report["verification"]), (5, &json!("unjudged")), "{report}");
    let objection =
        json!({"judgements": [{"about": "safe", "status": "fails", "reason": "the survey is old"}]});
    let (_, code, report, _server) = run_with(Voice::OpenAi, &problem(), "Verify", objection);
    assert_eq!((code, &report["verification"]), (1, &json!("failed")), "{report}");
    assert!(report["reasons"].to_string().contains("the survey is old"), "{report}");
}

#[test]
fn sentences_must_cite_and_a_method_beats_the_model() {
    let sentences = json!({"sentences": [{"text": "Everybody knows it is safe", "evidence": []},
        {"text": "Cats like it", "evidence": ["cats"]}, {"text": "It carries 44 tonnes.", "evidence": ["survey"]}]});
    let (world, code, report, _server) = run_with(Voice::OpenAi, &problem(), "Synthesize", sentences);
    assert_eq!(code, 0, "{report}");
    assert_eq!(report["answer"]["words"], "It carries 44 tonnes [survey].");
    assert_eq!(report["answer"]["summary"], "Is the bridge safe: yes, for up to 44 tonnes [survey].");
    assert_eq!(state(&world, "/artifacts/synthesis/rejected").as_array().map(Vec::len), Some(2));
    let mut with_method = problem();
    with_method["inputs"]["tasks"] =
        json!([{"id": "safe", "goal": "Is the bridge safe?", "method": "evidence.survey.tonnes >= 40"}]);
    let (world, code, _, _server) = run_with(Voice::OpenAi, &with_method, "none", json!(null));
    assert_eq!(code, 0);
    let conclusion = state(&world, "/artifacts/computation/conclusions/0");
    assert_eq!(
        (&conclusion["value"], &conclusion["disagrees"]["value"]),
        (&json!(true), &json!("yes, for up to 44 tonnes"))
    );
}

#[test]
fn a_model_cannot_lose_a_goal_nor_put_another_in_its_place() {
    let mut problem = problem();
    problem["inputs"]["goals"] = json!(["Tonnes that the bridge carries", "The bolts are in order"]);
    let cats = json!([{"id": "t", "goal": "Somebody likes cats"}]);
    let same_ids = json!([{"id": "goal_1", "goal": "Cats"}, {"id": "goal_2", "goal": "More cats"}]);
    let one = json!([{"id": "tonnes", "goal": "Tonnes that the bridge carries"}]);
    for (tasks, ids) in [
        (json!([]), json!(["goal_1", "goal_2"])),
        (cats, json!(["goal_1", "goal_2", "t"])),
        (same_ids, json!(["goal_1", "goal_2"])),
        (one, json!(["tonnes", "goal_2"])),
    ] {
        let reply = json!({"tasks": tasks});
        let (world, code, report, _server) = run_with(Voice::OpenAi, &problem, "Decompose", reply);
        assert_eq!((code, &report["verification"]), (5, &json!("unjudged")), "{report}");
        let found = state(&world, "/artifacts/decomposition/tasks");
        let found: Vec<&Value> = found.as_array().unwrap().iter().map(|task| &task["id"]).collect();
        assert_eq!(json!(found), ids);
        let summary = report["answer"]["summary"].as_str().unwrap();
        assert!(summary.contains("Not decided: The bolts are in order"), "{summary}");
        assert_eq!(world.ask(&["verify", "bridge"]).code, 0);
    }
}

#[test]
fn false_words_never_take_the_place_of_what_was_concluded() {
    let mut problem = problem();
    problem["inputs"]["tasks"] =
        json!([{"id": "safe", "goal": "Is the bridge safe?", "method": "evidence.survey.tonnes"}]);
    let lie = json!({"sentences": [{"text": "The bridge carries 400 tonnes", "evidence": ["survey"]}]});
    let (world, code, report, _server) = run_with(Voice::OpenAi, &problem, "Synthesize", lie);
    assert_eq!(code, 0, "{report}");
    let summary = report["answer"]["summary"].as_str().unwrap();
    assert!(summary.starts_with("Is the bridge safe: 44 [survey]."), "{summary}");
    assert!(summary.contains("Disputed: Is the bridge safe (") && !summary.contains("400"), "{summary}");
    assert_eq!(report["answer"]["words"], "The bridge carries 400 tonnes [survey].");
    let notes = state(&world, "/artifacts/audit/report/notes").to_string();
    assert!(notes.contains("their words were not checked"), "{notes}");
}

#[test]
fn conclusions_that_are_not_used_are_kept_with_the_reason() {
    let claim = |task: &str, value: u64| json!({"task": task, "status": "decided", "value": value, "evidence": ["survey"], "reason": "r"});
    let reply = json!({"conclusions": [claim("safe", 44), claim("safe", 12), claim("goal_9", 1)]});
    let (world, code, _, _server) = run_with(Voice::OpenAi, &problem(), "Compute", reply);
    assert_eq!(code, 0);
    let rejected = state(&world, "/artifacts/computation/rejected");
    assert_eq!(rejected.as_array().map(Vec::len), Some(2), "{rejected}");
    assert!(rejected.to_string().contains("there is no task `goal_9`"), "{rejected}");
    assert!(rejected[0]["conclusion"]["value"] == 12, "{rejected}");
}

#[test]
fn a_reply_of_another_form_is_asked_for_again_and_kept() {
    let first = std::sync::atomic::AtomicBool::new(true);
    let server = ModelServer::answering(move |asked| {
        let step = step(asked);
        if step == "Compute" && first.swap(false, std::sync::atomic::Ordering::SeqCst) {
            return Said::Text("I think it is fine.".to_owned());
        }
        Said::json(&good(step))
    });
    let world = World::new();
    world.write("problem.json", problem().to_string());
    let answer = world.ask(&["run", "problem.json", "--model", &server.model(Voice::OpenAi, "m")]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert_eq!(server.count(), 7);
    let shown = world.cli(&["show", "bridge", "Compute"]);
    assert!(shown.contains("rejected") && shown.contains("I think it is fine."), "{shown}");
}

#[test]
fn a_model_that_is_away_stops_the_run_and_a_resume_pays_for_nothing_twice() {
    let away = std::sync::atomic::AtomicUsize::new(0);
    let server = ModelServer::answering(move |asked| {
        let step = step(asked);
        if step == "Compute" && away.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0 {
            return Said::Error("401 Unauthorized", "who are you?".to_owned());
        }
        Said::json(&good(step))
    });
    let world = World::new();
    world.write("problem.json", problem().to_string());
    let model = server.model(Voice::OpenAi, "m");
    let stopped = world.ask(&["run", "problem.json", "--model", &model]);
    assert_ne!(stopped.code, 0);
    assert!(stopped.stderr.contains("E0335") || stopped.stderr.contains("E0303"), "{}", stopped.stderr);
    let before = server.count();
    let resumed = world.ask(&["resume", "bridge"]);
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    assert_eq!(server.count() - before, 3, "Compute, Verify and Synthesize");
    assert_eq!(world.ask(&["verify", "bridge"]).code, 0);
}

#[test]
fn prompts_can_be_replaced_and_are_pinned() {
    let server = ModelServer::answering(|asked| Said::json(&good(step(asked))));
    let world = World::new();
    world.write("problem.json", problem().to_string());
    world.write("mine/compute.md", "Decide each task, in my words: {{tasks}} {{evidence}}");
    let model = server.model(Voice::OpenAi, "m");
    let run = |id: &str, more: &[&str]| {
        let arguments = [&["run", "problem.json", "--model", &model, "--run-id", id][..], more].concat();
        let answer = world.ask(&arguments);
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        let pinned = world.ask(&["state", id, "/problem/settings/capabilities/sha256"]);
        String::from_utf8(pinned.stdout).unwrap()
    };
    assert_ne!(run("shipped", &[]), run("mine", &["--prompts", "mine"]));
    assert!(server.asked().iter().any(|asked| asked.first().contains("in my words")));
    world.write("mine/comptue.md", "x");
    let refused = world.ask(&["run", "problem.json", "--model", &model, "--prompts", "mine"]);
    assert!(refused.stderr.contains("did you mean `compute.md`?"), "{}", refused.stderr);
}

#[test]
fn a_model_that_cannot_be_used_is_refused_before_anything_is_stored() {
    let world = World::new();
    world.write("problem.json", problem().to_string());
    let mut named = problem();
    named["settings"]["model"] = json!("openai:a");
    world.write("named.json", named.to_string());
    world.write(
        "skill.yaml",
        "id: s\nversion: 1.0.0\nname: N\ndescription: D\ninputs: {}\noutputs: {}\nsteps: []\n",
    );
    for (arguments, said) in [
        (vec!["run", "problem.json", "--model", "gpt"], "openai:NAME"),
        (vec!["run", "problem.json", "--model", "https://h/#m&key=sk-12345678"], "environment variable"),
        (vec!["run", "problem.json", "--model", "openai:m"], "OPENAI_API_KEY"),
        (vec!["run", "named.json", "--model", "openai:b"], "names another model"),
        (vec!["run", "problem.json", "--prompts", "."], "none is named"),
        (vec!["run", "problem.json", "--model", "openai:m", "--profile", "compat"], "compat"),
        (vec!["run", "skill.yaml", "--model", "openai:m"], "--model is for problems"),
    ] {
        let refused = world.ask(&arguments);
        // A key is missing in the environment, everything else is wrong on the command line.
        let code = if said == "OPENAI_API_KEY" { 1 } else { 2 };
        assert_eq!(refused.code, code, "{arguments:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(said), "{arguments:?}: {}", refused.stderr);
        assert!(!refused.stderr.contains("sk-1234"), "{}", refused.stderr);
        assert!(!world.path(".hence/runs/bridge").exists(), "{arguments:?}");
    }
}
