//! Plans: in which order the steps of a skill take effect, and what each must wait for.

mod check;
mod graph;
mod writers;

pub use check::{check, check_unplanned};

use hence_canon::JsonPointer;

use crate::mapping::InvalidOutputMapping;
use crate::skill::{Findings, Rule, Skill, SkillFinding, rule_of_target};
pub(crate) use writers::{Writers, references};

/// The position of a step among the declared steps, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StepIndex(u32);

impl StepIndex {
    pub(crate) fn new(position: usize) -> Self {
        Self(u32::try_from(position).expect("a skill has at most STEPS_MAX steps"))
    }

    /// Returns the position among the declared steps.
    pub fn position(self) -> usize {
        self.0 as usize
    }
}

/// The order in which steps take effect, and their dependencies.
///
/// The order is first come, first served: steps that wait for nothing in declared order, then each step as soon as
/// the last step it depends on has taken effect. Results are committed in this order whatever the timing, so a
/// run means the same with one worker and with many.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    order: Vec<StepIndex>,
    dependencies: Vec<Vec<StepIndex>>,
    dependents: Vec<Vec<StepIndex>>,
    reads_from: Vec<Vec<StepIndex>>,
}

impl Plan {
    /// Orders the steps of a skill in time linear in steps and dependencies.
    ///
    /// # Errors
    /// A skill without steps, targets outside the writable namespaces, dependencies on unknown steps, and cycles:
    /// all of them.
    pub fn of(skill: &Skill) -> Result<Self, Vec<SkillFinding>> {
        let mut findings = Findings::default();
        report_unplannable(skill, &mut findings);
        let dependencies = graph::dependencies(skill, &mut findings);
        let dependents = graph::dependents(&dependencies);
        let order = graph::order(&dependencies, &dependents);
        if order.len() < skill.steps.len() {
            graph::report_cycles(skill, &dependencies, &order, &mut findings);
        }
        let findings = findings.into_vec();
        if !findings.is_empty() {
            return Err(findings);
        }
        let reads_from = Writers::of(skill, &order).reads_from(skill, &order);
        Ok(Self { order, dependencies, dependents, reads_from })
    }

    /// Returns the steps in declared order, without dependencies, for checks of a skill that has no plan.
    fn unordered(skill: &Skill) -> Self {
        let none = vec![Vec::new(); skill.steps.len()];
        let order = (0..skill.steps.len()).map(StepIndex::new).collect();
        Self { order, dependencies: none.clone(), dependents: none.clone(), reads_from: none }
    }

    /// Returns the steps in the order in which they take effect.
    pub fn order(&self) -> &[StepIndex] {
        &self.order
    }

    /// Returns the place at which a declared step takes effect, from 0.
    pub fn place_of(&self, declared: usize) -> Option<usize> {
        self.order.iter().position(|step| step.position() == declared)
    }

    /// Returns the steps that `step` depends on.
    pub fn dependencies(&self, step: StepIndex) -> &[StepIndex] {
        self.dependencies.get(step.position()).map_or(&[], Vec::as_slice)
    }

    /// Returns the steps that depend on `step`.
    pub fn dependents(&self, step: StepIndex) -> &[StepIndex] {
        self.dependents.get(step.position()).map_or(&[], Vec::as_slice)
    }

    /// Returns the earlier steps whose declared writes `step` reads.
    ///
    /// A step may start as soon as these and its dependencies are committed: it then sees exactly what it would
    /// see if all steps ran one after another in plan order.
    pub fn reads_from(&self, step: StepIndex) -> &[StepIndex] {
        self.reads_from.get(step.position()).map_or(&[], Vec::as_slice)
    }
}

fn report_unplannable(skill: &Skill, findings: &mut Findings) {
    if skill.steps.is_empty() {
        findings.add(Rule::NoSteps, JsonPointer::root().child("steps"), "a skill has at least one step");
    }
    for (position, step) in skill.steps.iter().enumerate() {
        if let Err(InvalidOutputMapping::Target { field, source }) = &step.output
            && rule_of_target(source) == Rule::TargetNamespace
            // What a capability's hints name is not the skill's fault; it fails where it is written.
            && step.wired.is_none()
        {
            let place = Skill::step_pointer(position).child("output").child(field);
            findings.add(Rule::TargetNamespace, place, source);
        }
    }
}

#[cfg(test)]
mod tests;
