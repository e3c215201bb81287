//! Checks a skill for steps that will fail or never run.

mod calls;
mod names;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hence_canon::JsonPointer;

use super::graph::Ancestry;
use super::writers::{Writers, targets};
use super::{Plan, StepIndex, graph};
use crate::capability::Registry;
use crate::mapping::MergeStrategy;
use crate::reference::MissingName;
use crate::skill::{Findings, Need, Rule, Skill, SkillFinding, Step, TypeName};
use crate::state::Memory;

/// The most names that a misspelt one is compared with, so that a document full of mistakes is still checked quickly.
const COMPARED_NAMES_MAX: usize = 1_000;

/// Whether the order of the steps is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Planned,
    /// The skill cannot be planned: nothing is said about what comes before what.
    Unknown,
}

/// The skill that is checked.
struct Checked<'a> {
    skill: &'a Skill,
    order: Order,
    writers: Writers,
    ancestry: Ancestry<'a>,
}

/// The step that is checked.
struct At<'a> {
    position: usize,
    index: StepIndex,
    step: &'a Step,
    place: JsonPointer,
}

/// Reports what is wrong with a planned skill beyond its shape: names, targets, unreachable steps, unordered writes,
/// and, against `registry`, capabilities and their contracts.
pub fn check(skill: &Skill, plan: &Plan, registry: Option<&dyn Registry>) -> Vec<SkillFinding> {
    check_ordered(skill, plan, Order::Planned, registry)
}

/// Reports what is wrong with a skill that cannot be planned, as far as that does not depend on the order of its steps.
pub fn check_unplanned(skill: &Skill, registry: Option<&dyn Registry>) -> Vec<SkillFinding> {
    check_ordered(skill, &Plan::unordered(skill), Order::Unknown, registry)
}

fn check_ordered(
    skill: &Skill,
    plan: &Plan,
    order: Order,
    registry: Option<&dyn Registry>,
) -> Vec<SkillFinding> {
    let mut findings = Findings::default();
    let checked =
        Checked { skill, order, writers: Writers::of(skill, plan.order()), ancestry: Ancestry::of(plan) };
    for (position, index) in plan.order().iter().enumerate() {
        let Some(step) = skill.steps.get(index.position()) else { continue };
        let at = At { position, index: *index, step, place: Skill::step_pointer(index.position()) };
        names::report(&checked, &at, &mut findings);
        report_duplicate_targets(step, &at.place, &mut findings);
        report_never(step, &at.place, &mut findings);
        if let Some(registry) = registry {
            calls::report(step, registry, &at.place, &mut findings);
        }
    }
    if order == Order::Planned {
        report_parallel_writes(skill, &checked.writers, &checked.ancestry, &mut findings);
    }
    report_defaults(skill, &mut findings);
    report_unwritten_outputs(skill, registry, &mut findings);
    if let Some(registry) = registry.filter(|_| order == Order::Planned) {
        report_consumed(skill, registry, &mut findings);
    }
    findings.into_vec()
}

fn report_duplicate_targets(step: &Step, place: &JsonPointer, findings: &mut Findings) {
    if step.merge_strategy != Ok(MergeStrategy::Overwrite) {
        return;
    }
    let mut seen = BTreeSet::new();
    for (field, target) in step.output.iter().flat_map(|mapping| mapping.entries()) {
        if !seen.insert(target.text()) {
            let message = format_args!("`{target}` is written twice; say append, deep_merge or replace");
            findings.add(Rule::DuplicateTarget, place.child("output").child(field), message);
        }
    }
}

/// Reports a condition that reads nothing and does not hold.
fn report_never(step: &Step, place: &JsonPointer, findings: &mut Findings) {
    let Some(Ok(condition)) = step.control.condition.as_ref().map(|formula| formula.expression()) else {
        return;
    };
    let constant = condition.references().is_empty();
    if constant && condition.is_true(&Memory::default(), MissingName::Null) == Ok(false) {
        let message = format_args!("the condition `{condition}` never holds");
        findings.add(Rule::Unreachable, place.child("config").child("condition"), message);
    }
}

fn report_parallel_writes(
    skill: &Skill,
    writers: &Writers,
    ancestry: &Ancestry<'_>,
    findings: &mut Findings,
) {
    let overwrites = |step: StepIndex| {
        skill
            .steps
            .get(step.position())
            .is_some_and(|step| step.merge_strategy == Ok(MergeStrategy::Overwrite))
    };
    let mut reported: BTreeMap<(StepIndex, StepIndex), ()> = BTreeMap::new();
    for (target, steps) in writers.shared() {
        for pair in steps.windows(2) {
            let [(_, one), (_, other)] = pair else { continue };
            let unordered = one != other && !ancestry.is_before(*one, *other);
            if unordered
                && (overwrites(*one) || overwrites(*other))
                && reported.insert((*one, *other), ()).is_none()
            {
                let message = format_args!(
                    "`{target}` is also written by `{}`, in no order; depend on it or say append, deep_merge or replace",
                    graph::id(skill, *one),
                );
                let place = Skill::step_pointer(other.position()).child("output");
                findings.add(Rule::ParallelWrite, place, message);
            }
        }
    }
}

/// Reports knowledge that is consumed before any step produces it, as the capabilities' hints have it.
fn report_consumed(skill: &Skill, registry: &dyn Registry, findings: &mut Findings) {
    let position: BTreeMap<&Arc<str>, usize> =
        skill.steps.iter().enumerate().map(|(position, step)| (&step.id, position)).collect();
    for early in skill.consumed_too_early(registry) {
        let place =
            Skill::step_pointer(position.get(&early.step_id).copied().unwrap_or_default()).child("uses");
        let message = format_args!("consumes {} before any step produces it", early.kind);
        findings.add(Rule::Consumes, place, message);
    }
}

/// Reports the defaults that are not of the type of their input: a run without that input is refused.
fn report_defaults(skill: &Skill, findings: &mut Findings) {
    for (name, field) in &skill.inputs {
        if let (Some(value), Some(kind)) = (&field.default, TypeName::find(&field.kind))
            && !kind.admits(value)
        {
            let place = JsonPointer::root().child("inputs").child(name).child("default");
            let (kind, found) = (&field.kind, value.kind());
            let message =
                format_args!("`{name}` is {kind}, its default is {found}: a run needs another value");
            findings.add(Rule::Default, place, message);
        }
    }
}

fn report_unwritten_outputs(skill: &Skill, registry: Option<&dyn Registry>, findings: &mut Findings) {
    // A step without a mapping may be wired by its capability; only the registry knows.
    if registry.is_none()
        && skill.steps.iter().any(|step| step.output.as_ref().is_ok_and(|output| output.is_empty()))
    {
        return;
    }
    let written: BTreeSet<String> = skill.steps.iter().flat_map(targets).map(ToString::to_string).collect();
    let wired: BTreeSet<Arc<str>> =
        registry.map_or_else(BTreeSet::new, |registry| registry.wired_targets(skill));
    for (name, field) in &skill.outputs {
        let target = format!("outputs.{name}");
        if field.need == Need::Required && !written.contains(&target) && !wired.contains(target.as_str()) {
            let place = JsonPointer::root().child("outputs").child(name);
            findings.add(Rule::UnwrittenOutput, place, format_args!("no step writes `{target}`"));
        }
    }
}
