//! A skill that may run.

use crate::capability::Registry;
use crate::plan::Plan;
use crate::skill::{Problem, Skill};

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
    /// Everything that keeps it from being planned. [`check`](crate::plan::check) finds more; a careful caller asks
    /// it first and runs nothing that has findings.
    pub fn of(skill: &Skill, registry: &dyn Registry) -> Result<Self, Vec<Problem>> {
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
