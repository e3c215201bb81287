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
