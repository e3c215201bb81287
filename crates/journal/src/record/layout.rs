//! The layout this version gives the record of a successful step, read without searching.
//!
//! Canonical form fixes the order of members, so the commonest record is a fixed text with values in known places:
//! one comparison proves a key, its place and its spelling. A line of this layout is canonical and of the right
//! shape; any other line is left to the general decoder. Nothing is accepted here that would not be
//! accepted there (`tests` below compare the two).

use std::sync::{Arc, LazyLock};

use hence_canon::scan::{self, Proved};
use hence_canon::{Canonical, Digest, Object};
use hence_state::{Outcome, Profile, RESULT_VERSION, StepIndex, StepResult, Timestamp, Typing};

use super::{Chained, Record, StepRecord};
use crate::RecordIndex;

// The layout below spells the version out.
const _: () = assert!(matches!(RESULT_VERSION.as_bytes(), b"1.0.0"));

/// The number of containers around a step's output: the record and its result.
const OUTPUT_ENCLOSED_BY: usize = 2;

/// The values of a step's record, proved canonical and of the right shape.
pub(crate) struct StepLayout<'a> {
    pub(crate) index: u64,
    pub(crate) prev_hash: Digest,
    pub(crate) record_hash: Digest,
    /// The line before and after the member `record_hash` and its comma: the bytes that the hash covers.
    pub(crate) hashed: [&'a [u8]; 2],
    finished_at: &'a str,
    input_hash: &'a [u8; Digest::HEX_BYTES],
    output: Proved<'a>,
    output_hash: &'a [u8; Digest::HEX_BYTES],
    started_at: &'a str,
    step: &'a str,
    state_after_hash: &'a [u8; Digest::HEX_BYTES],
    state_before_hash: &'a [u8; Digest::HEX_BYTES],
    step_index: u64,
}

impl<'a> StepLayout<'a> {
    /// Reads a line of this layout without its line feed; `None` for any other.
    #[inline]
    pub(crate) fn read(line: &'a [u8], profile: &Profile) -> Option<Self> {
        let mut text = Text { rest: line };
        text.literal(b"{\"index\":")?;
        let index = text.number().filter(|index| *index > 0)?;
        text.literal(b",\"prev_hash\":\"")?;
        let prev_hash = text.digest()?;
        let before = line.get(..line.len() - text.rest.len() + 1)?;
        text.literal(b"\",\"record_hash\":\"")?;
        let record_hash = text.digest()?;
        let behind = text.rest.get(1..)?;
        text.literal(b"\",\"result\":{\"finished_at\":\"")?;
        let finished_at = text.time(profile.typing)?;
        text.literal(b"\",\"input_hash\":\"")?;
        let input_hash = text.hex()?;
        text.literal(b"\",\"output\":")?;
        let output = text.output()?;
        text.literal(b",\"output_hash\":\"")?;
        let output_hash = text.hex()?;
        text.literal(b"\",\"started_at\":\"")?;
        let started_at = text.time(profile.typing)?;
        text.literal(b"\",\"status\":\"success\",\"step\":\"")?;
        let step = text.plain()?;
        text.literal(b"\",\"version\":\"1.0.0\"},\"state_after_hash\":\"")?;
        let state_after_hash = text.hex()?;
        text.literal(b"\",\"state_before_hash\":\"")?;
        let state_before_hash = text.hex()?;
        text.literal(b"\",\"step_index\":")?;
        let step_index = text.number()?;
        text.literal(b",\"type\":\"step\"}")?;
        // Both are ASCII of one shape, so their bytes compare like their digits.
        if !text.rest.is_empty() || started_at > finished_at {
            return None;
        }
        Some(Self {
            index,
            prev_hash,
            record_hash,
            hashed: [before, behind],
            finished_at,
            input_hash,
            output,
            output_hash,
            started_at,
            step,
            state_after_hash,
            state_before_hash,
            step_index,
        })
    }

    /// Creates the record.
    pub(crate) fn decode(&self, typing: Typing) -> Option<Chained> {
        static VERSION: LazyLock<Arc<str>> = LazyLock::new(|| RESULT_VERSION.into());
        let digest = |hex: &[u8; Digest::HEX_BYTES]| Digest::from_hex(hex);
        let result = StepResult::restore(
            VERSION.clone(),
            self.step,
            digest(self.input_hash)?,
            digest(self.output_hash)?,
            Timestamp::parse_as(self.started_at, typing).ok()?,
            Timestamp::parse_as(self.finished_at, typing).ok()?,
            Outcome::Success(Canonical::from_proved(self.output)),
            Object::new(),
        );
        let record = Record::Step(StepRecord {
            step_index: StepIndex::new(self.step_index),
            result,
            state_before_hash: digest(self.state_before_hash)?,
            state_after_hash: digest(self.state_after_hash)?,
        });
        Some(Chained {
            record,
            index: RecordIndex::new(self.index),
            hash: self.record_hash,
            prev_hash: Some(self.prev_hash),
        })
    }
}

/// The rest of a line.
struct Text<'a> {
    rest: &'a [u8],
}

impl<'a> Text<'a> {
    #[inline]
    fn literal<const LENGTH: usize>(&mut self, literal: &[u8; LENGTH]) -> Option<()> {
        // A length known to the compiler is compared in registers.
        let (found, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        (found == literal).then_some(())
    }

    /// Reads a digest.
    #[inline]
    fn digest(&mut self) -> Option<Digest> {
        let (hex, rest) = self.rest.split_at_checked(Digest::HEX_BYTES)?;
        self.rest = rest;
        Digest::from_hex(hex)
    }

    /// Reads 64 lower-case hex digits.
    #[inline]
    fn hex(&mut self) -> Option<&'a [u8; Digest::HEX_BYTES]> {
        let (hex, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Digest::is_hex(hex).then_some(hex)
    }

    /// Reads a canonical number that fits 64 bits.
    #[inline]
    fn number(&mut self) -> Option<u64> {
        let mut number: u64 = 0;
        let mut length = 0;
        while let Some(digit @ b'0'..=b'9') = self.rest.get(length) {
            number = number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
            length += 1;
        }
        let (digits, rest) = self.rest.split_at(length);
        self.rest = rest;
        (length == 1 || (length > 1 && digits.first() != Some(&b'0'))).then_some(number)
    }

    /// Reads a time in ASCII.
    #[inline]
    fn time(&mut self, typing: Typing) -> Option<&'a str> {
        const TIME_BYTES: usize = "2026-02-02T00:00:00Z".len();
        let (time, rest) = self.rest.split_at_checked(TIME_BYTES)?;
        let time = str::from_utf8(time).ok().filter(|time| time.is_ascii())?;
        self.rest = rest;
        Timestamp::is_valid(time, typing).then_some(time)
    }

    /// Reads a text without escapes, up to its closing quote.
    #[inline]
    fn plain(&mut self) -> Option<&'a str> {
        let (text, rest) = self.rest.split_at(scan::plain_length(self.rest));
        self.rest = rest;
        str::from_utf8(text).ok().filter(|text| !text.is_empty())
    }

    /// Reads an object or a list.
    fn output(&mut self) -> Option<Proved<'a>> {
        if !matches!(self.rest.first(), Some(b'{' | b'[')) {
            return None;
        }
        let proved = scan::prove_leading(self.rest, OUTPUT_ENCLOSED_BY).ok()?;
        self.rest = self.rest.get(proved.bytes().len()..)?;
        Some(proved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::Reason;
    use hence_canon::{Value, parse};
    use proptest::prelude::*;

    fn line(output: &str, step: &str) -> Vec<u8> {
        let at = |text| Timestamp::parse(text).unwrap();
        let result = StepResult::new(
            step,
            &Value::Null,
            at("2026-02-02T00:00:00Z"),
            at("2026-02-02T00:00:01Z"),
            Outcome::Success(parse(output.as_bytes()).unwrap().into()),
        );
        let digest = Digest::of(b"state");
        let step_index = StepIndex::new(10);
        let record = StepRecord { step_index, result, state_before_hash: digest, state_after_hash: digest };
        let before = crate::Head { hash: Digest::of(b"before"), records: crate::RecordCount::new(7) };
        let mut line = Record::Step(record).seal(Some(before)).line().to_vec();
        line.pop();
        line
    }

    /// The answer of the general decoder: the record's reasons and members.
    fn general(line: &[u8], profile: &Profile) -> (Vec<Reason>, String) {
        let mut reasons = Vec::new();
        let mut members = Vec::new();
        if let Ok(read) = super::super::Line::read(line, &mut members) {
            read.with_fields(&members, |fields, _| super::super::check_shape(fields, profile, &mut reasons));
        }
        (reasons, format!("{:?}", Chained::decode_any(line, profile)))
    }

    #[test]
    fn what_is_sealed_has_the_layout_unless_its_name_needs_escapes() {
        for profile in [Profile::STRICT, Profile::COMPAT] {
            assert!(StepLayout::read(&line(r#"{"a":[1.5,"é"]}"#, "Compute"), &profile).is_some());
            assert!(StepLayout::read(&line("[]", "éß"), &profile).is_some());
            assert!(StepLayout::read(&line("{}", "a\"b"), &profile).is_none());
            assert!(StepLayout::read(&line("3", "Compute"), &profile).is_none());
        }
    }

    #[test]
    fn what_the_hash_covers_is_the_record_without_its_hash() {
        let line = line(r#"{"a":1}"#, "Compute");
        let step = StepLayout::read(&line, &Profile::STRICT).unwrap();
        assert_eq!(Digest::of_parts(step.hashed), step.record_hash);
    }

    proptest! {
        #[test]
        fn a_line_of_the_layout_is_one_the_general_road_accepts_with_the_same_record(
            output in prop::sample::select(vec!["{}", r#"{"a":[1.5,"\n"]}"#, "[[],{}]"]),
            edits in proptest::collection::vec((any::<prop::sample::Index>(), 0..3u8, any::<u8>()), 0..3),
            telling in proptest::collection::vec(prop::sample::select(&b"\"{}[],:0123456789abcf\\ TZ-"[..]), 3),
            lax: bool,
        ) {
            let profile = if lax { Profile::COMPAT } else { Profile::STRICT };
            let mut line = line(output, "Compute");
            for ((at, edit, byte), telling) in edits.into_iter().zip(telling) {
                let at = at.index(line.len());
                match edit {
                    0 => line[at] = telling,
                    1 => line[at] = byte,
                    _ => drop(line.remove(at)),
                }
            }
            if let Some(step) = StepLayout::read(&line, &profile) {
                let (reasons, decoded) = general(&line, &profile);
                prop_assert_eq!(reasons, vec![]);
                let fast: Result<Chained, super::super::DecodeError> = Ok(step.decode(profile.typing).unwrap());
                prop_assert_eq!(format!("{:?}", fast), decoded);
                prop_assert!(scan::prove(&line).is_ok());
            }
        }

        #[test]
        fn a_digit_changed_within_a_value_is_read_as_the_general_road_reads_it(at: prop::sample::Index) {
            let mut line = line(r#"{"n":12345,"t":"some text"}"#, "Compute");
            let digits: Vec<usize> = (0..line.len()).filter(|at| line[*at].is_ascii_digit()).collect();
            let at = digits[at.index(digits.len())];
            line[at] = b'0' + (line[at] - b'0' + 1) % 10;
            let (_, decoded) = general(&line, &Profile::STRICT);
            prop_assert_eq!(format!("{:?}", Chained::decode(&line, &Profile::STRICT)), decoded);
        }
    }
}
