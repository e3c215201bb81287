//! Recursive descent over one document. Depth is bounded, so recursion is too.

use std::sync::Arc;

use super::DEPTH_MAX;
use super::error::{Defect, DefectKind, ParseError, ParseErrorKind as Kind, Position};
use super::keys::Keys;
use crate::number::InvalidInt;
use crate::{Float, Int, JsonPointer, Object, Value};

/// From this size on a document shares short texts: lists of many objects say the same few words over and over.
const SHARING_BYTES_MIN: usize = 64 * 1024;
/// The longest text that is shared. Longer ones are sentences, and seldom said twice.
const SHARED_BYTES_MAX: usize = 24;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Strict,
    Lenient,
}

/// A failure on its way out; each level adds its token, innermost first.
pub(super) struct Failure {
    kind: Kind,
    offset: usize,
    tokens: Vec<String>,
}

impl Failure {
    fn inside(mut self, token: impl ToString) -> Self {
        self.tokens.push(token.to_string());
        self
    }
}

pub(super) struct Reader<'a> {
    text: &'a str,
    offset: usize,
    mode: Mode,
    /// Where the reader is, kept only in lenient mode: defects need a pointer without unwinding.
    path: Vec<String>,
    defects: Vec<Defect>,
    keys: Keys,
    /// Short texts that are values, in documents where sharing them pays.
    words: Option<Keys>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(json: &'a [u8], mode: Mode) -> Result<Self, ParseError> {
        let at_start = |kind, offset| ParseError {
            kind,
            position: Position::find(json, offset),
            pointer: JsonPointer::root(),
        };
        let text = str::from_utf8(json).map_err(|error| at_start(Kind::InvalidUtf8, error.valid_up_to()))?;
        if text.starts_with('\u{feff}') {
            return Err(at_start(Kind::ByteOrderMark, 0));
        }
        let words = (text.len() >= SHARING_BYTES_MIN).then(Keys::new);
        Ok(Self { text, offset: 0, mode, path: Vec::new(), defects: Vec::new(), keys: Keys::new(), words })
    }

    /// Reads the whole text as one value.
    pub(super) fn document(mut self) -> Result<(Value, Vec<Defect>), ParseError> {
        let read = self.value(0).and_then(|value| {
            self.skip_space();
            if self.rest().is_empty() { Ok(value) } else { Err(self.unexpected("the end of the text")) }
        });
        match read {
            Ok(value) => Ok((value, self.defects)),
            Err(failure) => Err(ParseError {
                kind: failure.kind,
                position: Position::find(self.text.as_bytes(), failure.offset),
                pointer: JsonPointer::from_innermost_first(failure.tokens),
            }),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Failure> {
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => {
                let decoded = self.string()?;
                if decoded.lone_surrogate.is_some() {
                    self.note(DefectKind::LoneSurrogate);
                }
                Ok(Value::String(self.shared(&decoded.text)))
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(b'N') if self.rest().starts_with("NaN") => self.non_finite("NaN".len()),
            Some(b'I') if self.rest().starts_with("Infinity") => self.non_finite("Infinity".len()),
            _ => Err(self.unexpected("a JSON value")),
        }
    }

    /// Keeps a text, together with an equal one that was read lately if it is short.
    fn shared(&mut self, text: &str) -> Arc<str> {
        match &mut self.words {
            Some(words) if text.len() <= SHARED_BYTES_MAX => words.share(text),
            _ => text.into(),
        }
    }

    fn word(&mut self, word: &'static str, value: Value) -> Result<Value, Failure> {
        if !self.rest().starts_with(word) {
            return Err(self.unexpected("a JSON value"));
        }
        self.advance(word.len());
        Ok(value)
    }

    fn array(&mut self, depth: usize) -> Result<Value, Failure> {
        self.enter(depth)?;
        let mut items: Vec<Value> = Vec::new();
        self.skip_space();
        if self.peek() == Some(b']') {
            self.advance(1);
            return Ok(Value::Array(items.into()));
        }
        loop {
            let index = items.len();
            self.push_path(|| index.to_string());
            let item = self.value(depth).map_err(|failure| failure.inside(index))?;
            self.pop_path();
            items.push(item);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.advance(1),
                Some(b']') => {
                    self.advance(1);
                    return Ok(Value::Array(items.into()));
                }
                _ => return Err(self.unexpected("`,` or `]`")),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, Failure> {
        self.enter(depth)?;
        let mut members: Vec<(Arc<str>, Value)> = Vec::new();
        let mut key_offsets: Vec<usize> = Vec::new();
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.advance(1);
            return Ok(Object::new().into());
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a key in double quotes"));
            }
            key_offsets.push(self.offset);
            members.push(self.member(depth)?);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.advance(1),
                Some(b'}') => {
                    self.advance(1);
                    return self.finish_object(members, &key_offsets);
                }
                _ => return Err(self.unexpected("`,` or `}`")),
            }
        }
    }

    fn member(&mut self, depth: usize) -> Result<(Arc<str>, Value), Failure> {
        let key = self.string()?;
        let name = self.keys.share(&key.text);
        self.push_path(|| name.to_string());
        if key.lone_surrogate.is_some() {
            self.note(DefectKind::LoneSurrogateInKey);
        }
        self.skip_space();
        if self.peek() != Some(b':') {
            return Err(self.unexpected("`:`").inside(name));
        }
        self.advance(1);
        let value = self.value(depth).map_err(|failure| failure.inside(&name))?;
        self.pop_path();
        Ok((name, value))
    }

    fn finish_object(
        &mut self,
        members: Vec<(Arc<str>, Value)>,
        key_offsets: &[usize],
    ) -> Result<Value, Failure> {
        if self.mode == Mode::Lenient {
            let count = members.len();
            let object: Object = members.into_iter().collect();
            if object.len() < count {
                self.note(DefectKind::DuplicateKey);
            }
            return Ok(object.into());
        }
        Object::from_members(members).map(Value::Object).map_err(|duplicate| {
            let offset = key_offsets.get(duplicate.position).copied().unwrap_or(self.offset);
            self.fail_at(offset, Kind::DuplicateKey(duplicate.key.clone())).inside(duplicate.key)
        })
    }

    fn number(&mut self) -> Result<Value, Failure> {
        let start = self.offset;
        if self.peek() == Some(b'-') {
            self.advance(1);
            if self.rest().starts_with("Infinity") {
                return self.non_finite("Infinity".len());
            }
        }
        match self.peek() {
            Some(b'0') => self.advance(1),
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.unexpected("a digit")),
        }
        let mut is_float = false;
        if self.peek() == Some(b'.') {
            is_float = true;
            self.advance(1);
            self.some_digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            is_float = true;
            self.advance(1);
            if let Some(b'+' | b'-') = self.peek() {
                self.advance(1);
            }
            self.some_digits()?;
        }
        let token = self.text.get(start..self.offset).unwrap_or_default();
        if is_float { self.float(start, token) } else { self.integer(start, token) }
    }

    fn integer(&self, start: usize, token: &str) -> Result<Value, Failure> {
        token.parse::<Int>().map(Value::Int).map_err(|error| match error {
            InvalidInt::TooLong { found } => self.fail_at(start, Kind::IntegerTooLong { found }),
            InvalidInt::Malformed => self.fail_at(start, Kind::NonFinite),
        })
    }

    fn float(&mut self, start: usize, token: &str) -> Result<Value, Failure> {
        let double: f64 = token.parse().map_err(|_| self.fail_at(start, Kind::NonFinite))?;
        match Float::new(double) {
            Ok(float) => Ok(Value::Float(float)),
            Err(_) => {
                self.go_back_to(start);
                self.non_finite(token.len())
            }
        }
    }

    /// Refuses a non-finite number, or reports it and stands `0.5` in its place.
    fn non_finite(&mut self, length: usize) -> Result<Value, Failure> {
        if self.mode == Mode::Strict {
            return Err(self.fail(Kind::NonFinite));
        }
        self.advance(length);
        self.note(DefectKind::NonFinite);
        Float::new(0.5).map(Value::Float).map_err(|_| self.fail(Kind::NonFinite))
    }

    fn digits(&mut self) {
        let length = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        self.advance(length);
    }

    fn some_digits(&mut self) -> Result<(), Failure> {
        let before = self.offset;
        self.digits();
        if self.offset == before { Err(self.unexpected("a digit")) } else { Ok(()) }
    }

    fn enter(&mut self, depth: usize) -> Result<(), Failure> {
        if depth > DEPTH_MAX {
            return Err(self.fail(Kind::TooDeep));
        }
        self.advance(1);
        Ok(())
    }

    fn skip_space(&mut self) {
        let length =
            self.rest().bytes().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
        self.advance(length);
    }

    fn note(&mut self, kind: DefectKind) {
        if self.mode == Mode::Lenient {
            self.defects.push(Defect { kind, pointer: self.path.iter().collect() });
        }
    }

    fn push_path(&mut self, token: impl FnOnce() -> String) {
        if self.mode == Mode::Lenient {
            self.path.push(token());
        }
    }

    fn pop_path(&mut self) {
        self.path.pop();
    }

    pub(super) fn is_lenient(&self) -> bool {
        self.mode == Mode::Lenient
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.offset..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.offset).copied()
    }

    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    pub(super) fn advance(&mut self, bytes: usize) {
        self.offset += bytes;
    }

    pub(super) fn go_back_to(&mut self, offset: usize) {
        self.offset = offset;
    }

    pub(super) fn unexpected(&self, expected: &'static str) -> Failure {
        let kind = match self.rest().chars().next() {
            Some(found) => Kind::Unexpected { expected, found },
            None => Kind::UnexpectedEnd { expected },
        };
        self.fail(kind)
    }

    pub(super) fn fail(&self, kind: Kind) -> Failure {
        self.fail_at(self.offset, kind)
    }

    pub(super) fn fail_at(&self, offset: usize, kind: Kind) -> Failure {
        Failure { kind, offset, tokens: Vec::new() }
    }
}
