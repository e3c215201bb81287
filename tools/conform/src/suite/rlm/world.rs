//! The world a case runs in: a workspace, its journal, its files and its clock.

use std::collections::BTreeMap;

use hence_canon::{Object, Value, canonical_bytes, parse};
use hence_variables::{
    Call, CallError, Event, Init, LogicalClock, MemoryStore, Name, Op, Refusal, Reply, StateId, StorePath,
    Stored, Workspace,
};

pub(super) struct World {
    pub(super) workspace: Workspace,
    pub(super) store: MemoryStore,
    clock: LogicalClock,
    handles: BTreeMap<String, StateId>,
}

/// What an operation answered: members of a result, or the code of a refusal.
pub(super) type Answer = Result<Object, String>;

impl World {
    pub(super) fn new() -> Self {
        let start = "2026-02-09T10:00:00Z".parse().expect("a moment");
        Self {
            workspace: Workspace::new(),
            store: MemoryStore::default(),
            clock: LogicalClock::starting_at(start),
            handles: BTreeMap::new(),
        }
    }

    /// Returns the state behind a handle; an unused id when the handle is unknown.
    pub(super) fn handle(&self, handle: &str) -> StateId {
        self.handles.get(handle).copied().unwrap_or_else(|| self.workspace.next_state_id())
    }

    pub(super) fn run(&mut self, op: &Object) -> Answer {
        let word = |key: &str| op.get(key).and_then(Value::as_str).unwrap_or_default();
        match word("op") {
            "init" => self.init(op),
            "advance_clock" => {
                let seconds = op.get("seconds").and_then(Value::as_i64).unwrap_or_default();
                self.clock.advance_seconds(seconds).map_err(|_| "invalid_argument".to_owned())?;
                Ok(Object::new())
            }
            "put_file" => {
                // A file outside the store's root may exist; nothing in the store can ever name it.
                if let Ok(path) = word("path").parse::<StorePath>() {
                    self.store.files.insert(path, word("content").as_bytes().into());
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
                let op = Op::from_object(&op).map_err(|refusal| code(&refusal))?;
                self.call(&Call::On { state, op }).map(|reply| reply.to_object())
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
        let init = Init::from_object(&op).map_err(|refusal| code(&refusal))?;
        let reply = self.call(&Call::Init(init))?;
        if let Reply::Born { state, .. } = &reply {
            self.handles.insert(handle, *state);
        }
        Ok(reply.to_object())
    }

    fn call(&mut self, call: &Call) -> Result<Reply, String> {
        let reply = self.workspace.call(call, self.clock.now(), &mut self.store);
        reply.map_err(|error| match error {
            CallError::Refused(refusal) => code(&refusal),
            other => other.to_string(),
        })
    }

    fn remove_spill(&mut self, state: StateId, name: &str, mode: &str) -> Answer {
        let name: Name = name.parse().map_err(|_| "invalid_name".to_owned())?;
        let found = self.workspace.sight(state).and_then(|sight| sight.find(&name));
        let Some(Stored::Spilled(spill)) = found.map(|found| found.variable.stored.clone()) else {
            return Err("not_found".to_owned());
        };
        if mode == "missing" {
            self.store.files.remove(&spill.path);
        } else {
            self.store.files.insert(spill.path, b"altered".as_slice().into());
        }
        Ok(Object::new())
    }

    /// Writes the journal out, reads it back and folds it.
    fn reload(&mut self) -> Answer {
        let folded = self.refold()?;
        if folded != self.workspace {
            return Err("the journal does not fold to the state it recorded".to_owned());
        }
        self.workspace = folded;
        Ok(Object::new())
    }

    pub(super) fn refold(&self) -> Result<Workspace, String> {
        let read = |event: &Event| {
            let value = parse(&canonical_bytes(&event.to_value())).map_err(|error| error.to_string())?;
            Event::from_value(&value).map_err(|error| error.to_string())
        };
        let events: Vec<Event> = self.store.events.iter().map(read).collect::<Result<_, _>>()?;
        Workspace::fold(&events).map_err(|misfit| misfit.to_string())
    }
}

fn code(refusal: &Refusal) -> String {
    refusal.code().to_owned()
}
