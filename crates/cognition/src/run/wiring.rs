//! Steps without an output mapping whose capability says where its output goes.

use crate::capability::{Registry, auto_wire};
use crate::mapping::OutputMapping;
use crate::skill::{Flow, Skill, Step, Uses};

impl Skill {
    /// Returns this skill with mappings where the hints of capabilities stand for one.
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
