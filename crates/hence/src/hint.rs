//! What to do next. The library explains; only this file advises.

use crate::code::Code;

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
        Code::File => "check the path and its permissions",
        Code::Bundle => "export the run again, or check what changed in the folder",
        Code::Line => "`help` lists the commands",
        Code::Variables => {
            "nothing was changed; `hence vars status RUN` and `hence vars list RUN` show what is there"
        }
        Code::Document => "mend what is listed; nothing was stored",
        Code::NoSuchPlace => "`hence log RUN` lists the records, `hence state RUN` shows what is there",
    };
    text.to_owned()
}

/// Returns the advice to verify a run.
pub(crate) fn verify(run: &str) -> String {
    format!("`hence verify {}` says where the record first breaks", word(run))
}

/// Returns the advice to resume a run.
pub(crate) fn resume(run: &str) -> String {
    format!("`hence resume {}` continues it", word(run))
}

/// Returns a word as a shell would read it back.
pub(crate) fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
