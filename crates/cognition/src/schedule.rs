//! Schedules: the steps that may start, the result that is due, and the steps that a failure blocks.
//!
//! A step may start when everything it depends on, and everything it reads from, has been committed. Results are
//! committed in plan order. A driver with one worker alternates [`Schedule::start`] and [`Schedule::settle`]; one
//! with many workers starts every step it gets, holds results until they are due, and ends with the same commits.

use std::collections::BTreeSet;

use crate::plan::{Plan, StepIndex};
use crate::state::StepStatus;

/// The effect of a failing step on the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FailureMode {
    /// No other step starts.
    #[default]
    FailFast,
    /// Steps that do not depend on it continue.
    Continue,
}

/// The progress of one run through a plan.
#[derive(Clone, Debug)]
pub struct Schedule<'a> {
    plan: &'a Plan,
    mode: FailureMode,
    /// Plan position of each step.
    position: Vec<usize>,
    /// The number of commits each step still waits for.
    waiting: Vec<usize>,
    /// The steps that wait for each step: those that depend on it and those that read from it, each once.
    waiters: Vec<Vec<StepIndex>>,
    /// Plan positions of steps that may start.
    ready: BTreeSet<usize>,
    blocked: BTreeSet<StepIndex>,
    /// Plan position of the next commit.
    due: usize,
    stopped: bool,
}

impl<'a> Schedule<'a> {
    /// Returns the schedule of a run that has executed nothing.
    pub fn new(plan: &'a Plan, mode: FailureMode) -> Self {
        let count = plan.order().len();
        let (mut position, mut waiting) = (vec![0; count], vec![0; count]);
        let mut waiters = vec![Vec::new(); count];
        let mut ready = BTreeSet::new();
        for (at, step) in plan.order().iter().enumerate() {
            let awaited: BTreeSet<&StepIndex> =
                plan.dependencies(*step).iter().chain(plan.reads_from(*step)).collect();
            if awaited.is_empty() {
                ready.insert(at);
            }
            set(&mut position, *step, at);
            set(&mut waiting, *step, awaited.len());
            for other in awaited {
                if let Some(list) = waiters.get_mut(other.position()) {
                    Vec::push(list, *step);
                }
            }
        }
        Self {
            plan,
            mode,
            position,
            waiting,
            waiters,
            ready,
            blocked: BTreeSet::new(),
            due: 0,
            stopped: false,
        }
    }

    /// Takes the next step that may start now, earliest in plan order first.
    pub fn start(&mut self) -> Option<StepIndex> {
        self.start_before(None)
    }

    /// Takes the next step that may start now and comes before a place in the plan.
    pub(crate) fn start_before(&mut self, limit: Option<usize>) -> Option<StepIndex> {
        if self.stopped || limit.is_some_and(|limit| self.ready.first().is_some_and(|at| *at >= limit)) {
            return None;
        }
        let at = self.ready.pop_first()?;
        self.plan.order().get(at).copied()
    }

    /// Returns the step whose result is to be committed next, if any is left.
    pub fn due(&self) -> Option<StepIndex> {
        if self.stopped { None } else { self.plan.order().get(self.due).copied() }
    }

    /// Returns the place in the plan of the next commit.
    pub(crate) fn due_place(&self) -> usize {
        self.due
    }

    /// Commits the result of the step that is due. Skipped and degraded steps satisfy what depends on them.
    pub fn settle(&mut self, status: StepStatus) {
        let Some(step) = self.due() else { return };
        // A resumed run settles steps that it never started.
        self.ready.remove(&self.due);
        if status == StepStatus::Failed {
            match self.mode {
                FailureMode::FailFast => self.stopped = true,
                FailureMode::Continue => self.block_behind(step),
            }
        }
        self.release(step);
        self.advance();
    }

    /// Returns the steps that were not executed because something they depend on failed, as declared.
    pub fn blocked(&self) -> impl Iterator<Item = StepIndex> {
        self.blocked.iter().copied()
    }

    /// Moves on to the next commit, past steps that will never have a result of their own.
    fn advance(&mut self) {
        self.due += 1;
        while let Some(step) = self.due().filter(|step| self.blocked.contains(step)) {
            self.release(step);
            self.due += 1;
        }
    }

    fn release(&mut self, step: StepIndex) {
        for waiter in self.waiters.get(step.position()).into_iter().flatten() {
            let Some(count) = self.waiting.get_mut(waiter.position()) else { continue };
            *count = count.saturating_sub(1);
            if *count == 0 && !self.blocked.contains(waiter) {
                self.ready.extend(self.position.get(waiter.position()));
            }
        }
    }

    fn block_behind(&mut self, failed: StepIndex) {
        let mut open = vec![failed];
        while let Some(step) = open.pop() {
            let newly =
                self.plan.dependents(step).iter().filter(|dependent| self.blocked.insert(**dependent));
            open.extend(newly);
        }
    }
}

fn set<T>(list: &mut [T], step: StepIndex, value: T) {
    if let Some(place) = list.get_mut(step.position()) {
        *place = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skill::Skill;
    use crate::testing::json;

    fn skill(steps: &str) -> Skill {
        let text = format!(
            r#"{{"id": "s", "version": "1", "name": "N", "description": "D", "inputs": {{}}, "outputs": {{}}, "steps": {steps}}}"#
        );
        Skill::read(&json(&text)).skill.unwrap()
    }

    const DIAMOND: &str = r#"[
        {"id": "a", "uses": "c"},
        {"id": "b", "uses": "c", "config": {"depends_on": ["a"]}},
        {"id": "c", "uses": "c", "config": {"depends_on": ["a"]}},
        {"id": "d", "uses": "c", "config": {"depends_on": ["b", "c"]}}]"#;

    #[test]
    fn several_steps_may_be_under_way_and_commits_keep_plan_order() {
        let skill = skill(DIAMOND);
        let plan = Plan::of(&skill).unwrap();
        let mut schedule = Schedule::new(&plan, FailureMode::FailFast);
        let a = schedule.start().unwrap();
        assert_eq!((a.position(), schedule.start()), (0, None));
        schedule.settle(StepStatus::Completed);
        let both: Vec<usize> = std::iter::from_fn(|| schedule.start()).map(StepIndex::position).collect();
        assert_eq!(both, [1, 2]);
        assert_eq!(schedule.due().unwrap().position(), 1);
        schedule.settle(StepStatus::Skipped);
        assert_eq!(schedule.start(), None);
        schedule.settle(StepStatus::Degraded);
        assert_eq!(schedule.start().unwrap().position(), 3);
    }

    #[test]
    fn a_failure_stops_everything_or_only_what_depends_on_it() {
        let skill = skill(DIAMOND);
        let plan = Plan::of(&skill).unwrap();
        for (mode, executed, blocked) in
            [(FailureMode::FailFast, vec![0, 1], vec![]), (FailureMode::Continue, vec![0, 1, 2], vec![3])]
        {
            let mut schedule = Schedule::new(&plan, mode);
            let mut seen = Vec::new();
            while let Some(step) = schedule.start() {
                seen.push(step.position());
                let status = if step.position() == 1 { StepStatus::Failed } else { StepStatus::Completed };
                schedule.settle(status);
            }
            assert_eq!(seen, executed);
            assert_eq!(schedule.blocked().map(StepIndex::position).collect::<Vec<_>>(), blocked);
        }
    }

    #[test]
    fn a_reader_starts_only_after_what_it_reads_is_committed() {
        let skill = skill(
            r#"[{"id": "w", "uses": "c", "output": {"r": "vars.x"}, "config": {"depends_on": []}},
                {"id": "r", "uses": "c", "input": {"x": "vars.x"}, "config": {"depends_on": []}},
                {"id": "o", "uses": "c", "config": {"depends_on": []}}]"#,
        );
        let plan = Plan::of(&skill).unwrap();
        let mut schedule = Schedule::new(&plan, FailureMode::FailFast);
        let first: Vec<usize> = std::iter::from_fn(|| schedule.start()).map(StepIndex::position).collect();
        assert_eq!(first, [0, 2]);
        schedule.settle(StepStatus::Completed);
        assert_eq!(schedule.start().unwrap().position(), 1);
    }
}
