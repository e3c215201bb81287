//! Calls that act and would be made again: a fork or a rollback lists them and asks before it repeats an effect.

use std::collections::BTreeMap;
use std::io::{BufRead as _, IsTerminal as _};
use std::sync::Arc;

use hence_cognition::run::{NESTED_RUNS_KEY, StepOutcome};
use hence_cognition::skill::{Skill, Uses};
use hence_engine::attempt;
use hence_skills::{Effect, Host, acting_gates, effective_records, may_act, recorded_outcome};
use hence_state::StepResult;
use hence_store::RunId;

use crate::code::Code;
use crate::context::Context;
use crate::error::CliError;
use crate::hint::Hint;
use crate::kind::whole_records;
use crate::sink::StoreBlobs;
use crate::target::Journal;

/// The calls of one capability that a step made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ActingCalls {
    pub(crate) step: Arc<str>,
    /// The capability, or `skill:ID` for a nested skill with steps that act and whose run the store does not have.
    pub(crate) capability: Arc<str>,
    pub(crate) times: u64,
}

/// The deepest nesting that is followed. Runs nest less deep; a forged store might name runs in a circle.
const NESTED_RUNS_DEEP_MAX: usize = 64;

impl ActingCalls {
    /// Returns the calls that act which a step of a skill made, those of the runs it nests included.
    pub(crate) fn of_outcome(outcome: &StepOutcome, host: &dyn Host, journal: &Journal) -> Vec<Self> {
        let mut calls = Vec::new();
        collect(outcome, &outcome.step_id, host, journal, NESTED_RUNS_DEEP_MAX, &mut calls);
        calls
    }

    /// Returns the calls that act which a recorded step of a skill made. A record that cannot be read made none that are
    /// known; reading it where it is needed reports why.
    pub(crate) fn of_record(result: &StepResult, journal: &Journal, host: &dyn Host) -> Vec<Self> {
        let outcome = crate::kind::with_blobs(journal, |blobs| recorded_outcome(&attempt(result), blobs));
        outcome.map(|outcome| Self::of_outcome(&outcome, host, journal)).unwrap_or_default()
    }

    /// Returns the calls that act which no result on record covers: those in the call log, made or begun, and those of steps
    /// that were executed and then blocked.
    pub(crate) fn without_result(journal: &Journal) -> Result<Vec<Self>, CliError> {
        let mut calls = Self::in_call_log(journal)?;
        let unread = |error| CliError::at(Code::BadRecord, &journal.name, error);
        for record in effective_records(whole_records(&journal.bytes)).map_err(unread)? {
            let executed =
                crate::kind::with_blobs(journal, |blobs| super::ExecutedCall::of(&record.result, blobs));
            let step = record.result.step();
            let one = |call: super::ExecutedCall| Self {
                step: step.clone(),
                capability: call.capability.into(),
                times: 1,
            };
            calls.extend(executed.into_iter().map(one));
        }
        Ok(calls)
    }

    /// Returns the calls that act which the call log has, made or begun, and no record.
    pub(crate) fn in_call_log(journal: &Journal) -> Result<Vec<Self>, CliError> {
        let Some(store) = &journal.store else { return Ok(Vec::new()) };
        let id = crate::target::find_run(store, &journal.name)?;
        let history = super::history(store, &id)?.unwrap_or_default();
        let mut counts: BTreeMap<(Arc<str>, Arc<str>), u64> = BTreeMap::new();
        for call in history.begun_calls() {
            *counts.entry((call.step.clone(), call.capability.clone())).or_default() += 1;
        }
        let one = |((step, capability), times)| Self { step, capability, times };
        Ok(counts.into_iter().map(one).collect())
    }

    /// Returns the calls in a line.
    pub(crate) fn text(&self) -> String {
        let times = if self.times == 1 { "once".to_owned() } else { format!("{} times", self.times) };
        format!("step {} called {} {times}", self.step, self.capability)
    }
}

/// Collects the calls that act of a step, which people know as `place`.
fn collect(
    outcome: &StepOutcome,
    place: &Arc<str>,
    host: &dyn Host,
    journal: &Journal,
    depth: usize,
    calls: &mut Vec<ActingCalls>,
) {
    let nested = nested_outcomes(outcome, journal).filter(|_| depth > 0);
    let mut counts: BTreeMap<Arc<str>, u64> = BTreeMap::new();
    for (id, times) in &outcome.called {
        let acts = match Uses::parse(id) {
            // The steps of the nested runs are listed instead of the skill, where the store has the runs.
            Uses::Skill(_) if nested.is_some() => false,
            Uses::Skill(skill) => host.skill(&skill).is_some_and(|skill| skill_acts(&skill, host)),
            Uses::Capability(id) => host.effect(&id) == Effect::Acts,
        };
        if acts {
            *counts.entry(id.clone()).or_default() += times;
        }
        acting_gates(id, host).into_iter().for_each(|gate| *counts.entry(gate).or_default() += times);
    }
    let own = counts.into_iter();
    calls.extend(own.map(|(capability, times)| ActingCalls { step: place.clone(), capability, times }));
    for inner in nested.iter().flatten() {
        let place = format!("{place}/{}", inner.step_id).into();
        collect(inner, &place, host, journal, depth.saturating_sub(1), calls);
    }
}

/// Returns the outcomes of the runs that a step nests; `None` when it nests none, or the store lacks one of them.
fn nested_outcomes(outcome: &StepOutcome, journal: &Journal) -> Option<Vec<StepOutcome>> {
    let runs = outcome.meta.get(NESTED_RUNS_KEY)?.as_array()?;
    let store = journal.store.as_ref()?;
    let mut outcomes = Vec::new();
    for run in runs {
        let id = RunId::new(run.get("run")?.as_str()?).ok()?;
        let bytes = store.journal_bytes(&id).ok()?;
        for record in effective_records(whole_records(&bytes)).ok()? {
            outcomes.push(recorded_outcome(&attempt(&record.result), &StoreBlobs(store)).ok()?);
        }
    }
    Some(outcomes)
}

fn skill_acts(skill: &Skill, host: &dyn Host) -> bool {
    skill.steps.iter().any(|step| may_act(step, host))
}

/// The question whether calls may be made again.
pub(crate) struct Again<'a> {
    pub(crate) run: &'a str,
    /// The command and the keys of the calls, such as "the fork makes again under other idempotency keys".
    pub(crate) what: &'a str,
    pub(crate) calls: Vec<ActingCalls>,
    /// The advice where nobody can be asked.
    pub(crate) advice: Hint,
}

impl Again<'_> {
    /// Lists the calls and asks a person, unless `--yes` was given or there are none.
    ///
    /// # Errors
    /// [`CliError`] when the answer is no, or nobody can be asked.
    pub(crate) fn confirm(self, context: &Context, yes: bool) -> Result<(), CliError> {
        if self.calls.is_empty() {
            return Ok(());
        }
        let message = format!("run {}: {}", self.run, self.what);
        let can_ask = !context.is_json() && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        if yes || can_ask {
            context.say(&message);
            self.calls.iter().for_each(|call| context.say(format_args!("  {}", call.text())));
        }
        if yes || (can_ask && is_confirmed(context)) {
            return Ok(());
        }
        let calls = self.calls.iter().map(ActingCalls::text);
        Err(CliError::new(Code::CallsAgain, message).with_findings(calls).with_hint(self.advice))
    }
}

/// Asks at the terminal. Anything but yes is a no.
fn is_confirmed(context: &Context) -> bool {
    context.say("make them again? type yes to continue");
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.is_ok() && matches!(line.trim(), "y" | "yes")
}
