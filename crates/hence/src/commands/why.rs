//! `hence why`: the status of a run, the questions it waits for, since when, and the command that continues it.

use hence_cognition::failure::UNDECIDED;
use hence_cognition::run::{CallError, MadeCall};
use hence_engine::{BlockedAt, RunKind};
use hence_journal::{Chained, Control, Record};
use hence_skills::{CallHistory, CallName, CallStatus, recorded_outcome};
use hence_state::{Outcome, StepResult};
use hence_store::{Condition, Damage, Lease, RunId, RunSummary, StoreHandle};

use crate::args::WhyArgs;
use crate::chain::first_break;
use crate::fleet::{self, JobRow};
use crate::journal_end::last_change;
use crate::measured::{self, NOT_MEASURED, RunTimes, WaitTimesRow};
use crate::prelude::*;
use crate::run_view::{UNREADABLE, other_run, status_of};
use crate::sink::StoreBlobs;
use crate::skills::{self, DecisionRow, ExecutedCall, WaitingRow};
use crate::standing::{self, PARTIAL};
use crate::standing_view::StandingView;
use crate::target::{self, Journal};
use crate::usage;

/// The status of a run, and the command that continues it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WhyReport {
    /// The run's id.
    run: String,
    /// `skill`, `reason` (the built-in program), `variables` (driven from outside) or `unknown`.
    pub(crate) kind: &'static str,
    /// `completed`, `partial`, `failed`, `waiting`, `undecided`, `answered`, `stopped`, `queued`, `blocked`, `interactive`,
    /// `held`, `damaged` or `unreadable`.
    pub(crate) standing: &'static str,
    /// The status in a sentence.
    pub(crate) says: String,
    /// The number of records.
    records: Option<u64>,
    /// The measured time of its last record; null when it was not measured.
    since: Option<String>,
    /// The measured questions that no record has answered.
    asked: Vec<WaitTimesRow>,
    /// The process that holds the lease.
    held_by: Option<String>,
    /// Its place in a queue: the worker that drives it, or what it waits for; `null` when it is in none.
    job: Option<JobRow>,
    /// The run that retries it, where it failed.
    retry: Option<String>,
    /// The run it retries.
    retries: Option<String>,
    /// The steps and parts of steps that failed, where the run completed all the same.
    pub(crate) failures: Vec<String>,
    /// The calls that a failed or interrupted step made, and those of steps without a record.
    pub(crate) calls: Vec<CalledRow>,
    /// The questions it waits for.
    pub(crate) waiting: Vec<WaitingRow>,
    /// The approvals and rejections on record.
    pub(crate) decisions: Vec<DecisionRow>,
    /// The calls of a step that was executed and then blocked by policies. They are not made again.
    pub(crate) executed: Vec<ExecutedCall>,
    /// The commands to continue with.
    pub(crate) commands: Vec<String>,
}

/// The code of a step whose call might have exceeded a limit.
const BUDGET_EXCEEDED: &str = "budget_exceeded";

/// The maximum number of calls that a text shows.
const CALLS_SHOWN_MAX: usize = 10;

/// The maximum number of characters of an input in a line.
const INPUT_CHARACTERS_MAX: usize = 80;

/// A call that a failed run made.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CalledRow {
    /// The key of the call: step, iteration and item, purpose, capability, attempt.
    key: String,
    /// The capability.
    capability: String,
    /// `replied`, `failed` or `undecided`.
    status: &'static str,
    /// Whether a record has the call. The call log has the others.
    recorded: bool,
    /// `reads`, `acts` or `asks`, where the record says it.
    effect: Option<&'static str>,
    /// The key by which the capability recognises a repeated call, where the record says it.
    idempotency_key: Option<String>,
    /// The input, where the record says it.
    input: Option<Data>,
    /// The person who decided what became of the call.
    decided_by: Option<String>,
}

/// Returns whether nobody knows if a call that has no reply happened.
fn is_undecided(error: &CallError) -> bool {
    matches!(error, CallError::Undecided(_)) || error.is_of_class(UNDECIDED)
}

impl CalledRow {
    fn of_record(call: &MadeCall) -> Self {
        Self {
            key: call.key.to_string(),
            capability: call.capability.to_string(),
            status: call.outcome().as_str(),
            recorded: true,
            effect: Some(call.effect.as_str()),
            idempotency_key: Some(call.idempotency_key.to_string()),
            input: Some(Data(call.input.clone())),
            decided_by: call.decided_by().map(str::to_owned),
        }
    }

    /// Describes a call of a step without a record; `None` for a question that nobody answered.
    fn of_log(call: &CallName, status: &CallStatus) -> Option<Self> {
        let status = match status {
            CallStatus::Replied(Ok(_)) => "replied",
            CallStatus::Replied(Err(error)) if is_undecided(error) => "undecided",
            CallStatus::Replied(Err(_)) => "failed",
            // A person decided to repeat it; until a repetition replies, nobody knows whether it happened.
            CallStatus::Begun | CallStatus::Again => "undecided",
            CallStatus::Asked(_) => return None,
        };
        Some(Self {
            key: call.key.to_string(),
            capability: call.capability.to_string(),
            status,
            recorded: false,
            effect: None,
            idempotency_key: None,
            input: None,
            decided_by: None,
        })
    }

    fn text(&self) -> String {
        let input = |input: &Data| format!(" {}", one_line(&input.0.to_string(), INPUT_CHARACTERS_MAX));
        let input = self.input.as_ref().map(input).unwrap_or_default();
        let by = self.decided_by.as_ref().map(|by| format!(", as {} said", escape(by))).unwrap_or_default();
        let recorded = if self.recorded { "" } else { ", not recorded" };
        format!("{}{input}: {}{by}{recorded}", escape(&self.key), self.status)
    }
}

impl Text for WhyReport {
    fn text(&self) -> String {
        let mut rows = vec![
            ("run", format!("{} ({})", escape(&self.run), self.kind)),
            ("stands", format!("{}: {}", self.standing, escape(&self.says))),
        ];
        if let Some(records) = self.records {
            let since = match &self.since {
                Some(since) => format!("{since} (measured)"),
                None => NOT_MEASURED.to_owned(),
            };
            rows.push(("since", format!("{since}, {}", counted(records, "record"))));
        }
        rows.extend(self.asked.iter().map(WaitTimesRow::row));
        rows.extend(self.held_by.iter().map(|holder| ("held by", escape(holder))));
        rows.extend(self.job.iter().flat_map(JobRow::rows));
        rows.extend(self.retries.iter().map(|run| ("retry of", escape(run))));
        rows.extend(self.retry.iter().map(|run| ("retried", format!("as {}", escape(run)))));
        rows.extend(standing::failure_rows(&self.failures));
        rows.extend(self.calls.iter().take(CALLS_SHOWN_MAX).map(|call| ("called", call.text())));
        if self.calls.len() > CALLS_SHOWN_MAX {
            rows.push(("called", format!("{} more; --json lists all", self.calls.len() - CALLS_SHOWN_MAX)));
        }
        rows.extend(self.decisions.iter().map(DecisionRow::row));
        rows.extend(self.waiting.iter().flat_map(WaitingRow::rows));
        rows.extend(self.executed.iter().map(ExecutedCall::row));
        rows.extend(self.commands.iter().map(|command| ("next", escape(command))));
        pairs(&rows)
    }
}

pub(super) fn run(context: &Context, args: &WhyArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let id = target::find_run(&store, &args.run)?;
    context.print(&explain(context, &store, &id)?)?;
    Ok(Exit::Yes)
}

/// A run whose status is being determined.
struct Looked<'a> {
    context: &'a Context,
    store: &'a StoreHandle,
    id: &'a RunId,
    report: WhyReport,
}

/// Explains the status of a run.
pub(crate) fn explain(context: &Context, store: &StoreHandle, id: &RunId) -> Result<WhyReport, CliError> {
    let summary = store.summary(id)?;
    let held_by = match store.lease(id)? {
        Lease::Held(holder) => Some(holder.to_string()),
        Lease::Free => None,
    };
    let report = WhyReport {
        run: id.as_str().to_owned(),
        kind: "unknown",
        standing: "damaged",
        says: String::new(),
        records: summary.head().map(|head| head.records.get()),
        since: None,
        asked: Vec::new(),
        held_by,
        // The queue has no truth about a run, so one that cannot be read hides nothing about it.
        job: fleet::job_of(context, id).unwrap_or_else(|error| {
            context.say(format_args!("run {id}: its place in the queue is not known: {error}"));
            None
        }),
        retry: skills::retry_of(store, id).map(|retry| retry.as_str().to_owned()),
        retries: skills::links(store, id).retries,
        failures: Vec::new(),
        calls: Vec::new(),
        waiting: Vec::new(),
        decisions: Vec::new(),
        executed: Vec::new(),
        commands: Vec::new(),
    };
    let looked = Looked { context, store, id, report };
    if let Condition::Damaged(Damage::Refused(reason)) = &summary.condition {
        return Ok(looked.unreadable(reason.clone()));
    }
    if let Condition::Damaged(reason) = &summary.condition {
        return Ok(looked.damaged(reason.to_string()));
    }
    if let Some(other) = other_run(&summary) {
        return Ok(looked.damaged(format!("its journal is that of run {other}")));
    }
    // The records between the first and the last may be many: what depends on them is cached.
    let journal = match Journal::start_of_run(store, id) {
        Ok(journal) => journal,
        Err(error) => return Ok(looked.damaged(error.message)),
    };
    let last = last_change(store, &summary, Some(journal.profile()));
    let view = match journal.kind == RunKind::Variables {
        true => of_variables(store, &summary, last.as_ref()),
        false => store.view_of::<StandingView>(&summary),
    };
    Ok(looked.look(&journal, last.as_ref(), view))
}

/// Returns the view of a run of variables. Its last record says everything.
fn of_variables(store: &StoreHandle, summary: &RunSummary, last: Option<&Chained>) -> StandingView {
    let times = last.map(|last| (RunTimes::of_last(store, &summary.run, last), last.index.get()));
    let since = times.as_ref().and_then(|(times, last)| times.row(*last));
    let status = status_of(store, summary);
    let journal = (status == "damaged").then(|| store.journal_bytes(&summary.run).ok()).flatten();
    StandingView {
        status,
        damage: journal.and_then(|journal| first_break(&journal)),
        since: since.map(|measured| measured.recorded_at().to_owned()),
        asked: times.map(|(times, _)| times.open_waits()).unwrap_or_default(),
        ..StandingView::default()
    }
}

impl Looked<'_> {
    fn look(mut self, journal: &Journal, last: Option<&Chained>, mut view: StandingView) -> WhyReport {
        measured::say(self.context, &journal.name, &view.remarks);
        self.report.since = view.since.take();
        self.report.asked = std::mem::take(&mut view.asked);
        self.report.kind = if journal.has_problem() { journal.kind.as_str() } else { "unknown" };
        self.report.decisions = std::mem::take(&mut view.decisions);
        if let Some(holder) = &self.report.held_by {
            let says = format!("{holder} writes it; it goes on there");
            let next = self.command(&["log"]);
            return self.stands("held", says, vec![next]);
        }
        if let Some(damage) = view.damage {
            return self.damaged(damage);
        }
        match view.status {
            "completed" => {
                let next = self.command(&["verify"]);
                self.stands("completed", "it has ended; nothing is left to do".to_owned(), vec![next])
            }
            PARTIAL => self.partial(view),
            "failed" => self.failed(last, journal),
            "blocked" => self.blocked(last),
            "damaged" => self.damaged("its last record cannot be read".to_owned()),
            UNREADABLE => self.unreadable("the system refuses to read its journal".to_owned()),
            _ if journal.has_problem() && journal.kind == RunKind::Variables => {
                let next = hint::command(self.context, &["vars", "status", self.id.as_str()]);
                let says = "it is driven from outside and takes the next operation".to_owned();
                self.stands("interactive", says, vec![next])
            }
            _ if journal.has_problem() && journal.kind == RunKind::Trace => {
                let next = hint::command(self.context, &["trace", "show", self.id.as_str()]);
                let says = "its agent reports it, and the trace has not ended".to_owned();
                self.stands("interactive", says, vec![next])
            }
            // A problem that cannot be read is reported by the commands that need it.
            _ if !journal.has_problem() => self.calling(last, None),
            _ => self.calling(last, view.due),
        }
    }

    /// Reports a run that has not ended, and may be in the middle of a call.
    fn calling(mut self, last: Option<&Chained>, due: Option<String>) -> WhyReport {
        let history = match skills::history(self.store, self.id) {
            Ok(history) => history.unwrap_or_default(),
            Err(error) => {
                let explain = hint::command(self.context, &["explain", error.code.as_str()]);
                return self.stands("damaged", error.message, vec![explain]);
            }
        };
        self.report.waiting = WaitingRow::all(self.context, self.id.as_str(), &history);
        if !self.report.waiting.is_empty() {
            let says = waits_for(&self.report.waiting);
            let next = self.command(&["resume"]);
            return self.stands("waiting", says, vec![next]);
        }
        if history.undecided().next().is_some() {
            return self.undecided(&history);
        }
        if history.calls().any(|(_, status)| matches!(status, CallStatus::Again)) || has_answer(&history) {
            let next = self.command(&["resume"]);
            return self.stands("answered", "what it waited for is there".to_owned(), vec![next]);
        }
        self.report.calls =
            history.calls().filter_map(|(call, status)| CalledRow::of_log(call, status)).collect();
        self.stopped(last, due)
    }

    fn undecided(mut self, history: &CallHistory) -> WhyReport {
        let (context, id) = (self.context, self.id.as_str());
        self.report.waiting = WaitingRow::all_undecided(context, id, history);
        let count = self.report.waiting.len();
        let (calls, they) = if count == 1 { ("a call was", "it") } else { ("calls were", "they") };
        let says = format!(
            "{calls} begun by a process that is gone, and nobody knows whether {they} happened; \
             resuming does what each step's recovery says"
        );
        let next = self.command(&["resume"]);
        self.stands("undecided", says, vec![next])
    }

    /// Reports a run that has not ended and that nobody writes.
    fn stopped(self, last: Option<&Chained>, due: Option<String>) -> WhyReport {
        let behind = match last.map(|chained| &chained.record) {
            Some(Record::Step(step)) => format!("after step {}", step.result.step()),
            Some(Record::Control(Control::Loop(decision))) => {
                format!("after a decision of its loop, {}", decision.action.as_str())
            }
            Some(Record::Control(Control::Rollback(_))) => "after a rollback".to_owned(),
            _ => "before its first step".to_owned(),
        };
        let due = due.map(|step| format!("; step {step} is due")).unwrap_or_default();
        let kept = match self.report.calls.len() {
            0 => String::new(),
            count => format!(", and resuming uses what {} replied", counted(count as u64, "call")),
        };
        if self.report.job.as_ref().is_some_and(JobRow::is_queued) {
            let next = hint::command(self.context, &["worker"]);
            let says = format!("a worker drives it when its turn comes; it ends {behind}{due}{kept}");
            return self.stands("queued", says, vec![next]);
        }
        let next = self.command(&["resume"]);
        self.stands("stopped", format!("nobody writes it, and it ends {behind}{due}{kept}"), vec![next])
    }

    /// Returns the calls of the failed step, as its record lists them, and those of steps without a record.
    fn called(&self, failed: &StepResult) -> Vec<CalledRow> {
        let outcome = recorded_outcome(failed, &StoreBlobs(self.store)).ok();
        let listed = outcome.iter().flat_map(|outcome| outcome.listed_calls());
        let mut calls: Vec<CalledRow> = listed.map(CalledRow::of_record).collect();
        // An unreadable call log of a run that has ended is reported by `hence retry`.
        if let Ok(Some(history)) = skills::history(self.store, self.id) {
            calls.extend(history.calls().filter_map(|(call, status)| CalledRow::of_log(call, status)));
        }
        calls
    }

    /// Returns the options that raise the limit which a call would have exceeded, to twice as much; `None` when the limit is
    /// stated in the skill, so that only another skill raises it.
    fn raised(journal: &Journal, message: &str) -> Option<Vec<String>> {
        let problem = journal.parsed_problem().ok().flatten()?;
        let limits = usage::limits_of(&problem.value).ok()?;
        let twice = |limit: u64| limit.saturating_mul(2).max(1).to_string();
        let says =
            |limit: u64, noun: &str| message.contains(&format!("the limit of the run is {limit} {noun}"));
        let counts = [
            (limits.calls, "calls", "--max-calls"),
            (limits.tokens, "tokens", "--max-tokens"),
            (limits.seconds, "seconds", "--max-seconds"),
        ];
        let found = counts.into_iter().find_map(|(limit, noun, option)| {
            let limit = limit.filter(|limit| says(*limit, noun))?;
            Some(vec![option.to_owned(), twice(limit)])
        });
        found.or_else(|| {
            let mut costs = limits.cost.iter();
            let (currency, limit) = costs.find(|(currency, limit)| {
                message.contains("the limit of the run is")
                    && message.contains(&format!("{limit} {currency}"))
            })?;
            let raised = limit.times(2).filter(|raised| raised > limit).unwrap_or(*limit);
            Some(vec!["--max-cost".to_owned(), format!("{raised}{currency}")])
        })
    }

    /// Returns the options that raise the limit which ended a run of the loop, to twice as much.
    fn raised_solve(journal: &Journal, code: &str) -> Option<Vec<String>> {
        let problem = journal.parsed_problem().ok().flatten()?;
        let limits = hence_solve::Spec::read(&problem.value).ok()?.limits;
        let twice = |option: &str, limit: Option<u64>| {
            Some(vec![option.to_owned(), limit?.saturating_mul(2).max(1).to_string()])
        };
        match code.strip_prefix("limit_")? {
            "turns" => twice("--max-turns", Some(limits.turns)),
            "tree_turns" => twice("--max-tree-turns", Some(limits.tree_turns)),
            "bytes" => twice("--max-bytes", Some(limits.bytes)),
            "interpreter_seconds" => twice("--max-interpreter-seconds", Some(limits.interpreter_seconds)),
            "calls" => twice("--max-calls", limits.calls.calls),
            "tokens" => twice("--max-tokens", limits.calls.tokens),
            "seconds" => twice("--max-seconds", limits.calls.seconds),
            "cost" => {
                let (currency, limit) = limits.calls.cost.first_key_value()?;
                Some(vec!["--max-cost".to_owned(), format!("{}{currency}", limit.times(2)?)])
            }
            _ => None,
        }
    }

    fn failed(mut self, last: Option<&Chained>, journal: &Journal) -> WhyReport {
        let Some(Record::Step(step)) = last.map(|chained| &chained.record) else {
            let next = self.command(&["verify"]);
            return self.stands("failed", "its loop met its limit".to_owned(), vec![next]);
        };
        let name = step.result.step();
        let errors = match step.result.outcome() {
            Outcome::Failed(errors) => errors.as_slice(),
            _ => &[],
        };
        let why: Vec<String> =
            errors.iter().map(|error| format!("{}: {}", error.code, error.message)).collect();
        self.report.calls = self.called(&step.result);
        let is_retried = self.report.retry.is_some();
        let mut next = vec![hint::command(self.context, &["show", self.id.as_str(), name])];
        let is_reported =
            [RunKind::Variables, RunKind::Trace].iter().any(|kind| self.report.kind == kind.as_str());
        if &**name == hence_solve::END_STEP {
            let raised = errors.first().and_then(|error| Self::raised_solve(journal, &error.code));
            let raised = raised.unwrap_or_default();
            let fork = ["fork", self.id.as_str(), "--from", "end"].into_iter();
            let fork: Vec<&str> = fork.chain(raised.iter().map(String::as_str)).collect();
            next.insert(0, hint::command(self.context, &fork));
        } else if !name.starts_with('$') && !is_reported {
            // The newest retry is the run that continues; it says itself how.
            let retry = self.report.retry.as_deref().map(|retry| ["why", retry]);
            let mut retry = retry.unwrap_or(["retry", self.id.as_str()]).to_vec();
            // The same limit would stop a retry at the same call.
            let exceeded =
                errors.iter().find(|error| &*error.code == BUDGET_EXCEEDED).filter(|_| !is_retried);
            let raised = exceeded.map(|error| Self::raised(journal, &error.message));
            if let Some(Some(raised)) = &raised {
                retry.extend(raised.iter().map(String::as_str));
            }
            if !matches!(raised, Some(None)) {
                next.insert(0, hint::command(self.context, &retry));
            } else if self.report.kind == RunKind::Skill.as_str() {
                let fork = ["fork", self.id.as_str(), "--from", name, "--with", "SKILL.yaml"];
                next.insert(0, hint::command(self.context, &fork));
            }
        }
        if !is_retried && self.report.kind == RunKind::Skill.as_str() && !name.starts_with('$') {
            next.push(hint::command(self.context, &["fork", self.id.as_str(), "--from", name]));
        }
        self.stands("failed", format!("step {name} failed: {}", why.join("; ")), next)
    }

    fn partial(mut self, view: StandingView) -> WhyReport {
        self.report.failures = view.failures;
        let first = view.first_failure.unwrap_or_default();
        let mut next = vec![hint::command(self.context, &["show", self.id.as_str(), &first])];
        match (&self.report.retry, view.has_failed_step) {
            (Some(retry), _) => next.insert(0, hint::command(self.context, &["why", retry])),
            (None, true) => next.insert(0, self.command(&["retry"])),
            (None, false) => {
                next.push(hint::command(self.context, &["fork", self.id.as_str(), "--from", &first]))
            }
        }
        let count = self.report.failures.len();
        let parts = if count == 1 { "a part of it" } else { "parts of it" };
        self.stands(PARTIAL, format!("it completed, although {parts} failed"), next)
    }

    fn blocked(mut self, last: Option<&Chained>) -> WhyReport {
        let Some(Record::Step(step)) = last.map(|chained| &chained.record) else {
            let next = self.command(&["resume"]);
            return self.stands("blocked", "policies block it".to_owned(), vec![next]);
        };
        let messages: Vec<&str> = match step.result.outcome() {
            Outcome::Failed(errors) => errors.iter().map(|error| &*error.message).collect(),
            _ => Vec::new(),
        };
        let name = step.result.step();
        let what = match BlockedAt::of(&step.result) {
            BlockedAt::End => "policies block its completion".to_owned(),
            BlockedAt::BeforeExecution => format!("policies block step {name}, which was not executed"),
            BlockedAt::BetweenCalls => format!("policies stopped step {name} between its calls"),
            BlockedAt::AfterExecution => format!("step {name} was executed, then blocked by policies"),
        };
        self.report.executed = ExecutedCall::of(&step.result, &StoreBlobs(self.store));
        let other = hint::command(self.context, &["resume", self.id.as_str(), "--policy", "FILE"]);
        let is_judged_again = BlockedAt::of(&step.result) != BlockedAt::AfterExecution;
        let next = match is_judged_again || self.report.executed.is_empty() {
            true => vec![self.command(&["resume"]), other],
            false => vec![other],
        };
        self.stands("blocked", format!("{what}: {}", messages.join("; ")), next)
    }

    /// Reports a run that this process may not or cannot read now, which says nothing about its bytes.
    fn unreadable(self, says: String) -> WhyReport {
        let next = vec![self.command(&["why"])];
        self.stands(UNREADABLE, format!("{says}; whether it is whole is not known"), next)
    }

    fn damaged(self, says: String) -> WhyReport {
        let doctor = hint::command(self.context, &["doctor"]);
        let next = vec![self.command(&["verify"]), doctor];
        self.stands("damaged", says, next)
    }

    fn command(&self, words: &[&str]) -> String {
        hint::command(self.context, &[words, &[self.id.as_str()]].concat())
    }

    fn stands(self, standing: &'static str, says: String, commands: Vec<String>) -> WhyReport {
        WhyReport { standing, says, commands, ..self.report }
    }
}

/// Returns whether there is an answer that is not recorded yet.
fn has_answer(history: &CallHistory) -> bool {
    history.calls().any(|(call, status)| {
        &*call.capability == hence_capabilities::HUMAN_ASK && matches!(status, CallStatus::Replied(_))
    })
}

/// Says in a sentence what a run waits for: answers, timers, nested runs.
fn waits_for(waiting: &[WaitingRow]) -> String {
    let of = |about: &str| waiting.iter().filter(|row| row.about == about).count();
    let (timers, nested) = (of("timer"), of("nested"));
    let things = [
        (waiting.len() - timers - nested, "an answer", "answers"),
        (timers, "a timer", "timers"),
        (nested, "a nested run", "nested runs"),
    ];
    let words = things.into_iter().filter_map(|(count, one, many)| match count {
        0 => None,
        1 => Some(one.to_owned()),
        count => Some(format!("{count} {many}")),
    });
    format!("it waits for {}", words.collect::<Vec<_>>().join(" and "))
}
