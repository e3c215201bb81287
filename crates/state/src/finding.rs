//! Findings in a problem: the stage at which a request is refused and the category of the broken rule.

use std::fmt;

use hence_canon::JsonPointer;
use hence_canon::read::{self, Found};

/// The stage at which a request is refused. Stages are passed in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stage {
    /// The problem is not an object.
    NotObject,
    /// A member has the wrong type or breaks its rule.
    Schema,
    /// The loop's settings make no loop.
    LoopRules,
    /// An argument of the run breaks its rule.
    Args,
    /// No policy has that name.
    Policy,
    /// The loop names steps the policy does not have.
    LoopBounds,
    /// The step budget is too small for the plan.
    MaxSteps,
    /// The document has no canonical form.
    Hashing,
    /// A result could not be recorded.
    StepResult,
}

impl Stage {
    /// Returns the stage's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotObject => "not_object",
            Self::Schema => "schema",
            Self::LoopRules => "loop_rules",
            Self::Args => "args",
            Self::Policy => "policy",
            Self::LoopBounds => "loop_bounds",
            Self::MaxSteps => "max_steps",
            Self::Hashing => "hashing",
            Self::StepResult => "step_result",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// The category of a finding, in the words of the schema.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the words are the documentation")]
pub enum Category {
    Missing,
    StringType,
    StringTooShort,
    StringPatternMismatch,
    StringUnicode,
    ListType,
    DictType,
    ModelType,
    BoolType,
    BoolParsing,
    IntType,
    IntParsing,
    IntFromFloat,
    GreaterThan,
    GreaterThanEqual,
    LiteralError,
    ExtraForbidden,
    ValueError,
}

impl Category {
    /// Returns the category's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::StringType => "string_type",
            Self::StringTooShort => "string_too_short",
            Self::StringPatternMismatch => "string_pattern_mismatch",
            Self::StringUnicode => "string_unicode",
            Self::ListType => "list_type",
            Self::DictType => "dict_type",
            Self::ModelType => "model_type",
            Self::BoolType => "bool_type",
            Self::BoolParsing => "bool_parsing",
            Self::IntType => "int_type",
            Self::IntParsing => "int_parsing",
            Self::IntFromFloat => "int_from_float",
            Self::GreaterThan => "greater_than",
            Self::GreaterThanEqual => "greater_than_equal",
            Self::LiteralError => "literal_error",
            Self::ExtraForbidden => "extra_forbidden",
            Self::ValueError => "value_error",
        }
    }
}

/// The rule that a finding is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rule {
    /// The stage at which the rule is checked.
    pub stage: Stage,
    /// The category of the rule.
    pub category: Category,
}

/// One defect of a request.
pub type Finding = read::Finding<Rule>;

/// Reports a broken rule that the schema does not know, in a sentence.
pub fn finding(stage: Stage, pointer: JsonPointer, message: impl Into<String>) -> Finding {
    let rule = Rule { stage, category: Category::ValueError };
    Finding { pointer, ..Finding::new(rule, message.into(), Found::Unstated) }
}

/// Writes a pointer with dots, as the schema does: `settings.verification_paths.1.name`.
pub fn dotted(pointer: &JsonPointer) -> String {
    pointer.tokens().collect::<Vec<_>>().join(".")
}

/// All defects of a request, in the order of the schema. Never empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Findings(Vec<Finding>);

impl Findings {
    /// Wraps findings, if there are any.
    pub fn some(findings: Vec<Finding>) -> Option<Self> {
        if findings.is_empty() { None } else { Some(Self(findings)) }
    }

    /// Wraps one finding.
    pub fn one(finding: Finding) -> Self {
        Self(vec![finding])
    }

    /// Returns the first finding.
    pub fn first(&self) -> &Finding {
        self.0.first().expect("findings are never empty")
    }

    /// Iterates over all findings.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Finding> {
        self.0.iter()
    }

    /// Iterates over the findings as lines: the dotted place and the message.
    pub fn lines(&self) -> impl ExactSizeIterator<Item = String> {
        self.0.iter().map(|finding| match finding.pointer.is_root() {
            true => finding.message_with_value(),
            false => format!("{}: {}", dotted(&finding.pointer), finding.message_with_value()),
        })
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.lines().collect::<Vec<_>>().join("; "))
    }
}

impl std::error::Error for Findings {}
