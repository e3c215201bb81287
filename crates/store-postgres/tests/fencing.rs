//! Leases: a writer that was away for too long writes nothing any more.

mod cluster;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use cluster::{Cluster, Schema, line};
use hence_store::{
    AppendError, AttachmentName, Durability, Holder, Lease, NewRun, RunId, RunWriter, Store, StoreError,
};
use hence_store_postgres::{PostgresStore, Settings};

/// The address of the store, for the process that is stopped.
const ADDRESS: &str = "HENCE_TEST_ADDRESS";

fn run() -> RunId {
    RunId::new("run").expect("a run id")
}

fn create(store: &dyn Store) -> Box<dyn RunWriter> {
    store.create(NewRun { id: run(), attachments: Vec::new(), lines: line(0, "") }).expect("a run is created")
}

/// Lets the lease of the run end, as if its time had passed.
fn expire(cluster: &Cluster, schema: &Schema) {
    let update =
        format!("update {}.run set lease_until = clock_timestamp() - interval '1 second'", schema.name);
    cluster.sql(&update);
}

/// The writer in a process of its own, which the next test stops. As a test of its own it does nothing.
#[test]
fn a_writer_in_another_process() {
    let Ok(address) = std::env::var(ADDRESS) else { return };
    let settings = Settings { holder: "the stopped one".to_owned(), ..Settings::default() };
    let store = PostgresStore::connect_with(&address, settings).expect("a store");
    let mut writer = store.open(&run()).expect("the lease is free").writer;
    let calls = AttachmentName::new("calls").expect("a name");
    let log = writer.side_log(&calls).expect("a side log");
    println!("opened");
    std::io::stdin().read_line(&mut String::new()).expect("a line from the test");
    println!("log: {}", log.append(b"late\n", Durability::Synced).expect_err("the lease is lost"));
    let note = AttachmentName::new("note").expect("a name");
    println!("attach: {}", writer.attach(&note, b"late", Durability::Synced).expect_err("the lease is lost"));
    println!("detach: {}", writer.detach(&calls).expect_err("the lease is lost"));
    println!(
        "append: {}",
        writer.append(writer.head(), &line(1, "late"), Durability::Synced).expect_err("the lease is lost")
    );
    println!(
        "again: {}",
        writer.append(writer.head(), &line(1, "late"), Durability::Synced).expect_err("poisoned")
    );
}

#[test]
fn a_process_that_was_stopped_past_its_lease_writes_nothing() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = Schema::new(cluster);
    let store = schema.connect_with(Settings { holder: "the next one".to_owned(), ..Settings::default() });
    drop(create(&store));
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "a_writer_in_another_process", "--nocapture"])
        .env(ADDRESS, &schema.address)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program starts again");
    let mut output =
        BufReader::new(child.stdout.take().expect("a pipe")).lines().map(|line| line.expect("text"));
    assert!(output.any(|line| line == "opened"));
    let signal = |name: &str| {
        let status =
            Command::new("kill").args([name, &child.id().to_string()]).status().expect("kill starts");
        assert!(status.success());
    };
    signal("-STOP");
    assert_eq!(store.lease(&run()).expect("told"), Lease::Held(Holder::Named("the stopped one".to_owned())));
    expire(cluster, &schema);
    let mut writer = store.open(&run()).expect("the lease has ended").writer;
    writer.append(writer.head(), &line(1, "new"), Durability::Synced).expect("an append");
    signal("-CONT");
    child.stdin.take().expect("a pipe").write_all(b"go on\n").expect("the process reads");
    let said: Vec<String> = output.filter(|line| line.contains(": ") && line.contains("run run")).collect();
    child.wait().expect("the process ends");
    let lost = "the lease of run run was taken over by the next one; nothing was written";
    let expected = ["log", "attach", "detach", "append"].map(|what| format!("{what}: {lost}"));
    assert_eq!(said[..4], expected);
    assert_eq!(said[4], format!("again: writer of run run is poisoned by an earlier failure: {lost}"));
    assert_eq!(store.journal_bytes(&run()).expect("readable"), [line(0, ""), line(1, "new")].concat());
    let names = store.attachments(&run()).expect("listed");
    assert_eq!(names, [AttachmentName::new("calls").expect("a name")]);
    assert_eq!(store.attachment(&run(), &names[0]).expect("readable"), b"");
}

#[test]
fn a_writer_that_came_back_in_time_writes_on() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = Schema::new(cluster);
    let store = schema.connect();
    let mut writer = create(&store);
    expire(cluster, &schema);
    writer.append(writer.head(), &line(1, ""), Durability::Synced).expect("nobody took the lease");
    assert!(matches!(store.lease(&run()), Ok(Lease::Held(_))), "an append renews the lease");
}

#[test]
fn a_database_that_forgot_an_opening_does_not_let_two_writers_in() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = Schema::new(cluster);
    let (first, second) = (schema.connect(), schema.connect());
    drop(create(&first));
    let mut early = first.open(&run()).expect("the lease is free").writer;
    // A standby that had not heard of the opening was promoted: the number of the fence is given again.
    cluster.sql(&format!(
        "update {}.run set epoch = epoch - 1, lease_until = null, lease_token = null",
        schema.name
    ));
    let mut late = second.open(&run()).expect("the lease looks free").writer;
    late.append(late.head(), &line(1, "late"), Durability::Synced).expect("an append");
    let refused =
        early.append(early.head(), &line(1, "early"), Durability::Synced).expect_err("another token");
    assert!(matches!(refused, AppendError::Fenced { .. }), "{refused}");
    assert_eq!(first.journal_bytes(&run()).expect("readable"), [line(0, ""), line(1, "late")].concat());
}

#[test]
fn leases_are_renewed_while_nothing_is_written() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = Schema::new(cluster);
    let lease = std::time::Duration::from_millis(300);
    let store = schema.connect_with(Settings { lease, ..Settings::default() });
    let writer = create(&store);
    let until = || cluster.sql(&format!("select lease_until from {}.run", schema.name));
    let mut seen = until();
    for _ in 0..5 {
        while until() == seen {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        seen = until();
    }
    drop(writer);
    assert_eq!(until(), "", "a dropped writer gives its lease back");
}

#[test]
fn a_run_removed_under_its_writer_is_reported() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = Schema::new(cluster);
    let store = schema.connect();
    let mut writer = create(&store);
    expire(cluster, &schema);
    // The lease may be renewed in between; then the removal is refused and tried again.
    while let Err(error) = store.remove_run(&run(), b"stone") {
        assert!(matches!(error, StoreError::Leased { .. }), "{error}");
        expire(cluster, &schema);
    }
    let refused =
        writer.append(writer.head(), &line(1, ""), Durability::Synced).expect_err("the run is gone");
    assert!(refused.to_string().contains("run run was removed while it was written"), "{refused}");
    assert!(store.list().expect("listed").is_empty());
}
