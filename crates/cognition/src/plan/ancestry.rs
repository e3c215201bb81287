//! Whether one step must take effect before another.

use std::collections::BTreeSet;

use super::{Plan, StepIndex};

/// Answers ancestry by walking chains instead of steps: a run of steps that each depend on the one before it in
/// the plan, and on nothing else, is one hop.
pub(super) struct Ancestry<'a> {
    plan: &'a Plan,
    /// Position of each step in the plan.
    position: Vec<usize>,
    /// For each position, the position at which its chain starts.
    chain_start: Vec<usize>,
}

impl<'a> Ancestry<'a> {
    pub(super) fn of(plan: &'a Plan) -> Self {
        let mut position = vec![0; plan.order.len()];
        for (at, step) in plan.order.iter().enumerate() {
            if let Some(place) = position.get_mut(step.position()) {
                *place = at;
            }
        }
        let mut chain_start: Vec<usize> = Vec::with_capacity(plan.order.len());
        for (at, step) in plan.order.iter().enumerate() {
            let continues = match (at.checked_sub(1), plan.dependencies(*step)) {
                (Some(before), [only]) => position.get(only.position()) == Some(&before),
                _ => false,
            };
            let start = chain_start.last().copied().filter(|_| continues).unwrap_or(at);
            chain_start.push(start);
        }
        Self { plan, position, chain_start }
    }

    /// Returns whether `later` cannot start before `earlier` has taken effect.
    pub(super) fn is_before(&self, earlier: StepIndex, later: StepIndex) -> bool {
        let at = |step: StepIndex| self.position.get(step.position()).copied().unwrap_or_default();
        let (goal, start) = (at(earlier), at(later));
        let mut open = vec![start];
        let mut seen = BTreeSet::new();
        while let Some(here) = open.pop() {
            let chain = self.chain_start.get(here).copied().unwrap_or(here);
            if here != start && (chain..=here).contains(&goal)
                || here == start && (chain..here).contains(&goal)
            {
                return true;
            }
            // Dependencies come earlier in the plan: behind the goal there is nothing to find.
            if chain <= goal || !seen.insert(chain) {
                continue;
            }
            let first = self.plan.order.get(chain).copied();
            open.extend(
                first.into_iter().flat_map(|step| self.plan.dependencies(step)).map(|step| at(*step)),
            );
        }
        false
    }
}
