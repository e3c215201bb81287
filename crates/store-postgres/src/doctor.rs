//! Checks of a store in a database.
//!
//! The server repairs what a crash interrupts, so there are no torn ends and no temporary files here. What can be found is
//! what somebody changed, and what a disk or a restored backup lost.

use std::path::PathBuf;

use hence_canon::Digest;
use hence_store::implementation::{References, summary_header};
use hence_store::{Damage, Doctor, Finding, Lease, Repair, Repaired, Report, RunId, StoreError};

use crate::engine::Engine;
use crate::reader::{self, JournalReader, Start};
use crate::rows::{column, digest, to_i64, to_u64, to_u64_length};
use crate::runs::{self, FoundRun, SectionKey};
use crate::store::PostgresStore;
use crate::{blobs, catalog, queue};

/// The number of blobs that one statement lists.
const PAGE_BLOBS: i64 = 1000;

/// The records of a run, counted: how many there are, the last index, the bytes, and how many are not where the one before
/// ends.
const COUNT: &str = "select count(*), coalesce(max(index), -1), coalesce(sum(length(line)), 0)::bigint, \
         count(*) filter (where at <> before), \
         count(*) filter (where position(convert_to(encode(hash, 'hex'), 'UTF8') in line) = 0) \
     from (select index, at, line, hash, \
               coalesce(sum(length(line)) over (order by index rows between unbounded preceding and 1 preceding), 0) as before \
           from {schema}.record where run = $1) as record";

const PARTS: &str = "select a.name, a.bytes, coalesce(sum(length(p.content)), 0)::bigint, \
         count(p.*) filter (where p.revision <> a.revision) \
     from {schema}.attachment a left join {schema}.attachment_part p on p.run = a.run and p.name = a.name \
     where a.run = $1 group by a.name, a.bytes order by a.name";

const BLOBS: &str = "select digest, bytes, place from {schema}.blob where section = $1 and digest > $2 order by digest limit $3";

/// The runs that have records and no row. Each run is one look into the index, however many records it has.
const STRAYS: &str = "with recursive runs(run) as ( \
         (select run from {schema}.record order by run limit 1) \
         union all \
         select (select c.run from {schema}.record c where c.run > runs.run order by c.run limit 1) \
         from runs where runs.run is not null \
     ) select run from runs \
     where run is not null and not exists (select from {schema}.run r where r.key = runs.run) limit 100";

/// Parts that belong to nothing: of attachments whose row is gone, and of large values whose row is gone.
const STRAY_PARTS: &str = "(select distinct 'attachment ' || p.name || ' of the missing row of run ' || p.run \
         from {schema}.attachment_part p \
         where not exists (select from {schema}.attachment a where a.run = p.run and a.name = p.name) limit 100) \
     union all (select distinct 'attachment ' || a.name || ' of the missing run ' || a.run from {schema}.attachment a \
         where not exists (select from {schema}.run r where r.key = a.run) limit 100) \
     union all (select distinct 'parts of the missing value ' || encode(p.digest, 'hex') from {schema}.blob_part p \
         where not exists (select from {schema}.blob b where b.section = p.section and b.digest = p.digest) limit 100)";

impl Doctor for PostgresStore {
    fn check(&self) -> Result<Report, StoreError> {
        let section = self.section;
        let runs = self.engine.call(move |engine| async move { catalog::all(&engine, section).await })?;
        let mut report = Report { runs: to_u64_length(runs.len()), ..Report::default() };
        let mut references = References::default();
        for (run, found) in &runs {
            report.findings.extend(self.check_run(run, found)?);
            self.read_references(run, found, &mut references)?;
        }
        let (blobs, findings) = self.check_blobs(&references)?;
        report.blobs = blobs;
        report.findings.extend(findings);
        report.findings.extend(self.unnamed_objects());
        report.findings.extend(self.strays()?);
        Ok(report)
    }

    /// Removes the views of the lists, which can be computed again. Nothing else can be repaired from what is stored.
    fn repair(&self) -> Result<Repaired, StoreError> {
        let section = self.section;
        let forgotten =
            self.engine.call(move |engine| async move { catalog::forget_lists(&engine, section).await })?;
        let done = if forgotten > 0 { vec![Repair::IndexRebuilt { runs: forgotten }] } else { Vec::new() };
        Ok(Repaired { done, left: self.check()?.findings })
    }
}

impl PostgresStore {
    fn check_run(&self, run: &RunId, found: &FoundRun) -> Result<Vec<Finding>, StoreError> {
        let (section, run, found) = (self.section, run.clone(), found.clone());
        self.engine.call(move |engine| async move {
            let lease = match runs::find_lease(&engine, section, &run).await {
                // It was removed since it was listed.
                Err(StoreError::NoSuchRun { .. }) => return Ok(Vec::new()),
                lease => lease?,
            };
            if let Lease::Held(holder) = lease {
                return Ok(vec![Finding::RunInUse { run, holder }]);
            }
            // Its row may have changed since it was listed.
            let Some(found) = runs::look_up(&engine, section, &run).await?.filter(|now| now.key == found.key)
            else {
                return Ok(Vec::new());
            };
            let mut damage = check_records(&engine, &found).await?;
            damage.extend(check_attachments(&engine, &found).await?);
            Ok(damage.into_iter().map(|reason| Finding::DamagedRun { run: run.clone(), reason }).collect())
        })
    }

    /// Searches a journal and its attachments for the digests of blobs.
    fn read_references(
        &self,
        run: &RunId,
        found: &FoundRun,
        references: &mut References,
    ) -> Result<(), StoreError> {
        use std::io::Read as _;
        let key = found.key;
        let start = self
            .engine
            .call(move |engine| async move { reader::find_start(&engine, key, Start::Byte(0)).await })?;
        let mut journal = JournalReader::new(self.engine.clone(), key, start, found.journal_bytes);
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match journal.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => references.read(buffer.get(..length).unwrap_or_default()),
                // A run that is removed meanwhile refers to nothing any more.
                Err(_) => break,
            }
        }
        references.finish();
        use hence_store::Store as _;
        for name in self.attachments(run).unwrap_or_default() {
            // Damage of an attachment is a finding of its own.
            if let Ok(bytes) = self.attachment(run, &name) {
                references.read(&bytes);
                references.finish();
            }
        }
        Ok(())
    }

    fn check_blobs(&self, references: &References) -> Result<(u64, Vec<Finding>), StoreError> {
        let section = self.section;
        let (mut after, mut count) = (Vec::new(), 0);
        let (mut findings, mut unnamed) = (Vec::new(), Vec::new());
        // A large record may be a blob itself and name others.
        let mut nested = References::default();
        loop {
            let start = after.clone();
            let page =
                self.engine.call(move |engine| async move { blob_page(&engine, section, &start).await })?;
            let Some((last, _, _)) = page.last() else { break };
            after = last.as_bytes().to_vec();
            for (digest, bytes, place) in page {
                count += 1;
                let read = self
                    .engine
                    .call(move |engine| async move { blobs::read(&engine, section, &digest).await });
                let content = match (read, place) {
                    (Ok(Some(content)), _) => content,
                    // It was removed since it was listed.
                    (Ok(None), None) => continue,
                    (Ok(None), Some(place)) => {
                        let reason = "the object is gone; storing the value again brings it back".to_owned();
                        findings.push(Finding::Unreadable { path: object_path(&place, &digest), reason });
                        continue;
                    }
                    // A bucket that does not answer hides its values and nothing else.
                    (Err(error), Some(place)) => {
                        let reason = error.to_string();
                        findings.push(Finding::Unreadable { path: object_path(&place, &digest), reason });
                        continue;
                    }
                    (Err(error), None) => return Err(error),
                };
                let found = Digest::of(&content);
                if found != digest {
                    findings.push(Finding::CorruptBlob { digest, found });
                } else if references.contains(&digest) {
                    nested.read(&content);
                    nested.finish();
                } else {
                    unnamed.push((digest, bytes));
                }
            }
        }
        unnamed.retain(|(digest, _)| !nested.contains(digest));
        findings
            .extend(unnamed.into_iter().map(|(digest, bytes)| Finding::UnreferencedBlob { digest, bytes }));
        Ok((count, findings))
    }

    /// Finds objects in buckets that no row names: a process died between the object and its row, or is about to write the row.
    fn unnamed_objects(&self) -> Vec<Finding> {
        let section = self.section;
        let found =
            self.engine.call(move |engine| async move { blobs::unnamed_objects(&engine, section).await });
        match found {
            Ok(objects) => {
                objects.into_iter().map(|object| Finding::Stray { path: PathBuf::from(object) }).collect()
            }
            Err(StoreError::Database(error)) => {
                vec![Finding::Unreadable { path: PathBuf::from(error.location), reason: error.reason }]
            }
            Err(error) => vec![Finding::Unreadable { path: PathBuf::new(), reason: error.to_string() }],
        }
    }

    /// Finds records and parts that belong to nothing, and rows of the queue that cannot be read. Only the store itself looks for
    /// them: they belong to no section.
    fn strays(&self) -> Result<Vec<Finding>, StoreError> {
        if self.section != runs::MAIN_SECTION {
            return Ok(Vec::new());
        }
        self.engine.call(|engine| async move {
            let location = &engine.target.location;
            let keys = engine.attempt(async |session| {
                let rows = session.query(STRAYS, &[]).await?;
                rows.iter().map(|row| column::<i64>(location, row, 0)).collect::<Result<Vec<_>, _>>()
            });
            let parts = engine.attempt(async |session| {
                let rows = session.query(STRAY_PARTS, &[]).await?;
                rows.iter().map(|row| column::<String>(location, row, 0)).collect::<Result<Vec<_>, _>>()
            });
            let keys = keys.await?.into_iter().map(|key| format!("records of the missing run {key}"));
            let strays = keys.chain(parts.await?);
            let place = |what: String| PathBuf::from(format!("{location} {what}"));
            let mut found: Vec<Finding> = strays.map(|what| Finding::Stray { path: place(what) }).collect();
            for (row, reason) in queue::check_rows(&engine).await? {
                found.push(Finding::Unreadable { path: place(row), reason });
            }
            Ok(found)
        })
    }
}

/// Compares the row of a run with its records.
async fn check_records(engine: &Engine, found: &FoundRun) -> Result<Vec<Damage>, StoreError> {
    let location = &engine.target.location;
    let counts = engine.attempt(async |session| {
        let row = session.query_opt(COUNT, &[&found.key.0]).await?;
        let row = row.ok_or_else(|| crate::failure::Failure::damaged(location, "a count gave no row"))?;
        let read = |at| column::<i64>(location, &row, at);
        Ok((read(0)?, read(1)?, read(2)?, read(3)?, read(4)?))
    });
    let (count, last, bytes, misplaced, altered) = counts.await?;
    let expected = to_i64(found.head.records.get());
    let mut damage = Vec::new();
    if count != expected || last != expected - 1 || misplaced > 0 || to_u64(bytes) != found.journal_bytes {
        damage.push(Damage::Unreadable(format!(
            "its row names {expected} records with {} bytes, found {count} up to index {last} with {bytes} bytes, \
             {misplaced} of them not after the one before",
            found.journal_bytes
        )));
    }
    if altered > 0 {
        damage.push(Damage::Unreadable(format!(
            "the column `hash` of {altered} of its records is not the hash in the line"
        )));
    }
    if let Some(first) = reader::line_at(engine, found.key, 0).await?
        && summary_header(&first.line) != found.header
    {
        let text = "the column `header` of its row is not the first line of its journal";
        damage.push(Damage::Unreadable(text.to_owned()));
    }
    if let Err(reason) = runs::check_end(engine, found).await? {
        damage.push(reason);
    }
    Ok(damage)
}

async fn check_attachments(engine: &Engine, found: &FoundRun) -> Result<Vec<Damage>, StoreError> {
    let location = &engine.target.location;
    let damage = engine.attempt(async |session| {
        let mut damage = Vec::new();
        for row in session.query(PARTS, &[&found.key.0]).await? {
            let (name, expected): (&str, i64) = (column(location, &row, 0)?, column(location, &row, 1)?);
            let (stored, older): (i64, i64) = (column(location, &row, 2)?, column(location, &row, 3)?);
            if expected != stored || older > 0 {
                let text = format!(
                    "attachment {name} has {expected} bytes, its parts {stored}, {older} of another revision"
                );
                damage.push(Damage::Unreadable(text));
            }
        }
        Ok(damage)
    });
    Ok(damage.await?)
}

/// Returns the place of a value in a bucket, for messages.
fn object_path(place: &str, digest: &Digest) -> PathBuf {
    PathBuf::from(format!("{place} value {digest}"))
}

async fn blob_page(
    engine: &Engine,
    section: SectionKey,
    after: &[u8],
) -> Result<Vec<(Digest, u64, Option<String>)>, StoreError> {
    let location = &engine.target.location;
    let page = engine.attempt(async |session| {
        let rows = session.query(BLOBS, &[&section.0, &after, &PAGE_BLOBS]).await?;
        let read = |row| {
            let hash = digest(location, column(location, row, 0)?)?;
            Ok((hash, to_u64(column(location, row, 1)?), column(location, row, 2)?))
        };
        rows.iter().map(read).collect()
    });
    Ok(page.await?)
}
