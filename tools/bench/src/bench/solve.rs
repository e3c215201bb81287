//! `hence solve` against a scripted model on the loopback interface: what the loop costs besides the model.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hence_testkit::model_server::{Asked, ModelServer, Said};
use hence_testkit::providers::Voice;

use super::value_memory::peak_of;
use crate::Error;
use crate::measure::exponent;
use crate::table::{Budget, Row, Table};

/// How often each run is repeated; the median counts.
const TURNS: usize = 5;
/// The operations of a run that makes many of one kind.
const MANY: usize = 40;
/// The time that the server takes for a call of the batch.
const WAIT: Duration = Duration::from_millis(20);
/// The calls of a batch, and how many are under way at the same time.
const BATCH: (usize, usize) = (1000, 16);
const MEGABYTE: usize = 1_000_000;

pub(crate) fn run(table: &mut Table) -> Result<(), Error> {
    let binary = super::start::binary()?;
    let worker = std::env::var("HENCE_MONTY").ok().filter(|path| Path::new(path).is_file());
    if !binary.is_file() || worker.is_none() || !Path::new("/proc/self/status").is_file() {
        let detail =
            "needs the binary (`cargo build --release`), the Python worker in HENCE_MONTY, and /proc"
                .to_owned();
        let path = "solve: what the loop costs besides the model".to_owned();
        table.push(Row { path, figure: None, unit: " ms", budget: None, detail });
        return Ok(());
    }
    // Next to the build: a folder for temporary files may be in memory, where syncing costs nothing.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("../../target/bench-solve-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let measured =
        Bench { binary, folder: folder.clone(), server: ModelServer::answering(script) }.rows(table);
    std::fs::remove_dir_all(&folder)?;
    measured
}

/// Answers by the question: `KIND COUNT`.
fn script(asked: &Asked) -> Said {
    let fenced = |code: String| Said::Text(format!("```repl\n{code}\n```"));
    if asked.system.is_empty() {
        let reply = "a short reply".to_owned();
        return if asked.last().starts_with("wait") { Said::Slow(WAIT, reply) } else { Said::Text(reply) };
    }
    let question =
        asked.first().strip_prefix("Question: ").and_then(|rest| rest.lines().next()).unwrap_or_default();
    let (kind, count) = question.split_once(' ').unwrap_or((question, "0"));
    let turn = asked.messages.iter().filter(|(role, _)| role == "assistant").count() + 1;
    let ends = |is_last: bool| if is_last { "\nFinal = 1" } else { "" };
    match (kind, count.parse().unwrap_or(0)) {
        ("CHILDREN", count) => {
            fenced(format!("for i in range({count}):\n    rlm_query('child ' + str(i))\nFinal = 1"))
        }
        ("CALLS", count) => {
            fenced(format!("for i in range({count}):\n    llm_query('call ' + str(i))\nFinal = 1"))
        }
        ("BATCH", count) => {
            fenced(format!("llm_query_batched(['wait ' + str(i) for i in range({count})])\nFinal = 1"))
        }
        ("BLOCKS", count) => {
            // A reply has 20 blocks at most.
            let blocks = (0..count.min(19)).map(|_| "```repl\nx = 1\n```\n").collect::<String>();
            Said::Text(format!("{blocks}```repl\ny = 1{}\n```", ends(turn * 20 >= count)))
        }
        ("TURNS", count) => fenced(format!("part = context[{turn}:{turn} + 100]{}", ends(turn >= count))),
        _ => fenced("Final = 1".to_owned()),
    }
}

struct Bench {
    binary: PathBuf,
    folder: PathBuf,
    server: ModelServer,
}

impl Bench {
    fn command(&self, question: &str) -> Result<Command, Error> {
        let store = self.folder.join("store");
        if store.exists() {
            std::fs::remove_dir_all(&store)?;
        }
        let mut command = Command::new(&self.binary);
        command.arg("--store").arg(store).args([
            "solve",
            question,
            "--run-id",
            "r",
            "--context",
            "context.txt",
        ]);
        command.args(["--model", &self.server.model(Voice::OpenAi, "m"), "--max-turns", "1000"]);
        command.args(["--concurrency", &BATCH.1.to_string()]);
        command.current_dir(&self.folder).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(command)
    }

    fn context(&self, bytes: usize) -> Result<(), Error> {
        let text: Vec<u8> = (0..bytes).map(|at| b'a' + u8::try_from(at % 23).unwrap_or(0)).collect();
        Ok(std::fs::write(self.folder.join("context.txt"), text)?)
    }

    /// Returns the median time of a whole run.
    fn time(&self, question: &str, turns: usize) -> Result<Duration, Error> {
        let mut times = Vec::with_capacity(turns);
        for _ in 0..turns {
            let mut command = self.command(question)?;
            let start = Instant::now();
            if !command.status()?.success() {
                return Err(format!("`hence solve {question:?}` failed").into());
            }
            times.push(start.elapsed());
        }
        times.sort_unstable();
        Ok(times.get(turns / 2).copied().unwrap_or_default())
    }

    /// Returns the time of one operation: that of a run with many, without that of a run with none.
    fn each(&self, kind: &str) -> Result<Duration, Error> {
        let (none, many) =
            (self.time(&format!("{kind} 0"), TURNS)?, self.time(&format!("{kind} {MANY}"), TURNS)?);
        Ok(many.saturating_sub(none) / u32::try_from(MANY)?)
    }

    fn journal_bytes(&self, question: &str) -> Result<u64, Error> {
        self.time(question, 1)?;
        Ok(std::fs::metadata(self.folder.join("store/runs/r/trace.ndjson"))?.len())
    }

    /// Returns the median time of one bare exchange with the server, on a connection that stays open.
    fn exchange(&self) -> Result<Duration, Error> {
        let url = self.server.url();
        let address = url.trim_start_matches("http://").split('/').next().unwrap_or_default().to_owned();
        let mut stream = TcpStream::connect(&address)?;
        stream.set_nodelay(true)?;
        let body = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"call"}]}"#;
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let (mut times, mut buffer) = (Vec::new(), vec![0; 65_536]);
        for _ in 0..MANY {
            let (start, mut reply) = (Instant::now(), Vec::new());
            stream.write_all(request.as_bytes())?;
            while !reply.ends_with(b"0\r\n\r\n") {
                let count = stream.read(&mut buffer)?;
                if count == 0 {
                    return Err("the server closed the connection".into());
                }
                reply.extend_from_slice(buffer.get(..count).unwrap_or_default());
            }
            times.push(start.elapsed());
        }
        times.sort_unstable();
        Ok(times.get(times.len() / 2).copied().unwrap_or_default())
    }

    fn rows(&self, table: &mut Table) -> Result<(), Error> {
        self.context(1000)?;
        let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
        let exchange = self.exchange()?;
        let mut push = |path: &str, figure: f64, unit, budget, detail: String| {
            table.push(Row { path: format!("solve: {path}"), figure: Some(figure), unit, budget, detail });
        };
        let child = self.each("CHILDREN")?;
        let own = child.saturating_sub(exchange);
        let detail = format!("{child:.1?} with its turn; its store, its journal and its worker included");
        push(
            "a child run besides its model call",
            milliseconds(own),
            " ms",
            Some(Budget::AtMost(1.0)),
            detail,
        );
        let call = self.each("CALLS")?;
        let own = call.saturating_sub(exchange);
        let detail = format!("{call:.1?} against {exchange:.1?}; a synced line of the call log is in it");
        push(
            "a sub-call besides its exchange",
            own.as_secs_f64() * 1e6,
            " µs",
            Some(Budget::AtMost(50.0)),
            detail,
        );
        let block = self.each("BLOCKS")?;
        let detail = "the interpreter and a synced record included".to_owned();
        push("a block", milliseconds(block), " ms", Some(Budget::AtMost(1.0)), detail);
        let none = self.time("BATCH 0", 1)?;
        let all = self.time(&format!("BATCH {}", BATCH.0), 1)?.saturating_sub(none);
        let least = WAIT * u32::try_from(BATCH.0 / BATCH.1)?;
        let detail =
            format!("{all:.2?} for {} calls, {} at a time, {WAIT:?} each in the server", BATCH.0, BATCH.1);
        push(
            "batched sub-calls / the time of the server",
            all.div_duration_f64(least),
            "×",
            Some(Budget::AtMost(1.2)),
            detail,
        );
        let sizes = [10, 20, 40].map(|turns| (turns, self.journal_bytes(&format!("TURNS {turns}"))));
        let mut points = Vec::new();
        for (turns, bytes) in sizes {
            points.push((f64::from(turns), bytes? as f64));
        }
        let detail = points
            .iter()
            .map(|(turns, bytes)| format!("{turns} turns: {:.0} KB", bytes / 1e3))
            .collect::<Vec<_>>();
        push(
            "journal of 10 to 40 turns: exponent (1 is linear)",
            exponent(&points),
            "",
            Some(Budget::AtMost(1.1)),
            detail.join(", "),
        );
        let small = self.journal_bytes("TURNS 6")?;
        self.context(10 * MEGABYTE)?;
        let large = self.journal_bytes("TURNS 6")?;
        let detail = format!("{large} bytes against {small}");
        push(
            "journal over 10 MB / over 1 KB of context",
            large as f64 / small as f64,
            "×",
            Some(Budget::AtMost(1.05)),
            detail,
        );
        self.context(100 * MEGABYTE)?;
        let peak = peak_of(&mut self.command("TURNS 6")?)?;
        let detail = format!(
            "{} MB, the process without its worker, which holds the parts that were read",
            peak / MEGABYTE as u64
        );
        let figure = peak as f64 / (100 * MEGABYTE) as f64;
        push(
            "peak memory with a context of 100 MB / its size",
            figure,
            "×",
            Some(Budget::AtMost(1.2)),
            detail,
        );
        Ok(())
    }
}
