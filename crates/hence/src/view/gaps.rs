//! Gaps and policies of a run.

use std::collections::BTreeMap;

use hence_canon::Value;
use hence_policy::formula::Alphabet;
use hence_policy::{Options, check};
use hence_review::vocabulary::{ResidualSeverity, ResidualStatus};
use hence_review::wire::{Residual, Trace};
use hence_server::Window;

use super::Views;
use super::projected::{Projected, Subject};
use super::review::{TargetRow, target};
use super::shown::{List, Shown};
use crate::commands::policy::{VerdictReport, WitnessReport, source};
use crate::prelude::*;

/// A gap.
#[derive(Serialize, JsonSchema)]
pub(super) struct GapRow {
    /// Its id.
    id: Option<String>,
    /// `assumption`, `unverified`, `out_of_scope`, `limitation` or `open_question`.
    kind: Option<String>,
    /// `critical`, `high`, `medium`, `low` or `info`.
    severity: Option<String>,
    /// `open`, `acknowledged`, `addressed` or `waived`. The first two count as open.
    status: String,
    /// The gap in plain language.
    statement: String,
    /// A check that would close it.
    suggested_check: Option<String>,
    /// Who declared it.
    source: Option<String>,
    /// The part of the trace that it is about.
    target: TargetRow,
    /// The action that introduced it.
    action: Option<i64>,
    /// The record of that action.
    index: Option<u64>,
    /// The gap as the trace has it.
    gap: Shown,
}

/// The number of gaps of a kind and a severity.
#[derive(Serialize, JsonSchema)]
pub(super) struct GapCount {
    kind: String,
    severity: String,
    open: u64,
    closed: u64,
}

/// The gaps of a run.
#[derive(Serialize, JsonSchema)]
pub(super) struct GapList {
    /// The gaps by kind and severity, whatever is selected.
    counts: Vec<GapCount>,
    #[serde(flatten)]
    list: List<GapRow>,
}

/// The gaps that a request selects.
#[derive(Default)]
pub(super) struct GapFilter<'a> {
    pub(super) kind: Option<&'a str>,
    pub(super) severity: Option<&'a str>,
    pub(super) status: Option<&'a str>,
}

/// Counts of open gaps.
#[derive(Serialize, JsonSchema, Default, Clone)]
pub(super) struct OpenGaps {
    /// The number of open gaps.
    pub(super) open: u64,
    /// The number of all gaps.
    pub(super) all: u64,
    /// The open gaps by severity.
    pub(super) by_severity: BTreeMap<&'static str, u64>,
}

impl OpenGaps {
    pub(super) fn of(trace: &Trace) -> Self {
        let mut found = Self::default();
        for severity in ResidualSeverity::ALL {
            found.by_severity.insert(severity.as_str(), 0);
        }
        for gap in trace.residuals() {
            found.all += 1;
            if !is_open(&gap) {
                continue;
            }
            found.open += 1;
            if let Some(severity) = gap.severity() {
                *found.by_severity.entry(severity.as_str()).or_default() += 1;
            }
        }
        found
    }

    /// Returns the worst severity of an open gap.
    pub(super) fn worst(&self) -> Option<&'static str> {
        let worst = |word: &&&str| self.by_severity.get(**word).is_some_and(|count| *count > 0);
        ["critical", "high", "medium", "low", "info"].iter().find(worst).copied()
    }
}

fn is_open(gap: &Residual) -> bool {
    // A gap without a status, or with an unknown one, is open.
    !matches!(gap.status(), Some(ResidualStatus::Addressed | ResidualStatus::Waived))
}

fn row(projected: &Projected, gap: &Residual) -> GapRow {
    let text = |key: &str| gap.text(key).map(str::to_owned);
    let action = gap.int("introduced_by_action_id");
    GapRow {
        id: gap.id().map(str::to_owned),
        kind: text("kind"),
        severity: text("severity"),
        status: text("status").unwrap_or_else(|| "open".to_owned()),
        statement: gap.statement().to_owned(),
        suggested_check: gap.suggested_check().map(str::to_owned),
        source: text("source"),
        target: target(&Value::from(gap.source().clone())),
        action,
        index: action.and_then(|action| projected.record_of(action)),
        gap: Shown::of(&Value::from(gap.source().clone())),
    }
}

fn counts(gaps: &[Residual]) -> Vec<GapCount> {
    let mut counts: BTreeMap<(String, String), [u64; 2]> = BTreeMap::new();
    for gap in gaps {
        let word = |key: &str| gap.text(key).unwrap_or("unknown").to_owned();
        let [open, closed] = counts.entry((word("kind"), word("severity"))).or_default();
        *(if is_open(gap) { open } else { closed }) += 1;
    }
    let count = |((kind, severity), [open, closed]): ((String, String), [u64; 2])| GapCount {
        kind,
        severity,
        open,
        closed,
    };
    counts.into_iter().map(count).collect()
}

/// A policy with its verdict.
#[derive(Serialize, JsonSchema)]
pub(super) struct PolicyRow {
    /// Its id.
    id: String,
    /// The rule in words.
    words: Option<String>,
    /// The rule as a formula.
    formula: Option<String>,
    /// The selector that says when it applies, where it has one.
    applies_when: Option<Data>,
    #[serde(flatten)]
    verdict: VerdictReport,
    /// The records of the witnesses.
    records: Vec<u64>,
    /// The records at which it blocked a step or remarked on one.
    events: Vec<Data>,
}

/// The verdicts of the policies of a run.
#[derive(Serialize, JsonSchema, Default, Clone)]
pub(super) struct PolicyCounts {
    /// Rules that hold, and something happened that they are about.
    pub(super) passed: u64,
    /// Rules that hold because nothing happened that they are about.
    pub(super) absent: u64,
    pub(super) failed: u64,
    pub(super) unknown: u64,
    pub(super) not_applicable: u64,
    /// Steps that a rule blocked while the run was driven.
    pub(super) blocked: u64,
}

impl PolicyCounts {
    pub(super) fn all(&self) -> u64 {
        self.passed + self.absent + self.failed + self.unknown + self.not_applicable
    }
}

/// A step that a policy blocked.
#[derive(Serialize, JsonSchema)]
pub(super) struct BlockedStep {
    /// The record that says so.
    pub(super) record: u64,
    /// The step.
    pub(super) step: String,
    /// The policy.
    pub(super) policy: String,
}

/// Returns the steps that policies blocked while the run was driven, in the order of their records.
pub(super) fn blocked_steps(trace: &Value) -> Vec<BlockedStep> {
    let text = |value: &Value, key: &str| Some(value.get(key)?.as_str()?.to_owned());
    let mut found = Vec::new();
    for evaluation in trace.get("policy_evaluations").and_then(Value::as_array).unwrap_or_default() {
        let events = evaluation.get(hence_projection::EVENTS_MEMBER).and_then(Value::as_array);
        for event in events.unwrap_or_default() {
            let is_blocked = event.get("decision").and_then(Value::as_str) == Some("blocked");
            let record = event.get("record").and_then(Value::as_u64).filter(|_| is_blocked);
            let Some((record, policy)) = record.zip(text(evaluation, "policy_id")) else { continue };
            found.push(BlockedStep { record, step: text(event, "step").unwrap_or_default(), policy });
        }
    }
    found.sort_by_key(|blocked| blocked.record);
    found
}

/// Judges the trace by the policies that it carries; nothing where it carries none.
fn judged(
    name: &str,
    trace: &Value,
) -> Result<Option<(hence_policy::policy::PolicySet, hence_policy::Report)>, CliError> {
    if trace.get("policies").and_then(Value::as_array).is_none_or(<[Value]>::is_empty) {
        return Ok(None);
    }
    let set = source::of_trace(name, trace)?;
    let report = check(trace, set.policies(), Options::default());
    Ok(Some((set, report)))
}

/// Counts the verdicts of the policies that a trace carries.
pub(super) fn policy_counts(name: &str, trace: &Value) -> Result<PolicyCounts, CliError> {
    let mut counts = PolicyCounts::default();
    let Some((_, report)) = judged(name, trace)? else { return Ok(counts) };
    counts.blocked = blocked_steps(trace).len() as u64;
    for verdict in &report.verdicts {
        *(match verdict.status.as_str() {
            "passed" if verdict.absent => &mut counts.absent,
            "passed" => &mut counts.passed,
            "failed" => &mut counts.failed,
            "not_applicable" => &mut counts.not_applicable,
            _ => &mut counts.unknown,
        }) += 1;
    }
    Ok(counts)
}

impl Views {
    pub(super) fn gaps(
        &self,
        subject: &Subject,
        filter: &GapFilter<'_>,
        window: Window,
    ) -> Result<GapList, CliError> {
        let projected = self.trace_of(subject)?;
        // A review may have closed gaps and declared others.
        let reviewed = match subject {
            Subject::Run(run) => self.reviewed_trace(run, &projected)?,
            Subject::Trace(_) => None,
        };
        let trace = reviewed.as_ref().unwrap_or(&projected.trace);
        let gaps: Vec<Residual> = trace.residuals().collect();
        let is_wanted = |gap: &&Residual| {
            let is = |key: &str, wanted: Option<&str>| {
                wanted.is_none_or(|wanted| gap.text(key).unwrap_or("open") == wanted)
            };
            is("kind", filter.kind) && is("severity", filter.severity) && is("status", filter.status)
        };
        let found: Vec<&Residual> = gaps.iter().filter(is_wanted).collect();
        let list = List::of_slice(window, &found, |gap| row(&projected, gap));
        Ok(GapList { counts: counts(&gaps), list })
    }

    pub(super) fn policies(
        &self,
        name: &str,
        subject: &Subject,
        window: Window,
    ) -> Result<List<PolicyRow>, CliError> {
        let projected = self.trace_of(subject)?;
        let Some((set, report)) = judged(name, &projected.value)? else {
            return Ok(List { total: Some(0), from: window.from, next: None, items: Vec::new() });
        };
        let events = |id: &str| {
            let evaluations = projected.value.get("policy_evaluations").and_then(Value::as_array)?;
            let of_policy = |found: &&Value| found.get("policy_id").and_then(Value::as_str) == Some(id);
            let events = evaluations.iter().find(of_policy)?.get(hence_projection::EVENTS_MEMBER)?;
            Some(events.as_array()?.iter().cloned().map(Data).collect())
        };
        Ok(List::of_slice(window, &report.verdicts, |verdict| {
            let policy = set.get(verdict.policy_id.as_str());
            let witnesses = |report: &WitnessReport| report.action_ids.clone();
            let verdict = VerdictReport::of(verdict);
            let shown = [witnesses(&verdict.violating), witnesses(&verdict.evidence)].concat();
            let mut records: Vec<u64> = shown.iter().filter_map(|id| projected.record_of(*id)).collect();
            records.sort_unstable();
            records.dedup();
            PolicyRow {
                id: verdict.policy_id.clone(),
                words: policy.and_then(|policy| policy.description()).map(str::to_owned),
                formula: policy
                    .and_then(|policy| policy.rule().ok())
                    .map(|rule| rule.formula().expr().print(Alphabet::Unicode)),
                applies_when: policy
                    .and_then(|policy| policy.source().get("applies_when"))
                    .cloned()
                    .map(Data),
                events: events(&verdict.policy_id).unwrap_or_default(),
                verdict,
                records,
            }
        }))
    }
}
