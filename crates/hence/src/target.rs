//! The run or journal file that a command line names, read with the documents next to it.

use std::path::{Path, PathBuf};

use hence_canon::{Canonical, Lenient, Value, meant};
use hence_engine::RunKind;
use hence_journal::{Chained, Header, Lines, Record, RecordIndex};
use hence_state::{Profile, ProfileName};
use hence_store::{AttachmentName, RunId, StoreError, StoreHandle};

use crate::address::Address;
use crate::code::Code;
use crate::commands::remove::contradiction;
use crate::context::Context;
use crate::document_kind::DocumentKind;
use crate::error::CliError;
use crate::{bundle, hint, input, journal_end, skills};

/// The attachment that holds the problem.
pub(crate) const PROBLEM: &str = "problem.json";

/// A journal and the documents next to it.
pub(crate) struct Journal {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    /// The kind of its run: the kind that the problem pins, or without a problem a guess from the first step.
    pub(crate) kind: RunKind,
    problem: Option<Problem>,
    /// The document of the skill, if this is a run of one.
    pub(crate) skill: Option<Vec<u8>>,
    /// The documents of the skills it may nest, if there are any.
    pub(crate) nested: Option<Vec<u8>>,
    /// The declarations of the capabilities it may call, if there are any.
    pub(crate) capabilities: Option<Vec<u8>>,
    /// The store it belongs to; a file belongs to none.
    pub(crate) store: Option<StoreHandle>,
    /// The folder with the large values of a bundle, if the file lies in one.
    pub(crate) blobs: Option<PathBuf>,
    /// The documents next to it that exist and cannot be read, with the reason.
    pub(crate) unreadable: Vec<String>,
}

/// The document of a problem.
struct Problem {
    /// The name of its file.
    name: String,
    bytes: Vec<u8>,
    /// The document as the profile of its journal reads it; `None` when it cannot be read.
    parsed: Option<Lenient>,
}

/// The documents next to a journal.
#[derive(Default)]
struct Documents {
    problem: Option<Vec<u8>>,
    skill: Option<Vec<u8>>,
    nested: Option<Vec<u8>>,
    capabilities: Option<Vec<u8>>,
}

impl Documents {
    /// Reads the documents next to the journal of a run.
    fn of_run(store: &StoreHandle, run: &RunId) -> Result<Self, CliError> {
        Ok(Self {
            problem: attachment(store, run, &problem_name())?,
            skill: attachment(store, run, &skills::attachment_name())?,
            nested: attachment(store, run, &skills::nested_name())?,
            capabilities: attachment(store, run, &skills::capabilities_name())?,
        })
    }
}

/// The fewest characters of a misspelt beginning of an id: of fewer, almost any id has a similar one.
const PREFIX_CHARACTERS_MIN: usize = 5;

/// Finds a run by its id or a prefix of it.
pub(crate) fn find_run(store: &StoreHandle, name: &str) -> Result<RunId, CliError> {
    store.find(name).map_err(|error| match error {
        StoreError::NoSuchRun { .. } | StoreError::PrefixNotFound { .. } => unknown_run(store, name),
        other => other.into(),
    })
}

/// Describes a text that names no run: a place in a run, where a whole run is needed, or a word that is almost right.
pub(crate) fn unknown_run(store: &StoreHandle, name: &str) -> CliError {
    if name.is_empty() {
        return CliError::new(Code::NoSuchRun, "the name of the run is empty").with_hint(hint::EMPTY_NAME);
    }
    if let Some(Address { run, at: Some(at) }) = Address::split(store, name) {
        let place = if name.ends_with(&format!("@{at}")) { "record" } else { "step" };
        let message =
            format!("{name:?} names {place} {at} of run {run}; this command takes a whole run: {run}");
        return CliError::new(Code::NoSuchPlace, message).with_hint(hint::WHOLE_RUN);
    }
    if let Some((run, step)) = step_after_at(store, name) {
        let message = format!("{name:?}: RUN@INDEX names a record by a number; did you mean `{run}:{step}`?");
        return CliError::new(Code::NoSuchPlace, message).with_hint(hint::place_in(&run));
    }
    if let Some(removed) = removed(store, name).or_else(|| removed_with_place(store, name)) {
        return CliError::new(Code::NoSuchRun, removed).with_hint(hint::REMOVED);
    }
    let mut error = match store.find(name) {
        Ok(run) => CliError::new(Code::NoSuchRun, format!("run {run} has appeared just now")),
        Err(error) => CliError::from(error),
    };
    let runs = store.list().unwrap_or_default();
    let ids: Vec<&str> = runs.iter().map(|summary| summary.run.as_str()).collect();
    if let Some(meant) = meant_run(name, &ids) {
        error.message.push_str(&format!("; did you mean `{meant}`?"));
    }
    error
}

/// Returns the run that a misspelt id, or a misspelt beginning of an id, was probably meant to name.
pub(crate) fn meant_run<'a>(name: &str, ids: &[&'a str]) -> Option<&'a str> {
    let length = name.chars().count();
    let begins = |id: &&&str| {
        let beginning = |length: usize| id.chars().take(length).collect::<String>();
        let beginnings = [length.saturating_sub(1), length, length + 1].map(beginning);
        length >= PREFIX_CHARACTERS_MIN && meant(name, beginnings.iter().map(String::as_str)).is_some()
    };
    meant(name, ids.iter().copied()).or_else(|| ids.iter().find(begins).copied())
}

/// Returns the run and the step of a text that names a step with the sign of a record.
fn step_after_at(store: &StoreHandle, name: &str) -> Option<(String, String)> {
    let (run, step) = name.rsplit_once('@').filter(|(run, step)| !run.is_empty() && !step.is_empty())?;
    Some((store.find(run).ok()?.as_str().to_owned(), step.to_owned()))
}

/// Describes a run that was removed, given a place in it.
fn removed_with_place(store: &StoreHandle, name: &str) -> Option<String> {
    let mut signs = name.rmatch_indices(['@', ':']);
    signs.find_map(|(index, _)| removed(store, name.get(..index)?))
}

/// Describes a run that was removed, if its tombstone is in the store.
fn removed(store: &StoreHandle, name: &str) -> Option<String> {
    let bytes = store.tombstone(&RunId::new(name).ok()?).ok()??;
    let stone = hence_canon::parse(&bytes).ok()?;
    let text = |key: &str| stone.get(key).and_then(Value::as_str).unwrap_or("unknown").to_owned();
    let removed = format!("run {name} was removed at {}", text("removed_at"));
    Some(match contradiction(&bytes) {
        // A head that the tombstone itself contradicts is no evidence of anything.
        Some(contradiction) => format!("{removed}; its tombstone is damaged: {contradiction}"),
        None => format!("{removed}; its head was {}", text("head")),
    })
}

/// Returns the name of the problem's attachment.
pub(crate) fn problem_name() -> AttachmentName {
    AttachmentName::new(PROBLEM).expect("the name is plain")
}

/// The largest file that is looked at as another document: people write those, and journals are often larger.
const OTHER_DOCUMENT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Returns what a file is that someone names instead of a journal. A damaged journal is not another document: it still has the
/// name of a member that every record has, or at least the name of a journal.
fn other_document(name: &str, bytes: &[u8]) -> Option<&'static str> {
    if bytes.len() <= OTHER_DOCUMENT_BYTES_MAX
        && let Some(kind) = DocumentKind::of_bytes(bytes)
    {
        return Some(kind.name());
    }
    let has = |member: &[u8]| memchr::memmem::find(bytes, member).is_some();
    let has_record = [&b"\"record_hash\""[..], b"\"prev_hash\"", b"\"trace_id\""].into_iter().any(has);
    let is_named = name.ends_with(".ndjson");
    (!is_named && !has_record && !bytes.is_empty()).then_some("a file in which no line is a record")
}

impl Journal {
    /// Reads a run of the store.
    pub(crate) fn of_run(context: &Context, name: &str) -> Result<Self, CliError> {
        let store = context.store()?;
        let run = find_run(&store, name)?;
        Self::of_stored(store, &run)
    }

    /// Reads a run of a store.
    pub(crate) fn of_stored(store: StoreHandle, run: &RunId) -> Result<Self, CliError> {
        let bytes = store.journal_bytes(run)?;
        let documents = Documents::of_run(&store, run)?;
        Ok(Self::new(run.as_str().to_owned(), bytes, documents, Some(store)))
    }

    /// Reads a run of a store up to a record and the one after it, which some profiles need. Later records are not read.
    pub(crate) fn of_stored_up_to(
        store: StoreHandle,
        run: &RunId,
        last: RecordIndex,
    ) -> Result<Self, CliError> {
        let bytes = journal_end::first_lines(&store, run, last.get().saturating_add(2))?;
        let documents = Documents::of_run(&store, run)?;
        Ok(Self::new(run.as_str().to_owned(), bytes, documents, Some(store)))
    }

    /// Reads a run of a store as far as it can be read, to judge it: a document that cannot be read is noted, not an error.
    pub(crate) fn of_stored_to_judge(store: StoreHandle, run: &RunId) -> Result<Self, CliError> {
        let bytes = store.journal_bytes(run)?;
        let mut unreadable = Vec::new();
        let mut read = |name: &AttachmentName| match attachment(&store, run, name) {
            Ok(found) => found,
            Err(error) => {
                unreadable.push(format!("{name}: {}", error.message));
                None
            }
        };
        let documents = Documents {
            problem: read(&problem_name()),
            skill: read(&skills::attachment_name()),
            nested: read(&skills::nested_name()),
            capabilities: read(&skills::capabilities_name()),
        };
        let journal = Self::new(run.as_str().to_owned(), bytes, documents, Some(store));
        Ok(Self { unreadable, ..journal })
    }

    /// Reads the header and the problem of a run of the store, which say what kind of run it is.
    pub(crate) fn start_of_run(store: &StoreHandle, run: &RunId) -> Result<Self, CliError> {
        let problem = attachment(store, run, &problem_name())?;
        let documents = Documents { problem, ..Documents::default() };
        let header = journal_end::header_line(store, run)?;
        Ok(Self::new(run.as_str().to_owned(), header, documents, None))
    }

    /// Makes a journal without documents next to it.
    pub(crate) fn of_bytes(name: &str, bytes: Vec<u8>) -> Self {
        Self::new(name.to_owned(), bytes, Documents::default(), None)
    }

    fn new(name: String, bytes: Vec<u8>, documents: Documents, store: Option<StoreHandle>) -> Self {
        let Documents { problem, skill, nested, capabilities } = documents;
        let kind = RunKind::of_journal(&bytes);
        let (blobs, unreadable) = (None, Vec::new());
        let mut journal =
            Self { name, bytes, kind, problem: None, skill, nested, capabilities, store, blobs, unreadable };
        if let Some(problem) = problem {
            journal.set_problem(PROBLEM, problem);
        }
        journal
    }

    /// Replaces the problem by that of a file, and with it the kind of the run.
    pub(crate) fn set_problem(&mut self, name: &str, bytes: Vec<u8>) {
        let parsed = input::parse_problem(name, &bytes, &self.profile()).ok();
        if let Some(document) = &parsed {
            self.kind = RunKind::of(&document.value);
        }
        self.problem = Some(Problem { name: name.to_owned(), bytes, parsed });
    }

    /// Reads the file of that name if it exists, otherwise the run of that id.
    pub(crate) fn of_target(context: &Context, name: &str) -> Result<Self, CliError> {
        Self::of_file_or_run(context, name, Self::of_stored)
    }

    /// Reads the file of that name if it exists, otherwise the run of that id, to judge it.
    pub(crate) fn of_target_to_judge(context: &Context, name: &str) -> Result<Self, CliError> {
        Self::of_file_or_run(context, name, Self::of_stored_to_judge)
    }

    fn of_file_or_run(
        context: &Context,
        name: &str,
        read: fn(StoreHandle, &RunId) -> Result<Self, CliError>,
    ) -> Result<Self, CliError> {
        let path = Path::new(name);
        let of_run = || {
            let store = context.store()?;
            let run = find_run(&store, name)?;
            read(store, &run)
        };
        if path.is_dir() && path.join(bundle::JOURNAL).is_file() {
            let run = of_run();
            let file = path.join(bundle::JOURNAL);
            return run.map_err(|error| error.with_hint(hint::folder(&file.display().to_string())));
        }
        if !path.is_file() {
            return of_run().map_err(|error| match error.code {
                Code::NoSuchRun if path.is_dir() => error.with_hint(hint::FOLDER_WITHOUT_JOURNAL),
                Code::NoSuchRun => error.with_hint(hint::NEITHER_FILE_NOR_RUN),
                _ => error,
            });
        }
        let bytes = input::read_file(path)?;
        if let Some(kind) = other_document(name, &bytes) {
            let message = format!("{name} is not a journal: it is {kind}");
            return Err(CliError::new(Code::NoSuchPlace, message).with_hint(hint::NAME_A_JOURNAL));
        }
        let documents = Documents {
            problem: read_next_to(path, PROBLEM)?,
            skill: read_next_to(path, skills::SKILL)?,
            nested: read_next_to(path, skills::nested_name().as_str())?,
            capabilities: read_next_to(path, skills::CAPABILITIES)?,
        };
        let mut journal = Self::new(name.to_owned(), bytes, documents, None);
        let blobs = path.with_file_name(bundle::BLOBS);
        journal.blobs = blobs.symlink_metadata().is_ok_and(|found| found.is_dir()).then_some(blobs);
        Ok(journal)
    }

    /// Returns the profile the journal's header names; strict when there is no header.
    pub(crate) fn profile(&self) -> Profile {
        Profile::named(header(&self.bytes).map_or(ProfileName::Strict, |header| header.profile))
    }

    /// Returns the problem, if there is one.
    pub(crate) fn parsed_problem(&self) -> Result<Option<&Lenient>, CliError> {
        match &self.problem {
            None => Ok(None),
            Some(Problem { parsed: Some(problem), .. }) => Ok(Some(problem)),
            // Parsed again to get the error.
            Some(Problem { name, bytes, .. }) => Err(input::parse_problem(name, bytes, &self.profile())
                .err()
                .unwrap_or_else(|| CliError::new(Code::NotJson, format!("{name} cannot be read")))),
        }
    }

    /// Returns whether the run was made in this store: it is in one, and neither a bundle nor a copy of the store brought it
    /// there.
    pub(crate) fn was_made_here(&self) -> Result<bool, CliError> {
        let Some(store) = &self.store else { return Ok(false) };
        let id = find_run(store, &self.name)?;
        Ok(store.was_made_here(&id)?)
    }

    /// Returns whether the header of a strict journal names another problem than this one.
    pub(crate) fn pins_other_problem(&self, problem: &Value) -> bool {
        let strict = header(&self.bytes).filter(|header| header.profile.is_strict());
        strict.is_some_and(|header| header.problem_spec_hash != Canonical::of(problem).digest())
    }

    /// Returns whether there is a problem that can be read.
    pub(crate) fn has_problem(&self) -> bool {
        self.problem.as_ref().is_some_and(|problem| problem.parsed.is_some())
    }

    /// Returns the problem.
    ///
    /// # Errors
    /// [`CliError`] when there is none or it cannot be read.
    pub(crate) fn required_problem(&self) -> Result<&Lenient, CliError> {
        self.parsed_problem()?.ok_or_else(|| {
            let message = format!("{}: its problem is missing", self.name);
            CliError::new(Code::NoSuchPlace, message).with_hint(hint::put_next_to_journal("problem", PROBLEM))
        })
    }
}

/// Returns the header of a journal, if it begins with one.
fn header(journal: &[u8]) -> Option<Header> {
    let first = Lines::of(journal).get(RecordIndex::HEADER).unwrap_or_default();
    match Chained::decode_header(first) {
        Ok((Chained { record: Record::Header(header), .. }, _)) => Some(header),
        _ => None,
    }
}

/// Returns the id that a journal's header gives its run, if that is not the id under which the store has it.
pub(crate) fn other_name(run: &str, journal: &[u8]) -> Option<String> {
    header(journal).filter(|header| *header.trace_id != *run).map(|header| header.trace_id.to_string())
}

/// Reads a document next to a journal's file, where an exported bundle has it; `None` when there is none.
fn read_next_to(path: &Path, name: &str) -> Result<Option<Vec<u8>>, CliError> {
    let attachment: PathBuf = path.with_file_name(name);
    if attachment.is_file() { input::read_file(&attachment).map(Some) } else { Ok(None) }
}

/// Reads an attachment of a run; `None` when there is none.
fn attachment(store: &StoreHandle, run: &RunId, name: &AttachmentName) -> Result<Option<Vec<u8>>, CliError> {
    match store.attachment(run, name) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(StoreError::NoSuchAttachment { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
