//! `hence policy check`: which rules traces keep, which they break, and what decided it.

use hence_canon::{Object, Value};
use hence_policy::policy::Policy;
use hence_policy::{FailOn, Options, Report, check};
use hence_projection::policy_specification;
use schemars::JsonSchema;
use serde::Serialize;

use super::verdict::{Counts, FindingReport, VerdictReport};
use super::{forms, source};
use crate::args::{FailOnArg, PolicyCheckArgs, VerdictFormat};
use crate::code::Code;
use crate::context::{Context, escape};
use crate::data::Data;
use crate::error::CliError;
use crate::escape::escape_json;
use crate::exit::Exit;
use crate::hint;
use crate::input;
use crate::report::Text;

/// A trace that was checked.
pub(super) struct Checked {
    pub(super) file: String,
    pub(super) report: Report,
    residuals: Vec<Object>,
}

/// What policies say about traces.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CheckReport {
    /// Whether every trace passes. The exit code says the same.
    passes: bool,
    /// What made the check fail: error, warning or unknown.
    fail_on: &'static str,
    /// How many policies were checked on each trace.
    policies: usize,
    /// The verdicts of all traces, counted.
    summary: Counts,
    /// The traces.
    traces: Vec<TraceReport>,
}

/// What policies say about one trace.
#[derive(Serialize, JsonSchema)]
struct TraceReport {
    /// Where the trace was read.
    file: String,
    /// Its id.
    trace_id: Option<String>,
    /// Whether it passes.
    passes: bool,
    /// Its verdicts, counted.
    summary: Counts,
    /// One verdict per policy, in the order of the policies.
    verdicts: Vec<VerdictReport>,
    /// What is wrong or odd about the policies themselves.
    findings: Vec<FindingReport>,
    /// Why the trace could not be judged at all.
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

    /// Returns the errors of policies that do not stand behind a verdict already.
    fn unsaid(&self) -> impl Iterator<Item = &FindingReport> {
        let is_said = |finding: &FindingReport| self.verdicts.iter().any(|verdict| verdict.says(finding));
        self.findings.iter().filter(move |finding| finding.weight == "error" && !is_said(finding))
    }

    fn text(&self) -> String {
        let outcome = match (self.passes, self.summary.proven) {
            (false, _) => "does not pass",
            (true, 0) => "passes, nothing proven",
            (true, _) => "passes",
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
        for finding in self.unsaid() {
            text.push_str(&format!("  policy {}: {}\n", escape(&finding.policy_id), escape(&finding.text)));
        }
        for Data(gap) in &self.residuals {
            let said = |key: &str| gap.get(key).and_then(Value::as_str).unwrap_or_default();
            let line =
                format!("gap  {} ({}): {}", said("residual_id"), said("severity"), said("suggested_check"));
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
            let kept = self.traces.iter().filter(|trace| trace.passes).count();
            text.push_str(&format!("{kept} of {} traces pass: {}\n", self.traces.len(), self.summary));
        }
        text
    }
}

/// Returns the trace with the policies it was checked against, those it had first.
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

pub(super) fn run(context: &Context, args: &PolicyCheckArgs) -> Result<Exit, CliError> {
    let set = source::load(&args.policies)?;
    let policies = source::choose(&set, &args.only)?;
    if args.into.is_some() && args.traces.len() > 1 {
        let message = format!("--into takes one trace, found {}", args.traces.len());
        return Err(CliError::new(Code::File, message).with_hint(hint::CHECK_ONE_BY_ONE));
    }
    let mut checked = Vec::new();
    for name in &args.traces {
        let trace = source::read_trace_or_run(context, name)?;
        let report = check(&trace, policies.iter().copied(), Options::default());
        if let (Some(path), Some(trace)) = (&args.into, trace.as_object()) {
            let recorded = report.record_gaps_into(&with_policies(trace, &policies));
            let text = format!("{}\n", escape_json(&hence_canon::pretty(&recorded.into())));
            std::fs::write(path, text).map_err(|error| CliError::file("write", path, error))?;
        }
        let residuals = if args.residuals { report.residuals() } else { Vec::new() };
        checked.push(Checked { file: input::shown_name(name).to_owned(), report, residuals });
    }
    let report = CheckReport::of(&checked, policies.len(), args.fail_on);
    match args.format {
        None => context.print(&report)?,
        Some(VerdictFormat::Text) => context.print_as_text(&report)?,
        Some(VerdictFormat::Json) => context.print_as_json(&report)?,
        Some(VerdictFormat::Sarif) => context.write_document(&forms::sarif(&checked))?,
        Some(VerdictFormat::Junit) => context.write_document(&forms::junit(&checked, args.fail_on.into()))?,
        Some(VerdictFormat::Github) => context.write(forms::github(&checked).as_bytes())?,
    }
    if matches!(args.format, Some(VerdictFormat::Sarif | VerdictFormat::Junit)) {
        // These forms know verdicts only, and the reason of an exit code must be somewhere.
        for finding in report.traces.first().into_iter().flat_map(TraceReport::unsaid) {
            context.say(format!("policy {}: {}", finding.policy_id, finding.text));
        }
    }
    if report.summary.is_vacuous() {
        context.say("note: nothing was proven; no policy applied to what the traces hold");
    }
    Ok(if report.passes { Exit::Yes } else { Exit::No })
}
