//! The queues, runs, workers and accidents of a world.

use std::collections::BTreeMap;

use hence_fleet::{GroupName, JobQueue as _, Limit, LimitScope, Millis, NewJob, QueueName, Time};
use hence_store::RunId;

use crate::store::{Op, SimRun};
use crate::world::{ACCIDENTS_END, Event, Process, START, World};

impl World {
    pub(crate) fn make_queues(&mut self) {
        let night = QueueName::new("night").expect("a name");
        self.queue.add_queue(&night).expect("a queue is made");
        for name in [QueueName::default_queue(), night] {
            if self.rng.permille(400) {
                let concurrency =
                    self.rng.permille(700).then(|| u32::try_from(self.rng.range(1, 3)).expect("small"));
                let spacing = self.rng.permille(300).then(|| Millis::new(self.rng.range(100, 3000)));
                let limit = Limit { concurrency, spacing };
                self.queue.set_limit(&LimitScope::Queue(name.clone()), limit).expect("a limit is set");
                self.limits.queue.insert(name.clone(), limit);
            }
            if self.rng.permille(400) {
                let limit = Limit { concurrency: Some(1), spacing: None };
                self.queue.set_limit(&LimitScope::GroupsOf(name.clone()), limit).expect("a limit is set");
                self.limits.groups.insert(name.clone(), limit);
            }
            if self.rng.permille(200) {
                let at = self.rng.range(0, 60_000);
                self.after(at, Event::PauseQueue(name.clone()));
                self.after(at + 60_000, Event::ResumeQueue(name));
            }
        }
    }

    pub(crate) fn make_runs(&mut self) {
        for number in 0..self.rng.range(3, 10) {
            let run = RunId::new(&format!("run-{number}")).expect("a valid id");
            let script = self.script();
            self.store.runs.insert(run.clone(), SimRun::new(script));
            let queue = if self.rng.permille(300) {
                QueueName::new("night").expect("a name")
            } else {
                QueueName::default_queue()
            };
            let group = self
                .rng
                .permille(500)
                .then(|| GroupName::new(&format!("g{}", self.rng.range(0, 1))).expect("a name"));
            let not_before =
                self.rng.permille(100).then(|| Time::from_millis(START + self.rng.range(0, 30_000)));
            let priority = i32::try_from(self.rng.range(0, 3)).expect("small");
            let new = NewJob { queue, group, priority, not_before, ..NewJob::of(run.clone()) };
            self.queue.submit(&new).expect("a job is queued");
            if self.rng.permille(80) {
                let at = self.rng.range(0, 60_000);
                self.after(at, Event::Cancel(run));
            }
        }
    }

    fn script(&mut self) -> Vec<Op> {
        let mut script = Vec::new();
        for _ in 0..self.rng.range(1, 5) {
            script.push(match self.rng.range(0, 19) {
                0..=4 => Op::Pure,
                5..=11 => Op::Effect,
                12..=13 => Op::Ask,
                14..=15 => Op::Wait(self.rng.range(1, 60_000)),
                16 => Op::Fails(u32::try_from(self.rng.range(1, 3)).expect("small")),
                17 => Op::Spawn(u32::try_from(self.rng.range(1, 3)).expect("small")),
                18 if self.rng.permille(500) => Op::Poison,
                18 => Op::Fails(u32::MAX),
                _ => Op::Effect,
            });
        }
        script
    }

    pub(crate) fn make_workers(&mut self, harsh: u64) {
        let count = usize::try_from(self.rng.range(1, 4)).expect("small");
        for index in 0..count {
            let offset = if self.rng.permille(500) { self.rng.range(0, 2 * 60 * 60 * 1000) } else { 0 };
            self.workers.push(Process {
                life: 0,
                core: None,
                offset,
                paused_until: 0,
                outstanding: None,
                next_poll: None,
                drives: BTreeMap::new(),
            });
            self.after(0, Event::Start(index));
            for _ in 0..harsh * self.rng.range(0, 6) {
                let at = self.rng.range(0, ACCIDENTS_END);
                let event = match self.rng.range(0, 2) {
                    0 => Event::Kill(index),
                    1 => Event::Pause(index, self.rng.range(100, 60_000)),
                    _ => Event::Terminate(index),
                };
                self.after(at, event);
            }
        }
        if self.rng.permille(80) {
            let (at, hour) = (self.rng.range(0, ACCIDENTS_END), 60 * 60 * 1000);
            let step = i64::try_from(self.rng.range(0, 2 * hour)).expect("small")
                - i64::try_from(hour).expect("small");
            self.after(at, Event::StepClock(step));
        }
        self.after(ACCIDENTS_END, Event::Repair);
    }
}
