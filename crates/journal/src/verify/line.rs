//! Checks of a single line.

use hence_canon::Digest;
use hence_canon::scan::Member;
use hence_state::Profile;

use super::{Reason, ReasonCode};
use crate::record::{self, Chained, DecodeError, LINE_BYTES_MAX, Line, RecordKind, StepLayout};

/// The purpose of reading a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To check it.
    Check,
    /// To check it and to decode its record.
    Read,
}

/// The place in the chain that a line claims.
pub(super) struct Facts {
    pub(super) kind: RecordKind,
    pub(super) hash: Option<Digest>,
    pub(super) prev: Option<Digest>,
}

impl Facts {
    /// Returns the reason why the line does not follow a line with the hash `before`, if there is one.
    ///
    /// A line without a hash to compare lacks a member, which its shape reports.
    pub(super) fn misses(&self, before: Digest) -> Option<Reason> {
        match (self.prev, self.kind) {
            (Some(found), _) => Reason::unless_equal(ReasonCode::PrevHashMismatch, before, found),
            (None, RecordKind::Header) => Some(Reason::new(ReasonCode::PrevHashMismatch)),
            (None, _) => None,
        }
    }
}

/// A line that was checked by itself.
pub(super) struct Checked<'a> {
    pub(super) facts: Facts,
    /// The defects of the line.
    pub(super) reasons: Vec<Reason>,
    /// The record, when it was requested and the line has no defect.
    pub(super) record: Option<Result<Chained, DecodeError>>,
    /// The bytes after the line.
    pub(super) rest: &'a [u8],
}

/// Checks the line at the start of `bytes`, which is line `number` of its journal.
pub(super) fn check_line<'a>(
    bytes: &'a [u8],
    number: u64,
    profile: &Profile,
    purpose: Purpose,
    members: &mut Vec<Member<'a>>,
) -> Checked<'a> {
    let end = memchr::memchr(b'\n', bytes);
    let (text, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
    let rest = rest.get(1..).unwrap_or_default();
    let mut reasons = Vec::new();
    let is_usual = number > 0 && text.len() <= LINE_BYTES_MAX;
    let step = if is_usual { StepLayout::read(text, profile) } else { None };
    let (facts, record) = match step {
        Some(step) => {
            let facts = check_step(&step, number, &mut reasons);
            let is_wanted = purpose == Purpose::Read && reasons.is_empty();
            let decode =
                || step.decode(profile.typing).map_or_else(|| Chained::decode_any(text, profile), Ok);
            (facts, is_wanted.then(decode))
        }
        None => {
            let facts = check_any(text, number, profile, members, &mut reasons);
            let is_wanted = purpose == Purpose::Read && reasons.is_empty();
            let decode = || match number {
                0 => Chained::decode_header(text).map(|(header, _)| header),
                _ => Chained::decode_any(text, profile),
            };
            (facts, is_wanted.then(decode))
        }
    };
    let is_record = !reasons.iter().any(|reason| matches!(reason.code, ReasonCode::Line(_)));
    if end.is_none() && is_record {
        reasons.push(Reason::new(ReasonCode::MissingFinalLf));
    }
    if let Some(Ok(chained)) = &record {
        chained.record.hash_output();
    }
    Checked { facts, reasons, record, rest }
}

/// Checks a step as this version writes it, whose hash covers two spans of the line.
fn check_step(step: &StepLayout<'_>, number: u64, reasons: &mut Vec<Reason>) -> Facts {
    if step.index != number {
        reasons.push(Reason::mismatch(ReasonCode::IndexMismatch, number, step.index));
    }
    let computed = Digest::of_parts(step.hashed);
    if computed != step.record_hash {
        reasons.push(Reason::mismatch(ReasonCode::RecordHashMismatch, step.record_hash, computed));
    }
    Facts { kind: RecordKind::Step, hash: Some(step.record_hash), prev: Some(step.prev_hash) }
}

/// Checks any record: any member, any order, any kind.
fn check_any<'a>(
    text: &'a [u8],
    number: u64,
    profile: &Profile,
    members: &mut Vec<Member<'a>>,
    reasons: &mut Vec<Reason>,
) -> Facts {
    let line = match Line::read(text, members) {
        Ok(line) => line,
        Err(error) => {
            reasons.push(Reason::line(&error));
            return Facts { kind: RecordKind::Unknown, hash: None, prev: None };
        }
    };
    line.with_fields(members, |fields, canonical| {
        let kind = RecordKind::of(fields);
        record::check_shape(fields, profile, reasons);
        match (kind, number) {
            (RecordKind::Header, 0) => {}
            (RecordKind::Header, _) => reasons.push(Reason::new(ReasonCode::HeaderNotFirst)),
            (_, 0) => reasons.push(Reason::first_not_header()),
            _ => {}
        }
        let index = fields.get("index");
        let index_absent_in_header = kind == RecordKind::Header && index.is_none();
        if !index_absent_in_header && fields.number("index") != Some(number) {
            let found =
                index.map_or("none".into(), |value| String::from_utf8_lossy(value.bytes()).into_owned());
            reasons.push(Reason::mismatch(ReasonCode::IndexMismatch, number, found));
        }
        let hash = fields.digest("record_hash");
        let computed = record::record_hash(fields, canonical);
        match hash {
            Some(stored) => {
                reasons.extend(Reason::unless_equal(ReasonCode::RecordHashMismatch, stored, computed));
            }
            None => reasons.push(Reason::new(ReasonCode::RecordHashMismatch)),
        }
        Facts { kind, hash, prev: if kind == RecordKind::Header { None } else { fields.digest("prev_hash") } }
    })
}
