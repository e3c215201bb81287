//! The smaller records of a trace.

use crate::vocabulary::{
    EvaluationStatus, EventType, Relationship, ResidualKind, ResidualSeverity, ResidualStatus,
    ReviewItemStatus, TargetType,
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

    /// Returns why it is not established.
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

    /// Returns where it stands: a residual that does not say is open, one with a foreign word is nowhere.
    pub fn status(&self) -> Option<ResidualStatus> {
        match self.member("status") {
            None => Some(ResidualStatus::Open),
            Some(word) => word.as_str().and_then(ResidualStatus::from_word),
        }
    }

    /// Returns where it bites.
    pub fn target(&self) -> Option<Target> {
        self.object("target").map(|target| Target(super::Entry::new(target.clone(), 0)))
    }

    /// Returns the ids of affected or supporting artifacts.
    pub fn related_artifact_ids(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        self.texts("related_artifact_ids")
    }

    /// Returns how it could be closed.
    pub fn suggested_check(&self) -> Option<&str> {
        self.text("suggested_check")
    }
}

entry! {
    /// A reference to a part of a trace, as written.
    Target
}

impl Target {
    /// Returns what kind of part it names.
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

    /// Returns where it stands.
    pub fn status(&self) -> Option<ReviewItemStatus> {
        self.text("status").and_then(ReviewItemStatus::from_word)
    }

    /// Returns whether it stops an approval.
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

    /// Returns how the traces relate.
    pub fn relationship(&self) -> Option<Relationship> {
        self.text("relationship").and_then(Relationship::from_word)
    }
}
