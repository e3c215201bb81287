//! States as the cases write them.

use hence_canon::{Object, Value};
use hence_cognition::state::{Memory, OutputField, Slot};

/// Reads the partial state of a case; none is the empty one.
pub(super) fn read(case: &Value) -> Result<Memory, Value> {
    let empty = Value::from(Object::new());
    Memory::from_blocks(case.get("state").unwrap_or(&empty)).map_err(|error| failure(&error.to_string()))
}

/// Writes a memory as the cases do: empty maps and unset slots are left out, inputs and frame are never there.
pub(super) fn write(memory: &Memory) -> Object {
    let mut blocks: Vec<(&str, Value)> = vec![
        ("vars", memory.vars().to_object().into()),
        ("outputs", memory.outputs().to_object().into()),
        ("extensions", memory.extensions().to_object().into()),
        (
            "working",
            Slot::all()
                .map(|slot| (slot.name(), memory.working().slot(slot)))
                .filter(set)
                .collect::<Object>()
                .into(),
        ),
        (
            "output",
            OutputField::ALL
                .into_iter()
                .map(|field| (field.name(), memory.output().field(field)))
                .filter(set)
                .collect::<Object>()
                .into(),
        ),
        ("written_targets", memory.written_targets().cloned().collect()),
    ];
    blocks.retain(set);
    blocks.into_iter().collect()
}

/// Writes an error as the cases do.
pub(super) fn failure(class: &str) -> Value {
    Object::from_iter([("error", class)]).into()
}

fn set(member: &(&str, Value)) -> bool {
    match &member.1 {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(object) => !object.is_empty(),
        _ => true,
    }
}
