//! Verifying a run of a skill: the levels that know the program are judged by the skill.

use hence_engine::{Blobs, Engine, Evidence};
use hence_journal::verify::{
    Break, Level, LevelReport, Outcome, Reason, ReasonCode, Report, check_linked, check_spec,
};
use hence_skills::{LinkedRuns, SkillProgram};

use super::Kept;

/// Verifies a journal up to `level`, and against the anchor whenever there is one.
pub(crate) fn verify(kept: &Kept, evidence: &Evidence<'_>, level: Level) -> Report {
    let mut report = Engine::new().verify(evidence, level.min(Level::Chain));
    let chain = report.outcome(Level::Chain).cloned();
    let chain = chain.unwrap_or_else(|| Outcome::NotChecked("the chain was not asked for".to_owned()));
    let Kept { prepared, source, library, problem, .. } = kept;
    let linked = LinkedRuns::ComparedByCaller;
    let program = SkillProgram { prepared, source, registry: library, blobs: evidence.blobs, linked };
    let mut levels = Vec::new();
    // What the program cannot tell from this journal alone, no replay of it tells either.
    let mut links = Vec::new();
    let judged =
        |level: Level, outcome: Outcome, unchecked: Vec<String>| LevelReport { level, outcome, unchecked };
    if level >= Level::Linked {
        if chain.holds() {
            let found = check_linked(evidence.journal, &program);
            report.completeness = found.outcome.holds().then_some(found.completeness);
            levels.push(judged(Level::Linked, found.outcome, found.unchecked));
        } else {
            levels.push(judged(Level::Linked, chain.clone(), Vec::new()));
        }
    }
    if level >= Level::Spec {
        if chain.holds() {
            let found = check_spec(evidence.journal, &program, problem);
            report.completeness = found.outcome.holds().then_some(found.completeness).or(report.completeness);
            links.clone_from(&found.unchecked);
            levels.push(judged(Level::Spec, found.outcome, found.unchecked));
        } else {
            levels.push(judged(Level::Spec, chain, Vec::new()));
        }
    }
    if level >= Level::Replay {
        levels.push(judged(Level::Replay, replayed(kept, evidence.journal, evidence.blobs), links));
    }
    let at =
        report.levels.iter().position(|level| level.level == Level::Anchored).unwrap_or(report.levels.len());
    report.levels.splice(at..at, levels);
    report
}

fn replayed(kept: &Kept, journal: &[u8], blobs: &dyn Blobs) -> Outcome {
    let broken = |line: u64, reason: Reason| Outcome::Broken(Break { line, reasons: vec![reason] });
    let mut written = Vec::new();
    match kept.replay("the journal", journal, blobs, &mut written) {
        Ok(replay) => match replay.first_difference {
            None => Outcome::Holds,
            Some(line) => broken(line, Reason::new(ReasonCode::BytesDiffer)),
        },
        Err(error) => broken(0, Reason { found: Some(error.message), ..Reason::new(ReasonCode::BadValue) }),
    }
}
