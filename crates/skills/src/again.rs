//! Executes a recorded step again with the replies that its record holds.
//!
//! A replay calls nothing outside. What a step got from outside is read from its record; everything that follows from
//! that and from the skill is computed again, so that a record in which it was changed differs from its replay.

mod replies;

use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_cognition::failure::{ErrorClass, Failure};
use hence_cognition::run::{
    Context, NESTED_ERRORS_KEY, NESTED_RUNS_KEY, PATH_PARTS, StepOutcome, blank, execute,
};
use hence_cognition::skill::{Flow, Step};
use hence_cognition::state::{Memory, StepStatus};

use self::replies::Replies;
use crate::budget::USAGE_KEY;
use crate::child::Family;
use crate::host::{Effect, Host};
use crate::reach::{gates_of, has_gates_after, may_call, nested_skills};

/// The member of `meta` that counts the attempts of all items.
const ATTEMPTS_KEY: &str = "foreach_total_attempts";

/// The member of `meta` that says what the calls of a step cost.
const COST_KEY: &str = "cost";

/// The message of a failure that no record tells.
const UNKNOWN_CAUSE: &str = "the record holds no reply";

/// A recorded step that is executed again.
pub(crate) struct Again<'a> {
    pub(crate) host: &'a dyn Host,
    pub(crate) step: &'a Step,
    pub(crate) recorded: &'a StepOutcome,
    pub(crate) family: &'a Family,
    /// Whether another run executed the step and this one shares its result.
    pub(crate) is_carried: bool,
}

impl Again<'_> {
    /// Returns the outcome that follows from the skill, the memory and the recorded replies. `context` gives the step its
    /// surroundings, all but the calls.
    pub(crate) fn execute<'c>(
        &'c self,
        memory: &Memory,
        context: impl for<'x> FnOnce(&'x mut Replies<'c>) -> Context<'x>,
    ) -> StepOutcome {
        if self.is_read_whole() {
            let declared = blank(self.step);
            return StepOutcome {
                uses: declared.uses,
                reads: declared.reads,
                control_reads: declared.control_reads,
                wired: declared.wired,
                ..self.recorded.clone()
            };
        }
        let mut replies = Replies::new(self);
        let again = match execute(self.step, memory, &mut context(&mut replies)) {
            Ok(again) => again,
            // No reply of a record waits.
            Err(_) => StepOutcome {
                status: StepStatus::Failed,
                failure: Some(Failure::new(ErrorClass::Runtime, UNKNOWN_CAUSE)),
                ..blank(self.step)
            },
        };
        self.believe(again, &replies)
    }

    /// Takes over from the record what no other part of it tells: sums of the reports of single calls.
    fn believe(&self, mut again: StepOutcome, replies: &Replies<'_>) -> StepOutcome {
        let recorded = self.recorded;
        let mut meta = again.meta.without(USAGE_KEY);
        let mut believed = vec![USAGE_KEY];
        if replies.has_unknown_reports || replies.has_nested {
            let mut of_record = recorded.metrics;
            for ((_, sum), (name, of_record)) in
                again.metrics.counters().into_iter().zip(of_record.counters())
            {
                // A sum is no less than the part of it that is known. Steps and time are never reported.
                if *of_record >= *sum && !["step_count", "elapsed_ms"].contains(&name) {
                    *sum = *of_record;
                }
            }
            believed.push(COST_KEY);
            if replies.has_nested {
                believed.push(NESTED_ERRORS_KEY);
            }
            let attempts = |meta: &Object| meta.get(ATTEMPTS_KEY).and_then(Value::as_u64);
            let is_sum = replies.has_unknown_reports && attempts(&meta).is_some();
            if is_sum && attempts(&recorded.meta) >= attempts(&meta) {
                believed.push(ATTEMPTS_KEY);
            }
        }
        for key in believed {
            meta = match recorded.meta.get(key) {
                Some(value) => meta.with(key, value.clone()),
                None => meta.without(key),
            };
        }
        again.meta = meta;
        if let Some(retry) = self.step.control.retry.as_ref().filter(|_| self.hides_calls()) {
            for (id, times) in &mut again.called {
                let most = times.saturating_mul(retry.max_attempts);
                *times = recorded
                    .called
                    .get(id)
                    .copied()
                    .filter(|of| (*times..=most).contains(of))
                    .unwrap_or(*times);
            }
        }
        let path = self.path();
        for (call, of_record) in again.calls.iter_mut().zip(&recorded.calls) {
            call.key = format!("{path}{}", call.key).into();
            // Records of earlier versions say only in `meta` how often a call was begun.
            call.begun = if of_record.begun == 0 { 0 } else { call.begun };
            if self.has_foreign_keys() {
                call.idempotency_key = of_record.idempotency_key.clone();
            }
        }
        again
    }

    /// Returns whether the idempotency keys are those of another run: of the one that executed the step, or of the
    /// outermost one.
    fn has_foreign_keys(&self) -> bool {
        self.is_carried || self.family.pinned.links.parent.is_some()
    }

    /// Returns the beginning of the keys of all calls of a nested run: the calls of the runs around it, which only its
    /// own records name.
    fn path(&self) -> String {
        let depth = usize::try_from(self.family.pinned.links.depth()).unwrap_or(0);
        let first = self.recorded.calls.first().filter(|_| depth > 0);
        let parts = first.into_iter().flat_map(|call| call.key.split('/'));
        parts.take(depth.saturating_mul(PATH_PARTS)).map(|part| format!("{part}/")).collect()
    }

    /// Returns whether the calls do not follow from the record, so that nothing but the declaration is compared.
    fn is_read_whole(&self) -> bool {
        let Self { step, recorded, host, .. } = self;
        // Policies stopped the step between two calls: it has no outcome of its own yet.
        if recorded.held_call().is_some() {
            return true;
        }
        let chain = || recorded.failure.iter().flat_map(Failure::chain);
        if chain().any(|cause| cause.class == ErrorClass::LineageTimeout) {
            return true;
        }
        let is_once = matches!(step.control.flow, Flow::Once);
        let has_retry = step.control.retry.is_some();
        if !nested_skills(step).is_empty() && has_retry {
            return true;
        }
        let is_merged = matches!(step.control.flow, Flow::Foreach(_) | Flow::Scatter(_));
        let after = || may_call(step).iter().any(|id| has_gates_after(id, *host));
        if is_merged && !recorded.lists_calls() && recorded.status == StepStatus::Completed && after() {
            return true;
        }
        let is_of_gate = |class: &ErrorClass| class.is_safety() || *class == ErrorClass::GateExecution;
        let is_bare =
            |failure: &Failure| failure.class == ErrorClass::CapabilityExecution && failure.cause.is_none();
        let ended_strangely = match recorded.status {
            StepStatus::Degraded => true,
            StepStatus::Failed => {
                !is_once
                    || has_retry
                    || recorded.failure.as_ref().is_some_and(is_bare)
                    || chain().any(|cause| is_of_gate(&cause.class))
            }
            StepStatus::Completed | StepStatus::Skipped => false,
        };
        self.hides_calls() && ended_strangely
    }

    /// Returns whether the step may make calls that no record lists and no replay repeats: of declared capabilities that
    /// say they are pure, and of nested skills.
    fn hides_calls(&self) -> bool {
        let ids = may_call(self.step);
        let gates = ids.iter().flat_map(|id| gates_of(id, self.host));
        let is_hidden = |id: &str| self.host.effect(id) == Effect::Pure && !self.host.is_recomputed(id);
        !nested_skills(self.step).is_empty() || ids.iter().cloned().chain(gates).any(|id| is_hidden(&id))
    }

    /// Describes what is read from the record, for a report.
    pub(crate) fn believed(&self) -> Vec<String> {
        let Self { step, recorded, host, .. } = self;
        if self.is_read_whole() {
            return vec!["results with calls that the record does not tell apart".to_owned()];
        }
        let ids = may_call(step);
        let gates = ids.iter().flat_map(|id| gates_of(id, *host));
        let asked: Vec<Arc<str>> =
            recorded.called.keys().filter(|id| !id.starts_with("skill:")).cloned().chain(gates).collect();
        let mut believed: Vec<String> = asked
            .iter()
            .filter(|id| !host.is_recomputed(id))
            .map(|id| format!("the replies of `{id}`"))
            .collect();
        if recorded.called.keys().any(|id| id.starts_with("skill:")) {
            believed.push("the results of nested runs, as far as they are not compared below".to_owned());
        }
        let has_gates = ids.iter().flat_map(|id| gates_of(id, *host)).any(|gate| !host.is_recomputed(&gate));
        if !recorded.lists_calls() && (has_gates || !matches!(step.control.flow, Flow::Once)) {
            believed.push("the sums of what several calls report (`metrics`, `cost`, attempts)".to_owned());
        }
        if recorded.lists_calls() && self.has_foreign_keys() {
            believed.push("the idempotency keys of calls that another run made or asked for".to_owned());
        }
        // Calls of gates and nested skills are counted there, and the record does not list them.
        let counts_hidden = has_gates || recorded.meta.contains_key(NESTED_RUNS_KEY);
        if recorded.meta.contains_key(USAGE_KEY) || counts_hidden {
            believed.push("what was used of limits (`usage`)".to_owned());
        }
        believed.sort();
        believed.dedup();
        believed
    }
}
