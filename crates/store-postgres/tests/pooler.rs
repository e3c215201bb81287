//! The contract behind a pooler that gives each transaction another connection of the server (`pgbouncer`).

mod cluster;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use cluster::{Cluster, Schema, line};
use hence_store::contract::Place;
use hence_store::{Durability, MemoryStore, NewRun, RunId, Store};
use hence_store_postgres::PostgresStore;

/// The time for which the pooler may start, on a machine that is busy.
const POOLER_SECONDS_MAX: u64 = 120;

/// A pooler with fewer connections to the server than its clients have, so that they share them.
struct Pooler {
    folder: PathBuf,
    _guard: Child,
}

impl Pooler {
    fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Pooler>> = OnceLock::new();
        SHARED.get_or_init(Self::start).as_ref()
    }

    #[allow(clippy::print_stderr, reason = "skipped tests say so")]
    fn start() -> Option<Self> {
        let cluster = Cluster::shared()?;
        let folders =
            std::env::var_os("PATH").map_or(Vec::new(), |path| std::env::split_paths(&path).collect());
        let mut programs = folders
            .iter()
            .map(|folder| folder.join("pgbouncer"))
            .chain([PathBuf::from("/usr/sbin/pgbouncer")]);
        let Some(program) = programs.find(|program| program.exists()) else {
            eprintln!("skipped: pgbouncer is not installed");
            return None;
        };
        let folder = cluster.socket_folder().to_owned();
        let file = folder.join("pgbouncer.ini");
        let settings = format!(
            "[databases]\npostgres = host={folder} port=5432 dbname=postgres user=postgres\n\
             [pgbouncer]\nlisten_addr =\nlisten_port = 6432\nunix_socket_dir = {folder}\nauth_type = any\n\
             pool_mode = transaction\nmax_client_conn = 500\ndefault_pool_size = 3\n",
            folder = folder.display()
        );
        fs::write(&file, settings).expect("the settings are written");
        // The shell ends the pooler when its input is closed, however this process ends.
        let script = r#""$0" -q "$1" >/dev/null 2>&1 & pid=$!; cat >/dev/null; kill "$pid""#;
        let mut command = cluster.programs().other_command(Path::new("/bin/sh"));
        let guard = command.args(["-c", script]).arg(program).arg(&file).stdin(Stdio::piped()).spawn();
        let guard = guard.expect("a shell starts");
        let start = Instant::now();
        while !folder.join(".s.PGSQL.6432").exists() {
            assert!(start.elapsed() < Duration::from_secs(POOLER_SECONDS_MAX), "pgbouncer does not start");
            // Nothing but its socket says when it listens.
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(Self { folder, _guard: guard })
    }

    fn connect(&self, schema: &Schema) -> PostgresStore {
        let parameters = format!("port=6432&pooler=transaction&schema={}", schema.name);
        PostgresStore::connect(&cluster::address_in(&self.folder, &parameters)).expect("a store")
    }
}

/// A place behind the pooler; memory where there is none, which is said.
enum PooledPlace {
    Pooled(&'static Pooler, Schema),
    Memory(MemoryStore),
}

impl PooledPlace {
    fn new() -> Self {
        match (Pooler::shared(), Cluster::shared()) {
            (Some(pooler), Some(cluster)) => Self::Pooled(pooler, Schema::new(cluster)),
            _ => Self::Memory(MemoryStore::new()),
        }
    }
}

impl Place for PooledPlace {
    fn open(&self) -> Box<dyn Store> {
        match self {
            Self::Pooled(pooler, schema) => Box::new(pooler.connect(schema)),
            Self::Memory(store) => Box::new(store.clone()),
        }
    }
}

mod contract {
    hence_store::contract_tests!(super::PooledPlace::new());
}

#[test]
fn stores_that_share_connections_of_the_server_do_not_disturb_each_other() {
    let (Some(pooler), Some(cluster)) = (Pooler::shared(), Cluster::shared()) else { return };
    let schema = Schema::new(cluster);
    let stores: Vec<PostgresStore> = (0..6).map(|_| pooler.connect(&schema)).collect();
    std::thread::scope(|scope| {
        for (number, store) in stores.iter().enumerate() {
            scope.spawn(move || {
                let id = RunId::new(&format!("r{number}")).expect("an id");
                let new = NewRun { id: id.clone(), attachments: Vec::new(), lines: line(0, "start") };
                let mut writer = store.create(new).expect("a run");
                for index in 1..40 {
                    let head = writer.head();
                    writer.append(head, &line(index, "step"), Durability::Synced).expect("an append");
                }
                drop(writer);
                let journal = store.journal_bytes(&id).expect("a journal");
                assert_eq!(journal.iter().filter(|byte| **byte == b'\n').count(), 40);
            });
        }
    });
    assert_eq!(stores.first().expect("a store").list().expect("a list").len(), 6);
}

#[test]
fn a_server_whose_commits_do_not_wait_is_refused_behind_a_pooler() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = Schema::new(cluster);
    cluster.sql("create role careless login; alter role careless set synchronous_commit = off");
    cluster.sql(&format!(
        "grant usage on schema {0} to careless; grant select on all tables in schema {0} to careless",
        schema.name
    ));
    // Without the pooler in between the same rule holds: the parameter says what may be relied on.
    let address = format!("{}&user=careless&pooler=transaction", schema.address);
    let refused = PostgresStore::connect(&address).expect_err("commits do not wait");
    assert!(refused.to_string().contains("synchronous_commit is off"), "{refused}");
}
