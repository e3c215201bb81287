//! Reading conformance files.

use std::path::{Path, PathBuf};

use hence_canon::{ParseError, Value, parse};

/// Data that cannot be read: the tool stops rather than pass what it did not see.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DataError {
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{}, line {line}: {source}", path.display())]
    Parse { path: PathBuf, line: usize, source: ParseError },
    #[error("the verifier {command}: {source}")]
    Verifier { command: String, source: std::io::Error },
    #[error("deviations.toml: {0}")]
    Deviations(#[from] toml::de::Error),
    #[error("a case has no text at {pointer}: {case}")]
    Member { pointer: &'static str, case: String },
}

/// Reads one JSON document.
pub(crate) fn json(path: &Path) -> Result<Value, DataError> {
    let bytes = read(path)?;
    parse(&bytes).map_err(|source| DataError::Parse {
        path: path.to_owned(),
        line: source.position.line,
        source,
    })
}

/// Reads the JSON documents of a folder by name, in the order of their names; names that start with `_` are
/// indices and left out.
pub(crate) fn json_folder(dir: &Path) -> Result<Vec<(String, Value)>, DataError> {
    let unreadable = |source| DataError::Read { path: dir.to_owned(), source };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name().to_string_lossy().into_owned();
        if let Some(stem) = name.strip_suffix(".json").filter(|stem| !stem.starts_with('_')) {
            names.push(stem.to_owned());
        }
    }
    names.sort();
    names.into_iter().map(|name| Ok((name.clone(), json(&dir.join(format!("{name}.json")))?))).collect()
}

/// Reads one JSON value per line.
pub(crate) fn ndjson(path: &Path) -> Result<Vec<Value>, DataError> {
    let bytes = read(path)?;
    bytes
        .split(|byte| *byte == b'\n')
        .enumerate()
        .filter(|(_, line)| !line.is_empty())
        .map(|(index, line)| {
            parse(line).map_err(|source| DataError::Parse { path: path.to_owned(), line: index + 1, source })
        })
        .collect()
}

fn read(path: &Path) -> Result<Vec<u8>, DataError> {
    std::fs::read(path).map_err(|source| DataError::Read { path: path.to_owned(), source })
}

/// Returns the text at a pointer, which every case must have.
pub(crate) fn text<'a>(case: &'a Value, pointer: &'static str) -> Result<&'a str, DataError> {
    let found = pointer.parse().ok().and_then(|parsed| case.pointer(&parsed)).and_then(Value::as_str);
    found.ok_or_else(|| DataError::Member { pointer, case: case.to_string().chars().take(120).collect() })
}
