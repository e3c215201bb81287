//! Lists of runs by their creation, page by page.

mod cluster;

use cluster::{Cluster, Schema, line};
use hence_canon::time::Instant;
use hence_store::{NewRun, NewestPlace, NewestRequest, RunId, Store as _, StoreError};
use hence_store_postgres::PostgresStore;

fn create(store: &PostgresStore, name: &str) {
    let id = RunId::new(name).expect("an id");
    drop(store.create(NewRun { id, attachments: Vec::new(), lines: line(0, name) }).expect("a run"));
}

/// Lists everything in pages of this size.
fn pages(store: &PostgresStore, runs_max: usize, since: Option<&str>) -> Vec<Vec<String>> {
    let since = since.map(|since| since.parse().expect("a time"));
    let (mut pages, mut after) = (Vec::new(), None);
    loop {
        let request = NewestRequest { after, since, runs_max };
        let page = store.list_newest(&["note"], &request).expect("a page").expect("a database has an order");
        pages.push(page.listing.runs.iter().map(|run| run.summary.run.to_string()).collect());
        assert!(pages.len() < 100, "the pages do not end");
        after = page.next;
        if after.is_none() {
            return pages;
        }
    }
}

#[test]
fn pages_give_every_run_once_the_newest_first() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = Schema::new(cluster);
    let store = schema.connect();
    assert_eq!(pages(&store, 3, None), [Vec::<String>::new()]);
    // The order of creation is not that of ids.
    let names = ["m", "z", "a", "k", "b"];
    names.iter().for_each(|name| create(&store, name));
    let expected: Vec<String> = names.iter().rev().map(|name| (*name).to_owned()).collect();
    for runs_max in 1..=6 {
        assert_eq!(pages(&store, runs_max, None).concat(), expected, "{runs_max}");
    }
    assert_eq!(pages(&store, 5, None).len(), 2, "a full page may be followed by an empty one");
    assert_eq!(pages(&store, 6, None).len(), 1);
    // A section has a list of its own.
    let section = store.section_or_new("reviews").expect("a section");
    let request = NewestRequest { after: None, since: None, runs_max: 9 };
    assert!(section.list_newest(&[], &request).expect("a page").expect("an order").listing.runs.is_empty());
    for (most, count) in [(0, 0), (4, 4), (5, 5), (6, 5)] {
        assert_eq!(store.count_up_to(most).expect("a count"), count);
    }
}

#[test]
fn runs_of_the_same_moment_are_neither_lost_nor_repeated_between_pages() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = Schema::new(cluster);
    let store = schema.connect();
    (0..7).for_each(|number| create(&store, &format!("r{number}")));
    cluster.sql(&format!("update {}.run set created_at = '2026-02-09 10:00:00.123456+00'", schema.name));
    for runs_max in 1..=8 {
        let mut all = pages(&store, runs_max, None).concat();
        assert_eq!(all.first().map(String::as_str), Some("r6"));
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 7, "{runs_max}");
    }
    // A time that is none of the calendar still has a place.
    cluster.sql(&format!("update {}.run set created_at = 'infinity' where id = 'r3'", schema.name));
    cluster.sql(&format!("update {}.run set created_at = '-infinity' where id = 'r4'", schema.name));
    let all = pages(&store, 2, None).concat();
    assert_eq!((all.len(), &*all[0], &*all[6]), (7, "r3", "r4"));
}

#[test]
fn a_run_from_elsewhere_is_listed_by_its_stated_creation() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = Schema::new(cluster);
    let store = schema.connect();
    ["new", "old", "ancient"].iter().for_each(|name| create(&store, name));
    let state = |name: &str, created: Instant| store.set_created(&RunId::new(name).expect("an id"), created);
    let old: Instant = "2024-02-29T23:59:59.123456Z".parse().expect("a time");
    state("old", old).expect("it is stated");
    // The server's calendar has no year 0.
    let ancient = Instant::from_millis(-62_150_000_000_000).expect("a time");
    state("ancient", ancient).expect("any time is a place in the list");
    assert_eq!(pages(&store, 2, None), [vec!["new", "old"], vec!["ancient"]]);
    assert_eq!(pages(&store, 2, Some("2024-02-29T23:59:59.123456Z")), [vec!["new", "old"], vec![]]);
    assert_eq!(pages(&store, 3, Some("2024-02-29T23:59:59.123457Z")), [vec!["new"]]);
    assert!(matches!(state("none", old), Err(StoreError::NoSuchRun { .. })));
}

#[test]
fn a_place_of_another_store_is_refused() {
    let Some(cluster) = Cluster::shared() else { return };
    let store = Schema::new(cluster).connect();
    for place in ["", "7", "seven 2026-02-09", "7 no time"] {
        let after = Some(NewestPlace(place.to_owned()));
        let refused = store.list_newest(&[], &NewestRequest { after, since: None, runs_max: 1 });
        assert!(matches!(refused, Err(StoreError::Database(_))), "{place}: {refused:?}");
    }
}

#[test]
fn a_page_is_found_by_the_index() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = Schema::new(cluster);
    let fill = "insert into {}.run (section, id, head_count, head_hash, journal_bytes, created_at) \
                select 0, convert_to('r' || n, 'UTF8'), 1, sha256(''), 1, now() - n * interval '1 second' \
                from generate_series(1, 5000) n";
    cluster.sql(&fill.replace("{}", &schema.name));
    cluster.sql(&format!("analyze {}.run", schema.name));
    // The statement itself, from the source: another one might have another plan.
    let source = include_str!("../src/newest.rs");
    let (_, rest) = source.split_once("const PAGE: &str = \"").expect("the statement");
    let (statement, _) = rest.split_once("\";").expect("its end");
    let mut statement = statement.replace("\\\n", " ").replace("{schema}", &schema.name);
    for (name, value) in [
        ("$1", "0"),
        ("$2", "'infinity'"),
        ("$3", "9223372036854775807"),
        ("$4", "'-infinity'"),
        ("$5", "200"),
    ] {
        statement = statement.replace(name, value);
    }
    let plan = cluster.sql(&format!("explain {statement}"));
    assert!(plan.contains("run_created") && !plan.contains("Sort") && !plan.contains("Seq Scan"), "{plan}");
}
