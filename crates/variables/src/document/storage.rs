//! The files of the specification's storage section, as views: their paths and their contents.
//!
//! The files are written from the journal and can be written again at any time; no command reads them as truth.

use hence_canon::{Object, Value};

use crate::document::export::variables_of;
use crate::document::{export_as, export_snapshot, history};
use crate::{Mutation, Scope, StateId, StateView, Status, StorePath};

/// A file to write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ViewFile {
    /// The path.
    pub path: StorePath,
    /// The content.
    pub content: Value,
}

/// The name of a state's document in its folder.
pub const STATE_FILE: &str = "state.json";
/// The name of a state's whole log in its folder.
pub const HISTORY_FILE: &str = "history.jsonl";

/// Returns the folder of a state's files.
pub fn state_folder(state: StateId) -> StorePath {
    StorePath::below_root(&format!("states/{state}"))
}

/// Returns the path of a file in the folder of a state.
pub fn state_file(state: StateId, name: &str) -> StorePath {
    StorePath::below_root(&format!("states/{state}/{name}"))
}

/// Returns the path of a state's temporary variables.
pub fn temporary_path(state: StateId) -> StorePath {
    StorePath::below_root(&format!("temp/{state}/{STATE_FILE}"))
}

/// Returns the path of the layer of `scope` as the state sees it, if it has one it could share or lose.
pub fn layer_path(view: StateView<'_>, scope: Scope) -> Option<StorePath> {
    let state = view.state();
    let path = match scope {
        Scope::Temporary => return Some(temporary_path(state.id())),
        Scope::Tree => format!("trees/{}/state.json", state.tree()?),
        // The session variables of a state without a session are in its document.
        Scope::Session => format!("sessions/{}/state.json", state.session()?),
        Scope::Global => "global-state.json".to_owned(),
    };
    Some(StorePath::below_root(&path))
}

/// Returns one line of `history.jsonl` as a value.
pub fn history_entry(mutation: &Mutation) -> Value {
    history::encode_mutation(mutation).into()
}

/// Returns every view file of a state except its log: the document, the snapshots and the layers it sees.
pub fn view_files(view: StateView<'_>) -> Vec<ViewFile> {
    view_files_as(view, view.state().status())
}

/// Returns the view files of a state whose task has this status, see [`export_as`].
pub fn view_files_as(view: StateView<'_>, status: Status) -> Vec<ViewFile> {
    let state = view.state();
    let document = ViewFile { path: state_file(state.id(), STATE_FILE), content: export_as(view, status) };
    let snapshots = state.checkpoints().iter().filter_map(|checkpoint| {
        let path = StorePath::of_snapshot(state.id(), checkpoint.id);
        Some(ViewFile { path, content: export_snapshot(view, &checkpoint.name)? })
    });
    let layers = Scope::LOOKUP_ORDER.into_iter().filter_map(|scope| {
        let path = layer_path(view, scope)?;
        let layer = view.layer(scope).filter(|layer| !layer.variables().is_empty())?;
        let content = Object::new()
            .with("version", crate::state::VERSION)
            .with("scope", scope)
            .with("revision", layer.revision())
            .with("variables", variables_of(layer.variables(), scope));
        Some(ViewFile { path, content: content.into() })
    });
    std::iter::once(document).chain(snapshots).chain(layers).collect()
}
