//! The index: a cache of run summaries.
//!
//! A line `hence-index 2`, one canonical JSON object per run, and the SHA-256 of all that. An entry holds only as long
//! as the journal has the length and times noted with it, so appending never touches the index. Runs that do not end
//! in a whole record are not in it. The view of a run that is cached with an entry also names the attachments that it was
//! computed from, in the same way.

use std::collections::BTreeMap;

use hence_canon::{Digest, Object, Value, canonical_bytes, parse};
use hence_journal::Head;

use super::checked_disk::CheckedDisk;
use super::disk::Stamp;
use super::layout::Layout;
use crate::{Condition, DiskErrorKind, RunId, RunSummary};

const FIRST_LINE: &[u8] = b"hence-index 2\n";

/// The index entry of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cached {
    pub(crate) stamp: Stamp,
    pub(crate) head: Head,
    pub(crate) header: Option<String>,
    pub(crate) view: Option<CachedView>,
}

/// A view of a run, and the state of the attachments that it was computed from: `None` for one that was not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CachedView {
    pub(crate) attachments: Vec<Option<Stamp>>,
    pub(crate) value: Value,
}

impl Cached {
    /// Returns the view, if the attachments are still those that it was computed from.
    pub(crate) fn view_of(&self, attachments: &[Option<Stamp>]) -> Option<&Value> {
        self.view.as_ref().filter(|view| view.attachments == attachments).map(|view| &view.value)
    }

    pub(crate) fn summary(&self, run: &RunId) -> RunSummary {
        RunSummary {
            run: run.clone(),
            condition: Condition::Whole { head: self.head },
            journal_bytes: self.stamp.bytes,
            header: self.header.clone(),
        }
    }
}

/// Reads the index, or returns the reason why it cannot be used.
pub(crate) fn read(disk: &CheckedDisk, layout: &Layout) -> Result<BTreeMap<RunId, Cached>, String> {
    let bytes = disk.read(&layout.index()).map_err(|error| match error.kind {
        DiskErrorKind::Missing => "it is missing".to_owned(),
        _ => error.to_string(),
    })?;
    decode(&bytes).ok_or_else(|| "it is corrupt".to_owned())
}

/// Returns the entries as the journals alone give them.
pub(crate) fn without_views(mut entries: BTreeMap<RunId, Cached>) -> BTreeMap<RunId, Cached> {
    entries.values_mut().for_each(|cached| cached.view = None);
    entries
}

pub(crate) fn encode(entries: &BTreeMap<RunId, Cached>) -> Vec<u8> {
    let mut bytes = FIRST_LINE.to_vec();
    for (run, cached) in entries {
        let object = Object::from_iter([
            ("head", Value::from(cached.head.to_string())),
            ("header", Value::from(cached.header.clone())),
            ("run", Value::from(run.as_str())),
            ("stamp", encode_stamp(&cached.stamp)),
            ("view", cached.view.as_ref().map_or(Value::Null, encode_view)),
        ]);
        bytes.extend(canonical_bytes(&object.into()));
        bytes.push(b'\n');
    }
    let digest = Digest::of(&bytes).to_string();
    bytes.extend_from_slice(digest.as_bytes());
    bytes
}

pub(super) fn encode_stamp(stamp: &Stamp) -> Value {
    Value::Array([stamp.bytes, stamp.modified, stamp.changed].map(Value::from).into())
}

pub(super) fn decode_stamp(value: &Value) -> Option<Stamp> {
    let [bytes, modified, changed] = value.as_array()? else { return None };
    Some(Stamp { bytes: bytes.as_u64()?, modified: modified.as_u64()?, changed: changed.as_u64()? })
}

pub(super) fn encode_view(view: &CachedView) -> Value {
    let attachments = view.attachments.iter().map(|stamp| stamp.as_ref().map_or(Value::Null, encode_stamp));
    let attachments = Value::Array(attachments.collect());
    Object::from_iter([("attachments", attachments), ("value", view.value.clone())]).into()
}

pub(super) fn decode_view(value: &Value) -> Option<CachedView> {
    let stamp = |value: &Value| match value {
        Value::Null => Some(None),
        stamp => decode_stamp(stamp).map(Some),
    };
    let attachments = value.get("attachments")?.as_array()?.iter().map(stamp).collect::<Option<_>>()?;
    Some(CachedView { attachments, value: value.get("value")?.clone() })
}

fn decode(bytes: &[u8]) -> Option<BTreeMap<RunId, Cached>> {
    let (body, digest) = bytes.split_at_checked(bytes.len().checked_sub(Digest::HEX_BYTES)?)?;
    if Digest::from_hex(digest)? != Digest::of(body) {
        return None;
    }
    let lines = body.strip_prefix(FIRST_LINE)?;
    lines.split_inclusive(|byte| *byte == b'\n').map(decode_line).collect()
}

fn decode_line(line: &[u8]) -> Option<(RunId, Cached)> {
    let entry = parse(line.strip_suffix(b"\n")?).ok()?;
    let text = |key| entry.get(key).and_then(Value::as_str);
    let stamp = decode_stamp(entry.get("stamp")?)?;
    let head = text("head")?.parse().ok()?;
    let view = match entry.get("view")? {
        Value::Null => None,
        view => Some(decode_view(view)?),
    };
    let header = text("header").map(str::to_owned);
    Some((RunId::new(text("run")?).ok()?, Cached { stamp, head, header, view }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{head_of, journal};

    #[test]
    fn an_index_reads_back_and_no_changed_one_does() {
        let head = head_of(&journal(3));
        let stamp = Stamp { bytes: 5, modified: u64::MAX, changed: 7 };
        let view = CachedView { attachments: vec![None, Some(stamp)], value: Value::from("seen") };
        let all = [("a", None, Some(view)), ("b\n\"", Some("{\"x\":1}".to_owned()), None)];
        let entries: BTreeMap<RunId, Cached> = all
            .into_iter()
            .map(|(run, header, view)| (RunId::new(run).unwrap(), Cached { stamp, head, header, view }))
            .collect();
        let bytes = encode(&entries);
        assert_eq!(decode(&bytes), Some(entries));
        for at in 0..bytes.len() {
            assert_eq!(decode(&bytes[..at]), None);
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert_eq!(decode(&flipped), None);
        }
    }
}
