//! Journals: deterministic, resumable at every record, verifiable at every level.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by failing")]

mod support;

use std::num::NonZeroUsize;

use hence_canon::{Digest, Value, parse};
use hence_engine::{Engine, Evidence, MemorySink, Reason, Request, Run, Sink, without_defects};
use hence_journal::verify::{Level, Outcome, check_chain};
use hence_journal::{Head, Lines, RecordIndex};
use hence_state::{Clock, Profile, Timestamp};
use proptest::prelude::*;
use support::{looping, problem, run};

/// Problems that together cover every path of a run.
fn problems() -> Vec<Value> {
    vec![
        problem("null", 0),
        problem(
            r#"{"evidence_required":true,"verification_paths":[{"name":"p"},{"name":"q","evidence_required":false}]}"#,
            1,
        ),
        problem(&looping(4, 9, 1), 4),
        problem(&looping(99, 3, 1), 2),
    ]
}

#[test]
fn the_worked_example_of_the_compat_profile_has_its_published_hashes() {
    let spec = br#"{"version":"1.0.0","id":"req-1","created_at":"2026-02-02T00:00:00Z","inputs":{"prompt":"Hello world"}}"#;
    let (sink, finished) = run(&Engine::new(), &parse(spec).unwrap(), Profile::COMPAT);
    assert_eq!(
        finished.head.hash.to_string(),
        "e11aaa27e22e20b9ed202eb748e6f736dc613f185d54c3ef9dcd3aa6774b8ec9"
    );
    assert_eq!(
        Digest::of(&sink.journal).to_string(),
        "70afc64b57a9ae7c4c562a7af8e05139119f22d36b36f600b74bb70d887d1991"
    );
    let state = finished.state.canonical().digest().to_string();
    assert_eq!(state, "14222d034e65f3545d929419268c7d068e77f3b0d312bceee0e40050ff6f7dd5");
}

#[test]
fn the_same_problem_gives_the_same_bytes() {
    for profile in [Profile::STRICT, Profile::COMPAT] {
        for problem in problems() {
            let first = run(&Engine::new(), &problem, profile).0.journal;
            let elsewhere = std::thread::spawn(move || run(&Engine::new(), &problem, profile).0.journal);
            assert_eq!(first, elsewhere.join().unwrap());
        }
    }
}

#[test]
fn a_run_resumed_at_any_record_ends_with_the_same_bytes() {
    for profile in [Profile::STRICT, Profile::COMPAT] {
        for problem in problems() {
            let engine = Engine::new();
            let (whole, finished) = run(&engine, &problem, profile);
            let lines = Lines::of(&whole.journal);
            for records in 1..=lines.count().get() {
                let end = lines.offset(RecordIndex::new(records)).unwrap_or(whole.journal.len());
                let mut sink =
                    MemorySink { journal: whole.journal[..end].to_vec(), blobs: whole.blobs.clone() };
                let plan = engine.plan(&Request::of_value(problem.clone(), profile)).unwrap();
                let run = Run::resume(Reason::new(plan), &sink.journal.clone(), &sink.blobs.clone()).unwrap();
                let resumed = match run.has_ended() {
                    true => run.into_finished(),
                    false => run.finish(&mut sink, |_| {}).unwrap(),
                };
                assert_eq!(sink.journal, whole.journal, "cut behind record {records}");
                assert_eq!(resumed.state.canonical(), finished.state.canonical());
            }
        }
    }
}

#[test]
fn a_journal_of_another_problem_cannot_be_taken_up() {
    let engine = Engine::new();
    let (sink, _) = run(&engine, &problem("null", 0), Profile::STRICT);
    let plan = engine.plan(&Request::of_value(problem("null", 1), Profile::STRICT)).unwrap();
    let error = Run::resume(Reason::new(plan), &sink.journal, &sink.blobs).map(|_| ()).unwrap_err();
    assert!(error.to_string().starts_with("record 0 does not follow from the program"), "{error}");
}

#[test]
fn a_journal_with_a_flipped_byte_is_not_built_on() {
    let engine = Engine::new();
    let problem = problem("null", 0);
    let (sink, _) = run(&engine, &problem, Profile::STRICT);
    let at = sink.journal.windows(10).position(|window| window == b"started_at").unwrap() + 15;
    let mut journal = sink.journal.clone();
    journal[at] = b'1';
    let plan = engine.plan(&Request::of_value(problem, Profile::STRICT)).unwrap();
    let error = Run::resume(Reason::new(plan), &journal, &sink.blobs).map(|_| ()).unwrap_err();
    assert!(error.to_string().starts_with("record 1 does not hold: "), "{error}");
}

fn verify(
    problem: &Value,
    journal: &[u8],
    blobs: &MemorySink,
    anchor: Option<Head>,
    threads: usize,
) -> [Option<u64>; 6] {
    let document = without_defects(problem.clone());
    let evidence = Evidence {
        problem: Some(&document),
        anchor,
        threads: NonZeroUsize::new(threads).unwrap(),
        ..Evidence::of_journal(journal, &blobs.blobs)
    };
    let report = Engine::new().verify(&evidence, Level::Anchored);
    Level::ALL.map(|level| match report.outcome(level) {
        Some(Outcome::Broken(found)) => Some(found.line),
        _ => None,
    })
}

#[test]
fn what_the_engine_writes_holds_at_every_level_on_any_number_of_threads() {
    for profile in [Profile::STRICT, Profile::COMPAT] {
        for problem in problems() {
            let (sink, finished) = run(&Engine::new(), &problem, profile);
            for threads in [1, 2, 3, 8, 64] {
                assert_eq!(verify(&problem, &sink.journal, &sink, Some(finished.head), threads), [None; 6]);
            }
        }
    }
}

/// Computes all hashes of an altered journal again, as a forger with unlimited time would.
fn rechain(records: &[Value]) -> Vec<u8> {
    let mut journal = Vec::new();
    let mut prev: Option<Value> = None;
    for record in records {
        let mut object = record.as_object().unwrap().without("record_hash");
        if let Some(prev) = prev {
            object = object.with("prev_hash", prev);
        }
        let hash: Value = hence_canon::Canonical::of(&object.clone().into()).digest().into();
        let line = hence_canon::canonical_bytes(&object.with("record_hash", hash.clone()).into());
        journal.extend_from_slice(&line);
        journal.push(b'\n');
        prev = Some(hash);
    }
    journal
}

#[test]
fn a_cut_tail_passes_the_chain_and_fails_the_anchor() {
    let problem = problem("null", 0);
    let (sink, finished) = run(&Engine::new(), &problem, Profile::STRICT);
    let lines = Lines::of(&sink.journal);
    let cut = &sink.journal[..lines.offset(RecordIndex::new(5)).unwrap()];
    // A journal that ends early is unfinished, not different: only a head kept elsewhere shows a cut.
    assert_eq!(verify(&problem, cut, &sink, None, 2), [None; 6]);
    assert_eq!(verify(&problem, cut, &sink, Some(finished.head), 2)[5], Some(4));
}

#[test]
fn a_fully_recomputed_journal_passes_the_chain_and_fails_deeper_or_at_the_anchor() {
    let problem = problem("null", 0);
    let (sink, finished) = run(&Engine::new(), &problem, Profile::STRICT);
    let mut records = support::records(&sink.journal);
    let header = records[0].as_object().unwrap().with("engine_version", "9.9.9");
    records[0] = header.into();
    let forged = rechain(&records);
    assert_eq!(verify(&problem, &forged, &sink, None, 2), [None; 6]);
    assert_eq!(verify(&problem, &forged, &sink, Some(finished.head), 2)[5], Some(8));
}

#[test]
fn a_changed_result_with_a_recomputed_chain_is_found_by_the_states() {
    let problem = problem("null", 0);
    let (sink, _) = run(&Engine::new(), &problem, Profile::STRICT);
    let mut records = support::records(&sink.journal);
    let result = records[6].get("result").unwrap().as_object().unwrap();
    let output = parse(br#"{"summary":"something else"}"#).unwrap();
    let hash: Value = hence_canon::Canonical::of(&output).digest().into();
    let result = result.with("output", output).with("output_hash", hash);
    records[6] = records[6].as_object().unwrap().with("result", result).into();
    assert_eq!(
        verify(&problem, &rechain(&records), &sink, None, 1)[..5],
        [None, None, None, Some(6), Some(6)]
    );
}

#[test]
fn an_unknown_version_of_the_journal_is_refused() {
    let problem = problem("null", 0);
    for profile in [Profile::STRICT, Profile::COMPAT] {
        let (sink, _) = run(&Engine::new(), &problem, profile);
        let mut records = support::records(&sink.journal);
        records[0] = records[0].as_object().unwrap().with("version", "2.0.0").into();
        assert_eq!(verify(&problem, &rechain(&records), &sink, None, 1)[1], Some(0));
    }
}

#[test]
fn a_compat_decision_cannot_hide_its_state_behind_a_time() {
    let problem = problem(
        r#"{"evidence_required":true,"loop":{"enabled":true,"start_step":"Verify","end_step":"Verify","max_iterations":1,
            "stop_condition":{"path":"artifacts.none","operator":"equals","value":1}}}"#,
        0,
    );
    let (sink, _) = run(&Engine::new(), &problem, Profile::COMPAT);
    let mut records = support::records(&sink.journal);
    let last = records.pop().unwrap();
    let other: Value = Digest::of(b"other").into();
    records
        .push(last.as_object().unwrap().with("at", "2026-02-02T00:00:00Z").with("state_hash", other).into());
    let line = records.len() as u64 - 1;
    assert_eq!(verify(&problem, &rechain(&records), &sink, None, 1)[2], Some(line));
}

#[test]
fn the_state_at_a_record_does_not_depend_on_what_follows() {
    let engine = Engine::new();
    let problem = problem("null", 0);
    let (sink, _) = run(&engine, &problem, Profile::STRICT);
    let document = without_defects(problem);
    let lines = Lines::of(&sink.journal);
    let mut damaged = sink.journal[..lines.offset(RecordIndex::new(4)).unwrap()].to_vec();
    damaged.extend_from_slice(b"{\"not\":\"a record\"}\n");
    let at = Some(RecordIndex::new(3));
    let state = engine.state_at(&damaged, &document, at).unwrap();
    assert_eq!(state.canonical(), engine.state_at(&sink.journal, &document, at).unwrap().canonical());
    assert!(engine.state_at(&damaged, &document, Some(RecordIndex::new(4))).is_err());
}

#[test]
fn given_times_are_recorded_and_replayed() {
    let engine = Engine::new();
    let problem = problem("null", 0);
    let mut request = Request::of_value(problem.clone(), Profile::STRICT);
    let at = |minute: u8| Timestamp::parse(&format!("2026-03-01T10:{minute:02}:00Z")).unwrap();
    request.times = Some((0..20).map(at).collect());
    let (run, header) = Run::start(Reason::new(engine.plan(&request).unwrap())).unwrap();
    let mut sink = MemorySink::default();
    sink.append(&header).unwrap();
    let finished = run.finish(&mut sink, |_| {}).unwrap();
    assert_eq!(finished.state.metadata().updated_at, at(8));
    assert_eq!(verify(&problem, &sink.journal, &sink, Some(finished.head), 1), [None; 6]);
    assert!(Clock::given(vec![at(2), at(1)]).is_err());
}

proptest! {
    #[test]
    fn no_single_changed_byte_goes_unseen_by_the_chain(at: prop::sample::Index, byte: u8) {
        let (sink, _) = run(&Engine::new(), &problem("null", 1), Profile::STRICT);
        let mut journal = sink.journal.clone();
        let at = at.index(journal.len());
        prop_assume!(journal[at] != byte);
        journal[at] = byte;
        let seen = |threads| matches!(check_chain(&journal, NonZeroUsize::new(threads).unwrap()).outcome, Outcome::Broken(_));
        prop_assert!(seen(1) && seen(3));
    }

    #[test]
    fn no_bytes_make_the_verifier_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        verify(&problem("null", 0), &bytes, &MemorySink::default(), None, 2);
    }
}
