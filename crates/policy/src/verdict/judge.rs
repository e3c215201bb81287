//! Policy and trace → verdict.

use hence_review::ending::Basis;
use hence_review::vocabulary::EvaluationStatus;

use super::absence::holds_by_absence;
use super::explain::{Explanation, action_ref, explain_failure};
use super::witness::name_witnesses;
use super::{Verdict, Witnesses};
use crate::eval::{Decided, Evaluator, Truth, any_word};
use crate::formula::{Expr, Quantifier, Unary};
use crate::named_check::{self, NamedCheck, Outcome};
use crate::policy::{Policy, Rule};
use crate::vocabulary::Atom;

/// The number of offending elements a verdict names. More would tell a reader nothing new.
const ELEMENTS_NAMED_MAX: usize = 1000;

/// Evaluates one policy.
pub(crate) fn judge(policy: &Policy, evaluator: &mut Evaluator<'_>) -> Verdict {
    let mut verdict = Verdict {
        policy_id: policy.id().clone(),
        policy_name: policy.name().to_owned(),
        statement: policy.description().map(str::to_owned),
        severity: policy.severity(),
        status: EvaluationStatus::Unknown,
        absent: false,
        checked_at_action_id: evaluator.subject().highest_action_id(),
        evidence: Witnesses::default(),
        violating: Witnesses::default(),
        offending: Vec::new(),
        heuristic_words: Vec::new(),
        explanation: None,
        reason: None,
    };
    if let Some(error) = policy.lint().into_iter().find(is_fatal) {
        verdict.reason = Some(error.to_string());
        return verdict;
    }
    let rule = match policy.rule() {
        Ok(rule) => rule,
        Err(fault) => {
            verdict.reason = Some(fault.to_string());
            return verdict;
        }
    };
    if let Ok(Some(selector)) = policy.selector()
        && !selector.matches(evaluator.subject())
    {
        verdict.status = EvaluationStatus::NotApplicable;
        verdict.reason = Some("nothing in the trace is what `applies_when` selects".to_owned());
        return verdict;
    }
    verdict.heuristic_words = heuristic_words(rule);
    evaluator.renew();
    if let Ok(guessed) = endings_read_from_words(rule.expr(), evaluator) {
        verdict.heuristic_words.extend(guessed);
    }
    evaluator.renew();
    if let Err(undecided) = decide(rule, evaluator, &mut verdict) {
        verdict.status = EvaluationStatus::Unknown;
        let action = evaluator.fault().and_then(|at| action_ref(evaluator.subject(), at));
        verdict.reason = Some(match action {
            Some(action) => format!("{undecided}, first at {action}"),
            None => undecided.to_string(),
        });
    }
    verdict
}

/// Returns whether a finding leaves nothing to evaluate. With an invalid severity or scope, the formula still has a
/// truth value.
fn is_fatal(finding: &crate::lint::Finding) -> bool {
    use crate::lint::FindingKind::{InvalidMember, MissingMember};
    finding.is_error()
        && match &finding.kind {
            MissingMember(member) => *member == "formula",
            InvalidMember { member, .. } => member != "severity" && member != "scope",
            _ => true,
        }
}

fn heuristic_words(rule: &Rule) -> Vec<String> {
    let mut words = Vec::new();
    any_word(rule.expr(), &mut |word| {
        let name = word.as_str().to_owned();
        if Atom::of(&name) == Atom::Custom && is_atom(rule.expr(), &name) && !words.contains(&name) {
            words.push(name);
        }
        false
    });
    words
}

/// Returns `completed` and `failed`, if the rule asks for them where only the words of a summary answer.
fn endings_read_from_words(expr: &Expr, evaluator: &mut Evaluator<'_>) -> Decided<Vec<String>> {
    let mut guessed = Vec::new();
    for name in ["completed", "failed"] {
        if is_atom(expr, name) && is_guessed(expr, name, evaluator)? {
            guessed.push(name.to_owned());
        }
    }
    Ok(guessed)
}

/// Returns whether `name` is asked of an action whose ending only the words of its summary tell. In a conjunction, only
/// actions that satisfy the other parts are asked: `RunTests ∧ completed` asks about tests.
fn is_guessed(expr: &Expr, name: &str, evaluator: &mut Evaluator<'_>) -> Decided<bool> {
    let is_atom_of_name = |part: &Expr| matches!(part, Expr::Atom(word) if word.as_str() == name);
    let is_name = |part: &Expr| match part {
        Expr::Not(inner) => is_atom_of_name(inner),
        part => is_atom_of_name(part),
    };
    let asked = match expr {
        Expr::And(parts) if parts.iter().any(is_name) => {
            let mut asked = Truth::Constant(true);
            for part in parts.iter().filter(|part| matches!(part, Expr::Atom(_)) && !is_name(part)) {
                asked = asked.and(&*evaluator.truth(part)?);
            }
            asked
        }
        _ if is_name(expr) => Truth::Constant(true),
        _ => {
            for part in expr.parts() {
                if is_atom(part, name) && is_guessed(part, name, evaluator)? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
    };
    let guessed = |at: &usize| {
        let ending = evaluator.facts(*at).and_then(|facts| facts.ending());
        asked.at(*at) && ending.is_some_and(|ending| ending.basis == Basis::Words)
    };
    Ok((0..evaluator.len()).find(guessed).is_some())
}

/// Returns whether a name is used as an atom: a name used as a value is not searched for in texts.
fn is_atom(expr: &Expr, name: &str) -> bool {
    match expr {
        Expr::Atom(word) => word.as_str() == name,
        // A plain condition of a type is a status.
        Expr::Typed { conditions, .. } => {
            conditions.iter().any(|part| !matches!(part, Expr::Atom(_)) && is_atom(part, name))
        }
        _ => expr.parts().any(|part| is_atom(part, name)),
    }
}

fn decide(rule: &Rule, evaluator: &mut Evaluator<'_>, verdict: &mut Verdict) -> Decided<()> {
    let expr = match NamedCheck::recognise(rule.expr()) {
        Some(check) => match check.formula() {
            Some(formula) => formula.expr(),
            None => {
                fill_in(&named_check::check(check, evaluator.subject()), evaluator, verdict);
                return Ok(());
            }
        },
        None => rule.expr(),
    };
    let holds = evaluator.truth(expr)?.at(0);
    verdict.status = if holds { EvaluationStatus::Passed } else { EvaluationStatus::Failed };
    if let Expr::Unary(Unary::Globally, body) = expr {
        add_positions(body, evaluator, verdict)?;
    }
    verdict.absent = verdict.status == EvaluationStatus::Passed && holds_by_absence(expr, evaluator)?;
    if !holds {
        let mut explanation = explain_failure(expr, evaluator)?;
        let named = name_witnesses(expr, evaluator)?;
        verdict.offending = named.witnesses.action_ids.clone();
        // Recorded verdicts of formulas without quantifiers name whom they always named; people see everybody.
        match is_quantified(expr) {
            true => add_elements(expr, 0, true, evaluator, verdict)?,
            false if has_quantifier(expr) => verdict.violating = named.witnesses,
            false => {}
        }
        if let Some(limit) = named.incomplete {
            explanation.add_for_trace(format!("not every violating action is named: {limit}"));
        }
        verdict.explanation = Some(explanation);
    }
    Ok(())
}

/// Fills in a verdict from the outcome of a named check.
fn fill_in(outcome: &Outcome, evaluator: &Evaluator<'_>, verdict: &mut Verdict) {
    let subject = evaluator.subject();
    verdict.evidence = Witnesses::at(subject, outcome.evidence.iter().copied());
    verdict.violating = Witnesses::at(subject, outcome.violating.iter().copied());
    verdict.violating.artifact_ids.extend(outcome.violating_artifacts.iter().map(|id| id.as_str().into()));
    verdict.status = match (outcome.is_violated(), outcome.applies()) {
        (true, _) => EvaluationStatus::Failed,
        (false, true) => EvaluationStatus::Passed,
        (false, false) => EvaluationStatus::NotApplicable,
    };
    verdict.offending = verdict.violating.action_ids.clone();
    verdict.explanation = Explanation::of_fault(subject, outcome);
    if !outcome.applies() {
        verdict.reason = Some("the trace has nothing of what the policy checks".to_owned());
    }
}

/// Splits the positions of a top-level `G` into evidence and violations, and decides whether the rule ever applied.
fn add_positions(body: &Expr, evaluator: &mut Evaluator<'_>, verdict: &mut Verdict) -> Decided<()> {
    let len = evaluator.len();
    let subject = evaluator.subject();
    let (evidence, violating) = match body {
        Expr::Implies(trigger, _) => {
            let triggered = evaluator.truth(trigger)?.bits(len);
            // Where it is triggered, the rule holds exactly when its demand does.
            let satisfied = evaluator.truth(body)?.bits(len);
            if triggered.is_empty() {
                verdict.status = EvaluationStatus::NotApplicable;
                verdict.reason = Some(format!("`{trigger}` never holds"));
            }
            (triggered.and(&satisfied), triggered.and(&satisfied.not()))
        }
        Expr::Not(forbidden) => (Truth::Constant(false).bits(len), evaluator.truth(forbidden)?.bits(len)),
        other => {
            let holds = evaluator.truth(other)?.bits(len);
            let fails = holds.not();
            (holds, fails)
        }
    };
    verdict.evidence = Witnesses::at(subject, evidence.ones());
    verdict.violating = Witnesses::at(subject, violating.ones());
    Ok(())
}

/// Returns whether a formula is a quantifier, or denies one.
fn is_quantified(expr: &Expr) -> bool {
    match expr {
        Expr::Not(inner) => matches!(**inner, Expr::Quantified { .. }),
        other => matches!(other, Expr::Quantified { .. }),
    }
}

/// Adds the elements of a quantifier that make it fail.
fn add_elements(
    expr: &Expr,
    at: usize,
    failed: bool,
    evaluator: &mut Evaluator<'_>,
    verdict: &mut Verdict,
) -> Decided<()> {
    let (quantified, negated) = match expr {
        Expr::Not(inner) => (&**inner, true),
        other => (other, false),
    };
    let Expr::Quantified { quantifier, variable, set: Some(set), body } = quantified else { return Ok(()) };
    // ∀ fails by elements that do not satisfy the body; ¬∃, and ∃! by too many, by those that do.
    let offending = match (quantifier, negated) {
        (Quantifier::All, false) => false,
        (Quantifier::Some, true) | (Quantifier::One, false) => true,
        _ => return Ok(()),
    };
    if failed {
        let found = evaluator.elements_where(variable, set, body, at, offending)?;
        for element in found.iter().take(ELEMENTS_NAMED_MAX) {
            verdict.violating.add(evaluator.subject(), element);
        }
    }
    Ok(())
}

/// Returns whether a formula has a quantifier outside of its terms.
fn has_quantifier(expr: &Expr) -> bool {
    matches!(expr, Expr::Quantified { .. }) || expr.parts().any(has_quantifier)
}
