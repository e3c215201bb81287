//! Journals and their verdicts, judged by a verifier that is another program.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use hence_canon::{Canonical, Object, Value, parse, parse_lenient};

use super::tampered_traces;
use crate::data::{DataError, ndjson, text};
use crate::report::Report;

/// The levels another verifier is asked about. Replay needs an engine.
const LEVELS: [&str; 5] = ["bytes", "chain", "linked", "spec", "anchored"];

pub(super) fn run(dir: &Path, command: &str, report: &mut Report) -> Result<(), DataError> {
    let failed = |source| DataError::Verifier { command: command.to_owned(), source };
    let mut verifier = Verifier::start(command).map_err(failed)?;
    for case in ndjson(&dir.join("executions.ndjson"))? {
        let id = text(&case, "/id")?;
        report.case(id, untouched(&mut verifier, &case));
    }
    tampered_traces::each(dir, report, |case, base| tampered(&mut verifier, case, base))
}

/// A journal as it was recorded holds at every level.
fn untouched(verifier: &mut Verifier, case: &Value) -> Result<(), String> {
    let journal = case.get("expect").and_then(|expect| expect.get("trace_ndjson")?.as_str());
    let request = case.get("request").and_then(Value::as_str).ok_or("the case has no request")?;
    let request = parse_lenient(request.as_bytes()).map_err(|error| error.to_string())?;
    let problem = request.value.get("problem_spec").ok_or("the case has no problem")?;
    let found = verifier.ask(journal.ok_or("the case has no journal")?.as_bytes(), problem, case)?;
    let holds = Object::from_iter([("ok", true)]).into();
    LEVELS.into_iter().try_for_each(|level| compare(level, &holds, &found))?;
    complete(true, &found)
}

fn tampered(verifier: &mut Verifier, case: &Value, base: &Value) -> Result<(), String> {
    let problem = tampered_traces::trusted_problem(case, base)?;
    let found = verifier.ask(&tampered_traces::journal(case)?, &problem.value, base)?;
    let expect = case.get("expect").ok_or("the case expects nothing")?;
    for level in LEVELS {
        if let Some(expected) = expect.get(level) {
            compare(level, expected, &found)?;
        }
    }
    match expect.get("linked").and_then(|linked| linked.get("complete")?.as_bool()) {
        Some(expected) => complete(expected, &found),
        None => Ok(()),
    }
}

fn compare(level: &str, expected: &Value, found: &Value) -> Result<(), String> {
    let levels = found.get("levels").and_then(Value::as_array).unwrap_or_default();
    let judged = levels.iter().find(|judged| judged.get("level").and_then(Value::as_str) == Some(level));
    let judged = judged.ok_or_else(|| format!("{level}: not judged: {found}"))?;
    let verdict = judged.get("verdict").and_then(Value::as_str);
    let holds = expected.get("ok").and_then(Value::as_bool) == Some(true);
    let line = expected.get("line").and_then(Value::as_u64);
    let is_same = match verdict {
        Some("holds") => holds,
        Some("broken") => {
            !holds && line.is_none_or(|line| judged.get("line").and_then(Value::as_u64) == Some(line))
        }
        _ => false,
    };
    if is_same { Ok(()) } else { Err(format!("{level}: expected {expected}, found {judged}")) }
}

fn complete(expected: bool, found: &Value) -> Result<(), String> {
    // A broken journal has no end to speak of.
    match found.get("complete").and_then(Value::as_bool).unwrap_or(false) {
        complete if complete == expected => Ok(()),
        complete => Err(format!("complete: expected {expected}, found {complete}")),
    }
}

/// A running verifier and the folder that holds the case it is asked about.
struct Verifier {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    folder: PathBuf,
}

impl Verifier {
    fn start(command: &str) -> std::io::Result<Self> {
        let mut words = command.split_whitespace();
        let program = words.next().ok_or_else(|| std::io::Error::other("the command is empty"))?;
        let mut process = Command::new(program)
            .args(words)
            .arg("--batch")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let closed = || std::io::Error::other("the process has no pipes");
        let requests = process.stdin.take().ok_or_else(closed)?;
        let answers = BufReader::new(process.stdout.take().ok_or_else(closed)?);
        let folder = std::env::temp_dir().join(format!("conform-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self { process, requests, answers, folder })
    }

    /// Asks about a journal and the problem that is trusted; the head of `base` was kept elsewhere.
    fn ask(&mut self, journal: &[u8], problem: &Value, base: &Value) -> Result<Value, String> {
        let error = |error: std::io::Error| error.to_string();
        std::fs::write(self.folder.join("trace.ndjson"), journal).map_err(error)?;
        std::fs::write(self.folder.join("problem.json"), Canonical::of(problem).bytes()).map_err(error)?;
        let target = self.folder.to_str().ok_or("the temporary folder is no text")?;
        let anchor = tampered_traces::anchor(base).ok_or("the case has no head")?.to_string();
        let request: Value = Object::from_iter([("anchor", anchor.as_str()), ("target", target)]).into();
        writeln!(self.requests, "{request}").map_err(error)?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer).map_err(error)?;
        parse(answer.as_bytes()).map_err(|error| format!("the answer is not JSON: {error}"))
    }
}

impl Drop for Verifier {
    fn drop(&mut self) {
        // The process and its folder are of no further use, whatever became of them.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
