//! Limits hold whatever code and endpoints do, and a run that a limit ended is continued by a fork.

use serde_json::json;

use crate::scripted::{arguments, json, model, server, turn, world};
use hence_testkit::endpoint::Reaction;
use hence_testkit::model_server::{ModelServer, Said};
use hence_testkit::providers::{Voice, json_reply};

/// Returns a command that asks about `c.txt` in a run of this name.
fn asking<'a>(model: &'a str, run: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = ["solve", "q", "--model", model, "--context", "c.txt", "--run-id", run];
    [&words[..], more].concat()
}

#[test]
fn a_block_that_asks_its_host_for_ever_is_ended_by_the_seconds_of_the_run() {
    let Some(world) = world() else { return };
    let server = server(&["I look.\n```repl\nwhile True: slice(0, 1)\n```"], |_| String::new());
    world.write("c.txt", "text");
    let model = model(&server);
    for (option, limit) in
        [("--max-seconds", "seconds"), ("--max-interpreter-seconds", "interpreter_seconds")]
    {
        let words = asking(&model, limit, &[option, "1", "--block-milliseconds", "3600000"]);
        let report = json(&world, &words);
        assert_eq!((&report["limit"]["name"], &report["partial_answer"]), (&json!(limit), &json!("I look.")));
        assert_eq!(world.ask(&["verify", limit]).code, 0, "{}", world.cli(&["verify", limit]));
        assert_eq!(world.ask(&["replay", limit]).code, 0, "{}", world.cli(&["replay", limit]));
    }
}

#[test]
fn a_call_under_way_is_given_up_when_the_seconds_of_the_run_are_over() {
    let Some(world) = world() else { return };
    let server = ModelServer::answering(|asked| {
        let question = asked.first().lines().next().unwrap_or_default().to_owned();
        match (turn(asked), question.as_str()) {
            (Some(1), "Question: sub") => Said::Text("I ask.\n```repl\nx = llm_query('x')\n```".to_owned()),
            (Some(1), "Question: batch") => {
                Said::Text("I ask.\n```repl\nx = llm_query_batched(['now', 'never'])\n```".to_owned())
            }
            (Some(1), _) => Said::Text("I ask.".to_owned()),
            (None, "now") => Said::Text("y".to_owned()),
            _ => Said::Nothing,
        }
    });
    world.write("c.txt", "text");
    let model = model(&server);
    // A reply that came before the time was over is paid for, so it is recorded.
    for (run, sub_calls) in [("turn", 0), ("sub", 0), ("batch", 1)] {
        let words =
            ["solve", run, "--model", &model, "--context", "c.txt", "--run-id", run, "--max-seconds", "2"];
        let report = json(&world, &words);
        assert_eq!(
            (&report["limit"]["name"], &report["partial_answer"]),
            (&json!("seconds"), &json!("I ask."))
        );
        assert_eq!(report["sub_calls"], sub_calls, "{report}");
        assert_eq!(world.ask(&["verify", run]).code, 0, "{}", world.cli(&["verify", run]));
        assert_eq!(world.ask(&["replay", run]).code, 0, "{}", world.cli(&["replay", run]));
    }
}

#[test]
fn a_call_that_a_deadline_cut_off_is_asked_again_under_its_key() {
    let Some(world) = world() else { return };
    let server = ModelServer::answering(|asked| match turn(asked) {
        Some(_) => Said::Text("```repl\nFinal = llm_query('x')\n```".to_owned()),
        None if asked.number == 1 => Said::Nothing,
        None => Said::Text("y".to_owned()),
    });
    world.write("c.txt", "text");
    let model = model(&server);
    let stopped = world.ask(&[&arguments("q", &["c.txt"], &model)[..], &["--deadline", "1"]].concat());
    assert_ne!(stopped.code, 0, "{}", stopped.stderr);
    assert!(stopped.stderr.contains("deadline"), "{}", stopped.stderr);
    assert_eq!(json(&world, &["resume", "r"])["answer"], "y");
    let asked = server.asked();
    let key = |number: usize| asked[number].request.header("idempotency-key").map(str::to_owned);
    assert_eq!((asked.len(), key(1)), (3, key(2)));
    assert!(key(1).is_some());
}

#[test]
fn limits_on_tokens_and_money_hold_where_nobody_reports_a_usage() {
    let Some(world) = world() else { return };
    let server = ModelServer::answering(|asked| {
        let mut body = match asked.voice.whole("I think.") {
            Reaction::Reply { body, .. } => serde_json::from_str::<serde_json::Value>(&body).unwrap(),
            _ => panic!("a whole reply has a body"),
        };
        body["usage"] = json!({"prompt_tokens": -5, "completion_tokens": null});
        Said::Reaction(json_reply("200 OK", body.to_string()))
    });
    world.write("c.txt", "text");
    let model = model(&server);
    for (run, option, amount) in [("tokens", "--max-tokens", "30000"), ("cost", "--max-cost", "0.03USD")] {
        let words = asking(&model, run, &[option, amount, "--price", "USD:1:1"]);
        let report = json(&world, &words);
        assert_eq!(report["limit"]["name"], run, "{report}");
        let (turns, usage) = (report["turns"].as_u64().unwrap(), &report["usage"]);
        assert!((1..10).contains(&turns), "{report}");
        assert_eq!(usage["unreported_calls"], turns, "{report}");
        assert!(
            usage["tokens_in"].as_u64().unwrap() > 1000 && usage["tokens_out"] == turns * 4096,
            "{report}"
        );
        let cost = world.ask(&["task", run, "--document", "cost"]);
        let cost: serde_json::Value = serde_json::from_slice(&cost.stdout).unwrap();
        assert_eq!(cost["aggregates"]["unreported_calls"], turns, "{cost}");
        assert_eq!(cost["records"][0]["unreported_calls"], turns, "{cost}");
        let shown = world.cli(&["why", run]);
        assert!(world.ask(&["verify", run]).code == 0, "{shown}");
        let again = String::from_utf8(world.ask(&words).stdout).unwrap();
        assert!(again.contains("at most ") && again.contains("not reported"), "{again}");
    }
}

#[test]
fn a_run_that_a_limit_ended_is_continued_by_the_command_that_why_names() {
    let Some(world) = world() else { return };
    let server = ModelServer::answering(|asked| match turn(asked) {
        Some(5) => Said::Text("```repl\nFinal = [a, b]\n```".to_owned()),
        Some(turn) => Said::Text(format!("Turn {turn}.\n```repl\na = {turn}\nb = llm_query('x')\n```")),
        None => Said::Text("y".to_owned()),
    });
    world.write("c.txt", "text");
    let model = model(&server);
    let report = json(&world, &[&arguments("q", &["c.txt"], &model)[..], &["--max-turns", "2"]].concat());
    assert_eq!(report["limit"]["name"], "turns");
    let next = json(&world, &["why", "r"]).to_string();
    assert!(
        next.contains("hence fork r --from end --max-turns 4") && !next.contains("hence retry"),
        "{next}"
    );
    let retried = world.ask(&["retry", "r"]);
    assert!(retried.code != 0 && retried.stderr.contains("hence fork r --from end"), "{}", retried.stderr);
    let asked = server.count();
    let forked = json(&world, &["fork", "r", "--from", "end", "--max-turns", "4", "--run-id", "f"]);
    assert_eq!((&forked["limit"]["name"], &forked["turns"]), (&json!("turns"), &json!(4)));
    assert_eq!(server.count(), asked + 2, "shared turns and their sub-calls are not asked again");
    // A fork of the fork shares requests that name two different numbers of turns.
    let again = json(&world, &["fork", "f", "--from", "end", "--max-turns", "6", "--run-id", "g"]);
    assert_eq!(again["answer"], json!([4, "y"]), "{again}");
    for run in ["f", "g"] {
        assert_eq!(world.ask(&["verify", run]).code, 0, "{}", world.cli(&["verify", run]));
        assert_eq!(world.ask(&["replay", run]).code, 0, "{}", world.cli(&["replay", run]));
    }
    assert_eq!(world.ask(&["fork", "g", "--from", "end", "--run-id", "h"]).code, 1);
}

#[test]
fn advice_about_an_ended_run_names_commands_that_work() {
    let Some(world) = world() else { return };
    let server = server(&["```repl\na = 1\n```", "```repl\nFinal = a\n```"], |_| String::new());
    world.write("c.txt", "text");
    let model = model(&server);
    assert_eq!(json(&world, &arguments("q", &["c.txt"], &model))["answer"], 1);
    let trace = world.ask(&["trace", "export", "r", "--out", "t.json"]);
    assert_eq!(trace.code, 0, "{}", trace.stderr);
    let trace: serde_json::Value = serde_json::from_slice(&world.read("t.json")).unwrap();
    assert!(trace.to_string().contains(&format!("\"model\":{}", json!(model))), "{trace}");
    std::fs::remove_file(world.path("c.txt")).unwrap();
    let replayed = world.ask(&["replay", "r"]);
    assert!(replayed.code != 0 && replayed.stderr.contains("hence replay r"), "{}", replayed.stderr);
    assert!(!replayed.stderr.contains("resume RUN"), "{}", replayed.stderr);
}

#[test]
fn each_child_that_was_altered_is_named() {
    let Some(world) = world() else { return };
    let server = ModelServer::answering(|asked| match asked.first().starts_with("Question: part") {
        true => Said::Text("```repl\nFinal = context\n```".to_owned()),
        false => Said::Text("```repl\nFinal = rlm_query_batched(['part a', 'part b'])\n```".to_owned()),
    });
    world.write("c.txt", "text");
    let model = server.model(Voice::OpenAi, "m");
    assert_eq!(json(&world, &arguments("q", &["c.txt"], &model))["answer"], json!(["part a", "part b"]));
    let links = || -> Vec<(String, String)> {
        let report = json(&world, &["verify", "r"]);
        let rows = report["links"].as_array().unwrap().iter();
        let text = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap().to_owned();
        rows.map(|row| (text(row, "run"), text(row, "verdict"))).collect()
    };
    let found = |run: &str, verdict: &str| (run.to_owned(), verdict.to_owned());
    assert_eq!(links(), [found("r/2", "holds")]);
    let second = world.journal("r%2f3");
    // The first child gets the records of the second one.
    world.set_journal("r%2f2", &second);
    assert_eq!(links(), [found("r/3", "holds"), found("r/2", "broken")]);
    world.cut("r%2f3", 1);
    assert_eq!(links(), [found("r/2", "broken"), found("r/3", "broken")]);
}
