//! Appends while servers are killed, connections are lost and a standby takes over: everything that was acknowledged is stored,
//! nothing is stored twice, and the bytes are those that were appended.

mod cluster;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use cluster::proxy::{Cut, Proxy, draw};
use cluster::{Cluster, Schema, address_in, line};
use hence_store::{AppendError, AttachmentName, Durability, Finding, NewRun, RunId, RunWriter, Store};
use hence_store_postgres::{PostgresStore, Settings};

const WRITERS: u64 = 4;

/// Settings for servers that are away for a while on a machine that is busy.
fn patient() -> Settings {
    Settings { reconnect: Duration::from_secs(300), ..Settings::default() }
}

fn run_id(writer: u64) -> RunId {
    RunId::new(&format!("run-{writer}")).expect("a run id")
}

fn create(store: &dyn Store, writer: u64) -> Box<dyn RunWriter> {
    let lines = line(0, &format!("{writer}"));
    store.create(NewRun { id: run_id(writer), attachments: Vec::new(), lines }).expect("a run is created")
}

/// Returns the lines of one append: mostly one record, at times a batch.
fn next_lines(writer: u64, first: u64) -> Vec<u8> {
    let count = if draw(writer ^ (first << 8)).is_multiple_of(5) { 7 } else { 1 };
    (first..first + count).flat_map(|index| line(index, &format!("{writer}"))).collect()
}

/// Appends from several threads until each journal has `records`, while `disturb` is called with the number of appends so far.
fn append_while(store: &dyn Store, records: u64, disturb: impl FnOnce(&AtomicU64, &AtomicBool) + Send) {
    let (appended, is_done) = (AtomicU64::new(0), AtomicBool::new(false));
    let calls = AttachmentName::new("calls.ndjson").expect("a name");
    let writers: Vec<_> = (0..WRITERS).map(|writer| (writer, create(store, writer))).collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> = writers
            .into_iter()
            .map(|(number, mut writer)| {
                let (appended, calls) = (&appended, &calls);
                scope.spawn(move || {
                    let log = writer.side_log(calls).expect("a side log");
                    while writer.head().records.get() < records {
                        let head = writer.head();
                        let lines = next_lines(number, head.records.get());
                        log.append(format!("{}\n", head.records).as_bytes(), Durability::Synced)
                            .expect("a line is stored");
                        let after =
                            writer.append(head, &lines, Durability::Synced).expect("an append is stored");
                        assert_eq!(after, writer.head());
                        appended.fetch_add(1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        let disturber = scope.spawn(|| disturb(&appended, &is_done));
        let ended: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        is_done.store(true, Ordering::SeqCst);
        disturber.join().expect("no panic");
        ended.into_iter().for_each(|ended| ended.expect("no panic"));
    });
}

/// Compares every journal and side log with what was appended.
fn check(store: &dyn Store, records: u64) {
    for writer in 0..WRITERS {
        let (mut journal, mut log, mut next) = (line(0, &format!("{writer}")), Vec::new(), 1);
        while next < records {
            let lines = next_lines(writer, next);
            log.extend(format!("{next}\n").bytes());
            next += u64::try_from(lines.iter().filter(|byte| **byte == b'\n').count()).expect("small");
            journal.extend(lines);
        }
        assert!(store.journal_bytes(&run_id(writer)).expect("readable") == journal, "journal {writer}");
        let calls = AttachmentName::new("calls.ndjson").expect("a name");
        let found = store.attachment(&run_id(writer), &calls).expect("readable");
        assert_eq!(String::from_utf8_lossy(&found), String::from_utf8_lossy(&log), "side log {writer}");
    }
    // A server that dies may forget that a lease was given back; the lease then ends by itself.
    let mut findings = store.doctor().check().expect("checked").findings;
    findings.retain(|finding| !matches!(finding, Finding::RunInUse { .. }));
    assert_eq!(findings, []);
}

/// Waits until `count` appends are done or all are.
fn wait_for(appended: &AtomicU64, count: u64, is_done: &AtomicBool) -> bool {
    while appended.load(Ordering::SeqCst) < count {
        if is_done.load(Ordering::SeqCst) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

#[test]
fn what_was_acknowledged_survives_a_killed_server() {
    let Some(cluster) = Cluster::start(&["fsync=off"]) else { return };
    let schema = Schema::new(&cluster);
    let store = schema.connect_with(patient());
    let mut crashes = 0;
    append_while(&store, 400, |appended, is_done| {
        for crash in 1..=6 {
            // Somewhere in the middle of an append, at another place each time.
            if !wait_for(appended, crash * 100 + draw(crash) % 50, is_done) {
                break;
            }
            std::thread::sleep(Duration::from_micros(draw(crash) % 3000));
            cluster.crash();
            crashes += 1;
        }
    });
    assert!(crashes >= 4, "only {crashes} crashes");
    check(&store, 400);
    drop(store);
    check(&schema.connect(), 400);
}

#[test]
fn an_append_whose_answer_is_lost_is_made_once() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = Schema::new(cluster);
    let proxy = Proxy::start(cluster.socket_folder());
    let address = address_in(proxy.folder(), &format!("schema={}", schema.name));
    let store = PostgresStore::connect_with(&address, patient()).expect("a store");
    let mut writer = create(&store, 0);
    let calls = AttachmentName::new("calls.ndjson").expect("a name");
    let log = writer.side_log(&calls).expect("a side log");
    let mut expected = line(0, "0");
    // Every statement is prepared once before connections are lost, so that the lost answer is that of the append.
    for index in 1..40 {
        let next = line(index, "0");
        proxy.cut(match index % 4 {
            0 => Cut::NextAnswer,
            1 => Cut::NextRequestAfter(draw(index) % 700),
            _ => Cut::Never,
        });
        writer.append(writer.head(), &next, Durability::Synced).expect("an append is stored");
        expected.extend(next);
        proxy.cut(if index % 4 == 2 { Cut::NextAnswer } else { Cut::Never });
        log.append(format!("{index}\n").as_bytes(), Durability::Synced).expect("a line is stored");
        assert!(store.journal_bytes(&run_id(0)).expect("readable") == expected, "after {index}");
    }
    assert!(proxy.cuts() >= 25, "{} connections were lost", proxy.cuts());
    let log: String = (1..40).map(|index| format!("{index}\n")).collect();
    assert_eq!(store.attachment(&run_id(0), &calls).expect("readable"), log.as_bytes());
}

#[test]
fn runs_and_attachments_whose_answer_is_lost_are_made_once() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = Schema::new(cluster);
    let proxy = Proxy::start(cluster.socket_folder());
    let address = address_in(proxy.folder(), &format!("schema={}", schema.name));
    let store = PostgresStore::connect_with(&address, patient()).expect("a store");
    let note = AttachmentName::new("note").expect("a name");
    drop(create(&store, 99));
    for round in 0..8 {
        proxy.cut(if round % 2 == 0 { Cut::NextAnswer } else { Cut::NextRequestAfter(draw(round) % 900) });
        let mut writer = create(&store, round);
        let content = vec![7; usize::try_from(round).expect("small") * 900_000];
        proxy.cut(Cut::NextAnswer);
        writer.attach(&note, &content, Durability::Synced).expect("an attachment is stored");
        assert!(store.attachment(&run_id(round), &note).expect("readable") == content);
        drop(writer);
        proxy.cut(Cut::NextAnswer);
        let mut writer = store.open(&run_id(round)).expect("the lease is ours").writer;
        proxy.cut(Cut::NextAnswer);
        let digest = store.put_blob(&content, Durability::Synced).expect("a value is stored");
        assert!(store.blob(&digest).expect("readable") == content);
        writer.append(writer.head(), &line(1, &digest.to_string()), Durability::Synced).expect("an append");
        drop(writer);
        proxy.cut(Cut::NextAnswer);
        if round == 7 {
            store.remove_run(&run_id(round), b"stone").expect("the run is removed");
            assert_eq!(store.tombstone(&run_id(round)).expect("readable").as_deref(), Some(&b"stone"[..]));
        }
        proxy.cut(Cut::Never);
    }
    assert!(proxy.cuts() >= 30, "{} connections were lost", proxy.cuts());
    assert_eq!(store.list().expect("listed").len(), 8);
}

#[test]
fn appends_go_on_while_every_connection_is_lost_sooner_or_later() {
    let Some(cluster) = Cluster::shared() else { return };
    for seed in [1, 2, 3] {
        let schema = Schema::new(cluster);
        let proxy = Proxy::start(cluster.socket_folder());
        let address = address_in(proxy.folder(), &format!("schema={}", schema.name));
        let store = PostgresStore::connect_with(&address, patient()).expect("a store");
        append_while(&store, 250, |_, _| proxy.cut(Cut::Always(seed)));
        assert!(proxy.cuts() >= 10, "{} connections were lost", proxy.cuts());
        proxy.cut(Cut::Never);
        check(&schema.connect(), 250);
    }
}

#[test]
fn a_promoted_standby_has_everything_that_was_acknowledged() {
    let Some(primary) = Cluster::start(&["fsync=off", "wal_level=replica", "max_wal_senders=4"]) else {
        return;
    };
    if primary.cannot_be_copied() {
        return;
    }
    let schema = Schema::new(&primary);
    let standby = Cluster::standby_of(&primary);
    primary.configure(&["fsync=off", "synchronous_standby_names='*'"]);
    primary.sql("select pg_reload_conf()");
    let proxy = Proxy::start(primary.socket_folder());
    let address = address_in(proxy.folder(), &format!("schema={}", schema.name));
    let store = PostgresStore::connect_with(&address, patient()).expect("a store");
    let mut was_promoted = false;
    // The server waits for its standby from here on.
    while primary.sql("select count(*) from pg_stat_replication where sync_state = 'sync'") != "1" {
        std::thread::sleep(Duration::from_millis(10));
    }
    append_while(&store, 300, |appended, is_done| {
        if wait_for(appended, 150, is_done) {
            primary.kill();
            standby.sql("select pg_promote()");
            proxy.lead_to(standby.socket_folder());
            was_promoted = true;
        }
    });
    assert!(was_promoted, "the appends ended too early");
    check(&store, 300);
}

#[test]
fn a_writer_notices_that_the_server_lost_what_was_buffered() {
    let settings =
        ["fsync=off", "wal_writer_delay=10000ms", "bgwriter_delay=10000ms", "checkpoint_timeout=1h"];
    let Some(cluster) = Cluster::start(&settings) else { return };
    let schema = Schema::new(&cluster);
    let store = schema.connect_with(patient());
    let mut writer = create(&store, 0);
    writer.append(writer.head(), &line(1, "0"), Durability::Synced).expect("an append");
    let durable = writer.head();
    writer.append(durable, &line(2, "0"), Durability::Buffered).expect("an append");
    cluster.crash();
    let journal = store.journal_bytes(&run_id(0)).expect("readable");
    let outcome = writer.append(writer.head(), &line(3, "0"), Durability::Synced);
    if journal == [line(0, "0"), line(1, "0")].concat() {
        let error = outcome.expect_err("the journal ends before the expected head");
        assert!(matches!(&error, AppendError::Unconfirmed { .. }), "{error}");
        assert!(error.to_string().contains("the server lost records"), "{error}");
        let again =
            writer.append(writer.head(), &line(3, "0"), Durability::Synced).expect_err("nobody guesses");
        assert!(matches!(again, AppendError::Poisoned { .. }), "{again}");
        drop(writer);
        let opened = store.open(&run_id(0)).expect("the run opens").writer;
        assert_eq!(opened.head(), durable);
    } else {
        // The server wrote it in time after all.
        outcome.expect("the append follows what is stored");
    }
}

#[test]
fn an_append_is_not_acknowledged_before_the_standby_has_it() {
    let Some(cluster) = Cluster::start(&["fsync=off"]) else { return };
    let schema = Schema::new(&cluster);
    let store = schema.connect_with(patient());
    let mut writer = create(&store, 0);
    // From here on the server waits for a standby that does not exist.
    cluster.configure(&["fsync=off", "synchronous_standby_names='nobody'"]);
    cluster.sql("select pg_reload_conf()");
    let waiting = "select count(*) from pg_stat_activity where wait_event = 'SyncRep'";
    let interrupt = |function: &str| {
        while cluster.sql(waiting) != "1" {
            std::thread::sleep(Duration::from_millis(5));
        }
        cluster.sql(&format!("select {function}(pid) from pg_stat_activity where wait_event = 'SyncRep'"));
    };
    std::thread::scope(|scope| {
        let append = scope.spawn(|| {
            writer.append(writer.head(), &line(1, "0"), Durability::Synced).expect("an append");
            let note = AttachmentName::new("note").expect("a name");
            writer.attach(&note, b"text", Durability::Synced).expect("an attachment");
        });
        // A server that is told to give up waiting confirms the commit with a warning, or ends the connection. The record can be read, and
        // yet it could be lost with this server.
        for _ in 0..3 {
            interrupt("pg_cancel_backend");
            interrupt("pg_terminate_backend");
        }
        while cluster.sql(waiting) != "1" {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!append.is_finished(), "nothing has it but the server");
        assert_eq!(store.journal_bytes(&run_id(0)).expect("readable"), [line(0, "0"), line(1, "0")].concat());
        cluster.configure(&["fsync=off"]);
        cluster.sql("select pg_reload_conf()");
        append.join().expect("no panic");
    });
    assert_eq!(store.journal_bytes(&run_id(0)).expect("readable"), [line(0, "0"), line(1, "0")].concat());
}
