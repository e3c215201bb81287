//! The fuzz targets over a small corpus: seeds, and seeds with a few bytes changed by fixed numbers.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "helpers of tests")]

mod common;
#[path = "../../../fuzz/src/corpus.rs"]
mod corpus;
#[expect(unreachable_pub, reason = "a library when it is fuzzed, a module here")]
#[path = "../../../fuzz/src/lib.rs"]
mod targets;

use hence_state::Profile;

/// The number of variants of each seed.
const VARIANTS: u64 = 300;

const TELLING: &[u8] = b"\n\r\0 {}[]\",:0123456789abcdefuE.-+\\\xef\xff";

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

#[test]
fn the_parser_holds_over_the_corpus() {
    corpus::run("parser", targets::parser, seeds(), TELLING, VARIANTS);
}

#[test]
fn the_scanner_holds_over_the_corpus() {
    corpus::run("scanner", targets::scanner, seeds(), TELLING, VARIANTS);
}

#[test]
fn the_reader_holds_over_the_corpus() {
    corpus::run("reader", targets::reader, seeds(), TELLING, VARIANTS);
}

#[test]
fn the_verifier_holds_over_the_corpus() {
    corpus::run("verifier", targets::verifier, seeds(), TELLING, VARIANTS);
}
