//! The place of a store, as `--store` names it.

use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use hence_fleet::{FolderFinding, FolderQueue, JobQueue};
use hence_store::{FileStore, StoreError, StoreHandle};
use hence_store_postgres::{BucketAccess, PostgresStore, Settings};

/// The folder that a store is in unless somebody names another.
pub(crate) const DEFAULT_STORE: &str = ".hence";

/// The variable that names the store where `--store` does not.
pub(crate) const STORE_VARIABLE: &str = "HENCE_STORE";

/// The variable that names the bucket for large values, where the address of the database does not.
const BUCKET_VARIABLE: &str = "HENCE_STORE_BUCKET";

/// The variables that give access to buckets begin with this.
const BUCKET_ACCESS_START: &str = "AWS_";

/// The folder of the queue inside the folder of a store.
const QUEUE_FOLDER: &str = "queue";

/// The entries that a store makes in its folder, besides the queue and the stores inside of it.
const STORE_ENTRIES: [&str; 6] = ["format", "index", "tmp", "runs", "blobs", "removed"];

/// The place of a store.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum StorePlace {
    /// A folder.
    Folder(PathBuf),
    /// The address of a PostgreSQL database, which may hold a password.
    Database(String),
}

impl FromStr for StorePlace {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        // A misspelt address is an address, too: as a folder it would be made, with the password in its name.
        let is_scheme = |scheme: &str| {
            !scheme.is_empty()
                && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        };
        let is_address = text.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme))
            || ["postgres:", "postgresql:"].iter().any(|scheme| text.starts_with(scheme));
        Ok(if is_address { Self::Database(text.to_owned()) } else { Self::Folder(PathBuf::from(text)) })
    }
}

/// Shows the place without a password.
impl fmt::Display for StorePlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => folder.display().fmt(out),
            Self::Database(address) => out.write_str(&PostgresStore::address_without_password(address)),
        }
    }
}

impl fmt::Debug for StorePlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "StorePlace({self})")
    }
}

impl StorePlace {
    /// Opens the store, which must exist.
    pub(crate) fn open(&self) -> Result<StoreHandle, StoreError> {
        match self {
            Self::Folder(folder) => FileStore::open(folder).map(StoreHandle::new),
            Self::Database(address) => connect(address).map(StoreHandle::new),
        }
    }

    /// Opens the store, and creates it if there is none. A database gets its tables from `hence store migrate` alone.
    pub(crate) fn open_or_create(&self) -> Result<StoreHandle, StoreError> {
        match self {
            Self::Folder(folder) => FileStore::open_or_create(folder).map(StoreHandle::new),
            Self::Database(_) => self.open(),
        }
    }

    /// Returns the queue of the store. It is made by its first change.
    pub(crate) fn queue(&self) -> Result<Box<dyn JobQueue>, StoreError> {
        match self {
            Self::Folder(folder) => Ok(Box::new(FolderQueue::at(folder.join(QUEUE_FOLDER)))),
            Self::Database(address) => Ok(Box::new(connect(address)?.queue())),
        }
    }

    /// Lists what is wrong with the queue, and the entries of the store's folder that belong to no part of a store. Of a
    /// database there is nothing to list.
    pub(crate) fn findings_beside_runs(&self, sections: &[&str]) -> Vec<FolderFinding> {
        let Self::Folder(folder) = self else { return Vec::new() };
        let mut found = FolderQueue::at(folder.join(QUEUE_FOLDER)).inspect();
        let is_known = |name: &str| name == QUEUE_FOLDER || sections.contains(&name);
        found.extend(foreign_entries(folder, "", is_known));
        for section in sections {
            found.extend(foreign_entries(&folder.join(section), &format!("{section}/"), |_| false));
        }
        found
    }

    /// Returns whether the store is where it is looked for without `--store`, so that an advised command need not name it.
    pub(crate) fn is_found_without_option(&self) -> bool {
        match std::env::var(STORE_VARIABLE).ok().filter(|named| !named.is_empty()) {
            Some(named) => named.parse().as_ref() == Ok(self),
            None => self.is_default(),
        }
    }

    fn is_default(&self) -> bool {
        matches!(self, Self::Folder(folder) if folder == Path::new(DEFAULT_STORE))
    }

    /// Returns whether nothing is there yet. Of a database this is not known before it is asked.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Folder(folder) => !folder.exists(),
            Self::Database(_) => false,
        }
    }
}

/// Lists the entries of the folder of a store, or of a section of one, that belong to no part of it.
fn foreign_entries(folder: &Path, within: &str, is_known: impl Fn(&str) -> bool) -> Vec<FolderFinding> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()));
    let mut foreign: Vec<String> =
        names.filter(|name| !STORE_ENTRIES.contains(&name.as_str()) && !is_known(name)).collect();
    foreign.sort();
    let finding = |name| FolderFinding::Stray(format!("{within}{name}: the store did not create it"));
    foreign.into_iter().map(finding).collect()
}

/// Connects to a database. The environment may name a bucket for large values, and gives the access to buckets.
fn connect(address: &str) -> Result<PostgresStore, StoreError> {
    let bucket = std::env::var(BUCKET_VARIABLE).ok().filter(|named| !named.is_empty());
    let is_access = |name: &str| name.starts_with(BUCKET_ACCESS_START);
    let access = std::env::vars_os().filter_map(|(name, value)| {
        let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
        is_access(&name).then_some((name, value))
    });
    let bucket_access = BucketAccess(access.collect());
    PostgresStore::connect_with(address, Settings { bucket, bucket_access, ..Settings::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_a_database_is_told_from_a_folder_and_shown_without_its_password() {
        let place = |text: &str| text.parse::<StorePlace>().unwrap();
        assert_eq!(place(".hence"), StorePlace::Folder(".hence".into()));
        assert!(place(".hence").is_default() && !place("postgres.d").is_default());
        for address in [
            "postgres://ann:s3cret@db/team",
            "postgresql://db/team?user=ann&password=s3cret",
            "postgresq://ann:s3cret@db/team",
            "postgres:/ann:s3cret@db/team",
        ] {
            let place = place(address);
            assert!(matches!(place, StorePlace::Database(_)));
            assert!(!format!("{place} {place:?}").contains("s3cret"), "{place}");
        }
    }
}
