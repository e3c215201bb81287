//! AcquireEvidence: reads evidence from the problem.
//!
//! In the strict profile each execution returns the next batch of `inputs.context.evidence` (`settings.evidence_batch`
//! items, all by default), so that a loop around it can meet a stop condition; the output is the list of these items.
//! Where the steps work the problem out, each item has an id and the tasks it supports.
//! In the compat profile each execution returns all evidence, together with counters.

use hence_canon::Value;
use hence_state::{EvidenceRule, ProblemSpec, Profile, StepError, StepsRule};

use crate::step::{InputUnavailable, Step, View, object};
use crate::work;

pub(super) struct AcquireEvidence;

impl Step for AcquireEvidence {
    fn name(&self) -> &'static str {
        "AcquireEvidence"
    }

    fn artifact_key(&self) -> &'static str {
        "evidence"
    }

    fn input(&self, view: &View<'_>) -> Result<Value, InputUnavailable> {
        let problem = view.problem()?;
        let taken = match view.profile().evidence {
            EvidenceRule::Whole => problem.evidence(),
            EvidenceRule::Batches => next_batch(view, problem),
        };
        let taken = ("evidence", taken.iter().cloned().collect());
        if !view.is_worked() {
            return Ok(object([taken]));
        }
        Ok(object([taken, ("tasks", view.artifact_member("decomposition", "tasks")?)]))
    }

    fn input_from_output(&self, profile: &Profile, output: &Value) -> Option<Value> {
        // Items that were worked over do not show how they came.
        if profile.steps == StepsRule::Worked {
            return None;
        }
        let items = output.get("evidence").or_else(|| output.as_array().map(|_| output))?;
        Some(object([("evidence", items.clone())]))
    }

    fn run(&self, view: &View<'_>, input: &Value) -> Result<Value, Vec<StepError>> {
        let evidence = input.get("evidence").cloned().unwrap_or_default();
        if view.is_worked() {
            let list = |key: &str| input.get(key).and_then(Value::as_array).unwrap_or_default();
            return Ok(work::items(list("evidence"), list("tasks"), view.items("evidence")).into());
        }
        if view.profile().evidence == EvidenceRule::Batches {
            return Ok(evidence);
        }
        let required = view.problem().map_err(InputUnavailable::into_errors)?.settings().evidence_required;
        let count = evidence.as_array().map_or(0, <[Value]>::len);
        Ok(object([
            ("evidence", evidence),
            ("evidence_required", required.into()),
            ("evidence_count", count.into()),
        ]))
    }

    fn check_reply(&self, view: &View<'_>, _: &str, reply: &Value) -> Result<Value, String> {
        let check = || -> Result<_, InputUnavailable> {
            let tasks = view.artifact_list("decomposition", "tasks")?;
            Ok((next_batch(view, view.problem()?), tasks, view.all_items("evidence")?))
        };
        let (own, tasks, acquired) = check().map_err(|error| error.to_string())?;
        work::check_items(reply, own, &tasks, &acquired).map(Value::from)
    }
}

/// Returns the items of the problem after those that were acquired.
fn next_batch<'a>(view: &View<'a>, problem: &'a ProblemSpec) -> &'a [Value] {
    let from = usize::try_from(view.items("evidence")).unwrap_or(usize::MAX);
    let rest = problem.evidence().get(from..).unwrap_or_default();
    let batch = problem
        .settings()
        .evidence_batch
        .map_or(usize::MAX, |batch| usize::try_from(batch.get()).unwrap_or(usize::MAX));
    rest.get(..batch.min(rest.len())).unwrap_or_default()
}
