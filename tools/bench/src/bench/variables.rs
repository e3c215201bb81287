//! Variables: writing, reading, growing, and returning to a checkpoint.

use std::path::Path;
use std::process::{Command, Stdio};

use hence_canon::{Digest, Value, canonical_bytes};
use hence_engine::{
    Blobs, MemorySink, Request, Run, Sink, SinkError, VariableFiles, Variables, VariablesRun,
    variables_problem,
};
use hence_journal::Sealed;
use hence_state::Profile;
use hence_store::{AttachmentName, Durability, FileStore, NewRun, RunId, RunWriter, Store as _};
use hence_variables::{
    Call, Files, Get, Init, NoFiles, Op, ReadFault, Rollback, Set, SpillFile, StateId, StorePath,
    TakeCheckpoint,
};

use crate::Error;
use crate::measure::{compare, exponent, time_of};
use crate::table::{Budget, Row, Table};

/// The number of operations one turn makes.
const OPERATIONS: usize = 200;
/// The number of names they go to.
const NAMES: usize = 1000;
/// The number of times a growing state is measured.
const TURNS: usize = 11;

const STATE: StateId = StateId::from_number(1);

pub(crate) fn run(table: &mut Table) -> Result<(), Error> {
    table.push(buffered("set", set)?);
    table.push(buffered("get", get)?);
    table.push(in_folder(durable)?);
    table.push(in_folder(command_line)?);
    table.push(many()?);
    table.push(rollback()?);
    Ok(())
}

/// A run of variables that keeps nothing on a disk.
struct Bench {
    run: Option<VariablesRun>,
    sink: MemorySink,
}

/// Nothing large is written here.
struct NoStoredFiles;

impl Files for NoStoredFiles {
    fn read(&self, path: &StorePath) -> Result<std::sync::Arc<[u8]>, ReadFault> {
        NoFiles.read(path)
    }
}

impl VariableFiles for NoStoredFiles {
    fn store(&mut self, _: &SpillFile) -> Result<(), SinkError> {
        Err("a value of a benchmark is small".into())
    }
}

impl Bench {
    fn new() -> Result<Self, Error> {
        Self::named("bench")
    }

    fn named(id: &str) -> Result<Self, Error> {
        let request = Request::of_value(problem(id), Profile::STRICT);
        let program = Variables::new(&request).map_err(|findings| findings.to_string())?;
        let (run, header) = Run::start(program)?;
        let mut bench = Self { run: Some(run), sink: MemorySink::default() };
        bench.sink.append(&header)?;
        let state_id = Some(STATE.to_string().into());
        bench.call(&Call::Init(Init { state_id, ..Init::with_prompt("measure") }))?;
        Ok(bench)
    }

    fn call(&mut self, call: &Call) -> Result<(), Error> {
        let run = self.run.take().ok_or("an earlier call failed")?;
        let now = run.next_moment()?;
        let (run, reply) = run.call(call, now, &mut NoStoredFiles, &mut self.sink)?;
        self.run = Some(run);
        reply.map(|_| ()).map_err(|refusal| refusal.to_string().into())
    }

    fn op(&mut self, op: Op) -> Result<(), Error> {
        self.call(&Call::On { state: STATE, op })
    }

    /// Writes `count` times, to as many names as there are.
    fn fill(&mut self, count: usize, names: usize) -> Result<(), Error> {
        (0..count).try_for_each(|n| self.op(set(n % names)))
    }
}

fn problem(id: &str) -> Value {
    variables_problem(id, "2026-02-02T00:00:00Z", "measure")
}

fn set(n: usize) -> Op {
    Op::Set(Set::new(format!("value_of_{}", letters(n)), Value::from("a value of some length")))
}

fn get(n: usize) -> Op {
    Op::Get(Get { name: format!("value_of_{}", letters(n)).into(), ..Get::default() })
}

/// Spells a number without digits, so that no name draws advice.
fn letters(n: usize) -> String {
    n.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
}

/// Compares operations with hashing the bytes they write once.
fn buffered(what: &str, op: fn(usize) -> Op) -> Result<Row, Error> {
    let mut bench = Bench::new()?;
    bench.fill(NAMES - 2, NAMES - 2)?;
    let before = bench.sink.journal.len();
    let operate = |bench: &mut Bench| (0..OPERATIONS).try_for_each(|n| bench.op(op(n)));
    operate(&mut bench)?;
    let bytes = bench.sink.journal.get(before..).unwrap_or_default().to_vec();
    let mut failed = None;
    let compared = compare(
        || (),
        |()| {
            if let Err(error) = operate(&mut bench) {
                failed = Some(error);
            }
        },
        || Digest::of(&bytes),
    );
    if let Some(error) = failed {
        return Err(error);
    }
    let each = compared.subject / u32::try_from(OPERATIONS)?;
    Ok(Row {
        path: format!("variables: {what}, buffered, 998 variables, time / SHA-256 of the bytes written"),
        figure: Some(compared.ratio),
        unit: "×",
        budget: None,
        detail: format!("{:.0} per second, {each:.1?} each", each.as_secs_f64().recip()),
    })
}

/// Keeps records through a store, each synced.
struct Durable {
    memory: MemorySink,
    writer: Box<dyn RunWriter>,
}

impl Sink for Durable {
    fn append(&mut self, record: &Sealed) -> Result<(), SinkError> {
        let head = self.writer.head();
        self.writer.append(head, record.line(), Durability::Synced)?;
        Ok(())
    }

    fn put_blob(&mut self, value: &hence_canon::Canonical) -> Result<(), SinkError> {
        self.memory.put_blob(value)
    }

    fn blobs(&self) -> &dyn Blobs {
        self.memory.blobs()
    }
}

fn in_folder(measure: fn(&Path) -> Result<Row, Error>) -> Result<Row, Error> {
    // Beside the build, because a folder for temporary files may lie in memory, where syncing costs nothing.
    let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let folder = build.join(format!("bench-variables-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let measured = measure(&folder);
    std::fs::remove_dir_all(&folder)?;
    measured
}

fn durable(folder: &Path) -> Result<Row, Error> {
    use std::io::Write as _;
    let mut bench = Bench::new()?;
    let store = FileStore::open_or_create(folder.join("store"))?;
    let lines = bench.sink.journal.clone();
    let writer = store.create(NewRun { id: RunId::new("bench")?, attachments: Vec::new(), lines })?;
    let mut sink = Durable { memory: MemorySink::default(), writer };
    let mut plain = std::fs::File::create(folder.join("plain"))?;
    let line =
        bench.sink.journal.split_inclusive(|byte| *byte == b'\n').next_back().unwrap_or_default().to_vec();
    let (mut next, mut failed) = (0, None);
    let compared = compare(
        || (),
        |()| {
            next += 1;
            let call = Call::On { state: STATE, op: set(next % (NAMES - 2)) };
            let called = bench.run.take().map(|run| {
                let now = run.next_moment()?;
                run.call(&call, now, &mut NoStoredFiles, &mut sink)
            });
            match called {
                Some(Ok((run, _))) => bench.run = Some(run),
                Some(Err(error)) => failed = Some(Error::from(error)),
                None => {}
            }
        },
        || plain.write_all(&line).and_then(|()| plain.sync_data()),
    );
    if let Some(error) = failed {
        return Err(error);
    }
    Ok(Row {
        path: "variables: set, durable, speed / write and fdatasync of a line".to_owned(),
        figure: Some(compared.ratio.recip()),
        unit: "×",
        budget: None,
        detail: format!("{:.0} per second", compared.subject.as_secs_f64().recip()),
    })
}

/// Measures the cost of `hence vars set` late in a long history against early in it.
fn command_line(folder: &Path) -> Result<Row, Error> {
    let store = folder.join("store");
    for (id, count) in [("early", 100), ("late", 10_000)] {
        let mut bench = Bench::named(id)?;
        bench.fill(count, 50)?;
        let attachments = vec![(AttachmentName::new("problem.json")?, canonical_bytes(&problem(id)))];
        let new = NewRun { id: RunId::new(id)?, attachments, lines: bench.sink.journal };
        FileStore::open_or_create(&store)?.create(new)?;
    }
    let binary = super::start::binary()?;
    let write = |run: &str| {
        let mut command = Command::new(&binary);
        command.arg("--store").arg(&store).args(["vars", "set", run, "value_of_b", "another value"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    let path = "variables: a write by the command line, the 10 000th / the 100th".to_owned();
    let budget = Some(Budget::AtMost(1.5));
    if !(write("early") && write("late")) {
        let detail = "the binary is not built: `cargo build --release`".to_owned();
        return Ok(Row { path, figure: None, unit: "×", budget, detail });
    }
    let compared = compare(|| (), |()| write("late"), || write("early"));
    let detail = format!(
        "{:.1?} against {:.1?}, the process and the sync included",
        compared.subject, compared.baseline
    );
    Ok(Row { path, figure: Some(compared.ratio), unit: "×", budget, detail })
}

/// The cost of a mutation late in a long history, against early in it.
fn many() -> Result<Row, Error> {
    let mut times = Vec::new();
    for count in [1000, 10_000] {
        let mut bench = Bench::new()?;
        bench.fill(count, NAMES - 2)?;
        let mut failed = None;
        let time = time_of(TURNS, || {
            if let Err(error) = bench.fill(OPERATIONS, NAMES - 2) {
                failed = Some(error);
            }
        });
        failed.map_or(Ok(()), Err)?;
        times.push(time / u32::try_from(OPERATIONS)?);
    }
    let [early, late] = times.as_slice() else { return Err("two were measured".into()) };
    Ok(Row {
        path: "variables: 998 variables, a mutation after 10 000 / after 1 000".to_owned(),
        figure: Some(late.div_duration_f64(*early)),
        unit: "×",
        budget: Some(Budget::AtMost(2.0)),
        detail: format!("{late:.1?} against {early:.1?}"),
    })
}

/// The growth of a rollback's cost with the history before it: 0 is none.
fn rollback() -> Result<Row, Error> {
    let mut points = Vec::new();
    let mut detail = Vec::new();
    for count in [100, 1000, 10_000] {
        let mut bench = Bench::new()?;
        bench.fill(count, 50)?;
        bench.op(Op::Checkpoint(TakeCheckpoint { name: "here".into(), ..TakeCheckpoint::default() }))?;
        let mut failed = None;
        let mut turn = || -> Result<(), Error> {
            bench.op(set(7))?;
            bench.op(Op::Rollback(Rollback::to("here")))
        };
        let time = time_of(TURNS, || {
            if let Err(error) = turn() {
                failed = Some(error);
            }
        });
        failed.map_or(Ok(()), Err)?;
        points.push((f64::from(u32::try_from(count)?), time.as_secs_f64()));
        detail.push(format!("{count}: {time:.1?}"));
    }
    Ok(Row {
        path: "variables: a write and its rollback, cost ~ history^k".to_owned(),
        figure: Some(exponent(&points)),
        unit: "",
        budget: Some(Budget::AtMost(0.3)),
        detail: detail.join(", "),
    })
}
