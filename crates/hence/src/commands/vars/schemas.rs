//! The JSON that these commands print.

use super::{change, checkpoints, diff, export, get, history, list, status, tree, watch};
use crate::commands::schema::{Named, schema_of};

/// The commands of `hence vars` that print JSON; those that change something print `vars-change`.
pub(crate) const SCHEMAS: &[Named] = &[
    ("vars-change", schema_of::<change::ChangeReport>),
    ("vars-get", schema_of::<get::GetReport>),
    ("vars-list", schema_of::<list::ListReport>),
    ("vars-checkpoints", schema_of::<checkpoints::CheckpointsReport>),
    ("vars-status", schema_of::<status::StatusReport>),
    ("vars-history", schema_of::<history::HistoryReport>),
    ("vars-diff", schema_of::<diff::VarsDiffReport>),
    ("vars-tree", schema_of::<tree::TreeReport>),
    ("vars-watch", schema_of::<watch::WatchReport>),
    ("vars-export", schema_of::<export::VarsExportReport>),
];
