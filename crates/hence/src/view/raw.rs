//! Bytes: journals, the documents next to them, blobs. A page that checks hashes itself reads these.

use hence_canon::Digest;
use hence_server::Reply;
use hence_server::limits::RAW_BYTES_MAX;
use hence_store::AttachmentName;

use super::Views;
use super::error::bad_request;
use super::index::read_range;
use super::opened::Opened;
use super::projected::{Projected, Subject};
use crate::prelude::*;
use crate::skills;
use crate::target::PROBLEM;

const BYTES: &str = "application/octet-stream";
const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// The bytes of raw data in one response, unless the request names another number.
const RAW_BYTES_DEFAULT: u64 = 256 * 1024;

/// A document next to a journal.
#[derive(Serialize, JsonSchema)]
pub(super) struct DocumentRow {
    /// Its name.
    pub(super) name: String,
    /// Its size.
    bytes: u64,
    /// Its SHA-256.
    sha256: String,
}

/// The documents next to a journal.
#[derive(Serialize, JsonSchema)]
pub(super) struct DocumentList {
    pub(super) items: Vec<DocumentRow>,
}

/// The part of some bytes that is asked for.
#[derive(Clone, Copy)]
pub(super) struct Range {
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

impl Range {
    pub(super) fn new(offset: Option<u64>, bytes: Option<u64>) -> Self {
        let bytes = bytes.unwrap_or(RAW_BYTES_DEFAULT).clamp(1, RAW_BYTES_MAX);
        Self { offset: offset.unwrap_or(0), bytes }
    }

    fn end(self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }

    fn of(self, bytes: &[u8]) -> Vec<u8> {
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
        bytes.get(place(self.offset)..place(self.end())).unwrap_or_default().to_vec()
    }
}

/// The documents that verifying a run needs.
fn document_names() -> [AttachmentName; 4] {
    [
        crate::target::problem_name(),
        skills::attachment_name(),
        skills::nested_name(),
        skills::capabilities_name(),
    ]
}

impl Views {
    pub(super) fn journal(&self, run: &Opened, range: Range) -> Result<Reply, CliError> {
        let bytes = read_range(&run.store, &run.id, range.offset, range.end())?;
        let file_name = Some(format!("{}.ndjson", run.id));
        Ok(Reply::Bytes { bytes, content_type: BYTES, file_name, total: run.summary.journal_bytes })
    }

    pub(super) fn raw_record(&self, run: &Opened, index: u64) -> Result<Reply, CliError> {
        let line = self.line_at(run, index)?;
        let total = line.bytes.len() as u64;
        let file_name = Some(format!("{}-{index}.json", run.id));
        Ok(Reply::Bytes { bytes: line.bytes, content_type: TEXT, file_name, total })
    }

    pub(super) fn documents(&self, run: &Opened) -> Result<DocumentList, CliError> {
        let present = run.store.attachments(&run.id)?;
        let mut items = Vec::new();
        for name in document_names().into_iter().filter(|name| present.contains(name)) {
            let bytes = run.store.attachment(&run.id, &name)?;
            let sha256 = Digest::of(&bytes).to_string();
            items.push(DocumentRow { name: name.as_str().to_owned(), bytes: bytes.len() as u64, sha256 });
        }
        Ok(DocumentList { items })
    }

    pub(super) fn document(&self, run: &Opened, name: &str, range: Range) -> Result<Reply, CliError> {
        let Some(known) = document_names().into_iter().find(|known| known.as_str() == name) else {
            let message = format!("run {}: no document is called {name:?}; {PROBLEM} is one", run.id);
            return Err(CliError::new(Code::NoSuchPlace, message).with_hint(hint::DOCUMENTS));
        };
        let found = run.store.attachment_range(&run.id, &known, range.offset, range.end());
        let (bytes, total) = found.map_err(|error| match error {
            hence_store::StoreError::NoSuchAttachment { .. } => {
                CliError::new(Code::NoSuchPlace, format!("run {}: it has no {name}", run.id))
                    .with_hint(hint::DOCUMENTS)
            }
            other => other.into(),
        })?;
        Ok(Reply::Bytes { bytes, content_type: BYTES, file_name: Some(name.to_owned()), total })
    }

    pub(super) fn blob(&self, sha256: &str, range: Range) -> Result<Reply, CliError> {
        let digest = Digest::from_hex(sha256.as_bytes()).ok_or_else(|| {
            bad_request(format!("sha256: expected 64 hexadecimal digits, found {sha256:?}"))
        })?;
        let bytes = self.context.store()?.blob(&digest)?;
        let content_type = match std::str::from_utf8(&bytes) {
            Err(_) => BYTES,
            Ok(_) if hence_canon::parse(&bytes).is_ok() => JSON,
            Ok(_) => TEXT,
        };
        let total = bytes.len() as u64;
        // A part of JSON is none.
        let is_part = range.offset > 0 || range.end() < total;
        let content_type = if is_part && content_type == JSON { BYTES } else { content_type };
        Ok(Reply::Bytes { bytes: range.of(&bytes), content_type, file_name: Some(sha256.to_owned()), total })
    }

    pub(super) fn trace(&self, name: &str, subject: &Subject) -> Result<Reply, CliError> {
        let projected: std::sync::Arc<Projected> = self.trace_of(subject)?;
        let bytes = format!("{}\n", escape_json(&hence_canon::pretty(&projected.value))).into_bytes();
        let total = bytes.len() as u64;
        Ok(Reply::Bytes { bytes, content_type: JSON, file_name: Some(format!("{name}-trace.json")), total })
    }
}
