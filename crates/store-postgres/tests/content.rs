//! Large content, damaged rows, cached views.

mod cluster;

use std::io::Read as _;

use cluster::{Cluster, Schema, line};
use hence_canon::{Digest, Value};
use hence_journal::RecordIndex;
use hence_store::{
    AttachmentName, Condition, Damage, Durability, Finding, NewRun, Repair, RunId, RunSummary, RunView,
    Store, StoreError, StoreHandle,
};

fn run() -> RunId {
    RunId::new("run").expect("a run id")
}

fn name(text: &str) -> AttachmentName {
    AttachmentName::new(text).expect("a name")
}

/// Returns bytes that no compression makes small, so that large content is large on the way too.
fn noise(length: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(length + 32);
    let mut number = 0_u64;
    while bytes.len() < length {
        bytes.extend(Digest::of(&number.to_le_bytes()).as_bytes());
        number += 1;
    }
    bytes.truncate(length);
    bytes
}

fn text_noise(length: usize) -> String {
    noise(length / 2).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn content_above_one_statement_is_stored_and_read_whole() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = Schema::new(cluster);
    let store = schema.connect();
    let large = noise(9_500_000);
    let attachments =
        vec![(name("large"), large.clone()), (name("small"), b"x".to_vec()), (name("more"), large.clone())];
    let label = text_noise(3_000_000);
    let first: Vec<u8> = (0..3).flat_map(|index| line(index, &label)).collect();
    let new = NewRun { id: run(), attachments, lines: first.clone() };
    let mut writer = store.create(new.clone()).expect("a large run is created");
    let second: Vec<u8> = (3..6).flat_map(|index| line(index, &label)).collect();
    writer.append(writer.head(), &second, Durability::Synced).expect("a large append");
    writer.append(writer.head(), &line(6, "small"), Durability::Buffered).expect("a small append");
    writer.attach(&name("small"), &large, Durability::Synced).expect("a large attachment");
    writer.attach(&name("more"), b"y", Durability::Buffered).expect("a small attachment");
    let journal = [first, second, line(6, "small")].concat();
    assert!(store.journal_bytes(&run()).expect("readable") == journal);
    for offset in [1, 2_999_999, 9_000_123, journal.len() - 1] {
        let mut rest = Vec::new();
        let start = u64::try_from(offset).expect("small");
        store.read_journal_at(&run(), start).expect("a reader").read_to_end(&mut rest).expect("readable");
        assert!(rest == journal[offset..], "from byte {offset}");
    }
    let mut last = Vec::new();
    store
        .read_journal(&run(), RecordIndex::new(6))
        .expect("a reader")
        .read_to_end(&mut last)
        .expect("readable");
    assert_eq!(last, line(6, "small"));
    assert!(store.attachment(&run(), &name("large")).expect("readable") == large);
    assert!(store.attachment(&run(), &name("small")).expect("readable") == large);
    assert_eq!(store.attachment(&run(), &name("more")).expect("readable"), b"y");
    let (part, size) =
        store.attachment_range(&run(), &name("large"), 1_048_570, 4_194_310).expect("readable");
    assert!(part == large[1_048_570..4_194_310] && size == 9_500_000);
    let digest = store.put_blob(&large, Durability::Synced).expect("a large value");
    assert!(store.blob(&digest).expect("readable") == large);
    drop(writer);
    let again = store.create(new).map(|_| ()).expect_err("attachments have changed");
    assert!(
        matches!(&again, StoreError::RunConflict { differs, .. } if differs == "attachment small"),
        "{again}"
    );
    let findings = store.doctor().check().expect("checked").findings;
    assert!(matches!(&findings[..], [Finding::UnreferencedBlob { .. }]), "{findings:?}");
}

#[test]
fn long_journals_are_read_in_portions() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = Schema::new(cluster);
    let store = schema.connect();
    let lines: Vec<u8> =
        (0..20_000).flat_map(|index| line(index, "a label of some length, as records have")).collect();
    let new = NewRun { id: run(), attachments: Vec::new(), lines: lines.clone() };
    drop(store.create(new).expect("a long run is created"));
    assert!(lines.len() > 3 * 1024 * 1024);
    assert!(store.journal_bytes(&run()).expect("readable") == lines);
    // A reader that was made before an append ends where the journal ended then.
    let mut reader = store.read_journal(&run(), RecordIndex::HEADER).expect("a reader");
    let mut writer = store.open(&run()).expect("the lease is free").writer;
    writer.append(writer.head(), &line(20_000, ""), Durability::Buffered).expect("an append");
    let mut found = Vec::new();
    reader.read_to_end(&mut found).expect("readable");
    assert!(found == lines);
    drop(writer);
    // A run that is removed while it is read is no shorter run.
    let mut reader = store.read_journal(&run(), RecordIndex::HEADER).expect("a reader");
    reader.read_exact(&mut [0; 100]).expect("a beginning");
    store.remove_run(&run(), b"stone").expect("removed");
    let error = reader.read_to_end(&mut Vec::new()).expect_err("the rest is gone");
    assert!(error.to_string().contains("the run was removed while it was read"), "{error}");
}

#[test]
fn a_sync_makes_buffered_records_durable() {
    let Some(cluster) = Cluster::start(&["fsync=off", "wal_writer_delay=10000ms"]) else { return };
    let schema = Schema::new(&cluster);
    let store = schema.connect();
    let mut writer =
        store.create(NewRun { id: run(), attachments: Vec::new(), lines: line(0, "") }).expect("a run");
    for index in 1..20 {
        writer.append(writer.head(), &line(index, ""), Durability::Buffered).expect("an append");
    }
    writer.sync().expect("a sync");
    cluster.crash();
    let expected: Vec<u8> = (0..20).flat_map(|index| line(index, "")).collect();
    assert_eq!(store.journal_bytes(&run()).expect("readable"), expected);
}

#[test]
fn changed_rows_are_found_and_left_alone() {
    let Some(cluster) = Cluster::shared() else { return };
    let tamper = [
        ("delete from S.record where index = 2", "found 4 up to index 4"),
        ("delete from S.record where index = 4", "its row names 5 records"),
        (
            "update S.record set line = 'not json'::bytea || '\\x0a'::bytea where index = 4",
            "the last whole line is not JSON",
        ),
        ("update S.run set head_count = 4", "found 5 up to index 4"),
        ("update S.run set journal_bytes = journal_bytes + 1", "its records end at byte"),
        ("update S.attachment_part set content = 'xx'", "attachment note has 3 bytes, its parts 2"),
    ];
    for (statement, expected) in tamper {
        let schema = Schema::new(cluster);
        let store = schema.connect();
        let lines = (0..5).flat_map(|index| line(index, "")).collect();
        let new = NewRun { id: run(), attachments: vec![(name("note"), b"one".to_vec())], lines };
        drop(store.create(new).expect("a run"));
        cluster.sql(&statement.replace("S.", &format!("{}.", schema.name)));
        let findings = store.doctor().check().expect("checked").findings;
        assert!(
            findings.iter().any(|finding| finding.to_string().contains(expected)),
            "{statement}: {findings:?}"
        );
        assert_eq!(store.doctor().repair().expect("repaired").left, findings, "evidence is left alone");
        let is_end = !statement.contains("index = 2") && !statement.contains("attachment");
        let summary = store.summary(&run()).expect("summarized");
        assert_eq!(matches!(summary.condition, Condition::Damaged(_)), is_end, "{statement}: {summary:?}");
        match store.open(&run()) {
            Ok(_) => assert!(!is_end, "{statement}"),
            Err(StoreError::Damaged { reason, .. }) => {
                assert!(is_end && reason != Damage::Tail(hence_journal::TailError::NoRecord { bytes: 0 }))
            }
            Err(other) => panic!("{statement}: {other}"),
        }
        // The lease of a run that cannot be opened is free.
        assert_eq!(store.lease(&run()).expect("told"), hence_store::Lease::Free);
        // What is left can be read.
        assert!(store.journal_bytes(&run()).is_ok(), "{statement}");
    }
}

#[test]
fn a_damaged_value_is_found_and_replaced_when_it_is_stored_again() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = Schema::new(cluster);
    let store = schema.connect();
    let digest = store.put_blob(b"value", Durability::Synced).expect("stored");
    cluster.sql(&format!("update {}.blob_part set content = 'other'", schema.name));
    let corrupt = store.blob(&digest).expect_err("damaged");
    assert!(
        matches!(corrupt, StoreError::BlobCorrupt { found, .. } if found == Digest::of(b"other")),
        "{corrupt}"
    );
    let finding = Finding::CorruptBlob { digest, found: Digest::of(b"other") };
    assert_eq!(store.doctor().check().expect("checked").findings, [finding]);
    assert_eq!(store.put_blob(b"value", Durability::Synced).expect("stored again"), digest);
    assert_eq!(store.blob(&digest).expect("readable"), b"value");
    cluster.sql(&format!("delete from {}.blob_part", schema.name));
    assert!(store.blob(&digest).is_err());
    store.put_blob(b"value", Durability::Buffered).expect("stored again");
    assert_eq!(store.blob(&digest).expect("readable"), b"value");
}

#[test]
fn a_copy_of_a_database_made_none_of_its_runs() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = Schema::new(cluster);
    let store = schema.connect();
    drop(store.create(NewRun { id: run(), attachments: Vec::new(), lines: line(0, "") }).expect("a run"));
    assert!(store.was_made_here(&run()).expect("told"));
    // A dump that is loaded into another server brings the number of the first one along.
    cluster.sql(&format!("update {}.run set made_in = made_in + 1", schema.name));
    assert!(!store.was_made_here(&run()).expect("told"));
}

/// A view that says whether it came from the cache.
#[derive(Debug, PartialEq)]
struct Noted {
    records: u64,
    is_cached: bool,
}

impl RunView for Noted {
    const ATTACHMENTS: &'static [&'static str] = &["note"];

    fn compute(_: &StoreHandle, summary: &RunSummary) -> Self {
        Self { records: summary.head().map_or(0, |head| head.records.get()), is_cached: false }
    }

    fn encode(&self) -> Option<Value> {
        Some(Value::from(self.records))
    }

    fn decode(value: &Value) -> Option<Self> {
        Some(Self { records: value.as_u64()?, is_cached: true })
    }
}

#[test]
fn views_are_cached_until_what_they_are_of_changes() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = Schema::new(cluster);
    let store = StoreHandle::new(schema.connect());
    let lines = (0..300).flat_map(|index| line(index, "")).collect();
    let mut writer = store.create(NewRun { id: run(), attachments: Vec::new(), lines }).expect("a run");
    let listed = |store: &StoreHandle| store.list_views::<Noted>().expect("listed").remove(0).1;
    let viewed = |store: &StoreHandle| store.view_of::<Noted>(&store.summary(&run()).expect("summarized"));
    let view = |records, is_cached| Noted { records, is_cached };
    let observer = store.only_looked_at();
    for look in [listed, viewed] {
        assert_eq!(
            (look(&observer), look(&observer)),
            (view(300, false), view(300, false)),
            "an observer writes nothing"
        );
        assert_eq!((look(&store), look(&store)), (view(300, false), view(300, true)));
    }
    writer.append(writer.head(), &line(300, ""), Durability::Buffered).expect("an append");
    assert_eq!((listed(&store), viewed(&store)), (view(301, false), view(301, false)));
    assert_eq!((listed(&observer), viewed(&observer)), (view(301, true), view(301, true)));
    writer.attach(&name("note"), b"1", Durability::Buffered).expect("an attachment");
    assert_eq!((listed(&store), viewed(&store)), (view(301, false), view(301, false)));
    writer.attach(&name("note"), b"2", Durability::Buffered).expect("another of that length");
    assert_eq!((listed(&store), viewed(&store)), (view(301, false), view(301, false)));
    writer.detach(&name("note")).expect("none");
    writer.attach(&name("note"), b"3", Durability::Buffered).expect("another of that length");
    assert_eq!((listed(&store), viewed(&store)), (view(301, false), view(301, false)));
    drop(writer);

    cluster.sql(&format!("update {}.cached_view set value = '7'", schema.name));
    assert_eq!(
        (listed(&store), viewed(&store)),
        (view(7, true), view(7, true)),
        "a cache that fits is believed"
    );
    assert_eq!(store.wrong_views::<Noted>().expect("compared"), [run()]);
    assert!(store.has_wrong_view::<Noted>(&store.summary(&run()).expect("summarized")));
    assert_eq!(store.doctor().repair().expect("repaired").done, [Repair::IndexRebuilt { runs: 1 }]);
    store.remove_view(&run()).expect("removed");
    assert_eq!((listed(&store), viewed(&store)), (view(301, false), view(301, false)));
}

#[test]
fn lists_and_prefixes_go_beyond_one_page() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = Schema::new(cluster);
    let store = schema.connect();
    let first = line(0, "");
    drop(
        store
            .create(NewRun {
                id: RunId::new("run-00000").expect("an id"),
                attachments: Vec::new(),
                lines: first,
            })
            .expect("a run"),
    );
    // Long ids that differ only after the bytes that are in the index.
    cluster.sql(&format!(
        "insert into {0}.run (section, id, head_count, head_hash, journal_bytes) \
         select 0, convert_to('run-' || lpad(n::text, 5, '0'), 'UTF8'), head_count, head_hash, journal_bytes \
         from {0}.run, generate_series(1, 2500) n; \
         insert into {0}.run (section, id, head_count, head_hash, journal_bytes) \
         select 0, convert_to(repeat('x', 300) || n, 'UTF8'), head_count, head_hash, journal_bytes \
         from {0}.run, generate_series(1, 1500) n where id = 'run-00000'",
        schema.name
    ));
    let listed: Vec<String> =
        store.list().expect("listed").into_iter().map(|run| run.run.as_str().to_owned()).collect();
    assert_eq!(listed.len(), 4001);
    assert!(listed.is_sorted());
    let prefix = "x".repeat(300);
    assert_eq!(store.find(&format!("{prefix}1499")).expect("found").as_str(), format!("{prefix}1499"));
    let error = store.find(&format!("{prefix}12")).map(|_| ());
    assert!(error.is_ok(), "a whole id is found though others begin with it");
    let StoreError::PrefixAmbiguous { matches, candidates, .. } = store.find("run-0").expect_err("many")
    else {
        panic!("not ambiguous");
    };
    assert_eq!((matches, candidates.len(), candidates[9].as_str()), (2501, 10, "run-00009"));
    let StoreError::PrefixAmbiguous { matches, .. } = store.find(&prefix).expect_err("many") else {
        panic!("not ambiguous");
    };
    assert_eq!(matches, 1500);
}
