//! The world of a case: a workspace, its events, its files and a clock that only the case moves.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Object, Value, canonical_bytes, parse};
use hence_variables::{
    Call, Decision, Event, Files, Name, ReadFault, Refusal, Reply, SpillFile, StateId, StorePath, Stored,
    Timestamp, Workspace, apply, decide,
};

use super::operation::{answer, read_init, read_op};

pub(super) struct World {
    pub(super) workspace: Workspace,
    events: Vec<Event>,
    files: MemoryFiles,
    now: Timestamp,
    handles: BTreeMap<String, StateId>,
}

/// The answer to an operation: members of a result, or the code of a refusal.
pub(super) type Answer = Result<Object, String>;

impl World {
    pub(super) fn at(now: &str) -> Result<Self, String> {
        Ok(Self {
            workspace: Workspace::new(),
            events: Vec::new(),
            files: MemoryFiles::default(),
            now: now.parse().map_err(|error: hence_variables::InvalidTimestamp| error.to_string())?,
            handles: BTreeMap::new(),
        })
    }

    /// Returns the state of a handle; an unused id when the handle is unknown.
    pub(super) fn handle(&self, handle: &str) -> StateId {
        self.handles.get(handle).copied().unwrap_or(StateId::from_number(u32::MAX))
    }

    pub(super) fn run(&mut self, op: &Object) -> Answer {
        let word = |key: &str| op.get(key).and_then(Value::as_str).unwrap_or_default();
        match word("op") {
            "init" => self.init(op),
            "advance_clock" => {
                let seconds = op.get("seconds").and_then(Value::as_u64).ok_or("invalid_argument")?;
                self.now = self.now.saturating_add_seconds(seconds);
                Ok(Object::new())
            }
            "put_file" => {
                // A file outside the store's root may exist; nothing in the store can ever name it.
                if let Ok(path) = word("path").parse::<StorePath>() {
                    self.files.0.insert(path, word("content").as_bytes().into());
                }
                Ok(Object::new())
            }
            "remove_spill" => self.remove_spill(self.target(op), word("name"), word("mode")),
            "reload" => self.reload(),
            _ => {
                let state = self.target(op);
                // Handles exist in the data only; the store knows ids.
                let op = match op.get("child").and_then(Value::as_str) {
                    Some(child) => op.with("child", self.handle(child)),
                    None => op.clone(),
                };
                let reply = self.call(&Call::On { state, op: read_op(&op)? })?;
                reply.map(|reply| answer(&reply)).map_err(code)
            }
        }
    }

    fn target(&self, op: &Object) -> StateId {
        self.handle(op.get("state").and_then(Value::as_str).unwrap_or("A"))
    }

    fn init(&mut self, op: &Object) -> Answer {
        let handle = op.get("as").and_then(Value::as_str).unwrap_or("A").to_owned();
        let mut op = op.clone();
        if let Some(parent) = op.get("parent").and_then(Value::as_str) {
            op = op.with("parent", self.handle(parent));
        }
        if let Some(known) = self.handles.get(&handle) {
            op = op.with("state_id", *known);
        }
        let reply = self.call(&Call::Init(read_init(&op)?))?.map_err(code)?;
        if let Reply::Created { state, .. } = &reply {
            self.handles.insert(handle, *state);
        }
        Ok(answer(&reply))
    }

    /// Performs a call as a run does: decide, store large values, record the event, apply it.
    ///
    /// A run of `hence` gives every record a second of its own, and the cases fix every second; so the loop is here.
    pub(super) fn call(&mut self, call: &Call) -> Result<Result<Reply, Refusal>, String> {
        loop {
            match decide(&self.workspace, call, self.now, &self.files) {
                Err(refusal) => return Ok(Err(refusal)),
                Ok(Decision::ExpireFirst(event)) => self.record(event)?,
                Ok(Decision::Accept(accepted)) => {
                    accepted.spills.iter().for_each(|spill| self.files.store(spill));
                    accepted.event.map_or(Ok(()), |event| self.record(event))?;
                    return Ok(Ok(accepted.reply));
                }
            }
        }
    }

    fn record(&mut self, event: Event) -> Result<(), String> {
        apply(&mut self.workspace, &event).map_err(|error| error.to_string())?;
        self.events.push(event);
        Ok(())
    }

    fn remove_spill(&mut self, state: StateId, name: &str, mode: &str) -> Answer {
        let name: Name = name.parse().map_err(|_| "invalid_name".to_owned())?;
        let found = self.workspace.state_view(state).and_then(|view| view.find(&name));
        let Some(Stored::Spilled(spill)) = found.map(|found| found.variable.stored.clone()) else {
            return Err("not_found".to_owned());
        };
        if mode == "missing" {
            self.files.0.remove(&spill.path);
        } else {
            self.files.0.insert(spill.path, b"altered".as_slice().into());
        }
        Ok(Object::new())
    }

    /// Writes the events out, reads them back and folds them.
    fn reload(&mut self) -> Answer {
        let folded = self.refold()?;
        if folded != self.workspace {
            return Err("the events do not fold to the workspace they were recorded from".to_owned());
        }
        self.workspace = folded;
        Ok(Object::new())
    }

    pub(super) fn refold(&self) -> Result<Workspace, String> {
        let mut workspace = Workspace::new();
        for event in &self.events {
            let value = parse(&canonical_bytes(&event.to_value())).map_err(|error| error.to_string())?;
            let event = Event::from_value(&value).map_err(|error| error.to_string())?;
            apply(&mut workspace, &event).map_err(|error| error.to_string())?;
        }
        Ok(workspace)
    }
}

/// Files by path, in memory.
#[derive(Default)]
struct MemoryFiles(BTreeMap<StorePath, Arc<[u8]>>);

impl MemoryFiles {
    fn store(&mut self, spill: &SpillFile) {
        self.0.insert(spill.path.clone(), spill.content.bytes().into());
    }
}

impl Files for MemoryFiles {
    fn read(&self, path: &StorePath) -> Result<Arc<[u8]>, ReadFault> {
        self.0.get(path).cloned().ok_or(ReadFault::Missing)
    }
}

fn code(refusal: Refusal) -> String {
    refusal.code().to_owned()
}
