//! The store contract on PostgreSQL, for runs that many machines share.
//!
//! [`PostgresStore`] implements [`hence_store::Store`]: journals, attachments and large values as rows, leases by the clock of
//! the database, appends of many runs in one statement and one commit. A journal has the same bytes as in a folder. Callers
//! stay synchronous: a thread of the store talks to the server.
//!
//! This crate reads no environment, applies no migration unless told to, and drives no run. The page
//! `docs/postgres.md` describes the tables, the roles, and for each operation what is stored if a process dies in it.
//!
//! ```no_run
//! use hence_store::Store as _;
//! use hence_store_postgres::PostgresStore;
//!
//! PostgresStore::migrate("postgres://ann@db.example/team")?;
//! let store = PostgresStore::connect("postgres://ann@db.example/team")?;
//! for run in store.list()? {
//!     println!("{} at {:?}", run.run, run.head());
//! }
//! # Ok::<(), hence_store::StoreError>(())
//! ```

mod attachments;
mod blobs;
mod bucket;
mod catalog;
mod commit;
mod doctor;
mod engine;
mod failure;
mod journal_append;
mod lease;
mod migrate;
mod newest;
mod notices;
mod queue;
mod reader;
mod rows;
mod runs;
mod session;
mod side_append;
mod store;
mod target;
mod tls;
mod writer;

pub use bucket::{BUCKET_BYTES_MIN_DEFAULT, BucketAccess};
pub use migrate::{MIGRATIONS, Migrated, Migration};
pub use queue::{Database, PostgresQueue};
pub use store::{LEASE_MS_DEFAULT, PostgresStore, RECONNECT_MS_DEFAULT, Settings};
pub use target::SCHEMA_DEFAULT;
