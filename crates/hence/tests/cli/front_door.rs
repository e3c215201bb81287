//! The first minute: templates that run, imported contracts, answers without quotes, words that are almost right.

use insta::assert_snapshot;
use serde_json::Value;

use hence_testkit::cli::World;

fn with_path() -> World {
    World::new().env("PATH", "/usr/bin:/bin")
}

#[test]
fn a_new_skill_checks_runs_asks_and_completes() {
    let world = with_path();
    assert_eq!(world.ask(&["init"]).code, 0);
    assert_eq!(world.ask(&["init"]).code, 0, "a second time changes nothing");
    let made = world.ask(&["new", "skill", "notes", "--json"]).json();
    assert_eq!(made["files"], serde_json::json!(["./notes/skill.yaml", "./notes/capabilities.yaml"]));
    for file in ["notes/skill.yaml", "notes/capabilities.yaml"] {
        assert_eq!(world.out(&format!("check {file}")), format!("{file}: can run; 0 errors, 0 warnings\n"));
    }
    // The schema that the first line names is there, and is the one that `hence schema` prints.
    for (name, schema) in [("skill", "skill"), ("capabilities", "capabilities-file")] {
        let written: Value =
            serde_json::from_slice(&world.read(&format!("notes/.schemas/{name}.json"))).unwrap();
        assert_eq!(written, world.ask(&["schema", schema]).json());
        let first = String::from_utf8(world.read(&format!("notes/{name}.yaml"))).unwrap();
        assert!(first.starts_with(&format!("# yaml-language-server: $schema=.schemas/{name}.json\n")));
    }
    let short = world.ask(&["run", "notes/skill.yaml", "--input", r#"notes=["buy milk"]"#, "--json"]);
    assert_eq!(short.json()["outputs"]["report"], "0 long notes", "{}", short.stderr);
    let long =
        ["run", "notes/skill.yaml", "--input", r#"notes=["a b c d e f"]"#, "--run-id", "long", "--json"];
    assert_eq!(world.ask(&long).code, 3);
    let answered =
        world.ask(&["answer", "long", "approve", "--value", "yes", "--by", "ada", "--resume", "--json"]);
    assert_eq!(answered.json()["outputs"]["report"], "1 long notes", "{}", answered.stderr);
    assert_eq!(world.ask(&["verify", "long"]).code, 0);
}

#[test]
fn a_new_policy_and_new_capabilities_pass_their_checks() {
    let world = with_path();
    for (kind, name) in [("policy", "rules"), ("capabilities", "tools")] {
        let file = format!("{name}.{kind}.yaml");
        assert_eq!(world.ask(&["new", kind, name]).code, 0);
        assert_eq!(world.ask(&["check", &file]).code, 0, "{}", world.cli(&["check", &file]));
    }
    assert_eq!(world.ask(&["policy", "lint", "rules.policy.yaml"]).code, 0);
    assert_eq!(world.ask(&["policy", "test", "rules.policy.yaml", "--json"]).json()["passed"], 2);
    world.write("rules.toml", "[[policy]]\nid = \"x\"\nformula = \"G(\"\n");
    assert_eq!(world.ask(&["check", "rules.toml"]).code, 1);
    assert_eq!(world.ask(&["schema", "policy"]).json()["title"], "Policies");
    world.write("broken.yaml", "capabilities:\n  a.b:\n    description: x\n    provider: {kind: telex}\n");
    let found = world.cli(&["check", "broken.yaml"]);
    assert!(found.contains("broken.yaml:4:") && found.contains("[exit 1]"), "{found}");
}

#[test]
fn a_new_problem_checks_and_runs() {
    let world = World::new();
    assert_eq!(world.ask(&["new", "problem", "offers"]).code, 0);
    assert_eq!(world.out("check ./offers.json"), "./offers.json: can run; 0 errors, 0 warnings\n");
    assert_eq!(world.ask(&["run", "offers.json"]).code, 0, "{}", world.cli(&["run", "offers.json"]));
    assert_eq!(world.ask(&["verify", "offers"]).code, 0);
}

#[test]
fn nothing_is_overwritten_without_force() {
    let world = with_path();
    world.write("notes/capabilities.yaml", "mine");
    assert_snapshot!(world.refused(&["new", "skill", "notes"]), @r"
    --- stderr
    error[E0401]: ./notes/capabilities.yaml exists already, and nothing was written
    hint: name another file, or --force replaces this one; `hence explain E0401` says more
    [exit 2]
    ");
    assert!(!world.path("notes/skill.yaml").exists());
    assert_eq!(world.read("notes/capabilities.yaml"), b"mine");
    assert_eq!(world.ask(&["new", "skill", "notes", "--force"]).code, 0);
    assert_ne!(world.read("notes/capabilities.yaml"), b"mine");
    for name in ["../up", "", ".x", "a/b", &"x".repeat(65)] {
        assert_eq!(world.ask(&["new", "policy", name]).code, 2, "{name}");
    }
}

const CONTRACT: &str = "id: text.count\ndescription: Counts words\ninputs: {text: {type: string, required: true}}\noutputs: {words: {type: number, required: true}}\nproperties: {side_effects: false}\n";
const BINDING: &str = "id: py_count\ncapability: text.count\nservice: words\nprotocol: pythoncall\noperation: count\nrequest: {text: input.text, limit: input.limit}\nresponse: {words: response.words}\n";
const SKILL: &str = "id: x\nversion: 1.0.0\nname: X\ndescription: Calls\ninputs: {}\noutputs: {words: {type: number}}\nsteps:\n  - {id: call, uses: text.count, input: {text: a b c}, output: {words: outputs.words}}\n";

#[test]
fn imported_contracts_check_and_are_called_only_with_the_users_word() {
    let world = with_path();
    world.write("registry/capabilities/text.count.yaml", CONTRACT);
    world.write("registry/capabilities/broken.yaml", "id: [\n");
    world.write("services/bindings/count.yaml", BINDING);
    world.write("services/words.yaml", "id: words\nkind: pythoncall\nmodule: tools.words\n");
    world.write("services/tools/words.py", "open('called', 'w')\ndef count(text, limit=9):\n    print('noise')\n    return {'words': len(text.split()) + limit}\n");
    world.write("skill.yaml", SKILL);
    let shown = world.cli(&["capabilities", "import", "registry", "services"]);
    assert!(
        shown.contains("1 (0 bound, 1 unbound)") && shown.contains("registry/capabilities/broken.yaml"),
        "{shown}"
    );
    assert!(!world.path("services/called").exists(), "an import executes nothing");
    let check = world.cli(&["check", "skill.yaml", "--capabilities", "capabilities.json"]);
    assert!(check.contains("warning[unbound]: `text.count` has a contract and no provider"), "{check}");
    let run = world.ask(&["run", "skill.yaml", "--capabilities", "capabilities.json"]);
    assert_eq!(run.code, 1);
    assert!(String::from_utf8_lossy(&run.stdout).contains("which is not allowed"));
    assert!(!world.path("services/called").exists());
    // The file is not replaced in silence; with the user's word the module is called.
    let import = ["capabilities", "import", "registry", "services", "--allow-python", "services"];
    assert_eq!(world.ask(&import).code, 2);
    assert_eq!(world.ask(&[&import[..], &["--force"]].concat()).code, 0);
    let run = world.ask(&["run", "skill.yaml", "--capabilities", "capabilities.json", "--json"]);
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: there is no python3 here");
        return;
    }
    assert_eq!(run.json()["outputs"]["words"], 12, "{}", run.stderr);
    assert!(world.path("services/called").exists());
    assert_eq!(world.ask(&["capabilities", "import", "skill.yaml"]).code, 2);
}

#[test]
fn places_are_written_the_same_way_everywhere() {
    let world = World::with_run("vendor-choice");
    let by_name = world.out("show vendor-choice Verify");
    assert_eq!(world.out("show vendor-choice:Verify"), by_name);
    let index = world.ask(&["show", "vendor-choice:Verify", "--json"]).json()["index"].to_string();
    assert_eq!(world.out(&format!("show vendor@{index}")), by_name, "a prefix of the id is enough");
    let state = world.out("state vendor-choice /artifacts/verification --at Verify");
    assert_eq!(world.out("state vendor-choice:Verify artifacts.verification"), state);
    let log = world.ask(&["log", "vendor-choice:Verify", "--json"]).json();
    assert_eq!(log["records"][0]["index"].to_string(), index);
    assert_eq!(world.out("impact vendor-choice:Verify"), world.out("impact vendor-choice Verify"));
    world.out(&format!("checkpoint vendor-choice@{index} here"));
    for wrong in [
        &["show", "vendor-choice:Verify", "Verify"][..],
        &["show", "vendor-choice"],
        &["verify", "vendor-choice@1"],
    ] {
        assert!(world.refused(wrong).contains("E0403"), "{wrong:?}");
    }
    // The trace of a run is read like a file.
    for command in ["show", "grade", "residuals", "report", "goals", "hash"] {
        assert_eq!(world.ask(&["trace", command, "vendor-choice"]).code, 0, "{command}");
    }
    // A run whose id looks like a place comes first.
    let mut other = hence_testkit::cli::problem("odd");
    other["id"] = "odd".into();
    world.write("odd.json", other.to_string());
    world.ask(&["run", "odd.json", "--run-id", "odd@1"]);
    assert_eq!(world.ask(&["log", "odd@1", "--json"]).json()["run"], "odd@1");
}

/// A store with runs of every look, whose times are hidden: they differ each time.
fn listed() -> World {
    let world = World::with_run("vendor-choice");
    world.write("q.yaml", question(", type: boolean"));
    world.ask(&["run", "q.yaml", "--run-id", "a-question-with-quite-a-long-name"]);
    world.write("join.yaml", "id: join\nversion: 1.0.0\nname: J\ndescription: Joins\ninputs: {}\noutputs: {text: {type: string}}\nsteps:\n  - {id: join, uses: text.join, input: {parts: [a]}, output: {text: outputs.text}}\n");
    world.ask(&["run", "join.yaml", "--run-id", "joined"]);
    world.ask(&["fork", "joined:join", "--run-id", "joined-again"]);
    world
}

#[test]
fn runs_are_listed_newest_first_and_can_be_filtered() {
    let world = listed();
    let names = |arguments: &[&str]| -> Vec<String> {
        let rows = world.ask(&[&["runs", "--json"], arguments].concat()).json();
        rows["runs"].as_array().unwrap().iter().map(|row| row["run"].as_str().unwrap().to_owned()).collect()
    };
    let question = "a-question-with-quite-a-long-name";
    assert_eq!(names(&[]), ["joined-again", "joined", question, "vendor-choice"]);
    assert_eq!(names(&["--limit", "1"]), ["joined-again"]);
    assert_eq!(names(&["--skill", "join"]), ["joined-again", "joined"]);
    assert_eq!(names(&["--status", "waiting"]), [question]);
    assert_eq!(names(&["--status", "waiting", "--status", "completed"]).len(), 4);
    assert_eq!(names(&["--search", "VENDOR"]), ["vendor-choice"]);
    assert_eq!(names(&["--since", "1d"]).len(), 4);
    assert_eq!(names(&["--since", "2100-01-01"]), Vec::<String>::new());
    assert_eq!(names(&["--graph"]), ["joined", "joined-again", question, "vendor-choice"]);
    assert!(world.out("runs --graph").contains("└─ joined-again"), "{}", world.out("runs --graph"));
    assert_snapshot!(world.refused(&["runs", "--since", "soon"]), @r#"
    --- stderr
    error[E0103]: expected a time, a day, or a number with s, m, h, d or w, found "soon"
    hint: give a time as 2026-02-09T10:00:00Z, a day as 2026-02-09, or 90s, 30m, 12h, 7d or 4w ago; `hence explain E0103` says more
    [exit 2]
    "#);
    assert_eq!(world.ask(&["runs", "--status", "don"]).code, 2);
}

#[test]
fn tables_fit_narrow_terminals_with_and_without_colour() {
    let world = listed();
    for columns in ["60", "80", "140"] {
        let width: usize = columns.parse().unwrap();
        for line in [
            "runs",
            "runs --search vendor",
            "log vendor-choice",
            "policy list",
            "trace residuals vendor-choice",
            "stats",
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            let plain = world.command(&words).env("COLUMNS", columns).output().unwrap();
            let plain = String::from_utf8(plain.stdout).unwrap();
            if line.starts_with("runs") || line.starts_with("log") {
                let widest = plain.lines().map(|line| line.chars().count()).max().unwrap();
                assert!(widest <= width, "{line} at {columns}:\n{plain}");
            }
            let mut colored = world.command(&words);
            let colored = colored
                .env("COLUMNS", columns)
                .env_remove("NO_COLOR")
                .args(["--color", "always"])
                .output()
                .unwrap();
            let colored = String::from_utf8(colored.stdout).unwrap();
            let stripped: String = colored
                .split('\u{1b}')
                .enumerate()
                .map(|(index, part)| match index {
                    0 => part,
                    _ => part.split_once('m').map_or("", |(_, rest)| rest),
                })
                .collect();
            assert_eq!(stripped, plain, "colour changes nothing but colour");
            if line == "runs --search vendor" {
                assert_snapshot!(format!("runs_at_{columns}"), without_times(&plain));
                assert_snapshot!(
                    format!("runs_at_{columns}_coloured"),
                    without_times(&colored.replace('\u{1b}', "␛"))
                );
            }
        }
    }
}

/// Puts zeros for the digits of times, which differ every time.
fn without_times(text: &str) -> String {
    let is_time = |word: &str| word.starts_with("20") && word.contains(['-', '…']);
    let hide = |word: &str| match is_time(word) {
        true => word.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect(),
        false => word.to_owned(),
    };
    text.split(' ').map(hide).collect::<Vec<_>>().join(" ")
}

#[test]
fn quiet_leaves_out_hints_and_keeps_results_and_errors() {
    let world = World::with_run("vendor-choice");
    let loud = world.ask(&["log", "nothing"]);
    let quiet = world.ask(&["--quiet", "log", "nothing"]);
    assert!(quiet.stderr.starts_with("error[E0202]") && loud.code == quiet.code);
    assert_eq!(world.out("runs --quiet"), world.out("runs"));
    assert_eq!(world.out("runs --no-pager"), world.out("runs"));
}

fn question(extra: &str) -> String {
    format!(
        "id: q\nversion: 1.0.0\nname: Q\ndescription: Asks\ninputs: {{}}\noutputs: {{said: {{type: any}}}}\nsteps:\n  - id: ask\n    uses: human.ask\n    input: {{question: Well?{extra}}}\n    output: {{value: outputs.said}}\n"
    )
}

#[test]
fn answers_are_typed_by_their_question() {
    let world = World::new();
    world.write("reason.txt", "two\nlines\n");
    let cases = [
        (", type: boolean", "yes", "true"),
        (", type: boolean", "No", "false"),
        (", schema: {type: boolean}", "y", "true"),
        (", type: string", "true", "\"true\""),
        (", type: string", "{not json", "\"{not json\""),
        (", schema: {type: string}", "[x", "\"[x\""),
        (", type: integer", "3", "3"),
        ("", "some text", "\"some text\""),
        ("", "@reason.txt", "\"two\\nlines\""),
        ("", "@@ada", "\"@ada\""),
        (", options: [\"yes\", \"no\"]", "yes", "\"yes\""),
        (", options: [true, false], type: boolean", "no", "false"),
    ];
    for (number, (extra, given, expected)) in cases.iter().enumerate() {
        let id = format!("q{number}");
        world.write("q.yaml", question(extra));
        assert_eq!(world.ask(&["run", "q.yaml", "--run-id", &id]).code, 3, "{extra}");
        let answer = world.ask(&["answer", &id, "ask", "--value", given, "--resume", "--json"]);
        assert_eq!(
            answer.json()["outputs"]["said"].to_string(),
            *expected,
            "{extra} {given}: {}",
            answer.stderr
        );
    }
    world.write("q.yaml", question(", options: [\"approve\", \"reject\"]"));
    world.ask(&["run", "q.yaml", "--run-id", "almost"]);
    assert_snapshot!(world.refused(&["answer", "almost", "ask", "--value", "approve1"]), @r#"
    --- stderr
    error[E0307]: step ask: expected one of "approve", "reject", found "approve1"; did you mean `approve`?
    hint: nothing was stored; `hence why RUN` shows the question and the allowed answers; `hence explain E0307` says more
    [exit 1]
    "#);
}

#[test]
fn the_words_of_a_command_name_the_schema_of_what_it_prints() {
    let world = World::new();
    for (words, name) in [(&["trace", "grade"][..], "trace-grade"), (&["vars", "get"], "vars-get")] {
        let by_words = world.ask(&[&["schema"], words].concat());
        assert_eq!(by_words.code, 0, "{}", by_words.stderr);
        assert_eq!(by_words.json(), world.ask(&["schema", name]).json());
    }
}

#[test]
fn the_only_question_is_answered_without_naming_its_step() {
    let world = World::new();
    world.write("q.yaml", question(""));
    world.ask(&["run", "q.yaml", "--run-id", "r"]);
    let answered = world.ask(&["answer", "r", "--value", "fine", "--resume", "--json"]);
    assert_eq!(answered.json()["outputs"]["said"], "fine", "{}", answered.stderr);
    let refused = world.refused(&["answer", "r", "--value", "again"]);
    assert!(refused.contains("nothing waits for an answer\n"), "{refused}");
}

#[test]
fn a_place_in_a_run_is_heard_by_watch_and_fork() {
    let world = with_path();
    world.out("new skill notes");
    let input = r#"notes=["buy milk"]"#;
    assert_eq!(world.ask(&["run", "notes/skill.yaml", "--run-id", "r", "--input", input]).code, 0);
    let records = world.ask(&["log", "r", "--limit", "0", "--json"]).json();
    let step = records["records"][2]["what"].as_str().unwrap().to_owned();
    let watched = world.out("watch r@2");
    assert!(watched.contains(&step) && !watched.contains("header"), "{watched}");
    assert!(world.refused(&["watch", "r@99"]).contains("E0403"));
    let by_index = world.ask(&["fork", "r@2", "--run-id", "by-index", "--json"]);
    assert_eq!(by_index.code, 0, "{}", by_index.stderr);
    let problem = String::from_utf8(world.read(".hence/runs/by-index/problem.json")).unwrap();
    assert!(problem.contains(&format!(r#""from":"{step}""#)), "{problem}");
}

#[test]
fn a_required_input_is_not_null_and_a_file_that_is_no_document_is_named() {
    let world = with_path();
    world.out("new skill notes");
    world.write("binary", b"\x7fELF\0\0\0").write("null.json", r#"{"notes": null}"#);
    for (option, value, said) in [
        ("--input", "notes=null", "input `notes` is required: expected a value of type array, found null"),
        ("--inputs", "null.json", "found null"),
        ("--input", "notes=", "is empty: expected a document"),
        ("--input", "notes=@binary", "binary is not text: expected a document"),
    ] {
        let refused = world.refused(&["run", "notes/skill.yaml", option, value]);
        assert!(refused.contains(said), "{value}: {refused}");
    }
    assert!(!world.path(".hence").exists(), "nothing was stored");
}

#[test]
fn quiet_errors_have_no_hint() {
    let world = World::with_run("one");
    assert!(world.ask(&["show", "two"]).stderr.contains("hint:"));
    let quiet = world.ask(&["--quiet", "show", "two"]).stderr;
    assert!(quiet.contains("error[E0202]") && !quiet.contains("hint:"), "{quiet}");
}

#[test]
fn an_input_that_is_given_twice_is_refused() {
    let world = with_path();
    world.out("new skill notes");
    let twice = ["run", "notes/skill.yaml", "--input", "notes=[]", "--input", r#"notes=["a"]"#];
    let refused = world.refused(&twice);
    assert!(refused.contains("error[E0103]: --input notes is given twice"), "{refused}");
    assert!(!world.path(".hence").exists(), "nothing was stored");
}

#[test]
fn almost_right_words_get_a_suggestion() {
    let world = World::with_run("vendor-choice");
    let meant = |arguments: &[&str]| {
        let text = world.refused(arguments);
        let found = text.split("did you mean `").nth(1).unwrap_or_else(|| panic!("no suggestion: {text}"));
        found.split('`').next().unwrap().to_owned()
    };
    assert_eq!(meant(&["log", "vendor-choice1"]), "vendor-choice");
    assert_eq!(meant(&["log", "vendr"]), "vendor-choice");
    assert_eq!(meant(&["trace", "show", "vendor-chioce"]), "vendor-choice");
    assert_eq!(meant(&["run", "problm.json"]), "problem.json");
    assert_eq!(meant(&["check", "./problem.jsn"]), "./problem.json");
    assert_eq!(meant(&["show", "vendor-choice", "Verify1"]), "Verify");
    assert_eq!(meant(&["schema", "skil"]), "skill");
    assert_eq!(meant(&["explain", "E0112"]), "E0102");
    assert_eq!(meant(&["policy", "show", "no-force-psh"]), "no-force-push");
    assert_eq!(meant(&["policy", "lint", "enginering"]), "engineering");
    assert_eq!(meant(&["capabilities", "text.jion"]), "text.join");
}
