//! `hence policy check`: the verdicts of policies on traces.

use std::path::Path;
use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_policy::lint::Finding;
use hence_policy::policy::Policy;
use hence_policy::verdict::{Step, Verdict, Witnesses};
use hence_policy::{FailOn, Options, Report, Summary, check, show};
use hence_projection::policy_specification;
use hence_review::show::{Suite, junit as junit_document};

use super::source;
use crate::args::{FailOnArg, PolicyCheckArgs, VerdictFormat};
use crate::guard;
use crate::input;
use crate::new_file::{self, Mode};
use crate::prelude::*;
use crate::skills::ActingCalls;
use crate::target::Journal;

/// A checked trace.
struct Checked {
    file: String,
    report: Report,
    residuals: Vec<Object>,
}

/// The verdicts of policies on traces.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CheckReport {
    /// Whether every trace passes, as in the exit code.
    passes: bool,
    /// The least that fails the check: error, warning or unknown.
    fail_on: &'static str,
    /// The number of policies checked; those that traces carry themselves are counted for each trace.
    policies: usize,
    /// The verdicts of all traces, counted.
    summary: Counts,
    /// The traces.
    traces: Vec<TraceReport>,
}

/// The verdicts of policies on one trace.
#[derive(Serialize, JsonSchema)]
struct TraceReport {
    /// The source of the trace.
    file: String,
    /// Its id.
    trace_id: Option<String>,
    /// Whether it passes.
    passes: bool,
    /// Its verdicts, counted.
    summary: Counts,
    /// One verdict per policy, in the order of the policies.
    verdicts: Vec<VerdictReport>,
    /// The findings about the policies themselves.
    findings: Vec<FindingReport>,
    /// The reason why the trace could not be judged at all.
    defect: Option<String>,
    /// The gaps that failed and undecided policies leave; empty unless asked for.
    residuals: Vec<Data>,
}

impl CheckReport {
    fn of(checked: &[Checked], policies: usize, fail_on: FailOnArg) -> Self {
        let traces: Vec<TraceReport> =
            checked.iter().map(|checked| TraceReport::of(checked, fail_on.into())).collect();
        Self {
            passes: traces.iter().all(|trace| trace.passes),
            fail_on: fail_on.as_str(),
            policies,
            summary: traces.iter().fold(Counts::default(), |sum, trace| sum.plus(trace.summary)),
            traces,
        }
    }
}

impl TraceReport {
    fn of(checked: &Checked, fail_on: FailOn) -> Self {
        let report = &checked.report;
        let id = |place: usize| report.verdicts.get(place).map_or("", |verdict| verdict.policy_id.as_str());
        Self {
            file: checked.file.clone(),
            trace_id: report.trace_id.clone(),
            passes: report.passes(fail_on),
            summary: Counts::of(report.summary()),
            verdicts: report.verdicts.iter().map(VerdictReport::of).collect(),
            findings: report
                .findings
                .iter()
                .map(|(place, finding)| FindingReport::of(id(*place), finding))
                .collect(),
            defect: report.defect.as_ref().map(ToString::to_string),
            residuals: checked.residuals.iter().cloned().map(|gap| Data(gap.into())).collect(),
        }
    }

    /// Returns the errors of policies that are not the reason of a verdict already.
    fn unreported(&self) -> impl Iterator<Item = &FindingReport> {
        let is_reported =
            |finding: &FindingReport| self.verdicts.iter().any(|verdict| verdict.states(finding));
        self.findings.iter().filter(move |finding| finding.weight == "error" && !is_reported(finding))
    }

    fn text(&self) -> String {
        let outcome = match (self.passes, self.summary.proven, self.summary.absent) {
            (false, ..) => "does not pass",
            (true, 0, 0) => "passes, nothing proven",
            (true, 0, _) => "passes, nothing proven: no rule was exercised",
            (true, ..) => "passes",
        };
        let mut text = format!("{}: {outcome}\n", escape(&self.file));
        if let Some(defect) = &self.defect {
            text.push_str(&format!("  the trace cannot be judged: {}\n", escape(defect)));
        }
        let mut lines: Vec<(u8, &str)> = self.verdicts.iter().map(VerdictReport::line).collect();
        lines.sort_by_key(|(order, _)| *order);
        for (_, line) in lines {
            text.push_str(&format!("  {}\n", escape(line)));
        }
        for finding in self.unreported() {
            text.push_str(&format!("  policy {}: {}\n", escape(&finding.policy_id), escape(&finding.text)));
        }
        for Data(gap) in &self.residuals {
            let text_of = |key: &str| gap.get(key).and_then(Value::as_str).unwrap_or_default();
            let line = format!(
                "gap  {} ({}): {}",
                text_of("residual_id"),
                text_of("severity"),
                text_of("suggested_check")
            );
            text.push_str(&format!("  {}\n", escape(&line)));
        }
        text.push_str(&format!("  {}\n", self.summary));
        text
    }
}

impl Text for CheckReport {
    fn text(&self) -> String {
        let mut text: String = self.traces.iter().map(TraceReport::text).collect();
        if self.traces.len() > 1 {
            let passing = self.traces.iter().filter(|trace| trace.passes).count();
            text.push_str(&format!("{passing} of {} traces pass: {}\n", self.traces.len(), self.summary));
        }
        text
    }
}

/// Returns the trace with the policies it was checked against added to its own.
fn with_policies(trace: &Object, policies: &[&Policy]) -> Object {
    let had = trace.get("policies").and_then(Value::as_array).unwrap_or(&[]);
    let is_had = |policy: &&&Policy| {
        had.iter().any(|known| known.get("policy_id").and_then(Value::as_str) == Some(policy.id().as_str()))
    };
    let new = policies.iter().filter(|policy| !is_had(policy));
    let all: Value =
        had.iter().cloned().chain(new.map(|policy| policy_specification(policy).into())).collect();
    trace.with("policies", all)
}

/// Returns whether an action or artifact of a trace has a type.
fn has_type(trace: &Value, word: &str) -> bool {
    let is_of = |item: &Value, key: &str| item.get(key).and_then(Value::as_str) == Some(word);
    let any = |list: &str, key: &str| {
        let items = trace.get(list).and_then(Value::as_array).unwrap_or_default();
        items.iter().any(|item| is_of(item, key))
    };
    any("actions", "type") || any("artifacts", "type") || any("artifacts", "artifact_type")
}

pub(super) fn run(context: &Context, args: &PolicyCheckArgs) -> Result<Exit, CliError> {
    let named = if args.policies.is_empty() { None } else { Some(source::load(&args.policies)?) };
    let mut counted = 0;
    if args.into.is_some() && args.traces.len() > 1 {
        let message = format!("--into takes one trace, found {}", args.traces.len());
        return Err(CliError::new(Code::File, message).with_hint(hint::CHECK_ONE_BY_ONE));
    }
    let mut checked = Vec::new();
    for name in &args.traces {
        let trace = source::read_trace_or_run(context, name)?;
        let own = if named.is_none() { Some(source::of_trace(name, &trace)?) } else { None };
        let Some(set) = named.as_ref().or(own.as_ref()) else { continue };
        let policies = source::choose(set, &args.only)?;
        if checked.is_empty() || named.is_none() {
            guard::warn_never_written(context, policies.iter().copied(), |word| has_type(&trace, word));
        }
        counted = if named.is_some() { policies.len() } else { counted + policies.len() };
        let report = check(&trace, policies.iter().copied(), Options::default());
        if let (Some(path), Some(trace)) = (&args.into, trace.as_object()) {
            let recorded = report.record_gaps_into(&with_policies(trace, &policies));
            let text = format!("{}\n", escape_json(&hence_canon::pretty(&recorded.into())));
            new_file::write(path, text.as_bytes(), Mode::Plain, args.replace.existing())?;
        }
        let residuals = if args.residuals { report.residuals() } else { Vec::new() };
        checked.push(Checked { file: input::shown_name(name).to_owned(), report, residuals });
    }
    let report = CheckReport::of(&checked, counted, args.fail_on);
    match args.format {
        None => context.print(&report)?,
        Some(VerdictFormat::Text) => context.print_as_text(&report)?,
        Some(VerdictFormat::Json) => context.print_as_json(&report)?,
        Some(VerdictFormat::Sarif) => context.write_document(&sarif(&checked))?,
        Some(VerdictFormat::Junit) => context.write_document(&junit(&checked, args.fail_on.into()))?,
        Some(VerdictFormat::Github) => context.write(github(&checked).as_bytes())?,
    }
    if matches!(args.format, Some(VerdictFormat::Sarif | VerdictFormat::Junit)) {
        // These formats have verdicts only, and the reason for an exit code must be printed somewhere.
        for finding in report.traces.first().into_iter().flat_map(TraceReport::unreported) {
            context.say(format!("policy {}: {}", finding.policy_id, finding.text));
        }
    }
    if report.summary.is_vacuous() {
        context.say("note: nothing was proven; nothing in the traces is what the policies speak of");
    }
    let mut exit = if report.passes { Exit::Yes } else { Exit::No };
    for name in args.traces.iter().filter(|name| !Path::new(name.as_str()).exists()) {
        // What no record has yet is judged as far as it is known; its result may still change a verdict.
        let unrecorded =
            Journal::of_target(context, name).ok().map(|journal| ActingCalls::in_call_log(&journal));
        for call in unrecorded.transpose()?.unwrap_or_default() {
            context.say(format_args!("not final: {}, and no record has it yet", call.text()));
            exit = exit.max(if report.passes { Exit::Partial } else { exit });
        }
    }
    Ok(exit)
}

/// The number of verdicts of each kind. Vacuous ones are not compliance, so they are counted apart.
#[derive(Clone, Copy, Default, Serialize, JsonSchema)]
struct Counts {
    /// Policies that applied and were satisfied.
    proven: usize,
    /// Policies that hold only because nothing they speak of occurs.
    absent: usize,
    /// Policies that were violated.
    failed: usize,
    /// Policies that did not apply to the trace.
    vacuous: usize,
    /// Policies without a verdict.
    unknown: usize,
    /// Verdicts that rest on words searched for in texts.
    heuristic: usize,
}

impl Counts {
    fn of(summary: Summary) -> Self {
        let Summary { proven, absent, failed, vacuous, unknown, heuristic } = summary;
        Self { proven, absent, failed, vacuous, unknown, heuristic }
    }

    /// Returns whether no policy was exercised.
    const fn is_vacuous(self) -> bool {
        self.proven + self.failed + self.unknown == 0
    }

    fn plus(self, other: Self) -> Self {
        Self {
            proven: self.proven + other.proven,
            absent: self.absent + other.absent,
            failed: self.failed + other.failed,
            vacuous: self.vacuous + other.vacuous,
            unknown: self.unknown + other.unknown,
            heuristic: self.heuristic + other.heuristic,
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { proven, absent, failed, vacuous, unknown, heuristic } = self;
        write!(
            out,
            "{proven} proven, {absent} absent, {failed} failed, {vacuous} vacuous, {unknown} unknown"
        )?;
        match heuristic {
            0 => Ok(()),
            _ => write!(out, "; {heuristic} rest on words looked for in texts"),
        }
    }
}

/// The verdict of a policy on a trace.
#[derive(Serialize, JsonSchema)]
pub(crate) struct VerdictReport {
    /// The policy.
    pub(crate) policy_id: String,
    /// The name of the policy.
    pub(crate) name: String,
    /// The severity of a failure: info, warning or error.
    pub(crate) severity: &'static str,
    /// passed, failed, not_applicable or unknown. Only passed is compliance.
    pub(crate) status: &'static str,
    /// Whether it passed only because nothing it speaks of occurs in the trace.
    pub(crate) absent: bool,
    /// The explanation or reason, in a sentence.
    pub(crate) note: Option<String>,
    /// The explanation of a failure, step by step, outermost first.
    pub(crate) explanation: Vec<StepReport>,
    /// The parts of the trace that violated it.
    pub(crate) violating: WitnessReport,
    /// The parts of the trace that satisfied it where it applied.
    pub(crate) evidence: WitnessReport,
    /// Words that were searched for in texts: the verdict rests on a guess about them.
    pub(crate) heuristic_words: Vec<String>,
    #[serde(skip)]
    pub(crate) line: String,
}

/// One step of an explanation.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StepReport {
    /// The action's position in the trace, from 0.
    pub(crate) position: Option<usize>,
    /// The action's id.
    pub(crate) action_id: Option<i64>,
    /// The action's type.
    pub(crate) action_type: Option<String>,
    /// The fact found, or the fact missing.
    pub(crate) found: String,
}

/// Parts of a trace a verdict points at.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WitnessReport {
    /// Ids of actions.
    pub(crate) action_ids: Vec<i64>,
    /// Ids of artifacts.
    pub(crate) artifact_ids: Vec<String>,
    /// Ids of residuals.
    pub(crate) residual_ids: Vec<String>,
    /// Other elements, by id or place.
    pub(crate) elements: Vec<String>,
}

/// A finding about a policy.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FindingReport {
    /// The policy.
    pub(super) policy_id: String,
    /// error: the policy cannot be evaluated; warning: perhaps not as meant.
    pub(super) weight: &'static str,
    /// The finding, with its location in the formula.
    pub(super) text: String,
}

impl VerdictReport {
    /// Describes a verdict.
    pub(crate) fn of(verdict: &Verdict) -> Self {
        let steps = verdict.explanation.iter().flat_map(|explanation| &explanation.steps);
        Self {
            policy_id: verdict.policy_id.to_string(),
            name: verdict.policy_name.clone(),
            severity: verdict.severity.as_str(),
            status: verdict.status.as_str(),
            absent: verdict.absent,
            note: verdict.note(),
            explanation: steps.map(StepReport::of).collect(),
            violating: WitnessReport::of(&verdict.violating),
            evidence: WitnessReport::of(&verdict.evidence),
            heuristic_words: verdict.heuristic_words.clone(),
            line: verdict.to_string(),
        }
    }

    /// Returns whether the verdict's note is the text of a finding.
    fn states(&self, finding: &FindingReport) -> bool {
        self.policy_id == finding.policy_id && self.note.as_ref() == Some(&finding.text)
    }

    /// Returns the verdict in a line, and its sort key: failures first.
    fn line(&self) -> (u8, &str) {
        let order = match self.status {
            "failed" => 0,
            "unknown" => 1,
            "passed" if !self.absent => 2,
            "passed" => 3,
            _ => 4,
        };
        (order, &self.line)
    }
}

impl StepReport {
    fn of(step: &Step) -> Self {
        let action = step.action.as_ref();
        Self {
            position: action.map(|action| action.position),
            action_id: action.and_then(|action| action.id),
            action_type: action.map(|action| action.action_type.clone()),
            found: step.found.clone(),
        }
    }
}

impl WitnessReport {
    fn of(witnesses: &Witnesses) -> Self {
        let texts = |ids: &[Arc<str>]| ids.iter().map(ToString::to_string).collect();
        Self {
            action_ids: witnesses.action_ids.clone(),
            artifact_ids: texts(&witnesses.artifact_ids),
            residual_ids: texts(&witnesses.residual_ids),
            elements: texts(&witnesses.elements),
        }
    }
}

impl FindingReport {
    pub(super) fn of(policy_id: &str, finding: &Finding) -> Self {
        let weight = finding.severity().as_str();
        Self { policy_id: policy_id.to_owned(), weight, text: finding.to_string() }
    }
}

/// Writes one SARIF log, with a run for each trace.
fn sarif(checked: &[Checked]) -> String {
    let mut whole = Object::new();
    let mut runs: Vec<Value> = Vec::new();
    for Checked { file, report, .. } in checked {
        let log = show::sarif(report, file);
        runs.extend(log.get("runs").and_then(Value::as_array).unwrap_or_default().iter().cloned());
        if let Value::Object(log) = log {
            whole = log;
        }
    }
    escape_json(&Value::from(whole.with("runs", runs)).to_string())
}

/// Writes one JUnit document, with a suite for each trace.
fn junit(checked: &[Checked], fail_on: FailOn) -> String {
    let suites: Vec<Suite> =
        checked.iter().map(|Checked { file, report, .. }| show::junit(report, file, fail_on)).collect();
    junit_document("hence policy check", &suites)
}

/// Writes the workflow commands of all traces, escaped: a log may be shown on a terminal.
fn github(checked: &[Checked]) -> String {
    let text: String = checked.iter().map(|checked| show::github(&checked.report, &checked.file)).collect();
    text.lines().map(|line| format!("{}\n", escape(line))).collect()
}
