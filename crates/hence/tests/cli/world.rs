//! A folder, an environment without surprises, and the binary.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// A folder of its own, in which commands run with a fixed environment: no colour, no terminal, nothing inherited.
pub(crate) struct World {
    folder: tempfile::TempDir,
    environment: Vec<(String, String)>,
}

/// What a command left behind.
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

/// Everything a store holds, by path.
pub(crate) type Stored = BTreeMap<PathBuf, Vec<u8>>;

impl World {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), environment: Vec::new() }
    }

    /// Makes a world with one finished run.
    pub(crate) fn with_run(id: &str) -> Self {
        let world = Self::new();
        world.run_problem(&problem(id));
        world
    }

    /// Adds to the environment of every command.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        self
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Writes a problem, runs it, and checks that it completed.
    pub(crate) fn run_problem(&self, problem: &Value) {
        self.write("problem.json", problem.to_string());
        let answer = self.ask(&["run", "problem.json"]);
        assert_eq!(answer.code, 0, "{}", answer.stderr);
    }

    /// Returns the bytes of a run's journal.
    pub(crate) fn journal(&self, run: &str) -> Vec<u8> {
        self.read(&format!(".hence/runs/{run}/trace.ndjson"))
    }

    /// Puts other bytes in place of a run's journal.
    pub(crate) fn set_journal(&self, run: &str, bytes: impl AsRef<[u8]>) -> &Self {
        self.write(&format!(".hence/runs/{run}/trace.ndjson"), bytes)
    }

    /// Returns the head that `hence run` printed for a run.
    pub(crate) fn head(&self, run: &str) -> String {
        let shown: Value = serde_json::from_slice(&self.ask(&["runs", "--json"]).stdout).unwrap();
        let rows = shown["runs"].as_array().unwrap();
        let row = rows.iter().find(|row| row["run"] == run).unwrap();
        row["head"].as_str().unwrap().to_owned()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hence"));
        command.args(arguments).current_dir(self.folder.path()).env_clear().env("NO_COLOR", "1");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn ask(&self, arguments: &[&str]) -> Answer {
        Answer::of(self.command(arguments).output().unwrap())
    }

    pub(crate) fn ask_with_input(&self, arguments: &[&str], input: &[u8]) -> Answer {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        // The command may refuse before it has read everything.
        let _ = child.stdin.take().unwrap().write_all(input);
        Answer::of(child.wait_with_output().unwrap())
    }

    /// Runs a command and returns stdout, stderr and exit code together.
    pub(crate) fn cli(&self, arguments: &[&str]) -> String {
        self.show(&self.ask(arguments))
    }

    /// Runs a command that must be refused, and checks that every stored byte is as it was.
    pub(crate) fn refused(&self, arguments: &[&str]) -> String {
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

    fn show(&self, answer: &Answer) -> String {
        let folder = self.folder.path().display().to_string();
        let mut text = String::from_utf8_lossy(&answer.stdout).into_owned();
        if !answer.stderr.is_empty() {
            text.push_str("--- stderr\n");
            text.push_str(&answer.stderr);
        }
        let text = text.replace(&folder, "[WORLD]");
        format!("{}\n[exit {}]", hide_digests(text.trim_end()), answer.code)
    }

    /// Returns everything the store holds; locks name processes, and the index is a cache, so both are left out.
    pub(crate) fn stored(&self) -> Stored {
        let mut stored = Stored::new();
        collect(&self.path(".hence"), &mut stored);
        stored
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

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap()
    }
}

fn collect(folder: &Path, stored: &mut Stored) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            stored.insert(path.clone(), Vec::new());
            collect(&path, stored);
        } else if !["lock", "index"].contains(&path.file_name().unwrap().to_str().unwrap()) {
            stored.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
}

pub(crate) fn assert_unchanged(before: &Stored, after: &Stored) {
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    for (path, bytes) in before {
        assert!(after[path] == *bytes, "{} changed", path.display());
    }
}

/// Puts a token in place of digests, whole or shortened: they change with every version of the engine.
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

/// A problem that takes its evidence in two rounds: 14 records.
pub(crate) fn problem(id: &str) -> Value {
    problem_with_evidence(id, 2)
}

/// A problem that takes `items` pieces of evidence one by one: four records for each, and six more.
pub(crate) fn problem_with_evidence(id: &str, items: usize) -> Value {
    let evidence: Vec<Value> = (0..items).map(|item| json!({"id": format!("e{item}")})).collect();
    json!({
        "version": "1.0.0",
        "id": id,
        "created_at": "2026-02-02T00:00:00Z",
        "inputs": {"prompt": "Which one?", "goals": ["choose"], "context": {"evidence": evidence}},
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

/// A problem whose list of tasks is too large for a record, so that it is kept as a blob.
pub(crate) fn large_problem(id: &str) -> Value {
    let mut problem = problem(id);
    problem["inputs"]["goals"] = json!(["g".repeat(12 * 1024)]);
    problem
}
