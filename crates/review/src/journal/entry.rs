//! What a reviewer can say.

use hence_canon::{Object, Value};

use crate::model::{
    ArtifactId, CommentId, Defects, Definitions, Field, Path, Residual, ResidualId, ReviewItemId, Target,
    Text, record,
};
use crate::vocabulary::words;

words! {
    /// What checking a claim again gave.
    RecheckOutcome, "recheck outcome" {
        Confirmed = "confirmed",
        Diverged = "diverged",
        Accepted = "accepted",
    }
}

record! {
    /// A remark about a part of the trace.
    CommentEntry {
        comment_id: CommentId,
        body: Text,
        target: Target,
        thread_parent_id: Option<CommentId>,
    }
}

record! {
    /// The end of a thread.
    ResolveComment {
        comment_id: CommentId,
    }
}

record! {
    /// Something that should be done.
    RaiseItem {
        review_item_id: ReviewItemId,
        title: Text,
        body: Option<Text>,
        target: Target,
        blocking: bool,
        assignee: Option<Text>,
    }
}

record! {
    /// A word about an item.
    ItemNote {
        review_item_id: ReviewItemId,
        note: Option<Text>,
    }
}

record! {
    /// A word about a gap.
    ResidualNote {
        residual_id: ResidualId,
        note: Option<Text>,
    }
}

record! {
    /// A gap the reviewer found.
    AddResidual {
        residual: Residual,
    }
}

record! {
    /// A claim that was checked again; accepting it unchecked is said openly and takes a note.
    Recheck {
        artifact_id: ArtifactId,
        outcome: RecheckOutcome,
        note: Option<Text>,
    }
}

record! {
    /// A word about the whole.
    Note {
        note: Option<Text>,
    }
}

macro_rules! entries {
    ($($(#[$meta:meta])* $variant:ident($content:ty) = $tag:literal),+ $(,)?) => {
        /// One thing a reviewer said.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Entry { $($(#[$meta])* $variant($content)),+ }

        impl Entry {
            /// Returns the word that tells entries apart.
            pub const fn tag(&self) -> &'static str {
                match self { $(Self::$variant(_) => $tag),+ }
            }
        }

        impl Field for Entry {
            fn decode(value: &Value, at: &Path<'_>, defects: &mut Defects) -> Option<Self> {
                let Value::Object(object) = value else {
                    defects.kind(at, "an object", value);
                    return None;
                };
                let tag = object.get("type").and_then(Value::as_str).unwrap_or("");
                let content: Value = object.without("type").into();
                match tag {
                    $($tag => Field::decode(&content, at, defects).map(Self::$variant),)+
                    other => {
                        defects.push(&at.key("type"), format!("{other:?} is no kind of entry"));
                        None
                    }
                }
            }

            fn encode(&self) -> Option<Value> {
                let content = match self { $(Self::$variant(content) => content.encode()),+ }?;
                let members = content.as_object()?.iter();
                let tagged = [("type".into(), Value::from(self.tag()))].into_iter();
                Some(tagged.chain(members.map(|(key, value)| (key.clone(), value.clone()))).collect::<Object>().into())
            }

            fn schema(definitions: &mut Definitions) -> Value {
                let variants: Value = [$(<$content>::schema(definitions)),+].into_iter().collect();
                Object::from_iter([("anyOf", variants)]).into()
            }

            #[cfg(test)]
            fn sample(source: &mut crate::model::tests::Choices<'_>) -> Self {
                let tags = [$($tag),+];
                match *source.pick(&tags) {
                    $($tag => Self::$variant(Field::sample(source)),)+
                    _ => Self::Approve(Field::sample(source)),
                }
            }
        }
    };
}

entries! {
    /// A remark.
    Comment(CommentEntry) = "comment",
    /// The end of a thread.
    ResolveComment(ResolveComment) = "resolve_comment",
    /// An item is raised.
    RaiseItem(RaiseItem) = "raise_item",
    /// An item is seen.
    AcknowledgeItem(ItemNote) = "acknowledge_item",
    /// An item is done.
    ResolveItem(ItemNote) = "resolve_item",
    /// An item will not be done; takes a note.
    WaiveItem(ItemNote) = "waive_item",
    /// A gap is known and accepted for now.
    AcknowledgeResidual(ResidualNote) = "acknowledge_residual",
    /// A gap is accepted for good; takes a note.
    WaiveResidual(ResidualNote) = "waive_residual",
    /// A gap is added.
    AddResidual(AddResidual) = "add_residual",
    /// A claim was checked again.
    Recheck(Recheck) = "recheck",
    /// The work is approved.
    Approve(Note) = "approve",
    /// The work needs changes; takes a note.
    RequestChanges(Note) = "request_changes",
    /// A person must decide; takes a note.
    Escalate(Note) = "escalate",
    /// The last disposition is taken back; takes a note.
    Rescind(Note) = "rescind",
}
