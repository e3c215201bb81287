//! The JSON that these commands print.

use schemars::{Schema, schema_for};

use super::{change, checkpoints, diff, export, get, history, list, status, tree, watch};

/// A name, and how to make the schema of what is printed under it.
type Named = (&'static str, fn() -> Schema);

/// The commands of `hence vars` that print JSON; those that change something print `vars-change`.
pub(crate) const SCHEMAS: &[Named] = &[
    ("vars-change", || schema_for!(change::ChangeReport)),
    ("vars-get", || schema_for!(get::GetReport)),
    ("vars-list", || schema_for!(list::ListReport)),
    ("vars-checkpoints", || schema_for!(checkpoints::CheckpointsReport)),
    ("vars-status", || schema_for!(status::StatusReport)),
    ("vars-history", || schema_for!(history::HistoryReport)),
    ("vars-diff", || schema_for!(diff::VarsDiffReport)),
    ("vars-tree", || schema_for!(tree::TreeReport)),
    ("vars-watch", || schema_for!(watch::WatchReport)),
    ("vars-export", || schema_for!(export::VarsExportReport)),
];
