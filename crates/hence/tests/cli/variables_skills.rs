//! Skills and variables are one world: answers, goals, trees and shared scopes.

use std::time::Duration;

use hence_testkit::cli::World;
use serde_json::Value;

const LEAF: &str = "{id: leaf, version: 1.0.0, name: Leaf, description: answers, inputs: {q: {type: string}},
 outputs: {}, steps: [{id: say, uses: text.join, input: {parts: [inputs.q, '!']}, output: {text: vars.Final}}]}";

fn root(output: &str) -> String {
    format!(
        "{{id: root, version: 1.0.0, name: Root, description: asks, inputs: {{q: {{type: string}}}},
 outputs: {{}}, steps: [{{id: call, uses: 'skill:leaf', input: {{q: inputs.q}}, output: {output}}}]}}"
    )
}

const SHARING: &str =
    "{id: sharing, version: 1.0.0, name: Sharing, description: shares, inputs: {q: {type: string}},
 outputs: {}, steps: [
  {id: w, uses: text.join, input: {parts: [inputs.q, '?']}, output: {text: vars.shared_fact},
   config: {variables: {shared_fact: {type: text, scope: global}}}},
  {id: t, uses: text.join, input: {parts: [vars.shared_fact, '+']}, output: {text: vars.tree_fact},
   config: {variables: {tree_fact: {type: text, scope: tree}}}},
  {id: f, uses: text.join, input: {parts: [vars.tree_fact, '.']}, output: {text: vars.Final}}]}";

fn json(world: &World, line: &str) -> Value {
    serde_json::from_str(&world.out(line)).unwrap()
}

fn shares(world: &World, scope: &str) -> usize {
    world.out(&format!("--store .hence/scopes log {scope}")).matches("vars.share").count()
}

#[test]
fn the_answer_of_a_nested_skill_is_its_result() {
    let world = World::new();
    world.write("leaf.yaml", LEAF).write("root.yaml", root("{Final: vars.child_result}"));
    world.out("run root.yaml --skill leaf.yaml --input q=hello --run-id mapped");
    assert_eq!(world.out("vars get mapped child_result"), "hello!\n");
    world.out("verify mapped");
    // Without a mapping it is in the record.
    world.write("root.yaml", root("{}"));
    world.out("run root.yaml --skill leaf.yaml --input q=hello --run-id plain");
    let record = json(&world, "show plain 1 --json");
    assert!(record.to_string().contains(r#""Final":"hello!""#), "{record}");
    let tree = json(&world, "vars tree plain --json");
    assert_eq!(tree["children"][0]["run"], "plain/call");
    assert_eq!(tree["children"][0]["status"], "complete");
    assert_eq!(json(&world, "vars tree plain/call --json"), tree);
}

#[test]
fn a_run_prints_its_answer_and_its_prompt_is_its_goal() {
    let world = World::new();
    world.write("leaf.yaml", LEAF).write("frame.json", r#"{"goal":"greet the world"}"#);
    let told = world.out("run leaf.yaml --input q=hello --frame frame.json --run-id goal");
    assert!(told.starts_with("answer:\n  hello!\n"), "{told}");
    assert_eq!(world.out("vars get goal prompt"), "greet the world\n");
    assert_eq!(json(&world, "run leaf.yaml --input q=x --run-id other --json")["answer"], "x!");
    assert_eq!(world.out("vars get other prompt"), "answers\n");
}

#[test]
fn other_runs_see_what_a_skill_writes_to_a_shared_scope_and_it_is_written_once() {
    let world = World::new();
    world.write("sharing.yaml", SHARING);
    world.out("vars init plain x");
    world.out("run sharing.yaml --input q=fact --run-id first");
    assert_eq!(world.out("vars get plain shared_fact --peek --now 2099-01-01T00:00:00Z"), "fact?\n");
    assert_eq!((shares(&world, "global"), shares(&world, &tree(&world))), (1, 1));
    for line in ["resume first", "verify first", "replay first", "vars list first", "resume first"] {
        world.out(line);
    }
    assert_eq!(shares(&world, "global"), 1);
    // A process that died before it published left that to the next one.
    std::fs::remove_dir_all(world.path(".hence/scopes")).unwrap();
    world.out("resume first");
    assert_eq!(shares(&world, "global"), 1);
    world.out("run sharing.yaml --input q=news --run-id second");
    assert_eq!(
        (shares(&world, "global"), world.out("vars get plain shared_fact --peek")),
        (2, "news?\n".to_owned())
    );
    world.out("--store .hence/scopes verify global");
    // A bundle is data: nothing of it is published in another store.
    world.out("export first bundle");
    world.out("--store other import bundle");
    world.out("--store other resume first");
    assert!(!world.path("other/scopes").exists());
}

fn tree(world: &World) -> String {
    let found = std::fs::read_dir(world.path(".hence/scopes/runs")).unwrap();
    let names = found.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.into_iter().find(|name| name.starts_with("tree-")).unwrap()
}

#[test]
fn killing_a_run_at_any_time_publishes_each_write_once() {
    let world = World::new();
    world.write("sharing.yaml", SHARING);
    for round in 0..12_u64 {
        let run = format!("run-{round}");
        let line =
            ["run", "sharing.yaml", "--input", "q=fact", "--run-id", &run, "--now", "2026-02-02T00:00:00Z"];
        let mut child = world.command(&line).spawn().unwrap();
        // Each round is killed a little later; every moment must give the same result.
        std::thread::sleep(Duration::from_millis(4 * round));
        let _ = child.kill();
        child.wait().unwrap();
        world.out(&line.join(" "));
        world.out(&format!("verify {run}"));
        assert_eq!(shares(&world, "global"), 1 + usize::try_from(round).unwrap(), "{run}");
    }
    world.out("--store .hence/scopes verify global");
}

#[test]
fn a_type_changes_only_when_it_is_given_and_results_are_named_by_runs() {
    let world = World::new();
    world.out("vars init job whole");
    world.out("vars set job error_count 3 -t number --task node-7");
    for bad in ["oops", "true", "[1]", ""] {
        let refused = world.refused(&["vars", "set", "job", "error_count", bad]);
        assert!(refused.contains("of type number"), "{refused}");
    }
    world.refused(&["vars", "set", "job", "error_count"]);
    world.out("vars set job error_count 4");
    assert_eq!(json(&world, "vars get job error_count --peek --json")["type"], "number");
    world.out("vars set job error_count four -t text");
    assert_eq!(json(&world, "vars get job error_count --peek --json")["type"], "text");
    assert!(world.out("vars history job --json").contains("node-7"));
    assert!(world.out("vars set job n 1").contains("short_name: a name of one or two characters"));
    world.out("vars spawn job part-1 'the first part'");
    world.out("vars final part-1 found");
    assert_eq!(world.out("vars result job part-1"), "found\n");
    assert!(world.refused(&["vars", "result", "job", "part-9"]).contains("no child"));
    assert!(world.out("explain read-2").starts_with("READ-2: "));
}

#[cfg(unix)]
#[test]
fn an_ended_task_is_final_everywhere_and_its_handler_runs_once() {
    let world = World::new();
    world.out("vars init job whole");
    world.write("note.sh", "#!/bin/sh\necho \"$HENCE_RUN $HENCE_STATUS $1\" >> noted\n");
    let handler = ["vars", "final", "job", "done", "--on-complete", "sh note.sh 'two words'"];
    let answer = world.ask(&handler);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert_eq!(world.read("noted"), b"job complete two words\n");
    assert_ne!(world.ask(&handler).code, 0);
    for line in ["verify job", "replay job", "vars get job Final", "vars status job"] {
        world.out(line);
    }
    assert_eq!(world.read("noted").len(), "job complete two words\n".len());
    assert_eq!(world.out("state job /status"), "\"completed\"\n");
    let journal = world.journal("job");
    for line in ["vars set job a 1", "vars rollback job initial_state", "vars init job more --add"] {
        assert!(world.hence(line).contains("[exit 1]"), "{line}");
    }
    assert_eq!(world.journal("job"), journal);
    let log = String::from_utf8(world.read(".hence/runs/job/handlers.ndjson")).unwrap();
    assert_eq!(log.lines().count(), 2, "{log}");
    // A fork goes on.
    world.out("fork job --from 2 --run-id again");
    world.out("vars set again other_one 1");
    world.out("verify again");
    // A handler that fails does not undo the end, and is not called a success.
    world.out("vars init bad whole");
    let failed = world.hence("vars fail bad --reason 'no source' --on-complete false");
    assert!(failed.contains("has not succeeded") && failed.contains("[exit 5]"), "{failed}");
    assert!(world.out("runs").contains("failed"));
    assert!(world.out("why bad").contains("no source"));
    world.out("verify bad");
    world.out("replay bad");
}

#[test]
fn a_piped_prompt_lists_its_commands_and_does_not_wait() {
    let world = World::new();
    world.out("vars init job whole");
    let told = world.hence_with(
        "repl job",
        b"help\nwatch --from 1\nset counted_things 2 -t number\nget counted_things\n",
    );
    for word in ["spawn", "watch", "import", "create prompt", "\n2\n"] {
        assert!(told.contains(word), "{word}: {told}");
    }
}

const READING: &str =
    "{id: reading, version: 1.0.0, name: Reading, description: reads, inputs: {}, outputs: {text: {type: string}}, steps: [
  {id: r, uses: text.join, input: {parts: [vars.shared_fact, '!']}, output: {text: outputs.text},
   config: {variables: {shared_fact: {type: text, scope: global}}}},
  {id: w, uses: text.join, input: {parts: [vars.shared_fact, '+']}, output: {text: vars.shared_fact},
   config: {variables: {shared_fact: {type: text, scope: global}}}}]}";

#[test]
fn a_skill_reads_what_others_wrote_to_a_shared_scope_and_its_replay_reads_the_record() {
    let world = World::new();
    world.write("sharing.yaml", SHARING).write("reading.yaml", READING);
    assert_eq!(world.ask(&["check", "reading.yaml"]).code, 0, "{}", world.cli(&["check", "reading.yaml"]));
    // Nobody has written it yet.
    let missing = world.ask(&["run", "reading.yaml", "--run-id", "early"]);
    assert_eq!(missing.code, 1, "{}", missing.stderr);
    assert!(world.cli(&["why", "early"]).contains("shared_fact"), "{}", world.cli(&["why", "early"]));
    // From variables to a skill, from a skill to a skill, and back.
    world.out("vars init plain x");
    world.out("vars set plain shared_fact zero --scope global");
    world.out("run reading.yaml --run-id first");
    assert_eq!(json(&world, "run reading.yaml --run-id second --json")["outputs"]["text"], "zero+!");
    assert_eq!(world.out("vars get plain shared_fact --peek"), "zero++\n");
    assert_eq!(world.out("vars get first shared_fact"), "zero+\n");
    assert_eq!(shares(&world, "global"), 3, "what was read is not published again");
    // What others write later changes nothing that is recorded.
    world.out("vars set plain shared_fact other");
    std::fs::rename(world.path(".hence/scopes"), world.path("elsewhere")).unwrap();
    for line in
        ["verify first", "replay first", "resume first", "run reading.yaml --run-id first", "verify second"]
    {
        assert_eq!(world.ask(&line.split(' ').collect::<Vec<_>>()).code, 0, "{line}: {}", world.hence(line));
    }
    std::fs::remove_dir_all(world.path(".hence/scopes")).unwrap_or_default();
    std::fs::rename(world.path("elsewhere"), world.path(".hence/scopes")).unwrap();
    let problem = String::from_utf8(world.read(".hence/runs/first/problem.json")).unwrap();
    world.write(".hence/runs/first/problem.json", problem.replace("zero", "nine"));
    assert_eq!(world.ask(&["verify", "first"]).code, 1, "the header binds what was read");
    world.write(".hence/runs/first/problem.json", problem);
    // A fork keeps what its origin read; a new run reads what is there now.
    world.out("fork first --from w --run-id forked --yes");
    world.out("verify forked");
    assert_eq!(json(&world, "run reading.yaml --run-id third --json")["outputs"]["text"], "zero+!");
}

#[test]
fn a_session_is_shared_by_the_runs_that_name_it_and_read_only_variables_stay() {
    let world = World::new();
    world.write("s.yaml", READING.replace("global", "session"));
    world.out("vars init plain x --session s1");
    world.out("vars set plain shared_fact mine");
    let alone = world.ask(&["run", "s.yaml", "--run-id", "alone"]);
    assert_eq!(alone.code, 1, "a run without a session has its own: {}", alone.stderr);
    assert_eq!(json(&world, "run s.yaml --run-id one --session s1 --json")["outputs"]["text"], "mine!");
    assert_eq!(world.out("vars get plain shared_fact --peek"), "mine+\n");
    world.out("verify one");
    world.out("vars init other x");
    world.out("vars set other shared_fact fixed --scope global --read-only");
    world.write("g.yaml", READING);
    let refused = world.ask(&["run", "g.yaml", "--run-id", "refused"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(world.cli(&["why", "refused"]).contains("read-only"), "{}", world.cli(&["why", "refused"]));
    world.out("verify refused");
    // A large value is read whole.
    world.write("large.txt", "x".repeat(30_000));
    world.out("vars set other large_fact @large.txt --scope global");
    world.write("l.yaml", READING.replace("shared_fact", "large_fact"));
    let read = json(&world, "run l.yaml --run-id large --json");
    assert_eq!(read["outputs"]["text"].as_str().map(str::len), Some(30_001));
    world.out("verify large");
}

/// A skill that reads and writes shared variables, and one that nests it. Only the nested one declares them.
fn nested_reading(world: &World) {
    world.write(
        "inner.yaml",
        "{id: inner, version: 1.0.0, name: Inner, description: reads, inputs: {}, outputs: {text: {type: string}},
 steps: [
  {id: r, uses: text.join, input: {parts: [vars.fact, '!']}, output: {text: outputs.text},
   config: {variables: {fact: {type: text, scope: global}}}},
  {id: w, uses: text.join, input: {parts: [outputs.text, '?']}, output: {text: vars.found},
   config: {variables: {found: {type: text, scope: global}}}}]}",
    );
    world.write(
        "outer.yaml",
        "{id: outer, version: 1.0.0, name: Outer, description: nests, inputs: {}, outputs: {text: {type: string}},
 steps: [{id: call, uses: 'skill:inner', input: {}, output: {text: outputs.text}}]}",
    );
}

#[test]
fn a_nested_skill_reads_the_shared_scope_that_the_outermost_run_pinned() {
    let world = World::new();
    nested_reading(&world);
    let early = world.ask(&["run", "outer.yaml", "--skill", "inner.yaml", "--run-id", "early"]);
    assert_eq!(early.code, 1, "nobody has written it: {}", early.stderr);
    world.out("vars init plain x");
    world.out("vars set plain fact known --scope global");
    let run = json(&world, "run outer.yaml --skill inner.yaml --run-id n --json");
    assert_eq!(run["outputs"]["text"], "known!");
    // The outer skill does not declare the variable, so it has none of that name.
    assert_eq!(world.ask(&["vars", "get", "n", "fact"]).code, 1);
    assert_eq!(world.out("vars get n/call fact"), "known\n");
    assert_eq!(world.out("vars get plain found"), "known!?\n", "its writes are seen by other runs");
    // What others write later changes no record.
    world.out("vars set plain fact other --scope global");
    world.out("verify n");
    world.out("verify n/call");
    world.out("replay n");
    world.out("replay n/call");
    assert_eq!(shares(&world, "global"), 3, "the two writes of the first run, and what the nested run wrote");
    world.out("resume n");
    assert_eq!(shares(&world, "global"), 3, "each is published once");
    let fork = json(&world, "fork n --from call --run-id again --json");
    assert_eq!(fork["outputs"]["text"], "known!", "a fork reads what its origin read");
}

#[test]
fn the_rules_of_variables_hold_inside_a_nested_skill() {
    let world = World::new();
    let inner = |second: &str| {
        format!(
            "{{id: inner, version: 1.0.0, name: I, description: d, inputs: {{}}, outputs: {{o: {{type: string}}}}, steps: [
 {{id: a, uses: text.join, input: {{parts: [a]}}, output: {{text: vars.sealed_word}},
  config: {{variables: {{sealed_word: {{type: text, DECLARED}}}}}}}},
 {second},
 {{id: c, uses: text.join, input: {{parts: [vars.sealed_word]}}, output: {{text: outputs.o}}, config: {{depends_on: [b]}}}}]}}"
        )
    };
    let write = "{id: b, uses: text.join, input: {parts: [b]}, output: {text: vars.sealed_word},
  config: {depends_on: [a], merge_strategy: replace}}";
    let pause = "{id: b, uses: text.join, input: {parts: [b]}, output: {text: vars.other}, config: {depends_on: [a]}}";
    let outer =
        "{id: outer, version: 1.0.0, name: O, description: d, inputs: {}, outputs: {o: {type: string}},
 skills: inner.yaml, steps: [{id: n, uses: 'skill:inner', input: {}, output: {o: outputs.o}}]}";
    world.write("outer.yaml", outer);
    for (run, declared, second) in
        [("sealed", "read_only: true", write), ("gone", "scope: temporary, ttl_seconds: 1", pause)]
    {
        world.write("inner.yaml", inner(second).replace("DECLARED", declared));
        let alone = world.ask(&["run", "inner.yaml", "--run-id", &format!("{run}-alone")]);
        let nested = world.ask(&["run", "outer.yaml", "--run-id", run]);
        assert_eq!((alone.code, nested.code), (1, 1), "{run}: {}", nested.stderr);
        let child = format!("{run}/n");
        world.out(&format!("verify {run}"));
        world.out(&format!("verify {child}"));
        let statuses = |id: &str| {
            json(&world, &format!("log {id} --json"))["records"].to_string().matches("\"failed\"").count()
        };
        assert_eq!(statuses(&child), statuses(&format!("{run}-alone")), "the same step fails");
    }
}
