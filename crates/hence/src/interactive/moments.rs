//! The time of a change of variables, as views show it.

use std::collections::BTreeMap;

use hence_journal::RecordIndex;
use hence_variables::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::Session;
use crate::error::CliError;
use crate::measured::RunTimes;

/// The clock that gave changes their times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChangeClock {
    /// The caller's: each operation records the time at which it was asked for.
    Caller,
    /// The logical clock of a run of steps, which counts records. Its times are no dates.
    Logical,
}

/// The time of one change.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct MomentRow {
    /// The time in the state document: of the caller's clock, or of the logical one.
    pub(crate) at: String,
    /// The record that made the change, if this run made it.
    pub(crate) record: Option<u64>,
    /// The measured time of that record; null when it was not measured.
    pub(crate) measured_at: Option<String>,
}

/// The times of the changes of a run.
pub(crate) struct Moments {
    pub(crate) clock: ChangeClock,
    /// The last record of each logical time.
    records: BTreeMap<Timestamp, RecordIndex>,
    times: RunTimes,
}

impl Moments {
    /// Reads the times of a run.
    pub(crate) fn of(session: &Session<'_>) -> Result<Self, CliError> {
        let clock = ChangeClock::of(session);
        if clock == ChangeClock::Caller {
            return Ok(Self { clock, records: BTreeMap::new(), times: RunTimes::default() });
        }
        let records = session.events()?.iter().map(|(index, event)| (event.at, *index)).collect();
        let times = RunTimes::of_run(&session.store, &session.id, &session.journal()?);
        Ok(Self { clock, records, times })
    }

    /// Returns the time of a change whose record is known.
    pub(crate) fn of_record(&self, at: Timestamp, record: RecordIndex) -> MomentRow {
        let measured = self.times.row(record.get()).map(|row| row.recorded_at);
        MomentRow { at: at.to_string(), record: Some(record.get()), measured_at: measured }
    }

    /// Returns the time of a change that a variable names.
    pub(crate) fn of_time(&self, at: Timestamp) -> MomentRow {
        match self.records.get(&at) {
            Some(record) => self.of_record(at, *record),
            None => MomentRow { at: at.to_string(), record: None, measured_at: None },
        }
    }
}

impl ChangeClock {
    /// Returns the clock of a run.
    pub(crate) fn of(session: &Session<'_>) -> Self {
        if session.is_driven_by_steps() { Self::Logical } else { Self::Caller }
    }

    /// Returns the title of a column with times.
    pub(crate) fn title(self, title: &str) -> String {
        match self {
            Self::Caller => title.to_owned(),
            Self::Logical => format!("{title} (MEASURED)"),
        }
    }

    /// Returns a time for people. A logical time is none: its record stands for it where nothing was measured.
    pub(crate) fn text(self, moment: &MomentRow) -> String {
        match (self, &moment.measured_at, moment.record) {
            (Self::Caller, ..) => moment.at.clone(),
            (Self::Logical, Some(measured), _) => measured.clone(),
            (Self::Logical, None, Some(record)) => format!("record {record}"),
            (Self::Logical, None, None) => "another run".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logical_time_is_never_shown_as_a_date() {
        let row = |record, measured: Option<&str>| MomentRow {
            at: "2026-02-02T00:00:07Z".to_owned(),
            record,
            measured_at: measured.map(str::to_owned),
        };
        let measured = Some("2026-11-18T09:42:22.250Z");
        assert_eq!(ChangeClock::Logical.text(&row(Some(7), measured)), "2026-11-18T09:42:22.250Z");
        assert_eq!(ChangeClock::Logical.text(&row(Some(7), None)), "record 7");
        assert_eq!(ChangeClock::Logical.text(&row(None, None)), "another run");
        assert_eq!(ChangeClock::Caller.text(&row(None, None)), "2026-02-02T00:00:07Z");
    }
}
