//! Which files must be kept.

use std::collections::BTreeSet;

use hence_canon::Value;

use crate::layer::Layer;
use crate::{State, StorePath, Stored, Variable, Workspace};

impl Workspace {
    /// Returns every file that a variable, a checkpoint or a retained log entry refers to.
    ///
    /// A text that merely looks like a reference keeps a file too: keeping one too many is harmless.
    pub fn referenced_files(&self) -> BTreeSet<StorePath> {
        let mut files = BTreeSet::new();
        let layers = self.sessions.values().chain(self.trees.values()).chain([&self.global]);
        layers.for_each(|layer| from_layer(layer, &mut files));
        self.states.values().for_each(|state| from_state(state, &mut files));
        files
    }
}

fn from_state(state: &State, files: &mut BTreeSet<StorePath>) {
    from_layer(&state.temporary, files);
    from_layer(&state.private_session, files);
    from_variable(&state.final_answer, files);
    state.prompt().into_iter().for_each(|prompt| from_variable(prompt, files));
    for entry in state.log() {
        let shown = [&entry.old_value, &entry.new_value].into_iter().flatten();
        files.extend(shown.filter_map(Value::as_str).filter_map(|text| StorePath::from_reference(text).ok()));
    }
    for snapshot in state.checkpoints().iter().filter_map(|checkpoint| checkpoint.snapshot.as_ref()) {
        from_variable(&snapshot.final_answer, files);
        let variables = snapshot.layers.values().flat_map(|layer| layer.variables.values());
        variables.for_each(|variable| from_variable(variable, files));
    }
}

fn from_layer(layer: &Layer, files: &mut BTreeSet<StorePath>) {
    layer.variables().values().for_each(|variable| from_variable(variable, files));
}

fn from_variable(variable: &Variable, files: &mut BTreeSet<StorePath>) {
    match &variable.stored {
        Stored::Inline { .. } => {}
        Stored::Reference(path) => drop(files.insert(path.clone())),
        Stored::Spilled(spill) => drop(files.insert(spill.path.clone())),
    }
}
