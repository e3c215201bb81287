//! The record of a block: how it is written and read.

use std::sync::Arc;

use hence_canon::read::{Finding, Reader, items};
use hence_canon::{Object, Value};
use hence_engine::Blobs;

use crate::record::{
    Block, BlockEnd, CodeError, NotAnEntry, Operation, Read, Store, stored_text, stored_value,
};

/// Returns the members of a block's record.
pub(crate) fn block_members(
    block: &Block,
    store: &mut Store<'_>,
) -> Result<Vec<(&'static str, Value)>, hence_engine::RunError> {
    let (status, detail) = match &block.end {
        BlockEnd::Completed => ("completed", None),
        BlockEnd::Raised(error) => ("raised", Some(("error", error.value()))),
        BlockEnd::Stopped { limit } => ("stopped", Some(("limit", limit.clone().into()))),
    };
    let mut operations: Vec<Value> = Vec::with_capacity(block.operations.len());
    for operation in &block.operations {
        operations.push(operation_value(operation, store)?);
    }
    let pairs = |pairs: &[(Arc<str>, Arc<str>)]| -> Value {
        pairs.iter().map(|(left, right)| (left.clone(), right.clone())).collect::<Object>().into()
    };
    let read = |read: &Read| {
        Value::from(
            vec![read.context, read.item, read.start, read.end]
                .into_iter()
                .map(Value::from)
                .collect::<Vec<_>>(),
        )
    };
    let mut members = vec![
        ("turn", block.turn.into()),
        ("block", block.block.into()),
        ("code", store(block.code.clone().into())?),
        ("status", status.into()),
        ("printed", store(block.printed.clone().into())?),
        ("calls", block.calls.into()),
        ("operations", operations.into()),
    ];
    members.extend(detail);
    if !block.others.is_empty() {
        members.push(("others", pairs(&block.others)));
    }
    if !block.refused.is_empty() {
        members.push(("refused", pairs(&block.refused)));
    }
    if !block.reads.is_empty() {
        members.push(("reads", block.reads.iter().map(read).collect::<Vec<_>>().into()));
    }
    if block.reads_left_out > 0 {
        members.push(("reads_left_out", block.reads_left_out.into()));
    }
    if !block.uses.is_empty() {
        members.push(("uses", block.uses.iter().copied().map(Value::from).collect::<Vec<_>>().into()));
    }
    Ok(members)
}

fn operation_value(operation: &Operation, store: &mut Store<'_>) -> Result<Value, hence_engine::RunError> {
    let (op, name, value) = match operation {
        Operation::Set { name, value } => ("set", name, Some(store(Value::from(vec![value.clone()]))?)),
        Operation::Delete { name } => ("delete", name, None),
        Operation::Checkpoint { name } => ("checkpoint", name, None),
        Operation::Rollback { name } => ("rollback", name, None),
    };
    let mut members = vec![("op", Value::from(op)), ("name", name.clone().into())];
    members.extend(value.map(|value| ("value", value)));
    Ok(members.into_iter().collect::<Object>().into())
}

/// A name and its text.
type TextPair = (Arc<str>, Arc<str>);

/// Reads the record of a block.
pub(crate) fn read_block(mut reader: Reader<'_>, blobs: &dyn Blobs) -> Result<Block, NotAnEntry> {
    let end = match &*reader.text("status")? {
        "completed" => BlockEnd::Completed,
        "raised" => BlockEnd::Raised(CodeError::read(reader.object("error")?)?),
        "stopped" => BlockEnd::Stopped { limit: reader.text("limit")? },
        other => return Err(reader.finding("status", format_args!("unknown status {other:?}")).into()),
    };
    let mut operations = Vec::new();
    for value in reader.required("operations", |value| items(value, |item| Ok(item.clone())))? {
        operations.push(read_operation(&value, blobs)?);
    }
    let mut pairs = |key: &'static str| -> Result<Vec<TextPair>, Finding> {
        let Some(object) = reader.optional_object(key)? else { return Ok(Vec::new()) };
        object
            .source()
            .iter()
            .map(|(name, text)| Ok((name.clone(), hence_canon::read::text(text)?)))
            .collect()
    };
    let (others, refused) = (pairs("others")?, pairs("refused")?);
    let reads = reader.optional("reads", |value| items(value, read_read))?;
    let uses = reader.optional("uses", |value| items(value, hence_canon::read::count))?;
    Ok(Block {
        turn: reader.count("turn")?,
        block: reader.count("block")?,
        code: stored_text(&mut reader, "code", blobs)?,
        end,
        printed: stored_text(&mut reader, "printed", blobs)?,
        calls: reader.count("calls")?,
        operations,
        others,
        refused,
        reads: reads.unwrap_or_default(),
        reads_left_out: reader.optional_count("reads_left_out")?.unwrap_or(0),
        uses: uses.unwrap_or_default(),
    })
}

fn read_read(value: &Value) -> Result<Read, Finding> {
    let numbers = items(value, hence_canon::read::count)?;
    match numbers.as_slice() {
        [context, item, start, end] => Ok(Read { context: *context, item: *item, start: *start, end: *end }),
        _ => Err(Finding::expected("four numbers", value)),
    }
}

fn read_operation(value: &Value, blobs: &dyn Blobs) -> Result<Operation, NotAnEntry> {
    let mut reader = Reader::new(value)?;
    let name = reader.text("name")?;
    Ok(match &*reader.text("op")? {
        "set" => Operation::Set { name, value: stored_value(&mut reader, "value", blobs)? },
        "delete" => Operation::Delete { name },
        "checkpoint" => Operation::Checkpoint { name },
        "rollback" => Operation::Rollback { name },
        other => return Err(reader.finding("op", format_args!("unknown operation {other:?}")).into()),
    })
}
