//! Appends to journals: compare-and-append and the fence in one statement.

use std::sync::mpsc::SyncSender;

use hence_journal::Head;
use hence_store::{Durability, Holder};

use crate::commit::{Append, BATCH_BYTES_MAX, Ended, Standing};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::lease::{Fence, holder};
use crate::rows::{RecordRows, add_lines, column, head, to_i64, to_u64, to_u64_length};
use crate::session::Session;

/// An append to one journal.
pub(crate) struct JournalAppend {
    pub(crate) location: std::sync::Arc<str>,
    pub(crate) fence: Fence,
    /// The head and the length of the journal before the append.
    pub(crate) expected: Head,
    pub(crate) at: u64,
    pub(crate) lines: Vec<u8>,
    /// The head after the append.
    pub(crate) head: Head,
    pub(crate) durability: Durability,
    pub(crate) reply: SyncSender<Result<(), Ended<JournalRefusal>>>,
}

/// The reason why nothing was appended.
pub(crate) enum JournalRefusal {
    /// Somebody else has taken the lease.
    Fenced(Holder),
    /// The run does not exist any more.
    Removed,
    /// The journal does not end where this writer left it, although nobody else has the lease.
    Moved { found: Head, bytes: u64 },
}

/// Moves the heads of the runs that match, and adds the records of exactly those.
const APPEND: &str = "with wanted as materialized (
        select * from unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[], $5::bytea[], $6::bigint[],
                             $7::bigint[], $8::bytea[], $9::bigint[])
            as wanted(run, epoch, token, count, hash, bytes, new_count, new_hash, new_bytes)
    ), moved as (
        update {schema}.run r
        set head_count = wanted.new_count, head_hash = wanted.new_hash, journal_bytes = wanted.new_bytes,
            updated_at = clock_timestamp(), lease_until = clock_timestamp() + $10 * interval '1 millisecond'
        from wanted
        where r.key = wanted.run and r.epoch = wanted.epoch and r.lease_token = wanted.token
            and r.head_count = wanted.count and r.head_hash = wanted.hash and r.journal_bytes = wanted.bytes
        returning r.key
    ), added as (
        insert into {schema}.record (run, index, at, line, hash)
        select line.run, line.index, line.at, line.line, line.hash
        from unnest($12::bigint[], $13::bigint[], $14::bigint[], $15::bytea[], $16::bytea[])
            as line(run, index, at, line, hash)
        join moved on moved.key = line.run
    )
    select key, case when $11 then set_config('synchronous_commit', 'off', true) end from moved";

/// Adds further records of a large append, in the transaction that has moved the head.
pub(crate) const ADD_RECORDS: &str = "insert into {schema}.record (run, index, at, line, hash)
    select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[])";

const INSPECT: &str = "select epoch, lease_token, holder, head_count, head_hash, journal_bytes \
     from {schema}.run where key = $1";

impl JournalAppend {
    fn new_bytes(&self) -> u64 {
        self.at + to_u64_length(self.lines.len())
    }
}

impl Append for JournalAppend {
    type Refusal = JournalRefusal;

    fn bytes(&self) -> usize {
        self.lines.len()
    }

    fn durability(&self) -> Durability {
        self.durability
    }

    async fn write(
        session: &Session,
        engine: &Engine,
        batch: &[Self],
        durability: Durability,
    ) -> Result<Vec<bool>, Failure> {
        let mut portions = vec![RecordRows::default()];
        for append in batch {
            let (run, first) = (append.fence.run, append.expected.records);
            add_lines(&mut portions, run, &append.lines, first, append.at, BATCH_BYTES_MAX);
        }
        let (first, rest) = portions.split_first().expect("there is at least one portion");
        let is_single = rest.is_empty();
        if !is_single {
            session.begin().await?;
        }
        let outcome = Self::write_portions(session, engine, batch, durability, first, rest).await;
        match outcome {
            Ok(written) if !is_single => session.commit().await.map(|()| written),
            // A connection in a failed transaction is closed.
            outcome => outcome,
        }
    }

    async fn inspect(&self, session: &Session) -> Result<Standing<JournalRefusal>, Failure> {
        let location = &*self.location;
        let Some(row) = session.query_opt(INSPECT, &[&self.fence.run]).await? else {
            return Ok(Standing::Refused(JournalRefusal::Removed));
        };
        let epoch: i64 = column(location, &row, 0)?;
        let token: Option<&[u8]> = column(location, &row, 1)?;
        let found = head(location, &row, 3, 4)?;
        let bytes = to_u64(column(location, &row, 5)?);
        Ok(if epoch != self.fence.epoch || token != Some(&self.fence.token[..]) {
            Standing::Refused(JournalRefusal::Fenced(holder(column(location, &row, 2)?)))
        } else if found == self.head && bytes == self.new_bytes() {
            Standing::Stored
        } else if found == self.expected && bytes == self.at {
            Standing::Expected
        } else {
            Standing::Refused(JournalRefusal::Moved { found, bytes })
        })
    }

    fn reply(self, outcome: Result<(), Ended<JournalRefusal>>) {
        // Nobody waits any more if this fails.
        let _ = self.reply.send(outcome);
    }
}

impl JournalAppend {
    async fn write_portions(
        session: &Session,
        engine: &Engine,
        batch: &[Self],
        durability: Durability,
        first: &RecordRows<'_>,
        rest: &[RecordRows<'_>],
    ) -> Result<Vec<bool>, Failure> {
        let runs: Vec<i64> = batch.iter().map(|append| append.fence.run).collect();
        let epochs: Vec<i64> = batch.iter().map(|append| append.fence.epoch).collect();
        let tokens: Vec<&[u8]> = batch.iter().map(|append| &append.fence.token[..]).collect();
        let counts: Vec<i64> = batch.iter().map(|append| to_i64(append.expected.records.get())).collect();
        let hashes: Vec<&[u8]> = batch.iter().map(|append| &append.expected.hash.as_bytes()[..]).collect();
        let bytes: Vec<i64> = batch.iter().map(|append| to_i64(append.at)).collect();
        let new_counts: Vec<i64> = batch.iter().map(|append| to_i64(append.head.records.get())).collect();
        let new_hashes: Vec<&[u8]> = batch.iter().map(|append| &append.head.hash.as_bytes()[..]).collect();
        let new_bytes: Vec<i64> = batch.iter().map(|append| to_i64(append.new_bytes())).collect();
        let is_buffered = durability == Durability::Buffered;
        let moved = session
            .query(
                APPEND,
                &[
                    &runs,
                    &epochs,
                    &tokens,
                    &counts,
                    &hashes,
                    &bytes,
                    &new_counts,
                    &new_hashes,
                    &new_bytes,
                    &engine.lease_ms(),
                    &is_buffered,
                    &first.runs,
                    &first.indexes,
                    &first.offsets,
                    &first.lines,
                    &first.hashes,
                ],
            )
            .await?;
        let location = &engine.target.location;
        let moved = moved.iter().map(|row| column(location, row, 0)).collect::<Result<Vec<i64>, _>>()?;
        if !moved.is_empty() {
            // Only an append that is a batch of its own has more than one portion.
            for rows in rest {
                add_records(session, rows).await?;
            }
        }
        Ok(runs.iter().map(|run| moved.contains(run)).collect())
    }
}

/// Adds the rows of records.
pub(crate) async fn add_records(session: &Session, rows: &RecordRows<'_>) -> Result<(), Failure> {
    let values: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
        [&rows.runs, &rows.indexes, &rows.offsets, &rows.lines, &rows.hashes];
    session.query(ADD_RECORDS, &values).await?;
    Ok(())
}
