//! Contexts on disk: found by path or pattern, pinned by digest, read by reference.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hence_canon::{Canonical, Digest, Object, Value, parse};
use hence_solve::{
    CHUNK_BYTES, Content, Context, ContextFault, ContextKind, ContextPin, Text, TextIndex, TextIndexer,
    TextSource,
};
use hence_store::{Durability, StoreHandle};

use crate::prelude::{CliError, Code};

/// The largest file that becomes one value. A larger one is a text: `text:FILE`.
const VALUE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// The most files of one folder or pattern.
const FILES_MAX: usize = 100_000;

/// The levels of folders that a pattern goes down.
const FOLDERS_DEEP_MAX: usize = 64;

/// A file whose bytes are read where they are needed.
struct FileSource(File);

impl TextSource for FileSource {
    fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; length];
        self.0.read_exact_at(&mut bytes, offset).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => "it is shorter than when the run began".to_owned(),
            _ => error.to_string(),
        })?;
        Ok(bytes)
    }
}

/// A context that cannot be used.
fn refused(path: &str, reason: impl std::fmt::Display) -> CliError {
    CliError::new(Code::Context, format!("context {path}: {reason}"))
}

/// Opens a file. A pipe or a device, which may never end, is refused without waiting for it.
fn open_file(path: &Path) -> Result<File, String> {
    let described = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => "it does not exist".to_owned(),
        _ => error.to_string(),
    };
    if !path.metadata().map_err(described)?.is_file() {
        return Err("it is not a file".to_owned());
    }
    // Something else may have taken its place since.
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(described)?;
    match file.metadata().map_err(described)?.is_file() {
        true => Ok(file),
        false => Err("it is not a file".to_owned()),
    }
}

/// Reads a file once: its digest, and for a text the places of its characters.
fn index(path: &Path) -> Result<(TextIndex, File), String> {
    let mut file = open_file(path)?;
    let (mut indexer, mut buffer) = (TextIndexer::default(), vec![0; CHUNK_BYTES]);
    loop {
        let count = file.read(&mut buffer).map_err(|error| error.to_string())?;
        if count == 0 {
            break;
        }
        let bytes = buffer.get(..count).unwrap_or_default();
        indexer.push(bytes).map_err(|error| format!("it is no text: {error}"))?;
    }
    let index = indexer.finish().map_err(|error| format!("it is no text: {error}"))?;
    Ok((index, file))
}

/// Finds a context that a person names, and pins it. Lists of files are stored as blobs, so that a file that is added later
/// changes nothing.
pub(super) fn pin(named: &str, store: &StoreHandle) -> Result<ContextPin, CliError> {
    let (forced, path) = match named.split_once(':') {
        Some(("text", path)) => (true, path),
        _ => (false, named),
    };
    let found = Path::new(path);
    if !found.is_dir() && (found.is_file() || !path.contains(['*', '?'])) {
        return pin_file(path, if forced { ContextKind::Text } else { kind_of(found) });
    }
    let pattern = if found.is_dir() { format!("{}/**", path.trim_end_matches('/')) } else { path.to_owned() };
    let files = matching(&pattern).map_err(|reason| refused(path, reason))?;
    if files.is_empty() {
        return Err(refused(path, "no file matches"));
    }
    let (mut listed, mut bytes, mut characters): (Vec<Value>, u64, u64) = (Vec::new(), 0, 0);
    for file in &files {
        let shown = file.to_string_lossy();
        let (index, _) = index(file).map_err(|reason| refused(&shown, reason))?;
        (bytes, characters) = (bytes + index.bytes(), characters + index.characters());
        let members = [("path", Value::from(&*shown)), ("sha256", index.sha256().into())];
        listed.push(members.into_iter().collect::<Object>().into());
    }
    let list = Canonical::of(&listed.into());
    store.put_blob(list.bytes(), Durability::Synced)?;
    Ok(ContextPin {
        kind: ContextKind::Files,
        path: path.into(),
        sha256: list.digest(),
        bytes,
        characters,
        files: files.len() as u64,
    })
}

fn kind_of(path: &Path) -> ContextKind {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match &*extension.to_ascii_lowercase() {
        "json" => ContextKind::Json,
        "jsonl" | "ndjson" => ContextKind::JsonLines,
        "csv" | "tsv" => ContextKind::Csv,
        _ => ContextKind::Text,
    }
}

fn pin_file(path: &str, kind: ContextKind) -> Result<ContextPin, CliError> {
    let (index, _) = index(Path::new(path)).map_err(|reason| refused(path, reason))?;
    let pin = ContextPin {
        kind,
        path: path.into(),
        sha256: index.sha256(),
        bytes: index.bytes(),
        characters: index.characters(),
        files: 1,
    };
    if kind != ContextKind::Text {
        // What cannot be read as its kind is refused before the run exists.
        open_value(&pin).map_err(|fault| refused(path, fault.reason))?;
    }
    Ok(pin)
}

/// Opens the contexts that a run pins, and compares each with its digest.
pub(super) fn open(pins: &[ContextPin], store: Option<&StoreHandle>) -> Result<Vec<Context>, ContextFault> {
    let open_one = |(number, pin): (usize, &ContextPin)| {
        let content = match pin.kind {
            ContextKind::Text => Content::Text(open_text(&pin.path, pin.sha256)?),
            ContextKind::Files => Content::Texts(open_files(pin, store)?),
            ContextKind::Json | ContextKind::JsonLines | ContextKind::Csv => {
                Content::Value(Arc::new(open_value(pin)?))
            }
            ContextKind::Blob => content_of_blob(pin, blob(pin, store)?),
        };
        Ok(Context { number, content })
    };
    pins.iter().enumerate().map(open_one).collect()
}

/// Returns the content of a value that a parent hands to its child.
pub(super) fn content_of_blob(pin: &ContextPin, value: Value) -> Content {
    match value {
        Value::String(text) => Content::Text(Text::in_memory(&pin.path, &text)),
        value => Content::Value(Arc::new(value)),
    }
}

fn fault(path: &str, reason: impl Into<String>) -> ContextFault {
    ContextFault { path: path.into(), reason: reason.into() }
}

fn open_text(path: &str, pinned: Digest) -> Result<Text, ContextFault> {
    let (index, file) = index(Path::new(path)).map_err(|reason| fault(path, reason))?;
    if index.sha256() != pinned {
        let found = index.sha256().short();
        return Err(fault(path, format!("it has changed: the run pins {}, found {found}", pinned.short())));
    }
    Ok(Text::new(path, index, Box::new(FileSource(file))))
}

fn open_files(pin: &ContextPin, store: Option<&StoreHandle>) -> Result<Vec<Text>, ContextFault> {
    let list = blob(pin, store)?;
    let unreadable = || fault(&pin.path, "its list of files cannot be read");
    let open_one = |item: &Value| {
        let path = item.get("path").and_then(Value::as_str).ok_or_else(unreadable)?;
        let digest = item.get("sha256").and_then(Value::as_str).and_then(|text| text.parse().ok());
        open_text(path, digest.ok_or_else(unreadable)?)
    };
    list.as_array().unwrap_or_default().iter().map(open_one).collect()
}

fn blob(pin: &ContextPin, store: Option<&StoreHandle>) -> Result<Value, ContextFault> {
    let store = store.ok_or_else(|| fault(&pin.path, "it is in the store of its run, which is not here"))?;
    let bytes = store.blob(&pin.sha256).map_err(|error| fault(&pin.path, error.to_string()))?;
    parse(&bytes).map_err(|error| fault(&pin.path, error.to_string()))
}

/// Reads a file as the value that its kind says.
fn open_value(pin: &ContextPin) -> Result<Value, ContextFault> {
    let wrong = |reason: String| fault(&pin.path, reason);
    if pin.bytes > VALUE_BYTES_MAX {
        let bytes = pin.bytes;
        return Err(wrong(format!(
            "it has {bytes} bytes, a value at most {VALUE_BYTES_MAX}; read it as a text with text:{}",
            pin.path
        )));
    }
    let file = open_file(Path::new(&*pin.path)).map_err(wrong)?;
    let mut bytes = Vec::new();
    file.take(pin.bytes.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| wrong(error.to_string()))?;
    if Digest::of(&bytes) != pin.sha256 {
        return Err(wrong("it has changed".to_owned()));
    }
    match pin.kind {
        ContextKind::JsonLines => {
            let lines = bytes.split(|byte| *byte == b'\n').enumerate();
            let lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
            lines
                .map(|(number, line)| {
                    parse(line.trim_ascii()).map_err(|error| wrong(format!("line {}: {error}", number + 1)))
                })
                .collect::<Result<Vec<Value>, _>>()
                .map(Value::from)
        }
        ContextKind::Csv => rows(&bytes, pin.path.to_ascii_lowercase().ends_with(".tsv")).map_err(wrong),
        _ => parse(&bytes).map_err(|error| wrong(error.to_string())),
    }
}

/// Reads rows by the names in the first one.
fn rows(bytes: &[u8], is_tabbed: bool) -> Result<Value, String> {
    let separator = if is_tabbed { b'\t' } else { b',' };
    let mut reader = csv::ReaderBuilder::new().delimiter(separator).flexible(false).from_reader(bytes);
    let names = reader.headers().map_err(|error| error.to_string())?.clone();
    let mut rows: Vec<Value> = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| error.to_string())?;
        let members: Vec<(Arc<str>, Value)> =
            names.iter().zip(record.iter()).map(|(name, cell)| (name.into(), cell.into())).collect();
        rows.push(Object::from_members(members).map_err(|error| error.to_string())?.into());
    }
    Ok(rows.into())
}

/// Returns the files that a pattern matches, sorted. `*` and `?` stay inside one folder, `**` goes down.
fn matching(pattern: &str) -> Result<Vec<PathBuf>, String> {
    let parts: Vec<&str> = pattern.split('/').collect();
    let literal = parts.iter().take_while(|part| !part.contains(['*', '?'])).count().min(parts.len() - 1);
    let (root, rest) = parts.split_at(literal);
    let root = match root.join("/") {
        text if text.is_empty() && pattern.starts_with('/') => PathBuf::from("/"),
        text if text.is_empty() => PathBuf::new(),
        text => PathBuf::from(text),
    };
    let mut found = Vec::new();
    descend(&root, rest, 0, &mut found)?;
    found.sort();
    found.dedup();
    Ok(found)
}

fn descend(folder: &Path, parts: &[&str], depth: usize, found: &mut Vec<PathBuf>) -> Result<(), String> {
    let Some((first, rest)) = parts.split_first() else { return Ok(()) };
    if depth > FOLDERS_DEEP_MAX {
        return Err(format!("folders nest deeper than {FOLDERS_DEEP_MAX}"));
    }
    let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = match std::fs::read_dir(listed) {
        Ok(entries) => entries,
        Err(_) if depth > 0 => return Ok(()),
        Err(error) => return Err(error.to_string()),
    };
    if *first == "**" {
        descend(folder, if rest.is_empty() { &["*"] } else { rest }, depth, found)?;
    }
    for entry in entries {
        let entry = entry.map_err(|error| error.to_string())?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        // A link may lead anywhere, also back; hidden files are meant only by name.
        let kind = entry.file_type().map_err(|error| error.to_string())?;
        if name.starts_with('.') && !first.starts_with('.') {
            continue;
        }
        let path = folder.join(name);
        if *first == "**" {
            if kind.is_dir() {
                descend(&path, parts, depth + 1, found)?;
            }
            continue;
        }
        if !matches_name(first.as_bytes(), name.as_bytes()) {
            continue;
        }
        if rest.is_empty() && kind.is_file() {
            found.push(path);
        } else if !rest.is_empty() && kind.is_dir() {
            descend(&path, rest, depth + 1, found)?;
        }
        if found.len() > FILES_MAX {
            return Err(format!("it matches more than {FILES_MAX} files"));
        }
    }
    Ok(())
}

/// Returns whether a name matches a pattern with `*` and `?`.
fn matches_name(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => {
            matches_name(rest, name)
                || name.split_first().is_some_and(|(_, shorter)| matches_name(pattern, shorter))
        }
        (Some((b'?', rest)), Some((_, shorter))) => matches_name(rest, shorter),
        (Some((letter, rest)), Some((found, shorter))) => letter == found && matches_name(rest, shorter),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_files_in_order() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["b.txt", "a.txt", "c.md", "deep/d.txt", "deep/er/e.txt", ".hidden.txt"] {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, file).unwrap();
        }
        let root = folder.path().display().to_string();
        let found = |pattern: &str| -> Vec<String> {
            let files = matching(&format!("{root}/{pattern}")).unwrap();
            files.iter().map(|file| file.strip_prefix(&root).unwrap().display().to_string()).collect()
        };
        assert_eq!(found("*.txt"), ["a.txt", "b.txt"]);
        assert_eq!(found("?.md"), ["c.md"]);
        assert_eq!(found("**/*.txt"), ["a.txt", "b.txt", "deep/d.txt", "deep/er/e.txt"]);
        assert_eq!(found("**").len(), 5);
        assert_eq!(found("deep/*/*.txt"), ["deep/er/e.txt"]);
        assert!(found("*.none").is_empty());
    }

    #[test]
    fn csv_becomes_rows_by_name() {
        let value = rows(b"a,b\n1,\"x, y\"\n2,\n", false).unwrap();
        assert_eq!(value.to_string(), r#"[{"a":"1","b":"x, y"},{"a":"2","b":""}]"#);
        assert!(rows(b"a,a\n1,2\n", false).is_err());
        assert!(rows(b"a,b\n1\n", false).is_err());
    }
}
