//! A trace that grows with its run, record by record.

use std::num::NonZeroUsize;
use std::sync::Arc;

use hence_canon::{Lenient, Value};
use hence_cognition::budget::Usage;
use hence_engine::{Blobs, MeasuredTimes, Span, is_observed};
use hence_journal::verify::{Outcome, check_chain};
use hence_journal::{Control, Head, Header, Reader, Record, RecordIndex, read_tail};
use hence_review::model::{Action, ActionId, ActionStep, Artifact, Residual, Trace, encode};
use hence_skills::CallHistory;
use hence_state::{ProblemSpec, Profile, StepResult};

use crate::ProjectError;
use crate::artifacts::ArtifactIndex;
use crate::delta::{TraceDelta, Units};
use crate::policies::PolicyLog;
use crate::run_info::RunInfo;
use crate::trace::{RunLink, TraceParts, assemble};
use crate::unrecorded::Unrecorded;
use crate::usage;
use crate::view::{Context, Ending, Program, RunView};

/// A trace that grows with its run.
///
/// [`preview_step`](Self::preview_step) and [`preview_control`](Self::preview_control) return the delta of a record
/// and change nothing, so a step can be judged before it is recorded; [`apply`](Self::apply) adds a delta. The delta
/// of record n depends on records up to n alone.
pub struct Projection<'a> {
    run: RunInfo<'a>,
    view: Box<dyn RunView + 'a>,
    artifacts: ArtifactIndex,
    units: Units,
    actions: Vec<Action>,
    residuals: Vec<Residual>,
}

impl<'a> Projection<'a> {
    /// Begins with the header of a run.
    ///
    /// # Errors
    /// [`ProjectError`] when the program and the problem do not belong together.
    pub fn begin(
        header: Header,
        problem: Arc<ProblemSpec>,
        program: Program<'a>,
        blobs: &'a dyn Blobs,
    ) -> Result<Self, ProjectError> {
        let view = program.view(&problem)?;
        let profile = Profile::named(header.profile);
        let mut projection = Self {
            run: RunInfo { header, problem, profile, blobs },
            view,
            artifacts: ArtifactIndex::default(),
            units: Units::default(),
            actions: Vec::new(),
            residuals: Vec::new(),
        };
        let first = projection.view.begin(&projection.context());
        projection.apply(first)?;
        Ok(projection)
    }

    /// Returns the delta of a step, recorded or not.
    ///
    /// # Errors
    /// [`ProjectError`] when the result is not one of this program, or a blob is missing.
    pub fn preview_step(&self, index: RecordIndex, result: &StepResult) -> Result<TraceDelta, ProjectError> {
        self.view.step(&self.context(), index, result)
    }

    /// Returns the delta of a control record.
    pub fn preview_control(&self, index: RecordIndex, control: &Control) -> TraceDelta {
        self.view.control(&self.context(), index, control)
    }

    /// Adds the delta of the next record to the trace.
    ///
    /// # Errors
    /// [`ProjectError`] when the delta does not follow from the records before.
    pub fn apply(&mut self, delta: TraceDelta) -> Result<(), ProjectError> {
        self.view.apply(&delta)?;
        self.units.apply(&delta);
        self.artifacts.apply(delta.artifacts);
        self.actions.extend(delta.actions);
        self.residuals.extend(delta.residuals);
        Ok(())
    }

    /// Returns the actions so far.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// Returns the artifacts so far.
    pub fn artifacts(&self) -> &[Artifact] {
        self.artifacts.artifacts()
    }

    /// Returns the trace of the records so far, the last of which is `head`, as a gate judges it.
    pub(crate) fn trace(&self, head: Head) -> Trace {
        self.finished(head, &[], None, self.recorded())
    }

    /// Returns the trace of a run whose journal ends at `head`, for a reader.
    ///
    /// The trace links the runs its problem names and those in `links`. `calls` is the call log: it holds the questions
    /// that people have not answered, and the calls that no record covers, which are actions after those of the records.
    ///
    /// # Errors
    /// [`ProjectError`] when such a call cannot be projected.
    fn trace_with_calls(
        &self,
        head: Head,
        links: &[RunLink],
        calls: Option<&CallHistory>,
    ) -> Result<Trace, ProjectError> {
        let mut whole = self.recorded();
        whole.add(calls)?;
        Ok(self.finished(head, links, calls, whole))
    }

    /// Returns what the records add to the trace.
    fn recorded(&self) -> Unrecorded<'_> {
        Unrecorded {
            run: &self.run,
            view: &*self.view,
            actions: self.actions.clone(),
            artifacts: self.artifacts.clone(),
            units: self.units.clone(),
        }
    }

    fn finished(
        &self,
        head: Head,
        links: &[RunLink],
        calls: Option<&CallHistory>,
        whole: Unrecorded<'_>,
    ) -> Trace {
        let Unrecorded { mut actions, artifacts, units, .. } = whole;
        link_decisions(&mut actions);
        let conclusion = self.view.conclude(&self.context(), &actions);
        let mut residuals = conclusion.before.clone();
        residuals.extend(self.residuals.iter().cloned());
        residuals.extend(conclusion.after.iter().cloned());
        residuals.extend(self.view.unrecorded(calls));
        if conclusion.ending == Ending::Unfinished {
            residuals.extend(self.view.questions(&self.run, calls));
        }
        let meta_actions = units.conclude(&actions, &residuals);
        let links: Vec<RunLink> = self.view.links().into_iter().chain(links.iter().cloned()).collect();
        let mut trace = assemble(TraceParts {
            run: &self.run,
            plan: self.view.plan(),
            head,
            links: &links,
            conclusion,
            actions,
            artifacts: artifacts.into_vec(),
            meta_actions,
            residuals,
        });
        self.view.finish(&mut trace);
        trace
    }

    fn context(&self) -> Context<'_> {
        let next = i64::try_from(self.actions.len()).unwrap_or(i64::MAX - 1) + 1;
        Context { run: &self.run, artifacts: &self.artifacts, units: &self.units, next: ActionId(next) }
    }
}

/// Writes into each decision the action that followed it. Several branches taken at once have no single next action.
fn link_decisions(actions: &mut [Action]) {
    let mut next = None;
    for action in actions.iter_mut().rev() {
        if let ActionStep::Gateway(_, gateway) = &mut action.step {
            let mut chosen = gateway.options.iter_mut().filter(|option| option.chosen);
            if let (Some(only), None) = (chosen.next(), chosen.next()) {
                only.next_action_id = next;
            }
        }
        next = Some(action.common.id);
    }
}

/// A recorded run.
#[derive(Clone, Copy)]
pub struct RecordedRun<'a> {
    /// The bytes of its journal. A torn tail is ignored.
    pub journal: &'a [u8],
    /// The problem the journal names.
    pub problem: &'a Lenient,
    /// The source of blobs.
    pub blobs: &'a dyn Blobs,
    /// Related runs that the problem does not name.
    pub links: &'a [RunLink],
    /// The call log, without the calls of recorded steps. It holds the questions people are asked; without it only
    /// the question of the step that is due is known.
    pub calls: Option<&'a CallHistory>,
}

/// Returns the review trace of a run as a document. The same run with the same call log gives the same document.
///
/// A run under policies lists the policies in force at its end, one evaluation each, with the steps that each policy
/// blocked or remarked on.
///
/// # Errors
/// [`ProjectError`] when the journal is broken, names another problem, or a blob is missing.
pub fn trace_of_run(program: Program<'_>, run: &RecordedRun<'_>) -> Result<Value, ProjectError> {
    trace_of_measured_run(program, run, &MeasuredTimes::default())
}

/// As [`trace_of_run`], with measured durations. The same run with the same logs gives the same document.
///
/// No gate sees measured durations: a verdict during a run must not depend on a clock.
///
/// # Errors
/// As for [`trace_of_run`].
pub fn trace_of_measured_run(
    program: Program<'_>,
    run: &RecordedRun<'_>,
    times: &MeasuredTimes,
) -> Result<Value, ProjectError> {
    trace_with_records(program, run, times).map(|(trace, _)| trace)
}

/// As [`trace_of_measured_run`], with the record of each action, in the order of the actions. Actions beyond the end of the
/// list are calls that no record has.
///
/// # Errors
/// As for [`trace_of_run`].
pub fn trace_with_records(
    program: Program<'_>,
    run: &RecordedRun<'_>,
    times: &MeasuredTimes,
) -> Result<(Value, Vec<RecordIndex>), ProjectError> {
    let tail = read_tail(run.journal)?;
    let journal = run.journal.get(..run.journal.len() - tail.torn_bytes).unwrap_or_default();
    if let Outcome::Broken(found) = check_chain(journal, NonZeroUsize::MIN).outcome {
        let reasons: Vec<String> = found.reasons.iter().map(ToString::to_string).collect();
        return Err(ProjectError::Broken { record: found.line, reasons: reasons.join("; ") });
    }
    let (first, reader) = Reader::open(journal)?;
    let Record::Header(header) = first.record else { return Err(ProjectError::NoHeader) };
    let problem = ProblemSpec::decode_lenient(run.problem, reader.profile())?;
    let found = problem.canonical().digest();
    if found != header.problem_spec_hash {
        return Err(ProjectError::OtherProblem { expected: header.problem_spec_hash, found });
    }
    let has_policies = problem.settings().policies.is_some();
    let problem = Arc::new(problem);
    let mut projection = Projection::begin(header, problem.clone(), program, run.blobs)?;
    let mut records = vec![RecordIndex::HEADER; projection.actions.len()];
    let mut used = Usage::default();
    let mut policies = PolicyLog::default();
    for chained in reader {
        let chained = chained?;
        let mut delta = match &chained.record {
            Record::Header(_) => continue,
            Record::Control(control) => projection.preview_control(chained.index, control),
            Record::Step(record) => {
                policies.note(chained.index, &record.result, run.blobs)?;
                // Policy, verdict and blocked records are not actions; verdicts appear under `policy_evaluations`.
                if has_policies && !is_observed(&chained.record) {
                    if record.result.outcome().is_blocked() {
                        projection.view.note_blocked(&projection.run, chained.index, &record.result)?;
                    }
                    continue;
                }
                used.add(&usage::of_step(program, &record.result, run.blobs));
                projection.preview_step(chained.index, &record.result)?
            }
        };
        if let Some(span) = times.of(chained.index).and_then(|times| times.span) {
            add_duration(&mut delta, span);
        }
        projection.apply(delta)?;
        records.resize(projection.actions.len(), chained.index);
    }
    let mut trace = projection.trace_with_calls(tail.head, run.links, run.calls)?;
    used.add(&usage::of_calls(program, run.calls));
    usage::write(&mut trace, program, &problem, &used);
    let in_force = policies.in_force()?;
    trace.members.policies = in_force.specifications()?;
    Ok((in_force.with_evaluations(encode(&trace)), records))
}

/// The member of an action's execution that names the source of its duration.
const DURATION_SOURCE_KEY: &str = "duration_source";

/// Writes how long a step took into its last activity, unless its output says how long it took.
fn add_duration(delta: &mut TraceDelta, span: Span) {
    let is_activity = |action: &&mut Action| matches!(action.step, ActionStep::Activity(..));
    let action = delta.actions.iter_mut().rev().find(is_activity);
    let execution = action.and_then(|action| action.common.execution.as_mut());
    if let Some(execution) = execution.filter(|execution| execution.duration_ms.is_none()) {
        execution.duration_ms = i64::try_from(span.duration_ms).ok();
        execution.extra = execution.extra.with(DURATION_SOURCE_KEY, "measured next to the journal");
    }
}
