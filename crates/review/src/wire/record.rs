//! Artifacts, goals and the smaller records of a trace.

use hence_canon::Object;

use crate::vocabulary::{
    AcceptanceKind, AcceptanceStatus, ArtifactType, EvaluationStatus, EventType, Relationship, ResidualKind,
    ResidualSeverity, ResidualStatus, ReviewItemStatus, TargetType,
};

use super::entry::entry;

entry! {
    /// The beginning or the end of a trace, as written.
    Event
}

impl Event {
    /// Returns the type, if the specification knows it.
    pub fn event_type(&self) -> Option<EventType> {
        self.text("type").and_then(EventType::from_word)
    }
}

entry! {
    /// A residual as written: something the trace does not establish.
    Residual
}

impl Residual {
    /// Returns the id.
    pub fn id(&self) -> Option<&str> {
        self.text("residual_id")
    }

    /// Returns the kind.
    pub fn kind(&self) -> Option<ResidualKind> {
        self.text("kind").and_then(ResidualKind::from_word)
    }

    /// Returns the gap in plain language.
    pub fn statement(&self) -> &str {
        self.text("statement").unwrap_or("")
    }

    /// Returns the impact.
    pub fn severity(&self) -> Option<ResidualSeverity> {
        self.text("severity").and_then(ResidualSeverity::from_word)
    }

    /// Returns the status: open when there is none, nothing for an unknown word.
    pub fn status(&self) -> Option<ResidualStatus> {
        match self.member("status") {
            None => Some(ResidualStatus::Open),
            Some(word) => word.as_str().and_then(ResidualStatus::from_word),
        }
    }

    /// Returns the part it is about.
    pub fn target(&self) -> Option<Target> {
        self.object("target").map(|target| Target(super::Entry::new(target.clone(), 0)))
    }

    /// Returns the ids of affected or supporting artifacts.
    pub fn related_artifact_ids(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        self.texts("related_artifact_ids")
    }

    /// Returns the check that could close it.
    pub fn suggested_check(&self) -> Option<&str> {
        self.text("suggested_check")
    }
}

entry! {
    /// A reference to a part of a trace, as written.
    Target
}

impl Target {
    /// Returns the kind of part it names.
    pub fn target_type(&self) -> Option<TargetType> {
        self.text("target_type").and_then(TargetType::from_word)
    }

    /// Returns the id of the part; actions are named by their number in decimal.
    pub fn target_id(&self) -> Option<&str> {
        self.text("target_id")
    }
}

entry! {
    /// A policy as written.
    Policy
}

impl Policy {
    /// Returns the id.
    pub fn id(&self) -> Option<&str> {
        self.text("policy_id").or_else(|| self.text("id"))
    }

    /// Returns the name.
    pub fn name(&self) -> Option<&str> {
        self.text("name")
    }

    /// Returns the formula text.
    pub fn formula(&self) -> Option<&str> {
        self.text("formula")
    }
}

entry! {
    /// A recorded evaluation of a policy, as written.
    Evaluation
}

impl Evaluation {
    /// Returns the id of the policy.
    pub fn policy_id(&self) -> Option<&str> {
        self.text("policy_id")
    }

    /// Returns the verdict.
    pub fn status(&self) -> Option<EvaluationStatus> {
        self.text("status").and_then(EvaluationStatus::from_word)
    }
}

entry! {
    /// An execution environment as written.
    Environment
}

impl Environment {
    /// Returns the id.
    pub fn id(&self) -> Option<&str> {
        self.text("environment_id")
    }
}

entry! {
    /// A comment as written.
    Comment
}

impl Comment {
    /// Returns the id.
    pub fn id(&self) -> Option<&str> {
        self.text("comment_id")
    }
}

entry! {
    /// A review item as written.
    ReviewItem
}

impl ReviewItem {
    /// Returns the id.
    pub fn id(&self) -> Option<&str> {
        self.text("review_item_id")
    }

    /// Returns the status.
    pub fn status(&self) -> Option<ReviewItemStatus> {
        self.text("status").and_then(ReviewItemStatus::from_word)
    }

    /// Returns whether it prevents an approval.
    pub fn is_blocking(&self) -> bool {
        self.bool("blocking") == Some(true)
    }
}

entry! {
    /// A link between two traces, as written.
    Link
}

impl Link {
    /// Returns the id.
    pub fn id(&self) -> Option<&str> {
        self.text("link_id")
    }

    /// Returns the relationship of the traces.
    pub fn relationship(&self) -> Option<Relationship> {
        self.text("relationship").and_then(Relationship::from_word)
    }
}

entry! {
    /// A goal as written.
    Goal
}

impl Goal {
    /// Returns the id, under either of its names.
    pub fn id(&self) -> Option<&str> {
        self.text("id").or_else(|| self.text("goal_id"))
    }

    /// Returns the intent.
    pub fn intent(&self) -> &str {
        self.text("intent").unwrap_or("")
    }

    /// Returns the acceptance items.
    pub fn acceptance(&self) -> impl Iterator<Item = AcceptanceItem> {
        self.entries("acceptance").map(AcceptanceItem)
    }
}

entry! {
    /// An acceptance item as written.
    AcceptanceItem
}

impl AcceptanceItem {
    /// Returns the id, under either of its names.
    pub fn id(&self) -> Option<&str> {
        self.text("id").or_else(|| self.text("acceptance_id"))
    }

    /// Returns the kind of evidence the item is bound to.
    pub fn kind(&self) -> Option<AcceptanceKind> {
        self.text("kind").and_then(AcceptanceKind::from_word)
    }

    /// Returns the status its author gave it; an item without one is still to do.
    pub fn authored_status(&self) -> AcceptanceStatus {
        self.text("status").and_then(AcceptanceStatus::from_word).unwrap_or(AcceptanceStatus::Todo)
    }

    /// Returns a text of the binding.
    pub fn binding_text(&self, key: &str) -> Option<&str> {
        self.object("binding")?.get(key)?.as_str()
    }

    /// Returns whether the goal requires this item, which is the default.
    pub fn is_required(&self) -> bool {
        self.bool("required") != Some(false)
    }
}

entry! {
    /// An artifact as written.
    Artifact
}

impl Artifact {
    /// Returns the id.
    pub fn id(&self) -> Option<&str> {
        self.text("artifact_id")
    }

    /// Returns the type as written.
    pub fn type_word(&self) -> &str {
        self.text("artifact_type").unwrap_or("")
    }

    /// Returns the type, if the specification knows it.
    pub fn artifact_type(&self) -> Option<ArtifactType> {
        ArtifactType::from_word(self.type_word())
    }

    /// Returns whether the artifact is of this type, under any of its names.
    pub fn is(&self, artifact_type: ArtifactType) -> bool {
        self.artifact_type() == Some(artifact_type)
    }

    /// Returns the role as written; any word is allowed.
    pub fn role(&self) -> Option<&str> {
        self.text("artifact_role")
    }

    /// Returns the name.
    pub fn name(&self) -> Option<&str> {
        self.text("name")
    }

    /// Returns the summary, or else the name.
    pub fn about(&self) -> &str {
        let summary = self.text("summary").filter(|text| !text.is_empty());
        summary.or_else(|| self.name()).unwrap_or("")
    }

    /// Returns the id of the producing action as the artifact states it.
    pub fn producer_action_id(&self) -> Option<i64> {
        self.int("producer_action_id")
    }

    /// Returns the ids of the immediate inputs.
    pub fn derived_from(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        self.texts("derived_from")
    }

    /// Returns the id of the replaced predecessor.
    pub fn supersedes(&self) -> Option<&str> {
        self.text("supersedes")
    }

    /// Returns the payload, if it is an object.
    pub fn payload(&self) -> Option<&Object> {
        self.object("payload")
    }

    /// Returns a text member of the payload.
    pub fn payload_text(&self, key: &str) -> Option<&str> {
        self.payload()?.get(key)?.as_str()
    }
}

entry! {
    /// A reference artifact as written; 1.1 called it a reference model.
    ReferenceArtifact
}

impl ReferenceArtifact {
    /// Returns the id.
    pub fn id(&self) -> Option<&str> {
        self.text("reference_artifact_id").or_else(|| self.text("reference_model_id"))
    }
}
