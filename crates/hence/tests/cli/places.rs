//! Places in runs: every command that can use one accepts it, and every other command says what it takes.

use hence_testkit::cli::World;

const SKILL: &str = r#"{"id": "parts", "version": "1.0.0", "name": "Parts", "description": "Notes and asks",
  "inputs": {"n": {"type": "integer"}}, "outputs": {"said": {"type": "string"}}, "steps": [
    {"id": "note", "uses": "data.value", "input": {"value": "inputs.n"}, "output": {"value": "vars.n"}},
    {"id": "ask", "uses": "human.ask", "input": {"question": "'Why?'"}, "output": {"value": "outputs.said"}},
    {"id": "last", "uses": "data.value", "input": {"value": "vars.n"}, "output": {"value": "vars.m"}}]}"#;

/// Makes a world in which a run waits at its second step.
fn waiting() -> World {
    let world = World::new();
    world.write("skill.json", SKILL);
    assert_eq!(world.ask(&["run", "skill.json", "--run-id", "parts", "--input", "n=3"]).code, 3);
    world
}

/// Returns what a command answers: its output, or the first line of its error.
fn said(world: &World, command: &str) -> String {
    let answer = world.ask(&command.split(' ').collect::<Vec<_>>());
    let text =
        if answer.stdout.is_empty() { answer.stderr } else { String::from_utf8(answer.stdout).unwrap() };
    text.lines().next().unwrap_or_default().to_owned()
}

fn printed(world: &World, words: &[&str]) -> String {
    String::from_utf8(world.ask(words).stdout).unwrap()
}

#[test]
fn the_memory_of_a_skill_is_shown_at_the_place_that_blame_explains() {
    let world = waiting();
    assert_eq!(said(&world, "state parts vars.n"), "3");
    assert_eq!(said(&world, "state parts /inputs/n"), "3");
    assert_eq!(said(&world, "state parts outputs"), "{}");
    assert_eq!(said(&world, "state parts:note vars.n"), "3");
    assert_eq!(said(&world, "blame parts vars.n"), "note");
    assert!(said(&world, "state parts vars.none").contains("nothing is at /vars/none"));
}

#[test]
fn commands_that_can_use_a_place_accept_it_with_the_run() {
    let world = waiting();
    for command in ["blame parts:note", "blame parts@1", "blame parts note"] {
        assert_eq!(said(&world, command), "note", "{command}");
    }
    assert_eq!(said(&world, "impact parts@1"), said(&world, "impact parts:note"));
    for command in ["trace lineage parts:note", "trace lineage parts@1", "trace lineage parts note"] {
        assert!(said(&world, command).trim_start().starts_with("note#1"), "{command}");
    }
    assert_eq!(world.ask(&["vars", "init", "own", "Count"]).code, 0);
    assert_eq!(world.ask(&["vars", "set", "own", "n", "5"]).code, 0);
    for command in ["vars get own:n", "vars get own /n", "vars get own vars.n", "vars get own /vars/n"] {
        assert_eq!(said(&world, command), "5", "{command}");
    }
}

#[test]
fn a_command_that_takes_a_whole_run_names_it() {
    let world = waiting();
    for command in ["why", "trace show", "trace grade", "stats", "policy check", "verify", "export"] {
        let said = said(&world, &format!("{command} parts@1 out"));
        let expected = "\"parts@1\" names record 1 of run parts; this command takes a whole run: parts";
        let is_usage = said.contains("unexpected argument");
        let said = if is_usage { self::said(&world, &format!("{command} parts@1")) } else { said };
        assert!(said.contains(expected), "{command}: {said}");
    }
    let said = said(&world, "rollback parts:note");
    assert!(said.contains("expected the name of a checkpoint, found the place \"note\""), "{said}");
}

#[test]
fn the_help_promises_places_only_where_they_are_taken() {
    let world = World::new();
    let promises = |command: &str| printed(&world, &[command, "--help"]).contains("RUN@INDEX");
    for command in ["show", "log", "watch", "state", "checkpoint", "fork", "answer", "blame", "impact"] {
        assert!(promises(command), "{command}");
    }
    for command in ["why", "resume", "retry", "replay", "export", "rollback", "task", "cancel", "repl"] {
        assert!(!promises(command), "{command}");
    }
}

#[test]
fn a_step_without_a_record_is_not_denied() {
    let world = waiting();
    assert!(said(&world, "show parts ask").ends_with("step ask has no record yet: it waits"));
    assert!(said(&world, "log parts:last").ends_with("step last has no record yet"));
    assert!(said(&world, "show parts@ask").contains("did you mean `parts:ask`?"));
    assert_eq!(world.ask(&["rm", "parts", "--yes"]).code, 0);
    assert!(said(&world, "show parts:note").contains("run parts was removed at"));
}

#[test]
fn a_position_is_named_with_its_record_and_the_status_that_lists_give() {
    let world = waiting();
    let report = world.ask(&["checkpoint", "parts", "here", "--json"]).json();
    assert_eq!(report["status"], "waiting");
    assert_eq!((&report["position"], &report["record"]), (&1.into(), &2.into()));
    let listed = world.ask(&["runs", "--json"]).json();
    assert_eq!(listed["runs"][0]["status"], "waiting");
}

#[test]
fn a_submitted_run_is_queued_and_a_worker_continues_it() {
    let world = World::new();
    world.write("skill.json", SKILL);
    assert_eq!(world.ask(&["submit", "skill.json", "--run-id", "later", "--input", "n=1"]).code, 0);
    let why = world.ask(&["why", "later", "--json"]).json();
    assert_eq!(why["standing"], "queued");
    assert!(why["commands"][0].as_str().unwrap().contains("worker"), "{why}");
    assert_eq!(world.ask(&["cancel", "later"]).code, 0);
    assert_eq!(world.ask(&["why", "later", "--json"]).json()["standing"], "stopped");
}

#[test]
fn a_trace_shows_its_links_observations_and_gaps() {
    let world = World::new();
    let commands: [&[&str]; 5] = [
        &["trace", "init", "own", "A task", "--agent", "bot"],
        &["trace", "act", "own", "ReadDocumentation", "Read the page", "--why", "To know"],
        &["trace", "observe", "own", "The page is old"],
        &["trace", "link", "own", "other", "--as", "supersedes"],
        &["trace", "residual", "own", "Nobody measured it", "--kind", "unverified", "--severity", "low"],
    ];
    for command in commands {
        let answer = world.ask(command);
        assert_eq!(answer.code, 0, "{command:?}: {}", answer.stderr);
    }
    let shown = printed(&world, &["trace", "show", "own"]);
    for part in ["The page is old", "other", "Nobody measured it"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn quiet_commands_give_results_without_advice() {
    let world = World::new();
    assert!(printed(&world, &["init"]).contains("next"));
    let made = printed(&world, &["new", "skill", "one", "--quiet"]);
    assert!(made.contains("one/skill.yaml") && !made.contains("next"), "{made}");
}
