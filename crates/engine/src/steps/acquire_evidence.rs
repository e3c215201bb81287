//! AcquireEvidence: reads evidence from the problem.
//!
//! In the strict profile each execution returns the next batch of `inputs.context.evidence` (`settings.evidence_batch`
//! items, all by default), so that a loop around it can meet a stop condition; the output is the list of these items.
//! In the compat profile each execution returns all evidence, together with counters.

use hence_canon::Value;
use hence_state::{EvidenceRule, StepError};

use crate::step::{InputUnavailable, Step, View, object};

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
            EvidenceRule::Batches => {
                let from = usize::try_from(view.items("evidence")).unwrap_or(usize::MAX);
                let rest = problem.evidence().get(from..).unwrap_or_default();
                let batch = problem
                    .settings()
                    .evidence_batch
                    .map_or(usize::MAX, |batch| usize::try_from(batch.get()).unwrap_or(usize::MAX));
                rest.get(..batch.min(rest.len())).unwrap_or_default()
            }
        };
        Ok(object([("evidence", taken.iter().cloned().collect())]))
    }

    fn input_from_output(&self, output: &Value) -> Option<Value> {
        let items = output.get("evidence").or_else(|| output.as_array().map(|_| output))?;
        Some(object([("evidence", items.clone())]))
    }

    fn run(&self, view: &View<'_>, input: &Value) -> Result<Value, Vec<StepError>> {
        let evidence = input.get("evidence").cloned().unwrap_or_default();
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
}
