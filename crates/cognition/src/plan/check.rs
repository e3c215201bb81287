//! Checks a planned skill for steps that will fail or never run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hence_canon::JsonPointer;

use super::graph::Ancestry;
use super::writers::{Writers, targets, written_references};
use super::{Plan, StepIndex, graph};
use crate::capability::Registry;
use crate::mapping::MergeStrategy;
use crate::reference::{Namespace, OnMissing, Reference};
use crate::skill::{Findings, Flow, Need, Rule, Skill, SkillFinding, Step, TypeName, Uses};
use crate::state::{Frame, Memory, OutputField, Slot};

/// Reports what is wrong with a planned skill beyond its shape: references, targets, unreachable steps, unordered
/// writes, and, against `registry`, capabilities and their contracts.
pub fn check(skill: &Skill, plan: &Plan, registry: Option<&dyn Registry>) -> Vec<SkillFinding> {
    let mut findings = Findings::default();
    let writers = Writers::of(skill, plan.order());
    let ancestry = Ancestry::of(plan);
    for (position, index) in plan.order().iter().enumerate() {
        let Some(step) = skill.steps.get(index.position()) else { continue };
        let place = Skill::step_pointer(index.position());
        report_references(skill, (position, *index, step), &writers, &ancestry, &place, &mut findings);
        report_duplicate_targets(step, &place, &mut findings);
        report_never(step, &place, &mut findings);
        if let Some(registry) = registry {
            report_calls(step, registry, &place, &mut findings);
        }
    }
    report_parallel_writes(skill, &writers, &ancestry, &mut findings);
    report_unwritten_outputs(skill, registry, &mut findings);
    if let Some(registry) = registry {
        report_consumed(skill, registry, &mut findings);
    }
    findings.into_vec()
}

fn report_references(
    skill: &Skill,
    (position, index, step): (usize, StepIndex, &Step),
    writers: &Writers,
    ancestry: &Ancestry<'_>,
    place: &JsonPointer,
    findings: &mut Findings,
) {
    let input = step.input.iter().flat_map(|mapping| mapping.references().into_iter().cloned());
    for reference in input.filter(|reference| reference.namespace().on_missing() == OnMissing::Null) {
        if let Some(message) = impossible(skill, &reference) {
            findings.add(Rule::DanglingReference, place.child("input"), message);
        }
    }
    for reference in written_references(step).into_iter().collect::<BTreeSet<_>>() {
        if let Some(message) = impossible(skill, &reference) {
            findings.add(Rule::DanglingReference, place.clone(), message);
            continue;
        }
        let all = writers.of_reference(&reference);
        let before: Vec<_> = all.iter().filter(|(writer, _)| *writer < position).collect();
        if before.is_empty() {
            let strict = step.input.iter().any(|mapping| mapping.references().contains(&&reference));
            // A loop may read what it writes itself; a condition may ask for what is not there.
            let own = all.iter().any(|(_, writer)| *writer == index);
            if strict && !own && needs_writer(&reference) {
                let message = format_args!("no earlier step writes `{reference}`");
                findings.add(Rule::DanglingReference, place.child("input"), message);
            }
        } else if !before.iter().any(|(_, writer)| ancestry.is_before(*writer, index)) {
            let names: Vec<&str> = before.iter().map(|(_, writer)| graph::id(skill, *writer)).collect();
            let message = format_args!(
                "`{reference}` is written by {}, which this step does not depend on",
                names.join(", ")
            );
            findings.add(Rule::UnorderedRead, place.clone(), message);
        }
    }
}

/// Returns why a reference can never name anything.
fn impossible(skill: &Skill, reference: &Reference) -> Option<String> {
    let first = reference.path().split('.').next().unwrap_or_default();
    match reference.namespace() {
        Namespace::Inputs => {
            let declared = skill.inputs.iter().any(|(name, _)| {
                let path = reference.path();
                path == &**name || path.strip_prefix(&**name).is_some_and(|rest| rest.starts_with('.'))
            });
            (!declared && !skill.inputs.is_empty()).then(|| format!("`{reference}` is not a declared input"))
        }
        Namespace::Frame => {
            (!Frame::FIELDS.contains(&first)).then(|| format!("the frame has no field `{first}`"))
        }
        Namespace::Working => first.parse::<Slot>().err().map(|error| error.to_string()),
        Namespace::Output => first.parse::<OutputField>().err().map(|error| error.to_string()),
        Namespace::Vars | Namespace::Outputs | Namespace::Extensions => None,
    }
}

/// Returns whether a strict reference fails unless some step writes there.
fn needs_writer(reference: &Reference) -> bool {
    reference.namespace().on_missing() == OnMissing::Error
        // A slot as a whole is there from the start.
        && reference.find(&Memory::default()).is_none()
}

fn report_duplicate_targets(step: &Step, place: &JsonPointer, findings: &mut Findings) {
    if step.merge_strategy != Ok(MergeStrategy::Overwrite) {
        return;
    }
    let mut seen = BTreeSet::new();
    for target in targets(step) {
        if !seen.insert(target.text()) {
            let message = format_args!("`{target}` is written twice; say append, deep_merge or replace");
            findings.add(Rule::DuplicateTarget, place.child("output"), message);
        }
    }
}

/// Reports a condition that reads nothing and does not hold.
fn report_never(step: &Step, place: &JsonPointer, findings: &mut Findings) {
    let Some(Ok(condition)) = step.control.condition.as_ref().map(|formula| formula.expression()) else {
        return;
    };
    let constant = condition.references().is_empty();
    if constant && condition.is_true(&Memory::default()) == Ok(false) {
        let message = format_args!("the condition `{condition}` never holds");
        findings.add(Rule::Unreachable, place.child("config").child("condition"), message);
    }
}

fn report_calls(step: &Step, registry: &dyn Registry, place: &JsonPointer, findings: &mut Findings) {
    let config = place.child("config");
    let mut calls: Vec<(JsonPointer, &Uses)> = Vec::new();
    match (&step.control.flow, &step.control.router) {
        (Flow::Scatter(scatter), _) => {
            let place = config.child("scatter").child("capabilities");
            calls.extend(scatter.branches.iter().enumerate().map(|(at, uses)| (place.child(at), uses)));
        }
        (_, Some(router)) => {
            let place = config.child("router");
            calls.extend(router.cases.iter().map(|(key, uses)| (place.child("cases").child(key), uses)));
            calls.extend(router.default.iter().map(|uses| (place.child("default"), uses)));
        }
        _ => calls.push((place.child("uses"), &step.uses)),
    }
    for (at, uses) in calls {
        match uses {
            Uses::Capability(id) => match registry.capability(id) {
                Some(spec) => {
                    report_contract(step, &spec.inputs, &at, place, findings);
                    report_mismatches(step, (id, &spec.inputs), registry, place, findings);
                }
                None => findings.add(Rule::UnknownCapability, at, format_args!("no capability `{id}`")),
            },
            Uses::Skill(id) => match registry.skill(id) {
                Some(skill) => report_contract(step, &skill.inputs, &at, place, findings),
                None => findings.add(Rule::UnknownCapability, at, format_args!("no skill `{id}`")),
            },
        }
    }
}

/// Reports required inputs that are not given and fixed values of the wrong type.
fn report_contract(
    step: &Step,
    inputs: &crate::skill::Fields,
    uses: &JsonPointer,
    place: &JsonPointer,
    findings: &mut Findings,
) {
    let Ok(mapping) = &step.input else { return };
    let looped: BTreeSet<&Arc<str>> = match &step.control.flow {
        Flow::Foreach(foreach) => [&foreach.item_name].into_iter().chain(&foreach.index_name).collect(),
        _ => BTreeSet::new(),
    };
    for (name, field) in inputs {
        let given = mapping.member(name);
        if given.is_none()
            && field.need == Need::Required
            && field.default.is_none()
            && !looped.contains(name)
        {
            findings.add(
                Rule::Contract,
                uses.clone(),
                format_args!("the required input `{name}` is not given"),
            );
        }
        let fixed = given.and_then(|given| given.fixed());
        if let (Some(value), Some(kind)) = (fixed, TypeName::find(&field.kind))
            && !kind.admits(value)
        {
            let message = format_args!("`{name}` is {}, found {}", field.kind, value.kind());
            findings.add(Rule::Contract, place.child("input").child(name), message);
        }
    }
}

/// Reports fixed values that a capability's schema does not allow. Types have been looked at already.
fn report_mismatches(
    step: &Step,
    (id, inputs): (&Arc<str>, &crate::skill::Fields),
    registry: &dyn Registry,
    place: &JsonPointer,
    findings: &mut Findings,
) {
    let Ok(mapping) = &step.input else { return };
    let fixed = inputs.iter().filter_map(|(name, field)| {
        let value = mapping.member(name).and_then(|given| given.fixed())?;
        let fits = TypeName::find(&field.kind).is_none_or(|kind| kind.admits(value));
        fits.then(|| (name.clone(), value.clone()))
    });
    for (pointer, message) in registry.input_mismatches(id, &fixed.collect()) {
        findings.add(Rule::Contract, place.child("input").join(&pointer), format_args!("`{id}`: {message}"));
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
