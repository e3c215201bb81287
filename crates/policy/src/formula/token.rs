//! Text → tokens. Every character belongs to a token or is an error; only white space is skipped.

use super::print::Binding;
use super::{Binary, Comparison, Location, Quantifier, SyntaxError, SyntaxErrorKind};

/// A token and the byte offset where it starts.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Token<'a> {
    pub(super) sign: Sign<'a>,
    pub(super) offset: usize,
}

/// The kinds of tokens.
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
    /// Returns how tightly the token binds its operands, if it is an infix operator.
    pub(super) fn binding(&self) -> Option<Binding> {
        match self {
            Self::Iff => Some(Binding::Iff),
            Self::Implies => Some(Binding::Implies),
            Self::Or => Some(Binding::Or),
            Self::And => Some(Binding::And),
            Self::Word(word) => Binary::from_word(word).map(|_| Binding::Temporal),
            _ => None,
        }
    }

    /// Returns how error messages write the token.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Word(word) => format!("`{word}`"),
            Self::Int(value) => format!("`{value}`"),
            Self::Text(text) => format!("{text:?}"),
            Self::End => "the end of the formula".to_owned(),
            sign => {
                let spelling = SIGNS.iter().find(|(_, known)| known == sign).map(|(spelling, _)| spelling);
                format!("`{}`", spelling.unwrap_or(&""))
            }
        }
    }
}

/// Tokens by spelling. Of several spellings the first is the one that messages use; a longer spelling precedes every
/// prefix of it.
#[rustfmt::skip]
const SIGNS: &[(&str, Sign<'static>)] = &[
    ("<->", Sign::Iff), ("↔", Sign::Iff),
    ("→", Sign::Implies), ("->", Sign::Implies),
    ("∧", Sign::And), ("&&", Sign::And), ("/\\", Sign::And),
    ("∨", Sign::Or), ("||", Sign::Or), ("\\/", Sign::Or),
    ("≠", Sign::Comparison(Comparison::NotEqual)), ("!=", Sign::Comparison(Comparison::NotEqual)),
    ("≥", Sign::Comparison(Comparison::AtLeast)), (">=", Sign::Comparison(Comparison::AtLeast)),
    ("≤", Sign::Comparison(Comparison::AtMost)), ("<=", Sign::Comparison(Comparison::AtMost)),
    (">", Sign::Comparison(Comparison::Above)),
    ("<", Sign::Comparison(Comparison::Below)),
    ("=", Sign::Comparison(Comparison::Equal)),
    ("∀", Sign::Quantifier(Quantifier::All)),
    ("∃!", Sign::Quantifier(Quantifier::One)),
    ("∃", Sign::Quantifier(Quantifier::Some)),
    ("∈", Sign::In),
    ("∅", Sign::Empty),
    ("¬", Sign::Not), ("!", Sign::Not),
    ("(", Sign::Open), (")", Sign::Close), ("{", Sign::OpenBrace), ("}", Sign::CloseBrace),
    (",", Sign::Comma), (".", Sign::Dot), ("|", Sign::Bar),
];

/// Splits `text` into tokens, the last of which is [`Sign::End`].
pub(super) fn tokenize(text: &str) -> Result<Vec<Token<'_>>, SyntaxError> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let offset = text.len() - rest.len();
        let Some(first) = rest.chars().next() else {
            tokens.push(Token { sign: Sign::End, offset });
            return Ok(tokens);
        };
        let fail = |kind| SyntaxError { kind, location: Location::find(text, offset) };
        let (sign, length) = if first.is_ascii_alphabetic() || first == '_' {
            word(rest)
        } else if first.is_ascii_digit() {
            number(rest).map_err(fail)?
        } else if first == '"' {
            quoted(rest).map_err(fail)?
        } else {
            let known = SIGNS.iter().find(|(spelling, _)| rest.starts_with(spelling));
            let (spelling, sign) = known.ok_or_else(|| fail(SyntaxErrorKind::IllegalCharacter(first)))?;
            (sign.clone(), spelling.len())
        };
        tokens.push(Token { sign, offset });
        rest = rest.get(length..).unwrap_or_default();
    }
}

/// Returns the leading run of characters a name may have.
fn run(rest: &str) -> &str {
    let end = rest.find(|found: char| !found.is_ascii_alphanumeric() && found != '_').unwrap_or(rest.len());
    rest.get(..end).unwrap_or_default()
}

fn word(rest: &str) -> (Sign<'_>, usize) {
    let word = run(rest);
    let sign = match word {
        "not" => Sign::Not,
        "in" => Sign::In,
        "forall" => Sign::Quantifier(Quantifier::All),
        // `exists!=` would be a comparison; a quantifier is never followed by one.
        "exists" if rest.get(word.len()..).is_some_and(|after| after.starts_with('!')) => {
            return (Sign::Quantifier(Quantifier::One), word.len() + 1);
        }
        "exists" => Sign::Quantifier(Quantifier::Some),
        "EMPTY" | "empty" => Sign::Empty,
        _ => Sign::Word(word),
    };
    (sign, word.len())
}

fn number(rest: &str) -> Result<(Sign<'_>, usize), SyntaxErrorKind> {
    let digits = run(rest);
    let value = digits.parse().map_err(|_| SyntaxErrorKind::InvalidNumber(digits.to_owned()))?;
    Ok((Sign::Int(value), digits.len()))
}

/// Reads a quoted text, in which `\"` and `\\` are escapes.
fn quoted(rest: &str) -> Result<(Sign<'_>, usize), SyntaxErrorKind> {
    let mut value = String::new();
    let mut characters = rest.char_indices().skip(1);
    while let Some((at, found)) = characters.next() {
        match found {
            '"' => return Ok((Sign::Text(value), at + 1)),
            '\\' => match characters.next() {
                Some((_, escaped @ ('"' | '\\'))) => value.push(escaped),
                Some((_, other)) => return Err(SyntaxErrorKind::IllegalCharacter(other)),
                None => break,
            },
            other => value.push(other),
        }
    }
    Err(SyntaxErrorKind::UnclosedText)
}
