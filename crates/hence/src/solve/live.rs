//! Live lines on the terminal: one for each call that is under way, drawn again in place.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::escape::escape;
use crate::terminal;

/// The time between two drawings: often enough for a clock with tenths of seconds to look alive.
const INTERVAL: Duration = Duration::from_millis(200);

/// The lines that are drawn at most; further calls are counted.
const LINES_MAX: usize = 12;

/// The width of a line where the terminal does not state one.
const WIDTH_DEFAULT: usize = 80;

/// The calls that are under way.
#[derive(Default)]
struct Calls {
    running: BTreeMap<u64, (String, Instant)>,
    next: u64,
    is_over: bool,
}

type Shared = (Mutex<Calls>, Condvar);

/// Draws the calls of a run and its children, for whoever watches. Without a watcher it does nothing.
pub(crate) struct Live {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Live {
    /// Begins to draw if somebody watches.
    pub(crate) fn start(is_watched: bool) -> Self {
        let shared: Arc<Shared> = Arc::default();
        let drawn = shared.clone();
        let spawn = || std::thread::Builder::new().name("live-lines".to_owned()).spawn(move || draw(&drawn));
        // Without a thread for it nothing is drawn; the run is as good.
        let thread = is_watched.then(spawn).and_then(Result::ok);
        Self { shared, thread }
    }

    /// Returns whether anything is drawn.
    pub(crate) fn is_drawn(&self) -> bool {
        self.thread.is_some()
    }

    /// Shows a call until the returned value is dropped.
    pub(crate) fn call(&self, text: impl FnOnce() -> String) -> LiveCall<'_> {
        if self.thread.is_none() {
            return LiveCall { live: self, number: None };
        }
        let mut calls = lock(&self.shared);
        let number = calls.next;
        calls.next += 1;
        calls.running.insert(number, (text(), Instant::now()));
        LiveCall { live: self, number: Some(number) }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        lock(&self.shared).is_over = true;
        self.shared.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // A thread that draws ends by itself after the notice.
            let _ = thread.join();
        }
    }
}

/// A call that is shown.
pub(crate) struct LiveCall<'a> {
    live: &'a Live,
    number: Option<u64>,
}

impl Drop for LiveCall<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            lock(&self.live.shared).running.remove(&number);
        }
    }
}

fn lock(shared: &Shared) -> std::sync::MutexGuard<'_, Calls> {
    shared.0.lock().unwrap_or_else(PoisonError::into_inner)
}

fn draw(shared: &Shared) {
    let mut drawn = 0;
    let mut calls = lock(shared);
    loop {
        let waited = shared.1.wait_timeout(calls, INTERVAL).unwrap_or_else(PoisonError::into_inner);
        calls = waited.0;
        let lines = if calls.is_over { Vec::new() } else { lines(&calls.running, Instant::now()) };
        let text = frame(drawn, &lines, terminal::width().unwrap_or(WIDTH_DEFAULT));
        drawn = lines.len();
        let mut out = std::io::stderr().lock();
        // A terminal that is gone must not end the run.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        if calls.is_over {
            return;
        }
    }
}

fn lines(running: &BTreeMap<u64, (String, Instant)>, now: Instant) -> Vec<String> {
    let line = |(text, since): &(String, Instant)| {
        format!("{text}  {:.1} s", now.saturating_duration_since(*since).as_secs_f64())
    };
    let mut lines: Vec<String> = running.values().take(LINES_MAX).map(line).collect();
    let more = running.len().saturating_sub(LINES_MAX);
    if more > 0 {
        lines.push(format!("and {more} more calls"));
    }
    lines
}

/// Returns what replaces the lines that were drawn by others: the cursor goes up, and everything below is cleared.
fn frame(drawn: usize, lines: &[String], width: usize) -> String {
    let mut text = match drawn {
        0 => String::new(),
        drawn => format!("\u{1b}[{drawn}A\r\u{1b}[J"),
    };
    for line in lines {
        // A line that wraps would be two when the cursor goes up again.
        text.extend(escape(line).chars().take(width.saturating_sub(1)));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_replaces_the_one_before() {
        let lines = ["a call".to_owned(), "another call that is long".to_owned()];
        assert_eq!(frame(0, &lines, 10), "a call\nanother c\n");
        assert_eq!(frame(2, &[], 10), "\u{1b}[2A\r\u{1b}[J");
        assert_eq!(frame(0, &[], 10), "");
        assert!(!frame(0, &["evil \u{1b}[2J".to_owned()], 40).contains('\u{1b}'));
    }

    #[test]
    fn calls_are_counted_beyond_the_last_line() {
        let now = Instant::now();
        let running = (0..15).map(|number| (number, (format!("call {number}"), now))).collect();
        let lines = lines(&running, now);
        assert_eq!((lines.len(), &*lines[0], &*lines[12]), (13, "call 0  0.0 s", "and 3 more calls"));
    }

    #[test]
    fn nothing_is_kept_without_a_watcher() {
        let live = Live::start(false);
        let mut is_made = false;
        let call = live.call(|| {
            is_made = true;
            String::new()
        });
        assert!(call.number.is_none() && lock(&live.shared).running.is_empty());
        drop(call);
        assert!(!is_made);
    }
}
