//! Large values by their SHA-256, in rows of bounded size or in a bucket.
//!
//! | the process dies | stored |
//! |---|---|
//! | before the row is committed | no value; perhaps an object that no row names, which `doctor` reports |
//! | later | the value: its object was stored before its row |

use std::collections::BTreeSet;

use hence_canon::Digest;
use hence_store::implementation::{check_blob_content, check_blob_size};
use hence_store::{BLOB_BYTES_MAX, Durability, StoreError};

use crate::attachments::cut;
use crate::bucket;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::rows::{column, to_i64, to_u64, to_u64_length};
use crate::runs::SectionKey;
use crate::session::Session;

/// The bytes that are read by one statement.
const PORTION_BYTES: u64 = 4 * 1024 * 1024;

/// The objects of a bucket that one statement looks up.
const OBJECTS_PER_STATEMENT: usize = 1_000;

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

/// Stores the row of a value whose bytes are in a bucket.
const PUT_PLACED: &str = "insert into {schema}.blob (section, digest, bytes, place) values ($1, $2, $3, $4) \
     on conflict do nothing returning digest, case when $5 then set_config('synchronous_commit', 'off', true) end";

const FIND: &str = "select bytes, place from {schema}.blob where section = $1 and digest = $2";

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
    if store_copy(engine, section, digest, bytes, durability, Copy::IsNew).await? {
        return Ok(digest);
    }
    match get(engine, section, &digest).await {
        Ok(_) if durability == Durability::Synced => {
            // Whoever stored it may have done so without waiting for the disk.
            engine.attempt(async |session| engine.settle(session).await).await?;
        }
        Ok(_) => {}
        Err(StoreError::BlobCorrupt { .. } | StoreError::NoSuchBlob { .. }) => {
            store_copy(engine, section, digest, bytes, durability, Copy::IsDamaged).await?;
        }
        Err(error) => return Err(error),
    }
    Ok(digest)
}

/// Stores a copy where values of its size are stored; `false` if there is one already.
async fn store_copy(
    engine: &Engine,
    section: SectionKey,
    digest: Digest,
    bytes: &[u8],
    durability: Durability,
    copy: Copy,
) -> Result<bool, StoreError> {
    let is_large = to_u64_length(bytes.len()) >= engine.settings.bucket_bytes_min;
    let Some(place) = engine.settings.bucket.as_deref().filter(|_| is_large) else {
        let stored = engine
            .attempt_write(async |session| put_once(session, section, digest, bytes, durability, copy).await);
        return Ok(stored.await?);
    };
    if copy == Copy::IsNew && find(engine, section, &digest).await?.is_some() {
        return Ok(false);
    }
    let key = bucket::key_of(engine, section, &digest).await?;
    bucket::client(engine, place)?.put(&key, bytes).await?;
    let stored = engine.attempt_write(async |session| {
        put_placed_once(session, section, digest, bytes, durability, copy, place).await
    });
    Ok(stored.await?)
}

async fn put_placed_once(
    session: &Session,
    section: SectionKey,
    digest: Digest,
    bytes: &[u8],
    durability: Durability,
    copy: Copy,
    place: &str,
) -> Result<bool, Failure> {
    let hash = &digest.as_bytes()[..];
    let (size, is_buffered) = (to_i64(to_u64_length(bytes.len())), durability == Durability::Buffered);
    if copy == Copy::IsDamaged {
        session.begin().await?;
        session.query(REMOVE, &[&section.0, &hash]).await?;
    }
    let values: crate::session::Values<'_> = &[&section.0, &hash, &size, &place, &is_buffered];
    let stored = session.query_opt(PUT_PLACED, values).await?.is_some();
    if copy == Copy::IsDamaged {
        session.commit().await?;
    }
    Ok(stored)
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

/// The row of a blob.
struct FoundBlob {
    bytes: u64,
    /// The bucket that has its bytes; `None` for one in the database.
    place: Option<String>,
}

async fn find(
    engine: &Engine,
    section: SectionKey,
    digest: &Digest,
) -> Result<Option<FoundBlob>, StoreError> {
    let location = &engine.target.location;
    let hash = &digest.as_bytes()[..];
    let found = engine.attempt(async |session| {
        let row = session.query_opt(FIND, &[&section.0, &hash]).await?;
        let read = |row| {
            Ok(FoundBlob { bytes: to_u64(column(location, &row, 0)?), place: column(location, &row, 1)? })
        };
        row.map(read).transpose()
    });
    Ok(found.await?)
}

/// Reads a blob without checking it; `None` if there is none. Rows that are missing make it shorter.
pub(crate) async fn read(
    engine: &Engine,
    section: SectionKey,
    digest: &Digest,
) -> Result<Option<Vec<u8>>, StoreError> {
    let Some(FoundBlob { bytes: size, place }) = find(engine, section, digest).await? else {
        return Ok(None);
    };
    if let Some(place) = place {
        let key = bucket::key_of(engine, section, digest).await?;
        // One byte more than expected, so that a longer object is noticed and not read whole.
        let limit = size.min(BLOB_BYTES_MAX).saturating_add(1);
        return Ok(bucket::client(engine, &place)?.get(&key, limit).await?);
    }
    let location = &engine.target.location;
    let hash = &digest.as_bytes()[..];
    let read = engine.attempt(async |session| {
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

/// Returns whether a blob is stored. A bucket is asked for its object.
pub(crate) async fn has(engine: &Engine, section: SectionKey, digest: &Digest) -> Result<bool, StoreError> {
    match find(engine, section, digest).await? {
        Some(FoundBlob { place: Some(place), .. }) => {
            let key = bucket::key_of(engine, section, digest).await?;
            Ok(bucket::client(engine, &place)?.has(&key).await?)
        }
        found => Ok(found.is_some()),
    }
}

/// Removes a blob, if it exists: its row first, so that no row names an object that is gone.
pub(crate) async fn remove(engine: &Engine, section: SectionKey, digest: &Digest) -> Result<(), StoreError> {
    let hash = &digest.as_bytes()[..];
    let found = find(engine, section, digest).await?;
    engine.attempt_write(async |session| session.query(REMOVE, &[&section.0, &hash]).await).await?;
    if let Some(FoundBlob { place: Some(place), .. }) = found {
        let key = bucket::key_of(engine, section, digest).await?;
        bucket::client(engine, &place)?.remove(&key).await?;
    }
    Ok(())
}

const PLACES: &str =
    "select distinct place from {schema}.blob where section = $1 and place is not null order by place";

const NAMED: &str = "select digest from {schema}.blob where section = $1 and digest = any($2) and place = $3";

/// Finds objects of a section that no row names, in the buckets that rows name and in the one for new values.
pub(crate) async fn unnamed_objects(engine: &Engine, section: SectionKey) -> Result<Vec<String>, StoreError> {
    let location = &engine.target.location;
    let places = engine.attempt(async |session| {
        let rows = session.query(PLACES, &[&section.0]).await?;
        rows.iter().map(|row| column::<String>(location, row, 0)).collect::<Result<Vec<_>, _>>()
    });
    let mut places = places.await?;
    places.extend(engine.settings.bucket.clone().filter(|place| !places.contains(place)));
    let mut unnamed = Vec::new();
    for place in places {
        let keys = bucket::section_keys(engine, section).await?;
        let client = bucket::client(engine, &place)?;
        for names in client.list(&keys).await?.chunks(OBJECTS_PER_STATEMENT) {
            let digests: Vec<Vec<u8>> = names
                .iter()
                .map(|name| {
                    Digest::from_hex(name.as_bytes()).map_or(Vec::new(), |found| found.as_bytes().to_vec())
                })
                .collect();
            let named = engine.attempt(async |session| {
                let rows = session.query(NAMED, &[&section.0, &digests, &place]).await?;
                rows.iter().map(|row| column::<Vec<u8>>(location, row, 0)).collect::<Result<BTreeSet<_>, _>>()
            });
            let named = named.await?;
            let is_unnamed = |(_, digest): &(&String, &Vec<u8>)| !named.contains(*digest);
            let found = names.iter().zip(&digests).filter(is_unnamed);
            unnamed.extend(found.map(|(name, _)| client.location(&format!("{keys}/{name}"))));
        }
    }
    Ok(unnamed)
}
