//! A simulated store with fences and leases, and the world outside in which effects happen.

use std::collections::{BTreeMap, BTreeSet};

use hence_store::RunId;

/// The lease of a run's writer, in milliseconds.
const WRITER_LEASE: u64 = 10_000;

/// One step of a simulated run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Op {
    /// A step without effects.
    Pure,
    /// A call that acts outside, once under its idempotency key.
    Effect,
    /// A question to a person.
    Ask,
    /// A durable timer, in milliseconds.
    Wait(u64),
    /// A step that stops the drive with an error so many times.
    Fails(u32),
    /// Runs of their own, which any worker may drive.
    Spawn(u32),
    /// A step that kills the process.
    Poison,
}

/// One record of a simulated journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) step: usize,
    pub(crate) epoch: u64,
}

/// The rules of the store that a test may break.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// An append by a writer whose run was opened by another one since is refused.
    pub(crate) fence: bool,
    /// An append names the head it expects.
    pub(crate) compare: bool,
    /// A repeated call has the key of the first.
    pub(crate) same_key: bool,
}

pub(crate) const SOUND: Rules = Rules { fence: true, compare: true, same_key: true };

#[derive(Debug, Clone)]
pub(crate) struct SimRun {
    pub(crate) script: Vec<Op>,
    pub(crate) journal: Vec<Record>,
    /// The fence: the number of times the run was opened.
    pub(crate) epoch: u64,
    lease: Option<(u64, u64)>,
    pub(crate) intents: BTreeSet<usize>,
    pub(crate) asked: BTreeSet<usize>,
    pub(crate) answered: BTreeSet<usize>,
    pub(crate) due: BTreeMap<usize, u64>,
    pub(crate) failures: u32,
}

impl SimRun {
    pub(crate) fn new(script: Vec<Op>) -> Self {
        Self {
            script,
            journal: Vec::new(),
            epoch: 0,
            lease: None,
            intents: BTreeSet::new(),
            asked: BTreeSet::new(),
            answered: BTreeSet::new(),
            due: BTreeMap::new(),
            failures: 0,
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.journal.len() >= self.script.len()
    }
}

/// The answer of the store to a writer that lost its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused;

#[derive(Debug)]
pub(crate) struct SimStore {
    pub(crate) runs: BTreeMap<RunId, SimRun>,
    pub(crate) rules: Rules,
    /// The executions outside by key.
    outside: BTreeSet<String>,
    /// The executions outside by step: the truth that keys are to protect.
    executed: BTreeMap<(RunId, usize), u32>,
    pub(crate) violation: Option<String>,
}

impl SimStore {
    pub(crate) fn new(rules: Rules) -> Self {
        Self {
            runs: BTreeMap::new(),
            rules,
            outside: BTreeSet::new(),
            executed: BTreeMap::new(),
            violation: None,
        }
    }

    fn run(&mut self, run: &RunId) -> &mut SimRun {
        self.runs.get_mut(run).expect("a job names a run that exists")
    }

    /// Opens a run for writing and returns its epoch.
    pub(crate) fn open(&mut self, run: &RunId, writer: u64, now: u64) -> Result<u64, Refused> {
        let run = self.run(run);
        if run
            .lease
            .is_some_and(|(holder, until)| holder != writer && until > now && until <= now + WRITER_LEASE)
        {
            return Err(Refused);
        }
        run.epoch += 1;
        run.lease = Some((writer, now + WRITER_LEASE));
        Ok(run.epoch)
    }

    /// Ends the lease of a writer.
    pub(crate) fn close(&mut self, run: &RunId, epoch: u64) {
        let run = self.run(run);
        if run.epoch == epoch {
            run.lease = None;
        }
    }

    /// Renews the lease of a writer that still has the run.
    pub(crate) fn admit(&mut self, run: &RunId, epoch: u64, now: u64) -> Result<&mut SimRun, Refused> {
        let fence = self.rules.fence;
        let run = self.run(run);
        if run.epoch == epoch {
            run.lease = run.lease.map(|(holder, _)| (holder, now + WRITER_LEASE));
        } else if fence {
            return Err(Refused);
        }
        Ok(run)
    }

    /// Appends the record of a step.
    pub(crate) fn append(&mut self, id: &RunId, epoch: u64, step: usize, now: u64) -> Result<(), Refused> {
        let compare = self.rules.compare;
        let run = self.admit(id, epoch, now)?;
        if compare && run.journal.len() != step {
            return Err(Refused);
        }
        let (expected, latest) = (run.journal.len(), run.epoch);
        run.journal.push(Record { step, epoch });
        if expected != step {
            self.violation = Some(format!("run {id}: step {step} was recorded as record {expected}"));
        } else if epoch != latest {
            self.violation = Some(format!("run {id}: a writer of epoch {epoch} appended in epoch {latest}"));
        }
        Ok(())
    }

    /// Executes an effect outside, unless its key was seen before.
    pub(crate) fn act(&mut self, run: &RunId, step: usize, epoch: u64) {
        let key = match self.rules.same_key {
            true => format!("{run}/{step}"),
            false => format!("{run}/{step}/{epoch}"),
        };
        if self.outside.insert(key) {
            let count = self.executed.entry((run.clone(), step)).or_default();
            *count += 1;
            if *count > 1 {
                self.violation = Some(format!("run {run}: the effect of step {step} happened {count} times"));
            }
        }
    }

    /// Returns a step whose effect is recorded but did not happen, or happened and is not recorded although the run ended.
    pub(crate) fn mismatch(&self) -> Option<String> {
        for (id, run) in &self.runs {
            for (step, op) in run.script.iter().enumerate().filter(|(_, op)| **op == Op::Effect) {
                let happened = self.executed.contains_key(&(id.clone(), step));
                let recorded = run.journal.iter().any(|record| record.step == step);
                if recorded && !happened || run.has_ended() && happened != recorded {
                    return Some(format!(
                        "run {id}: step {step} {op:?} happened: {happened}, recorded: {recorded}"
                    ));
                }
            }
            if !run.journal.iter().map(|record| record.epoch).is_sorted() {
                return Some(format!("run {id}: an older writer appended after a newer one"));
            }
        }
        None
    }
}
