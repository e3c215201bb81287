//! Help, error codes and completions.

use insta::assert_snapshot;

use hence_testkit::cli::World;

/// All commands.
const COMMANDS: [&str; 37] = [
    "init",
    "new",
    "rm",
    "gc",
    "watch",
    "why",
    "run",
    "solve",
    "task",
    "check",
    "capabilities",
    "blame",
    "impact",
    "runs",
    "log",
    "show",
    "state",
    "verify",
    "replay",
    "diff",
    "resume",
    "checkpoint",
    "rollback",
    "export",
    "import",
    "trace",
    "review",
    "hash",
    "stats",
    "doctor",
    "vars",
    "repl",
    "policy",
    "explain",
    "schema",
    "completions",
    "man",
];

#[test]
fn help_lists_commands_examples_and_exit_codes() {
    let world = World::new();
    assert_snapshot!(world.cli(&["--help"]));
    let help = world.out("--help");
    for command in COMMANDS {
        let listed = help.lines().filter(|line| line.starts_with(&format!("  {command} "))).count();
        assert_eq!(listed, 1, "{command}: {help}");
    }
    // A narrow terminal gets a narrow list.
    let narrow = world.command(&["--help"]).env("COLUMNS", "60").output().unwrap();
    let narrow = String::from_utf8(narrow.stdout).unwrap();
    let list = narrow.split("\nOptions:").next().unwrap();
    assert!(list.lines().all(|line| line.chars().count() <= 60), "{list}");
}

#[test]
fn every_command_is_explained_in_the_imperative_with_an_example() {
    let world = World::new();
    for command in COMMANDS {
        let answer = world.ask(&[command, "--help"]);
        let text = String::from_utf8(answer.stdout).unwrap();
        assert_eq!(answer.code, 0);
        let first = text.lines().next().unwrap();
        assert!(!first.ends_with('.') && first.starts_with(char::is_uppercase), "{command}: {first}");
        let has_example = ["Example: ", "Examples:\n  ", "| "]
            .into_iter()
            .any(|before| text.contains(&format!("{before}hence {command}")));
        assert!(has_example, "{command}: {text}");
    }
}

#[test]
fn every_command_of_variables_is_explained_in_the_imperative_with_an_example() {
    let world = World::new();
    let help = String::from_utf8(world.ask(&["vars", "--help"]).stdout).unwrap();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = listed.map_while(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    let commands: Vec<&str> = commands.collect();
    assert!(commands.len() >= 20, "{help}");
    for command in commands {
        let text = String::from_utf8(world.ask(&["vars", command, "--help"]).stdout).unwrap();
        let first = text.lines().next().unwrap();
        assert!(!first.ends_with('.') && first.starts_with(char::is_uppercase), "{command}: {first}");
        let example = format!("Example: hence vars {command} ");
        assert!(text.contains(&example) || text.contains("Example: hence vars cancel "), "{command}: {text}");
    }
}

#[test]
fn commands_of_other_programs_and_numbers_that_are_none_are_explained() {
    let world = World::new();
    for (word, meant) in [("delete", "rm"), ("ls", "runs"), ("status", "why"), ("version", "--version")] {
        let refusal = world.refused(&[word]);
        assert!(refusal.contains(&format!("a similar subcommand exists: '{meant}'")), "{refusal}");
    }
    let refusal = world.refused(&["runs", "--limit", "ten"]);
    assert!(refusal.contains("'ten' for '--limit <LIMIT>': expected a whole number"), "{refusal}");
}

#[test]
fn wrong_arguments_are_a_usage_error() {
    let world = World::new();
    assert_snapshot!(world.refused(&["rnu", "problem.json"]), @r"
    --- stderr
    error: unrecognized subcommand 'rnu'

      tip: a similar subcommand exists: 'runs'

    Usage: hence [OPTIONS] <COMMAND>

    For more information, try '--help'.
    [exit 2]
    ");
    assert_snapshot!(world.refused(&["log"]), @r"
    --- stderr
    error: the following required arguments were not provided:
      <RUN>

    Usage: hence log <RUN>

    For more information, try '--help'.
    [exit 2]
    ");
    assert_eq!(world.ask(&[]).code, 2);
}

#[test]
fn every_code_has_a_title_and_a_page() {
    let world = World::new();
    assert_snapshot!(world.cli(&["explain"]), @r"
    E0101  the document is not JSON as hence reads it
    E0102  the problem or the skill is refused
    E0103  an argument of the command is refused
    E0201  the folder is not a store this version can open
    E0202  no run has that id
    E0203  several runs begin with that prefix
    E0204  a run of that id exists with other content
    E0205  another process writes the run
    E0206  the run is damaged
    E0207  the disk did not do what was asked
    E0208  a large value is missing or altered
    E0209  the database did not do what was asked
    E0301  a record cannot be read
    E0302  the record does not follow from its problem
    E0303  the run stopped before its end
    E0305  nothing waits for that answer
    E0306  the question has been answered already
    E0307  the answer does not fit the question
    E0308  the call log is unreadable
    E0309  the run was stopped before its end
    E0310  a nested skill is refused or cannot be found
    E0311  the run cannot be forked there
    E0312  calls that act would be made again
    E0313  the run cannot be retried
    E0320  a capabilities file is refused
    E0321  the capabilities are not those the run pins
    E0322  a secret is missing
    E0323  an imported run would call what its record declares
    E0335  a bound capability returned an unusable result
    E0340  a context of a question cannot be used
    E0341  a model cannot be used
    E0342  the Python worker is missing
    E0343  a run of `hence solve` stopped before its end
    E0401  a file cannot be read or written
    E0402  the folder is not a bundle that can be imported
    E0403  nothing is at that place
    E0404  a line at the prompt is not a command
    E0501  a rule forbids the operation on variables
    E0502  the state document is refused
    E0503  the checkpoint cannot be taken or returned to
    E0504  the run is driven by its skill
    E0505  the folder holds other documents
    E0601  the policies cannot be loaded
    E0602  the document is not a trace
    E0603  policies block the run
    E0604  the policies of the run cannot be enforced
    E0605  policies do not allow the approval
    E0701  the review does not allow it
    E0702  the review does not hold
    E0703  the trace cannot be changed that way
    E0704  the scratch folder cannot be used
    E0705  the trace cannot be bound
    E0706  the trace refuses the operation
    E0720  the file is not a log that can be imported
    E0721  the log holds several traces
    E0801  a request to the server is not understood
    E0802  the server does not answer this person, page or host
    E0803  the server is busy, or the request exceeds a limit
    E0804  the server does not start
    E0901  there is no such queue
    E0902  the rules of the queue do not allow it
    E0903  the queue cannot be read or written
    E0904  the name of a worker cannot be used
    E0905  a schedule cannot be made or used
    [exit 0]
    ");
    for code in world.ask(&["explain", "--json"]).json()["codes"].as_array().unwrap() {
        let code = code["code"].as_str().unwrap();
        let page = world.ask(&["explain", code]);
        assert!(String::from_utf8(page.stdout).unwrap().starts_with(&format!("# {code}")), "{code}");
    }
    assert_eq!(world.ask(&["explain", "e0102"]).code, 0);
    assert_snapshot!(world.refused(&["explain", "E9999"]), @r#"
    --- stderr
    error[E0403]: no error code "E9999"
    hint: `hence explain` lists all codes; `hence explain E0403` says more
    [exit 2]
    "#);
    assert_snapshot!(world.refused(&["schema", "nothing"]), @r#"
    --- stderr
    error[E0403]: no schema for "nothing"
    hint: `hence schema` lists the names; `hence explain E0403` says more
    [exit 2]
    "#);
}

#[test]
fn completion_scripts_exist_for_every_shell() {
    let world = World::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let answer = world.ask(&["completions", shell]);
        let script = String::from_utf8(answer.stdout).unwrap();
        assert!(answer.code == 0 && script.contains("hence") && script.contains("resume"), "{shell}");
    }
}
