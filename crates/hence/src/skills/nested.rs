//! Skills that a skill nests: found where its document or the command line says, pinned by digest, stored with the run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hence_canon::{Canonical, Object, Value, parse};
use hence_capabilities::Library;
use hence_cognition::skill::{Skill, with_order};
use hence_engine::{Measured, SinkError};
use hence_journal::{Reader, Record};
use hence_skills::{ChildRun, ChildRuns, Entry, NestedPin};
use hence_store::{
    AttachmentName, ConfinedError, Durability, NewRun, RunId, RunWriter, StoreError, StoreHandle,
    read_confined,
};

use super::shared_nested::{NestedQueue, NestedRuns};
use super::{SkillDocument, attachment_name};
use crate::args::skill::NestedArgs;
use crate::clock;
use crate::code::Code;
use crate::error::CliError;
use crate::hint;
use crate::input;
use crate::target::problem_name;
use crate::time_log::times_name;

/// The attachment that holds the skills a run may nest.
pub(crate) const NESTED: &str = "skills.json";

/// The maximum number of files of nested skills: a document that names more is assumed to be a mistake.
const FILES_MAX: usize = 1000;

/// The maximum size of one file.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Returns the name of the attachment.
pub(crate) fn nested_name() -> AttachmentName {
    AttachmentName::new(NESTED).expect("the name is plain")
}

/// Skills by id, each as it was read.
#[derive(Default)]
pub(crate) struct NestedSkills(BTreeMap<Arc<str>, NestedSkill>);

struct NestedSkill {
    /// The file it was read from, for messages.
    name: String,
    bytes: Vec<u8>,
    skill: Arc<Skill>,
    source: Canonical,
}

/// A file to read: a root that no path may leave, and the path below it.
struct Open {
    root: PathBuf,
    path: PathBuf,
}

impl NestedSkills {
    /// Reads the skills a document names in `skills`, those the command line names, and those they name in turn.
    pub(crate) fn read(skill: &str, bytes: &[u8], args: &NestedArgs) -> Result<Self, CliError> {
        let mut nested = Self::default();
        let mut open = Vec::new();
        // A document that cannot be parsed is reported when the skill itself is read.
        if let Ok(document) = hence_yaml::parse(bytes) {
            open.extend(named(document.value(), &folder_of(skill), Path::new("")));
        }
        for file in &args.skill {
            let bytes = input::read_parsable(file, Code::NotJson)?;
            let document = nested.add(input::shown_name(file), bytes)?;
            open.extend(named(&document, &folder_of(file), Path::new("")));
        }
        let mut seen = BTreeSet::new();
        while let Some(Open { root, path }) = open.pop() {
            if !seen.insert(root.join(&path)) {
                continue;
            }
            if seen.len() > FILES_MAX {
                return Err(CliError::new(
                    Code::Nested,
                    format!("{skill} nests more than {FILES_MAX} files"),
                ));
            }
            let name = root.join(&path).display().to_string();
            let bytes =
                read_confined(&root, &path, FILE_BYTES_MAX).map_err(|error| unreadable(&name, error))?;
            let document = nested.add(&name, bytes)?;
            open.extend(named(&document, &root, path.parent().unwrap_or(Path::new(""))));
        }
        Ok(nested)
    }

    /// Adds a document and returns it.
    fn add(&mut self, name: &str, bytes: Vec<u8>) -> Result<Value, CliError> {
        let document = hence_yaml::parse(&bytes).map_err(|error| CliError::at(Code::NotJson, name, error))?;
        let value = document.value().clone();
        let source = Canonical::of(&with_order(&value));
        let canonical = parse(source.bytes()).map_err(|error| CliError::not_json(name, error))?;
        let Some(skill) = Skill::read(&canonical).skill else {
            let advice = hint::check(name);
            return Err(CliError::new(Code::Nested, format!("{name} is not a skill")).with_hint(advice));
        };
        let id = skill.id.clone();
        if let Some(other) = self.0.get(&id).filter(|other| other.source.digest() != source.digest()) {
            let message = format!("{name} and {} are different skills with the id `{id}`", other.name);
            return Err(CliError::new(Code::Nested, message).with_hint(hint::GIVE_ANOTHER_ID));
        }
        let entry = NestedSkill { name: name.to_owned(), bytes, skill: Arc::new(skill), source };
        self.0.insert(id, entry);
        Ok(value)
    }

    /// Reads the stored skills of a run, which must be the ones the run pins.
    pub(crate) fn stored(run: &str, bytes: Option<&[u8]>, pins: &[NestedPin]) -> Result<Self, CliError> {
        let mut nested = Self::default();
        if pins.is_empty() {
            return Ok(nested);
        }
        let document = match bytes {
            Some(bytes) => parse(bytes).map_err(|error| CliError::not_json(NESTED, error))?,
            None => return Err(CliError::new(Code::Nested, format!("{run}: {NESTED} is missing"))),
        };
        for pin in pins {
            let found = document.get(&pin.id).map(Canonical::of);
            let Some(source) = found.filter(|source| source.digest() == pin.digest) else {
                let message =
                    format!("{run}: {NESTED} does not hold the skill `{}` that the run pins", pin.id);
                return Err(CliError::new(Code::Nested, message));
            };
            nested.add(NESTED, source.bytes().to_vec())?;
        }
        Ok(nested)
    }

    /// Checks every skill against the capabilities that exist.
    pub(crate) fn check(&self, library: &Library) -> Result<(), CliError> {
        for entry in self.0.values() {
            SkillDocument::read(&entry.name, &entry.bytes, library)?.runnable(library)?;
        }
        Ok(())
    }

    pub(crate) fn skills(&self) -> impl Iterator<Item = Arc<Skill>> {
        self.0.values().map(|entry| entry.skill.clone())
    }

    pub(crate) fn pins(&self) -> Vec<NestedPin> {
        let pin = |(id, entry): (&Arc<str>, &NestedSkill)| NestedPin {
            id: id.clone(),
            version: entry.skill.version.clone(),
            digest: entry.source.digest(),
        };
        self.0.iter().map(pin).collect()
    }

    /// Returns the attachment with the nested skills of a run, if there are any.
    pub(crate) fn attachment(&self) -> Option<(AttachmentName, Vec<u8>)> {
        let documents: Object =
            self.0.iter().map(|(id, entry)| (id.clone(), entry.source.value().clone())).collect();
        let bytes = Canonical::of(&documents.into()).bytes().to_vec();
        (!self.0.is_empty()).then(|| (nested_name(), bytes))
    }
}

/// Returns the folder of a file a person named.
fn folder_of(file: &str) -> PathBuf {
    let folder = Path::new(file).parent().filter(|folder| file != "-" && !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new(".")).to_owned()
}

/// Returns the files that a document names, relative to the folder of the document.
fn named(document: &Value, root: &Path, folder: &Path) -> Vec<Open> {
    let open = |file: &str| Open { root: root.to_owned(), path: folder.join(file) };
    match document.get("skills") {
        Some(Value::String(file)) => vec![open(file)],
        Some(Value::Array(files)) => files.iter().filter_map(Value::as_str).map(open).collect(),
        _ => Vec::new(),
    }
}

fn unreadable(name: &str, error: ConfinedError) -> CliError {
    let place = format_args!("cannot read the nested skill {name}");
    CliError::at(Code::Nested, place, error).with_hint(hint::NESTED_FILES)
}

/// Stores nested runs in the store of the run that nests them.
pub(crate) struct StoreChildren<'a> {
    pub(crate) store: &'a StoreHandle,
    pub(crate) nested: &'a NestedSkills,
    /// The documents stored next to the journal of every nested run.
    pub(crate) shared: Vec<(AttachmentName, Vec<u8>)>,
    /// The queue to which nested runs are handed.
    pub(crate) handing: &'a NestedQueue<'a>,
}

impl StoreChildren<'_> {
    fn new_run(&self, child: &ChildRun) -> Result<NewRun, SinkError> {
        let mut attachments = vec![
            (problem_name(), child.problem.bytes().to_vec()),
            (attachment_name(), child.skill.bytes().to_vec()),
        ];
        attachments.extend(self.shared.iter().cloned());
        Ok(NewRun { id: RunId::new(&child.id)?, attachments, lines: child.journal.clone() })
    }
}

impl ChildRuns for StoreChildren<'_> {
    fn source(&self, skill: &str) -> Option<Canonical> {
        self.nested.0.get(skill).map(|entry| entry.source.clone())
    }

    fn store(&self, child: &ChildRun) -> Result<(), SinkError> {
        for blob in &child.blobs {
            self.store.put_blob(blob, Durability::Synced)?;
        }
        match self.store.create(self.new_run(child)?) {
            Ok(mut writer) => {
                note_times(&mut *writer, child);
                Ok(())
            }
            // A process that was interrupted after this has created the same run, or another worker has driven it.
            Err(StoreError::AlreadyCreated { run, .. }) => {
                self.handing.drop_calls(&run);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn are_shared(&self) -> bool {
        self.handing.nested == NestedRuns::Shared
    }

    fn hand_over(&self, child: &ChildRun) -> Result<(), SinkError> {
        for blob in &child.blobs {
            self.store.put_blob(blob, Durability::Synced)?;
        }
        self.handing.hand_over(self.new_run(child)?)
    }

    fn calls_of_ended(&self, child: &str) -> Result<Option<Vec<Entry>>, SinkError> {
        self.handing.calls_of_ended(child)
    }
}

/// Writes the time log of a nested run. It is not synced: power loss may undo it, and the run then is not measured.
fn note_times(writer: &mut dyn RunWriter, child: &ChildRun) {
    let (Some(at), false) = (clock::wall(), child.measured.is_empty()) else { return };
    let mut lines: Vec<u8> = child.measured.iter().flat_map(Measured::line).collect();
    let Ok((header, reader)) = Reader::open(&child.journal) else { return };
    for chained in std::iter::once(header).chain(reader.map_while(Result::ok)) {
        let step = match &chained.record {
            Record::Step(step) => Some(step.result.step().clone()),
            Record::Header(_) | Record::Control(_) => None,
        };
        lines.extend(Measured::Record { index: chained.index, hash: chained.hash, step, at }.line());
    }
    // A nested run is stored even if its times cannot be.
    let _ = writer.side_log(&times_name()).and_then(|log| log.append(&lines, Durability::Buffered));
}
