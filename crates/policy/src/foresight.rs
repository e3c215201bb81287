//! Foresight: the policies that an action violates before it is carried out.
//!
//! Before an action is carried out, its type, its request, its inputs and everything earlier are known; its result is
//! not. A formula is therefore evaluated with three values: what depends on the result is open. Only a violation that no
//! result can avoid is reported, so an action that is held back would have violated the policy.

use hence_canon::{Object, Value};
use hence_review::vocabulary::PolicySeverity;

use crate::check::Options;
use crate::eval::{Evaluator, SinceReading, Subject, TraceDefect, Undecided};
use crate::formula::{Binary, Comparison, Expr, Term, Unary, Word};
use crate::monitor::{Violation, check_present, explain, is_timeless};
use crate::named_check::NamedCheck;
use crate::policy::Policy;
use crate::verdict::{ActionRef, Explanation, Step};
use crate::vocabulary::{Atom, Function, is_trace_list};

/// Fields of an action that are known only after it was carried out.
const FIELDS_AFTER: [&str; 10] = [
    "decision_basis",
    "detail",
    "evidence",
    "observations",
    "options",
    "outputs",
    "reproducibility",
    "result",
    "result_summary",
    "timestamp",
];

/// Members of `execution` that are known before an action is carried out.
const EXECUTION_BEFORE: [&str; 4] = ["determinism", "method", "tool", "version"];

/// When a policy can be judged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Foresight {
    /// Before an action is carried out: the policy holds the action back.
    Before,
    /// After an action was carried out, because of a part of the formula about its result.
    After(String),
    /// When everything was done, because of a part of the formula about the future or the whole trace.
    AtEnd(String),
}

impl Foresight {
    /// Returns when a policy can be judged.
    pub fn of(policy: &Policy) -> Self {
        let expr = match policy.rule() {
            Ok(rule) => rule.expr(),
            Err(error) => return Self::AtEnd(error.to_string()),
        };
        let mut bodies = Vec::new();
        if let Some(part) = add_bodies(expr, &mut bodies) {
            return Self::AtEnd(part);
        }
        match bodies.into_iter().find_map(|body| open_part(body, &mut Vec::new())) {
            Some(part) => Self::After(part),
            None => Self::Before,
        }
    }
}

/// Collects the formulas that must hold at every action; `Some` is a part that is about more than that.
fn add_bodies<'e>(expr: &'e Expr, bodies: &mut Vec<&'e Expr>) -> Option<String> {
    match expr {
        _ if NamedCheck::recognise(expr).is_some() => Some(expr.to_string()),
        Expr::And(parts) => parts.iter().find_map(|part| add_bodies(part, bodies)),
        Expr::Unary(Unary::Globally, body) => {
            let found = later_part(body);
            bodies.push(body);
            found
        }
        Expr::Not(inner) => match &**inner {
            Expr::Unary(Unary::Finally, body) => {
                let found = later_part(body);
                bodies.push(inner);
                found
            }
            _ => Some(expr.to_string()),
        },
        Expr::Count { of, comparison: Comparison::AtMost | Comparison::Below, .. } => {
            let found = later_part(of);
            bodies.push(expr);
            found
        }
        _ => Some(expr.to_string()),
    }
}

/// Returns a part of a formula that is about the future or about lists of the whole trace.
fn later_part(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Unary(Unary::Globally | Unary::Finally | Unary::Next, _)
        | Expr::Binary(Binary::Until, ..)
        | Expr::Count { .. } => Some(expr.to_string()),
        Expr::Atom(word) => match Atom::of(word.as_str()) {
            Atom::EndEvent | Atom::NamedCheck(_) => Some(expr.to_string()),
            _ => None,
        },
        Expr::Quantified { set, body, .. } => match set {
            Some(set) => whole_term(set).or_else(|| later_part(body)),
            None => Some(expr.to_string()),
        },
        Expr::Compare { left, right, .. } => whole_term(left).or_else(|| whole_term(right)),
        Expr::Member { element, set } => whole_term(element).or_else(|| whole_term(set)),
        Expr::Holds(term) => whole_term(term),
        _ => expr.parts().find_map(later_part),
    }
}

/// Returns a term about a list of the whole trace, which may still grow.
fn whole_term(term: &Term) -> Option<String> {
    match term {
        Term::Word(word) if is_trace_list(word.as_str()) => Some(term.to_string()),
        Term::Call { function, arguments } => match Function::from_name(function.as_str()) {
            Some(Function::PolicyFailed) => Some(term.to_string()),
            _ => arguments.iter().find_map(whole_term),
        },
        Term::List(items) => items.iter().find_map(whole_term),
        Term::Comprehension { .. } => Some(term.to_string()),
        _ => None,
    }
}

/// Returns a part of a formula that is about the result of the present action. `bound` are the variables in scope.
fn open_part(expr: &Expr, bound: &mut Vec<Word>) -> Option<String> {
    let found = || Some(expr.to_string());
    match expr {
        Expr::Constant(_) => None,
        Expr::Not(inner) if is_failed(inner) => None,
        Expr::Atom(word) => {
            if is_atom_known(word) {
                None
            } else {
                found()
            }
        }
        Expr::Typed { .. } => found(),
        Expr::Unary(Unary::Previously(_) | Unary::Historically(_), _)
        | Expr::Binary(Binary::SinceLast, ..) => None,
        Expr::Quantified { variable, set, body, .. } => {
            if set.as_ref().is_none_or(|set| !is_term_known(set, bound)) {
                return found();
            }
            bound.push(variable.clone());
            let part = open_part(body, bound);
            bound.pop();
            part
        }
        Expr::Compare { left, right, .. } => {
            if is_term_known(left, bound) && is_term_known(right, bound) {
                None
            } else {
                found()
            }
        }
        Expr::Member { element, set } => {
            if is_term_known(element, bound) && is_term_known(set, bound) {
                None
            } else {
                found()
            }
        }
        Expr::Holds(term) => {
            if is_term_known(term, bound) {
                None
            } else {
                found()
            }
        }
        _ => expr.parts().find_map(|part| open_part(part, bound)),
    }
}

/// Returns whether a formula is the atom `failed`.
fn is_failed(expr: &Expr) -> bool {
    matches!(expr, Expr::Atom(word) if Atom::of(word.as_str()) == Atom::Failed)
}

/// Returns whether an atom is known before the action. That an action succeeds is assumed: an action whose success would
/// violate a policy is held back.
fn is_atom_known(word: &Word) -> bool {
    match Atom::of(word.as_str()) {
        Atom::Action
        | Atom::Category(_)
        | Atom::ActionType(_)
        | Atom::ForeignType
        | Atom::ArtifactType(_)
        | Atom::ToolArtifactType
        | Atom::HighStakesPath
        | Atom::StartEvent => true,
        Atom::Completed
        | Atom::Failed
        | Atom::Verification(_)
        | Atom::Conformance(_)
        | Atom::CoSimulation(_)
        | Atom::EndEvent
        | Atom::NamedCheck(_)
        | Atom::Custom => false,
    }
}

fn is_term_known(term: &Term, bound: &[Word]) -> bool {
    match term {
        Term::Word(word) => {
            bound.contains(word) || !FIELDS_AFTER.contains(&word.as_str()) && word.as_str() != "execution"
        }
        Term::Field { base, path } if bound.contains(base) => !path.is_empty(),
        Term::Field { base, path } => {
            let names: Vec<&str> = [base].into_iter().chain(path).map(Word::as_str).collect();
            match names.as_slice() {
                ["a", rest @ ..] => is_field_known(rest),
                all => is_field_known(all),
            }
        }
        Term::Call { function, arguments } => {
            let is_known = match Function::from_name(function.as_str()) {
                Some(Function::Outputs | Function::PolicyFailed) | None => false,
                Some(_) => true,
            };
            is_known && arguments.iter().all(|argument| is_term_known(argument, bound))
        }
        Term::List(items) => items.iter().all(|item| is_term_known(item, bound)),
        Term::Comprehension { .. } => false,
        Term::Text(_) | Term::Int(_) | Term::Empty => true,
    }
}

fn is_field_known(path: &[&str]) -> bool {
    match path {
        ["execution", member, ..] => EXECUTION_BEFORE.contains(member),
        ["execution"] => false,
        [field, ..] => !FIELDS_AFTER.contains(field),
        [] => true,
    }
}

/// Returns the policies that the last action of a trace violates whatever its result will be.
///
/// # Errors
/// [`TraceDefect`] when the trace cannot be judged.
pub fn foresee<'p>(
    trace: &Value,
    policies: impl IntoIterator<Item = &'p Policy>,
    options: Options,
) -> Result<Vec<Violation>, TraceDefect> {
    let subject = Subject::read(trace)?;
    let Some(at) = subject.trace().actions().len().checked_sub(1) else { return Ok(Vec::new()) };
    let action = subject.trace().actions().get(at).map(|action| ActionRef {
        position: at,
        id: action.id(),
        action_type: action.type_word().to_owned(),
    });
    let mut violations = Vec::new();
    for policy in policies {
        let (Ok(rule), Ok(selector)) = (policy.rule(), policy.selector()) else { continue };
        if selector.is_some_and(|selector| !selector.matches(&subject)) {
            continue;
        }
        let present = Present { evaluator: Evaluator::new(&subject, options.since), at };
        if let Some(explanation) = Known(present).violation(rule.expr(), action.as_ref()) {
            violations.push(Violation {
                policy_id: policy.id().clone(),
                statement: policy.description().map(str::to_owned),
                severity: policy.severity(),
                explanation,
            });
        }
    }
    Ok(violations)
}

/// Returns whether an action may trigger a policy. `false` means that every demand of the policy begins with a condition on
/// the action alone, and that none of them holds.
pub fn may_trigger(policy: &Policy, action: &Object) -> bool {
    let Ok(rule) = policy.rule() else { return true };
    let alone: Value = Object::new().with("actions", vec![action.clone()]).into();
    let Ok(subject) = Subject::read(&alone) else { return true };
    let mut bodies = Vec::new();
    if add_bodies(rule.expr(), &mut bodies).is_some() {
        return true;
    }
    bodies.into_iter().any(|body| match body {
        Expr::Implies(trigger, _) if is_timeless(trigger) && check_present(trigger).is_ok() => {
            let present = Present { evaluator: Evaluator::new(&subject, SinceReading::default()), at: 0 };
            !matches!(Known(present).known(trigger), Ok(Some(false)))
        }
        _ => true,
    })
}

/// The truth of formulas at the action that is judged.
pub(crate) trait Truth {
    /// Returns the value of a formula, if there is one.
    ///
    /// # Errors
    /// [`Undecided`] when the formula has no truth value.
    fn truth(&mut self, expr: &Expr) -> Result<Option<bool>, Undecided>;

    /// Returns whether a demand that bounds a count holds with the action counted.
    ///
    /// # Errors
    /// [`Undecided`] when the formula has no truth value.
    fn keeps_bound(&mut self, demand: &Expr) -> Result<bool, Undecided>;
}

/// The last action of a trace, before it is carried out.
struct Present<'t> {
    evaluator: Evaluator<'t>,
    at: usize,
}

impl Truth for Present<'_> {
    fn truth(&mut self, expr: &Expr) -> Result<Option<bool>, Undecided> {
        Ok(Some(self.evaluator.truth(expr)?.at(self.at)))
    }

    fn keeps_bound(&mut self, demand: &Expr) -> Result<bool, Undecided> {
        Ok(self.evaluator.truth(demand)?.at(self.at))
    }
}

/// The three-valued reading of formulas before an action is carried out.
pub(crate) struct Known<T>(pub(crate) T);

impl<T: Truth> Known<T> {
    /// Returns how the action violates a policy. A policy that cannot be decided here is judged later.
    pub(crate) fn violation(&mut self, policy: &Expr, action: Option<&ActionRef>) -> Option<Explanation> {
        let mut bodies = Vec::new();
        // A part about the future or the whole trace is judged at the end; the other demands are judged here.
        let _ = add_bodies(policy, &mut bodies);
        let broken = bodies.into_iter().find(|body| {
            later_part_of_demand(body).is_none() && matches!(self.known_demand(body), Ok(Some(false)))
        })?;
        let mut found = Vec::new();
        explain(broken, &mut |part| self.known(part).ok().flatten(), &mut found);
        let steps = found.into_iter().map(|found| Step { action: action.cloned(), found }).collect();
        Some(Explanation { steps })
    }

    /// Returns whether a demand holds, if that does not depend on the result.
    fn known_demand(&mut self, demand: &Expr) -> Result<Option<bool>, Undecided> {
        match demand {
            Expr::Unary(Unary::Finally, body) => Ok(self.known(body)?.map(|holds| !holds)),
            Expr::Count { of, .. } => match self.known(of)? {
                // The bound is exceeded by an action that counts.
                Some(true) => Ok(Some(self.0.keeps_bound(demand)?)),
                Some(false) => Ok(Some(true)),
                None => Ok(None),
            },
            body => self.known(body),
        }
    }

    /// Returns the value of a formula at the action, if it does not depend on the result.
    fn known(&mut self, expr: &Expr) -> Result<Option<bool>, Undecided> {
        Ok(match expr {
            // An action is held back for what it does if it does not fail.
            Expr::Not(inner) if is_failed(inner) => Some(true),
            Expr::Not(inner) => self.known(inner)?.map(|value| !value),
            Expr::And(parts) => self.known_all(parts, false)?,
            Expr::Or(parts) => self.known_all(parts, true)?,
            Expr::Implies(trigger, demand) => match self.known(trigger)? {
                Some(false) => Some(true),
                trigger => match (trigger, self.known(demand)?) {
                    (_, Some(true)) => Some(true),
                    (Some(true), Some(false)) => Some(false),
                    _ => None,
                },
            },
            Expr::Iff(left, right) => match (self.known(left)?, self.known(right)?) {
                (Some(left), Some(right)) => Some(left == right),
                _ => None,
            },
            // A word that is found in what is known stays found.
            Expr::Atom(word) if Atom::of(word.as_str()) == Atom::Custom => {
                self.0.truth(expr)?.filter(|holds| *holds)
            }
            Expr::Typed { name, .. } => {
                let is_of_type = self.0.truth(&Expr::Atom(name.clone()))?;
                is_of_type.filter(|holds| !holds)
            }
            other if open_part(other, &mut Vec::new()).is_some() => None,
            other => self.0.truth(other)?,
        })
    }

    /// Returns the value of operands of which one that is `decisive` decides.
    fn known_all(&mut self, parts: &[Expr], decisive: bool) -> Result<Option<bool>, Undecided> {
        let mut is_open = false;
        for part in parts {
            match self.known(part)? {
                Some(value) if value == decisive => return Ok(Some(decisive)),
                Some(_) => {}
                None => is_open = true,
            }
        }
        Ok((!is_open).then_some(!decisive))
    }
}

fn later_part_of_demand(demand: &Expr) -> Option<String> {
    match demand {
        Expr::Unary(Unary::Finally, body) | Expr::Count { of: body, .. } => later_part(body),
        body => later_part(body),
    }
}

/// Returns whether a violation of a policy of this severity stops a run.
pub fn is_blocking(severity: PolicySeverity) -> bool {
    severity == PolicySeverity::Error
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use super::*;
    use crate::policy::{PolicyId, built_in};

    fn policy(formula: &str) -> Policy {
        Policy::from_formula(&PolicyId::new("p").unwrap(), formula)
    }

    /// Returns whether a trace with this last action is foreseen to violate a formula.
    fn violates(formula: &str, actions: &str, artifacts: &str) -> bool {
        let trace = format!(r#"{{"trace_id": "t", "actions": {actions}, "artifacts": {artifacts}}}"#);
        let trace = parse(trace.as_bytes()).unwrap();
        !foresee(&trace, [&policy(formula)], Options::default()).unwrap().is_empty()
    }

    #[test]
    fn only_what_no_result_can_avoid_is_foreseen() {
        let commit = r#"[{"id": 1, "type": "GitCommit", "category": "activity", "request": {"path": "a"}}]"#;
        for (formula, expected) in [
            ("G(GitCommit → P(RunTests ∧ completed))", true),
            ("G(GitCommit → ((RunTests ∧ completed) S_last EditFile))", true),
            ("G(GitCommit → P_chain(RunTests))", true),
            ("G(GitCommit → P_target(RunTests))", true),
            ("count(GitCommit) ≤ 0", true),
            ("¬F(GitCommit)", true),
            ("G(¬(GitCommit ∧ request.path = \"a\"))", true),
            ("G(¬(GitCommit ∧ request.path = \"b\"))", false),
            ("G(GitCommit → completed)", false),
            ("G(GitCommit ∧ ¬failed → P(RunTests ∧ completed))", true),
            ("G(GitCommit ∧ failed → P(RunTests))", false),
            ("G(GitCommit ∧ completed → P(RunTests))", false),
            ("G(GitCommit → completed ∧ P(RunTests))", true),
            ("G(GitCommit → reviewed)", false),
            ("G(GitCommit → result_summary ≠ ∅)", false),
            ("G(GitCommit → execution.cost ≤ 5)", false),
            ("G(GitCommit → ∃ x ∈ outputs(a) . x.metadata.scanned = true)", false),
            ("G(GitCommit → ∃ x ∈ inputs(a) . x.metadata.scanned = true)", true),
            ("G(GitCommit → ∃ b ∈ actions_before(a) . b.type = Approve)", true),
            ("G(GitCommit → F(RunTests))", false),
            ("G(RunTests → P(EditFile))", false),
        ] {
            assert_eq!(violates(formula, commit, "[]"), expected, "{formula}");
        }
    }

    #[test]
    fn lineage_and_target_count() {
        let rule = "G(DeleteFile → P_target(UserApproval) ∨ P_chain(UserApproval))";
        let artifacts =
            r#"[{"artifact_id": "ok", "artifact_type": "UserApproval", "producer_action_id": 1}]"#;
        let actions = |inputs: &str| {
            format!(
                r#"[{{"id": 1, "type": "AskUser", "outputs": ["ok"]}}, {{"id": 2, "type": "DeleteFile", "inputs": [{inputs}]}}]"#
            )
        };
        assert!(!violates(rule, &actions(r#""ok""#), artifacts));
        assert!(violates(rule, &actions(""), artifacts));
    }

    #[test]
    fn a_policy_says_when_it_is_judged() {
        let when = |formula: &str| Foresight::of(&policy(formula));
        assert_eq!(when("G(GitCommit → P(RunTests ∧ completed))"), Foresight::Before);
        assert_eq!(when("G(GitCommit → completed)"), Foresight::After("completed".to_owned()));
        assert_eq!(when("G(EditFile → F(RunTests))"), Foresight::AtEnd("F(RunTests)".to_owned()));
        assert!(matches!(when("start_event ∧ end_event"), Foresight::AtEnd(_)));
        assert!(matches!(when("G(GitCommit → ∀ r ∈ residuals . r.status ≠ Open)"), Foresight::AtEnd(_)));
    }

    #[test]
    fn the_shipped_policies_about_deeds_hold_them_back() {
        let set = built_in();
        let blocking = set.policies().iter().filter(|policy| is_blocking(policy.severity()));
        let later: Vec<&str> = blocking
            .filter(|policy| Foresight::of(policy) != Foresight::Before)
            .map(|policy| policy.id().as_str())
            .collect();
        assert_eq!(
            later,
            [
                "counterexample-leads-to-fix",
                "inputs-produced-once",
                "goals-have-models",
                "no-open-critical-at-approval",
                "high-gaps-acknowledged-before-commit",
                "action-cost-bounded",
                "beginning-and-end-recorded",
            ]
        );
    }
}
