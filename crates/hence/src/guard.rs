//! Policies of runs: reading them, opening gates, and reporting blocks.

use hence_store::StoreHandle;
use std::path::Path;
use std::sync::Arc;

use hence_canon::{Value, parse_lenient};
use hence_engine::{
    Blobs, Blocked, BlockedAt, BookError, Gate, GateError, POLICIES_STEP, PolicyState, first_installed,
    observe_journal, resolve,
};
use hence_journal::{Header, Reader, Record};
use hence_policy::foresight::Foresight;
use hence_policy::lint::{Finding, FindingKind};
use hence_policy::policy::{BUILT_IN, ByConstruction, Policy};
use hence_policy::{Options, Summary, check};
use hence_projection::{PolicyGate, Program, RecordedRun, policies_document, trace_of_measured_run};
use hence_review::vocabulary::PolicySeverity;
use hence_state::ProblemSpec;
use hence_store::RunId;
use schemars::JsonSchema;
use serde::Serialize;

use crate::code::Code;
use crate::commands::policies_named;
use crate::context::Context;
use crate::error::CliError;
use crate::hint;
use crate::measured::RunTimes;
use crate::sink::StoreBlobs;
use crate::skills::ExecutedCall;
use crate::target::Journal;

/// Returns the header of a journal.
fn header(journal: &[u8]) -> Result<Header, GateError> {
    match Reader::open(journal).map(|(first, _)| first.record) {
        Ok(Record::Header(header)) => Ok(header),
        Ok(_) => Err(GateError::Policies("the first record is no header".to_owned())),
        Err(error) => Err(GateError::Policies(error.to_string())),
    }
}

/// Opens the gate of a run whose problem pins policies. It has observed nothing yet.
pub(crate) fn open<'a>(
    journal: &[u8],
    problem: &Arc<ProblemSpec>,
    program: Program<'a>,
    blobs: &'a dyn Blobs,
) -> Result<Option<Box<dyn Gate + 'a>>, GateError> {
    if problem.settings().policies.is_none() {
        return Ok(None);
    }
    Ok(Some(Box::new(PolicyGate::begin(&header(journal)?, problem, program, blobs)?)))
}

/// Opens the gate with which the journal of a run is judged again.
pub(crate) fn open_to_read<'a>(
    journal: &Journal,
    program: Program<'a>,
    blobs: &'a dyn Blobs,
) -> Result<Box<dyn Gate + 'a>, GateError> {
    let unread = |error: String| GateError::Policies(error);
    let document = journal.required_problem().map_err(|error| unread(error.message))?;
    let problem = ProblemSpec::decode_lenient(document, &journal.profile())
        .map_err(|findings| unread(findings.to_string()))?;
    Ok(Box::new(PolicyGate::begin(&header(&journal.bytes)?, &Arc::new(problem), program, blobs)?))
}

/// Opens the gate of a resumed run and shows it every record.
pub(crate) fn open_and_observe<'a>(
    journal: &[u8],
    problem: &Arc<ProblemSpec>,
    program: Program<'a>,
    blobs: &'a dyn Blobs,
) -> Result<Option<Box<dyn Gate + 'a>>, GateError> {
    let Some(mut gate) = open(journal, problem, program, blobs)? else { return Ok(None) };
    observe_journal(&mut *gate, journal, blobs)?;
    Ok(Some(gate))
}

/// Returns the policies that must be installed again: after a rollback to the header none are.
pub(crate) fn policies_to_reinstall(
    run: &str,
    policy_state: &PolicyState,
    journal: &[u8],
    blobs: &dyn Blobs,
) -> Result<Option<Value>, CliError> {
    if policy_state.is_installed() {
        return Ok(None);
    }
    first_installed(journal, blobs).map_err(|error| refused(run, error))
}

/// Refuses policies for a run that is not blocked.
pub(crate) fn refuse_amendment(run: &str, amended: Option<&Value>) -> Result<(), CliError> {
    match amended {
        None => Ok(()),
        Some(_) => Err(refused(run, GateError::PolicyOrder(hence_engine::PolicyOrderError::NothingBlocked))),
    }
}

/// A run that policies block. `executed` are the calls of a step that was executed before it was blocked.
pub(crate) fn blocked(run: &str, blocked: &Blocked, executed: &[ExecutedCall]) -> CliError {
    let what = match (blocked.at, &blocked.step) {
        (BlockedAt::End, _) => format!("policies block its completion (record {})", blocked.index),
        (BlockedAt::BeforeExecution, step) => {
            format!("policies block step {step} (record {}): it was not executed", blocked.index)
        }
        (BlockedAt::BetweenCalls, step) => {
            format!("policies stopped step {step} between its calls (record {})", blocked.index)
        }
        (BlockedAt::AfterExecution, step) => {
            format!("step {step} was executed, then blocked by policies (record {})", blocked.index)
        }
    };
    let messages = blocked.errors.iter().map(|error| error.message.to_string());
    let findings: Vec<String> = messages.chain(executed.iter().map(ExecutedCall::line)).collect();
    let hint = match blocked.at {
        BlockedAt::BetweenCalls => hint::blocked_between(run),
        _ if executed.is_empty() => hint::blocked(run),
        _ => hint::blocked_deed(run, &blocked.step),
    };
    CliError::new(Code::Blocked, format!("run {run}: {what}")).with_hint(hint).with_findings(findings)
}

/// Reads the calls that a blocked step has made from the journal of its run.
pub(crate) fn executed_calls(store: &StoreHandle, id: &RunId, blocked: &Blocked) -> Vec<ExecutedCall> {
    let Ok(journal) = store.journal_bytes(id) else { return Vec::new() };
    let Ok((_, mut reader)) = Reader::open(crate::kind::whole_records(&journal)) else { return Vec::new() };
    let found = reader.find_map(|chained| chained.ok().filter(|chained| chained.index == blocked.index));
    match found.map(|chained| chained.record) {
        Some(Record::Step(step)) => ExecutedCall::of(&step.result, &StoreBlobs(store)),
        _ => Vec::new(),
    }
}

/// The policies of a run: how many were exercised, and which cannot hold a step back.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PolicyCounts {
    /// Policies that applied and were satisfied.
    exercised: usize,
    /// Policies that hold only because nothing they speak of occurred.
    absent: usize,
    /// Policies that did not apply: their trigger never occurred.
    vacuous: usize,
    /// Policies that were violated.
    violated: usize,
    /// Policies without a verdict.
    unknown: usize,
    /// The policies that block but cannot hold a step back.
    judged_afterwards: Vec<JudgedAfterwards>,
}

/// A policy that blocks and can be judged only after a step has acted, or when every step is done.
#[derive(Serialize, JsonSchema)]
pub(crate) struct JudgedAfterwards {
    /// The policy.
    policy: String,
    /// `after`: once a step has acted. `end`: when every step is done.
    when: &'static str,
    /// The part of the formula that is not known before.
    because: String,
}

impl JudgedAfterwards {
    fn of(policy: &Policy) -> Option<Self> {
        if policy.severity() != PolicySeverity::Error {
            return None;
        }
        let (when, because) = match Foresight::of(policy) {
            Foresight::Before => return None,
            Foresight::After(part) => ("after", part),
            Foresight::AtEnd(part) => ("end", part),
        };
        Some(Self { policy: policy.id().as_str().to_owned(), when, because })
    }

    fn sentence(&self) -> String {
        let Self { policy, because, .. } = self;
        match self.when {
            "after" => {
                format!(
                    "policy {policy} is judged after a step has acted (`{because}`); it cannot hold it back"
                )
            }
            _ => format!(
                "policy {policy} is judged when every step is done (`{because}`); it cannot hold a step back"
            ),
        }
    }
}

impl PolicyCounts {
    /// Judges the journal of a run by the policies in force; `None` when the run has none.
    pub(crate) fn of(store: &StoreHandle, id: &RunId, program: Program<'_>) -> Option<Self> {
        let journal = store.journal_bytes(id).ok()?;
        let blobs = StoreBlobs(store);
        let policies = policies_in_force(&journal, &blobs)?;
        let problem = parse_lenient(&store.attachment(id, &crate::target::problem_name()).ok()?).ok()?;
        let run =
            RecordedRun { journal: &journal, problem: &problem, blobs: &blobs, links: &[], calls: None };
        // The run has been judged; this only counts, so that it may look at what was measured, as `policy check` does.
        let times = RunTimes::of_run(store, id, &journal);
        let trace = trace_of_measured_run(program, &run, &times.times).ok()?;
        // The same report as that of `policy check`, so that both count alike.
        let Summary { proven, absent, failed, vacuous, unknown, .. } =
            check(&trace, &policies, Options::default()).summary();
        let judged_afterwards = policies.iter().filter_map(JudgedAfterwards::of).collect();
        Some(Self { exercised: proven, absent, vacuous, violated: failed, unknown, judged_afterwards })
    }

    /// Returns the row of a text.
    pub(crate) fn row(&self) -> (&'static str, String) {
        let Self { exercised, absent, vacuous, violated, unknown, .. } = self;
        let unknown = if *unknown == 0 { String::new() } else { format!(", {unknown} unknown") };
        let nothing = if exercised + violated == 0 { "; nothing they speak of occurred" } else { "" };
        let counts =
            format!("{exercised} exercised, {absent} absent, {vacuous} vacuous, {violated} violated");
        ("policies", format!("{counts}{unknown}{nothing}"))
    }
}

/// Returns the policies that a journal installed last.
fn policies_in_force(journal: &[u8], blobs: &dyn Blobs) -> Option<Vec<Policy>> {
    let (_, reader) = Reader::open(journal).ok()?;
    let installed = reader.map_while(Result::ok).filter_map(|chained| match chained.record {
        Record::Step(step) if &**step.result.step() == POLICIES_STEP => {
            step.result.outcome().output().cloned()
        }
        _ => None,
    });
    let document = resolve(&installed.last()?, blobs).ok()?;
    hence_projection::read_policies(&document).ok()
}

/// Warns about parts of policies that no run and no imported log ever writes: such a rule never applies. A type that is not in the
/// vocabulary is one of them, unless a judged trace has it.
pub(crate) fn warn_never_written<'p>(
    context: &Context,
    policies: impl IntoIterator<Item = &'p Policy>,
    has_type: impl Fn(&str) -> bool,
) {
    let is_never_written = |finding: &Finding| match &finding.kind {
        FindingKind::NeverWritten { .. } => true,
        FindingKind::ForeignType(word) => !has_type(word),
        _ => false,
    };
    for policy in policies {
        for finding in policy.lint().into_iter().filter(is_never_written) {
            context.say(format!("warning: policy {}: {finding}", policy.id()));
        }
    }
}

/// Names the policies of a new run that block and cannot hold a step back, and the parts that nothing ever writes.
pub(crate) fn say_judged_afterwards(context: &Context, policies: Option<&Value>) {
    let policies = policies.and_then(|document| hence_projection::read_policies(document).ok());
    // The skill may declare types of its own.
    warn_never_written(context, policies.iter().flatten(), |_| true);
    for policy in policies.iter().flatten().filter_map(JudgedAfterwards::of) {
        context.say(policy.sentence());
    }
    for policy in policies.iter().flatten() {
        if let Some(why) = ByConstruction::of(policy).runs {
            context.say(format!(
                "policy {} is for other traces: no run of a skill violates it, because {why}",
                policy.id()
            ));
        }
    }
}

/// Reports policies that cannot be enforced.
pub(crate) fn refused(run: &str, error: GateError) -> CliError {
    CliError::of_run(Code::Gate, run, error)
}

/// Returns whether a record was refused because of the run's policies.
pub(crate) fn is_refusal(error: &BookError) -> bool {
    matches!(error, BookError::Gate(_) | BookError::PolicyOrder { .. })
}

/// Reads the policies of files and packs; `None` when nothing is named.
pub(crate) fn read_policies(names: &[String]) -> Result<Option<Value>, CliError> {
    if names.is_empty() {
        return Ok(None);
    }
    let set = policies_named(names)?;
    // A policy that could never block anything is refused before anything runs.
    let mut wrong = Vec::new();
    for policy in set.policies() {
        let errors = policy.lint().into_iter().filter(|finding| finding.is_error());
        wrong
            .extend(errors.map(|finding| format!("{}: policy {}: {finding}", names.join(", "), policy.id())));
    }
    let refused = |message: String| CliError::new(Code::Policies, message).with_hint(hint::LINT_POLICIES);
    match wrong.as_slice() {
        [] => Ok(Some(policies_document(set.policies()))),
        [one] => Err(refused(one.clone())),
        several => {
            let message = format!("{} cannot be enforced: {} findings", names.join(", "), several.len());
            Err(refused(message).with_findings(wrong))
        }
    }
}

/// Reads the policies a skill names itself, from its own folder, and those the command line adds.
pub(crate) fn read_policies_of_skill(
    skill: &str,
    own: &[std::sync::Arc<str>],
    names: &[String],
) -> Result<Option<Value>, CliError> {
    let folder = Path::new(skill).parent().filter(|_| skill != "-").unwrap_or(Path::new(""));
    let place = |name: &str| match BUILT_IN.iter().any(|(pack, _)| *pack == name) {
        true => name.to_owned(),
        false => folder.join(name).to_string_lossy().into_owned(),
    };
    let mut all: Vec<String> = own.iter().map(|name| place(name)).collect();
    all.extend(names.iter().filter(|name| !all.contains(name)).cloned().collect::<Vec<_>>());
    read_policies(&all)
}
