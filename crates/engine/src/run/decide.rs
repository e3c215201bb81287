//! A loop's decision.

use hence_canon::Value;
use hence_journal::{Control, LoopAction, LoopControl, Record};
use hence_state::LoopLimitRule;

use super::condition::resolve;
use super::{Event, Run, RunError};
use crate::blob::{BlobError, Blobs};
use crate::sink::Sink;

impl Run {
    /// Returns what the loop decides now; `None` without a loop.
    pub(super) fn decision(&self, blobs: &dyn Blobs) -> Result<Option<LoopAction>, BlobError> {
        let Some(settings) = self.plan.loop_settings() else { return Ok(None) };
        let found = resolve(&settings.stop_condition.path, self.state().artifacts(), blobs)?;
        Ok(Some(if settings.stop_condition.is_met(found.as_ref()) {
            LoopAction::Stop
        } else if self.cursor.iteration() < settings.max_iterations {
            LoopAction::Repeat
        } else {
            LoopAction::MaxIterationsReached
        }))
    }

    pub(super) fn decide(&mut self, sink: &mut dyn Sink) -> Result<Event, RunError> {
        let action = self.decision(sink.blobs())?.unwrap_or(LoopAction::Stop);
        let control = self.settle(action)?;
        let (action, iteration) = (control.action, control.loop_iteration);
        let index = self.book.keep(&Record::Control(Control::Loop(control)), sink)?;
        Ok(Event::Decision { index, action, iteration })
    }

    /// Takes a decision into state and cursor and returns its record.
    pub(super) fn settle(&mut self, action: LoopAction) -> Result<LoopControl, RunError> {
        let fails_here = action == LoopAction::MaxIterationsReached
            && self.plan.profile.loop_limit == LoopLimitRule::InControl;
        let at = if fails_here { Some(self.book.next_time()?) } else { None };
        if let Some(at) = &at {
            self.book.exhaust_loop(at)?;
            self.book.mutations += 1;
            self.book.state_hash = self.book.fold.state_mut().digest();
        }
        let iteration = self.cursor.iteration();
        let (start_step, end_step, stop_condition) = match self.plan.loop_settings() {
            Some(settings) => (
                settings.start_step.clone(),
                settings.end_step.clone(),
                Value::from(&settings.stop_condition),
            ),
            // Only a plan with a loop decides.
            None => Default::default(),
        };
        let _ = self.cursor.decision(action, iteration, &start_step, &end_step);
        Ok(LoopControl {
            action,
            loop_iteration: iteration,
            start_step,
            end_step,
            stop_condition,
            state_hash: self.book.state_hash,
            at,
        })
    }
}
