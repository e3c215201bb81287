//! Everything that the product prints as an example works: steps, templates, and the commands in help.

use serde_json::Value;

use hence_testkit::cli::World;

/// A skill whose only step is an example.
fn skill_of(step: &str) -> String {
    format!(
        "id: example\nversion: 1.0.0\nname: E\ndescription: An example\ninputs: {{}}\noutputs: {{}}\nsteps:\n{step}\n"
    )
}

#[test]
fn the_example_of_every_capability_can_be_checked_and_run_as_it_is_printed() {
    let world = World::new();
    let all = world.ask(&["capabilities", "--json"]).json();
    let all = all["capabilities"].as_array().unwrap();
    assert!(all.len() >= 40, "{}", all.len());
    for one in all {
        let id = one["id"].as_str().unwrap();
        let shown = world.out(&format!("capabilities {id}"));
        assert_eq!(world.out(&format!("capabilities show {id}")), shown);
        let step = shown.split("Example step:\n").nth(1).unwrap_or_else(|| panic!("{id} has no example"));
        let (step, gives) = step.split_once("\ngives\n").unwrap_or((step, ""));
        world.write("example.yaml", skill_of(step.trim_end()));
        let check = world.ask(&["check", "example.yaml"]);
        let text = String::from_utf8(check.stdout).unwrap();
        assert!(text.contains("can run; 0 errors, 0 warnings"), "{id}: {text}");
        let run = world.ask(&["run", "example.yaml", "--run-id", id, "--json"]);
        // A person answers `human.ask`, and a run that waits for a time may be left and resumed.
        let expected: &[i32] = if one["source"] == "built_in" { &[0] } else { &[0, 3] };
        assert!(expected.contains(&run.code), "{id}: {} {}", run.code, run.stderr);
        // The step gives what the page says it gives.
        if one["source"] == "built_in" {
            let promised: Value = serde_json::from_str(gives.trim()).unwrap();
            let record = world.ask(&["show", id, "one", "--json"]).json();
            assert_eq!(record["record"]["result"]["output"]["produced"], promised, "{id}");
        }
    }
}

#[test]
fn every_document_that_new_writes_works_with_the_commands_it_names() {
    let world = World::new();
    for (kind, file) in [
        ("problem", "first.json"),
        ("skill", "first/skill.yaml"),
        ("capabilities", "first.capabilities.yaml"),
        ("policy", "first.policy.yaml"),
    ] {
        let made = world.ask(&["new", kind, "first", "--json"]).json();
        assert!(world.path(file).exists(), "{kind}: {made}");
        let written = String::from_utf8(world.read(file)).unwrap();
        let next = made["next"].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned());
        // The comments of a template name commands, too; those with a placeholder are for documents of one's own.
        let comments = written
            .lines()
            .filter_map(|line| line.strip_prefix("#   hence ").map(|line| format!("hence {line}")));
        let has_placeholder = |line: &String| {
            line.split(' ').any(|word| word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase()))
        };
        let mut count = 0;
        for line in next.chain(comments).filter(|line| !has_placeholder(line)) {
            let command = words(line.split("   ").next().unwrap().trim());
            let command: Vec<&str> = command.iter().skip(1).map(String::as_str).collect();
            let answer = world.ask(&command);
            assert!([0, 3].contains(&answer.code), "{kind}: {line}: {}", answer.stderr);
            count += 1;
        }
        assert!(count >= 2, "{kind}: {count} commands");
        // A document is never overwritten in silence.
        let again = world.ask(&["new", kind, "first"]);
        assert!(again.code == 2 && again.stderr.contains("--force"), "{kind}: {}", again.stderr);
        world.write(file, "changed");
        assert_ne!(world.ask(&["new", kind, "first"]).code, 0);
        assert_eq!(world.read(file), b"changed");
        assert_eq!(world.ask(&["new", kind, "first", "--force"]).code, 0);
        // What was made with a time differs from one second to the next.
        assert_eq!(world.read(file).len(), written.len(), "{kind}");
    }
}

/// Returns the subcommands that a help lists.
fn subcommands(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = listed
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// Returns the commands of the examples in a help, each in one line: a long one is wrapped.
fn commands(tail: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in tail.lines() {
        let line = line.trim_start_matches(['s', ':', ' ']);
        is_open &= !line.is_empty();
        if line.starts_with("hence ") {
            commands.push(line.to_owned());
            is_open = true;
        } else if let Some(last) = commands.last_mut().filter(|_| is_open) {
            last.push_str(&format!(" {}", line.trim()));
        }
    }
    commands
}

/// Splits a command line as a shell does, as far as the examples need it.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, ' ') => words.push(String::new()),
            _ => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty() && word != "\\");
    words
}

#[test]
fn every_command_has_an_example_and_every_example_is_a_command_line() {
    let world = World::new();
    let help = world.out("--help");
    let groups = help
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   ") && !line.starts_with("  -"));
    let names: Vec<String> =
        groups.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    let mut left: Vec<Vec<String>> =
        names.into_iter().filter(|name| name != "help" && name != "hence").map(|name| vec![name]).collect();
    assert!(left.len() > 40, "{left:?}");
    let mut examples = 0;
    while let Some(path) = left.pop() {
        let mut arguments: Vec<&str> = path.iter().map(String::as_str).collect();
        arguments.push("--help");
        let answer = world.ask(&arguments);
        let text = String::from_utf8(answer.stdout).unwrap();
        if answer.code != 0 && path.len() == 1 {
            // A line of the options or of the exit codes.
            continue;
        }
        left.extend(subcommands(&text).into_iter().map(|name| [path.clone(), vec![name]].concat()));
        let tail = text
            .split_once("Example")
            .map(|(_, tail)| tail)
            .unwrap_or_else(|| panic!("{path:?} has no example"));
        for line in commands(tail) {
            let line = line.split(" | ").next().unwrap().split(" > ").next().unwrap();
            let mut given = words(line.split(" && ").next().unwrap());
            given.remove(0);
            // The one placeholder whose form is checked while the words are read.
            let anchor = format!("{}:1", "0".repeat(64));
            given.iter_mut().filter(|word| *word == "HASH:COUNT").for_each(|word| anchor.clone_into(word));
            // Help ends reading, so that words before it are checked and nothing happens.
            given.push("--help".to_owned());
            let given: Vec<&str> = given.iter().map(String::as_str).collect();
            if given.contains(&"--") {
                continue;
            }
            let answer = world.ask(&given);
            assert_eq!(answer.code, 0, "{path:?}: {line}: {}", answer.stderr);
            examples += 1;
        }
    }
    assert!(examples > 60, "{examples} examples");
    assert!(!world.path(".hence").exists(), "help does nothing");
}
