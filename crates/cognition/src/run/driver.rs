//! Driving a run with one worker.

use std::collections::BTreeSet;
use std::sync::Arc;

use hence_canon::{Float, Object, Value};

use super::shared::SharedValues;
use crate::capability::TrustLevel;
use crate::failure::{ErrorClass, Failure};
use crate::mapping::{MergeStrategy, Target, set};
use crate::run::progress::{begin_state, ended};
use crate::run::{
    Capabilities, FoldError, MadeCall, Prepared, Progress, RunFailure, StepOutcome, VariableRules, Waiting,
    execute,
};
use crate::schedule::FailureMode;
use crate::skill::{Skill, Step};
use crate::state::{ExecutionState, Frame, Memory, Names};

/// The request for a run.
#[derive(Clone, Debug, Default)]
pub struct RunRequest {
    /// The inputs of the caller.
    pub inputs: Object,
    /// The frame of the run, fixed from here on.
    pub frame: Frame,
    /// The options.
    pub options: RunOptions,
    /// The trace it belongs to.
    pub trace_id: Option<Arc<str>>,
    /// The run whose idempotency keys this run uses, where it is not the run of the trace: a retry repeats what was
    /// wanted under the same keys.
    pub idempotency_root: Option<Arc<str>>,
    /// The id of the run, to which nested runs are linked.
    pub run_id: Option<Arc<str>>,
    /// The run that nests it.
    pub parent_run_id: Option<Arc<str>>,
    /// The changes that a fork makes.
    pub intervention: Option<Intervention>,
    /// The values of shared variables when the outermost run began. Those that the skill declares are in `vars` from the
    /// start; the others are for the skills it nests.
    pub shared: SharedValues,
}

/// The report of a run that ended or waits. The state is present in either case.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// The state at the end.
    pub state: ExecutionState,
    /// The settled outcome of every executed step, in the order in which they took effect.
    pub outcomes: Vec<StepOutcome>,
    /// The failure, if it failed.
    pub failure: Option<RunFailure>,
    /// The call it waits for; the run has then neither completed nor failed.
    pub waiting: Option<Waiting>,
}

/// Runs a skill to its end, or until it has to wait.
pub fn run(skill: &Skill, request: RunRequest, capabilities: &mut dyn Capabilities) -> RunReport {
    run_in(skill, &request, ([skill.id.clone()].into(), "".into()), capabilities).0
}

/// Runs a skill at its place in a tree of runs, and returns its report and the calls it made that are not pure.
pub(super) fn run_in(
    skill: &Skill,
    request: &RunRequest,
    (lineage, path): (Names, Arc<str>),
    capabilities: &mut dyn Capabilities,
) -> (RunReport, Vec<MadeCall>) {
    let refused = |class: ErrorClass, message: String| {
        let failure = RunFailure::of_run(Failure::new(class, message));
        (ended(begin_state(skill, request), Vec::new(), Some(failure)), Vec::new())
    };
    let prepared = match Prepared::of(skill, capabilities) {
        Ok(prepared) => prepared,
        Err(findings) => {
            let first = findings.first().map_or_else(String::new, ToString::to_string);
            return refused(ErrorClass::InvalidSkillSpec, first);
        }
    };
    let mut progress = match Progress::begin(&prepared, request, capabilities) {
        Ok(progress) => progress,
        Err(breach) => return refused(ErrorClass::InputMapping, breach.to_string()),
    };
    let mut context = Context {
        capabilities,
        options: &request.options,
        skill_id: skill.id.clone(),
        lineage,
        run_id: request.run_id.clone(),
        path,
        trace_id: request.trace_id.clone(),
        idempotency_root: request.idempotency_root.clone(),
        shared: request.shared.clone(),
        made: Vec::new(),
    };
    let mut rules = context.capabilities.nested_variables(skill, request);
    while let Some(step) = progress.start() {
        let path = context.path.clone();
        context.capabilities.nested_step_begins(&path, &step.id);
        let outcome = match execute(step, &progress.state().memory, &mut context) {
            Ok(outcome) => outcome,
            Err(waiting) => return (progress.wait_for(waiting), context.made),
        };
        context.capabilities.nested_step_ended(&path, &step.id);
        // With one worker the step that was started is the step that is due.
        if settle_by_rules(&mut progress, step, outcome, rules.as_deref_mut()).is_err() {
            break;
        }
    }
    (progress.end(), context.made)
}

/// Settles the outcome of a step. One whose writes break a rule of the variables has failed.
fn settle_by_rules(
    progress: &mut Progress<'_>,
    step: &Step,
    outcome: StepOutcome,
    rules: Option<&mut (dyn VariableRules + 'static)>,
) -> Result<(), FoldError> {
    let Some(rules) = rules else { return progress.settle(outcome).map(|_| ()) };
    let mut proposed = progress.propose(outcome)?;
    let gone = rules.judge(step, &proposed.outcome, &proposed.memory).or_else(|failure| {
        proposed = progress.refuse(proposed.clone(), failure);
        // A failed step writes nothing, and time passes all the same.
        rules.judge(step, &proposed.outcome, &proposed.memory)
    });
    progress.accept(proposed);
    gone.unwrap_or_default().iter().for_each(|name| progress.forget(name));
    Ok(())
}

/// The surroundings of a step: its place in a tree of runs, and the options.
pub struct Context<'a> {
    /// Calls, waits and time.
    pub capabilities: &'a mut dyn Capabilities,
    /// Options of the outermost run.
    pub options: &'a RunOptions,
    /// The skill that is run.
    pub skill_id: Arc<str>,
    /// The skills from the outermost to this one, this one included.
    pub lineage: Names,
    /// The id of this run, if it has one.
    pub run_id: Option<Arc<str>>,
    /// The calls of the runs around this one, as in [`CallPlace::path`](super::CallPlace::path).
    pub path: Arc<str>,
    /// The trace all runs of this tree share.
    pub trace_id: Option<Arc<str>>,
    /// The run whose idempotency keys are used, where it is not the run of the trace.
    pub idempotency_root: Option<Arc<str>>,
    /// The values of shared variables, for the skills that a step nests.
    pub shared: SharedValues,
    /// The calls that are not pure, of every step of a nested run so far.
    pub made: Vec<MadeCall>,
}

impl Context<'_> {
    /// Returns how deep this run is nested; 0 for the outermost.
    pub fn depth(&self) -> u32 {
        u32::try_from(self.lineage.len().saturating_sub(1)).unwrap_or(u32::MAX)
    }
}

/// The default limit of nested skills.
pub const SKILL_DEPTH_DEFAULT: u32 = 10;

/// The largest limit of nested skills that a run may set: each level costs stack.
pub const SKILL_DEPTH_MAX: u32 = 32;
const _: () = assert!(SKILL_DEPTH_DEFAULT <= SKILL_DEPTH_MAX);

/// The default timeout of one call.
pub const TIMEOUT_SECONDS_DEFAULT: u32 = 60;

/// Options of a run, inherited by the runs it nests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunOptions {
    /// The effect of a failing step on the others.
    pub on_failure: FailureMode,
    /// The number of levels of skills that may run below the first, at most [`SKILL_DEPTH_MAX`].
    pub max_skill_depth: u32,
    /// The trust in the caller.
    pub trust_level: TrustLevel,
    /// Capabilities a person has confirmed for this run.
    pub confirmed_capabilities: BTreeSet<Arc<str>>,
    /// The timeout of one call, unless its step sets one.
    pub default_step_timeout_seconds: Option<Float>,
    /// The time after which no further skill is nested.
    pub max_lineage_timeout_seconds: Option<Float>,
    /// The seed of the jitter between attempts.
    pub seed: Arc<str>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            on_failure: FailureMode::default(),
            max_skill_depth: SKILL_DEPTH_DEFAULT,
            trust_level: TrustLevel::default(),
            confirmed_capabilities: BTreeSet::new(),
            default_step_timeout_seconds: None,
            max_lineage_timeout_seconds: None,
            seed: "".into(),
        }
    }
}

impl RunOptions {
    /// Returns how long one call of a step may take.
    pub fn timeout_of(&self, step: &Step) -> Float {
        let positive = |seconds: &Float| seconds.get() > 0.0;
        let given = step.timeout_seconds.or(self.default_step_timeout_seconds).filter(positive);
        given.unwrap_or_else(|| {
            Float::new(f64::from(TIMEOUT_SECONDS_DEFAULT)).expect("a whole number is finite")
        })
    }
}

/// The changes of a fork: before a step, some places are set.
///
/// Steps from that one on start only once everything before it is recorded and the change is made, so what they see
/// does not depend on timing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Intervention {
    /// The step.
    pub before: Arc<str>,
    /// The places and what they are set to, as `vars.x` or `inputs.x`.
    pub set: Vec<(Arc<str>, Value)>,
}

/// A change that cannot be made.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("cannot set `{place}`: {reason}")]
pub struct InvalidIntervention {
    /// The place.
    pub place: Arc<str>,
    /// The reason.
    pub reason: String,
}

impl Intervention {
    /// Returns the memory after the change.
    ///
    /// # Errors
    /// [`InvalidIntervention`] for the first place that cannot be set.
    pub fn apply(&self, memory: &Memory) -> Result<Memory, InvalidIntervention> {
        let mut after = memory.clone();
        for (place, value) in &self.set {
            let invalid = |reason: String| InvalidIntervention { place: place.clone(), reason };
            match place.strip_prefix("inputs.") {
                Some(key) if !key.is_empty() => after.inputs = after.inputs.with(key, value.clone()),
                _ => {
                    let target = Target::parse(place).map_err(|error| invalid(error.to_string()))?;
                    set(&mut after, &target, value.clone(), MergeStrategy::Replace)
                        .map_err(|error| invalid(error.to_string()))?;
                }
            }
        }
        Ok(after)
    }
}
