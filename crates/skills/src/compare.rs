//! Comparison of linked runs.
//!
//! A journal is verified by itself. A statement about another journal, such as the shared beginning of a fork or the
//! head of a nested run, is checked by comparing the two.

use std::num::NonZeroUsize;
use std::sync::Arc;

use hence_canon::Digest;
use hence_engine::attempt;
use hence_journal::verify::{Outcome, check_chain};
use hence_journal::{Head, Lines, ReadError, Reader, Record, RecordCount, RecordIndex};
use hence_state::StepResult;

use crate::effective_records::{EffectiveRecord, RecordKind, effective_records, kind_of};
use crate::links::Origin;

/// The difference between a linked run and the run that was named.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The run has fewer records than named.
    #[error("it has {found} records, and {named} are named")]
    TooShort {
        /// The number of records that are named.
        named: RecordCount,
        /// The number of records it has.
        found: RecordCount,
    },
    /// The chain is broken before the named record.
    #[error("its record {line} does not hold: {reasons}")]
    Broken {
        /// The line, from 0.
        line: u64,
        /// The checks that fail.
        reasons: String,
    },
    /// The chain holds, but the record has another hash than named.
    #[error("its record {index} has the hash {}, named is {}", .found.short(), .named.short())]
    OtherRecord {
        /// The index of the record.
        index: RecordIndex,
        /// The hash that is named.
        named: Digest,
        /// The hash of the record.
        found: Digest,
    },
    /// A shared result is missing, or differs.
    #[error("the result of step `{step}` in its record {index} is not the one that was carried over")]
    OtherResult {
        /// The step.
        step: Arc<str>,
        /// The record of the origin that holds the result.
        index: RecordIndex,
    },
    /// A line is not a record.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Checks that a journal begins with the records a head names, and that their chain holds. More records may follow.
/// Returns the named records.
///
/// # Errors
/// [`LinkError`] when it does not.
pub fn begins_with(journal: &[u8], head: Head) -> Result<&[u8], LinkError> {
    let lines = Lines::of(journal);
    if lines.count() < head.records {
        return Err(LinkError::TooShort { named: head.records, found: lines.count() });
    }
    let end = lines.offset(head.records.next_index()).unwrap_or(journal.len());
    let named = journal.get(..end).unwrap_or_default();
    let chain = check_chain(named, NonZeroUsize::MIN);
    match (chain.outcome, chain.head) {
        (Outcome::Holds, Some(found)) if found.hash == head.hash => Ok(named),
        (Outcome::Holds, found) => Err(LinkError::OtherRecord {
            index: RecordIndex::new(head.records.get().saturating_sub(1)),
            named: head.hash,
            found: found.map_or(Digest::of(b""), |found| found.hash),
        }),
        (Outcome::Broken(found), _) => {
            let reasons: Vec<String> = found.reasons.iter().map(ToString::to_string).collect();
            Err(LinkError::Broken { line: found.line, reasons: reasons.join("; ") })
        }
        (Outcome::NotChecked(why), _) => Err(LinkError::Broken { line: 0, reasons: why }),
    }
}

/// Compares the beginning of a fork with the run it names, and returns how many results they share.
///
/// The records of the origin up to the one that is named must hold, that one must have the hash that is named, and every
/// result in effect there must be at the beginning of the fork: the same step, input, output and status. Times and
/// remarks of policies may differ.
///
/// # Errors
/// [`LinkError`] with the first difference.
pub fn compare_origin(fork: &[u8], named: &Origin, origin: &[u8]) -> Result<u64, LinkError> {
    let records = RecordCount::new(named.record.saturating_add(1));
    let beginning = begins_with(origin, Head { hash: named.hash, records })?;
    let mut carried = Vec::new();
    for chained in Reader::open(fork)?.1 {
        match chained?.record {
            Record::Step(step) if kind_of(&step.result) == Some(RecordKind::Step) => {
                carried.push(step.result)
            }
            _ => {}
        }
    }
    let mut carried = carried.iter();
    let shared = effective_records(beginning)?;
    let shared: Vec<&EffectiveRecord> = shared.iter().filter(|one| one.kind == RecordKind::Step).collect();
    for one in &shared {
        if !carried.next().is_some_and(|carried| is_same_result(&one.result, carried)) {
            return Err(LinkError::OtherResult { step: one.result.step().clone(), index: one.index });
        }
    }
    Ok(shared.len() as u64)
}

/// Returns whether two results are equal except for their times and the remarks of policies.
pub fn is_same_result(one: &StepResult, other: &StepResult) -> bool {
    let (one, other) = (attempt(one), attempt(other));
    one.step() == other.step()
        && one.input_hash() == other.input_hash()
        && one.outcome() == other.outcome()
        && one.others() == other.others()
}
