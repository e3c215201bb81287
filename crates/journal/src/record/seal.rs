//! From a record to the line that is written: hashed once, spelled once.

use hence_canon::{Digest, ObjectWriter, Value};
use hence_state::ProfileName;

use super::{CANONICALIZATION, Control, HASH_ALGORITHM, Header, Record, StepRecord};
use crate::{Head, RecordCount, RecordIndex};

const HASH_KEY: &str = "record_hash";

/// A record as a line of the journal, line feed included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    line: Vec<u8>,
    head: Head,
}

impl Sealed {
    /// Returns the bytes to append.
    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// Returns where the journal ends once the line is appended.
    pub fn head(&self) -> Head {
        self.head
    }
}

impl Record {
    /// Gives the record its place behind `prev` (nothing, for a header) and its hash.
    pub fn seal(&self, prev: Option<Head>) -> Sealed {
        let index = prev.map_or(RecordIndex::HEADER, |head| head.records.next_index());
        let prev_hash = prev.map(|head| head.hash.to_string());
        let result;
        let mut writer = ObjectWriter::new();
        if let Some(prev_hash) = &prev_hash {
            writer = writer.text("prev_hash", prev_hash);
        }
        let writer = match self {
            Self::Header(header) => header.write(writer),
            Self::Step(step) => {
                result = step.result.canonical();
                step.write(writer, index).canonical("result", &result)
            }
            Self::Control(control) => control.write(writer, index),
        };
        seal(writer, index)
    }
}

fn seal(writer: ObjectWriter<'_>, index: RecordIndex) -> Sealed {
    let (mut line, place) = writer.bytes_and_place(HASH_KEY);
    let hash = Digest::of(&line);
    // Every record has a member before and behind `record_hash`, so it stands between two commas.
    line.splice(place..place, format!(",\"{HASH_KEY}\":\"{hash}\"").into_bytes());
    line.push(b'\n');
    Sealed { line, head: Head { hash, records: RecordCount::new(index.get() + 1) } }
}

impl Header {
    fn write<'a>(&self, writer: ObjectWriter<'a>) -> ObjectWriter<'a> {
        let mut writer = writer
            .text("type", "header")
            .text("version", &self.version)
            .text("trace_id", &self.trace_id)
            .text("created_at", self.created_at.as_str())
            .text("engine_version", &self.engine_version)
            .text("hash_algorithm", HASH_ALGORITHM)
            .text("canonicalization", CANONICALIZATION)
            .text("problem_spec_hash", &self.problem_spec_hash.to_string())
            .text("initial_state_hash", &self.initial_state_hash.to_string());
        // The compat profile is the absence of a mark: its headers are another engine's, byte for byte.
        if self.profile != ProfileName::Compat {
            writer = writer.value("index", &Value::from(0)).text("profile", self.profile.as_str());
        }
        match self.clock {
            Some(clock) => writer.text("clock", clock.as_str()),
            None => writer,
        }
    }
}

impl StepRecord {
    fn write<'a>(&self, writer: ObjectWriter<'a>, index: RecordIndex) -> ObjectWriter<'a> {
        writer
            .text("type", "step")
            .value("index", &Value::from(index.get()))
            .value("step_index", &Value::from(self.step_index.get()))
            .text("state_before_hash", &self.state_before_hash.to_string())
            .text("state_after_hash", &self.state_after_hash.to_string())
    }
}

impl Control {
    fn write<'a>(&self, writer: ObjectWriter<'a>, index: RecordIndex) -> ObjectWriter<'a> {
        let writer = writer
            .text("type", "control")
            .value("index", &Value::from(index.get()))
            .text("state_hash", &self.state_hash().to_string());
        match self {
            Self::Loop(control) => {
                let writer = writer
                    .text("control_type", "loop")
                    .text("action", control.action.as_str())
                    .value("loop_iteration", &Value::from(control.loop_iteration))
                    .text("start_step", &control.start_step)
                    .text("end_step", &control.end_step)
                    .value("stop_condition", &control.stop_condition);
                match &control.at {
                    Some(at) => writer.text("at", at.as_str()),
                    None => writer,
                }
            }
            Self::Complete { at, .. } => {
                writer.text("control_type", "run").text("action", "complete").text("at", at.as_str())
            }
            Self::Checkpoint(control) => writer
                .text("control_type", "checkpoint")
                .text("action", "take")
                .text("name", &control.name)
                .value("position", &Value::from(control.position.get())),
            Self::Rollback(control) => writer
                .text("control_type", "rollback")
                .text("action", "return")
                .text("name", &control.name)
                .value("to", &Value::from(control.to.get()))
                .text("at", control.at.as_str()),
        }
    }
}
