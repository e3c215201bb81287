//! Appends to side logs, with the fence of the run in the same statement.

use std::sync::mpsc::SyncSender;

use hence_store::{Durability, Holder};

use crate::commit::{Append, Ended, Standing};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::lease::{Fence, holder};
use crate::rows::{column, to_i64, to_u64, to_u64_length};
use crate::session::Session;

/// An append to one side log.
pub(crate) struct SideAppend {
    pub(crate) location: std::sync::Arc<str>,
    pub(crate) fence: Fence,
    pub(crate) name: String,
    pub(crate) revision: i64,
    /// The length of the log before the append.
    pub(crate) at: u64,
    pub(crate) lines: Vec<u8>,
    pub(crate) durability: Durability,
    pub(crate) reply: SyncSender<Result<(), Ended<SideRefusal>>>,
}

/// The reason why nothing was appended.
pub(crate) enum SideRefusal {
    /// Somebody else has taken the lease.
    Fenced(Holder),
    /// The run or its log does not exist any more, or the log is not as this writer left it.
    Changed(String),
}

/// Lengthens the logs that match, and adds the parts of exactly those. The row of the run is locked, so that nobody takes the
/// lease between the comparison and the commit.
const APPEND: &str = "with wanted as materialized (
        select * from unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::text[], $5::bigint[], $6::bigint[], $7::bytea[])
            as wanted(run, epoch, token, name, revision, at, content)
    ), held as materialized (
        select r.key from {schema}.run r
        join (select distinct run, epoch, token from wanted) as fence
            on r.key = fence.run and r.epoch = fence.epoch and r.lease_token = fence.token
        for share of r
    ), moved as (
        update {schema}.attachment a set bytes = a.bytes + length(wanted.content)
        from wanted join held on held.key = wanted.run
        where a.run = wanted.run and a.name = wanted.name and a.revision = wanted.revision and a.bytes = wanted.at
        returning a.run, a.name, a.revision, wanted.at, wanted.content
    ), added as (
        insert into {schema}.attachment_part (run, name, revision, at, content)
        select run, name, revision, at, content from moved
    )
    select run, name, case when $8 then set_config('synchronous_commit', 'off', true) end from moved";

const INSPECT: &str = "select r.epoch, r.lease_token, r.holder, a.revision, a.bytes from {schema}.run r \
     left join {schema}.attachment a on a.run = r.key and a.name = $2 where r.key = $1";

impl Append for SideAppend {
    type Refusal = SideRefusal;

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
        let runs: Vec<i64> = batch.iter().map(|append| append.fence.run).collect();
        let epochs: Vec<i64> = batch.iter().map(|append| append.fence.epoch).collect();
        let tokens: Vec<&[u8]> = batch.iter().map(|append| &append.fence.token[..]).collect();
        let names: Vec<&str> = batch.iter().map(|append| append.name.as_str()).collect();
        let revisions: Vec<i64> = batch.iter().map(|append| append.revision).collect();
        let offsets: Vec<i64> = batch.iter().map(|append| to_i64(append.at)).collect();
        let contents: Vec<&[u8]> = batch.iter().map(|append| append.lines.as_slice()).collect();
        let is_buffered = durability == Durability::Buffered;
        let moved = session
            .query(APPEND, &[&runs, &epochs, &tokens, &names, &revisions, &offsets, &contents, &is_buffered])
            .await?;
        let location = &engine.target.location;
        let mut written = Vec::with_capacity(moved.len());
        for row in &moved {
            written.push((column::<i64>(location, row, 0)?, column::<&str>(location, row, 1)?));
        }
        Ok(batch.iter().map(|append| written.contains(&(append.fence.run, &append.name))).collect())
    }

    async fn inspect(&self, session: &Session) -> Result<Standing<SideRefusal>, Failure> {
        let location = &*self.location;
        let refused = |reason: String| Ok(Standing::Refused(SideRefusal::Changed(reason)));
        let Some(row) = session.query_opt(INSPECT, &[&self.fence.run, &self.name]).await? else {
            return refused("the run was removed".to_owned());
        };
        let epoch: i64 = column(location, &row, 0)?;
        let token: Option<&[u8]> = column(location, &row, 1)?;
        if epoch != self.fence.epoch || token != Some(&self.fence.token[..]) {
            return Ok(Standing::Refused(SideRefusal::Fenced(holder(column(location, &row, 2)?))));
        }
        let revision: Option<i64> = column(location, &row, 3)?;
        let bytes = to_u64(column::<Option<i64>>(location, &row, 4)?.unwrap_or(0));
        let end = self.at + to_u64_length(self.lines.len());
        if revision != Some(self.revision) {
            return refused(format!("{} was replaced or removed", self.name));
        }
        Ok(match bytes {
            bytes if bytes == end => Standing::Stored,
            bytes if bytes == self.at => Standing::Expected,
            _ => return refused(format!("{} has {bytes} bytes, this writer left {}", self.name, self.at)),
        })
    }

    fn reply(self, outcome: Result<(), Ended<SideRefusal>>) {
        // Nobody waits any more if this fails.
        let _ = self.reply.send(outcome);
    }
}
