//! The places where something waits: servers with a line before them, and the log of a database.

use std::collections::VecDeque;

/// A number of equal servers with one line before them.
#[derive(Debug)]
pub(crate) struct Station<T> {
    servers: u32,
    busy: u32,
    line: VecDeque<(T, f64)>,
    busy_time: f64,
}

impl<T> Station<T> {
    pub(crate) fn new(servers: u32) -> Self {
        Self { servers, busy: 0, line: VecDeque::new(), busy_time: 0.0 }
    }

    /// Lets somebody in, who needs this much time. Returns when the service ends, if a server is free.
    pub(crate) fn enter(&mut self, now: f64, who: T, service: f64) -> Option<(f64, T)> {
        if self.busy < self.servers {
            self.busy += 1;
            self.busy_time += service;
            return Some((now + service, who));
        }
        self.line.push_back((who, service));
        None
    }

    /// Ends a service. Returns the next in line with the end of its service.
    pub(crate) fn leave(&mut self, now: f64) -> Option<(f64, T)> {
        match self.line.pop_front() {
            Some((who, service)) => {
                self.busy_time += service;
                Some((now + service, who))
            }
            None => {
                self.busy = self.busy.saturating_sub(1);
                None
            }
        }
    }

    /// Returns the share of the servers' time that was used.
    pub(crate) fn utilisation(&self, elapsed: f64) -> f64 {
        (self.busy_time / (elapsed * f64::from(self.servers))).min(1.0)
    }
}

/// The log of a database: one sync at a time, which makes everything durable that waited when it began.
#[derive(Debug)]
pub(crate) struct Log<T> {
    waiting: Vec<T>,
    syncing: Vec<T>,
    is_busy: bool,
    busy_time: f64,
}

impl<T> Log<T> {
    pub(crate) fn new() -> Self {
        Self { waiting: Vec::new(), syncing: Vec::new(), is_busy: false, busy_time: 0.0 }
    }

    /// Waits for the log. Returns when a sync ends that begins now.
    pub(crate) fn enter(&mut self, now: f64, who: T, sync: f64) -> Option<f64> {
        self.waiting.push(who);
        if self.is_busy {
            return None;
        }
        self.begin(now, sync)
    }

    /// Ends a sync. Returns those it made durable, and the end of the next sync if somebody waits.
    pub(crate) fn leave(&mut self, now: f64, sync: f64) -> (Vec<T>, Option<f64>) {
        let done = std::mem::take(&mut self.syncing);
        self.is_busy = false;
        let next = if self.waiting.is_empty() { None } else { self.begin(now, sync) };
        (done, next)
    }

    fn begin(&mut self, now: f64, sync: f64) -> Option<f64> {
        self.syncing = std::mem::take(&mut self.waiting);
        self.is_busy = true;
        self.busy_time += sync;
        Some(now + sync)
    }

    pub(crate) fn utilisation(&self, elapsed: f64) -> f64 {
        (self.busy_time / elapsed).min(1.0)
    }
}
