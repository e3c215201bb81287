//! Memories and frames read from JSON, strictly: the first value that does not fit is reported with its place.

use std::sync::Arc;

use hence_canon::read::{self, Finding, Reader};
use hence_canon::{JsonPointer, Object, Value};

use super::{Frame, Memory, OutputBlock, OutputField, Slot, Table, Working};

/// Decodes a text that may be `null`.
pub(crate) fn text_or_null(value: &Value) -> Result<Option<Arc<str>>, Finding> {
    if value.is_null() { Ok(None) } else { read::text(value).map(Some) }
}

impl Memory {
    /// Reads a memory from an object with any of the blocks `inputs`, `vars`, `outputs`, `frame`, `working`,
    /// `output`, `extensions` and the list `written_targets`; absent ones are empty.
    ///
    /// # Errors
    /// The first value of the wrong type, and unknown slots.
    pub fn from_blocks(value: &Value) -> Result<Self, Finding> {
        let mut blocks = Reader::new(value)?;
        let mut object = |key| Ok(blocks.optional(key, read::object)?.cloned().unwrap_or_default());
        let (inputs, vars, outputs) = (object("inputs")?, object("vars")?, object("outputs")?);
        let extensions: Object = object("extensions")?;
        Ok(Self {
            inputs,
            vars: Table::from(&vars),
            outputs: Table::from(&outputs),
            frame: Arc::new(blocks.optional("frame", Frame::from_value)?.unwrap_or_default()),
            working: blocks.optional("working", working)?.unwrap_or_default(),
            output: blocks.optional("output", output)?.unwrap_or_default(),
            extensions: Table::from(&extensions),
            written_targets: blocks.list("written_targets", read::text)?.into_iter().collect(),
        })
    }
}

impl Frame {
    /// Reads a frame given as a JSON object.
    ///
    /// # Errors
    /// The first value of the wrong type, and unknown fields.
    pub fn from_value(value: &Value) -> Result<Self, Finding> {
        let mut reader = Reader::new(value)?;
        let mut object = |key| Ok(reader.optional(key, read::object)?.cloned().unwrap_or_default());
        let (context, constraints) = (object("context")?, object("constraints")?);
        let success_criteria = object("success_criteria")?;
        let frame = Self {
            goal: reader.optional("goal", text_or_null)?.flatten(),
            context,
            constraints,
            success_criteria,
            assumptions: reader.list("assumptions", read::text)?.into(),
            priority: reader.optional("priority", text_or_null)?.flatten(),
        };
        reader.refuse_unknown()?;
        Ok(frame)
    }
}

fn working(value: &Value) -> Result<Working, Finding> {
    let mut working = Working::default();
    for (key, value) in read::object(value)?.iter() {
        let read = match key.parse::<Slot>() {
            Ok(Slot::Artifacts) => read::object(value).map(|object| working.artifacts = Table::from(object)),
            Ok(Slot::List(list)) => {
                read::items(value, |item| Ok(item.clone())).map(|items| working.set_list(list, items.into()))
            }
            Err(error) => Err(Finding::other(error)),
        };
        read.map_err(|finding| finding.under(&JsonPointer::root().child(key)))?;
    }
    Ok(working)
}

fn output(value: &Value) -> Result<OutputBlock, Finding> {
    let mut block = OutputBlock::default();
    for (key, value) in read::object(value)?.iter() {
        let read = match key.parse::<OutputField>() {
            Ok(OutputField::Result) => {
                block.result = value.clone();
                Ok(())
            }
            Ok(OutputField::Text(field)) => text_or_null(value).map(|text| block.set_text(field, text)),
            Err(error) => Err(Finding::other(error)),
        };
        read.map_err(|finding| finding.under(&JsonPointer::root().child(key)))?;
    }
    Ok(block)
}
