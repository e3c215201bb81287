//! A simulated runner: what driving a run does, one event at a time.

use std::collections::BTreeSet;

use hence_fleet::{Claim, JobQueue, MemoryQueue, NewJob, Settlement, Time, Wait};
use hence_store::RunId;

use crate::store::{Op, SimRun, SimStore};

/// A run that is being driven.
#[derive(Debug, Clone)]
pub(crate) struct Drive {
    pub(crate) claim: Claim,
    pub(crate) is_stopping: bool,
    /// The epoch under which the run was opened.
    epoch: Option<u64>,
    /// The next step, as this writer believes.
    step: usize,
    /// The intent of the step is durable; the call comes next, and nobody is asked before it.
    has_intent: bool,
    /// The effect of the step happened; its record comes next.
    has_acted: bool,
}

/// The outcome of one event of a drive.
pub(crate) enum Progress {
    /// There is more.
    On,
    /// The claim ends.
    End(Settlement),
    /// The process dies.
    Kill,
    /// A person is asked.
    Asked(usize, Settlement),
}

/// The world that a drive acts in.
pub(crate) struct Scene<'a> {
    pub(crate) store: &'a mut SimStore,
    pub(crate) queue: &'a MemoryQueue,
    /// The process that drives.
    pub(crate) writer: u64,
    /// The time by the clock of the store and the queue.
    pub(crate) now: u64,
}

fn busy() -> Progress {
    Progress::End(Settlement::Busy { holder: "another worker".to_owned() })
}

impl Drive {
    pub(crate) fn new(claim: Claim) -> Self {
        Self { claim, is_stopping: false, epoch: None, step: 0, has_intent: false, has_acted: false }
    }

    /// Does the next thing.
    pub(crate) fn advance(&mut self, scene: &mut Scene<'_>) -> Progress {
        let run = self.claim.run.clone();
        let Some(epoch) = self.epoch else {
            let Ok(epoch) = scene.store.open(&run, scene.writer, scene.now) else { return busy() };
            self.epoch = Some(epoch);
            self.step = scene.store.runs[&run].journal.len();
            return Progress::On;
        };
        let stored = &scene.store.runs[&run];
        if self.step >= stored.script.len() {
            scene.store.close(&run, epoch);
            return Progress::End(Settlement::Ended { status: "completed".to_owned() });
        }
        if self.is_stopping && !self.has_acted && !self.has_intent {
            scene.store.close(&run, epoch);
            return Progress::End(Settlement::Released);
        }
        let op = stored.script[self.step].clone();
        match op {
            Op::Pure => self.record(scene, epoch),
            Op::Poison => Progress::Kill,
            Op::Fails(times) if stored.failures < times => {
                scene.store.runs.get_mut(&run).expect("it exists").failures += 1;
                self.end(scene, epoch, Settlement::Failed { reason: "the step does not work yet".to_owned() })
            }
            Op::Fails(_) => self.record(scene, epoch),
            Op::Effect => self.effect(scene, epoch),
            Op::Ask if stored.answered.contains(&self.step) => self.record(scene, epoch),
            Op::Ask => {
                let step = self.step;
                let Ok(stored) = scene.store.admit(&run, epoch, scene.now) else { return busy() };
                stored.asked.insert(step);
                scene.store.close(&run, epoch);
                Progress::Asked(step, Settlement::Parked(Wait::Person(format!("step {step}"))))
            }
            Op::Wait(millis) => self.wait(scene, epoch, millis),
            Op::Spawn(count) => self.spawn(scene, epoch, count),
        }
    }

    fn end(&self, scene: &mut Scene<'_>, epoch: u64, settlement: Settlement) -> Progress {
        scene.store.close(&self.claim.run, epoch);
        Progress::End(settlement)
    }

    fn record(&mut self, scene: &mut Scene<'_>, epoch: u64) -> Progress {
        match scene.store.append(&self.claim.run, epoch, self.step, scene.now) {
            Ok(()) => {
                self.step += 1;
                self.has_acted = false;
                Progress::On
            }
            Err(_) => busy(),
        }
    }

    /// Intent, call and record are three events: the process may stop or die between any two of them.
    fn effect(&mut self, scene: &mut Scene<'_>, epoch: u64) -> Progress {
        if self.has_acted {
            return self.record(scene, epoch);
        }
        if self.has_intent {
            scene.store.act(&self.claim.run, self.step, epoch);
            (self.has_intent, self.has_acted) = (false, true);
            return Progress::On;
        }
        let Ok(run) = scene.store.admit(&self.claim.run, epoch, scene.now) else { return busy() };
        // An intent that another writer left is undecided: the call is repeated with its key.
        run.intents.insert(self.step);
        self.has_intent = true;
        Progress::On
    }

    fn wait(&mut self, scene: &mut Scene<'_>, epoch: u64, millis: u64) -> Progress {
        let (step, now) = (self.step, scene.now);
        let Ok(run) = scene.store.admit(&self.claim.run, epoch, now) else { return busy() };
        let due = *run.due.entry(step).or_insert(now + millis);
        if now >= due {
            return self.record(scene, epoch);
        }
        self.end(scene, epoch, Settlement::Parked(Wait::Until(Time::from_millis(due))))
    }

    fn spawn(&mut self, scene: &mut Scene<'_>, epoch: u64, count: u32) -> Progress {
        if scene.store.admit(&self.claim.run, epoch, scene.now).is_err() {
            return busy();
        }
        let child = |number: u32| {
            RunId::new(&format!("{}-{}-{number}", self.claim.run, self.step)).expect("a valid id")
        };
        let children: BTreeSet<RunId> = (0..count).map(child).collect();
        let mut is_over = true;
        for child in &children {
            let script = vec![Op::Effect, Op::Pure];
            let stored = scene.store.runs.entry(child.clone()).or_insert_with(|| SimRun::new(script));
            if !stored.has_ended() {
                is_over = false;
                scene.queue.submit(&NewJob::of(child.clone())).expect("the default queue takes children");
            }
        }
        if is_over {
            return self.record(scene, epoch);
        }
        self.end(scene, epoch, Settlement::Parked(Wait::Children(children)))
    }
}
