//! The measured times of a run, read from its time log.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::Digest;
use hence_canon::time::Instant;
use hence_journal::RecordIndex;

use super::{Measured, Span};

/// The longest line that is read. Names and keys are short; anything longer is not ours.
pub const TIME_LINE_BYTES_MAX: usize = 64 * 1024;

/// The most waits of one step that are read. A person answers fewer.
const WAITS_MAX: usize = 1000;

/// The measured time of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallTimes {
    /// The key of the call: step, iteration and item, purpose, capability, attempt.
    pub key: Arc<str>,
    /// The capability.
    pub capability: Arc<str>,
    /// The time it took.
    pub span: Span,
}

/// The measured time of a wait for a person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitTimes {
    /// The step that asks.
    pub step: Arc<str>,
    /// The key of the call that waits.
    pub key: Arc<str>,
    /// The time of the question.
    pub asked_at: Option<Instant>,
    /// The time of the answer.
    pub answered_at: Option<Instant>,
}

impl WaitTimes {
    /// Returns how long the run waited: the difference of two times of day, as no clock runs through the wait. `None` when
    /// one of them is missing, or the clock was set back in between.
    pub fn duration_ms(&self) -> Option<u64> {
        let (asked, answered) = (self.asked_at?, self.answered_at?);
        u64::try_from(answered.as_millis().checked_sub(asked.as_millis())?).ok()
    }
}

/// The measured times of one record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordTimes {
    /// The time at which the record was appended.
    pub recorded_at: Instant,
    /// The time its step took.
    pub span: Option<Span>,
    /// The calls of its step, in the order in which they ended.
    pub calls: Vec<CallTimes>,
    /// The waits of its step for people.
    pub waits: Vec<WaitTimes>,
    /// Whether another store measured it: the run was imported.
    pub is_elsewhere: bool,
}

/// The measured times of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MeasuredTimes {
    records: BTreeMap<u64, RecordTimes>,
    /// The waits of steps that have no record yet.
    waits: Vec<WaitTimes>,
    ignored: u64,
}

/// A record of the journal, as far as its measurements need it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimedRecord {
    /// The hash of the record.
    pub hash: Digest,
    /// Whether the record is a rollback.
    pub is_rollback: bool,
}

/// Measurements of a step that no record has taken in.
#[derive(Default)]
struct Pending {
    span: Option<Span>,
    calls: Vec<CallTimes>,
    waits: Vec<WaitTimes>,
}

impl MeasuredTimes {
    /// Reads the lines of a time log. `find` returns a record of the journal.
    ///
    /// A line that is not a measurement, or is about a record the journal does not have, is ignored and counted.
    pub fn read(
        &mut self,
        lines: &[u8],
        is_elsewhere: bool,
        find: impl Fn(RecordIndex) -> Option<TimedRecord>,
    ) {
        let mut pending: BTreeMap<Arc<str>, Pending> = BTreeMap::new();
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            // A part of a line is an append that never finished.
            let Some(line) = line.strip_suffix(b"\n") else { break };
            let measured =
                Some(line).filter(|line| line.len() <= TIME_LINE_BYTES_MAX).and_then(Measured::of_line);
            match measured {
                None => self.ignored += 1,
                Some(Measured::Step { step, span }) => pending.entry(step).or_default().span = Some(span),
                Some(Measured::Call { step, call }) => pending.entry(step).or_default().calls.push(call),
                Some(Measured::Asked { step, key, at }) => {
                    let waits = &mut pending.entry(step.clone()).or_default().waits;
                    if waits.len() >= WAITS_MAX {
                        self.ignored += 1;
                    // A question that is shown again is still the same question.
                    } else if !waits.iter().any(|wait| wait.key == key && wait.answered_at.is_none()) {
                        waits.push(WaitTimes { step, key, asked_at: Some(at), answered_at: None });
                    }
                }
                Some(Measured::Answered { step, key, at }) => {
                    let waits = &mut pending.entry(step.clone()).or_default().waits;
                    let is_full = waits.len() >= WAITS_MAX;
                    match waits.iter_mut().find(|wait| wait.key == key && wait.answered_at.is_none()) {
                        Some(wait) => wait.answered_at = Some(at),
                        None if is_full => self.ignored += 1,
                        None => waits.push(WaitTimes { step, key, asked_at: None, answered_at: Some(at) }),
                    }
                }
                Some(Measured::Record { index, hash, step, at }) => {
                    let Pending { span, calls, waits } =
                        step.and_then(|step| pending.remove(&step)).unwrap_or_default();
                    let Some(record) = find(index).filter(|record| record.hash == hash) else {
                        self.ignored += 1;
                        continue;
                    };
                    if record.is_rollback {
                        // What was measured of steps without a record belongs to what was rolled back.
                        pending.clear();
                    }
                    let times = RecordTimes { recorded_at: at, span, calls, waits, is_elsewhere };
                    self.records.insert(index.get(), times);
                }
            }
        }
        self.waits.extend(pending.into_values().flat_map(|pending| pending.waits));
    }

    /// Returns the times of a record; `None` when it was not measured.
    pub fn of(&self, index: RecordIndex) -> Option<&RecordTimes> {
        self.records.get(&index.get())
    }

    /// Returns the times of all measured records, in order.
    pub fn records(&self) -> impl Iterator<Item = (RecordIndex, &RecordTimes)> {
        self.records.iter().map(|(index, times)| (RecordIndex::new(*index), times))
    }

    /// Returns the waits of steps that have no record yet.
    pub fn open_waits(&self) -> &[WaitTimes] {
        &self.waits
    }

    /// Returns the number of lines that were ignored.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Instant {
        Instant::from_millis(millis).unwrap()
    }

    fn span(from: i64, to: i64) -> Span {
        Span { started_at: at(from), ended_at: at(to), duration_ms: u64::try_from(to - from).unwrap() }
    }

    fn hash(index: u64) -> Digest {
        Digest::of(&index.to_be_bytes())
    }

    /// A journal of five records, of which the last is a rollback.
    fn known(index: RecordIndex) -> Option<TimedRecord> {
        let index = index.get();
        (index < 5).then(|| TimedRecord { hash: hash(index), is_rollback: index == 4 })
    }

    fn record(index: u64, step: Option<&str>, millis: i64) -> Measured {
        let (step, at) = (step.map(Into::into), at(millis));
        Measured::Record { index: RecordIndex::new(index), hash: hash(index), step, at }
    }

    fn read(lines: &[Measured]) -> MeasuredTimes {
        let bytes: Vec<u8> = lines.iter().flat_map(Measured::line).collect();
        let mut times = MeasuredTimes::default();
        times.read(&bytes, false, known);
        times
    }

    #[test]
    fn a_record_takes_in_what_was_measured_of_its_step_before_it() {
        let call = |key: &str| CallTimes { key: key.into(), capability: "c".into(), span: span(10, 20) };
        let times = read(&[
            record(0, None, 5),
            Measured::Call { step: "b".into(), call: call("b/0.0/call/c/1") },
            Measured::Call { step: "a".into(), call: call("a/0.0/call/c/1") },
            Measured::Step { step: "a".into(), span: span(9, 3009) },
            record(1, Some("a"), 3010),
            record(2, Some("b"), 3011),
        ]);
        let first = times.of(RecordIndex::new(1)).unwrap();
        assert_eq!(first.span.unwrap().duration_ms, 3000);
        assert_eq!(first.calls, [call("a/0.0/call/c/1")]);
        let second = times.of(RecordIndex::new(2)).unwrap();
        assert_eq!((second.span, second.calls.len()), (None, 1), "a lost measurement is not made up");
        assert_eq!(times.of(RecordIndex::new(3)), None);
        assert_eq!(times.ignored(), 0);
    }

    #[test]
    fn waits_pair_a_question_with_its_answer() {
        let asked = |millis| Measured::Asked { step: "a".into(), key: "k".into(), at: at(millis) };
        let answered = |millis| Measured::Answered { step: "a".into(), key: "k".into(), at: at(millis) };
        let open = read(&[asked(1000), asked(1500)]);
        assert_eq!(open.open_waits().len(), 1);
        assert_eq!(open.open_waits()[0].duration_ms(), None);
        let times = read(&[asked(1000), answered(61_000), record(1, Some("a"), 61_001)]);
        assert_eq!(times.of(RecordIndex::new(1)).unwrap().waits[0].duration_ms(), Some(60_000));
        assert_eq!(times.open_waits(), []);
        let back = read(&[asked(1000), answered(900), record(1, Some("a"), 901)]);
        assert_eq!(back.of(RecordIndex::new(1)).unwrap().waits[0].duration_ms(), None, "the clock went back");
    }

    #[test]
    fn a_step_that_was_rolled_back_before_its_record_leaves_nothing_to_a_later_one() {
        let step = |from| Measured::Step { step: "a".into(), span: span(from, from + 5) };
        let times = read(&[step(10), record(4, None, 20), record(3, Some("a"), 30)]);
        assert_eq!(times.of(RecordIndex::new(3)).unwrap().span, None);
    }

    #[test]
    fn alien_and_broken_lines_are_ignored_and_counted() {
        let mut bytes = b"junk\n{\"kind\":\"step\"}\n".to_vec();
        bytes.extend(vec![b' '; TIME_LINE_BYTES_MAX + 1]);
        bytes.push(b'\n');
        let other = Measured::Record { index: RecordIndex::new(1), hash: hash(99), step: None, at: at(1) };
        bytes.extend([other, record(7, None, 1), record(2, None, 1)].iter().flat_map(Measured::line));
        bytes.extend(b"{\"kind\":\"record\",\"record\":3");
        let mut times = MeasuredTimes::default();
        times.read(&bytes, true, known);
        assert_eq!(times.ignored(), 5);
        assert_eq!(times.records().map(|(index, _)| index.get()).collect::<Vec<_>>(), [2]);
        assert!(times.of(RecordIndex::new(2)).unwrap().is_elsewhere);
    }
}
