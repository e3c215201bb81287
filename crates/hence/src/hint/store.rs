//! Advice about errors of a store: its folder, its database, its disk.

use hence_store::{Damage, DatabaseErrorKind, DiskErrorKind, StoreError};

use super::{Hint, word};

/// Returns the advice that fits an error of a store, where its code alone is too general.
pub(crate) fn for_store(error: &StoreError) -> Option<Hint> {
    match error {
        StoreError::NotAStore { path, .. } if !path.exists() => Some(Hint::fixed(
            "nothing was run here yet: `hence run` and `hence init` create a store; --store names another folder",
        )),
        StoreError::Disk(error) => for_disk(&error.kind).map(Hint::fixed),
        StoreError::Database(error) => Some(for_database(error.kind)),
        StoreError::Damaged { reason: Damage::NoJournal, .. } => Some(Hint::fixed(
            "restore a copy of its journal, or remove the run's folder; `hence doctor` checks the whole store",
        )),
        StoreError::Damaged { run, .. } => Some(Hint::made(format!(
            "`hence verify {}` shows which records still hold; `hence doctor` checks the whole store",
            word(run.as_str())
        ))),
        StoreError::RunRemoved { .. } => Some(Hint::fixed(
            "an id names one run, also after `hence rm`: give this one another id with --run-id, or for `hence submit` another --key",
        )),
        StoreError::AlreadyCreated { run, .. } | StoreError::RunConflict { run, .. } => {
            Some(Hint::made(format!(
                "the stored run was not changed: `hence log {}` shows it, --run-id gives this one another id",
                word(run.as_str())
            )))
        }
        _ => None,
    }
}

/// Returns the advice that fits an error of a database.
fn for_database(kind: DatabaseErrorKind) -> Hint {
    Hint::fixed(match kind {
        DatabaseErrorKind::InvalidAddress => {
            "write it as postgres://USER:PASSWORD@HOST:PORT/DATABASE, or postgres:///DATABASE?host=/FOLDER for a unix socket"
        }
        DatabaseErrorKind::Unreachable => {
            "check that the server runs and that host and port are right; what was acknowledged is stored"
        }
        DatabaseErrorKind::AccessDenied => {
            "check the user, the password and the database of the address, and what the server allows the role"
        }
        DatabaseErrorKind::ServerTooOld => "use a server of PostgreSQL 15 or newer",
        DatabaseErrorKind::NotMigrated => {
            "`hence store migrate --store ADDRESS` creates or updates the tables, as a role that may create them"
        }
        DatabaseErrorKind::NewerThanProgram => {
            "use the version of hence that made the tables, or a newer one"
        }
        DatabaseErrorKind::ReadOnly => {
            "use a member of hence_writer, or of hence_reader for commands that only read (docs/postgres.md); `hence store migrate` as the owner of the tables gives them their rights"
        }
        DatabaseErrorKind::Full => {
            "make room on the server, then `hence resume RUN`: what was acknowledged is stored"
        }
        DatabaseErrorKind::Damaged => {
            "`hence doctor --store ADDRESS` names the rows; restore them from a backup"
        }
        _ => "what was acknowledged is stored; read what the server says, then repeat the command",
    })
}

/// Returns the advice that fits an error of a disk.
fn for_disk(kind: &DiskErrorKind) -> Option<&'static str> {
    match kind {
        DiskErrorKind::NotAFolder | DiskErrorKind::NotAFile => Some("name another folder with --store"),
        DiskErrorKind::NotPlain(_) => Some(
            "it was not followed; look where it leads, remove it, and ask whoever made this store why it is there",
        ),
        DiskErrorKind::Altered(_) => Some(
            "restore the file from a copy of the store, or remove it; `hence doctor` names every such file",
        ),
        DiskErrorKind::Missing => Some("create the parent folder, or name another folder with --store"),
        DiskErrorKind::PermissionDenied | DiskErrorKind::ReadOnly => {
            Some("name a folder you may write to with --store; commands that only read still work")
        }
        _ => None,
    }
}
