//! A run that is killed again and again, and a person who looks outside and answers truthfully: under `recovery: ask`
//! no effect happens twice, and none is lost.
//!
//! `HENCE_TEST_KILLS` says how often each kind of run is killed.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use hence_testkit::cli::{World, verified};

/// The number of times runs of each kind are killed, unless the environment says otherwise.
const KILLS: u64 = 12;

/// Appends the key to `effects.log` between two short waits, so that a kill hits before, during and after the effect.
/// `flaky` fails the first time, before the effect.
fn capabilities(output: &str) -> String {
    let act = format!(
        "cat > /dev/null; sleep 0.02; echo $HENCE_IDEMPOTENCY_KEY >> effects.log; sleep 0.02; echo '{output}'"
    );
    let fail = "[ -f tried.$HENCE_IDEMPOTENCY_KEY ] || { touch tried.$HENCE_IDEMPOTENCY_KEY; exit 3; }";
    let command = |script: String| {
        json!({"description": "Acts", "recovery": "ask",
            "provider": {"kind": "command", "command": ["/bin/sh", "-c", script], "environment": ["PATH"]}})
    };
    json!({"capabilities": {"pay": command(act.clone()), "flaky": command(format!("{fail}; {act}"))}})
        .to_string()
}

fn skill() -> String {
    let step = |id: &str, uses: &str, more: &str| {
        format!(
            "  - id: {id}\n    uses: {uses}\n    input: {{who: {id}}}\n    config: {{recovery: ask{more}}}\n"
        )
    };
    let steps = [
        step("one", "pay", ", depends_on: []"),
        step("two", "pay", ", depends_on: []"),
        step("each", "pay", ", foreach: {items: \"[1, 2, 3]\", parallel: 2}"),
        step("again", "flaky", ", retry: {max_attempts: 3, backoff_seconds: 0}"),
        step(
            "both",
            "pay",
            ", scatter: {capabilities: [pay, flaky]}, retry: {max_attempts: 2, backoff_seconds: 0}",
        ),
    ];
    format!(
        "id: pay\nversion: 1.0.0\nname: Pay\ndescription: Pays\ninputs: {{}}\noutputs: {{}}\nsteps:\n{}",
        steps.concat()
    )
}

/// One kind of run: how it is started, the output of its calls, and the number of its effects.
struct Kind {
    files: Vec<(&'static str, String)>,
    run: &'static [&'static str],
    output: &'static str,
    effects: usize,
}

fn skills() -> Kind {
    let output = r#"{"ok": true}"#;
    Kind {
        files: vec![("capabilities.yaml", capabilities(output)), ("skill.yaml", skill())],
        run: &["run", "skill.yaml", "--capabilities", "capabilities.yaml", "--run-id", "r"],
        output,
        effects: 8,
    }
}

fn bound_steps() -> Kind {
    let output = r#"{"evidence": [{"paid": true}]}"#;
    let problem = json!({
        "version": "1.0.0", "id": "r", "created_at": "2026-02-02T00:00:00Z", "inputs": {"prompt": "Which one?"},
        "settings": {
            "bindings": {"AcquireEvidence": {"capability": "pay", "input": {"prompt": {"at": "/problem/inputs/prompt"}}}},
            "loop": {
                "enabled": true, "start_step": "AcquireEvidence", "end_step": "Verify", "max_iterations": 3,
                "stop_condition": {"path": "artifacts.verification.evidence_count", "operator": "gte", "value": 9}
            }
        }
    });
    Kind {
        files: vec![
            ("capabilities.yaml", capabilities(output)),
            ("problem.json", verified(problem).to_string()),
        ],
        run: &["run", "problem.json", "--capabilities", "capabilities.yaml", "--run-id", "r"],
        output,
        effects: 3,
    }
}

/// Numbers that look random and are the same every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

#[derive(Default, Debug)]
struct Counts {
    kills: u64,
    runs: u64,
    questions: u64,
    retried: u64,
}

struct Trial<'a> {
    kind: &'a Kind,
    world: World,
}

impl<'a> Trial<'a> {
    fn new(kind: &'a Kind) -> Self {
        let world = World::new();
        for (name, text) in &kind.files {
            world.write(name, text);
        }
        Self { kind, world }
    }

    fn effects(&self) -> BTreeMap<String, usize> {
        let text = std::fs::read_to_string(self.world.path("effects.log")).unwrap_or_default();
        let mut counts = BTreeMap::new();
        text.lines().for_each(|line| *counts.entry(line.to_owned()).or_default() += 1);
        counts
    }

    fn why(&self) -> Value {
        let answer = self.world.ask(&["why", "r", "--json"]);
        serde_json::from_slice(&answer.stdout).unwrap_or(Value::Null)
    }

    /// Starts or resumes the run, and kills it after a random while: the kill has to come at any point. The test holds
    /// wherever it comes.
    fn kill(&self, numbers: &mut Numbers) -> bool {
        let exists = self.world.path(".hence/runs/r/trace.ndjson").exists();
        let arguments = if exists { &["resume", "r"][..] } else { self.kind.run };
        let mut child = self.world.command(arguments).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(numbers.below(400)));
        let was_alive = child.try_wait().unwrap().is_none();
        child.kill().unwrap();
        child.wait().unwrap();
        self.wait_for_commands();
        was_alive
    }

    /// Waits until nothing that the run called lives: only then can a person look.
    fn wait_for_commands(&self) {
        let folder = std::fs::canonicalize(self.world.path(".")).unwrap();
        let is_here = |entry: std::fs::DirEntry| {
            let is_process = entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit());
            is_process && std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == folder)
        };
        while std::fs::read_dir("/proc").unwrap().flatten().any(is_here) {
            std::thread::yield_now();
        }
    }

    /// Returns the idempotency key that the last attempt of a call was made with.
    fn key(&self, call: &str) -> String {
        let log = String::from_utf8(self.world.read(".hence/runs/r/calls.ndjson")).unwrap();
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut intents = lines.filter(|line| line["kind"] == "intent" && line["key"] == call);
        intents.next_back().unwrap()["idempotency_key"].as_str().unwrap().to_owned()
    }

    /// Answers every question after a look outside.
    fn answer(&self, counts: &mut Counts) {
        for waiting in self.why()["waiting"].as_array().unwrap() {
            assert_eq!(waiting["about"], "undecided", "{waiting}");
            counts.questions += 1;
            let call = waiting["key"].as_str().unwrap();
            let happened = self.effects().contains_key(&self.key(call));
            counts.retried += u64::from(!happened);
            let decision: &[&str] = if happened { &["--done", self.kind.output] } else { &["--retry"] };
            let told = self.world.ask(&[&["answer", "r", call], decision].concat());
            assert_eq!(told.code, 0, "{}", told.stderr);
        }
    }
}

fn killed(kind: &Kind, seed: u64) {
    let kills = std::env::var("HENCE_TEST_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let (mut numbers, mut counts) = (Numbers(seed), Counts::default());
    while counts.kills < kills {
        counts.runs += 1;
        let trial = Trial::new(kind);
        loop {
            if counts.kills < kills {
                counts.kills += u64::from(trial.kill(&mut numbers));
            } else {
                let exists = trial.world.path(".hence/runs/r/trace.ndjson").exists();
                trial.world.ask(if exists { &["resume", "r"] } else { kind.run });
            }
            let report = trial.why();
            let standing = report["standing"].as_str().unwrap_or("absent").to_owned();
            match standing.as_str() {
                "completed" | "failed" => break,
                "waiting" => trial.answer(&mut counts),
                // Resuming asks; until then the call is undecided, however often it was decided before.
                "undecided" => assert_eq!(trial.world.ask(&["resume", "r"]).code, 3, "{report}"),
                "absent" | "stopped" | "answered" => {}
                other => panic!("{other}: {report}"),
            }
        }
        let effects = trial.effects();
        assert!(effects.values().all(|times| *times == 1), "an effect happened twice: {effects:?}");
        assert_eq!(effects.len(), kind.effects, "an effect is missing");
        let verified = trial.world.ask(&["verify", "r"]);
        assert_eq!(verified.code, 0, "{}", verified.stderr);
    }
    eprintln!("{counts:?}");
    assert!(kills < KILLS || counts.questions > 0, "no kill hit a call: {counts:?}");
}

#[test]
fn no_effect_of_a_skill_happens_twice_under_a_truthful_person() {
    killed(&skills(), 0x9E37_79B9_7F4A_7C15);
}

#[test]
fn no_effect_of_a_bound_step_happens_twice_under_a_truthful_person() {
    killed(&bound_steps(), 0xD1B5_4A32_D192_ED03);
}

#[test]
fn why_names_the_decision_that_a_stopped_loop_ends_with() {
    let world = World::with_run("loops");
    let journal = world.journal("loops");
    let lines: Vec<&[u8]> = journal.split_inclusive(|byte| *byte == b'\n').collect();
    let is_decision = |line: &&[u8]| String::from_utf8_lossy(line).contains("\"action\":\"repeat\"");
    let at = lines.iter().position(is_decision).unwrap();
    world.set_journal("loops", lines[..=at].concat());
    let said = world.cli(&["why", "loops"]);
    assert!(said.contains("after a decision of its loop, repeat"), "{said}");
}

#[test]
fn a_difference_of_inputs_that_no_step_reads_is_shown() {
    let world = World::new();
    let skill = "{id: d, version: 1.0.0, name: N, description: D, inputs: {a: {type: string}, b: {type: string}},
 outputs: {t: {type: string}}, steps: [{id: s, uses: text.join, input: {parts: [inputs.a]}, output: {text: outputs.t}}]}";
    world.write("d.yaml", skill);
    for (run, b) in [("one", "x"), ("two", "x"), ("three", "y")] {
        let b = format!("b={b}");
        let made = world.ask(&["run", "d.yaml", "--input", "a=1", "--input", &b, "--run-id", run]);
        assert_eq!(made.code, 0, "{}", made.stderr);
    }
    assert!(
        world.cli(&["diff", "one", "two"]).contains("in ids and times alone"),
        "{}",
        world.cli(&["diff", "one", "two"])
    );
    let said = world.cli(&["diff", "one", "three"]);
    assert!(said.contains("/problem/inputs/context/inputs/b  \"x\" | \"y\""), "{said}");
    assert!(!said.contains("alone"), "{said}");
}
