//! Goals resolved against a trace: the status of each item, its evidence, and the trust its criteria deserve.
//!
//! A goal is *met* when its required items are done. It is *certified* when someone else judged that its items express
//! the intent. Neither implies the other.

mod binding;
mod faithfulness;

use std::collections::BTreeSet;

use crate::lineage::{Answers, Lineage};
use crate::model::TargetPart;
use crate::residuals::{Basis, DerivedResidual, stale_residuals};
use crate::vocabulary::{
    AcceptanceKind, AcceptanceStatus, EvaluationStatus, ResidualSeverity, ResidualStatus,
};
use crate::wire::{Goal, Trace};

use binding::Resolved;

pub use faithfulness::{Faithfulness, Stakes, Strength, faithfulness, strength};

/// An acceptance item resolved against the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemResolution {
    /// The id of the item.
    pub id: String,
    /// The kind of evidence it is bound to.
    pub kind: Option<AcceptanceKind>,
    /// Its status.
    pub status: AcceptanceStatus,
    /// Whether the trace decided the status, rather than the author of the item.
    pub from_trace: bool,
    /// The id of the evidence.
    pub evidence: Option<String>,
    /// Whether the item was written after the evidence that fulfils it.
    pub retrofitted: bool,
}

/// A goal resolved against the trace.
#[derive(Clone, Debug, PartialEq)]
pub struct GoalResolution {
    /// The id of the goal.
    pub id: String,
    /// The items.
    pub items: Vec<ItemResolution>,
    /// Mean of the items: done counts one, doing a half.
    pub progress: f64,
    /// The ids of the actions whose work the goal rests on, ascending.
    pub cone: Vec<i64>,
    /// The number of open residuals that concern the goal.
    pub open_gaps: usize,
    /// Whether the goal is met, and whether its criteria are certified.
    pub faithfulness: Faithfulness,
}

/// All goals of a trace, and the actions that serve none of them.
#[derive(Clone, Debug, PartialEq)]
pub struct GoalsReport {
    /// The goals in the order of the trace.
    pub goals: Vec<GoalResolution>,
    /// The ids of actions in no goal's cone, in the order they happened.
    pub exploration: Vec<i64>,
    /// Residuals that follow from the trace without being declared: stale evidence.
    pub derived: Vec<DerivedResidual>,
    /// Clauses of intents that nothing covers, as gaps; they are not part of the summary's counts.
    pub uncovered: Vec<DerivedResidual>,
    /// Counts for a headline.
    pub summary: Summary,
}

/// Counts over a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "each is a count of what its name says")]
pub struct Summary {
    pub policy_violations: usize,
    pub open_residuals: usize,
    /// Open residuals of severity high or critical.
    pub open_high: usize,
    pub stale_evidence: usize,
    pub goals_total: usize,
    pub goals_met: usize,
    pub goals_certified: usize,
    pub goals_weakly_specified: usize,
}

/// Resolves all goals of a trace.
pub fn resolve(trace: &Trace, lineage: &Lineage, stakes: Stakes) -> GoalsReport {
    let derived = stale_residuals(trace);
    let answers = Answers::of(trace);
    let goals: Vec<GoalResolution> =
        trace.goals().map(|goal| resolve_goal(trace, lineage, &answers, &goal, &derived, stakes)).collect();
    let served: BTreeSet<i64> = goals.iter().flat_map(|goal| goal.cone.iter().copied()).collect();
    let exploration = trace.actions().iter().filter_map(crate::wire::Action::id);
    GoalsReport {
        uncovered: goals.iter().flat_map(uncovered).collect(),
        exploration: exploration.filter(|id| !served.contains(id)).collect(),
        summary: summary(trace, &derived, &goals),
        derived,
        goals,
    }
}

fn resolve_goal(
    trace: &Trace,
    lineage: &Lineage,
    answers: &Answers<'_>,
    goal: &Goal,
    derived: &[DerivedResidual],
    stakes: Stakes,
) -> GoalResolution {
    let resolved: Vec<Resolved> =
        goal.acceptance().map(|item| binding::resolve(trace, answers, &item)).collect();
    let statuses: Vec<AcceptanceStatus> = resolved.iter().map(|item| item.resolution.status).collect();
    GoalResolution {
        id: goal.id().unwrap_or("").to_owned(),
        progress: progress(&statuses),
        cone: binding::cone(trace, lineage, goal, &resolved),
        open_gaps: binding::open_gaps(trace, goal, derived),
        faithfulness: faithfulness(goal, &statuses, stakes),
        items: resolved.into_iter().map(|item| item.resolution).collect(),
    }
}

/// Returns the clauses that no item covers, as gaps.
fn uncovered(goal: &GoalResolution) -> Vec<DerivedResidual> {
    let clauses = goal.faithfulness.uncovered_clauses.iter().enumerate();
    let gap = |(place, clause): (usize, &String)| DerivedResidual {
        id: format!("uncovered-{}-{place}", goal.id),
        basis: Basis::UncoveredClause,
        statement: format!("No acceptance item of goal {} covers the clause \"{clause}\".", goal.id),
        severity: ResidualSeverity::Medium,
        suggested_check: "Add an item that covers the clause, or drop the clause from the intent.".to_owned(),
        target: TargetPart::Trace,
    };
    clauses.map(gap).collect()
}

fn progress(statuses: &[AcceptanceStatus]) -> f64 {
    if statuses.is_empty() {
        return 0.0;
    }
    let halves: u32 = statuses
        .iter()
        .map(|status| match status {
            AcceptanceStatus::Done => 2,
            AcceptanceStatus::Doing => 1,
            AcceptanceStatus::Todo | AcceptanceStatus::Blocked => 0,
        })
        .sum();
    #[expect(clippy::cast_precision_loss, reason = "a document has far fewer than 2^52 items")]
    let items = statuses.len() as f64;
    f64::from(halves) / 2.0 / items
}

fn summary(trace: &Trace, derived: &[DerivedResidual], goals: &[GoalResolution]) -> Summary {
    let open = || trace.residuals().filter(|residual| residual.status() == Some(ResidualStatus::Open));
    let is_high = |severity: ResidualSeverity| severity >= ResidualSeverity::High;
    let failed = |status| status == Some(EvaluationStatus::Failed);
    let count =
        |holds: fn(&Faithfulness) -> bool| goals.iter().filter(|goal| holds(&goal.faithfulness)).count();
    Summary {
        policy_violations: trace.policy_evaluations().filter(|found| failed(found.status())).count(),
        open_residuals: open().count() + derived.len(),
        open_high: open().filter(|residual| residual.severity().is_some_and(is_high)).count()
            + derived.iter().filter(|residual| is_high(residual.severity)).count(),
        stale_evidence: derived.len(),
        goals_total: goals.len(),
        goals_met: count(|found| found.met),
        goals_certified: count(|found| found.certified),
        goals_weakly_specified: count(|found| found.weakly_specified),
    }
}
