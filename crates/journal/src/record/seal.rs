//! Sealing a record: from a record to its line, with its hash.

use std::sync::Arc;

use hence_canon::{Digest, ObjectWriter};
use hence_state::ProfileName;

use super::{CANONICALIZATION, Control, HASH_ALGORITHM, Header, Record, StepRecord};
use crate::{Head, RecordCount, RecordIndex};

const HASH_KEY: &str = "record_hash";
/// The bytes of the member `record_hash` and the line feed.
const HASH_ROOM: usize = 81;
/// The usual bytes of records of the three types, without a step's output.
const HEADER_ROOM: usize = 640;
const STEP_ROOM: usize = 700;
const CONTROL_ROOM: usize = 512;

/// A record as a line of the journal, line feed included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    line: Vec<u8>,
    head: Head,
    step: Option<Arc<str>>,
}

impl Sealed {
    /// Returns the bytes to append.
    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// Returns the step whose result the record is.
    pub fn step(&self) -> Option<&Arc<str>> {
        self.step.as_ref()
    }

    /// Returns the head of the journal after the line is appended.
    pub fn head(&self) -> Head {
        self.head
    }
}

impl Record {
    /// Gives the record its place after `prev` (nothing, for a header) and its hash.
    pub fn seal(&self, prev: Option<Head>) -> Sealed {
        let index = prev.map_or(RecordIndex::HEADER, |head| head.records.next_index());
        let prev_hash = prev.map(|head| head.hash);
        let writer = match self {
            Self::Header(header) => header.write(prev_hash),
            Self::Step(step) => step.write(prev_hash, index),
            Self::Control(control) => control.write(prev_hash, index),
        };
        let step = match self {
            Self::Step(step) => Some(step.result.step().clone()),
            Self::Header(_) | Self::Control(_) => None,
        };
        Sealed { step, ..seal(writer, index) }
    }
}

fn seal(writer: ObjectWriter<'_>, index: RecordIndex) -> Sealed {
    let (mut line, place) = writer.bytes_and_place(HASH_KEY);
    let hash = Digest::of(&line);
    // Every record has a member before and after `record_hash`, so it is between two commas.
    let end = line.len();
    [",\"", HASH_KEY, "\":\""].into_iter().for_each(|part| line.extend_from_slice(part.as_bytes()));
    hash.write_hex(&mut line);
    line.push(b'"');
    if let Some(behind) = line.get_mut(place..) {
        behind.rotate_left(end - place);
    }
    line.push(b'\n');
    Sealed { line, head: Head { hash, records: RecordCount::new(index.get() + 1) }, step: None }
}

/// Starts a record with capacity for so many bytes; the hash and the line feed are added later.
fn begin<'a>(bytes: usize, prev_hash: Option<Digest>, index: RecordIndex) -> ObjectWriter<'a> {
    let writer = ObjectWriter::with_capacity(bytes + HASH_ROOM).count("index", index.get());
    match prev_hash {
        Some(hash) => writer.digest("prev_hash", hash),
        None => writer,
    }
}

impl Header {
    fn write<'a>(&self, prev_hash: Option<Digest>) -> ObjectWriter<'a> {
        // The compat profile is the absence of a mark: its headers are another engine's, byte for byte.
        let writer = match self.profile {
            ProfileName::Compat => ObjectWriter::new(),
            profile => begin(HEADER_ROOM, prev_hash, RecordIndex::HEADER).text("profile", profile.as_str()),
        };
        let writer = writer
            .text("type", "header")
            .text("version", &self.version)
            .text("trace_id", &self.trace_id)
            .text("created_at", self.created_at.as_str())
            .text("engine_version", &self.engine_version)
            .text("hash_algorithm", HASH_ALGORITHM)
            .text("canonicalization", CANONICALIZATION)
            .digest("problem_spec_hash", self.problem_spec_hash)
            .digest("initial_state_hash", self.initial_state_hash);
        match self.clock {
            Some(clock) => writer.text("clock", clock.as_str()),
            None => writer,
        }
    }
}

impl StepRecord {
    /// Writes the members in the order of their keys, which avoids sorting in the most frequent record.
    fn write<'a>(&self, prev_hash: Option<Digest>, index: RecordIndex) -> ObjectWriter<'a> {
        let output = self.result.outcome().output().map_or(0, |output| output.bytes().len());
        begin(STEP_ROOM + output, prev_hash, index)
            .object("result", |result| self.result.write(result))
            .digest("state_after_hash", self.state_after_hash)
            .digest("state_before_hash", self.state_before_hash)
            .count("step_index", self.step_index.get())
            .text("type", "step")
    }
}

impl Control {
    fn write<'a>(&'a self, prev_hash: Option<Digest>, index: RecordIndex) -> ObjectWriter<'a> {
        let writer = begin(CONTROL_ROOM, prev_hash, index)
            .text("type", "control")
            .digest("state_hash", self.state_hash());
        match self {
            Self::Loop(control) => {
                let writer = writer
                    .text("control_type", "loop")
                    .text("action", control.action.as_str())
                    .count("loop_iteration", control.loop_iteration)
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
                .count("position", control.position.get()),
            Self::Rollback(control) => writer
                .text("control_type", "rollback")
                .text("action", "return")
                .text("name", &control.name)
                .count("to", control.to.get())
                .text("at", control.at.as_str()),
        }
    }
}
