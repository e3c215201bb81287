//! The rows of runs: creating, opening, looking up.

use hence_canon::Digest;
use hence_journal::{Head, RecordCount, read_tail};
use hence_store::implementation::summary_header;
use hence_store::{Condition, Damage, Holder, Lease, NewRun, RunId, RunSummary, StoreError};
use tokio_postgres::Row;

use crate::attachments::{self, cut};
use crate::commit::BATCH_BYTES_MAX;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::journal_append::add_records;
use crate::lease::{self, Fence, Token, holder};
use crate::reader::{journal_range, starts_with};
use crate::rows::{RecordRows, column, head, portions, to_i64, to_u64, to_u64_length};
use crate::session::Session;

/// The key of a run's row. A run that is removed and made again has another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RunKey(pub(crate) i64);

/// The key of a section's row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SectionKey(pub(crate) i32);

/// The section without a name: the store itself.
pub(crate) const MAIN_SECTION: SectionKey = SectionKey(0);

/// The origin of a run that is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MadeBy {
    /// This database: its program writes the first records.
    ThisDatabase,
    /// Somebody else: its records came from elsewhere.
    Another,
}

/// A lease that was granted, and the journal it is for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Granted {
    pub(crate) fence: Fence,
    pub(crate) head: Head,
    pub(crate) journal_bytes: u64,
}

/// Returns the digest of an id, by which its row is found.
pub(crate) fn id_digest(run: &RunId) -> Vec<u8> {
    Digest::of(run.as_str().as_bytes()).as_bytes().to_vec()
}

const CREATE: &str = "with made as (
        insert into {schema}.run (section, id, holder, lease_token, lease_until, head_count, head_hash, journal_bytes,
                                  header, made_in)
        select $1::integer, $2::bytea, $3::text, $4::bytea, clock_timestamp() + $5 * interval '1 millisecond', $6::bigint, $7::bytea,
               $8::bigint, $9::bytea, case when $10::boolean then (select system_identifier from pg_control_system()) end
        where not ($10::boolean and exists (
            select from {schema}.tombstone where section = $1::integer and sha256(id) = sha256($2::bytea)))
        on conflict (section, sha256(id)) do nothing
        returning key, epoch
    ), records as (
        insert into {schema}.record (run, index, at, line, hash)
        select made.key, line.index, line.at, line.line, line.hash
        from made, unnest($11::bigint[], $12::bigint[], $13::bytea[], $14::bytea[]) as line(index, at, line, hash)
    ), attached as (
        insert into {schema}.attachment (run, name, bytes)
        select made.key, a.name, a.bytes from made, unnest($15::text[], $16::bigint[]) as a(name, bytes)
        returning run, name, revision
    ), parts as (
        insert into {schema}.attachment_part (run, name, revision, at, content)
        select attached.run, attached.name, attached.revision, part.at, part.content
        from attached join unnest($17::text[], $18::bigint[], $19::bytea[]) as part(name, at, content)
            on part.name = attached.name
    )
    select key, epoch from made";

const ADD_PARTS: &str = "insert into {schema}.attachment_part (run, name, revision, at, content) \
     select a.run, a.name, a.revision, part.at, part.content \
     from {schema}.attachment a, unnest($3::bigint[], $4::bytea[]) as part(at, content) where a.run = $1 and a.name = $2";

/// A run that is to be created, checked.
pub(crate) struct Creation<'a> {
    pub(crate) section: SectionKey,
    pub(crate) new: &'a NewRun,
    pub(crate) head: Head,
    pub(crate) made_by: MadeBy,
    pub(crate) token: Token,
}

/// Creates a run in one transaction, and takes its lease. The error says whether a run that exists is the same.
pub(crate) async fn create(engine: &Engine, creation: &Creation<'_>) -> Result<Granted, StoreError> {
    let location = &engine.target.location;
    let created = engine
        .attempt_write(async |session| {
            if let Some(fence) = create_once(session, engine, creation).await? {
                return Ok(Some(fence));
            }
            // The run exists. If its lease has our token, an earlier attempt was committed and its answer was lost.
            let row = session.query_opt(TOKEN, &[&creation.section.0, &id_digest(&creation.new.id)]).await?;
            let Some(row) = row else { return Ok(None) };
            let found: Option<&[u8]> = column(location, &row, 2)?;
            let fence = Fence {
                run: column(location, &row, 0)?,
                epoch: column(location, &row, 1)?,
                token: creation.token,
            };
            Ok((found == Some(&creation.token[..])).then_some(fence))
        })
        .await?;
    let lines = &creation.new.lines;
    match created {
        Some(fence) => Ok(Granted { fence, head: creation.head, journal_bytes: to_u64_length(lines.len()) }),
        None => Err(compare(engine, creation).await?),
    }
}

const TOKEN: &str = "select key, epoch, lease_token from {schema}.run where section = $1 and sha256(id) = $2";

async fn create_once(
    session: &Session,
    engine: &Engine,
    creation: &Creation<'_>,
) -> Result<Option<Fence>, Failure> {
    let new = creation.new;
    let records = portions(0, &new.lines, RecordCount::new(0), 0, BATCH_BYTES_MAX);
    // Small attachments are stored by the statement that makes the run, large ones after it in the same transaction.
    let mut small = SmallParts::default();
    let mut large = Vec::new();
    for (name, bytes) in &new.attachments {
        small.add(name.as_str(), bytes);
        if small.bytes + bytes.len() > BATCH_BYTES_MAX {
            large.push((name.as_str(), bytes.as_slice()));
        } else {
            small.add_content(name.as_str(), bytes);
        }
    }
    let is_single = records.len() == 1 && large.is_empty();
    if !is_single {
        session.begin().await?;
    }
    let (first, rest) = records.split_first().expect("there is at least one portion");
    let made = insert_run(session, engine, creation, first, &small).await?;
    let Some((key, epoch)) = made else {
        if !is_single {
            session.roll_back().await?;
        }
        return Ok(None);
    };
    for rows in rest {
        let rows = RecordRows { runs: vec![key; rows.indexes.len()], ..rows.clone() };
        add_records(session, &rows).await?;
    }
    for (name, bytes) in large {
        for parts in cut(bytes) {
            session.query(ADD_PARTS, &[&key, &name, &parts.offsets, &parts.contents]).await?;
        }
    }
    if !is_single {
        session.commit().await?;
    }
    Ok(Some(Fence { run: key, epoch, token: creation.token }))
}

/// The attachments of a new run, and the content of the small ones.
#[derive(Default)]
struct SmallParts<'a> {
    names: Vec<&'a str>,
    sizes: Vec<i64>,
    part_names: Vec<&'a str>,
    offsets: Vec<i64>,
    contents: Vec<&'a [u8]>,
    bytes: usize,
}

impl<'a> SmallParts<'a> {
    fn add(&mut self, name: &'a str, bytes: &[u8]) {
        self.names.push(name);
        self.sizes.push(to_i64(to_u64_length(bytes.len())));
    }

    fn add_content(&mut self, name: &'a str, bytes: &'a [u8]) {
        for parts in cut(bytes) {
            self.part_names.extend(std::iter::repeat_n(name, parts.offsets.len()));
            self.offsets.extend(parts.offsets);
            self.contents.extend(parts.contents);
        }
        self.bytes += bytes.len();
    }
}

async fn insert_run(
    session: &Session,
    engine: &Engine,
    creation: &Creation<'_>,
    first: &RecordRows<'_>,
    small: &SmallParts<'_>,
) -> Result<Option<(i64, i64)>, Failure> {
    let new = creation.new;
    let head = creation.head;
    let header = summary_header(&new.lines).map(String::into_bytes);
    let row = session
        .query_opt(
            CREATE,
            &[
                &creation.section.0,
                &new.id.as_str().as_bytes(),
                &engine.settings.holder,
                &&creation.token[..],
                &engine.lease_ms(),
                &to_i64(head.records.get()),
                &&head.hash.as_bytes()[..],
                &to_i64(to_u64_length(new.lines.len())),
                &header,
                &(creation.made_by == MadeBy::ThisDatabase),
                &first.indexes,
                &first.offsets,
                &first.lines,
                &first.hashes,
                &small.names,
                &small.sizes,
                &small.part_names,
                &small.offsets,
                &small.contents,
            ],
        )
        .await?;
    let location = &engine.target.location;
    row.map(|row| Ok((column(location, &row, 0)?, column(location, &row, 1)?))).transpose()
}

const HAS_TOMBSTONE: &str =
    "select true from {schema}.tombstone where section = $1 and sha256(id) = $2 limit 1";

/// Compares a run that exists, or was removed, with one that was to be created.
async fn compare(engine: &Engine, creation: &Creation<'_>) -> Result<StoreError, StoreError> {
    let (new, run) = (creation.new, creation.new.id.clone());
    let Some(found) = look_up(engine, creation.section, &run).await? else {
        let digest = id_digest(&run);
        let stone = engine
            .attempt(async |session| session.query_opt(HAS_TOMBSTONE, &[&creation.section.0, &digest]).await)
            .await?;
        return Ok(match stone {
            Some(_) => StoreError::RunRemoved { run },
            // A run that was imported was removed between the two looks.
            None => StoreError::NoSuchRun { run },
        });
    };
    if !starts_with(engine, found.key, &new.lines).await? {
        return Ok(StoreError::RunConflict { run, differs: "journal".to_owned() });
    }
    for (name, bytes) in &new.attachments {
        let limit = to_u64_length(bytes.len()).saturating_add(1);
        let stored = attachments::read_range(engine, found.key, name, 0, limit).await?;
        if stored.as_ref().map(|(bytes, _)| bytes) != Some(bytes) {
            return Ok(StoreError::RunConflict { run, differs: format!("attachment {name}") });
        }
    }
    Ok(StoreError::AlreadyCreated { run, head: found.head })
}

const OPEN: &str = "update {schema}.run set epoch = epoch + 1, holder = $3, lease_token = $4, \
         lease_until = clock_timestamp() + $5 * interval '1 millisecond' \
     where section = $1 and sha256(id) = $2 \
         and (lease_until is null or lease_until < clock_timestamp() or lease_token = $4) \
     returning key, epoch, head_count, head_hash, journal_bytes";

const LEASE: &str = "select coalesce(lease_until >= clock_timestamp(), false), holder \
     from {schema}.run where section = $1 and sha256(id) = $2";

/// Takes the lease of a run, if it is free.
pub(crate) async fn open(engine: &Engine, section: SectionKey, run: &RunId) -> Result<Granted, StoreError> {
    let location = &engine.target.location;
    let (token, digest) = (lease::new_token(location)?, id_digest(run));
    let holder = &engine.settings.holder;
    let taken = engine
        .attempt_write(async |session| {
            let values: crate::session::Values<'_> =
                &[&section.0, &digest, holder, &&token[..], &engine.lease_ms()];
            let Some(row) = session.query_opt(OPEN, values).await? else { return Ok(None) };
            let fence = Fence { run: column(location, &row, 0)?, epoch: column(location, &row, 1)?, token };
            let journal_bytes = to_u64(column(location, &row, 4)?);
            Ok(Some(Granted { fence, head: head(location, &row, 2, 3)?, journal_bytes }))
        })
        .await?;
    match taken {
        Some(granted) => Ok(granted),
        // The lease that was in the way may be free by now; the caller may try again.
        None => match find_lease(engine, section, run).await? {
            Lease::Held(holder) => Err(StoreError::Leased { run: run.clone(), holder }),
            Lease::Free => Err(StoreError::Leased { run: run.clone(), holder: Holder::Unknown }),
        },
    }
}

/// Returns the lease of a run.
pub(crate) async fn find_lease(
    engine: &Engine,
    section: SectionKey,
    run: &RunId,
) -> Result<Lease, StoreError> {
    let digest = id_digest(run);
    let row = engine.attempt(async |session| session.query_opt(LEASE, &[&section.0, &digest]).await).await?;
    let row = row.ok_or_else(|| StoreError::NoSuchRun { run: run.clone() })?;
    let location = &engine.target.location;
    let is_held: bool = column(location, &row, 0).map_err(|failure| failure.error)?;
    let name: Option<String> = column(location, &row, 1).map_err(|failure| failure.error)?;
    Ok(if is_held { Lease::Held(holder(name)) } else { Lease::Free })
}

/// A run's row.
#[derive(Debug, Clone)]
pub(crate) struct FoundRun {
    pub(crate) key: RunKey,
    pub(crate) head: Head,
    pub(crate) journal_bytes: u64,
    pub(crate) header: Option<String>,
    pub(crate) was_made_here: bool,
}

/// Reads a run's row from its columns: key, count, hash, bytes, header, and whether it was made here.
pub(crate) fn found_run(location: &str, row: &Row) -> Result<FoundRun, Failure> {
    let header: Option<&[u8]> = column(location, row, 4)?;
    Ok(FoundRun {
        key: RunKey(column(location, row, 0)?),
        head: head(location, row, 1, 2)?,
        journal_bytes: to_u64(column(location, row, 3)?),
        header: header.and_then(|header| String::from_utf8(header.to_vec()).ok()),
        was_made_here: column(location, row, 5)?,
    })
}

const LOOK_UP: &str = "select key, head_count, head_hash, journal_bytes, header, \
         coalesce(made_in = (select system_identifier from pg_control_system()), false) \
     from {schema}.run where section = $1 and sha256(id) = $2";

/// Finds the row of a run.
pub(crate) async fn look_up(
    engine: &Engine,
    section: SectionKey,
    run: &RunId,
) -> Result<Option<FoundRun>, StoreError> {
    let digest = id_digest(run);
    let location = &engine.target.location;
    let found = engine.attempt(async |session| {
        let row = session.query_opt(LOOK_UP, &[&section.0, &digest]).await?;
        row.map(|row| found_run(location, &row)).transpose()
    });
    Ok(found.await?)
}

/// Finds the row of a run that must exist.
pub(crate) async fn existing(
    engine: &Engine,
    section: SectionKey,
    run: &RunId,
) -> Result<FoundRun, StoreError> {
    look_up(engine, section, run).await?.ok_or_else(|| StoreError::NoSuchRun { run: run.clone() })
}

/// Summarizes a run. The head is read from its last record.
pub(crate) async fn summarize(
    engine: &Engine,
    run: &RunId,
    found: &FoundRun,
) -> Result<RunSummary, StoreError> {
    let condition = match check_end(engine, found).await? {
        Ok(head) => Condition::Whole { head },
        Err(damage) => Condition::Damaged(damage),
    };
    Ok(RunSummary {
        run: run.clone(),
        condition,
        journal_bytes: found.journal_bytes,
        header: found.header.clone(),
    })
}

/// Compares the row of a run with its last record.
pub(crate) async fn check_end(engine: &Engine, found: &FoundRun) -> Result<Result<Head, Damage>, StoreError> {
    let Some(last) = journal_range(engine, found.key, found.head).await? else {
        let records = found.head.records.get();
        let text = format!("its row names {records} records, and the last of them is not there");
        return Ok(Err(Damage::Unreadable(text)));
    };
    let damage = |text: String| Ok(Err(Damage::Unreadable(text)));
    let end = last.at + to_u64_length(last.line.len());
    let head = match read_tail(&last.line) {
        Ok(tail) => tail.head,
        Err(error) => return Ok(Err(Damage::Tail(error))),
    };
    if head != found.head {
        return damage(format!("its row names the head {}, its last record {head}", found.head));
    }
    if end != found.journal_bytes {
        return damage(format!("its row names {} bytes, its records end at byte {end}", found.journal_bytes));
    }
    Ok(Ok(head))
}
