//! A few records of a long run, read without the rest of its journal, for commands that show no more.

use hence_engine::RunKind;
use hence_journal::{Head, RecordCount};
use hence_server::Window;
use hence_state::Profile;
use hence_store::{RunId, StoreHandle};

use super::opened::Opened;
use super::records::{ReadLine, read_lines, times_of_lines};
use crate::chain;
use crate::measured::RunTimes;
use crate::prelude::*;
use crate::run_view::is_long;

/// Some records of a run, with their measured times.
pub(crate) struct RunWindow {
    run: Opened,
    /// The number of records of the run.
    pub(crate) total: u64,
    /// The records, and the one before them.
    lines: Vec<ReadLine>,
    from: u64,
    pub(crate) times: RunTimes,
}

impl RunWindow {
    /// Reads records of a run from one on, at most so many. Returns nothing for a run that is so short that it is read as a
    /// whole.
    pub(crate) fn read(
        store: StoreHandle,
        id: RunId,
        from: u64,
        limit: u64,
    ) -> Result<Option<Self>, CliError> {
        let run = Opened::alone(store, id)?;
        if !is_long(&run.summary) {
            return Ok(None);
        }
        // The hash of the record before the first is compared with what the first says of it.
        let before = from.saturating_sub(1);
        let limit = limit.saturating_add(from - before);
        let (total, lines) = read_lines(&run, Window { from: before, limit })?;
        let times = RunTimes { times: times_of_lines(&run, &lines)?, remarks: Vec::new() };
        Ok(Some(Self { run, total, lines, from, times }))
    }

    /// Iterates over the records, each with the reason why it is not what its hash or the hash before it names.
    pub(crate) fn records(&self) -> impl Iterator<Item = (&ReadLine, Option<String>)> {
        let before = std::iter::once(None).chain(self.lines.iter().map(Some));
        let is_asked = |(line, _): &(&ReadLine, _)| line.index >= self.from;
        self.lines.iter().zip(before).filter(is_asked).map(|(line, before)| {
            let before = before.and_then(|before| before.record.as_ref().ok());
            let head = before.map(|before| Head { hash: before.hash, records: RecordCount::new(line.index) });
            (line, chain::line_break(line.index, &line.bytes, head, &self.profile()))
        })
    }

    pub(crate) fn name(&self) -> &str {
        self.run.name()
    }

    pub(crate) fn kind(&self) -> RunKind {
        self.run.kind()
    }

    pub(crate) fn profile(&self) -> Profile {
        self.run.profile()
    }

    pub(crate) fn store(&self) -> &StoreHandle {
        &self.run.store
    }
}
