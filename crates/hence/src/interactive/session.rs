//! One interactive run, shared with other processes.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hence_canon::{Lenient, Value, canonical_bytes};
use hence_engine::{Interactive, MemorySink, Request, Sink as _, without_defects};
use hence_journal::RecordIndex;
use hence_state::Profile;
use hence_store::{FileStore, NewRun, RunId, RunWriter, Store as _, StoreError};
use hence_variables::{Call, Reply, StateId, Workspace};

use super::StoreGround;
use crate::code::Code;
use crate::context::Context;
use crate::error::CliError;
use crate::sink::{StoreBlobs, StoreSink};
use crate::target::{Journal, find_run, problem_name};

/// How long a command waits for another process to finish its change. A change takes milliseconds; who holds the
/// lease for longer is stuck or is not changing variables.
const LEASE_WAIT_MAX: Duration = Duration::from_secs(30);
/// How long it waits between two tries.
const LEASE_PAUSE: Duration = Duration::from_millis(2);

/// A run that is open. Every change takes the lease, catches up with what others recorded, decides, appends and gives
/// the lease back, so that no process decides on what it has not read.
pub(crate) struct Session<'a> {
    context: &'a Context,
    pub(crate) store: FileStore,
    pub(crate) id: RunId,
    pub(crate) root: PathBuf,
    problem: Lenient,
    run: Option<Interactive>,
}

impl<'a> Session<'a> {
    /// Opens a run by its id or a prefix of it, and reads it.
    pub(crate) fn open(context: &'a Context, name: &str, root: &Path) -> Result<Self, CliError> {
        let store = context.store()?;
        let id = find_run(&store, name)?;
        let journal = Journal::of_run(context, id.as_str())?;
        let problem = journal.required_problem()?;
        let mut session = Self { context, store, id, root: root.to_owned(), problem, run: None };
        session.run = Some(session.load(None)?);
        Ok(session)
    }

    /// Returns the variables as last read.
    pub(crate) fn workspace(&self) -> Result<&Workspace, CliError> {
        Ok(self.loaded()?.workspace())
    }

    /// Returns the run as last read.
    pub(crate) fn loaded(&self) -> Result<&Interactive, CliError> {
        self.run.as_ref().ok_or_else(|| {
            CliError::new(Code::Stopped, format!("run {}: an earlier change was not confirmed", self.id))
        })
    }

    /// Returns the state that is meant: the one named, or the first.
    pub(crate) fn state(&self, named: Option<StateId>) -> Result<StateId, CliError> {
        let run = self.loaded()?;
        let Some(state) = named.or(run.first_state()) else {
            return Err(CliError::new(Code::NoSuchPlace, format!("run {} has no state yet", self.id)));
        };
        match run.workspace().state(state) {
            Some(_) => Ok(state),
            None => Err(CliError::variables(&hence_variables::Refusal::NoState { state })),
        }
    }

    /// Returns the whole records of the journal.
    pub(crate) fn journal(&self) -> Result<Vec<u8>, CliError> {
        Ok(whole_lines(self.store.journal_bytes(&self.id)?))
    }

    /// Reads the run as it was after a record, or as it is.
    pub(crate) fn load(&self, until: Option<RecordIndex>) -> Result<Interactive, CliError> {
        let (journal, blobs) = (self.journal()?, StoreBlobs(&self.store));
        let loaded = match until {
            None => Interactive::load(&journal, &self.problem, &blobs),
            Some(last) => Interactive::load_until(&journal, &self.problem, &blobs, last),
        };
        loaded.map_err(|error| {
            let not_interactive = matches!(error, hence_engine::ResumeError::Refused(_));
            let error = CliError::resume(self.id.as_str(), error);
            if not_interactive { error.advise("name a run that `hence vars init` made") } else { error }
        })
    }

    /// Takes in what others recorded since.
    pub(crate) fn refresh(&mut self) -> Result<(), CliError> {
        let Some(mut run) = self.run.take() else {
            self.run = Some(self.load(None)?);
            return Ok(());
        };
        let mut lines = Vec::new();
        let from = RecordIndex::new(run.head().records.get());
        let mut reader = self.store.read_journal(&self.id, from)?;
        reader
            .read_to_end(&mut lines)
            .map_err(|error| CliError::file("read", &self.store.journal_path(&self.id), &error))?;
        let caught_up = run.catch_up(&whole_lines(lines), &StoreBlobs(&self.store));
        caught_up.map_err(|error| CliError::resume(self.id.as_str(), error))?;
        self.run = Some(run);
        Ok(())
    }

    /// Performs a call under the run's lease. When this returns an answer, the change survives power loss.
    pub(crate) fn call(&mut self, call: &Call) -> Result<Reply, CliError> {
        let writer = self.lease()?;
        if self.run.as_ref().is_none_or(|run| run.head() != writer.head()) {
            self.refresh()?;
        }
        let Some(run) = self.run.take() else { return self.loaded().map(|_| Reply::Done) };
        let mut sink = StoreSink::new(&self.store, writer);
        let mut ground = StoreGround { store: &self.store, root: &self.root };
        let (run, reply) = run.call(call, &mut ground, &mut sink)?;
        self.run = Some(run);
        reply.map_err(|refusal| CliError::variables(&refusal))
    }

    /// Takes the lease, waiting a little while another process has it.
    fn lease(&self) -> Result<Box<dyn RunWriter>, CliError> {
        let start = Instant::now();
        loop {
            match self.store.open(&self.id) {
                Ok(opened) => {
                    if let Some(cut) = &opened.cut {
                        self.context.say(format!("run {}: {cut}", self.id));
                    }
                    return Ok(opened.writer);
                }
                Err(StoreError::Leased { .. }) if start.elapsed() < LEASE_WAIT_MAX => {
                    std::thread::sleep(LEASE_PAUSE);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Leaves off an append that is under way.
fn whole_lines(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    bytes.truncate(end);
    bytes
}

/// Creates a run with its first event, all at once: there is no run without a state.
pub(crate) fn create(
    context: &Context,
    problem: Value,
    root: &Path,
    call: &Call,
) -> Result<(FileStore, RunId, Interactive, Reply), CliError> {
    let bytes = canonical_bytes(&problem);
    let request = Request::new(without_defects(problem), Profile::STRICT);
    let (run, header) =
        Interactive::start(&request).map_err(|findings| CliError::refused("the new run", &findings))?;
    let id = RunId::new(run.problem().id())
        .map_err(|error| CliError::new(Code::Refused, error.to_string()).advise("choose another id"))?;
    let store = context.store_or_new()?;
    let mut sink = MemorySink::default();
    // A memory sink keeps everything.
    let _ = sink.append(&header);
    let (run, reply) = run.call(call, &mut StoreGround { store: &store, root }, &mut sink)?;
    let reply = reply.map_err(|refusal| CliError::variables(&refusal))?;
    for blob in sink.blobs.values() {
        store.put_blob(blob, hence_store::Durability::Synced)?;
    }
    let attachments = vec![(problem_name(), bytes)];
    let new = NewRun { id: id.clone(), attachments, lines: sink.journal };
    store.create(new).map_err(|error| CliError::from(error).advise("choose another id for the run"))?;
    Ok((store, id, run, reply))
}
