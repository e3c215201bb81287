//! The rules of skill documents, each with a code that tools can match, and the findings about them.

use std::fmt;

use hence_canon::{JsonPointer, did_you_mean};

/// The stage at which a broken rule is found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stage {
    /// The document is not a skill.
    Load,
    /// The skill cannot be planned.
    Plan,
    /// The steps cannot be ordered.
    Schedule,
    /// The skill could start, but something in it is wrong or will fail: nothing runs until it is fixed.
    Check,
}

/// The severity of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// The skill does not run.
    Error,
    /// The skill runs, but probably not as meant.
    Warning,
}

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident $code:literal $stage:ident $severity:ident,)*) => {
        /// A rule of skill documents.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Rule {
            $($(#[$doc])* $name,)*
        }

        impl Rule {
            /// Every rule.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns the code.
            pub fn code(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// Returns when a breach shows.
            pub fn stage(self) -> Stage {
                match self { $(Self::$name => Stage::$stage,)* }
            }

            /// Returns the severity of a breach.
            pub fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)* }
            }
        }
    };
}

rules! {
    /// A value of the wrong type or a required member that is missing or empty.
    Shape "shape" Load Error,
    /// Two steps with one id.
    DuplicateStep "duplicate-step" Load Error,
    /// A skill has too many steps.
    TooManySteps "too-many-steps" Load Error,
    /// A skill without steps.
    NoSteps "no-steps" Plan Error,
    /// A target outside the writable namespaces.
    TargetNamespace "target-namespace" Plan Error,
    /// `depends_on` that is not a list of step ids.
    DependsOn "depends-on" Schedule Error,
    /// A dependency on a step that is not there.
    UnknownDependency "unknown-dependency" Schedule Error,
    /// Steps that wait for each other.
    Cycle "cycle" Schedule Error,
    /// A step after a cycle or an unknown step, or one whose condition can never hold.
    Unreachable "unreachable" Check Error,
    /// An unknown member, probably misspelt.
    UnknownKey "unknown-key" Check Error,
    /// A member that registries of skills know and a run does not read.
    Ignored "ignored" Check Warning,
    /// A type whose name is probably misspelt.
    UnknownType "unknown-type" Check Error,
    /// The default of an input that has another type than the input.
    Default "default" Check Warning,
    /// An old name of a member.
    Alias "alias" Check Warning,
    /// An input mapping that cannot be resolved in any state.
    InputMapping "input-mapping" Check Error,
    /// A target with an empty or impossible path, an unknown slot or field.
    Target "target" Check Error,
    /// One target twice in one mapping under `overwrite`.
    DuplicateTarget "duplicate-target" Check Error,
    /// A merge strategy that is none of the four.
    MergeStrategy "merge-strategy" Check Error,
    /// A reference to something that no earlier step writes, or that cannot exist.
    DanglingReference "dangling-reference" Check Error,
    /// A name with a default that no step ever writes, so the default always holds.
    UnwrittenName "unwritten-name" Check Warning,
    /// A reference to what a step writes that is not waited for.
    UnorderedRead "unordered-read" Check Warning,
    /// A name that must be there, and that only a step writes which its condition may skip.
    SkippedWriter "skipped-writer" Check Warning,
    /// Two steps without order between them that overwrite one target.
    ParallelWrite "parallel-write" Check Error,
    /// A declared required output that no step writes.
    UnwrittenOutput "unwritten-output" Check Error,
    /// A control block that is malformed.
    Control "control" Check Error,
    /// Control blocks that exclude each other.
    ControlConflict "control-conflict" Check Error,
    /// Limits that are malformed.
    Limits "limits" Check Error,
    /// An expression that cannot be read.
    Expression "expression" Check Error,
    /// A capability or nested skill that is not registered.
    UnknownCapability "unknown-capability" Check Error,
    /// An action type in the metadata that is neither known nor declared, or one of a step that does not exist.
    UnknownAction "unknown-action" Check Error,
    /// A step that does not fit the contract of what it calls.
    Contract "contract" Check Error,
    /// A member that what a step calls does not declare, but may take or give.
    UndeclaredMember "undeclared-member" Check Warning,
    /// The name of an item as a text, where the item itself was probably meant.
    ItemText "item-text" Check Warning,
    /// A type of knowledge that is consumed before any step produces it.
    Consumes "consumes" Check Warning,
}

impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.code())
    }
}

/// One finding in a skill document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SkillFinding {
    /// The rule that is broken.
    pub rule: Rule,
    /// The place in the document.
    pub pointer: JsonPointer,
    /// The expected and the found value, in words.
    pub message: String,
}

impl fmt::Display for SkillFinding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at `{}`: {}", self.rule, self.pointer, self.message)
    }
}

/// Collects findings while a document is read: all of them, not the first.
#[derive(Default, Debug)]
pub(crate) struct Findings(Vec<SkillFinding>);

impl Findings {
    pub(crate) fn add(&mut self, rule: Rule, pointer: JsonPointer, message: impl fmt::Display) {
        self.0.push(SkillFinding { rule, pointer, message: message.to_string() });
    }

    /// Reports a member that is none of the known ones.
    pub(crate) fn add_unknown_key(&mut self, pointer: &JsonPointer, thing: &str, key: &str, known: &[&str]) {
        let meant = did_you_mean(key, known.iter().copied());
        self.add(Rule::UnknownKey, pointer.child(key), format_args!("{thing} has no `{key}`{meant}"));
    }

    pub(crate) fn any_at(&self, stage: super::Stage) -> bool {
        self.0.iter().any(|finding| finding.rule.stage() == stage)
    }

    pub(crate) fn into_vec(self) -> Vec<SkillFinding> {
        self.0
    }
}
