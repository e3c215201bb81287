//! Verification: each path checks its own evidence and its own expression, each constraint is judged, and claims that a
//! capability proposed must cite evidence that supports them.

use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_state::{ProblemSpec, VerificationPath};

use super::names::{Names, Worked, names_in, parse, supports};
use super::{BY, list_of, members, text_of, texts_of};

/// The outcome of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Holds,
    Fails,
    /// Nothing could be judged.
    Unjudged,
}

/// A check and its outcome.
struct Judged {
    verdict: Verdict,
    evidence: Vec<Arc<str>>,
    /// The reason, unless the check holds.
    reason: Option<String>,
}

impl Judged {
    fn unjudged(evidence: Vec<Arc<str>>, reason: impl Into<String>) -> Self {
        Self { verdict: Verdict::Unjudged, evidence, reason: Some(reason.into()) }
    }
}

/// A verification as it grows.
#[derive(Default)]
struct Verification {
    paths: Vec<Value>,
    constraints: Vec<Value>,
    rejected: Vec<Value>,
    failures: Vec<String>,
    gaps: Vec<String>,
}

/// Verifies conclusions against evidence, constraints and the paths of the problem.
pub(crate) fn verification(problem: &ProblemSpec, conclusions: &[Value], items: &[Value]) -> Value {
    let evidence_count = items.len();
    verify(problem, conclusions, items).output(evidence_count)
}

fn verify(problem: &ProblemSpec, conclusions: &[Value], items: &[Value]) -> Verification {
    let settings = problem.settings();
    let mut found = Verification::default();
    let names = found.screen(super::context(problem), conclusions, items);
    if settings.evidence_required && items.is_empty() {
        found.failures.push("evidence is required and there is none".to_owned());
    }
    for path in &settings.verification_paths {
        found.path(path, &names, path.evidence_required.unwrap_or(settings.evidence_required));
    }
    for constraint in problem.constraints() {
        found.constraint(problem, constraint, &names, conclusions);
    }
    let is_bound = |step: &str| settings.bindings.iter().any(|binding| &*binding.step == step);
    let declared = problem.evidence().len();
    if settings.loop_settings.is_none() && !is_bound("AcquireEvidence") && items.len() < declared {
        let left = declared - items.len();
        found.gaps.push(format!(
            "{left} of {declared} items of evidence were not taken: evidence_batch is smaller, and there is no loop"
        ));
    }
    if settings.verification_paths.is_empty() && problem.constraints().is_empty() {
        found.gaps.push("the problem declares no verification path and no constraint".to_owned());
    }
    for conclusion in conclusions.iter().filter(|conclusion| text_of(conclusion, "status") == "undecided") {
        let (task, reason) = (text_of(conclusion, "task"), text_of(conclusion, "reason"));
        found.gaps.push(format!("task {task} is undecided: {reason}"));
    }
    found
}

impl Verification {
    /// Returns the names that checks may use: decided tasks, without claims that cite nothing, or what does not support
    /// them.
    fn screen(&mut self, context: Value, conclusions: &[Value], items: &[Value]) -> Names {
        let mut names = Names::new(context, items);
        for conclusion in conclusions {
            let task = text_of(conclusion, "task");
            let evidence = texts_of(conclusion, "evidence");
            let value = conclusion.get("value").filter(|_| text_of(conclusion, "status") == "decided");
            let defect = conclusion.get(BY).and_then(|_| claim_defect(task, &evidence, items));
            match (value, defect) {
                (Some(value), None) => names.decide(task, Worked { value: value.clone(), evidence }),
                (Some(_), Some(defect)) => {
                    self.reject(conclusion, &defect);
                    names.leave_undecided(task);
                }
                (None, _) => names.leave_undecided(task),
            }
        }
        names
    }

    fn reject(&mut self, conclusion: &Value, reason: &str) {
        let task = text_of(conclusion, "task");
        if self.rejected.iter().any(|rejected| text_of(rejected, "task") == task) {
            return;
        }
        self.failures.push(format!("the claim about task {task} is rejected: {reason}"));
        let members = [("task", task.into()), ("reason", reason.into()), ("conclusion", conclusion.clone())];
        self.rejected.push(Object::from_iter(members).into());
    }

    fn path(&mut self, path: &VerificationPath, names: &Names, requires_evidence: bool) {
        let judged = judge(names, path.expression.as_deref(), &path.evidence, requires_evidence);
        let status = match judged.verdict {
            Verdict::Holds => "passed",
            Verdict::Fails => "failed",
            Verdict::Unjudged => "unjudged",
        };
        self.note(&format!("path {}", path.name), &judged);
        self.paths.push(members([
            Some(("name", path.name.clone().into())),
            Some(("status", status.into())),
            Some(("evidence", judged.evidence.into_iter().collect())),
            path.expression.clone().map(|expression| ("expression", expression.into())),
            judged.reason.map(|reason| ("reason", reason.into())),
        ]));
    }

    fn constraint(&mut self, problem: &ProblemSpec, text: &Arc<str>, names: &Names, conclusions: &[Value]) {
        let check = problem.constraint_checks().iter().find(|check| check.constraint == *text);
        let judged = match check {
            Some(check) => judge(names, Some(&check.expression), &check.evidence, false),
            None => Judged::unjudged(Vec::new(), "no check is declared for it"),
        };
        let status = match judged.verdict {
            Verdict::Holds => "met",
            Verdict::Fails => "broken",
            Verdict::Unjudged => "unjudged",
        };
        if let (Verdict::Fails, Some(check)) = (judged.verdict, check) {
            // A claim that was proposed and breaks a constraint is no conclusion.
            let named = parse(&check.expression).map(|read| names_in(&read)).unwrap_or_default();
            let is_named = |task: &str| {
                named.iter().any(|name| &*name.root == "tasks" && name.id.as_deref() == Some(task))
            };
            let claims = conclusions.iter().filter(|conclusion| conclusion.get(BY).is_some());
            for claim in claims.filter(|claim| is_named(text_of(claim, "task"))) {
                self.reject(claim, &format!("it breaks the constraint {text:?}"));
            }
        }
        self.note(&format!("constraint {text:?}"), &judged);
        self.constraints.push(members([
            Some(("constraint", text.clone().into())),
            Some(("status", status.into())),
            Some(("evidence", judged.evidence.into_iter().collect())),
            check.map(|check| ("expression", check.expression.clone().into())),
            judged.reason.map(|reason| ("reason", reason.into())),
        ]));
    }

    fn note(&mut self, subject: &str, judged: &Judged) {
        let reason = judged.reason.as_deref().unwrap_or_default();
        match judged.verdict {
            Verdict::Holds => {}
            Verdict::Fails => self.failures.push(format!("{subject}: {reason}")),
            Verdict::Unjudged => self.gaps.push(format!("{subject} is not judged: {reason}")),
        }
    }

    fn status(&self) -> &'static str {
        match (self.failures.is_empty(), self.gaps.is_empty()) {
            (false, _) => "failed",
            (true, false) => "unjudged",
            (true, true) => "passed",
        }
    }

    fn output(self, evidence_count: usize) -> Value {
        let status = self.status();
        let with = |status: &str| self.paths.iter().filter(|path| text_of(path, "status") == status).count();
        let aggregate: [(&str, Value); 4] = [
            ("total", self.paths.len().into()),
            ("passed_count", with("passed").into()),
            ("failed_count", with("failed").into()),
            ("unjudged_count", with("unjudged").into()),
        ];
        let aggregate = aggregate.into_iter().collect::<Object>();
        let reasons: Vec<Value> = self.failures.into_iter().chain(self.gaps).map(Value::from).collect();
        let output: [(&str, Value); 7] = [
            ("status", status.into()),
            ("evidence_count", evidence_count.into()),
            ("paths", self.paths.into()),
            ("aggregate", aggregate.into()),
            ("constraints", self.constraints.into()),
            ("rejected", self.rejected.into()),
            ("reasons", reasons.into()),
        ];
        output.into_iter().collect::<Object>().into()
    }
}

/// Returns the reason why a claim that a capability proposed does not stand on evidence.
fn claim_defect(task: &str, evidence: &[Arc<str>], items: &[Value]) -> Option<String> {
    if evidence.is_empty() {
        return Some("it cites no evidence".to_owned());
    }
    evidence.iter().find_map(|id| match items.iter().find(|item| text_of(item, "id") == &**id) {
        None => Some(format!("it cites `{id}`, which is no evidence")),
        Some(item) if !supports(item, task) => Some(format!(
            "it cites `{id}`, which does not support the task by the rule {:?}",
            text_of(item, "supports_by")
        )),
        Some(_) => None,
    })
}

/// Judges an expression and the evidence it needs.
fn judge(names: &Names, expression: Option<&str>, needed: &[Arc<str>], requires_evidence: bool) -> Judged {
    let present: Vec<Arc<str>> = needed.iter().filter(|id| names.has_evidence(id)).cloned().collect();
    if let Some(missing) = needed.iter().find(|id| !names.has_evidence(id)) {
        let verdict = if requires_evidence { Verdict::Fails } else { Verdict::Unjudged };
        let reason = format!("it needs the evidence `{missing}`, which is not there");
        return Judged { verdict, evidence: present, reason: Some(reason) };
    }
    let lacking = |evidence: Vec<Arc<str>>, reason: String| match requires_evidence && evidence.is_empty() {
        true => {
            let reason = format!("it requires evidence and has none ({reason})");
            Judged { verdict: Verdict::Fails, evidence, reason: Some(reason) }
        }
        false => Judged::unjudged(evidence, reason),
    };
    let Some(expression) = expression else {
        return lacking(present, "it has no expression, so nothing was checked".to_owned());
    };
    if parse(expression).is_ok_and(|read| names_in(&read).is_empty()) {
        return lacking(present, format!("`{expression}` names nothing, so nothing was checked"));
    }
    let worked = match names.evaluate_reading(expression, None) {
        // A default that makes a check fail is what its author wanted; one that makes it hold has checked nothing.
        Ok((worked, has_read)) if has_read || worked.value != Value::Bool(true) => worked,
        Ok(_) => {
            let reason = format!("`{expression}` read nothing that is there, so nothing was checked");
            return lacking(present, reason);
        }
        Err(reason) => return lacking(present, reason),
    };
    let evidence =
        present.iter().cloned().chain(worked.evidence.into_iter().filter(|id| !present.contains(id)));
    let evidence: Vec<Arc<str>> = evidence.collect();
    match worked.value {
        Value::Bool(_) if requires_evidence && evidence.is_empty() => {
            lacking(evidence, format!("`{expression}` reads none"))
        }
        Value::Bool(true) => Judged { verdict: Verdict::Holds, evidence, reason: None },
        Value::Bool(false) => {
            let reason = format!("`{expression}` does not hold");
            Judged { verdict: Verdict::Fails, evidence, reason: Some(reason) }
        }
        other => {
            let reason = format!("`{expression}` gives {}, expected true or false", other.kind());
            Judged::unjudged(evidence, reason)
        }
    }
}

/// Turns what a capability gave in the place of Verify into a verification. The deterministic checks decide; the
/// capability can add a failure. A capability that judges by itself, with a `status`, counts as one more path; opinions
/// about single subjects can fail a verification and never pass one.
///
/// # Errors
/// The expected and the found value, in words.
pub(crate) fn check_verification(
    problem: &ProblemSpec,
    conclusions: &[Value],
    items: &[Value],
    capability: &str,
    reply: &Value,
) -> Result<Value, String> {
    let mut found = verify(problem, conclusions, items);
    let status = reply.get("status").and_then(Value::as_str);
    let judgements = reply.get("judgements").and_then(Value::as_array);
    match (status, judgements) {
        (Some(status @ ("passed" | "failed" | "unjudged")), _) => {
            let verdict = match status {
                "passed" => Verdict::Holds,
                "failed" => Verdict::Fails,
                _ => Verdict::Unjudged,
            };
            let reason = match text_of(reply, "reason") {
                "" => format!("`{capability}` says so"),
                reason => reason.to_owned(),
            };
            let reason = (verdict != Verdict::Holds).then_some(reason);
            let judged = Judged { verdict, evidence: Vec::new(), reason };
            found.gaps.retain(|gap| !gap.starts_with("the problem declares no verification path"));
            found.note(&format!("path {capability}"), &judged);
            found.paths.push(members([
                Some(("name", capability.into())),
                Some(("status", status.into())),
                Some((BY, capability.into())),
                judged.reason.map(|reason| ("reason", reason.into())),
            ]));
        }
        (None, Some(judgements)) => {
            for judgement in judgements.iter().filter(|judgement| text_of(judgement, "status") == "fails") {
                let (about, reason) = (text_of(judgement, "about"), text_of(judgement, "reason"));
                found.failures.push(format!("`{capability}` objects to {about}: {reason}"));
            }
        }
        _ => {
            return Err("expected `status`, one of `passed`, `failed`, `unjudged`, or `judgements`, a list"
                .to_owned());
        }
    }
    let output = found.output(items.len());
    let proposal = Object::from_iter([("capability", Value::from(capability)), ("reply", reply.clone())]);
    Ok(output.as_object().map(|output| output.with("proposal", proposal)).unwrap_or_default().into())
}

/// Returns the conclusions that a verification leaves standing.
pub(super) fn accepted<'c>(conclusions: &'c [Value], verification: &Value) -> Vec<&'c Value> {
    let rejected = list_of(verification, "rejected");
    let is_rejected = |task: &str| rejected.iter().any(|rejected| text_of(rejected, "task") == task);
    let decided = conclusions.iter().filter(|conclusion| text_of(conclusion, "status") == "decided");
    decided.filter(|conclusion| !is_rejected(text_of(conclusion, "task"))).collect()
}
