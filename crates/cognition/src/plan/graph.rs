//! The graph of dependencies.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use hence_canon::did_you_mean;

use crate::plan::{Plan, StepIndex};
use crate::skill::{DependsOn, Findings, Rule, Skill};

/// The most ids that a misspelt one is compared with.
const COMPARED_IDS_MAX: usize = 1_000;

/// Returns what each step depends on, each dependency once, in declared order.
pub(super) fn dependencies(skill: &Skill, findings: &mut Findings) -> Vec<Vec<StepIndex>> {
    let by_id: BTreeMap<&Arc<str>, StepIndex> =
        skill.steps.iter().enumerate().map(|(position, step)| (&step.id, StepIndex::new(position))).collect();
    let mut all = Vec::with_capacity(skill.steps.len());
    for (position, step) in skill.steps.iter().enumerate() {
        let mut found = Vec::new();
        match &step.depends_on {
            DependsOn::Malformed => {
                let place = Skill::step_pointer(position).child("config").child("depends_on");
                findings.add(Rule::DependsOn, place, "depends_on is a list of step ids");
            }
            DependsOn::Previous => found.extend(position.checked_sub(1).map(StepIndex::new)),
            DependsOn::Steps(ids) => {
                for (index, id) in ids.iter().enumerate() {
                    match by_id.get(id) {
                        Some(dependency) => found.push(*dependency),
                        None => {
                            let place = Skill::step_pointer(position)
                                .child("config")
                                .child("depends_on")
                                .child(index);
                            let ids = by_id.keys().take(COMPARED_IDS_MAX).map(|id| &***id);
                            let message = format!("no step has the id `{id}`{}", did_you_mean(id, ids));
                            findings.add(Rule::UnknownDependency, place, message);
                        }
                    }
                }
                found.sort_unstable();
                found.dedup();
            }
        }
        all.push(found);
    }
    all
}

pub(super) fn dependents(dependencies: &[Vec<StepIndex>]) -> Vec<Vec<StepIndex>> {
    let mut dependents = vec![Vec::new(); dependencies.len()];
    for (position, list) in dependencies.iter().enumerate() {
        for dependency in list {
            if let Some(place) = dependents.get_mut(dependency.position()) {
                place.push(StepIndex::new(position));
            }
        }
    }
    dependents
}

/// Orders the steps that can be ordered; steps on or after a cycle are left out.
pub(super) fn order(dependencies: &[Vec<StepIndex>], dependents: &[Vec<StepIndex>]) -> Vec<StepIndex> {
    let mut open: Vec<usize> = dependencies.iter().map(Vec::len).collect();
    let free = open.iter().enumerate().filter(|(_, count)| **count == 0);
    let mut ready: VecDeque<StepIndex> = free.map(|(position, _)| StepIndex::new(position)).collect();
    let mut order = Vec::with_capacity(dependencies.len());
    while let Some(step) = ready.pop_front() {
        order.push(step);
        for dependent in dependents.get(step.position()).into_iter().flatten() {
            if let Some(count) = open.get_mut(dependent.position()) {
                *count -= 1;
                if *count == 0 {
                    ready.push_back(*dependent);
                }
            }
        }
    }
    order
}

/// Reports each cycle once, and every step that waits for one.
pub(super) fn report_cycles(
    skill: &Skill,
    dependencies: &[Vec<StepIndex>],
    order: &[StepIndex],
    findings: &mut Findings,
) {
    let mut stuck = vec![true; dependencies.len()];
    for step in order {
        if let Some(place) = stuck.get_mut(step.position()) {
            *place = false;
        }
    }
    let is_stuck = |step: &StepIndex| stuck.get(step.position()).copied().unwrap_or(false);
    let next = |step: StepIndex| {
        dependencies.get(step.position()).and_then(|list| list.iter().copied().find(is_stuck))
    };
    // Every stuck step has a stuck dependency, so following them always ends in a cycle. A step is walked once.
    let mut walk_of: Vec<Option<usize>> = vec![None; dependencies.len()];
    let mut on_cycle = vec![false; dependencies.len()];
    for start in (0..dependencies.len()).map(StepIndex::new).filter(is_stuck) {
        let mut path = Vec::new();
        let mut step = Some(start);
        while let Some(current) = step.filter(|step| walk_of.get(step.position()) == Some(&None)) {
            if let Some(place) = walk_of.get_mut(current.position()) {
                *place = Some(start.position());
            }
            path.push(current);
            step = next(current);
        }
        let Some(met) = step.filter(|step| walk_of.get(step.position()) == Some(&Some(start.position())))
        else {
            continue;
        };
        let cycle: Vec<StepIndex> = path.into_iter().skip_while(|step| *step != met).collect();
        report_cycle(skill, &cycle, findings);
        for step in cycle {
            if let Some(place) = on_cycle.get_mut(step.position()) {
                *place = true;
            }
        }
    }
    for step in (0..dependencies.len()).map(StepIndex::new).filter(is_stuck) {
        if on_cycle.get(step.position()) == Some(&false) {
            let message = format_args!("`{}` waits for steps that wait for each other", id(skill, step));
            findings.add(Rule::Unreachable, Skill::step_pointer(step.position()), message);
        }
    }
}

fn report_cycle(skill: &Skill, cycle: &[StepIndex], findings: &mut Findings) {
    let Some(first) = cycle.first() else { return };
    let names: Vec<&str> = cycle.iter().chain([first]).map(|step| id(skill, *step)).collect();
    let message = format_args!("steps wait for each other: {}", names.join(" → "));
    findings.add(Rule::Cycle, Skill::step_pointer(first.position()), message);
}

pub(super) fn id(skill: &Skill, step: StepIndex) -> &str {
    skill.steps.get(step.position()).map_or("", |step| &step.id)
}

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
            // Dependencies come earlier in the plan, so steps before the goal need no look.
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
