//! The tables: versioned files of SQL, applied in order and recorded with their digests.

use hence_canon::Digest;
use hence_store::{DatabaseError, DatabaseErrorKind};

use crate::engine::Engine;
use crate::failure::{Effect, Failure};
use crate::rows::column;
use crate::session::Session;

/// One migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migration {
    /// The number: 1 for the first.
    pub version: i32,
    /// The name of its file.
    pub name: &'static str,
    sql: &'static str,
}

/// Every migration that this version knows, in order.
pub const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, name: "0001_store.sql", sql: include_str!("../migrations/0001_store.sql") },
    Migration { version: 2, name: "0002_queue.sql", sql: include_str!("../migrations/0002_queue.sql") },
    Migration { version: 3, name: "0003_newest.sql", sql: include_str!("../migrations/0003_newest.sql") },
    Migration { version: 4, name: "0004_bucket.sql", sql: include_str!("../migrations/0004_bucket.sql") },
    Migration {
        version: 5,
        name: "0005_tombstones.sql",
        sql: include_str!("../migrations/0005_tombstones.sql"),
    },
];

/// The roles and their rights, applied after every migration.
const ROLES: &str = include_str!("../migrations/roles.sql");

const MISSING_ROLES: &str = "select wanted from unnest(array['hence_writer', 'hence_reader', 'hence_auditor']) as wanted \
     where not exists (select from pg_roles where rolname = wanted) order by wanted";

/// The result of migrating a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrated {
    /// The migrations that were applied now, in order.
    pub applied: Vec<Migration>,
    /// The roles that do not exist and that this role may not create.
    pub missing_roles: Vec<String>,
}

impl Migration {
    /// Returns the digest of the file.
    pub fn digest(&self) -> Digest {
        Digest::of(self.sql.as_bytes())
    }
}

/// The migrations that a database has had, by version and digest.
type Applied = Vec<(i32, String)>;

const APPLIED: &str = "select version, digest from {schema}.migration order by version";

const RECORD: &str = "insert into {schema}.migration (version, name, digest) values ($1, $2, $3)";

const HAS_SCHEMA: &str = "select from pg_namespace where nspname = $1";

const HAS_TABLE: &str = "select from pg_class c join pg_namespace n on n.oid = c.relnamespace \
     where n.nspname = $1 and c.relname = 'migration'";

/// Only one process migrates a schema at a time; the others wait.
const LOCK: &str = "select pg_advisory_xact_lock(hashtextextended('hence migrate ' || $1::text, 0))";

/// Compares the migrations of a database with those of this version. The tables must be exactly those.
pub(crate) async fn check(session: &Session, engine: &Engine) -> Result<(), Failure> {
    let schema = engine.target.schema.as_str();
    let applied = if session.query_opt(HAS_TABLE, &[&schema]).await?.is_some() {
        read_applied(session, engine).await?
    } else {
        Vec::new()
    };
    compare(&engine.target.location, schema, &applied)?;
    if applied.len() == MIGRATIONS.len() {
        return Ok(());
    }
    let reason = match applied.len() {
        0 => format!("the schema {schema} has no tables of hence"),
        some => format!("the schema {schema} has had {some} of {} migrations", MIGRATIONS.len()),
    };
    Err(refusal(&engine.target.location, DatabaseErrorKind::NotMigrated, reason))
}

/// Applies the migrations that are missing, and the rights of the roles, in one transaction.
pub(crate) async fn migrate(engine: &Engine) -> Result<Migrated, DatabaseError> {
    engine.attempt(async |session| migrate_once(session, engine).await).await
}

async fn migrate_once(session: &Session, engine: &Engine) -> Result<Migrated, Failure> {
    let schema = engine.target.schema.as_str();
    session.begin().await?;
    session.query(LOCK, &[&schema]).await?;
    if session.query_opt(HAS_SCHEMA, &[&schema]).await?.is_none() {
        session.batch(&format!("create schema {schema}")).await?;
    }
    if session.query_opt(HAS_TABLE, &[&schema]).await?.is_none() {
        let table = "create table {schema}.migration (version integer primary key, name text not null, \
                     digest text not null, applied_at timestamptz not null default clock_timestamp())";
        session.batch(&table.replace("{schema}", schema)).await?;
    }
    let applied = read_applied(session, engine).await?;
    compare(&engine.target.location, schema, &applied)?;
    let missing: Vec<Migration> = MIGRATIONS.iter().skip(applied.len()).copied().collect();
    for migration in &missing {
        session.batch(&migration.sql.replace("{schema}", schema)).await?;
        let digest = migration.digest().to_string();
        session.query(RECORD, &[&migration.version, &migration.name, &digest]).await?;
    }
    session.batch(&ROLES.replace("{schema}", schema)).await?;
    let rows = session.query(MISSING_ROLES, &[]).await?;
    let location = &engine.target.location;
    let missing_roles = rows.iter().map(|row| column(location, row, 0)).collect::<Result<_, _>>()?;
    session.commit().await?;
    Ok(Migrated { applied: missing, missing_roles })
}

async fn read_applied(session: &Session, engine: &Engine) -> Result<Applied, Failure> {
    let location = &engine.target.location;
    let rows = session.query(APPLIED, &[]).await?;
    rows.iter().map(|row| Ok((column(location, row, 0)?, column(location, row, 1)?))).collect()
}

/// Refuses a database whose migrations are not a beginning of those of this version.
fn compare(location: &str, schema: &str, applied: &Applied) -> Result<(), Failure> {
    let newest = MIGRATIONS.last().map_or(0, |migration| migration.version);
    if let Some((version, _)) = applied.iter().find(|(version, _)| *version > newest) {
        let reason = format!("the schema {schema} has had migration {version}, this version knows {newest}");
        return Err(refusal(location, DatabaseErrorKind::NewerThanProgram, reason));
    }
    for (migration, (version, digest)) in MIGRATIONS.iter().zip(applied) {
        let expected = migration.digest().to_string();
        if migration.version != *version || *digest != expected {
            let reason = format!(
                "the schema {schema} was made by another file {}: expected version {} with digest {expected}, \
                 found version {version} with digest {digest}",
                migration.name, migration.version
            );
            return Err(refusal(location, DatabaseErrorKind::Damaged, reason));
        }
    }
    Ok(())
}

fn refusal(location: &str, kind: DatabaseErrorKind, reason: String) -> Failure {
    Failure { effect: Effect::Nothing, error: DatabaseError { location: location.to_owned(), kind, reason } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_must_have_had_a_beginning_of_the_known_migrations() {
        let first = (1, MIGRATIONS[0].digest().to_string());
        assert!(compare("db", "hence", &vec![]).is_ok());
        assert!(compare("db", "hence", &vec![first.clone()]).is_ok());
        let kind = |applied: Applied| compare("db", "hence", &applied).unwrap_err().error.kind;
        assert_eq!(kind(vec![(1, "other".to_owned())]), DatabaseErrorKind::Damaged);
        assert_eq!(kind(vec![first, (99, String::new())]), DatabaseErrorKind::NewerThanProgram);
    }

    #[test]
    fn migrations_are_numbered_as_their_files() {
        for (at, migration) in MIGRATIONS.iter().enumerate() {
            assert_eq!(usize::try_from(migration.version).unwrap(), at + 1);
            assert!(migration.name.starts_with(&format!("{:04}_", migration.version)));
        }
    }
}
