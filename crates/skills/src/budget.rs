//! The limits of a run, of its nested skills and of its steps, and what their calls used.
//!
//! A call that leaves the run is admitted before it is made: what it may need at most, on top of what was used and what
//! calls under way may need, must fit under every limit above it. When it has ended, what it really used is counted.
//! A call that failed counts as its maximum, because nobody knows what it used.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hence_cognition::budget::{Limits, Most, Usage};
use hence_cognition::run::{
    CallError, CallPlace, PATH_PARTS, PlannedCall, Reply, StepOutcome, key_part, key_text,
};
use hence_cognition::skill::{Skill, Step, Uses};

use crate::calls::{CallHistory, CallStatus, QuestionKind, Spent};
use crate::host::{Effect, Host};

/// The member of an outcome's `meta` that says what all calls of a step used: in a run with limits, and where gates or
/// nested skills made some of them.
pub const USAGE_KEY: &str = "usage";

/// The limits of a run and its accounts.
pub struct Budget<'a> {
    host: &'a dyn Host,
    /// The skill of the run; none for a problem.
    skill: Option<&'a Skill>,
    limits: Limits,
    activity: Activity,
    accounts: Mutex<BTreeMap<String, Account>>,
    /// The milliseconds that earlier processes of the run spent.
    spent_before: AtomicU64,
}

/// Whether anything is limited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Activity {
    /// Nothing is, so nothing is counted.
    Unlimited,
    /// Only time is. It depends on timing anyway.
    Timed,
    /// Calls, tokens or money are: the order of calls is fixed, so that the same call is refused every time.
    Counted,
}

/// The usage of the calls of one run, nested run or step.
#[derive(Clone, Debug, Default)]
struct Account {
    used: Usage,
    /// The most that calls under way may need.
    reserved: Usage,
    /// The seconds at which its first call was asked for.
    since: Option<f64>,
}

impl Account {
    fn all(&self) -> Usage {
        let mut all = self.used.clone();
        all.add(&self.reserved);
        all
    }
}

/// A run, nested run or step around a call, with its limits.
struct Scope {
    key: String,
    whose: String,
    limits: Limits,
}

/// The place of a call: the runs around it and its step.
#[derive(Clone, Copy)]
pub(crate) struct Caller<'c> {
    pub(crate) place: &'c CallPlace,
    pub(crate) step: &'c str,
}

/// A call that was admitted and has not ended.
pub(crate) struct Admitted {
    keys: Vec<String>,
    most: Usage,
    /// The time it may take, if a limit leaves less than its own.
    pub(crate) seconds_left: Option<(f64, String)>,
    /// The places whose seconds are limited; `None` when none are.
    spent: Option<Spent>,
}

impl<'a> Budget<'a> {
    /// Makes the budget of a run that has made no call yet. A skill has limits of its own next to those of the run.
    pub fn new(host: &'a dyn Host, skill: Option<&'a Skill>, limits: &Limits) -> Self {
        let limits = skill.map_or_else(|| limits.clone(), |skill| limits.and(&skill.limits));
        let mut all = vec![limits.clone()];
        if let Some(skill) = skill {
            collect(skill, host, &mut Vec::new(), &mut all);
        }
        let activity = match all.iter().any(Limits::counts) {
            true => Activity::Counted,
            false if all.iter().any(|limits| !limits.is_empty()) => Activity::Timed,
            false => Activity::Unlimited,
        };
        Self {
            host,
            skill,
            limits,
            activity,
            accounts: Mutex::new(BTreeMap::new()),
            spent_before: AtomicU64::new(0),
        }
    }

    /// Returns whether calls, tokens or money are limited anywhere in the run.
    pub(crate) fn is_counted(&self) -> bool {
        self.activity == Activity::Counted
    }

    /// Returns whether anything is limited anywhere in the run.
    pub(crate) fn is_limited(&self) -> bool {
        self.activity != Activity::Unlimited
    }

    /// Counts what recorded steps and logged calls of steps that are not recorded used.
    pub fn count_past(&self, recorded: &[StepOutcome], history: &CallHistory) {
        if self.activity == Activity::Unlimited {
            return;
        }
        for outcome in recorded {
            self.charge(&[String::new()], &recorded_usage(outcome, self.host));
        }
        let is_recorded = |step: &str| recorded.iter().any(|outcome| &*outcome.step_id == step);
        for (name, status) in history.calls().filter(|(name, _)| !is_recorded(&name.step)) {
            if let Some(used) =
                usage_of_logged(self.host, &name.capability, status, history.times_begun(&name.key))
            {
                self.charge(&keys_of(&name.key), &used);
            }
        }
    }

    /// Counts the time that earlier processes of the run spent.
    pub fn count_spent(&self, history: &CallHistory) {
        let spent = history.spent();
        self.spent_before.store(spent.milliseconds, Ordering::Relaxed);
        let mut accounts = self.lock();
        for (place, since) in &spent.since {
            accounts.entry(place.to_string()).or_default().since = Some(seconds(*since));
        }
    }

    /// Returns the seconds that the processes of the run have spent.
    fn elapsed_seconds(&self) -> f64 {
        seconds(self.spent_before.load(Ordering::Relaxed)) + self.host.elapsed_seconds()
    }

    /// Adds what calls used before this process, outside the records that [`Budget::count_past`] reads.
    pub fn count_used(&self, used: &Usage) {
        self.charge(&[String::new()], used);
    }

    fn charge(&self, keys: &[String], used: &Usage) {
        let mut accounts = self.lock();
        for key in keys {
            accounts.entry(key.clone()).or_default().used.add(used);
        }
    }

    /// Returns what all calls used; nothing when nothing is limited.
    pub fn used(&self) -> Usage {
        self.lock().get("").map(|account| account.used.clone()).unwrap_or_default()
    }

    /// Returns what the calls of a step of the outermost skill used; nothing when nothing is limited.
    pub(crate) fn used_by_step(&self, step: &str) -> Usage {
        self.lock().get(&step_key("", step)).map(|account| account.used.clone()).unwrap_or_default()
    }

    /// Returns the runs and steps around a call, outermost first. Those without limits have an account as well.
    fn scopes(&self, caller: Caller<'_>) -> Vec<Scope> {
        let mut scopes =
            vec![Scope { key: String::new(), whose: "the run".to_owned(), limits: self.limits.clone() }];
        let mut nested: Option<Arc<Skill>> = None;
        let mut prefix = String::new();
        let parts: Vec<&str> = caller.place.path.split_terminator('/').collect();
        let step_scope = |prefix: &str, skill: Option<&Skill>, step: &str| Scope {
            key: step_key(prefix, step),
            whose: format!("step `{step}`"),
            limits: skill
                .and_then(|skill| skill.step(step))
                .map(|step| step.limits.clone())
                .unwrap_or_default(),
        };
        for group in parts.chunks_exact(PATH_PARTS) {
            let [step, _, id, _] = group else { continue };
            let (step, id) = (key_text(step), key_text(id));
            scopes.push(step_scope(&prefix, nested.as_deref().or(self.skill), &step));
            prefix = format!("{prefix}{}/", group.join("/"));
            nested = self.host.skill(&id);
            let limits = nested.as_ref().map(|skill| skill.limits.clone()).unwrap_or_default();
            scopes.push(Scope { key: prefix.clone(), whose: format!("skill `{id}`"), limits });
        }
        scopes.push(step_scope(&prefix, nested.as_deref().or(self.skill), caller.step));
        scopes
    }

    /// Admits a call, or returns the failure of a call that might exceed a limit. A call that is pure or asks a person is
    /// not counted.
    pub(crate) fn admit(
        &self,
        caller: Caller<'_>,
        capability: &str,
        most: &dyn Fn() -> Most,
    ) -> Result<Option<Admitted>, CallError> {
        if self.activity == Activity::Unlimited {
            return Ok(None);
        }
        let (scopes, most) = (self.scopes(caller), most());
        let elapsed = self.elapsed_seconds();
        let mut accounts = self.lock();
        let mut spent: Option<Spent> = None;
        let mut seconds_left: Option<(f64, String)> = None;
        for scope in &scopes {
            let account = accounts.entry(scope.key.clone()).or_default();
            // The run's time begins with its first process, that of a subtree with its first call.
            let since = if scope.key.is_empty() { 0.0 } else { *account.since.get_or_insert(elapsed) };
            if let Some(limit) = scope.limits.seconds {
                let spent = spent.get_or_insert_default();
                if !scope.key.is_empty() {
                    spent.since.insert(scope.key.as_str().into(), milliseconds(since));
                }
                let message = format!("the limit of {} is {limit} seconds, and they are over", scope.whose);
                #[expect(clippy::cast_precision_loss, reason = "no run takes 2^53 seconds")]
                let left = limit as f64 - (elapsed - since);
                if left <= 0.0 {
                    return Err(exceeded(message));
                }
                if seconds_left.as_ref().is_none_or(|(known, _)| left < *known) {
                    seconds_left = Some((left, message));
                }
            }
            if let Some(message) = scope.limits.refusal(&scope.whose, &account.all(), capability, &most) {
                return Err(exceeded(message));
            }
        }
        let keys: Vec<String> = scopes.into_iter().map(|scope| scope.key).collect();
        for key in &keys {
            accounts.entry(key.clone()).or_default().reserved.add(&most.usage);
        }
        Ok(Some(Admitted { keys, most: most.usage, seconds_left, spent }))
    }

    /// Returns the time spent so far, which a later process of the run counts; `None` when no seconds are limited.
    pub(crate) fn spent(&self, admitted: &Admitted) -> Option<Spent> {
        let mut spent = admitted.spent.clone()?;
        spent.milliseconds = milliseconds(self.elapsed_seconds());
        // The places of other calls are not forgotten.
        for (key, account) in self.lock().iter().filter(|(key, _)| !key.is_empty()) {
            if let Some(since) = account.since {
                spent.since.entry(key.as_str().into()).or_insert(milliseconds(since));
            }
        }
        Some(spent)
    }

    /// Counts what an admitted call used.
    pub(crate) fn settle(&self, admitted: &Admitted, reply: &Result<Reply, CallError>) {
        let used = match reply {
            Ok(reply) => {
                // A capability that does not say what it used counts as its maximum.
                let (most, mut used) = (&admitted.most, Usage { calls: 1, ..Usage::of_meta(&reply.meta) });
                let tokens_are_assumed = used.tokens() == 0 && most.tokens() > 0;
                let cost_is_assumed = used.cost.is_empty() && !most.cost.is_empty();
                if tokens_are_assumed {
                    (used.tokens_in, used.tokens_out) = (most.tokens_in, most.tokens_out);
                }
                if cost_is_assumed {
                    used.cost.clone_from(&most.cost);
                }
                used.unreported = used.unreported.max(u64::from(tokens_are_assumed || cost_is_assumed));
                used
            }
            Err(CallError::Waiting(_)) => Usage::default(),
            Err(CallError::TimedOut(_) | CallError::Failed { .. } | CallError::Undecided(_)) => {
                let most = admitted.most.clone();
                Usage { unreported: u64::from(most.tokens() > 0 || !most.cost.is_empty()), ..most }
            }
        };
        let mut accounts = self.lock();
        for key in &admitted.keys {
            let account = accounts.entry(key.clone()).or_default();
            account.reserved = account.reserved.without(&admitted.most);
            account.used.add(&used);
        }
    }

    /// Returns whether calls that are made side by side fit under every limit, whichever of them is first.
    pub(crate) fn fits(&self, calls: &[PlannedCall]) -> bool {
        let mut sum = Usage::default();
        for call in calls {
            let Uses::Capability(id) = &call.uses else { return false };
            let has_rules = self.host.capability(id).is_none_or(|spec| spec.safety != Default::default());
            if has_rules {
                return false;
            }
            if matches!(self.host.effect(id), Effect::Pure | Effect::Asks) {
                continue;
            }
            sum.add(&self.host.most(id, &call.input).usage.times(call.attempts.max(1)));
        }
        let Some(first) = calls.first() else { return true };
        let most = Most { usage: sum, ..Most::default() };
        let accounts = self.lock();
        self.scopes(Caller { place: &first.place, step: &first.step_id }).iter().all(|scope| {
            let used = accounts.get(&scope.key).map(Account::all).unwrap_or_default();
            scope.limits.refusal("", &used, "", &most).is_none()
        })
    }

    /// No code panics while holding the lock, so a poisoned one guards sound data.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Account>> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[expect(clippy::cast_precision_loss, reason = "no run takes 2^53 milliseconds")]
fn seconds(milliseconds: u64) -> f64 {
    milliseconds as f64 / 1000.0
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times are finite and not negative"
)]
fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1000.0) as u64
}

fn exceeded(message: String) -> CallError {
    CallError::Failed { class: hence_cognition::failure::BUDGET_EXCEEDED.into(), message: message.into() }
}

/// Returns the key of a step's account. The id is escaped as in the keys of calls.
fn step_key(prefix: &str, step: &str) -> String {
    format!("{prefix}{}", key_part(step))
}

/// Returns the keys of the accounts around a logged call, from its key.
fn keys_of(call: &str) -> Vec<String> {
    let parts: Vec<&str> = call.split('/').collect();
    // The last five parts name the step, the iteration and item, the purpose, the capability and the attempt.
    let levels = parts.len().saturating_sub(5) / PATH_PARTS;
    let mut keys = vec![String::new()];
    let mut prefix = String::new();
    for group in parts.chunks(PATH_PARTS).take(levels) {
        keys.push(format!("{prefix}{}", group.first().copied().unwrap_or_default()));
        prefix = format!("{prefix}{}/", group.join("/"));
        keys.push(prefix.clone());
    }
    keys.push(format!("{prefix}{}", parts.get(levels * PATH_PARTS).copied().unwrap_or_default()));
    keys
}

/// Collects the limits of the steps of a skill and of the skills it may nest.
fn collect(skill: &Skill, host: &dyn Host, seen: &mut Vec<Arc<str>>, limits: &mut Vec<Limits>) {
    limits.extend(skill.steps.iter().map(|step| step.limits.clone()));
    for step in &skill.steps {
        for id in crate::reach::nested_skills(step) {
            if seen.contains(&id) {
                continue;
            }
            seen.push(id.clone());
            if let Some(nested) = host.skill(&id) {
                limits.push(nested.limits.clone());
                collect(&nested, host, seen, limits);
            }
        }
    }
}

/// Returns what a logged call that was begun so often used; `None` when it is none that leaves the run. A call that is repeated
/// after a crash was made each time.
fn usage_of_logged(host: &dyn Host, capability: &str, status: &CallStatus, begun: u64) -> Option<Usage> {
    if matches!(host.effect(capability), Effect::Pure | Effect::Asks) {
        return None;
    }
    let calls = begun.max(1);
    let one = Usage { calls, ..Usage::default() };
    match status {
        CallStatus::Replied(Ok(reply)) => Some(Usage { calls, ..Usage::of_meta(&reply.meta) }),
        CallStatus::Replied(Err(_)) | CallStatus::Begun | CallStatus::Again => Some(one),
        // A question about an undecided call means that the call was begun; another question calls nothing.
        CallStatus::Asked(question) if question.kind == QuestionKind::Undecided => Some(one),
        CallStatus::Asked(_) => None,
    }
}

/// Returns what all calls of a call log used.
pub fn logged_usage(host: &dyn Host, history: &CallHistory) -> Usage {
    let mut sum = Usage::default();
    let used = history.calls().filter_map(|(name, status)| {
        usage_of_logged(host, &name.capability, status, history.times_begun(&name.key))
    });
    used.for_each(|used| sum.add(&used));
    sum
}

/// Returns what the calls of an outcome that was just executed used, those of gates and nested skills included.
pub(crate) fn executed_usage(outcome: &StepOutcome) -> Usage {
    let mut sum = Usage::default();
    for call in outcome.calls.iter().filter(|call| !matches!(call.effect, Effect::Pure | Effect::Asks)) {
        let reported = call.reply.as_ref().map(|reply| Usage::of_meta(&reply.meta)).unwrap_or_default();
        sum.add(&Usage { calls: call.times(), ..reported });
    }
    sum
}

/// Returns what the calls of a recorded step used. A step whose number of calls does not follow from what it called
/// itself, because of gates, nested skills or limits, records it.
pub fn recorded_usage(outcome: &StepOutcome, host: &dyn Host) -> Usage {
    if let Some(recorded) = outcome.meta.get(USAGE_KEY) {
        return Usage::read(recorded);
    }
    let leaves =
        |id: &Arc<str>| !id.starts_with("skill:") && !matches!(host.effect(id), Effect::Pure | Effect::Asks);
    let called: u64 = outcome.called.iter().filter(|(id, _)| leaves(id)).map(|(_, times)| *times).sum();
    // Every time that an undecided call was begun again is a call.
    let listed = outcome.calls.iter().filter(|call| call.effect == Effect::Acts);
    let again: u64 = listed.map(|call| call.times().saturating_sub(1)).fold(0, u64::saturating_add);
    Usage {
        calls: called.saturating_add(again),
        tokens_in: outcome.metrics.tokens_in,
        tokens_out: outcome.metrics.tokens_out,
        cost: Usage::of_meta(&outcome.meta).cost,
        unreported: 0,
    }
}

/// Returns whether a step may make a call that is counted.
pub(crate) fn may_leave(step: &Step, host: &dyn Host) -> bool {
    let leaves = |id: &Arc<str>| {
        let gates = crate::reach::gates_of(id, host);
        gates.iter().chain([id]).any(|id| host.effect(id) != Effect::Pure)
    };
    !crate::reach::nested_skills(step).is_empty() || crate::reach::may_call(step).iter().any(leaves)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accounts_of_a_logged_call_follow_from_its_key() {
        assert_eq!(keys_of("send/0.2/call/mail.send/1"), ["", "send"]);
        assert_eq!(
            keys_of("outer/0.0/words/1/in~1ner/3.0/call/ask/2"),
            ["", "outer", "outer/0.0/words/1/", "outer/0.0/words/1/in~1ner"]
        );
    }

    #[test]
    fn a_reservation_is_given_back_exactly() {
        let usage = |amount: &str| Usage {
            calls: 1,
            tokens_in: 2,
            tokens_out: 3,
            cost: [("USD".into(), amount.parse().unwrap())].into(),
            unreported: 0,
        };
        let mut both = usage("0.1");
        both.add(&usage("0.2"));
        assert_eq!(both.without(&usage("0.2")), usage("0.1"));
        assert!(usage("0.1").without(&usage("0.1")).is_empty());
    }
}
