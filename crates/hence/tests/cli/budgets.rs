//! Limits bind: a call that might exceed one is not made.

use hence_testkit::cli::{World, verified};
use serde_json::{Value, json};

const CAPABILITIES: &str = "\
capabilities:
  note.down:
    description: Leave a line
    effects: reads
    max_cost: {amount: '0.10', currency: USD}
    max_tokens: 100
    input: {type: object}
    output: {type: object}
    provider: {kind: command, command: [sh, -c, 'cat >>calls; echo >>calls; echo \"{}\"']}
  pay.out:
    description: Leave a line
    effects: writes
    input: {type: object}
    output: {type: object}
    provider: {kind: command, command: [sh, -c, 'cat >>calls; echo >>calls; echo \"{}\"']}
";

fn skill(id: &str, more: &str, steps: &str) -> String {
    format!(
        "id: {id}\nversion: 1.0.0\nname: n\ndescription: d\ninputs: {{items: {{type: array}}}}\noutputs: {{}}\n{more}\nsteps:\n{steps}"
    )
}

const EACH: &str = "  - id: each\n    uses: note.down\n    input: {}\n    output: {}\n    \
    config: {foreach: {items: inputs.items, as: n, parallel: 3}}\n";

fn world(skill: &str) -> World {
    let world = World::new();
    world.write("capabilities.yaml", CAPABILITIES).write("skill.yaml", skill);
    world
}

fn run(world: &World, more: &[&str]) -> (i32, Value) {
    let fixed = [
        "run",
        "skill.yaml",
        "--input",
        "items=[1, 2, 3, 4, 5]",
        "--capabilities",
        "capabilities.yaml",
        "--json",
    ];
    let answer = world.ask(&[&fixed, more].concat());
    assert!(!answer.stdout.is_empty(), "{}", answer.stderr);
    (answer.code, answer.json())
}

fn json_of(world: &World, arguments: &[&str]) -> Value {
    let answer = world.ask(&[arguments, &["--json"]].concat());
    assert!(!answer.stdout.is_empty(), "{}", answer.stderr);
    answer.json()
}

fn calls(world: &World) -> Vec<String> {
    let text = std::fs::read_to_string(world.path("calls")).unwrap_or_default();
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn a_limit_of_calls_stops_a_loop_before_the_call_that_exceeds_it() {
    for _ in 0..3 {
        let world = world(&skill("s", "", EACH));
        let (code, report) = run(&world, &["--run-id", "r", "--max-calls", "3"]);
        assert_eq!((code, &report["failure"]["code"]), (1, &json!("budget_exceeded")), "{report}");
        let message = report["failure"]["message"].as_str().unwrap();
        let expected =
            "step `each` failed: the limit of the run is 3 calls: 3 were made, `note.down` is one more";
        assert!(message.starts_with(expected) && message.contains("item"), "{message}");
        // The items that were called do not depend on timing.
        let mut made = calls(&world);
        made.sort();
        assert_eq!(made, [r#"{"n":1}"#, r#"{"n":2}"#, r#"{"n":3}"#]);
        assert_eq!((&report["usage"]["calls"], &report["usage"]["limits"]["calls"]), (&json!(3), &json!(3)));
        assert_eq!(world.ask(&["verify", "r"]).code, 0, "{}", world.cli(&["verify", "r"]));
        assert_eq!(world.ask(&["replay", "r"]).code, 0);
        assert_eq!(json_of(&world, &["stats", "r"])["usage"], report["usage"]);
        let trace = json_of(&world, &["trace", "export", "r"]);
        let about = &trace["derived_from_journal"];
        assert_eq!((&about["usage"]["calls"], &about["limits"]["calls"]), (&json!(3), &json!(3)), "{about}");
        // The limit is part of what was asked for.
        let other =
            ["run", "skill.yaml", "--input", "items=[1, 2, 3, 4, 5]", "--capabilities", "capabilities.yaml"];
        let other = [&other[..], &["--run-id", "r", "--max-calls", "9"]].concat();
        assert!(world.refused(&other).contains("E0204"));
    }
}

#[test]
fn a_limit_that_is_reached_exactly_is_kept() {
    let world = world(&skill("s", "", EACH));
    let (code, report) = run(
        &world,
        &["--max-calls", "5", "--max-cost", "0.50USD", "--max-tokens", "500", "--max-seconds", "3600"],
    );
    assert_eq!((code, calls(&world).len()), (0, 5), "{report}");
    let limits =
        json!({"calls": 5, "tokens": 500, "cost": [{"amount": "0.5", "currency": "USD"}], "seconds": 3600});
    assert_eq!(report["usage"]["limits"], limits);
    let text = world.ask(&["stats", report["run"].as_str().unwrap()]);
    assert!(String::from_utf8_lossy(&text.stdout).contains("5 calls of 5"), "{}", text.stderr);
}

#[test]
fn declared_maxima_of_tokens_and_cost_bind_before_the_call() {
    for (limit, message) in [
        (
            ["--max-tokens", "99"],
            "the limit of the run is 99 tokens: 0 were used, `note.down` may need 100 more",
        ),
        (
            ["--max-cost", "0.09USD"],
            "the limit of the run is 0.09 USD: 0 was spent, `note.down` may cost 0.1 more",
        ),
        (["--max-cost", "9EUR"], "the limit of the run is 9 EUR, and `note.down` may cost 0.1 USD"),
        (["--max-calls", "0"], "the limit of the run is 0 calls: 0 were made, `note.down` is one more"),
        (["--max-seconds", "0"], "the limit of the run is 0 seconds, and they are over"),
    ] {
        let world = world(&skill("s", "", EACH));
        let (code, report) = run(&world, &limit);
        assert_eq!((code, calls(&world).len()), (1, 0), "{limit:?}");
        assert!(report["steps"][0]["error"].as_str().unwrap().starts_with(message), "{report}");
    }
}

#[test]
fn the_limits_of_skill_step_and_nested_skill_bind_their_own_calls() {
    let limited = EACH.replace("parallel: 3}}", "parallel: 3}, limits: {calls: 2}}");
    for (skill_limits, steps, made, whose) in [
        ("limits: {calls: 4}", EACH.to_owned(), 4, "the run is 4 calls"),
        ("limits: {calls: 4}", limited, 2, "step `each` is 2 calls"),
    ] {
        let world = world(&skill("s", skill_limits, &steps));
        let (code, report) = run(&world, &["--max-calls", "100"]);
        assert_eq!((code, calls(&world).len()), (1, made));
        assert!(report["failure"]["message"].as_str().unwrap().contains(whose), "{report}");
    }
    // A nested skill has its limit in each of its runs; the run counts them all.
    let twice = "  - {id: a, uses: 'skill:inner', input: {items: inputs.items}, output: {}}\n  \
        - {id: b, uses: 'skill:inner', input: {items: inputs.items}, output: {}}\n";
    for (inner, limit, made, whose) in [
        ("limits: {calls: 5}", "100", 10, ""),
        ("limits: {calls: 4}", "100", 4, "skill `inner` is 4 calls"),
        ("", "7", 7, "the run is 7 calls"),
    ] {
        let world = world(&skill("outer", "skills: inner.yaml", twice));
        world.write("inner.yaml", skill("inner", inner, EACH));
        let (code, report) = run(&world, &["--max-calls", limit, "--run-id", "r"]);
        assert_eq!((code == 0, calls(&world).len()), (whose.is_empty(), made), "{report}");
        assert_eq!(report["usage"]["calls"], made);
        if !whose.is_empty() {
            assert_eq!(report["failure"]["code"], "budget_exceeded");
            assert!(report["failure"]["message"].as_str().unwrap().contains(whose), "{report}");
        }
        assert_eq!(world.ask(&["verify", "r"]).code, 0, "{}", world.cli(&["verify", "r"]));
    }
}

#[test]
fn neither_retries_nor_lenient_loops_get_around_a_limit() {
    let lenient = EACH.replace("parallel: 3", "parallel: 3, on_error: continue");
    let world = world(&skill("s", "", &lenient));
    let (code, report) = run(&world, &["--max-calls", "2"]);
    assert_eq!((code, calls(&world).len(), &report["failure"]["code"]), (1, 2, &json!("budget_exceeded")));
    let retried = "  - id: pay\n    uses: pay.out\n    input: {}\n    output: {}\n    \
        config: {retry: {max_attempts: 5, backoff_seconds: 0, on: [CapabilityExecution]}, recovery: retry}\n";
    let world = self::world(&skill("s", "", retried));
    world.write("capabilities.yaml", CAPABILITIES.replace("echo \"{}\"", "exit 3"));
    let (code, report) = run(&world, &["--max-calls", "2"]);
    assert_eq!((code, calls(&world).len()), (1, 2), "{report}");
    assert_eq!(report["failure"]["code"], "budget_exceeded");
}

#[test]
fn a_resumed_run_counts_what_was_used_before() {
    let steps = format!(
        "{EACH}  - id: ask\n    uses: human.ask\n    input: {{question: Go on?, type: string}}\n    \
         output: {{}}\n  - id: more\n    uses: note.down\n    input: {{}}\n    output: {{}}\n    \
         config: {{foreach: {{items: inputs.items, as: n, parallel: 3}}}}\n"
    );
    let world = world(&skill("s", "", &steps));
    let (code, _) = run(&world, &["--run-id", "r", "--max-calls", "7"]);
    assert_eq!((code, calls(&world).len()), (3, 5));
    let answer = world.ask(&["answer", "r", "ask", "--value", "\"yes\"", "--resume", "--json"]);
    assert_eq!((answer.code, calls(&world).len()), (1, 7), "{}", answer.stderr);
    assert_eq!(answer.json()["usage"]["calls"], 7);
    // A resumed run can be limited further, not less.
    let world = self::world(&skill("s", "", &steps));
    run(&world, &["--run-id", "r", "--max-calls", "7"]);
    assert_eq!(world.ask(&["answer", "r", "ask", "--value", "\"yes\""]).code, 0);
    let answer = world.ask(&["resume", "r", "--max-calls", "6", "--json"]);
    assert_eq!((answer.code, calls(&world).len()), (1, 6), "{}", answer.stderr);
}

#[test]
fn the_bound_steps_of_a_problem_are_limited_as_well() {
    let problem = json!({"version": "1.0.0", "id": "p", "created_at": "2026-02-02T00:00:00Z",
        "inputs": {"prompt": "Why?", "goals": ["a"]},
        "settings": {"bindings": {"AcquireEvidence": {"capability": "look.up"}, "Synthesize": {"capability": "write.up"}}}});
    let capabilities = "\
capabilities:
  look.up:
    description: d
    effects: reads
    max_cost: {amount: '1', currency: USD}
    provider: {kind: command, command: [sh, -c, 'cat >/dev/null; echo x >>calls; echo \"{\\\"evidence\\\": [{\\\"a\\\": 1}]}\"']}
  write.up:
    description: d
    effects: reads
    max_cost: {amount: '1', currency: USD}
    provider: {kind: command, command: [sh, -c, 'cat >/dev/null; echo x >>calls; echo \"{\\\"summary\\\": \\\"s\\\"}\"']}
";
    let run = |more: &[&str], limits: Option<Value>| {
        let world = World::new();
        let mut problem = problem.clone();
        if let Some(limits) = limits {
            problem["settings"]["limits"] = limits;
        }
        world.write("problem.json", verified(problem).to_string()).write("capabilities.yaml", capabilities);
        let fixed = ["run", "problem.json", "--capabilities", "capabilities.yaml", "--json"];
        let answer = world.ask(&[&fixed, more].concat());
        (world, answer)
    };
    let (world, answer) = run(&["--max-calls", "2"], None);
    assert_eq!((answer.code, calls(&world).len()), (0, 2), "{}", answer.stderr);
    assert_eq!(answer.json()["usage"]["calls"], 2);
    for (more, limits) in [
        (&["--max-calls", "1"][..], None),
        (&[], Some(json!({"calls": 1}))),
        (&["--max-calls", "5"], Some(json!({"calls": 1}))),
    ] {
        let (world, answer) = run(more, limits);
        assert_eq!((answer.code, calls(&world).len()), (1, 1), "{}", answer.stderr);
        let report = answer.json();
        assert_eq!(report["errors"][0]["code"], "budget_exceeded", "{report}");
        assert_eq!(world.ask(&["verify", "p"]).code, 0, "{}", world.cli(&["verify", "p"]));
        assert_eq!(json_of(&world, &["stats", "p"])["usage"]["limits"]["calls"], 1);
    }
    let (world, _) = run(&["--max-cost", "0.99USD"], None);
    assert_eq!(calls(&world).len(), 0);
    let (world, answer) = run(&[], Some(json!({"cals": 1})));
    assert_eq!((answer.code, calls(&world).len()), (1, 0));
    assert!(answer.stderr.contains("limits/cals"), "{}", answer.stderr);
}

#[test]
fn malformed_limits_are_findings() {
    for wrong in ["limits: {calls: -1}", "limits: {cost: 1.5}", "limits: {tokenz: 1}", "limits: 5"] {
        let world = world(&skill("s", wrong, EACH));
        let answer = world.ask(&["check", "skill.yaml", "--capabilities", "capabilities.yaml"]);
        assert_eq!(answer.code, 1, "{wrong}");
        assert!(String::from_utf8_lossy(&answer.stdout).contains("limits"), "{wrong}: {}", answer.stderr);
    }
    let world = world(&skill("s", "", EACH));
    for wrong in [["--max-cost", "1.5"], ["--max-calls", "many"]] {
        let answer = world.ask(&[&["run", "skill.yaml", "--input", "items=[]"], &wrong[..]].concat());
        assert_eq!(answer.code, 2, "{}", answer.stderr);
    }
}

#[cfg(feature = "models")]
mod models {
    use hence_testkit::endpoint::Endpoint;
    use hence_testkit::providers::Voice;

    use super::*;

    fn asking(url: &str, price: &str) -> World {
        let world = world(&skill("s", "", &EACH.replace("note.down", "ask.model")));
        world.write(
            "capabilities.yaml",
            format!(
                "capabilities:\n  ask.model:\n    description: Ask\n    effects: reads\n    provider:\n      kind: llm\n      \
                 api: openai\n      model: m-1\n      endpoint: {url}\n      stream: false\n      repairs: 0\n      \
                 max_tokens: 1000\n      {price}\n      prompt: 'Say {{{{n}}}}'\n"
            ),
        );
        world
    }

    const PRICE: &str = "price: {currency: USD, input: 1, output: 2}";

    #[test]
    fn the_cost_of_a_loop_is_the_exact_sum_of_its_calls() {
        let endpoint = Endpoint::with((0..5).map(|_| Voice::OpenAi.whole("ok")).collect());
        let world = asking(&endpoint.url(), PRICE);
        let (code, report) = run(&world, &["--run-id", "r"]);
        assert_eq!(code, 0, "{report}");
        let one: u64 = report["usage"]["tokens_in"].as_u64().unwrap() / 5;
        let out: u64 = report["usage"]["tokens_out"].as_u64().unwrap() / 5;
        let micro = 5 * (one + 2 * out);
        let amount = format!("0.{micro:06}");
        assert_eq!(
            report["usage"]["cost"],
            json!([{"amount": amount.trim_end_matches('0'), "currency": "USD"}]),
            "{report}"
        );
        let record = json_of(&world, &["show", "r", "each"]).to_string();
        assert!(
            record.contains(&format!(r#""cost":{{"amount":"{}""#, amount.trim_end_matches('0'))),
            "{record}"
        );
        assert_eq!(json_of(&world, &["stats", "r"])["usage"], report["usage"]);
    }

    #[test]
    fn a_model_is_not_asked_when_its_reply_might_be_too_large() {
        for (limit, price, expected) in [
            (["--max-tokens", "1000"], PRICE, "may need"),
            (["--max-cost", "0.0001USD"], PRICE, "may cost"),
            (["--max-cost", "1USD"], "", "the price of `ask.model` is not declared"),
        ] {
            let endpoint = Endpoint::with(vec![Voice::OpenAi.whole("ok")]);
            let world = asking(&endpoint.url(), price);
            let (code, report) = run(&world, &limit);
            assert_eq!((code, endpoint.requests().len()), (1, 0), "{report}");
            assert!(report["failure"]["message"].as_str().unwrap().contains(expected), "{report}");
        }
    }

    #[test]
    fn what_a_model_really_used_is_counted_and_not_its_maximum() {
        let endpoint = Endpoint::with((0..5).map(|_| Voice::OpenAi.whole("ok")).collect());
        let world = asking(&endpoint.url(), PRICE);
        // Each call may need over 2000 tokens and uses a few, so five fit one after the other and not side by side.
        let (code, report) = run(&world, &["--max-tokens", "2400"]);
        assert_eq!((code, endpoint.requests().len()), (0, 5), "{report}");
    }
}

#[test]
fn a_retry_counts_the_failed_attempts_and_may_have_a_higher_limit() {
    let flaky = "\
capabilities:
  flaky:
    description: Fails until there is a file
    effects: reads
    input: {type: object}
    output: {type: object}
    provider: {kind: command, command: [sh, -c, 'cat >>calls; echo >>calls; [ -f ok ] && echo \"{}\"']}
";
    let steps = "  - {id: a, uses: flaky, input: {}, output: {}, config: {retry: {max_attempts: 2, backoff_seconds: 0.01}}}\n  \
        - {id: b, uses: flaky, input: {}, output: {}}\n";
    let world = world(&skill("s", "", steps));
    world.write("capabilities.yaml", flaky);
    let (code, report) = run(&world, &["--run-id", "r", "--max-calls", "3"]);
    assert_eq!((code, &report["usage"]["calls"]), (1, &json!(2)), "{report}");
    world.write("ok", "");
    // Two attempts failed, so one call is left for two steps.
    let report = json_of(&world, &["retry", "r"]);
    assert_eq!(
        (&report["failure"]["code"], &report["usage"]["calls"]),
        (&json!("budget_exceeded"), &json!(3))
    );
    let retry = report["run"].as_str().unwrap();
    assert_eq!(json_of(&world, &["stats", retry])["usage"]["calls"], 3);
    assert_eq!(json_of(&world, &["trace", "export", retry])["derived_from_journal"]["usage"]["calls"], 3);
    let why = json_of(&world, &["why", retry]);
    assert!(why["commands"][0].as_str().unwrap().ends_with("retry r-retry-1 --max-calls 6"), "{why}");
    let report = json_of(&world, &["retry", "r", "--max-calls", "6"]);
    assert_eq!((&report["status"], &report["usage"]["calls"]), (&json!("completed"), &json!(4)), "{report}");
    assert_eq!(report["usage"]["limits"]["calls"], 6);
    assert_eq!(calls(&world).len(), 4);
    for run in ["r", "r-retry-1", "r-retry-2"] {
        assert_eq!(
            world.ask(&["verify", run, "--level", "replay"]).code,
            0,
            "{}",
            world.cli(&["verify", run])
        );
    }
    // A fork is another run: it may have other limits, and counts what it shares.
    let fork = json_of(&world, &["fork", "r-retry-2", "--from", "b", "--max-calls", "1", "--run-id", "f"]);
    assert_eq!(fork["failure"]["code"], "budget_exceeded", "{fork}");
}

#[test]
fn a_limit_of_the_skill_itself_is_raised_by_another_skill_only() {
    let world = world(&skill("s", "limits: {calls: 2}", EACH));
    let (code, report) = run(&world, &["--run-id", "r"]);
    assert_eq!((code, &report["failure"]["code"]), (1, &json!("budget_exceeded")), "{report}");
    let why = json_of(&world, &["why", "r"]);
    let first = why["commands"][0].as_str().unwrap();
    assert!(first.ends_with("fork r --from each --with SKILL.yaml"), "{why}");
}

#[test]
fn calls_of_nested_skills_and_gates_are_counted_without_limits() {
    let nested = "  - {id: a, uses: 'skill:inner', input: {items: inputs.items}, output: {}}\n";
    let world = world(&skill("s", "skills: inner.yaml", nested));
    world.write("inner.yaml", skill("inner", "", EACH));
    let (code, report) = run(&world, &["--run-id", "r"]);
    assert_eq!((code, &report["usage"]["calls"]), (0, &json!(5)), "{report}");
    assert_eq!(json_of(&world, &["stats", "r"])["usage"]["calls"], 5);
    assert_eq!(world.ask(&["verify", "r", "--level", "replay"]).code, 0, "{}", world.cli(&["verify", "r"]));
    assert_eq!(world.ask(&["replay", "r"]).code, 0);
}

#[test]
fn seconds_are_counted_over_all_processes_of_a_run() {
    let steps = "  - {id: a, uses: pay.out, input: {}, output: {}}\n  \
        - {id: wait, uses: human.ask, input: {question: {$literal: go on?}}, output: {}}\n  \
        - {id: b, uses: pay.out, input: {}, output: {}}\n";
    let world = world(&skill("s", "", steps));
    world.write("capabilities.yaml", CAPABILITIES.replace("cat >>calls; ", "cat >>calls; sleep 1.2; "));
    let (code, report) = run(&world, &["--run-id", "r", "--max-seconds", "1"]);
    assert_eq!(code, 3, "an effect is not cut off: {report}");
    let answer = ["answer", "r", "wait", "--value", "yes", "--resume"];
    let report = json_of(&world, &answer);
    assert_eq!(report["failure"]["code"], "budget_exceeded", "{report}");
    assert_eq!(calls(&world).len(), 1);
    let why = json_of(&world, &["why", "r"]);
    assert!(why["commands"][0].as_str().unwrap().ends_with("retry r --max-seconds 2"), "{why}");
}
