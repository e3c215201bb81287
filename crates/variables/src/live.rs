//! Driving a workspace: decide, make durable, apply, answer.

use crate::{
    Call, Decision, Event, Files, Misfit, Refusal, Reply, SpillFile, Timestamp, Workspace, apply, decide,
};

/// Where events become durable. Implemented over a journal.
pub trait Record {
    /// What can go wrong while recording.
    type Error;

    /// Makes `spills` durable, then `event`. When this returns, a crash loses neither.
    ///
    /// # Errors
    /// Whatever kept the event from being durable; the workspace then stays as it was.
    fn record(&mut self, event: &Event, spills: &[SpillFile]) -> Result<(), Self::Error>;
}

/// Why a call did not happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError<E> {
    /// A rule forbids it; nothing changed, except that what was past its time is gone.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It could not be recorded; nothing changed.
    #[error("not recorded: {0}")]
    NotRecorded(E),
    /// The event decided here does not apply here: a defect of this crate, reported instead of hidden.
    #[error(transparent)]
    Misfit(Misfit),
}

impl Workspace {
    /// Performs `call` at the moment `now`: an event is durable before it shows, and shows before it is answered.
    ///
    /// # Errors
    /// [`CallError`]; the workspace then holds exactly what was recorded.
    pub fn call<S: Files + Record>(
        &mut self,
        call: &Call,
        now: Timestamp,
        store: &mut S,
    ) -> Result<Reply, CallError<S::Error>> {
        loop {
            match decide(self, call, now, store)? {
                Decision::ExpireFirst(event) => self.commit(&event, &[], store)?,
                Decision::Accept(accepted) => {
                    if let Some(event) = &accepted.event {
                        self.commit(event, &accepted.spills, store)?;
                    }
                    return Ok(accepted.reply);
                }
            }
        }
    }

    fn commit<R: Record>(
        &mut self,
        event: &Event,
        spills: &[SpillFile],
        journal: &mut R,
    ) -> Result<(), CallError<R::Error>> {
        journal.record(event, spills).map_err(CallError::NotRecorded)?;
        apply(self, event).map_err(CallError::Misfit)
    }

    /// Folds recorded events, oldest first, into the workspace they describe.
    ///
    /// # Errors
    /// The first [`Misfit`].
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> Result<Self, Misfit> {
        let mut workspace = Self::new();
        for event in events {
            apply(&mut workspace, event)?;
        }
        Ok(workspace)
    }
}
