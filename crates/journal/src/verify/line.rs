//! One line by itself, on the general road.

use hence_canon::Digest;
use hence_canon::scan::Member;
use hence_state::Profile;

use super::{Reason, ReasonCode};
use crate::record::{self, Line, RecordKind};

/// What a line says about its place in the chain.
pub(super) struct Facts {
    pub(super) kind: RecordKind,
    pub(super) hash: Option<Digest>,
    pub(super) prev: Option<Digest>,
}

impl Facts {
    /// Returns why the line does not follow a line with the hash `before`, if it does not.
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

/// Takes the general road: any member, any order, any kind of record.
pub(super) fn check_any<'a>(
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
