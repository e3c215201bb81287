//! Views of runs that the index caches, so that a list costs what has changed since the last one.

use std::collections::BTreeMap;

use super::FileStore;
use super::index::{self, Cached, CachedView};
use crate::{Condition, Listed, Listing, RunId, Stamps, StoreError};

impl FileStore {
    pub(super) fn list_with_views(&self, attachments: &[&str]) -> Result<Listing, StoreError> {
        let known = index::read(&self.disk, &self.layout).unwrap_or_default();
        let (summaries, mut current) = self.summarize_all(&known)?;
        let is_current = current == known;
        let runs = summaries.into_iter().map(|summary| {
            let stamps = self.stamps_of(&summary.run, attachments).attachments;
            let entry = current.remove(&summary.run);
            let journal = entry.as_ref().map(|entry| entry.stamp);
            let view = entry.and_then(|entry| entry.view_of(&stamps).cloned());
            Listed { summary, stamps: Stamps { journal, attachments: stamps }, view }
        });
        Ok(Listing { runs: runs.collect(), is_current })
    }

    pub(super) fn write_listing(&self, listing: &Listing) {
        let entry = |listed: &Listed| -> Option<(RunId, Cached)> {
            let Condition::Whole { head } = listed.summary.condition else { return None };
            let attachments = listed.stamps.attachments.clone();
            let view = listed.view.clone().map(|value| CachedView { attachments, value });
            let cached =
                Cached { stamp: listed.stamps.journal?, head, header: listed.summary.header.clone(), view };
            Some((listed.summary.run.clone(), cached))
        };
        if self.heals_index {
            let entries: BTreeMap<RunId, Cached> = listing.runs.iter().filter_map(entry).collect();
            // The list is complete even if the index cannot be written, as on a read-only disk.
            let _ = self.write_index(&entries);
        }
    }

    pub(super) fn stamps_of(&self, run: &RunId, attachments: &[&str]) -> Stamps {
        let folder = self.layout.run(run);
        let stamp = |name: &&str| self.disk.stamp(&folder.path().join(name)).ok();
        let journal = self.disk.stamp(&folder.journal()).ok();
        Stamps { journal, attachments: attachments.iter().map(stamp).collect() }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::crash_tests::{new_run, run, store_on, with_run};
    use super::super::sim_disk::SimDisk;
    use super::*;
    use crate::testing::lines;
    use crate::{AttachmentName, Durability, RunSummary, RunView, StoreHandle};
    use hence_canon::Value;

    /// A view that says how often it was computed, by what is in the attachment `note`.
    #[derive(Debug, PartialEq)]
    struct Noted {
        records: u64,
        note: Option<String>,
        is_cached: bool,
    }

    impl RunView for Noted {
        const ATTACHMENTS: &'static [&'static str] = &["note"];

        fn compute(store: &StoreHandle, summary: &RunSummary) -> Self {
            let note = store.attachment(&summary.run, &AttachmentName::new("note").unwrap()).ok();
            let note = note.map(|bytes| String::from_utf8(bytes).unwrap());
            Self { records: summary.head().map_or(0, |head| head.records.get()), note, is_cached: false }
        }

        fn encode(&self) -> Option<Value> {
            let items = [Value::from(self.records), Value::from(self.note.clone())];
            (self.note.as_deref() != Some("unreadable")).then(|| Value::Array(items.into()))
        }

        fn decode(value: &Value) -> Option<Self> {
            let note = value.at(1)?.as_str().map(str::to_owned);
            Some(Self { records: value.at(0)?.as_u64()?, note, is_cached: true })
        }
    }

    fn listed(store: &StoreHandle) -> Vec<(u64, Option<String>, bool)> {
        let views = store.list_views::<Noted>().unwrap().into_iter();
        views.map(|(_, view)| (view.records, view.note, view.is_cached)).collect()
    }

    fn note(store: &StoreHandle, text: &str) {
        let mut writer = store.open(&run()).unwrap().writer;
        let name = AttachmentName::new("note").unwrap();
        writer.attach(&name, text.as_bytes(), Durability::Buffered).unwrap();
    }

    #[test]
    fn a_view_is_computed_again_only_when_what_it_is_computed_from_changes() {
        let disk: SimDisk = with_run(2);
        let store = StoreHandle::new(store_on(&disk));
        drop(store.create(crate::NewRun { id: "other".parse().unwrap(), ..new_run(1) }).unwrap());
        assert_eq!(listed(&store), [(1, None, false), (2, None, false)]);
        assert_eq!(listed(&store), [(1, None, true), (2, None, true)]);
        store.list().unwrap();
        assert_eq!(listed(&store), [(1, None, true), (2, None, true)], "a plain list keeps the views");
        let mut writer = store.open(&run()).unwrap().writer;
        writer.append(writer.head(), &lines(2, 4), Durability::Buffered).unwrap();
        drop(writer);
        assert_eq!(listed(&store), [(1, None, true), (4, None, false)]);
        note(&store, "new");
        assert_eq!(listed(&store), [(1, None, true), (4, Some("new".to_owned()), false)]);
        assert_eq!(listed(&store), [(1, None, true), (4, Some("new".to_owned()), true)]);
        note(&store, "unreadable");
        for _ in 0..2 {
            assert_eq!(listed(&store)[1], (4, Some("unreadable".to_owned()), false));
        }
        disk.overwrite(Path::new("/store/index"), b"torn");
        assert_eq!(listed(&store)[0], (1, None, false), "a torn index changes no answer");
    }

    #[test]
    fn a_cached_view_that_was_altered_is_found() {
        let disk = with_run(2);
        let folder = store_on(&disk);
        let store = StoreHandle::new(store_on(&disk));
        listed(&store);
        assert_eq!(store.wrong_views::<Noted>().unwrap(), []);
        let mut known = index::read(&folder.disk, &folder.layout).unwrap();
        for cached in known.values_mut() {
            let view = cached.view.as_mut().unwrap();
            view.value = Value::Array([Value::from(99_u64), Value::Null].into());
        }
        disk.overwrite(Path::new("/store/index"), &index::encode(&known));
        assert_eq!(listed(&store)[0].0, 99, "lists believe an index that fits the files");
        assert_eq!(store.wrong_views::<Noted>().unwrap(), [run()]);
        store.doctor().repair().unwrap();
        assert_eq!(store.wrong_views::<Noted>().unwrap(), []);
        assert_eq!(listed(&store), [(2, None, false)]);
    }
}
