//! Approvals: only an answer that a question declares to approve is one, in the trace and for policies.

use hence_testkit::cli::World;
use serde_json::{Value, json};

use crate::guard::json as ask_json;

/// A deletion that leaves a line, and a question before it. `QUESTION` is the rest of the question's input.
const SKILL: &str = r#"
id: clean
version: 1.0.0
name: Clean
description: Ask, then delete
inputs: {}
outputs: {}
capabilities: capabilities.yaml
steps:
  - id: approve
    uses: human.ask
    input: {question: "Delete the bucket?"QUESTION}
    output: {value: vars.answer}
  - id: delete
    uses: bucket.delete
    input: {path: data/prod}
"#;

const CAPABILITIES: &str = r#"
capabilities:
  bucket.delete:
    description: Delete a bucket
    action: DeleteFile
    effects: writes
    provider:
      kind: command
      command: [/bin/sh, -c, "cat >> deleted; echo '{\"done\":true}'"]
"#;

fn world(skill: &str) -> World {
    let world = World::new();
    world.write("clean.yaml", skill).write("capabilities.yaml", CAPABILITIES);
    world
}

fn asking(question: &str) -> World {
    let world = world(&SKILL.replace("QUESTION", question));
    let answer = world.ask(&["run", "clean.yaml", "--run-id", "r"]);
    assert_eq!(answer.code, 3, "{}", answer.stderr);
    world
}

/// Answers the question and returns the trace.
fn answered(question: &str, value: &str) -> Value {
    let world = asking(question);
    let done = world.ask(&["answer", "r", "approve", "--value", value, "--by", "eve", "--resume"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    ask_json(&world, &["trace", "export", "r"])
}

fn artifact<'t>(trace: &'t Value, id: &str) -> &'t Value {
    let artifacts = trace["artifacts"].as_array().unwrap();
    artifacts.iter().find(|artifact| artifact["artifact_id"] == id).unwrap()
}

/// The action of the question: its type, the type of its artifact, and the decision.
fn decided(trace: &Value) -> (String, String, Value) {
    let made = artifact(trace, "approve#1");
    let action = &trace["actions"][1];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&action["type"]), text(&made["artifact_type"]), made["metadata"]["decision"].clone())
}

const YES_OR_NO: &str = r#", options: ["yes", "no"], approves: ["yes"], rejects: ["no"]"#;

#[test]
fn a_question_that_is_asked_again_keeps_every_answer_on_record() {
    let again =
        "    config: {while: {condition: \"vars.answer != 'yes'\", max_iterations: 3}}\n  - id: delete";
    let world = world(&SKILL.replace("QUESTION", YES_OR_NO).replacen("  - id: delete", again, 1));
    assert_eq!(world.ask(&["run", "clean.yaml", "--run-id", "r"]).code, 3);
    for (value, by) in [("no", "boss"), ("yes", "eve")] {
        world.ask(&["answer", "r", "approve", "--value", value, "--by", by, "--resume"]);
    }
    assert!(world.path("deleted").exists());
    let trace = ask_json(&world, &["trace", "export", "r"]);
    let result = &trace["actions"][1]["result"];
    assert_eq!((&result["decision"], &result["by"]), (&json!("approved"), &json!("eve")), "{result}");
    assert_eq!(result["earlier_answers"], json!([{"answer": "no", "by": "boss", "decision": "rejected"}]));
    let why = world.cli(&["why", "r"]);
    assert!(why.contains("approve by boss: \"no\"") && why.contains("approve by eve: \"yes\""), "{why}");
}

#[test]
fn only_a_declared_answer_becomes_an_approval_or_a_rejection() {
    let is = |kind: &str, artifact: &str, decision: Value| (kind.to_owned(), artifact.to_owned(), decision);
    let approved = is("Approve", "UserApproval", json!("approved"));
    let rejected = is("Reject", "UserInstruction", json!("rejected"));
    let informed = is("ExclusiveDecision", "UserInstruction", Value::Null);
    for (question, value, expected) in [
        (YES_OR_NO, "yes", &approved),
        (YES_OR_NO, "no", &rejected),
        (r#", options: ["yes", "no"]"#, "yes", &informed),
        (r#", options: ["yes", "no", "later"], approves: ["yes"], rejects: ["no"]"#, "later", &informed),
        (r#", approves: ["yes"], rejects: ["no"]"#, "\"Yes\"", &informed),
        (", type: boolean, approves: [true], rejects: [false]", "true", &approved),
        (", type: boolean, approves: [true], rejects: [false]", "false", &rejected),
        (", type: boolean", "true", &informed),
        (", type: object, approves: [{ok: true}]", r#"{"ok": true}"#, &approved),
        (", type: object, approves: [{ok: true}]", r#"{"ok": true, "note": "x"}"#, &informed),
    ] {
        assert_eq!(&decided(&answered(question, value)), expected, "{question} {value}");
    }
}

#[test]
fn an_approval_names_the_person_the_question_and_what_was_offered() {
    let trace = answered(YES_OR_NO, "yes");
    let action = &trace["actions"][1];
    assert_eq!(action["agent"], "eve");
    assert_eq!(action["label"], "Delete the bucket?");
    assert_eq!(action["request"]["approves"], json!(["yes"]));
    assert_eq!(action["result"], json!({"decision": "approved", "answer": "yes", "by": "eve"}));
    let rejected = answered(YES_OR_NO, "no");
    assert_eq!(rejected["actions"][1]["result_summary"], r#"rejected by eve: {"by":"eve","value":"no"}"#);
    assert_eq!(answered(", type: string", "\"red\"")["actions"][1]["agent"], "eve");
}

#[test]
fn a_step_that_the_skill_calls_an_approval_is_none_without_the_answer() {
    for (kind, question, value, expected) in [
        ("Approve", YES_OR_NO, "no", "Reject"),
        ("Approve", r#", options: ["yes", "no"]"#, "yes", "RequestApproval"),
        ("RequestApproval", YES_OR_NO, "yes", "Approve"),
        ("Reject", YES_OR_NO, "yes", "Approve"),
    ] {
        let skill =
            SKILL.replace("QUESTION", question) + &format!("metadata: {{actions: {{approve: {kind}}}}}\n");
        let world = world(&skill);
        assert_eq!(world.ask(&["run", "clean.yaml", "--run-id", "r"]).code, 3);
        assert_eq!(world.ask(&["answer", "r", "approve", "--value", value, "--resume"]).code, 0);
        let trace = ask_json(&world, &["trace", "export", "r"]);
        let found = &trace["actions"][1];
        let is_question = found["type"] == expected
            || (expected == "RequestApproval" && found["type"] == "ExclusiveDecision");
        assert!(is_question, "{kind} {value}: {}", found["type"]);
        let is_approval = artifact(&trace, "approve#1")["artifact_type"] == "UserApproval";
        assert_eq!(is_approval, expected == "Approve", "{kind} {value}");
    }
}

#[test]
fn the_answers_of_many_items_approve_only_together() {
    let looped = SKILL.replace("QUESTION", YES_OR_NO).replace(
        "    output: {value: vars.answer}",
        "    output: {value: vars.answer}\n    config: {foreach: {items: \"[1, 2]\", as: context, parallel: 2}}",
    );
    for (first, second, expected) in [("yes", "yes", "Approve"), ("yes", "no", "Reject")] {
        let world = world(&looped);
        assert_eq!(world.ask(&["run", "clean.yaml", "--run-id", "r"]).code, 3);
        for (item, value) in [(0, first), (1, second)] {
            let key = format!("approve/0.{item}/call/human.ask/1");
            let by = format!("person {item}");
            assert_eq!(world.ask(&["answer", "r", &key, "--value", value, "--by", &by]).code, 0);
        }
        assert_eq!(world.ask(&["resume", "r"]).code, 0);
        let trace = ask_json(&world, &["trace", "export", "r"]);
        assert_eq!(trace["actions"][2]["type"], expected, "{first} {second}");
        assert_eq!(trace["actions"][2]["agent"], "person 0, person 1");
    }
}

#[test]
fn a_rejection_and_an_unrelated_approval_confirm_nothing() {
    let confirmed = |world: &World| {
        let rule = ["--policy", "engineering", "--only", "destructive-actions-confirmed"];
        world.ask(&[&["policy", "check", "r"][..], &rule].concat()).code == 0
    };
    for (question, value, expected) in
        [(YES_OR_NO, "yes", true), (YES_OR_NO, "no", false), (", type: string", "\"yes\"", false)]
    {
        let world = asking(question);
        assert_eq!(world.ask(&["answer", "r", "approve", "--value", value, "--resume"]).code, 0);
        assert_eq!(confirmed(&world), expected, "{question} {value}");
    }
    // The approval of something else, declared earlier, does not cover the deletion.
    let other = SKILL.replace("QUESTION", YES_OR_NO).replace(
        "  - id: delete",
        "  - id: note\n    uses: text.join\n    input: {parts: [a]}\n  - id: delete",
    );
    let world = world(&other);
    assert_eq!(world.ask(&["run", "clean.yaml", "--run-id", "r"]).code, 3);
    assert_eq!(world.ask(&["answer", "r", "approve", "--value", "yes", "--resume"]).code, 0);
    assert!(!confirmed(&world), "nothing connects the deletion with the approval");
    // The step that names the question waits for its answer.
    let named = other + "    config: {depends_on: [approve]}\n";
    let world = self::world(&named);
    assert_eq!(world.ask(&["run", "clean.yaml", "--run-id", "r"]).code, 3);
    assert_eq!(world.ask(&["answer", "r", "approve", "--value", "yes", "--resume"]).code, 0);
    assert!(confirmed(&world));
}

#[test]
fn check_finds_answers_that_nobody_can_give() {
    for (question, found) in [
        (
            r#", options: ["yes", "no"], approves: ["Yes"]"#,
            r#"`approves` has "Yes", which is not among the options "yes", "no""#,
        ),
        (
            r#", type: boolean, approves: ["true"]"#,
            r#"`approves` has "true": expected boolean, found string"#,
        ),
        (r#", approves: ["a"], rejects: ["a"]"#, r#""a" approves and rejects"#),
        (", approves: \"yes\"", "`approves` is array, found string"),
    ] {
        let world = world(&SKILL.replace("QUESTION", question));
        let checked = world.ask(&["check", "clean.yaml"]);
        let text = String::from_utf8_lossy(&checked.stdout).into_owned() + &checked.stderr;
        assert!(checked.code == 1 && text.contains(found), "{question}: {text}");
    }
}

#[test]
fn a_person_sees_the_whole_input_of_what_they_decide_about() {
    let capabilities =
        CAPABILITIES.replace("    effects: writes\n", "    effects: writes\n    confirmation: required\n");
    let payee = "x".repeat(300);
    let skill =
        SKILL.replace("QUESTION", "").replace("path: data/prod", &format!("path: data/prod, payee: {payee}"));
    let (head, steps) = skill.split_once("steps:").unwrap();
    let delete = steps.split_once("  - id: delete").unwrap().1;
    let world = world(&format!("{head}steps:\n  - id: delete{delete}"));
    world.write("capabilities.yaml", capabilities);
    let screen = world.cli(&["run", "clean.yaml", "--run-id", "r"]);
    let why = world.cli(&["why", "r"]);
    let waiting = world.cli(&["runs", "--waiting"]);
    for text in [&screen, &why, &waiting] {
        assert!(text.contains("May `bucket.delete` be called with this?"), "{text}");
        assert!(text.contains("data/prod") && text.contains(&payee), "{text}");
        assert!(text.contains(r#""yes" approves, "no" rejects"#), "{text}");
        assert!(text.contains("hence answer r delete --value yes"), "{text}");
    }
    let row = &ask_json(&world, &["why", "r"])["waiting"][0];
    assert_eq!(row["input"]["context"]["path"], "data/prod");
    assert_eq!(row["input"]["approves"], json!(["yes"]));
    // A no makes no call.
    assert_eq!(world.ask(&["answer", "r", "delete", "--value", "no", "--by", "eve", "--resume"]).code, 1);
    assert!(!world.path("deleted").exists());
}

#[test]
fn an_undecided_call_is_shown_with_its_input_and_key() {
    let capabilities = CAPABILITIES
        .replace("cat >> deleted;", "cat >> deleted; sleep 20;")
        .replace("    effects: writes\n", "    effects: writes\n    timeout_seconds: 0.3\n");
    let (head, steps) = SKILL.split_once("steps:").unwrap();
    let delete = steps.split_once("  - id: delete").unwrap().1;
    let world = world(&format!("{head}steps:\n  - id: delete{delete}"));
    world.write("capabilities.yaml", capabilities);
    let screen = world.cli(&["run", "clean.yaml", "--run-id", "r"]);
    let row = ask_json(&world, &["why", "r"])["waiting"][0].clone();
    let key = row["idempotency_key"].as_str().unwrap_or_default().to_owned();
    assert_eq!((row["input"]["path"].as_str(), key.len()), (Some("data/prod"), 64), "{screen}");
    assert!(
        screen.contains(r#"input   {"path":"data/prod"}"#) || screen.contains(r#"{"path":"data/prod"}"#),
        "{screen}"
    );
    assert!(world.ask(&["why", "r"]).stdout.windows(64).any(|window| window == key.as_bytes()));
}

#[test]
fn a_long_context_is_laid_out_and_says_how_long_it_is() {
    let context = (0..40).map(|n| format!("k{n}: {}", "y".repeat(20))).collect::<Vec<_>>().join(", ");
    let world = asking(&format!(", context: {{{context}}}"));
    let why = world.cli(&["why", "r"]);
    assert!((0..40).all(|n| why.contains(&format!("\"k{n}\""))), "{why}");
    let long = (0..900).map(|n| format!("k{n}: {}", "y".repeat(20))).collect::<Vec<_>>().join(", ");
    let world = asking(&format!(", context: {{{long}}}"));
    let why = world.cli(&["why", "r"]);
    assert!(why.contains("bytes in all; `hence why r --json` prints everything"), "{why}");
    assert!(ask_json(&world, &["why", "r"])["waiting"][0]["input"]["context"]["k899"].is_string());
}

#[test]
fn an_answer_that_is_a_text_needs_no_quotes() {
    for (question, given, stored) in [
        ("", "fine", json!("fine")),
        ("", "looks good to me", json!("looks good to me")),
        ("", "5", json!(5)),
        ("", "\"5\"", json!("5")),
        (", type: string", "5", json!("5")),
        (", type: string", "{not json", json!("{not json")),
        (r#", options: ["1", "2"]"#, "1", json!("1")),
        (", type: boolean", "true", json!(true)),
    ] {
        let world = asking(question);
        let answer = world.ask(&["answer", "r", "approve", "--value", given, "--resume"]);
        assert_eq!(answer.code, 0, "{question} {given}: {}", answer.stderr);
        let found = ask_json(&world, &["state", "r", "/vars/answer", "--cognition"]);
        assert_eq!(found, stored, "{question} {given}");
    }
    let world = asking("");
    world.write("note.txt", "two words\n");
    assert!(world.refused(&["answer", "r", "approve", "--value", "{not json"]).contains("E0101"));
    assert_eq!(world.ask(&["answer", "r", "approve", "--value", "@note.txt", "--resume"]).code, 0);
    assert_eq!(ask_json(&world, &["state", "r", "/vars/answer", "--cognition"]), "two words");
    // The printed command works as it is printed.
    for question in [r#", options: ["yes", "1", 1, "@x"]"#, ", type: boolean", YES_OR_NO] {
        let world = asking(question);
        let commands = ask_json(&world, &["why", "r"])["waiting"][0]["commands"].clone();
        for command in commands.as_array().unwrap() {
            let word =
                command.as_str().unwrap().split("--value ").nth(1).unwrap().trim_matches('\'').to_owned();
            let world = asking(question);
            let answer = world.ask(&["answer", "r", "approve", "--value", &word]);
            assert_eq!(answer.code, 0, "{word}: {}", answer.stderr);
        }
    }
}

#[test]
fn an_answer_says_what_it_means() {
    let world = asking(YES_OR_NO);
    let report = ask_json(&world, &["answer", "r", "approve", "--value", "no"]);
    assert_eq!(report["decision"], "rejected");
}

#[test]
fn who_decided_about_an_undecided_call_is_kept_for_every_item() {
    let capabilities = CAPABILITIES
        .replace("cat >> deleted;", "cat >> deleted; sleep 20;")
        .replace("    effects: writes\n", "    effects: writes\n    timeout_seconds: 0.3\n");
    let (head, steps) = SKILL.split_once("steps:").unwrap();
    let delete = steps.split_once("  - id: delete").unwrap().1;
    for (config, calls) in
        [("", 1), ("    config: {foreach: {items: \"['a', 'b']\", as: path, parallel: 2}}\n", 2)]
    {
        let world = world(&format!("{head}steps:\n  - id: delete{delete}{config}"));
        world.write("capabilities.yaml", &capabilities);
        assert_eq!(world.ask(&["run", "clean.yaml", "--run-id", "r"]).code, 3);
        for item in 0..calls {
            let key = format!("delete/0.{item}/call/bucket.delete/1");
            let by = format!("person {item}");
            let done = world.ask(&["answer", "r", &key, "--done", r#"{"done": true}"#, "--by", &by]);
            assert_eq!(done.code, 0, "{}", done.stderr);
        }
        assert_eq!(world.ask(&["resume", "r"]).code, 0);
        let record = ask_json(&world, &["show", "r", "delete"])["record"].clone();
        let trace = ask_json(&world, &["trace", "export", "r"]);
        let deleted = trace["actions"].as_array().unwrap().iter().filter(|one| one["type"] == "DeleteFile");
        let deleted: Vec<_> = deleted.collect();
        assert_eq!(deleted.len(), calls, "each call is an action");
        for item in 0..calls {
            let listed = &record["result"]["output"]["calls"][item]["meta"];
            assert_eq!(
                (&listed["decided"], &listed["decided_by"]),
                (&json!("done"), &json!(format!("person {item}")))
            );
            let action = deleted[item];
            assert_eq!(action["decisions"][0]["decided_by"], format!("person {item}"));
            let said = action["observations"][0]["statement"].as_str().unwrap();
            assert!(said.starts_with(&format!("person {item} decided that")), "{said}");
        }
        assert_eq!(world.ask(&["verify", "r"]).code, 0);
    }
}

#[test]
fn why_and_show_name_approvals_and_rejections() {
    let world = asking(YES_OR_NO);
    assert_eq!(world.ask(&["answer", "r", "approve", "--value", "no", "--by", "eve", "--resume"]).code, 0);
    for arguments in [&["why", "r"][..], &["show", "r", "approve"]] {
        let text = world.cli(arguments);
        assert!(text.contains("rejected  approve by eve: \"no\""), "{text}");
        let report = ask_json(&world, arguments);
        assert_eq!(report["decisions"][0]["decision"], "rejected");
        assert_eq!(report["decisions"][0]["by"], "eve");
    }
    let world = asking(r#", options: ["yes", "no"]"#);
    assert_eq!(world.ask(&["answer", "r", "approve", "--value", "no", "--resume"]).code, 0);
    assert_eq!(
        ask_json(&world, &["why", "r"])["decisions"],
        json!([]),
        "nothing declares what the answer means"
    );
}

#[test]
fn an_item_that_replaces_what_approves_is_no_approval() {
    let world = World::new();
    world.write(
        "ask.yaml",
        "id: ask\nversion: 1.0.0\nname: N\ndescription: D\ninputs: {xs: {type: array, default: [['yes']]}}\noutputs: {}\nsteps:\n  - id: ask\n    uses: human.ask\n    input: {question: 'Delete?', approves: ['no']}\n    config: {foreach: {items: inputs.xs, as: approves}}\n",
    );
    let asked = world.ask(&["run", "ask.yaml", "--run-id", "r"]);
    assert_eq!(asked.code, 3, "{}", asked.stderr);
    let answered = world.ask(&["answer", "r", "ask", "--value", "no", "--resume"]);
    assert_eq!(answered.code, 0, "{}", answered.stderr);
    let trace = String::from_utf8(world.ask(&["trace", "export", "r"]).stdout).unwrap();
    assert!(!trace.contains("\"artifact_type\": \"UserApproval\""), "{trace}");
    assert!(!trace.contains("\"type\": \"UserApproval\""), "{trace}");
}
