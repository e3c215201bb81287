//! Runs in the order of their creation, page after page, so that the first page of a long list costs no more than a short list.

use hence_canon::time::Instant;

use crate::{Listing, RunSummary, RunView, Stamps, StoreError, StoreHandle};

/// The runs of one page.
const PAGE_RUNS_MAX: usize = 1_000;

/// A place in the list of runs by their creation, as the store that gave it reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewestPlace(pub String);

/// A request for the next runs of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewestRequest {
    /// The end of the page before; `None` for the first page.
    pub after: Option<NewestPlace>,
    /// The earliest creation of a listed run.
    pub since: Option<Instant>,
    /// The most runs of the page.
    pub runs_max: usize,
}

/// The next runs of a list, the newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewestPage {
    /// The runs with their stamps and cached views.
    pub listing: Listing,
    /// The end of this page; `None` when it is the last one.
    pub next: Option<NewestPlace>,
}

/// A view that says when its run was created.
pub trait DatedView: RunView {
    /// Returns the time of creation, in a form in which later times are greater texts.
    fn created(&self) -> Option<&str>;
}

/// A run of a list by creation.
#[derive(Debug)]
pub struct NewestRun<V> {
    /// The summary of the run.
    pub summary: RunSummary,
    /// The view of the run.
    pub view: V,
}

/// The runs of a store, the newest first. Runs are read when they are asked for.
///
/// A database is read page by page, in the order in which it created the runs. A store without such an order is listed as a whole and
/// sorted by the views: times of creation first, then ids.
pub struct NewestRuns<'a, V> {
    store: &'a StoreHandle,
    since: Option<Instant>,
    source: Source<V>,
}

enum Source<V> {
    /// Nothing was read yet.
    Unread,
    /// The next page begins here; `None` after the last one.
    Pages(Option<NewestPlace>),
    /// Everything that is left of a whole list.
    Whole(std::vec::IntoIter<NewestRun<V>>),
}

impl StoreHandle {
    /// Begins a list of the runs, the newest first.
    ///
    /// `since` may leave out runs that were created earlier. A store that does not know when its runs were created leaves none out.
    pub fn newest<V: DatedView>(&self, since: Option<Instant>) -> NewestRuns<'_, V> {
        NewestRuns { store: self, since, source: Source::Unread }
    }
}

impl<V: DatedView> NewestRuns<'_, V> {
    /// Returns the next runs, at most `runs_max`; none at the end.
    ///
    /// # Errors
    /// [`StoreError::Disk`] when the runs cannot be listed.
    pub fn next(&mut self, runs_max: usize) -> Result<Vec<NewestRun<V>>, StoreError> {
        let after = match &mut self.source {
            Source::Unread => None,
            Source::Pages(None) => return Ok(Vec::new()),
            Source::Pages(place) => place.clone(),
            Source::Whole(rest) => return Ok(rest.by_ref().take(runs_max).collect()),
        };
        let request = NewestRequest { after, since: self.since, runs_max: runs_max.clamp(1, PAGE_RUNS_MAX) };
        match self.store.list_newest(V::ATTACHMENTS, &request)? {
            Some(page) => {
                self.source = Source::Pages(page.next);
                Ok(self.views_of(page.listing))
            }
            None => {
                let mut all: Vec<NewestRun<V>> = self
                    .store
                    .list_views::<V>()?
                    .into_iter()
                    .map(|(summary, view)| NewestRun { summary, view })
                    .collect();
                // Runs without a time come last, and equal times keep the order of ids.
                all.sort_by(|left, right| right.view.created().cmp(&left.view.created()));
                self.source = Source::Whole(all.into_iter());
                self.next(runs_max)
            }
        }
    }

    /// Returns whether everything was given.
    ///
    /// A page that ends exactly with the last run may still be followed by an empty one.
    pub fn is_at_end(&self) -> bool {
        match &self.source {
            Source::Unread => false,
            Source::Pages(place) => place.is_none(),
            Source::Whole(rest) => rest.len() == 0,
        }
    }

    /// Returns whether the store has no order of creation, so that everything was read with the first runs.
    pub fn is_whole(&self) -> bool {
        matches!(self.source, Source::Whole(_))
    }

    /// Computes the views that were not cached, and caches them.
    fn views_of(&self, listing: Listing) -> Vec<NewestRun<V>> {
        let mut computed = Listing::default();
        let mut runs = Vec::with_capacity(listing.runs.len());
        for mut listed in listing.runs {
            let view = listed.view.as_ref().and_then(V::decode).unwrap_or_else(|| {
                let view = V::compute(self.store, &listed.summary);
                let value = view.encode();
                if listed.stamps.journal.is_some() && value.is_some() {
                    listed.view = value;
                    computed.runs.push(listed.clone());
                }
                view
            });
            runs.push(NewestRun { summary: listed.summary, view });
        }
        if !computed.runs.is_empty() {
            self.store.cache_list(&computed);
        }
        runs
    }
}

impl StoreHandle {
    /// Returns the stamps of the newest runs, at most `runs_max`, and whether there are more.
    ///
    /// A store without an order of creation gives the stamps of all its runs.
    ///
    /// # Errors
    /// [`StoreError::Disk`] when the runs cannot be listed.
    pub fn newest_stamps(
        &self,
        attachments: &[&str],
        runs_max: usize,
    ) -> Result<(Vec<(RunSummary, Stamps)>, bool), StoreError> {
        let mut found = Vec::new();
        let mut after = None;
        loop {
            let wanted = runs_max.saturating_sub(found.len()).clamp(1, PAGE_RUNS_MAX);
            let request = NewestRequest { after, since: None, runs_max: wanted };
            let Some(page) = self.list_newest(attachments, &request)? else {
                let all = self.list()?.into_iter();
                let stamped = all.map(|summary| {
                    let stamps = self.stamps(&summary.run, attachments);
                    (summary, stamps)
                });
                return Ok((stamped.collect(), false));
            };
            found.extend(page.listing.runs.into_iter().map(|listed| (listed.summary, listed.stamps)));
            match page.next {
                None => return Ok((found, false)),
                Some(_) if found.len() >= runs_max => return Ok((found, true)),
                next => after = next,
            }
        }
    }
}
