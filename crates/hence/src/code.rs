//! Codes of operator errors. Each has a page under `docs/errors`.

use std::fmt;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $title:literal;)*) => {
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

            /// Returns what the code stands for, in a line.
            pub(crate) const fn title(self) -> &'static str {
                match self {
                    $(Self::$name => $title,)*
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
    NotJson = "E0101", "the document is not JSON as hence reads it";
    /// A problem or an argument of a run is refused.
    Refused = "E0102", "the problem or an argument of the run is refused";
    /// The store cannot be opened.
    NotAStore = "E0201", "the folder is not a store this version can open";
    /// No run has that id.
    NoSuchRun = "E0202", "no run has that id";
    /// Several runs have that prefix.
    Ambiguous = "E0203", "several runs begin with that prefix";
    /// The run is there with other content.
    Conflict = "E0204", "a run of that id exists with other content";
    /// Somebody else writes the run.
    InUse = "E0205", "another process writes the run";
    /// The run cannot be appended to.
    Damaged = "E0206", "the run is damaged";
    /// The disk did not do it.
    Disk = "E0207", "the disk did not do what was asked";
    /// A large value cannot be had.
    Blob = "E0208", "a large value is missing or altered";
    /// A record is not what it should be.
    BadRecord = "E0301", "a record cannot be read";
    /// A run does not follow from its plan.
    Diverged = "E0302", "the record does not follow from its problem";
    /// A run stopped before its end.
    Stopped = "E0303", "the run stopped before its end";
    /// Nothing waits for that answer.
    NotAsked = "E0305", "nothing waits for that answer";
    /// A question is answered once.
    Answered = "E0306", "the question has been answered already";
    /// An answer does not fit.
    Answer = "E0307", "the answer does not fit the question";
    /// What is under way cannot be read.
    Calls = "E0308", "the call log is unreadable";
    /// The run was stopped by a person or its deadline.
    Interrupted = "E0309", "the run was stopped before its end";
    /// A nested skill cannot be used.
    Nested = "E0310", "a nested skill is refused or cannot be found";
    /// A run cannot be forked there.
    Fork = "E0311", "the run cannot be forked there";
    /// A capabilities file is refused.
    Capabilities = "E0320", "a capabilities file is refused";
    /// The capabilities at hand are not those a run pins.
    OtherCapabilities = "E0321", "the capabilities are not those the run pins";
    /// A secret cannot be had.
    SecretMissing = "E0322", "a secret is missing";
    /// What a step is bound to gave nothing usable.
    BoundStep = "E0335", "a bound capability returned an unusable result";
    /// A file a person named cannot be read or written.
    File = "E0401", "a file cannot be read or written";
    /// A folder is no bundle.
    Bundle = "E0402", "the folder is not a bundle that can be imported";
    /// Nothing is at that place.
    NoSuchPlace = "E0403", "nothing is at that place";
    /// A line at the prompt is no command.
    Line = "E0404", "a line at the prompt is not a command";
    /// A rule forbids an operation on variables.
    Variables = "E0501", "a rule forbids the operation on variables";
    /// A state document is refused.
    Document = "E0502", "the state document is refused";
    /// A checkpoint cannot be taken, or not returned to.
    Checkpoint = "E0503", "the checkpoint cannot be taken or returned to";
    /// A skill drives the run.
    Driven = "E0504", "the run is driven by its skill";
    /// Policies cannot be loaded.
    Policies = "E0601", "the policies cannot be loaded";
    /// A document is not a trace.
    NotATrace = "E0602", "the document is not a trace";
    /// Policies block what comes next.
    Blocked = "E0603", "policies block the run";
    /// Policies of a run cannot be enforced.
    Gate = "E0604", "the policies of the run cannot be enforced";
    /// Policies about gaps refuse an approval.
    ApprovalBlocked = "E0605", "policies do not allow the approval";
    /// A rule of reviews refuses it.
    ReviewRefused = "E0701", "the review does not allow it";
    /// A review does not hold.
    ReviewBroken = "E0702", "the review does not hold";
    /// A trace cannot be changed that way.
    TraceUnchanged = "E0703", "the trace cannot be changed that way";
    /// Something cannot be reproduced here.
    Scratch = "E0704", "the scratch folder cannot be used";
    /// A trace cannot be bound.
    NotBound = "E0705", "the trace cannot be bound";
    /// A file is no log that can be imported.
    NotALog = "E0720", "the file is not a log that can be imported";
    /// A log holds several traces.
    SeveralTraces = "E0721", "the log holds several traces";
}

impl Code {
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
