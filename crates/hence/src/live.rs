//! A line of the terminal that shows what a run does at this moment, rewritten in place.
//!
//! The line is written to stderr, and only when somebody watches: stderr is a terminal, and neither --quiet nor --json is
//! given. Whatever else is written to stderr removes the line first; it comes back below.

use std::io::Write as _;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hence_cognition::budget::Usage;
use hence_engine::Watched;

use crate::context::Context;
use crate::report::one_line;
use crate::terminal;

/// The interval at which the line is written again.
const INTERVAL: Duration = Duration::from_millis(200);
/// The time for which a step runs before it is shown: most steps are shorter.
const PATIENCE: Duration = Duration::from_millis(400);
/// The width of a terminal that does not state one.
const WIDTH_DEFAULT: usize = 80;
/// The sequence that goes back to the start of the line and removes it.
const REMOVE_LINE: &str = "\r\u{1b}[2K";

/// Whether the line is on the terminal. Whoever writes to stderr holds the lock.
static IS_DRAWN: Mutex<bool> = Mutex::new(false);

/// Removes the line, and holds it back while the guard lives.
pub(crate) fn make_room() -> MutexGuard<'static, bool> {
    let mut is_drawn = lock(&IS_DRAWN);
    if std::mem::take(&mut *is_drawn) {
        let _ = write!(std::io::stderr().lock(), "{REMOVE_LINE}");
    }
    is_drawn
}

/// Takes a lock. No code panics while holding one, so the data of a poisoned lock is sound.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The line of one run. It ends with [`end`](Self::end) or when it is dropped.
pub(crate) struct LiveLine {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    run: Mutex<Shown>,
    ended: Mutex<bool>,
    wake: Condvar,
}

/// The work in progress that the live line shows.
#[derive(Default)]
struct Shown {
    /// The steps that are executed, the oldest first.
    steps: Vec<ShownStep>,
    /// Tokens and cost so far, as far as providers report them.
    used: Usage,
}

struct ShownStep {
    name: String,
    began: Instant,
    items: Option<usize>,
    item: u64,
    attempt: u64,
}

impl LiveLine {
    /// Begins a line, if somebody watches.
    pub(crate) fn begin(context: &Context) -> Option<Self> {
        if !context.is_watched() {
            return None;
        }
        let shared =
            Arc::new(Shared { run: Mutex::default(), ended: Mutex::new(false), wake: Condvar::new() });
        let drawn = shared.clone();
        // Without the thread nothing is shown; the run does not depend on it.
        let thread =
            std::thread::Builder::new().name("live line".to_owned()).spawn(move || draw(&drawn)).ok();
        Some(Self { shared, thread: Mutex::new(thread) })
    }

    /// Takes in what happens.
    pub(crate) fn hear(&self, watched: &Watched<'_>) {
        lock(&self.shared.run).hear(watched, Instant::now());
    }

    /// Removes the line.
    pub(crate) fn end(&self) {
        *lock(&self.shared.ended) = true;
        self.shared.wake.notify_all();
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
    }
}

impl Drop for LiveLine {
    fn drop(&mut self) {
        self.end();
    }
}

fn draw(shared: &Shared) {
    let mut ended = lock(&shared.ended);
    while !*ended {
        ended = shared.wake.wait_timeout(ended, INTERVAL).unwrap_or_else(PoisonError::into_inner).0;
        let line = lock(&shared.run).line(Instant::now(), terminal::error_width().unwrap_or(WIDTH_DEFAULT));
        let mut is_drawn = make_room();
        if let (Some(line), false) = (line, *ended) {
            let mut out = std::io::stderr().lock();
            *is_drawn = write!(out, "{line}").and_then(|()| out.flush()).is_ok();
        }
    }
}

impl Shown {
    fn hear(&mut self, watched: &Watched<'_>, now: Instant) {
        match *watched {
            Watched::StepBegan { step, items } => {
                self.steps.push(ShownStep { name: step.to_owned(), began: now, items, item: 0, attempt: 1 })
            }
            Watched::StepEnded { step } => {
                if let Some(place) = self.steps.iter().position(|shown| shown.name == step) {
                    self.steps.remove(place);
                }
            }
            Watched::CallBegan { step, item, attempt } => {
                if let Some(shown) = self.steps.iter_mut().find(|shown| shown.name == step) {
                    // Items side by side begin in any order; the count never goes back.
                    (shown.item, shown.attempt) = (shown.item.max(item), attempt);
                }
            }
            Watched::CallEnded { used } => self.used.add(used),
        }
    }

    /// Returns the line, cut to the width; `None` while no step runs for long enough.
    fn line(&self, now: Instant, width: usize) -> Option<String> {
        let step = self.steps.first()?;
        let elapsed = now.saturating_duration_since(step.began);
        if elapsed < PATIENCE {
            return None;
        }
        let mut parts = vec![format!("running {}", step.name)];
        if let Some(items) = step.items.filter(|items| *items > 0) {
            parts.push(format!("item {} of {items}", step.item.saturating_add(1).min(items as u64)));
        }
        if step.attempt > 1 {
            parts.push(format!("attempt {}", step.attempt));
        }
        parts.push(format!("{}.{} s", elapsed.as_secs(), elapsed.subsec_millis() / 100));
        if self.steps.len() > 1 {
            parts.push(format!("{} more at the same time", self.steps.len() - 1));
        }
        if self.used.tokens() > 0 {
            parts.push(format!("{} tokens", self.used.tokens()));
        }
        parts.extend(self.used.cost.iter().map(|(currency, amount)| format!("{amount} {currency}")));
        // The last column stays free: some terminals break the line when it is written.
        Some(one_line(&parts.join(", "), width.saturating_sub(2)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_step_item_attempt_time_tokens_and_cost() {
        let (mut shown, began) = (Shown::default(), Instant::now());
        assert_eq!(shown.line(began, 80), None);
        shown.hear(&Watched::StepBegan { step: "pay", items: Some(3) }, began);
        assert_eq!(shown.line(began, 80), None);
        let later = began + Duration::from_millis(4_250);
        assert_eq!(shown.line(later, 80).unwrap(), "running pay, item 1 of 3, 4.2 s");
        shown.hear(&Watched::CallBegan { step: "pay", item: 1, attempt: 2 }, later);
        let cost = [("USD".into(), "0.012".parse().unwrap())].into();
        let used = Usage { calls: 1, tokens_in: 1000, tokens_out: 204, cost, unreported: 0 };
        shown.hear(&Watched::CallEnded { used: &used }, later);
        shown.hear(&Watched::StepBegan { step: "other\u{1b}[2J", items: None }, later);
        let line = shown.line(later, 120).unwrap();
        let expected =
            "running pay, item 2 of 3, attempt 2, 4.2 s, 1 more at the same time, 1204 tokens, 0.012 USD";
        assert_eq!(line, expected);
        assert!(shown.line(later, 40).unwrap().chars().count() < 40);
        shown.hear(&Watched::StepEnded { step: "pay" }, later);
        let line = shown.line(later + Duration::from_secs(1), 120).unwrap();
        assert!(line.starts_with("running other") && !line.contains('\u{1b}'), "{line:?}");
    }
}
