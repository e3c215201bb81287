//! Lines read together, so that their hashes are computed together.

use hence_canon::scan::Member;
use hence_canon::{Digest, Message, digest_each};
use hence_state::Profile;

use super::line::{Facts, check_any};
use super::{Reason, ReasonCode};
use crate::record::{LINE_BYTES_MAX, RecordKind, StepLayout};

/// How many lines are read before they are hashed: enough to keep the lanes full.
const LINES_MAX: usize = 256;
/// How many bytes are read before they are hashed: what was scanned is still in the cache then.
const BYTES_MAX: usize = 256 * 1024;

/// A line that was checked by itself.
pub(super) struct Checked<'a> {
    pub(super) facts: Facts,
    /// What is wrong with it.
    pub(super) reasons: Vec<Reason>,
    /// The stretch behind it.
    pub(super) behind: &'a [u8],
    /// Its place among those hashed together, unless it was hashed already.
    message: Option<usize>,
    ending: Ending,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    LineFeed,
    Missing,
}

#[derive(Default)]
pub(super) struct Batch<'a> {
    lines: Vec<Checked<'a>>,
    messages: Vec<Message<'a>>,
    digests: Vec<Digest>,
    members: Vec<Member<'a>>,
}

impl<'a> Batch<'a> {
    /// Reads and checks lines from the start of `bytes`, the first of which is line `number`, and returns what is
    /// left.
    pub(super) fn read(&mut self, bytes: &'a [u8], number: u64, profile: &Profile) -> &'a [u8] {
        self.lines.clear();
        self.messages.clear();
        let mut rest = bytes;
        for number in (number..).take(LINES_MAX) {
            if rest.is_empty() || bytes.len() - rest.len() > BYTES_MAX {
                break;
            }
            rest = self.read_line(rest, number, profile);
        }
        self.hash();
        rest
    }

    /// Hands over the lines that were read.
    pub(super) fn lines(&mut self) -> impl Iterator<Item = Checked<'a>> {
        self.lines.drain(..)
    }

    fn read_line(&mut self, bytes: &'a [u8], number: u64, profile: &Profile) -> &'a [u8] {
        let (text, behind, ending) = match memchr::memchr(b'\n', bytes) {
            Some(end) => {
                let (text, behind) = bytes.split_at(end);
                (text, behind.get(1..).unwrap_or_default(), Ending::LineFeed)
            }
            None => (bytes, bytes.get(bytes.len()..).unwrap_or_default(), Ending::Missing),
        };
        let mut reasons = Vec::new();
        let layout =
            if number > 0 && text.len() <= LINE_BYTES_MAX { StepLayout::read(text, profile) } else { None };
        let mut message = None;
        let facts = match layout {
            Some(step) => {
                if step.index != number {
                    reasons.push(Reason::mismatch(ReasonCode::IndexMismatch, number, step.index));
                }
                message = Some(self.messages.len());
                self.messages.push(step.hashed);
                Facts { kind: RecordKind::Step, hash: Some(step.record_hash), prev: Some(step.prev_hash) }
            }
            None => check_any(text, number, profile, &mut self.members, &mut reasons),
        };
        self.lines.push(Checked { facts, reasons, behind, message, ending });
        behind
    }

    /// Hashes what was read and compares it with what is stored.
    fn hash(&mut self) {
        self.digests.clear();
        digest_each(&self.messages, &mut self.digests);
        for line in &mut self.lines {
            let computed = line.message.and_then(|at| self.digests.get(at)).copied();
            if let (Some(stored), Some(computed)) = (line.facts.hash, computed) {
                line.reasons.extend(Reason::unless_equal(ReasonCode::RecordHashMismatch, stored, computed));
            }
            let is_record = !line.reasons.iter().any(|reason| matches!(reason.code, ReasonCode::Line(_)));
            if line.ending == Ending::Missing && is_record {
                line.reasons.push(Reason::new(ReasonCode::MissingFinalLf));
            }
        }
    }
}
