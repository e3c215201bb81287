//! The command line in a fixed world: a folder of its own, a fixed environment, the binary of this build.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

/// A folder in which commands run with a fixed environment: no colour, no terminal, nothing inherited.
pub struct World {
    folder: tempfile::TempDir,
    environment: Vec<(String, String)>,
    /// The seconds of the clock that commands on variables get.
    seconds: AtomicU64,
}

/// The result of a command.
pub struct Answer {
    /// The exit code, or -1 after a signal.
    pub code: i32,
    /// The bytes of standard output.
    pub stdout: Vec<u8>,
    /// The text of standard error.
    pub stderr: String,
}

/// The contents of a store, by path.
pub type Stored = BTreeMap<PathBuf, Vec<u8>>;

impl World {
    /// Creates an empty world.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder, environment: Vec::new(), seconds: AtomicU64::new(0) }
    }

    /// Creates a world with one finished run.
    pub fn with_run(id: &str) -> Self {
        let world = Self::new();
        world.run_problem(&problem(id));
        world
    }

    /// Adds a variable to the environment of every command.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Returns the path of a file of the world.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file and its parent folders.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        self
    }

    /// Reads a file.
    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Writes a problem, runs it, and checks that it completed.
    pub fn run_problem(&self, problem: &Value) {
        self.write("problem.json", problem.to_string());
        let answer = self.ask(&["run", "problem.json"]);
        assert_eq!(answer.code, 0, "{}", answer.stderr);
    }

    /// Returns the bytes of a run's journal.
    pub fn journal(&self, run: &str) -> Vec<u8> {
        self.read(&format!(".hence/runs/{run}/trace.ndjson"))
    }

    /// Replaces the bytes of a run's journal.
    pub fn set_journal(&self, run: &str, bytes: impl AsRef<[u8]>) -> &Self {
        self.write(&format!(".hence/runs/{run}/trace.ndjson"), bytes)
    }

    /// Cuts the last records off a journal, as if the process had been killed before it wrote them.
    pub fn cut(&self, run: &str, records: usize) -> &Self {
        let journal = self.journal(run);
        let lines: Vec<&[u8]> = journal.split_inclusive(|byte| *byte == b'\n').collect();
        let whole = lines.len() - records;
        self.set_journal(run, lines[..whole].concat())
    }

    /// Returns the head of a run, as `hence runs` prints it.
    pub fn head(&self, run: &str) -> String {
        let shown: Value = serde_json::from_slice(&self.ask(&["runs", "--json"]).stdout).unwrap();
        let rows = shown["runs"].as_array().unwrap();
        let row = rows.iter().find(|row| row["run"] == run).unwrap();
        row["head"].as_str().unwrap().to_owned()
    }

    /// Returns a command that runs the binary with these arguments. A command on variables that gives no time gets one, a
    /// second after the one before.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.untimed(arguments);
        let mut words = arguments.iter().skip_while(|word| ["--store", "--json"].contains(word));
        let word = match arguments.first() {
            Some(&"--store") => words.nth(1),
            _ => words.next(),
        };
        let is_on_variables = word.is_some_and(|word| ["vars", "repl"].contains(word));
        if is_on_variables && !arguments.contains(&"--now") && !arguments.contains(&"--help") {
            let second = self.seconds.fetch_add(1, Ordering::Relaxed);
            let (minute, second) = (second / 60, second % 60);
            command.args(["--now", &format!("2026-02-09T10:{minute:02}:{second:02}Z")]);
        }
        command
    }

    /// Returns a command that takes its times from the clock of the machine.
    pub fn untimed(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.args(arguments).current_dir(self.folder.path()).env_clear().env("NO_COLOR", "1");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command.
    pub fn ask(&self, arguments: &[&str]) -> Answer {
        Answer::of(self.command(arguments).output().unwrap())
    }

    /// Runs a command with bytes on standard input.
    pub fn ask_with_input(&self, arguments: &[&str], input: &[u8]) -> Answer {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        // The command may refuse before it has read everything.
        let _ = child.stdin.take().unwrap().write_all(input);
        Answer::of(child.wait_with_output().unwrap())
    }

    /// Runs a command and returns stdout, stderr and exit code as one text.
    pub fn cli(&self, arguments: &[&str]) -> String {
        self.show(&self.ask(arguments))
    }

    /// Runs a command that must be refused with a hint, and checks that no stored byte changed.
    pub fn refused(&self, arguments: &[&str]) -> String {
        let before = self.stored();
        let answer = self.ask(arguments);
        assert_unchanged(&before, &self.stored());
        assert_ne!(answer.code, 0, "expected a refusal");
        assert!(!answer.stderr.contains("panicked"), "{}", answer.stderr);
        let last = answer.stderr.lines().last().unwrap_or_default();
        let advises = ["hint: ", "For more information, try '--help'."];
        let is_advised = match serde_json::from_str::<Value>(&answer.stderr) {
            Ok(error) => error["error"]["hint"].as_str().is_some_and(|hint| !hint.is_empty()),
            Err(_) => advises.iter().any(|advice| last.starts_with(advice)),
        };
        assert!(is_advised, "no advice: {}", answer.stderr);
        self.show(&answer)
    }

    /// Runs a line of words separated by blanks, and returns it with stdout, stderr and exit code. Quotes join words.
    pub fn hence(&self, line: &str) -> String {
        self.hence_with(line, b"")
    }

    /// Runs a line with bytes on standard input.
    pub fn hence_with(&self, line: &str, stdin: &[u8]) -> String {
        let words = split(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let answer = self.ask_with_input(&words, stdin);
        let out = hide_times(&String::from_utf8(answer.stdout).unwrap());
        format!("$ hence {line}\n{out}{}[exit {}]\n", answer.stderr, answer.code)
    }

    /// Runs one line after the other and returns all of their output.
    pub fn all(&self, lines: &[&str]) -> String {
        lines.iter().map(|line| self.hence(line)).collect()
    }

    /// Runs a line that must succeed and returns its stdout.
    pub fn out(&self, line: &str) -> String {
        let words = split(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let answer = self.ask(&words);
        assert_eq!(answer.code, 0, "{line}: {}", answer.stderr);
        String::from_utf8(answer.stdout).unwrap()
    }

    fn show(&self, answer: &Answer) -> String {
        let folder = self.folder.path().display().to_string();
        let mut text = String::from_utf8_lossy(&answer.stdout).into_owned();
        if !answer.stderr.is_empty() {
            text.push_str("--- stderr\n");
            text.push_str(&answer.stderr);
        }
        let text = text.replace(&folder, "[WORLD]");
        format!("{}\n[exit {}]", hide_times(&hide_digests(text.trim_end())), answer.code)
    }

    /// Returns the contents of the store. Locks name processes, the index is a cache, and `made` names a file of this disk, so they are left out.
    pub fn stored(&self) -> Stored {
        let mut stored = Stored::new();
        collect(&self.path(".hence"), &mut stored);
        stored
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl Answer {
    fn of(output: std::process::Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Returns standard output as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap()
    }
}

/// Returns the binary next to the tests that run: `target/PROFILE/hence` for `target/PROFILE/deps/cli-HASH`.
fn binary() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    profile.join(format!("hence{}", std::env::consts::EXE_SUFFIX))
}

/// Starts a command with pipes to all its streams.
pub fn piped(command: &mut Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Splits a line into words at blanks; quotes join words.
fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (position, part) in line.split('\'').enumerate() {
        if position % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

fn collect(folder: &Path, stored: &mut Stored) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            stored.insert(path.clone(), Vec::new());
            collect(&path, stored);
        } else if !["lock", "index", "made"].contains(&path.file_name().unwrap().to_str().unwrap()) {
            stored.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
}

/// Asserts that two listings of a store are equal, byte for byte.
pub fn assert_unchanged(before: &Stored, after: &Stored) {
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    for (path, bytes) in before {
        assert!(after[path] == *bytes, "{} changed", path.display());
    }
}

/// Replaces digests, whole or shortened, by a token: they change with every version of the engine.
fn hide_digests(text: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\0']) {
        if c.is_ascii_alphanumeric() {
            word.push(c);
            continue;
        }
        let is_hex = word.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
        out.push_str(if is_hex && word.len() >= 12 { "<digest>" } else { &word });
        word.clear();
        if c != '\0' {
            out.push(c);
        }
    }
    out
}

/// Replaces measured times (`2026-11-16T16:30:01.123Z`) and durations (`12 ms`) by tokens: a real clock measured them.
fn hide_times(text: &str) -> String {
    const DIGEST_DIGITS: usize = 64;
    const SHAPE: &[u8] = b"dddd-dd-ddTdd:dd:dd.dddZ";
    let is_time = |at: &[u8]| {
        at.len() >= SHAPE.len()
            && SHAPE.iter().zip(at).all(|(shape, found)| match shape {
                b'd' => found.is_ascii_digit(),
                other => found == other,
            })
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let is_word = out.ends_with(|c: char| c.is_ascii_alphanumeric());
        if is_time(rest.as_bytes()) {
            out.push_str("<time>");
            rest = &rest[SHAPE.len()..];
        } else if out.ends_with("content  sha256:") && rest.len() >= DIGEST_DIGITS {
            // The content of a trace includes measured durations.
            out.push_str("<digest>");
            rest = &rest[DIGEST_DIGITS..];
        } else if digits > 0
            && !is_word
            && (rest[digits..].starts_with(" ms") || out.ends_with("\"duration_ms\": "))
        {
            out.push_str("<n>");
            rest = &rest[digits..];
        } else {
            out.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    out
}

/// Returns a problem that takes its evidence in two rounds: 14 records.
pub fn problem(id: &str) -> Value {
    problem_with_evidence(id, 2)
}

/// Returns a problem that takes `items` pieces of evidence one by one: four records for each, and six more.
pub fn problem_with_evidence(id: &str, items: usize) -> Value {
    let item = |item: usize| json!({"id": format!("e{item}"), "supports": ["choice"]});
    let evidence: Vec<Value> = (0..items).map(item).collect();
    json!({
        "version": "1.0.0",
        "id": id,
        "created_at": "2026-02-02T00:00:00Z",
        "inputs": {
            "prompt": "Which one?",
            "goals": ["choose"],
            "constraints": ["it exists"],
            "constraint_checks": [{"constraint": "it exists", "expression": "tasks.choice == 'e0'"}],
            "tasks": [{"id": "choice", "goal": "choose", "method": "evidence.e0.id"}],
            "context": {"evidence": evidence}
        },
        "settings": {
            "evidence_required": true,
            "evidence_batch": 1,
            "loop": {
                "enabled": true,
                "start_step": "AcquireEvidence",
                "end_step": "Verify",
                "max_iterations": items,
                "stop_condition": {
                    "path": "artifacts.verification.evidence_count", "operator": "gte", "value": items
                }
            }
        }
    })
}

/// Returns a problem with an item of evidence that is too large for a record, so that it is stored as a blob.
pub fn large_problem(id: &str) -> Value {
    let mut problem = problem(id);
    problem["inputs"]["context"]["evidence"][0]["claim"] = json!("g".repeat(12 * 1024));
    problem
}

/// Returns a problem with a task for each goal that is decided, and with a constraint that is met, so that a run of it is
/// verified.
pub fn verified(mut problem: Value) -> Value {
    let inputs = &mut problem["inputs"];
    let goals = match inputs["goals"].as_array() {
        Some(goals) => goals.clone(),
        None => vec![inputs["prompt"].clone()],
    };
    let task = |(number, goal)| json!({"id": format!("t{number}"), "goal": goal, "method": "context.answer"});
    inputs["tasks"] = goals.into_iter().enumerate().map(task).collect();
    inputs["context"]["answer"] = json!(1);
    inputs["constraints"] = json!(["it is one"]);
    inputs["constraint_checks"] = json!([{"constraint": "it is one", "expression": "tasks.t0 == 1"}]);
    problem
}
