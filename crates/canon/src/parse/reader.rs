//! A recursive-descent reader of one document. The nesting depth is limited, so the recursion is too.

use std::sync::Arc;

use super::DEPTH_MAX;
use super::error::{Defect, DefectKind, ParseError, ParseErrorKind as Kind, Position};
use super::interner::Interner;
use crate::number::InvalidInt;
use crate::{Float, Int, JsonPointer, Object, Value};

/// The size from which a document shares short texts: lists of many objects repeat the same few words.
const SHARING_BYTES_MIN: usize = 64 * 1024;
/// The longest text that is shared. Longer texts are sentences and seldom repeat.
const SHARED_BYTES_MAX: usize = 24;
/// The largest number of digits with which every integer fits `i64`.
const SMALL_DIGITS_MAX: usize = 18;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Strict,
    Lenient,
}

/// A read error that is passed up through the recursion. It is boxed to keep the results of successful reads small.
pub(super) struct Failure(Box<Failed>);

struct Failed {
    kind: Kind,
    offset: usize,
    /// The path to the failure, innermost token first: each level adds its own token.
    tokens: Vec<String>,
}

impl Failure {
    #[cold]
    fn inside(mut self, token: impl ToString) -> Self {
        self.0.tokens.push(token.to_string());
        self
    }
}

pub(super) struct Reader<'a> {
    text: &'a str,
    offset: usize,
    mode: Mode,
    /// The path to the value being read, in lenient mode only: a defect needs its pointer without unwinding.
    path: Vec<String>,
    defects: Vec<Defect>,
    keys: Interner,
    /// Short texts that are values, in documents where sharing them saves memory.
    words: Option<Interner>,
    /// The members of all objects being read, outermost object first. One shared stack avoids a growing list per
    /// object.
    members: Vec<(Arc<str>, Value)>,
    /// The offset of the key of each of `members`.
    key_offsets: Vec<usize>,
    /// The items of all lists being read, outermost list first.
    items: Vec<Value>,
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
        Ok(Self {
            text,
            offset: 0,
            mode,
            path: Vec::new(),
            defects: Vec::new(),
            keys: Interner::default(),
            words: (text.len() >= SHARING_BYTES_MIN).then(Interner::default),
            members: Vec::new(),
            key_offsets: Vec::new(),
            items: Vec::new(),
        })
    }

    /// Reads the whole text as one value.
    pub(super) fn document(mut self) -> Result<(Value, Vec<Defect>), ParseError> {
        let read = self.value(0).and_then(|value| {
            self.skip_space();
            if self.rest().is_empty() { Ok(value) } else { Err(self.unexpected("the end of the text")) }
        });
        match read {
            Ok(value) => Ok((value, self.defects)),
            Err(Failure(failed)) => Err(ParseError {
                kind: failed.kind,
                position: Position::find(self.text.as_bytes(), failed.offset),
                pointer: JsonPointer::from_innermost_first(failed.tokens),
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
                if decoded.has_lone_surrogate {
                    self.note(DefectKind::LoneSurrogate);
                }
                Ok(Value::String(self.share(&decoded.text)))
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

    /// Allocates a text, or shares the allocation of an equal one that was read before if it is short.
    fn share(&mut self, text: &str) -> Arc<str> {
        match &mut self.words {
            Some(words) if text.len() <= SHARED_BYTES_MAX => words.intern(text),
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
        self.skip_space();
        if self.peek() == Some(b']') {
            self.advance(1);
            return Ok(Value::Array([].into()));
        }
        let first = self.items.len();
        loop {
            let index = self.items.len() - first;
            self.push_path(|| index.to_string());
            let item = self.value(depth).map_err(|failure| failure.inside(index))?;
            self.pop_path();
            self.items.push(item);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.advance(1),
                Some(b']') => {
                    self.advance(1);
                    return Ok(Value::Array(self.items.drain(first..).collect()));
                }
                _ => return Err(self.unexpected("`,` or `]`")),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, Failure> {
        self.enter(depth)?;
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.advance(1);
            return Ok(Object::new().into());
        }
        let first = self.members.len();
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a key in double quotes"));
            }
            let key_offset = self.offset;
            let member = self.member(depth)?;
            self.members.push(member);
            self.key_offsets.push(key_offset);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.advance(1),
                Some(b'}') => {
                    self.advance(1);
                    return self.finish_object(first);
                }
                _ => return Err(self.unexpected("`,` or `}`")),
            }
        }
    }

    fn member(&mut self, depth: usize) -> Result<(Arc<str>, Value), Failure> {
        let key = self.string()?;
        let name = self.keys.intern(&key.text);
        self.push_path(|| name.to_string());
        if key.has_lone_surrogate {
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

    /// Makes an object of the members from `first` on.
    fn finish_object(&mut self, first: usize) -> Result<Value, Failure> {
        if self.mode == Mode::Lenient {
            let count = self.members.len() - first;
            let object: Object = self.members.drain(first..).collect();
            self.key_offsets.truncate(first);
            if object.len() < count {
                self.note(DefectKind::DuplicateKey);
            }
            return Ok(object.into());
        }
        let members: Box<[_]> = self.members.drain(first..).collect();
        let object = Object::from_members(members).map_err(|duplicate| {
            let offset = self.key_offsets.get(first + duplicate.position).copied().unwrap_or(self.offset);
            self.fail_at(offset, Kind::DuplicateKey(duplicate.key.clone())).inside(duplicate.key)
        })?;
        self.key_offsets.truncate(first);
        Ok(Value::Object(object))
    }

    fn number(&mut self) -> Result<Value, Failure> {
        match small_integer(self.rest().as_bytes()) {
            Some((integer, length)) => {
                self.advance(length);
                Ok(integer.into())
            }
            None => self.any_number(),
        }
    }

    fn any_number(&mut self) -> Result<Value, Failure> {
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

    /// Refuses a non-finite number, or reports it and reads `0.5` in its place.
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

    #[inline]
    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.advance(1);
        }
    }

    fn note(&mut self, kind: DefectKind) {
        if self.mode == Mode::Lenient {
            self.defects.push(Defect { kind, pointer: self.path.iter().collect() });
        }
    }

    #[inline]
    fn push_path(&mut self, token: impl FnOnce() -> String) {
        if self.mode == Mode::Lenient {
            self.path.push(token());
        }
    }

    #[inline]
    fn pop_path(&mut self) {
        self.path.pop();
    }

    pub(super) fn is_lenient(&self) -> bool {
        self.mode == Mode::Lenient
    }

    #[inline]
    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.offset..).unwrap_or_default()
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.offset).copied()
    }

    #[inline]
    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    #[inline]
    pub(super) fn advance(&mut self, bytes: usize) {
        self.offset += bytes;
    }

    pub(super) fn go_back_to(&mut self, offset: usize) {
        self.offset = offset;
    }

    #[cold]
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
        Failure(Box::new(Failed { kind, offset, tokens: Vec::new() }))
    }
}

/// Reads an integer of at most [`SMALL_DIGITS_MAX`] digits and returns its length; `None` for any other number.
#[inline]
fn small_integer(bytes: &[u8]) -> Option<(i64, usize)> {
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let sign = bytes.len() - digits.len();
    let mut value: i64 = 0;
    let mut count = 0;
    while let Some(digit @ b'0'..=b'9') = digits.get(count) {
        if count == SMALL_DIGITS_MAX {
            return None;
        }
        value = value * 10 + i64::from(digit - b'0');
        count += 1;
    }
    let is_plain = match digits.get(count) {
        Some(b'.' | b'e' | b'E') => false,
        _ => count == 1 || (count > 1 && digits.first() != Some(&b'0')),
    };
    is_plain.then_some((if sign == 0 { value } else { -value }, sign + count))
}
