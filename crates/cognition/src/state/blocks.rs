//! Working memory: ten typed slots that live as long as the run.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use hence_canon::{Object, Value, did_you_mean, words};
use rpds::{Vector, VectorSync};

use crate::state::Table;

words! {
    /// A slot of working memory that holds a list.
    #[expect(missing_docs, reason = "the names of the document's slots")]
    pub enum ListSlot {
        Entities = "entities",
        Options = "options",
        Criteria = "criteria",
        Evidence = "evidence",
        Risks = "risks",
        Hypotheses = "hypotheses",
        Uncertainties = "uncertainties",
        IntermediateDecisions = "intermediate_decisions",
        Messages = "messages",
    }
}

/// A slot of working memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Slot {
    /// `artifacts`: named intermediate products.
    Artifacts,
    /// One of the nine lists.
    List(ListSlot),
}

impl Slot {
    /// Iterates over all ten slots in the order of the document.
    pub fn all() -> impl Iterator<Item = Self> {
        std::iter::once(Self::Artifacts).chain(ListSlot::ALL.iter().copied().map(Self::List))
    }

    /// Returns the name used in references.
    pub fn name(self) -> &'static str {
        match self {
            Self::Artifacts => "artifacts",
            Self::List(list) => list.as_str(),
        }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// A name that is none of the ten slots.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("working memory has no slot `{0}`{meant}", meant = did_you_mean(.0, Slot::all().map(Slot::name)))]
pub struct UnknownSlot(pub String);

impl FromStr for Slot {
    type Err = UnknownSlot;

    fn from_str(name: &str) -> Result<Self, UnknownSlot> {
        Self::all().find(|slot| slot.name() == name).ok_or_else(|| UnknownSlot(name.to_owned()))
    }
}

/// Mutable working memory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Working {
    pub(crate) artifacts: Table,
    lists: [Items; 9],
}

/// The items of a list slot.
///
/// A run of n steps may append n times, so appending must not copy what is there: a persistent vector shares it. Who
/// reads the whole list gets it flat, made once for each state of the list that is really read.
#[derive(Clone, Debug)]
struct Items {
    items: VectorSync<Value>,
    flat: OnceLock<Arc<[Value]>>,
}

impl Items {
    fn flat(&self) -> &Arc<[Value]> {
        self.flat.get_or_init(|| self.items.iter().cloned().collect())
    }

    fn append(&mut self, more: &[Value]) {
        more.iter().for_each(|item| {
            self.items.push_back_mut(item.clone());
        });
        self.flat = OnceLock::new();
    }
}

impl Default for Items {
    fn default() -> Self {
        Self { items: Vector::new_sync(), flat: OnceLock::new() }
    }
}

impl From<Arc<[Value]>> for Items {
    fn from(flat: Arc<[Value]>) -> Self {
        let mut items = Vector::new_sync();
        flat.iter().for_each(|item| {
            items.push_back_mut(item.clone());
        });
        Self { items, flat: OnceLock::from(flat) }
    }
}

impl PartialEq for Items {
    fn eq(&self, other: &Self) -> bool {
        self.items == other.items
    }
}

impl Eq for Items {}

impl Working {
    /// Returns the named intermediate products.
    pub fn artifacts(&self) -> &Table {
        &self.artifacts
    }

    /// Returns the items of a list slot.
    pub fn list(&self, slot: ListSlot) -> &[Value] {
        self.lists.get(slot as usize).map_or(&[], |items| items.flat())
    }

    /// Returns a list slot as a shared value.
    pub(crate) fn list_value(&self, slot: ListSlot) -> Value {
        self.lists
            .get(slot as usize)
            .map_or_else(|| Value::Array(Arc::from([])), |items| Value::Array(items.flat().clone()))
    }

    pub(crate) fn set_list(&mut self, slot: ListSlot, items: Arc<[Value]>) {
        if let Some(place) = self.lists.get_mut(slot as usize) {
            *place = Items::from(items);
        }
    }

    /// Appends to a list slot without copying what is there.
    pub(crate) fn append(&mut self, slot: ListSlot, more: &[Value]) {
        if let Some(place) = self.lists.get_mut(slot as usize) {
            place.append(more);
        }
    }

    /// Returns the value of a slot.
    pub fn slot(&self, slot: Slot) -> Value {
        match slot {
            Slot::Artifacts => self.artifacts.to_object().into(),
            Slot::List(list) => self.list_value(list),
        }
    }

    /// Returns all slots as an object.
    pub fn to_object(&self) -> Object {
        Slot::all().map(|slot| (slot.name(), self.slot(slot))).collect()
    }
}

/// A field of the output block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum OutputField {
    /// `result`: any value.
    Result,
    /// One of the three texts.
    Text(OutputText),
}

/// A field of the output block that holds text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "the names of the document's fields")]
pub enum OutputText {
    ResultType,
    Summary,
    StatusReason,
}

impl OutputField {
    /// Every field in the order of the document.
    pub const ALL: [Self; 4] = [
        Self::Result,
        Self::Text(OutputText::ResultType),
        Self::Text(OutputText::Summary),
        Self::Text(OutputText::StatusReason),
    ];

    /// Returns the name used in references.
    pub fn name(self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::Text(OutputText::ResultType) => "result_type",
            Self::Text(OutputText::Summary) => "summary",
            Self::Text(OutputText::StatusReason) => "status_reason",
        }
    }
}

impl fmt::Display for OutputField {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// A name that is no field of the output block.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the output block has no field `{0}`{meant}", meant = did_you_mean(.0, OutputField::ALL.map(OutputField::name)))]
pub struct UnknownOutputField(pub String);

impl FromStr for OutputField {
    type Err = UnknownOutputField;

    fn from_str(name: &str) -> Result<Self, UnknownOutputField> {
        Self::ALL
            .into_iter()
            .find(|field| field.name() == name)
            .ok_or_else(|| UnknownOutputField(name.to_owned()))
    }
}

/// Structured result metadata.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OutputBlock {
    pub(crate) result: Value,
    texts: [Option<Arc<str>>; 3],
}

impl OutputBlock {
    /// Returns the result.
    pub fn result(&self) -> &Value {
        &self.result
    }

    /// Returns a text.
    pub fn text(&self, field: OutputText) -> Option<&Arc<str>> {
        self.texts.get(field as usize).and_then(Option::as_ref)
    }

    pub(crate) fn set_text(&mut self, field: OutputText, text: Option<Arc<str>>) {
        if let Some(place) = self.texts.get_mut(field as usize) {
            *place = text;
        }
    }

    /// Returns the value of a field.
    pub fn field(&self, field: OutputField) -> Value {
        match field {
            OutputField::Result => self.result.clone(),
            OutputField::Text(text) => self.text(text).cloned().into(),
        }
    }

    /// Returns all fields as an object.
    pub fn to_object(&self) -> Object {
        OutputField::ALL.into_iter().map(|field| (field.name(), self.field(field))).collect()
    }
}
