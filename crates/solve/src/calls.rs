//! The sub-calls of a block: answered from records, by earlier equal calls, by models or by child runs.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hence_canon::{Canonical, Digest, Value};
use hence_cognition::budget::Most;
use hence_engine::{Meter, Run, Sink, Span};
use hence_journal::RecordIndex;

use crate::block::{CallRequest, CallSource};
use crate::conversation::Request;
use crate::limits::{Exhausted, Used};
use crate::ports::{CALL_ERROR, Halt, Models, NewChild, NoReply};
use crate::program::{Deferred, SolveProgram, append, measure_since, note_call};
use crate::record::{CALL_STEP, ChildLink, CodeError, Entry, Function, ModelReply, SubCall};
use crate::session::Interrupted;
use crate::spec::{ContextKind, ContextPin, ModelPin, ParentPin, Spec};

/// The exception that a block sees when a limit forbids a call.
const LIMIT_ERROR: &str = "PermissionError";

/// Answers calls by asking; each answer becomes a record before the block gets it.
pub(crate) struct LiveCalls<'r, 'g, 'a> {
    pub(crate) run: &'r mut Run<'g, SolveProgram<'a>>,
    pub(crate) models: &'r dyn Models,
    pub(crate) sink: &'r mut dyn Sink,
    /// The calls of the block that are recorded already: an earlier process died in the block.
    pub(crate) recorded: VecDeque<SubCall>,
}

/// The way in which one call of a window is answered.
enum Plan {
    /// By the answer of an equal call before the window.
    Known(RecordIndex, Value),
    /// By the answer of an equal call of the window, at this place.
    Same(usize),
    /// Not at all: a limit forbids it.
    Refused(Exhausted),
    /// By a model.
    Ask(Box<ModelPin>, Request),
    /// By a child run.
    Child(Box<NewChild>),
}

impl Plan {
    /// Returns whether a model or a child run is asked.
    fn leaves_the_run(&self) -> bool {
        matches!(self, Self::Ask(..) | Self::Child(_))
    }
}

/// The answer to one call.
struct Answered {
    answer: Result<Value, CodeError>,
    finish_reason: Option<Arc<str>>,
    answered_by: Option<Arc<str>>,
    used: Used,
    child: Option<ChildLink>,
    /// The measured time, where there are clocks.
    span: Option<Span>,
}

impl Answered {
    /// Makes an answer about which no endpoint stated anything.
    fn new(answer: Result<Value, CodeError>, used: Used) -> Self {
        Self { answer, finish_reason: None, answered_by: None, used, child: None, span: None }
    }
}

impl CallSource for LiveCalls<'_, '_, '_> {
    fn ask(&mut self, requests: &[CallRequest]) -> Result<Vec<Result<Value, CodeError>>, Interrupted> {
        let (mut answers, mut rest) = (Vec::with_capacity(requests.len()), requests);
        while let Some((first, more)) = rest.split_first()
            && let Some(call) = self.recorded.pop_front()
        {
            if !first.is_of(&call) {
                return Err(Interrupted::Diverged(
                    "a block makes another call than the recorded one".to_owned(),
                ));
            }
            answers.push(call.answer);
            rest = more;
        }
        let children = rest.iter().filter(|request| request.function == Function::Rlm).count();
        while !rest.is_empty() {
            let mut plans = self.admit(rest, children);
            let first = self.run.next_index();
            let (made, stopped) = perform(&plans, self.models, self.sink.meter(), first);
            // Children share limits by their number, so those of one batch are recorded together.
            let stopped = match stopped {
                Some(error) if children > 0 => return Err(error),
                stopped => stopped,
            };
            // Replies that came before the others were given up are paid for: they are recorded, as far as they follow each other.
            let is_done = |(plan, made): (&Plan, &Option<Answered>)| made.is_some() || !plan.leaves_the_run();
            let done = plans.iter().zip(&made).position(|both| !is_done(both)).unwrap_or(plans.len());
            plans.truncate(done);
            let (window, more) = rest.split_at_checked(done).unwrap_or((rest, &[]));
            answers.extend(self.append(window, plans, made, first)?);
            if let Some(error) = stopped {
                return Err(error);
            }
            if done == 0 {
                return Err(Interrupted::Diverged("a call has no answer".to_owned()));
            }
            rest = more;
        }
        Ok(answers)
    }

    fn halt(&self) -> Option<Halt> {
        self.models.halt()
    }
}

impl LiveCalls<'_, '_, '_> {
    /// Decides how the first of these calls are answered: as many as fit into the limits with the most they may use.
    ///
    /// A call that does not fit next to others waits until their real usage is known. So a limit forbids a call only by
    /// what the calls before it really used, however fast each of them was.
    fn admit(&self, requests: &[CallRequest], children: usize) -> Vec<Plan> {
        let progress = &self.run.program().progress;
        let (limits, mut used) = (progress.limits(), progress.used().clone());
        let (first, mut plans, mut known) = (self.run.next_index().get(), Vec::new(), BTreeMap::new());
        for (place, request) in requests.iter().enumerate() {
            let identity = identity(request);
            let index = first + place as u64;
            let (plan, most) = if let Some((record, value)) = progress.answered(&identity) {
                (Plan::Known(*record, value.clone()), Most::default())
            } else if let Some(earlier) = known.get(&identity) {
                (Plan::Same(*earlier), Most::default())
            } else {
                self.plan(request, index, children)
            };
            if let Some(exhausted) = limits.refuse_sub_call(&used, &request.model, &most) {
                if plans.is_empty() {
                    plans.push(Plan::Refused(exhausted));
                }
                return plans;
            }
            used.sub_calls += 1;
            used.calls.add(&most.usage);
            known.entry(identity).or_insert(place);
            plans.push(plan);
        }
        plans
    }

    fn plan(&self, request: &CallRequest, index: u64, children: usize) -> (Plan, Most) {
        let program = self.run.program();
        let spec = program.progress.spec();
        let model = spec.sub_call_model(Some(&request.model)).unwrap_or(&spec.model);
        let is_child = request.function == Function::Rlm && spec.limits.depth > 0;
        if is_child {
            let child = new_child(program, request, index, children, model);
            return (Plan::Child(Box::new(child)), Most::default());
        }
        // A child that would be too deep is one completion over its context.
        let asked = SubCall::request(&request.prompt, request.context.as_ref());
        let most = model.most(asked.bytes());
        (Plan::Ask(Box::new(model.clone()), asked), most)
    }

    /// Appends the records of a window, in order.
    fn append(
        &mut self,
        requests: &[CallRequest],
        plans: Vec<Plan>,
        mut made: Vec<Option<Answered>>,
        first: RecordIndex,
    ) -> Result<Vec<Result<Value, CodeError>>, Interrupted> {
        let mut answers: Vec<Result<Value, CodeError>> = Vec::with_capacity(requests.len());
        for (place, (request, plan)) in requests.iter().zip(plans).enumerate() {
            let one = Used { sub_calls: 1, ..Used::default() };
            let cached = Used { cached: 1, ..one.clone() };
            let own = made.get_mut(place).and_then(Option::take);
            let (answered, cached_from) = match plan {
                Plan::Known(record, value) => (Answered::new(Ok(value), cached), Some(record.get())),
                Plan::Same(earlier) => match answers.get(earlier).cloned() {
                    Some(Ok(value)) => (Answered::new(Ok(value), cached), Some(first.get() + earlier as u64)),
                    // What failed is not an answer to repeat; it is reported again.
                    Some(Err(error)) => (Answered::new(Err(error), one), None),
                    None => return Err(Interrupted::Diverged("a call has no answer".to_owned())),
                },
                Plan::Refused(exhausted) => {
                    let message = format!("limit {}: {}", exhausted.limit, exhausted.message);
                    (Answered::new(Err(CodeError::new(LIMIT_ERROR, message)), Used::default()), None)
                }
                Plan::Ask(..) | Plan::Child(_) => {
                    let Some(mut answered) = own else {
                        return Err(Interrupted::Diverged("a call has no answer".to_owned()));
                    };
                    if let Some(span) = answered.span.take() {
                        let index = self.run.next_index();
                        note_call(self.sink.meter(), CALL_STEP, index, request.model.clone(), span);
                    }
                    (answered, None)
                }
            };
            answers.push(answered.answer.clone());
            let call = SubCall {
                turn: request.turn,
                block: request.block,
                function: request.function,
                model: request.model.clone(),
                prompt: request.prompt.clone(),
                context: request.context.clone(),
                answer: answered.answer,
                finish_reason: answered.finish_reason,
                answered_by: answered.answered_by,
                used: answered.used,
                cached_from,
                child: answered.child,
            };
            // The reply is durable in the call log or in the child's journal, so this record may be lost: the block's
            // record, which comes after, makes it durable.
            append(self.run, Entry::Call(Box::new(call)), &mut Deferred(self.sink))?;
        }
        Ok(answers)
    }
}

pub(crate) fn identity(request: &CallRequest) -> Digest {
    SubCall::identity(request.function, &request.model, &request.prompt, request.context.as_ref())
}

/// Makes the calls of a window, several at a time.
fn perform(
    plans: &[Plan],
    models: &dyn Models,
    meter: &dyn Meter,
    first: RecordIndex,
) -> (Vec<Option<Answered>>, Option<Interrupted>) {
    let wanted: Vec<usize> =
        plans.iter().enumerate().filter(|(_, plan)| plan.leaves_the_run()).map(|(place, _)| place).collect();
    let (next, slots) = (AtomicUsize::new(0), plans.iter().map(|_| Mutex::new(None)).collect::<Vec<_>>());
    let stopped: Mutex<Option<Interrupted>> = Mutex::new(None);
    let is_stopped = || stopped.lock().unwrap_or_else(PoisonError::into_inner).is_some();
    let work = || {
        while let Some(place) = wanted.get(next.fetch_add(1, Ordering::Relaxed)).copied() {
            if is_stopped() {
                return;
            }
            let Some(plan) = plans.get(place) else { return };
            let index = RecordIndex::new(first.get() + place as u64);
            let started = meter.now().filter(|_| !is_known(plan, models, index));
            let outcome = match models.halt() {
                Some(halt) => Err(Interrupted::Halt(halt)),
                None => perform_one(plan, models, index),
            };
            let span = measure_since(meter, started);
            let outcome = outcome.map(|answered| answered.map(|answered| Answered { span, ..answered }));
            match (outcome, slots.get(place)) {
                (Ok(answered), Some(slot)) => {
                    *slot.lock().unwrap_or_else(PoisonError::into_inner) = answered;
                }
                (Err(error), _) => {
                    stopped.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
                (Ok(_), None) => {}
            }
        }
    };
    let threads = models.concurrency().clamp(1, wanted.len().max(1));
    match threads {
        1 => work(),
        _ => std::thread::scope(|scope| {
            (0..threads).for_each(|_| drop(scope.spawn(work)));
        }),
    }
    let made = slots.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner));
    (made.collect(), stopped.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Returns whether an earlier process made the call, so that making it now says nothing about how long it took.
fn is_known(plan: &Plan, models: &dyn Models, index: RecordIndex) -> bool {
    match plan {
        Plan::Ask(_, request) => models.knows_reply(index, request),
        Plan::Child(child) => models.knows_child(child),
        Plan::Known(..) | Plan::Same(_) | Plan::Refused(_) => true,
    }
}

fn perform_one(
    plan: &Plan,
    models: &dyn Models,
    index: RecordIndex,
) -> Result<Option<Answered>, Interrupted> {
    let refused = |message: String| {
        let used = Used { sub_calls: 1, ..Used::default() };
        Answered::new(Err(CodeError::new(CALL_ERROR, message)), used)
    };
    match plan {
        Plan::Ask(model, request) => match models.ask(index, model, request) {
            Ok(reply) => {
                let used = Used { calls: reply.usage.clone(), sub_calls: 1, ..Used::default() };
                let ModelReply { text, finish_reason, answered_by, .. } = reply;
                let answered = Answered::new(Ok(text.into()), used);
                Ok(Some(Answered { finish_reason, answered_by, ..answered }))
            }
            Err(NoReply::Refused(message)) => Ok(Some(refused(message))),
            // A call that was cut off because time is up says nothing about its model.
            Err(NoReply::Unavailable(message)) => match models.halt() {
                Some(halt) => Err(Interrupted::Halt(halt)),
                None => Err(Interrupted::Unavailable(message)),
            },
        },
        Plan::Child(child) => match models.child(child) {
            Ok(end) => {
                let (answer, used) = (end.recorded_answer(), end.recorded_usage());
                Ok(Some(Answered { child: Some(end.link), ..Answered::new(answer, used) }))
            }
            Err(NoReply::Refused(message)) => Ok(Some(refused(message))),
            Err(NoReply::Unavailable(message)) => match models.halt() {
                Some(halt) => Err(Interrupted::Halt(halt)),
                None => Err(Interrupted::Unavailable(message)),
            },
        },
        Plan::Known(..) | Plan::Same(_) | Plan::Refused(_) => Ok(None),
    }
}

/// Makes the child run that answers a call.
fn new_child(
    program: &SolveProgram<'_>,
    request: &CallRequest,
    index: u64,
    children: usize,
    model: &ModelPin,
) -> NewChild {
    let progress = &program.progress;
    let (spec, run) = (progress.spec(), progress.problem().id());
    let context = request.context.clone().unwrap_or_else(|| request.prompt.clone().into());
    let parent = ParentPin {
        run: run.clone(),
        record: index,
        depth: spec.depth() + 1,
        root: spec.parent.as_ref().map_or_else(|| run.clone(), |parent| parent.root.clone()),
        state: progress.variables().state().to_string().into(),
    };
    let limits = spec.limits.child(progress.used(), children as u64);
    let spec = Spec {
        question: request.prompt.clone(),
        model: model.clone(),
        contexts: vec![blob_pin(&context)],
        limits,
        parent: Some(parent),
        ..(**spec).clone()
    };
    NewChild { run: format!("{run}/{index}").into(), spec, context }
}

/// Pins a value that a parent hands to its child.
fn blob_pin(value: &Value) -> ContextPin {
    let canonical = Canonical::of(value);
    let characters = match value {
        Value::String(text) => text.chars().count(),
        _ => canonical.text().chars().count(),
    };
    ContextPin {
        kind: ContextKind::Blob,
        path: "parent".into(),
        sha256: canonical.digest(),
        bytes: canonical.bytes().len() as u64,
        characters: characters as u64,
        files: 1,
    }
}

/// Answers calls from the journal, and appends their records again.
pub(crate) struct ReplayedCalls<'r, 'g, 'a> {
    pub(crate) run: &'r mut Run<'g, SolveProgram<'a>>,
    pub(crate) sink: &'r mut dyn Sink,
    pub(crate) journal: &'r BTreeMap<RecordIndex, Entry>,
    pub(crate) until: Option<RecordIndex>,
    pub(crate) recorded: VecDeque<SubCall>,
}

impl CallSource for ReplayedCalls<'_, '_, '_> {
    fn ask(&mut self, requests: &[CallRequest]) -> Result<Vec<Result<Value, CodeError>>, Interrupted> {
        let mut answers = Vec::with_capacity(requests.len());
        for request in requests {
            if let Some(call) = self.recorded.pop_front() {
                answers.push(call.answer);
                continue;
            }
            let next = self.run.next_index();
            if self.until == Some(next) {
                return Err(Interrupted::Halt(Halt::Asked));
            }
            match self.journal.get(&next) {
                Some(Entry::Call(call)) if request.is_of(call) => {
                    answers.push(call.answer.clone());
                    append(self.run, Entry::Call(call.clone()), self.sink)?;
                }
                _ => {
                    return Err(Interrupted::Diverged(
                        "a block makes a call that is not recorded".to_owned(),
                    ));
                }
            }
        }
        Ok(answers)
    }
}
