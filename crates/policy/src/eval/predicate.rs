//! Comparisons, memberships and functions.

use hence_canon::Value;
use hence_review::command::NOT_KNOWN;
use hence_review::vocabulary::{ActionCategory, ArtifactType, EvaluationStatus};
use hence_review::wire::Artifact;

use super::datum::{Datum, compare, same};
use super::evaluator::{Decided, Evaluator, Scopes, Undecided, any_word};
use super::identity;
use super::term::{CURRENT, Side};
use super::truth::{Bits, Truth};
use crate::formula::{Comparison, Expr, Term};
use crate::vocabulary::{Atom, Function, is_trace_list};

impl<'t> Evaluator<'t> {
    /// Evaluates a comparison, a membership or a term used as a formula, at every position only if it varies.
    pub(super) fn relation(&mut self, expr: &Expr, scopes: &mut Scopes<'t>) -> Decided<Truth> {
        if !self.relation_varies(expr, scopes) {
            return Ok(Truth::Constant(self.relation_at(expr, None, scopes)?));
        }
        if self.subject.is_empty() {
            return Ok(Truth::Constant(false));
        }
        if let Some(bits) = self.type_among_ancestors(expr, scopes) {
            return Ok(Truth::Varying(bits));
        }
        let mut bits = Bits::filled(self.len(), false);
        for at in 0..self.len() {
            if self.relation_at(expr, Some(at), scopes)? {
                bits.set(at);
            }
        }
        Ok(Truth::Varying(bits))
    }

    /// Returns whether a comparison, a membership or a term used as a formula depends on the position.
    pub(crate) fn relation_varies(&self, expr: &Expr, scopes: &Scopes<'t>) -> bool {
        match expr {
            Expr::Compare { left, right, .. } => {
                self.subject_varies(left, scopes) || self.varies(right, scopes)
            }
            Expr::Member { element, set } => self.varies(element, scopes) || self.varies(set, scopes),
            Expr::Holds(term) => self.varies(term, scopes),
            _ => true,
        }
    }

    /// `Type ∈ ancestors(a)` at every position, by one walk of the graph instead of one per action.
    fn type_among_ancestors(&self, expr: &Expr, scopes: &Scopes<'t>) -> Option<Bits> {
        let Expr::Member { element: Term::Word(name), set: Term::Call { function, arguments } } = expr else {
            return None;
        };
        let [Term::Word(of)] = arguments.as_slice() else { return None };
        let about_outputs = [CURRENT, "derived_from"].contains(&of.as_str());
        let unbound = scopes.find(name).is_none() && scopes.find(of).is_none();
        if function.as_str() != "ancestors" || !about_outputs || !unbound {
            return None;
        }
        let wanted = Datum::Literal(name.shared());
        let trace = self.subject.trace();
        let ids = trace.artifacts().iter().filter_map(Artifact::id);
        let of_type = ids.filter(|id| self.is_type_of(&wanted, &Datum::Artifact(id)));
        let grounded = self.subject.lineage().with_descendants(of_type);
        let descends = |id: &str| {
            let artifact = trace.artifact_by_id(id);
            artifact.is_some_and(|found| {
                found.derived_from().any(|source| grounded.binary_search(&source).is_ok())
            })
        };
        let actions = trace.actions();
        Some(Bits::from_fn(self.len(), |at| {
            actions.get(at).is_some_and(|action| action.outputs().any(descends))
        }))
    }

    /// Returns whether the left side of a comparison varies: an unbound word there is a field of the action.
    fn subject_varies(&self, term: &Term, scopes: &Scopes<'t>) -> bool {
        match term {
            Term::Word(word) => scopes.find(word).is_none() && !is_trace_list(word.as_str()),
            other => self.varies(other, scopes),
        }
    }

    pub(super) fn relation_at(
        &mut self,
        expr: &Expr,
        at: Option<usize>,
        scopes: &mut Scopes<'t>,
    ) -> Decided<bool> {
        let decided = self.decide_relation(expr, at, scopes);
        if let Err(fault) = &decided {
            let bound = scopes.action_in(&mut |found| any_word(expr, found));
            let at = at.filter(|_| self.relation_varies(expr, scopes));
            self.note_fault(fault, bound, at);
        }
        decided
    }

    fn decide_relation(&mut self, expr: &Expr, at: Option<usize>, scopes: &mut Scopes<'t>) -> Decided<bool> {
        Ok(match expr {
            Expr::Compare { left, comparison, right: Term::Empty } => {
                let found = self.datum(left, Side::Subject, at, scopes)?;
                let bare_field = matches!(left, Term::Word(word) if scopes.find(word).is_none());
                // A bare field of the action is text: only a text that is not blank makes it present.
                let empty = match &found {
                    Datum::Value(value) if bare_field => {
                        value.as_str().is_none_or(|text| text.trim().is_empty())
                    }
                    other => other.is_empty(),
                };
                match comparison {
                    Comparison::Equal => empty,
                    Comparison::NotEqual => !empty,
                    _ => false,
                }
            }
            Expr::Compare { left, comparison, right } => {
                // An unbound word on the right is a literal, not a field.
                let is_field = matches!(right, Term::Field { .. });
                let of_people = identity::names_person(left) || (is_field && identity::names_person(right));
                let (left_term, right_term) = (left, right);
                let left = self.datum(left, Side::Subject, at, scopes)?;
                let right = self.datum(right, Side::Value, at, scopes)?;
                known(left_term, [&left])?;
                known(right_term, [&right])?;
                if of_people && identity::same_people(&left, &right) {
                    return Ok(*comparison == Comparison::Equal);
                }
                if let (Datum::Set(left), Datum::Set(right)) = (&left, &right) {
                    self.spend(left.len().saturating_mul(right.len()))?;
                }
                compare(&left, *comparison, &right)
            }
            Expr::Member { element, set } => {
                let of_people = identity::names_person(element) || identity::names_person(set);
                let items = self.set(set, at, scopes)?;
                let element = self.datum(element, Side::Value, at, scopes)?;
                let is_person = |item: &Datum<'t>| of_people && identity::same_people(&element, item);
                let is_member = items
                    .iter()
                    .any(|item| same(&element, item) || self.is_type_of(&element, item) || is_person(item));
                if !is_member {
                    known(set, &items)?;
                }
                is_member
            }
            Expr::Holds(term) => match self.datum(term, Side::Subject, at, scopes)? {
                found @ Datum::Value(Value::Object(_)) => {
                    known(term, [&found])?;
                    !found.is_empty()
                }
                Datum::Value(Value::Bool(value)) => *value,
                Datum::Literal(word) if &*word == "true" => true,
                Datum::Literal(word) if &*word == "false" => false,
                other => !other.is_empty(),
            },
            _ => false,
        })
    }

    /// `Decomposition ∈ ancestors(x)`: a type is in a set of artifacts when one of them is of it.
    fn is_type_of(&self, element: &Datum<'t>, item: &Datum<'t>) -> bool {
        let (Datum::Literal(word), Datum::Artifact(id)) = (element, item) else { return false };
        let Some(artifact) = self.subject.trace().artifact_by_id(id) else { return false };
        match Atom::of(word) {
            Atom::ArtifactType(artifact_type) => artifact.is(artifact_type),
            atom if atom.is_type() || atom == Atom::ForeignType => artifact.type_word() == &**word,
            _ => false,
        }
    }

    /// Applies a function that returns a set or a text.
    pub(super) fn apply(
        &mut self,
        function: Function,
        subject: &Datum<'t>,
        at: Option<usize>,
    ) -> Decided<Datum<'t>> {
        let trace = self.subject.trace();
        let action = match subject {
            Datum::Action(at) => trace.actions().get(*at),
            _ => None,
        };
        let artifacts =
            |ids: &mut dyn Iterator<Item = &'t str>| Datum::Set(ids.map(Datum::Artifact).collect());
        Ok(match (function, action) {
            (Function::Inputs, Some(action)) => artifacts(&mut action.inputs()),
            (Function::Outputs, Some(action)) => artifacts(&mut action.outputs()),
            (Function::ActionsBefore, Some(action)) => {
                Datum::Set((0..action.position().get()).map(Datum::Action).collect())
            }
            (Function::Target, Some(action)) => Datum::Text(self.subject.lineage().target(action.position())),
            (Function::Ancestors, Some(action)) => {
                // Each walk may visit the whole graph.
                self.spend(action.outputs().count().saturating_mul(trace.artifacts().len() / 16))?;
                let mut ids: Vec<&'t str> = Vec::new();
                for output in action.outputs() {
                    ids.extend(self.subject.lineage().ancestors(output));
                }
                self.spend(ids.len())?;
                artifacts(&mut ids.into_iter())
            }
            (Function::Ancestors, None) => match subject.as_text() {
                Some(id) => {
                    self.spend(trace.artifacts().len() / 16)?;
                    let ids = self.subject.lineage().ancestors(id);
                    self.spend(ids.len())?;
                    artifacts(&mut ids.into_iter())
                }
                // `ancestors(derived_from)`: of what the current action produced.
                None => match at {
                    Some(at) => self.apply(function, &Datum::Action(at), None)?,
                    None => Datum::Nothing,
                },
            },
            _ => Datum::Nothing,
        })
    }

    /// Applies a function that returns true or false.
    pub(super) fn predicate(
        &mut self,
        function: Function,
        arguments: &[Term],
        at: Option<usize>,
        scopes: &mut Scopes<'t>,
    ) -> Decided<bool> {
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            values.push(self.datum(argument, Side::Value, at, scopes)?);
        }
        let (Some(first), second) = (values.first(), values.get(1)) else { return Ok(false) };
        let facts = match first {
            Datum::Action(at) => self.facts(*at),
            _ => None,
        };
        let trace = self.subject.trace();
        let artifact = first.as_text().and_then(|id| trace.artifact_by_id(id));
        if function == Function::AncestorOf {
            self.spend(trace.artifacts().len() / 16)?;
        }
        let texts = first.as_text().zip(second.and_then(Datum::as_text));
        let role_or = |role: &str, also: bool| artifact.and_then(Artifact::role) == Some(role) || also;
        Ok(match function {
            Function::RefModel => {
                let here = at.and_then(|at| self.facts(at));
                first.as_text().is_some_and(|model| self.names_reference(here, model))
            }
            Function::ReasoningAction => {
                facts.is_some_and(|facts| facts.is(Atom::Category(ActionCategory::Reasoning), ""))
            }
            Function::VerificationAction => facts.is_some_and(|facts| facts.is_verification()),
            Function::StateSpaceAnalysisAction => facts.is_some_and(|facts| facts.is_state_space_analysis()),
            Function::FormalModelArtifact => role_or(
                "formal_model",
                artifact.is_some_and(|artifact| artifact.is(ArtifactType::FormalModel)),
            ),
            Function::StateSpaceAnalysisResult => role_or(
                "state_space_analysis",
                artifact.is_some_and(|artifact| artifact.is(ArtifactType::StateSpaceAnalysisResult)),
            ),
            Function::ApprovedReferenceArtifact => {
                let named = first.as_text();
                role_or("approved_reference", trace.reference_artifacts().any(|found| found.id() == named))
            }
            Function::AncestorOf => {
                texts.is_some_and(|(ancestor, id)| self.subject.lineage().is_ancestor(ancestor, id))
            }
            Function::DerivedFrom => texts.is_some_and(|(id, source)| {
                trace
                    .artifact_by_id(id)
                    .is_some_and(|artifact| artifact.derived_from().any(|from| from == source))
            }),
            Function::PolicyFailed => trace.policy_evaluations().any(|evaluation| {
                evaluation.text("policy_id") == first.as_text()
                    && evaluation.text("status") == Some(EvaluationStatus::Failed.as_str())
            }),
            _ => false,
        })
    }

    /// Returns whether the request of the action, or a policy of the trace, names a reference by this id.
    fn names_reference(&self, here: Option<super::ActionFacts<'t>>, model: &str) -> bool {
        let keys = ["reference_model_id", "reference_artifact_id"];
        let asked = here.and_then(|facts| facts.action.object("request"));
        asked.is_some_and(|request| {
            keys.iter().any(|key| request.get(key).and_then(Value::as_str) == Some(model))
        }) || self
            .subject
            .trace()
            .policies()
            .any(|policy| keys.iter().any(|key| policy.text(key) == Some(model)))
    }
}

/// Checks that none of the values is marked as not known.
fn known<'d, 't: 'd>(term: &Term, values: impl IntoIterator<Item = &'d Datum<'t>>) -> Decided<()> {
    let marked = |datum: &Datum<'_>| {
        let Datum::Value(Value::Object(object)) = datum else { return None };
        object.get(NOT_KNOWN).and_then(Value::as_str).map(str::to_owned)
    };
    match values.into_iter().find_map(marked) {
        Some(source_text) => Err(Undecided::NotKnown { term: term.to_string(), source_text }),
        None => Ok(()),
    }
}
