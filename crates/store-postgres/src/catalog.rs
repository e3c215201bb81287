//! Lists of runs, prefixes of ids, stamps and cached views.

use std::collections::BTreeMap;

use hence_canon::{Value, canonical_bytes, parse};
use hence_store::{
    CANDIDATES_MAX, Condition, Listed, Listing, RunId, RunSummary, Stamp, Stamps, StoreError, ViewBinding,
};
use tokio_postgres::Row;

use crate::engine::Engine;
use crate::failure::Failure;
use crate::rows::{column, to_i64, to_u64};
use crate::runs::{FoundRun, RunKey, SectionKey, found_run, id_digest};
use crate::session::Session;

/// The number of runs that one statement lists.
const PAGE_RUNS: i64 = 1000;

/// The number of bytes of an id by which ids are in order in the index.
const ID_START_BYTES: usize = 256;

/// The largest view that is cached or read.
const VIEW_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The view of a run in a list.
const LIST_VIEW: i16 = 0;

/// The view of a single run.
const RUN_VIEW: i16 = 1;

/// The runs after a place in the order of ids, with the columns that `found_run` reads and the id.
const PAGE: &str = "select key, head_count, head_hash, journal_bytes, header, false, id from {schema}.run \
     where section = $1 and substring(id from 1 for 256) >= $2 and (substring(id from 1 for 256), id) > ($2, $3) \
     order by substring(id from 1 for 256), id limit $4";

/// Reads an id.
pub(crate) fn run_id(location: &str, row: &Row, at: usize) -> Result<RunId, Failure> {
    let bytes: &[u8] = column(location, row, at)?;
    let text = str::from_utf8(bytes).ok().and_then(|text| RunId::new(text).ok());
    text.ok_or_else(|| Failure::damaged(location, "the id of a run is not UTF-8 text of 1 to 4096 bytes"))
}

fn id_start(id: &[u8]) -> &[u8] {
    id.get(..ID_START_BYTES).unwrap_or(id)
}

/// Lists the next runs after an id, in the order of ids.
pub(crate) async fn page(
    session: &Session,
    location: &str,
    section: SectionKey,
    after: &[u8],
) -> Result<Vec<(RunId, FoundRun)>, Failure> {
    let rows = session.query(PAGE, &[&section.0, &id_start(after), &after, &PAGE_RUNS]).await?;
    rows.iter().map(|row| Ok((run_id(location, row, 6)?, found_run(location, row)?))).collect()
}

/// Lists all runs, page after page.
pub(crate) async fn all(engine: &Engine, section: SectionKey) -> Result<Vec<(RunId, FoundRun)>, StoreError> {
    let location = &engine.target.location;
    let mut runs: Vec<(RunId, FoundRun)> = Vec::new();
    loop {
        let after = runs.last().map_or(Vec::new(), |(run, _)| run.as_str().as_bytes().to_vec());
        let next = engine.attempt(async |session| page(session, location, section, &after).await).await?;
        let is_last = i64::try_from(next.len()).unwrap_or(i64::MAX) < PAGE_RUNS;
        runs.extend(next);
        if is_last {
            return Ok(runs);
        }
    }
}

/// Returns the summary of a run by its row.
pub(crate) fn row_summary(run: RunId, found: &FoundRun) -> RunSummary {
    RunSummary {
        run,
        condition: Condition::Whole { head: found.head },
        journal_bytes: found.journal_bytes,
        header: found.header.clone(),
    }
}

const EXACT: &str = "select key from {schema}.run where section = $1 and sha256(id) = $2";

const CANDIDATES: &str = "select id from {schema}.run \
     where section = $1 and substring(id from 1 for 256) >= $2 and substring(id from 1 for 256) < $3 \
         and substring(id from 1 for $4) = $5 \
     order by substring(id from 1 for 256), id limit $6";

const COUNT: &str = "select count(*) from {schema}.run \
     where section = $1 and substring(id from 1 for 256) >= $2 and substring(id from 1 for 256) < $3 \
         and substring(id from 1 for $4) = $5";

/// Finds the run that `prefix` names.
pub(crate) async fn find(engine: &Engine, section: SectionKey, prefix: &str) -> Result<RunId, StoreError> {
    if let Ok(run) = RunId::new(prefix) {
        let digest = id_digest(&run);
        let exact =
            engine.attempt(async |session| session.query_opt(EXACT, &[&section.0, &digest]).await).await?;
        if exact.is_some() {
            return Ok(run);
        }
    }
    let location = &engine.target.location;
    let bytes = prefix.as_bytes();
    let (start, length) = (id_start(bytes), i32::try_from(bytes.len()).unwrap_or(i32::MAX));
    // Every id that begins with these bytes is before these bytes with an 0xff: no text has that byte.
    let end = [start, &[0xff]].concat();
    let limit = i64::try_from(CANDIDATES_MAX).unwrap_or(i64::MAX);
    let (mut candidates, matches) = engine
        .attempt(async |session| {
            let rows =
                session.query(CANDIDATES, &[&section.0, &start, &end, &length, &bytes, &limit]).await?;
            let found = rows.iter().map(|row| run_id(location, row, 0)).collect::<Result<Vec<_>, _>>()?;
            let matches = match rows.len() {
                few if few < CANDIDATES_MAX => few,
                _ => {
                    let row = session.query_opt(COUNT, &[&section.0, &start, &end, &length, &bytes]).await?;
                    let count = row.map(|row| column::<i64>(location, &row, 0)).transpose()?;
                    usize::try_from(count.unwrap_or(0)).unwrap_or(usize::MAX)
                }
            };
            Ok((found, matches))
        })
        .await?;
    let prefix = prefix.to_owned();
    match candidates.len() {
        0 => Err(StoreError::PrefixNotFound { prefix }),
        1 => Ok(candidates.remove(0)),
        _ => Err(StoreError::PrefixAmbiguous { prefix, matches, candidates }),
    }
}

const ATTACHMENTS: &str = "select run, name, revision, bytes from {schema}.attachment \
     where run = any($1) and name = any($2)";

const NAMES: &str = "select name from {schema}.attachment where run = $1 order by name";

const VIEWS: &str = "select run, binding, value from {schema}.cached_view where run = any($1) and kind = $2";

/// Writes views of runs that still exist.
const CACHE: &str = "insert into {schema}.cached_view (run, kind, binding, value) \
     select view.run, $2, view.binding, view.value from unnest($1::bigint[], $3::text[], $4::text[]) as view(run, binding, value) \
     where exists (select from {schema}.run r where r.key = view.run) \
     on conflict (run, kind) do update set binding = excluded.binding, value = excluded.value \
     returning set_config('synchronous_commit', 'off', true)";

const FORGET: &str = "delete from {schema}.cached_view where run = $1 and kind = $2";

const FORGET_LISTS: &str = "delete from {schema}.cached_view v using {schema}.run r \
     where v.run = r.key and r.section = $1 and v.kind = $2 returning v.run";

/// Lists the names of a run's attachments.
pub(crate) async fn attachment_names(engine: &Engine, run: RunKey) -> Result<Vec<String>, StoreError> {
    let location = &engine.target.location;
    let names = engine.attempt(async |session| {
        let rows = session.query(NAMES, &[&run.0]).await?;
        rows.iter().map(|row| column(location, row, 0)).collect()
    });
    Ok(names.await?)
}

/// Returns the stamp of a journal. The key of the run is a part of it: a run that was made again is another one.
fn journal_stamp(found: &FoundRun) -> Stamp {
    Stamp { bytes: found.journal_bytes, modified: found.head.records.get(), changed: to_u64(found.key.0) }
}

/// Reads the stamps of the attachments of several runs.
async fn attachment_stamps(
    session: &Session,
    location: &str,
    keys: &[i64],
    names: &[&str],
) -> Result<BTreeMap<(i64, String), Stamp>, Failure> {
    let rows = session.query(ATTACHMENTS, &[&keys, &names]).await?;
    let mut stamps = BTreeMap::new();
    for row in &rows {
        let (revision, bytes): (i64, i64) = (column(location, row, 2)?, column(location, row, 3)?);
        let stamp = Stamp { bytes: to_u64(bytes), modified: to_u64(revision), changed: 0 };
        stamps.insert((column(location, row, 0)?, column(location, row, 1)?), stamp);
    }
    Ok(stamps)
}

fn stamps_of(found: &FoundRun, attachments: &BTreeMap<(i64, String), Stamp>, names: &[&str]) -> Stamps {
    let of = |name: &&str| attachments.get(&(found.key.0, (*name).to_owned())).copied();
    Stamps { journal: Some(journal_stamp(found)), attachments: names.iter().map(of).collect() }
}

/// Returns the stamps of a run.
pub(crate) async fn stamps(engine: &Engine, found: &FoundRun, names: &[&str]) -> Result<Stamps, StoreError> {
    let location = &engine.target.location;
    let keys = [found.key.0];
    let attachments =
        engine.attempt(async |session| attachment_stamps(session, location, &keys, names).await).await?;
    Ok(stamps_of(found, &attachments, names))
}

/// Returns what a view is bound to as a text: two are equal only if everything in them is.
fn binding_text(binding: &ViewBinding) -> String {
    format!("{} {:?} {:?}", binding.head, binding.journal, binding.attachments)
}

fn list_binding(found: &FoundRun, stamps: &Stamps) -> String {
    let journal = journal_stamp(found);
    binding_text(&ViewBinding { head: found.head, journal, attachments: stamps.attachments.clone() })
}

/// Lists all runs with their cached views.
pub(crate) async fn list_cached(
    engine: &Engine,
    section: SectionKey,
    names: &[&str],
) -> Result<Listing, StoreError> {
    let runs = all(engine, section).await?;
    with_views(engine, &runs, names).await
}

/// Adds stamps and cached views to listed runs.
pub(crate) async fn with_views(
    engine: &Engine,
    runs: &[(RunId, FoundRun)],
    names: &[&str],
) -> Result<Listing, StoreError> {
    let location = &engine.target.location;
    let mut listing = Listing { runs: Vec::with_capacity(runs.len()), is_current: true };
    for runs in runs.chunks(usize::try_from(PAGE_RUNS).unwrap_or(1)) {
        let keys: Vec<i64> = runs.iter().map(|(_, found)| found.key.0).collect();
        let (attachments, mut views) = engine
            .attempt(async |session| {
                let attachments = attachment_stamps(session, location, &keys, names).await?;
                let mut views: BTreeMap<i64, (String, String)> = BTreeMap::new();
                for row in session.query(VIEWS, &[&keys, &LIST_VIEW]).await? {
                    let view = (column(location, &row, 1)?, column(location, &row, 2)?);
                    views.insert(column(location, &row, 0)?, view);
                }
                Ok((attachments, views))
            })
            .await?;
        for (run, found) in runs {
            let stamps = stamps_of(found, &attachments, names);
            let cached =
                views.remove(&found.key.0).filter(|(binding, _)| *binding == list_binding(found, &stamps));
            let view = cached.and_then(|(_, value)| parse(value.as_bytes()).ok());
            listing.runs.push(Listed { summary: row_summary(run.clone(), found), stamps, view });
        }
    }
    Ok(listing)
}

/// Caches the views of a list, those that can be bound to a run.
pub(crate) async fn cache_list(engine: &Engine, listing: &Listing) -> Result<(), StoreError> {
    let mut views = Vec::new();
    for listed in &listing.runs {
        let (Some(journal), Some(value), Some(head)) =
            (listed.stamps.journal, &listed.view, listed.summary.head())
        else {
            continue;
        };
        let attachments = listed.stamps.attachments.clone();
        let binding = binding_text(&ViewBinding { head, journal, attachments });
        views.push((to_i64(journal.changed), binding, value));
    }
    for views in views.chunks(usize::try_from(PAGE_RUNS).unwrap_or(1)) {
        cache(engine, LIST_VIEW, views).await?;
    }
    Ok(())
}

/// Caches the view of a single run.
pub(crate) async fn cache_view(
    engine: &Engine,
    binding: &ViewBinding,
    value: &Value,
) -> Result<(), StoreError> {
    cache(engine, RUN_VIEW, &[(to_i64(binding.journal.changed), binding_text(binding), value)]).await
}

async fn cache(engine: &Engine, kind: i16, views: &[(i64, String, &Value)]) -> Result<(), StoreError> {
    let (mut keys, mut bindings, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for (key, binding, value) in views {
        let value = canonical_bytes(value);
        // The type text holds no zero byte, and canonical JSON has none.
        let Some(value) = String::from_utf8(value).ok().filter(|value| value.len() <= VIEW_BYTES_MAX) else {
            continue;
        };
        keys.push(*key);
        bindings.push(binding.as_str());
        values.push(value);
    }
    engine.attempt(async |session| session.query(CACHE, &[&keys, &kind, &bindings, &values]).await).await?;
    Ok(())
}

/// Returns the cached view of a run, if it is bound to exactly this.
pub(crate) async fn cached_view(engine: &Engine, binding: &ViewBinding) -> Result<Option<Value>, StoreError> {
    let location = &engine.target.location;
    let keys = [to_i64(binding.journal.changed)];
    let found = engine.attempt(async |session| {
        let row = session.query_opt(VIEWS, &[&&keys[..], &RUN_VIEW]).await?;
        row.map(|row| Ok((column::<String>(location, &row, 1)?, column::<String>(location, &row, 2)?)))
            .transpose()
    });
    let found = found.await?.filter(|(bound, _)| *bound == binding_text(binding));
    Ok(found.and_then(|(_, value)| parse(value.as_bytes()).ok()))
}

/// Removes the cached view of a run.
pub(crate) async fn remove_view(engine: &Engine, run: RunKey) -> Result<(), StoreError> {
    engine.attempt(async |session| session.query(FORGET, &[&run.0, &RUN_VIEW]).await).await?;
    Ok(())
}

/// Removes the views of all lists of a section and returns how many there were.
pub(crate) async fn forget_lists(engine: &Engine, section: SectionKey) -> Result<u64, StoreError> {
    let rows =
        engine.attempt(async |session| session.query(FORGET_LISTS, &[&section.0, &LIST_VIEW]).await).await?;
    Ok(crate::rows::to_u64_length(rows.len()))
}
