//! A view of one long run that is cached next to its journal, so that looking at the run does not cost its history.
//!
//! The file `view` is the line `hence-view 1 DIGEST` and one canonical JSON object: the head it was made at, the stamps of the
//! journal and of the attachments that it was computed from, and the value. It is used only while all of them are the
//! same; anything else costs one slow reading, which writes another.

use hence_canon::{Digest, Object, Value, canonical_bytes, parse};
use hence_journal::Head;

use super::disk::Stamp;
use super::index::{CachedView, decode_stamp, decode_view, encode_stamp, encode_view};
use super::{FileStore, temporary};
use crate::{Condition, Durability, RunId, RunSummary, RunView};

/// The file that holds the cached view of a run.
pub const VIEW_FILE: &str = "view";

/// The beginning of a view of this version. The digest of the rest follows.
const MAGIC: &str = "hence-view 1 ";

/// The number of records from which a view is cached: reading fewer costs no more than reading the cache.
pub const VIEW_RECORDS_MIN: u64 = 256;

/// The largest view that is cached or read.
const VIEW_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// A cached view, and what it is bound to.
struct StoredView {
    head: Head,
    journal: Stamp,
    view: CachedView,
}

impl StoredView {
    fn encode(&self) -> Vec<u8> {
        let members = Object::from_iter([
            ("head", Value::from(self.head.to_string())),
            ("journal", encode_stamp(&self.journal)),
            ("view", encode_view(&self.view)),
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
        Some(Self {
            head: entry.get("head")?.as_str()?.parse().ok()?,
            journal: decode_stamp(entry.get("journal")?)?,
            view: decode_view(entry.get("view")?)?,
        })
    }
}

impl FileStore {
    /// Returns the view of a run. That of a long one is cached next to its journal.
    pub fn view_of<V: RunView>(&self, summary: &RunSummary) -> V {
        let Some((head, journal)) = self.bound_to(summary) else { return V::compute(self, summary) };
        // Read before the view is computed: a change in between makes the next reader compute it again.
        let attachments = self.attachment_stamps::<V>(&summary.run);
        if let Some(view) = self.stored_view(&summary.run, head, journal, &attachments)
            && let Some(view) = V::decode(&view)
        {
            return view;
        }
        let view = V::compute(self, summary);
        if self.heals_index
            && let Some(value) = view.encode()
        {
            let stored = StoredView { head, journal, view: CachedView { attachments, value } };
            // The view is right even if it cannot be cached, as on a read-only disk.
            let _ = self.write_view(&summary.run, &stored);
        }
        view
    }

    /// Returns whether the cached view of a run is not the one that its files give, although they have not changed since.
    pub fn has_wrong_view<V: RunView>(&self, summary: &RunSummary) -> bool {
        let Some((head, journal)) = self.bound_to(summary) else { return false };
        let attachments = self.attachment_stamps::<V>(&summary.run);
        let stored = self.stored_view(&summary.run, head, journal, &attachments);
        stored.is_some_and(|view| {
            V::decode(&view).is_some() && V::compute(self, summary).encode() != Some(view)
        })
    }

    /// Removes the cached view of a run.
    ///
    /// # Errors
    /// [`StoreError`](crate::StoreError) when it cannot be removed.
    pub fn remove_view(&self, run: &RunId) -> Result<(), crate::StoreError> {
        Ok(self.disk.remove_file(&self.existing(run)?.path().join(VIEW_FILE))?)
    }

    /// Returns the head and the stamp of a journal that is long enough for a cached view.
    fn bound_to(&self, summary: &RunSummary) -> Option<(Head, Stamp)> {
        let Condition::Whole { head } = summary.condition else { return None };
        let journal = self.disk.stamp(&self.layout.run(&summary.run).journal()).ok()?;
        // A journal that grew after it was summarized is not the one of this head.
        let is_same = journal.bytes == summary.journal_bytes;
        (is_same && head.records.get() >= VIEW_RECORDS_MIN).then_some((head, journal))
    }

    fn stored_view(
        &self,
        run: &RunId,
        head: Head,
        journal: Stamp,
        attachments: &[Option<Stamp>],
    ) -> Option<Value> {
        let path = self.layout.run(run).path().join(VIEW_FILE);
        let stored = StoredView::decode(&self.disk.read_within(&path, VIEW_BYTES_MAX).ok()?)?;
        let is_bound =
            stored.head == head && stored.journal == journal && stored.view.attachments == attachments;
        is_bound.then_some(stored.view.value)
    }

    fn write_view(&self, run: &RunId, view: &StoredView) -> Result<(), crate::StoreError> {
        let bytes = view.encode();
        if u64::try_from(bytes.len()).is_ok_and(|bytes| bytes <= VIEW_BYTES_MAX) {
            let target = self.existing(run)?.path().join(VIEW_FILE);
            temporary::replace(&self.disk, &self.layout, &target, &bytes, Durability::Buffered)?;
        }
        Ok(())
    }
}
