//! A skill that may run.

use crate::capability::{Registry, auto_wire};
use crate::mapping::OutputMapping;
use crate::plan::Plan;
use crate::skill::{Flow, Skill, SkillFinding, Step, Uses};

/// A skill with its capabilities' hints wired in, and its plan.
#[derive(Clone, Debug)]
pub struct Prepared {
    skill: Skill,
    plan: Plan,
}

impl Prepared {
    /// Wires and plans a skill.
    ///
    /// # Errors
    /// Every finding that prevents planning. [`check`](crate::plan::check) finds more; a careful caller asks
    /// it first and runs nothing that has findings.
    pub fn of(skill: &Skill, registry: &dyn Registry) -> Result<Self, Vec<SkillFinding>> {
        let skill = skill.wired(registry);
        let plan = Plan::of(&skill)?;
        Ok(Self { skill, plan })
    }

    /// Returns the wired skill.
    pub fn skill(&self) -> &Skill {
        &self.skill
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}

impl Skill {
    /// Returns this skill with the output mappings that the hints of capabilities describe.
    ///
    /// Wiring comes before planning, so that readers wait for what is written this way too.
    #[must_use]
    pub fn wired(&self, registry: &dyn Registry) -> Self {
        let types = registry.cognitive_types();
        let mut skill = self.clone();
        for step in skill.steps.iter_mut().filter(|step| may_be_wired(step)) {
            let Uses::Capability(id) = &step.uses else { continue };
            let mapping = registry.capability(id).and_then(|spec| auto_wire(&spec.hints, &types));
            if let Some(mapping) = mapping {
                step.output = OutputMapping::parse(&mapping.clone().into());
                step.wired = Some(mapping);
            }
        }
        skill
    }
}

/// A router or a scatter calls something else than `uses`; its hints would speak for the wrong capability.
fn may_be_wired(step: &Step) -> bool {
    step.wired.is_none()
        && step.output.as_ref().is_ok_and(OutputMapping::is_empty)
        && step.control.router.is_none()
        && !matches!(step.control.flow, Flow::Scatter(_))
}
