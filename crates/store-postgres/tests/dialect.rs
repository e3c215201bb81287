//! The statements use only what a distributed PostgreSQL is known to have, or what is listed here with its place.
//!
//! No such database runs in this test: it reads the text of the statements. docs/scale.md says what each use means for Citus,
//! YugabyteDB and CockroachDB. A new use fails here until somebody has thought about it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Words that at least one of the databases lacks or treats otherwise, and the files that may use them.
const LIMITED: &[(&str, &[&str])] = &[
    // Listening is a means to be faster; without it (`notify=off`) workers poll.
    ("listen ", &["notices.rs"]),
    ("unlisten", &[]),
    ("notify ", &[]),
    ("pg_notify", &["notices.rs"]),
    // Only one process migrates at a time: not needed while somebody migrates by hand.
    ("pg_advisory", &["migrate.rs"]),
    // A commit of its own, to wait for the log.
    ("pg_logical_emit_message", &["engine.rs"]),
    // The identity of the server that made a run.
    ("pg_control_system", &["runs.rs"]),
    // The removal of runs and values by roles that may not delete.
    ("plpgsql", &["0001_store.sql", "0005_tombstones.sql"]),
    ("security definer", &["0001_store.sql", "0005_tombstones.sql"]),
    // The search for records without a run, by `doctor`.
    ("with recursive", &["doctor.rs"]),
    // Nothing may use these.
    ("ctid", &[]),
    ("xmin", &[]),
    ("xmax", &[]),
    ("lock table", &[]),
    ("deferrable", &[]),
    ("exclude using", &[]),
    ("inherits", &[]),
    ("create trigger", &[]),
    ("create extension", &[]),
    ("tablesample", &[]),
    ("grouping sets", &[]),
    ("prepare transaction", &[]),
    ("temporary table", &[]),
    ("temp table", &[]),
    ("with hold", &[]),
    ("copy ", &[]),
    ("serial", &[]),
    ("oid[", &[]),
    ("merge into", &[]),
];

/// Returns the texts of all statements, by file: the strings of the sources and the migrations without their comments.
fn statements() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeMap::new();
    for folder in ["src", "migrations"] {
        for entry in fs::read_dir(root.join(folder)).expect("a folder of this crate").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Ok(text) = fs::read_to_string(entry.path()) else { continue };
            let text = if name.ends_with(".sql") { without_comments(&text) } else { strings_of(&text) };
            found.insert(name, text.to_lowercase());
        }
    }
    found
}

fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.split("--").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Returns the strings of a source that are SQL: those that begin with a word of it.
fn strings_of(text: &str) -> String {
    let starts = [
        "select", "insert", "update", "delete", "with ", "create", "begin", "set ", "listen", "notify",
        "lock",
    ];
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let strings = code.split('"').skip(1).step_by(2);
    let is_sql =
        |string: &&str| starts.iter().any(|start| string.trim_start().to_lowercase().starts_with(start));
    strings.filter(is_sql).collect::<Vec<_>>().join("\n;\n")
}

#[test]
fn statements_use_what_distributed_databases_lack_only_where_it_is_known() {
    let statements = statements();
    let total: usize = statements.values().map(|text| text.matches("{schema}").count()).sum();
    assert!(total > 100, "the statements were not found: {total} names of tables");
    let mut unknown = Vec::new();
    for (word, files) in LIMITED {
        for (file, text) in &statements {
            if text.contains(word) && !files.contains(&file.as_str()) {
                unknown.push(format!("{file}: {word}"));
            }
        }
    }
    assert!(unknown.is_empty(), "not every distributed database has these: {unknown:#?}");
}

#[test]
fn a_listed_use_exists() {
    let statements = statements();
    // What may be used by code that is not written yet is not listed for it.
    for (word, files) in LIMITED.iter().filter(|(_, files)| files.len() == 1) {
        let text = files.first().and_then(|file| statements.get(*file));
        assert!(
            text.is_some_and(|text| text.contains(word)),
            "{files:?} no longer uses {word:?}: remove the line"
        );
    }
}

/// Every statement of an append finds its rows by the key of a run, so a run is on one node wherever it is.
#[test]
fn the_tables_of_a_run_are_keyed_by_the_run_first() {
    let store = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/0001_store.sql"));
    let store = without_comments(&store.expect("the first migration"));
    for table in ["record", "attachment", "attachment_part", "cached_view"] {
        let (_, rest) = store.split_once(&format!("create table {{schema}}.{table} (")).expect(table);
        let (body, _) = rest.split_once(";").expect(table);
        assert!(body.trim_start().starts_with("run bigint not null"), "{table}: {body}");
        assert!(body.contains("primary key (run"), "{table}: {body}");
    }
}
