//! Views of runs that the index caches, so that a list costs what has changed since the last one.

use hence_canon::Value;

use super::FileStore;
use super::disk::Stamp;
use super::index::{self, CachedView};
use crate::{RunId, RunSummary, StoreError};

/// A view of a run that the store caches. The store computes it again when the journal, or an attachment that it names, has changed.
pub trait RunView: Sized {
    /// The attachments that the view is computed from, besides the journal.
    const ATTACHMENTS: &'static [&'static str];

    /// Computes the view of a run.
    fn compute(store: &FileStore, summary: &RunSummary) -> Self;

    /// Returns the value to cache; `None` when something could not be read, so that it is computed again
    /// the next time.
    fn encode(&self) -> Option<Value>;

    /// Reads a cached value; `None` when another version wrote it.
    fn decode(value: &Value) -> Option<Self>;
}

impl FileStore {
    /// Lists every run with its view. Views of unchanged runs come from the index.
    ///
    /// # Errors
    /// [`StoreError::Disk`] when the runs cannot be listed.
    pub fn list_views<V: RunView>(&self) -> Result<Vec<(RunSummary, V)>, StoreError> {
        let known = index::read(&self.disk, &self.layout).unwrap_or_default();
        let (summaries, mut current) = self.summarize_all(&known)?;
        let mut listed = Vec::with_capacity(summaries.len());
        for summary in summaries {
            // Read before the view is computed: a change in between makes the next list compute it again.
            let attachments = self.attachment_stamps::<V>(&summary.run);
            let entry = current.get_mut(&summary.run);
            let cached = entry.as_ref().and_then(|entry| entry.view_of(&attachments)).and_then(V::decode);
            let view = cached.unwrap_or_else(|| {
                let view = V::compute(self, &summary);
                if let Some(entry) = entry {
                    entry.view = view.encode().map(|value| CachedView { attachments, value });
                }
                view
            });
            listed.push((summary, view));
        }
        if current != known && self.heals_index {
            // The list is complete even if the index cannot be written, as on a read-only disk.
            let _ = self.write_index(&current);
        }
        Ok(listed)
    }

    /// Returns the runs whose cached view is not the one that their files give, although they have not changed since.
    ///
    /// # Errors
    /// [`StoreError::Disk`] when the runs cannot be listed.
    pub fn wrong_views<V: RunView>(&self) -> Result<Vec<RunId>, StoreError> {
        let known = index::read(&self.disk, &self.layout).unwrap_or_default();
        let mut wrong = Vec::new();
        for (run, folder) in self.catalog()?.runs {
            let Some(cached) = known.get(&run) else { continue };
            if self.disk.stamp(&folder.journal()).ok() != Some(cached.stamp) {
                continue;
            }
            let Some(view) = cached.view_of(&self.attachment_stamps::<V>(&run)) else { continue };
            let is_wrong =
                || V::compute(self, &self.summarize(&run, &folder)).encode().as_ref() != Some(view);
            if V::decode(view).is_some() && is_wrong() {
                wrong.push(run);
            }
        }
        Ok(wrong)
    }

    pub(super) fn attachment_stamps<V: RunView>(&self, run: &RunId) -> Vec<Option<Stamp>> {
        let folder = self.layout.run(run);
        V::ATTACHMENTS.iter().map(|name| self.disk.stamp(&folder.path().join(name)).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::crash_tests::{new_run, run, store_on, with_run};
    use super::super::sim_disk::SimDisk;
    use super::*;
    use crate::testing::lines;
    use crate::{AttachmentName, Durability, Store as _};

    /// A view that says how often it was computed, by what is in the attachment `note`.
    #[derive(Debug, PartialEq)]
    struct Noted {
        records: u64,
        note: Option<String>,
        is_cached: bool,
    }

    impl RunView for Noted {
        const ATTACHMENTS: &'static [&'static str] = &["note"];

        fn compute(store: &FileStore, summary: &RunSummary) -> Self {
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

    fn listed(store: &FileStore) -> Vec<(u64, Option<String>, bool)> {
        let views = store.list_views::<Noted>().unwrap().into_iter();
        views.map(|(_, view)| (view.records, view.note, view.is_cached)).collect()
    }

    fn note(store: &FileStore, text: &str) {
        let mut writer = store.open(&run()).unwrap().writer;
        let name = AttachmentName::new("note").unwrap();
        writer.attach(&name, text.as_bytes(), Durability::Buffered).unwrap();
    }

    #[test]
    fn a_view_is_computed_again_only_when_what_it_is_computed_from_changes() {
        let disk: SimDisk = with_run(2);
        let store = store_on(&disk);
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
        let store = store_on(&disk);
        listed(&store);
        assert_eq!(store.wrong_views::<Noted>().unwrap(), []);
        let mut known = index::read(&store.disk, &store.layout).unwrap();
        for cached in known.values_mut() {
            let view = cached.view.as_mut().unwrap();
            view.value = Value::Array([Value::from(99_u64), Value::Null].into());
        }
        disk.overwrite(Path::new("/store/index"), &index::encode(&known));
        assert_eq!(listed(&store)[0].0, 99, "lists believe an index that fits the files");
        assert_eq!(store.wrong_views::<Noted>().unwrap(), [run()]);
        crate::Doctor::repair(&store).unwrap();
        assert_eq!(store.wrong_views::<Noted>().unwrap(), []);
        assert_eq!(listed(&store), [(2, None, false)]);
    }
}
