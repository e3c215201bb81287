//! `hence retry`: a failed run continues under the same idempotency keys, and nothing that succeeded is called again.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::recorded_effects::{RUN, holds, json, lines, listed, world};

fn sent(world: &hence_testkit::cli::World) -> Vec<String> {
    lines(world, "sent.log")
}

const LOOP: &str = "
  - id: first
    uses: send
    input: {to: zoe}
    output: {ok: vars.first}
  - id: mail
    uses: send
    output: {ok: vars.ok}
    config: {foreach: {items: '[\"ada\", \"bad\", \"eve\"]', as: to, parallel: 2}}
  - id: last
    uses: send
    input: {to: last}
    output: {ok: vars.last}
";

#[test]
fn a_retry_calls_only_what_failed_and_what_was_not_reached() {
    let world = world("s", LOOP);
    assert_eq!(json(&world, &RUN)["status"], "failed");
    let before = sent(&world);
    assert_eq!(before.len(), 3, "first, ada, bad");
    let why = json(&world, &["why", "r"]);
    assert_eq!(why["commands"][0], "hence retry r");
    let calls: Vec<(&str, &str)> = why["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| (call["key"].as_str().unwrap(), call["status"].as_str().unwrap()))
        .collect();
    assert_eq!(calls, [("mail/0.0/call/send/1", "replied"), ("mail/0.1/call/send/1", "failed")]);
    let text = world.cli(&["why", "r"]);
    assert!(text.contains(r#"mail/0.0/call/send/1 {"to":"ada"}: replied"#), "{text}");
    world.write("fixed", "");
    let report = json(&world, &["retry", "r"]);
    assert_eq!((&report["run"], &report["status"]), (&"r-retry-1".into(), &"completed".into()));
    let all = sent(&world);
    assert_eq!(all.len(), 6, "bad again, eve, last: {all:?}");
    let again: Vec<&String> = all[3..].iter().filter(|line| before.contains(line)).collect();
    let bad: Vec<&String> = before.iter().filter(|line| line.contains("bad")).collect();
    assert_eq!(again, bad, "only what failed is called again, with the same key and input");
    let keys: BTreeSet<&str> = all.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(keys.len(), 5, "each wanted effect has one key");
    for run in ["r", "r-retry-1"] {
        holds(&world, run);
    }
    let why = json(&world, &["why", "r"]);
    assert_eq!((&why["retry"], &why["commands"][0]), (&"r-retry-1".into(), &"hence why r-retry-1".into()));
    assert_eq!(json(&world, &["why", "r-retry-1"])["retries"], "r");
    assert!(world.cli(&["runs"]).contains("r (retried as r-retry-1)"), "{}", world.cli(&["runs"]));
    // A second retry shows the first.
    let report = json(&world, &["retry", "r"]);
    assert_eq!((&report["run"], &report["status"]), (&"r-retry-1".into(), &"completed".into()));
    assert_eq!(sent(&world), all);
    assert!(world.refused(&["retry", "r", "--run-id", "other"]).contains("E0313"));
    let trace: Value = serde_json::from_str(&world.out("trace export r-retry-1")).unwrap();
    assert!(trace.to_string().contains("retries"), "the trace links the run it retries");
}

#[test]
fn a_retry_that_fails_is_retried_in_turn() {
    let world = world("s", LOOP);
    assert_eq!(json(&world, &RUN)["status"], "failed");
    assert_eq!(json(&world, &["retry", "r"])["run"], "r-retry-1");
    assert_eq!(sent(&world).len(), 4, "bad is tried again");
    world.write("fixed", "");
    let report = json(&world, &["retry", "r", "--run-id", "third"]);
    assert_eq!((&report["run"], &report["status"]), (&"third".into(), &"completed".into()));
    assert_eq!(json(&world, &["why", "third"])["retries"], "r-retry-1");
    let all = sent(&world);
    let keys: BTreeSet<&str> = all.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!((all.len(), keys.len()), (7, 5), "{all:?}");
    for run in ["r", "r-retry-1", "third"] {
        holds(&world, run);
    }
}

const INNER: &str = "id: inner\nversion: 1.0.0\nname: N\ndescription: D\ninputs: {to: {type: string}}\noutputs: {}\nskills: deep.yaml\nsteps:\n  - id: one\n    uses: send\n    input: {to: inputs.to}\n  - id: two\n    uses: skill:deep\n    input: {to: inputs.to}\n    config: {depends_on: [one]}\n";
const DEEP: &str = "id: deep\nversion: 1.0.0\nname: N\ndescription: D\ninputs: {to: {type: string}}\noutputs: {}\nsteps:\n  - id: three\n    uses: send\n    input: {to: inputs.to}\n  - id: four\n    uses: send\n    input: {to: bad, then: inputs.to}\n    config: {depends_on: [three]}\n";

fn nested() -> hence_testkit::cli::World {
    let steps = "
  - id: before
    uses: skill:inner
    input: {to: zoe}
  - id: each
    uses: skill:inner
    config: {depends_on: [before], foreach: {items: '[\"ada\", \"eve\"]', as: to, parallel: 2}}
skills: inner.yaml
";
    let world = world("s", steps);
    world.write("inner.yaml", INNER).write("deep.yaml", DEEP);
    world
}

#[test]
fn calls_of_nested_skills_are_not_made_again_either() {
    let world = nested();
    assert_eq!(json(&world, &RUN)["status"], "failed");
    assert_eq!(sent(&world).len(), 3, "one, three, four of the first nested skill");
    world.write("fixed", "");
    let refused = world.refused(&["retry", "r/before"]);
    assert!(refused.contains("E0313") && refused.contains("nested in r"), "{refused}");
    assert_eq!(json(&world, &["retry", "r"])["status"], "completed");
    let all = sent(&world);
    let keys: BTreeSet<&str> = all.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!((all.len(), keys.len()), (10, 9), "only four of the first is called again: {all:?}");
    for run in ["r", "r-retry-1", "r-retry-1/before", "r-retry-1/before/two", "r-retry-1/each@0.1.1"] {
        holds(&world, run);
    }
}

#[test]
fn runs_that_share_records_with_nested_skills_verify() {
    let world = nested();
    world.write("fixed", "");
    assert_eq!(json(&world, &RUN)["status"], "completed");
    let fork = |run: &str, from: &str, id: &str| {
        json(&world, &["fork", run, "--from", from, "--run-id", id, "--yes"])["status"].clone()
    };
    assert_eq!(fork("r", "each", "f"), "completed");
    assert_eq!(fork("f", "each", "g"), "completed");
    std::fs::remove_file(world.path("fixed")).unwrap();
    assert_eq!(fork("g", "each", "h"), "failed");
    world.write("fixed", "");
    assert_eq!(json(&world, &["retry", "h"])["status"], "completed");
    for run in ["r", "f", "g", "h", "h-retry-1"] {
        holds(&world, run);
        let linked = json(&world, &["verify", run])["links"].to_string();
        assert!(linked.contains("nested") && !linked.contains("not_checked"), "{run}: {linked}");
    }
    // A record of the fork itself must name its own nested run.
    let forged = String::from_utf8(world.journal("f")).unwrap();
    assert!(forged.contains("\"f/each@0.1.1\""), "the fork nests runs of its own");
}

#[test]
fn an_undecided_call_of_a_failed_run_is_asked_about_and_not_repeated() {
    let step = "
  - id: mail
    uses: hang
    input: {to: ada}
    output: {ok: vars.ok}
    config: {timeout_seconds: 1, recovery: fail}
";
    let world = world("s", step);
    assert_eq!(json(&world, &RUN)["status"], "failed");
    assert_eq!(listed(&world, "r", "mail")[0]["status"], "undecided");
    let retried = world.ask(&["retry", "r"]);
    assert_eq!((retried.code, sent(&world).len()), (3, 1), "{}", retried.stderr);
    let done = ["answer", "r-retry-1", "mail", "--done", "{\"ok\": true}", "--by", "ada", "--resume"];
    assert_eq!(json(&world, &done)["status"], "completed");
    assert_eq!(sent(&world).len(), 1);
    holds(&world, "r-retry-1");
}

#[test]
fn a_person_who_refused_is_asked_again() {
    let world = world("s", "\n  - id: mail\n    uses: careful\n    input: {to: ada}\n");
    assert_eq!(json(&world, &RUN)["status"], "waiting");
    assert_eq!(json(&world, &["answer", "r", "mail", "--value", "no", "--resume"])["status"], "failed");
    assert_eq!(json(&world, &["retry", "r"])["status"], "waiting");
    let yes = ["answer", "r-retry-1", "mail", "--value", "yes", "--resume"];
    assert_eq!(json(&world, &yes)["status"], "completed");
    assert_eq!(sent(&world).len(), 1);
}

#[test]
fn large_inputs_of_a_failed_step_are_stored_outside_the_journal_and_travel_with_it() {
    let world = world("s", "\n  - id: mail\n    uses: send\n    input: {to: bad, text: inputs.text}\n");
    let skill = String::from_utf8(world.read("skill.yaml")).unwrap();
    world.write("skill.yaml", skill.replace("inputs: {}", "inputs: {text: {type: string}}"));
    world.write("text.json", format!("\"{}\"", "x".repeat(20_000)));
    assert_eq!(json(&world, &[&RUN[..], &["--input", "text=@text.json"]].concat())["status"], "failed");
    let shown = json(&world, &["show", "r", "mail"]);
    assert!(shown["record"]["result"]["outcome"]["$blob"].is_object(), "{shown}");
    assert_eq!(shown["output"]["calls"][0]["status"], "failed");
    holds(&world, "r");
    assert_eq!(world.ask(&["export", "r", "bundle"]).code, 0);
    let other = hence_testkit::cli::World::new();
    let bundle = world.path("bundle").display().to_string();
    assert_eq!(other.ask(&["import", &bundle]).code, 0, "{}", other.cli(&["import", &bundle]));
    holds(&other, "r");
    world.write("fixed", "");
    assert_eq!(json(&world, &["retry", "r"])["status"], "completed");
    assert_eq!(world.ask(&["doctor"]).code, 0, "{}", world.cli(&["doctor"]));
}

#[test]
fn a_run_under_policies_is_retried_under_them() {
    let world = world("s", LOOP);
    let run = [&RUN[..], &["--policy", "engineering"]].concat();
    assert_eq!(json(&world, &run)["status"], "failed");
    world.write("fixed", "");
    assert_eq!(json(&world, &["retry", "r"])["status"], "completed");
    assert_eq!(sent(&world).len(), 6);
    assert!(world.cli(&["log", "r-retry-1"]).contains("$policies"));
    holds(&world, "r-retry-1");
}

#[test]
fn a_step_that_completed_after_a_failed_one_is_reused() {
    let steps = "
  - id: bad
    uses: send
    input: {to: bad}
    config: {depends_on: []}
  - id: other
    uses: send
    input: {to: ada}
    config: {depends_on: []}
  - id: needs
    uses: send
    input: {to: eve}
    config: {depends_on: [bad]}
";
    let world = world("s", steps);
    let report = json(&world, &[&RUN[..], &["--on-failure", "continue"]].concat());
    assert_eq!(sent(&world).len(), 2, "{report}");
    world.write("fixed", "");
    let report = json(&world, &["retry", "r"]);
    assert_eq!((&report["run"], &report["status"]), (&"r-retry-1".into(), &"completed".into()));
    let all = sent(&world);
    assert_eq!(all.len(), 4, "bad again and needs: {all:?}");
    assert_eq!(all[2], all[0]);
    holds(&world, "r-retry-1");
}

#[test]
fn a_retry_uses_what_was_read_ahead_of_the_failure() {
    let steps = "
  - id: check
    uses: look
    input: {who: bad}
    config: {depends_on: []}
  - id: other
    uses: look
    input: {who: ada}
    config: {depends_on: []}
";
    let world = world("s", steps);
    assert_eq!(json(&world, &RUN)["status"], "failed");
    world.write("fixed", "");
    assert_eq!(json(&world, &["retry", "r"])["status"], "completed");
    let looked = lines(&world, "looked.log");
    assert_eq!(looked.iter().filter(|line| line.contains("ada")).count(), 1, "{looked:?}");
    assert!(!world.path(".hence/runs/r-retry-1/calls.ndjson").exists());
    holds(&world, "r-retry-1");
}

#[test]
fn a_run_that_cannot_be_retried_says_why() {
    let world = world("s", "\n  - id: pure\n    uses: number.sum\n    input: {values: [1, 2]}\n");
    assert_eq!(json(&world, &RUN)["status"], "completed");
    let report = json(&world, &["retry", "r"]);
    assert_eq!((&report["run"], &report["status"]), (&"r".into(), &"completed".into()));
    assert!(world.refused(&["retry", "nothing"]).contains("E0202"));
}

#[test]
fn a_run_of_which_only_parts_of_a_step_failed_is_not_retried_and_says_what_to_do() {
    let world = world("s", &LOOP.replace("parallel: 2}", "on_error: continue}"));
    assert_eq!(json(&world, &RUN)["status"], "partial");
    let before = sent(&world);
    let refused = world.refused(&["retry", "r"]);
    for part in [
        "E0313",
        "only parts of step mail failed",
        "item 1",
        "nothing was executed",
        "hence fork r --from mail",
    ] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    let forked = world.refused(&["fork", "r", "--from", "mail"]);
    assert!(forked.contains("E0312") && !forked.contains("hence retry"), "{forked}");
    let again = world.ask(&RUN);
    assert!(
        again.stderr.contains("already partial") && !again.stderr.contains("hence retry"),
        "{}",
        again.stderr
    );
    assert_eq!(sent(&world), before);
}

#[test]
fn a_fork_lists_the_calls_it_makes_again_and_asks() {
    let world = world("s", LOOP);
    world.write("fixed", "");
    assert_eq!(json(&world, &RUN)["status"], "completed");
    let refused = world.refused(&["fork", "r", "--from", "mail"]);
    for part in ["E0312", "step mail called send 3 times", "step last called send once", "--from", "--yes"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    assert!(!refused.contains("hence retry"), "nothing failed, so nothing can be retried: {refused}");
    assert_eq!(sent(&world).len(), 5);
    let report = json(&world, &["fork", "r", "--from", "last", "--yes"]);
    assert_eq!(report["status"], "completed");
    assert_eq!(sent(&world).len(), 6);
}

#[test]
fn a_rollback_says_which_calls_will_be_made_again() {
    let world = world("s", LOOP);
    assert_eq!(json(&world, &RUN)["status"], "failed");
    let ended = world.refused(&["rollback", "r", "initial_state", "--yes"]);
    assert!(ended.contains("E0503") && ended.contains("`hence retry r`"), "{ended}");
    world.cut("r", 1);
    let refused = world.refused(&["rollback", "r", "initial_state"]);
    assert!(refused.contains("E0312") && refused.contains("step first called send once"), "{refused}");
    assert_eq!(world.ask(&["rollback", "r", "initial_state", "--yes"]).code, 0);
}

#[test]
fn the_time_of_the_failed_run_counts_under_the_limit_of_its_retry() {
    let world = hence_testkit::cli::World::new();
    // The call takes longer than half of the limit, so that two of them exceed it.
    let capabilities = "capabilities:\n  slow: {description: Slow, provider: {kind: command, command: [/bin/sh, -c, \"cat >/dev/null; sleep 2.5; test -e ok && echo '{}'\"]}}\n  act: {description: Act, provider: {kind: command, command: [/bin/sh, -c, \"cat >/dev/null; echo x >> acted; echo '{}'\"]}}\n";
    let skill = "id: s\nversion: 1.0.0\nname: S\ndescription: D\ninputs: {}\noutputs: {}\ncapabilities: capabilities.yaml\nlimits: {seconds: 4}\nsteps:\n  - {id: one, uses: slow}\n  - {id: two, uses: act}\n";
    world.write("capabilities.yaml", capabilities).write("skill.yaml", skill);
    assert_eq!(world.ask(&["run", "skill.yaml", "--run-id", "r"]).code, 1);
    world.write("ok", "");
    let retried = world.ask(&["retry", "r"]);
    assert_eq!(retried.code, 1, "{}", retried.stderr);
    assert!(!world.path("acted").exists());
    let why = world.cli(&["why", "r-retry-1"]);
    assert!(why.contains("is 4 seconds"), "{why}");
}
