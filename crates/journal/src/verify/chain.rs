//! The levels that need the journal alone and no typed record: bytes and chain.
//!
//! Each record names the hash of the one before inside itself, so records are hashed independently: the journal is
//! cut at line starts, every core checks a stretch, and the seams are compared at the end.

use std::num::NonZeroUsize;

use hence_canon::Digest;
use hence_canon::scan::{self, Member};
use hence_state::{Profile, ProfileName};

use super::{Break, Outcome, Reason, ReasonCode};
use crate::record::{self, Line, RecordKind};
use crate::{Head, RecordCount};

/// What the chain level found.
#[derive(Clone, Debug)]
pub struct ChainCheck {
    /// Whether it holds.
    pub outcome: Outcome,
    /// How many lines there are.
    pub records: u64,
    /// Where the journal ends, when it holds.
    pub head: Option<Head>,
}

/// Checks that each line is the canonical form of its value and ends with a line feed.
pub fn check_bytes(journal: &[u8]) -> Outcome {
    let broken = |line, reason| Outcome::Broken(Break { line, reasons: vec![reason] });
    let mut line = 0;
    let mut rest = journal;
    while !rest.is_empty() {
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            return broken(line, Reason::new(ReasonCode::MissingFinalLf));
        };
        let (text, behind) = rest.split_at(end);
        let proved = scan::prove(text).map_err(|error| error.to_string());
        let is_object = text.first() == Some(&b'{');
        if let Err(found) = proved.and_then(|_| is_object.then_some(()).ok_or("not an object".to_owned())) {
            return broken(line, Reason { found: Some(found), ..Reason::new(ReasonCode::NotCanonical) });
        }
        rest = behind.get(1..).unwrap_or_default();
        line += 1;
    }
    Outcome::Holds
}

/// Checks framing, shapes, indices, links and hashes of a journal on up to `threads` threads.
pub fn check_chain(journal: &[u8], threads: NonZeroUsize) -> ChainCheck {
    if journal.is_empty() {
        return broken(0, 0, vec![Reason::new(ReasonCode::EmptyTrace)]);
    }
    let profile = profile_of(journal);
    let stretches = cut(journal, threads);
    let checks: Vec<Stretch> = std::thread::scope(|scope| {
        let workers: Vec<_> = stretches
            .iter()
            .map(|(first_line, bytes)| scope.spawn(move || check_stretch(bytes, *first_line, &profile)))
            .collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).collect()
    });
    debug_assert_eq!(checks.len(), stretches.len(), "checking does not panic");
    join(&checks)
}

/// Reads the profile from the first line. A first line that is no header is reported by its stretch.
fn profile_of(journal: &[u8]) -> Profile {
    let first = journal.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut members = Vec::new();
    let name = Line::read(first, &mut members)
        .ok()
        .and_then(|line| line.with_fields(&members, |fields, _| record::profile_of(fields)));
    Profile::named(name.unwrap_or(ProfileName::Strict))
}

fn broken(records: u64, line: u64, reasons: Vec<Reason>) -> ChainCheck {
    ChainCheck { outcome: Outcome::Broken(Break { line, reasons }), records, head: None }
}

/// Cuts a journal into stretches of whole lines, each with the number of its first line.
fn cut(journal: &[u8], threads: NonZeroUsize) -> Vec<(u64, &[u8])> {
    let target = journal.len().div_ceil(threads.get()).max(1);
    let mut stretches = Vec::with_capacity(threads.get());
    let (mut rest, mut first_line) = (journal, 0);
    while !rest.is_empty() {
        let from = target.min(rest.len()) - 1;
        let tail = rest.get(from..).unwrap_or_default();
        let end = tail.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| from + at + 1);
        let (stretch, behind) = rest.split_at(end);
        stretches.push((first_line, stretch));
        first_line += stretch.iter().map(|byte| u64::from(*byte == b'\n')).sum::<u64>();
        rest = behind;
    }
    stretches
}

/// What is known of a stretch: enough to join it with its neighbours.
struct Stretch {
    first_line: u64,
    lines: u64,
    first_prev: Option<Digest>,
    last_hash: Option<Digest>,
    found: Option<Break>,
}

fn check_stretch(bytes: &[u8], first_line: u64, profile: &Profile) -> Stretch {
    let mut stretch = Stretch { first_line, lines: 0, first_prev: None, last_hash: None, found: None };
    let mut members: Vec<Member<'_>> = Vec::with_capacity(32);
    let mut reasons = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let end = find_line_feed(rest);
        let text = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        let number = first_line + stretch.lines;
        stretch.lines += 1;
        let facts = check_line(text, number, profile, &mut members, &mut reasons);
        if end.is_none() && !reasons.iter().any(|reason| matches!(reason.code, ReasonCode::Line(_))) {
            reasons.push(Reason::new(ReasonCode::MissingFinalLf));
        }
        // The first line of a stretch is compared with the line before it when stretches are joined.
        if stretch.lines == 1 {
            stretch.first_prev = facts.prev;
        } else if let (Some(found), Some(expected)) = (facts.prev, stretch.last_hash) {
            reasons.extend(Reason::unless_equal(ReasonCode::PrevHashMismatch, expected, found));
        } else if facts.kind == RecordKind::Header && number > 0 {
            reasons.push(Reason::new(ReasonCode::PrevHashMismatch));
        }
        if !reasons.is_empty() {
            stretch.found = Some(Break { line: number, reasons: std::mem::take(&mut reasons) });
            stretch.lines += count_lines(rest.get(text.len() + 1..).unwrap_or_default());
            return stretch;
        }
        stretch.last_hash = facts.hash;
        rest = rest.get(text.len() + 1..).unwrap_or_default();
    }
    stretch
}

fn find_line_feed(bytes: &[u8]) -> Option<usize> {
    memchr::memchr(b'\n', bytes)
}

/// Counts lines, an unfinished last one included.
fn count_lines(bytes: &[u8]) -> u64 {
    let whole: u64 = bytes.iter().map(|byte| u64::from(*byte == b'\n')).sum();
    whole + u64::from(bytes.last().is_some_and(|byte| *byte != b'\n'))
}

struct Facts {
    kind: RecordKind,
    hash: Option<Digest>,
    prev: Option<Digest>,
}

/// Checks one line by itself and adds what is wrong to `reasons`.
fn check_line<'a>(
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

/// Joins stretches: the first line of each must name the last hash of the one before.
fn join(stretches: &[Stretch]) -> ChainCheck {
    let records = stretches.iter().map(|stretch| stretch.lines).sum();
    let mut last_hash: Option<Digest> = None;
    for stretch in stretches {
        let mut found = stretch.found.clone();
        if let Some(expected) = last_hash {
            let seam = match stretch.first_prev {
                Some(prev) => Reason::unless_equal(ReasonCode::PrevHashMismatch, expected, prev),
                None => Some(Reason::new(ReasonCode::PrevHashMismatch)),
            };
            if let Some(seam) = seam {
                match &mut found {
                    Some(first) if first.line == stretch.first_line => first.reasons.push(seam),
                    _ => found = Some(Break { line: stretch.first_line, reasons: vec![seam] }),
                }
            }
        }
        if let Some(found) = found {
            return ChainCheck { outcome: Outcome::Broken(found), records, head: None };
        }
        last_hash = stretch.last_hash;
    }
    let head = last_hash.map(|hash| Head { hash, records: RecordCount::new(records) });
    ChainCheck { outcome: Outcome::Holds, records, head }
}
