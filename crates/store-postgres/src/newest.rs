//! Lists of runs by their creation, the newest first, page by page.
//!
//! A page begins after the creation and the key of the last run of the page before, so an index leads to it: neither the
//! number of runs nor the number of pages before it makes it slower.

use hence_canon::time::Instant;
use hence_store::{NewestPage, NewestPlace, NewestRequest, StoreError};

use crate::catalog::{run_id, with_views};
use crate::engine::Engine;
use crate::failure::{self, Failure};
use crate::rows::{column, to_i64, to_u64, to_u64_length};
use crate::runs::{FoundRun, RunKey, SectionKey, found_run};

/// The time before the first page: every run is older.
const START: &str = "infinity";

/// The time of a list without an earliest creation.
const EARLIEST: &str = "-infinity";

/// The first moment of the year 1.
const YEAR_1: &str = "0001-01-01T00:00:00Z";

/// The same moment in milliseconds after the beginning of 1970.
const YEAR_1_MILLIS: i64 = -62_135_596_800_000;

/// The columns that `found_run` reads, the id, and the place of the run. Times are texts, which keep every digit; the text has a
/// name of its own, because an order by `created_at` would else be that of the texts, which no index has.
const PAGE: &str = "select key, head_count, head_hash, journal_bytes, header, false, id, created_at::text as place \
     from {schema}.run \
     where section = $1 and (created_at, key) < ($2::text::timestamptz, $3) and created_at >= $4::text::timestamptz \
     order by created_at desc, key desc limit $5";

const COUNT: &str = "select count(*) from (select from {schema}.run where section = $1 limit $2) as listed";

const SET_CREATED: &str =
    "update {schema}.run set created_at = $2::text::timestamptz where key = $1 returning key";

/// Lists the next runs, the newest first.
pub(crate) async fn page(
    engine: &Engine,
    section: SectionKey,
    names: &[&str],
    request: &NewestRequest,
) -> Result<NewestPage, StoreError> {
    let location = &engine.target.location;
    let (created, key) = match &request.after {
        None => (START.to_owned(), i64::MAX),
        Some(place) => read_place(place).ok_or_else(|| {
            failure::damaged(location, format!("no place of a list of this store: {:?}", place.0))
        })?,
    };
    let since = request.since.map_or_else(|| EARLIEST.to_owned(), time_text);
    let limit = to_i64(to_u64_length(request.runs_max));
    let rows = engine
        .attempt(async |session| {
            let rows = session.query(PAGE, &[&section.0, &created, &key, &since, &limit]).await?;
            let read = |row| -> Result<_, Failure> {
                let created: String = column(location, row, 7)?;
                Ok((run_id(location, row, 6)?, found_run(location, row)?, created))
            };
            rows.iter().map(read).collect::<Result<Vec<_>, _>>()
        })
        .await?;
    let is_last = rows.len() < request.runs_max;
    let next = rows.last().filter(|_| !is_last).map(|(_, found, created)| write_place(created, found));
    let runs: Vec<_> = rows.into_iter().map(|(run, found, _)| (run, found)).collect();
    Ok(NewestPage { listing: with_views(engine, &runs, names).await?, next })
}

/// Writes a time as the server reads it. Its calendar has other names for years before the year 1; no run is as old.
fn time_text(time: Instant) -> String {
    if time.as_millis() < YEAR_1_MILLIS { YEAR_1.to_owned() } else { time.to_string() }
}

fn write_place(created: &str, found: &FoundRun) -> NewestPlace {
    NewestPlace(format!("{} {created}", found.key.0))
}

fn read_place(place: &NewestPlace) -> Option<(String, i64)> {
    let (key, created) = place.0.split_once(' ')?;
    Some((created.to_owned(), key.parse().ok()?))
}

/// Counts the runs of a section, but not beyond `most`.
pub(crate) async fn count_up_to(engine: &Engine, section: SectionKey, most: u64) -> Result<u64, StoreError> {
    let location = &engine.target.location;
    let counted = engine.attempt(async |session| {
        let row = session.query_opt(COUNT, &[&section.0, &to_i64(most)]).await?;
        row.map_or(Ok(0), |row| column::<i64>(location, &row, 0))
    });
    Ok(to_u64(counted.await?))
}

/// States when a run was created.
pub(crate) async fn set_created(engine: &Engine, run: RunKey, created: Instant) -> Result<(), StoreError> {
    let created = time_text(created);
    engine.attempt_write(async |session| session.query(SET_CREATED, &[&run.0, &created]).await).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_the_year_1_are_that_year() {
        let text = |millis| time_text(Instant::from_millis(millis).unwrap());
        assert_eq!(text(YEAR_1_MILLIS), YEAR_1);
        assert_eq!(text(YEAR_1_MILLIS - 1), YEAR_1);
        assert_eq!(text(YEAR_1_MILLIS + 1), "0001-01-01T00:00:00.001Z");
    }

    #[test]
    fn a_place_reads_back_and_no_other_text_does() {
        let place = NewestPlace("7 2026-02-09 10:00:00.123456+00".to_owned());
        assert_eq!(read_place(&place), Some(("2026-02-09 10:00:00.123456+00".to_owned(), 7)));
        for wrong in ["", "7", "x 2026-02-09 10:00:00+00", "99999999999999999999 now"] {
            assert_eq!(read_place(&NewestPlace(wrong.to_owned())), None, "{wrong}");
        }
    }
}
