//! Every command that works on runs works on runs of `hence solve`.

use serde_json::json;

use crate::scripted::{arguments, json, model, server, world};

const TURNS: &[&str] = &[
    "First a look.\n```repl\nlines = context.split('\\n')\nprint(len(lines))\n```",
    "```repl\nfound = slice(6, 11)\nsaid = llm_query('Say it: ' + found)\nchild = rlm_query('CHILD', context='abc')\n```",
    "```repl\nFinal = said + child\n```",
];

fn sub(prompt: &str) -> String {
    format!("<{}>", prompt.trim_start_matches("Say it: "))
}

#[test]
fn a_run_is_listed_shown_verified_replayed_traced_and_forked() {
    use hence_testkit::model_server::{ModelServer, Said};
    let Some(world) = world() else { return };
    let server = ModelServer::answering(|asked| match crate::scripted::turn(asked) {
        None => Said::Text(sub(asked.last())),
        Some(_) if asked.first().starts_with("Question: CHILD") => {
            Said::Text("```repl\nFinal = context.upper()\n```".to_owned())
        }
        Some(turn) if asked.model == "other" && turn == 3 => {
            Said::Text("```repl\nFinal = 'other'\n```".to_owned())
        }
        Some(turn) => Said::Text(TURNS[turn - 1].to_owned()),
    });
    world.write("c.txt", "hello world\nbye\n");
    let model = model(&server);
    let report = json(&world, &arguments("What is said?", &["c.txt"], &model));
    assert_eq!(
        (&report["answer"], &report["turns"], &report["sub_calls"]),
        (&json!("<world>ABC"), &json!(3), &json!(2))
    );
    assert_eq!(
        report["citations"],
        json!([
            {"read_as": "part", "context": "context_0", "path": "c.txt", "item": null, "start": 6, "end": 11},
            // The first block splits the whole text.
            {"read_as": "value", "context": "context_0", "path": "c.txt", "item": null, "start": 0, "end": 16},
        ])
    );
    let asked = server.count();
    // The same command again is the same run.
    assert_eq!(json(&world, &arguments("What is said?", &["c.txt"], &model))["start"], "already_ended");
    for words in [
        &["log", "r"][..],
        &["show", "r", "1"],
        &["state", "r"],
        &["vars", "list", "r"],
        &["vars", "tree", "r"],
        &["vars", "history", "r"],
        &["blame", "r", "vars/Final#1"],
        &["why", "r"],
        &["runs"],
        &["stats", "r"],
        &["verify", "r"],
        &["replay", "r"],
        &["task", "r"],
        &["task", "r", "--document", "trajectory"],
        &["task", "r", "--document", "cost"],
        &["export", "r", "bundle"],
        &["doctor"],
    ] {
        let answer = world.ask(words);
        assert_eq!(answer.code, 0, "{words:?}: {}{}", String::from_utf8_lossy(&answer.stdout), answer.stderr);
    }
    let trace = world.ask(&["trace", "export", "r", "--out", "t.json"]);
    assert_eq!(trace.code, 0, "{}", trace.stderr);
    assert_eq!(world.ask(&["trace", "validate", "t.json"]).code, 0);
    assert_eq!(json(&world, &["vars", "get", "r", "said"])["value"], "<world>");
    let runs = json(&world, &["runs"]);
    let child = runs["runs"].as_array().unwrap().iter().find(|row| row["run"] != "r").unwrap();
    assert_eq!(child["parent"], "r", "{runs}");
    let graph = String::from_utf8(world.ask(&["runs", "--graph"]).stdout).unwrap();
    assert!(graph.contains("└─ r/"), "{graph}");
    let tree = String::from_utf8(world.ask(&["vars", "tree", "r"]).stdout).unwrap();
    assert!(tree.contains("r/"), "{tree}");
    assert_eq!(server.count(), asked, "no command asks a model");
    // Another model continues from a turn.
    let other = server.model(hence_testkit::providers::Voice::Anthropic, "other");
    let forked = json(&world, &["fork", "r", "--from", "3", "--model", &other, "--run-id", "f"]);
    assert_eq!(forked["answer"], "other", "{forked}");
    assert_eq!(server.count(), asked + 1, "shared turns are not asked again");
    assert_eq!(world.ask(&["verify", "f"]).code, 0, "{}", world.cli(&["verify", "f"]));
}

#[test]
fn a_run_that_stopped_is_named_rolled_back_and_continued() {
    use hence_testkit::model_server::{ModelServer, Said};
    let Some(world) = world() else { return };
    let server = ModelServer::answering(|asked| match crate::scripted::turn(asked) {
        Some(1) => Said::Text("```repl\na = 1\n```".to_owned()),
        Some(2) => Said::Text("```repl\na = 2\n```".to_owned()),
        _ if asked.number < 5 => Said::Error("401 Unauthorized", "no".to_owned()),
        _ => Said::Text("```repl\nFinal = a\n```".to_owned()),
    });
    world.write("c.txt", "text");
    let model = model(&server);
    let stopped = world.ask(&arguments("q", &["c.txt"], &model));
    assert_eq!(stopped.code, 5, "{}", stopped.stderr);
    assert!(stopped.stderr.contains("E0343"), "{}", stopped.stderr);
    assert_eq!(world.ask(&["checkpoint", "r", "here", "--at", "2"]).code, 0, "{}", world.cli(&["log", "r"]));
    let back = world.ask(&["rollback", "r", "here"]);
    assert_eq!(back.code, 0, "{}", back.stderr);
    let mut last = world.ask(&["resume", "r", "--json"]);
    for _ in 0..5 {
        if last.code == 0 {
            break;
        }
        last = world.ask(&["resume", "r", "--json"]);
    }
    let report: serde_json::Value = serde_json::from_slice(&last.stdout).unwrap();
    assert_eq!(report["answer"], 2, "{}", last.stderr);
    let late = world.ask(&["rollback", "r", "here"]);
    assert!(late.code != 0 && late.stderr.contains("hence fork r --from TURN"), "{}", late.stderr);
    assert_eq!(world.ask(&["verify", "r"]).code, 0, "{}", world.cli(&["verify", "r"]));
    assert_eq!(world.ask(&["replay", "r"]).code, 0, "{}", world.cli(&["replay", "r"]));
}

#[test]
fn prices_and_limits_of_money_are_exact() {
    let Some(world) = world() else { return };
    let server = server(&["```repl\nFinal = llm_query('x')\n```"], |_| "y".to_owned());
    world.write("c.txt", "text");
    let model = model(&server);
    let priced =
        [&arguments("q", &["c.txt"], &model)[..], &["--price", "USD:2.50:10", "--max-cost", "1USD"]].concat();
    let report = json(&world, &priced);
    // 20 tokens sent; one received for each byte of both replies.
    let received = "```repl\nFinal = llm_query('x')\n```".len() as u64 + 1;
    let expected = 20 * 25 + received * 100;
    assert_eq!(report["usage"]["cost"][0]["amount"], format!("0.{expected:0>7}").trim_end_matches('0'));
    let poor = [
        "solve",
        "q",
        "--model",
        &model,
        "--context",
        "c.txt",
        "--price",
        "USD:2.50:10",
        "--max-cost",
        "0.0001USD",
        "--run-id",
        "poor",
    ];
    let answer = world.ask(&poor);
    assert_eq!(answer.code, 1, "{}", answer.stderr);
    assert!(
        String::from_utf8_lossy(&answer.stdout).contains("cost"),
        "{}",
        String::from_utf8_lossy(&answer.stdout)
    );
}

#[test]
fn parts_taken_with_brackets_are_cited_and_a_text_of_any_size_has_them() {
    let Some(world) = world() else { return };
    let server = server(
        &[
            "```repl\nfirst = context[2:5]\nlast = context[-3:]\nsize = len(context)\nat = context.find('needle')\n```\n```repl\nFinal = [first, last, size, at, context[at:at + 6], context[0]]\n```",
        ],
        |_| String::new(),
    );
    let model = model(&server);
    // The second text is too large to be a str of the interpreter.
    for (run, size) in [("small", 1000), ("large", 17_000_000)] {
        let mut text = "abcdefgh".repeat(size / 8);
        text.replace_range(400..406, "needle");
        world.write("c.txt", text);
        let words = ["solve", "q", "--model", &model, "--context", "c.txt", "--run-id", run, "--json"];
        let answer = world.ask(&words);
        let report: serde_json::Value = serde_json::from_slice(&answer.stdout).unwrap();
        let size = size / 8 * 8;
        assert_eq!(
            report["answer"],
            json!(["cde", "fgh", size, 400, "needle", "a"]),
            "{run}: {}",
            answer.stderr
        );
        let parts: Vec<_> =
            report["citations"].as_array().unwrap().iter().filter(|row| row["read_as"] == "part").collect();
        let places: Vec<_> =
            parts.iter().map(|row| (row["start"].as_u64().unwrap(), row["end"].as_u64().unwrap())).collect();
        let size = size as u64;
        assert_eq!(places, [(0, 1), (2, 5), (400, 406), (size - 3, size)], "{run}");
        // `find` of a str says nothing about the parts; that of a large text is a search of the host.
        let whole = report["citations"].as_array().unwrap().iter().any(|row| row["read_as"] == "value");
        assert_eq!(whole, run == "small");
        assert_eq!(world.ask(&["replay", run]).code, 0, "{}", world.cli(&["replay", run]));
    }
    let asks_for_all = crate::scripted::server(
        &[
            "```repl\ntry:\n    words = context.split()\nexcept MemoryError as error:\n    Final = str(error)\n```",
        ],
        |_| String::new(),
    );
    let model = crate::scripted::model(&asks_for_all);
    let report = json(&world, &["solve", "q", "--model", &model, "--context", "c.txt", "--run-id", "all"]);
    assert!(report["answer"].as_str().unwrap().contains("context_0[a:b]"), "{report}");
}

#[test]
fn names_of_python_that_a_block_takes_do_not_stop_the_run() {
    let Some(world) = world() else { return };
    let server = server(
        &[
            "```repl\nlist = [1, 2]\ntype = 'x'\nstr = 5\n```\n```repl\n__py_list = 7\nlost = 1\n```",
            "```repl\nFinal = [list, type, str]\n```",
        ],
        |_| String::new(),
    );
    world.write("c.txt", "text");
    let model = model(&server);
    let report = json(&world, &arguments("q", &["c.txt"], &model));
    assert_eq!(report["answer"], json!([[1, 2], "x", 5]), "{report}");
    let names = world.cli(&["vars", "list", "r"]);
    assert!(!names.contains("lost"), "{names}");
    assert_eq!(world.ask(&["replay", "r"]).code, 0, "{}", world.cli(&["replay", "r"]));
}

#[test]
fn documents_add_up_for_every_model() {
    let Some(world) = world() else { return };
    let server =
        server(&["no code", "```repl\nFinal = llm_query('x') + llm_query('x')\n```"], |_| "y".to_owned());
    world.write("c.txt", "text");
    let (model, other) = (model(&server), server.model(hence_testkit::providers::Voice::Anthropic, "small"));
    let words = [
        &arguments("q", &["c.txt"], &model)[..],
        &["--sub-model", &other, "--price", "USD:2.50:10", "--max-cost", "1USD", "--max-tokens", "1000000"],
    ]
    .concat();
    assert_eq!(json(&world, &words)["answer"], "yy");
    let document = |kind: &str| -> serde_json::Value {
        let answer = world.ask(&["task", "r", "--document", kind]);
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        serde_json::from_slice(&answer.stdout).unwrap()
    };
    let cost = document("cost");
    let models: Vec<_> = cost["records"].as_array().unwrap().iter().map(|row| row["model"].clone()).collect();
    assert_eq!(models.len(), 2, "{cost}");
    assert!(cost["aggregates"]["by_model"][&other]["tokens_in"].as_u64().unwrap() > 0, "{cost}");
    assert_eq!((&cost["budget"]["status"], &cost["budget"]["budget_usd_exact"]), (&json!("ok"), &json!("1")));
    let trajectory = document("trajectory");
    let statuses: Vec<_> = trajectory["iterations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["observation"]["status"].clone())
        .collect();
    assert_eq!(statuses, [json!("failure"), json!("success")], "{trajectory}");
    assert_eq!(trajectory["outcome"]["completion_reason"], "Final_set");
}

#[test]
fn the_model_that_answered_is_on_record_and_shown_with_what_it_was_sent() {
    let Some(world) = world() else { return };
    let server = server(&["no code", "```repl\nFinal = llm_query('say y')\n```"], |_| "y".to_owned());
    world.write("c.txt", "text");
    let model = model(&server);
    let words = [&arguments("What is said?", &["c.txt"], &model)[..], &["--temperature", "0.5"]].concat();
    assert_eq!(json(&world, &words)["answer"], "y");
    // The second turn: parameters, system prompt, conversation, raw reply, and what the endpoint stated about it.
    let turn = json(&world, &["show", "r", "2"]);
    let output = &turn["record"]["result"]["output"];
    assert_eq!((&output["answered_by"], &output["finish_reason"]), (&json!("m-1"), &json!("stop")), "{turn}");
    let exchange = &turn["exchanges"][0]["exchange"];
    assert_eq!(exchange["parameters"]["model"], "m", "{turn}");
    assert_eq!(exchange["parameters"]["temperature"], 0.5, "{turn}");
    assert!(exchange["system"].as_str().unwrap().contains("Final"), "{turn}");
    let messages = exchange["messages"].as_array().unwrap();
    assert_eq!(messages[1]["content"], "no code", "{turn}");
    let request = &exchange["requests"][0];
    assert_eq!((&request["model"], &request["finish_reason"]), (&json!("m-1"), &json!("stop")), "{turn}");
    assert!(request["text"].as_str().unwrap().contains("llm_query"), "{turn}");
    let call = json(&world, &["show", "r", "3"]);
    assert_eq!(call["record"]["result"]["output"]["answered_by"], "m-1", "{call}");
    let exchange = &call["exchanges"][0]["exchange"];
    assert_eq!(exchange["messages"][0]["content"], "say y", "{call}");
    assert_eq!(exchange["requests"][0]["text"], "y", "{call}");
    let text = world.cli(&["show", "r", "2"]);
    assert!(text.contains("model m-1, finish_reason stop"), "{text}");
    let trace = world.ask(&["trace", "export", "r", "--out", "t.json"]);
    assert_eq!(trace.code, 0, "{}", trace.stderr);
    let trace: serde_json::Value = serde_json::from_slice(&world.read("t.json")).unwrap();
    let stated: Vec<_> = trace["actions"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|action| action["result"]["answered_by"] == "m-1")
        .collect();
    assert_eq!(stated.len(), 3, "{trace}");
    assert!(stated.iter().all(|action| action["request"]["parameters"]["temperature"] == 0.5), "{stated:#?}");
    assert_eq!(world.ask(&["trace", "validate", "t.json"]).code, 0);
}

#[test]
fn a_journal_that_names_no_answering_model_replays_as_it_is() {
    use hence_testkit::model_server::{ModelServer, Said};
    let Some(world) = world() else { return };
    let server = ModelServer::answering(|asked| {
        let text = if crate::scripted::turn(asked).is_some() {
            "```repl\\nFinal = llm_query('x')\\n```"
        } else {
            "y"
        };
        // An endpoint that states neither a model nor a reason leaves the members out.
        Said::Malformed(format!(
            r#"{{"choices": [{{"index": 0, "message": {{"role": "assistant", "content": "{text}"}}}}]}}"#
        ))
    });
    world.write("c.txt", "text");
    let model = model(&server);
    assert_eq!(json(&world, &arguments("q", &["c.txt"], &model))["answer"], "y");
    let output = json(&world, &["show", "r", "1"])["record"]["result"]["output"].clone();
    assert!(output.get("answered_by").is_none() && output.get("finish_reason").is_none(), "{output}");
    assert_eq!(world.ask(&["replay", "r"]).code, 0, "{}", world.cli(&["replay", "r"]));
    assert_eq!(world.ask(&["verify", "r"]).code, 0, "{}", world.cli(&["verify", "r"]));
}

#[test]
fn an_altered_or_missing_system_prompt_is_named() {
    let Some(world) = world() else { return };
    let server = server(&["```repl\nFinal = 1\n```"], |_| String::new());
    world.write("c.txt", "text");
    let model = model(&server);
    assert_eq!(json(&world, &arguments("q", &["c.txt"], &model))["answer"], 1);
    assert_eq!(world.ask(&["verify", "r"]).code, 0);
    let file = ".hence/runs/r/system.md";
    let honest = world.read(file);
    let said = |expected: &str| {
        for words in [&["verify", "r"][..], &["verify", "--all"], &["doctor"]] {
            let answer = world.ask(words);
            let text = String::from_utf8_lossy(&answer.stdout).into_owned();
            assert_eq!(answer.code, 1, "{words:?}: {text}{}", answer.stderr);
            assert!(text.contains("system.md") && text.contains(expected), "{words:?}: {text}");
        }
    };
    world.write(file, [&honest[..], b" Obey me."].concat());
    said("is not the system prompt that the problem pins");
    std::fs::remove_file(world.path(file)).unwrap();
    said("is missing");
    world.write(file, &honest);
    assert_eq!(world.ask(&["verify", "r"]).code, 0);
}
