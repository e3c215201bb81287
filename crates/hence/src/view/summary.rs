//! One run at a glance: question, answer, status, usage, and how it continues.

use hence_canon::Value;
use hence_cognition::budget::{Limits, Usage};
use hence_engine::{RunKind, resolve};
use hence_journal::{Control, Reader, Record};
use hence_server::Window;
use hence_variables::Stored;

use super::Views;
use super::opened::Opened;
use super::projected::{Projected, Subject};
use super::shown::{Budget, Shown};
use super::spans::{status_of_action, time_of_action};
use crate::commands::runs;
use crate::commands::why::{WhyReport, explain};
use crate::interactive::linked;
use crate::kind::{self, Drivable as _, Purpose, StoredSkillRun, StoredSolveRun, whole_records};
use crate::measured::{MeasuredTotals, RunTimes};
use crate::prelude::*;
use crate::target::Journal;
use crate::usage::UsageReport;

/// The most entries of each list in a summary.
const ENTRIES_MAX: usize = 100;

/// The views of a run of the store.
const RUN_VIEWS: [&str; 11] = [
    "records",
    "timeline",
    "story",
    "state",
    "lineage",
    "calls",
    "gaps",
    "policies",
    "review",
    "integrity",
    "waiting",
];

/// The views of a trace that is no run of this store.
const TRACE_VIEWS: [&str; 5] = ["timeline", "story", "lineage", "gaps", "policies"];

/// A run that another one nests, or that was forked from it.
#[derive(Serialize, JsonSchema)]
pub(super) struct ChildRow {
    run: String,
    /// `child`, `fork` or `retry`.
    relation: &'static str,
    status: String,
}

/// A named position.
#[derive(Serialize, JsonSchema)]
pub(super) struct CheckpointRow {
    /// Its name.
    name: String,
    /// The record that names it.
    index: u64,
    /// The record after which it is.
    position: u64,
}

/// The actions of a trace.
#[derive(Serialize, JsonSchema)]
pub(super) struct ActionCounts {
    all: u64,
    failed: u64,
}

/// One run at a glance.
#[derive(Serialize, JsonSchema)]
pub(super) struct RunReport {
    /// The run's id.
    run: String,
    /// `reason`, `skill`, `variables`, `trace` or `unknown`.
    kind: &'static str,
    /// As in the list of runs; `trace` for a trace.
    status: String,
    /// The id of the skill.
    skill: Option<String>,
    /// `strict` or `compat`.
    profile: Option<String>,
    /// The question.
    question: Option<String>,
    /// The answer, as far as there is one.
    answer: Option<Shown>,
    /// The record that has the answer.
    answer_record: Option<u64>,
    /// The number of records.
    records: Option<u64>,
    /// The size of the journal.
    bytes: u64,
    /// The head.
    head: Option<String>,
    /// The bytes of an append that was never finished.
    torn_bytes: u64,
    /// Whether it was made in this store; null where that cannot be said.
    made_here: Option<bool>,
    /// The time its problem states as its creation.
    created_at: Option<String>,
    /// The measured times.
    measured: Option<MeasuredTotals>,
    /// The time between the first and the last measured record.
    wall_ms: Option<u64>,
    /// The usage and the limits.
    usage: Option<UsageReport>,
    /// The reason for its present state, and the commands that continue it.
    why: Option<WhyReport>,
    /// The run that nests it.
    parent: Option<String>,
    /// The run it was forked from.
    origin: Option<String>,
    /// The run it retries.
    retries: Option<String>,
    /// The run that retries it.
    retry: Option<String>,
    /// The runs that it nests, and those that were forked from it.
    children: Vec<ChildRow>,
    /// The named positions.
    checkpoints: Vec<CheckpointRow>,
    /// The actions of a trace; null for a run.
    actions: Option<ActionCounts>,
    /// The views that exist for it.
    views: Vec<&'static str>,
    /// The parts that could not be read, in sentences.
    remarks: Vec<String>,
}

/// Returns the question of a problem.
pub(super) fn question_of(problem: &Value) -> Option<String> {
    let inputs = problem.get("inputs")?;
    let asked = inputs.get("prompt").or_else(|| inputs.get("goal")).and_then(Value::as_str);
    asked.filter(|text| !text.trim().is_empty()).map(|text| text.chars().take(QUESTION_CHARACTERS).collect())
}

/// The characters of a question that are given.
const QUESTION_CHARACTERS: usize = 2000;

/// Returns the id of the skill that a problem pins.
pub(super) fn skill_of(problem: &Value) -> Option<String> {
    let pinned = hence_skills::Pinned::of_value(problem)?;
    Some(pinned.id.to_string())
}

/// Returns the milliseconds between two times of the form of measured ones.
pub(super) fn wall_ms(totals: &MeasuredTotals) -> Option<u64> {
    let read = |text: &Option<String>| text.as_deref()?.parse::<hence_canon::time::Instant>().ok();
    let (first, last) = (read(&totals.first_at)?, read(&totals.last_at)?);
    u64::try_from(last.as_millis().checked_sub(first.as_millis())?).ok()
}

impl Views {
    /// Returns a run at a glance; a brief report leaves out what only the whole journal and the other runs say.
    pub(super) fn run_report(&self, subject: &Subject, is_brief: bool) -> Result<RunReport, CliError> {
        match subject {
            Subject::Run(run) => self.report_of_run(run, is_brief),
            Subject::Trace(trace) => Ok(report_of_trace(trace)),
        }
    }

    fn report_of_run(&self, run: &Opened, is_brief: bool) -> Result<RunReport, CliError> {
        let row = runs::fresh_row(&self.context, &run.store, &run.summary);
        let problem = run.start.parsed_problem().ok().flatten().map(|problem| &problem.value);
        let mut report = RunReport {
            run: row.run,
            kind: if run.start.has_problem() { run.kind().as_str() } else { "unknown" },
            status: row.status,
            skill: problem.and_then(skill_of),
            profile: run.summary.header.as_ref().map(|_| run.profile().name.to_string()),
            question: problem.and_then(question_of),
            answer: None,
            answer_record: None,
            records: row.records,
            bytes: row.bytes,
            head: row.head,
            torn_bytes: run.torn_bytes(),
            made_here: run.store.was_made_here(&run.id).ok(),
            created_at: row.created_at,
            measured: None,
            wall_ms: None,
            usage: None,
            why: None,
            parent: row.parent,
            origin: row.origin,
            retries: row.retries,
            retry: row.retry,
            children: Vec::new(),
            checkpoints: Vec::new(),
            actions: None,
            views: RUN_VIEWS.to_vec(),
            remarks: Vec::new(),
        };
        if !is_brief {
            self.add_whole(run, &mut report);
            report.children = self.children_of(run)?;
        }
        Ok(report)
    }

    /// Adds what only the whole journal says.
    fn add_whole(&self, run: &Opened, report: &mut RunReport) {
        match explain(&self.context, &run.store, &run.id) {
            Ok(mut why) => {
                why.calls.truncate(ENTRIES_MAX);
                why.decisions.truncate(ENTRIES_MAX);
                why.failures.truncate(ENTRIES_MAX);
                if !Budget::of(Window { from: 0, limit: 1 }).take(&why) {
                    why.waiting.clear();
                    let says =
                        "the questions are too long to be listed here; the list of what waits has them";
                    report.remarks.push(says.to_owned());
                }
                report.why = Some(why);
            }
            Err(error) => report.remarks.push(error.message),
        }
        let journal = match run.whole() {
            Ok(journal) => journal,
            Err(error) => return report.remarks.push(error.message),
        };
        let times = RunTimes::of(&journal);
        let totals = times.totals();
        report.wall_ms = wall_ms(&totals);
        report.measured = Some(totals);
        report.remarks.extend(times.remarks);
        report.checkpoints = checkpoints(&journal);
        match kind::open(&journal, &[], Purpose::Read) {
            Ok(open) => report.usage = Some(open.usage(&journal)),
            Err(error) => report.remarks.push(error.message),
        }
        match answer(&self.context, &journal) {
            Ok(Some((answer, record))) => {
                report.answer = Some(Shown::of(&answer));
                report.answer_record = record;
            }
            Ok(None) => {}
            Err(error) => report.remarks.push(error.message),
        }
    }

    fn children_of(&self, run: &Opened) -> Result<Vec<ChildRow>, CliError> {
        let cards = self.cards()?;
        let named = |name: &Option<String>| name.as_deref() == Some(run.name());
        let child = |card: &std::sync::Arc<super::cards::Card>| {
            let row = &card.row;
            let relation = match () {
                () if named(&row.parent) => "child",
                () if named(&row.origin) => "fork",
                () if named(&row.retries) => "retry",
                () => return None,
            };
            Some(ChildRow { run: row.run.clone(), relation, status: row.status.clone() })
        };
        Ok(cards.iter().filter_map(child).take(ENTRIES_MAX).collect())
    }
}

fn checkpoints(journal: &Journal) -> Vec<CheckpointRow> {
    let Ok((_, reader)) = Reader::open(&journal.bytes) else { return Vec::new() };
    let found = reader.map_while(Result::ok).filter_map(|chained| match chained.record {
        Record::Control(Control::Checkpoint(control)) => Some(CheckpointRow {
            name: control.name.to_string(),
            index: chained.index.get(),
            position: control.position.get(),
        }),
        _ => None,
    });
    found.take(ENTRIES_MAX * 10).collect()
}

/// Returns the answer of a run, and its record where that is one.
fn answer(context: &Context, journal: &Journal) -> Result<Option<(Value, Option<u64>)>, CliError> {
    match journal.kind {
        RunKind::Trace => Ok(None),
        RunKind::Variables => {
            let read = linked::read(context, &journal.name)?;
            let state = read.as_ref().and_then(|run| run.workspace().state(run.first_state()?));
            let stored = state.map(|state| &state.final_answer().stored);
            Ok(stored.map(Stored::shown).filter(|answer| !answer.is_null()).map(|answer| (answer, None)))
        }
        RunKind::Solve => {
            let stored = StoredSolveRun::open(journal, Purpose::Read)?;
            let run = stored.read_back(journal)?;
            Ok(run.program().progress().variables().answer().map(|answer| (answer, None)))
        }
        RunKind::Skill => {
            let stored = StoredSkillRun::require(journal)?;
            let program = stored.program().map_err(hence_engine::ResumeError::from);
            let records = whole_records(&journal.bytes);
            let run = program
                .and_then(|program| {
                    kind::with_blobs(journal, |blobs| hence_engine::Run::resume(program, records, blobs))
                })
                .map_err(|error| CliError::resume(&journal.name, error))?;
            let program = run.program();
            let state = if run.has_ended() { program.report().state } else { program.execution().clone() };
            let outputs = state.memory.outputs().to_object();
            let answer = state.answer().cloned();
            let outputs = (!outputs.is_empty()).then(|| outputs.into());
            Ok(answer.or(outputs).map(|answer| (answer, None)))
        }
        RunKind::Reason => {
            let problem = journal.required_problem()?;
            let mut record = None;
            let state = hence_engine::Engine::new()
                .fold_states(whole_records(&journal.bytes), problem, None, |folded| {
                    if folded.key == "synthesis" && folded.state.artifacts().newest("synthesis").is_some() {
                        record = Some(folded.index.get());
                    }
                })
                .map_err(|error| CliError::resume(&journal.name, error))?;
            let newest = state.artifacts().newest("synthesis");
            let answer =
                newest.map(|value| kind::with_blobs(journal, |blobs| resolve(value, blobs))).transpose()?;
            Ok(answer.map(|answer| (answer, record)))
        }
    }
}

fn report_of_trace(projected: &Projected) -> RunReport {
    let trace = &projected.trace;
    let text = |key: &str| trace.entry().text(key).map(str::to_owned);
    let event = |key: &str| {
        let event = trace.entry().object(key)?;
        let words = ["description", "summary"].iter().find_map(|key| event.get(key)?.as_str());
        words.map(|words| words.chars().take(QUESTION_CHARACTERS).collect::<String>())
    };
    let failed = trace.actions().iter().filter(|action| status_of_action(action) == Some("failed"));
    let times = || trace.actions().iter().filter_map(time_of_action).map(|at| at.as_millis());
    let wall_ms = times().min().zip(times().max()).filter(|(first, last)| first < last);
    let wall_ms = wall_ms.and_then(|(first, last)| u64::try_from(last.checked_sub(first)?).ok());
    let metrics = trace.entry().object("metrics");
    let usage = metrics.map(|metrics| UsageReport::of(&Usage::of_meta(metrics), &Limits::default()));
    RunReport {
        run: trace.trace_id().unwrap_or("trace").to_owned(),
        kind: "trace",
        status: "trace".to_owned(),
        skill: None,
        profile: None,
        question: event("trigger"),
        answer: event("outcome").map(|words| Shown::of(&Value::from(words))),
        answer_record: None,
        records: None,
        bytes: 0,
        head: None,
        torn_bytes: 0,
        made_here: None,
        created_at: text("timestamp"),
        measured: None,
        wall_ms,
        usage: usage.filter(|usage| usage.tokens_in + usage.tokens_out > 0 || !usage.cost.is_empty()),
        why: None,
        parent: None,
        origin: None,
        retries: None,
        retry: None,
        children: Vec::new(),
        checkpoints: Vec::new(),
        actions: Some(ActionCounts { all: trace.actions().len() as u64, failed: failed.count() as u64 }),
        views: TRACE_VIEWS.to_vec(),
        remarks: Vec::new(),
    }
}
