//! The protocol of one run as a small model: appends, fences, claims, wakes, crashes and a restored backup, in every order.
//!
//! The model is written from the rules, not from the code: two workers, one run with an effect and a question, a person who answers,
//! a queue and a store that may be put back to a backup. The checker visits every state within the bounds below. Leases only decide when
//! another worker may try, so the model lets claims expire at any tick and lets anybody open a run at any time: safety must not depend
//! on clocks. Each rule is then broken on purpose, and the checker must find what it protects from.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

use stateright::{Checker as _, Model, Property};

/// The bounds of the model.
const TICKS: u8 = 3;
const CRASHES: u8 = 1;
const OPENS: u8 = 3;
const CLAIMS: u8 = 3;

/// The epochs and tokens that a restored database skips: more than could have been given since the backup.
const SKIPPED: u8 = 100;

/// The records of a finished run: the effect, the answer, the end.
const RECORDS: usize = 3;

/// The rules of the protocol.
#[derive(Clone, Copy)]
struct Rules {
    /// An append names the epoch of its writer, and an older one is refused.
    fence: bool,
    /// An append names the head it expects.
    compare: bool,
    /// A repeated call has the key of the first.
    same_key: bool,
    /// A report names its claim, and an old one is refused.
    token: bool,
    /// A wake that comes while the run is claimed is remembered.
    pending_wake: bool,
    /// A restored store gives epochs that were never given before.
    skip_epochs: bool,
    /// A restored queue gives tokens that were never given before.
    skip_tokens: bool,
    /// A restored queue ends the claims of the backup: their workers saw records that are lost.
    release_claims: bool,
}

const SOUND: Rules = Rules {
    fence: true,
    compare: true,
    same_key: true,
    token: true,
    pending_wake: true,
    skip_epochs: true,
    skip_tokens: true,
    release_claims: true,
};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Job {
    Ready,
    Claimed { worker: u8, token: u8, expires: u8 },
    Parked,
    Ended,
}

/// The place of a worker in driving the run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Worker {
    Idle,
    Claimed {
        token: u8,
    },
    Open {
        token: u8,
        epoch: u8,
        head: Option<u8>,
    },
    /// The intent is durable; the call comes next, whatever happens elsewhere.
    Intended {
        token: u8,
        epoch: u8,
        head: Option<u8>,
    },
    Acted {
        token: u8,
        epoch: u8,
        head: Option<u8>,
    },
    ToPark {
        token: u8,
    },
    ToEnd {
        token: u8,
    },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Record {
    step: u8,
    /// Stands for the hash of the record: no two appends make the same.
    serial: u8,
}

/// Everything that a backup holds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Database {
    job: Job,
    wake_wanted: bool,
    next_token: u8,
    journal: Vec<Record>,
    epoch: u8,
    has_intent: bool,
    is_answered: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Person {
    Waiting,
    /// The answer is stored; the wake comes next.
    Answered,
    Woke,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    now: u8,
    crashes: u8,
    serial: u8,
    database: Database,
    backup: Option<Box<Database>>,
    is_restored: bool,
    workers: [Worker; 2],
    person: Person,
    /// The keys under which the effect happened outside.
    keys: Vec<u8>,
    /// The worker that opened the run last; nobody after a restore.
    owner: Option<u8>,
    /// An append was accepted from another worker than the owner.
    usurped: bool,
    /// A report was accepted for a claim of another worker.
    misreported: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Action {
    Tick,
    Claim(u8),
    Step(u8),
    Crash(u8),
    Answer,
    Wake,
    Backup,
    Restore,
    /// A look at a parked run, in case its wake was lost with what happened after the backup.
    Look,
}

struct Protocol(Rules);

impl State {
    fn worker(&mut self, index: u8) -> &mut Worker {
        &mut self.workers[usize::from(index)]
    }

    fn head(&self) -> Option<u8> {
        self.database.journal.last().map(|record| record.serial)
    }

    /// Appends the next record, if the rules allow it.
    fn append(&mut self, rules: Rules, worker: u8, epoch: u8, head: Option<u8>, step: u8) -> bool {
        if rules.fence && epoch != self.database.epoch || rules.compare && head != self.head() {
            return false;
        }
        self.usurped |= self.owner != Some(worker);
        self.serial += 1;
        self.database.journal.push(Record { step, serial: self.serial });
        true
    }

    /// Ends a claim.
    fn settle(&mut self, rules: Rules, worker: u8, token: u8, next: Job) {
        let Job::Claimed { worker: holder, token: current, .. } = self.database.job else { return };
        if rules.token && token != current {
            return;
        }
        self.misreported |= holder != worker || token != current;
        let is_missed = next == Job::Parked && self.database.wake_wanted;
        self.database.job = if is_missed { Job::Ready } else { next };
        self.database.wake_wanted = false;
    }

    /// Lets a worker do its next thing.
    fn step(&mut self, rules: Rules, index: u8) {
        let next = match *self.worker(index) {
            Worker::Idle => Worker::Idle,
            Worker::Claimed { token } => {
                self.database.epoch += 1;
                self.owner = Some(index);
                Worker::Open { token, epoch: self.database.epoch, head: self.head() }
            }
            Worker::Open { token, epoch, head } => self.drive(rules, index, token, epoch, head),
            Worker::Intended { token, epoch, head } => {
                // The outside knows a key that it has seen, and does nothing then.
                let key = if rules.same_key { 0 } else { epoch };
                if !self.keys.contains(&key) {
                    self.keys.push(key);
                }
                Worker::Acted { token, epoch, head }
            }
            Worker::Acted { token, epoch, head } => match self.append(rules, index, epoch, head, 0) {
                true => Worker::Open { token, epoch, head: self.head() },
                false => Worker::Idle,
            },
            Worker::ToPark { token } => {
                self.settle(rules, index, token, Job::Parked);
                Worker::Idle
            }
            Worker::ToEnd { token } => {
                self.settle(rules, index, token, Job::Ended);
                Worker::Idle
            }
        };
        *self.worker(index) = next;
    }

    fn drive(&mut self, rules: Rules, index: u8, token: u8, epoch: u8, head: Option<u8>) -> Worker {
        // The writer knows the journal up to the head that it expects.
        let known = head.map_or(0, |head| {
            self.database.journal.iter().take_while(|record| record.serial <= head).count()
        });
        match known {
            0 => {
                if rules.fence && epoch != self.database.epoch {
                    return Worker::Idle;
                }
                self.database.has_intent = true;
                Worker::Intended { token, epoch, head }
            }
            1 if !self.database.is_answered => Worker::ToPark { token },
            1 | 2 => match self.append(rules, index, epoch, head, u8::try_from(known).expect("small")) {
                true => Worker::Open { token, epoch, head: self.head() },
                false => Worker::Idle,
            },
            _ => Worker::ToEnd { token },
        }
    }

    fn restore(&mut self, rules: Rules) {
        let Some(backup) = self.backup.take() else { return };
        let (given, token) = (self.database.epoch, self.database.next_token);
        self.database = *backup;
        if rules.skip_epochs {
            self.database.epoch = given.saturating_add(SKIPPED);
        }
        if rules.skip_tokens {
            self.database.next_token = token.saturating_add(SKIPPED);
        }
        if rules.release_claims && matches!(self.database.job, Job::Claimed { .. }) {
            self.database.job = Job::Ready;
        }
        (self.is_restored, self.owner) = (true, None);
        // The answer may be lost with the database; the person then answers again.
        self.person = match (self.database.is_answered, self.database.job) {
            (false, _) => Person::Waiting,
            (true, Job::Parked) => Person::Answered,
            (true, _) => self.person,
        };
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let database = Database {
            job: Job::Ready,
            wake_wanted: false,
            next_token: 1,
            journal: Vec::new(),
            epoch: 0,
            has_intent: false,
            is_answered: false,
        };
        vec![State {
            now: 0,
            crashes: 0,
            serial: 0,
            database,
            backup: None,
            is_restored: false,
            workers: [Worker::Idle; 2],
            person: Person::Waiting,
            keys: Vec::new(),
            owner: None,
            usurped: false,
            misreported: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.now < TICKS {
            actions.push(Action::Tick);
        }
        for index in [0, 1] {
            match state.workers[usize::from(index)] {
                Worker::Idle
                    if state.database.job == Job::Ready && state.database.next_token % SKIPPED <= CLAIMS =>
                {
                    actions.push(Action::Claim(index));
                }
                Worker::Idle => {}
                Worker::Claimed { .. } if state.database.epoch % SKIPPED >= OPENS => {}
                _ => actions.push(Action::Step(index)),
            }
            if state.workers[usize::from(index)] != Worker::Idle && state.crashes < CRASHES {
                actions.push(Action::Crash(index));
            }
        }
        match state.person {
            // A person answers when the question is asked: after the first record.
            Person::Waiting if state.database.journal.len() == 1 => actions.push(Action::Answer),
            Person::Answered => actions.push(Action::Wake),
            Person::Waiting | Person::Woke => {}
        }
        match (&state.backup, state.is_restored) {
            (None, false) => actions.push(Action::Backup),
            (Some(_), false) => actions.push(Action::Restore),
            (_, true) if state.database.job == Job::Parked => actions.push(Action::Look),
            (_, true) => {}
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::Tick => {
                state.now += 1;
                if matches!(state.database.job, Job::Claimed { expires, .. } if expires <= state.now) {
                    state.database.job = Job::Ready;
                    state.database.wake_wanted = false;
                }
            }
            Action::Claim(worker) => {
                let token = state.database.next_token;
                state.database.next_token += 1;
                state.database.job = Job::Claimed { worker, token, expires: state.now + 1 };
                *state.worker(worker) = Worker::Claimed { token };
            }
            Action::Step(worker) => state.step(self.0, worker),
            Action::Crash(worker) => {
                state.crashes += 1;
                *state.worker(worker) = Worker::Idle;
            }
            Action::Answer => {
                state.database.is_answered = true;
                state.person = Person::Answered;
            }
            Action::Wake => {
                match state.database.job {
                    Job::Parked => state.database.job = Job::Ready,
                    Job::Claimed { .. } => state.database.wake_wanted = self.0.pending_wake,
                    Job::Ready | Job::Ended => {}
                }
                state.person = Person::Woke;
            }
            Action::Backup => state.backup = Some(Box::new(state.database.clone())),
            Action::Restore => state.restore(self.0),
            Action::Look => state.database.job = Job::Ready,
        }
        (state != *before).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ONE_WRITER, |_, state: &State| !state.usurped),
            Property::always(IN_ORDER, |_, state: &State| {
                state
                    .database
                    .journal
                    .iter()
                    .enumerate()
                    .all(|(place, record)| usize::from(record.step) == place)
            }),
            Property::always(EFFECT_ONCE, |_, state: &State| state.keys.len() <= 1),
            Property::always(OWN_CLAIM, |_, state: &State| !state.misreported),
            Property::always(NO_LOST_WAKE, |_, state: &State| {
                let is_woken = state.person == Person::Answered || state.is_restored;
                state.database.job != Job::Parked || !state.database.is_answered || is_woken
            }),
            Property::always(ENDED_IS_TRUE, |_, state: &State| {
                state.database.job != Job::Ended || state.database.journal.len() == RECORDS
            }),
            Property::sometimes(RUN_ENDS, |_, state: &State| state.database.job == Job::Ended),
            Property::sometimes(RUN_ENDS_AFTER_RESTORE, |_, state: &State| {
                state.is_restored && state.crashes > 0 && state.database.job == Job::Ended
            }),
        ]
    }
}

const ONE_WRITER: &str = "only the worker that opened the run last appends";
const IN_ORDER: &str = "every step is recorded once, in order";
const EFFECT_ONCE: &str = "the effect happens once";
const OWN_CLAIM: &str = "a worker settles only its own claim";
const NO_LOST_WAKE: &str = "an answered run is never left parked, unless a restore lost the wake";
const ENDED_IS_TRUE: &str = "a job ends only when its run has ended";
const RUN_ENDS: &str = "the run ends";
const RUN_ENDS_AFTER_RESTORE: &str = "the run ends after a crash and a restore";

/// Returns the rule that the checker finds broken.
fn broken(rules: Rules, expected: &'static str) {
    let checker = Protocol(rules)
        .checker()
        .threads(2)
        .finish_when(stateright::HasDiscoveries::AnyOf([expected].into_iter().collect()));
    let checker = checker.spawn_bfs().join();
    let path = checker.discovery(expected);
    assert!(path.is_some(), "the checker does not find it");
}

#[test]
fn the_protocol_holds_in_every_order_of_events() {
    let checker = Protocol(SOUND).checker().threads(2).spawn_bfs().join();
    checker.assert_properties();
    eprintln!("{} states", checker.unique_state_count());
    assert!(checker.unique_state_count() > 10_000, "the model is not trivial");
}

#[test]
fn without_a_fence_an_old_writer_appends() {
    broken(Rules { fence: false, compare: false, ..SOUND }, IN_ORDER);
    broken(Rules { fence: false, ..SOUND }, ONE_WRITER);
}

#[test]
fn with_a_key_for_each_attempt_the_effect_happens_twice() {
    broken(Rules { same_key: false, ..SOUND }, EFFECT_ONCE);
}

#[test]
fn without_a_token_a_late_report_ends_the_claim_of_another_worker() {
    broken(Rules { token: false, ..SOUND }, OWN_CLAIM);
}

#[test]
fn without_a_remembered_wake_an_answered_run_stays_parked() {
    broken(Rules { pending_wake: false, ..SOUND }, NO_LOST_WAKE);
}

#[test]
fn a_restored_queue_that_keeps_claims_takes_a_report_about_lost_records() {
    broken(Rules { release_claims: false, ..SOUND }, ENDED_IS_TRUE);
}

#[test]
fn a_restored_queue_that_gives_old_tokens_again_takes_a_late_report_for_a_new_one() {
    broken(Rules { skip_tokens: false, ..SOUND }, OWN_CLAIM);
}

#[test]
fn a_restored_store_that_gives_old_epochs_again_lets_an_old_writer_append() {
    broken(Rules { skip_epochs: false, ..SOUND }, ONE_WRITER);
}
