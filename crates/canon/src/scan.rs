//! Proof that bytes already are canonical JSON, without building a tree.
//!
//! Verifying a journal hashes each line as it stands. That is only sound when the line is the canonical form of
//! its value: a forged line with other spacing or key order could carry a hash over its own raw bytes. The
//! scanner therefore accepts exactly the texts that [`canonical_bytes`](crate::canonical_bytes) can produce and
//! [`parse`](crate::parse()) can read, and nothing else; whoever is refused takes the slow road.

use crate::{DEPTH_MAX, Float, INT_DIGITS_MAX, float, write};

/// Bytes that are not the canonical form of any value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not canonical JSON at byte {offset}")]
pub struct NotCanonical {
    /// The first byte at which the proof breaks.
    pub offset: usize,
}

/// A span proved to be canonical JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proved<'a> {
    bytes: &'a [u8],
    depth: usize,
}

impl<'a> Proved<'a> {
    /// Returns the canonical bytes.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Returns how deep containers nest: 0 for a scalar, 1 for `[]`.
    pub fn depth(self) -> usize {
        self.depth
    }
}

/// A member of an object met while scanning.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    /// How many objects and lists enclose it: 1 in the outermost object.
    pub depth: usize,
    /// The key between its quotes, escapes included.
    pub raw_key: &'a [u8],
    /// Offset of the key's opening quote.
    pub start: usize,
    /// Offset behind the value.
    pub end: usize,
    /// The value.
    pub value: Proved<'a>,
}

/// Proves that `bytes` are canonical JSON.
///
/// # Errors
/// [`NotCanonical`] with the first offending offset.
pub fn prove(bytes: &[u8]) -> Result<Proved<'_>, NotCanonical> {
    prove_with(bytes, 0, |_| {})
}

/// Proves that `bytes` are canonical JSON and hands over each member nested at most `depth` deep.
///
/// A member is handed over once its value has been read, so those inside it come first. When the proof fails
/// later, what was handed over proves nothing: wait for `Ok`.
///
/// # Errors
/// [`NotCanonical`] with the first offending offset.
pub fn prove_with<'a>(
    bytes: &'a [u8],
    depth: usize,
    on_member: impl FnMut(Member<'a>),
) -> Result<Proved<'a>, NotCanonical> {
    if let Err(error) = str::from_utf8(bytes) {
        return Err(NotCanonical { offset: error.valid_up_to() });
    }
    let mut scanner = Scanner { bytes, offset: 0, report_depth: depth, on_member };
    let depth = scanner.value(0)?;
    if scanner.offset == bytes.len() { Ok(Proved { bytes, depth }) } else { Err(scanner.broken()) }
}

struct Scanner<'a, F> {
    bytes: &'a [u8],
    offset: usize,
    report_depth: usize,
    on_member: F,
}

impl<'a, F: FnMut(Member<'a>)> Scanner<'a, F> {
    /// Passes a value that `depth` containers enclose and returns how deep it nests itself.
    fn value(&mut self, depth: usize) -> Result<usize, NotCanonical> {
        match self.peek() {
            Some(b'"') => self.string().map(|_| 0),
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'-' | b'0'..=b'9') => self.number().map(|()| 0),
            Some(b't') => self.literal(b"true").map(|()| 0),
            Some(b'f') => self.literal(b"false").map(|()| 0),
            Some(b'n') => self.literal(b"null").map(|()| 0),
            _ => Err(self.broken()),
        }
    }

    fn array(&mut self, depth: usize) -> Result<usize, NotCanonical> {
        self.enter(depth)?;
        let mut deepest = 0;
        if self.take(b']') {
            return Ok(1);
        }
        loop {
            deepest = self.value(depth)?.max(deepest);
            if self.take(b']') {
                return Ok(1 + deepest);
            }
            self.expect(b',')?;
        }
    }

    fn object(&mut self, depth: usize) -> Result<usize, NotCanonical> {
        self.enter(depth)?;
        let mut deepest = 0;
        if self.take(b'}') {
            return Ok(1);
        }
        let mut previous: Option<&'a [u8]> = None;
        loop {
            let start = self.offset;
            let raw_key = self.string()?;
            if previous.is_some_and(|previous| !is_before(previous, raw_key)) {
                return Err(NotCanonical { offset: start });
            }
            previous = Some(raw_key);
            self.expect(b':')?;
            let value_start = self.offset;
            let nested = self.value(depth)?;
            deepest = nested.max(deepest);
            if depth <= self.report_depth {
                let end = self.offset;
                let bytes = self.bytes.get(value_start..end).unwrap_or_default();
                let value = Proved { bytes, depth: nested };
                (self.on_member)(Member { depth, raw_key, start, end, value });
            }
            if self.take(b'}') {
                return Ok(1 + deepest);
            }
            self.expect(b',')?;
        }
    }

    /// Passes a string and returns what is between its quotes.
    fn string(&mut self) -> Result<&'a [u8], NotCanonical> {
        self.expect(b'"')?;
        let start = self.offset;
        loop {
            self.offset += plain_length(self.bytes.get(self.offset..).unwrap_or_default());
            match self.peek() {
                Some(b'"') => {
                    let raw = self.bytes.get(start..self.offset).unwrap_or_default();
                    self.offset += 1;
                    return Ok(raw);
                }
                Some(b'\\') => self.escape()?,
                _ => return Err(self.broken()),
            }
        }
    }

    /// Passes an escape if it is the one the writer would choose.
    fn escape(&mut self) -> Result<(), NotCanonical> {
        let rest = self.bytes.get(self.offset + 1..).unwrap_or_default();
        let length = match rest {
            [b'"' | b'\\' | b'b' | b't' | b'n' | b'f' | b'r', ..] => 2,
            [b'u', b'0', b'0', high @ (b'0' | b'1'), low @ (b'0'..=b'9' | b'a'..=b'f'), ..] => {
                let low = if low.is_ascii_digit() { low - b'0' } else { low - b'a' + 10 };
                let byte = (high - b'0') << 4 | low;
                if write::short_escape(byte).is_some() {
                    return Err(self.broken());
                }
                6
            }
            _ => return Err(self.broken()),
        };
        self.offset += length;
        Ok(())
    }

    fn number(&mut self) -> Result<(), NotCanonical> {
        let start = self.offset;
        let rest = self.bytes.get(start..).unwrap_or_default();
        let length =
            rest.iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e')).count();
        let token = rest.get(..length).unwrap_or_default();
        let integral = token.strip_prefix(b"-").unwrap_or(token);
        let canonical = if integral.iter().all(u8::is_ascii_digit) {
            is_canonical_integer(token, integral)
        } else {
            is_canonical_float(token)
        };
        if !canonical {
            return Err(NotCanonical { offset: start });
        }
        self.offset += length;
        Ok(())
    }

    fn literal(&mut self, literal: &[u8]) -> Result<(), NotCanonical> {
        if !self.bytes.get(self.offset..).unwrap_or_default().starts_with(literal) {
            return Err(self.broken());
        }
        self.offset += literal.len();
        Ok(())
    }

    fn enter(&mut self, depth: usize) -> Result<(), NotCanonical> {
        if depth > DEPTH_MAX {
            return Err(self.broken());
        }
        self.offset += 1;
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.offset).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.offset += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), NotCanonical> {
        if self.take(byte) { Ok(()) } else { Err(self.broken()) }
    }

    fn broken(&self) -> NotCanonical {
        NotCanonical { offset: self.offset }
    }
}

/// Counts the bytes before the first quote, backslash or control character.
fn plain_length(bytes: &[u8]) -> usize {
    const LANES: usize = 16;
    let special = |byte: &u8| *byte == b'"' || *byte == b'\\' || *byte < 0x20;
    let mut length = 0;
    // Without an early exit inside the chunk the compiler tests all its bytes at once.
    for chunk in bytes.chunks_exact(LANES) {
        if chunk.iter().fold(false, |found, byte| found | special(byte)) {
            break;
        }
        length += LANES;
    }
    let tail = bytes.get(length..).unwrap_or_default();
    length + tail.iter().position(special).unwrap_or(tail.len())
}

/// Compares keys as the writer orders them: by their unescaped bytes.
fn is_before(left: &[u8], right: &[u8]) -> bool {
    if left.contains(&b'\\') || right.contains(&b'\\') {
        unescaped(left) < unescaped(right)
    } else {
        left < right
    }
}

/// Decodes the inside of a string that has passed [`Scanner::string`].
fn unescaped(raw: &[u8]) -> Vec<u8> {
    let quoted = [b"\"", raw, b"\""].concat();
    match crate::parse(&quoted) {
        Ok(crate::Value::String(text)) => text.as_bytes().to_vec(),
        // Not reachable for scanned strings; an order that never holds keeps the proof sound regardless.
        _ => Vec::new(),
    }
}

fn is_canonical_integer(token: &[u8], digits: &[u8]) -> bool {
    match digits {
        [] => false,
        [b'0'] => token == b"0",
        [first, ..] => *first != b'0' && digits.len() <= INT_DIGITS_MAX,
    }
}

fn is_canonical_float(token: &[u8]) -> bool {
    let parsed = str::from_utf8(token).ok().and_then(|text| text.parse::<f64>().ok());
    let Some(Ok(parsed)) = parsed.map(Float::new) else { return false };
    let mut spelled = Vec::with_capacity(token.len());
    float::write(parsed, &mut spelled);
    spelled == token
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Int, Object, Value, canonical_bytes, parse};
    use proptest::prelude::*;

    #[test]
    fn what_the_writer_would_not_write_is_refused() {
        for text in [
            "",
            " 1",
            "1 ",
            "01",
            "-0",
            "1.50",
            "1e5",
            "1E+16",
            "+1",
            ".5",
            "1.",
            "-",
            "1e400",
            "\"\\/\"",
            "\"\\u0041\"",
            "\"\\u000a\"",
            "\"\\u001F\"",
            "\"\\u001\"",
            "\"\n\"",
            "\"",
            "\"\\",
            "[1, 2]",
            "[1,]",
            "[",
            "{\"b\":1,\"a\":2}",
            "{\"a\":1,\"a\":1}",
            "{\"a\":1,}",
            "{a:1}",
            "{\"a\" :1}",
            "{\"A\":1,\"\\n\":2}",
            "nul",
            "NaN",
            "tru",
            "1 2",
        ] {
            assert!(prove(text.as_bytes()).is_err(), "{text:?}");
        }
        assert!(prove(b"\"\xff\"").is_err());
        assert!(prove("\u{feff}1".as_bytes()).is_err());
    }

    #[test]
    fn escaped_keys_are_ordered_by_what_they_mean() {
        assert!(prove(br#"{"\n":1,"A":2}"#).is_ok());
        assert!(prove(br#"{"Z":1,"\\":2,"a":3}"#).is_ok());
    }

    #[test]
    fn depth_is_bounded_like_the_parser() {
        let nested = |depth: usize| [b"[".repeat(depth), b"]".repeat(depth)].concat();
        assert!(prove(&nested(DEPTH_MAX)).is_ok());
        assert_eq!(prove(&nested(DEPTH_MAX + 1)), Err(NotCanonical { offset: DEPTH_MAX }));
        assert!(prove(&b"[".repeat(100_000)).is_err());
    }

    #[test]
    fn members_are_handed_over_inside_out_with_their_spans() {
        let text = br#"{"a":{"b":[{"c":1}]},"d":2}"#;
        let mut seen = Vec::new();
        prove_with(text, 2, |member| {
            seen.push((
                member.depth,
                String::from_utf8_lossy(member.raw_key).into_owned(),
                member.start,
                member.end,
            ));
        })
        .unwrap();
        assert_eq!(seen, [(2, "b".into(), 6, 19), (1, "a".into(), 1, 20), (1, "d".into(), 21, 26)]);
    }

    /// Arbitrary trees, with keys and strings that need escaping often.
    pub(super) fn value() -> impl Strategy<Value = Value> {
        let text = || {
            proptest::collection::vec(
                prop_oneof![
                    Just('a'),
                    Just('"'),
                    Just('\\'),
                    Just('\n'),
                    Just('\u{1}'),
                    Just('é'),
                    Just('😀'),
                    any::<char>()
                ],
                0..6,
            )
            .prop_map(|characters| characters.into_iter().collect::<String>())
        };
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::from),
            "-?[1-9][0-9]{18,30}".prop_map(|digits| Value::Int(digits.parse::<Int>().unwrap())),
            any::<f64>().prop_filter_map("finite", |double| Float::new(double).ok().map(Value::Float)),
            text().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::vec((text(), inner), 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect::<Object>())),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_the_writer_writes_is_proved_and_read_back(value in value()) {
            let bytes = canonical_bytes(&value);
            prop_assert_eq!(prove(&bytes).unwrap().depth(), value.depth());
            prop_assert_eq!(parse(&bytes).unwrap(), value);
        }

        #[test]
        fn the_scanner_agrees_with_parse_and_write(value in value(), at: prop::sample::Index, byte: u8) {
            let mut bytes = canonical_bytes(&value);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let slow = parse(&bytes).is_ok_and(|value| canonical_bytes(&value) == bytes);
            prop_assert_eq!(prove(&bytes).is_ok(), slow);
        }

        #[test]
        fn the_scanner_agrees_on_arbitrary_json_like_text(text in r#"[\[\]{}",:0-9eE+.\\untrfalsb \-]{0,24}"#) {
            let slow = parse(text.as_bytes()).is_ok_and(|value| canonical_bytes(&value) == text.as_bytes());
            prop_assert_eq!(prove(text.as_bytes()).is_ok(), slow);
        }
    }
}
