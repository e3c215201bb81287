//! Checking a trace against policies: the report, and the gaps it leaves.

use hence_canon::{Object, Value};
use hence_review::vocabulary::{EvaluationStatus, PolicySeverity, ResidualSeverity};

use crate::eval::{Evaluator, SinceReading, Subject, TraceDefect};
use crate::lint::Finding;
use crate::policy::Policy;
use crate::verdict::{Verdict, judge};

/// The verdicts that fail a check, besides failed and undecided policies of severity error, which always do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum FailOn {
    /// No others.
    #[default]
    Error,
    /// Also failed and undecided policies of severity warning.
    Warning,
    /// Also undecided policies of any severity.
    Unknown,
}

/// Choices that the definition of the language leaves open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// The reading of `S`.
    pub since: SinceReading,
}

/// The verdicts of a set of policies on one trace.
#[derive(Clone, Debug)]
pub struct Report {
    /// The id of the trace.
    pub trace_id: Option<String>,
    /// One verdict per policy, in the order of the policies.
    pub verdicts: Vec<Verdict>,
    /// The findings about the policies themselves, with the index of the policy.
    pub findings: Vec<(usize, Finding)>,
    /// The defect because of which the trace could not be judged; every verdict is then `unknown`.
    pub defect: Option<TraceDefect>,
}

/// The number of verdicts of each kind. Vacuous ones are not compliance, so they are counted apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Policies that applied and were satisfied.
    pub proven: usize,
    /// Policies that hold only because nothing they speak of occurs.
    pub absent: usize,
    /// Policies that were violated.
    pub failed: usize,
    /// Policies that did not apply to this trace.
    pub vacuous: usize,
    /// Policies without a verdict.
    pub unknown: usize,
    /// Verdicts that rest on words searched for in texts.
    pub heuristic: usize,
}

/// Checks a trace.
///
/// A trace that cannot be judged gives a report all of whose verdicts are `unknown` with the reason.
pub fn check<'p>(trace: &Value, policies: impl IntoIterator<Item = &'p Policy>, options: Options) -> Report {
    match Subject::read(trace) {
        Ok(subject) => check_subject(&subject, policies, options),
        Err(defect) => {
            let empty = Subject::read(&Value::Object(Object::new()));
            let mut report = match empty {
                Ok(subject) => check_subject(&subject, policies, options),
                Err(_) => Report { trace_id: None, verdicts: Vec::new(), findings: Vec::new(), defect: None },
            };
            report.trace_id = trace.get("trace_id").and_then(Value::as_str).map(str::to_owned);
            for verdict in &mut report.verdicts {
                *verdict = undecidable(verdict, &defect);
            }
            report.defect = Some(defect);
            report
        }
    }
}

/// Checks a prepared trace.
pub fn check_subject<'p>(
    subject: &Subject,
    policies: impl IntoIterator<Item = &'p Policy>,
    options: Options,
) -> Report {
    let mut evaluator = Evaluator::new(subject, options.since);
    let mut verdicts = Vec::new();
    let mut findings = Vec::new();
    for (place, policy) in policies.into_iter().enumerate() {
        verdicts.push(judge(policy, &mut evaluator));
        findings.extend(policy.lint().into_iter().map(|finding| (place, finding)));
    }
    let trace_id = subject.trace().trace_id().map(str::to_owned);
    Report { trace_id, verdicts, findings, defect: None }
}

fn undecidable(verdict: &Verdict, defect: &TraceDefect) -> Verdict {
    Verdict {
        status: EvaluationStatus::Unknown,
        checked_at_action_id: None,
        evidence: Default::default(),
        violating: Default::default(),
        explanation: None,
        reason: Some(defect.to_string()),
        ..verdict.clone()
    }
}

impl Report {
    /// Counts the verdicts.
    pub fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        for verdict in &self.verdicts {
            *match verdict.status {
                EvaluationStatus::Passed if verdict.absent => &mut summary.absent,
                EvaluationStatus::Passed => &mut summary.proven,
                EvaluationStatus::Failed => &mut summary.failed,
                EvaluationStatus::NotApplicable => &mut summary.vacuous,
                EvaluationStatus::Unknown => &mut summary.unknown,
            } += 1;
            let judged = matches!(verdict.status, EvaluationStatus::Passed | EvaluationStatus::Failed);
            summary.heuristic += usize::from(judged && !verdict.heuristic_words.is_empty());
        }
        summary
    }

    /// Returns whether the trace passes. Who writes a trace can make a rule undecidable, so an undecided policy counts
    /// like a violated one of its severity.
    pub fn passes(&self, fail_on: FailOn) -> bool {
        let broken_policy = self.findings.iter().any(|(_, finding)| finding.is_error());
        let blocked = self.verdicts.iter().any(|verdict| match verdict.status {
            EvaluationStatus::Failed | EvaluationStatus::Unknown => match verdict.severity {
                PolicySeverity::Error => true,
                PolicySeverity::Warning => fail_on >= FailOn::Warning,
                PolicySeverity::Info => {
                    verdict.status == EvaluationStatus::Unknown && fail_on >= FailOn::Unknown
                }
            },
            EvaluationStatus::Passed | EvaluationStatus::NotApplicable => false,
        });
        !broken_policy && !blocked && self.defect.is_none()
    }

    /// Returns the trace with these verdicts as its recorded evaluations; a record of the same policy is replaced,
    /// records of others stay.
    pub fn record_into(&self, trace: &Object) -> Object {
        let judged = |record: &&Value| {
            let id = record.get("policy_id").and_then(Value::as_str);
            self.verdicts.iter().any(|verdict| Some(verdict.policy_id.as_str()) == id)
        };
        let others = trace.get("policy_evaluations").and_then(Value::as_array).unwrap_or(&[]).iter();
        let others = others.filter(|record| !judged(record)).cloned();
        let records: Value =
            others.chain(self.verdicts.iter().map(|verdict| verdict.record().into())).collect();
        trace.with("policy_evaluations", records)
    }

    /// Returns the report as JSON, in the form that journals record: what holds by absence is among the proven there.
    pub fn to_value(&self) -> Value {
        let summary = self.summary();
        let counts: Object = [
            ("proven", summary.proven + summary.absent),
            ("failed", summary.failed),
            ("vacuous", summary.vacuous),
            ("unknown", summary.unknown),
            ("heuristic", summary.heuristic),
        ]
        .into_iter()
        .collect();
        let findings: Value = self
            .findings
            .iter()
            .map(|(place, finding)| {
                let id = self.verdicts.get(*place).map_or("", |verdict| verdict.policy_id.as_str());
                let object: Object = [
                    ("policy_id", id.to_owned()),
                    ("weight", finding.severity().to_string()),
                    ("text", finding.to_string()),
                ]
                .into_iter()
                .collect();
                Value::from(object)
            })
            .collect();
        let report: Object = [
            ("trace_id", Value::from(self.trace_id.clone())),
            ("summary", counts.into()),
            ("verdicts", self.verdicts.iter().map(Verdict::to_value).collect()),
            ("findings", findings),
            ("defect", self.defect.as_ref().map(ToString::to_string).into()),
        ]
        .into_iter()
        .collect();
        report.into()
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = match (self.status, self.severity) {
            (EvaluationStatus::Failed, PolicySeverity::Error) => "FAIL",
            (EvaluationStatus::Failed, PolicySeverity::Warning) => "WARN",
            (EvaluationStatus::Failed, PolicySeverity::Info) => "INFO",
            (EvaluationStatus::Passed, _) if self.absent => "absent",
            (EvaluationStatus::Passed, _) => "pass",
            (EvaluationStatus::NotApplicable, _) => "n/a ",
            // Undecided is not violated, also where it fails the check.
            (EvaluationStatus::Unknown, _) => "UNKNOWN",
        };
        write!(out, "{word} {}", self.policy_id)?;
        if self.policy_name != self.policy_id.as_str() {
            write!(out, " ({})", self.policy_name)?;
        }
        if self.status == EvaluationStatus::Unknown {
            out.write_str(": undecided")?;
        }
        if !self.heuristic_words.is_empty() && self.status != EvaluationStatus::NotApplicable {
            write!(out, " [guessed from words: {}]", self.heuristic_words.join(", "))?;
        }
        match self.note() {
            None if self.absent => out.write_str(": nothing in the trace is what it speaks of")?,
            Some(note) => write!(out, ": {note}")?,
            None => {}
        }
        match self.violating_actions() {
            Some(actions) => write!(out, "; {actions}"),
            None => Ok(()),
        }
    }
}

impl Report {
    /// Returns a residual for each policy that failed or could not be decided: source `policy_derived`, open, located
    /// at the first action that violates it, or at the policy. A policy that passed or did not apply leaves no gap.
    pub fn residuals(&self) -> Vec<Object> {
        self.verdicts.iter().filter_map(residual).collect()
    }

    /// Returns the trace with these verdicts as its evaluations and their gaps among its residuals; a gap of the same
    /// id is replaced, so that recording twice changes nothing.
    pub fn record_gaps_into(&self, trace: &Object) -> Object {
        let recorded = self.record_into(trace);
        let gaps = self.residuals();
        let id = |residual: &Value| residual.get("residual_id").cloned();
        let ours: Vec<Option<Value>> =
            self.verdicts.iter().map(|verdict| Some(Value::from(residual_id(verdict)))).collect();
        let others = recorded.get("residuals").and_then(Value::as_array).unwrap_or(&[]).iter();
        let others = others.filter(|residual| !ours.contains(&id(residual))).cloned();
        let all: Value = others.chain(gaps.into_iter().map(Value::from)).collect();
        recorded.with("residuals", all)
    }
}

fn residual_id(verdict: &Verdict) -> String {
    format!("policy-{}", verdict.policy_id)
}

fn residual(verdict: &Verdict) -> Option<Object> {
    let (word, check) = match verdict.status {
        EvaluationStatus::Failed => {
            ("is violated", "Mend what violates the policy, or have the violation accepted.")
        }
        EvaluationStatus::Unknown => {
            ("could not be decided", "Give the trace what the policy asks for, or mend the policy.")
        }
        EvaluationStatus::Passed | EvaluationStatus::NotApplicable => return None,
    };
    let severity = match verdict.severity {
        PolicySeverity::Error => ResidualSeverity::High,
        PolicySeverity::Warning => ResidualSeverity::Medium,
        PolicySeverity::Info => ResidualSeverity::Info,
    };
    let why = verdict.note().map(|note| format!(": {note}")).unwrap_or_default();
    let (target_type, target_id) = match verdict.violating.action_ids.first() {
        Some(action) => ("action", Value::from(*action)),
        None => ("policy", Value::from(verdict.policy_id.as_str())),
    };
    let target = Object::from_iter([("target_type", Value::from(target_type)), ("target_id", target_id)]);
    let related: Value = verdict.violating.artifact_ids.iter().cloned().collect();
    let residual = Object::from_iter([
        ("residual_id", Value::from(residual_id(verdict))),
        ("kind", "unverified".into()),
        ("statement", format!("The policy {} {word}{why}", verdict.policy_id).into()),
        ("severity", severity.into()),
        ("target", target.into()),
        ("suggested_check", check.into()),
        ("source", "policy_derived".into()),
        ("status", "open".into()),
    ]);
    let has_related = related.as_array().is_some_and(|ids| !ids.is_empty());
    Some(if has_related { residual.with("related_artifact_ids", related) } else { residual })
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;
    use hence_review::validate::validate;

    use super::*;
    use crate::policy::{Policy, PolicyId};
    use crate::{Options, check};

    fn policy(id: &str, formula: &str) -> Policy {
        Policy::from_formula(&PolicyId::new(id).unwrap(), formula)
    }

    #[test]
    fn only_failed_and_undecided_policies_leave_a_gap_and_recording_twice_changes_nothing() {
        let policies = [
            policy("failed", "G(GitCommit → P(RunTests))"),
            policy("passed", "F(GitCommit)"),
            policy("vacuous", "G(Deploy → P(Approve))"),
            policy("undecided", "G(GitCommit → Diff ∈ type)"),
        ];
        let trace = parse(
            br#"{"trace_id": "t", "actions": [{"id": 7, "type": "GitCommit"}], "artifacts": [],
            "residuals": [{"residual_id": "own", "kind": "assumption", "statement": "s"}]}"#,
        )
        .unwrap();
        let report = check(&trace, &policies, Options::default());
        let gaps: Vec<String> =
            report.residuals().iter().map(|gap| gap.get("residual_id").unwrap().to_string()).collect();
        assert_eq!(gaps, [r#""policy-failed""#, r#""policy-undecided""#]);
        let once = report.record_gaps_into(trace.as_object().unwrap());
        assert_eq!(once, report.record_gaps_into(&once));
        let listed = once.get("residuals").unwrap().as_array().unwrap().len();
        assert_eq!(listed, 3);
        let first = once.get("residuals").unwrap().at(1).unwrap();
        assert_eq!(first.get("target").unwrap().to_string(), r#"{"target_id":7,"target_type":"action"}"#);
        let specified: Value = policies
            .iter()
            .map(|policy| {
                let source = policy.source().with("policy_id", policy.id().as_str());
                Value::from(source.with("severity", "warning"))
            })
            .collect();
        let findings = validate(&once.with("policies", specified).into());
        let about: Vec<_> =
            findings.errors().filter(|found| found.pointer.to_string().starts_with("/residuals/1")).collect();
        assert!(about.is_empty(), "{about:?}");
    }

    #[test]
    fn a_line_names_every_violating_action_up_to_a_limit() {
        let trace = |count: usize| {
            let actions: Vec<String> =
                (1..=count).map(|id| format!(r#"{{"id": {id}, "type": "GitPush"}}"#)).collect();
            parse(format!(r#"{{"actions": [{}]}}"#, actions.join(",")).as_bytes()).unwrap()
        };
        let line = |formula: &str, count: usize| {
            let policy = policy("p", formula);
            check(&trace(count), [&policy], Options::default()).verdicts.first().unwrap().to_string()
        };
        for formula in ["G(¬GitPush)", "¬F(GitPush)", "G(¬GitPush) ∧ G(action)"] {
            assert!(!line(formula, 1).contains("violated by"), "the explanation names the only one");
            assert!(line(formula, 3).ends_with("; violated by actions 1, 2, 3"), "{}", line(formula, 3));
            assert!(line(formula, 20).ends_with(", 19, 20"), "{}", line(formula, 20));
            assert!(line(formula, 21).ends_with(", 19, 20 and 1 more"), "{}", line(formula, 21));
        }
        assert!(line("count(GitPush) ≤ 1", 3).ends_with("; violated by actions 2, 3"));
    }

    #[test]
    fn an_action_counts_as_often_as_it_called() {
        let trace = parse(
            br#"{"actions": [{"id": 1, "type": "Deploy", "execution": {"calls": 2}}, {"id": 2, "type": "Deploy"},
            {"id": 3, "type": "EditFile", "execution": {"calls": 9}}, {"id": 4, "type": "Deploy", "execution": {"calls": 0}}]}"#,
        )
        .unwrap();
        for (formula, status) in [
            ("count(Deploy) ≤ 4", "passed"),
            ("count(Deploy) ≤ 3", "failed"),
            ("count(Deploy) < 4", "failed"),
            ("count(Deploy) = 4", "passed"),
            ("count(EditFile) ≥ 9", "passed"),
            ("count(action) ≤ 13", "passed"),
        ] {
            let policy = policy("p", formula);
            let report = check(&trace, [&policy], Options::default());
            assert_eq!(report.verdicts.first().unwrap().status.as_str(), status, "{formula}");
            let mut monitor = crate::monitor::Monitor::start(&Object::new(), [&policy], Options::default());
            let mut violated = false;
            for action in trace.get("actions").and_then(Value::as_array).unwrap() {
                let offer = monitor.propose(action.as_object().unwrap(), &[]).unwrap();
                violated |= !offer.admit().is_empty();
            }
            let is_budget = formula.contains('≤') || formula.contains('<');
            assert_eq!(violated, is_budget && status == "failed", "{formula}: the monitor counts alike");
        }
    }
}
