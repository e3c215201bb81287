//! Reading blocks back from JSON: strict, with the place of what is wrong.

use std::sync::Arc;

use hence_canon::{JsonPointer, Object, Value};

use super::{Frame, Memory, OutputBlock, OutputField, Slot, Table, Working};

/// A document that is not what it should be at one place.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("at `{pointer}`: expected {expected}, found {found}")]
pub struct DecodeError {
    /// Where.
    pub pointer: JsonPointer,
    /// What could stand there.
    pub expected: &'static str,
    /// What does.
    pub found: String,
}

/// A place in a document that is being read.
#[derive(Clone)]
pub(crate) struct Place<'a> {
    value: Option<&'a Value>,
    pointer: JsonPointer,
}

impl<'a> Place<'a> {
    pub(crate) fn root(value: &'a Value) -> Self {
        Self { value: Some(value), pointer: JsonPointer::root() }
    }

    pub(crate) fn member(&self, key: &str) -> Self {
        Self { value: self.value.and_then(|value| value.get(key)), pointer: self.pointer.child(key) }
    }

    pub(crate) fn value(&self) -> Option<&'a Value> {
        self.value
    }

    pub(crate) fn error(&self, expected: &'static str) -> DecodeError {
        let found = self.value.map_or_else(|| "nothing".to_owned(), |value| value.kind().to_string());
        DecodeError { pointer: self.pointer.clone(), expected, found }
    }

    pub(crate) fn object(&self) -> Result<&'a Object, DecodeError> {
        self.value.and_then(Value::as_object).ok_or_else(|| self.error("an object"))
    }

    /// Reads an object that may be absent, but not `null`.
    pub(crate) fn object_or_empty(&self) -> Result<Object, DecodeError> {
        if self.value.is_none() { Ok(Object::new()) } else { self.object().cloned() }
    }

    pub(crate) fn text(&self) -> Result<Arc<str>, DecodeError> {
        match self.value {
            Some(Value::String(text)) => Ok(text.clone()),
            _ => Err(self.error("a string")),
        }
    }

    pub(crate) fn text_or_null(&self) -> Result<Option<Arc<str>>, DecodeError> {
        if self.is_absent_or_null() { Ok(None) } else { self.text().map(Some) }
    }

    pub(crate) fn is_absent_or_null(&self) -> bool {
        self.value.is_none_or(Value::is_null)
    }

    pub(crate) fn items(&self) -> Result<Vec<Self>, DecodeError> {
        let items = match self.value {
            None => return Ok(Vec::new()),
            Some(value) => value.as_array().ok_or_else(|| self.error("a list"))?,
        };
        let place = |(index, item)| Self { value: Some(item), pointer: self.pointer.child(index) };
        Ok(items.iter().enumerate().map(place).collect())
    }

    pub(crate) fn texts(&self) -> Result<Vec<Arc<str>>, DecodeError> {
        self.items()?.iter().map(Self::text).collect()
    }
}

impl Memory {
    /// Reads a memory from an object with any of the blocks `inputs`, `vars`, `outputs`, `frame`, `working`,
    /// `output`, `extensions` and the list `written_targets`; absent ones are empty.
    ///
    /// # Errors
    /// [`DecodeError`] at the first value of the wrong type and at unknown slots.
    pub fn from_blocks(value: &Value) -> Result<Self, DecodeError> {
        let root = Place::root(value);
        root.object()?;
        let table = |key: &str| root.member(key).object_or_empty().map(|object| Table::from(&object));
        Ok(Self {
            inputs: root.member("inputs").object_or_empty()?,
            vars: table("vars")?,
            outputs: table("outputs")?,
            frame: Arc::new(frame(&root.member("frame"))?),
            working: working(&root.member("working"))?,
            output: output(&root.member("output"))?,
            extensions: table("extensions")?,
            written_targets: root.member("written_targets").texts()?.into_iter().collect(),
        })
    }
}

/// Reads a frame given as a JSON object.
///
/// # Errors
/// [`DecodeError`] at the first value of the wrong type and at unknown fields.
impl TryFrom<&Value> for Frame {
    type Error = DecodeError;

    fn try_from(value: &Value) -> Result<Self, DecodeError> {
        frame(&Place::root(value))
    }
}

fn frame(place: &Place<'_>) -> Result<Frame, DecodeError> {
    known_members(place, "a field of the frame", |key| Frame::FIELDS.contains(&key))?;
    Ok(Frame {
        goal: place.member("goal").text_or_null()?,
        context: place.member("context").object_or_empty()?,
        constraints: place.member("constraints").object_or_empty()?,
        success_criteria: place.member("success_criteria").object_or_empty()?,
        assumptions: place.member("assumptions").texts()?.into(),
        priority: place.member("priority").text_or_null()?,
    })
}

fn working(place: &Place<'_>) -> Result<Working, DecodeError> {
    known_members(place, "one of the ten slots", |key| key.parse::<Slot>().is_ok())?;
    let mut working = Working::default();
    for slot in Slot::all() {
        let member = place.member(slot.name());
        match slot {
            Slot::Artifacts => working.artifacts = Table::from(&member.object_or_empty()?),
            Slot::List(list) => {
                working.set_list(
                    list,
                    member.items()?.iter().filter_map(|item| item.value().cloned()).collect(),
                );
            }
        }
    }
    Ok(working)
}

fn output(place: &Place<'_>) -> Result<OutputBlock, DecodeError> {
    known_members(place, "a field of the output block", |key| key.parse::<OutputField>().is_ok())?;
    let mut block = OutputBlock::default();
    for field in OutputField::ALL {
        let member = place.member(field.name());
        match field {
            OutputField::Result => block.result = member.value().cloned().unwrap_or_default(),
            OutputField::Text(text) => block.set_text(text, member.text_or_null()?),
        }
    }
    Ok(block)
}

fn known_members(
    place: &Place<'_>,
    expected: &'static str,
    known: impl Fn(&str) -> bool,
) -> Result<(), DecodeError> {
    let object = place.object_or_empty()?;
    match object.keys().find(|key| !known(key)) {
        None => Ok(()),
        Some(key) => {
            Err(DecodeError { pointer: place.member(key).pointer, expected, found: format!("`{key}`") })
        }
    }
}
