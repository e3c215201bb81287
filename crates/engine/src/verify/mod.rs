//! Verifying a journal at every level.

mod follow;

use std::num::NonZeroUsize;
use std::sync::Arc;

use hence_canon::{Lenient, Value};
use hence_journal::verify::{
    self, Break, Completeness, Level, LevelReport, Outcome, Program, Reason, ReasonCode, Report,
};
use hence_journal::{Chained, Head, Lines, Record, RecordIndex};
use hence_state::{ProblemSpec, Profile, ProfileName};

use crate::blob::Blobs;
use crate::interactive::{self, InteractiveProgram};
use crate::{BookError, DEFAULT_POLICY, Engine, GateError, RecordedSteps, RunError};
use follow::ReasonProgram;

/// What a verification has to go by.
pub struct Evidence<'a> {
    /// The journal.
    pub journal: &'a [u8],
    /// The problem, if it is at hand: needed from the spec level on.
    pub problem: Option<&'a Lenient>,
    /// A head kept elsewhere, if there is one.
    pub anchor: Option<Head>,
    /// Where large values are.
    pub blobs: &'a dyn Blobs,
    /// What to do with steps that asked the world.
    pub recorded: RecordedSteps,
    /// How many threads may hash.
    pub threads: NonZeroUsize,
}

impl Engine {
    /// Verifies a journal up to `level`, and against the anchor whenever there is one.
    pub fn verify(&self, evidence: &Evidence<'_>, level: Level) -> Report {
        let chain = verify::check_chain(evidence.journal, evidence.threads);
        let mut levels = vec![
            plain(Level::Bytes, verify::check_bytes(evidence.journal)),
            plain(Level::Chain, chain.outcome.clone()),
        ];
        let mut completeness = None;
        if level >= Level::Linked {
            let (report, found) = self.linked(evidence, &chain.outcome);
            completeness = found;
            levels.push(report);
        }
        if level >= Level::Spec {
            levels.push(self.spec(evidence, &chain.outcome));
        }
        if level >= Level::Replay {
            levels.push(self.replayed(evidence));
        }
        levels.push(anchored(evidence.anchor, &chain));
        levels.retain(|report| report.level <= level || report.level == Level::Anchored);
        Report { records: chain.records, head: chain.head, levels, completeness }
    }

    fn linked(&self, evidence: &Evidence<'_>, chain: &Outcome) -> (LevelReport, Option<Completeness>) {
        if !chain.holds() {
            return (plain(Level::Linked, chain.clone()), None);
        }
        let found = verify::check_linked(evidence.journal, &*self.program(evidence));
        let completeness = found.outcome.holds().then_some(found.completeness);
        let report = LevelReport { level: Level::Linked, outcome: found.outcome, unchecked: found.unchecked };
        (report, completeness)
    }

    /// Returns the program the problem pins; without a problem, the one the journal reads like.
    fn program<'a>(&'a self, evidence: &Evidence<'a>) -> Box<dyn Program + 'a> {
        let interactive = match evidence.problem {
            Some(problem) => interactive::is_pinned(&problem.value),
            None => interactive::reads_like_one(evidence.journal),
        };
        if interactive {
            return Box::new(InteractiveProgram { blobs: evidence.blobs });
        }
        let problem = decode_problem(evidence).ok();
        let settings = problem.as_ref().map(|problem| problem.settings());
        let steps = self.steps_to_read(policy_of(evidence), settings).unwrap_or_default();
        Box::new(ReasonProgram { steps, blobs: evidence.blobs })
    }

    fn spec(&self, evidence: &Evidence<'_>, chain: &Outcome) -> LevelReport {
        if !chain.holds() {
            return plain(Level::Spec, chain.clone());
        }
        let problem = match decode_problem(evidence) {
            Ok(problem) => problem,
            Err(outcome) => return plain(Level::Spec, outcome),
        };
        let found = verify::check_spec(evidence.journal, &*self.program(evidence), &problem);
        LevelReport { level: Level::Spec, outcome: found.outcome, unchecked: found.unchecked }
    }

    fn replayed(&self, evidence: &Evidence<'_>) -> LevelReport {
        let Some(document) = evidence.problem else { return plain(Level::Replay, no_problem()) };
        let outcome = match self.replay(evidence.journal, &document.value, evidence.blobs, evidence.recorded)
        {
            Ok(replay) => match replay.difference {
                None => Outcome::Holds,
                Some(difference) => {
                    let found = difference.members.join(", ");
                    broken(difference.line, ReasonCode::BytesDiffer, (!found.is_empty()).then_some(found))
                }
            },
            Err(crate::ReplayError::Run(RunError::Book(BookError::Gate(GateError::Unguarded)))) => {
                Outcome::NotChecked("nothing here enforces the policies the problem pins".to_owned())
            }
            Err(crate::ReplayError::Read(error)) => {
                broken(error.index.get(), ReasonCode::BadValue, Some(error.error.to_string()))
            }
            Err(error) => broken(0, ReasonCode::BadValue, Some(error.to_string())),
        };
        plain(Level::Replay, outcome)
    }
}

fn plain(level: Level, outcome: Outcome) -> LevelReport {
    LevelReport { level, outcome, unchecked: Vec::new() }
}

fn no_problem() -> Outcome {
    Outcome::NotChecked("the problem is not at hand".to_owned())
}

fn broken(line: u64, code: ReasonCode, found: Option<String>) -> Outcome {
    Outcome::Broken(Break { line, reasons: vec![Reason { found, ..Reason::new(code) }] })
}

/// Returns the policy the problem at hand asks for. Which steps there are is no secret of the problem, so the linked
/// level may know it too.
fn policy_of<'a>(evidence: &Evidence<'a>) -> &'a str {
    let settings = evidence.problem.and_then(|document| document.value.get("settings"));
    settings.and_then(|settings| settings.get("policy_profile")?.as_str()).unwrap_or(DEFAULT_POLICY)
}

/// Reads the problem under the profile the journal's header names.
fn decode_problem(evidence: &Evidence<'_>) -> Result<Arc<ProblemSpec>, Outcome> {
    let document = evidence.problem.ok_or_else(no_problem)?;
    let profile = profile_of(evidence.journal);
    ProblemSpec::decode_lenient(document, &profile)
        .map(Arc::new)
        .map_err(|findings| broken(0, ReasonCode::ProblemSpecHashMismatch, Some(findings.to_string())))
}

fn profile_of(journal: &[u8]) -> Profile {
    let first = Lines::of(journal).get(RecordIndex::HEADER).unwrap_or_default();
    let name = match Chained::decode_header(first) {
        Ok((Chained { record: Record::Header(header), .. }, _)) => header.profile,
        _ => ProfileName::Strict,
    };
    Profile::named(name)
}

fn anchored(anchor: Option<Head>, chain: &verify::ChainCheck) -> LevelReport {
    let outcome = match (anchor, chain.head) {
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
    };
    plain(Level::Anchored, outcome)
}

/// Makes evidence of a journal and a problem that was read strictly.
impl<'a> Evidence<'a> {
    /// Takes a journal alone.
    pub fn of_journal(journal: &'a [u8], blobs: &'a dyn Blobs) -> Self {
        Self {
            journal,
            problem: None,
            anchor: None,
            blobs,
            recorded: RecordedSteps::FromJournal,
            threads: NonZeroUsize::MIN,
        }
    }
}

/// Wraps a strictly read value as a document without defects.
pub fn without_defects(value: Value) -> Lenient {
    Lenient { value, defects: Vec::new() }
}
