//! Reading files, standard input and problems that a person names.

use std::io::Read as _;
use std::path::Path;

use hence_canon::{Lenient, meant, parse, parse_lenient};
use hence_engine::without_defects;
use hence_state::{Profile, Typing};

use crate::code::Code;
use crate::error::CliError;
use crate::hint;

/// The largest document read from a file or standard input.
///
/// A problem is stored verbatim and hashed with every state, so a larger one is a mistake. The limit is checked before
/// anything is parsed.
pub(crate) const DOCUMENT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The bytes at the beginning of a file in which binary data shows itself.
const BINARY_BYTES_LOOKED_AT: usize = 8 * 1024;

/// The most files of a folder that a misspelt name is compared with.
const COMPARED_FILES_MAX: usize = 1_000;

/// The mark of UTF-8 at the start of a file.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Returns the name of a document in messages.
pub(crate) fn shown_name(name: &str) -> &str {
    if name == "-" { "standard input" } else { name }
}

/// Reads a file, or standard input for `-`, up to [`DOCUMENT_BYTES_MAX`].
///
/// The byte order mark that some editors begin a file with is left out.
pub(crate) fn read_document(name: &str) -> Result<Vec<u8>, CliError> {
    let mut bytes = read_up_to(name, DOCUMENT_BYTES_MAX)?;
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(bytes)
}

/// As [`read_document`], for a document that is parsed: an empty file and one that is no text are refused with what was
/// expected, because no position in them says anything.
pub(crate) fn read_parsable(name: &str, code: Code) -> Result<Vec<u8>, CliError> {
    let bytes = read_document(name)?;
    match not_a_document(name, &bytes) {
        Some(message) => Err(CliError::new(code, message).with_hint(hint::NOT_A_DOCUMENT)),
        None => Ok(bytes),
    }
}

/// Returns why bytes cannot be a document at all, if that is so.
pub(crate) fn not_a_document(name: &str, bytes: &[u8]) -> Option<String> {
    let name = shown_name(name);
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Some(format!("{name} is empty: expected a document in JSON or YAML"));
    }
    // One byte of another encoding has a place that helps; a program, an image or an archive has none. All of them hold
    // zeros near their beginning.
    let start = bytes.get(..BINARY_BYTES_LOOKED_AT).unwrap_or(bytes);
    let is_binary = start.contains(&0);
    is_binary.then(|| format!("{name} is not text: expected a document in JSON or YAML, found binary data"))
}

/// Returns whether the ending of a name is one that documents have, or there is none.
pub(crate) fn may_be_document(name: &str) -> bool {
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
    ending
        .is_none_or(|ending| ["json", "yaml", "yml", "toml"].contains(&ending.to_ascii_lowercase().as_str()))
}

/// Reads a text to store as a large value, up to the limit of the store; it is hashed and written, never parsed.
pub(crate) fn read_text(name: &str) -> Result<Vec<u8>, CliError> {
    read_up_to(name, hence_store::BLOB_BYTES_MAX)
}

fn read_up_to(name: &str, limit: u64) -> Result<Vec<u8>, CliError> {
    let path = Path::new(shown_name(name));
    let mut bytes = Vec::new();
    let read = if name == "-" {
        std::io::stdin().lock().take(limit + 1).read_to_end(&mut bytes)
    } else {
        let file = std::fs::File::open(name).map_err(|error| not_opened(path, error))?;
        // A file of a known size is refused without reading it.
        let length = file.metadata().ok().filter(std::fs::Metadata::is_file).map_or(0, |found| found.len());
        if length > limit {
            return Err(too_large(path, limit));
        }
        file.take(limit + 1).read_to_end(&mut bytes)
    };
    read.map_err(|error| CliError::file("read", path, error))?;
    if bytes.len() as u64 > limit {
        return Err(too_large(path, limit));
    }
    Ok(bytes)
}

/// Describes a file that cannot be opened; of one that does not exist, the one that was probably meant.
fn not_opened(path: &Path, error: std::io::Error) -> CliError {
    let is_missing = error.kind() == std::io::ErrorKind::NotFound;
    let mut refusal = CliError::file("open", path, error);
    let name = path.file_name().and_then(|name| name.to_str()).filter(|_| is_missing);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let (Some(name), Ok(entries)) = (name, std::fs::read_dir(folder)) {
        let names =
            entries.take(COMPARED_FILES_MAX).filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let names: Vec<String> = names.collect();
        if let Some(meant) = meant(name, names.iter().map(String::as_str)) {
            let meant = path.with_file_name(meant);
            refusal.message.push_str(&format!("; did you mean `{}`?", meant.display()));
        }
    }
    refusal
}

fn too_large(path: &Path, limit: u64) -> CliError {
    let message =
        format!("{} has more than {} MiB, the limit of a document", path.display(), limit / (1024 * 1024));
    CliError::new(Code::File, message).with_hint(hint::LARGE_VALUES)
}

/// Reads a whole file of any size: journals are not documents.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>, CliError> {
    std::fs::read(path).map_err(|error| CliError::file("read", path, error))
}

/// Parses a problem by the rules of its profile.
pub(crate) fn parse_problem(name: &str, bytes: &[u8], profile: &Profile) -> Result<Lenient, CliError> {
    let parsed = match profile.typing {
        Typing::Strict => parse(bytes).map(without_defects),
        Typing::Lax => parse_lenient(bytes),
    };
    parsed.map_err(|error| CliError::not_json(shown_name(name), error))
}
