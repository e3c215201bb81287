//! Stored values: inside the state, or in a file the state refers to.

use std::sync::Arc;

use hence_canon::{Digest, Value, canonical_bytes, parse};

use crate::files::{ReadFault, SpillContent, SpillFile};
use crate::limits::INLINE_VALUE_BYTES_MAX;
use crate::words::size_bytes;
use crate::{Files, StateId, StorePath, ValueType};

/// A value as a state stores it, together with its type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stored {
    /// The value itself.
    Inline {
        /// The type of the value.
        value_type: ValueType,
        /// The value.
        value: Value,
    },
    /// A file somebody else writes, of type `file_path`; it is read afresh every time.
    Reference(StorePath),
    /// A value above [`INLINE_VALUE_BYTES_MAX`], in a file named by its content.
    Spilled(Spill),
}

/// A reference to a large value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spill {
    /// The path of the file.
    pub path: StorePath,
    /// The type the value has once read back.
    pub logical_type: ValueType,
    /// The number of bytes.
    pub size_bytes: u64,
    /// The digest of the bytes, checked on every read.
    pub sha256: Digest,
}

/// The reason a stored value cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadFault {
    /// The file does not exist.
    #[error("file {0} is missing")]
    Missing(StorePath),
    /// The file is not what was written, or not what its name promises.
    #[error("file {path} is corrupt: {reason}")]
    Corrupt {
        /// The file.
        path: StorePath,
        /// The defect of the file.
        reason: String,
    },
    /// A symbolic link leads out of the store.
    #[error("file {0} leads out of the store")]
    Escapes(StorePath),
    /// The disk did not give it.
    #[error("file {path} cannot be read: {reason}")]
    Unreadable {
        /// The file.
        path: StorePath,
        /// The error of the disk.
        reason: String,
    },
}

impl Stored {
    /// Stores `value` for `state`: inline when small, else as a reference to the returned file.
    ///
    /// The type must admit the value; [`decide`](crate::decide) checks that before.
    pub(crate) fn store(state: StateId, value_type: ValueType, value: &Value) -> (Self, Option<SpillFile>) {
        let content = match value {
            _ if !value_type.spills() => None,
            Value::String(text) => Some(SpillContent::Text(text.clone())),
            other => Some(SpillContent::Json(canonical_bytes(other).into())),
        };
        let content = content.filter(|content| content.bytes().len() as u64 > INLINE_VALUE_BYTES_MAX);
        let Some(content) = content else {
            return (Self::Inline { value_type, value: value.clone() }, None);
        };
        let sha256 = Digest::of(content.bytes());
        let path = StorePath::of_spill(state, sha256, content.extension());
        let size_bytes = content.bytes().len() as u64;
        let spill = Spill { path: path.clone(), logical_type: value_type, size_bytes, sha256 };
        (Self::Spilled(spill), Some(SpillFile { path, sha256, content }))
    }

    /// Returns null, the value of `Final` before the task is done.
    pub fn null() -> Self {
        Self::Inline { value_type: ValueType::Null, value: Value::Null }
    }

    /// Checks a value that another run or a document gives: a path of a large value agrees with its description, and a large
    /// value is not inline.
    pub(crate) fn check_form(&self) -> Result<(), String> {
        match self {
            Self::Inline { value_type, value } => match size_bytes(value) {
                size if value_type.spills() && size > INLINE_VALUE_BYTES_MAX => {
                    Err(format!("a value of {size} bytes is stored in a file, not inline"))
                }
                _ => Ok(()),
            },
            Self::Reference(path) => match path.spill_digest() {
                None => Ok(()),
                Some(_) => Err(format!("{path} is a large value, without its digest, size and type")),
            },
            Self::Spilled(spill) => match spill.path.spill_digest() {
                Some(named) if named != spill.sha256 => {
                    Err(format!("{} is not the path of sha256 {}", spill.path, spill.sha256))
                }
                _ => Ok(()),
            },
        }
    }

    /// Returns whether this is the value null.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Inline { value: Value::Null, .. })
    }

    /// Returns whether the value lives in a file of its own.
    pub fn is_spilled(&self) -> bool {
        matches!(self, Self::Spilled(_))
    }

    /// Returns the value as documents, log entries and raw reads show it: a reference when it is in a file.
    pub fn shown(&self) -> Value {
        match self {
            Self::Inline { value, .. } => value.clone(),
            Self::Reference(path) => path.to_reference().into(),
            Self::Spilled(spill) => spill.path.to_reference().into(),
        }
    }

    /// Returns the type as documents and raw reads show it.
    pub fn shown_type(&self) -> ValueType {
        match self {
            Self::Inline { value_type, .. } => *value_type,
            Self::Reference(_) | Self::Spilled(_) => ValueType::FilePath,
        }
    }

    /// Returns the size of the value, wherever it lives.
    pub fn size_bytes(&self) -> u64 {
        match self {
            Self::Inline { value, .. } => size_bytes(value),
            Self::Reference(path) => path.to_reference().len() as u64,
            Self::Spilled(spill) => spill.size_bytes,
        }
    }

    /// Returns the value and its type, reading and checking a file where there is one.
    ///
    /// # Errors
    /// [`LoadFault`] when the file is missing, altered, unreadable or outside the store.
    pub fn load(&self, files: &dyn Files) -> Result<(Value, ValueType), LoadFault> {
        match self {
            Self::Inline { value_type, value } => Ok((value.clone(), *value_type)),
            Self::Reference(path) => load_reference(path, files),
            Self::Spilled(spill) => Ok((spill.load(files)?, spill.logical_type)),
        }
    }
}

impl Spill {
    /// Checks that the bytes are those the reference describes: digest, size and type.
    ///
    /// # Errors
    /// [`LoadFault::Corrupt`] with the first part of the reference that does not agree.
    pub fn check(&self, bytes: &[u8]) -> Result<(), LoadFault> {
        self.value_of(bytes)?;
        if bytes.len() as u64 == self.size_bytes {
            return Ok(());
        }
        let reason = format!("expected {} bytes, found {}", self.size_bytes, bytes.len());
        Err(LoadFault::Corrupt { path: self.path.clone(), reason })
    }

    /// Checks the parts of a reference against each other, as [`Stored::store`] makes them for `state`.
    pub(crate) fn check_parts(&self, state: StateId) -> Result<(), String> {
        let is_text = !matches!(self.logical_type, ValueType::Json | ValueType::Array);
        let extension = if is_text { "txt" } else { "json" };
        let path = StorePath::of_spill(state, self.sha256, extension);
        if self.path != path {
            return Err(format!("expected the large value at {path}, found {}", self.path));
        }
        if !self.logical_type.spills() {
            return Err(format!("a value of type {} never spills", self.logical_type));
        }
        if self.size_bytes <= INLINE_VALUE_BYTES_MAX {
            return Err(format!("a value of {} bytes is not stored in a file", self.size_bytes));
        }
        Ok(())
    }

    fn load(&self, files: &dyn Files) -> Result<Value, LoadFault> {
        self.value_of(&read(&self.path, files)?)
    }

    /// Returns the value whose bytes these are.
    ///
    /// # Errors
    /// [`LoadFault::Corrupt`] when the bytes are others than those the reference describes, or no value of its type.
    pub fn value_of(&self, bytes: &[u8]) -> Result<Value, LoadFault> {
        let found = Digest::of(bytes);
        if found != self.sha256 {
            let reason = format!("expected sha256 {}, found {found}", self.sha256);
            return Err(LoadFault::Corrupt { path: self.path.clone(), reason });
        }
        let value = if matches!(self.logical_type, ValueType::Json | ValueType::Array) {
            json(&self.path, bytes)?
        } else {
            text(&self.path, bytes)?
        };
        if self.logical_type.admits(&value) {
            return Ok(value);
        }
        let reason = format!("expected {}, found {}", self.logical_type, value.kind());
        Err(LoadFault::Corrupt { path: self.path.clone(), reason })
    }
}

/// Reads a referenced file: JSON by extension, anything else as text.
fn load_reference(path: &StorePath, files: &dyn Files) -> Result<(Value, ValueType), LoadFault> {
    let bytes = read(path, files)?;
    if path.is_json() {
        let value = json(path, &bytes)?;
        let inferred = ValueType::infer(&value);
        return Ok((value, inferred));
    }
    Ok((text(path, &bytes)?, ValueType::FileContent))
}

fn read(path: &StorePath, files: &dyn Files) -> Result<Arc<[u8]>, LoadFault> {
    files.read(path).map_err(|fault| match fault {
        ReadFault::Missing => LoadFault::Missing(path.clone()),
        ReadFault::Escapes => LoadFault::Escapes(path.clone()),
        ReadFault::Corrupt(reason) => LoadFault::Corrupt { path: path.clone(), reason },
        ReadFault::Unreadable(reason) => LoadFault::Unreadable { path: path.clone(), reason },
    })
}

fn json(path: &StorePath, bytes: &[u8]) -> Result<Value, LoadFault> {
    parse(bytes).map_err(|error| LoadFault::Corrupt { path: path.clone(), reason: error.to_string() })
}

fn text(path: &StorePath, bytes: &[u8]) -> Result<Value, LoadFault> {
    match str::from_utf8(bytes) {
        Ok(text) => Ok(text.into()),
        Err(error) => Err(LoadFault::Corrupt { path: path.clone(), reason: error.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATE: StateId = StateId::from_number(1);

    struct One(Vec<u8>);

    impl Files for One {
        fn read(&self, _: &StorePath) -> Result<Arc<[u8]>, ReadFault> {
            Ok(self.0.clone().into())
        }
    }

    #[test]
    fn a_text_at_the_limit_stays_and_one_byte_more_moves_to_a_file() {
        let text = |bytes: u64| Value::from("a".repeat(bytes as usize));
        let (kept, file) = Stored::store(STATE, ValueType::Text, &text(INLINE_VALUE_BYTES_MAX));
        assert!(!kept.is_spilled() && file.is_none());
        let (kept, file) = Stored::store(STATE, ValueType::Text, &text(INLINE_VALUE_BYTES_MAX + 1));
        assert!(kept.is_spilled());
        let file = file.unwrap();
        assert_eq!(file.path.as_str(), format!(".aiwg/rlm/states/{STATE}/variables/{}.txt", file.sha256));
        assert_eq!(kept.size_bytes(), INLINE_VALUE_BYTES_MAX + 1);
    }

    #[test]
    fn a_large_value_comes_back_whole_with_its_type_and_alteration_is_noticed() {
        let list: Value = (0..4000).map(Value::from).collect();
        let (kept, file) = Stored::store(STATE, ValueType::Json, &list);
        let mut bytes = file.unwrap().content.bytes().to_vec();
        assert_eq!(kept.load(&One(bytes.clone())).unwrap(), (list, ValueType::Json));
        bytes[1] ^= 1;
        assert!(matches!(kept.load(&One(bytes)), Err(LoadFault::Corrupt { .. })));
        assert!(matches!(kept.load(&crate::NoFiles), Err(LoadFault::Missing(_))));
    }

    #[test]
    fn a_file_reference_reads_json_by_its_extension_and_text_otherwise() {
        let reference = |path: &str| Stored::Reference(StorePath::from_reference(path).unwrap());
        let load = |path: &str, bytes: &[u8]| reference(path).load(&One(bytes.to_vec()));
        assert_eq!(load("file:.aiwg/rlm/a.json", b"[1]").unwrap().1, ValueType::Array);
        assert_eq!(load("file:.aiwg/rlm/a.txt", b"[1]").unwrap(), ("[1]".into(), ValueType::FileContent));
        assert!(matches!(load("file:.aiwg/rlm/a.json", b"{no"), Err(LoadFault::Corrupt { .. })));
        assert!(matches!(load("file:.aiwg/rlm/a.txt", b"\xff"), Err(LoadFault::Corrupt { .. })));
    }
}
