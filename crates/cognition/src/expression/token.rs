//! The tokenizer: every character belongs to a token or is an error.

use std::sync::Arc;

use hence_canon::{Float, Int, Value};

use super::{ParseExpressionError, ParseExpressionErrorKind};

/// The longest expression, in bytes. Conditions are lines, not programs.
pub const LENGTH_BYTES_MAX: usize = 16 * 1024;

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token {
    Literal(Value),
    /// A name with its dotted path.
    Path(Arc<str>),
    And,
    Or,
    Not,
    In,
    Equal,
    NotEqual,
    Greater,
    Less,
    GreaterOrEqual,
    LessOrEqual,
    Open,
    Close,
    OpenList,
    CloseList,
    Comma,
    Else,
}

/// A token and the byte at which it starts.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Spanned {
    pub(super) token: Token,
    pub(super) at: usize,
}

pub(super) fn tokenize(text: &str) -> Result<Vec<Spanned>, ParseExpressionError> {
    if text.len() > LENGTH_BYTES_MAX {
        return Err(ParseExpressionError::new(
            text,
            0,
            ParseExpressionErrorKind::TooLong { found: text.len() },
        ));
    }
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let first = rest.chars().next().unwrap_or_default();
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (token, length) = one(rest, first).map_err(|kind| ParseExpressionError::new(text, at, kind))?;
        tokens.push(Spanned { token, at });
        at += length;
    }
    Ok(tokens)
}

fn one(rest: &str, first: char) -> Result<(Token, usize), ParseExpressionErrorKind> {
    if let Some(found) = symbol(rest) {
        return Ok(found);
    }
    match first {
        '\'' | '"' => string(rest, first),
        '0'..='9' => number(rest),
        'A'..='Z' | 'a'..='z' | '_' => word(rest),
        other => Err(ParseExpressionErrorKind::UnknownCharacter(other)),
    }
}

/// Longest spellings first; `===` and `!==` are taken for what people who write them mean.
const SYMBOLS: [(&str, Token); 14] = [
    ("===", Token::Equal),
    ("!==", Token::NotEqual),
    ("==", Token::Equal),
    ("!=", Token::NotEqual),
    (">=", Token::GreaterOrEqual),
    ("<=", Token::LessOrEqual),
    (">", Token::Greater),
    ("<", Token::Less),
    ("(", Token::Open),
    (")", Token::Close),
    ("[", Token::OpenList),
    ("]", Token::CloseList),
    (",", Token::Comma),
    ("??", Token::Else),
];

fn symbol(rest: &str) -> Option<(Token, usize)> {
    let (spelling, token) = SYMBOLS.iter().find(|(spelling, _)| rest.starts_with(spelling))?;
    Some((token.clone(), spelling.len()))
}

fn string(rest: &str, quote: char) -> Result<(Token, usize), ParseExpressionErrorKind> {
    let (text, _) = rest
        .get(1..)
        .and_then(|inside| inside.split_once(quote))
        .ok_or(ParseExpressionErrorKind::UnterminatedString)?;
    Ok((Token::Literal(text.into()), text.len() + 2))
}

fn number(rest: &str) -> Result<(Token, usize), ParseExpressionErrorKind> {
    let whole = digits(rest);
    let fraction =
        rest.get(whole + 1..).filter(|_| rest.as_bytes().get(whole) == Some(&b'.')).map_or(0, digits);
    let length = if fraction > 0 { whole + 1 + fraction } else { whole };
    let text = rest.get(..length).unwrap_or_default();
    let literal = if fraction > 0 {
        text.parse().ok().and_then(|float| Float::new(float).ok()).map(Value::from)
    } else {
        // `007` is seven, as the reference implementation reads it.
        let plain = text.trim_start_matches('0');
        (if plain.is_empty() { "0" } else { plain }).parse::<Int>().ok().map(Value::from)
    };
    let literal = literal.ok_or(ParseExpressionErrorKind::NumberTooLong)?;
    Ok((Token::Literal(literal), length))
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn word(rest: &str) -> Result<(Token, usize), ParseExpressionErrorKind> {
    let mut length = name(rest);
    let first = rest.get(..length).unwrap_or_default();
    if let Some(keyword) = keyword(first) {
        return Ok((keyword, length));
    }
    while let Some(tail) = rest.get(length..).and_then(|tail| tail.strip_prefix('.')) {
        let segment = name(tail).max(digits(tail));
        let text = tail.get(..segment).unwrap_or_default();
        if text.is_empty() {
            return Err(ParseExpressionErrorKind::EmptySegment);
        }
        if keyword(text).is_some() {
            return Err(ParseExpressionErrorKind::KeywordSegment(text.to_owned()));
        }
        length += 1 + segment;
    }
    Ok((Token::Path(rest.get(..length).unwrap_or_default().into()), length))
}

fn name(text: &str) -> usize {
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return 0;
    }
    text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count()
}

fn keyword(word: &str) -> Option<Token> {
    Some(match word {
        "and" => Token::And,
        "or" => Token::Or,
        "not" => Token::Not,
        "in" => Token::In,
        "true" => Token::Literal(Value::Bool(true)),
        "false" => Token::Literal(Value::Bool(false)),
        "null" | "none" => Token::Literal(Value::Null),
        _ => return None,
    })
}
