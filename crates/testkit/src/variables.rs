//! A run of variables in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Lenient, Value};
use hence_engine::{
    Engine, Evidence, MemorySink, Request, Run, Sink as _, SinkError, VariableFiles, Variables, VariablesRun,
    variables_problem, without_defects,
};
use hence_journal::verify::{Level, Report};
use hence_state::Profile;
use hence_variables::{Call, Files, Init, Op, ReadFault, Refusal, Reply, Set, SpillFile, StateId, StorePath};

/// The first state of a run.
pub const STATE: StateId = StateId::from_number(1);

/// The files of large variables, in memory.
#[derive(Default)]
pub struct MemoryFiles(
    /// The files by path.
    pub BTreeMap<StorePath, Arc<[u8]>>,
);

impl Files for MemoryFiles {
    fn read(&self, path: &StorePath) -> Result<Arc<[u8]>, ReadFault> {
        self.0.get(path).cloned().ok_or(ReadFault::Missing)
    }
}

impl VariableFiles for MemoryFiles {
    fn store(&mut self, spill: &SpillFile) -> Result<(), SinkError> {
        self.0.insert(spill.path.clone(), spill.content.bytes().into());
        Ok(())
    }
}

/// A run of variables, its journal and its files.
pub struct World {
    /// The problem of the run.
    pub problem: Value,
    /// The run; `None` while an operation is applied.
    pub run: Option<VariablesRun>,
    /// The journal and the blobs.
    pub sink: MemorySink,
    /// The files of large variables.
    pub files: MemoryFiles,
}

impl World {
    /// Starts a run with one state.
    pub fn new() -> Self {
        Self::with(Init::with_prompt("count the errors"))
    }

    /// Starts a run whose first state is created as given.
    pub fn with(init: Init) -> Self {
        let problem = variables_problem("demo", "2026-02-02T00:00:00Z", "count the errors");
        let variables = Variables::new(&Request::of_value(problem.clone(), Profile::STRICT)).unwrap();
        let (run, header) = Run::start(variables).unwrap();
        let mut sink = MemorySink::default();
        sink.append(&header).unwrap();
        let mut world = Self { problem, run: Some(run), sink, files: MemoryFiles::default() };
        let state_id = init.state_id.clone().or_else(|| Some(STATE.to_string().into()));
        world.call(Call::Init(Init { state_id, ..init })).unwrap();
        world
    }

    /// Applies a call; the run itself must not fail.
    pub fn call(&mut self, call: Call) -> Result<Reply, Refusal> {
        let run = self.run.take().unwrap();
        let now = run.next_moment().unwrap();
        let (run, reply) = run.call(&call, now, &mut self.files, &mut self.sink).unwrap();
        self.run = Some(run);
        reply
    }

    /// Applies an operation to a state.
    pub fn on(&mut self, state: StateId, op: Op) -> Result<Reply, Refusal> {
        self.call(Call::On { state, op })
    }

    /// Applies an operation to the first state.
    pub fn op(&mut self, op: Op) -> Result<Reply, Refusal> {
        self.on(STATE, op)
    }

    /// Sets a variable of the first state, which must succeed.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.op(Op::Set(Set::new(name, value))).unwrap();
    }

    /// Verifies a journal of this run up to the level `replay`.
    pub fn verify(&self, journal: &[u8]) -> Report {
        let problem = self.document();
        let evidence =
            Evidence { problem: Some(&problem), ..Evidence::of_journal(journal, &self.sink.blobs) };
        Engine::new().verify(&evidence, Level::Replay)
    }

    /// Returns the problem as a parsed document.
    pub fn document(&self) -> Lenient {
        without_defects(self.problem.clone())
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}
