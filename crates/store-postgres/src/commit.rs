//! Group commit: appends of many runs that arrive at the same time become one statement and one commit.
//!
//! A statement compares the fence and the head of each run and adds the rows of those that match. What did not match is
//! looked at again: refused, or stored by an earlier attempt whose answer was lost. So no append is made twice.
//!
//! | the process or the connection dies | stored |
//! |---|---|
//! | before the server has the whole statement | nothing of the batch |
//! | before the server commits | nothing of the batch |
//! | after it, before the answer arrives | the whole batch; this process finds its heads and reports success |
//! | later | the whole batch |

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use hence_store::{DatabaseError, Durability};

use crate::engine::Engine;
use crate::failure::{Effect, Failure};
use crate::session::Session;

/// The most batches of one kind that are under way at the same time: one is written while another is made durable.
const LANES_MAX: usize = 2;

/// The number of waiting appends for which a second batch is sent before the first is answered. A batch costs the server as much
/// as twenty of its appends, so a few appends are cheaper in the next batch than in one of their own.
const SECOND_LANE_APPENDS_MIN: usize = 64;

/// The time for which a batch waits for the writers that were answered just now, if others are waiting already: all of them in one
/// batch are answered sooner than in two that take turns. It is shorter than a commit, and the clock of the runtime is too
/// coarse for it.
const GATHERING_TIME: Duration = Duration::from_micros(50);

/// The most bytes of appended content in one batch. An append that has more is a batch of its own.
pub(crate) const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The most appends in one batch.
const BATCH_APPENDS_MAX: usize = 512;

/// How often an append that matched and was not stored is tried before it is given up: each time another transaction was in
/// its way and ended without effect.
const TRIES_MAX: u32 = 32;

/// One append, which knows its statements.
pub(crate) trait Append: Sized + 'static {
    /// The reason of a refusal.
    type Refusal;

    /// Returns the number of bytes.
    fn bytes(&self) -> usize;

    /// Returns the durability that was asked for.
    fn durability(&self) -> Durability;

    /// Writes the appends that match what is stored, all in one transaction, and marks those that were written.
    async fn write(
        session: &Session,
        engine: &Engine,
        batch: &[Self],
        durability: Durability,
    ) -> Result<Vec<bool>, Failure>;

    /// Compares an append that did not match with what is stored.
    async fn inspect(&self, session: &Session) -> Result<Standing<Self::Refusal>, Failure>;

    /// Tells the caller how the append ended.
    fn reply(self, outcome: Result<(), Ended<Self::Refusal>>);
}

/// The standing of an append that did not match.
pub(crate) enum Standing<R> {
    /// The stored end is the one that this append leaves.
    Stored,
    /// The stored end is the one that this append expects.
    Expected,
    /// The stored end is another one.
    Refused(R),
}

/// An append that was not acknowledged.
pub(crate) enum Ended<R> {
    /// It was refused and nothing was written.
    Refused(R),
    /// Whether it is stored is not known, or the server could not store it.
    Failed(DatabaseError),
}

/// The appends of one kind that are waiting.
pub(crate) struct Queue<A> {
    waiting: RefCell<VecDeque<A>>,
    busy: Cell<usize>,
}

impl<A> Default for Queue<A> {
    fn default() -> Self {
        Self { waiting: RefCell::default(), busy: Cell::new(0) }
    }
}

impl<A: Append> Queue<A> {
    pub(crate) fn push(&self, append: A) {
        self.waiting.borrow_mut().push_back(append);
    }

    /// Starts as many lanes as there is work for.
    pub(crate) fn start(engine: &Rc<Engine>, queue: fn(&Engine) -> &Self) {
        let this = queue(engine);
        while this.may_start() {
            let Some(batch) = this.take_batch() else { return };
            this.busy.set(this.busy.get() + 1);
            let engine = engine.clone();
            tokio::task::spawn_local(async move {
                let mut next = Some(batch);
                while let Some(batch) = next {
                    let durability = batch.first().map_or(Durability::Synced, A::durability);
                    finish(&engine, batch, durability).await;
                    if !queue(&engine).waiting.borrow().is_empty() {
                        std::thread::sleep(GATHERING_TIME);
                        // What has arrived is put into the queue before the next batch is taken.
                        tokio::task::yield_now().await;
                    }
                    next = queue(&engine).take_batch();
                }
                let this = queue(&engine);
                this.busy.set(this.busy.get() - 1);
            });
        }
    }

    fn may_start(&self) -> bool {
        match self.busy.get() {
            0 => true,
            busy => busy < LANES_MAX && self.waiting.borrow().len() >= SECOND_LANE_APPENDS_MIN,
        }
    }

    /// Takes the first append and everything after it that has the same durability, up to the limits.
    fn take_batch(&self) -> Option<Vec<A>> {
        let mut waiting = self.waiting.borrow_mut();
        let first = waiting.pop_front()?;
        let (durability, mut bytes) = (first.durability(), first.bytes());
        let mut batch = vec![first];
        let mut left = VecDeque::new();
        while let Some(next) = waiting.pop_front() {
            let fits =
                batch.len() < BATCH_APPENDS_MAX && bytes.saturating_add(next.bytes()) <= BATCH_BYTES_MAX;
            if fits && next.durability() == durability {
                bytes += next.bytes();
                batch.push(next);
            } else {
                left.push_back(next);
            }
        }
        *waiting = left;
        Some(batch)
    }
}

/// Writes a batch and answers each of its appends.
async fn finish<A: Append>(engine: &Engine, batch: Vec<A>, durability: Durability) {
    let mut patience = engine.patience();
    let mut round = Round { left: batch, durability };
    let mut tries = 0;
    while !round.left.is_empty() {
        tries += 1;
        let Err(failure) = round.run(engine).await else {
            if tries > TRIES_MAX {
                let reason = "the append was tried again and again and never stored";
                return round.fail(&Failure::damaged(&engine.target.location, reason).error);
            }
            continue;
        };
        if failure.effect == Effect::Nothing && round.left.len() > 1 {
            // One of them is refused by the server; the others are not to suffer for it.
            for append in round.left {
                Box::pin(finish(engine, vec![append], durability)).await;
            }
            return;
        }
        if let Err(error) = patience.wait_after(failure).await {
            return round.fail(&error);
        }
    }
}

/// The appends of a batch that are not answered yet.
struct Round<A> {
    left: Vec<A>,
    durability: Durability,
}

impl<A: Append> Round<A> {
    /// Tries once to write what is left.
    async fn run(&mut self, engine: &Engine) -> Result<(), Failure> {
        let session = engine.reserved_session().await?;
        session.take_warning();
        let written = A::write(&session, engine, &self.left, self.durability).await?;
        let mut stored = Vec::new();
        let mut left = Vec::new();
        for (append, was_written) in std::mem::take(&mut self.left).into_iter().zip(written) {
            if was_written { stored.push(append) } else { left.push(append) }
        }
        self.left = left;
        if self.durability == Durability::Synced && session.take_warning() {
            // The server may have given up waiting for its standby: another commit waits for it again.
            if let Err(failure) = engine.settle(&session).await {
                self.left.append(&mut stored);
                return Err(Failure { effect: Effect::Unknown, ..failure });
            }
        }
        stored.into_iter().for_each(|append| append.reply(Ok(())));
        self.inspect(engine, &session).await
    }

    /// Answers those that did not match, except those that may be tried again.
    async fn inspect(&mut self, engine: &Engine, session: &Session) -> Result<(), Failure> {
        let mut position = 0;
        while let Some(append) = self.left.get(position) {
            let outcome = match append.inspect(session).await? {
                Standing::Expected => {
                    position += 1;
                    continue;
                }
                Standing::Stored => {
                    if self.durability == Durability::Synced {
                        // It was committed by a session that ended before it could say whether it was made durable.
                        engine.settle(session).await?;
                    }
                    Ok(())
                }
                Standing::Refused(refusal) => Err(Ended::Refused(refusal)),
            };
            self.left.remove(position).reply(outcome);
        }
        Ok(())
    }

    fn fail(self, error: &DatabaseError) {
        for append in self.left {
            append.reply(Err(Ended::Failed(error.clone())));
        }
    }
}
