//! Attachments and side logs: rows of content, each with its place.

use hence_store::{AttachmentName, Durability, RunId, StoreError};

use crate::engine::Engine;
use crate::failure::Failure;
use crate::lease::{Fence, holder};
use crate::rows::{column, to_i64, to_u64, to_u64_length};
use crate::runs::RunKey;
use crate::session::Session;

/// The most bytes in one row of content.
pub(crate) const PART_BYTES_MAX: usize = 1024 * 1024;

/// The most bytes of content in one statement.
const PORTION_BYTES_MAX: usize = 4 * PART_BYTES_MAX;

/// Content cut into rows, with the place of each.
#[derive(Debug, Default)]
pub(crate) struct Parts<'a> {
    pub(crate) offsets: Vec<i64>,
    pub(crate) contents: Vec<&'a [u8]>,
}

/// Cuts content into rows and these into portions for one statement each. There is at least one portion.
pub(crate) fn cut(bytes: &[u8]) -> Vec<Parts<'_>> {
    let mut portions = Vec::new();
    let mut offset = 0;
    for portion in bytes.chunks(PORTION_BYTES_MAX) {
        let mut parts = Parts::default();
        for part in portion.chunks(PART_BYTES_MAX) {
            parts.offsets.push(to_i64(offset));
            parts.contents.push(part);
            offset += to_u64_length(part.len());
        }
        portions.push(parts);
    }
    if portions.is_empty() {
        portions.push(Parts::default());
    }
    portions
}

const ATTACH: &str = "with held as materialized (
        select r.key from {schema}.run r where r.key = $1 and r.epoch = $2 and r.lease_token = $3 for share of r
    ), stored as (
        insert into {schema}.attachment (run, name, bytes) select key, $4, $5 from held
        on conflict (run, name) do update set revision = excluded.revision, bytes = excluded.bytes
        returning run, name, revision
    ), replaced as (
        delete from {schema}.attachment_part p using held where p.run = held.key and p.name = $4
    ), added as (
        insert into {schema}.attachment_part (run, name, revision, at, content)
        select stored.run, stored.name, stored.revision, part.at, part.content
        from stored, unnest($6::bigint[], $7::bytea[]) as part(at, content)
    )
    select revision, case when $8 then set_config('synchronous_commit', 'off', true) end from stored";

const ADD_PARTS: &str = "insert into {schema}.attachment_part (run, name, revision, at, content) \
     select $1, $2, $3, part.at, part.content from unnest($4::bigint[], $5::bytea[]) as part(at, content)";

const DETACH: &str = "with held as materialized (
        select r.key from {schema}.run r where r.key = $1 and r.epoch = $2 and r.lease_token = $3 for share of r
    ), parts as (
        delete from {schema}.attachment_part p using held where p.run = held.key and p.name = $4
    ), gone as (
        delete from {schema}.attachment a using held where a.run = held.key and a.name = $4
    )
    select key from held";

const HOLDER: &str = "select holder from {schema}.run where key = $1";

/// Stores an attachment in place of what has its name, and returns its revision.
///
/// The old one or the new one is there, whenever the connection or the server is lost; storing it again is no other change.
pub(crate) async fn attach(
    engine: &Engine,
    run: &RunId,
    fence: Fence,
    name: &AttachmentName,
    bytes: &[u8],
    durability: Durability,
) -> Result<i64, StoreError> {
    let portions = cut(bytes);
    let revision = engine
        .attempt_write(async |session| {
            attach_once(session, engine, fence, name, bytes.len(), &portions, durability).await
        })
        .await?;
    match revision {
        Some(revision) => Ok(revision),
        None => Err(fenced(engine, run, fence).await?),
    }
}

async fn attach_once(
    session: &Session,
    engine: &Engine,
    fence: Fence,
    name: &AttachmentName,
    bytes: usize,
    portions: &[Parts<'_>],
    durability: Durability,
) -> Result<Option<i64>, Failure> {
    let Some((first, rest)) = portions.split_first() else { return Ok(None) };
    if !rest.is_empty() {
        session.begin().await?;
    }
    let (token, size) = (&fence.token[..], to_i64(to_u64_length(bytes)));
    let is_buffered = durability == Durability::Buffered;
    let stored = session
        .query_opt(
            ATTACH,
            &[
                &fence.run,
                &fence.epoch,
                &token,
                &name.as_str(),
                &size,
                &first.offsets,
                &first.contents,
                &is_buffered,
            ],
        )
        .await?;
    let revision = stored.map(|row| column::<i64>(&engine.target.location, &row, 0)).transpose()?;
    if rest.is_empty() {
        return Ok(revision);
    }
    if let Some(revision) = revision {
        for parts in rest {
            session
                .query(ADD_PARTS, &[&fence.run, &name.as_str(), &revision, &parts.offsets, &parts.contents])
                .await?;
        }
    }
    session.commit().await?;
    Ok(revision)
}

/// Removes an attachment, if it exists.
pub(crate) async fn detach(
    engine: &Engine,
    run: &RunId,
    fence: Fence,
    name: &AttachmentName,
) -> Result<(), StoreError> {
    let Fence { run: key, epoch, token } = fence;
    let held = engine
        .attempt_write(async |session| {
            session.query_opt(DETACH, &[&key, &epoch, &&token[..], &name.as_str()]).await
        })
        .await?;
    if held.is_none() {
        return Err(fenced(engine, run, fence).await?);
    }
    Ok(())
}

/// Returns the refusal of a write whose fence did not match.
pub(crate) async fn fenced(engine: &Engine, run: &RunId, fence: Fence) -> Result<StoreError, StoreError> {
    let row = engine.attempt(async |session| session.query_opt(HOLDER, &[&fence.run]).await).await?;
    let Some(row) = row else { return Ok(StoreError::NoSuchRun { run: run.clone() }) };
    let name = column(&engine.target.location, &row, 0).map_err(|failure| failure.error)?;
    Ok(StoreError::Fenced { run: run.clone(), holder: holder(name) })
}

/// An attachment or a side log as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) revision: i64,
    pub(crate) bytes: u64,
}

const FIND: &str = "select revision, bytes from {schema}.attachment where run = $1 and name = $2";

/// The parts of a range. The first may begin before the range, the last may end after it.
const READ: &str = "select at, content from {schema}.attachment_part \
     where run = $1 and name = $2 and revision = $3 and at < $5 and at >= coalesce((
         select max(at) from {schema}.attachment_part where run = $1 and name = $2 and revision = $3 and at <= $4
     ), 0) order by at";

/// Finds an attachment.
pub(crate) async fn find(
    session: &Session,
    location: &str,
    run: RunKey,
    name: &str,
) -> Result<Option<Stored>, Failure> {
    let row = session.query_opt(FIND, &[&run.0, &name]).await?;
    let read = |row: tokio_postgres::Row| -> Result<Stored, Failure> {
        Ok(Stored { revision: column(location, &row, 0)?, bytes: to_u64(column(location, &row, 1)?) })
    };
    row.map(read).transpose()
}

/// Reads the bytes from `start` up to `end` of an attachment and its size; `None` if there is no such attachment.
///
/// The portions are read from one state of the database, so an attachment that is replaced meanwhile is not mixed.
pub(crate) async fn read_range(
    engine: &Engine,
    run: RunKey,
    name: &AttachmentName,
    start: u64,
    end: u64,
) -> Result<Option<(Vec<u8>, u64)>, StoreError> {
    let location = &engine.target.location;
    let read = engine
        .attempt(async |session| {
            session.begin_snapshot().await?;
            let stored = find(session, location, run, name.as_str()).await?;
            let bytes = match stored {
                Some(stored) => {
                    let read = read_parts(
                        session,
                        location,
                        run,
                        name.as_str(),
                        stored,
                        start..end.min(stored.bytes),
                    );
                    Some((read.await?, stored.bytes))
                }
                None => None,
            };
            session.commit().await?;
            Ok(bytes)
        })
        .await?;
    Ok(read)
}

async fn read_parts(
    session: &Session,
    location: &str,
    run: RunKey,
    name: &str,
    stored: Stored,
    range: std::ops::Range<u64>,
) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let mut position = range.start;
    while position < range.end {
        let end = range.end.min(position + to_u64_length(PORTION_BYTES_MAX));
        let values: crate::session::Values<'_> =
            &[&run.0, &name, &stored.revision, &to_i64(position), &to_i64(end)];
        let before = position;
        for row in session.query(READ, values).await? {
            let at = to_u64(column(location, &row, 0)?);
            let content: &[u8] = column(location, &row, 1)?;
            let skipped = usize::try_from(position.saturating_sub(at)).unwrap_or(usize::MAX);
            let wanted = usize::try_from(range.end.saturating_sub(position)).unwrap_or(usize::MAX);
            let part = content.get(skipped..).unwrap_or_default();
            let part = part.get(..wanted.min(part.len())).unwrap_or_default();
            if at > position {
                break;
            }
            bytes.extend_from_slice(part);
            position += to_u64_length(part.len());
        }
        if position == before {
            let reason =
                format!("attachment {name} has {} bytes, found none at byte {position}", stored.bytes);
            return Err(Failure::damaged(location, reason));
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_cut_into_rows_and_portions() {
        assert_eq!(cut(b"").len(), 1);
        assert_eq!(cut(b"x")[0].offsets, [0]);
        let large = vec![7; PORTION_BYTES_MAX + PART_BYTES_MAX + 1];
        let portions = cut(&large);
        assert_eq!(portions.len(), 2);
        assert_eq!(portions[0].offsets.len(), 4);
        let second: Vec<i64> = [4, 5].map(|part| part * i64::try_from(PART_BYTES_MAX).unwrap()).to_vec();
        assert_eq!(portions[1].offsets, second);
        assert_eq!(portions[1].contents[1].len(), 1);
    }
}
