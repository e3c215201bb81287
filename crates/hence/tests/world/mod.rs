//! A folder of its own for each test, and the command line as a person meets it: stdout, stderr and exit code.
#![allow(dead_code, clippy::unwrap_used, reason = "shared by tests, each of which uses part of it")]

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

pub(crate) struct World(tempfile::TempDir);

impl World {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hence"));
        command.args(words).current_dir(self.0.path()).env("NO_COLOR", "1").env("COLUMNS", "100");
        command
    }

    /// Runs a line of words separated by blanks; quotes hold words together.
    pub(crate) fn hence(&self, line: &str) -> String {
        self.hence_with(line, b"")
    }

    pub(crate) fn hence_with(&self, line: &str, stdin: &[u8]) -> String {
        let words = split(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut child = piped(&mut self.command(&words));
        child.stdin.take().unwrap().write_all(stdin).unwrap();
        let output = child.wait_with_output().unwrap();
        let (out, err) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        format!("$ hence {line}\n{out}{err}[exit {}]\n", output.status.code().unwrap_or(-1))
    }

    /// Runs one line after the other and returns all of it.
    pub(crate) fn all(&self, lines: &[&str]) -> String {
        lines.iter().map(|line| self.hence(line)).collect()
    }

    /// Runs a line that must succeed and returns its stdout.
    pub(crate) fn out(&self, line: &str) -> String {
        let words = split(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = self.command(&words).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

pub(crate) fn piped(command: &mut Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

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
