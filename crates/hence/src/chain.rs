//! The chain of a journal, as commands that only look at a run report it.
//!
//! `hence verify` judges a journal. A view reads the same lines, so it says when they are not those that were recorded: what it
//! shows of such a run is what the file says, not what happened.

use std::num::NonZeroUsize;

use hence_journal::verify::{Break, Outcome, check_behind, check_chain};
use hence_journal::{Head, RecordCount};
use hence_state::Profile;

use crate::kind::whole_records;
use crate::prelude::*;
use crate::target::Journal;

/// Returns where and why the chain of a journal is broken. The bytes of an unfinished append are not looked at.
pub(crate) fn first_break(journal: &[u8]) -> Option<String> {
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    match check_chain(whole_records(journal), threads).outcome {
        Outcome::Broken(found) => Some(described(&found)),
        Outcome::Holds | Outcome::NotChecked(_) => None,
    }
}

fn described(found: &Break) -> String {
    format!("its chain is broken at record {}: {}", found.line, reasons(found))
}

fn reasons(found: &Break) -> String {
    let mut words: Vec<&str> = found.reasons.iter().map(|reason| reason.code.as_str()).collect();
    words.dedup();
    words.join(", ")
}

/// Returns why a line is not the record that its hash, or the hash before it, names; nothing where it is.
///
/// `before` is the hash of the record before it, where that is known; a header has none.
pub(crate) fn line_break(index: u64, line: &[u8], before: Option<Head>, profile: &Profile) -> Option<String> {
    let mut bytes = line.to_vec();
    bytes.push(b'\n');
    let check = match (index, before) {
        (0, _) => check_chain(&bytes, NonZeroUsize::MIN),
        (_, Some(head)) => check_behind(Head { records: RecordCount::new(index), ..head }, &bytes, profile),
        (_, None) => return None,
    };
    match check.outcome {
        Outcome::Broken(found) => Some(reasons(&found)),
        Outcome::Holds | Outcome::NotChecked(_) => None,
    }
}

/// Reports that the chain of a journal is broken, after a view of it. Returns the exit code of the view.
pub(crate) fn report_break(context: &Context, journal: &Journal) -> Exit {
    match first_break(&journal.bytes) {
        Some(found) => report_broken(context, &journal.name, &found),
        None => Exit::Yes,
    }
}

/// Reports that what was shown of a run is what the file says, not what was recorded.
pub(crate) fn report_broken(context: &Context, run: &str, found: &str) -> Exit {
    let message = format!("run {run}: {found}; shown is what the file says, not what was recorded");
    context.report_error(&CliError::new(Code::BadRecord, message).with_hint(hint::verify(run)));
    Exit::Partial
}
