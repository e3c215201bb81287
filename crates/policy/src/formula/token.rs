//! The words and signs of a formula.

use super::{Comparison, Quantifier};

/// A token and the byte offset where it starts.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Token<'a> {
    pub(super) sign: Sign<'a>,
    pub(super) offset: usize,
}

/// What a token is.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Sign<'a> {
    Word(&'a str),
    Int(u64),
    Text(String),
    Not,
    And,
    Or,
    Implies,
    Iff,
    Quantifier(Quantifier),
    In,
    Comparison(Comparison),
    Empty,
    Open,
    Close,
    OpenBrace,
    CloseBrace,
    Comma,
    Dot,
    Bar,
    End,
}

impl Sign<'_> {
    /// Names the token for a message.
    pub(super) fn describe(&self) -> String {
        let sign = match self {
            Self::Word(word) => return format!("`{word}`"),
            Self::Int(value) => return format!("`{value}`"),
            Self::Text(text) => return format!("{text:?}"),
            Self::End => return "the end of the formula".to_owned(),
            Self::Not => "¬",
            Self::And => "∧",
            Self::Or => "∨",
            Self::Implies => "→",
            Self::Iff => "<->",
            Self::Quantifier(Quantifier::All) => "∀",
            Self::Quantifier(Quantifier::Some) => "∃",
            Self::Quantifier(Quantifier::One) => "∃!",
            Self::In => "∈",
            Self::Comparison(Comparison::Equal) => "=",
            Self::Comparison(Comparison::NotEqual) => "≠",
            Self::Comparison(Comparison::AtLeast) => "≥",
            Self::Comparison(Comparison::AtMost) => "≤",
            Self::Comparison(Comparison::Above) => ">",
            Self::Comparison(Comparison::Below) => "<",
            Self::Empty => "∅",
            Self::Open => "(",
            Self::Close => ")",
            Self::OpenBrace => "{",
            Self::CloseBrace => "}",
            Self::Comma => ",",
            Self::Dot => ".",
            Self::Bar => "|",
        };
        format!("`{sign}`")
    }
}
