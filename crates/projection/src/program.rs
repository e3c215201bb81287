//! The program of a run, as far as its reader knows it.

use std::sync::Arc;

use hence_canon::Canonical;
use hence_cognition::run::Prepared;
use hence_engine::Engine;
use hence_skills::Host;
use hence_state::ProblemSpec;

use crate::ProjectError;
use crate::reason::Reason;
use crate::skill::SkillView;
use crate::variables::VariablesView;
use crate::view::View;

/// What a run is an execution of.
#[derive(Clone, Copy)]
pub enum Program<'a> {
    /// The policy a problem names, in an engine that may know it.
    Reason(&'a Engine),
    /// A skill, with what its steps can call.
    Skill {
        /// The skill the problem pins.
        prepared: &'a Prepared,
        /// Its document, whose digest the problem must pin.
        source: &'a Canonical,
        /// Contracts and determinism of capabilities. It is asked for those alone; nothing is called.
        host: &'a dyn Host,
    },
    /// Operations on variables, driven from outside.
    Variables,
}

impl<'a> Program<'a> {
    pub(crate) fn view(self, problem: &Arc<ProblemSpec>) -> Result<Box<dyn View + 'a>, ProjectError> {
        Ok(match self {
            Self::Reason(engine) => Box::new(Reason::of(engine, problem)),
            Self::Skill { prepared, source, host } => {
                Box::new(SkillView::of(prepared, source, host, problem)?)
            }
            Self::Variables => Box::new(VariablesView::default()),
        })
    }
}
