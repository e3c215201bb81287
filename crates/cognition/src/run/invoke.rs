//! One call with everything around it: safety, contract, retries.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Object, Value};

use super::capabilities::PlannedCall;
use super::made::MadeCall;
use super::outcome::Note;
use super::{
    Call, CallError, CallPlace, CallPurpose, Context, EXCHANGE_KEY, Invocation, Reply, StepOutcome, Task,
    Waiting,
};
use crate::budget::{Costs, Usage};
use crate::capability::{CapabilitySpec, breach};
use crate::failure::{
    BUDGET_CUT_OFF, BUDGET_EXCEEDED, ErrorClass, Failure, HELD_BACK, INPUT_REFUSED, TIMED_OUT,
};
use crate::skill::{RETRY_ATTEMPTS_MAX, Retry, Step, Uses};
use crate::state::TraceMetrics;

/// Makes the calls of one step and collects counts and notes about them.
pub(super) struct Caller<'a, 'c> {
    pub(super) step: &'a Step,
    pub(super) context: &'a mut Context<'c>,
    pub(super) place: CallPlace,
    pub(super) stats: CallStats,
    /// The number of questions asked of a person.
    pub(super) questions: u64,
}

/// Counts and notes about the calls of a step.
#[derive(Default)]
pub(super) struct CallStats {
    pub(super) metrics: TraceMetrics,
    pub(super) notes: Vec<Note>,
    pub(super) called: BTreeMap<Arc<str>, u64>,
    /// The references to the runs that were nested.
    pub(super) nested: Vec<Value>,
    /// The failures inside nested skills that completed all the same.
    pub(super) nested_errors: Vec<Value>,
    /// The calls that are not pure, also those of nested runs.
    pub(super) made: Vec<MadeCall>,
    /// The exchanges with models, one for each call that had one.
    pub(super) exchanges: Vec<Value>,
    /// The sum of the costs that providers report.
    pub(super) cost: Costs,
}

impl CallStats {
    fn add(&mut self, other: Self) {
        self.metrics.add(other.metrics);
        self.notes.extend(other.notes);
        self.nested.extend(other.nested);
        self.nested_errors.extend(other.nested_errors);
        self.made.extend(other.made);
        self.exchanges.extend(other.exchanges);
        self.add_cost(other.cost);
        for (capability, times) in other.called {
            *self.called.entry(capability).or_default() += times;
        }
    }

    /// Adds what a provider reports about a call.
    pub(super) fn note_meta(&mut self, meta: &Object) {
        self.metrics.add(counted(meta));
        self.add_cost(Usage::of_meta(meta).cost);
    }

    /// Adds what a step of a nested run used.
    pub(super) fn add_outcome(&mut self, outcome: &StepOutcome) {
        self.metrics.add(outcome.metrics);
        self.add_cost(Usage::of_meta(&outcome.meta).cost);
    }

    fn add_cost(&mut self, cost: Costs) {
        let mut sum = Usage { cost: std::mem::take(&mut self.cost), ..Usage::default() };
        sum.add(&Usage { cost, ..Usage::default() });
        self.cost = sum.cost;
    }

    pub(super) fn note_call(&mut self, capability: Arc<str>) {
        *self.called.entry(capability).or_default() += 1;
    }
}

/// The reason a step stops.
pub(super) enum Stop {
    Failed(Failure),
    /// A gate denied, and the run continues without this step.
    Degraded(Arc<str>),
    /// Someone has to answer first.
    Waiting(Waiting),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// An output that is an object, and what was reported about it.
pub(super) struct CallOutput {
    pub(super) output: Object,
    pub(super) meta: Object,
}

/// The result of a task, with counts and notes about its calls.
pub(super) struct TaskResult {
    result: Result<CallOutput, Stop>,
    stats: CallStats,
}

impl<'a, 'c> Caller<'a, 'c> {
    pub(super) fn new(step: &'a Step, context: &'a mut Context<'c>) -> Self {
        let root = context.idempotency_root.as_ref().or(context.trace_id.as_ref());
        let trace = root.cloned().unwrap_or_default();
        let place = CallPlace { trace, path: context.path.clone(), ..CallPlace::default() };
        Self { step, context, place, stats: CallStats::default(), questions: 0 }
    }

    /// Calls a capability or a nested skill.
    pub(super) fn invoke(&mut self, uses: &Uses, input: &Value) -> Result<CallOutput, Stop> {
        match uses {
            Uses::Skill(id) => self.with_retries(|caller, attempt| caller.nested(id, input, attempt)),
            Uses::Capability(id) => {
                let Some(spec) = self.context.capabilities.capability(id) else {
                    let message = format_args!("no capability `{id}`");
                    return Err(Failure::new(ErrorClass::CapabilityNotFound, message).into());
                };
                self.admit(id, &spec.safety, input)?;
                self.ask(&spec.safety.before, input, CallPurpose::GateBefore)?;
                let output = self.with_retries(|caller, attempt| caller.call(id, &spec, input, attempt))?;
                self.ask(&spec.safety.after, &output.output.clone().into(), CallPurpose::GateAfter)?;
                Ok(output)
            }
        }
    }

    /// Makes calls that do not depend on each other, numbered from `first`, and returns their results.
    pub(super) fn invoke_side_by_side(
        &mut self,
        calls: Vec<(&Uses, Value)>,
        first: u64,
    ) -> Vec<Result<CallOutput, Stop>> {
        let attempts = self.step.control.retry.as_ref().map_or(1, |retry| retry.max_attempts);
        let planned = calls.iter().zip(first..).map(|((uses, input), item)| PlannedCall {
            uses: (*uses).clone(),
            step_id: self.step.id.clone(),
            place: CallPlace { item, ..self.place.clone() },
            input: input.clone(),
            attempts,
        });
        let planned: Vec<PlannedCall> = planned.collect();
        let tasks = calls.into_iter().zip(first..).map(|((uses, input), item)| self.task(uses, input, item));
        let tasks: Vec<Task<'_>> = tasks.collect();
        self.context.capabilities.expect_calls(planned);
        let done = self.context.capabilities.side_by_side(tasks);
        let results = done.into_iter().map(|Invocation(TaskResult { result, stats })| {
            self.stats.add(stats);
            result
        });
        results.collect()
    }

    fn task<'t>(&self, uses: &'t Uses, input: Value, item: u64) -> Task<'t>
    where
        'a: 't,
        'c: 't,
    {
        let (step, options) = (self.step, self.context.options);
        let (skill_id, lineage) = (self.context.skill_id.clone(), self.context.lineage.clone());
        let (run_id, trace_id) = (self.context.run_id.clone(), self.context.trace_id.clone());
        let idempotency_root = self.context.idempotency_root.clone();
        let shared = self.context.shared.clone();
        let place = CallPlace { item, ..self.place.clone() };
        Box::new(move |capabilities| {
            let path = place.path.clone();
            let mut context = Context {
                capabilities,
                options,
                skill_id,
                lineage,
                run_id,
                path,
                trace_id,
                idempotency_root,
                shared,
                made: Vec::new(),
            };
            let mut caller =
                Caller { step, context: &mut context, place, stats: CallStats::default(), questions: 0 };
            let result = caller.invoke(uses, &input);
            Invocation(TaskResult { result, stats: caller.stats })
        })
    }

    fn with_retries(
        &mut self,
        mut attempt: impl FnMut(&mut Self, u64) -> Result<CallOutput, Stop>,
    ) -> Result<CallOutput, Stop> {
        let retry = self.step.control.retry.as_ref();
        let mut number = 1;
        loop {
            let failure = match attempt(self, number) {
                Err(Stop::Failed(failure)) => failure,
                other => return other,
            };
            number += 1;
            // The limit holds also for a skill that runs in spite of its findings.
            let allowed = |retry: &&Retry| number <= retry.max_attempts.min(RETRY_ATTEMPTS_MAX);
            match retry.filter(allowed).filter(|retry| retry.applies_to(&failure)) {
                None => return Err(failure.into()),
                Some(retry) => {
                    let wait = retry.wait_before(number, &self.context.options.seed, &self.step.id);
                    self.context.capabilities.wait(wait);
                }
            }
        }
    }

    fn call(
        &mut self,
        id: &Arc<str>,
        spec: &CapabilitySpec,
        input: &Value,
        attempt: u64,
    ) -> Result<CallOutput, Stop> {
        let values = input.as_object().cloned().unwrap_or_default();
        if let Some(breach) = breach(&spec.inputs, &values) {
            return Err(Failure::new(ErrorClass::InputMapping, format_args!("`{id}`: {breach}")).into());
        }
        let call = Call {
            capability: id,
            input,
            purpose: CallPurpose::Step,
            skill_id: &self.context.skill_id.clone(),
            step_id: &self.step.id,
            place: &self.place,
            attempt,
            timeout_seconds: self.context.options.timeout_of(self.step),
        };
        let result = carry_out(self.context, &mut self.stats, &call);
        if !is_refused(&result) {
            self.stats.note_call(id.clone());
        }
        let Reply { output, meta } = match result {
            Ok(reply) => reply,
            Err(CallError::Waiting(message)) => return Err(waiting(&call, message)),
            Err(error) => return Err(failure(id, &error, &call.position(self.step)).into()),
        };
        self.stats.note_meta(&meta);
        match output {
            Value::Object(output) => Ok(CallOutput { output, meta }),
            other => {
                let message = format_args!("`{id}` gives an object, found {}", other.kind());
                Err(Failure::new(ErrorClass::CapabilityExecution, message).into())
            }
        }
    }
}

/// Carries out a call and notes it, unless it is pure.
pub(super) fn carry_out(
    context: &mut Context<'_>,
    stats: &mut CallStats,
    call: &Call<'_>,
) -> Result<Reply, CallError> {
    let reply = context.capabilities.call(call);
    let effect = context.capabilities.effect(call.capability);
    let made = MadeCall::of(call, effect, &reply);
    // The record of a step that policies stopped names the call they hold back.
    stats.made.extend(made.filter(|made| made.is_held() || !is_refused(&reply)));
    let exchange = match &reply {
        Ok(reply) => reply.meta.get(EXCHANGE_KEY).cloned(),
        Err(_) => context.capabilities.failed_exchange(call),
    };
    let Some(exchange) = exchange else { return reply };
    stats.exchanges.push(named_exchange(call, exchange));
    // The outcome of the step lists the exchanges of all of its calls.
    reply.map(|reply| Reply { meta: reply.meta.without(EXCHANGE_KEY), ..reply })
}

/// Returns an exchange with the call it belongs to, as records list it.
pub fn named_exchange(call: &Call<'_>, exchange: Value) -> Value {
    let members = [
        ("capability", Value::from(call.capability.clone())),
        ("iteration", call.place.iteration.into()),
        ("item", call.place.item.into()),
        ("attempt", call.attempt.into()),
        (EXCHANGE_KEY, exchange),
    ];
    Object::from_iter(members).into()
}

/// Returns whether a contract refused the input, or a limit or a policy the call: it is not passed on then, so nothing was
/// called.
fn is_refused(reply: &Result<Reply, CallError>) -> bool {
    let refusals = [INPUT_REFUSED, BUDGET_EXCEEDED, HELD_BACK];
    matches!(reply, Err(CallError::Failed { class, .. }) if refusals.contains(&&**class))
}

pub(super) fn waiting(call: &Call<'_>, message: Arc<str>) -> Stop {
    Stop::Waiting(Waiting { key: call.key().into(), capability: call.capability.clone(), message })
}

fn failure(id: &Arc<str>, error: &CallError, position: &str) -> Failure {
    match error {
        CallError::TimedOut(_) => {
            Failure::new(ErrorClass::StepTimeout, format_args!("`{id}`: {error}{position}"))
        }
        // Like any other time-out; the message has its position already.
        CallError::Failed { class, message } if **class == *TIMED_OUT => {
            Failure::new(ErrorClass::StepTimeout, format_args!("`{id}`: {message}"))
        }
        CallError::Waiting(message) => Failure::new(ErrorClass::CapabilityExecution, message),
        // A call whose recovery is to repeat it fails for its cause, and the step's retry rule decides.
        CallError::Undecided(call) => failure(id, &call.cause, position),
        CallError::Failed { class, message } if [BUDGET_EXCEEDED, BUDGET_CUT_OFF].contains(&&**class) => {
            Failure::new(ErrorClass::BudgetExceeded, message)
        }
        CallError::Failed { class, message } if **class == *HELD_BACK => {
            Failure::new(ErrorClass::PolicyViolation, message)
        }
        CallError::Failed { class, message } => {
            Failure::new(ErrorClass::CapabilityExecution, format_args!("`{id}`: {message}"))
                .because(Failure::new(ErrorClass::named(class), message))
        }
    }
}

/// Reads the counters a provider reports; anything but a count counts as nothing.
fn counted(meta: &Object) -> TraceMetrics {
    let count = |key: &str| meta.get(key).and_then(Value::as_u64).unwrap_or(0);
    TraceMetrics {
        step_count: 0,
        llm_calls: count("llm_calls"),
        tool_calls: count("tool_calls"),
        tokens_in: count("tokens_in"),
        tokens_out: count("tokens_out"),
        elapsed_ms: count("latency_ms"),
    }
}
