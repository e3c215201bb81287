//! Lints about names: unknown functions, unbound variables, fields and lists nobody has, guessed words.

use super::finding::{Finding, FindingKind};
use crate::formula::{Expr, Formula, Term, Word};
use crate::vocabulary::{ACTION_FIELDS, ACTION_LIST_FIELDS, Atom, Function, Kind, is_trace_list};

pub(super) fn lint(formula: &Formula, findings: &mut Vec<Finding>) {
    let mut names = Names { formula, findings, bound: Vec::new() };
    names.expr(formula.expr());
}

struct Names<'a> {
    formula: &'a Formula,
    findings: &'a mut Vec<Finding>,
    bound: Vec<Word>,
}

impl Names<'_> {
    fn report(&mut self, word: &Word, kind: impl Fn(String) -> FindingKind) {
        let location = Some(self.formula.location(word.offset()));
        self.findings.push(Finding { kind: kind(word.to_string()), location });
    }

    fn is_bound(&self, word: &Word) -> bool {
        self.bound.contains(word) || word.as_str() == crate::eval::CURRENT
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Atom(word) => self.atom(word),
            Expr::Typed { name, conditions } => {
                if !Atom::of(name.as_str()).is_type() {
                    self.report(name, FindingKind::UnknownConditionedType);
                }
                // A plain word is a status to compare with; only compounds are formulas.
                conditions
                    .iter()
                    .filter(|condition| !matches!(condition, Expr::Atom(_)))
                    .for_each(|condition| self.expr(condition));
            }
            Expr::Quantified { variable, set, body, .. } => {
                if let Some(set) = set {
                    self.set(set);
                }
                if !crate::eval::any_word(body, &mut |word| word == variable) {
                    self.report(variable, FindingKind::UnusedVariable);
                }
                self.bound.push(variable.clone());
                self.expr(body);
                self.bound.pop();
            }
            Expr::Compare { left, right, .. } => self.comparison(left, right),
            Expr::Member { element, set } => {
                self.value(element);
                self.set(set);
            }
            Expr::Holds(term) => self.value(term),
            _ => expr.parts().for_each(|part| self.expr(part)),
        }
    }

    fn atom(&mut self, word: &Word) {
        if self.is_bound(word) {
            return self.report(word, FindingKind::VariableAsFormula);
        }
        match Atom::of(word.as_str()) {
            Atom::Custom => self.report(word, FindingKind::CustomWord),
            Atom::ForeignType => self.report(word, FindingKind::ForeignType),
            _ => {}
        }
    }

    fn comparison(&mut self, left: &Term, right: &Term) {
        self.value(right);
        let Term::Word(word) = left else { return self.value(left) };
        let name = word.as_str();
        if self.is_bound(word) || is_trace_list(name) {
            return;
        }
        let is_set = match right {
            Term::List(_) | Term::Comprehension { .. } => true,
            Term::Call { function, .. } => {
                Function::from_name(function.as_str()).is_some_and(|function| function.kind() == Kind::Set)
            }
            _ => false,
        };
        match right {
            Term::Empty if ACTION_LIST_FIELDS.contains(&name) => self.report(word, FindingKind::ListAsText),
            _ if ACTION_FIELDS.contains(&name) => {}
            Term::Empty => self.report(word, FindingKind::OddField),
            _ if is_set => self.report(word, FindingKind::OddField),
            _ => self.report(word, FindingKind::NothingToCompare),
        }
    }

    fn set(&mut self, set: &Term) {
        match set {
            Term::Word(word) => {
                let name = word.as_str();
                if !self.is_bound(word) && !is_trace_list(name) && !ACTION_FIELDS.contains(&name) {
                    self.report(word, FindingKind::OddList);
                }
            }
            other => self.value(other),
        }
    }

    fn value(&mut self, term: &Term) {
        match term {
            Term::Field { base, .. } => {
                if !self.is_bound(base) && !ACTION_FIELDS.contains(&base.as_str()) {
                    self.report(base, FindingKind::UnboundVariable);
                }
            }
            Term::Call { function, arguments } => self.call(function, arguments),
            Term::List(items) => items.iter().for_each(|item| self.value(item)),
            Term::Comprehension { body, guard } => self.comprehension(term, body, guard),
            Term::Word(_) | Term::Text(_) | Term::Int(_) | Term::Empty => {}
        }
    }

    fn call(&mut self, name: &Word, arguments: &[Term]) {
        let arity = arguments.len();
        let found = Function::from_name(name.as_str()).filter(|function| function.arity() == arity);
        let Some(function) = found else {
            return self.report(name, |name| FindingKind::UnknownFunction { name, arity });
        };
        let needs_action = matches!(
            function,
            Function::Inputs
                | Function::Outputs
                | Function::Target
                | Function::ActionsBefore
                | Function::ReasoningAction
                | Function::VerificationAction
                | Function::StateSpaceAnalysisAction
        );
        for argument in arguments {
            match argument {
                Term::Word(word) if needs_action && !self.is_bound(word) => {
                    self.report(word, FindingKind::UnboundVariable);
                }
                _ if function == Function::Count => self.set(argument),
                other => self.value(other),
            }
        }
    }

    fn comprehension(&mut self, whole: &Term, body: &Term, guard: &Expr) {
        let first = match guard {
            Expr::And(parts) => parts.first(),
            single => Some(single),
        };
        let Some(Expr::Member { element: Term::Word(variable), .. }) = first else {
            self.findings.push(FindingKind::NoRange(whole.to_string()).into());
            return;
        };
        self.bound.push(variable.clone());
        self.value(body);
        self.expr(guard);
        self.bound.pop();
    }
}
