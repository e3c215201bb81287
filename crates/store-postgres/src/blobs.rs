//! Large values by their SHA-256, in rows of bounded size.

use hence_canon::Digest;
use hence_store::implementation::{check_blob_content, check_blob_size};
use hence_store::{BLOB_BYTES_MAX, Durability, StoreError};

use crate::attachments::cut;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::rows::{column, to_i64, to_u64, to_u64_length};
use crate::runs::SectionKey;
use crate::session::Session;

/// The bytes that are read by one statement.
const PORTION_BYTES: u64 = 4 * 1024 * 1024;

const PUT: &str = "with stored as (
        insert into {schema}.blob (section, digest, bytes) values ($1, $2, $3) on conflict do nothing returning digest
    ), added as (
        insert into {schema}.blob_part (section, digest, at, content)
        select $1, stored.digest, part.at, part.content
        from stored, unnest($4::bigint[], $5::bytea[]) as part(at, content)
    )
    select digest, case when $6 then set_config('synchronous_commit', 'off', true) end from stored";

const ADD_PARTS: &str = "insert into {schema}.blob_part (section, digest, at, content) \
     select $1, $2, part.at, part.content from unnest($3::bigint[], $4::bytea[]) as part(at, content)";

const REMOVE: &str = "select {schema}.remove_blob($1, $2)";

const FIND: &str = "select bytes from {schema}.blob where section = $1 and digest = $2";

const READ: &str = "select at, content from {schema}.blob_part \
     where section = $1 and digest = $2 and at >= $3 and at < $4 order by at";

/// Stores a blob. One that is there is read and compared, and replaced if it is damaged.
///
/// All its rows are stored by one transaction, so it is there whole or not at all.
pub(crate) async fn put(
    engine: &Engine,
    section: SectionKey,
    bytes: &[u8],
    durability: Durability,
) -> Result<Digest, StoreError> {
    check_blob_size(to_u64_length(bytes.len()), BLOB_BYTES_MAX)?;
    let digest = Digest::of(bytes);
    let stored = engine
        .attempt_write(async |session| {
            put_once(session, section, digest, bytes, durability, Copy::IsNew).await
        })
        .await?;
    if stored {
        return Ok(digest);
    }
    match get(engine, section, &digest).await {
        Ok(_) if durability == Durability::Synced => {
            // Whoever stored it may have done so without waiting for the disk.
            engine.attempt(async |session| engine.settle(session).await).await?;
        }
        Ok(_) => {}
        Err(StoreError::BlobCorrupt { .. } | StoreError::NoSuchBlob { .. }) => {
            engine
                .attempt_write(async |session| {
                    put_once(session, section, digest, bytes, durability, Copy::IsDamaged).await
                })
                .await?;
        }
        Err(error) => return Err(error),
    }
    Ok(digest)
}

/// The knowledge about the copy that is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Copy {
    /// There may be none.
    IsNew,
    /// There is one whose bytes are wrong.
    IsDamaged,
}

async fn put_once(
    session: &Session,
    section: SectionKey,
    digest: Digest,
    bytes: &[u8],
    durability: Durability,
    copy: Copy,
) -> Result<bool, Failure> {
    let portions = cut(bytes);
    let Some((first, rest)) = portions.split_first() else { return Ok(false) };
    let is_single = rest.is_empty() && copy == Copy::IsNew;
    let hash = &digest.as_bytes()[..];
    if !is_single {
        session.begin().await?;
    }
    if copy == Copy::IsDamaged {
        session.query(REMOVE, &[&section.0, &hash]).await?;
    }
    let (size, is_buffered) = (to_i64(to_u64_length(bytes.len())), durability == Durability::Buffered);
    let values: crate::session::Values<'_> =
        &[&section.0, &hash, &size, &first.offsets, &first.contents, &is_buffered];
    let stored = session.query_opt(PUT, values).await?.is_some();
    if stored {
        for parts in rest {
            session.query(ADD_PARTS, &[&section.0, &hash, &parts.offsets, &parts.contents]).await?;
        }
    }
    if !is_single {
        session.commit().await?;
    }
    Ok(stored)
}

/// Reads a blob and checks it.
pub(crate) async fn get(
    engine: &Engine,
    section: SectionKey,
    digest: &Digest,
) -> Result<Vec<u8>, StoreError> {
    let bytes = read(engine, section, digest).await?.ok_or(StoreError::NoSuchBlob { digest: *digest })?;
    check_blob_content(digest, &bytes)?;
    Ok(bytes)
}

/// Reads a blob without checking it; `None` if there is none. Rows that are missing make it shorter.
pub(crate) async fn read(
    engine: &Engine,
    section: SectionKey,
    digest: &Digest,
) -> Result<Option<Vec<u8>>, StoreError> {
    let location = &engine.target.location;
    let hash = &digest.as_bytes()[..];
    let read = engine.attempt(async |session| {
        let Some(row) = session.query_opt(FIND, &[&section.0, &hash]).await? else { return Ok(None) };
        let size = to_u64(column(location, &row, 0)?);
        let mut bytes = Vec::new();
        let mut from = 0;
        while from < size {
            let until = from + PORTION_BYTES;
            for row in session.query(READ, &[&section.0, &hash, &to_i64(from), &to_i64(until)]).await? {
                bytes.extend_from_slice(column(location, &row, 1)?);
            }
            from = until;
        }
        Ok(Some(bytes))
    });
    Ok(read.await?)
}

/// Returns whether a blob is stored.
pub(crate) async fn has(engine: &Engine, section: SectionKey, digest: &Digest) -> Result<bool, StoreError> {
    let hash = &digest.as_bytes()[..];
    let row = engine.attempt(async |session| session.query_opt(FIND, &[&section.0, &hash]).await).await?;
    Ok(row.is_some())
}

/// Removes a blob, if it exists.
pub(crate) async fn remove(engine: &Engine, section: SectionKey, digest: &Digest) -> Result<(), StoreError> {
    let hash = &digest.as_bytes()[..];
    engine.attempt_write(async |session| session.query(REMOVE, &[&section.0, &hash]).await).await?;
    Ok(())
}
