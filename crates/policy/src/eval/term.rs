//! Values of terms at a position.

use std::collections::BTreeSet;

use hence_canon::{Object, Value};

use super::datum::{Datum, Element};
use super::evaluator::{Decided, Evaluator, Scopes, Undecided};
use super::identity;
use crate::formula::{Expr, Term, Word};
use crate::vocabulary::{ACTION_FIELDS, Function, Kind, is_trace_list};

/// The name of the current action, wherever a formula does not bind it to something else.
pub(crate) const CURRENT: &str = "a";

/// The two sides of a comparison, which read an unbound word differently.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The word names a field.
    Subject,
    /// The word is a literal.
    Value,
}

impl<'t> Evaluator<'t> {
    /// Returns the value of a term. `at` is absent where the position cannot matter.
    pub(super) fn datum(
        &mut self,
        term: &Term,
        side: Side,
        at: Option<usize>,
        scopes: &mut Scopes<'t>,
    ) -> Decided<Datum<'t>> {
        self.spend(1)?;
        Ok(match term {
            Term::Word(word) => self.word(word, side, at, scopes)?,
            Term::Field { base, path } => {
                let start = match scopes.find(base) {
                    Some(bound) => bound.clone(),
                    None if base.as_str() == CURRENT => current(at),
                    // `request.path`: the first name is a member of the current action.
                    None => self.member(&current(at), base.as_str()),
                };
                path.iter().fold(start, |datum, key| self.member(&datum, key.as_str()))
            }
            Term::Call { function, arguments } => self.call(function, arguments, at, scopes)?,
            Term::Text(text) => Datum::Literal(text.clone()),
            Term::Int(value) => Datum::Number(*value),
            Term::Empty => Datum::Nothing,
            Term::List(items) => {
                let mut set = Vec::with_capacity(items.len());
                for item in items {
                    set.push(self.datum(item, Side::Value, at, scopes)?);
                }
                Datum::Set(set)
            }
            Term::Comprehension { body, guard } => self
                .comprehension(body, guard, at, scopes)?
                .ok_or_else(|| Undecided::NoRange { term: term.to_string() })?,
        })
    }

    fn word(
        &mut self,
        word: &Word,
        side: Side,
        at: Option<usize>,
        scopes: &mut Scopes<'t>,
    ) -> Decided<Datum<'t>> {
        let name = word.as_str();
        Ok(match scopes.find(word) {
            Some(bound) => bound.clone(),
            None if name == CURRENT => current(at),
            // Only names that are lists in every trace: otherwise a trace could change the meaning of a word.
            None if is_trace_list(name) => self.list(word)?,
            None if side == Side::Subject => self.member(&current(at), name),
            None => Datum::Literal(word.shared()),
        })
    }

    /// Returns a list of the trace; a missing one is empty.
    fn list(&mut self, word: &Word) -> Decided<Datum<'t>> {
        let name = word.as_str();
        let subject = self.subject;
        let items = match subject.trace().source().get(name) {
            None | Some(Value::Null) => &[],
            Some(Value::Array(items)) => &**items,
            Some(_) => return Err(Undecided::NotASet { term: name.to_owned() }),
        };
        self.spend(items.len())?;
        let element = |(index, item): (usize, &'t Value)| match (name, item) {
            ("actions", Value::Object(_)) => Datum::Action(index),
            ("artifacts", Value::Object(object)) => match object.get("artifact_id").and_then(Value::as_str) {
                Some(id) => Datum::Artifact(id),
                None => Datum::Element(Element { list: word.shared(), index, object }),
            },
            (_, Value::Object(object)) => Datum::Element(Element { list: word.shared(), index, object }),
            (_, other) => Datum::from(other),
        };
        Ok(Datum::Set(items.iter().enumerate().map(element).collect()))
    }

    /// Returns a member of the object a value refers to.
    fn member(&self, datum: &Datum<'t>, key: &str) -> Datum<'t> {
        let trace = self.subject.trace();
        let (object, list): (&'t Object, &str) = match datum {
            Datum::Action(at) => match trace.actions().get(*at) {
                Some(action) => (action.source(), "actions"),
                None => return Datum::Nothing,
            },
            Datum::Artifact(id) => match trace.artifact_by_id(id) {
                Some(artifact) => (artifact.source(), "artifacts"),
                None => return Datum::Nothing,
            },
            Datum::Element(element) => (element.object, &element.list),
            Datum::Value(Value::Object(object)) => (object, ""),
            _ => return Datum::Nothing,
        };
        if let Some(value) = object.get(key).filter(|value| !value.is_null()) {
            return Datum::Value(value);
        }
        match (list, key) {
            // A residual without a status is open.
            ("residuals", "status") => Datum::Literal("open".into()),
            ("residuals", "id") => self.member(datum, "residual_id"),
            ("artifacts", "id" | "type" | "role") => self.member(datum, &format!("artifact_{key}")),
            _ => Datum::Nothing,
        }
    }

    /// Returns the elements of a set.
    pub(super) fn set(
        &mut self,
        term: &Term,
        at: Option<usize>,
        scopes: &mut Scopes<'t>,
    ) -> Decided<Vec<Datum<'t>>> {
        let datum = match term {
            // Where a set is required, any other name is the key of a list.
            Term::Word(word)
                if scopes.find(word).is_none()
                    && word.as_str() != CURRENT
                    && !ACTION_FIELDS.contains(&word.as_str()) =>
            {
                self.list(word)?
            }
            _ => self.datum(term, Side::Subject, at, scopes)?,
        };
        let items = datum.items().ok_or_else(|| Undecided::NotASet { term: term.to_string() })?;
        self.spend(items.len())?;
        Ok(items)
    }

    /// `{body | x ∈ set ∧ …}`: the variable is the one the first membership of the guard binds.
    fn comprehension(
        &mut self,
        body: &Term,
        guard: &Expr,
        at: Option<usize>,
        scopes: &mut Scopes<'t>,
    ) -> Decided<Option<Datum<'t>>> {
        let (first, rest): (&Expr, &[Expr]) = match guard {
            Expr::And(operands) => match operands.split_first() {
                Some((first, rest)) => (first, rest),
                None => return Ok(None),
            },
            single => (single, &[]),
        };
        let Expr::Member { element: Term::Word(variable), set } = first else { return Ok(None) };
        let mut collected = Vec::new();
        let mut texts = BTreeSet::new();
        let of_people = identity::names_person(body);
        for element in self.set(set, at, scopes)? {
            scopes.push(variable, element);
            let found = self.collected(body, rest, at, scopes);
            scopes.pop();
            let Some(found) = found? else { continue };
            // A set has each text once, and each person once: `Count({b.agent | …})` counts people.
            let text = found.as_text().map(|text| match of_people {
                true => identity::identity(text),
                false => text.to_owned(),
            });
            if text.is_none_or(|text| texts.insert(text)) {
                collected.push(found);
            }
        }
        Ok(Some(Datum::Set(collected)))
    }

    /// Returns the value to collect for the bound element, if it satisfies all guards.
    fn collected(
        &mut self,
        body: &Term,
        guards: &[Expr],
        at: Option<usize>,
        scopes: &mut Scopes<'t>,
    ) -> Decided<Option<Datum<'t>>> {
        for guard in guards {
            if !self.holds_at(guard, at.unwrap_or(0), scopes)? {
                return Ok(None);
            }
        }
        self.datum(body, Side::Subject, at, scopes).map(Some)
    }

    /// Returns whether the value of a term depends on the position.
    pub(super) fn varies(&self, term: &Term, scopes: &Scopes<'t>) -> bool {
        match term {
            Term::Word(word) => {
                let name = word.as_str();
                scopes.find(word).is_none() && (name == CURRENT || ACTION_FIELDS.contains(&name))
            }
            Term::Field { base, .. } => scopes.find(base).is_none(),
            Term::Call { function, arguments } => {
                // Whether an action has this reference depends on the action, though it is not named.
                function.as_str() == "ref_model"
                    || arguments.iter().any(|argument| self.varies(argument, scopes))
            }
            Term::List(items) => items.iter().any(|item| self.varies(item, scopes)),
            // Its guard may contain any atom, so it counts as varying.
            Term::Comprehension { .. } => true,
            Term::Text(_) | Term::Int(_) | Term::Empty => false,
        }
    }

    fn call(
        &mut self,
        name: &Word,
        arguments: &[Term],
        at: Option<usize>,
        scopes: &mut Scopes<'t>,
    ) -> Decided<Datum<'t>> {
        let function = Function::from_name(name.as_str()).filter(|found| found.arity() == arguments.len());
        let (Some(function), Some(first)) = (function, arguments.first()) else {
            return Err(Undecided::UnknownFunction { name: name.to_string(), arity: arguments.len() });
        };
        match function.kind() {
            Kind::Set | Kind::Text => {
                let subject = self.datum(first, Side::Subject, at, scopes)?;
                self.apply(function, &subject, at)
            }
            Kind::Number => Ok(Datum::Number(self.set(first, at, scopes)?.len() as u64)),
            Kind::Truth => {
                let holds = self.predicate(function, arguments, at, scopes)?;
                Ok(Datum::Literal(if holds { "true" } else { "false" }.into()))
            }
        }
    }
}

/// Returns the action at the position.
fn current<'t>(at: Option<usize>) -> Datum<'t> {
    at.map_or(Datum::Nothing, Datum::Action)
}
