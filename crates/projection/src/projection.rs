//! A trace that grows with its run, record by record.

use std::sync::Arc;

use hence_engine::Blobs;
use hence_journal::{Control, Head, Header, RecordIndex};
use hence_review::model::{Action, ActionId, ActionStep, Artifact, Residual, Trace};
use hence_skills::CallHistory;
use hence_state::{ProblemSpec, Profile, StepResult};

use crate::ProjectError;
use crate::base::Base;
use crate::ending::Ending;
use crate::link::RunLink;
use crate::piece::Piece;
use crate::program::Program;
use crate::shelf::Shelf;
use crate::trace::{Whole, assembled};
use crate::unit::Units;
use crate::view::{Scene, View};

/// A trace that grows with its run.
///
/// [`look_at_step`](Self::look_at_step) and [`look_at_control`](Self::look_at_control) say what a record would add and
/// change nothing, so a step can be judged before it is recorded; [`take`](Self::take) adds it. Record n is shown
/// from records up to n alone.
pub struct Projection<'a> {
    base: Base<'a>,
    view: Box<dyn View + 'a>,
    shelf: Shelf,
    units: Units,
    actions: Vec<Action>,
    residuals: Vec<Residual>,
    calls: Option<CallHistory>,
}

impl<'a> Projection<'a> {
    /// Begins with the header of a run: the problem is taken in.
    ///
    /// # Errors
    /// [`ProjectError`] when the program and the problem do not belong together.
    pub fn begin(
        header: Header,
        problem: Arc<ProblemSpec>,
        program: Program<'a>,
        blobs: &'a dyn Blobs,
    ) -> Result<Self, ProjectError> {
        let view = program.view(&problem)?;
        let profile = Profile::named(header.profile);
        let base = Base { header, problem, profile, blobs };
        let mut projection = Self {
            base,
            view,
            shelf: Shelf::default(),
            units: Units::default(),
            actions: Vec::new(),
            residuals: Vec::new(),
            calls: None,
        };
        let first = projection.view.begin(&projection.scene());
        projection.take(first)?;
        Ok(projection)
    }

    /// Says what a step adds to the trace, whether it is recorded already or not.
    ///
    /// # Errors
    /// [`ProjectError`] when the result is not one of this program, or lacks a large value.
    pub fn look_at_step(&self, index: RecordIndex, result: &StepResult) -> Result<Piece, ProjectError> {
        self.view.step(&self.scene(), index, result)
    }

    /// Says what a decision between steps adds to the trace.
    pub fn look_at_control(&self, index: RecordIndex, control: &Control) -> Piece {
        self.view.control(&self.scene(), index, control)
    }

    /// Makes a piece part of the trace: the one the next record gave.
    ///
    /// # Errors
    /// [`ProjectError`] when it does not follow from the records before.
    pub fn take(&mut self, piece: Piece) -> Result<(), ProjectError> {
        self.view.take(&piece)?;
        self.units.take(&piece);
        self.shelf.take(piece.artifacts);
        self.actions.extend(piece.actions);
        self.residuals.extend(piece.residuals);
        Ok(())
    }

    /// Takes in what is under way beside the record: only there it is written what people are asked.
    pub fn know_calls(&mut self, calls: &CallHistory) {
        self.calls = Some(calls.clone());
    }

    /// Returns the actions so far.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// Returns the artifacts so far.
    pub fn artifacts(&self) -> &[Artifact] {
        self.shelf.artifacts()
    }

    /// Returns the trace of the run as it is now, which ends at `head`. The runs its problem names are linked; `links`
    /// are others the caller knows of.
    pub fn trace(&self, head: Head, links: &[RunLink]) -> Trace {
        let scene = self.scene();
        let mut actions = self.actions.clone();
        follow(&mut actions);
        let conclusion = self.view.conclude(&scene, &actions);
        let mut residuals = conclusion.before.clone();
        residuals.extend(self.residuals.iter().cloned());
        residuals.extend(conclusion.after.iter().cloned());
        if conclusion.ending == Ending::Unfinished {
            residuals.extend(self.view.questions(&self.base, self.calls.as_ref()));
        }
        let meta_actions = self.units.concluded(&actions, &residuals);
        let links: Vec<RunLink> = self.view.links().into_iter().chain(links.iter().cloned()).collect();
        assembled(Whole {
            base: &self.base,
            plan: self.view.plan(&self.base),
            head,
            links: &links,
            conclusion,
            actions,
            artifacts: self.shelf.artifacts().to_vec(),
            meta_actions,
            residuals,
        })
    }

    fn scene(&self) -> Scene<'_> {
        let next = i64::try_from(self.actions.len()).unwrap_or(i64::MAX - 1) + 1;
        Scene { base: &self.base, shelf: &self.shelf, units: &self.units, next: ActionId(next) }
    }
}

/// Says of each decision which action came behind it. Several branches taken at once have no single next one.
fn follow(actions: &mut [Action]) {
    let mut next = None;
    for action in actions.iter_mut().rev() {
        if let ActionStep::Gateway(_, gateway) = &mut action.step {
            let mut chosen = gateway.options.iter_mut().filter(|option| option.chosen);
            if let (Some(only), None) = (chosen.next(), chosen.next()) {
                only.next_action_id = next;
            }
        }
        next = Some(action.common.id);
    }
}
