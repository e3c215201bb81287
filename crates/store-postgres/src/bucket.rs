//! Buckets for large values: their addresses, the access to them, and the objects of a store.
//!
//! An object is written before the row that names its place, and the row before any record that names the value. Its key has the
//! name of the store, the section and the SHA-256 of its bytes.

#[cfg(feature = "s3")]
mod s3;

use std::fmt;
use std::rc::Rc;

use hence_canon::Digest;
use hence_store::{DatabaseError, DatabaseErrorKind, StoreError};

use crate::engine::Engine;
use crate::failure::Failure;
use crate::rows::column;
use crate::runs::SectionKey;

#[cfg(feature = "s3")]
pub(crate) use s3::Bucket;

/// The size from which on a value is stored in the bucket, if there is one: a smaller one costs a row less than a request.
pub const BUCKET_BYTES_MIN_DEFAULT: u64 = 1024 * 1024;

/// The variables that give access to buckets, with their values. Messages never show the values.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct BucketAccess(pub Vec<(String, String)>);

impl fmt::Debug for BucketAccess {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        write!(out, "BucketAccess({})", names.join(", "))
    }
}

/// The address of a bucket: `s3://NAME`, or `s3://NAME/PREFIX`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "s3"),
    allow(dead_code, reason = "an address is checked also by a program without buckets")
)]
pub(crate) struct BucketAddress {
    pub(crate) name: String,
    /// The beginning of every key; empty, or without a slash at its ends.
    pub(crate) prefix: String,
}

impl BucketAddress {
    /// Reads an address, or says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let expected = || format!("the bucket {text:?}: expected s3://NAME or s3://NAME/PREFIX");
        let rest = text.strip_prefix("s3://").ok_or_else(expected)?;
        let (name, prefix) = match rest.split_once('/') {
            Some((name, prefix)) => (name, Some(prefix)),
            None => (rest, None),
        };
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-._".contains(&byte);
        if !(3..=63).contains(&name.len()) || !name.bytes().all(is_name) {
            return Err(format!("{}; a name has 3 to 63 of a-z 0-9 - . _", expected()));
        }
        let is_plain = |part: &str| {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
            !part.is_empty() && part != "." && part != ".." && part.bytes().all(is_plain)
        };
        if !prefix.is_none_or(|prefix| prefix.split('/').all(is_plain)) {
            return Err(format!("{}; a prefix has parts of a-z A-Z 0-9 - . _", expected()));
        }
        Ok(Self { name: name.to_owned(), prefix: prefix.unwrap_or_default().to_owned() })
    }
}

/// A client of a bucket in a program that was built without them; there is none.
#[cfg(not(feature = "s3"))]
pub(crate) enum Bucket {}

#[cfg(not(feature = "s3"))]
impl Bucket {
    fn open(place: &str, _: BucketAddress, _: &BucketAccess) -> Result<Self, DatabaseError> {
        let reason = "large values are in a bucket, and this program was built without the feature `s3`";
        Err(refusal(place, DatabaseErrorKind::Other, reason.to_owned()))
    }

    pub(crate) fn location(&self, _: &str) -> String {
        match *self {}
    }

    pub(crate) async fn put(&self, _: &str, _: &[u8]) -> Result<(), DatabaseError> {
        match *self {}
    }

    pub(crate) async fn get(&self, _: &str, _: u64) -> Result<Option<Vec<u8>>, DatabaseError> {
        match *self {}
    }

    pub(crate) async fn has(&self, _: &str) -> Result<bool, DatabaseError> {
        match *self {}
    }

    pub(crate) async fn remove(&self, _: &str) -> Result<(), DatabaseError> {
        match *self {}
    }

    pub(crate) async fn list(&self, _: &str) -> Result<Vec<String>, DatabaseError> {
        match *self {}
    }
}

pub(crate) fn refusal(place: &str, kind: DatabaseErrorKind, reason: String) -> DatabaseError {
    DatabaseError { location: place.to_owned(), kind, reason }
}

const STORE_NAME: &str = "select value from {schema}.setting where name = 'store'";

/// Returns the beginning of the keys of a section's objects.
pub(crate) async fn section_keys(engine: &Engine, section: SectionKey) -> Result<String, StoreError> {
    let known = engine.store_name.borrow().clone();
    let store = match known {
        Some(store) => store,
        None => {
            let location = &engine.target.location;
            let read = engine.attempt(async |session| {
                let row = session.query_opt(STORE_NAME, &[]).await?;
                row.map(|row| column::<String>(location, &row, 0)).transpose()
            });
            let named = read.await?.filter(|name| !name.is_empty() && name.bytes().all(is_name_byte));
            let store = named.ok_or_else(|| {
                StoreError::from(
                    Failure::damaged(location, "the store has no name in the table setting").error,
                )
            })?;
            *engine.store_name.borrow_mut() = Some(store.clone());
            store
        }
    };
    Ok(format!("{store}/{}", section.0))
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

/// Returns the key of an object.
pub(crate) async fn key_of(
    engine: &Engine,
    section: SectionKey,
    digest: &Digest,
) -> Result<String, StoreError> {
    Ok(format!("{}/{digest}", section_keys(engine, section).await?))
}

/// Returns the client of a bucket, which is made once.
pub(crate) fn client(engine: &Engine, place: &str) -> Result<Rc<Bucket>, DatabaseError> {
    if let Some(known) = engine.buckets.borrow().get(place) {
        return Ok(known.clone());
    }
    let address = BucketAddress::parse(place)
        .map_err(|reason| refusal(place, DatabaseErrorKind::InvalidAddress, reason))?;
    let bucket = Rc::new(Bucket::open(place, address, &engine.settings.bucket_access)?);
    engine.buckets.borrow_mut().insert(place.to_owned(), bucket.clone());
    Ok(bucket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_buckets_are_read_strictly() {
        let read = |text: &str| BucketAddress::parse(text).map(|read| (read.name, read.prefix));
        assert_eq!(read("s3://team-values"), Ok(("team-values".to_owned(), String::new())));
        assert_eq!(read("s3://abc/a/b.c"), Ok(("abc".to_owned(), "a/b.c".to_owned())));
        for wrong in
            ["", "s3://", "s3://ab", "s3://Team", "gs://team", "s3://team/", "s3://team//a", "s3://team/../a"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let long = format!("s3://{}", "a".repeat(63));
        assert!(read(&long).is_ok() && read(&format!("{long}a")).is_err());
    }

    #[test]
    fn access_shows_no_values() {
        let access = BucketAccess(vec![("AWS_SECRET_ACCESS_KEY".to_owned(), "s3cret".to_owned())]);
        assert_eq!(format!("{access:?}"), "BucketAccess(AWS_SECRET_ACCESS_KEY)");
    }
}
