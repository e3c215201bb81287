//! Error codes and the exit codes they lead to. Each error code has a page under `docs/errors`.

use std::fmt;

use crate::exit::Exit;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal => $exit:ident;)*) => {
        /// The code of an error a person can act on.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// All codes in order.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns the code's text.
            pub(crate) const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $code,)*
                }
            }

            /// Returns the exit code of a command that ends with this error.
            pub(crate) const fn exit(self) -> Exit {
                match self {
                    $(Self::$name => Exit::$exit,)*
                }
            }

            /// Returns the page that explains the code.
            pub(crate) const fn page(self) -> &'static str {
                match self {
                    $(Self::$name => include_str!(concat!("../../../docs/errors/", $code, ".md")),)*
                }
            }
        }
    };
}

codes! {
    /// A document is not JSON.
    NotJson = "E0101" => No;
    /// A problem or a skill is refused.
    Refused = "E0102" => No;
    /// An argument of a command is refused.
    Argument = "E0103" => Usage;
    /// The store cannot be opened.
    NotAStore = "E0201" => Store;
    /// No run has that id.
    NoSuchRun = "E0202" => Usage;
    /// Several runs have that prefix.
    Ambiguous = "E0203" => Usage;
    /// A run with that id exists with other content.
    Conflict = "E0204" => No;
    /// Another process writes the run.
    InUse = "E0205" => Store;
    /// The run cannot be appended to.
    Damaged = "E0206" => Store;
    /// The disk refused an operation.
    Disk = "E0207" => Store;
    /// A large value is missing or altered.
    Blob = "E0208" => Store;
    /// A database refused an operation or cannot be reached.
    Database = "E0209" => Store;
    /// A record cannot be read.
    BadRecord = "E0301" => No;
    /// A journal does not follow from its problem.
    Diverged = "E0302" => No;
    /// A run stopped before its end.
    Stopped = "E0303" => Store;
    /// Nothing waits for that answer.
    NotAsked = "E0305" => No;
    /// The question has been answered.
    Answered = "E0306" => No;
    /// An answer does not fit.
    Answer = "E0307" => No;
    /// The call log is unreadable.
    Calls = "E0308" => Store;
    /// The run was stopped by a person or its deadline.
    Interrupted = "E0309" => Partial;
    /// A nested skill cannot be used.
    Nested = "E0310" => No;
    /// A run cannot be forked there.
    Fork = "E0311" => No;
    /// Calls that act would be made again, and nobody said yes.
    CallsAgain = "E0312" => No;
    /// A run cannot be retried.
    Retry = "E0313" => No;
    /// A capabilities file is refused.
    Capabilities = "E0320" => No;
    /// The given capabilities are not those the run pins.
    OtherCapabilities = "E0321" => No;
    /// A secret is missing.
    SecretMissing = "E0322" => No;
    /// An imported run would call what its record declares, and nobody allowed it.
    Imported = "E0323" => No;
    /// A bound capability returned an unusable result.
    BoundStep = "E0335" => No;
    /// A context of a question cannot be used.
    Context = "E0340" => No;
    /// A model cannot be used.
    Model = "E0341" => Usage;
    /// The Python worker is missing.
    Worker = "E0342" => No;
    /// A run of the loop stopped before its end.
    SolveStopped = "E0343" => Partial;
    /// A file cannot be read or written.
    File = "E0401" => Usage;
    /// A folder is not a bundle.
    Bundle = "E0402" => No;
    /// Nothing exists at that place.
    NoSuchPlace = "E0403" => Usage;
    /// A line at the prompt is not a command.
    Line = "E0404" => Usage;
    /// A rule forbids an operation on variables.
    Variables = "E0501" => No;
    /// A state document is refused.
    Document = "E0502" => No;
    /// A checkpoint cannot be taken or returned to.
    Checkpoint = "E0503" => No;
    /// A skill drives the run.
    Driven = "E0504" => No;
    /// A folder holds documents that an export would overwrite.
    ExportTarget = "E0505" => No;
    /// Policies cannot be loaded.
    Policies = "E0601" => Usage;
    /// A document is not a trace.
    NotATrace = "E0602" => No;
    /// Policies block the next step.
    Blocked = "E0603" => No;
    /// Policies of a run cannot be enforced.
    Gate = "E0604" => No;
    /// Policies about gaps refuse an approval.
    ApprovalBlocked = "E0605" => No;
    /// A rule of reviews refuses the entry.
    ReviewRefused = "E0701" => No;
    /// A review's journal does not hold.
    ReviewBroken = "E0702" => No;
    /// A trace cannot be changed that way.
    TraceUnchanged = "E0703" => No;
    /// The scratch folder cannot be used.
    Scratch = "E0704" => No;
    /// A trace cannot be bound.
    NotBound = "E0705" => No;
    /// An operation on a trace is refused.
    TraceRefused = "E0706" => No;
    /// A file is not a log that can be imported.
    NotALog = "E0720" => No;
    /// A log holds several traces.
    SeveralTraces = "E0721" => Usage;
    /// A request to the server is not understood.
    Request = "E0801" => Usage;
    /// The server does not answer this person, page or host.
    Access = "E0802" => No;
    /// The server is busy, or a request exceeds a limit.
    Busy = "E0803" => Store;
    /// The server does not start.
    Listen = "E0804" => Usage;
    /// A queue does not exist.
    NoSuchQueue = "E0901" => Usage;
    /// The rules of the queue do not allow it.
    QueueRefused = "E0902" => No;
    /// The queue cannot be read or written.
    QueueUnusable = "E0903" => Store;
    /// The name of a worker is taken or not a name.
    WorkerName = "E0904" => Usage;
    /// A schedule cannot be made or used.
    Schedule = "E0905" => Usage;
}

impl Code {
    /// Returns the title of the code's page.
    pub(crate) fn title(self) -> &'static str {
        self.page().lines().next().and_then(|line| line.split_once(": ")).map_or("", |(_, title)| title)
    }

    /// Reads a code, whatever its case.
    pub(crate) fn find(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str().eq_ignore_ascii_case(text))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exit_code_is_documented_where_people_look_for_it() {
        let json = include_str!("../../../docs/json.md");
        for code in Code::ALL {
            let exit = code.exit() as u8;
            assert!(
                code.page().contains(&format!("Exit code {exit}")),
                "{code}: its page says another exit code"
            );
            let row = json.lines().find(|line| line.starts_with(&format!("| {exit} | ")));
            assert!(
                row.is_some_and(|row| row.contains(code.as_str())),
                "{code}: docs/json.md, exit code {exit}"
            );
        }
    }
}
