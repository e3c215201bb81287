//! Properties that hold for any bytes. Each function is a fuzz target (CONTRIBUTING.md shows the commands); the test
//! `fuzz_targets` of the engine runs the same functions over a small corpus on every machine.

use std::num::NonZeroUsize;

use hence_canon::{Digest, Value, canonical_bytes, parse, parse_lenient, scan};
use hence_engine::{Engine, Evidence, NoBlobs};
use hence_journal::verify::{Level, Outcome, check_bytes, check_chain};
use hence_journal::{Chained, Lines, Reader, RecordIndex, read_tail};

/// A parsed value is written and read back unchanged; both parsers agree on documents without defects.
pub fn parser(bytes: &[u8]) {
    let lenient = parse_lenient(bytes);
    let Ok(value) = parse(bytes) else {
        assert!(lenient.is_err() || lenient.is_ok_and(|lenient| !lenient.defects.is_empty()));
        return;
    };
    let lenient = lenient.expect("a lenient reader reads more");
    assert!(lenient.defects.is_empty() && lenient.value == value);
    let canonical = canonical_bytes(&value);
    assert_eq!(parse(&canonical).expect("canonical bytes are JSON"), value);
    assert_eq!(scan::prove(&canonical).expect("the writer writes canonical bytes").depth(), value.depth());
}

/// The scanner proves exactly what parsing and writing again would leave as it is.
pub fn scanner(bytes: &[u8]) {
    let slow = parse(bytes).is_ok_and(|value| canonical_bytes(&value) == bytes);
    assert_eq!(scan::prove(bytes).is_ok(), slow);
    if let Ok(leading) = scan::prove_leading(bytes, 0) {
        assert!(bytes.starts_with(leading.bytes()));
        assert_eq!(scan::prove(leading.bytes()), Ok(leading));
    }
}

/// Reading never panics, and a line means what its canonical form means.
pub fn reader(bytes: &[u8]) {
    let _ = read_tail(bytes);
    let Ok((_, reader)) = Reader::open(bytes) else { return };
    let (profile, lines) = (*reader.profile(), reader.lines().clone());
    for (index, read) in (1..).zip(reader) {
        let line = lines.get(RecordIndex::new(index)).expect("the reader has read it");
        let Ok(value) = parse(line) else {
            assert!(read.is_err());
            continue;
        };
        let rewritten = Chained::decode(&canonical_bytes(&value), &profile);
        assert_eq!(format!("{:?}", read.map_err(|error| error.error)), format!("{rewritten:?}"));
    }
}

/// Any number of threads finds the same, and what passes is canonical and hashed as a tree would be.
pub fn verifier(bytes: &[u8]) {
    let found = check_chain(bytes, NonZeroUsize::MIN);
    for threads in [2, 3, 8] {
        assert_eq!(check_chain(bytes, NonZeroUsize::new(threads).expect("not zero")), found);
    }
    assert_eq!(found.records, Lines::of(bytes).count().get());
    let report = Engine::new().verify(&Evidence::of_journal(bytes, &NoBlobs), Level::Linked);
    assert_eq!(report.outcome(Level::Chain), Some(&found.outcome));
    if found.outcome != Outcome::Holds {
        return;
    }
    let canonical = check_bytes(bytes) == Outcome::Holds;
    let mut before = None;
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let value = parse(line).expect("a line that passes is JSON");
        assert!(!canonical || canonical_bytes(&value) == line);
        let record = value.as_object().expect("a line that passes is an object");
        let stored = record.get("record_hash").and_then(Value::as_str).expect("a record has a hash");
        let hashed = Digest::of(&canonical_bytes(&Value::Object(record.without("record_hash"))));
        assert_eq!(stored, hashed.to_string());
        assert_eq!(record.get("prev_hash").and_then(Value::as_str), before.as_deref());
        before = Some(stored.to_owned());
    }
}
