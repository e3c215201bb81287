//! Artifacts and the references they are judged by.

use hence_canon::Object;

use crate::vocabulary::ArtifactType;

use super::entry::entry;

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

    /// Returns the summary, or else the name: the text that says what the artifact is about.
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
