//! Leases: the right to write a run, for a time that the database measures.
//!
//! The fence of a lease is a number that grows each time the lease is taken, and a random token. Every statement that writes
//! compares both, so a writer that lost its lease writes nothing, however late it notices. The expiry only decides when
//! somebody else may take the lease; it is compared with the clock of the database and never with that of a client.

use std::rc::Weak;
use std::sync::Arc;
use std::time::Duration;

use hence_store::{DatabaseError, Holder, RunId};

use crate::engine::{Engine, EngineHandle};
use crate::failure::Failure;
use crate::session::Session;

/// The longest time for which dropping a writer waits for the server. Later the lease ends by itself.
const RELEASE_MS_MAX: u64 = 5_000;

/// The number of times that a lease is renewed before it would end.
const RENEWALS_PER_LEASE: u32 = 3;

/// The fence of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fence {
    pub(crate) run: i64,
    pub(crate) epoch: i64,
    pub(crate) token: Token,
}

/// A random number that tells a lease from every other one, also from one that a restored database has forgotten.
pub(crate) type Token = [u8; 16];

/// Draws a token.
pub(crate) fn new_token(location: &str) -> Result<Token, DatabaseError> {
    let mut token = Token::default();
    getrandom::fill(&mut token).map_err(|error| {
        Failure::damaged(location, format!("no random number for a lease: {error}")).error
    })?;
    Ok(token)
}

/// A lease, shared by the writer of a run and its side logs. Dropping it frees the run, and waits for that: it must never be
/// dropped by the thread that talks to the server.
pub(crate) struct HeldLease {
    pub(crate) engine: EngineHandle,
    pub(crate) run: RunId,
    pub(crate) fence: Fence,
}

impl HeldLease {
    /// Takes over a lease that the database has granted and that the thread renews.
    pub(crate) fn new(engine: EngineHandle, run: RunId, fence: Fence) -> Arc<Self> {
        Arc::new(Self { engine, run, fence })
    }
}

const RELEASE: &str = "update {schema}.run set holder = null, lease_token = null, lease_until = null \
     where key = $1 and epoch = $2 and lease_token = $3 returning set_config('synchronous_commit', 'off', true)";

impl Drop for HeldLease {
    fn drop(&mut self) {
        let fence = self.fence;
        // A lease that cannot be given back now ends when nobody renews it.
        self.engine.call_within(Duration::from_millis(RELEASE_MS_MAX), move |engine| async move {
            engine.stop_renewing(fence);
            let session = engine.session().await.map_err(|failure| failure.error)?;
            release(&session, fence).await.map_err(|failure| failure.error)?;
            Ok(())
        });
    }
}

/// Gives a lease back.
pub(crate) async fn release(session: &Session, fence: Fence) -> Result<(), Failure> {
    session.query(RELEASE, &[&fence.run, &fence.epoch, &&fence.token[..]]).await?;
    Ok(())
}

const RENEW: &str = "update {schema}.run r set lease_until = clock_timestamp() + $4 * interval '1 millisecond' \
     from unnest($1::bigint[], $2::bigint[], $3::bytea[]) as held(key, epoch, token) \
     where r.key = held.key and r.epoch = held.epoch and r.lease_token = held.token \
     returning set_config('synchronous_commit', 'off', true)";

/// Renews all leases of a store, again and again, in one statement each time.
pub(crate) async fn renew_forever(engine: Weak<Engine>) {
    loop {
        let Some(lease) = engine.upgrade().map(|engine| engine.settings.lease) else { return };
        tokio::time::sleep(lease / RENEWALS_PER_LEASE).await;
        let Some(engine) = engine.upgrade() else { return };
        // A server that cannot be reached now is tried again the next time.
        let _ = renew_all(&engine).await;
    }
}

async fn renew_all(engine: &Engine) -> Result<(), Failure> {
    let held: Vec<Fence> = engine.leases.borrow().values().copied().collect();
    if held.is_empty() {
        return Ok(());
    }
    let keys: Vec<i64> = held.iter().map(|fence| fence.run).collect();
    let epochs: Vec<i64> = held.iter().map(|fence| fence.epoch).collect();
    let tokens: Vec<&[u8]> = held.iter().map(|fence| &fence.token[..]).collect();
    let session = engine.reserved_session().await?;
    session.query(RENEW, &[&keys, &epochs, &tokens, &engine.lease_ms()]).await?;
    Ok(())
}

impl Engine {
    /// Renews a lease from now on.
    pub(crate) fn start_renewing(&self, fence: Fence) {
        self.leases.borrow_mut().insert(fence.run, fence);
    }

    /// Renews a lease no longer.
    pub(crate) fn stop_renewing(&self, fence: Fence) {
        self.leases.borrow_mut().retain(|_, held| *held != fence);
    }

    /// Returns the time that a lease lasts, in milliseconds.
    pub(crate) fn lease_ms(&self) -> f64 {
        self.settings.lease.as_secs_f64() * 1000.0
    }
}

/// Returns the holder by the name in its row.
pub(crate) fn holder(name: Option<String>) -> Holder {
    name.map_or(Holder::Unknown, Holder::Named)
}
