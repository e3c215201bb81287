//! The level loop: the checks of a verification, in order.

use std::num::NonZeroUsize;
use std::sync::Arc;

use hence_state::ProblemSpec;

use super::chain::{ChainCheck, check_bytes, check_chain};
use super::levels::{Trusted, check_linked, check_spec};
use super::{Break, Follower, Level, LevelReport, Outcome, Reason, ReasonCode, Report};
use crate::Head;
use crate::record::Header;

/// The program of a journal, as far as its verification needs it.
pub trait Verifiable {
    /// Starts to follow the journal. The problem is known from the spec level on.
    fn follow<'a>(&'a self, header: &Header, problem: Option<&Arc<ProblemSpec>>) -> Box<dyn Follower + 'a>;

    /// Replays the journal. Called only when its problem is available.
    fn replay(&self) -> Outcome;
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
        let outcome = match &problem {
            Err(outcome @ Outcome::NotChecked(_)) => outcome.clone(),
            _ => program.replay(),
        };
        levels.push(plain(Level::Replay, outcome));
    }
    levels.retain(|report| report.level <= checks.level);
    levels.push(plain(Level::Anchored, anchored(checks.anchor, &chain)));
    Report { records: chain.records, head: chain.head, levels, completeness }
}

fn plain(level: Level, outcome: Outcome) -> LevelReport {
    LevelReport { level, outcome, unchecked: Vec::new() }
}

fn anchored(anchor: Option<Head>, chain: &ChainCheck) -> Outcome {
    match (anchor, chain.head) {
        (None, _) => Outcome::NotChecked("no head kept elsewhere was given".to_owned()),
        (Some(_), None) => chain.outcome.clone(),
        (Some(anchor), Some(head)) if anchor == head => Outcome::Holds,
        (Some(anchor), Some(head)) => {
            let count = (anchor.records != head.records)
                .then(|| Reason::mismatch(ReasonCode::RecordCountMismatch, anchor.records, head.records));
            let hash = Reason::unless_equal(ReasonCode::HeadMismatch, anchor.hash, head.hash);
            let line = head.records.get().min(anchor.records.get()).saturating_sub(1);
            Outcome::Broken(Break { line, reasons: count.into_iter().chain(hash).collect() })
        }
    }
}
