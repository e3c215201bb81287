//! The search for the actions and elements that make a formula false.
//!
//! The rule is written in `docs/policies.md` under *Whom a violation names*. In short: an action is named if a failing part
//! of the formula speaks of it, an element of a quantifier if a failing part mentions its variable, and nobody is named
//! for something that is absent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hence_review::wire::Position;

use super::Witnesses;
use crate::eval::{Datum, Decided, Evaluator, Scopes, Undecided, any_word};
use crate::formula::{Binary, Comparison, Expr, Quantifier, Scope, Term, Unary, Word};
use crate::named_check::{self, NamedCheck};
use crate::vocabulary::Atom;

/// The witnesses of a failure, and whether they are all of them.
pub(super) struct Named {
    pub(super) witnesses: Witnesses,
    /// The reason why the search ended before it had found every witness.
    pub(super) incomplete: Option<Undecided>,
}

/// Finds the witnesses of a formula that does not hold at the start of the trace.
///
/// # Errors
/// The reason why a part has no truth value. Work beyond the budget is no error: what was found by then is returned.
pub(super) fn name_witnesses(expr: &Expr, evaluator: &mut Evaluator<'_>) -> Decided<Named> {
    // The verdict is decided already; naming must not make it undecided because deciding was costly.
    evaluator.renew();
    let mut search = Search {
        evaluator,
        scopes: Scopes::default(),
        frames: Vec::new(),
        found: Found::default(),
        seen: BTreeMap::new(),
        shapes: BTreeMap::new(),
    };
    let incomplete = match search.explain(expr, 0, false, Blame::Start) {
        Ok(_) => None,
        Err(Undecided::TooMuchWork) => Some(Undecided::TooMuchWork),
        Err(other) => return Err(other),
    };
    let Search { evaluator, found, .. } = search;
    evaluator.renew();
    Ok(Named { witnesses: found.into_witnesses(evaluator), incomplete })
}

/// The action that a failing part is held against.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Blame {
    /// The action at the position; no temporal operator is around the part yet.
    Start,
    /// The action at the position, which an operator around the part chose.
    Here,
    /// No action: the part fails at every position an operator looked at. Elements are still named.
    Nobody,
}

/// A bound variable during the search.
struct Frame {
    variable: Word,
    /// Whether a failing part mentions the variable.
    is_blamed: bool,
}

/// Properties of a part of a formula that do not depend on the trace. Variables are bound by where a part stands in the
/// formula, so its place in memory identifies it.
#[derive(Clone, Copy)]
struct Shape {
    /// Whether the part has a quantifier, a count, a named check, `G` or `F` in it.
    names_elements: bool,
    /// Whether the part mentions a variable that is bound around it.
    is_open: bool,
}

#[derive(Default)]
struct Found {
    positions: BTreeSet<usize>,
    artifacts: BTreeSet<Arc<str>>,
    residuals: BTreeSet<(usize, Arc<str>)>,
    /// Elements of other lists, by list and place.
    elements: BTreeSet<(Arc<str>, usize, Arc<str>)>,
    texts: BTreeSet<Arc<str>>,
}

struct Search<'e, 't> {
    evaluator: &'e mut Evaluator<'t>,
    scopes: Scopes<'t>,
    frames: Vec<Frame>,
    found: Found,
    /// Whether anyone was named for a closed part at a position: the search of a part is not repeated.
    seen: BTreeMap<(usize, usize, bool, Blame), bool>,
    shapes: BTreeMap<usize, Shape>,
}

impl<'t> Search<'_, 't> {
    /// Names those who make a part `value` at a position, and returns whether anyone was named.
    fn explain(&mut self, expr: &Expr, at: usize, value: bool, blame: Blame) -> Decided<bool> {
        let shape = self.shape(expr);
        if blame == Blame::Nobody && !shape.names_elements && !shape.is_open {
            return Ok(false);
        }
        let key = (place_of(expr), at, value, blame);
        if !shape.is_open && shape.names_elements {
            if let Some(named) = self.seen.get(&key) {
                return Ok(*named);
            }
            self.evaluator.spend(1)?;
            let named = self.explain_new(expr, at, value, blame)?;
            self.seen.insert(key, named);
            return Ok(named);
        }
        self.evaluator.spend(1)?;
        self.explain_new(expr, at, value, blame)
    }

    fn explain_new(&mut self, expr: &Expr, at: usize, value: bool, blame: Blame) -> Decided<bool> {
        match expr {
            Expr::Constant(_) => Ok(false),
            Expr::Not(inner) => self.explain(inner, at, !value, blame),
            Expr::And(parts) | Expr::Or(parts) => {
                let mut named = false;
                for part in parts {
                    if self.holds(part, at)? == value {
                        named |= self.explain(part, at, value, blame)?;
                    }
                }
                Ok(named)
            }
            // `φ → ψ` is `¬φ ∨ ψ`.
            Expr::Implies(left, right) => {
                let mut named = false;
                if self.holds(left, at)? != value {
                    named |= self.explain(left, at, !value, blame)?;
                }
                if self.holds(right, at)? == value {
                    named |= self.explain(right, at, value, blame)?;
                }
                Ok(named)
            }
            Expr::Iff(left, right) => {
                let (left_holds, right_holds) = (self.holds(left, at)?, self.holds(right, at)?);
                let named = self.explain(left, at, left_holds, blame)?;
                Ok(self.explain(right, at, right_holds, blame)? || named)
            }
            Expr::Unary(operator, inner) => self.unary(*operator, inner, at, value, blame),
            Expr::Binary(Binary::Until, left, right) => self.until(left, right, at, value, blame),
            Expr::Binary(operator, left, right) => {
                let named = self.since(*operator, left, right, at, value)?;
                Ok(self.blame_position(at, blame) || named)
            }
            Expr::Quantified { quantifier, variable, set, body } => {
                self.quantified(*quantifier, variable, set.as_ref(), body, at, value, blame)
            }
            Expr::Count { of, comparison, bound } => self.count(of, *comparison, *bound, value),
            Expr::Atom(word) => match Atom::of(word.as_str()) {
                Atom::NamedCheck(check) => self.named_check(check, at, value),
                _ => Ok(self.leaf(expr, at, blame)),
            },
            Expr::Typed { .. } | Expr::Compare { .. } | Expr::Member { .. } | Expr::Holds(_) => {
                Ok(self.leaf(expr, at, blame))
            }
        }
    }

    fn holds(&mut self, expr: &Expr, at: usize) -> Decided<bool> {
        self.evaluator.holds_at(expr, at, &mut self.scopes)
    }

    /// Names whom a part without operators speaks of: the elements of the variables in it, and the action at the position.
    fn leaf(&mut self, expr: &Expr, at: usize, blame: Blame) -> bool {
        let mut named = false;
        let frames = &mut self.frames;
        any_word(expr, &mut |word| {
            if let Some(frame) = frames.iter_mut().rev().find(|frame| frame.variable == *word) {
                frame.is_blamed = true;
                named = true;
            }
            false
        });
        let speaks_of_action = match expr {
            Expr::Atom(word) => {
                !matches!(Atom::of(word.as_str()), Atom::Action | Atom::StartEvent | Atom::EndEvent)
                    && self.scopes.find(word).is_none()
            }
            // A set that is collected from the whole trace belongs to no action.
            Expr::Compare { left, right, .. }
                if blame == Blame::Start && [left, right].iter().any(is_collected) =>
            {
                false
            }
            Expr::Member { set, .. } if blame == Blame::Start && is_collected(&set) => false,
            other => self.evaluator.relation_varies(other, &self.scopes),
        };
        (speaks_of_action && self.blame_position(at, blame)) || named
    }

    fn blame_position(&mut self, at: usize, blame: Blame) -> bool {
        let is_blamed = blame != Blame::Nobody && at < self.evaluator.len();
        if is_blamed {
            self.found.positions.insert(at);
        }
        is_blamed
    }

    fn unary(
        &mut self,
        operator: Unary,
        inner: &Expr,
        at: usize,
        value: bool,
        blame: Blame,
    ) -> Decided<bool> {
        let len = self.evaluator.len();
        match (operator, value) {
            // Each later action at which the part has this value decides it, as an element of a quantifier would.
            (Unary::Globally, false) | (Unary::Finally, true) => {
                let mut named = false;
                for later in self.places(inner, at..len, value)? {
                    named |= self.explain(inner, later, value, Blame::Here)?
                        || self.blame_position(later, Blame::Here);
                }
                Ok(named)
            }
            // Something is absent everywhere: no single action is to blame.
            (Unary::Finally, false) | (Unary::Globally, true) => self.elements_at(inner, at..len, value),
            (Unary::Next, _) if blame == Blame::Start && at + 1 < len => {
                self.explain(inner, at + 1, value, Blame::Here)
            }
            (Unary::Next, _) => {
                let named = at + 1 < len && self.explain(inner, at + 1, value, Blame::Nobody)?;
                Ok(self.blame_position(at, blame) || named)
            }
            // An earlier action did nothing wrong when it came: the one that looks back is to blame.
            (Unary::Previously(scope) | Unary::Historically(scope), _) => {
                let mut named = false;
                if self.looks_inside(inner) {
                    for earlier in self.places(inner, 0..at, value)? {
                        if self.is_in_scope(scope, earlier, at) {
                            named |= self.explain(inner, earlier, value, Blame::Nobody)?;
                        }
                    }
                }
                Ok((blame != Blame::Start && self.blame_position(at, blame)) || named)
            }
        }
    }

    fn is_in_scope(&self, scope: Scope, earlier: usize, at: usize) -> bool {
        let (earlier, at) = (Position::new(earlier), Position::new(at));
        let lineage = self.evaluator.subject().lineage();
        match scope {
            Scope::All => true,
            Scope::Target => lineage.shares_target(earlier, at),
            Scope::Chain => lineage.in_chain(earlier, at),
        }
    }

    /// Returns whether a part has elements to name, also where no action is to blame.
    fn looks_inside(&mut self, expr: &Expr) -> bool {
        let shape = self.shape(expr);
        shape.names_elements || shape.is_open
    }

    /// Returns the positions of a range at which a part has a value.
    fn places(&mut self, expr: &Expr, range: std::ops::Range<usize>, value: bool) -> Decided<Vec<usize>> {
        self.evaluator.spend(range.len() / 64)?;
        let truth = self.evaluator.eval(expr, &mut self.scopes)?;
        Ok(range.filter(|at| truth.at(*at) == value).collect())
    }

    /// Names the elements, and no actions, that give a part its value at the positions of a range.
    fn elements_at(&mut self, expr: &Expr, range: std::ops::Range<usize>, value: bool) -> Decided<bool> {
        let mut named = false;
        if self.looks_inside(expr) {
            for at in self.places(expr, range, value)? {
                named |= self.explain(expr, at, value, Blame::Nobody)?;
            }
        }
        Ok(named)
    }

    /// `φ U ψ` fails by the first action at which φ fails before ψ came; if φ never fails, ψ is absent.
    fn until(&mut self, left: &Expr, right: &Expr, at: usize, value: bool, blame: Blame) -> Decided<bool> {
        let len = self.evaluator.len();
        let next = if blame == Blame::Nobody { Blame::Nobody } else { Blame::Here };
        if value {
            let Some(end) = self.places(right, at..len, true)?.first().copied() else { return Ok(false) };
            let named = self.elements_at(left, at..end, true)?;
            let at_end = self.explain(right, end, true, next)? || self.blame_position(end, next);
            return Ok(at_end || named);
        }
        let Some(end) = self.places(left, at..len, false)?.first().copied() else {
            return self.elements_at(right, at..len, false);
        };
        let named = self.elements_at(right, at..end + 1, false)?;
        let at_end = self.explain(left, end, false, next)? || self.blame_position(end, next);
        Ok(at_end || named)
    }

    /// Names the elements that decide `S` and `S_last`; the action that looks back is named by the caller.
    fn since(
        &mut self,
        operator: Binary,
        left: &Expr,
        right: &Expr,
        at: usize,
        value: bool,
    ) -> Decided<bool> {
        if !self.looks_inside(left) && !self.looks_inside(right) {
            return Ok(false);
        }
        let last = self.places(right, 0..at, true)?.last().copied();
        let between = last.map_or(0, |last| last + 1)..at;
        let named = self.elements_at(left, between, value)?;
        let anchor = match (operator, last) {
            (Binary::Since, None) => self.elements_at(right, 0..at, false)?,
            (Binary::Since, Some(last)) if value => self.elements_at(right, last..last + 1, true)?,
            (Binary::SinceLast, Some(last)) if !value => self.elements_at(right, last..last + 1, true)?,
            _ => false,
        };
        Ok(named || anchor)
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one quantifier, and where it is asked")]
    fn quantified(
        &mut self,
        quantifier: Quantifier,
        variable: &Word,
        set: Option<&Term>,
        body: &Expr,
        at: usize,
        value: bool,
        blame: Blame,
    ) -> Decided<bool> {
        let mut elements = Vec::new();
        for element in self.evaluator.range(set, Some(at), &mut self.scopes)? {
            self.scopes.push(variable, element.clone());
            let holds = self.holds(body, at);
            self.scopes.pop();
            elements.push((element, holds?));
        }
        let holding = elements.iter().filter(|(_, holds)| *holds).count();
        // ∀ fails by the elements that do not satisfy the body, ∃! by more than one that do; ¬∃ fails by those that do.
        let (decisive, is_named) = match (quantifier, value) {
            (Quantifier::All, _) => (value, !value),
            (Quantifier::Some, _) => (value, value),
            (Quantifier::One, _) => (holding > 0, holding > 0),
        };
        let mut named = false;
        for (element, holds) in elements {
            if holds != decisive {
                continue;
            }
            self.scopes.push(variable, element.clone());
            self.frames.push(Frame { variable: variable.clone(), is_blamed: false });
            let explained = self.explain(body, at, decisive, blame);
            self.scopes.pop();
            let is_blamed = self.frames.pop().is_some_and(|frame| frame.is_blamed);
            let explained = explained?;
            if is_named && (is_blamed || (!explained && matches!(body, Expr::Constant(_)))) {
                self.found.add(&element);
                named = true;
            } else {
                named |= explained && !is_blamed;
            }
        }
        // A set that belongs to the action, or to the element of an outer variable, makes the quantifier speak of it.
        if let Some(set) = set {
            let whole = Expr::Holds(set.clone());
            named |= self.leaf(&whole, at, if is_collected(&set) { Blame::Nobody } else { blame });
        }
        Ok(named)
    }

    /// Names the actions beyond the bound of a count; a count that is too low is an absence.
    fn count(&mut self, of: &Expr, comparison: Comparison, bound: u64, value: bool) -> Decided<bool> {
        let len = self.evaluator.len();
        let counted = self.evaluator.eval(of, &mut self.scopes)?.bits(len);
        let subject = self.evaluator.subject();
        let total = subject.calls_at(&counted);
        // The count is wrong if the comparison has the value that it has: these are the counts that would be right.
        let is_right = |count: u64| comparison.holds(count.cmp(&bound)) != value;
        // Only a lower count can be reached by leaving actions out.
        let Some(allowed) =
            [bound, bound.saturating_sub(1)].into_iter().find(|count| *count < total && is_right(*count))
        else {
            return Ok(false);
        };
        let (mut calls, mut named) = (0_u64, false);
        for at in counted.ones() {
            calls = calls.saturating_add(subject.calls(at));
            if calls > allowed {
                self.found.positions.insert(at);
                named = true;
            }
        }
        Ok(named)
    }

    fn named_check(&mut self, check: NamedCheck, at: usize, value: bool) -> Decided<bool> {
        if let Some(formula) = check.formula() {
            return self.explain(formula.expr(), at, value, Blame::Start);
        }
        if value {
            return Ok(false);
        }
        let outcome = named_check::check(check, self.evaluator.subject());
        let named = !outcome.violating.is_empty() || !outcome.violating_artifacts.is_empty();
        self.found.positions.extend(outcome.violating);
        self.found.artifacts.extend(outcome.violating_artifacts.iter().map(|id| Arc::from(id.as_str())));
        Ok(named)
    }

    fn shape(&mut self, expr: &Expr) -> Shape {
        if let Some(shape) = self.shapes.get(&place_of(expr)) {
            return *shape;
        }
        let names_elements = expr.any(&|part| match part {
            Expr::Quantified { .. } | Expr::Count { .. } => true,
            Expr::Unary(Unary::Globally | Unary::Finally, _) => true,
            Expr::Atom(word) => matches!(Atom::of(word.as_str()), Atom::NamedCheck(_)),
            _ => false,
        });
        let is_open = any_word(expr, &mut |word| self.scopes.find(word).is_some());
        let shape = Shape { names_elements, is_open };
        self.shapes.insert(place_of(expr), shape);
        shape
    }
}

/// Returns what identifies a part while a formula is searched: equal parts at two places may have different variables.
fn place_of(expr: &Expr) -> usize {
    std::ptr::from_ref(expr).addr()
}

fn is_collected(term: &&Term) -> bool {
    matches!(term, Term::Comprehension { .. })
}

impl Found {
    fn add(&mut self, datum: &Datum<'_>) {
        match datum {
            Datum::Action(at) => drop(self.positions.insert(*at)),
            Datum::Artifact(id) => drop(self.artifacts.insert((*id).into())),
            Datum::Element(element) if &*element.list == "residuals" => {
                self.residuals.insert((element.index, element.name().into()));
            }
            Datum::Element(element) => {
                self.elements.insert((element.list.clone(), element.index, element.name().into()));
            }
            other => {
                if let Some(text) = other.as_text() {
                    self.texts.insert(text.into());
                }
            }
        }
    }

    /// Returns each witness once, in the order of the trace; texts, which have no place in it, come last.
    fn into_witnesses(self, evaluator: &Evaluator<'_>) -> Witnesses {
        let subject = evaluator.subject();
        let mut witnesses = Witnesses::at(subject, self.positions);
        let outputs: BTreeSet<Arc<str>> = witnesses.artifact_ids.iter().cloned().collect();
        let mut artifacts: Vec<Arc<str>> =
            self.artifacts.into_iter().filter(|id| !outputs.contains(id)).collect();
        if artifacts.len() > 1 {
            let ids = subject.trace().artifacts().iter().enumerate();
            let places: BTreeMap<&str, usize> =
                ids.filter_map(|(place, artifact)| Some((artifact.id()?, place))).collect();
            artifacts.sort_by_key(|id| places.get(&**id).copied().unwrap_or(usize::MAX));
        }
        witnesses.artifact_ids.extend(artifacts);
        witnesses.residual_ids.extend(self.residuals.into_iter().map(|(_, id)| id));
        witnesses.elements.extend(self.elements.into_iter().map(|(_, _, name)| name));
        witnesses.elements.extend(self.texts);
        witnesses
    }
}
