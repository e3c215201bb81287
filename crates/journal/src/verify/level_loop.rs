//! The level loop: the checks of a verification, in order.

use std::num::NonZeroUsize;
use std::sync::Arc;

use hence_state::ProblemSpec;

use super::chain::{ChainCheck, check_bytes, check_chain};
use super::levels::{Trusted, check_linked, check_spec};
use super::{Break, Follower, Level, LevelReport, Outcome, Reason, ReasonCode, Report};
use crate::record::Header;
use crate::{Head, Lines, RecordIndex};

/// The program of a journal, as far as its verification needs it.
pub trait Verifiable {
    /// Starts to follow the journal. The problem is known from the spec level on.
    fn follow<'a>(&'a self, header: &Header, problem: Option<&Arc<ProblemSpec>>) -> Box<dyn Follower + 'a>;

    /// Replays the journal, and reports what the replay takes over from it without being able to compute it. Called only
    /// when its problem is available.
    fn replay(&self) -> LevelReport;
}

/// The extent of a verification.
#[derive(Clone, Copy, Debug)]
pub struct Checks {
    /// The highest level to check.
    pub level: Level,
    /// A head that was stored elsewhere; the anchored level is checked whenever there is one.
    pub anchor: Option<Head>,
    /// The most threads that may hash.
    pub threads: NonZeroUsize,
}

/// Verifies a journal level by level. `problem` is the decoded problem, or the reason why there is none.
pub fn verify(
    journal: &[u8],
    problem: Result<&Arc<ProblemSpec>, Outcome>,
    program: &dyn Verifiable,
    checks: Checks,
) -> Report {
    let chain = check_chain(journal, checks.threads);
    let mut levels =
        vec![plain(Level::Bytes, check_bytes(journal)), plain(Level::Chain, chain.outcome.clone())];
    let mut completeness = None;
    let mut follow = |level: Level, check: &dyn Fn() -> Result<Trusted, Outcome>| {
        if !chain.outcome.holds() {
            return plain(level, chain.outcome.clone());
        }
        match check() {
            Ok(Trusted { outcome, completeness: found, unchecked }) => {
                completeness = outcome.holds().then_some(found).or(completeness);
                LevelReport { level, outcome, unchecked }
            }
            Err(outcome) => plain(level, outcome),
        }
    };
    if checks.level >= Level::Linked {
        levels.push(follow(Level::Linked, &|| Ok(check_linked(journal, program))));
    }
    if checks.level >= Level::Spec {
        let check = || problem.clone().map(|problem| check_spec(journal, program, problem));
        levels.push(follow(Level::Spec, &check));
    }
    if checks.level >= Level::Replay {
        levels.push(match &problem {
            Err(outcome @ Outcome::NotChecked(_)) => plain(Level::Replay, outcome.clone()),
            _ => program.replay(),
        });
    }
    levels.retain(|report| report.level <= checks.level);
    levels.push(anchored(journal, checks.anchor, &chain));
    Report { records: chain.records, head: chain.head, levels, completeness }
}

fn plain(level: Level, outcome: Outcome) -> LevelReport {
    LevelReport { level, outcome, unchecked: Vec::new() }
}

/// Compares a journal with a head that was stored elsewhere. A journal that has grown since then still holds up to it.
fn anchored(journal: &[u8], anchor: Option<Head>, chain: &ChainCheck) -> LevelReport {
    let level = Level::Anchored;
    let Some(anchor) = anchor else {
        return plain(level, Outcome::NotChecked("no head kept elsewhere was given".to_owned()));
    };
    let Some(head) = chain.head else { return plain(level, chain.outcome.clone()) };
    if anchor == head {
        return plain(level, Outcome::Holds);
    }
    let (named, found) = (anchor.records.get(), head.records.get());
    let last = RecordIndex::new(named.saturating_sub(1));
    // The chain holds, so the journal up to the named record is one that ends there.
    let end = Lines::of(journal).offset(RecordIndex::new(named));
    let then = end.and_then(|end| crate::read_tail(journal.get(..end)?).ok());
    if named < found && then.is_some_and(|tail| tail.head == anchor) {
        let added = found - named;
        let records = if added == 1 { "record was" } else { "records were" };
        let note =
            format!("it holds up to record {last}, which the head names; {added} {records} added since");
        return LevelReport { level, outcome: Outcome::Holds, unchecked: vec![note] };
    }
    let count = (named > found)
        .then(|| Reason::mismatch(ReasonCode::RecordCountMismatch, anchor.records, head.records));
    let there = then.map_or(head.hash, |tail| tail.head.hash);
    let hash = Reason::unless_equal(ReasonCode::HeadMismatch, anchor.hash, there);
    let line = found.min(named).saturating_sub(1);
    plain(level, Outcome::Broken(Break { line, reasons: count.into_iter().chain(hash).collect() }))
}
