//! Nested runs that others drive.
//!
//! A step that uses a skill may hand the nested run to another worker. The call log of the run around it then holds a question that
//! no person answers but the end of the nested run, as a timer is a question that the clock answers.
//!
//! Whoever drives the nested run reads the run around it, executes the step that uses the skill, and makes only the calls of the nested
//! run; its log is a log of its own. When the nested run has ended, the run around it takes the log over and executes the step
//! itself: every call finds its reply there, as after a crash. So the records are those of a run that nobody shared.

use std::sync::{Arc, Mutex, PoisonError};

use hence_canon::Object;
use hence_cognition::run::{NestedRun, Waiting};
use hence_cognition::state::RunStatus;
use hence_engine::SinkError;
use hence_journal::Durability;

use crate::budget::Budget;
use crate::calls::{Answer, CallExecutor, CallHistory, CallName, CallStatus, Entry, Question, QuestionKind};
use crate::child::{ChildRun, Family};
use crate::reach::reaches_out;

/// The beginning of the capability of a question that the end of a nested run answers; the id of the skill follows.
const NESTED: &str = "skill:";

/// Returns whether a question is answered by the end of a nested run.
pub fn is_nested_run(capability: &str) -> bool {
    capability.starts_with(NESTED)
}

impl CallHistory {
    /// Iterates over the nested runs that others drive and that have not been taken over.
    pub fn shared_runs(&self) -> impl Iterator<Item = &Arc<str>> {
        let shared = self.questions().filter(|(call, _)| is_nested_run(&call.capability));
        shared.filter_map(|(_, question)| question.reason.as_ref())
    }
}

/// A nested run that was executed for others.
#[derive(Clone, Debug)]
pub struct EndedChild {
    /// The run.
    pub child: ChildRun,
    /// Its status.
    pub status: RunStatus,
}

/// The one nested run that an executor executes.
pub(crate) struct OnlyRun {
    id: Arc<str>,
    /// The path of its calls, once the run around it has come to it.
    path: Mutex<Option<Arc<str>>>,
    ended: Mutex<Option<EndedChild>>,
}

impl OnlyRun {
    pub(crate) fn new(id: Arc<str>) -> Self {
        Self { id, path: Mutex::default(), ended: Mutex::default() }
    }

    pub(crate) fn is(&self, id: &str) -> bool {
        *self.id == *id
    }

    /// Returns whether the run is nested in another one, at any depth.
    fn is_inside(&self, id: &str) -> bool {
        self.id.strip_prefix(id).is_some_and(|below| below.starts_with('/'))
    }

    /// Returns whether calls with a path are calls of the run, or of runs that it nests.
    pub(crate) fn contains(&self, path: &str) -> bool {
        let own = self.path.lock().unwrap_or_else(PoisonError::into_inner);
        own.as_ref().is_some_and(|own| path.starts_with(&**own))
    }

    fn begin(&self, path: &Arc<str>) {
        *self.path.lock().unwrap_or_else(PoisonError::into_inner) = Some(path.clone());
    }

    pub(crate) fn end(&self, ended: EndedChild) {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(ended);
    }

    pub(crate) fn take_ended(&self) -> Option<EndedChild> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl CallExecutor<'_> {
    /// Decides whether a nested run is executed here. If not, returns what the run around it waits for.
    pub(crate) fn begin_nested(&self, run: &NestedRun, is_gated: bool) -> Option<Waiting> {
        if self.is_closed() {
            return None;
        }
        let family = &self.nesting.as_ref()?.family;
        let id = family.name(run.run_id.as_ref()?);
        if let Some(only) = &self.only
            && !only.contains(&run.path)
        {
            if only.is(&id) {
                only.begin(&run.path);
                return None;
            }
            // Runs next to it are left to others; runs around it are computed from the log.
            return (!only.is_inside(&id)).then(|| waiting(run, &id));
        }
        let call = CallName::from_key(key_of(run), format!("{NESTED}{}", run.skill_id).into());
        let is_handed_over = match self.log().status(&call.key) {
            // Its calls are in this log.
            Some(CallStatus::Replied(_)) => return None,
            Some(_) => true,
            None => false,
        };
        if !is_handed_over && (!self.may_share(run, is_gated) || self.has_begun(run)) {
            return None;
        }
        match self.take_over(run, &id, family, call, is_handed_over) {
            Ok(true) => None,
            Ok(false) => Some(waiting(run, &id)),
            Err(error) => {
                self.fail(error);
                Some(waiting(run, &id))
            }
        }
    }

    /// Returns whether a nested run may be handed over. Policies judge its calls in the order of the run around it, and limits count
    /// them in that order, so a run with either executes its nested runs itself. One that calls nothing is done faster than asked for.
    fn may_share(&self, run: &NestedRun, is_gated: bool) -> bool {
        let is_shared = self.nesting.as_ref().is_some_and(|nesting| nesting.children.are_shared());
        let calls_others =
            || self.host().skill(&run.skill_id).is_some_and(|skill| reaches_out(&skill, self.host()));
        is_shared && !is_gated && !self.budget().is_some_and(Budget::is_limited) && calls_others()
    }

    /// Returns whether calls of a nested run were made here before: it is then executed here to its end, because only this log
    /// knows what was begun.
    fn has_begun(&self, run: &NestedRun) -> bool {
        self.log().history().calls().any(|(call, _)| call.key.starts_with(&*run.path))
    }

    /// Takes the calls of a nested run that has ended into this log, or hands the run over. Returns whether it has ended.
    fn take_over(
        &self,
        run: &NestedRun,
        id: &Arc<str>,
        family: &Family,
        call: CallName,
        is_handed_over: bool,
    ) -> Result<bool, SinkError> {
        let Some(nesting) = &self.nesting else { return Ok(true) };
        let source = nesting.children.source(&run.skill_id);
        let begun = source.and_then(|source| ChildRun::begun(run, source, family, self.host()));
        // A run that cannot start has no journal; its failure is computed here.
        let Some(begun) = begun else { return Ok(true) };
        if !is_handed_over {
            if self.is_stopping() {
                return Ok(false);
            }
            let question = Question {
                kind: QuestionKind::Value,
                input: Object::from_iter([("run", id.clone())]).into(),
                reason: Some(id.clone()),
            };
            // Before anybody can begin: whoever continues this run must know that others may be executing a part of it.
            self.log().note(Entry::Question { call: call.clone(), question }, Durability::Synced)?;
        }
        let Some(entries) = nesting.children.calls_of_ended(id)? else {
            nesting.children.hand_over(&begun)?;
            return Ok(false);
        };
        for entry in entries {
            self.log().note(entry, Durability::Buffered)?;
        }
        let answer = Answer::Value(id.clone().into());
        self.log().note(Entry::Answer { key: call.key, answer, by: None }, Durability::Synced)?;
        Ok(true)
    }
}

fn key_of(run: &NestedRun) -> Arc<str> {
    run.path.strip_suffix('/').unwrap_or(&run.path).into()
}

fn waiting(run: &NestedRun, id: &str) -> Waiting {
    let capability = format!("{NESTED}{}", run.skill_id).into();
    Waiting { key: key_of(run), capability, message: format!("run {id} has not ended").into() }
}
