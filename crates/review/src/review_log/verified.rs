//! The changes that the checks of a trace verify.

use std::collections::{BTreeMap, BTreeSet};

use hence_canon::Value;

use crate::ending::{self, is_check};
use crate::lineage::Lineage;
use crate::wire::{Action, Trace};

/// The number of later checks that a failed one is compared with. Beyond it, the failure stands.
const COMPARED_MAX: usize = 256;

/// The result of the checks for one change.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Coverage<'a> {
    /// A check after it ended well, and none that failed stands.
    Verified,
    /// A check after it failed, and none of its kind passed later.
    Refuted(&'a Action),
    /// A check after it does not say how it ended.
    Undecided(&'a Action),
    /// No check covers it.
    Unchecked,
}

/// The checks of a trace, by how they ended.
///
/// A check covers a change if it consumed or built on what the change made, or has the same target, and comes after
/// it; off the high-stakes paths also if it names no inputs at all. A check that failed stands until a later one of the
/// same type, of the same commands or of broader ones, ends well.
pub(super) struct Verified<'a> {
    well: Covered<'a>,
    badly: Covered<'a>,
    undecided: Covered<'a>,
}

impl<'a> Verified<'a> {
    pub(super) fn of(trace: &'a Trace, lineage: &'a Lineage) -> Self {
        let (mut well, mut badly, mut undecided) = (Vec::new(), Vec::new(), Vec::new());
        let mut passed: BTreeMap<&str, Vec<BTreeSet<&str>>> = BTreeMap::new();
        for check in trace.actions().iter().rev().filter(|action| is_check(action)) {
            let later = passed.entry(check.type_word()).or_default();
            let asked = asked(check);
            match ending::of_check(trace, check) {
                Some(ending) if ending.well => {
                    if !later.contains(&asked) && later.len() < COMPARED_MAX {
                        later.push(asked);
                    }
                    well.push(check);
                }
                Some(_) if later.iter().any(|broader| includes(broader, &asked)) => {}
                Some(_) => badly.push(check),
                None => undecided.push(check),
            }
        }
        Self {
            well: Covered::by(well, lineage),
            badly: Covered::by(badly, lineage),
            undecided: Covered::by(undecided, lineage),
        }
    }

    /// Returns what the checks say about a path and its last change.
    pub(super) fn coverage(&self, path: &str, change: Option<&Action>, on_high_stakes: bool) -> Coverage<'a> {
        let by = |covered: &Covered<'a>| covered.check(path, change, on_high_stakes);
        if let Some(check) = by(&self.badly) {
            return Coverage::Refuted(check);
        }
        if by(&self.well).is_some() {
            return Coverage::Verified;
        }
        by(&self.undecided).map_or(Coverage::Unchecked, Coverage::Undecided)
    }
}

/// The coverage of some checks.
struct Covered<'a> {
    /// The artifacts that a check consumed, made or built on.
    artifacts: BTreeSet<&'a str>,
    /// The last check of each target.
    targets: BTreeMap<&'a str, &'a Action>,
    /// The last check without inputs: it may cover everything before it.
    open: Option<&'a Action>,
    /// The checks, the last one first.
    checks: Vec<&'a Action>,
    lineage: &'a Lineage,
}

impl<'a> Covered<'a> {
    /// Reads checks, the last one first.
    fn by(checks: Vec<&'a Action>, lineage: &'a Lineage) -> Self {
        let touched = checks.iter().flat_map(|check| check.inputs().chain(check.outputs()));
        let targets = checks.iter().rev().map(|check| (lineage.target(check.position()), *check)).collect();
        Self {
            artifacts: lineage.with_ancestors(touched.collect::<Vec<_>>()).into_iter().collect(),
            targets,
            open: checks.iter().find(|check| check.inputs().next().is_none()).copied(),
            checks,
            lineage,
        }
    }

    /// Returns a check that covers a path. On a high-stakes path only a check that names it counts.
    fn check(&self, path: &str, change: Option<&Action>, on_high_stakes: bool) -> Option<&'a Action> {
        let is_after = |check: &&Action| change.is_none_or(|change| change.position() < check.position());
        let open = self.open.filter(|_| !on_high_stakes && change.is_some());
        change
            .and_then(|change| self.built_on(change))
            .or_else(|| self.targets.get(path).copied().filter(is_after))
            .or_else(|| open.filter(is_after))
    }

    /// Returns the last check that consumed or built on what a change made.
    fn built_on(&self, change: &Action) -> Option<&'a Action> {
        if !change.outputs().any(|id| self.artifacts.contains(id)) {
            return None;
        }
        let derived: BTreeSet<&str> = self.lineage.with_descendants(change.outputs()).into_iter().collect();
        let is_derived =
            |check: &&Action| check.inputs().chain(check.outputs()).any(|id| derived.contains(id));
        self.checks.iter().copied().find(is_derived)
    }
}

/// Returns the words of the commands of a check without options: the program and what it was asked to look at.
fn asked(check: &Action) -> BTreeSet<&str> {
    let request = check.object("request");
    let program = request.and_then(|request| request.get("program")?.as_str());
    let arguments = request.and_then(|request| request.get("arguments")?.as_array()).unwrap_or_default();
    let words = program.into_iter().chain(arguments.iter().filter_map(Value::as_str));
    words.filter(|word| !word.starts_with('-')).collect()
}

/// Returns whether a check looks at everything that another one looked at: `pytest` and `pytest tests` include
/// `pytest tests/cart.py`.
fn includes(broader: &BTreeSet<&str>, asked: &BTreeSet<&str>) -> bool {
    let is_part = |word: &str| {
        let covers = |narrow: &&str| {
            narrow.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ':', '.']))
        };
        asked.iter().any(covers)
    };
    asked.is_empty() || broader.iter().all(|word| is_part(word.trim_end_matches('/')))
}
