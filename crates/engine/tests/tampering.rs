//! Altered journals: all verifiers report the same about a journal, however it was altered.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "helpers of tests")]

mod common;

use std::num::NonZeroUsize;

use hence_canon::{Digest, canonical_bytes, parse};
use hence_engine::{Engine, Evidence, NoBlobs};
use hence_journal::verify::{ChainCheck, Level, Outcome, ReasonCode, check_bytes, check_chain};
use hence_journal::{Chained, LINE_BYTES_MAX, Lines, Reader, read_tail};
use hence_state::Profile;
use proptest::prelude::*;

fn check(journal: &[u8], threads: usize) -> ChainCheck {
    check_chain(journal, NonZeroUsize::new(threads).unwrap())
}

/// Checks a journal on several numbers of threads and returns the common result.
fn check_on_all(journal: &[u8]) -> ChainCheck {
    let one = check(journal, 1);
    for threads in [2, 3, 8] {
        assert_eq!(check(journal, threads), one, "{threads} threads");
    }
    one
}

fn code(outcome: &Outcome) -> Option<(u64, ReasonCode)> {
    match outcome {
        Outcome::Broken(found) => Some((found.line, found.reasons[0].code)),
        _ => None,
    }
}

fn lines(journal: &[u8]) -> Vec<Vec<u8>> {
    journal.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

#[test]
fn untouched_journals_hold_on_any_number_of_threads() {
    for profile in [Profile::STRICT, Profile::COMPAT] {
        let journal = common::journal(20, profile);
        assert!(journal.len() > 24 * 1024, "enough for three stretches");
        let found = check_on_all(&journal);
        assert_eq!((&found.outcome, found.records), (&Outcome::Holds, lines(&journal).len() as u64));
        assert_eq!(check_chain(&journal, NonZeroUsize::MAX), found);
        assert_eq!(check_bytes(&journal), Outcome::Holds);
        assert_eq!(found.head, Some(read_tail(&journal).unwrap().head));
    }
}

#[test]
fn a_journal_cut_at_any_byte_is_judged_alike_by_any_number_of_threads() {
    let journal = common::journal(4, Profile::STRICT);
    assert!(journal.len() > 8 * 1024, "enough for two stretches");
    for cut in 0..journal.len() {
        let left = &journal[..cut];
        let found = check_on_all(left);
        // A chain does not show whether whole records were cut off at the end; it shows any other cut.
        assert_eq!(found.outcome.holds(), left.last() == Some(&b'\n'), "cut at {cut}");
        assert_eq!(found.outcome.holds(), cut > 0 && check_bytes(left).holds(), "cut at {cut}");
    }
}

#[test]
fn lines_that_are_framed_otherwise_are_named() {
    let journal = common::journal(20, Profile::STRICT);
    let whole = lines(&journal);
    for at in [0, 1, whole.len() / 2, whole.len() - 1] {
        let mut crlf = whole.clone();
        crlf[at].pop();
        crlf[at].extend_from_slice(b"\r\n");
        let mut blank = whole.clone();
        blank.insert(at, b"\n".to_vec());
        let mut spaces = whole.clone();
        spaces.insert(at, b" \t \n".to_vec());
        for (lines, word) in [(crlf, "crlf"), (blank, "blank_line"), (spaces, "blank_line")] {
            let found = check_on_all(&lines.concat());
            assert_eq!(code(&found.outcome), Some((at as u64, ReasonCode::Line(word))));
        }
    }
    let marked = [b"\xef\xbb\xbf".as_slice(), &journal].concat();
    assert_eq!(code(&check_on_all(&marked).outcome), Some((0, ReasonCode::Line("bom"))));
    assert_eq!(code(&check_on_all(b"").outcome), Some((0, ReasonCode::EmptyTrace)));
    assert_eq!(code(&check_on_all(b"\n").outcome), Some((0, ReasonCode::Line("blank_line"))));
}

#[test]
fn a_line_is_as_long_as_the_limit_and_no_longer() {
    let journal = common::journal(1, Profile::STRICT);
    let header = &lines(&journal)[0];
    let long = |bytes: usize| {
        let frame = br#"{"a":""}"#.len();
        [header, br#"{"a":""#.as_slice(), &vec![b'x'; bytes - frame], b"\"}\n"].concat()
    };
    let found = |bytes| code(&check(&long(bytes), 1).outcome);
    assert_eq!(found(LINE_BYTES_MAX), Some((1, ReasonCode::MissingField)));
    assert_eq!(found(LINE_BYTES_MAX + 1), Some((1, ReasonCode::Line("line_too_long"))));
}

/// Writes the hash over the raw bytes of a line into the line, as a forger would.
fn forge(line: &str) -> Vec<u8> {
    let start = line.find(",\"record_hash\":\"").unwrap();
    let end = start + ",\"record_hash\":\"\"".len() + Digest::HEX_BYTES;
    let without = [&line[..start], &line[end..]].concat();
    let hash = Digest::of(without.as_bytes());
    format!("{},\"record_hash\":\"{hash}\"{}\n", &line[..start], &line[end..]).into_bytes()
}

#[test]
fn a_line_that_is_not_canonical_never_passes_by_hashing_its_own_bytes() {
    let journal = common::journal(2, Profile::STRICT);
    let whole = lines(&journal);
    let spellings: [(&str, &str); 9] = [
        ("\"index\":", "\"index\": "),
        (",\"prev_hash\"", ", \"prev_hash\""),
        ("{\"index\"", "{ \"index\""),
        ("\"type\":\"step\"}", "\"type\":\"step\" }"),
        ("\"status\":\"success\"", "\"status\":\"succe\\u0073s\""),
        ("\"status\":\"success\"", "\"st\\u0061tus\":\"success\""),
        ("\"version\":\"1.0.0\"}", "\"version\":\"1.0.0\",\"a\":1}"),
        ("0.25", "0.250"),
        ("0.25", "25e-2"),
    ];
    let mut forged = 0;
    for (at, line) in whole.iter().enumerate() {
        let text = str::from_utf8(line).unwrap().trim_end();
        for (canonical, other) in spellings.iter().filter(|(canonical, _)| text.contains(canonical)) {
            let line = forge(&text.replacen(canonical, other, 1));
            let journal = [&whole[..at].concat(), line.as_slice()].concat();
            assert_eq!(code(&check_bytes(&journal)), Some((at as u64, ReasonCode::NotCanonical)), "{other}");
            let found = check_on_all(&journal);
            let Outcome::Broken(found) = found.outcome else { panic!("{other} passed") };
            assert_eq!(found.line, at as u64);
            assert!(
                found.reasons.iter().any(|reason| reason.code == ReasonCode::RecordHashMismatch),
                "{other}"
            );
            forged += 1;
        }
    }
    assert!(forged > 50);
}

#[derive(Debug, Clone)]
enum Tampering {
    Flip { at: prop::sample::Index, bit: u8 },
    Put { at: prop::sample::Index, byte: u8 },
    Take { at: prop::sample::Index },
    SwapLines { left: prop::sample::Index, right: prop::sample::Index },
    DropLine { at: prop::sample::Index },
    RepeatLine { at: prop::sample::Index },
}

fn tampering() -> impl Strategy<Value = Tampering> {
    use any as arbitrary;
    let index = arbitrary::<prop::sample::Index>;
    let telling = prop::sample::select(&b"\n\r {}[]\",:0123456789abcdefxEe.-+\\"[..]);
    prop_oneof![
        (index(), 0..8u8).prop_map(|(at, bit)| Tampering::Flip { at, bit }),
        (index(), prop_oneof![telling, arbitrary::<u8>()]).prop_map(|(at, byte)| Tampering::Put { at, byte }),
        index().prop_map(|at| Tampering::Take { at }),
        (index(), index()).prop_map(|(left, right)| Tampering::SwapLines { left, right }),
        index().prop_map(|at| Tampering::DropLine { at }),
        index().prop_map(|at| Tampering::RepeatLine { at }),
    ]
}

fn tamper(journal: &[u8], tampering: &Tampering) -> Vec<u8> {
    let mut bytes = journal.to_vec();
    let mut lines = lines(journal);
    match tampering {
        Tampering::Flip { at, bit } => {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            return bytes;
        }
        Tampering::Put { at, byte } => {
            bytes.insert(at.index(bytes.len()), *byte);
            return bytes;
        }
        Tampering::Take { at } => {
            bytes.remove(at.index(bytes.len()));
            return bytes;
        }
        Tampering::SwapLines { left, right } => {
            let (left, right) = (left.index(lines.len()), right.index(lines.len()));
            lines.swap(left, right);
        }
        Tampering::DropLine { at } => drop(lines.remove(at.index(lines.len()))),
        Tampering::RepeatLine { at } => {
            let at = at.index(lines.len());
            lines.insert(at, lines[at].clone());
        }
    }
    lines.concat()
}

proptest! {
    #[test]
    fn tampering_is_judged_alike_by_any_number_of_threads(
        compat: bool,
        tamperings in proptest::collection::vec(tampering(), 1..4),
    ) {
        let journal = common::journal(12, if compat { Profile::COMPAT } else { Profile::STRICT });
        let tampered = tamperings.iter().fold(journal.clone(), |bytes, each| tamper(&bytes, each));
        let found = check_on_all(&tampered);
        if found.outcome.holds() && check_bytes(&tampered).holds() {
            // The only alteration that a bare chain cannot show is the removal of whole records at the end.
            prop_assert!(journal.starts_with(&tampered));
        }
        let report = Engine::new().verify(&Evidence::of_journal(&tampered, &NoBlobs), Level::Linked);
        prop_assert_eq!(report.outcome(Level::Chain), Some(&found.outcome));
    }

    #[test]
    fn a_tampered_line_is_read_as_its_canonical_form_would_be(each in tampering(), at: prop::sample::Index) {
        let journal = common::journal(1, Profile::STRICT);
        let whole = lines(&journal);
        let line = tamper(&whole[at.index(whole.len())], &each);
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        let read = Chained::decode(line, &Profile::STRICT);
        match parse(line) {
            Ok(value) => {
                let rewritten = Chained::decode(&canonical_bytes(&value), &Profile::STRICT);
                prop_assert_eq!(format!("{read:?}"), format!("{rewritten:?}"));
            }
            Err(_) => prop_assert!(read.is_err()),
        }
    }

    #[test]
    fn no_bytes_make_a_reader_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        tamperings in proptest::collection::vec(tampering(), 0..6),
    ) {
        let journal = common::journal(1, Profile::STRICT);
        let tampered = tamperings.iter().fold(journal, |bytes, each| tamper(&bytes, each));
        for bytes in [bytes.clone(), [tampered, bytes].concat()] {
            if let Ok((_, reader)) = Reader::open(&bytes) {
                prop_assert_eq!(reader.lines().count().get(), reader.count() as u64 + 1);
            }
            let _ = read_tail(&bytes);
            prop_assert_eq!(check_on_all(&bytes).records, Lines::of(&bytes).count().get());
        }
    }
}
