//! Runs that wait for people, and the commands that answer, explain and continue them.

use insta::assert_snapshot;
use serde_json::Value;

use hence_testkit::cli::World;

const NOW: [&str; 2] = ["--now", "2026-02-02T00:00:00Z"];

const REFUND: &str = r#"
id: refund
version: 1.0.0
name: Refund
description: Ask before paying
inputs:
  amount: {type: integer, required: true}
outputs:
  decision: {type: string, required: true}
steps:
  - id: prepare
    uses: number.sum
    input: {values: [inputs.amount, 1]}
    output: {sum: vars.sum}
  - id: approve
    uses: human.ask
    input: {question: "Refund?", options: ["yes", "no"], who: ada, context: vars.sum}
    output: {value: outputs.decision, by: vars.by}
  - id: after
    uses: number.sum
    input: {values: [1, vars.sum]}
    output: {sum: vars.after}
"#;

fn waiting() -> World {
    let world = World::new();
    world.write("skill.yaml", REFUND);
    let answer =
        world.ask(&[&["run", "skill.yaml", "--input", "amount=5", "--run-id", "r"][..], &NOW].concat());
    assert_eq!(answer.code, 3, "{}", answer.stderr);
    world
}

fn json(world: &World, arguments: &[&str]) -> Value {
    let answer = world.ask(&[arguments, &["--json"]].concat());
    serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{}", answer.stderr))
}

#[test]
fn a_waiting_run_shows_its_question_and_how_to_answer() {
    let world = waiting();
    assert_snapshot!(world.cli(&["resume", "r"]), @r#"
    waits    approve (ada): Refund?
    context  6
    answer   hence answer r approve --value yes
    answer   hence answer r approve --value no
    status   waiting
    run      r
    head     <digest>:2
    record   .hence/runs/r/trace.ndjson
    [exit 3]
    "#);
    assert_snapshot!(world.cli(&["why", "r"]), @r"
    run      r (skill)
    stands   waiting: it waits for an answer
    since    <time> (measured), 2 records
    asked    approve/0.0/call/human.ask/1: asked <time>
    waits    approve (ada): Refund?
    context  6
    answer   hence answer r approve --value yes
    answer   hence answer r approve --value no
    next     hence resume r
    [exit 0]
    ");
    let rows = json(&world, &["runs", "--waiting"]);
    assert_eq!((&rows["total"], &rows["runs"][0]["status"]), (&1.into(), &"waiting".into()));
    assert_eq!(rows["runs"][0]["waiting"][0]["commands"][0], "hence answer r approve --value yes");
    // The commands name the store they mean.
    let elsewhere = json(&world, &["why", "r", "--store", "./.hence"]);
    assert_eq!(elsewhere["commands"][0], "hence --store ./.hence resume r");
}

#[test]
fn an_answer_is_checked_stored_once_and_recorded() {
    let world = waiting();
    assert_snapshot!(world.refused(&["answer", "r", "approve", "--value", "maybe"]), @r#"
    --- stderr
    error[E0307]: step approve: expected one of "yes", "no", found "maybe"
    hint: nothing was stored; `hence why RUN` shows the question and the allowed answers; `hence explain E0307` says more
    [exit 1]
    "#);
    assert_snapshot!(world.refused(&["answer", "r", "prepare", "--value", "1"]), @r"
    --- stderr
    error[E0305]: run r: nothing waits for an answer at prepare
      waiting: approve (approve/0.0/call/human.ask/1)
    hint: `hence why r` shows what it waits for; `hence explain E0305` says more
    [exit 1]
    ");
    assert_snapshot!(world.refused(&["answer", "r", "approve", "--retry"]), @r"
    --- stderr
    error[E0307]: run r: `approve/0.0/call/human.ask/1` waits for a value, found retry
    hint: nothing was stored; `hence why RUN` shows the question and the allowed answers; `hence explain E0307` says more
    [exit 1]
    ");
    assert_eq!(world.ask(&["answer", "r", "approve"]).code, 2, "an answer says something");
    assert_eq!(world.ask(&["answer", "r", "approve", "--value", "1", "--fail"]).code, 2);
    assert_snapshot!(world.cli(&["answer", "r", "approve", "--value", "yes", "--by", "ada"]), @r#"
    answered  approve: value "yes"
    next      hence resume r
    [exit 0]
    "#);
    assert_snapshot!(world.refused(&["answer", "r", "approve", "--value", "no"]), @r"
    --- stderr
    error[E0306]: run r: `approve` has been answered already
    hint: `hence resume r` continues it; `hence explain E0306` says more
    [exit 1]
    ");
    assert_eq!(json(&world, &["why", "r"])["standing"], "answered");
    let report = json(&world, &["resume", "r"]);
    assert_eq!((&report["status"], &report["outputs"]["decision"]), (&"completed".into(), &"yes".into()));
    assert_eq!(json(&world, &["state", "r", "/vars/by", "--cognition"]), "ada");
    for command in ["verify", "replay"] {
        assert_eq!(world.ask(&[command, "r"]).code, 0, "{}", world.cli(&[command, "r"]));
    }
    assert!(!world.path(".hence/runs/r/calls.ndjson").exists(), "what was under way is recorded");
    assert!(world.refused(&["answer", "r", "approve", "--value", "no"]).contains("E0305"));
    assert_eq!(json(&world, &["runs", "--waiting"])["total"], 0);
    assert_eq!(json(&world, &["why", "r"])["standing"], "completed");
}

#[test]
fn an_answer_can_resume_at_once_and_only_one_of_two_counts() {
    let world = waiting();
    let answers: Vec<i32> = std::thread::scope(|scope| {
        let one = |value: &'static str| {
            let world = &world;
            scope.spawn(move || world.ask(&["answer", "r", "approve", "--value", value, "--resume"]).code)
        };
        let both = [one("yes"), one("no")];
        both.map(|thread| thread.join().unwrap()).to_vec()
    });
    assert_eq!(answers.iter().filter(|code| **code == 0).count(), 1, "{answers:?}");
    assert_eq!(json(&world, &["why", "r"])["standing"], "completed");
}

#[test]
fn an_answer_may_come_from_a_file_and_questions_of_many_items_have_names() {
    let world = World::new();
    let skill = REFUND
        .replace(r#"options: ["yes", "no"], who: ada, context: vars.sum"#, "type: object")
        .replace(
            "output: {value: outputs.decision, by: vars.by}",
            "output: {value: vars.all}\n    config: {foreach: {items: \"[1, 2]\", as: context, parallel: 2}}",
        )
        .replace("decision: {type: string, required: true}", "decision: {type: string}");
    world.write("skill.yaml", skill);
    world.write("value.json", r#"{"text": "fine"}"#);
    let arguments = [&["run", "skill.yaml", "--input", "amount=5", "--run-id", "r"][..], &NOW].concat();
    assert_eq!(world.ask(&arguments).code, 3);
    assert_eq!(json(&world, &["why", "r"])["waiting"].as_array().unwrap().len(), 2);
    assert_snapshot!(world.refused(&["answer", "r", "approve", "--value", "{}"]), @r"
    --- stderr
    error[E0305]: run r: 2 calls of approve wait for an answer
      approve/0.0/call/human.ask/1
      approve/0.1/call/human.ask/1
    hint: name one of them by its key instead of the step; `hence explain E0305` says more
    [exit 1]
    ");
    let first = "approve/0.0/call/human.ask/1";
    assert_eq!(
        open_questions(&world),
        [format!("question-{first}"), "question-approve/0.1/call/human.ask/1".to_owned()]
    );
    assert_eq!(world.ask(&["answer", "r", first, "--value", "@value.json"]).code, 0);
    assert_eq!(world.ask(&["resume", "r"]).code, 3, "the other one is still open");
    assert_eq!(open_questions(&world), ["question-approve"]);
    assert_eq!(world.ask(&["answer", "r", "approve", "--value", "{}", "--resume"]).code, 0);
    let all = json(&world, &["state", "r", "/vars/all", "--cognition"]);
    assert_eq!(all, serde_json::json!([{"text": "fine"}, {}]));
}

/// The questions the trace of the run declares open.
fn open_questions(world: &World) -> Vec<String> {
    let trace = json(world, &["trace", "export", "r"]);
    let residuals = trace["residuals"].as_array().unwrap().iter();
    let open = residuals.filter(|residual| residual["kind"] == "open_question");
    open.map(|residual| residual["residual_id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_waiting_run_is_exported_with_its_call_log() {
    let world = waiting();
    assert_eq!(world.ask(&["export", "r", "bundle"]).code, 0);
    let other = ["--store", "elsewhere"];
    assert_eq!(world.ask(&[&["import", "bundle"][..], &other].concat()).code, 0);
    assert_eq!(
        world.ask(&[&["answer", "r", "approve", "--value", "no", "--resume"][..], &other].concat()).code,
        0
    );
}

#[test]
fn an_unreadable_call_log_stops_the_run_and_is_named() {
    let world = waiting();
    world.write(".hence/runs/r/calls.ndjson", "{\"kind\":\"other\"}\n");
    assert_snapshot!(world.refused(&["resume", "r"]), @r"
    --- stderr
    error[E0308]: run r: calls.ndjson: line 1 of the calls under way: at `/kind`: expected one of intent, reply, exchange, question, answer, outcome, rolled_back, spent, blocked, found string
    hint: copy the call log before anything else; the journal itself is not affected; `hence explain E0308` says more
    [exit 4]
    ");
    assert_eq!(json(&world, &["why", "r"])["standing"], "damaged");
    let verified = world.refused(&["verify", "r"]);
    assert!(
        verified.contains("2 records hold, and a file next to them")
            || verified.contains("record holds, and a file next to them"),
        "{verified}"
    );
    assert!(verified.contains("calls.ndjson: line 1"), "{verified}");
}

#[test]
fn why_explains_every_kind_and_status_of_run() {
    let world = World::with_run("done");
    let standing = |run: &str| {
        let report = json(&world, &["why", run]);
        let text = |key: &str| report[key].as_str().unwrap().to_owned();
        (text("kind"), text("standing"))
    };
    let is = |kind: &str, standing: &str| (kind.to_owned(), standing.to_owned());
    assert_eq!(standing("done"), is("reason", "completed"));
    let whole = world.journal("done");
    let cut: Vec<u8> = whole.split_inclusive(|byte| *byte == b'\n').take(3).collect::<Vec<_>>().concat();
    world.set_journal("done", &cut);
    assert_eq!(standing("done"), is("reason", "stopped"));
    assert_eq!(json(&world, &["why", "done"])["commands"][0], "hence resume done");
    world.set_journal("done", b"nothing of the kind\n");
    assert_eq!(json(&world, &["why", "done"])["standing"], "damaged");
    assert_eq!(world.ask(&["vars", "init", "notes", "keep notes"]).code, 0);
    assert_eq!(standing("notes"), is("variables", "interactive"));
    world.write("skill.yaml", "id: x\nversion: 1.0.0\nname: X\ndescription: Divides\ninputs: {}\noutputs: {}\nsteps:\n  - id: divide\n    uses: number.calculate\n    input: {left: 1, operator: divide, right: 0}\n");
    assert_eq!(world.ask(&["run", "skill.yaml", "--run-id", "x"]).code, 1);
    assert_eq!(standing("x"), is("skill", "failed"));
    assert_eq!(json(&world, &["why", "x"])["commands"][2], "hence fork x --from divide");
    assert!(world.refused(&["why", "nobody"]).contains("E0202"));
}
