//! Candidate actions: everything a formula can tell apart.

use std::collections::{BTreeMap, BTreeSet};

use hence_canon::{Object, Value};
use hence_review::vocabulary::ActionType;

use super::automaton::Automaton;
use super::{CANDIDATES_MAX, NotSearchable};
use crate::eval::{CURRENT, Evaluator, SinceReading, Subject};
use crate::formula::{Expr, Scope, Term, Word};
use crate::monitor::check_present;
use crate::vocabulary::Atom;

/// How an action is tied to the others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Link {
    /// On a target of its own.
    Apart,
    /// On the shared target.
    Target,
    /// On the shared target and in the shared chain.
    Chain,
}

/// An action to try, and what the formula says about it.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) action: Object,
    /// Types of artifacts it produces besides those that tie it.
    pub(super) artifact_types: Vec<String>,
    pub(super) link: Link,
    answers: Vec<bool>,
}

impl Candidate {
    /// Returns whether the formula about the present action at `place` holds.
    pub(super) fn holds(&self, place: usize) -> bool {
        self.answers.get(place) == Some(&true)
    }
}

/// What a formula mentions about actions.
#[derive(Default)]
struct Mentions {
    types: BTreeSet<String>,
    categories: BTreeSet<String>,
    artifact_types: BTreeSet<String>,
    words: BTreeSet<String>,
    /// Texts for `result_summary`, by atom.
    outcomes: BTreeSet<&'static str>,
    /// Member of the action that holds a status → the statuses.
    statuses: BTreeMap<&'static str, BTreeSet<String>>,
    high_stakes: bool,
    /// Path of a field → values worth trying.
    fields: BTreeMap<Vec<String>, BTreeSet<String>>,
    values: BTreeMap<String, Value>,
}

/// Makes all candidates for a formula in traces with this header, alike ones once.
pub(super) fn candidates(automaton: &Automaton, header: &Object) -> Result<Vec<Candidate>, NotSearchable> {
    let mut mentions = Mentions::default();
    for expr in &automaton.present {
        mentions.read(expr)?;
    }
    let mut links = vec![Link::Apart];
    links.extend(automaton.uses(Scope::Target).then_some(Link::Target));
    links.extend(automaton.uses(Scope::Chain).then_some(Link::Chain));
    let mut alike: BTreeSet<(Vec<bool>, Link)> = BTreeSet::new();
    let mut candidates = Vec::new();
    for (action, artifact_types) in mentions.actions()? {
        let answers = answers(automaton, header, &action, &artifact_types)?;
        for link in &links {
            if alike.insert((answers.clone(), *link)) {
                let (action, artifact_types, answers) =
                    (action.clone(), artifact_types.clone(), answers.clone());
                candidates.push(Candidate { action, artifact_types, link: *link, answers });
            }
        }
    }
    Ok(candidates)
}

/// Asks the evaluator about a trace of this one action.
fn answers(
    automaton: &Automaton,
    header: &Object,
    action: &Object,
    artifact_types: &[String],
) -> Result<Vec<bool>, NotSearchable> {
    let (action, artifacts) = super::walk::tie(0, action, artifact_types, Link::Apart, None);
    let trace: Value = header.with("actions", vec![action]).with("artifacts", artifacts).into();
    let unconfirmed = |expr: &Expr| NotSearchable::Unconfirmed(expr.to_string());
    let first = automaton.present.first().cloned().unwrap_or(Expr::Constant(true));
    let subject = Subject::read(&trace).map_err(|_| unconfirmed(&first))?;
    let mut evaluator = Evaluator::new(&subject, SinceReading::Strict);
    let asked = automaton.present.iter();
    asked.map(|expr| evaluator.truth(expr).map(|truth| truth.at(0)).map_err(|_| unconfirmed(expr))).collect()
}

impl Mentions {
    fn read(&mut self, expr: &Expr) -> Result<(), NotSearchable> {
        match expr {
            Expr::Constant(_) => Ok(()),
            Expr::Atom(word) => self.atom(word),
            Expr::Typed { name, conditions } => {
                self.atom(name)?;
                conditions.iter().try_for_each(|condition| match condition {
                    Expr::Atom(word) => {
                        self.statuses.entry("vg_result").or_default().insert(word.to_string());
                        Ok(())
                    }
                    compound => self.read(compound),
                })
            }
            Expr::Not(inner) => self.read(inner),
            Expr::And(parts) | Expr::Or(parts) => parts.iter().try_for_each(|part| self.read(part)),
            Expr::Implies(left, right) | Expr::Iff(left, right) => {
                self.read(left)?;
                self.read(right)
            }
            Expr::Compare { left, right, .. } => self.comparison(expr, left, right),
            Expr::Member { element: Term::Text(text), set } => {
                let path = field(set).ok_or_else(|| NotSearchable::NoCandidates(expr.to_string()))?;
                self.try_value(path, vec![text.to_string()].into());
                Ok(())
            }
            other => {
                check_present(other)?;
                Err(NotSearchable::NoCandidates(other.to_string()))
            }
        }
    }

    fn atom(&mut self, word: &Word) -> Result<(), NotSearchable> {
        let name = word.to_string();
        let mut status = |member, word: &str| {
            self.statuses.entry(member).or_default().insert(word.to_owned());
        };
        match Atom::of(word.as_str()) {
            Atom::Action | Atom::StartEvent | Atom::EndEvent => {}
            Atom::Category(category) => drop(self.categories.insert(category.to_string())),
            Atom::ActionType(known) => drop(self.types.insert(known.as_str().to_owned())),
            Atom::PackType | Atom::ForeignType => drop(self.types.insert(name)),
            Atom::ArtifactType(known) => drop(self.artifact_types.insert(known.to_string())),
            Atom::ToolArtifactType => drop(self.artifact_types.insert(name)),
            Atom::Completed => drop(self.outcomes.insert("passed")),
            Atom::Failed => drop(self.outcomes.insert("failed")),
            Atom::Verification(found) => status("vg_result", found.as_str()),
            Atom::Conformance(found) => status("conformance", found.as_str()),
            Atom::CoSimulation(found) => status("cosimulation", found.as_str()),
            Atom::HighStakesPath => self.high_stakes = true,
            Atom::Custom => drop(self.words.insert(name.replace('_', " "))),
            Atom::Structural(_) => return Err(NotSearchable::WholeTrace(name)),
        }
        Ok(())
    }

    fn comparison(&mut self, whole: &Expr, left: &Term, right: &Term) -> Result<(), NotSearchable> {
        check_present(whole)?;
        let path = field(left).ok_or_else(|| NotSearchable::NoCandidates(whole.to_string()))?;
        match right {
            Term::Empty => self.try_value(path, "x".into()),
            Term::Int(bound) => {
                for near in [bound.saturating_sub(1), *bound, bound.saturating_add(1)] {
                    self.try_value(path.clone(), near.into());
                }
            }
            Term::Text(text) => self.try_value(path, text.clone().into()),
            Term::Word(word) if word.as_str() == "true" => self.try_value(path, true.into()),
            Term::Word(word) if word.as_str() == "false" => self.try_value(path, false.into()),
            Term::Word(word) if word.as_str() != CURRENT => self.try_value(path, word.as_str().into()),
            _ => return Err(NotSearchable::NoCandidates(whole.to_string())),
        }
        Ok(())
    }

    fn try_value(&mut self, path: Vec<String>, value: Value) {
        let key = value.to_string();
        self.values.insert(key.clone(), value);
        self.fields.entry(path).or_default().insert(key);
    }

    /// Makes the product of all choices, plainest first.
    fn actions(&self) -> Result<Vec<(Object, Vec<String>)>, NotSearchable> {
        let mut made: Vec<(Object, Vec<String>)> = self.typed();
        for artifact_type in &self.artifact_types {
            made = multiply(made, 2, |(action, types), choice| {
                let mut types = types.clone();
                types.extend((choice == 1).then(|| artifact_type.clone()));
                (action.clone(), types)
            })?;
        }
        for (member, statuses) in &self.statuses {
            let words: Vec<&String> = statuses.iter().collect();
            made = multiply(made, words.len() + 1, |(action, types), choice| {
                let chosen = choice.checked_sub(1).and_then(|at| words.get(at));
                let payload = chosen.map(|word| [("status", word.as_str())].into_iter().collect::<Object>());
                let action = payload.map_or(action.clone(), |payload| action.with(*member, payload));
                (action, types.clone())
            })?;
        }
        made = self.with_texts(
            made,
            "result_summary",
            &self.outcomes.iter().map(|text| (*text).to_owned()).collect(),
        )?;
        made = self.with_texts(made, "detail", &self.words)?;
        if self.high_stakes {
            made = multiply(made, 2, |(action, types), choice| {
                let stake = if choice == 1 { action.with("high_stakes", true) } else { action.clone() };
                (stake, types.clone())
            })?;
        }
        for (path, values) in &self.fields {
            let values: Vec<&Value> = values.iter().filter_map(|key| self.values.get(key)).collect();
            made = multiply(made, values.len() + 1, |(action, types), choice| {
                let chosen = choice.checked_sub(1).and_then(|at| values.get(at));
                let action = chosen.map_or(action.clone(), |value| with_path(action, path, value));
                (action, types.clone())
            })?;
        }
        Ok(made)
    }

    fn typed(&self) -> Vec<(Object, Vec<String>)> {
        let plain = |word: &str| [("type", word)].into_iter().collect::<Object>();
        let mut made = Vec::new();
        for word in std::iter::once("Other").chain(self.types.iter().map(String::as_str)) {
            match ActionType::from_word(word) {
                Some(known) => made.push(plain(word).with("category", known.category())),
                None => {
                    made.push(plain(word));
                    made.extend(
                        self.categories.iter().map(|category| plain(word).with("category", category.clone())),
                    );
                }
            }
        }
        made.into_iter().map(|action| (action, Vec::new())).collect()
    }

    /// Multiplies by every set of texts, joined in one member.
    fn with_texts(
        &self,
        mut made: Vec<(Object, Vec<String>)>,
        member: &str,
        texts: &BTreeSet<String>,
    ) -> Result<Vec<(Object, Vec<String>)>, NotSearchable> {
        for text in texts {
            made = multiply(made, 2, |(action, types), choice| {
                let before = action.get(member).and_then(Value::as_str).unwrap_or("");
                let joined = format!("{before} {text}").trim().to_owned();
                let action = if choice == 1 { action.with(member, joined) } else { action.clone() };
                (action, types.clone())
            })?;
        }
        Ok(made)
    }
}

fn multiply<T>(
    made: Vec<T>,
    choices: usize,
    choose: impl Fn(&T, usize) -> T,
) -> Result<Vec<T>, NotSearchable> {
    if made.len().saturating_mul(choices) > CANDIDATES_MAX {
        return Err(NotSearchable::TooManyCandidates);
    }
    Ok((0..choices)
        .flat_map(|choice| made.iter().map(|item| choose(item, choice)).collect::<Vec<_>>())
        .collect())
}

/// Returns the path of a field of the current action.
fn field(term: &Term) -> Option<Vec<String>> {
    match term {
        Term::Word(word) if word.as_str() != CURRENT => Some(vec![word.to_string()]),
        Term::Field { base, path } => {
            let own = (base.as_str() != CURRENT).then_some(base);
            Some(own.into_iter().chain(path).map(ToString::to_string).collect())
        }
        _ => None,
    }
}

/// Sets a member below an object, making the objects on the way.
fn with_path(object: &Object, path: &[String], value: &Value) -> Object {
    match path {
        [] => object.clone(),
        [last] => object.with(last.as_str(), value.clone()),
        [first, rest @ ..] => {
            let below = object.get(first).and_then(Value::as_object).cloned().unwrap_or_default();
            object.with(first.as_str(), with_path(&below, rest, value))
        }
    }
}
