//! Databases that cannot be used: each is refused by what is wrong with it, and nothing is changed.

mod cluster;

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::time::Duration;

use cluster::{Cluster, Schema, address_in, line};
use hence_store::{
    AppendError, DatabaseError, DatabaseErrorKind, Durability, NewRun, RunId, Store, StoreError,
};
use hence_store_postgres::{MIGRATIONS, PostgresStore, Settings};

fn new_run(id: &str) -> NewRun {
    NewRun { id: RunId::new(id).expect("a run id"), attachments: Vec::new(), lines: line(0, "") }
}

#[allow(clippy::panic, reason = "a test fails by panicking")]
fn database_error(error: StoreError) -> DatabaseError {
    match error {
        StoreError::Database(error) => error,
        other => panic!("{other}"),
    }
}

fn refused(address: &str) -> DatabaseError {
    let settings = Settings { reconnect: Duration::ZERO, ..Settings::default() };
    database_error(PostgresStore::connect_with(address, settings).expect_err("no store is there"))
}

#[test]
fn a_server_that_is_not_there_is_named_without_a_password() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = format!("postgres://ann:secret@/team?host={}", folder.path().display());
    let error = refused(&address);
    assert_eq!(error.kind, DatabaseErrorKind::Unreachable);
    assert!(error.to_string().contains("ann@/team") && !error.to_string().contains("secret"), "{error}");
    assert!(error.reason.contains("No such file or directory"), "{error}");
    assert_eq!(refused("postgres://localhost:1/team").kind, DatabaseErrorKind::Unreachable);
}

#[test]
fn a_server_that_is_too_old_is_named_with_its_version() {
    let folder = tempfile::tempdir().expect("a folder");
    let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).expect("a socket");
    let server = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client");
        let mut length = [0; 4];
        client.read_exact(&mut length).expect("a length");
        let rest = usize::try_from(u32::from_be_bytes(length)).expect("small") - 4;
        client.read_exact(&mut vec![0; rest]).expect("a greeting");
        // The login is accepted, the version is told, and the server is ready.
        let mut answer = b"R\0\0\0\x08\0\0\0\0".to_vec();
        let version = b"server_version\x0014.12\0";
        answer.push(b'S');
        answer.extend(u32::try_from(version.len() + 4).expect("small").to_be_bytes());
        answer.extend(version);
        answer.extend(b"Z\0\0\0\x05I");
        client.write_all(&answer).expect("an answer");
    });
    let error = refused(&address_in(folder.path(), "sslmode=disable"));
    assert_eq!(error.kind, DatabaseErrorKind::ServerTooOld);
    assert_eq!(error.reason, "the server is PostgreSQL 14.12, expected 15 or newer");
    server.join().expect("no panic");
}

#[test]
fn a_wrong_password_and_a_missing_database_are_told_apart() {
    let Some(cluster) = Cluster::shared() else { return };
    cluster.sql("create role with_password login password 'right'");
    let address = |password: &str, database: &str| {
        format!("postgres://with_password:{password}@/{database}?host={}", cluster.socket_folder().display())
    };
    let error = refused(&address("wrong", "postgres"));
    assert_eq!(error.kind, DatabaseErrorKind::AccessDenied);
    assert!(
        error.reason.starts_with("the server refused the login: password authentication failed"),
        "{error}"
    );
    assert!(!error.to_string().contains("wrong"), "{error}");
    let error = refused(&address("right", "nothing"));
    assert_eq!(error.kind, DatabaseErrorKind::InvalidAddress);
    assert!(error.reason.contains("database \"nothing\" does not exist"), "{error}");
    let error = refused(&address("right", "postgres"));
    assert_eq!(error.kind, DatabaseErrorKind::NotMigrated, "the password is right: {error}");
}

#[test]
fn tables_are_made_once_and_only_those_of_this_version_are_used() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = Schema::empty(cluster);
    let error = refused(&schema.address);
    assert_eq!(error.kind, DatabaseErrorKind::NotMigrated);
    assert_eq!(error.reason, format!("the schema {} has no tables of hence", schema.name));
    let applied: Vec<usize> = std::thread::scope(|scope| {
        let migrate = || PostgresStore::migrate(&schema.address).expect("the tables are made").len();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(migrate)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(applied.iter().filter(|count| **count > 0).count(), 1, "{applied:?}");
    assert_eq!(applied.iter().sum::<usize>(), MIGRATIONS.len());
    drop(schema.connect());

    cluster.sql(&format!("insert into {}.migration values (999, '0999_next.sql', 'x')", schema.name));
    let newest = MIGRATIONS.len();
    let expected = format!("the schema {} has had migration 999, this version knows {newest}", schema.name);
    for error in [
        refused(&schema.address),
        database_error(PostgresStore::migrate(&schema.address).expect_err("newer")),
    ] {
        assert_eq!((error.kind, &error.reason), (DatabaseErrorKind::NewerThanProgram, &expected));
    }
    cluster.sql(&format!(
        "delete from {0}.migration where version = 999; update {0}.migration set digest = 'x'",
        schema.name
    ));
    let error = refused(&schema.address);
    assert_eq!(error.kind, DatabaseErrorKind::Damaged);
    assert!(error.reason.contains("was made by another file 0001_store.sql"), "{error}");
}

#[test]
fn a_failed_migration_leaves_nothing() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = Schema::empty(cluster);
    // Something else has the name of a table.
    cluster.sql(&format!("create schema {0}; create table {0}.blob_part (x int)", schema.name));
    let error = database_error(PostgresStore::migrate(&schema.address).expect_err("the name is taken"));
    assert!(error.reason.contains("already exists"), "{error}");
    let tables = cluster.sql(&format!("select count(*) from pg_tables where schemaname = '{}'", schema.name));
    assert_eq!(tables, "1");
    cluster.sql(&format!("drop table {}.blob_part", schema.name));
    PostgresStore::migrate(&schema.address).expect("the tables are made");
    drop(schema.connect());
}

#[test]
fn roles_may_do_what_they_are_for() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = Schema::new(cluster);
    for role in ["writer", "reader", "auditor"] {
        cluster.sql(&format!("create role {role}_{0} login in role hence_{role}", schema.name));
    }
    let connect = |role: &str| {
        let user = format!("{role}_{}", schema.name);
        PostgresStore::connect(&schema.address.replacen("postgres@", &format!("{user}@"), 1))
            .expect("a store")
    };
    let writer = connect("writer");
    let mut run = writer.create(new_run("run")).expect("a writer creates runs");
    run.append(run.head(), &line(1, ""), Durability::Synced).expect("a writer appends");
    let note = hence_store::AttachmentName::new("note").expect("a name");
    run.attach(&note, b"one", Durability::Synced).expect("a writer attaches");
    run.attach(&note, b"two", Durability::Synced).expect("a writer replaces");
    run.side_log(&note)
        .expect("a writer opens a side log")
        .append(b"x\n", Durability::Synced)
        .expect("a line");
    run.detach(&note).expect("a writer detaches");
    drop(run);
    let blob = writer.put_blob(b"large", Durability::Synced).expect("a writer stores values");
    writer.put_blob(b"large", Durability::Synced).expect("a writer stores values again");
    writer.remove_blob(&blob).expect("a writer removes values");
    drop(writer.create(new_run("old")).expect("a run"));
    writer
        .remove_run(&RunId::new("old").expect("an id"), b"stone")
        .expect("a writer removes runs with a tombstone");
    writer
        .keep_tombstone(&RunId::new("older").expect("an id"), b"stone")
        .expect("a writer copies tombstones");
    drop(writer.section_or_new("reviews").expect("a writer makes sections"));
    // Records are never changed, not even by the role that appends them.
    for statement in [
        "update S.record set line = 'x'",
        "delete from S.record",
        "truncate S.record",
        "delete from S.run",
        "update S.run set id = 'x'",
        "update S.blob_part set content = 'x'",
        "delete from S.tombstone",
        "drop table S.record",
    ] {
        let statement = statement.replace("S.", &format!("{}.", schema.name));
        let refused = cluster.sql_error_as(&format!("writer_{}", schema.name), &statement);
        assert!(
            refused.contains("permission denied") || refused.contains("must be owner"),
            "{statement}: {refused}"
        );
    }
    for role in ["reader", "auditor"] {
        let store = connect(role);
        let id = RunId::new("run").expect("an id");
        assert_eq!(store.journal_bytes(&id).expect("readable"), [line(0, ""), line(1, "")].concat());
        assert_eq!(store.list().expect("listed").len(), 1);
        assert!(store.tombstone(&RunId::new("old").expect("an id")).expect("readable").is_some());
        assert_eq!(store.doctor().check().expect("checked").findings, []);
        let errors = [
            store.create(new_run("new")).map(|_| ()),
            store.open(&id).map(|_| ()),
            store.put_blob(b"x", Durability::Synced).map(|_| ()),
            store.remove_run(&id, b"stone"),
            store.keep_tombstone(&id, b"stone"),
            store.remove_blob(&blob),
            store.section_or_new("other").map(|_| ()),
        ];
        for error in errors {
            let error = database_error(error.expect_err("a reader writes nothing"));
            assert_eq!(error.kind, DatabaseErrorKind::ReadOnly, "{error}");
            assert!(
                error.reason.starts_with("nothing can be written with this role or on this server: "),
                "{error}"
            );
        }
    }
}

#[test]
fn a_full_disk_poisons_the_writer_and_stores_nothing_of_the_append() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = Schema::new(cluster);
    let store = schema.connect();
    let mut writer = store.create(new_run("run")).expect("a run");
    let mut other = store.create(new_run("other")).expect("a run");
    cluster.sql(&format!(
        "create function {0}.full() returns trigger language plpgsql as $$ begin \
         if new.run = (select key from {0}.run where id = 'run') then \
         raise exception 'could not extend file: No space left on device' using errcode = '53100'; end if; \
         return new; end $$; \
         create trigger full_disk before insert on {0}.record for each row execute function {0}.full()",
        schema.name
    ));
    // In one batch with an append that the server takes.
    std::thread::scope(|scope| {
        let full = scope.spawn(|| {
            let error = writer.append(writer.head(), &line(1, ""), Durability::Synced).expect_err("no space");
            assert!(matches!(&error, AppendError::Unconfirmed { source, .. } if source.kind == DatabaseErrorKind::Full));
            assert!(error.to_string().contains("the server has no space left: could not extend file"), "{error}");
            let error = writer.append(writer.head(), &line(1, ""), Durability::Synced).expect_err("poisoned");
            assert!(matches!(error, AppendError::Poisoned { .. }), "{error}");
        });
        for index in 1..30 {
            other
                .append(other.head(), &line(index, ""), Durability::Synced)
                .expect("the other run has space");
        }
        full.join().expect("no panic");
    });
    drop(writer);
    cluster.sql(&format!("drop trigger full_disk on {}.record", schema.name));
    let mut writer = store.open(&RunId::new("run").expect("an id")).expect("the run opens").writer;
    assert_eq!(writer.head().records.get(), 1, "nothing of it was stored");
    writer.append(writer.head(), &line(1, ""), Durability::Synced).expect("there is space again");
}

#[test]
fn a_standby_can_be_read_and_not_written() {
    let Some(primary) = Cluster::start(&["fsync=off", "wal_level=replica"]) else { return };
    if primary.cannot_be_copied() {
        return;
    }
    let schema = Schema::new(&primary);
    drop(schema.connect().create(new_run("run")).expect("a run"));
    let standby = Cluster::standby_of(&primary);
    let store =
        PostgresStore::connect(&standby.address(&format!("schema={}", schema.name))).expect("a store");
    assert_eq!(store.journal_bytes(&RunId::new("run").expect("an id")).expect("readable"), line(0, ""));
    let error =
        database_error(store.create(new_run("new")).map(|_| ()).expect_err("a standby takes nothing"));
    assert_eq!(error.kind, DatabaseErrorKind::ReadOnly);
}
