//! Steps that run a skill.

use std::sync::Arc;

use hence_canon::{Float, Value};

use super::capabilities::{key_part, nested_run_id};
use super::driver::run_in;
use super::invoke::{Caller, Invoked, Stop};
use super::{CallPlace, Context, NestedRun, RunRequest, SKILL_DEPTH_MAX};
use crate::failure::{ErrorClass, Failure};
use crate::state::{Frame, Names};

impl Caller<'_, '_> {
    /// Runs a skill below this one. It shares nothing with this run but options, trace and lineage.
    pub(super) fn nested(&mut self, id: &Arc<str>, input: &Value, attempt: u64) -> Result<Invoked, Stop> {
        self.may_nest(id)?;
        let Some(skill) = self.context.capabilities.skill(id) else {
            return Err(Failure::new(ErrorClass::SkillNotFound, format_args!("no skill `{id}`")).into());
        };
        self.tally.note_call(format!("skill:{id}").into());
        let lineage: Names = self.context.lineage.iter().chain([id]).cloned().collect();
        let parent = self.context.run_id.as_deref();
        let run_id = parent.map(|parent| nested_run_id(parent, &self.step.id, &self.place, attempt));
        let inputs = input.as_object().cloned().unwrap_or_default();
        let request = RunRequest {
            inputs: inputs.clone(),
            frame: Frame::default(),
            options: self.context.options.clone(),
            trace_id: self.context.trace_id.clone(),
            run_id: run_id.clone(),
            parent_run_id: self.context.run_id.clone(),
            intervention: None,
        };
        let CallPlace { path, iteration, item, .. } = &self.place;
        let (step, skill_id) = (key_part(&self.step.id), key_part(id));
        let path: Arc<str> = format!("{path}{step}/{iteration}.{item}/{skill_id}/{attempt}/").into();
        let report = run_in(&skill, &request, (lineage.clone(), path), self.context.capabilities);
        if let Some(waiting) = report.waiting {
            return Err(Stop::Waiting(waiting));
        }
        let ended = NestedRun {
            skill_id: id.clone(),
            depth: self.context.depth() + 1,
            parent_skill_id: self.context.skill_id.clone(),
            parent_run_id: self.context.run_id.clone(),
            lineage,
            status: report.state.status,
            run_id,
            step_id: self.step.id.clone(),
            inputs,
            outcomes: report.outcomes,
        };
        self.tally.nested.extend(self.context.capabilities.nested_run_ended(&ended));
        match report.failure {
            None => Ok(Invoked {
                output: report.state.memory.outputs().to_object(),
                meta: hence_canon::Object::new(),
            }),
            // A denial is a denial at every level.
            Some(failed) if failed.failure.class.is_safety() => Err(failed.failure.into()),
            Some(failed) => {
                let message = format_args!("skill `{id}`: {}", failed.failure);
                Err(Failure::new(ErrorClass::NestedSkillExecution, message).because(failed.failure).into())
            }
        }
    }

    fn may_nest(&mut self, id: &Arc<str>) -> Result<(), Failure> {
        if id.is_empty() {
            return Err(Failure::new(
                ErrorClass::NestedSkillExecution,
                "`skill:` is followed by the id of a skill",
            ));
        }
        let limit = self.context.options.max_skill_depth.min(SKILL_DEPTH_MAX);
        if depth_below(self.context) > limit {
            let message = format_args!("skills nest deeper than {limit}");
            return Err(Failure::new(ErrorClass::MaxSkillDepthExceeded, message));
        }
        let deadline = self.context.options.max_lineage_timeout_seconds.map(Float::get);
        let elapsed = self.context.capabilities.elapsed_seconds().get();
        match deadline.filter(|deadline| elapsed >= *deadline) {
            None => Ok(()),
            Some(deadline) => {
                let message = format_args!("the run has taken {elapsed} of {deadline} seconds");
                Err(Failure::new(ErrorClass::LineageTimeout, message))
            }
        }
    }
}

fn depth_below(context: &Context<'_>) -> u32 {
    context.depth().saturating_add(1)
}
