//! A run or a journal's file, as a person names it.

use std::path::{Path, PathBuf};

use hence_canon::Lenient;
use hence_journal::{Chained, Lines, Record, RecordIndex};
use hence_state::{Profile, ProfileName};
use hence_store::{AttachmentName, FileStore, RunId, Store, StoreError};

use crate::code::Code;
use crate::context::Context;
use crate::error::CliError;
use crate::{bundle, hint, input, skills};

/// The attachment that holds the problem.
pub(crate) const PROBLEM: &str = "problem.json";

/// A journal and what is known around it.
pub(crate) struct Journal {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) problem: Option<Vec<u8>>,
    /// The document of the skill it is a run of, if it is one.
    pub(crate) skill: Option<Vec<u8>>,
    /// The documents of the skills it may nest, if it may nest any.
    pub(crate) nested: Option<Vec<u8>>,
    /// What that skill may call, if anything was declared.
    pub(crate) capabilities: Option<Vec<u8>>,
    /// The store it lies in; a file lies in none.
    pub(crate) store: Option<FileStore>,
}

/// Finds a run by its id or a prefix of it.
pub(crate) fn find_run(store: &dyn Store, name: &str) -> Result<RunId, CliError> {
    Ok(store.find(name)?)
}

/// Returns the name of the problem's attachment.
pub(crate) fn problem_name() -> AttachmentName {
    AttachmentName::new(PROBLEM).expect("the name is plain")
}

impl Journal {
    /// Reads a run of the store.
    pub(crate) fn of_run(context: &Context, name: &str) -> Result<Self, CliError> {
        let store = context.store()?;
        let run = find_run(&store, name)?;
        let bytes = store.journal_bytes(&run)?;
        let problem = attachment(&store, &run, &problem_name())?;
        let skill = attachment(&store, &run, &skills::attachment_name())?;
        let nested = attachment(&store, &run, &skills::nested_name())?;
        let capabilities = attachment(&store, &run, &skills::capabilities_name())?;
        Ok(Self {
            name: run.as_str().to_owned(),
            bytes,
            problem,
            skill,
            nested,
            capabilities,
            store: Some(store),
        })
    }

    /// Reads a file if there is one of that name, a run of the store otherwise.
    pub(crate) fn of_target(context: &Context, name: &str) -> Result<Self, CliError> {
        let path = Path::new(name);
        if path.is_dir() && path.join(bundle::JOURNAL).is_file() {
            let run = Self::of_run(context, name);
            let file = path.join(bundle::JOURNAL);
            return run.map_err(|error| error.with_hint(hint::folder(&file.display().to_string())));
        }
        if !path.is_file() {
            return Self::of_run(context, name).map_err(|error| match error.code {
                Code::NoSuchRun => error.with_hint(hint::NEITHER_FILE_NOR_RUN),
                _ => error,
            });
        }
        let bytes = input::read_file(path)?;
        Ok(Self {
            name: name.to_owned(),
            bytes,
            problem: beside(path, PROBLEM)?,
            skill: beside(path, skills::SKILL)?,
            nested: beside(path, skills::nested_name().as_str())?,
            capabilities: beside(path, skills::CAPABILITIES)?,
            store: None,
        })
    }

    /// Returns the profile the journal's header names; strict when there is no header to ask.
    pub(crate) fn profile(&self) -> Profile {
        let first = Lines::of(&self.bytes).get(RecordIndex::HEADER).unwrap_or_default();
        let name = match Chained::decode_header(first) {
            Ok((Chained { record: Record::Header(header), .. }, _)) => header.profile,
            _ => ProfileName::Strict,
        };
        Profile::named(name)
    }

    /// Parses the problem, if there is one.
    pub(crate) fn parsed_problem(&self) -> Result<Option<Lenient>, CliError> {
        let Some(problem) = &self.problem else { return Ok(None) };
        input::parse_problem(PROBLEM, problem, &self.profile()).map(Some)
    }

    /// Parses the problem, which must be there.
    pub(crate) fn required_problem(&self) -> Result<Lenient, CliError> {
        self.parsed_problem()?.ok_or_else(|| {
            let message = format!("{}: its problem is not at hand", self.name);
            CliError::new(Code::NoSuchPlace, message).with_hint(hint::put_next_to_journal("problem", PROBLEM))
        })
    }
}

/// Reads an attachment beside a journal's file: an exported bundle has it there.
fn beside(path: &Path, name: &str) -> Result<Option<Vec<u8>>, CliError> {
    let attachment: PathBuf = path.with_file_name(name);
    if attachment.is_file() { input::read_file(&attachment).map(Some) } else { Ok(None) }
}

/// Reads an attachment of a run, which need not be there.
fn attachment(store: &FileStore, run: &RunId, name: &AttachmentName) -> Result<Option<Vec<u8>>, CliError> {
    match store.attachment(run, name) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(StoreError::NoSuchAttachment { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
