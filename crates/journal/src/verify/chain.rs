//! The levels that need the journal alone and no typed record: bytes and chain.
//!
//! Each record names the hash of the record before it inside itself, so records are hashed independently: every core
//! checks stretches of the journal, and the seams between stretches are compared in order.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};

use hence_canon::{Digest, scan};
use hence_state::{Profile, ProfileName};

use super::line::{Facts, Purpose, check_line};
use super::stretches::{STRETCH_BYTES_MAX, Stretch, in_order, line_feeds};
use super::{Break, Outcome, Reason, ReasonCode};
use crate::reader::ReadError;
use crate::record::{self, Chained, Line};
use crate::{Head, RecordCount, RecordIndex};

/// The size of a usual record, to reserve room for the records of a stretch.
const RECORD_BYTES_USUAL: usize = 512;

/// The findings of the chain level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChainCheck {
    /// Whether the level holds.
    pub outcome: Outcome,
    /// The number of lines.
    pub records: u64,
    /// The end of the journal, when the level holds.
    pub head: Option<Head>,
}

/// The reasons why [`read_verified`] refuses a journal.
#[derive(Debug)]
pub enum ReadVerifiedError<E> {
    /// The chain is broken.
    Broken(Break),
    /// A line is not a record.
    Read(ReadError),
    /// The caller refused a record.
    Refused(E),
}

/// Checks that each line is the canonical form of its value and ends with a line feed.
pub fn check_bytes(journal: &[u8]) -> Outcome {
    let broken = |line, reason| Outcome::Broken(Break { line, reasons: vec![reason] });
    let mut line = 0;
    let mut rest = journal;
    while !rest.is_empty() {
        let Some(end) = memchr::memchr(b'\n', rest) else {
            return broken(line, Reason::new(ReasonCode::MissingFinalLf));
        };
        let (text, after) = rest.split_at(end);
        let proved = scan::prove(text).map_err(|error| error.to_string());
        let is_object = text.first() == Some(&b'{');
        if let Err(found) = proved.and_then(|_| is_object.then_some(()).ok_or("not an object".to_owned())) {
            return broken(line, Reason { found: Some(found), ..Reason::new(ReasonCode::NotCanonical) });
        }
        rest = after.get(1..).unwrap_or_default();
        line += 1;
    }
    Outcome::Holds
}

/// Checks framing, shapes, indices, links and hashes of a journal on up to `threads` threads.
pub fn check_chain(journal: &[u8], threads: NonZeroUsize) -> ChainCheck {
    let profile = profile_of(journal);
    let mut chain = Chain::default();
    let is_broken = AtomicBool::new(false);
    in_order(
        journal,
        threads,
        usize::MAX,
        |stretch| match is_broken.load(Ordering::Relaxed) {
            true => Checked::uncheckable(stretch),
            false => check_stretch(stretch, &profile, Purpose::Check),
        },
        |checked| {
            chain.join(checked);
            is_broken.store(chain.found.is_some(), Ordering::Relaxed);
        },
    );
    chain.into_check()
}

/// Checks the lines after `head` as [`check_chain`] checks a whole journal, for a reader that has checked the rest.
pub fn check_behind(head: Head, lines: &[u8], profile: &Profile) -> ChainCheck {
    let mut chain = Chain { records: head.records.get(), last_hash: Some(head.hash), found: None };
    if !lines.is_empty() {
        let stretch = Stretch { first_line: head.records.get(), bytes: lines };
        chain.join(check_stretch(stretch, profile, Purpose::Check));
    }
    chain.into_check()
}

/// Reads a journal once: checks the chain and decodes the records on up to `threads` threads, and hands the records to
/// `fold` in order, the header first. Returns the head.
///
/// # Errors
/// [`ReadVerifiedError`]. A broken chain is reported before anything else, also when it breaks after a record that
/// `fold` refused: nothing that `fold` made of the records may be used then.
pub fn read_verified<E>(
    journal: &[u8],
    threads: NonZeroUsize,
    mut fold: impl FnMut(Chained) -> Result<(), E>,
) -> Result<Head, ReadVerifiedError<E>> {
    let profile = profile_of(journal);
    let mut chain = Chain::default();
    let mut refused = None;
    let (is_broken, is_refused) = (AtomicBool::new(false), AtomicBool::new(false));
    in_order(
        journal,
        threads,
        STRETCH_BYTES_MAX,
        |stretch| match (is_broken.load(Ordering::Relaxed), is_refused.load(Ordering::Relaxed)) {
            (true, _) => Checked::uncheckable(stretch),
            (false, true) => check_stretch(stretch, &profile, Purpose::Check),
            (false, false) => check_stretch(stretch, &profile, Purpose::Read),
        },
        |mut checked| {
            let records = std::mem::take(&mut checked.records);
            chain.join(checked);
            is_broken.store(chain.found.is_some(), Ordering::Relaxed);
            if chain.found.is_none() && refused.is_none() {
                let mut taken = records.into_iter().map(|record| {
                    record
                        .map_err(ReadVerifiedError::Read)
                        .and_then(|record| fold(record).map_err(ReadVerifiedError::Refused))
                });
                refused = taken.find_map(Result::err);
                is_refused.store(refused.is_some(), Ordering::Relaxed);
            }
        },
    );
    let check = chain.into_check();
    match (check.outcome, refused, check.head) {
        (Outcome::Broken(found), ..) => Err(ReadVerifiedError::Broken(found)),
        (_, Some(refused), _) => Err(refused),
        (_, None, Some(head)) => Ok(head),
        // A chain that holds has a head.
        (_, None, None) => Err(ReadVerifiedError::Broken(empty())),
    }
}

/// Reads the profile from the first line. A first line that is no header is reported by its stretch.
fn profile_of(journal: &[u8]) -> Profile {
    let end = memchr::memchr(b'\n', journal).unwrap_or(journal.len());
    let first = journal.get(..end).unwrap_or_default();
    let mut members = Vec::new();
    let name = Line::read(first, &mut members)
        .ok()
        .and_then(|line| line.with_fields(&members, |fields, _| record::profile_of(fields)));
    Profile::named(name.unwrap_or(ProfileName::Strict))
}

fn empty() -> Break {
    Break { line: 0, reasons: vec![Reason::new(ReasonCode::EmptyTrace)] }
}

/// A stretch that was checked: enough to join it with its neighbours.
struct Checked {
    first_line: u64,
    lines: u64,
    first: Option<Facts>,
    last_hash: Option<Digest>,
    found: Option<Break>,
    /// The records before the first break, when they were asked for.
    records: Vec<Result<Chained, ReadError>>,
}

impl Checked {
    /// Counts the lines of a stretch after a break, which cannot be checked.
    fn uncheckable(stretch: Stretch<'_>) -> Self {
        Self { lines: count_lines(stretch.bytes), ..Self::begin(stretch) }
    }

    fn begin(stretch: Stretch<'_>) -> Self {
        let first_line = stretch.first_line;
        Self { first_line, lines: 0, first: None, last_hash: None, found: None, records: Vec::new() }
    }
}

fn check_stretch(stretch: Stretch<'_>, profile: &Profile, purpose: Purpose) -> Checked {
    let mut checked = Checked::begin(stretch);
    if purpose == Purpose::Read {
        checked.records.reserve(stretch.bytes.len() / RECORD_BYTES_USUAL + 1);
    }
    let mut members = Vec::new();
    let mut rest = stretch.bytes;
    while !rest.is_empty() {
        let number = stretch.first_line + checked.lines;
        let mut line = check_line(rest, number, profile, purpose, &mut members);
        rest = line.rest;
        checked.lines += 1;
        line.reasons.extend(checked.last_hash.and_then(|before| line.facts.misses(before)));
        checked.last_hash = line.facts.hash;
        // The first line of a stretch is compared with the line before it when stretches are joined.
        checked.first.get_or_insert(line.facts);
        if !line.reasons.is_empty() {
            checked.found = Some(Break { line: number, reasons: line.reasons });
            checked.lines += count_lines(rest);
            break;
        }
        let index = RecordIndex::new(number);
        checked.records.extend(line.record.map(|record| record.map_err(|error| ReadError { index, error })));
    }
    checked
}

/// Counts lines, an unfinished last one included.
fn count_lines(bytes: &[u8]) -> u64 {
    line_feeds(bytes) + u64::from(bytes.last().is_some_and(|byte| *byte != b'\n'))
}

/// The stretches joined so far.
#[derive(Default)]
struct Chain {
    records: u64,
    last_hash: Option<Digest>,
    found: Option<Break>,
}

impl Chain {
    /// Joins the next stretch: its first line must name the last hash of the stretch before.
    fn join(&mut self, checked: Checked) {
        self.records += checked.lines;
        if self.found.is_some() {
            return;
        }
        self.found = checked.found;
        let seam = self.last_hash.zip(checked.first).and_then(|(before, first)| first.misses(before));
        if let Some(seam) = seam {
            match &mut self.found {
                Some(found) if found.line == checked.first_line => found.reasons.push(seam),
                found => *found = Some(Break { line: checked.first_line, reasons: vec![seam] }),
            }
        }
        self.last_hash = checked.last_hash;
    }

    fn into_check(self) -> ChainCheck {
        let records = self.records;
        let found = if records == 0 { Some(empty()) } else { self.found };
        match found {
            Some(found) => ChainCheck { outcome: Outcome::Broken(found), records, head: None },
            None => {
                let head = self.last_hash.map(|hash| Head { hash, records: RecordCount::new(records) });
                ChainCheck { outcome: Outcome::Holds, records, head }
            }
        }
    }
}
