//! The chain of an audit log.

use hence_canon::{Digest, Object, Value, parse};

use super::hash::{ascii_json, hmac_sha256};

const PREVIOUS: &str = "_prev_hash";
const OWN: &str = "_record_hash";
const KEYED: &str = "_record_hmac";
const GENESIS: &str = "genesis";

/// The link of a record to the one before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Link {
    /// The hash of the record before, or `genesis`.
    pub(super) previous: String,
    /// The hash of this record, its link to the one before included.
    pub(super) own: Digest,
    /// The same under a key.
    pub(super) keyed: Option<Digest>,
}

/// Returns the links of records in order.
pub(super) fn link(records: &[Object], key: Option<&[u8]>) -> Vec<Link> {
    let mut previous = GENESIS.to_owned();
    records
        .iter()
        .map(|record| {
            let text = hashed_text(&record.with(PREVIOUS, previous.clone()));
            let own = Digest::of(text.as_bytes());
            let keyed = key.map(|key| hmac_sha256(key, text.as_bytes()));
            let previous = std::mem::replace(&mut previous, own.to_string());
            Link { previous, own, keyed }
        })
        .collect()
}

fn hashed_text(record: &Object) -> String {
    ascii_json(&record.without(OWN).without(KEYED).into())
}

/// The result of checking a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Verification {
    /// Lines that hold something.
    pub(super) total: usize,
    /// The first line that does not hold, from 1.
    pub(super) first_broken_line: Option<usize>,
    /// The number of failed checks.
    pub(super) error_count: usize,
}

impl Verification {
    /// Returns whether every check passed. Records cut off at the end are not noticed: that needs a head stored
    /// elsewhere.
    pub(super) fn is_valid(&self) -> bool {
        self.error_count == 0
    }

    fn check(&mut self, line: usize, holds: bool) {
        if !holds {
            self.error_count += 1;
            self.first_broken_line.get_or_insert(line);
        }
    }
}

/// Checks the lines of a log: each is JSON, names the hash before it, and has the hash it states; with a key, each
/// carries its HMAC. A record without its hash, or without its HMAC when there is a key, does not hold.
pub(super) fn verify<'a>(lines: impl IntoIterator<Item = &'a str>, key: Option<&[u8]>) -> Verification {
    let mut verification = Verification::default();
    let mut previous = GENESIS.to_owned();
    for (number, line) in lines.into_iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let number = number + 1;
        verification.total += 1;
        match parse(line.trim().as_bytes()) {
            Err(_) => verification.check(number, false),
            // A line that is no record has no place in the chain and breaks nothing.
            Ok(value) => {
                if let Value::Object(record) = value {
                    previous = check_record(&mut verification, number, &record, &previous, key);
                }
            }
        }
    }
    verification
}

fn check_record(
    verification: &mut Verification,
    line: usize,
    record: &Object,
    previous: &str,
    key: Option<&[u8]>,
) -> String {
    let text = hashed_text(record);
    let computed = Digest::of(text.as_bytes()).to_string();
    let stored = record.get(OWN).and_then(Value::as_str);
    verification.check(line, record.get(PREVIOUS).and_then(Value::as_str) == Some(previous));
    verification.check(line, stored == Some(&computed));
    if let Some(key) = key {
        let keyed = hmac_sha256(key, text.as_bytes()).to_string();
        verification.check(line, record.get(KEYED).and_then(Value::as_str) == Some(&keyed));
    }
    stored.map_or(computed, str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        parse(text.as_bytes()).unwrap()
    }

    fn log(key: Option<&[u8]>) -> Vec<String> {
        let records: Vec<Object> =
            (0..3).map(|n| json(&format!(r#"{{"n": {n}}}"#)).as_object().unwrap().clone()).collect();
        let links = link(&records, key);
        let line = |(record, link): (Object, Link)| {
            let record = record.with(PREVIOUS, link.previous).with(OWN, link.own.to_string());
            let record = link.keyed.map_or(record.clone(), |keyed| record.with(KEYED, keyed.to_string()));
            Value::from(record).to_string()
        };
        records.into_iter().zip(links).map(line).collect()
    }

    fn check(lines: &[String], key: Option<&[u8]>) -> Verification {
        verify(lines.iter().map(String::as_str), key)
    }

    #[test]
    fn a_chain_holds_until_anything_in_it_changes() {
        let lines = log(None);
        assert!(check(&lines, None).is_valid());
        for (at, line) in lines.iter().enumerate() {
            let mut forged = lines.clone();
            forged[at] = line.replace(&format!("\"n\":{at}"), "\"n\":9");
            assert_eq!(check(&forged, None).first_broken_line, Some(at + 1));
        }
        let cut: Vec<String> = [&lines[..1], &lines[2..]].concat();
        assert_eq!(check(&cut, None).first_broken_line, Some(2));
    }

    #[test]
    fn with_a_key_every_record_must_carry_its_hmac() {
        assert!(check(&log(Some(b"k")), Some(b"k")).is_valid());
        assert_eq!(check(&log(Some(b"k")), Some(b"other")).error_count, 3);
        assert_eq!(check(&log(None), Some(b"k")).error_count, 3);
    }
}
