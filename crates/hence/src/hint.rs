//! What to do next. The library explains; only this file advises.

use hence_store::{Damage, DiskErrorKind, StoreError};

use crate::code::Code;
use crate::escape::escape;

/// Returns the advice that fits every case of a code.
pub(crate) fn for_code(code: Code) -> String {
    let text = match code {
        Code::NotJson => "mend the document at that place",
        Code::Refused => "mend what is listed and run it again; nothing was run or stored",
        Code::NotAStore => "name another folder with --store, or use the version that wrote this one",
        Code::NoSuchRun => "`hence runs` lists the runs; --store names another folder",
        Code::Ambiguous => "give more of the id",
        Code::Conflict => "choose another id with --trace-id; the stored run was not touched",
        Code::InUse => "wait for it, or end that process; a lock ends with the process that holds it",
        Code::Damaged => "`hence verify RUN` says what still holds; `hence doctor` looks at the whole store",
        Code::Disk => {
            "make room or mend the folder, then `hence resume RUN`: what was reported as done is kept"
        }
        Code::Blob => "`hence doctor` lists what is missing; import the bundle again to bring it back",
        Code::BadRecord => "`hence verify RUN` says what holds up to there",
        Code::Diverged => "`hence verify RUN` says where the record first breaks",
        Code::Stopped => "mend the cause, then `hence resume RUN`",
        Code::Capabilities => "mend what is listed; `hence schema capabilities` describes the file",
        Code::OtherCapabilities => {
            "leave --capabilities out to go on with what the run was made with, which is kept beside it"
        }
        Code::NotAsked => "`hence why RUN` says what the run waits for",
        Code::Answered => "`hence resume RUN` goes on with the first answer; nothing was changed",
        Code::Answer => "nothing was kept; `hence why RUN` shows what is asked and what is allowed",
        Code::Calls => {
            "keep a copy of it before anything else; what is recorded in the journal is not touched by this"
        }
        Code::Nested => "mend that file, or name another with --skill; nothing was run or stored",
        Code::Fork => "nothing was stored; `hence log RUN` lists the steps that are recorded",
        Code::Interrupted => "`hence resume RUN` continues it; nothing that is done is done again",
        Code::SecretMissing => "set what is listed and do it again; nothing was run",
        Code::BoundStep => "mend the cause, then `hence resume RUN`: nothing was recorded for the step",
        Code::File => "check the path and its permissions",
        Code::Bundle => "export the run again, or check what changed in the folder",
        Code::Line => "`help` lists the commands",
        Code::Variables => {
            "nothing was changed; `hence vars status RUN` and `hence vars list RUN` show what is there"
        }
        Code::Document => "mend what is listed; nothing was stored",
        Code::Checkpoint => "`hence log RUN` shows the checkpoints; nothing was recorded",
        Code::Driven => "`hence vars list RUN` and `hence vars get RUN NAME` show what its steps wrote",
        Code::ReviewRefused => "`hence review handoff REVIEW` shows what is open; nothing was recorded",
        Code::ReviewBroken => {
            "`hence review status REVIEW` says how far it holds; nothing can be added to it"
        }
        Code::TraceUnchanged => "nothing was written; `hence trace show FILE` shows what is there",
        Code::Scratch => "make room, or name a smaller folder with --with",
        Code::NotBound => "nothing was written; `hence trace bind FILE --check` says how it stands",
        Code::NoSuchPlace => "`hence log RUN` lists the records, `hence state RUN` shows what is there",
        Code::Policies => "mend the policies at that place; nothing was checked",
        Code::NotALog => "name its format if it is one of them: `hence import --help` lists them",
        Code::SeveralTraces => "name a folder with --out, or one of them with --trace",
        Code::Blocked => "mend the cause, then `hence resume RUN`",
        Code::ApprovalBlocked => {
            "acknowledge, resolve or waive what is listed; `hence policy show ID` shows a policy"
        }
        Code::Gate => "name the policies the run pins, or leave --policy out",
        Code::NotATrace => "name a review trace: an object whose `actions` are a list",
    };
    text.to_owned()
}

/// Returns the advice that fits what a store said, where the code alone says too little.
pub(crate) fn for_store(error: &StoreError) -> Option<String> {
    match error {
        StoreError::NotAStore { path, .. } if !path.exists() => {
            Some("`hence run PROBLEM.json` makes the store; --store names another folder".to_owned())
        }
        StoreError::Disk(error) => for_disk(&error.kind).map(str::to_owned),
        StoreError::Damaged { reason: Damage::NoJournal, .. } => Some(
            "put a copy of its journal back, or remove the run's folder; `hence doctor` looks at the whole store"
                .to_owned(),
        ),
        StoreError::Damaged { run, .. } => Some(format!(
            "`hence verify {}` says what still holds; `hence doctor` looks at the whole store",
            word(run.as_str())
        )),
        StoreError::AlreadyCreated { run, .. } | StoreError::RunConflict { run, .. } => Some(format!(
            "the stored run was not touched: `hence log {}` shows it, --trace-id gives this one another id",
            word(run.as_str())
        )),
        _ => None,
    }
}

/// Returns the advice that fits what stood in the way on a disk.
fn for_disk(kind: &DiskErrorKind) -> Option<&'static str> {
    match kind {
        DiskErrorKind::NotAFolder | DiskErrorKind::NotAFile => Some("name another folder with --store"),
        DiskErrorKind::Missing => Some("make the folder above it, or name another folder with --store"),
        DiskErrorKind::PermissionDenied | DiskErrorKind::ReadOnly => {
            Some("name a folder you may write with --store; commands that only read work as it is")
        }
        _ => None,
    }
}

/// Returns the advice to verify a run.
pub(crate) fn verify(run: &str) -> String {
    format!("`hence verify {}` says where the record first breaks", word(run))
}

/// Returns the advice to look at the records of a run.
pub(crate) fn records(run: &str) -> String {
    format!("`hence log {}` lists the records", word(run))
}

/// Returns the advice to look at a whole state.
pub(crate) fn places(run: &str) -> String {
    format!("`hence state {}` shows what is there", word(run))
}

/// Returns the advice to resume a run.
pub(crate) fn resume(run: &str) -> String {
    format!("`hence resume {}` continues it", word(run))
}

/// Returns a command as it can be typed here, with the store it means.
pub(crate) fn command(context: &crate::context::Context, words: &[&str]) -> String {
    let mut all = vec!["hence".to_owned()];
    if context.folder != std::path::Path::new(".hence") {
        all.extend(["--store".to_owned(), word(&context.folder.display().to_string())]);
    }
    all.extend(words.iter().map(|text| word(text)));
    all.join(" ")
}

/// The advice when policies block a run.
pub(crate) fn blocked(run: &str) -> String {
    let run = word(run);
    format!(
        "mend the cause, then `hence resume {run}`; `hence resume {run} --policy FILE` goes on by other policies"
    )
}

/// The advice when a repair puts everything right.
pub(crate) const REBUILD: &str =
    "hint: `hence doctor --rebuild` mends what can be mended without losing a record";

/// The advice when stored bytes are not what they were.
pub(crate) const DAMAGE: &str = "hint: `hence verify RUN` says what of a run still holds; importing its bundle again brings lost values back";

/// The advice when a name is neither a file nor a run.
pub(crate) const NEITHER_FILE_NOR_RUN: &str =
    "no file has that name either; `hence runs` lists the runs, --store names another folder";

/// The advice when no policy has an id.
pub(crate) const POLICY_LIST: &str =
    "`hence policy list` lists the built-in ones; --policy names other files";

/// Returns the advice when a name is neither a file nor a pack.
pub(crate) fn packs<const N: usize>(packs: [&str; N]) -> String {
    format!("name a file, or one of the built-in packs: {}", packs.join(", "))
}

/// Returns the advice to name a journal inside a folder.
pub(crate) fn folder(journal: &str) -> String {
    format!("to read the folder's journal, name its file: {}", word(journal))
}

/// Returns the advice to look at a state without its large values.
pub(crate) fn raw_state(run: &str) -> String {
    format!(
        "`hence state {} --raw` leaves references as they are; importing the bundle again brings values back",
        word(run)
    )
}

/// Returns the advice when a run is kept and only its copy is not.
pub(crate) fn copy(run: &str) -> String {
    format!("the run is kept in the store; `hence export {} DIR` writes it elsewhere", word(run))
}

/// Returns a word as a shell would read it back, with nothing in it that a terminal would obey.
pub(crate) fn word(text: &str) -> String {
    if escape(text) == text {
        hence_review::show::shell_word(text)
    } else {
        format!("$'{}'", text.chars().map(ansi_c).collect::<String>())
    }
}

/// Spells a character inside `$'…'`.
fn ansi_c(c: char) -> String {
    match c {
        '\'' | '\\' => format!("\\{c}"),
        c if escape(c.encode_utf8(&mut [0; 4])) == c.to_string() => c.to_string(),
        c => format!("\\u{:04x}", u32::from(c)),
    }
}

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn a_word_reads_back_as_it_was() {
        assert_eq!(word("refund-42"), "refund-42");
        assert_eq!(word("refund 42"), "'refund 42'");
        assert_eq!(word("it's"), r"'it'\''s'");
        assert_eq!(word("a\n\u{1b}[31m'"), r"$'a\u000a\u001b[31m\''");
        assert_eq!(word(""), "''");
    }
}
