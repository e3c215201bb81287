//! The stretches of a journal, worked on by several threads, with the results taken in order.
//!
//! A stretch is a sequence of whole lines. Threads claim stretches one after the other, so a thread that is held up does
//! not hold up the others; the calling thread takes the results in order and works on a stretch itself whenever the
//! next result is not ready.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The most threads. More would only wait for memory.
const THREADS_MAX: usize = 64;
/// The smallest stretch. For less, starting a thread costs more than checking.
const STRETCH_BYTES_MIN: usize = 8 * 1024;
/// The largest stretch. It and its records fit the cache of a core.
pub(super) const STRETCH_BYTES_MAX: usize = 128 * 1024;
/// The stretches a thread may be ahead of the results taken: this bounds the records held in memory.
const AHEAD_MAX: usize = 4;

/// A sequence of whole lines, and the number of its first line.
#[derive(Clone, Copy)]
pub(super) struct Stretch<'a> {
    pub(super) first_line: u64,
    pub(super) bytes: &'a [u8],
}

/// Applies `work` to each stretch of `journal` on up to `threads` threads and hands the results to `take` in order.
///
/// A single thread cuts stretches of at most `alone_bytes_max`: work whose results are small needs no cuts.
pub(super) fn in_order<'a, T: Send>(
    journal: &'a [u8],
    threads: NonZeroUsize,
    alone_bytes_max: usize,
    work: impl Fn(Stretch<'a>) -> T + Sync,
    mut take: impl FnMut(T),
) {
    let threads = threads.get().min(THREADS_MAX);
    let bytes_max = if threads == 1 { alone_bytes_max } else { STRETCH_BYTES_MAX };
    let target = journal.len().div_ceil(threads).clamp(STRETCH_BYTES_MIN, bytes_max);
    let stretches = Stretches { rest: journal, next_line: 0, target };
    if threads == 1 || journal.len() <= target {
        return stretches.for_each(|stretch| take(work(stretch)));
    }
    let state = State { stretches, started: 0, taken: 0, done: BTreeMap::new(), closed: false };
    let queue = Queue { state: Mutex::new(state), changed: Condvar::new(), ahead_max: threads * AHEAD_MAX };
    thread::scope(|scope| {
        for _ in 1..threads {
            // Without another thread the others do its share.
            let _ = thread::Builder::new().spawn_scoped(scope, || queue.help(&work));
        }
        queue.take_all(&work, take);
    });
}

/// Returns the number of line feeds.
pub(super) fn line_feeds(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// The part of a journal that is not cut into stretches yet.
struct Stretches<'a> {
    rest: &'a [u8],
    next_line: u64,
    target: usize,
}

impl<'a> Iterator for Stretches<'a> {
    type Item = Stretch<'a>;

    fn next(&mut self) -> Option<Stretch<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let from = self.target.min(self.rest.len()) - 1;
        let tail = self.rest.get(from..).unwrap_or_default();
        let end = memchr::memchr(b'\n', tail).map_or(self.rest.len(), |at| from + at + 1);
        let (bytes, rest) = self.rest.split_at(end);
        let stretch = Stretch { first_line: self.next_line, bytes };
        if !rest.is_empty() {
            self.next_line += line_feeds(bytes);
        }
        self.rest = rest;
        Some(stretch)
    }
}

/// The stretches that threads share.
struct Queue<'a, T> {
    state: Mutex<State<'a, T>>,
    changed: Condvar,
    ahead_max: usize,
}

struct State<'a, T> {
    stretches: Stretches<'a>,
    /// The number of stretches claimed.
    started: usize,
    /// The number of results taken.
    taken: usize,
    /// Results not taken yet, by the number of their stretch.
    done: BTreeMap<usize, thread::Result<T>>,
    /// Whether results are no longer taken.
    closed: bool,
}

impl<'a, T> Queue<'a, T> {
    fn lock(&self) -> MutexGuard<'_, State<'a, T>> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'q>(&self, state: MutexGuard<'q, State<'a, T>>) -> MutexGuard<'q, State<'a, T>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Works on stretches until none is left.
    fn help(&self, work: &impl Fn(Stretch<'a>) -> T) {
        let mut state = self.lock();
        loop {
            if state.closed {
                return;
            }
            if state.started - state.taken >= self.ahead_max {
                state = self.wait(state);
                continue;
            }
            let Some(stretch) = state.stretches.next() else { return };
            state = self.finish(state, stretch, work);
            self.changed.notify_all();
        }
    }

    /// Works on a claimed stretch without holding the lock and stores its result.
    fn finish<'q>(
        &'q self,
        mut state: MutexGuard<'q, State<'a, T>>,
        stretch: Stretch<'a>,
        work: &impl Fn(Stretch<'a>) -> T,
    ) -> MutexGuard<'q, State<'a, T>> {
        let number = state.started;
        state.started += 1;
        drop(state);
        // A panic is handed to the thread that takes the result: it must not wait for one that never comes.
        let result = catch_unwind(AssertUnwindSafe(|| work(stretch)));
        let mut state = self.lock();
        state.done.insert(number, result);
        state
    }

    /// Takes all results in order, and works on stretches while the next result is not ready.
    fn take_all(&self, work: &impl Fn(Stretch<'a>) -> T, mut take: impl FnMut(T)) {
        let _close = Close(self);
        let mut state = self.lock();
        loop {
            let next = state.taken;
            if let Some(result) = state.done.remove(&next) {
                state.taken += 1;
                drop(state);
                self.changed.notify_all();
                take(result.unwrap_or_else(|panic| resume_unwind(panic)));
                state = self.lock();
                continue;
            }
            let may_start = state.started - state.taken < self.ahead_max;
            let claimed = if may_start { state.stretches.next() } else { None };
            state = match claimed {
                Some(stretch) => self.finish(state, stretch, work),
                None if state.started == state.taken => return,
                None => self.wait(state),
            };
        }
    }
}

/// Ends the worker threads when results are no longer taken, also because of a panic.
struct Close<'q, 'a, T>(&'q Queue<'a, T>);

impl<T> Drop for Close<'_, '_, T> {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(count: u64) -> Vec<u8> {
        (0..count).flat_map(|number| format!("{number}\n").into_bytes()).collect()
    }

    #[test]
    fn results_come_in_order_and_cover_every_line_whatever_the_threads() {
        for (count, threads) in [(0, 1), (1, 8), (3, 2), (100_000, 1), (100_000, 2), (100_000, 7)] {
            let journal = lines(count);
            let threads = NonZeroUsize::new(threads).unwrap();
            let mut next = 0;
            in_order(
                &journal,
                threads,
                STRETCH_BYTES_MAX,
                |stretch| {
                    let first: u64 =
                        String::from_utf8_lossy(stretch.bytes).lines().next().unwrap().parse().unwrap();
                    assert_eq!(first, stretch.first_line);
                    (first, line_feeds(stretch.bytes))
                },
                |(first, lines)| {
                    assert_eq!(first, next);
                    next += lines;
                },
            );
            assert_eq!(next, count);
        }
    }

    #[test]
    fn a_panic_in_a_worker_reaches_the_caller() {
        let journal = lines(100_000);
        let caught = catch_unwind(|| {
            let fail = |stretch: Stretch<'_>| assert!(stretch.first_line < 50_000, "fails on purpose");
            in_order(&journal, NonZeroUsize::new(4).unwrap(), STRETCH_BYTES_MAX, fail, |()| {});
        });
        assert!(caught.is_err());
    }

    #[test]
    fn a_panic_while_taking_ends_the_workers() {
        let journal = lines(200_000);
        let caught = catch_unwind(|| {
            in_order(
                &journal,
                NonZeroUsize::new(4).unwrap(),
                STRETCH_BYTES_MAX,
                |_| (),
                |()| panic!("fails on purpose"),
            );
        });
        assert!(caught.is_err());
    }
}
