//! Input mappings: a template whose strings may be references.

use std::collections::BTreeSet;
use std::sync::Arc;

use hence_canon::{JsonPointer, Object, Value};

use crate::reference::{MissingReference, Reference};
use crate::state::{Memory, Names};

/// The only member of an object that is taken literally: its value is the input.
///
/// Prose such as `"outputs. Then stop"` reads as a reference; `{"$literal": "outputs. Then stop"}` does not.
pub const LITERAL_KEY: &str = "$literal";

/// The declared input of a step, read once and resolved at every execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InputMapping {
    template: Template,
    reads: Names,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Template {
    /// Nothing inside needs the memory.
    Fixed(Value),
    Reference(Reference),
    List(Box<[Template]>),
    Map(Box<[(Arc<str>, Template)]>),
}

/// An input mapping that is malformed whatever the state.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidInputMapping {
    /// An input mapping is an object.
    #[error("an input mapping is an object, found {0}")]
    NotAnObject(hence_canon::Kind),
    /// A member without a name, at any depth.
    #[error("an input name is empty at `{0}`")]
    EmptyKey(JsonPointer),
}

/// A step input that cannot be made.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InputMappingError {
    /// The mapping itself is malformed.
    #[error(transparent)]
    Invalid(#[from] InvalidInputMapping),
    /// A reference into a strict namespace names nothing.
    #[error("input at `{pointer}`: {source}")]
    Reference {
        /// The place in the input.
        pointer: JsonPointer,
        /// The reference.
        source: MissingReference,
    },
}

impl InputMapping {
    /// Reads a mapping.
    ///
    /// # Errors
    /// [`InvalidInputMapping`] when it is not an object or a member has no name.
    pub fn parse(mapping: &Value) -> Result<Self, InvalidInputMapping> {
        match mapping {
            // The mapping itself is never a literal: an input named `$literal` stays possible.
            Value::Object(object) => map(object, &JsonPointer::root()).map(Self::of),
            other => Err(InvalidInputMapping::NotAnObject(other.kind())),
        }
    }

    /// Returns the mapping without inputs.
    pub fn empty() -> Self {
        Self::of(Template::Fixed(Object::new().into()))
    }

    fn of(template: Template) -> Self {
        let mut found = Vec::new();
        template.collect(&mut found);
        let reads = found.into_iter().map(|reference| reference.to_string().into()).collect();
        Self { template, reads }
    }

    /// Makes the input from memory.
    ///
    /// # Errors
    /// [`InputMappingError::Reference`] when a strict reference names nothing.
    pub fn resolve(&self, memory: &Memory) -> Result<Value, InputMappingError> {
        // The place is looked for only when something is missing: it would cost more than resolving does.
        self.template.resolve(memory).map_err(|source| InputMappingError::Reference {
            pointer: self.template.place_of(&source.reference, &JsonPointer::root()).unwrap_or_default(),
            source,
        })
    }

    /// Returns the value of one input.
    pub(crate) fn member(&self, name: &str) -> Option<Given<'_>> {
        match &self.template {
            Template::Fixed(value) => value.get(name).map(Given::Fixed),
            Template::Map(members) => {
                members.iter().find(|(key, _)| &**key == name).map(|(_, member)| match member {
                    Template::Fixed(value) => Given::Fixed(value),
                    _ => Given::Resolved,
                })
            }
            Template::Reference(_) | Template::List(_) => None,
        }
    }

    /// Returns every reference, depth first in declared order, repetitions included.
    pub fn references(&self) -> Vec<&Reference> {
        let mut found = Vec::new();
        self.template.collect(&mut found);
        found
    }

    /// Returns every reference with its place in the mapping.
    pub(crate) fn references_at(&self) -> Vec<(JsonPointer, &Reference)> {
        let mut found = Vec::new();
        self.template.collect_at(&JsonPointer::root(), &mut found);
        found
    }

    /// Returns everything about the input that is known before anything runs.
    pub(crate) fn known(&self) -> KnownInput {
        let mut known = KnownInput::default();
        let (mut fixed, mut shape) = (Vec::new(), Vec::new());
        match &self.template {
            Template::Fixed(Value::Object(members)) => {
                known.names.extend(members.keys().cloned());
                fixed.extend(members.iter().map(|(key, value)| (key.clone(), value.clone())));
                shape.clone_from(&fixed);
            }
            Template::Map(members) => {
                for (key, member) in members {
                    known.names.insert(key.clone());
                    if let Template::Fixed(value) = member {
                        fixed.push((key.clone(), value.clone()));
                    }
                    shape.extend(member.shape().map(|value| (key.clone(), value)));
                }
            }
            _ => {}
        }
        KnownInput { fixed: fixed.into_iter().collect(), shape: shape.into_iter().collect(), ..known }
    }

    /// Returns the texts of [`references`](Self::references).
    pub fn reads(&self) -> &Names {
        &self.reads
    }
}

/// Everything about an input that is known before anything runs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KnownInput {
    /// The names of all members.
    pub names: BTreeSet<Arc<str>>,
    /// The members whose values are fixed.
    pub fixed: Object,
    /// The members whose form is known: `null` stands for every value that memory gives inside them.
    pub shape: Object,
}

/// The value a mapping gives for one input.
#[derive(Clone, Copy)]
pub(crate) enum Given<'a> {
    /// A value known before anything runs.
    Fixed(&'a Value),
    /// Something that depends on memory.
    Resolved,
}

impl<'a> Given<'a> {
    pub(crate) fn fixed(self) -> Option<&'a Value> {
        match self {
            Self::Fixed(value) => Some(value),
            Self::Resolved => None,
        }
    }
}

impl Template {
    fn resolve(&self, memory: &Memory) -> Result<Value, MissingReference> {
        Ok(match self {
            Self::Fixed(value) => value.clone(),
            Self::Reference(reference) => reference.resolve(memory)?,
            Self::List(items) => {
                items.iter().map(|item| item.resolve(memory)).collect::<Result<Vec<Value>, _>>()?.into()
            }
            Self::Map(members) => members
                .iter()
                .map(|(key, member)| Ok((key.clone(), member.resolve(memory)?)))
                .collect::<Result<Object, MissingReference>>()?
                .into(),
        })
    }

    /// Returns the first place of a reference.
    fn place_of(&self, reference: &Reference, pointer: &JsonPointer) -> Option<JsonPointer> {
        match self {
            Self::Fixed(_) => None,
            Self::Reference(found) => (found == reference).then(|| pointer.clone()),
            Self::List(items) => {
                let mut places = items.iter().enumerate();
                places.find_map(|(index, item)| item.place_of(reference, &pointer.child(index)))
            }
            Self::Map(members) => {
                members.iter().find_map(|(key, member)| member.place_of(reference, &pointer.child(key)))
            }
        }
    }

    fn collect<'a>(&'a self, found: &mut Vec<&'a Reference>) {
        match self {
            Self::Fixed(_) => {}
            Self::Reference(reference) => found.push(reference),
            Self::List(items) => items.iter().for_each(|item| item.collect(found)),
            Self::Map(members) => members.iter().for_each(|(_, member)| member.collect(found)),
        }
    }

    fn collect_at<'a>(&'a self, place: &JsonPointer, found: &mut Vec<(JsonPointer, &'a Reference)>) {
        match self {
            Self::Fixed(_) => {}
            Self::Reference(reference) => found.push((place.clone(), reference)),
            Self::List(items) => {
                (0..)
                    .zip(items)
                    .for_each(|(index, item): (usize, _)| item.collect_at(&place.child(index), found));
            }
            Self::Map(members) => {
                members.iter().for_each(|(key, member)| member.collect_at(&place.child(key), found));
            }
        }
    }

    /// Returns the form of a value, unless memory gives all of it.
    fn shape(&self) -> Option<Value> {
        Some(match self {
            Self::Fixed(value) => value.clone(),
            Self::Reference(_) => return None,
            Self::List(items) => items.iter().map(|item| item.shape().unwrap_or_default()).collect(),
            Self::Map(members) => {
                let shaped =
                    |(key, member): &(Arc<str>, Self)| (key.clone(), member.shape().unwrap_or_default());
                members.iter().map(shaped).collect::<Object>().into()
            }
        })
    }

    fn is_fixed(&self) -> bool {
        matches!(self, Self::Fixed(_))
    }
}

fn template(value: &Value, pointer: &JsonPointer) -> Result<Template, InvalidInputMapping> {
    Ok(match value {
        Value::String(text) => {
            Reference::parse(text).map_or_else(|| Template::Fixed(value.clone()), Template::Reference)
        }
        Value::Array(items) => {
            let items = items.iter().enumerate().map(|(index, item)| template(item, &pointer.child(index)));
            let items = items.collect::<Result<Box<[_]>, _>>()?;
            if items.iter().all(Template::is_fixed) { fixed_list(&items) } else { Template::List(items) }
        }
        Value::Object(object) => match object.get(LITERAL_KEY) {
            Some(literal) if object.len() == 1 => Template::Fixed(literal.clone()),
            _ => map(object, pointer)?,
        },
        _ => Template::Fixed(value.clone()),
    })
}

fn map(object: &Object, pointer: &JsonPointer) -> Result<Template, InvalidInputMapping> {
    let mut members = Vec::with_capacity(object.len());
    for (key, value) in object.iter() {
        let place = pointer.child(key);
        if key.is_empty() {
            return Err(InvalidInputMapping::EmptyKey(place));
        }
        members.push((key.clone(), template(value, &place)?));
    }
    if !members.iter().all(|(_, member)| member.is_fixed()) {
        return Ok(Template::Map(members.into()));
    }
    let fixed = members.into_iter().filter_map(|(key, member)| match member {
        Template::Fixed(value) => Some((key, value)),
        _ => None,
    });
    Ok(Template::Fixed(fixed.collect::<Object>().into()))
}

fn fixed_list(items: &[Template]) -> Template {
    let fixed = items.iter().filter_map(|item| match item {
        Template::Fixed(value) => Some(value.clone()),
        _ => None,
    });
    Template::Fixed(fixed.collect())
}
