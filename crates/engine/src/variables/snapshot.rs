//! A snapshot of a run of variables: a cache that makes the next operation cost what is new, not what was before.
//!
//! A snapshot is bound to the head of the journal it was made at. Reading a run from it checks the header, the record
//! at that head, the hash of the state, and everything after; the records before are not read. `hence verify` reads
//! them, and compares the snapshot with what they say.

use hence_canon::read::{Finding, Reader};
use hence_canon::{Canonical, Digest, Lenient, Midstate, Object, Value, canonical_bytes};
use hence_journal::{Chained, Head, Record, RecordIndex};
use hence_state::{CutState, StepIndex, Timestamp};
use hence_variables::{StateId, Workspace};

use super::{ARTIFACT, Reasons, Variables, VariablesRun};
use crate::blob::Blobs;
use crate::run::{ResumeError, Run, require_header};

/// The beginning of a snapshot of this version. The digest of the rest follows.
const MAGIC: &str = "hence-snapshot 3 ";

/// A snapshot that was read: not yet compared with a journal.
#[derive(Debug)]
pub struct VariablesSnapshot {
    head: Head,
    last_line_at: u64,
    mutations: u64,
    first: StateId,
    workspace: Workspace,
    reasons: Reasons,
    cut: CutState,
}

impl VariablesSnapshot {
    /// Reads a snapshot; `None` when it is torn, altered or of another version.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(MAGIC.as_bytes())?;
        let (digest, body) = rest.split_at_checked(Digest::HEX_BYTES)?;
        let body = body.strip_prefix(b"\n")?;
        if Digest::from_hex(digest)? != Digest::of(body) {
            return None;
        }
        decode(&hence_canon::parse(body).ok()?).ok()
    }

    /// Returns the head it was made at.
    pub fn head(&self) -> Head {
        self.head
    }

    /// Returns the byte of the journal at which the record of the snapshot's head begins.
    pub fn last_line_at(&self) -> u64 {
        self.last_line_at
    }
}

impl VariablesRun {
    /// Returns a snapshot of the run as it is now. `last_line_at` is the byte of the journal at which the last record
    /// begins. `None` when the run has ended or has too few records to need one.
    pub fn snapshot(&mut self, last_line_at: u64) -> Option<Vec<u8>> {
        let (head, first) = (self.head(), self.first_state()?);
        let workspace = self.workspace().to_value();
        let mutations = self.book().mutations;
        let (_, book) = self.parts();
        let cut = book.fold.state_mut().cut()?;
        let reasons = self.program().reasons.iter();
        let reasons: Object = reasons.map(|(state, reason)| (state.to_string(), reason.clone())).collect();
        let members: [(&str, Value); 11] = [
            ("head", head.to_string().into()),
            ("last_line_at", last_line_at.into()),
            ("mutations", mutations.into()),
            ("first_state", first.into()),
            ("workspace", workspace),
            ("reasons", reasons.into()),
            ("output", cut.first.value().clone()),
            ("later", cut.later.into()),
            ("midstate", cut.midstate.to_hex().into()),
            ("step_index", cut.step_index.get().into()),
            ("updated_at", cut.updated_at.as_str().into()),
        ];
        let body = canonical_bytes(&members.into_iter().collect::<Object>().into());
        let mut bytes = format!("{MAGIC}{}\n", Digest::of(&body)).into_bytes();
        bytes.extend_from_slice(&body);
        Some(bytes)
    }

    /// Reads a run from a snapshot: `header` is the first line of its journal, `lines` are those from
    /// [`last_line_at`](VariablesSnapshot::last_line_at) on. `None` when the snapshot is not one of this journal.
    ///
    /// # Errors
    /// [`ResumeError`] with the first record that does not follow.
    pub fn load_from_snapshot(
        snapshot: VariablesSnapshot,
        header: &[u8],
        lines: &[u8],
        problem: &Lenient,
        blobs: &dyn Blobs,
    ) -> Result<Option<Self>, ResumeError> {
        let (mut run, expected) = Run::start(Variables::of_journal(header, problem)?)?;
        let Ok((found, profile)) = Chained::decode_header(header) else { return Ok(None) };
        require_header(&found, &expected)?;
        let Some(end) = lines.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
        let (last, tail) = lines.split_at(end + 1);
        let last_index = RecordIndex::new(snapshot.head.records.get().saturating_sub(1));
        let Ok(last) = Chained::decode(last.trim_ascii_end(), &profile) else { return Ok(None) };
        let Record::Step(step) = &last.record else { return Ok(None) };
        if last.hash != snapshot.head.hash || last.index != last_index {
            return Ok(None);
        }
        let (program, book) = run.parts();
        program.workspace = snapshot.workspace;
        program.reasons = snapshot.reasons;
        program.first = Some(snapshot.first);
        book.continue_from(snapshot.cut, snapshot.mutations, step.state_after_hash, snapshot.head);
        if book.check_state().is_err() {
            return Ok(None);
        }
        run.catch_up(tail, blobs)?;
        Ok(Some(run))
    }
}

fn reasons(value: &Value) -> Result<Reasons, Finding> {
    let members = value.as_object().ok_or_else(|| Finding::expected("an object of reasons", value))?;
    let mut reasons = Reasons::new();
    for (state, reason) in members.iter() {
        let state = state.parse().map_err(Finding::other)?;
        let reason = reason.as_str().ok_or_else(|| Finding::expected("a reason", reason))?;
        reasons.insert(state, reason.into());
    }
    Ok(reasons)
}

fn decode(body: &Value) -> Result<VariablesSnapshot, Finding> {
    let mut reader = Reader::new(body)?;
    let count = |value: &Value| value.as_u64().ok_or_else(|| Finding::expected("a count", value));
    let midstate = |value: &Value| {
        let read = value.as_str().and_then(Midstate::from_hex);
        read.ok_or_else(|| Finding::expected("a midstate of SHA-256", value))
    };
    let updated_at = reader.text("updated_at")?;
    Ok(VariablesSnapshot {
        head: reader.parsed("head")?,
        last_line_at: reader.required("last_line_at", count)?,
        mutations: reader.required("mutations", count)?,
        first: reader.parsed("first_state")?,
        workspace: reader.required("workspace", Workspace::from_value)?,
        reasons: reader.required("reasons", reasons)?,
        cut: CutState {
            key: ARTIFACT.into(),
            first: reader.required("output", |value| Ok(Canonical::of(value)))?,
            later: reader.required("later", count)?,
            midstate: reader.required("midstate", midstate)?,
            step_index: StepIndex::new(reader.required("step_index", count)?),
            updated_at: Timestamp::parse(&updated_at).map_err(Finding::other)?,
        },
    })
}
