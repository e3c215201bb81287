//! The folder that documents are exported to: it may hold exports of other runs, which are never overwritten.
//!
//! The documents of a state are one folder, which is written next to its place and then put there whole, so that a reader
//! sees the old export or the new one. A file `export.json` in it names the run it came from. A link inside the folder is
//! refused: it could lead anywhere.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use hence_canon::{Digest, Object, Value};
use hence_variables::document::storage::{state_file, state_folder, temporary_path};
use hence_variables::{StateId, StorePath};

use crate::prelude::*;

/// The file that names the run of exported documents.
const MARK: &str = "export.json";
/// The folder of large values, whose files are named by their content.
const VARIABLES: &str = "variables";

/// The run of exported documents, and how far it was when they were written.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Origin {
    /// The run's id.
    pub(super) run: String,
    /// The hash of its first record, which no other run has.
    pub(super) first: String,
    /// The hashes of its records, oldest first.
    pub(super) records: Vec<String>,
}

impl Origin {
    /// Returns the content of the mark: the run, and the last record that the documents show.
    fn mark(&self) -> Value {
        Object::new()
            .with("run", self.run.as_str())
            .with("first_record", self.first.as_str())
            .with("records", self.records.len() as u64)
            .with("head", self.records.last().map(String::as_str).unwrap_or_default())
            .into()
    }

    /// Says why documents with this mark may not be replaced; `None` when they are an earlier export of the same run.
    fn refuses(&self, mark: &Value) -> Option<String> {
        let text = |key: &str| mark.get(key).and_then(Value::as_str).unwrap_or_default();
        let records = mark.get("records").and_then(Value::as_u64).unwrap_or_default();
        if text("run") != self.run || text("first_record") != self.first {
            return Some(format!("documents of the run {:?}", text("run")));
        }
        let known = usize::try_from(records).ok().and_then(|count| self.records.get(count.checked_sub(1)?));
        match known {
            Some(head) if head == text("head") => None,
            Some(_) => Some("documents of another course of this run".to_owned()),
            None => Some(format!("documents of this run after {records} records, which is further")),
        }
    }
}

/// The documents of an export, by place.
#[derive(Default)]
pub(super) struct Documents {
    /// The documents of each state, by path below its folder.
    pub(super) states: BTreeMap<StateId, BTreeMap<String, Vec<u8>>>,
    /// The temporary variables of each state, if it has any.
    pub(super) temporary: BTreeMap<StateId, Option<Vec<u8>>>,
    /// Layers that states share, with their revision.
    pub(super) layers: BTreeMap<StorePath, Layer>,
    /// Large values that belong to states of other runs.
    pub(super) foreign: BTreeMap<StorePath, Vec<u8>>,
}

/// A layer that states share.
pub(super) struct Layer {
    pub(super) content: Value,
    pub(super) revision: u64,
    /// Names the layer: no other store has a layer of this name.
    pub(super) kept_by: String,
}

/// A folder to export to.
pub(super) struct Target<'a> {
    pub(super) folder: &'a Path,
    pub(super) origin: &'a Origin,
}

impl Target<'_> {
    /// Writes documents; refuses before the first change when a place holds anything else.
    pub(super) fn write(&self, documents: &Documents) -> Result<Vec<String>, CliError> {
        for state in documents.states.keys() {
            self.check_state(*state)?;
        }
        for state in documents.temporary.keys() {
            self.check_folders(&temporary_path(*state))?;
        }
        let mut layers = Vec::new();
        for (path, layer) in &documents.layers {
            if self.takes_layer(path, layer)? {
                layers.push((path, layer));
            }
        }
        for (path, bytes) in &documents.foreign {
            self.check_foreign(path, bytes)?;
        }
        let mut written = Vec::new();
        for (state, files) in &documents.states {
            self.replace_state(*state, files)?;
            let below = |name: &String| state_file(*state, name).to_string();
            written.extend(files.keys().map(below));
        }
        for (state, temporary) in &documents.temporary {
            let path = temporary_path(*state);
            match temporary {
                Some(bytes) => {
                    self.write_file(&path, bytes)?;
                    written.push(path.to_string());
                }
                None => self.remove(&path)?,
            }
        }
        for (path, layer) in layers {
            self.write_file(path, pretty(&layer.document()).as_bytes())?;
            written.push(path.to_string());
        }
        for (path, bytes) in &documents.foreign {
            self.write_file(path, bytes)?;
            written.push(path.to_string());
        }
        written.sort();
        Ok(written)
    }

    fn place(&self, path: &StorePath) -> PathBuf {
        self.folder.join(path.as_str())
    }

    /// Checks that a state's folder is free, or holds an earlier export of this run.
    fn check_state(&self, state: StateId) -> Result<(), CliError> {
        let mark = state_file(state, MARK);
        self.check_folders(&mark)?;
        let folder = self.place(&mark).with_file_name("");
        match read(&self.place(&mark))? {
            Some(bytes) => match self.origin.refuses(&value_of(&self.place(&mark), &bytes)?) {
                Some(held) => Err(occupied(&folder, &held)),
                None => Ok(()),
            },
            None => {
                let others = entries(&folder)?;
                match others.iter().find(|name| *name != VARIABLES) {
                    None => Ok(()),
                    Some(_) => Err(occupied(&folder, "documents that name no run")),
                }
            }
        }
    }

    /// Returns whether a layer is written: a later one of the same scope stays.
    fn takes_layer(&self, path: &StorePath, layer: &Layer) -> Result<bool, CliError> {
        self.check_folders(path)?;
        let place = self.place(path);
        let Some(bytes) = read(&place)? else { return Ok(true) };
        let found = value_of(&place, &bytes)?;
        if found.get("kept_by").and_then(Value::as_str) != Some(layer.kept_by.as_str()) {
            return Err(occupied(&place, "shared variables of another store or run"));
        }
        let revision = found.get("revision").and_then(Value::as_u64).unwrap_or_default();
        Ok(revision <= layer.revision)
    }

    fn check_foreign(&self, path: &StorePath, bytes: &[u8]) -> Result<(), CliError> {
        self.check_folders(path)?;
        let place = self.place(path);
        match read(&place)? {
            Some(found) if Digest::of(&found) != Digest::of(bytes) => {
                Err(occupied(&place, "another value under the same name"))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the folders above a file are folders, as far as they exist, and not links.
    fn check_folders(&self, path: &StorePath) -> Result<(), CliError> {
        let mut place = self.folder.to_owned();
        let names: Vec<&str> = path.as_str().split('/').collect();
        for (position, name) in names.iter().enumerate() {
            place.push(name);
            let is_last = position + 1 == names.len();
            match fs::symlink_metadata(&place) {
                Ok(found) if found.is_dir() && !is_last || found.is_file() && is_last => {}
                Ok(found) if found.is_symlink() => return Err(occupied(&place, "a link")),
                Ok(_) => return Err(occupied(&place, "something else than documents")),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(CliError::file("read", &place, error)),
            }
        }
        Ok(())
    }

    /// Puts the documents of a state in their place, all at once.
    fn replace_state(&self, state: StateId, files: &BTreeMap<String, Vec<u8>>) -> Result<(), CliError> {
        let place = self.place(&state_folder(state));
        let above = place.parent().unwrap_or(self.folder).to_owned();
        let draft = above.join(format!(".{state}.{}.new", std::process::id()));
        let failed = |error: io::Error| CliError::file("write", &place, error);
        let filled = (|| {
            fs::create_dir_all(&above)?;
            let _ = fs::remove_dir_all(&draft);
            fs::create_dir(&draft)?;
            // Large values are named by their content. Those that other documents refer to stay.
            for name in entries_of(&place.join(VARIABLES))? {
                let content = fs::read(place.join(VARIABLES).join(&name))?;
                create(&draft.join(VARIABLES).join(&name), &content)?;
            }
            for (name, bytes) in files {
                create(&draft.join(name), bytes)?;
            }
            create(&draft.join(MARK), pretty(&self.origin.mark()).as_bytes())?;
            sync_folders(&draft)?;
            swap(&draft, &place)?;
            sync(&above)
        })();
        // After the swap the draft is the old export.
        let _ = fs::remove_dir_all(&draft);
        filled.map_err(failed)
    }

    /// Writes one file: a crash leaves the old one or the new one.
    fn write_file(&self, path: &StorePath, bytes: &[u8]) -> Result<(), CliError> {
        let place = self.place(path);
        let folder = place.parent().unwrap_or(self.folder).to_owned();
        let draft = folder.join(format!(".{}.new", std::process::id()));
        let written = (|| {
            fs::create_dir_all(&folder)?;
            let _ = fs::remove_file(&draft);
            create(&draft, bytes)?;
            fs::rename(&draft, &place)?;
            sync(&folder)
        })();
        written.map_err(|error| {
            let _ = fs::remove_file(&draft);
            CliError::file("write", &place, error)
        })
    }

    fn remove(&self, path: &StorePath) -> Result<(), CliError> {
        let place = self.place(path);
        match fs::remove_file(&place) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(CliError::file("remove", &place, error))
            }
            _ => Ok(()),
        }
    }
}

impl Layer {
    fn document(&self) -> Value {
        match &self.content {
            Value::Object(members) => members.clone().with("kept_by", self.kept_by.as_str()).into(),
            other => other.clone(),
        }
    }
}

fn occupied(place: &Path, held: &str) -> CliError {
    let message = format!("{} holds {held}, and is not overwritten", place.display());
    CliError::new(Code::ExportTarget, message)
}

fn pretty(value: &Value) -> String {
    format!("{}\n", hence_canon::pretty(value))
}

fn read(place: &Path) -> Result<Option<Vec<u8>>, CliError> {
    match fs::read(place) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CliError::file("read", place, error)),
    }
}

fn value_of(place: &Path, bytes: &[u8]) -> Result<Value, CliError> {
    hence_canon::parse(bytes).map_err(|_| occupied(place, "something else than documents"))
}

fn entries(folder: &Path) -> Result<Vec<String>, CliError> {
    entries_of(folder).map_err(|error| CliError::file("read", folder, error))
}

/// Returns the names in a folder; none when there is no such folder.
fn entries_of(folder: &Path) -> io::Result<Vec<String>> {
    match fs::read_dir(folder) {
        Ok(found) => found.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Creates a file and the folders above it, and syncs the file.
fn create(place: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = fs::File::create_new(place).or_else(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => fs::File::create(place),
        _ => Err(error),
    })?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

fn sync_folders(folder: &Path) -> io::Result<()> {
    for name in entries_of(folder)? {
        let below = folder.join(name);
        if below.is_dir() {
            sync_folders(&below)?;
        }
    }
    sync(folder)
}

/// Puts a folder in its place; what was there is at `draft` afterwards. Where the system can do that in one operation,
/// there is no moment without a folder.
fn swap(draft: &Path, place: &Path) -> io::Result<()> {
    if !place.exists() {
        return fs::rename(draft, place);
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        if renameat_with(CWD, draft, CWD, place, RenameFlags::EXCHANGE).is_ok() {
            return Ok(());
        }
    }
    let old = draft.with_extension("old");
    let _ = fs::remove_dir_all(&old);
    fs::rename(place, &old)?;
    fs::rename(draft, place)?;
    fs::remove_dir_all(&old)
}
