//! The fuzz targets over a small corpus: seeds, and seeds with a few bytes changed by fixed numbers.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "helpers of tests")]

mod common;
#[expect(unreachable_pub, reason = "a library when it is fuzzed, a module here")]
#[path = "../../../fuzz/src/lib.rs"]
mod targets;

use hence_state::Profile;

/// How many variants of each seed every target is given.
const VARIANTS: u64 = 300;

/// A generator of fixed numbers: the corpus is the same on every machine.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below.max(1) as u64).unwrap()
    }
}

fn variant(seed: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    const TELLING: &[u8] = b"\n\r\0 {}[]\",:0123456789abcdefuE.-+\\\xef\xff";
    let mut bytes = seed.to_vec();
    for _ in 0..=numbers.next(3) {
        let at = numbers.next(bytes.len() + 1);
        let byte = TELLING[numbers.next(TELLING.len())];
        match numbers.next(5) {
            0 => bytes.insert(at, byte),
            1 => bytes.truncate(at),
            2 if at < bytes.len() => drop(bytes.remove(at)),
            3 if at < bytes.len() => bytes[at] = byte,
            _ => {
                let other = numbers.next(bytes.len() + 1);
                let piece = bytes[at.min(other)..at.max(other)].to_vec();
                bytes.splice(at..at, piece.into_iter().take(64));
            }
        }
    }
    bytes
}

fn seeds() -> Vec<Vec<u8>> {
    let strict = common::journal(1, Profile::STRICT);
    let lines = strict.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let documents = [
        "",
        "null",
        "[1,-2,0.5,1e+16,1e-05,-0.0,123456789012345678901234567890]",
        r#"{"":[],"\n":{},"a":"\u0001\\\"é😀","b":[[[]]]}"#,
        r#"{"b":1,"a":2,"a":3}"#,
        r#"["\ud83d\ude00","\ud800",NaN,1E400]"#,
    ];
    let documents = documents.map(|text| text.as_bytes().to_vec());
    let journals = [strict, common::journal(2, Profile::COMPAT)];
    documents.into_iter().chain(lines).chain(journals).collect()
}

fn run(target: fn(&[u8])) {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for seed in seeds() {
        target(&seed);
        (0..VARIANTS).for_each(|_| target(&variant(&seed, &mut numbers)));
    }
}

#[test]
fn the_parser_holds_over_the_corpus() {
    run(targets::parser);
}

#[test]
fn the_scanner_holds_over_the_corpus() {
    run(targets::scanner);
}

#[test]
fn the_reader_holds_over_the_corpus() {
    run(targets::reader);
}

#[test]
fn the_verifier_holds_over_the_corpus() {
    run(targets::verifier);
}
