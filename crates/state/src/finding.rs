//! What is wrong with a document, place by place.

use std::fmt;

use hence_canon::JsonPointer;

/// When a request is refused. Stages are passed in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stage {
    /// The problem is not an object.
    NotObject,
    /// A member has the wrong type or breaks its rule.
    Schema,
    /// The loop's settings make no loop.
    LoopRules,
    /// The run's own arguments.
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

/// The kind of a finding, in the words of the schema.
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

/// A place in a document, written with dots: `settings.verification_paths.1.name`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct FieldPath(Vec<String>);

impl FieldPath {
    /// Returns the path of the whole document.
    pub fn root() -> Self {
        Self::default()
    }

    /// Returns the path of a member or item.
    #[must_use]
    pub fn child(&self, token: impl fmt::Display) -> Self {
        let mut tokens = self.0.clone();
        tokens.push(token.to_string());
        Self(tokens)
    }

    /// Returns the same place as a JSON pointer.
    pub fn pointer(&self) -> JsonPointer {
        self.0.iter().collect()
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0.join("."))
    }
}

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// When it is noticed.
    pub stage: Stage,
    /// What kind it is.
    pub category: Category,
    /// Where it is.
    pub path: FieldPath,
    /// What was expected and found.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.0.is_empty() {
            true => out.write_str(&self.message),
            false => write!(out, "{}: {}", self.path, self.message),
        }
    }
}

/// Everything that is wrong with a document, in the order a reader meets it. Never empty.
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

    /// Returns the finding a reader meets first.
    pub fn first(&self) -> &Finding {
        self.0.first().expect("findings are never empty")
    }

    /// Iterates over all findings.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Finding> {
        self.0.iter()
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(position, finding)| {
            let separator = if position == 0 { "" } else { "; " };
            write!(out, "{separator}{finding}")
        })
    }
}

impl std::error::Error for Findings {}
