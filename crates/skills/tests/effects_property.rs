//! Effects never leave the record: random skills with steps that act, random failures, waits, stops, kills and policies.
//!
//! One file, because a case is followed from its generator through the world and the kills to the check of its record.
//!
//! Whatever happens to a run, the effects that were observed outside are those its record names, each exactly once
//! unless its recovery says otherwise; and a retry repeats none of them. The number of cases is 300, or what
//! `HENCE_EFFECT_CASES` says:
//!
//! ```sh
//! HENCE_EFFECT_CASES=10000 cargo test -p hence-skills --test effects_property
//! ```
//!
//! One file, because the world, the disk and the disturbances serve this one property.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use hence_canon::{Canonical, Digest, Object, Value};
use hence_cognition::capability::{CapabilitySpec, Registry};
use hence_cognition::run::{
    Call, CallError, CallOutcome, Capabilities, MadeCall, NESTED_RUNS_KEY, Reply, StepOutcome,
};
use hence_cognition::schedule::FailureMode;
use hence_cognition::skill::Skill;
use hence_engine::{
    Blobs, Determinism, Driven, Evidence, FinalVerdict, Gate, GateError, Judgement, MemorySink, NoMeter, Run,
    Sink, SinkError, attempt, observe_journal, replay, was_started,
};
use hence_journal::{Durability, Reader, Record, RecordIndex, Sealed};
use hence_skills::{
    Answer, CallHistory, CallLog, Carried, ChildRun, ChildRuns, Driver, Effect, Entry, Host, Links,
    NewSkillRun, Origin, QuestionKind, SkillProgram, SkillRun, Stop, carry_over, first_failed,
    recorded_outcome, retry_log,
};
use hence_state::{POLICY_VIOLATION, Status, StepError, StepResult};
use proptest::prelude::*;
use support::{Made, Worker, document, made, new_run};

/// An event of a run, in the order of their occurrence.
#[derive(Clone, Debug)]
enum Event {
    Record(Vec<u8>),
    Line(Vec<u8>),
    Blob(Vec<u8>),
    /// A change outside: the step of the outermost skill and the idempotency key.
    Effect(String, String),
}

type Events = Arc<Mutex<Vec<Event>>>;

/// The world outside a run. What a call does depends on the seed, on the call and on how often it was made.
#[derive(Clone)]
struct World {
    seed: u64,
    /// In how many of 256 cases a call that acts fails, is lost after its effect, or is lost before it.
    trouble: u8,
    recovery: &'static str,
    events: Events,
    made: Arc<Mutex<BTreeMap<String, u64>>>,
    /// The idempotency key of each call.
    keys: Arc<Mutex<BTreeMap<String, String>>>,
}

impl World {
    fn chance(&self, text: &str) -> u8 {
        let digest = Digest::of(format!("{} {text}", self.seed).as_bytes()).to_string();
        u8::from_str_radix(&digest[..2], 16).unwrap()
    }
}

impl Registry for World {
    fn capability(&self, id: &str) -> Option<Arc<CapabilitySpec>> {
        let known = ["act", "act2", "look", "ask", "echo"];
        known.contains(&id).then(|| Arc::new(CapabilitySpec::default()))
    }

    fn skill(&self, id: &str) -> Option<Arc<Skill>> {
        Some(Arc::new(Skill::read(&nested_document(id, self.recovery)?).skill.unwrap()))
    }
}

/// Returns the document of a nested skill: `inner` acts and nests `deep`, which acts in a loop.
fn nested_document(id: &str, recovery: &str) -> Option<Value> {
    let steps = match id {
        "inner" => {
            r#"[{"id": "one", "uses": "act", "input": {"v": 1}, "config": {"recovery": "RECOVERY", "depends_on": []}},
                {"id": "see", "uses": "look", "input": {"v": 2}, "config": {"depends_on": []}},
                {"id": "two", "uses": "skill:deep", "config": {"depends_on": ["one", "see"]}}]"#
        }
        "deep" => {
            r#"[{"id": "all", "uses": "act", "output": {"item": "vars.all"},
                 "config": {"recovery": "RECOVERY", "foreach": {"items": "[1, 2]", "parallel": 2}}}]"#
        }
        _ => return None,
    };
    Some(document(id, &steps.replace("RECOVERY", recovery)))
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
        let failed = || CallError::Failed { class: "Busy".into(), message: "later".into() };
        let (key, effect) = (call.key(), self.effect(call.capability));
        let times = {
            let mut made = self.made.lock().unwrap();
            let times = made.entry(key.clone()).or_default();
            *times += 1;
            *times
        };
        let chance = self.chance(&format!("{key} {times}"));
        match effect {
            Effect::Pure => reply,
            Effect::Asks => Err(CallError::Waiting("who knows".into())),
            Effect::Reads if chance < self.trouble => Err(failed()),
            Effect::Reads => reply,
            Effect::Acts => {
                self.keys.lock().unwrap().insert(key.clone(), call.idempotency_key());
                let step = key.split('/').next().unwrap().to_owned();
                let happens = || {
                    let effect = Event::Effect(step.clone(), call.idempotency_key());
                    self.events.lock().unwrap().push(effect);
                };
                if chance < self.trouble {
                    return Err(failed());
                }
                if u16::from(chance) < u16::from(self.trouble) * 2 {
                    happens();
                    return Err(failed().undecided());
                }
                if u16::from(chance) < u16::from(self.trouble) * 3 {
                    return Err(failed().undecided());
                }
                happens();
                reply
            }
        }
    }
}

/// Nested runs, by id.
#[derive(Default)]
struct Children {
    recovery: &'static str,
    stored: Mutex<BTreeMap<String, ChildRun>>,
}

impl ChildRuns for Children {
    fn source(&self, skill: &str) -> Option<Canonical> {
        nested_document(skill, self.recovery).as_ref().map(Canonical::of)
    }

    fn store(&self, child: &ChildRun) -> Result<(), SinkError> {
        self.stored.lock().unwrap().insert(child.id.to_string(), child.clone());
        Ok(())
    }
}

/// The bytes on disk.
#[derive(Clone, Default)]
struct Disk {
    journal: Vec<u8>,
    lines: Vec<u8>,
    blobs: BTreeMap<Digest, Vec<u8>>,
}

impl Disk {
    /// Takes in what happened before the process ended, and returns the effects of that time.
    fn add(&mut self, events: &[Event]) -> Vec<(String, String)> {
        let mut effects = Vec::new();
        for event in events {
            match event {
                Event::Record(line) => self.journal.extend_from_slice(line),
                Event::Line(line) => self.lines.extend_from_slice(line),
                Event::Blob(bytes) => drop(self.blobs.insert(Digest::of(bytes), bytes.clone())),
                Event::Effect(step, key) => effects.push((step.clone(), key.clone())),
            }
        }
        effects
    }
}

struct EventSink {
    events: Events,
    blobs: BTreeMap<Digest, Vec<u8>>,
}

impl Sink for EventSink {
    fn append(&mut self, record: &Sealed) -> Result<(), SinkError> {
        self.events.lock().unwrap().push(Event::Record(record.line().to_vec()));
        Ok(())
    }

    fn put_blob(&mut self, value: &Canonical) -> Result<(), SinkError> {
        self.events.lock().unwrap().push(Event::Blob(value.bytes().to_vec()));
        self.blobs.insert(value.digest(), value.bytes().to_vec());
        Ok(())
    }

    fn blobs(&self) -> &dyn Blobs {
        &self.blobs
    }
}

/// A gate that blocks one step: before it is executed, or after.
#[derive(Clone, Default)]
struct BlocksStep {
    before: Option<String>,
    after: Option<String>,
}

impl BlocksStep {
    fn judgement(step: Option<&String>, result: &StepResult) -> Judgement {
        let is_blocked = step.is_some_and(|step| **step == **result.step());
        let blocks = is_blocked.then(|| StepError::new(POLICY_VIOLATION, "never")).into_iter().collect();
        Judgement { blocks, remarks: Vec::new() }
    }
}

impl Gate for BlocksStep {
    fn set_policies(&mut self, _: RecordIndex, policies: &Value) -> Result<(), GateError> {
        let text = |key: &str| policies.get(key).and_then(Value::as_str).map(str::to_owned);
        (self.before, self.after) = (text("before"), text("after"));
        Ok(())
    }

    fn judge(&mut self, _: RecordIndex, result: &StepResult) -> Judgement {
        Self::judgement(self.after.as_ref(), result)
    }

    fn precheck(&mut self, _: RecordIndex, result: &StepResult) -> Judgement {
        Self::judgement(self.before.as_ref(), result)
    }

    fn observe(&mut self, _: RecordIndex, _: &Record) {}

    fn final_verdict(&mut self) -> FinalVerdict {
        FinalVerdict { blocks: Vec::new(), verdicts: Object::new().into() }
    }
}

/// The fate of a process that drives the run.
#[derive(Clone, Copy, Debug)]
enum Disturbance {
    /// It dies after this part of its events, in thousandths.
    Kill(usize),
    /// It is asked to stop when it looks for the n-th time.
    Stop(u64),
}

struct After(Mutex<u64>, u64);

impl Stop for After {
    fn is_wanted(&self) -> bool {
        let mut looks = self.0.lock().unwrap();
        *looks += 1;
        *looks > self.1
    }
}

#[derive(Clone, Debug)]
struct Case {
    steps: Vec<(&'static str, bool)>,
    seed: u64,
    trouble: u8,
    recovery: &'static str,
    continues: bool,
    disturbances: Vec<Disturbance>,
    /// The step that policies block, and whether before it is executed.
    policy: Option<(usize, bool)>,
}

const KINDS: [&str; 11] =
    ["act", "act", "look", "echo", "ask", "each", "wave", "spread", "first", "route", "nested"];

fn step_text(kind: &str, id: usize, depends: &str) -> String {
    let more = match kind {
        "each" => r#", "foreach": {"items": "[1, 2, 3]"}"#,
        "wave" => r#", "foreach": {"items": "[1, 2, 3, 4]", "parallel": 3, "on_error": "continue"}"#,
        "spread" => r#", "scatter": {"capabilities": ["act", "look", "act2"]}"#,
        "first" => r#", "scatter": {"capabilities": ["act", "act2"], "merge": "first_success"}"#,
        "route" => r#", "router": {"on": "1", "cases": {"1": "act"}, "default": "echo"}"#,
        "loop" => r#", "while": {"condition": "true", "max_iterations": 3}"#,
        "again" => r#", "retry": {"max_attempts": 3, "on": ["Busy"]}"#,
        "nests" => r#", "foreach": {"items": "[1, 2]", "parallel": 2}"#,
        _ => "",
    };
    let uses = match kind {
        "look" | "ask" | "echo" => kind,
        "route" | "spread" | "first" => "echo",
        "nested" | "nests" => "skill:inner",
        _ => "act",
    };
    format!(
        r#"{{"id": "s{id}", "uses": "{uses}", "input": {{"v": {id}}}, "config": {{"recovery": "RECOVERY"{depends}{more}}}}}"#
    )
}

impl Case {
    fn steps(&self) -> String {
        let step = |(id, (kind, follows)): (usize, &(&str, bool))| {
            let depends = if *follows { "" } else { r#", "depends_on": []"# };
            step_text(kind, id, depends)
        };
        let steps: Vec<String> = self.steps.iter().enumerate().map(step).collect();
        format!("[{}]", steps.join(",")).replace("RECOVERY", self.recovery)
    }

    fn policies(&self) -> Option<Value> {
        let (step, before) = self.policy?;
        let key = if before { "before" } else { "after" };
        Some(Object::from_iter([(key, format!("s{}", step % self.steps.len()))]).into())
    }

    fn world(&self) -> World {
        World {
            seed: self.seed,
            trouble: self.trouble,
            recovery: self.recovery,
            events: Events::default(),
            made: Arc::default(),
            keys: Arc::default(),
        }
    }
}

/// A run of a case: its documents, what is on disk, and what happened outside.
struct Stage<'a> {
    case: &'a Case,
    made: Made,
    world: World,
    children: Children,
    disk: Disk,
    outside: Vec<(String, String)>,
    /// The effects of the run that this one retries.
    earlier: BTreeSet<String>,
}

/// The state in which a process left a run.
enum Left {
    Ended(Status),
    Waiting,
    Stopped,
    Blocked,
}

impl<'a> Stage<'a> {
    fn new(case: &'a Case, id: &str, links: Links, world: World) -> Self {
        let source = Canonical::of(&document("main", &case.steps()));
        let policies = case.policies().map(|policies| Canonical::of(&policies).digest());
        let on_failure = if case.continues { FailureMode::Continue } else { FailureMode::FailFast };
        let asked = NewSkillRun { policies, links, on_failure, ..new_run(id) };
        let made = made(source, &world, &asked);
        let children = Children { recovery: case.recovery, ..Children::default() };
        Self {
            case,
            made,
            world,
            children,
            disk: Disk::default(),
            outside: Vec::new(),
            earlier: BTreeSet::new(),
        }
    }

    fn program<'w>(&'w self, world: &'w World) -> SkillProgram<'w> {
        let Made { problem, prepared, source } = &self.made;
        SkillProgram::new(problem.clone(), prepared, source, world).unwrap()
    }

    fn start<'g, 'w>(&'w self, world: &'w World, sink: &mut EventSink) -> SkillRun<'g, 'w> {
        if !self.disk.journal.is_empty() {
            let run = Run::resume(self.program(world), &self.disk.journal, &self.disk.blobs).unwrap();
            if self.case.policy.is_none() {
                return run;
            }
            let mut gate = BlocksStep::default();
            observe_journal(&mut gate, &self.disk.journal, &self.disk.blobs).unwrap();
            return run.with_gate(Some(Box::new(gate)));
        }
        let (run, header) = Run::start(self.program(world)).unwrap();
        sink.append(&header).unwrap();
        match self.case.policies() {
            None => run,
            Some(policies) => {
                let mut run = run.with_gate(Some(Box::new(BlocksStep::default())));
                run.install_policies(&policies, sink).unwrap();
                run
            }
        }
    }

    /// Drives the run as far as it goes, and takes in what survives of it.
    fn go(&mut self, disturbance: Option<Disturbance>) -> Left {
        let world = World { events: Events::default(), ..self.world.clone() };
        let events = world.events.clone();
        let mut sink = EventSink { events: events.clone(), blobs: self.disk.blobs.clone() };
        let stop = match disturbance {
            Some(Disturbance::Stop(looks)) => After(Mutex::new(0), looks),
            _ => After(Mutex::new(0), u64::MAX),
        };
        let left = {
            let mut run = self.start(&world, &mut sink);
            // A journal that ends before its policies installs them, as a resumed run does.
            let is_uninstalled = run.policy_state().is_pinned() && run.next_index() == RecordIndex::new(1);
            if let Some(policies) = self.case.policies().filter(|_| is_uninstalled) {
                run.install_policies(&policies, &mut sink).unwrap();
            }
            let recorded: Vec<_> =
                run.program().outcomes().iter().map(|outcome| outcome.step_id.clone()).collect();
            let mut history = CallHistory::read(&self.disk.lines).unwrap();
            history.forget(|step| recorded.iter().any(|recorded| &**recorded == step));
            let log = CallLog::new(history, |line, _: Durability| {
                events.lock().unwrap().push(Event::Line(line.to_vec()));
                Ok(())
            });
            let workers = NonZeroUsize::new(4).unwrap();
            let driver =
                Driver { workers, log: &log, stop: &stop, children: &self.children, meter: &NoMeter };
            if run.has_ended() {
                Left::Ended(run.state().status())
            } else {
                match driver.drive(run, &mut sink, |_| {}).unwrap() {
                    Driven::Finished(run) => Left::Ended(run.state().status()),
                    Driven::Paused(_, hence_engine::Pause::Stopped) => Left::Stopped,
                    Driven::Paused(..) => Left::Waiting,
                    Driven::Blocked(..) => Left::Blocked,
                }
            }
        };
        let events = events.lock().unwrap().clone();
        let survives = match disturbance {
            Some(Disturbance::Kill(part)) => (events.len() * part / 1000).max(1).min(events.len()),
            _ => events.len(),
        };
        let effects = self.disk.add(&events[..survives]);
        self.outside.extend(effects);
        if survives < events.len() {
            return Left::Stopped;
        }
        left
    }

    /// Answers every open question: a value is given, and whoever is asked about a call tells the truth.
    fn answer(&mut self) {
        let history = CallHistory::read(&self.disk.lines).unwrap();
        let happened: BTreeSet<&String> =
            self.outside.iter().map(|(_, key)| key).chain(&self.earlier).collect();
        let keys = self.world.keys.lock().unwrap();
        let mut lines = Vec::new();
        for (call, question) in history.questions() {
            let did_happen = keys.get(&*call.key).is_some_and(|key| happened.contains(key));
            let answer = match question.kind {
                QuestionKind::Value => Answer::Value("yes".into()),
                QuestionKind::Undecided if did_happen => {
                    Answer::Done(question.input.as_object().cloned().unwrap())
                }
                QuestionKind::Undecided => Answer::Retry,
            };
            let by = Some("ada".into());
            lines.extend(Entry::Answer { key: call.key.clone(), answer, by }.line());
        }
        drop(keys);
        self.disk.lines.extend(lines);
    }

    /// Drives the run through its disturbances and then to its end.
    fn finish(&mut self, disturbances: &[Disturbance]) -> Option<Status> {
        let mut disturbances = disturbances.iter().copied();
        for _ in 0..200 {
            match self.go(disturbances.next()) {
                Left::Ended(status) => return Some(status),
                Left::Blocked => return None,
                Left::Waiting => self.answer(),
                Left::Stopped => {}
            }
        }
        panic!("the run does not end");
    }

    /// Returns the outcomes of all started attempts, in the order of the journal.
    fn outcomes(&self) -> Vec<StepOutcome> {
        outcomes(&self.disk.journal, &self.disk.blobs)
    }

    /// Returns the effects that the record names, by step: how many calls act, and the calls it lists.
    fn recorded(&self) -> BTreeMap<String, Named> {
        let mut named: BTreeMap<String, Named> = BTreeMap::new();
        for outcome in self.outcomes() {
            let of_step = named.entry(outcome.step_id.to_string()).or_default();
            if outcome.listed_calls().is_empty() {
                of_step.counted += self.counted(&outcome);
            } else {
                of_step
                    .listed
                    .extend(outcome.calls.iter().filter(|call| call.effect == Effect::Acts).cloned());
            }
        }
        named
    }

    /// Counts the calls that act of a step whose record lists none, also those of the runs it nests.
    fn counted(&self, outcome: &StepOutcome) -> usize {
        let own = ["act", "act2"].iter().filter_map(|id| outcome.called.get(*id)).sum::<u64>();
        let children = self.children.stored.lock().unwrap();
        let nested = outcome.meta.get(NESTED_RUNS_KEY).and_then(Value::as_array).unwrap_or_default();
        let nested: Vec<ChildRun> = nested
            .iter()
            .map(|link| children[link.get("run").and_then(Value::as_str).unwrap()].clone())
            .collect();
        drop(children);
        let blobs = |child: &ChildRun| -> BTreeMap<Digest, Vec<u8>> {
            child.blobs.iter().map(|bytes| (Digest::of(bytes), bytes.clone())).collect()
        };
        let below = nested.iter().flat_map(|child| outcomes(&child.journal, &blobs(child)));
        usize::try_from(own).unwrap() + below.map(|outcome| self.counted(&outcome)).sum::<usize>()
    }

    /// Checks that the effects outside are those of the record.
    fn check(&self) {
        let recorded = self.recorded();
        let mut outside: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
        for (step, key) in &self.outside {
            *outside.entry(step).or_default().entry(key).or_default() += 1;
        }
        for (step, keys) in &outside {
            let named = recorded.get(*step);
            let named = named.unwrap_or_else(|| panic!("{step} has effects and no record: {:?}", self.case));
            named.check(keys, self);
        }
        for (step, named) in &recorded {
            let none = BTreeMap::new();
            named.check(outside.get(&**step).unwrap_or(&none), self);
        }
        let world = self.case.world();
        let open = || -> Result<Box<dyn Gate>, GateError> { Ok(Box::new(BlocksStep::default())) };
        let evidence = Evidence::of_journal(&self.disk.journal, &self.disk.blobs);
        let evidence = match self.case.policy {
            None => evidence,
            Some(_) => Evidence { gate: Some(&open), ..evidence },
        };
        let found = replay(self.program(&world), &evidence).unwrap();
        assert!(found.difference.is_none(), "{:?} of {:?}", found.difference, self.case);
        assert!(world.events.lock().unwrap().is_empty(), "a replay changes nothing");
    }
}

fn outcomes(journal: &[u8], blobs: &dyn Blobs) -> Vec<StepOutcome> {
    let (_, reader) = Reader::open(journal).unwrap();
    let mut found = Vec::new();
    for chained in reader {
        let Record::Step(step) = chained.unwrap().record else { continue };
        let is_step = !step.result.step().starts_with('$');
        if is_step && was_started(&step.result) {
            found.push(recorded_outcome(&attempt(&step.result), blobs).unwrap());
        }
    }
    found
}

/// The effects that the record of a step names.
#[derive(Default)]
struct Named {
    counted: usize,
    listed: Vec<MadeCall>,
}

impl Named {
    fn check(&self, outside: &BTreeMap<&str, u64>, stage: &Stage<'_>) {
        let (case, earlier) = (stage.case, &stage.earlier);
        let with = |outcome: CallOutcome| -> BTreeSet<&str> {
            let calls = self.listed.iter().filter(|call| call.outcome() == outcome);
            calls.map(|call| &*call.idempotency_key).collect()
        };
        let listed: BTreeSet<&str> = self.listed.iter().map(|call| &*call.idempotency_key).collect();
        let happened = |key: &str| outside.contains_key(key) || earlier.contains(key);
        for key in with(CallOutcome::Replied) {
            assert!(happened(key), "the record names an effect that did not happen: {case:?}");
        }
        let unlisted = outside.keys().filter(|key| !listed.contains(**key)).count();
        if earlier.is_empty() {
            assert_eq!(unlisted, self.counted, "effects outside and in the record differ: {case:?}");
        } else {
            assert!(unlisted <= self.counted, "effects outside the record: {case:?}");
        }
        // A call that the record says failed did not happen. With recovery retry a lost reply is a failure that may be
        // repeated under the same key.
        if case.recovery != "retry" {
            for key in with(CallOutcome::Failed).difference(&with(CallOutcome::Replied)) {
                let is_undecided = with(CallOutcome::Undecided).contains(key);
                assert!(is_undecided || !outside.contains_key(key), "{case:?}");
            }
            assert!(outside.values().all(|times| *times == 1), "an effect happened twice: {case:?}");
        }
    }
}

/// Retries a failed run, and returns the stage of the retry.
fn retried<'a>(case: &'a Case, failed: &Stage<'a>) -> Option<Stage<'a>> {
    let outcomes = failed.outcomes();
    let shared = first_failed(&outcomes)?;
    let (header, reader) = Reader::open(&failed.disk.journal).unwrap();
    let hashes: Vec<Digest> =
        [header.hash].into_iter().chain(reader.map(|chained| chained.unwrap().hash)).collect();
    let origin = Origin {
        run: "run-1".into(),
        record: shared as u64,
        hash: hashes[shared],
        from: outcomes[shared].step_id.clone(),
        set: Vec::new(),
        idempotency_root: Some("run-1".into()),
        used: Default::default(),
    };
    let links = Links { origin: Some(origin), ..Links::default() };
    let world = World { trouble: case.trouble / 8, ..failed.world.clone() };
    let mut stage = Stage::new(case, "run-1-retry-1", links, world.clone());
    let recorded: Vec<_> = outcomes.iter().map(|outcome| outcome.step_id.clone()).collect();
    let mut unrecorded = CallHistory::read(&failed.disk.lines).unwrap();
    unrecorded.forget(|step| recorded.iter().any(|recorded| &**recorded == step));
    let entries = retry_log(stage.made.prepared.skill(), &world, &outcomes[shared..], &unrecorded);
    let carried: Vec<Carried> = outcomes[..shared].iter().cloned().map(Carried::Outcome).collect();
    let mut sink = MemorySink::default();
    drop(carry_over(stage.program(&world), &carried, |_| Ok(None), &mut sink).unwrap());
    stage.disk.lines = entries.iter().flat_map(Entry::line).collect();
    (stage.disk.journal, stage.disk.blobs) = (sink.journal, sink.blobs);
    // The nested runs of shared records are those of the failed run.
    let mut children = failed.children.stored.lock().unwrap().clone();
    stage.children.stored.lock().unwrap().append(&mut children);
    stage.earlier = failed.outside.iter().map(|(_, key)| key.clone()).collect();
    Some(stage)
}

fn case() -> impl Strategy<Value = Case> {
    let kinds: Vec<&str> = KINDS.iter().copied().chain(["loop", "again", "nests"]).collect();
    let steps = prop::collection::vec((prop::sample::select(kinds), any::<bool>()), 1..6);
    let disturbance =
        prop_oneof![(0..1000usize).prop_map(Disturbance::Kill), (0..60u64).prop_map(Disturbance::Stop),];
    let recovery = prop::sample::select(vec!["ask", "ask", "fail", "retry"]);
    let policy = prop::option::weighted(0.2, (0..6usize, any::<bool>()));
    let trouble = prop::sample::select(vec![0u8, 12, 30]);
    let disturbances = prop::collection::vec(disturbance, 0..4);
    (steps, any::<u64>(), trouble, recovery, any::<bool>(), disturbances, policy).prop_map(
        |(steps, seed, trouble, recovery, continues, disturbances, policy)| Case {
            steps,
            seed,
            trouble,
            recovery,
            continues,
            disturbances,
            policy,
        },
    )
}

fn cases() -> u32 {
    std::env::var("HENCE_EFFECT_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_effects_outside_are_the_effects_in_the_record(case in case()) {
        let mut stage = Stage::new(&case, "run-1", Links::default(), case.world());
        let status = stage.finish(&case.disturbances);
        stage.check();
        // A run that ended with a failed step is retried, through the same disturbances.
        if status.is_some() && case.policy.is_none()
            && let Some(mut retry) = retried(&case, &stage)
        {
            retry.finish(&case.disturbances);
            retry.check();
            if case.recovery != "retry" {
                let again = retry.outside.iter().filter(|(_, key)| retry.earlier.contains(key)).count();
                prop_assert_eq!(again, 0, "a retry repeats an effect");
            }
        }
    }
}
