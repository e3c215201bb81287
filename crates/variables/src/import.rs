//! Imports a state from a document.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::document::Document;
use crate::layer::Layer;
use crate::limits::{HISTORY_ENTRIES_MAX, VALUE_DEPTH_MAX, WRAPPING_DEPTH};
use crate::name::{FINAL, PROMPT};
use crate::state::State;
use crate::state::{SeenLayer, Snapshot};
use crate::{CheckpointId, Event, Name, Refusal, Scope, SessionId, Stored, Timestamp, Variable, Workspace};

/// The levels a document has around a value: itself, its variables, the variable.
const DOCUMENT_DEPTH: usize = 3;

const _: () = assert!(DOCUMENT_DEPTH < WRAPPING_DEPTH);

/// A document to import, with the snapshots of its checkpoints as far as they are available.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Import {
    /// The document.
    pub document: Document,
    /// The snapshot files, themselves documents. A checkpoint without one cannot be returned to.
    pub snapshots: BTreeMap<CheckpointId, Document>,
}

/// A document that was imported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImportedDocument {
    /// The document and its snapshots.
    pub import: Import,
    /// The revisions of the layers it met.
    pub seen: BTreeMap<Scope, u64>,
    /// The revisions it left them at.
    pub made: BTreeMap<Scope, u64>,
}

impl Import {
    /// Returns the latest time in the document and its snapshots: the state continues from there.
    pub fn last_moment(&self) -> Option<Timestamp> {
        let documents = std::iter::once(&self.document).chain(self.snapshots.values());
        documents.filter_map(latest).max()
    }

    /// Checks the import against a workspace.
    pub(crate) fn check(&self, workspace: &Workspace, now: Timestamp) -> Result<ImportedDocument, Refusal> {
        let document = &self.document;
        if workspace.state(document.state_id).is_some() {
            return Err(Refusal::StateExists { state: document.state_id });
        }
        let session: Option<SessionId> = document.session_id.as_ref().map(|text| text.parse()).transpose()?;
        let logged = document.mutations.last().map(|entry| entry.timestamp);
        let written = document.variables.values().filter_map(|(variable, _)| variable.updated_at).max();
        // The state continues from here, so no time in it may be later than the clock.
        if let Some(last) = [logged, written, document.last_updated_at].into_iter().flatten().max()
            && now < last
        {
            return Err(Refusal::ClockWentBack { last, now });
        }
        let seen = workspace.revisions_for_new_state(session.as_ref(), document.tree_id);
        let mut made = seen.clone();
        for (name, (variable, scope)) in &document.variables {
            let Some(scope) = *scope else { continue };
            let layer = shared(workspace, session.as_ref(), document, scope);
            match layer.and_then(|layer| layer.get(name.as_str())) {
                None => *made.entry(scope).or_default() += 1,
                Some(present) if present.has_same_content(variable) => {}
                Some(_) => return Err(Refusal::NameTaken { name: name.clone() }),
            }
        }
        self.check_references()?;
        let documents = std::iter::once(document).chain(self.snapshots.values());
        let depth = documents.map(|document| document.to_value().depth()).max().unwrap_or(0);
        if depth > VALUE_DEPTH_MAX + DOCUMENT_DEPTH {
            let found = format!("{depth} levels");
            let expected = "values nested at most 96 levels";
            return Err(Refusal::InvalidArgument { what: "document", expected, found });
        }
        Ok(ImportedDocument { import: self.clone(), seen, made })
    }
}

impl Import {
    /// Checks that every path of a large value agrees with the digest that its document names.
    fn check_references(&self) -> Result<(), Refusal> {
        let documents = std::iter::once(&self.document).chain(self.snapshots.values());
        let variables = documents.flat_map(|document| document.variables.values());
        for (variable, _) in variables {
            variable.stored.check_form().map_err(|found| Refusal::InvalidArgument {
                what: "document",
                expected: "large values with a path, a digest, a size and a type that agree",
                found,
            })?;
        }
        Ok(())
    }
}

/// Returns the latest time in a document.
fn latest(document: &Document) -> Option<Timestamp> {
    let logged = document.mutations.iter().map(|entry| entry.timestamp);
    let taken = document.checkpoints.iter().map(|checkpoint| checkpoint.timestamp);
    let variables = document.variables.values();
    let written = variables.flat_map(|(variable, _)| [variable.created_at, variable.updated_at]).flatten();
    let own = [document.created_at, document.last_updated_at].into_iter().flatten();
    logged.chain(taken).chain(written).chain(own).max()
}

/// Returns the layer of `scope` that others share with the document's state.
fn shared<'a>(
    workspace: &'a Workspace,
    session: Option<&SessionId>,
    document: &Document,
    scope: Scope,
) -> Option<&'a Layer> {
    match scope {
        Scope::Temporary => None,
        Scope::Session => workspace.sessions.get(session?),
        Scope::Tree => workspace.trees.get(&document.tree_id?),
        Scope::Global => Some(&workspace.global),
    }
}

/// Makes the state a document describes. The document was checked when the event was decided.
pub(crate) fn import_document(workspace: &mut Workspace, event: &Event, imported: &ImportedDocument) {
    let document = &imported.import.document;
    let special = |name: &str| document.variables.get(name).map(|(variable, _)| Arc::new(variable.clone()));
    let fresh = State::new(document.state_id, event.at);
    let highest = document.mutations.iter().map(|entry| u64::from(entry.id.number())).max().unwrap_or(0);
    // A count beyond the list is only believed where the list is a full window; ids stay clear of it all the same.
    let listed = document.mutations.len();
    let claimed = document.mutation_count.unwrap_or(listed as u64);
    let mutation_count = if listed == HISTORY_ENTRIES_MAX { claimed } else { listed as u64 };
    let state = State {
        version: document.version.clone(),
        session: document.session_id.as_ref().and_then(|text| text.parse().ok()),
        tree: document.tree_id,
        config: document.execution_config.clone(),
        created_at: document.created_at,
        last_updated_at: document.last_updated_at,
        status: document.status(),
        prompt: special(PROMPT),
        final_answer: special(FINAL).unwrap_or_else(|| Arc::new(unanswered())),
        log: document.mutations.iter().cloned().collect(),
        mutation_count,
        last_mutation: claimed.max(highest),
        last_checkpoint: document
            .checkpoints
            .iter()
            .map(|checkpoint| checkpoint.id.number())
            .max()
            .unwrap_or(0),
        extra: document.extra.clone(),
        ..fresh
    };
    workspace.states.insert(document.state_id, state);
    for (variable, scope) in document.variables.values() {
        let Some(scope) = scope else { continue };
        let Some((layer, writer)) = workspace.layer_mut(document.state_id, *scope) else { continue };
        if layer.get(variable.name.as_str()).is_none() {
            layer.put(dated(variable, event.at), writer);
        }
    }
    import_checkpoints(workspace, imported);
}

/// A time to live needs a start; without one in the document, the variable starts when it is imported.
fn dated(variable: &Variable, at: Timestamp) -> Variable {
    let undated = variable.ttl_seconds.is_some() && variable.updated_at.or(variable.created_at).is_none();
    Variable { updated_at: if undated { Some(at) } else { variable.updated_at }, ..variable.clone() }
}

/// Returns `Final` of a document that has none.
fn unanswered() -> Variable {
    Variable {
        name: Name::final_answer(),
        stored: Stored::null(),
        description: None,
        source: None,
        created_at: None,
        updated_at: None,
        access_count: 0,
        read_only: false,
        ttl_seconds: None,
        extra: Default::default(),
        metadata_extra: Default::default(),
    }
}

fn import_checkpoints(workspace: &mut Workspace, imported: &ImportedDocument) {
    let document = &imported.import.document;
    let Some(view) = workspace.state_view(document.state_id) else { return };
    let checkpoints = document.checkpoints.iter().map(|checkpoint| {
        let snapshot = imported.import.snapshots.get(&checkpoint.id);
        let snapshot = snapshot.map(|snapshot| {
            let layers = Scope::LOOKUP_ORDER.into_iter().filter(|scope| view.has(*scope));
            let layers = layers.map(|scope| (scope, seen_layer(snapshot, scope, view.revision(scope))));
            let answer = snapshot.variables.get(FINAL).map(|(variable, _)| variable.clone());
            Snapshot {
                status: snapshot.status(),
                final_answer: Arc::new(answer.unwrap_or_else(unanswered)),
                layers: layers.collect(),
            }
        });
        crate::Checkpoint { snapshot, ..checkpoint.clone() }
    });
    let checkpoints = checkpoints.collect();
    if let Some(state) = workspace.states.get_mut(&document.state_id) {
        state.checkpoints = checkpoints;
    }
}

fn seen_layer(snapshot: &Document, scope: Scope, revision: u64) -> SeenLayer {
    let here = snapshot.variables.iter().filter(|(_, (_, home))| *home == Some(scope));
    let variables: BTreeMap<_, _> =
        here.map(|(name, (variable, _))| (name.clone(), Arc::new(variable.clone()))).collect();
    SeenLayer { revision, variables: Arc::new(variables) }
}
