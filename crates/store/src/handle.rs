//! A store of any kind, as the layers above hold it.

use std::ops::Deref;
use std::sync::Arc;

use crate::{Condition, RunId, RunSummary, RunView, Store, StoreError, VIEW_RECORDS_MIN, ViewBinding};

/// A store of any kind. Clones share the store.
#[derive(Clone)]
pub struct StoreHandle(Arc<dyn Store>);

impl std::fmt::Debug for StoreHandle {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "StoreHandle({})", self.location())
    }
}

impl Deref for StoreHandle {
    type Target = dyn Store;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl From<Arc<dyn Store>> for StoreHandle {
    fn from(store: Arc<dyn Store>) -> Self {
        Self(store)
    }
}

impl StoreHandle {
    /// Makes the handle of a store.
    pub fn new(store: impl Store + 'static) -> Self {
        Self(Arc::new(store))
    }

    /// Opens the section `name` of the store; `None` if nothing was ever stored in it.
    ///
    /// # Errors
    /// As for [`Store::section`].
    pub fn within(&self, name: &str) -> Result<Option<Self>, StoreError> {
        Ok(self.section(name)?.map(Self))
    }

    /// Opens the section `name` of the store, creating it first if it is missing.
    ///
    /// # Errors
    /// As for [`Store::section_or_new`].
    pub fn within_or_new(&self, name: &str) -> Result<Self, StoreError> {
        self.section_or_new(name).map(Self)
    }

    /// Returns the store as one that is only looked at: reading it writes no cache.
    #[must_use]
    pub fn only_looked_at(&self) -> Self {
        Self(self.observer())
    }

    /// Lists every run with its view. Views of unchanged runs come from the cache.
    ///
    /// # Errors
    /// [`StoreError::Disk`] when the runs cannot be listed.
    pub fn list_views<V: RunView>(&self) -> Result<Vec<(RunSummary, V)>, StoreError> {
        let mut listing = self.list_cached(V::ATTACHMENTS)?;
        let mut views = Vec::with_capacity(listing.runs.len());
        for listed in &mut listing.runs {
            let view = listed.view.as_ref().and_then(V::decode).unwrap_or_else(|| {
                let view = V::compute(self, &listed.summary);
                let value = view.encode();
                if listed.stamps.journal.is_some() && listed.view != value {
                    listing.is_current = false;
                    listed.view = value;
                }
                view
            });
            views.push(view);
        }
        if !listing.is_current {
            self.cache_list(&listing);
        }
        Ok(listing.runs.into_iter().map(|listed| listed.summary).zip(views).collect())
    }

    /// Returns the runs whose cached view is not the one that their files give, although they have not changed since.
    ///
    /// # Errors
    /// [`StoreError::Disk`] when the runs cannot be listed.
    pub fn wrong_views<V: RunView>(&self) -> Result<Vec<RunId>, StoreError> {
        let mut wrong = Vec::new();
        for listed in self.list_cached(V::ATTACHMENTS)?.runs {
            let Some(view) = listed.view.filter(|view| V::decode(view).is_some()) else { continue };
            // Not by the summary of the cache, which may be as wrong as the view.
            let summary = self.summary(&listed.summary.run)?;
            if V::compute(self, &summary).encode() != Some(view) {
                wrong.push(summary.run);
            }
        }
        Ok(wrong)
    }

    /// Returns the view of a run. That of a long one is cached.
    pub fn view_of<V: RunView>(&self, summary: &RunSummary) -> V {
        let Some(binding) = self.bound_to::<V>(summary) else { return V::compute(self, summary) };
        if let Some(view) = self.cached_view(&summary.run, &binding).as_ref().and_then(V::decode) {
            return view;
        }
        let view = V::compute(self, summary);
        if let Some(value) = view.encode() {
            self.cache_view(&summary.run, &binding, &value);
        }
        view
    }

    /// Returns whether the cached view of a run is not the one that its files give, although they have not changed since.
    pub fn has_wrong_view<V: RunView>(&self, summary: &RunSummary) -> bool {
        let cached = self.bound_to::<V>(summary).and_then(|binding| self.cached_view(&summary.run, &binding));
        cached.is_some_and(|view| {
            let decoded = V::decode(&view);
            decoded.is_some_and(|decoded| V::compute_like(self, summary, &decoded).encode() != Some(view))
        })
    }

    /// Replaces the cached view of a long run by one that says more, and returns it. Returns nothing where the run has changed
    /// since, or has no cached view.
    pub fn extend_view<V: RunView>(&self, summary: &RunSummary, extend: impl FnOnce(V) -> V) -> Option<V> {
        // The stamps are read before the rest is computed: a change in between makes the next reader compute it again.
        let binding = self.bound_to::<V>(summary)?;
        let view = extend(V::decode(&self.cached_view(&summary.run, &binding)?)?);
        if let Some(value) = view.encode() {
            self.cache_view(&summary.run, &binding, &value);
        }
        Some(view)
    }

    /// Returns what the view of a run is bound to, if its journal is long enough for a cached view.
    ///
    /// The stamps are read before the view is computed: a change in between makes the next reader compute it again.
    fn bound_to<V: RunView>(&self, summary: &RunSummary) -> Option<ViewBinding> {
        let Condition::Whole { head } = summary.condition else { return None };
        if head.records.get() < VIEW_RECORDS_MIN {
            return None;
        }
        let stamps = self.stamps(&summary.run, V::ATTACHMENTS);
        // A journal that grew after it was summarized is not the one of this head.
        let journal = stamps.journal.filter(|journal| journal.bytes == summary.journal_bytes)?;
        Some(ViewBinding { head, journal, attachments: stamps.attachments })
    }
}
