//! `hence vars export`: the documents of the storage section, as views of the journal.

mod folder;

use hence_canon::canonical_bytes;
use hence_journal::Reader;
use hence_variables::document::storage::{
    HISTORY_FILE, history_entry, layer_path, state_folder, view_files_as,
};
use hence_variables::{Scope, Spill, StateId, StateView, StorePath};

use self::folder::{Documents, Layer, Origin, Target};
use super::history::whole_log;
use crate::args::vars::ExportArgs;
use crate::interactive::{Session, scope_identity, spills_of};
use crate::prelude::*;

/// The documents that were written.
#[derive(Serialize, JsonSchema)]
pub(crate) struct VarsExportReport {
    /// The run's id.
    run: String,
    /// The folder.
    dir: String,
    /// The number of states.
    states: usize,
    /// The files, as paths below the folder.
    files: Vec<String>,
    /// Children in runs of their own, which are exported from those runs.
    elsewhere: Vec<ElsewhereRow>,
}

/// A child in a run of its own.
#[derive(Serialize, JsonSchema)]
struct ElsewhereRow {
    /// The state.
    state: String,
    /// Its run.
    run: String,
}

impl Text for VarsExportReport {
    fn text(&self) -> String {
        let mut rows = vec![("folder", escape(&self.dir)), ("states", self.states.to_string())];
        rows.extend(self.files.iter().map(|file| ("file", file.clone())));
        for row in &self.elsewhere {
            let (run, dir) = (hint::word(&row.run), hint::word(&self.dir));
            rows.push(("not here", format!("{}, see `hence vars export {run} {dir}`", row.state)));
        }
        pairs(&rows)
    }
}

pub(super) fn run(context: &Context, session: &Session<'_>, args: &ExportArgs) -> Result<Exit, CliError> {
    let workspace = session.whole_workspace()?;
    let origin = origin(session)?;
    let mut documents = Documents::default();
    let (own, elsewhere): (Vec<_>, Vec<_>) = workspace.states().partition(|state| state.lives_in().is_none());
    for state in &own {
        let Some(view) = workspace.state_view(state.id()) else { continue };
        add_state(context, session, view, &origin, &mut documents)?;
    }
    add_spills(session, &mut documents)?;
    let files = Target { folder: &args.dir, origin: &origin }.write(&documents)?;
    let elsewhere = elsewhere.iter().map(|state| ElsewhereRow {
        state: state.id().to_string(),
        run: state.lives_in().map(ToString::to_string).unwrap_or_default(),
    });
    context.print(&VarsExportReport {
        run: session.id.as_str().to_owned(),
        dir: args.dir.display().to_string(),
        states: own.len(),
        files,
        elsewhere: elsewhere.collect(),
    })?;
    Ok(Exit::Yes)
}

/// Returns the run and the hashes of its records.
fn origin(session: &Session<'_>) -> Result<Origin, CliError> {
    let journal = session.journal()?;
    let unreadable = |error| CliError::bad_record(session.id.as_str(), error);
    let (header, reader) = Reader::open(&journal).map_err(unreadable)?;
    let first = header.hash.to_string();
    let mut records = vec![first.clone()];
    for chained in reader {
        records.push(chained.map_err(unreadable)?.hash.to_string());
    }
    Ok(Origin { run: session.id.as_str().to_owned(), first, records })
}

/// Adds the documents of a state, and the layers it shares.
fn add_state(
    context: &Context,
    session: &Session<'_>,
    view: StateView<'_>,
    origin: &Origin,
    documents: &mut Documents,
) -> Result<(), CliError> {
    let state = view.state().id();
    let paths = |scope| Some((layer_path(view, scope)?, scope));
    let layers: Vec<(StorePath, Scope)> = Scope::LOOKUP_ORDER.into_iter().filter_map(paths).collect();
    documents.temporary.insert(state, None);
    let status = session.loaded()?.status_of(view.state());
    for file in view_files_as(view, status) {
        let text = format!("{}\n", hence_canon::pretty(&file.content)).into_bytes();
        match layers.iter().find(|(path, _)| *path == file.path) {
            None => {
                let files = documents.states.entry(state).or_default();
                files.insert(below_state(state, &file.path), text);
            }
            Some((_, Scope::Temporary)) => {
                documents.temporary.insert(state, Some(text));
            }
            Some((path, scope)) => {
                let kept_by = scope_identity(context, view.state(), *scope)?;
                let kept_by = kept_by.unwrap_or_else(|| format!("run {} {}", origin.run, origin.first));
                let revision = view.revision(*scope);
                documents.layers.insert(path.clone(), Layer { content: file.content, revision, kept_by });
            }
        }
    }
    let mut history = Vec::new();
    for mutation in whole_log(session, state)? {
        history.extend(canonical_bytes(&history_entry(&mutation)));
        history.push(b'\n');
    }
    documents.states.entry(state).or_default().insert(HISTORY_FILE.to_owned(), history);
    Ok(())
}

/// Returns the path of a document below the folder of its state.
fn below_state(state: StateId, path: &StorePath) -> String {
    let folder = state_folder(state).to_string();
    let below = path.as_str().strip_prefix(&folder).unwrap_or(path.as_str());
    below.trim_start_matches('/').to_owned()
}

/// Adds every large value that was ever written or read from a shared scope: log and snapshots also refer to replaced
/// ones.
fn add_spills(session: &Session<'_>, documents: &mut Documents) -> Result<(), CliError> {
    let spills: Vec<Spill> = session.events()?.iter().flat_map(|(_, event)| spills_of(event)).collect();
    for spill in spills {
        let bytes = session.large_value(&spill)?;
        let own = documents.states.iter_mut().find(|(state, _)| {
            let folder = format!("{}/", state_folder(**state));
            spill.path.as_str().starts_with(&folder)
        });
        match own {
            Some((state, files)) => {
                files.insert(below_state(*state, &spill.path), bytes);
            }
            None => {
                documents.foreign.insert(spill.path, bytes);
            }
        }
    }
    Ok(())
}
