//! The report of a verification.

use std::fmt;
use std::str::FromStr;

use super::Reason;
use crate::Head;

/// A level of verification.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// Each line is the canonical form of its value.
    Bytes,
    /// Framing, shapes, indices, hashes and links hold.
    Chain,
    /// The states, outputs and inputs that the journal shows are consistent; steps come in a legal order.
    Linked,
    /// The journal belongs to the given problem and every state follows from its results.
    Spec,
    /// A replay produces the same bytes.
    Replay,
    /// The journal ends at a head that was stored elsewhere.
    Anchored,
}

impl Level {
    /// All levels, cheapest first.
    pub const ALL: [Self; 6] =
        [Self::Bytes, Self::Chain, Self::Linked, Self::Spec, Self::Replay, Self::Anchored];

    /// Returns the level's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Chain => "chain",
            Self::Linked => "linked",
            Self::Spec => "spec",
            Self::Replay => "replay",
            Self::Anchored => "anchored",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|level| level.as_str() == text).ok_or_else(|| {
            let words = Self::ALL.map(Self::as_str).join(", ");
            format!("expected one of {words}, found {text:?}")
        })
    }
}

/// The first record that does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Break {
    /// The line, from 0.
    pub line: u64,
    /// The reasons.
    pub reasons: Vec<Reason>,
}

/// The outcome of one level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The level holds.
    Holds,
    /// The level is broken.
    Broken(Break),
    /// The level was not checked, for this reason.
    NotChecked(String),
}

impl Outcome {
    /// Creates the outcome of a level that breaks at `line` for one reason.
    pub fn broken(line: u64, reason: Reason) -> Self {
        Self::Broken(Break { line, reasons: vec![reason] })
    }

    /// Returns whether the level holds.
    pub const fn holds(&self) -> bool {
        matches!(self, Self::Holds)
    }
}

/// Whether a journal that holds is that of a finished run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Completeness {
    /// The run reached a legal end.
    Complete,
    /// More records should follow.
    Incomplete,
}

/// A level and its outcome.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LevelReport {
    /// The level.
    pub level: Level,
    /// The outcome.
    pub outcome: Outcome,
    /// The parts of the level that could not be checked, with the reasons.
    pub unchecked: Vec<String>,
}

/// The result of a verification, including what was not checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// The number of lines.
    pub records: u64,
    /// The head, according to the last line.
    pub head: Option<Head>,
    /// The levels, cheapest first.
    pub levels: Vec<LevelReport>,
    /// Whether the run is finished, when that could be checked.
    pub completeness: Option<Completeness>,
}

impl Report {
    /// Returns the outcome of a level.
    pub fn outcome(&self, level: Level) -> Option<&Outcome> {
        self.levels.iter().find(|report| report.level == level).map(|report| &report.outcome)
    }

    /// Returns whether no checked level is broken.
    pub fn holds(&self) -> bool {
        !self.levels.iter().any(|report| matches!(report.outcome, Outcome::Broken(_)))
    }

    /// Returns sentences about what these checks cannot show.
    pub fn not_shown(&self) -> Vec<&'static str> {
        let checked =
            |level| self.outcome(level).is_some_and(|outcome| !matches!(outcome, Outcome::NotChecked(_)));
        let mut sentences = Vec::new();
        if !checked(Level::Anchored) {
            sentences.push(
                "that nothing was cut from the end: a shorter chain is a valid chain; only a head kept elsewhere \
                 shows it",
            );
            sentences.push(
                "that the whole journal was not recomputed: whoever can write it can hash it anew; only a head kept \
                 elsewhere or a signature shows it",
            );
        }
        if !checked(Level::Spec) {
            sentences.push("that the states follow from the results: that needs the problem");
        }
        if !checked(Level::Replay) {
            sentences.push("that running it again gives the same bytes");
        }
        sentences.push(
            "that recorded inputs, evidence and replies were true: a record proves what was written down",
        );
        sentences
    }
}
