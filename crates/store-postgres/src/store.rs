//! The store.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use hence_canon::time::Instant;
use hence_canon::{Digest, Value};
use hence_journal::{RecordCount, RecordIndex};
use hence_store::implementation::check_lines;
use hence_store::{
    AttachmentName, DatabaseError, DatabaseErrorKind, Doctor, Durability, Lease, Listing, NewRun, NewestPage,
    NewestRequest, Opened, RunId, RunSummary, RunWriter, Stamps, Store, StoreError, ViewBinding,
};

use crate::bucket::{BUCKET_BYTES_MIN_DEFAULT, BucketAccess, BucketAddress, refusal};
use crate::engine::{Engine, EngineHandle};
use crate::lease::{self, HeldLease};
use crate::migrate::{self, Migrated, Migration};
use crate::reader::{self, JournalReader, Start};
use crate::rows::column;
use crate::runs::{self, Creation, Granted, MAIN_SECTION, MadeBy, RunKey, SectionKey};
use crate::target::Target;
use crate::writer::PostgresWriter;
use crate::{attachments, blobs, catalog, newest};

/// The time that a lease lasts when nobody renews it.
pub const LEASE_MS_DEFAULT: u64 = 10_000;

/// The time for which a server that cannot be reached is tried again.
pub const RECONNECT_MS_DEFAULT: u64 = 30_000;

/// The settings of a store that its address does not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The name that others see when a run is in use, such as `process 4711 on build-3`.
    pub holder: String,
    /// The time after which the lease of a process that died is free. It is renewed three times in that time.
    pub lease: Duration,
    /// The time for which an operation waits for a server that cannot be reached any more.
    pub reconnect: Duration,
    /// The bucket for large values, such as `s3://team-values`, if the address names none; `None` stores them in the database.
    pub bucket: Option<String>,
    /// The size from which on a value is stored in the bucket.
    pub bucket_bytes_min: u64,
    /// The access to buckets.
    pub bucket_access: BucketAccess,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            holder: format!("process {}", std::process::id()),
            lease: Duration::from_millis(LEASE_MS_DEFAULT),
            reconnect: Duration::from_millis(RECONNECT_MS_DEFAULT),
            bucket: None,
            bucket_bytes_min: BUCKET_BYTES_MIN_DEFAULT,
            bucket_access: BucketAccess::default(),
        }
    }
}

/// A store in a PostgreSQL database.
///
/// Any number of processes on any number of machines may use one database at the same time. Clones share their connections.
#[derive(Clone)]
pub struct PostgresStore {
    pub(crate) engine: EngineHandle,
    location: Arc<str>,
    pub(crate) section: SectionKey,
    /// The path of the section; empty for the store itself.
    section_name: Arc<str>,
    /// Whether looking at runs may write caches.
    writes_caches: bool,
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "PostgresStore({})", self.location())
    }
}

impl PostgresStore {
    /// Connects to the store at `address`, such as `postgres://ann@db.example/team`.
    ///
    /// # Errors
    /// [`StoreError::Database`] when the address cannot be read, the server cannot be reached, refuses the login or is older
    /// than PostgreSQL 15, or its tables are missing, older or newer than those of this version.
    pub fn connect(address: &str) -> Result<Self, StoreError> {
        Self::connect_with(address, Settings::default())
    }

    /// Connects to the store at `address` with other settings.
    ///
    /// # Errors
    /// As for [`connect`](Self::connect).
    pub fn connect_with(address: &str, settings: Settings) -> Result<Self, StoreError> {
        let store = Self::unchecked(address, settings)?;
        store.engine.call(|engine| async move {
            // A server that is not there at the start is reported at once.
            let session = engine.session().await.map_err(|failure| failure.error)?;
            migrate::check(&session, &engine).await.map_err(|failure| failure.error)?;
            Ok(())
        })?;
        Ok(store)
    }

    /// Creates or updates the tables of the store at `address`, and returns the migrations that were applied.
    ///
    /// All of them are applied, or none. Processes that migrate at the same time wait for each other.
    ///
    /// # Errors
    /// [`StoreError::Database`], also when the tables are newer than this version.
    pub fn migrate(address: &str) -> Result<Vec<Migration>, StoreError> {
        Ok(Self::migrate_with_roles(address)?.applied)
    }

    /// Creates or updates the tables as [`migrate`](Self::migrate) does, and says also which roles are missing.
    ///
    /// # Errors
    /// As for [`migrate`](Self::migrate).
    pub fn migrate_with_roles(address: &str) -> Result<Migrated, StoreError> {
        let settings = Settings { reconnect: Duration::ZERO, ..Settings::default() };
        let store = Self::unchecked(address, settings)?;
        store.engine.call(|engine| async move { Ok(migrate::migrate(&engine).await?) })
    }

    /// Removes the password from the address of a database, for messages.
    pub fn address_without_password(address: &str) -> String {
        crate::target::without_password(address)
    }

    fn unchecked(address: &str, mut settings: Settings) -> Result<Self, DatabaseError> {
        let target = Target::parse(address)?;
        settings.bucket = target.bucket.clone().or(settings.bucket);
        if let Some(place) = &settings.bucket {
            BucketAddress::parse(place)
                .map_err(|reason| refusal(&target.location, DatabaseErrorKind::InvalidAddress, reason))?;
        }
        let location: Arc<str> = target.location.as_str().into();
        let engine = EngineHandle::start(target, settings)?;
        Ok(Self { engine, location, section: MAIN_SECTION, section_name: "".into(), writes_caches: true })
    }

    /// Does something with a run that must exist.
    pub(crate) fn with_run<T, F>(
        &self,
        run: &RunId,
        read: impl FnOnce(std::rc::Rc<Engine>, runs::FoundRun) -> F + Send + 'static,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + 'static,
    {
        let (section, run) = (self.section, run.clone());
        self.engine.call(move |engine| async move {
            let found = runs::existing(&engine, section, &run).await?;
            read(engine, found).await
        })
    }

    fn create_run(&self, new: NewRun, made_by: MadeBy) -> Result<Box<dyn RunWriter>, StoreError> {
        let lines = check_lines(&new.lines, RecordCount::new(0))
            .map_err(|reason| StoreError::InvalidLines { run: new.id.clone(), reason })?;
        let mut names: Vec<&AttachmentName> = new.attachments.iter().map(|(name, _)| name).collect();
        names.sort();
        if let Some([name, _]) = names.array_windows().find(|[one, other]| one == other) {
            return Err(StoreError::DuplicateAttachment { name: (*name).clone() });
        }
        let (section, token) = (self.section, lease::new_token(&self.location)?);
        let (head, run) = (lines.head, new.id.clone());
        let granted = self.engine.call(move |engine| async move {
            let granted =
                runs::create(&engine, &Creation { section, new: &new, head, made_by, token }).await?;
            engine.start_renewing(granted.fence);
            Ok(granted)
        })?;
        Ok(self.writer(&run, &granted))
    }

    fn writer(&self, run: &RunId, granted: &Granted) -> Box<dyn RunWriter> {
        let lease = HeldLease::new(self.engine.clone(), run.clone(), granted.fence);
        Box::new(PostgresWriter::new(lease, &self.location, granted))
    }

    fn read_from(&self, run: &RunId, start: Start) -> Result<Box<dyn Read + Send>, StoreError> {
        let (key, place, end) = self.with_run(run, move |engine, found| async move {
            Ok((found.key, reader::find_start(&engine, found.key, start).await?, found.journal_bytes))
        })?;
        Ok(Box::new(JournalReader::new(self.engine.clone(), key, place, end)))
    }

    fn in_section(&self, name: &str, section: SectionKey) -> Arc<dyn Store> {
        let section_name = self.path_of(name).into();
        Arc::new(Self { section, section_name, ..self.clone() })
    }

    /// Returns the path of a section of this section.
    fn path_of(&self, name: &str) -> String {
        if self.section_name.is_empty() { name.to_owned() } else { format!("{}/{name}", self.section_name) }
    }

    fn find_section(&self, sql: &'static str, name: &str) -> Result<Option<SectionKey>, StoreError> {
        let path = self.path_of(name);
        let row = self.engine.call(move |engine| async move {
            let row = engine.attempt_write(async |session| session.query_opt(sql, &[&path]).await).await?;
            let location = &engine.target.location;
            row.map(|row| column::<i32>(location, &row, 0).map_err(|failure| failure.error.into()))
                .transpose()
        })?;
        Ok(row.map(SectionKey))
    }
}

const FIND_SECTION: &str = "select key from {schema}.section where name = $1";

/// The number of a section that another process creates at the same moment is found by the next statement.
const MAKE_SECTION: &str =
    "insert into {schema}.section (name) values ($1) on conflict (name) do nothing returning key";

const REMOVE_RUN: &str = "select {schema}.remove_run($1, $2, $3, $4)";

const KEEP_TOMBSTONE: &str = "insert into {schema}.tombstone (section, id, stone) select $1::integer, $2::bytea, $3::bytea \
     where not exists (select from {schema}.tombstone where section = $1::integer and sha256(id) = sha256($2::bytea))";

const TOMBSTONE: &str = "select stone from {schema}.tombstone where section = $1 and sha256(id) = $2 \
     order by removed_at desc limit 1";

const TOMBSTONES: &str = "select distinct id from {schema}.tombstone where section = $1 order by id";

impl Store for PostgresStore {
    fn location(&self) -> String {
        if self.section_name.is_empty() {
            self.location.to_string()
        } else {
            format!("{} section {}", self.location, self.section_name)
        }
    }

    fn journal_location(&self, run: &RunId) -> String {
        format!("{} run {run}", self.location())
    }

    fn section(&self, name: &str) -> Result<Option<Arc<dyn Store>>, StoreError> {
        Ok(self.find_section(FIND_SECTION, name)?.map(|section| self.in_section(name, section)))
    }

    fn section_or_new(&self, name: &str) -> Result<Arc<dyn Store>, StoreError> {
        for sql in [FIND_SECTION, MAKE_SECTION, FIND_SECTION] {
            if let Some(section) = self.find_section(sql, name)? {
                return Ok(self.in_section(name, section));
            }
        }
        Err(crate::failure::damaged(&self.location, format!("section {name} was neither found nor made"))
            .into())
    }

    fn observer(&self) -> Arc<dyn Store> {
        Arc::new(Self { writes_caches: false, ..self.clone() })
    }

    fn create(&self, new: NewRun) -> Result<Box<dyn RunWriter>, StoreError> {
        self.create_run(new, MadeBy::ThisDatabase)
    }

    fn create_foreign(&self, new: NewRun) -> Result<Box<dyn RunWriter>, StoreError> {
        self.create_run(new, MadeBy::Another)
    }

    fn was_made_here(&self, run: &RunId) -> Result<bool, StoreError> {
        self.with_run(run, |_, found| async move { Ok(found.was_made_here) })
    }

    fn has_run(&self, run: &RunId) -> Result<bool, StoreError> {
        let (section, run) = (self.section, run.clone());
        self.engine
            .call(move |engine| async move { Ok(runs::look_up(&engine, section, &run).await?.is_some()) })
    }

    fn open(&self, run: &RunId) -> Result<Opened, StoreError> {
        let (section, id) = (self.section, run.clone());
        let granted = self.engine.call(move |engine| async move {
            let granted = runs::open(&engine, section, &id).await?;
            engine.start_renewing(granted.fence);
            Ok(granted)
        })?;
        // From here on the lease is given back however this ends.
        let writer = self.writer(run, &granted);
        let end =
            self.with_run(run, |engine, found| async move { runs::check_end(&engine, &found).await })?;
        if let Err(reason) = end {
            return Err(StoreError::Damaged { run: run.clone(), reason });
        }
        Ok(Opened { writer, cut: None })
    }

    fn lease(&self, run: &RunId) -> Result<Lease, StoreError> {
        let (section, run) = (self.section, run.clone());
        self.engine.call(move |engine| async move { runs::find_lease(&engine, section, &run).await })
    }

    fn read_journal(&self, run: &RunId, from: RecordIndex) -> Result<Box<dyn Read + Send>, StoreError> {
        self.read_from(run, Start::Record(from.get()))
    }

    fn read_journal_at(&self, run: &RunId, offset: u64) -> Result<Box<dyn Read + Send>, StoreError> {
        self.read_from(run, Start::Byte(offset))
    }

    fn attachment(&self, run: &RunId, name: &AttachmentName) -> Result<Vec<u8>, StoreError> {
        Ok(self.attachment_range(run, name, 0, u64::MAX)?.0)
    }

    fn attachment_start(
        &self,
        run: &RunId,
        name: &AttachmentName,
        bytes_max: u64,
    ) -> Result<Vec<u8>, StoreError> {
        Ok(self.attachment_range(run, name, 0, bytes_max)?.0)
    }

    fn attachment_range(
        &self,
        run: &RunId,
        name: &AttachmentName,
        start: u64,
        end: u64,
    ) -> Result<(Vec<u8>, u64), StoreError> {
        let wanted = name.clone();
        let read = self.with_run(run, move |engine, found| async move {
            attachments::read_range(&engine, found.key, &wanted, start, end).await
        })?;
        read.ok_or_else(|| StoreError::NoSuchAttachment { run: run.clone(), name: name.clone() })
    }

    fn attachments(&self, run: &RunId) -> Result<Vec<AttachmentName>, StoreError> {
        let location = self.location.clone();
        self.with_run(run, |engine, found| async move {
            let names = catalog::attachment_names(&engine, found.key).await?;
            let check = |name: String| {
                let damaged = |error: hence_store::InvalidAttachmentName| {
                    StoreError::from(crate::failure::damaged(&location, error.to_string()))
                };
                AttachmentName::new(&name).map_err(damaged)
            };
            names.into_iter().map(check).collect()
        })
    }

    fn remove_run(&self, run: &RunId, tombstone: &[u8]) -> Result<(), StoreError> {
        let (section, run, stone) = (self.section, run.clone(), tombstone.to_vec());
        self.engine.call(move |engine| async move {
            let granted = runs::open(&engine, section, &run).await?;
            // The lease is not renewed: if this process dies, the run is free again when it ends.
            let (key, epoch, token) = (granted.fence.run, granted.fence.epoch, granted.fence.token);
            // If the answer of an earlier attempt was lost, the run is gone: nobody else could remove it.
            let removed = engine
                .attempt_write(async |session| {
                    session.query(REMOVE_RUN, &[&key, &epoch, &&token[..], &stone]).await
                })
                .await;
            if let Err(error) = removed {
                // The run is free again at once, as far as the server can be reached.
                if let Ok(session) = engine.session().await {
                    let _ = lease::release(&session, granted.fence).await;
                }
                return Err(error.into());
            }
            match runs::look_up(&engine, section, &run).await? {
                Some(found) if found.key == RunKey(key) => {
                    let lease = runs::find_lease(&engine, section, &run).await?;
                    let holder = match lease {
                        Lease::Held(holder) => holder,
                        Lease::Free => hence_store::Holder::Unknown,
                    };
                    Err(StoreError::Leased { run, holder })
                }
                _ => Ok(()),
            }
        })
    }

    fn keep_tombstone(&self, run: &RunId, tombstone: &[u8]) -> Result<(), StoreError> {
        let (section, run, stone) = (self.section, run.clone(), tombstone.to_vec());
        self.engine.call(move |engine| async move {
            let id = run.as_str().as_bytes();
            engine
                .attempt_write(async |session| {
                    session.query(KEEP_TOMBSTONE, &[&section.0, &id, &stone]).await
                })
                .await?;
            Ok(())
        })
    }

    fn tombstone(&self, run: &RunId) -> Result<Option<Vec<u8>>, StoreError> {
        let (section, digest) = (self.section, runs::id_digest(run));
        self.engine.call(move |engine| async move {
            let row = engine
                .attempt(async |session| session.query_opt(TOMBSTONE, &[&section.0, &digest]).await)
                .await?;
            let location = &engine.target.location;
            row.map(|row| column(location, &row, 0).map_err(|failure| failure.error.into())).transpose()
        })
    }

    fn tombstones(&self) -> Result<Vec<RunId>, StoreError> {
        let section = self.section;
        self.engine.call(move |engine| async move {
            let location = &engine.target.location;
            let rows = engine.attempt(async |session| {
                let rows = session.query(TOMBSTONES, &[&section.0]).await?;
                rows.iter().map(|row| catalog::run_id(location, row, 0)).collect()
            });
            Ok(rows.await?)
        })
    }

    fn put_blob(&self, bytes: &[u8], durability: Durability) -> Result<Digest, StoreError> {
        let (section, bytes) = (self.section, bytes.to_vec());
        self.engine.call(move |engine| async move { blobs::put(&engine, section, &bytes, durability).await })
    }

    fn blob(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        let (section, digest) = (self.section, *digest);
        self.engine.call(move |engine| async move { blobs::get(&engine, section, &digest).await })
    }

    fn has_blob(&self, digest: &Digest) -> Result<bool, StoreError> {
        let (section, digest) = (self.section, *digest);
        self.engine.call(move |engine| async move { blobs::has(&engine, section, &digest).await })
    }

    fn remove_blob(&self, digest: &Digest) -> Result<(), StoreError> {
        let (section, digest) = (self.section, *digest);
        self.engine.call(move |engine| async move { blobs::remove(&engine, section, &digest).await })
    }

    fn stamps(&self, run: &RunId, names: &[&str]) -> Stamps {
        let owned: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let stamps = self.with_run(run, move |engine, found| async move {
            let names: Vec<&str> = owned.iter().map(String::as_str).collect();
            catalog::stamps(&engine, &found, &names).await
        });
        stamps.unwrap_or_else(|_| Stamps { journal: None, attachments: vec![None; names.len()] })
    }

    fn list_cached(&self, names: &[&str]) -> Result<Listing, StoreError> {
        let (section, owned) =
            (self.section, names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>());
        self.engine.call(move |engine| async move {
            let names: Vec<&str> = owned.iter().map(String::as_str).collect();
            catalog::list_cached(&engine, section, &names).await
        })
    }

    fn list_newest(&self, names: &[&str], request: &NewestRequest) -> Result<Option<NewestPage>, StoreError> {
        let owned: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let (section, request) = (self.section, request.clone());
        let page = self.engine.call(move |engine| async move {
            let names: Vec<&str> = owned.iter().map(String::as_str).collect();
            newest::page(&engine, section, &names, &request).await
        })?;
        Ok(Some(page))
    }

    fn count_up_to(&self, most: u64) -> Result<u64, StoreError> {
        let section = self.section;
        self.engine.call(move |engine| async move { newest::count_up_to(&engine, section, most).await })
    }

    fn set_created(&self, run: &RunId, created: Instant) -> Result<(), StoreError> {
        self.with_run(run, move |engine, found| async move {
            newest::set_created(&engine, found.key, created).await
        })
    }

    fn cache_list(&self, listing: &Listing) {
        if self.writes_caches {
            let listing = listing.clone();
            // A list is complete even if its views cannot be cached, as with a role that may only read.
            let _ =
                self.engine.call(move |engine| async move { catalog::cache_list(&engine, &listing).await });
        }
    }

    fn cached_view(&self, _: &RunId, binding: &ViewBinding) -> Option<Value> {
        let binding = binding.clone();
        self.engine
            .call(move |engine| async move { catalog::cached_view(&engine, &binding).await })
            .ok()
            .flatten()
    }

    fn cache_view(&self, _: &RunId, binding: &ViewBinding, view: &Value) {
        if self.writes_caches {
            let (binding, view) = (binding.clone(), view.clone());
            // A view is right even if it cannot be cached, as with a role that may only read.
            let _ = self
                .engine
                .call(move |engine| async move { catalog::cache_view(&engine, &binding, &view).await });
        }
    }

    fn remove_view(&self, run: &RunId) -> Result<(), StoreError> {
        self.with_run(run, |engine, found| async move { catalog::remove_view(&engine, found.key).await })
    }

    fn list(&self) -> Result<Vec<RunSummary>, StoreError> {
        let section = self.section;
        self.engine.call(move |engine| async move {
            let runs = catalog::all(&engine, section).await?.into_iter();
            Ok(runs.map(|(run, found)| catalog::row_summary(run, &found)).collect())
        })
    }

    fn summary(&self, run: &RunId) -> Result<RunSummary, StoreError> {
        let id = run.clone();
        self.with_run(run, |engine, found| async move { runs::summarize(&engine, &id, &found).await })
    }

    fn find(&self, prefix: &str) -> Result<RunId, StoreError> {
        if prefix.is_empty() {
            return Err(StoreError::PrefixNotFound { prefix: String::new() });
        }
        let (section, prefix) = (self.section, prefix.to_owned());
        self.engine.call(move |engine| async move { catalog::find(&engine, section, &prefix).await })
    }

    fn doctor(&self) -> &dyn Doctor {
        self
    }
}
