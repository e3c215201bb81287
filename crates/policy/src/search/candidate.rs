//! Candidate actions: one for each combination of facts a formula can distinguish.

use std::collections::{BTreeMap, BTreeSet};

use hence_canon::{Object, Value};
use hence_review::vocabulary::ActionType;

use super::automaton::Automaton;
use super::{CANDIDATES_MAX, NotSearchable};
use crate::eval::{CURRENT, Evaluator, SinceReading, Subject};
use crate::formula::{Expr, Scope, Term, Word};
use crate::monitor::check_present;
use crate::vocabulary::Atom;

/// The link of an action to the others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Link {
    /// On a target of its own.
    Apart,
    /// On the shared target.
    Target,
    /// On the shared target and in the shared chain.
    Chain,
}

/// An action to try, with the truth values of the formulas about the present action.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) draft: Draft,
    pub(super) link: Link,
    answers: Vec<bool>,
}

impl Candidate {
    /// Returns whether the formula about the present action at `place` holds.
    pub(super) fn holds(&self, place: usize) -> bool {
        self.answers.get(place) == Some(&true)
    }
}

/// The facts about actions that a formula mentions.
#[derive(Default)]
struct Mentions {
    types: BTreeSet<String>,
    categories: BTreeSet<String>,
    artifact_types: BTreeSet<String>,
    words: BTreeSet<String>,
    /// Texts for `result_summary`.
    outcomes: BTreeSet<&'static str>,
    /// Member of the action that holds a status → the statuses.
    statuses: BTreeMap<&'static str, BTreeSet<String>>,
    high_stakes: bool,
    /// Path of a field → values worth trying, by their text.
    fields: BTreeMap<Vec<String>, BTreeMap<String, Value>>,
}

/// An action to try, before it is evaluated.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) action: Object,
    /// Types of artifacts it produces besides those that link it.
    pub(super) artifact_types: Vec<String>,
    /// Whether it works on a high-stakes path.
    pub(super) is_high_stakes: bool,
}

/// Makes the candidates for a formula in traces with this header; of candidates with equal answers only the first.
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
    for draft in mentions.drafts()? {
        let answers = answers(automaton, header, &draft)?;
        for link in &links {
            if alike.insert((answers.clone(), *link)) {
                let (draft, answers) = (draft.clone(), answers.clone());
                candidates.push(Candidate { draft, link: *link, answers });
            }
        }
    }
    Ok(candidates)
}

/// Evaluates the formulas about the present action on a trace of this one action.
fn answers(automaton: &Automaton, header: &Object, draft: &Draft) -> Result<Vec<bool>, NotSearchable> {
    let (action, artifacts) = super::walk::write_action(0, draft, Link::Apart, None);
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
            Expr::Constant(_)
            | Expr::Not(_)
            | Expr::And(_)
            | Expr::Or(_)
            | Expr::Implies(..)
            | Expr::Iff(..) => expr.parts().try_for_each(|part| self.read(part)),
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
            Atom::ForeignType => drop(self.types.insert(name)),
            Atom::ArtifactType(known) => drop(self.artifact_types.insert(known.to_string())),
            Atom::ToolArtifactType => drop(self.artifact_types.insert(name)),
            Atom::Completed => drop(self.outcomes.insert("passed")),
            Atom::Failed => drop(self.outcomes.insert("failed")),
            Atom::Verification(found) => status("vg_result", found.as_str()),
            Atom::Conformance(found) => status("conformance", found.as_str()),
            Atom::CoSimulation(found) => status("cosimulation", found.as_str()),
            Atom::HighStakesPath => self.high_stakes = true,
            Atom::Custom => drop(self.words.insert(name.replace('_', " "))),
            Atom::NamedCheck(_) => return Err(NotSearchable::WholeTrace(name)),
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
        self.fields.entry(path).or_default().insert(value.to_string(), value);
    }

    /// Makes the product of all choices, plainest first.
    fn drafts(&self) -> Result<Vec<Draft>, NotSearchable> {
        let mut drafts = self.typed();
        for artifact_type in &self.artifact_types {
            drafts = vary(drafts, [artifact_type], |draft, artifact_type| {
                draft.artifact_types.push(artifact_type.clone());
            })?;
        }
        for (member, statuses) in &self.statuses {
            drafts = vary(drafts, statuses, |draft, word| {
                let payload = Object::from_iter([("status", word.as_str())]);
                draft.action = draft.action.with(*member, payload);
            })?;
        }
        let outcomes = self.outcomes.iter().map(|text| ("result_summary", *text));
        // Every set of texts is tried, joined in one member.
        for text in outcomes.chain(self.words.iter().map(|text| ("detail", text.as_str()))) {
            drafts = vary(drafts, [text], |draft, (member, text)| {
                let before = draft.action.get(member).and_then(Value::as_str).unwrap_or("");
                let joined = format!("{before} {text}").trim().to_owned();
                draft.action = draft.action.with(member, joined);
            })?;
        }
        if self.high_stakes {
            drafts = vary(drafts, [true], |draft, is_high_stakes| draft.is_high_stakes = is_high_stakes)?;
        }
        for (path, values) in &self.fields {
            drafts = vary(drafts, values.values(), |draft, value| {
                draft.action = with_path(&draft.action, path, value);
            })?;
        }
        Ok(drafts)
    }

    /// Makes a draft of each type, and of each category for types that imply none.
    fn typed(&self) -> Vec<Draft> {
        let plain = |word: &str| Object::from_iter([("type", word)]);
        let mut actions = Vec::new();
        for word in std::iter::once("Other").chain(self.types.iter().map(String::as_str)) {
            match ActionType::from_word(word) {
                Some(known) => actions.push(plain(word).with("category", known.category())),
                None => {
                    actions.push(plain(word));
                    let categories = self.categories.iter();
                    actions.extend(categories.map(|category| plain(word).with("category", category.clone())));
                }
            }
        }
        let draft = |action| Draft { action, artifact_types: Vec::new(), is_high_stakes: false };
        actions.into_iter().map(draft).collect()
    }
}

/// Adds a changed copy of each draft for each option; the drafts without a change come first.
fn vary<T: Copy>(
    mut drafts: Vec<Draft>,
    options: impl IntoIterator<Item = T>,
    change: impl Fn(&mut Draft, T),
) -> Result<Vec<Draft>, NotSearchable> {
    let plain = drafts.len();
    for option in options {
        if drafts.len() + plain > CANDIDATES_MAX {
            return Err(NotSearchable::TooManyCandidates);
        }
        for at in 0..plain {
            let mut draft = drafts.get(at).cloned();
            draft.iter_mut().for_each(|draft| change(draft, option));
            drafts.extend(draft);
        }
    }
    Ok(drafts)
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
