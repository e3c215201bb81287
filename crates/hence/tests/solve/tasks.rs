//! Four tasks that are solved only if slices, sub-calls, variables and children really work; each is killed at random
//! points and resumed to the same bytes.

use std::collections::BTreeSet;
use std::time::Duration;

use hence_testkit::cli::World;
use hence_testkit::model_server::{ModelServer, Said};
use serde_json::{Value, json};

use crate::scripted::{arguments, json, model, server, world};

/// The number of times each task is killed.
const KILLS: u64 = 20;

/// The calls that are under way at the same time, by default.
const CONCURRENCY: usize = 8;

struct Task {
    question: &'static str,
    contexts: &'static [&'static str],
    prepare: fn(&World),
    turns: &'static [&'static str],
    sub: fn(&str) -> String,
    answer: fn() -> Value,
}

/// Numbers that look random and are the same everywhere.
fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(seed), |last| {
        Some(last.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
    })
    .skip(1)
    .map(|number| number >> 33)
}

const NEEDLE: Task = Task {
    question: "What is the code of the vault?",
    contexts: &["hay.txt"],
    prepare: |world| {
        let mut text: String = "The hay is dry and long. ".repeat(420_000);
        text.insert_str(7_000_007, "The code of the vault is 4711-ä. ");
        world.write("hay.txt", text);
    },
    turns: &[
        "```repl\nhits = search('code of the vault')\nprint(len(hits), hits[0]['start'])\n```",
        "```repl\nat = hits[0]['start']\nsaid = llm_query('Extract the code: ' + slice(at, at + 40))\nprint(said)\n```",
        "```repl\nFinal = {'code': said, 'at': at}\n```",
    ],
    sub: |prompt| prompt.split("vault is ").nth(1).unwrap_or("?").split('.').next().unwrap_or("?").to_owned(),
    answer: || json!({"code": "4711-ä", "at": 7_000_011}),
};

/// The words of line n: a user and an amount.
fn line(number: u64) -> (u64, u64) {
    let mixed = numbers(number).next().unwrap();
    (mixed % 7, mixed / 7 % 100)
}

const COUNT: Task = Task {
    question: "How much did each user pay, and how many lines are complaints?",
    contexts: &["ledger.csv"],
    prepare: |world| {
        let rows: String = (0..50_000)
            .map(|number| {
                let (user, amount) = line(number);
                format!("u{user},{amount},{}\n", if number % 5000 == 17 { "why so late" } else { "thanks" })
            })
            .collect();
        world.write("ledger.csv", format!("user,amount,remark\n{rows}"));
    },
    turns: &[
        "```repl\nprint(len(context), context[0])\ntotals = {}\nfor row in context:\n    totals[row['user']] = totals.get(row['user'], 0) + int(row['amount'])\nrest = sorted(__py_set([row['remark'] for row in context]))\n```",
        "```repl\nkinds = llm_query_batched(['Complaint or praise? ' + r for r in rest])\nbad = [r for r, k in zip(rest, kinds) if k == 'complaint']\ncomplaints = len([1 for row in context if row['remark'] in bad])\n```",
        "```repl\nFinal = {'totals': totals, 'complaints': complaints}\n```",
    ],
    sub: |prompt| if prompt.contains("late") { "complaint" } else { "praise" }.to_owned(),
    answer: || {
        let mut totals = std::collections::BTreeMap::new();
        for number in 0..50_000 {
            let (user, amount) = line(number);
            *totals.entry(format!("u{user}")).or_insert(0) += amount;
        }
        json!({"totals": totals, "complaints": 10})
    },
};

const PAIRS: Task = Task {
    question: "Which items are twins?",
    contexts: &["items.json"],
    prepare: |world| {
        let items: Vec<Value> = (0..200_u64)
            .map(|number| json!({"id": number, "shape": number % 100, "text": format!("item {number}")}))
            .collect();
        world.write("items.json", Value::from(items).to_string());
    },
    turns: &[
        "```repl\npairs = []\nfor i in range(len(context)):\n    for j in range(i + 1, len(context)):\n        if context[i]['shape'] == context[j]['shape']:\n            pairs.append([i, j])\nprint(len(pairs))\n```",
        "```repl\nsaid = llm_query_batched(['Twins? ' + context[i]['text'] + ' and ' + context[j]['text'] for i, j in pairs])\ntwins = [p for p, s in zip(pairs, said) if s == 'yes']\nset('count', len(twins))\n```",
        "```repl\nFinal = {'count': get('count'), 'first': twins[0], 'last': twins[-1]}\n```",
    ],
    sub: |prompt| {
        let numbers: Vec<u64> = prompt.split(' ').filter_map(|word| word.parse().ok()).collect();
        if numbers[0].is_multiple_of(3) { "yes" } else { "no" }.to_owned()
    },
    answer: || json!({"count": 34, "first": [0, 100], "last": [99, 199]}),
};

const HOPS: Task = Task {
    question: "Where does the chain of letters that begins with Ada end?",
    contexts: &["letters/*.txt"],
    prepare: |world| {
        for number in 0..1000_u64 {
            let text = match number % 111 {
                5 if number < 900 => format!("Person p{number} writes to person p{}. Regards.", number + 111),
                _ => format!("Nothing of note happened on day {number}. "),
            };
            let text = if number == 3 { "Ada writes to person p5. Regards.".to_owned() } else { text };
            world.write(&format!("letters/{number:04}.txt"), text);
        }
    },
    turns: &[
        "```repl\nhit = search('Ada writes')[0]\nnow = rlm_query('NEXT', context=slice(0, 100, item=hit['item']))\nchain = ['Ada', now]\n```",
        "```repl\nfor hop in range(20):\n    hits = search('Person ' + now + ' writes')\n    if not hits:\n        break\n    now = llm_query('Who is written to? ' + slice(0, 100, item=hits[0]['item']))\n    chain.append(now)\nprint(chain)\n```",
        "```repl\nFinal = {'end': chain[-1], 'hops': len(chain)}\n```",
    ],
    sub: |prompt| {
        prompt.split("to person ").nth(1).unwrap_or("?").split('.').next().unwrap_or("?").to_owned()
    },
    answer: || json!({"end": "p1004", "hops": 11}),
};

/// The child of the task with letters reads its context and asks.
fn serve(task: &Task) -> ModelServer {
    let (turns, sub) = (task.turns, task.sub);
    ModelServer::answering(move |asked| {
        let Some(turn) = crate::scripted::turn(asked) else { return Said::Text(sub(asked.last())) };
        if asked.first().starts_with("Question: NEXT") {
            return Said::Text("```repl\nFinal = llm_query('Who is written to? ' + context)\n```".to_owned());
        }
        Said::Text((*turns.get(turn - 1).unwrap_or(&"")).to_owned())
    })
}

fn keys(server: &ModelServer) -> Vec<String> {
    server.asked().iter().map(|asked| asked.request.header("idempotency-key").unwrap().to_owned()).collect()
}

/// Returns the command that begins a run, or continues it once it exists.
fn next_words<'a>(world: &World, arguments: &[&'a str]) -> Vec<&'a str> {
    match world.path(".hence/runs/r").exists() {
        true => vec!["resume", "r"],
        false => arguments.to_vec(),
    }
}

/// Returns the idempotency keys of the calls of a run whose replies its call log has.
fn replied(world: &World) -> BTreeSet<String> {
    let Ok(log) = std::fs::read(world.path(".hence/runs/r/calls.ndjson")) else { return BTreeSet::new() };
    let lines =
        log.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let (mut keys, mut replied) = (std::collections::BTreeMap::new(), BTreeSet::new());
    for line in lines {
        let call = line["key"].as_str().unwrap().to_owned();
        match line["idempotency_key"].as_str() {
            Some(key) => drop(keys.insert(call, key.to_owned())),
            None if line.to_string().contains("request_sha256") => drop(replied.insert(keys[&call].clone())),
            None => {}
        }
    }
    replied
}

/// A process that was killed: the calls whose replies the run had, and the number of calls at the server so far.
struct Killed {
    replied: BTreeSet<String>,
    count: usize,
}

/// Kills a run again and again, after waits of at most `most`, until it ends before a kill or there were enough. Returns the kills.
fn kill_often(
    world: &World,
    server: &ModelServer,
    arguments: &[&str],
    most: Duration,
    waits: &mut impl Iterator<Item = u64>,
    killed: &mut Vec<Killed>,
) -> u64 {
    let micros = u64::try_from(most.as_micros()).unwrap();
    let left = KILLS - u64::try_from(killed.len()).unwrap();
    for kills in 0..left {
        let mut child = world.command(&next_words(world, arguments)).spawn().unwrap();
        // The wait decides where the process dies: anywhere in the time that an undisturbed run takes.
        std::thread::sleep(Duration::from_micros(waits.next().unwrap() % micros));
        if child.try_wait().unwrap().is_some() {
            return kills;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        killed.push(Killed { replied: replied(world), count: server.count() });
    }
    left
}

fn solved(task: &Task) {
    let Some(clean) = world() else { return };
    let server = serve(task);
    (task.prepare)(&clean);
    let model = model(&server);
    let arguments = arguments(task.question, task.contexts, &model);
    let started = std::time::Instant::now();
    let report = json(&clean, &arguments);
    let took = started.elapsed();
    assert_eq!(report["answer"], (task.answer)(), "{report}");
    let paid: BTreeSet<String> = keys(&server).into_iter().collect();
    assert_eq!(keys(&server).len(), paid.len(), "nothing is asked twice");
    // A run that ends before it was killed often enough is followed by another one.
    let (mut waits, mut kills, mut worlds) = (numbers(7), Vec::new(), Vec::new());
    while kills.len() < usize::try_from(KILLS).unwrap() {
        let world = world().unwrap();
        (task.prepare)(&world);
        let (before, first) = (server.count(), kills.len());
        let here = kill_often(&world, &server, &arguments, took, &mut waits, &mut kills);
        let last = world.ask(&next_words(&world, &arguments));
        assert_eq!(last.code, 0, "{}", last.stderr);
        assert!(
            world.journal("r") == clean.journal("r"),
            "{}: other bytes after {here} kills",
            task.question
        );
        // At the server: a call whose reply the run had when its process died is never asked again, ...
        let asked = keys(&server);
        for killed in &kills[first..] {
            let later: BTreeSet<&String> = asked[killed.count..].iter().collect();
            let again: Vec<_> = killed.replied.iter().filter(|key| later.contains(key)).collect();
            assert!(again.is_empty(), "{}: paid twice: {again:?}", task.question);
        }
        // ... and no more calls are repeated than were under way when processes died.
        let again = server.count() - before - paid.len();
        assert!(
            again <= usize::try_from(here).unwrap() * CONCURRENCY,
            "{again} of {} asked again",
            paid.len()
        );
        worlds.push(world);
    }
    let asked: BTreeSet<String> = keys(&server).into_iter().collect();
    assert_eq!(asked, paid, "no call has another key");
    drop(server);
    for run in [&clean].into_iter().chain(worlds.first()) {
        let replayed = run.ask(&["replay", "r"]);
        assert_eq!(replayed.code, 0, "{}", replayed.stderr);
        let verified = run.ask(&["verify", "r"]);
        assert_eq!(verified.code, 0, "{}{}", String::from_utf8_lossy(&verified.stdout), verified.stderr);
    }
}

#[test]
fn a_needle_in_ten_megabytes_is_found_by_slices() {
    solved(&NEEDLE);
}

#[test]
fn fifty_thousand_lines_are_counted_by_code_and_judged_by_sub_calls() {
    solved(&COUNT);
}

#[test]
fn pairs_among_two_hundred_items_are_compared_in_a_batch() {
    solved(&PAIRS);
}

#[test]
fn a_chain_through_a_thousand_documents_is_followed() {
    solved(&HOPS);
}

#[test]
fn a_call_that_was_under_way_is_repeated_only_with_the_users_word_where_the_run_says_so() {
    let Some(world) = world() else { return };
    // The second request is never answered; the process is killed while it waits.
    let server = ModelServer::answering(|asked| match (asked.number, crate::scripted::turn(asked)) {
        (_, Some(_)) => Said::Text("```repl\nFinal = [llm_query('one'), llm_query('two')]\n```".to_owned()),
        (2, None) => Said::Nothing,
        _ => Said::Text(format!("to {}", asked.last())),
    });
    world.write("c.txt", "text");
    let model = model(&server);
    let words = [&arguments("q", &["c.txt"], &model)[..], &["--recovery", "ask"]].concat();
    let mut child = world.command(&words).spawn().unwrap();
    // Not a measurement: the process waits for the server, however long this takes.
    while server.count() < 3 {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let stopped = world.ask(&["resume", "r"]);
    assert!(
        stopped.code == 5 && stopped.stderr.contains("--repeat-undecided"),
        "{} {}",
        stopped.code,
        stopped.stderr
    );
    assert_eq!(server.count(), 3, "nothing is asked while it is undecided whether the call was charged");
    let done = world.ask(&["resume", "r", "--repeat-undecided"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(String::from_utf8_lossy(&done.stdout).contains("to two"));
    // The turn and the first call were not asked again, the second one once, under its key.
    let keys = keys(&server);
    assert_eq!((keys.len(), &keys[2]), (4, &keys[3]));
}

#[test]
fn a_journal_does_not_grow_with_its_context() {
    let Some(world) = world() else { return };
    let server = server(&["```repl\nn = len(search('x', limit=3))\nFinal = n\n```"], |_| String::new());
    let mut sizes = Vec::new();
    for (run, size) in [("small", 1000), ("large", 20_000_000)] {
        world.write("c.txt", "x".repeat(size));
        let model = model(&server);
        let answer = world.ask(&["solve", "q", "--model", &model, "--context", "c.txt", "--run-id", run]);
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        sizes.push(world.journal(run).len());
    }
    assert!(sizes[0].abs_diff(sizes[1]) < 100, "{sizes:?}");
}
