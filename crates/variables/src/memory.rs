//! A store in memory: for tests, examples and prompts that keep nothing.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use crate::{Event, Files, ReadFault, Record, SpillFile, StorePath};

/// Events and files in memory. Nothing survives it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MemoryStore {
    /// What was recorded, oldest first.
    pub events: Vec<Event>,
    /// The files, by path.
    pub files: BTreeMap<StorePath, Arc<[u8]>>,
}

impl Files for MemoryStore {
    fn read(&self, path: &StorePath) -> Result<Arc<[u8]>, ReadFault> {
        self.files.get(path).cloned().ok_or(ReadFault::Missing)
    }
}

impl Record for MemoryStore {
    type Error = Infallible;

    fn record(&mut self, event: &Event, spills: &[SpillFile]) -> Result<(), Infallible> {
        let files = spills.iter().map(|spill| (spill.path.clone(), spill.content.bytes().into()));
        self.files.extend(files);
        self.events.push(event.clone());
        Ok(())
    }
}
