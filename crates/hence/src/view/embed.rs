//! Everything about one run as the data of a page that has no server.

use std::collections::BTreeMap;

use hence_server::{Identity, Reply, Role, Window};

use super::Views;
use super::gaps::GapFilter;
use super::lineage::lineage;
use super::opened::Opened;
use super::projected::{ActionRow, ArtifactRow, Subject, actions, artifacts, story};
use super::raw::Range;
use super::spans::{BUCKETS_DEFAULT, spans_of_trace};
use crate::bundle::referenced_blobs;
use crate::prelude::*;
use crate::sink::StoreBlobs;

/// The most records of which a file has the details.
const DETAILS_MAX: usize = 2000;

/// The most bytes of those details, before they are compressed: each turn of a conversation repeats the turns before it.
const DETAILS_BYTES_MAX: usize = 24 * 1024 * 1024;

/// The most records or actions of which a file repeats what can be read elsewhere. A file of 10 000 records stays below 5 MB.
const REPEATED_MAX: usize = 2000;

/// The most bytes of large values that a file has.
const BLOBS_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// Bytes as text where they are text.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum RawBytes {
    Text(String),
    Base64(String),
}

/// The data of a page.
#[derive(Serialize)]
pub(crate) struct Embedding {
    format: &'static str,
    version: &'static str,
    run: String,
    kind: &'static str,
    /// Responses as JSON texts: the page reads one when a view asks for it, and not all before it shows the first.
    responses: BTreeMap<String, String>,
    raw: BTreeMap<String, RawBytes>,
    /// The parts that are not in the file, in sentences.
    pub(crate) left_out: Vec<String>,
}

/// Returns a name as one segment of an address, as `encodeURIComponent` spells it.
pub(crate) fn segment(name: &str) -> String {
    let mut out = String::new();
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z'
            | b'a'..=b'z'
            | b'0'..=b'9'
            | b'-'
            | b'_'
            | b'.'
            | b'!'
            | b'~'
            | b'*'
            | b'\''
            | b'('
            | b')' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

/// Whoever looks at a file may read it, and can do nothing else with it.
#[derive(Serialize)]
struct NoSession {
    name: &'static str,
    roles: [&'static str; 1],
    version: &'static str,
    store: &'static str,
}

impl Embedding {
    fn new(run: &str, kind: &'static str) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        let mut embedding = Self {
            format: hence_server::FORMAT,
            version,
            run: run.to_owned(),
            kind,
            responses: BTreeMap::new(),
            raw: BTreeMap::new(),
            left_out: Vec::new(),
        };
        embedding.add("/session", &NoSession { name: "", roles: [Role::Read.as_str()], version, store: "" });
        embedding
    }

    /// Returns whether so many items are too many to repeat what is said elsewhere.
    fn is_large(&self, items: usize) -> bool {
        items > REPEATED_MAX
    }

    /// Returns the bytes of the responses.
    fn response_bytes(&self) -> usize {
        self.responses.values().map(String::len).sum()
    }

    /// Returns the id of the run or trace.
    pub(crate) fn run(&self) -> &str {
        &self.run
    }

    fn path(&self, rest: &str) -> String {
        format!("/runs/{}{rest}", segment(&self.run))
    }

    fn add(&mut self, path: &str, response: &impl Serialize) {
        if let Ok(text) = serde_json::to_string(response) {
            self.responses.insert(path.to_owned(), text);
        }
    }

    /// Adds a part of a run, or says why it is not there.
    fn add_part<T: Serialize>(&mut self, rest: &str, response: Result<T, CliError>) {
        match response {
            Ok(response) => self.add(&self.path(rest), &response),
            Err(error) => self.left_out.push(format!("{rest}: {}", error.message)),
        }
    }

    fn add_bytes(&mut self, path: String, bytes: Vec<u8>) {
        use base64::Engine as _;
        let raw = match String::from_utf8(bytes) {
            Ok(text) => RawBytes::Text(text),
            Err(error) => {
                RawBytes::Base64(base64::engine::general_purpose::STANDARD.encode(error.into_bytes()))
            }
        };
        self.raw.insert(path, raw);
    }
}

impl Views {
    /// Returns the data of a page about a run, or about the trace that was added.
    ///
    /// # Errors
    /// [`CliError`] when there is no such run, or its journal is too large for a file.
    pub(crate) fn embedding(&self, name: &str) -> Result<Embedding, CliError> {
        match self.subject(name)? {
            Subject::Run(run) => self.embed_run(*run),
            subject @ Subject::Trace(_) => Ok(self.embed_trace(name, &subject)),
        }
    }

    fn embed_trace_parts(&self, embedding: &mut Embedding, subject: &Subject) {
        let whole = Window::WHOLE;
        embedding.add_part("", self.run_report(subject, false));
        embedding.add_part("/verdict", self.verdict(subject, true));
        let trace = self.trace_of(subject);
        match &trace {
            Ok(trace) => {
                embedding.add_part("/story", Ok(story(trace, whole)));
                let mut actions = actions(trace, whole, None, None);
                let mut artifacts = artifacts(trace, whole);
                if embedding.is_large(actions.items.len()) {
                    actions.items.iter_mut().for_each(ActionRow::leave_out_rest);
                    artifacts.items.iter_mut().for_each(ArtifactRow::leave_out_rest);
                    let says = "actions and artifacts in full: `hence trace export` writes them";
                    embedding.left_out.push(says.to_owned());
                }
                embedding.add_part("/actions", Ok(actions));
                embedding.add_part("/artifacts", Ok(artifacts));
                embedding.add_part("/lineage", lineage(trace, whole, None));
            }
            Err(error) => embedding.left_out.push(format!("story, lineage, gaps: {}", error.message)),
        }
        if trace.is_ok() {
            embedding.add_part("/gaps", self.gaps(subject, &GapFilter::default(), whole));
            let name = embedding.run.clone();
            embedding.add_part("/policies", self.policies(&name, subject, whole));
        }
    }

    fn embed_trace(&self, name: &str, subject: &Subject) -> Embedding {
        let mut embedding = Embedding::new(name, "trace");
        self.embed_trace_parts(&mut embedding, subject);
        if let Subject::Trace(trace) = subject {
            embedding.add_part("/spans", Ok(spans_of_trace(trace, Window::WHOLE)));
        }
        embedding
    }

    fn embed_run(&self, run: Opened) -> Result<Embedding, CliError> {
        run.refuse_large()?;
        let whole = Window::WHOLE;
        let kind = if run.start.has_problem() { run.kind().as_str() } else { "unknown" };
        let mut embedding = Embedding::new(run.name(), kind);
        embedding.add("/runs", &self.list_of_one(&run)?);
        let mut records = self.records(&run, whole, false);
        if let Ok(records) = &mut records
            && embedding.is_large(records.items.len())
        {
            // The line of each record has its hash, and a hash cannot be compressed.
            records.items.iter_mut().for_each(|record| record.row.hash = None);
        }
        embedding.add_part("/records", records);
        embedding.add_part("/state/patches", self.state_patches(&run, whole));
        embedding.add_part("/spans", self.spans(&run, whole));
        embedding.add_part("/spans/overview", self.overview(&run, BUCKETS_DEFAULT));
        embedding.add_part("/calls", self.calls(&run, None, whole));
        embedding.add_part("/review", self.review(&run, None));
        if self.review_of(&run, None)?.is_some() {
            embedding.add_part("/review/handoff", self.handoff(&run, None));
        }
        let reader = Identity::new("", []);
        embedding.add("/waiting", &self.waiting(Some(&reader), Some(run.name()), whole)?);
        self.embed_bytes(&run, &mut embedding)?;
        self.embed_details(&run, &mut embedding)?;
        self.embed_trace_parts(&mut embedding, &Subject::Run(Box::new(run)));
        Ok(embedding)
    }

    fn embed_bytes(&self, run: &Opened, embedding: &mut Embedding) -> Result<(), CliError> {
        let journal = super::index::read_range(&run.store, &run.id, 0, run.summary.journal_bytes)?;
        let documents = self.documents(run)?;
        for document in &documents.items {
            let range = Range { offset: 0, bytes: u64::MAX };
            if let Reply::Bytes { bytes, .. } = self.document(run, &document.name, range)? {
                embedding.add_bytes(embedding.path(&format!("/documents/{}", document.name)), bytes);
            }
        }
        embedding.add_part("/documents", Ok(documents));
        let mut left = BLOBS_BYTES_MAX;
        for digest in referenced_blobs(&journal, &StoreBlobs(&run.store)) {
            match run.store.blob(&digest) {
                Ok(bytes) if bytes.len() as u64 <= left => {
                    left -= bytes.len() as u64;
                    embedding.add_bytes(format!("/blobs/{digest}"), bytes);
                }
                Ok(bytes) => {
                    embedding
                        .left_out
                        .push(format!("blob {digest}: {} bytes, too large for one file", bytes.len()));
                }
                Err(error) => embedding.left_out.push(format!("blob {digest}: {error}")),
            }
        }
        embedding.add_bytes(embedding.path("/journal"), journal);
        Ok(())
    }

    /// Adds the details of the records that say more than their line.
    fn embed_details(&self, run: &Opened, embedding: &mut Embedding) -> Result<(), CliError> {
        let wanted: Vec<u64> = self.records_with_more(run)?;
        let (mut added, before) = (0, embedding.response_bytes());
        for index in wanted.iter().take(DETAILS_MAX) {
            if embedding.response_bytes() - before > DETAILS_BYTES_MAX {
                break;
            }
            embedding.add_part(&format!("/records/{index}"), self.record(run, *index));
            embedding.add_part(&format!("/calls/{index}"), self.call(run, *index));
            added += 1;
        }
        if wanted.len() > added {
            let more = wanted.len() - added;
            embedding.left_out.push(format!("the exchanges and outside values of {more} records"));
        }
        Ok(())
    }
}
