//! What a bound step can see, and what of it its capability is given.

use hence_canon::{JsonPointer, Object, Value};
use hence_state::{Binding, BindingInput, BindingMember, ITERATIONS_KEY};

use crate::step::{InputUnavailable, View, object};

/// Returns all a bound step can see: its name and place, the problem as given, and the newest value of each artifact.
fn everything(step: &str, view: &View<'_>) -> Result<Value, InputUnavailable> {
    // Later outputs of a repeated step are no artifact of their own: the newest stands under its key.
    let keys = view.artifact_keys().into_iter().filter(|key| *key != ITERATIONS_KEY);
    let artifacts = keys.map(|key| Ok((key, view.artifact(key)?)));
    let artifacts = artifacts.collect::<Result<Object, InputUnavailable>>()?;
    Ok(object([
        ("step", step.into()),
        ("step_index", view.step_index().get().into()),
        ("problem", view.problem()?.canonical().value().clone()),
        ("artifacts", artifacts.into()),
    ]))
}

/// Returns what the capability of a binding is given.
pub(super) fn input(binding: &Binding, view: &View<'_>) -> Result<Value, InputUnavailable> {
    let everything = everything(&binding.step, view)?;
    let BindingInput::Members(members) = &binding.input else { return Ok(everything) };
    let chosen = members.iter().map(|(name, member)| {
        let value = match member {
            BindingMember::Value(value) => value.clone(),
            BindingMember::At(pointer) => at(&everything, pointer)?,
        };
        Ok((name.clone(), value))
    });
    Ok(chosen.collect::<Result<Object, InputUnavailable>>()?.into())
}

fn at(everything: &Value, pointer: &JsonPointer) -> Result<Value, InputUnavailable> {
    everything.pointer(pointer).cloned().ok_or_else(|| InputUnavailable::Place(pointer.clone()))
}
