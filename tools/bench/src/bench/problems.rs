//! Whole runs of the built-in pipeline, from a parsed problem to the last record, against the public Python engine.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hence_canon::{Canonical, Value, canonical_bytes};
use hence_engine::{Blobs, Engine, MemorySink, Reason, Request, Run, Sink, SinkError};
use hence_journal::{Head, Sealed};
use hence_state::Profile;
use hence_store::{AttachmentName, Durability, FileStore, NewRun, RunId, RunWriter, Store};

use crate::Error;
use crate::measure::time_of;
use crate::sample::{object, problem};
use crate::table::{Budget, Row, Table};

/// A problem, the size of its context in bytes, and the runs per second that the public engine reaches on it in memory.
struct Case {
    name: &'static str,
    context_bytes: usize,
    reference: f64,
}

const CASES: [Case; 2] = [
    Case { name: "small problem", context_bytes: 0, reference: 698.0 },
    Case { name: "problem with 1 MB of context", context_bytes: 1_000_000, reference: 9.6 },
];
/// The speed that runs in memory are to reach, as a multiple of the reference.
const SPEED: Budget = Budget::AtLeast(100.0);
/// The number of runs that are timed together: one small run is too short to time.
const RUNS_TOGETHER: usize = 20;
const TURNS: usize = 21;

pub(crate) fn run(table: &mut Table) -> Result<(), Error> {
    for case in &CASES {
        let problem = problem_of(case.context_bytes);
        in_memory(&problem)?;
        let together = if case.context_bytes == 0 { RUNS_TOGETHER } else { 1 };
        let time = time_of(TURNS, || (0..together).try_for_each(|_| in_memory(&problem).map(drop)));
        let each = time / u32::try_from(together)?;
        table.push(row(case, "in memory", each, Some(SPEED)));
        let each = durable_time(&problem)?;
        table.push(row(case, "durable, each record synced", each, None));
    }
    Ok(())
}

fn row(case: &Case, where_to: &str, each: Duration, budget: Option<Budget>) -> Row {
    let rate = each.as_secs_f64().recip();
    let Case { name, reference, .. } = case;
    Row {
        path: format!("whole runs of a {name}, {where_to}, speed / public engine in memory"),
        figure: Some(rate / reference),
        unit: "×",
        budget,
        detail: format!("{rate:.0} runs a second, {each:.1?} each; reference {reference}"),
    }
}

/// Makes a problem whose context holds about so many bytes of notes.
fn problem_of(context_bytes: usize) -> Value {
    const NOTE: &str = "A note of the context that is read with the problem and changes nothing in it. ";
    let notes: Vec<Value> = (0..context_bytes / NOTE.len()).map(|_| NOTE.into()).collect();
    problem(object([]), if notes.is_empty() { object([]) } else { object([("notes", notes.into())]) })
}

fn in_memory(problem: &Value) -> Result<Head, Error> {
    let plan = Engine::new().plan(&Request::of_value(problem.clone(), Profile::STRICT))?;
    let (run, header) = Run::start(Reason::new(plan))?;
    let mut sink = MemorySink::default();
    sink.append(&header)?;
    Ok(run.finish(&mut sink, |_| {})?.head)
}

/// Returns the median time of runs that are stored on disk.
fn durable_time(problem: &Value) -> Result<Duration, Error> {
    let folder = Folder::create()?;
    let store = FileStore::open_or_create(folder.0.join("store"))?;
    let mut failed = None;
    let mut number = 0;
    let time = time_of(TURNS, || {
        number += 1;
        if let Err(error) = durable(problem, &store, number) {
            failed = Some(error);
        }
    });
    failed.map_or(Ok(time), Err)
}

fn durable(problem: &Value, store: &FileStore, number: usize) -> Result<Head, Error> {
    let plan = Engine::new().plan(&Request::of_value(problem.clone(), Profile::STRICT))?;
    let (run, header) = Run::start(Reason::new(plan))?;
    let attachment = (AttachmentName::new("problem.json")?, canonical_bytes(problem));
    let id = RunId::new(&format!("bench-{number}"))?;
    let writer = store.create(NewRun { id, attachments: vec![attachment], lines: header.line().to_vec() })?;
    let mut sink = Durable { store, writer };
    Ok(run.finish(&mut sink, |_| {})?.head)
}

/// A sink that syncs each record, as the command line does.
struct Durable<'a> {
    store: &'a FileStore,
    writer: Box<dyn RunWriter>,
}

impl Sink for Durable<'_> {
    fn append(&mut self, record: &Sealed) -> Result<(), SinkError> {
        let head = self.writer.head();
        self.writer.append(head, record.line(), Durability::Synced)?;
        Ok(())
    }

    fn put_blob(&mut self, value: &Canonical) -> Result<(), SinkError> {
        self.store.put_blob(value.bytes(), Durability::Synced)?;
        Ok(())
    }

    fn blobs(&self) -> &dyn Blobs {
        self
    }
}

impl Blobs for Durable<'_> {
    fn get(&self, digest: &hence_canon::Digest) -> Result<Option<Vec<u8>>, SinkError> {
        Ok(Some(self.store.blob(digest)?))
    }
}

/// A folder next to the build, because a folder for temporary files may be in memory, where syncing costs nothing.
struct Folder(PathBuf);

impl Folder {
    fn create() -> Result<Self, Error> {
        let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
        let folder = build.join(format!("bench-problems-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
