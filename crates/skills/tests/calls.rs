//! Intents, crashes and answers: wherever a run is cut off, no call with a recorded reply is made again, and no call
//! that acts is repeated without the rule for undecided calls.
//!
//! One file, because every test cuts the same world at the same points.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop"
)]

mod support;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use hence_canon::{Canonical, Object};
use hence_cognition::budget::{Limits, Usage};
use hence_cognition::capability::{CapabilitySpec, Registry};
use hence_cognition::run::{
    Call, CallError, CallOutcome, Capabilities, MadeCall, Prepared, Reply, StepOutcome,
};
use hence_cognition::skill::Skill;
use hence_engine::{
    Blobs, Determinism, Driven, Evidence, MemorySink, NoBlobs, NoMeter, Pause, Run, Sink, SinkError, replay,
};
use hence_journal::{Durability, Sealed};
use hence_skills::{
    Answer, CallHistory, CallLog, CallStatus, Driver, Effect, EffectiveRecord, Entry, Host, NeverStop,
    NoChildRuns, SkillProgram, Stop, reaches_out,
};
use hence_state::{ProblemSpec, Status};
use support::{Made, Worker, document, made, new_run};

/// An event of a run, in the order of their occurrence.
#[derive(Clone, Debug)]
enum Event {
    Record(Vec<u8>),
    Line(Vec<u8>),
    Effect(String),
}

#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<Event>>>);

impl Events {
    fn push(&self, event: Event) {
        self.0.lock().unwrap().push(event);
    }

    fn all(&self) -> Vec<Event> {
        self.0.lock().unwrap().clone()
    }
}

/// Capabilities: `act` changes the world, `look` reads it, `ask` asks a person, `flaky` acts and fails the first time,
/// `lost` acts and never says so, `list` acts and answers no object, `echo` is pure.
#[derive(Default)]
struct World {
    events: Events,
    recovery: &'static str,
    /// Whether `act` fails for certain.
    is_broken: bool,
}

impl Registry for World {
    fn capability(&self, id: &str) -> Option<Arc<CapabilitySpec>> {
        ["act", "look", "ask", "flaky", "lost", "list", "echo"]
            .contains(&id)
            .then(|| Arc::new(CapabilitySpec::default()))
    }

    fn skill(&self, id: &str) -> Option<Arc<Skill>> {
        let step = r#"{"id": "deep", "uses": "act", "input": {"x": "inputs.x"}, "output": {"x": "outputs.x"}, "config": {"recovery": "RECOVERY"}}"#;
        let steps = format!("[{}]", step.replace("RECOVERY", self.recovery));
        (id == "inner").then(|| Arc::new(Skill::read(&document("inner", &steps)).skill.unwrap()))
    }
}

impl Host for World {
    fn determinism(&self, capability: &str) -> Determinism {
        if capability == "echo" { Determinism::Deterministic } else { Determinism::Recorded }
    }

    fn effect(&self, capability: &str) -> Effect {
        match capability {
            "echo" => Effect::Pure,
            "look" => Effect::Reads,
            "ask" => Effect::Asks,
            _ => Effect::Acts,
        }
    }

    fn worker(&self) -> Box<dyn Capabilities + Send + '_> {
        Box::new(Worker(self))
    }
}

impl support::World for World {
    fn carry_out(&self, call: &Call<'_>) -> Result<Reply, CallError> {
        let reply = Ok(Reply { output: call.input.clone(), meta: Object::new() });
        match &**call.capability {
            "ask" => return Err(CallError::Waiting("who knows".into())),
            "act" if self.is_broken => {
                return Err(CallError::Failed { class: "CommandFailed".into(), message: "boom".into() });
            }
            "act" => self.events.push(Event::Effect(call.idempotency_key())),
            "list" => {
                self.events.push(Event::Effect(call.idempotency_key()));
                return Ok(Reply { output: vec![1].into(), meta: Object::new() });
            }
            "lost" => {
                self.events.push(Event::Effect(call.idempotency_key()));
                return Err(CallError::TimedOut(call.timeout_seconds).undecided());
            }
            "flaky" => {
                self.events.push(Event::Effect(call.key()));
                if call.attempt == 1 {
                    return Err(CallError::Failed { class: "Busy".into(), message: "later".into() });
                }
            }
            _ => {}
        }
        reply
    }
}

/// The bytes on disk: the journal and the call log.
#[derive(Clone, Default)]
struct Disk {
    journal: Vec<u8>,
    lines: Vec<u8>,
}

impl Disk {
    /// Returns the bytes on disk and the effects so far when the process dies after `count` events.
    fn after(events: &[Event], count: usize) -> (Self, Vec<String>) {
        let (mut disk, mut effects) = (Self::default(), Vec::new());
        for event in &events[..count] {
            match event {
                Event::Record(line) => disk.journal.extend_from_slice(line),
                Event::Line(line) => disk.lines.extend_from_slice(line),
                Event::Effect(key) => effects.push(key.clone()),
            }
        }
        (disk, effects)
    }
}

struct EventSink {
    events: Events,
    memory: MemorySink,
}

impl Sink for EventSink {
    fn append(&mut self, record: &Sealed) -> Result<(), SinkError> {
        self.events.push(Event::Record(record.line().to_vec()));
        self.memory.append(record)
    }

    fn put_blob(&mut self, value: &Canonical) -> Result<(), SinkError> {
        self.memory.put_blob(value)
    }

    fn blobs(&self) -> &dyn Blobs {
        self.memory.blobs()
    }
}

struct Case {
    problem: Arc<ProblemSpec>,
    prepared: Prepared,
    source: Canonical,
    recovery: &'static str,
    limits: Limits,
    is_broken: bool,
}

/// The outcome of driving a run, and the bytes it left.
struct Went {
    disk: Disk,
    events: Vec<Event>,
    status: Option<Status>,
    pause: Option<Pause>,
    durable: u64,
}

impl Went {
    fn effects(&self) -> Vec<String> {
        Disk::after(&self.events, self.events.len()).1
    }

    fn history(&self) -> CallHistory {
        CallHistory::read(&self.disk.lines).unwrap()
    }
}

impl Case {
    fn new(steps: &str, recovery: &'static str) -> Self {
        let steps = steps.replace("RECOVERY", recovery);
        let world = World { recovery, ..World::default() };
        let source = Canonical::of(&document("main", &steps));
        let Made { problem, prepared, source } = made(source, &world, &new_run("run-1"));
        assert!(reaches_out(prepared.skill(), &world));
        Self { problem, prepared, source, recovery, limits: Limits::default(), is_broken: false }
    }

    /// Asserts that a replay of a journal computes the same records and calls nobody.
    fn assert_replays(&self, journal: &[u8]) {
        let world = World { recovery: self.recovery, ..World::default() };
        let program = SkillProgram::new(self.problem.clone(), &self.prepared, &self.source, &world).unwrap();
        let found = replay(program, &Evidence::of_journal(journal, &NoBlobs)).unwrap();
        assert_eq!((found.difference.map(|difference| difference.line), world.events.all().len()), (None, 0));
    }

    /// Returns the outcomes in a journal that list their calls.
    fn troubled(journal: &[u8]) -> Vec<StepOutcome> {
        let records = hence_skills::effective_records(journal).unwrap();
        let read = |record: &EffectiveRecord| hence_skills::recorded_outcome(&record.result, &NoBlobs).ok();
        records.iter().filter_map(read).filter(|outcome| !outcome.calls.is_empty()).collect()
    }

    /// Returns the lines with which a retry of the run begins.
    fn retry_lines(&self, journal: &[u8]) -> Vec<Entry> {
        let world = World { recovery: self.recovery, ..World::default() };
        let outcomes = Self::troubled(journal);
        hence_skills::retry_log(self.prepared.skill(), &world, &outcomes, &CallHistory::default())
    }

    fn go(&self, disk: &Disk) -> Went {
        self.go_until(disk, &NeverStop)
    }

    /// Continues a run from the bytes on disk.
    fn go_until(&self, disk: &Disk, stop: &dyn Stop) -> Went {
        let events = Events::default();
        let world = World { events: events.clone(), recovery: self.recovery, is_broken: self.is_broken };
        let durable = Mutex::new(0);
        let mut history = CallHistory::read(&disk.lines).unwrap();
        let mut sink = EventSink { events: events.clone(), memory: MemorySink::default() };
        let run = if disk.journal.is_empty() {
            let (run, header) = Run::start(
                SkillProgram::new(self.problem.clone(), &self.prepared, &self.source, &world).unwrap(),
            )
            .unwrap();
            sink.append(&header).unwrap();
            run
        } else {
            let (problem, blobs) = (self.problem.clone(), MemorySink::default());
            Run::resume(
                SkillProgram::new(problem, &self.prepared, &self.source, &world).unwrap(),
                &disk.journal,
                blobs.blobs(),
            )
            .unwrap()
        };
        let recorded: Vec<_> =
            run.program().outcomes().iter().map(|outcome| outcome.step_id.clone()).collect();
        history.forget(|step| recorded.iter().any(|recorded| &**recorded == step));
        let log = CallLog::new(history, |line, durability| {
            *durable.lock().unwrap() += u64::from(durability == Durability::Synced);
            events.push(Event::Line(line.to_vec()));
            Ok(())
        });
        let workers = NonZeroUsize::new(4).unwrap();
        let (mut status, mut pause) = (None, None);
        if run.has_ended() {
            status = Some(run.state().status());
        } else {
            let driver = Driver { workers, log: &log, stop, children: &NoChildRuns, meter: &NoMeter };
            let limits = (&self.limits, &Usage::default());
            match driver.drive_within(limits, run, &mut sink, |_| {}).unwrap() {
                Driven::Finished(run) => status = Some(run.state().status()),
                Driven::Paused(_, why) => pause = Some(why),
                Driven::Blocked(_, blocked) => panic!("{blocked}"),
            }
        }
        let events = events.all();
        let (more, _) = Disk::after(&events, events.len());
        let disk = Disk {
            journal: [&disk.journal[..], &more.journal].concat(),
            lines: [&disk.lines[..], &more.lines].concat(),
        };
        let durable = *durable.lock().unwrap();
        Went { disk, events, status, pause, durable }
    }

    fn answer(&self, disk: &mut Disk, key: &str, answer: Answer) {
        let history = CallHistory::read(&disk.lines).unwrap();
        history.check(key, &answer).unwrap();
        disk.lines.extend(Entry::Answer { key: key.into(), answer, by: None }.line());
    }
}

const EFFECTS: &str = r#"[
    {"id": "first", "uses": "act", "input": {"v": 1}, "output": {"v": "vars.a"}, "config": {"depends_on": [], "recovery": "RECOVERY"}},
    {"id": "look", "uses": "look", "input": {"v": 2}, "output": {"v": "vars.b"}, "config": {"depends_on": []}},
    {"id": "pure", "uses": "echo", "input": {"v": 3}, "output": {"v": "vars.c"}, "config": {"depends_on": []}},
    {"id": "each", "uses": "act", "input": {}, "output": {"item": "vars.items"}, "config": {"depends_on": ["first"], "recovery": "RECOVERY", "foreach": {"items": "[1, 2, 3]", "parallel": 2}}},
    {"id": "route", "uses": "echo", "input": {"v": 4}, "output": {"v": "vars.d"}, "config": {"recovery": "RECOVERY", "router": {"on": "vars.a", "cases": {"1": "act"}, "default": "echo"}}},
    {"id": "spread", "uses": "echo", "input": {"v": 5}, "config": {"recovery": "RECOVERY", "scatter": {"capabilities": ["act", "echo"]}}},
    {"id": "again", "uses": "flaky", "input": {"v": 6}, "output": {"v": "vars.e"}, "config": {"recovery": "RECOVERY", "retry": {"max_attempts": 3, "on": ["Busy"]}}},
    {"id": "nested", "uses": "skill:inner", "input": {"x": 7}, "output": {"x": "outputs.x"}}
]"#;

/// Counts how often each effect happened.
fn counted(effects: impl IntoIterator<Item = String>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    effects.into_iter().for_each(|key| *counts.entry(key).or_default() += 1);
    counts
}

#[test]
fn a_crash_at_every_point_with_recovery_retry_ends_in_the_same_bytes() {
    let case = Case::new(EFFECTS, "retry");
    let whole = case.go(&Disk::default());
    assert_eq!(whole.status, Some(Status::Completed));
    let wanted = counted(whole.effects());
    assert_eq!(wanted.len(), 9, "first, three items, route, spread, two attempts, nested");
    let mut unsaid = 0;
    for count in 1..=whole.events.len() {
        let (disk, before) = Disk::after(&whole.events, count);
        let went = case.go(&disk);
        assert_eq!(went.status, Some(Status::Completed), "behind {count} events");
        // A repetition that fails does not say what became of the attempt before it.
        let is_undecided = Case::troubled(&went.disk.journal)
            .iter()
            .flat_map(|outcome| &outcome.calls)
            .any(|call| call.outcome() == CallOutcome::Undecided && &*call.capability == "flaky");
        assert!(is_undecided || went.disk.journal == whole.disk.journal, "behind {count} events");
        unsaid += usize::from(is_undecided);
        let counts = counted(before.into_iter().chain(went.effects()));
        assert_eq!(counts.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>());
        // Only a call that was in progress may happen twice, and it has the same idempotency key.
        assert!(counts.values().all(|times| *times <= 2), "behind {count} events: {counts:?}");
    }
    assert_eq!(unsaid, 2, "after the intent of the attempt that fails, and after its effect");
}

#[test]
fn a_crash_at_every_point_with_recovery_ask_does_nothing_twice() {
    let case = Case::new(EFFECTS, "ask");
    let whole = case.go(&Disk::default());
    let wanted = counted(whole.effects());
    let mut undecided = 0;
    for count in 1..=whole.events.len() {
        let (disk, before) = Disk::after(&whole.events, count);
        let (all, questions) = to_the_end(&case, &whole, &disk, before);
        undecided += questions;
        let counts = counted(all);
        assert!(counts.values().all(|times| *times == 1), "behind {count} events: {counts:?}");
        assert!(counts.keys().all(|key| wanted.contains_key(key)));
    }
    assert!(undecided > 0);
}

/// Answers every question of a run truthfully, as often as it asks, and returns the effects of the whole.
fn to_the_end(case: &Case, whole: &Went, disk: &Disk, before: Vec<String>) -> (Vec<String>, usize) {
    let (mut all, mut questions) = (before, 0);
    let mut went = case.go(disk);
    all.extend(went.effects());
    while went.status.is_none() {
        let (open, mut disk) = (went.history(), went.disk.clone());
        questions += answer_truthfully(case, whole, &open, &mut disk, &all);
        went = case.go(&disk);
        all.extend(went.effects());
    }
    (all, questions)
}

fn answer_truthfully(
    case: &Case,
    whole: &Went,
    history: &CallHistory,
    disk: &mut Disk,
    all: &[String],
) -> usize {
    let open: Vec<_> = history.undecided().cloned().collect();
    assert!(!open.is_empty(), "a run that waits asks something");
    for call in &open {
        let happened = wanted_by(disk, &call.key).iter().any(|name| all.contains(name));
        let answer = if happened { done(whole, &call.key) } else { Answer::Retry };
        case.answer(disk, &call.key, answer);
    }
    open.len()
}

#[test]
fn a_crash_while_a_call_is_repeated_asks_again() {
    let steps = r#"[
        {"id": "first", "uses": "act", "input": {"v": 1}, "output": {"v": "vars.a"}, "config": {"recovery": "RECOVERY"}},
        {"id": "each", "uses": "act", "input": {}, "output": {"item": "vars.items"}, "config": {"recovery": "RECOVERY", "foreach": {"items": "[1, 2]"}}}
    ]"#;
    let case = Case::new(steps, "ask");
    let whole = case.go(&Disk::default());
    let mut questions = 0;
    for first in 1..=whole.events.len() {
        let (disk, before) = Disk::after(&whole.events, first);
        let went = case.go(&disk);
        if went.status.is_some() {
            continue;
        }
        let all: Vec<String> = before.into_iter().chain(went.effects()).collect();
        let mut disk = went.disk.clone();
        questions += answer_truthfully(&case, &whole, &went.history(), &mut disk, &all);
        let second = case.go(&disk);
        // The person has decided; the process that acts on it dies at every point, and so does the one after it.
        for cut in 0..=second.events.len() {
            let (more, effects) = Disk::after(&second.events, cut);
            let disk = Disk {
                journal: [&disk.journal[..], &more.journal].concat(),
                lines: [&disk.lines[..], &more.lines].concat(),
            };
            let before: Vec<String> = all.iter().cloned().chain(effects).collect();
            let (all, more) = to_the_end(&case, &whole, &disk, before);
            questions += more;
            let counts = counted(all);
            assert!(
                counts.len() == 3 && counts.values().all(|times| *times == 1),
                "behind {first} events and {cut} more: {counts:?}"
            );
        }
    }
    assert!(questions > 10, "{questions}");
}

#[test]
fn a_call_that_a_person_had_repeated_says_so_in_its_record() {
    let steps = r#"[{"id": "pay", "uses": "act", "input": {"v": 1}, "output": {"v": "outputs.v"}, "config": {"recovery": "ask"}}]"#;
    let case = Case::new(steps, "ask");
    let whole = case.go(&Disk::default());
    // Header, intent: the process dies before the effect. Whoever is asked has it repeated, and so dies the next one.
    let (mut disk, _) = Disk::after(&whole.events, 2);
    for round in 1..3 {
        let asked = case.go(&disk);
        let key = asked.history().undecided().next().unwrap().key.clone();
        disk = asked.disk;
        disk.lines
            .extend(Entry::Answer { key: key.clone(), answer: Answer::Retry, by: Some("ada".into()) }.line());
        let went = case.go(&disk);
        let journal = String::from_utf8(went.disk.journal).unwrap();
        let said = format!(r#""begun":{},"decided":"retry","decided_by":"ada""#, round + 1);
        assert!(journal.contains(&said), "round {round}: {journal}");
        let (more, _) = Disk::after(&went.events, 1);
        disk.lines.extend(more.lines);
    }
}

#[test]
fn a_call_that_is_lost_while_it_is_made_follows_its_recovery_and_not_the_retry_rule() {
    let steps = r#"[{"id": "pay", "uses": "lost", "input": {"v": 1}, "output": {"v": "outputs.v"}, "config": {"recovery": "RECOVERY", "retry": {"max_attempts": 3, "backoff_seconds": 0}}}]"#;
    let asked = Case::new(steps, "ask");
    let mut went = asked.go(&Disk::default());
    for round in 1..4 {
        assert_eq!((went.status, went.effects().len()), (None, 1), "round {round}");
        let history = went.history();
        let (call, question) = history.questions().next().unwrap();
        assert!(question.reason.as_deref().unwrap().contains("no reply within"), "{question:?}");
        assert!(history.intent(&call.key).unwrap().input.is_some(), "the person sees the input");
        asked.answer(&mut went.disk, &call.key.clone(), Answer::Retry);
        went = asked.go(&went.disk);
    }
    let failed = Case::new(steps, "fail").go(&Disk::default());
    assert_eq!((failed.status, failed.effects().len()), (Some(Status::Failed), 1));
    assert!(String::from_utf8(failed.disk.journal).unwrap().contains("may have taken effect"));
    // Whoever declares that the call may be repeated leaves how often to the retry rule.
    let retried = Case::new(steps, "retry").go(&Disk::default());
    assert_eq!((retried.status, retried.effects().len()), (Some(Status::Failed), 3));
}

/// A step that calls `act` itself, in a loop, or in a nested skill.
const ONE_DEED: [&str; 3] = [
    r#"[{"id": "pay", "uses": "act", "input": {"v": 1}, "output": {"v": "outputs.v"}, "config": {"recovery": "RECOVERY", "retry": {"max_attempts": 3, "backoff_seconds": 0}}}]"#,
    r#"[{"id": "pay", "uses": "act", "input": {}, "output": {"item": "outputs.v"}, "config": {"recovery": "RECOVERY", "foreach": {"items": "[1]", "on_error": "continue"}}}]"#,
    r#"[{"id": "pay", "uses": "skill:inner", "input": {"x": 7}, "output": {"x": "outputs.x"}}]"#,
];

/// Returns the calls that act in the record of the only step.
fn acting(journal: &[u8]) -> Vec<MadeCall> {
    Case::troubled(journal).iter().flat_map(StepOutcome::acting_calls).cloned().collect()
}

#[test]
fn an_undecided_call_stays_undecided_when_its_repetition_is_refused_or_fails() {
    let none = Limits::default();
    let ways = [("refused", Limits { calls: Some(1), ..none.clone() }, false, 1), ("failed", none, true, 2)];
    for (steps, recovery) in ONE_DEED.iter().flat_map(|steps| [(steps, "ask"), (steps, "retry")]) {
        for (way, limits, is_broken, begun) in ways.clone() {
            let what = format!("{way} with recovery {recovery}: {steps}");
            let whole = Case::new(steps, recovery).go(&Disk::default());
            // Header, intent, effect: the process dies before the reply.
            let (mut disk, effects) = Disk::after(&whole.events, 3);
            assert_eq!(effects.len(), 1, "{what}");
            let case = Case { limits, is_broken, ..Case::new(steps, recovery) };
            if recovery == "ask" {
                let asked = case.go(&disk);
                assert_eq!(asked.status, None, "{what}");
                disk = asked.disk;
                let key = CallHistory::read(&disk.lines).unwrap().undecided().next().unwrap().key.clone();
                disk.lines
                    .extend(Entry::Answer { key, answer: Answer::Retry, by: Some("ada".into()) }.line());
            }
            let ended = case.go(&disk);
            assert!(ended.status.is_some() && ended.effects().is_empty(), "{what}");
            let calls = acting(&ended.disk.journal);
            let first = &calls[0];
            assert_eq!((first.outcome(), first.begun), (CallOutcome::Undecided, begun), "{what}: {calls:?}");
            assert!(!first.idempotency_key.is_empty() && first.input.as_object().is_some(), "{what}");
            let by = (recovery == "ask").then_some("ada");
            assert_eq!((first.decided_by(), first.decided()), (by, by.map(|_| "retry")), "{what}");
            let said = first.reply.as_ref().unwrap_err().to_string();
            assert!(said.contains(if is_broken { "boom" } else { "the limit of the run" }), "{what}: {said}");
            assert!(said.contains("may have taken effect"), "{what}: {said}");
            let is_undecided = |call: &MadeCall| call.outcome() == CallOutcome::Undecided;
            assert!(calls.iter().skip(1).all(|call| is_broken && !is_undecided(call)), "{what}: {calls:?}");
            case.assert_replays(&ended.disk.journal);
            // A retry knows that it was begun, and asks unless its recovery repeats it.
            if ended.status == Some(Status::Failed) {
                let mut history = Vec::new();
                case.retry_lines(&ended.disk.journal).iter().for_each(|entry| history.extend(entry.line()));
                let history = CallHistory::read(&history).unwrap();
                assert_eq!(history.undecided().count(), 1, "{what}");
                assert_eq!(history.questions().count(), usize::from(recovery == "ask"), "{what}");
            }
        }
    }
}

#[test]
fn a_repetition_that_replies_decides_the_call() {
    for steps in ONE_DEED {
        let case = Case::new(steps, "ask");
        let whole = case.go(&Disk::default());
        let asked = case.go(&Disk::after(&whole.events, 3).0);
        let mut disk = asked.disk;
        let key = CallHistory::read(&disk.lines).unwrap().undecided().next().unwrap().key.clone();
        case.answer(&mut disk, &key, Answer::Retry);
        let ended = case.go(&disk);
        assert_eq!(ended.status, Some(Status::Completed));
        let journal = String::from_utf8(ended.disk.journal.clone()).unwrap();
        assert!(journal.contains(r#""status":"replied""#) && journal.contains(r#""begun":2"#), "{journal}");
        case.assert_replays(&ended.disk.journal);
    }
}

#[test]
fn a_call_that_acts_and_answers_no_object_is_undecided_and_not_repeated() {
    let steps = r#"[{"id": "pay", "uses": "list", "input": {"v": 1}, "output": {"v": "outputs.v"}, "config": {"recovery": "RECOVERY", "retry": {"max_attempts": 3, "backoff_seconds": 0}}}]"#;
    let asked = Case::new(steps, "ask").go(&Disk::default());
    assert_eq!((asked.status, asked.effects().len()), (None, 1));
    let history = asked.history();
    let reason = history.questions().next().unwrap().1.reason.clone().unwrap();
    assert!(reason.contains("it gives an object, found"), "{reason}");
    for recovery in ["fail", "retry"] {
        let failed = Case::new(steps, recovery).go(&Disk::default());
        assert_eq!((failed.status, failed.effects().len()), (Some(Status::Failed), 1), "{recovery}");
        assert_eq!(acting(&failed.disk.journal)[0].outcome(), CallOutcome::Undecided, "{recovery}");
    }
}

#[test]
fn every_time_a_call_was_begun_counts_as_a_call() {
    let case = Case::new(ONE_DEED[0], "ask");
    let whole = case.go(&Disk::default());
    let mut disk = Disk::after(&whole.events, 3).0;
    for _ in 0..2 {
        let asked = case.go(&disk);
        disk = asked.disk;
        let key = CallHistory::read(&disk.lines).unwrap().undecided().next().unwrap().key.clone();
        case.answer(&mut disk, &key, Answer::Retry);
        let killed = case.go(&disk);
        // Only the intent of the repetition is on disk when the process dies.
        disk.lines.extend(Disk::after(&killed.events, 1).0.lines);
    }
    let history = CallHistory::read(&disk.lines).unwrap();
    let world = World { recovery: "ask", ..World::default() };
    assert_eq!(hence_skills::logged_usage(&world, &history).calls, 3);
    let key = history.undecided().next().unwrap().key.clone();
    case.answer(&mut disk, &key, done(&whole, &key));
    let ended = case.go(&disk);
    let outcomes = Case::troubled(&ended.disk.journal);
    let used: Vec<u64> =
        outcomes.iter().map(|outcome| hence_skills::recorded_usage(outcome, &world).calls).collect();
    assert_eq!(used, [3]);
    case.assert_replays(&ended.disk.journal);
}

#[test]
fn the_time_of_a_call_that_ends_undecided_is_logged_where_seconds_are_limited() {
    let steps = r#"[{"id": "pay", "uses": "lost", "input": {"v": 1}, "output": {"v": "outputs.v"}, "config": {"recovery": "RECOVERY"}}]"#;
    for recovery in ["ask", "fail", "retry"] {
        let limits = Limits { seconds: Some(100), ..Limits::default() };
        let went = Case { limits, ..Case::new(steps, recovery) }.go(&Disk::default());
        let lines = String::from_utf8(went.disk.lines).unwrap();
        assert!(lines.contains(r#""kind":"spent""#), "{recovery}: {lines}");
    }
}

/// Returns the names under which the effect of a call is counted.
fn wanted_by(disk: &Disk, key: &str) -> Vec<String> {
    let lines = disk.lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let intent = |line: &[u8]| match Entry::read(line).unwrap() {
        Entry::Intent { call, intent } if &*call.key == key => Some(intent.idempotency_key.to_string()),
        _ => None,
    };
    lines.filter_map(intent).chain([key.to_owned()]).collect()
}

/// Returns the answer that confirms a call, with its reply in an undisturbed run.
fn done(whole: &Went, key: &str) -> Answer {
    match whole.history().status(key) {
        Some(CallStatus::Replied(Ok(reply))) => Answer::Done(reply.output.as_object().unwrap().clone()),
        Some(CallStatus::Replied(Err(_))) => Answer::Fail,
        other => panic!("{key}: {other:?}"),
    }
}

#[test]
fn a_crash_with_recovery_fail_fails_the_step_and_calls_nothing_again() {
    let steps = r#"[{"id": "pay", "uses": "act", "input": {"v": 1}, "output": {"v": "outputs.v"}, "config": {"recovery": "fail", "retry": {"max_attempts": 3}}}]"#;
    let case = Case::new(steps, "fail");
    let whole = case.go(&Disk::default());
    // Header, intent, effect: the process dies before the reply.
    let (disk, _) = Disk::after(&whole.events, 3);
    let went = case.go(&disk);
    assert_eq!((went.status, went.effects().len()), (Some(Status::Failed), 0));
    assert!(String::from_utf8(went.disk.journal).unwrap().contains("undecided after a crash"));
}

#[test]
fn pure_and_reading_calls_write_no_intents_and_every_act_is_durable_before_it_happens() {
    let case = Case::new(EFFECTS, "ask");
    let whole = case.go(&Disk::default());
    let mut intended = Vec::new();
    for event in &whole.events {
        match event {
            Event::Line(line) => {
                if let Entry::Intent { call, intent } = Entry::read(&line[..line.len() - 1]).unwrap() {
                    assert!(!["look", "echo"].contains(&&*call.capability));
                    intended.push((call.key.to_string(), intent.idempotency_key.to_string()));
                }
            }
            Event::Effect(name) => {
                assert!(intended.iter().any(|(key, idempotency)| key == name || idempotency == name));
            }
            Event::Record(_) => {}
        }
    }
    assert_eq!((intended.len() as u64, whole.durable), (9, 9));
    // Two attempts have the same idempotency key.
    let distinct: std::collections::BTreeSet<_> = intended.iter().map(|(_, key)| key).collect();
    assert_eq!(distinct.len(), 8);
}

const PEOPLE: &str = r#"[
    {"id": "act", "uses": "act", "input": {"v": 1}, "output": {"v": "vars.a"}, "config": {"recovery": "RECOVERY"}},
    {"id": "approve", "uses": "ask", "input": {"question": "Go?"}, "output": {"value": "vars.go", "by": "vars.by"}},
    {"id": "aside", "uses": "act", "input": {"v": 2}, "output": {"v": "vars.b"}, "config": {"depends_on": [], "recovery": "RECOVERY"}},
    {"id": "pure", "uses": "echo", "input": {"v": 3}, "output": {"v": "vars.c"}, "config": {"depends_on": []}},
    {"id": "end", "uses": "act", "input": {"go": "vars.go"}, "output": {"go": "outputs.go"}, "config": {"depends_on": ["approve", "aside", "pure"], "recovery": "RECOVERY"}}
]"#;

#[test]
fn a_run_waits_for_an_answer_and_goes_on_without_doing_anything_again() {
    let case = Case::new(PEOPLE, "ask");
    let went = case.go(&Disk::default());
    assert!(matches!(&went.pause, Some(Pause::Waiting(waiting)) if waiting.len() == 1), "{:?}", went.pause);
    assert_eq!(went.effects().len(), 2, "what does not need the answer is done");
    let key = went.history().questions().next().unwrap().0.key.clone();
    // Resumed without an answer, the run waits again and does nothing.
    let again = case.go(&went.disk);
    assert!(again.pause.is_some() && again.effects().is_empty());
    let mut disk = again.disk;
    case.answer(&mut disk, &key, Answer::Value("yes".into()));
    let history = CallHistory::read(&disk.lines).unwrap();
    assert!(history.check(&key, &Answer::Value("no".into())).is_err(), "the second answer is refused");
    let ended = case.go(&disk);
    assert_eq!((ended.status, ended.effects().len()), (Some(Status::Completed), 1));
    let journal = String::from_utf8(ended.disk.journal.clone()).unwrap();
    assert!(journal.contains(r#""value":"yes""#), "the answer is in the record");
    // The journal is enough: a replay asks no one.
    let world = World { recovery: "ask", ..World::default() };
    let program = SkillProgram::new(case.problem.clone(), &case.prepared, &case.source, &world).unwrap();
    let found = replay(program, &Evidence::of_journal(&ended.disk.journal, &NoBlobs)).unwrap();
    assert_eq!((found.difference.map(|difference| difference.line), world.events.all().len()), (None, 0));
}

#[test]
fn a_crash_at_every_point_of_a_run_with_an_answer_loses_nothing() {
    let case = Case::new(PEOPLE, "retry");
    let first = case.go(&Disk::default());
    let key = first.history().questions().next().unwrap().0.key.clone();
    let answer = Answer::Value("yes".into());
    let mut disk = first.disk.clone();
    case.answer(&mut disk, &key, answer.clone());
    let whole = case.go(&disk);
    for count in 1..=first.events.len() {
        let (disk, _) = Disk::after(&first.events, count);
        let mut went = case.go(&disk);
        assert!(went.pause.is_some());
        case.answer(&mut went.disk, &key, answer.clone());
        assert!(case.go(&went.disk).disk.journal == whole.disk.journal, "behind {count} events");
    }
    for count in 0..=whole.events.len() {
        let (more, _) = Disk::after(&whole.events, count);
        let disk = Disk {
            journal: [&disk.journal[..], &more.journal].concat(),
            lines: [&disk.lines[..], &more.lines].concat(),
        };
        assert!(case.go(&disk).disk.journal == whole.disk.journal, "behind {count} events after the answer");
    }
}

#[test]
fn a_run_that_waits_replays_as_far_as_it_goes_and_calls_nobody() {
    let case = Case::new(PEOPLE, "ask");
    let went = case.go(&Disk::default());
    let world = World { recovery: "ask", ..World::default() };
    let program = SkillProgram::new(case.problem.clone(), &case.prepared, &case.source, &world).unwrap();
    let found = replay(program, &Evidence::of_journal(&went.disk.journal, &NoBlobs)).unwrap();
    assert_eq!(
        (found.difference.map(|difference| difference.line), found.read, found.executed),
        (None, 2, 1)
    );
    assert!(world.events.all().is_empty());
}

#[test]
fn a_stopped_run_begins_nothing_and_goes_on_later() {
    let case = Case::new(EFFECTS, "ask");
    let whole = case.go(&Disk::default());
    let stopped = case.go_until(&Disk::default(), &AtomicBool::new(true));
    assert!(matches!(stopped.pause, Some(Pause::Stopped)) && stopped.effects().is_empty());
    assert!(case.go(&stopped.disk).disk.journal == whole.disk.journal);
    // A run that is stopped in the middle: running calls finish, and nothing is lost or done again.
    struct After(Mutex<u64>, u64);
    impl Stop for After {
        fn is_wanted(&self) -> bool {
            let mut asked = self.0.lock().unwrap();
            *asked += 1;
            *asked > self.1
        }
    }
    for looks in 1..40 {
        let stopped = case.go_until(&Disk::default(), &After(Mutex::new(0), looks));
        let went = case.go(&stopped.disk);
        assert!(went.disk.journal == whole.disk.journal, "stopped after {looks} looks");
        let all = counted(stopped.effects().into_iter().chain(went.effects()));
        assert_eq!(all, counted(whole.effects()), "stopped after {looks} looks");
    }
    let flag = AtomicBool::new(false);
    flag.store(true, Ordering::SeqCst);
    assert!(flag.is_wanted());
}

#[test]
fn nothing_is_called_whose_intent_cannot_be_kept() {
    let case = Case::new(EFFECTS, "ask");
    let world = World { recovery: "ask", ..World::default() };
    let (run, header) =
        Run::start(SkillProgram::new(case.problem.clone(), &case.prepared, &case.source, &world).unwrap())
            .unwrap();
    let mut sink = MemorySink::default();
    sink.append(&header).unwrap();
    let log = CallLog::new(CallHistory::default(), |_, _| Err("no space left".into()));
    let workers = NonZeroUsize::new(4).unwrap();
    let driver = Driver { workers, log: &log, stop: &NeverStop, children: &NoChildRuns, meter: &NoMeter };
    let error = driver.drive(run, &mut sink, |_| {}).err().unwrap();
    assert_eq!(error.to_string(), "the call log could not be written: no space left");
    assert!(world.events.all().is_empty());
}

#[test]
fn lines_that_cannot_be_read_are_named_and_a_torn_one_says_nothing() {
    let error = CallHistory::read(b"{\"kind\":\"other\"}\n").unwrap_err();
    assert!(
        error.to_string().starts_with("line 1 of the calls under way: at `/kind`: expected one of intent"),
        "{error}"
    );
    assert!(CallHistory::read(b"{\"kind\":\"int").unwrap().calls().next().is_none());
}
