//! Every view that people read, at 60, 80 and 140 columns, with and without colour.

use insta::assert_snapshot;

use hence_testkit::cli::{World, problem};

/// The widths of terminals that reports are looked at in.
const WIDTHS: [usize; 3] = [60, 80, 140];

/// A view that people read.
struct View {
    name: &'static str,
    line: &'static str,
}

const fn view(name: &'static str, line: &'static str) -> View {
    View { name, line }
}

/// The views whose screens are stored.
const STORED: [View; 18] = [
    view("runs", "runs"),
    view("why", "why notes"),
    view("log", "log notes"),
    view("log_of_a_problem", "log vendor-choice"),
    view("stats", "stats notes"),
    view("verify", "verify notes"),
    view("policy_check", "policy check notes --policy engineering"),
    view("policy_list", "policy list"),
    view("explain", "explain E0102"),
    view("blame", "blame notes vars.long_count"),
    view("impact", "impact notes:count"),
    view("vars_list", "vars list task"),
    view("vars_history", "vars history task"),
    view("vars_tree", "vars tree task"),
    view("error_with_hint", "state notes nothing.at.this.place"),
    view("fleet", "fleet"),
    view("check", "check wrong.yaml"),
    view("capability", "capabilities human.ask"),
];

/// Further views, of which only the width is checked.
const MEASURED: [&str; 32] = [
    "runs --waiting",
    "runs --graph",
    "show vendor-choice 3",
    "doctor",
    "check notes/skill.yaml",
    "check problem.json",
    "capabilities",
    "capabilities data.filter",
    "explain",
    "explain E0205",
    "explain READ-2",
    "policy show no-force-push",
    "policy lint engineering",
    "policy explain policies.yaml",
    "policy actions",
    "trace show vendor-choice",
    "trace residuals vendor-choice",
    "trace grade vendor-choice",
    "trace goals vendor-choice",
    "trace lineage vendor-choice evidence#1",
    "replay vendor-choice",
    "diff vendor-choice notes",
    "queue list",
    "queue jobs",
    "queue schedules",
    "gc --plan",
    "vars status task",
    "vars checkpoints task",
    "blame vendor-choice verification",
    "impact vendor-choice Verify",
    "log nothing",
    "answer notes approve --value maybe",
];

/// The help of commands, which the library of arguments lays out.
const HELP: [&str; 6] =
    ["--help", "run --help", "runs --help", "queue limit --help", "policy check --help", "vars set --help"];

/// Returns a store with a run that waits, one that has ended, variables, a queue, and documents with mistakes.
fn world() -> World {
    let world = World::new();
    world.run_problem(&problem("vendor-choice"));
    world.out("new skill notes");
    let notes = r#"notes=["buy milk", "call the bank about the new account"]"#;
    let run = world.ask(&["run", "notes/skill.yaml", "--input", notes, "--run-id", "notes"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    world.write("wrong.yaml", WRONG);
    world.write("policies.yaml", POLICIES);
    world.out("vars init task 'Which of the three vendors should be chosen for the next two years?'");
    world.out("vars set task budget_in_euros 40000 --type number");
    world.out("vars set task reason 'The offer is within the budget and the region is in Europe'");
    world.out("vars set task reason 'The offer is above the budget'");
    world
}

const WRONG: &str = "id: s\nversion: 1.0.0\nname: N\ndescription: D\ninputs: {l: {type: integer}}\noutputs: {}\nsteps:\n  - id: first\n    uses: text.join\n    input: {parts: [a], separater: 'a rather long text that goes past the end of a narrow terminal'}\n    output: {text: vars.t}\n    config: {condition: inputs.l > 3}\n  - {id: second, uses: text.lines, input: {text: vars.t}, output: {lines: vars.lines}}\n";

const POLICIES: &str = "policies:\n  - id: tests\n    name: T\n    severity: error\n    statement: Before a commit the tests ran and passed\n    formula: G(GitCommit → P(RunTests ∧ completed))\n";

/// The output of a command on a terminal of a width, messages after results.
fn screen(world: &World, line: &str, width: usize, is_coloured: bool) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let mut command = world.command(&words);
    command.env("COLUMNS", width.to_string());
    if is_coloured {
        command.env_remove("NO_COLOR").args(["--color", "always"]);
    }
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (out, messages) = (text(output.stdout), text(output.stderr));
    assert!(!messages.contains("panicked"), "{line}: {messages}");
    match messages.is_empty() {
        true => out,
        false => format!("{out}--- stderr\n{messages}"),
    }
}

/// Removes the sequences that colour.
fn without_colour(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

/// Puts zeros for digits of times and hashes, which differ every time; the width of everything stays.
fn steady(text: &str, world: &World) -> String {
    let text = text.replace(&world.path("").display().to_string(), "[WORLD]/");
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\0']) {
        if c.is_ascii_alphanumeric() || ['-', ':', '.', '…'].contains(&c) {
            word.push(c);
            continue;
        }
        let hex = word.chars().filter(char::is_ascii_hexdigit).count();
        let is_time = word.starts_with("20") && word.contains("-");
        let is_hash = hex >= 12 && word.chars().all(|c| c.is_ascii_hexdigit() || [':', '…'].contains(&c));
        let zero = |c: char| if c.is_ascii_hexdigit() { '0' } else { c };
        match is_time || is_hash {
            true => out.extend(word.chars().map(zero)),
            false => out.push_str(&word),
        }
        word.clear();
        if c != '\0' {
            out.push(c);
        }
    }
    out
}

/// Replaces the numbers before ` ms`, whose widths differ.
fn without_durations(text: &str) -> String {
    let mut out = String::new();
    for (number, part) in text.split(" ms").enumerate() {
        if number > 0 {
            out.truncate(out.trim_end_matches(|c: char| c.is_ascii_digit()).len());
            out.push_str("0 ms");
        }
        out.push_str(part);
    }
    out
}

/// Returns the lines that are wider than the terminal although they could be broken: they are no data, and have more than
/// one part. Ids, paths, hashes and commands are one part each.
fn too_wide(text: &str, width: usize) -> Vec<&str> {
    let is_data = |line: &str| {
        let text = line.trim_start();
        text.starts_with(['"', '{', '[', '|', ']', '}'])
            || text.contains(": {")
            || text.contains(": [")
            || text.starts_with("hence ")
    };
    let is_one_part = |line: &str| {
        let last = line.trim().rsplit("  ").next().unwrap_or_default();
        let words: Vec<&str> = last.split(' ').collect();
        // A name and one word that no line could hold, as `head HASH`.
        let is_long = |word: &&str| word.chars().count() + 2 > width;
        let is_command = last.starts_with("hence ") || last.starts_with("`hence ");
        is_command || words.len() == 1 || (words.len() == 2 && words.iter().any(is_long))
    };
    text.lines().filter(|line| line.chars().count() > width && !is_data(line) && !is_one_part(line)).collect()
}

#[test]
fn every_view_fits_narrow_and_wide_terminals() {
    let world = world();
    let lines = STORED.iter().map(|view| view.line).chain(MEASURED).chain(HELP);
    let mut wide = Vec::new();
    for line in lines {
        for width in WIDTHS {
            let text = screen(&world, line, width, false);
            assert!(!text.trim().is_empty(), "{line}");
            wide.extend(too_wide(&text, width).into_iter().map(|part| format!("{line} at {width}: {part}")));
        }
    }
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}

#[test]
fn the_screens_of_views_are_as_stored() {
    let world = world();
    for view in STORED {
        let screens = WIDTHS.map(|width| {
            let text = screen(&world, view.line, width, false);
            let text = without_durations(&steady(&text, &world));
            format!("=== {width} columns\n$ hence {}\n{}", view.line, text.trim_end())
        });
        assert_snapshot!(format!("screen_{}", view.name), screens.join("\n\n"));
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    let world = world();
    for line in STORED.iter().map(|view| view.line) {
        for width in WIDTHS {
            let plain = screen(&world, line, width, false);
            let coloured = screen(&world, line, width, true);
            assert_eq!(without_colour(&coloured), plain, "{line} at {width}");
        }
    }
    for (name, line) in [
        ("log", "log notes"),
        ("policy_check", "policy check notes --policy engineering"),
        ("error", "log nothing"),
    ] {
        let screens = WIDTHS.map(|width| {
            let text = screen(&world, line, width, true);
            assert!(text.contains('\u{1b}'), "{line} has no colour");
            let text = without_durations(&steady(&text.replace('\u{1b}', "␛"), &world));
            format!("=== {width} columns\n$ hence {line}\n{}", text.trim_end())
        });
        assert_snapshot!(format!("screen_{name}_coloured"), screens.join("\n\n"));
    }
}

#[test]
fn help_is_laid_out_for_the_terminal() {
    let world = World::new();
    let screens = WIDTHS
        .map(|width| format!("=== {width} columns\n{}", screen(&world, "--help", width, false).trim_end()));
    assert_snapshot!("screen_help", screens.join("\n\n"));
    let help = screen(&world, "runs -h", 80, false);
    assert!(help.contains("--color <auto|always|never>"), "{help}");
}

#[test]
fn the_least_useful_column_goes_first_and_ids_stay_whole() {
    let world = world();
    let narrow = screen(&world, "runs", 60, false);
    let heading = narrow.lines().next().unwrap();
    assert!(
        heading.starts_with("RUN") && heading.contains("STATUS") && heading.contains("CREATED"),
        "{narrow}"
    );
    assert!(!heading.contains("HEAD"), "{narrow}");
    assert!(narrow.contains("vendor-choice") && !narrow.contains('…'), "{narrow}");
    assert!(narrow.contains("left out to fit: "), "{narrow}");
    assert!(!screen(&world, "runs", 140, false).contains("left out"), "everything fits");
}
