//! `hence policy explain`: a shortest violation of each policy, and whether all can be satisfied together.

use hence_canon::Value;
use hence_policy::formula::{Alphabet, Formula};
use hence_policy::policy::{Policy, PolicyId, PolicySet};
use hence_policy::search::{
    CANDIDATES_MAX, Found, LENGTH_MAX, NotSearchable, STATES_MAX, STEPS_MAX, joint_satisfaction,
    shortest_violation,
};

use super::source;
use crate::args::PolicyExplainArgs;
use crate::prelude::*;

/// Shortest traces that violate policies, and one that satisfies them all.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExplainReport {
    /// The policies, each with a shortest trace that violates it.
    policies: Vec<PolicyReport>,
    /// A shortest trace on which all policies that can be searched hold and are triggered.
    together: SearchReport,
    /// The policies that `together` leaves out, because they cannot be searched.
    left_out: Vec<String>,
    /// The bounds of the search.
    bound: BoundReport,
}

/// One policy.
#[derive(Serialize, JsonSchema)]
struct PolicyReport {
    /// Its id.
    policy_id: String,
    /// Its formula; null if it cannot be read.
    formula: Option<String>,
    /// A shortest trace that violates it.
    violation: SearchReport,
}

/// The outcome of a search.
#[derive(Serialize, JsonSchema)]
struct SearchReport {
    /// found; none: there is no such trace of any length; none_within_bound: a longer one may exist; not_searched.
    outcome: &'static str,
    /// The trace, if one was found.
    trace: Option<Data>,
    /// The reason why nothing was searched, or how far the search went.
    note: Option<String>,
}

/// The bounds of the search. Actions are made from the words in the formulas; `applies_when` is ignored.
#[derive(Serialize, JsonSchema)]
struct BoundReport {
    /// Different actions tried at each step.
    candidates_max: usize,
    /// States stored.
    states_max: usize,
    /// Actions tried in all.
    steps_max: usize,
    /// Actions in a trace.
    length_max: usize,
}

impl SearchReport {
    fn of(found: Result<Found, NotSearchable>) -> Self {
        let none = |outcome, note| Self { outcome, trace: None, note };
        match found {
            Ok(Found::Trace(trace)) => Self { outcome: "found", trace: Some(trace.into()), note: None },
            Ok(Found::Nothing) => none("none", None),
            Ok(Found::NothingWithin { states, length }) => none(
                "none_within_bound",
                Some(format!("{states} states were visited, traces of up to {length} actions")),
            ),
            Err(reason) => none("not_searched", Some(reason.to_string())),
        }
    }

    fn not_searched(note: String) -> Self {
        Self { outcome: "not_searched", trace: None, note: Some(note) }
    }

    fn is_searched(&self) -> bool {
        self.outcome != "not_searched"
    }

    /// Writes the outcome in a sentence; the actions of a trace follow, each on a line.
    fn text(&self, none: &str) -> String {
        let note = self.note.as_deref().map(escape).unwrap_or_default();
        match (self.outcome, &self.trace) {
            ("found", Some(Data(trace))) => {
                let actions = trace.get("actions").and_then(Value::as_array).unwrap_or_default();
                let things = if actions.len() == 1 { "action" } else { "actions" };
                let mut text = format!("a shortest has {} {things}\n", actions.len());
                for action in actions {
                    text.push_str(&format!("    {}\n", escape(&action.to_string())));
                }
                text
            }
            ("none", _) => format!("{none}\n"),
            ("none_within_bound", _) => format!("none within the bound: {note}\n"),
            _ => format!("not searched: {note}\n"),
        }
    }
}

impl Text for ExplainReport {
    fn text(&self) -> String {
        let mut text = String::new();
        for policy in &self.policies {
            text.push_str(&format!("policy {}\n", escape(&policy.policy_id)));
            if let Some(formula) = &policy.formula {
                text.push_str(&format!("  {}\n", escape(formula)));
            }
            let violation = policy.violation.text("there is none, of any length: it cannot be violated");
            text.push_str(&format!("  violation: {violation}"));
        }
        let joint = self.together.text("no trace of any length: they cannot all be satisfied once triggered");
        text.push_str(&format!("together: {joint}"));
        for id in &self.left_out {
            text.push_str(&format!("  without {}\n", escape(id)));
        }
        let BoundReport { candidates_max, states_max, steps_max, length_max } = &self.bound;
        text.push_str(&format!(
            "bound: {length_max} actions in a trace, {candidates_max} candidates for each, {states_max} states, \
             {steps_max} steps; candidates come from the words in the formulas, applies_when is ignored\n"
        ));
        text
    }
}

/// Returns the formula with the policy's own words replaced by their definitions.
fn searched(policy: &Policy) -> Result<Formula, String> {
    let rule = policy.rule().map_err(ToString::to_string)?;
    if rule.definitions().next().is_none() {
        return Ok(rule.formula().clone());
    }
    Formula::parse(&rule.expr().print(Alphabet::Unicode)).map_err(|error| error.to_string())
}

fn chosen(set: &PolicySet, args: &PolicyExplainArgs) -> Result<Vec<Policy>, CliError> {
    let mut policies: Vec<Policy> = source::choose(set, &args.only)?.into_iter().cloned().collect();
    for (index, text) in args.formula.iter().enumerate() {
        let refused = |error| CliError::at(Code::Policies, format_args!("--formula {}", index + 1), error);
        Formula::parse(text).map_err(refused)?;
        let id = PolicyId::new(&format!("--formula {}", index + 1)).expect("the text is not empty");
        policies.push(Policy::from_formula(&id, text));
    }
    Ok(policies)
}

pub(super) fn run(context: &Context, args: &PolicyExplainArgs) -> Result<Exit, CliError> {
    let set = if args.sources.is_empty() { PolicySet::default() } else { source::load(&args.sources)? };
    let (mut policies, mut formulas, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    for policy in chosen(&set, args)? {
        let formula = searched(&policy);
        let violation = match &formula {
            Ok(formula) => SearchReport::of(shortest_violation(formula)),
            Err(fault) => SearchReport::not_searched(fault.clone()),
        };
        match formula {
            Ok(formula) if violation.is_searched() => formulas.push(formula),
            _ => left_out.push(policy.id().to_string()),
        }
        let formula = policy.rule().ok().map(|rule| rule.formula().expr().to_string());
        policies.push(PolicyReport { policy_id: policy.id().to_string(), formula, violation });
    }
    let together = if formulas.is_empty() {
        SearchReport::not_searched("no policy can be searched".to_owned())
    } else {
        SearchReport::of(joint_satisfaction(&formulas.iter().collect::<Vec<_>>()))
    };
    let bound = BoundReport {
        candidates_max: CANDIDATES_MAX,
        states_max: STATES_MAX,
        steps_max: STEPS_MAX,
        length_max: LENGTH_MAX,
    };
    let can_be_satisfied = together.outcome != "none";
    context.print(&ExplainReport { policies, together, left_out, bound })?;
    Ok(if can_be_satisfied { Exit::Yes } else { Exit::No })
}
