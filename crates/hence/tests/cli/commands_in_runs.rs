//! Commands that a skill runs are judged as what they do: before the call, and as in an imported log.

use hence_testkit::cli::World;
use serde_json::{Value, json};

const CAPABILITIES: &str = "\
capabilities:
  shell.run:
    description: Runs a command
    action: RunCommand
    provider: {kind: command, command: [/bin/sh, act.sh]}
  tool.call:
    description: Does what it is told
    provider: {kind: command, command: [/bin/sh, act.sh]}
  push.force:
    description: Publishes
    provider: {kind: command, command: [git, push, --force, origin, main]}
  push.it:
    description: Pushes
    action: GitPush
    provider: {kind: command, command: [/bin/sh, act.sh]}
  test.run:
    description: Tests
    action: RunTests
    provider: {kind: command, command: [/bin/sh, act.sh]}
  model.ask:
    description: Judges a command
    effects: reads
    provider: {kind: http, url: 'http://127.0.0.1:1/'}
";

/// A program that notes each call and replies.
const ACT: &str = "cat >> acted.log\necho '{\"exit_code\": 0}'\n";

fn world(steps: &str) -> World {
    let world = World::new();
    world.write("capabilities.yaml", CAPABILITIES).write("act.sh", ACT).write(
        "skill.yaml",
        format!(
            "id: x\nversion: 1.0.0\nname: X\ndescription: Does things\ninputs: {{}}\noutputs: {{}}\ncapabilities: capabilities.yaml\nsteps:\n{steps}"
        ),
    );
    world
}

fn step(uses: &str, input: &str) -> String {
    format!("  - {{id: s, uses: {uses}, input: {input}}}\n")
}

/// Returns the types of the actions after the first, which takes in the problem.
fn types(world: &World) -> Vec<String> {
    let trace = world.ask(&["trace", "export", "r", "--json"]).json();
    let types = trace["actions"].as_array().unwrap().iter().skip(1);
    types.map(|action| action["type"].as_str().unwrap().to_owned()).collect()
}

fn has_acted(world: &World) -> bool {
    world.path("acted.log").exists()
}

#[test]
fn a_policy_holds_back_a_command_whatever_spells_it() {
    let mut wrong = Vec::new();
    for (uses, input, policy) in [
        ("shell.run", r#"{command: "git push -f"}"#, "no-force-push"),
        ("shell.run", r#"{cmd: [git, push, origin, +main]}"#, "no-force-push"),
        ("shell.run", r#"{argv: [bash, -c, "cd x && git push --force"]}"#, "no-force-push"),
        ("tool.call", r#"{command: git, args: [push, --force-with-lease]}"#, "no-force-push"),
        ("tool.call", r#"{program: git, arguments: "push --mirror"}"#, "no-force-push"),
        ("tool.call", r#"{tool: bash, input: {command: "sudo git push -f"}}"#, "no-force-push"),
        ("tool.call", r#"{commands: ["ls", "git push -f"]}"#, "no-force-push"),
        ("test.run", r#"{command: "pytest; git push -f"}"#, "no-force-push"),
        ("push.force", "{}", "no-force-push"),
        ("shell.run", r#"{command: "git $(echo push) -f"}"#, "no-force-push"),
        ("shell.run", r#"{command: "F=--force; git push $F"}"#, "no-force-push"),
        ("shell.run", r#"{script: "p() { git push -f; }\np"}"#, "no-force-push"),
        ("tool.call", r#"{command: "echo push -f | xargs git"}"#, "no-force-push"),
        ("push.it", r#"{mode: force}"#, "no-force-push"),
        ("push.it", r#"{force_push: true}"#, "no-force-push"),
        ("push.it", r#"{options: {force: true}}"#, "no-force-push"),
        ("push.it", r#"{flags: [-f]}"#, "no-force-push"),
        ("push.it", r#"{refs: ["+main"]}"#, "no-force-push"),
        ("push.it", r#"{mirror: true}"#, "no-force-push"),
        ("push.it", r#"{force_with_lease: true}"#, "no-force-push"),
        ("push.it", r#"{delete: true, branch: main}"#, "destructive-actions-confirmed"),
        ("push.it", r#"{refspec: ":main"}"#, "destructive-actions-confirmed"),
        ("shell.run", r#"{command: "git push origin :main"}"#, "destructive-actions-confirmed"),
        ("shell.run", r#"{command: "git push --delete origin main"}"#, "destructive-actions-confirmed"),
        ("shell.run", r#"{command: "rm -rf build"}"#, "destructive-actions-confirmed"),
        ("shell.run", r#"{script: "make\nfind . -name '*.o' -delete"}"#, "destructive-actions-confirmed"),
        ("shell.run", r#"{command: "terraform destroy -auto-approve"}"#, "destructive-actions-confirmed"),
        ("test.run", r#"{command: "rm -rf data && pytest"}"#, "destructive-actions-confirmed"),
        ("shell.run", r#"{command: "git commit -am x"}"#, "tests-pass-before-commit"),
        ("shell.run", r#"{command: "pytest; git commit -am x"}"#, "tests-pass-before-commit"),
        ("shell.run", r#"{command: "pytest || true; git commit -am x"}"#, "tests-pass-before-commit"),
        (
            "shell.run",
            r#"{command: "pytest && sed -i s/a/b/ x && git commit -am x"}"#,
            "tests-pass-before-commit",
        ),
        ("shell.run", r#"{command: "pytest && cargo fmt && git commit -am x"}"#, "tests-pass-before-commit"),
        (
            "shell.run",
            r#"{command: "echo API_KEY=q8ZrT1xW9bL2 > .env && pytest && git commit -am x"}"#,
            "no-secrets-committed",
        ),
        ("shell.run", r#"{command: "pytest && git add .env && git commit -m x"}"#, "no-secrets-committed"),
        ("tool.call", r#"{command: "git commit -m x -- deploy/id_rsa"}"#, "no-secrets-committed"),
    ] {
        let world = world(&step(uses, input));
        let ran = world.ask(&["run", "skill.yaml", "--run-id", "r", "--policy", "engineering"]);
        if ran.code != 1 || has_acted(&world) || !ran.stderr.contains(policy) {
            wrong.push(format!("{uses} {input}: {} {}", ran.code, ran.stderr));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_a_command_does_not_do_is_not_said_of_it() {
    let mut wrong = Vec::new();
    for (uses, input, expected) in [
        ("shell.run", r#"{command: "pytest -q && git commit -am x"}"#, &["RunTests", "GitCommit"][..]),
        ("shell.run", r#"{command: "git push origin main"}"#, &["GitPush"]),
        ("shell.run", r#"{command: "echo git push -f"}"#, &["RunCommand"]),
        ("shell.run", r#"{command: "git log --grep='rm -rf'"}"#, &["RunCommand"]),
        ("shell.run", r#"{command: "cat a.py; ls"}"#, &["ReadFile", "ExploreDirectory"]),
        ("shell.run", r#"{text: "git push -f", message: "rm -rf /"}"#, &["RunCommand"]),
        ("tool.call", r#"{n: 1}"#, &["RunCommand"]),
        ("test.run", r#"{command: "pytest -q"}"#, &["RunTests"]),
        ("push.it", r#"{branch: main, force: false}"#, &["GitPush"]),
    ] {
        let world = world(&step(uses, input));
        let ran = world.ask(&["run", "skill.yaml", "--run-id", "r", "--policy", "engineering"]);
        if ran.code != 0 || types(&world) != expected {
            wrong.push(format!("{uses} {input}: {} {:?} {}", ran.code, types(&world), ran.stderr));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_setting_of_an_earlier_call_is_known_to_a_later_one_and_its_shell_is_not() {
    let calls = |first: &str, second: &str| {
        let steps = format!(
            "  - {{id: a, uses: shell.run, input: {{command: {first:?}}}}}\n  - {{id: b, uses: shell.run, input: {{command: {second:?}}}}}\n"
        );
        let world = world(&steps);
        let ran = world.ask(&["run", "skill.yaml", "--run-id", "r", "--policy", "engineering"]);
        assert_eq!(second.contains('$'), ran.stderr.contains("is not known"), "{}", ran.stderr);
        (ran.code, ran.stderr.contains("no-force-push"))
    };
    for (first, second) in [
        ("git config alias.ship 'push --force'", "git ship"),
        ("git config remote.origin.push +main", "git push"),
    ] {
        assert_eq!(calls(first, second), (1, true), "{first}");
    }
    assert_eq!(calls("alias ship='git push -f'", "ship"), (0, false));
    // Nobody knows what the variable holds in the other shell, so the push is held back.
    assert_eq!(calls("F=--force", "git push $F").0, 1);
}

/// Whoever is asked about a command does not run it.
#[test]
fn a_command_that_is_only_read_is_no_deed() {
    let world = world(&step("model.ask", r#"{command: "git push -f"}"#));
    let ran = world.ask(&["run", "skill.yaml", "--run-id", "r", "--policy", "engineering"]);
    assert!(!ran.stderr.contains("no-force-push"), "{}", ran.stderr);
}

#[test]
fn every_item_of_a_loop_is_judged_and_shown() {
    let looped = |commands: &str| {
        let world =
            world("  - {id: s, uses: shell.run, config: {foreach: {items: inputs.commands, as: command}}}\n");
        let skill = String::from_utf8(world.read("skill.yaml")).unwrap();
        world.write("skill.yaml", skill.replace("inputs: {}", "inputs: {commands: {type: array}}"));
        let input = format!("commands={commands}");
        let ran =
            world.ask(&["run", "skill.yaml", "--run-id", "r", "--policy", "engineering", "--input", &input]);
        (world, ran)
    };
    let (forced, ran) = looped(r#"["ls", "git push -f"]"#);
    assert!(ran.code == 1 && !has_acted(&forced), "{}", ran.stderr);
    assert!(ran.stderr.contains("no-force-push"), "{}", ran.stderr);
    let (plain, ran) = looped(r#"["ls", "git push"]"#);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(types(&plain), ["LoopGateway", "ExploreDirectory", "GitPush"]);
}

/// The exit code of a line is that of the command that decides about it, and of no other.
#[test]
fn an_exit_code_is_only_that_of_the_command_it_belongs_to() {
    for (command, reply, expected) in [
        ("pytest", r#"{"exit_code": 0}"#, json!({"exit_code": 0})),
        ("pytest", r#"{"exit_code": 1}"#, json!({"exit_code": 1})),
        ("pytest | tee log", r#"{"exit_code": 0}"#, json!({"status": "unknown"})),
        ("pytest || true", r#"{"exit_code": 0}"#, json!({"status": "unknown"})),
    ] {
        let world = world(&step("shell.run", &format!("{{command: '{command}'}}")));
        world.write("act.sh", format!("cat >/dev/null\necho '{reply}'\n"));
        let ran = world.ask(&["run", "skill.yaml", "--run-id", "r"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let trace = world.ask(&["trace", "export", "r", "--json"]).json();
        let actions = trace["actions"].as_array().unwrap();
        let tests: Vec<&Value> = actions.iter().filter(|action| action["type"] == "RunTests").collect();
        assert_eq!(tests.len(), 1, "{command}");
        assert_eq!(tests[0]["result"], expected, "{command} {reply}");
    }
}

#[test]
fn a_command_after_one_that_failed_is_no_action() {
    let world = world(&step("shell.run", r#"{command: "pytest && git commit -am x"}"#));
    world.write("act.sh", "cat >/dev/null\necho '{\"exit_code\": 1, \"stdout\": \"3 failed, 2 passed\"}'\n");
    assert_eq!(world.ask(&["run", "skill.yaml", "--run-id", "r"]).code, 0);
    assert_eq!(types(&world), ["RunTests"]);
    let trace = world.ask(&["trace", "export", "r", "--json"]).json();
    let shown = trace["actions"][1]["observations"].to_string();
    assert!(shown.contains("git commit -am x"), "{shown}");
}

#[test]
fn what_acts_by_its_nature_is_not_declared_to_read() {
    for action in
        ["GitCommit", "GitPush", "DeleteFile", "Deploy", "Release", "EditFile", "CreateFile", "RenameFile"]
    {
        for effects in ["reads", "none"] {
            let world = world(&step("act.now", "{}"));
            world.write(
                "capabilities.yaml",
                format!(
                    "capabilities:\n  act.now:\n    description: Acts\n    action: {action}\n    effects: {effects}\n    provider: {{kind: command, command: [/bin/sh, act.sh]}}\n"
                ),
            );
            for command in ["check", "run"] {
                let refused = world.ask(&[command, "skill.yaml"]);
                let said = format!("{}{}", String::from_utf8_lossy(&refused.stdout), refused.stderr);
                assert_ne!(refused.code, 0, "{command} {action}: {said}");
                assert!(said.contains("effects: writes"), "{command} {action}: {said}");
            }
            assert!(!has_acted(&world), "{action}");
        }
    }
}
