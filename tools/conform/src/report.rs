//! Counts and prints the outcomes of cases.

use std::process::ExitCode;

use crate::deviations::Deviations;

/// Collects outcomes of cases.
pub(crate) struct Report {
    deviations: Deviations,
    passed: usize,
    failed: usize,
    deviating: usize,
}

impl Report {
    pub(crate) fn new(deviations: Deviations) -> Self {
        Self { deviations, passed: 0, failed: 0, deviating: 0 }
    }

    /// Counts one case; an error describes the difference.
    pub(crate) fn case(&mut self, id: &str, outcome: Result<(), String>) {
        match (outcome, self.deviations.get(id)) {
            (Ok(()), None) => self.passed += 1,
            (Err(found), None) => {
                self.failed += 1;
                println!("FAIL {id}: {}", first_lines(&found));
            }
            (Err(_), Some(reason)) => {
                self.deviating += 1;
                println!("deviation {id}: {reason}");
            }
            // A deviation that no longer deviates is a wrong claim in our list.
            (Ok(()), Some(_)) => {
                self.failed += 1;
                println!("FAIL {id}: listed as a deviation, yet it matches; remove it from deviations.toml");
            }
        }
    }

    /// Counts one case that differs by a rule of ours rather than by its id; the list is still the last word.
    pub(crate) fn deviating(&mut self, id: &str, reason: &str) {
        self.deviating += 1;
        println!("deviation {id}: {}", self.deviations.get(id).map_or(reason, String::as_str));
    }

    /// Prints a remark that is neither pass nor failure.
    pub(crate) fn remark(&self, text: &str) {
        println!("{text}");
    }

    /// Prints the counts and returns the exit code.
    pub(crate) fn finish(self) -> ExitCode {
        if self.deviating > 0 {
            println!("{} listed deviations", self.deviating);
        }
        if self.passed + self.failed + self.deviating == 0 {
            println!("no cases found");
            return ExitCode::from(2);
        }
        println!("{} passed, {} failed", self.passed, self.failed);
        ExitCode::from(u8::from(self.failed > 0))
    }
}

/// Keeps a difference readable: the whole of it can be megabytes.
fn first_lines(text: &str) -> String {
    let short: String = text.chars().take(600).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}
