//! Stores on the test server.
#![allow(dead_code, unused_imports, reason = "each test file uses a part of it")]

use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};

use hence_store::contract::Place;
use hence_store::{MemoryStore, Store};
use hence_store_postgres::{PostgresStore, Settings};

pub(crate) use hence_testkit::postgres::{Cluster, address_in, programs, proxy};

/// A schema of the shared server: a store of its own for one test.
pub(crate) struct Schema {
    pub(crate) address: String,
    pub(crate) name: String,
}

impl Schema {
    /// Makes a schema with tables.
    pub(crate) fn new(cluster: &Cluster) -> Self {
        let schema = Self::empty(cluster);
        PostgresStore::migrate(&schema.address).expect("the tables are made");
        schema
    }

    /// Names a schema that does not exist yet.
    pub(crate) fn empty(cluster: &Cluster) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Self { address: cluster.address(&format!("schema={name}")), name }
    }

    pub(crate) fn connect(&self) -> PostgresStore {
        PostgresStore::connect(&self.address).expect("a store")
    }

    pub(crate) fn connect_with(&self, settings: Settings) -> PostgresStore {
        PostgresStore::connect_with(&self.address, settings).expect("a store")
    }
}

/// A place for a test of the contract. Without PostgreSQL, which is said, it is memory.
pub(crate) enum TestPlace {
    Postgres(Schema),
    Memory(MemoryStore),
}

impl TestPlace {
    pub(crate) fn new() -> Self {
        match Cluster::shared() {
            Some(cluster) => Self::Postgres(Schema::new(cluster)),
            None => Self::Memory(MemoryStore::new()),
        }
    }
}

impl Place for TestPlace {
    fn open(&self) -> Box<dyn Store> {
        match self {
            Self::Postgres(schema) => Box::new(schema.connect()),
            Self::Memory(store) => Box::new(store.clone()),
        }
    }
}

/// Returns the line of record `index` of a test journal, with a text of its own.
pub(crate) fn line(index: u64, label: &str) -> Vec<u8> {
    let kind = if index == 0 { "header" } else { "step" };
    let hash = hence_canon::Digest::of(format!("{index} {label}").as_bytes());
    let mut line = Vec::new();
    writeln!(
        line,
        "{{\"index\":{index},\"label\":\"{label}\",\"record_hash\":\"{hash}\",\"type\":\"{kind}\"}}"
    )
    .expect("memory can be written");
    line
}
