//! A view of one long run that is cached next to its journal, so that looking at the run does not cost its history.
//!
//! The file `view` is the line `hence-view 1 DIGEST` and one canonical JSON object: the head it was made at, the stamps of the
//! journal and of the attachments that it was computed from, and the value. It is used only while all of them are the
//! same; anything else costs one slow reading, which writes another.

use hence_canon::{Digest, Object, Value, canonical_bytes, parse};

use super::index::{CachedView, decode_stamp, decode_view, encode_stamp, encode_view};
use super::{FileStore, temporary};
use crate::{Durability, RunId, StoreError, ViewBinding};

/// The file that holds the cached view of a run.
pub const VIEW_FILE: &str = "view";

/// The beginning of a view of this version. The digest of the rest follows.
const MAGIC: &str = "hence-view 1 ";

/// The largest view that is cached or read.
const VIEW_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// A cached view, and what it is bound to.
struct StoredView {
    binding: ViewBinding,
    value: Value,
}

impl StoredView {
    fn encode(&self) -> Vec<u8> {
        let ViewBinding { head, journal, attachments } = &self.binding;
        let view = CachedView { attachments: attachments.clone(), value: self.value.clone() };
        let members = Object::from_iter([
            ("head", Value::from(head.to_string())),
            ("journal", encode_stamp(journal)),
            ("view", encode_view(&view)),
        ]);
        let body = canonical_bytes(&members.into());
        let mut bytes = format!("{MAGIC}{}\n", Digest::of(&body)).into_bytes();
        bytes.extend(body);
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(MAGIC.as_bytes())?;
        let (digest, body) = rest.split_at_checked(Digest::HEX_BYTES)?;
        let body = body.strip_prefix(b"\n")?;
        if Digest::from_hex(digest)? != Digest::of(body) {
            return None;
        }
        let entry = parse(body).ok()?;
        let CachedView { attachments, value } = decode_view(entry.get("view")?)?;
        let head = entry.get("head")?.as_str()?.parse().ok()?;
        let journal = decode_stamp(entry.get("journal")?)?;
        Some(Self { binding: ViewBinding { head, journal, attachments }, value })
    }
}

impl FileStore {
    pub(super) fn read_view(&self, run: &RunId, binding: &ViewBinding) -> Option<Value> {
        let path = self.layout.run(run).path().join(VIEW_FILE);
        let stored = StoredView::decode(&self.disk.read_within(&path, VIEW_BYTES_MAX).ok()?)?;
        (stored.binding == *binding).then_some(stored.value)
    }

    pub(super) fn write_view(
        &self,
        run: &RunId,
        binding: &ViewBinding,
        value: &Value,
    ) -> Result<(), StoreError> {
        let bytes = StoredView { binding: binding.clone(), value: value.clone() }.encode();
        if self.heals_index && u64::try_from(bytes.len()).is_ok_and(|bytes| bytes <= VIEW_BYTES_MAX) {
            let target = self.existing(run)?.path().join(VIEW_FILE);
            temporary::replace(&self.disk, &self.layout, &target, &bytes, Durability::Buffered)?;
        }
        Ok(())
    }
}
