//! The capabilities that a skill may call.

use std::collections::BTreeSet;
use std::sync::Arc;

use hence_cognition::capability::{Confirmation, Gate, OnDenied};
use hence_cognition::skill::{Flow, Skill, Step, Uses};

use crate::host::{Effect, Host};

/// Returns whether running a skill may call anything but pure functions. Gates and nested skills are included.
pub fn reaches_out(skill: &Skill, host: &dyn Host) -> bool {
    let mut seen = BTreeSet::new();
    reaches(skill, host, &mut seen)
}

fn reaches(skill: &Skill, host: &dyn Host, seen: &mut BTreeSet<Arc<str>>) -> bool {
    skill.steps.iter().flat_map(uses).any(|uses| match uses {
        Uses::Capability(id) => {
            let gates = gates_of(&id, host);
            needs_person(&id, host)
                || gates.into_iter().chain([id]).any(|id| host.effect(&id) != Effect::Pure)
        }
        // Each nested skill is examined once.
        Uses::Skill(id) => {
            seen.insert(id.clone()) && host.skill(&id).is_none_or(|nested| reaches(&nested, host, seen))
        }
    })
}

/// Returns whether executing a step may change something outside the run: through the capability it uses, a case of its
/// router, a branch, a gate, or a step of a skill it nests.
pub fn may_act(step: &Step, host: &dyn Host) -> bool {
    step_acts(step, host, &mut BTreeSet::new())
}

fn step_acts(step: &Step, host: &dyn Host, seen: &mut BTreeSet<Arc<str>>) -> bool {
    uses(step).into_iter().any(|uses| match uses {
        Uses::Capability(id) => {
            gates_of(&id, host).into_iter().chain([id]).any(|id| host.effect(&id) == Effect::Acts)
        }
        // Each nested skill is examined once. One that does not exist is not called either.
        Uses::Skill(id) => {
            let nested = if seen.insert(id.clone()) { host.skill(&id) } else { None };
            nested.is_some_and(|nested| nested.steps.iter().any(|step| step_acts(step, host, seen)))
        }
    })
}

/// Returns every capability a step may call.
pub(crate) fn may_call(step: &Step) -> Vec<Arc<str>> {
    let capability = |uses: Uses| match uses {
        Uses::Capability(id) => Some(id),
        Uses::Skill(_) => None,
    };
    uses(step).into_iter().filter_map(capability).collect()
}

/// Returns every capability that the steps of a skill may call themselves; those of nested skills are not among them.
pub fn callees(skill: &Skill) -> BTreeSet<Arc<str>> {
    skill.steps.iter().flat_map(may_call).collect()
}

/// Returns every skill a step may nest.
pub(crate) fn nested_skills(step: &Step) -> Vec<Arc<str>> {
    let skill = |uses: Uses| match uses {
        Uses::Capability(_) => None,
        Uses::Skill(id) => Some(id),
    };
    uses(step).into_iter().filter_map(skill).collect()
}

/// Returns a skill and every skill that it may nest, at any depth, each once.
pub fn with_nested(skill: &Skill, host: &dyn Host) -> Vec<Arc<Skill>> {
    let (mut seen, mut found) = (BTreeSet::new(), vec![Arc::new(skill.clone())]);
    let mut open: Vec<Arc<str>> = skill.steps.iter().flat_map(nested_skills).collect();
    while let Some(id) = open.pop() {
        let nested = if seen.insert(id.clone()) { host.skill(&id) } else { None };
        open.extend(nested.iter().flat_map(|nested| nested.steps.iter().flat_map(nested_skills)));
        found.extend(nested);
    }
    found
}

/// Returns whether a person may be asked before a capability is called.
fn needs_person(id: &str, host: &dyn Host) -> bool {
    let safety = host.capability(id).map(|spec| spec.safety.clone()).unwrap_or_default();
    let by_gate = |gate: &Gate| gate.on_denied == OnDenied::RequireHuman;
    safety.confirmation == Confirmation::Needed || safety.before.iter().chain(&safety.after).any(by_gate)
}

/// Returns the gates around a capability that act.
pub fn acting_gates(id: &str, host: &dyn Host) -> Vec<Arc<str>> {
    gates_of(id, host).into_iter().filter(|gate| host.effect(gate) == Effect::Acts).collect()
}

/// Returns the gates around a capability.
pub(crate) fn gates_of(id: &str, host: &dyn Host) -> Vec<Arc<str>> {
    let safety = host.capability(id).map(|spec| spec.safety.clone()).unwrap_or_default();
    safety.before.into_iter().chain(safety.after).map(|gate| gate.capability).collect()
}

/// Returns whether a capability has gates that judge its output.
pub(crate) fn has_gates_after(id: &str, host: &dyn Host) -> bool {
    host.capability(id).is_some_and(|spec| !spec.safety.after.is_empty())
}

fn uses(step: &Step) -> Vec<Uses> {
    let mut all = vec![step.uses.clone()];
    if let Some(router) = &step.control.router {
        all.extend(router.cases.iter().map(|(_, uses)| uses.clone()));
        all.extend(router.default.clone());
    }
    if let Flow::Scatter(scatter) = &step.control.flow {
        all.extend(scatter.branches.iter().cloned());
    }
    all
}
