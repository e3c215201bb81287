//! Reading a journal once: the same records as the reader, the same verdict as the chain level, on any threads.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::num::NonZeroUsize;

use hence_canon::{Digest, parse};
use hence_journal::verify::{Outcome as Checked, ReadVerifiedError, check_chain, read_verified};
use hence_journal::{
    Chained, ClockSource, Control, Header, LoopAction, LoopControl, Reader, Record, StepRecord,
};
use hence_state::{Outcome, ProfileName, StepError, StepIndex, StepResult, Timestamp};

fn threads() -> impl Iterator<Item = NonZeroUsize> {
    [1, 2, 3, 8].into_iter().filter_map(NonZeroUsize::new)
}

/// Makes a journal of so many steps; every third step is followed by a decision, every fifth fails.
fn journal(steps: u64) -> Vec<u8> {
    let start = Timestamp::parse("2026-02-02T00:00:00Z").unwrap();
    let state = |number: u64| Digest::of(&number.to_le_bytes());
    let header = Record::Header(Header {
        version: "1.0.0".into(),
        trace_id: "r".into(),
        created_at: start.clone(),
        engine_version: "0.1.0".into(),
        problem_spec_hash: Digest::of(b"{}"),
        initial_state_hash: state(0),
        profile: ProfileName::Strict,
        clock: Some(ClockSource::Ticking),
    });
    let sealed = header.seal(None);
    let (mut journal, mut head) = (sealed.line().to_vec(), sealed.head());
    let mut append = |record: Record| {
        let sealed = record.seal(Some(head));
        journal.extend_from_slice(sealed.line());
        head = sealed.head();
    };
    for number in 0..steps {
        let at = |number| start.plus_seconds(number).unwrap();
        let outcome = match number % 5 {
            4 => Outcome::Failed(vec![StepError::new("code", "message")]),
            _ => Outcome::Success(parse(format!(r#"{{"n":{number},"x":0.5}}"#).as_bytes()).unwrap().into()),
        };
        let input = number.into();
        let result = StepResult::new(format!("step {number}"), &input, at(number), at(number + 1), outcome);
        append(Record::Step(StepRecord {
            step_index: StepIndex::new(number),
            result,
            state_before_hash: state(number),
            state_after_hash: state(number + 1),
        }));
        if number % 3 == 2 {
            append(Record::Control(Control::Loop(LoopControl {
                action: LoopAction::Repeat,
                loop_iteration: 1 + number / 3,
                start_step: "a".into(),
                end_step: "b".into(),
                stop_condition: parse(br#"{"operator":"eq","path":"p","value":1}"#).unwrap(),
                state_hash: state(number + 1),
                at: None,
            })));
        }
    }
    journal
}

fn read(journal: &[u8], threads: NonZeroUsize) -> (Vec<String>, Result<u64, ReadVerifiedError<()>>) {
    let mut records = Vec::new();
    let fold = |chained: Chained| {
        records.push(format!("{chained:?}"));
        Ok(())
    };
    let read = read_verified(journal, threads, fold).map(|head| head.records.get());
    (records, read)
}

#[test]
fn every_record_is_handed_over_in_order_as_the_reader_reads_it() {
    for steps in [0, 1, 50, 600] {
        let journal = journal(steps);
        let (header, reader) = Reader::open(&journal).unwrap();
        let expected: Vec<String> = std::iter::once(header)
            .chain(reader.map(Result::unwrap))
            .map(|chained| format!("{chained:?}"))
            .collect();
        for threads in threads() {
            let (records, read) = read(&journal, threads);
            assert_eq!(records, expected);
            assert_eq!(read.unwrap(), expected.len() as u64);
        }
    }
}

#[test]
fn a_changed_byte_is_reported_as_the_chain_level_reports_it() {
    let whole = journal(120);
    for at in (0..whole.len()).step_by(2003) {
        let mut journal = whole.clone();
        journal[at] ^= 1;
        let Checked::Broken(expected) = check_chain(&journal, NonZeroUsize::MIN).outcome else {
            panic!("byte {at} changed and the chain holds")
        };
        for threads in threads() {
            let (_, read) = read(&journal, threads);
            assert!(matches!(read, Err(ReadVerifiedError::Broken(found)) if found == expected), "byte {at}");
        }
    }
}

#[test]
fn a_journal_that_is_empty_cut_or_put_together_wrongly_is_broken() {
    let whole = journal(600);
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let without_a_line = [&lines[..300], &lines[301..]].concat().concat();
    let swapped = [&lines[..300], &[lines[301], lines[300]], &lines[302..]].concat().concat();
    for broken in [&[][..], &whole[..whole.len() - 1], &without_a_line, &swapped] {
        for threads in threads() {
            let expected = check_chain(broken, threads).outcome;
            let (_, read) = read(broken, threads);
            assert!(
                matches!(read, Err(ReadVerifiedError::Broken(found)) if Checked::Broken(found.clone()) == expected)
            );
        }
    }
}

#[test]
fn a_refused_record_ends_the_reading_unless_the_chain_breaks_after_it() {
    let whole = journal(400);
    let mut broken = whole.clone();
    let last = broken.len() - 10;
    broken[last] ^= 1;
    for threads in threads() {
        let refuse = |seen: &mut u64| {
            *seen += 1;
            if *seen == 100 { Err("enough") } else { Ok(()) }
        };
        let mut seen = 0;
        let read = read_verified(&whole, threads, |_| refuse(&mut seen));
        assert!(matches!(read, Err(ReadVerifiedError::Refused("enough"))));
        assert_eq!(seen, 100);
        let mut seen = 0;
        let read = read_verified(&broken, threads, |_| refuse(&mut seen));
        assert!(matches!(read, Err(ReadVerifiedError::Broken(_))));
    }
}
