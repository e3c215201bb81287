//! Runs of skills: each outcome becomes the decisions around a call, the call, and its artifacts.

mod action;
mod approval;
mod begun;
mod calls;
pub(crate) mod command;
mod decision;
pub(crate) mod facts;
mod formal;
mod gap;
mod inner;
mod kind;
mod writers;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hence_canon::{Canonical, Value};
use hence_cognition::mapping::MergeStrategy;
use hence_cognition::run::{NESTED_RUNS_KEY, Prepared, Progress, RunRequest, StepOutcome};
use hence_cognition::skill::{Flow, Skill, Step};
use hence_cognition::state::StepStatus;
use hence_engine::{BlockedAt, Determinism, attempt};
use hence_journal::{ActivePath, Control, RecordIndex};
use hence_review::command::ShellNames;
use hence_review::model::{Action, ActionId, Artifact, ArtifactId, Residual};
use hence_review::vocabulary::ActionType;
use hence_skills::{CallHistory, Host, OUTPUTS_STEP, Pinned, asks_the_world, recorded_outcome};
use hence_state::{Outcome, ProblemSpec, StepResult};

use crate::ProjectError;
use crate::artifacts::PROBLEM;
use crate::delta::{Facts, TraceDelta};
use crate::run_info::RunInfo;
use crate::trace::{RunLink, RunRelation};
use crate::unrecorded::BegunCall;
use crate::view::{Conclusion, Context, Ending, RunView};
pub use gap::GAPS_MEMBER;
use kind::Groups;
pub(crate) use kind::checks;
pub use kind::{ACTIONS_MEMBER, CUSTOM_ACTIONS_MEMBER, TAGS_MEMBER, action_types_of_skill};
use writers::{How, Writers};

/// The id of the skill's artifact.
const SKILL: &str = "skill";

/// A step that policies blocked.
struct BlockedStep {
    index: RecordIndex,
    step: Arc<str>,
    /// The policies that block it, in words.
    why: String,
    /// The outcome, if it was executed.
    outcome: Option<StepOutcome>,
}

/// The projection of a run of a skill.
pub(crate) struct SkillView<'a> {
    prepared: &'a Prepared,
    host: &'a dyn Host,
    pinned: Pinned,
    progress: Progress<'a>,
    request: RunRequest,
    /// The outcomes on the active path, by record.
    taken: ActivePath<StepOutcome>,
    /// The steps on the active path with the types of the actions that took effect.
    done: ActivePath<(Arc<str>, Vec<ActionType>)>,
    places: BTreeMap<Arc<str>, usize>,
    groups: Groups,
    writers: Writers,
    /// The references into the frame that any step may read.
    frame_reads: BTreeSet<String>,
    /// The names that the commands of earlier calls defined.
    names: ShellNames,
    /// The runs its steps nested.
    children: Vec<RunLink>,
    /// Whether the next outcomes were carried over from the run this one was forked from.
    carrying: bool,
    /// Capabilities whose results a replay reads, with how many steps called them and the first such action.
    recorded: BTreeMap<Arc<str>, (u64, ActionId)>,
    /// The steps that ran, with any outcome.
    seen: BTreeSet<Arc<str>>,
    checked: bool,
    /// The artifacts that checks read or made.
    looked_at: BTreeSet<ArtifactId>,
    /// The artifacts written to the skill's outputs.
    outputs: Vec<ArtifactId>,
    loops: usize,
    iterations_max: usize,
    /// The step that policies blocked last, until it is recorded.
    blocked: Option<BlockedStep>,
    /// The reason the run failed.
    failed: Option<String>,
    completed: bool,
}

impl<'a> SkillView<'a> {
    pub(crate) fn of(
        prepared: &'a Prepared,
        source: &Canonical,
        host: &'a dyn Host,
        problem: &ProblemSpec,
    ) -> Result<Self, ProjectError> {
        let found = source.digest();
        let Some(pinned) = Pinned::of(problem) else {
            return Err(ProjectError::OtherSkill { pinned: "no skill".to_owned(), found });
        };
        if pinned.digest != found {
            let pinned = format!("{} {} ({})", pinned.id, pinned.version, pinned.digest);
            return Err(ProjectError::OtherSkill { pinned, found });
        }
        let request = pinned.request(problem.id())?;
        let progress = Progress::begin(prepared, &request, host)?;
        let skill = prepared.skill();
        let carrying = pinned.links.origin.is_some();
        let places = skill.steps.iter().enumerate().map(|(place, step)| (step.id.clone(), place)).collect();
        let mut view = Self {
            prepared,
            host,
            pinned,
            progress,
            request,
            taken: ActivePath::default(),
            done: ActivePath::default(),
            places,
            groups: Groups::of(skill),
            writers: Writers::default(),
            frame_reads: frame_reads(skill),
            recorded: BTreeMap::new(),
            seen: BTreeSet::new(),
            checked: false,
            looked_at: BTreeSet::new(),
            outputs: Vec::new(),
            loops: 0,
            iterations_max: 0,
            carrying,
            children: Vec::new(),
            names: ShellNames::default(),
            blocked: None,
            failed: None,
            completed: false,
        };
        view.end_shared_part();
        Ok(view)
    }

    /// Ends the shared part of a fork at its first own step: the values it sets come from the problem.
    fn end_shared_part(&mut self) {
        let due = self.progress.due().map(|step| step.id.clone());
        let origin = self.pinned.links.origin.as_ref();
        let Some(origin) = origin.filter(|origin| self.carrying && due.as_ref() == Some(&origin.from)) else {
            return;
        };
        for (place, _) in &origin.set {
            self.writers.write(place, &ArtifactId::new(PROBLEM), How::Replaces);
        }
        self.carrying = false;
    }

    /// Restores the progress after a record.
    fn roll_back_to(&mut self, index: RecordIndex, to: RecordIndex) -> Result<(), ProjectError> {
        self.taken.rollback_to(index, to);
        self.done.rollback_to(index, to);
        self.progress = Progress::begin(self.prepared, &self.request, self.host)?;
        for outcome in self.taken.to_vec() {
            self.progress.take_in(outcome.clone())?;
        }
        (self.failed, self.completed, self.blocked) = (None, false, None);
        Ok(())
    }

    fn skill(&self) -> &'a Skill {
        self.prepared.skill()
    }

    fn step_of(&self, id: &str) -> Option<&'a Step> {
        self.places.get(id).and_then(|place| self.skill().steps.get(*place))
    }

    fn determinism(&self, outcome: &StepOutcome) -> Determinism {
        if asks_the_world(outcome, self.step_of(&outcome.step_id), self.host) {
            Determinism::Recorded
        } else {
            Determinism::Deterministic
        }
    }

    /// Returns the artifacts that references name: the caller's problem, or artifacts of steps.
    fn sources(&self, references: &[Arc<str>]) -> Vec<ArtifactId> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        for reference in references {
            let namespace = reference.split('.').next().unwrap_or_default();
            let from_caller = matches!(namespace, "inputs" | "frame");
            let ids = if from_caller {
                vec![ArtifactId::new(PROBLEM)]
            } else {
                self.writers.of(reference).into_iter().cloned().collect()
            };
            found.extend(ids.into_iter().filter(|id| seen.insert(id.clone())));
        }
        found
    }

    fn remember(&mut self, outcome: &StepOutcome, delta: &TraceDelta) {
        let step = self.step_of(&outcome.step_id);
        self.seen.insert(outcome.step_id.clone());
        // The artifacts of confirmations have other names.
        let own = |artifact: &&Artifact| artifact.common.name.as_deref() == Some(&*outcome.step_id);
        if let (Some(step), Some(artifact)) = (step, delta.artifacts.iter().find(own)) {
            let id = &artifact.common.artifact_id;
            let assigns =
                matches!(step.merge_strategy, Ok(MergeStrategy::Overwrite | MergeStrategy::Replace));
            for target in outcome.writes.iter() {
                // A value that a step read before adding to it is already among its sources.
                let read = || outcome.reads.iter().any(|read| **read == **target);
                let how = if assigns || read() { How::Replaces } else { How::Adds };
                self.writers.write(target, id, how);
            }
        }
        let first = delta.actions.first().map_or(ActionId(0), |action| action.common.id);
        self.children.extend(nested_runs(outcome));
        if self.determinism(outcome) == Determinism::Recorded {
            let calls = outcome.called.keys().filter(|id| self.host.determinism(id) == Determinism::Recorded);
            for id in calls.cloned().collect::<Vec<_>>() {
                self.recorded.entry(id).or_insert((0, first)).0 += 1;
            }
        }
        let Some(step) = step else { return };
        let is_check = |action: &Action| kind::checks(action.step.action_type());
        if outcome.status == StepStatus::Completed && delta.actions.iter().any(is_check) {
            self.checked = true;
            let used = delta.actions.iter().flat_map(|action| action.common.inputs.iter());
            let made = delta.artifacts.iter().map(|artifact| &artifact.common.artifact_id);
            self.looked_at.extend(used.chain(made).cloned());
        }
        if outcome.writes.iter().any(|target| target.starts_with("outputs.") || target.starts_with("output."))
        {
            self.outputs
                .extend(delta.artifacts.iter().find(own).map(|artifact| artifact.common.artifact_id.clone()));
        }
        self.count_loops(step, outcome);
        let ends = Some(outcome).filter(|outcome| outcome.status == StepStatus::Failed);
        if let Some(failure) = ends.and_then(|outcome| outcome.failure.as_ref())
            && (failure.class.is_safety()
                || self.pinned.on_failure == hence_cognition::schedule::FailureMode::FailFast)
        {
            self.failed
                .get_or_insert_with(|| format!("step {} failed: {}", outcome.step_id, failure.message));
        }
    }

    fn count_loops(&mut self, step: &Step, outcome: &StepOutcome) {
        let count = |key: &str| {
            outcome.meta.get(key).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok())
        };
        let iterations = match &step.control.flow {
            Flow::While(_) => count("while_iterations"),
            Flow::Foreach(foreach) if foreach.parallel <= 1 => count("foreach_count"),
            _ => None,
        };
        if let Some(iterations) = iterations {
            self.loops += 1;
            self.iterations_max = self.iterations_max.max(iterations);
        }
    }
}

impl RunView for SkillView<'_> {
    fn begin(&self, context: &Context<'_>) -> TraceDelta {
        action::intake(self, context)
    }

    fn step(
        &self,
        context: &Context<'_>,
        index: RecordIndex,
        result: &StepResult,
    ) -> Result<TraceDelta, ProjectError> {
        if &**result.step() == OUTPUTS_STEP {
            return Ok(action::missing_outputs(context, index, result));
        }
        let outcome = recorded_outcome(result, context.run.blobs)
            .map_err(|source| ProjectError::Outcome { index, source })?;
        Ok(action::outcome_delta(self, context, index, result, outcome))
    }

    fn control(&self, _: &Context<'_>, index: RecordIndex, control: &Control) -> TraceDelta {
        let facts = match control {
            Control::Complete { .. } => Facts::Completed,
            // Checkpoints and rollbacks contain nothing to review.
            Control::Loop(_) | Control::Checkpoint(_) => Facts::Nothing,
            Control::Rollback(control) => Facts::RolledBack(index, control.to),
        };
        TraceDelta::empty(kind::plan_unit(self.skill()), facts)
    }

    fn apply(&mut self, delta: &TraceDelta) -> Result<(), ProjectError> {
        match &delta.facts {
            Facts::Outcome(index, outcome) => {
                self.blocked = None;
                self.note_names(outcome);
                self.progress.take_in((**outcome).clone())?;
                self.taken.push(*index, (**outcome).clone());
                self.done.push(*index, (outcome.step_id.clone(), done(outcome, delta)));
                self.groups.apply(&delta.unit.id, &outcome.step_id);
                self.remember(outcome, delta);
                self.end_shared_part();
            }
            Facts::MissingOutputs(reason) => {
                self.failed.get_or_insert_with(|| reason.clone());
            }
            Facts::Completed => self.completed = true,
            Facts::RolledBack(index, to) => self.roll_back_to(*index, *to)?,
            Facts::Nothing | Facts::Reason(_) | Facts::Event(_) | Facts::Solve(_) | Facts::Reported(..) => {}
        }
        Ok(())
    }

    fn note_blocked(
        &mut self,
        run: &RunInfo<'_>,
        index: RecordIndex,
        result: &StepResult,
    ) -> Result<(), ProjectError> {
        let errors = match result.outcome() {
            Outcome::Failed(errors) => errors.as_slice(),
            Outcome::Success(_) | Outcome::Skipped => &[],
        };
        let why: Vec<&str> = errors.iter().map(|error| &*error.message).collect();
        let outcome = match BlockedAt::of(result) {
            BlockedAt::End => return Ok(()),
            BlockedAt::BeforeExecution => None,
            BlockedAt::AfterExecution | BlockedAt::BetweenCalls => {
                let outcome = recorded_outcome(&attempt(result), run.blobs);
                Some(outcome.map_err(|source| ProjectError::Outcome { index, source })?)
            }
        };
        self.blocked = Some(BlockedStep { index, step: result.step().clone(), why: why.join("; "), outcome });
        Ok(())
    }

    fn conclude(&self, context: &Context<'_>, _: &[Action]) -> Conclusion {
        let ending = match &self.failed {
            Some(reason) => Ending::Failed(reason.clone()),
            None if self.completed => match hence_cognition::run::describe_failures(self.taken.to_vec()) {
                failures if failures.is_empty() => Ending::Completed,
                failures => Ending::Partial(failures.join("; ")),
            },
            None => Ending::Unfinished,
        };
        let read: Vec<&str> = self.recorded.keys().map(|id| &**id).collect();
        let limitations = if read.is_empty() {
            Vec::new()
        } else {
            vec![format!("a replay reads the results of these from the journal: {}", read.join(", "))]
        };
        Conclusion {
            before: gap::of_whole(self, context),
            after: gap::of_end(self, context.run, &ending),
            ending,
            limitations,
            loops: self.loops,
            iterations_max: self.iterations_max,
        }
    }

    fn begun_calls(
        &self,
        run: &RunInfo<'_>,
        calls: Option<&CallHistory>,
    ) -> Result<Vec<BegunCall>, ProjectError> {
        Ok(self.calls_begun(run, calls))
    }

    fn questions(&self, run: &RunInfo<'_>, calls: Option<&CallHistory>) -> Vec<Residual> {
        gap::questions(self, run, calls)
    }

    fn unrecorded(&self, calls: Option<&CallHistory>) -> Vec<Residual> {
        gap::unrecorded(self, calls)
    }

    fn links(&self) -> Vec<RunLink> {
        let links = &self.pinned.links;
        let forked = links.origin.as_ref().map(|origin| RunLink {
            run: origin.run.clone(),
            relation: RunRelation::ForkedFrom,
            root: None,
            note: Some(match &origin.idempotency_root {
                None => format!(
                    "shares the records up to {} ({}), runs {} anew",
                    origin.record, origin.hash, origin.from
                )
                .into(),
                Some(root) => format!(
                    "retries it from step {} on: shares the records up to {} ({}), uses the idempotency keys of {root}",
                    origin.from, origin.record, origin.hash
                )
                .into(),
            }),
        });
        let nested = links.parent.as_ref().map(|parent| RunLink {
            run: parent.run.clone(),
            relation: RunRelation::StartedBy,
            root: None,
            note: Some(format!("its step {} runs this skill", parent.step).into()),
        });
        forked.into_iter().chain(nested).chain(self.children.iter().cloned()).collect()
    }

    fn plan(&self) -> String {
        format!("skill {} {}", self.pinned.id, self.pinned.version)
    }
}

/// Returns the types of the actions of a step that took effect. A commit that failed committed nothing.
fn done(outcome: &StepOutcome, delta: &TraceDelta) -> Vec<ActionType> {
    let is_completed = outcome.status == StepStatus::Completed;
    delta.actions.iter().filter(|_| is_completed).map(|action| action.step.action_type()).collect()
}

/// Returns the runs a step nested, as its outcome names them.
fn nested_runs(outcome: &StepOutcome) -> Vec<RunLink> {
    let named = outcome.meta.get(NESTED_RUNS_KEY).and_then(Value::as_array).unwrap_or_default();
    let link = |value: &Value| {
        let head = value.get("head").and_then(Value::as_str).unwrap_or("unknown");
        Some(RunLink {
            run: value.get("run")?.as_str()?.into(),
            relation: RunRelation::Started,
            root: None,
            note: Some(format!("nested by step {}, ends at {head}", outcome.step_id).into()),
        })
    };
    named.iter().filter_map(link).collect()
}

/// Returns the references into the frame that any step may read.
fn frame_reads(skill: &Skill) -> BTreeSet<String> {
    let read = skill.steps.iter().flat_map(|step| {
        let input = step.input.iter().flat_map(|mapping| mapping.references()).map(ToString::to_string);
        let control: Vec<String> = step.control.references().iter().map(ToString::to_string).collect();
        input.chain(control).collect::<Vec<_>>()
    });
    read.filter(|reference| reference == "frame" || reference.starts_with("frame.")).collect()
}
