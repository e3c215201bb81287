//! The levels that need the journal alone and no typed record: bytes and chain.
//!
//! Each record names the hash of the one before inside itself, so records are hashed independently: the journal is
//! cut at line starts, every core checks a stretch, and the seams are compared at the end.

use std::num::NonZeroUsize;
use std::thread;

use hence_canon::{Digest, scan};
use hence_state::{Profile, ProfileName};

use super::line::{Facts, check_line};
use super::{Break, Outcome, Reason, ReasonCode};
use crate::record::{self, Line};
use crate::{Head, RecordCount};

/// More threads than this wait for memory, not for each other.
const THREADS_MAX: usize = 64;
/// Starting a thread costs more than checking this much.
const STRETCH_BYTES_MIN: usize = 8 * 1024;

/// What the chain level found.
#[derive(Clone, PartialEq, Eq, Debug)]
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
        let Some(end) = memchr::memchr(b'\n', rest) else {
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
    join(&check_stretches(&stretches, &profile))
}

/// Checks the lines behind `head` as [`check_chain`] checks a whole journal: for a reader that has checked the rest.
pub fn check_behind(head: Head, lines: &[u8], profile: &Profile) -> ChainCheck {
    // What is known already stands for a stretch that was checked, so that the seam is compared like any other.
    let (records, last_hash) = (head.records.get(), Some(head.hash));
    let known = Stretch { first_line: 0, lines: records, first: None, last_hash, found: None };
    if lines.is_empty() { join(&[known]) } else { join(&[known, check_stretch(lines, records, profile)]) }
}

/// Checks each stretch on a thread of its own, the first on this one.
fn check_stretches(stretches: &[(u64, &[u8])], profile: &Profile) -> Vec<Stretch> {
    let check = |(first_line, bytes): &(u64, &[u8])| check_stretch(bytes, *first_line, profile);
    let Some((first, others)) = stretches.split_first() else { return Vec::new() };
    thread::scope(|scope| {
        let spawn = |stretch| (stretch, thread::Builder::new().spawn_scoped(scope, move || check(stretch)));
        let workers: Vec<_> = others.iter().map(spawn).collect();
        let mut checks = vec![check(first)];
        checks.extend(workers.into_iter().map(|(stretch, worker)| match worker {
            // A verdict without one of its stretches would be none: what went wrong there goes wrong here.
            Ok(worker) => worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // No thread to be had: this one does the work.
            Err(_) => check(stretch),
        }));
        checks
    })
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

fn broken(records: u64, line: u64, reasons: Vec<Reason>) -> ChainCheck {
    ChainCheck { outcome: Outcome::Broken(Break { line, reasons }), records, head: None }
}

/// Cuts a journal into stretches of whole lines, each with the number of its first line.
fn cut(journal: &[u8], threads: NonZeroUsize) -> Vec<(u64, &[u8])> {
    let threads = threads.get().min(THREADS_MAX);
    let target = journal.len().div_ceil(threads).max(STRETCH_BYTES_MIN);
    let mut stretches = Vec::with_capacity(threads);
    let (mut rest, mut first_line) = (journal, 0);
    while !rest.is_empty() {
        let from = target.min(rest.len()) - 1;
        let tail = rest.get(from..).unwrap_or_default();
        let end = memchr::memchr(b'\n', tail).map_or(rest.len(), |at| from + at + 1);
        let (stretch, behind) = rest.split_at(end);
        stretches.push((first_line, stretch));
        if !behind.is_empty() {
            first_line += line_feeds(stretch);
        }
        rest = behind;
    }
    stretches
}

/// What is known of a stretch: enough to join it with its neighbours.
struct Stretch {
    first_line: u64,
    lines: u64,
    first: Option<Facts>,
    last_hash: Option<Digest>,
    found: Option<Break>,
}

fn check_stretch(bytes: &[u8], first_line: u64, profile: &Profile) -> Stretch {
    let mut stretch = Stretch { first_line, lines: 0, first: None, last_hash: None, found: None };
    let mut members = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let number = first_line + stretch.lines;
        let mut line = check_line(rest, number, profile, &mut members);
        rest = line.behind;
        stretch.lines += 1;
        line.reasons.extend(stretch.last_hash.and_then(|before| line.facts.misses(before)));
        stretch.last_hash = line.facts.hash;
        // The first line of a stretch is compared with the line before it when stretches are joined.
        stretch.first.get_or_insert(line.facts);
        if !line.reasons.is_empty() {
            stretch.found = Some(Break { line: number, reasons: line.reasons });
            stretch.lines += count_lines(rest);
            break;
        }
    }
    stretch
}

/// Counts lines, an unfinished last one included.
fn count_lines(bytes: &[u8]) -> u64 {
    line_feeds(bytes) + u64::from(bytes.last().is_some_and(|byte| *byte != b'\n'))
}

fn line_feeds(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Joins stretches: the first line of each must name the last hash of the one before.
fn join(stretches: &[Stretch]) -> ChainCheck {
    let records = stretches.iter().map(|stretch| stretch.lines).sum();
    let mut last_hash: Option<Digest> = None;
    for stretch in stretches {
        let mut found = stretch.found.clone();
        let first = stretch.first.as_ref();
        if let Some(seam) = last_hash.zip(first).and_then(|(before, first)| first.misses(before)) {
            match &mut found {
                Some(first) if first.line == stretch.first_line => first.reasons.push(seam),
                _ => found = Some(Break { line: stretch.first_line, reasons: vec![seam] }),
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
