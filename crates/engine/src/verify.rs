//! Verifying a journal level by level.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use hence_canon::{Lenient, Value};
use hence_journal::verify::{
    self, Completeness, Follower, Level, LevelReport, Outcome, Reason as Finding, ReasonCode, Report,
    Verifiable,
};
use hence_journal::{Chained, Control, Head, Header, Lines, Reader, Record, RecordIndex, StepRecord};
use hence_state::{ProblemSpec, Profile, ProfileName, ReasoningState, StepResult};

use crate::blob::Blobs;
use crate::book::BookError;
use crate::gate::{Gate, GateError, POLICIES_STEP, PolicyState, Role, VERDICTS_STEP};
use crate::program::{Program, RunKind};
use crate::reason::{Reason, ReasonJudge};
use crate::replay::{RecordedSteps, Replay, replay, request_of_journal};
use crate::run::{ResumeError, RunError};
use crate::variables::{Variables, VariablesJudge};
use crate::{DEFAULT_POLICY, ENGINE_VERSION, Engine};

/// Opens a gate that knows no policies yet.
pub type OpenGate<'a> = &'a (dyn Fn() -> Result<Box<dyn Gate + 'a>, GateError> + 'a);

/// The inputs of a verification.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// The journal.
    pub journal: &'a [u8],
    /// The problem, if it is available: needed from the spec level on.
    pub problem: Option<&'a Lenient>,
    /// A head that was stored elsewhere, if there is one.
    pub anchor: Option<Head>,
    /// The store of large values.
    pub blobs: &'a dyn Blobs,
    /// Opens the gate with which a replay judges the results of a run with policies.
    pub gate: Option<OpenGate<'a>>,
    /// The treatment of steps that are not deterministic in a replay.
    pub recorded: RecordedSteps,
    /// The most threads that may hash.
    pub threads: NonZeroUsize,
    /// Whether a journal that ends before the replay does is equal as far as it goes: the run was stopped, waits or was
    /// killed. Otherwise it differs where it ends.
    pub may_be_unfinished: bool,
}

impl<'a> Evidence<'a> {
    /// Makes evidence of a journal alone.
    pub fn of_journal(journal: &'a [u8], blobs: &'a dyn Blobs) -> Self {
        Self {
            journal,
            problem: None,
            anchor: None,
            blobs,
            gate: None,
            recorded: RecordedSteps::FromJournal,
            threads: NonZeroUsize::MIN,
            may_be_unfinished: true,
        }
    }

    /// Says that the header names another engine than the one that replays. Of its own version, a replay shows that this engine makes
    /// these bytes.
    fn other_engine(&self) -> Option<String> {
        let (first, _) = Reader::open(self.journal).ok()?;
        let Record::Header(Header { engine_version, .. }) = first.record else { return None };
        (*engine_version != *ENGINE_VERSION).then(|| {
            format!("engine_version {engine_version}: read from the header; this is engine {ENGINE_VERSION}")
        })
    }

    fn document(&self) -> Lenient {
        self.problem.cloned().unwrap_or_else(|| without_defects(Value::Null))
    }

    /// Verifies the journal of a program up to `level`, and against the anchor whenever there is one.
    pub fn verify(&self, program: &dyn Verifiable, level: Level) -> Report {
        let problem = decode_problem(self);
        let checks = verify::Checks { level, anchor: self.anchor, threads: self.threads };
        verify::verify(self.journal, problem.as_ref().map_err(Clone::clone), program, checks)
    }

    /// Judges the replay level for a program at the beginning of a run.
    pub fn replay<P: Program>(&self, program: Result<P, ResumeError>) -> LevelReport {
        let replay = program.and_then(|program| replay(program, self));
        let believed = replay.as_ref().map(|replay| &*replay.believed).unwrap_or_default();
        let unchecked = believed.iter().map(|what| format!("{what}: read from the record"));
        let unchecked = unchecked.chain(self.other_engine()).collect();
        LevelReport { level: Level::Replay, outcome: replayed(replay), unchecked }
    }
}

/// Returns the verdict of a replay.
fn replayed(replay: Result<Replay, ResumeError>) -> Outcome {
    match replay {
        Ok(Replay { difference: None, .. }) => Outcome::Holds,
        Ok(Replay { difference: Some(difference), .. }) => {
            let found = difference.members.join(", ");
            let found = (!found.is_empty()).then_some(found);
            Outcome::broken(difference.line, Finding { found, ..Finding::new(ReasonCode::BytesDiffer) })
        }
        Err(ResumeError::Run(RunError::Book(BookError::Gate(GateError::Unguarded)))) => {
            Outcome::NotChecked("nothing here enforces the policies the problem pins".to_owned())
        }
        Err(ResumeError::Read(error)) => bad_value(error.index.get(), error.error.to_string()),
        Err(error) => bad_value(0, error.to_string()),
    }
}

fn bad_value(line: u64, found: String) -> Outcome {
    Outcome::broken(line, Finding { found: Some(found), ..Finding::new(ReasonCode::BadValue) })
}

impl Engine {
    /// Verifies a journal of this engine or of variables up to `level`, and against the anchor whenever there is one.
    pub fn verify(&self, evidence: &Evidence<'_>, level: Level) -> Report {
        let kind = match evidence.problem {
            Some(problem) => RunKind::of(&problem.value),
            None => RunKind::of_journal(evidence.journal),
        };
        match kind {
            RunKind::Variables => evidence.verify(&VariablesJournal { evidence }, level),
            RunKind::Reason | RunKind::Skill | RunKind::Solve | RunKind::Trace => {
                evidence.verify(&ReasonJournal::of(self, evidence), level)
            }
        }
    }

    /// Replays a journal of this engine or of variables, and compares the bytes.
    ///
    /// # Errors
    /// [`ResumeError`] when the run cannot even begin.
    pub fn replay(&self, evidence: &Evidence<'_>) -> Result<Replay, ResumeError> {
        let document = evidence.document();
        match RunKind::of(&document.value) {
            RunKind::Variables => replay(Variables::of_journal(evidence.journal, &document)?, evidence),
            RunKind::Reason | RunKind::Skill | RunKind::Solve | RunKind::Trace => {
                replay(self.program_to_read(evidence)?, evidence)
            }
        }
    }

    /// Makes the program of a journal, at the beginning of its run.
    fn program_to_read(&self, evidence: &Evidence<'_>) -> Result<Reason, ResumeError> {
        let request = request_of_journal(evidence.journal, &evidence.document())?;
        Ok(Reason::new(self.plan_to_read(&request)?))
    }
}

/// A journal of the built-in program.
struct ReasonJournal<'a, 'e> {
    engine: &'a Engine,
    evidence: &'a Evidence<'e>,
    /// The steps the problem asks for; those of the default policy when there is no problem to ask.
    steps: Vec<Arc<dyn crate::Step>>,
}

impl<'a, 'e> ReasonJournal<'a, 'e> {
    fn of(engine: &'a Engine, evidence: &'a Evidence<'e>) -> Self {
        let problem = decode_problem(evidence).ok();
        let settings = problem.as_ref().map(|problem| problem.settings());
        // The linked level does not need the problem, but it may use the names of the steps.
        let policy = evidence.problem.and_then(|document| {
            document.value.get("settings").and_then(|settings| settings.get("policy_profile")?.as_str())
        });
        let steps = engine.steps_to_read(policy.unwrap_or(DEFAULT_POLICY), settings).unwrap_or_default();
        Self { engine, evidence, steps }
    }
}

impl Verifiable for ReasonJournal<'_, '_> {
    fn follow<'s>(&'s self, header: &Header, problem: Option<&Arc<ProblemSpec>>) -> Box<dyn Follower + 's> {
        let judge = ReasonJudge::new(&self.steps, header, problem, self.evidence.blobs);
        Box::new(ProgramFollower::new(judge, problem))
    }

    fn replay(&self) -> LevelReport {
        self.evidence.replay(self.engine.program_to_read(self.evidence))
    }
}

/// A journal of operations on variables.
struct VariablesJournal<'a, 'e> {
    evidence: &'a Evidence<'e>,
}

impl Verifiable for VariablesJournal<'_, '_> {
    fn follow<'s>(&'s self, _: &Header, problem: Option<&Arc<ProblemSpec>>) -> Box<dyn Follower + 's> {
        Box::new(ProgramFollower::new(VariablesJudge::new(self.evidence.blobs), problem))
    }

    fn replay(&self) -> LevelReport {
        self.evidence.replay(Variables::of_journal(self.evidence.journal, &self.evidence.document()))
    }
}

/// Judges the records of one program. Policies, checkpoints and rollbacks are judged by [`ProgramFollower`]; a clone is a
/// position that a rollback returns to.
pub trait Judge: Clone {
    /// Judges a step, and adds what cannot be judged to `unchecked`.
    fn step(&mut self, role: Role, record: &StepRecord, unchecked: &mut Vec<String>) -> Vec<Finding>;

    /// Judges a loop's decision or the completion.
    fn control(&mut self, control: &Control) -> Vec<Finding>;

    /// Returns whether the program has checkpoints.
    fn has_checkpoints(&self) -> bool {
        true
    }

    /// Returns the artifact of a step's output.
    fn artifact_key(&self, record: &StepRecord) -> Arc<str>;

    /// Receives the state after the last record, from the spec level on.
    fn observe_state(&mut self, _: &ReasoningState) {}

    /// Returns what was unchecked before the first record.
    fn unchecked_at_start(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns whether the run has reached a legal end.
    fn completeness(&self) -> Completeness;
}

/// Follows a journal with the judge of its program.
pub struct ProgramFollower<J> {
    judge: J,
    /// The state of the policies; `None` without the problem, which says whether there are any.
    policy_state: Option<PolicyState>,
    snapshots: BTreeMap<RecordIndex, (J, Option<PolicyState>)>,
    unchecked: Vec<String>,
}

impl<J: Judge> ProgramFollower<J> {
    /// Makes a follower at the header of a journal.
    pub fn new(judge: J, problem: Option<&Arc<ProblemSpec>>) -> Self {
        let policy_state = problem.map(|problem| PolicyState::of(problem));
        let unchecked = judge.unchecked_at_start();
        Self { judge, policy_state, snapshots: BTreeMap::new(), unchecked }
    }

    fn role(&mut self, result: &StepResult) -> Result<Role, Finding> {
        match &mut self.policy_state {
            Some(state) => state.apply(result).map_err(|error| Finding {
                found: Some(error.to_string()),
                ..Finding::new(ReasonCode::FlowViolation)
            }),
            // Without the problem it is unknown whether there are policies; the record is read as if there were.
            None if [POLICIES_STEP, VERDICTS_STEP].contains(&&**result.step()) => Ok(Role::Policies),
            None if result.outcome().is_blocked() => Ok(Role::Blocked),
            None => Ok(Role::Own),
        }
    }
}

impl<J: Judge> Follower for ProgramFollower<J> {
    fn step(&mut self, record: &StepRecord) -> Vec<Finding> {
        match self.role(&record.result) {
            Ok(role) => self.judge.step(role, record, &mut self.unchecked),
            Err(finding) => vec![finding],
        }
    }

    fn control(&mut self, control: &Control) -> Vec<Finding> {
        let needs_verdicts = self.policy_state.as_ref().is_some_and(PolicyState::needs_verdicts);
        match control {
            Control::Checkpoint(_) | Control::Rollback(_) if !self.judge.has_checkpoints() => {
                vec![Finding::new(ReasonCode::FlowViolation)]
            }
            Control::Checkpoint(_) => Vec::new(),
            Control::Rollback(control) => {
                if let Some((judge, policy_state)) = self.snapshots.get(&control.to) {
                    (self.judge, self.policy_state) = (judge.clone(), policy_state.clone());
                }
                Vec::new()
            }
            Control::Complete { .. } if needs_verdicts => vec![Finding::new(ReasonCode::FlowViolation)],
            Control::Complete { .. } | Control::Loop(_) => self.judge.control(control),
        }
    }

    fn keep(&mut self, index: RecordIndex) {
        self.snapshots.insert(index, (self.judge.clone(), self.policy_state.clone()));
    }

    fn artifact_key(&self, record: &StepRecord) -> Arc<str> {
        self.judge.artifact_key(record)
    }

    fn state(&mut self, state: &ReasoningState) {
        self.judge.observe_state(state);
    }

    fn completeness(&self) -> Completeness {
        self.judge.completeness()
    }

    fn unchecked(&self) -> Vec<String> {
        self.unchecked.clone()
    }
}

/// Decodes the problem under the profile that the header of the journal names.
fn decode_problem(evidence: &Evidence<'_>) -> Result<Arc<ProblemSpec>, Outcome> {
    let no_problem = || Outcome::NotChecked("the problem is missing".to_owned());
    let document = evidence.problem.ok_or_else(no_problem)?;
    let first = Lines::of(evidence.journal).get(RecordIndex::HEADER).unwrap_or_default();
    let name = match Chained::decode_header(first) {
        Ok((Chained { record: Record::Header(header), .. }, _)) => header.profile,
        _ => ProfileName::Strict,
    };
    ProblemSpec::decode_lenient(document, &Profile::named(name)).map(Arc::new).map_err(|findings| {
        let found = Some(findings.to_string());
        Outcome::broken(0, Finding { found, ..Finding::new(ReasonCode::ProblemSpecHashMismatch) })
    })
}

/// Wraps a strictly parsed value as a document without defects.
pub fn without_defects(value: Value) -> Lenient {
    Lenient { value, defects: Vec::new() }
}
