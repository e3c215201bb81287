//! Checks the calls of a step against the contracts of what is called.

use std::collections::BTreeSet;
use std::sync::Arc;

use hence_canon::{JsonPointer, Value, did_you_mean};

use crate::capability::Registry;
use crate::mapping::{KnownInput, ProducedField};
use crate::skill::{Fields, Findings, Flow, Foreach, Need, Rule, ScatterMerge, Skill, Step, TypeName, Uses};

/// The inputs and outputs of a callee.
struct Contract {
    inputs: Fields,
    outputs: BTreeSet<Arc<str>>,
    takes_only_declared: bool,
    gives_only_declared: bool,
}

/// The names that the callees of a step take or give, together.
struct Declared {
    names: BTreeSet<Arc<str>>,
    /// Whether no callee takes or gives more.
    is_complete: bool,
}

pub(super) fn report(step: &Step, registry: &dyn Registry, place: &JsonPointer, findings: &mut Findings) {
    let mut contracts = Vec::new();
    let mut are_known = true;
    for (at, uses) in callees(step, place) {
        match contract(uses, registry) {
            Some(contract) => {
                report_inputs(step, &contract.inputs, &at, place, findings);
                if let Uses::Capability(id) = uses {
                    report_mismatches(step, (id, &contract.inputs), registry, place, findings);
                }
                contracts.push(contract);
            }
            None => {
                are_known = false;
                report_unknown(uses, registry, at, findings);
            }
        }
    }
    let Ok(mapping) = &step.input else { return };
    let known = mapping.known();
    report_item_texts(step, &known, place, findings);
    if !are_known || contracts.is_empty() {
        return;
    }
    let taken = Declared {
        names: contracts.iter().flat_map(|one| one.inputs.iter().map(|(name, _)| name.clone())).collect(),
        is_complete: contracts.iter().all(|one| one.takes_only_declared),
    };
    report_unknown_inputs(step, &known, &taken, place, findings);
    let given = Declared {
        names: contracts.iter().flat_map(|one| one.outputs.iter().cloned()).collect(),
        is_complete: contracts.iter().all(|one| one.gives_only_declared),
    };
    report_unknown_outputs(step, &given, place, findings);
}

/// Returns everything that a step may call, with its place.
fn callees<'a>(step: &'a Step, place: &JsonPointer) -> Vec<(JsonPointer, &'a Uses)> {
    let config = place.child("config");
    match (&step.control.flow, &step.control.router) {
        (Flow::Scatter(scatter), _) => {
            let place = config.child("scatter").child("capabilities");
            scatter.branches.iter().enumerate().map(|(at, uses)| (place.child(at), uses)).collect()
        }
        (_, Some(router)) => {
            let place = config.child("router");
            let cases = router.cases.iter().map(|(key, uses)| (place.child("cases").child(key), uses));
            cases.chain(router.default.iter().map(|uses| (place.child("default"), uses))).collect()
        }
        _ => vec![(place.child("uses"), &step.uses)],
    }
}

fn contract(uses: &Uses, registry: &dyn Registry) -> Option<Contract> {
    Some(match uses {
        Uses::Capability(id) => {
            let spec = registry.capability(id)?;
            Contract {
                inputs: spec.inputs.clone(),
                outputs: spec.outputs.iter().map(|(name, _)| name.clone()).collect(),
                takes_only_declared: spec.takes_only_declared,
                gives_only_declared: spec.gives_only_declared,
            }
        }
        Uses::Skill(id) => {
            let skill = registry.skill(id)?;
            let wired = registry.wired_targets(&skill);
            Contract {
                inputs: skill.inputs.clone(),
                outputs: outputs(&skill, wired),
                takes_only_declared: true,
                gives_only_declared: true,
            }
        }
    })
}

/// Returns the outputs of a skill: those it declares, everything else that its steps write there, and its answer.
fn outputs(skill: &Skill, wired: BTreeSet<Arc<str>>) -> BTreeSet<Arc<str>> {
    let written = skill.steps.iter().flat_map(super::targets).map(|target| target.text().clone());
    let written = written.chain(wired).filter_map(|target| {
        // The answer that completes a skill is part of its result.
        let answer = (&*target == "vars.Final").then_some("Final");
        target.strip_prefix("outputs.").or(answer).map(Arc::from)
    });
    skill.outputs.iter().map(|(name, _)| name.clone()).chain(written).collect()
}

fn report_unknown(uses: &Uses, registry: &dyn Registry, at: JsonPointer, findings: &mut Findings) {
    let text = uses.to_string();
    // A step that names nothing has its finding already.
    if text.is_empty() {
        return;
    }
    let known = registry.callees();
    let meant = did_you_mean(&text, known.iter().take(super::COMPARED_NAMES_MAX).map(|id| &**id));
    let message = match uses {
        Uses::Capability(id) if meant.is_empty() => {
            format!("no capability `{id}` is built in, or declared in a file that `capabilities` names")
        }
        Uses::Capability(id) => format!("no capability `{id}`{meant}"),
        Uses::Skill(id) => format!("no skill `{id}`{meant}"),
    };
    findings.add(Rule::UnknownCapability, at, message);
}

/// Reports required inputs that are not given and fixed values of the wrong type.
fn report_inputs(
    step: &Step,
    inputs: &Fields,
    uses: &JsonPointer,
    place: &JsonPointer,
    findings: &mut Findings,
) {
    let Ok(mapping) = &step.input else { return };
    let looped = looped(step);
    for (name, field) in inputs {
        let given = mapping.member(name);
        let is_needed = field.need == Need::Required && field.default.is_none();
        if given.is_none() && is_needed && !looped.iter().any(|(looped, _)| *looped == name) {
            let message = format_args!("the required input `{name}` is not given");
            findings.add(Rule::Contract, uses.clone(), message);
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

/// Reports fixed values that a capability does not allow. Types have been looked at already.
fn report_mismatches(
    step: &Step,
    (id, inputs): (&Arc<str>, &Fields),
    registry: &dyn Registry,
    place: &JsonPointer,
    findings: &mut Findings,
) {
    let Ok(mapping) = &step.input else { return };
    let mut known = mapping.known();
    let fits = |name: &str, value: &Value| {
        let field = inputs.iter().find(|(known, _)| &**known == name);
        field.is_some_and(|(_, field)| TypeName::find(&field.kind).is_none_or(|kind| kind.admits(value)))
    };
    let fixed = known.fixed.iter().filter(|(name, value)| fits(name, value));
    known.fixed = fixed.map(|(name, value)| (name.clone(), value.clone())).collect();
    // What a loop adds takes the place of a member with the same name.
    for (name, _) in looped(step) {
        known.names.insert(name.clone());
        known.fixed = known.fixed.without(name);
        known.shape = known.shape.without(name);
    }
    for (pointer, message) in registry.input_mismatches(id, &known) {
        findings.add(Rule::Contract, place.child("input").join(&pointer), format_args!("`{id}`: {message}"));
    }
}

/// Returns the inputs that a loop adds, each with the member of the loop that names it.
fn looped(step: &Step) -> Vec<(&Arc<str>, &'static str)> {
    match &step.control.flow {
        Flow::Foreach(Foreach { item_name, index_name, .. }) => {
            [(item_name, "as")].into_iter().chain(index_name.iter().map(|name| (name, "index_as"))).collect()
        }
        _ => Vec::new(),
    }
}

fn report_unknown_inputs(
    step: &Step,
    known: &KnownInput,
    taken: &Declared,
    place: &JsonPointer,
    findings: &mut Findings,
) {
    for name in known.names.iter().filter(|name| !taken.names.contains(*name)) {
        report_undeclared(name, "input", taken, place.child("input").child(name), findings);
    }
    for (name, member) in looped(step) {
        if taken.is_complete && !taken.names.contains(name) {
            let message = format_args!(
                "what is called has no input `{name}` for the loop; `{member}` names one of its inputs: {}",
                listed(&taken.names)
            );
            findings.add(Rule::Contract, place.child("config").child("foreach").child(member), message);
        }
    }
}

/// Reports texts that are the name of a loop's item: they stand for themselves, not for the item.
fn report_item_texts(step: &Step, known: &KnownInput, place: &JsonPointer, findings: &mut Findings) {
    for (name, member) in looped(step) {
        let is_named = |text: &str| {
            text.strip_prefix(&**name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let texts = known.fixed.iter().filter(|(key, _)| *key != name);
        for (key, text) in texts.filter(|(_, value)| value.as_str().is_some_and(is_named)) {
            let message = format_args!(
                "{text} is a text here, not the item; each call gets the item as the input that `{member}` names: `{member}: {key}`"
            );
            findings.add(Rule::ItemText, place.child("input").child(key), message);
        }
    }
}

fn report_unknown_outputs(step: &Step, given: &Declared, place: &JsonPointer, findings: &mut Findings) {
    // What hints wire is not the skill's fault.
    let Some(mapping) = step.output.as_ref().ok().filter(|_| step.wired.is_none()) else { return };
    let collected = match &step.control.flow {
        Flow::Scatter(scatter) if scatter.merge == ScatterMerge::Collect => {
            let names = scatter.branches.iter().map(|branch| branch.to_string().into()).collect();
            Some(Declared { names, is_complete: true })
        }
        _ => None,
    };
    let declared = collected.as_ref().unwrap_or(given);
    for (field, _) in mapping.entries() {
        let ProducedField::Member(name) = field else { continue };
        // A path is walked from its first segment on; only a whole name may contain dots.
        let first = name.split('.').next().unwrap_or_default();
        if declared.names.contains(name) || declared.names.contains(first) {
            continue;
        }
        let at = place.child("output").child(name);
        if collected.is_some() {
            let message = format_args!(
                "`collect` gives one member for each branch, {}; `{name}` is none of them",
                listed(&declared.names)
            );
            findings.add(Rule::Contract, at, message);
        } else {
            report_undeclared(name, "output", declared, at, findings);
        }
    }
}

fn report_undeclared(name: &str, noun: &str, declared: &Declared, at: JsonPointer, findings: &mut Findings) {
    let first = name.split('.').next().unwrap_or_default();
    let meant = did_you_mean(first, declared.names.iter().map(|known| &**known));
    if declared.is_complete && declared.names.is_empty() {
        let message = format_args!("what is called has no {noun} `{name}`; it has none");
        findings.add(Rule::Contract, at, message);
    } else if declared.is_complete {
        let known = listed(&declared.names);
        let message = format_args!("what is called has no {noun} `{name}`; its {noun}s are {known}{meant}");
        findings.add(Rule::Contract, at, message);
    } else if !declared.names.is_empty() {
        let message = format_args!("what is called declares no {noun} `{name}`{meant}");
        findings.add(Rule::UndeclaredMember, at, message);
    }
}

fn listed(names: &BTreeSet<Arc<str>>) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}
