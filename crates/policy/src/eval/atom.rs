//! Atoms evaluated at one action.

use hence_review::ending::{self, Ending};
use hence_review::vocabulary::{ActionType, ArtifactType, EventType, ReasoningType};
use hence_review::wire::{Action, Event, ReasoningSlot, Trace};

use super::subject::{needle, searched_text};
use crate::formula::{Expr, Word};
use crate::vocabulary::Atom;

/// Path fragments that count as high-stakes when a trace declares none.
const HIGH_STAKES_DEFAULT: [&str; 3] = ["payments/", "risk/", "stripe_payment_flow"];

/// The facts about one action that atoms ask for.
#[derive(Clone, Copy)]
pub(crate) struct ActionFacts<'t> {
    pub(crate) trace: &'t Trace,
    pub(crate) action: &'t Action,
    pub(crate) action_type: Option<ActionType>,
    pub(crate) target: &'t str,
}

impl<'t> ActionFacts<'t> {
    /// Returns whether `atom`, written `name`, holds of the action.
    pub(crate) fn is(&self, atom: Atom, name: &str) -> bool {
        match atom {
            Atom::Action => true,
            Atom::Category(category) => self.action.text("category") == Some(category.as_str()),
            Atom::ActionType(action_type) => self.action_type == Some(action_type),
            Atom::ForeignType => self.action.type_word() == name,
            Atom::ArtifactType(artifact_type) => self.makes(artifact_type),
            Atom::ToolArtifactType => self.is_or_makes_word(name),
            Atom::Completed => self.ending().is_some_and(|ending| ending.well),
            Atom::Failed => self.ending().is_some_and(|ending| !ending.well),
            Atom::Verification(status) => {
                self.status_in(ReasoningSlot::VerificationResult) == Some(status.as_str())
            }
            Atom::Conformance(status) => self.status_in(ReasoningSlot::Conformance) == Some(status.as_str()),
            Atom::CoSimulation(status) => {
                self.status_in(ReasoningSlot::CoSimulation) == Some(status.as_str())
            }
            Atom::HighStakesPath => self.is_high_stakes(),
            Atom::StartEvent => has_started(self.trace),
            Atom::EndEvent => has_ended(self.trace),
            Atom::Custom => searched_text(self.action).contains(&needle(name)),
            // Named checks look at the whole trace; the evaluator answers them before it asks here.
            Atom::NamedCheck(_) => false,
        }
    }

    /// Returns whether `word` is the status of the action's verification or of one of its outputs.
    pub(crate) fn has_status(&self, word: &Word) -> bool {
        let word = word.as_str();
        self.status_in(ReasoningSlot::VerificationResult) == Some(word)
            || self.outputs().any(|artifact| artifact.payload_text("status") == Some(word))
    }

    fn outputs(&self) -> impl Iterator<Item = &'t hence_review::wire::Artifact> + use<'t> {
        let trace = self.trace;
        self.action.outputs().filter_map(|output| trace.artifact_by_id_or_name(output))
    }

    fn makes(&self, artifact_type: ArtifactType) -> bool {
        ArtifactType::from_word(self.action.type_word()) == Some(artifact_type)
            || self.outputs().any(|artifact| artifact.is(artifact_type))
    }

    fn is_or_makes_word(&self, name: &str) -> bool {
        self.action.type_word() == name || self.outputs().any(|artifact| artifact.type_word() == name)
    }

    fn status_in(&self, slot: ReasoningSlot) -> Option<&'t str> {
        self.trace.reasoning_payload(self.action, slot)?.get("status")?.as_str()
    }

    /// Returns how the action ended, if anything says it.
    pub(crate) fn ending(&self) -> Option<Ending> {
        ending::of(self.action)
    }

    fn is_high_stakes(&self) -> bool {
        if self.trace.entry().member("high_stakes_paths").is_some() {
            self.trace.high_stakes_paths().any(|fragment| self.target.contains(fragment))
        } else {
            HIGH_STAKES_DEFAULT.iter().any(|fragment| self.target.contains(fragment))
        }
    }

    /// Returns whether the action is a verification.
    pub(crate) fn is_verification(&self) -> bool {
        self.action_type == Some(ReasoningType::Verify.into())
    }

    /// Returns whether the action analyses a state space.
    pub(crate) fn is_state_space_analysis(&self) -> bool {
        self.action_type == Some(ReasoningType::StateSpaceAnalysis.into())
    }
}

/// Returns the word of a condition like the one in `VerificationResult(proved)`, if it is a plain word.
pub(crate) fn plain_word(condition: &Expr) -> Option<&Word> {
    match condition {
        Expr::Atom(word) => Some(word),
        _ => None,
    }
}

/// Returns whether the trace has a trigger.
pub(crate) fn has_started(trace: &Trace) -> bool {
    trace.trigger().as_ref().and_then(Event::event_type).is_some_and(EventType::is_trigger)
}

/// Returns whether the trace has an outcome.
pub(crate) fn has_ended(trace: &Trace) -> bool {
    trace.outcome().as_ref().and_then(Event::event_type).is_some_and(EventType::is_outcome)
}
