//! A world for tests of the rules: a workspace with its events and files in memory, and a clock that tests move.
//!
//! Runs that drive a workspace are tested in `hence-engine`, which has the driver.
#![allow(dead_code, reason = "every test file uses its own part of the world")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test world stops at the first surprise")]

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::Value;
use hence_variables::{
    Call, Decision, Delete, Event, Files, Get, Init, Op, ReadFault, Refusal, Rename, Reply, Rollback, Set,
    State, StateId, StorePath, TakeCheckpoint, Timestamp, Workspace, apply, decide,
};

pub(crate) struct World {
    pub(crate) workspace: Workspace,
    pub(crate) events: Vec<Event>,
    pub(crate) files: MemoryFiles,
    pub(crate) now: Timestamp,
}

/// Files by path, in memory.
#[derive(Clone, Default)]
pub(crate) struct MemoryFiles(pub(crate) BTreeMap<StorePath, Arc<[u8]>>);

impl Files for MemoryFiles {
    fn read(&self, path: &StorePath) -> Result<Arc<[u8]>, ReadFault> {
        self.0.get(path).cloned().ok_or(ReadFault::Missing)
    }
}

pub(crate) const A: StateId = StateId::from_number(1);
pub(crate) const B: StateId = StateId::from_number(2);

impl World {
    pub(crate) fn new() -> Self {
        let now = "2026-02-09T10:00:00Z".parse().unwrap();
        Self { workspace: Workspace::new(), events: Vec::new(), files: MemoryFiles::default(), now }
    }

    /// A world with one state, `A`.
    pub(crate) fn with_state() -> Self {
        let mut world = Self::new();
        world.init(Init::with_prompt("task")).unwrap();
        world
    }

    pub(crate) fn call(&mut self, call: &Call) -> Result<Reply, Refusal> {
        loop {
            match decide(&self.workspace, call, self.now, &self.files)? {
                Decision::ExpireFirst(event) => self.record(event),
                Decision::Accept(accepted) => {
                    let files = accepted.spills.iter();
                    self.files.0.extend(files.map(|file| (file.path.clone(), file.content.bytes().into())));
                    accepted.event.into_iter().for_each(|event| self.record(event));
                    return Ok(accepted.reply);
                }
            }
        }
    }

    fn record(&mut self, event: Event) {
        apply(&mut self.workspace, &event).unwrap();
        self.events.push(event);
    }

    pub(crate) fn advance_seconds(&mut self, seconds: u64) {
        self.now = self.now.saturating_add_seconds(seconds);
    }

    pub(crate) fn init(&mut self, init: Init) -> Result<StateId, Refusal> {
        match self.call(&Call::Init(init))? {
            Reply::Created { state, .. } => Ok(state),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn spawn(&mut self, parent: StateId) -> Result<StateId, Refusal> {
        self.init(Init { parent: Some(parent), ..Init::with_prompt("sub") })
    }

    pub(crate) fn on(&mut self, state: StateId, op: Op) -> Result<Reply, Refusal> {
        self.call(&Call::On { state, op })
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) -> Result<Reply, Refusal> {
        self.on(A, Op::Set(Set::new(name, value)))
    }

    pub(crate) fn set_in(
        &mut self,
        state: StateId,
        scope: &str,
        name: &str,
        value: impl Into<Value>,
    ) -> Result<Reply, Refusal> {
        self.on(state, Op::Set(Set { scope: Some(scope.into()), ..Set::new(name, value) }))
    }

    pub(crate) fn get(&mut self, name: &str) -> Result<Value, Refusal> {
        self.get_on(A, name)
    }

    pub(crate) fn get_on(&mut self, state: StateId, name: &str) -> Result<Value, Refusal> {
        let reply = self.on(state, Op::Get(Get { name: name.into(), ..Get::default() }))?;
        match reply {
            Reply::Value { value, .. } => Ok(value),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn delete(&mut self, name: &str) -> Result<Reply, Refusal> {
        self.on(A, Op::Delete(Delete { name: name.into(), ..Delete::default() }))
    }

    pub(crate) fn rename(&mut self, name: &str, to: &str) -> Result<Reply, Refusal> {
        self.on(A, Op::Rename(Rename { name: name.into(), to: to.into(), ..Rename::default() }))
    }

    pub(crate) fn checkpoint(&mut self, name: &str) -> Result<Reply, Refusal> {
        self.on(A, Op::Checkpoint(TakeCheckpoint { name: name.into(), ..TakeCheckpoint::default() }))
    }

    pub(crate) fn rollback(&mut self, to: &str) -> Result<Vec<String>, Refusal> {
        match self.on(A, Op::Rollback(Rollback::to(to)))? {
            Reply::RolledBack { changed, .. } => Ok(changed.iter().map(ToString::to_string).collect()),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn state(&self) -> &State {
        self.workspace.state(A).unwrap()
    }
}

/// Folds events, oldest first.
pub(crate) fn fold(events: &[Event]) -> Workspace {
    let mut workspace = Workspace::new();
    events.iter().for_each(|event| apply(&mut workspace, event).unwrap());
    workspace
}

pub(crate) fn code<T: std::fmt::Debug>(result: Result<T, Refusal>) -> &'static str {
    result.unwrap_err().code()
}
