//! The input of a bound step's capability: everything the step can see, or the members its binding chooses.

use hence_canon::{JsonPointer, Object, Value};
use hence_state::{Binding, BindingInput, BindingMember, ITERATIONS_KEY};

use crate::step::{InputUnavailable, View, object};

/// Returns everything a bound step can see: its name and index, the problem, and the newest value of each artifact; of
/// evidence, where the steps work the problem out, all items so far. The
/// index is its place among the results in effect, so a step that is executed again after a rollback asks the same.
fn everything(step: &str, view: &View<'_>) -> Result<Value, InputUnavailable> {
    // The list of iterations is left out: the newest output of a repeated step is under the step's own key.
    let keys = view.artifact_keys().into_iter().filter(|key| *key != ITERATIONS_KEY);
    let artifacts = keys.map(|key| {
        let value = match key {
            "evidence" if view.is_worked() => view.all_items(key)?.into(),
            key => view.artifact(key)?,
        };
        Ok((key, value))
    });
    let artifacts = artifacts.collect::<Result<Object, InputUnavailable>>()?;
    Ok(object([
        ("step", step.into()),
        ("step_index", view.position().into()),
        ("problem", view.problem()?.canonical().value().clone()),
        ("artifacts", artifacts.into()),
    ]))
}

/// Returns the input of a binding's capability.
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
