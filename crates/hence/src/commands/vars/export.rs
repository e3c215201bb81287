//! `hence vars export`: the documents of the storage section, as views of the journal.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use hence_canon::canonical_bytes;
use hence_variables::document::storage::{history_entry, history_path, view_files};
use hence_variables::{Spill, StateId, StorePath};

use super::history::whole_log;
use crate::args::vars::ExportArgs;
use crate::interactive::{Session, spills_of};
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
}

impl Text for VarsExportReport {
    fn text(&self) -> String {
        let mut rows = vec![("folder", self.dir.clone()), ("states", self.states.to_string())];
        rows.extend(self.files.iter().map(|file| ("file", file.clone())));
        pairs(&rows)
    }
}

pub(super) fn run(context: &Context, session: &Session<'_>, args: &ExportArgs) -> Result<Exit, CliError> {
    let workspace = session.workspace()?;
    let mut files: BTreeMap<StorePath, Vec<u8>> = BTreeMap::new();
    let states: Vec<StateId> = workspace.states().map(|state| state.id()).collect();
    for state in &states {
        let Some(view) = workspace.state_view(*state) else { continue };
        for file in view_files(view) {
            let text = format!("{}\n", hence_canon::pretty(&file.content));
            files.insert(file.path, text.into_bytes());
        }
        let mut history = Vec::new();
        for mutation in whole_log(session, *state)? {
            history.extend(canonical_bytes(&history_entry(&mutation)));
            history.push(b'\n');
        }
        files.insert(history_path(*state), history);
    }
    for spill in spills(session)? {
        let bytes = session.large_value(&spill)?;
        files.insert(spill.path, bytes);
    }
    for (path, bytes) in &files {
        write_whole(&args.dir.join(path.as_str()), bytes)?;
    }
    context.print(&VarsExportReport {
        run: session.id.as_str().to_owned(),
        dir: args.dir.display().to_string(),
        states: states.len(),
        files: files.keys().map(ToString::to_string).collect(),
    })?;
    Ok(Exit::Yes)
}

/// Finds every large value that was ever written: log and snapshots also refer to replaced ones.
fn spills(session: &Session<'_>) -> Result<Vec<Spill>, CliError> {
    Ok(session.events()?.iter().flat_map(|(_, event)| spills_of(event)).collect())
}

/// Writes a file whole: a crash leaves the old file or the new one.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let failed = |error: std::io::Error| CliError::file("write", path, error);
    let Some(folder) = path.parent() else { return Ok(()) };
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let fresh = folder.join(name);
    let written = std::fs::File::create(&fresh).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    // The folder is synced after the rename: without it a crash can bring the old file back.
    let renamed = written.and_then(|()| std::fs::rename(&fresh, path));
    renamed.and_then(|()| std::fs::File::open(folder)?.sync_all()).map_err(|error| {
        let _ = std::fs::remove_file(&fresh);
        failed(error)
    })
}
