//! The index: a cache of run summaries.
//!
//! A line `hence-index 1`, one canonical JSON object per run, and the SHA-256 of all that. An entry holds only as long
//! as the journal has the length and modification time noted with it, so appending never touches the index. Runs that do not end
//! in a whole record are not in it.

use std::collections::BTreeMap;

use hence_canon::{Digest, Object, Value, canonical_bytes, parse};
use hence_journal::Head;

use super::checked_disk::CheckedDisk;
use super::disk::Stamp;
use super::layout::Layout;
use crate::{Condition, DiskErrorKind, RunId, RunSummary};

const FIRST_LINE: &[u8] = b"hence-index 1\n";

/// The index entry of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cached {
    pub(crate) stamp: Stamp,
    pub(crate) head: Head,
    pub(crate) header: Option<String>,
}

impl Cached {
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

pub(crate) fn encode(entries: &BTreeMap<RunId, Cached>) -> Vec<u8> {
    let mut bytes = FIRST_LINE.to_vec();
    for (run, cached) in entries {
        let object = Object::from_iter([
            ("bytes", Value::from(cached.stamp.bytes)),
            ("head", Value::from(cached.head.to_string())),
            ("header", Value::from(cached.header.clone())),
            ("modified", Value::from(cached.stamp.modified)),
            ("run", Value::from(run.as_str())),
        ]);
        bytes.extend(canonical_bytes(&object.into()));
        bytes.push(b'\n');
    }
    let digest = Digest::of(&bytes).to_string();
    bytes.extend_from_slice(digest.as_bytes());
    bytes
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
    let number = |key| entry.get(key).and_then(Value::as_u64);
    let text = |key| entry.get(key).and_then(Value::as_str);
    let stamp = Stamp { bytes: number("bytes")?, modified: number("modified")? };
    let head = text("head")?.parse().ok()?;
    Some((RunId::new(text("run")?).ok()?, Cached { stamp, head, header: text("header").map(str::to_owned) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{head_of, journal};

    #[test]
    fn an_index_reads_back_and_no_changed_one_does() {
        let head = head_of(&journal(3));
        let entries: BTreeMap<RunId, Cached> = [("a", None), ("b\n\"", Some("{\"x\":1}".to_owned()))]
            .into_iter()
            .map(|(run, header)| {
                (
                    RunId::new(run).unwrap(),
                    Cached { stamp: Stamp { bytes: 5, modified: u64::MAX }, head, header },
                )
            })
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
