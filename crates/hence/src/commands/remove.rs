//! `hence rm` and `hence gc`: remove runs, which leave tombstones, and large values that nothing refers to.

use std::collections::{BTreeMap, BTreeSet};

use hence_canon::{Digest, Object, Value};
use hence_journal::{Chained, Head, Lines, RecordIndex, read_tail};
use hence_store::{Finding, Lease, RunId, StoreHandle};

use super::runs::{self, RunFacts};
use crate::args::remove::{GcArgs, RmArgs};
use crate::bundle::{is_local, referenced_blobs};
use crate::clock;
use crate::fleet;
use crate::prelude::*;
use crate::sink::StoreBlobs;
use crate::target;

/// The format of a tombstone.
const FORMAT: &str = "hence-tombstone/1";

/// The statuses of runs that have ended. Only these are collected: any other run may continue.
pub(crate) const ENDED: [&str; 3] = ["completed", "partial", "failed"];

/// The runs and values that were removed, or would be.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RemoveReport {
    /// True if it was removed; false for a plan, which changes nothing.
    removed: bool,
    /// The runs.
    runs: Vec<RemovedRow>,
    /// The large values that only these runs refer to, or that nothing does.
    blobs: usize,
    /// The size of journals and large values.
    bytes: u64,
    /// Runs that stay although they fit, and things that could not be removed, each with the reason.
    kept: Vec<KeptRow>,
}

/// A run that was removed, or would be.
#[derive(Serialize, JsonSchema)]
struct RemovedRow {
    /// The run's id.
    run: String,
    /// Its status.
    status: String,
    /// Its head, which its tombstone keeps.
    head: Option<String>,
    /// The size of its journal.
    bytes: u64,
}

/// Something that stays.
#[derive(Serialize, JsonSchema)]
struct KeptRow {
    /// The run's id, or `blobs`.
    what: String,
    /// The reason.
    reason: String,
}

impl Text for RemoveReport {
    fn text(&self) -> String {
        let verb = if self.removed { "removed" } else { "would remove" };
        let mut rows: Vec<(&str, String)> = Vec::new();
        for row in &self.runs {
            rows.push((verb, escape(&format!("{} ({}, {} bytes)", row.run, row.status, row.bytes))));
        }
        rows.extend(
            self.kept.iter().map(|kept| ("stays", escape(&format!("{}: {}", kept.what, kept.reason)))),
        );
        let (runs, blobs) =
            (counted(self.runs.len() as u64, "run"), counted(self.blobs as u64, "large value"));
        rows.push(("together", format!("{runs}, {blobs}, {} bytes", self.bytes)));
        pairs(&rows)
    }
}

/// Whether a command only says what it would do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    Plan,
    Apply,
}

pub(super) fn rm(context: &Context, args: &RmArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let facts = runs::facts(context, &store)?;
    let mut chosen = BTreeSet::new();
    for name in &args.runs {
        let run = target::find_run(&store, name)?;
        // A prefix that fits another run tomorrow must not remove it.
        if run.as_str() != name {
            let message = format!("expected a whole id, found {name:?}, which begins the id of run {run}");
            return Err(CliError::new(Code::NoSuchRun, message).with_hint(hint::WHOLE_ID));
        }
        chosen.insert(name.clone());
    }
    if args.with_children {
        add_children(&facts, &mut chosen);
    }
    let mut kept = Vec::new();
    for fact in facts.iter().filter(|fact| !chosen.contains(&fact.run)) {
        if let Some(from) = fact.links().find(|from| chosen.contains(*from)) {
            let reason = format!("it comes from {from}; `verify` then compares it with the tombstone");
            kept.push(KeptRow { what: fact.run.clone(), reason });
        }
    }
    let chosen: Vec<&RunFacts> = facts.iter().filter(|fact| chosen.contains(&fact.run)).collect();
    let does = if args.yes { Does::Apply } else { Does::Plan };
    let exit = remove(context, &store, &chosen, kept, (does, "rm"))?;
    if does == Does::Plan {
        context.hint(hint::RM_YES);
    }
    Ok(exit)
}

fn add_children(facts: &[RunFacts], chosen: &mut BTreeSet<String>) {
    loop {
        let more: Vec<String> = facts
            .iter()
            .filter(|fact| !chosen.contains(&fact.run))
            .filter(|fact| fact.parent.as_ref().is_some_and(|parent| chosen.contains(parent)))
            .map(|fact| fact.run.clone())
            .collect();
        if more.is_empty() {
            return;
        }
        chosen.extend(more);
    }
}

pub(super) fn gc(context: &Context, args: &GcArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let before = clock::since(&args.older_than)?;
    let facts = runs::facts(context, &store)?;
    let is_asked = |fact: &&RunFacts| match args.status.is_empty() {
        true => ENDED.contains(&fact.status.as_str()),
        false => args.status.contains(&fact.status),
    };
    let is_old = |fact: &&RunFacts| fact.created.is_some_and(|created| created < before);
    let mut chosen: BTreeSet<&str> =
        facts.iter().filter(is_asked).filter(is_old).map(|fact| fact.run.as_str()).collect();
    // A run stays as long as one that comes from it stays, or the one it is nested in.
    let mut kept: BTreeMap<String, String> = BTreeMap::new();
    loop {
        let mut stays: Vec<(String, String)> = Vec::new();
        for fact in &facts {
            let stays_itself = !chosen.contains(fact.run.as_str());
            for from in fact.links().filter(|from| stays_itself && chosen.contains(*from)) {
                stays.push((from.to_owned(), format!("run {} comes from it and stays", fact.run)));
            }
            let parent = fact.parent.as_deref().filter(|parent| {
                !stays_itself && !chosen.contains(parent) && facts.iter().any(|fact| fact.run == *parent)
            });
            stays.extend(parent.map(|parent| (fact.run.clone(), format!("run {parent} nests it and stays"))));
        }
        if stays.is_empty() {
            break;
        }
        for (run, reason) in stays {
            chosen.remove(run.as_str());
            kept.entry(run).or_insert(reason);
        }
    }
    let kept = kept.into_iter().map(|(what, reason)| KeptRow { what, reason }).collect();
    let chosen: Vec<&RunFacts> = facts.iter().filter(|fact| chosen.contains(fact.run.as_str())).collect();
    let does = if args.apply { Does::Apply } else { Does::Plan };
    remove(context, &store, &chosen, kept, (does, "gc"))
}

/// Removes runs and the large values that nothing refers to then, or says which they are.
fn remove(
    context: &Context,
    store: &StoreHandle,
    chosen: &[&RunFacts],
    mut kept: Vec<KeptRow>,
    (does, reason): (Does, &'static str),
) -> Result<Exit, CliError> {
    let mut rows = Vec::new();
    let ids: BTreeSet<&str> = chosen.iter().map(|fact| fact.run.as_str()).collect();
    let (blobs, blob_bytes) = unreachable_blobs(store, &ids)?;
    let queue = context.place.queue()?;
    for fact in chosen {
        let id = target::find_run(store, &fact.run)?;
        // A worker that claims a run which is gone can only fail, and its job would stay for ever.
        if let Some(job) = queue.job(&id).map_err(fleet::refused)?.filter(|job| !job.is_settled()) {
            let cancel = hint::command(context, &["cancel", id.as_str()]);
            let reason =
                format!("it is {} in queue {}: `{cancel}` takes it out", job.state.word(), job.queue);
            kept.push(KeptRow { what: fact.run.clone(), reason });
            continue;
        }
        if does == Does::Apply {
            let stone = tombstone(store, &id, fact, reason)?;
            if let Err(error) = store.remove_run(&id, &stone) {
                kept.push(KeptRow { what: fact.run.clone(), reason: error.to_string() });
                continue;
            }
        } else if let Ok(Lease::Held(holder)) = store.lease(&id) {
            kept.push(KeptRow { what: fact.run.clone(), reason: format!("{holder} is writing it") });
            continue;
        }
        let (run, status, head) = (fact.run.clone(), fact.status.clone(), fact.head.clone());
        rows.push(RemovedRow { run, status, head, bytes: fact.bytes });
    }
    let is_whole = rows.len() == chosen.len();
    let mut removed = blobs.len();
    if does == Does::Apply && !remove_blobs(store, &mut kept, &mut removed)? {
        removed = 0;
    }
    let bytes = rows.iter().map(|row| row.bytes).sum::<u64>() + if removed > 0 { blob_bytes } else { 0 };
    let is_done = does == Does::Apply;
    context.print(&RemoveReport { removed: is_done, runs: rows, blobs: removed, bytes, kept })?;
    Ok(if is_whole { Exit::Yes } else { Exit::Partial })
}

/// Removes every large value that no journal refers to, and returns whether it could: a run that is being written may
/// refer to a value with its next record.
fn remove_blobs(store: &StoreHandle, kept: &mut Vec<KeptRow>, removed: &mut usize) -> Result<bool, CliError> {
    for summary in store.list()? {
        if let Lease::Held(holder) = store.lease(&summary.run)? {
            let reason = format!("{holder} is writing run {}; run this again later", summary.run);
            kept.push(KeptRow { what: "blobs".to_owned(), reason });
            return Ok(false);
        }
    }
    let unreferenced: Vec<Digest> = unreferenced(store)?.into_keys().collect();
    for digest in &unreferenced {
        store.remove_blob(digest)?;
    }
    *removed = unreferenced.len();
    Ok(true)
}

/// Returns the large values that nothing refers to now, with their sizes.
fn unreferenced(store: &StoreHandle) -> Result<BTreeMap<Digest, u64>, CliError> {
    let findings = store.doctor().check()?.findings;
    Ok(findings
        .into_iter()
        .filter_map(|finding| match finding {
            Finding::UnreferencedBlob { digest, bytes } => Some((digest, bytes)),
            _ => None,
        })
        .collect())
}

/// Returns the large values that nothing will refer to once these runs are gone, and their size.
fn unreachable_blobs(
    store: &StoreHandle,
    chosen: &BTreeSet<&str>,
) -> Result<(BTreeSet<Digest>, u64), CliError> {
    let (mut gone, mut stay) = (BTreeSet::new(), BTreeSet::new());
    for summary in store.list()? {
        let Ok(journal) = store.journal_bytes(&summary.run) else { continue };
        let named = referenced_blobs(&journal, &StoreBlobs(store));
        if chosen.contains(summary.run.as_str()) { gone.extend(named) } else { stay.extend(named) }
    }
    let unreferenced = unreferenced(store)?;
    let mut bytes: u64 = unreferenced.values().sum();
    let mut found: BTreeSet<Digest> = unreferenced.into_keys().collect();
    for digest in gone.difference(&stay) {
        if store.has_blob(digest)? && found.insert(*digest) {
            bytes += store.blob(digest).map_or(0, |blob| blob.len() as u64);
        }
    }
    Ok((found, bytes))
}

/// Returns whether bytes are the tombstone of a run.
pub(super) fn is_tombstone_of(stone: &[u8], run: &RunId) -> bool {
    let Ok(stone) = hence_canon::parse(stone) else { return false };
    let is = |key: &str, text: &str| stone.get(key).and_then(Value::as_str) == Some(text);
    is("format", FORMAT) && is("run", run.as_str())
}

/// Describes how the head of a tombstone contradicts its hashes, if it does: the head is the hash of the last record and the
/// number of records. Hashes of records that could not be read are null.
pub(crate) fn contradiction(stone: &[u8]) -> Option<String> {
    let Ok(stone) = hence_canon::parse(stone) else { return Some("it cannot be read".to_owned()) };
    let hashes = match stone.get("hashes").map(Value::as_array) {
        Some(Some(hashes)) => hashes,
        _ => return Some("its `hashes` are not a list".to_owned()),
    };
    let is_hash =
        |hash: &Value| hash.is_null() || hash.as_str().is_some_and(|text| text.parse::<Digest>().is_ok());
    if let Some(at) = hashes.iter().position(|hash| !is_hash(hash)) {
        return Some(format!("its hash of record {at} is no hash"));
    }
    let head = match stone.get("head") {
        None => return None,
        Some(head) => head.as_str().unwrap_or_default(),
    };
    let Ok(Head { hash, records }) = head.parse::<Head>() else {
        return Some(format!("its head {head:?} is not HASH:COUNT"));
    };
    let count = u64::try_from(hashes.len()).unwrap_or(u64::MAX);
    match hashes.last() {
        // The header of the journal could not be read when the run was removed.
        None => None,
        _ if count != records.get() => {
            Some(format!("its head counts {} records, and it has {count} hashes", records.get()))
        }
        Some(Value::String(last)) if **last != *hash.to_string() => {
            Some(format!("its head is {hash}, and the hash of its last record is {last}"))
        }
        _ => None,
    }
}

/// Returns the tombstone of a run: its head, the hash of each record, and the digests of its documents. A head that
/// somebody stored elsewhere, and the records that other runs share with it, can still be compared with these.
fn tombstone(store: &StoreHandle, run: &RunId, fact: &RunFacts, reason: &str) -> Result<Vec<u8>, CliError> {
    let journal = store.journal_bytes(run)?;
    let text = |text: &str| Value::from(text);
    let mut stone = Object::from_iter([
        ("format", text(FORMAT)),
        ("run", text(run.as_str())),
        ("status", text(&fact.status)),
        ("reason", text(reason)),
        ("removed_at", text(&clock::now()?.to_string())),
    ]);
    if let Some(skill) = &fact.skill {
        stone = stone.with("skill", skill.as_str());
    }
    if let Ok(tail) = read_tail(&journal) {
        stone = stone.with("head", tail.head.to_string());
    }
    stone = stone.with("hashes", hashes(&journal)).with("journal", described(&journal));
    let mut documents = Object::new();
    for name in store.attachments(run)?.into_iter().filter(|name| !is_local(name)) {
        documents = documents.with(name.as_str(), described(&store.attachment(run, &name)?));
    }
    stone = stone.with("documents", documents);
    // A run that was imported after its removal is removed again: its earlier tombstone stays inside of the new one.
    if let Some(earlier) = store.tombstone(run)? {
        let earlier = hence_canon::parse(&earlier)
            .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(&earlier).into_owned()));
        stone = stone.with("earlier", earlier);
    }
    Ok(format!("{}\n", hence_canon::pretty(&stone.into())).into_bytes())
}

fn described(bytes: &[u8]) -> Object {
    Object::from_iter([
        ("sha256", Value::from(Digest::of(bytes).to_string())),
        ("bytes", (bytes.len() as u64).into()),
    ])
}

/// Returns the hash of each record; null for a line that cannot be read.
fn hashes(journal: &[u8]) -> Value {
    let lines = Lines::of(journal);
    let header = lines.get(RecordIndex::HEADER).and_then(|line| Chained::decode_header(line).ok());
    let Some((header, profile)) = header else { return Value::from(Vec::<Value>::new()) };
    let hash = |index: u64| {
        let line = lines.get(RecordIndex::new(index)).unwrap_or_default();
        match Chained::decode(line, &profile) {
            Ok(chained) => Value::from(chained.hash.to_string()),
            Err(_) => Value::Null,
        }
    };
    let rest = (1..lines.count().get()).map(hash);
    std::iter::once(Value::from(header.hash.to_string())).chain(rest).collect()
}
