//! Explanations of failures, in as few steps as decide them.

use std::fmt;

use crate::eval::{Datum, Decided, Evaluator, Subject};
use crate::formula::{Binary, Expr, Quantifier, Scope, Unary};
use crate::named_check::Outcome;

/// The number of steps of an explanation. Deeper ones would explain the formula, not the failure.
const STEPS_MAX: usize = 8;

/// A reference to an action of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActionRef {
    /// Its position in the trace, from 0.
    pub position: usize,
    /// Its id.
    pub id: Option<i64>,
    /// Its type as written.
    pub action_type: String,
}

impl fmt::Display for ActionRef {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.id {
            Some(id) => write!(out, "action {id}")?,
            None => write!(out, "the action at /actions/{}", self.position)?,
        }
        if self.action_type.is_empty() { Ok(()) } else { write!(out, " ({})", self.action_type) }
    }
}

/// One step of an explanation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The action the step is about.
    pub action: Option<ActionRef>,
    /// The fact found, or the fact missing.
    pub found: String,
}

/// The facts that make a policy fail, from the trigger to the missing fact.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Explanation {
    /// The steps, outermost first.
    pub steps: Vec<Step>,
}

impl fmt::Display for Explanation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last: Option<&ActionRef> = None;
        for (index, step) in self.steps.iter().enumerate() {
            if index > 0 {
                out.write_str("; ")?;
            }
            if let Some(action) = step.action.as_ref().filter(|action| Some(*action) != last) {
                write!(out, "{action}: ")?;
            }
            last = step.action.as_ref().or(last);
            out.write_str(&step.found)?;
        }
        Ok(())
    }
}

impl Explanation {
    /// Explains the first fault a named check found.
    pub(super) fn of_fault(subject: &Subject, outcome: &Outcome) -> Option<Self> {
        let found = outcome.faults.first()?.clone();
        let action = outcome.violating.first().and_then(|at| action_ref(subject, *at));
        Some(Self { steps: vec![Step { action, found }] })
    }
}

impl Explanation {
    /// Adds a step about the whole trace.
    pub(super) fn add_for_trace(&mut self, found: String) {
        self.steps.push(Step { action: None, found });
    }
}

/// Explains why a formula does not hold at the start of a trace.
pub(super) fn explain_failure(expr: &Expr, evaluator: &mut Evaluator<'_>) -> Decided<Explanation> {
    let mut explainer = Explainer { evaluator, steps: Vec::new() };
    explainer.explain(expr, 0, false)?;
    Ok(Explanation { steps: explainer.steps })
}

pub(super) fn action_ref(subject: &Subject, at: usize) -> Option<ActionRef> {
    let action = subject.trace().actions().get(at)?;
    Some(ActionRef { position: at, id: action.id(), action_type: action.type_word().to_owned() })
}

struct Explainer<'e, 't> {
    evaluator: &'e mut Evaluator<'t>,
    steps: Vec<Step>,
}

impl Explainer<'_, '_> {
    /// Adds a step about the action at a position.
    fn add(&mut self, at: usize, found: String) -> Decided<()> {
        let action = action_ref(self.evaluator.subject(), at);
        self.add_step(Step { action, found })
    }

    /// Adds a step about the whole trace.
    fn add_for_trace(&mut self, found: String) -> Decided<()> {
        self.add_step(Step { action: None, found })
    }

    /// Adds a step, unless there are enough; every branch of an explanation ends with one.
    fn add_step(&mut self, step: Step) -> Decided<()> {
        if self.steps.len() < STEPS_MAX {
            self.steps.push(step);
        }
        Ok(())
    }

    fn holds(&mut self, expr: &Expr, at: usize) -> Decided<bool> {
        self.evaluator.holds(expr, at)
    }

    /// Adds the steps that explain why `expr` is `value` at a position.
    fn explain(&mut self, expr: &Expr, at: usize, value: bool) -> Decided<()> {
        match (expr, value) {
            (Expr::Not(inner), _) => self.explain(inner, at, !value),
            (Expr::And(parts), false) | (Expr::Or(parts), true) => self.first(parts, at, value),
            (Expr::Or(parts), false) => {
                let names: Vec<String> = parts.iter().map(|part| format!("`{part}`")).collect();
                self.add(at, format!("none of {} holds", names.join(", ")))
            }
            (Expr::Implies(left, right), false) => {
                self.add(at, format!("`{left}` holds"))?;
                self.explain(right, at, false)
            }
            (Expr::Unary(operator, inner), _) => self.unary(*operator, inner, expr, at, value),
            (Expr::Binary(operator, left, right), false) => self.binary(*operator, left, right, at),
            (Expr::Count { of, bound, .. }, _) => {
                let counted = self.evaluator.truth(of)?.bits(self.evaluator.len());
                let count = self.evaluator.subject().calls_at(&counted);
                self.add_for_trace(format!("`{of}` holds {count} times, and the bound is {bound}"))
            }
            (Expr::Quantified { .. }, _) => self.quantified(expr, at, value),
            _ => self.add(at, format!("`{expr}` {}", if value { "holds" } else { "does not hold" })),
        }
    }

    fn first(&mut self, parts: &[Expr], at: usize, value: bool) -> Decided<()> {
        for part in parts {
            if self.holds(part, at)? == value {
                return self.explain(part, at, value);
            }
        }
        Ok(())
    }

    fn unary(&mut self, operator: Unary, inner: &Expr, whole: &Expr, at: usize, value: bool) -> Decided<()> {
        let len = self.evaluator.len();
        match (operator, value) {
            (Unary::Globally, false) | (Unary::Finally, true) => {
                let bits = self.evaluator.truth(inner)?;
                match (at..len).find(|place| bits.at(*place) == value) {
                    Some(place) => self.explain(inner, place, value),
                    None => Ok(()),
                }
            }
            (Unary::Finally, false) if at == 0 => {
                self.add_for_trace(format!("no action satisfies `{inner}` ({len} looked at)"))
            }
            (Unary::Finally, false) => self.add(
                at,
                format!("neither it nor a later action satisfies `{inner}` ({} looked at)", len - at),
            ),
            (Unary::Next, false) if at + 1 >= len => self.add(at, "there is no next action".to_owned()),
            (Unary::Next, _) => self.explain(inner, at + 1, value),
            (Unary::Previously(scope), false) => {
                let looked = if scope == Scope::All { format!(" ({at} looked at)") } else { String::new() };
                self.add(at, format!("no earlier action{} satisfies `{inner}`{looked}", within(scope)))?;
                self.nearest(scope, inner, at)
            }
            (Unary::Previously(scope), true) | (Unary::Historically(scope), false) => {
                match self.earlier(scope, inner, at, value)? {
                    Some(place) => self.explain(inner, place, value),
                    None => Ok(()),
                }
            }
            _ => self.add(at, format!("`{whole}` holds")),
        }
    }

    /// Returns the earliest action before `at`, in scope, where `expr` is `value`.
    fn earlier(&mut self, scope: Scope, expr: &Expr, at: usize, value: bool) -> Decided<Option<usize>> {
        let truth = self.evaluator.truth(expr)?;
        let wanted: Vec<bool> = (0..self.evaluator.len()).map(|place| truth.at(place) == value).collect();
        let lineage = self.evaluator.subject().lineage();
        let earliest = match scope {
            Scope::All => wanted.iter().position(|wanted| *wanted),
            Scope::Chain => {
                lineage.earliest_in_chain(&wanted).get(at).copied().flatten().map(|found| found.get())
            }
            Scope::Target => {
                lineage.earliest_on_target(&wanted).get(at).copied().flatten().map(|found| found.get())
            }
        };
        Ok(earliest.filter(|place| *place < at))
    }

    /// Adds an earlier action that satisfies the first part of a conjunction and not the rest.
    fn nearest(&mut self, scope: Scope, inner: &Expr, at: usize) -> Decided<()> {
        let Expr::And(parts) = inner else { return Ok(()) };
        let Some(first) = parts.first() else { return Ok(()) };
        let Some(place) = self.earlier(scope, first, at, true)? else { return Ok(()) };
        self.add(place, format!("`{first}` holds"))?;
        self.first(parts, place, false)
    }

    fn binary(&mut self, operator: Binary, left: &Expr, right: &Expr, at: usize) -> Decided<()> {
        let truth = self.evaluator.truth(right)?;
        let last = (0..at).rev().find(|place| truth.at(*place));
        let found = match (operator, last) {
            (Binary::Until, _) => format!("`{left}` does not hold until `{right}` does"),
            (Binary::SinceLast, Some(place)) => {
                let name = action_ref(self.evaluator.subject(), place)
                    .map_or(String::new(), |found| found.to_string());
                format!(
                    "since the last `{right}`, {name}, no action satisfies `{left}` ({} looked at)",
                    at - place - 1
                )
            }
            (Binary::SinceLast, None) => format!("no earlier action satisfies `{left}` ({at} looked at)"),
            (Binary::Since, Some(_)) => format!("`{left}` has not held since `{right}`"),
            (Binary::Since, None) => format!("no earlier action satisfies `{right}` ({at} looked at)"),
        };
        self.add(at, found)
    }

    fn quantified(&mut self, expr: &Expr, at: usize, value: bool) -> Decided<()> {
        let Expr::Quantified { quantifier, variable, set, body } = expr else { return Ok(()) };
        let Some(set) = set else {
            return self.add(at, format!("`{expr}` {}", if value { "holds" } else { "does not hold" }));
        };
        let wanted = *quantifier != Quantifier::All;
        let found = self.evaluator.elements_where(variable, set, body, at, wanted)?;
        let subject = self.evaluator.subject();
        let text = match (quantifier, found.first()) {
            (Quantifier::All, Some(first)) => format!("`{body}` does not hold for {}", name(subject, first)),
            (Quantifier::Some, Some(first)) => format!("`{body}` holds for {}", name(subject, first)),
            (Quantifier::One, Some(_)) => format!("`{body}` holds for {} elements of `{set}`", found.len()),
            (Quantifier::All, None) => format!("`{body}` holds for every element of `{set}`"),
            (_, None) => format!("`{body}` holds for no element of `{set}`"),
        };
        self.add_for_trace(text)
    }
}

fn name(subject: &Subject, datum: &Datum<'_>) -> String {
    match datum {
        Datum::Element(element) => format!("`{}`", element.name()),
        Datum::Action(at) => action_ref(subject, *at)
            .map_or_else(|| format!("the action at /actions/{at}"), |action| action.to_string()),
        other => other.as_text().map_or_else(|| "an element".to_owned(), |text| format!("`{text}`")),
    }
}

fn within(scope: Scope) -> &'static str {
    match scope {
        Scope::All => "",
        Scope::Target => " on the same target",
        Scope::Chain => " in its chain",
    }
}
