//! The reader: turns the events of a parser into a value and the places of its parts.
//!
//! Typed deserialisers lose information that documents need: long integers, duplicate keys, the difference between `no`
//! and `false`, and positions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use granit_parser::{Event, Parser, ScalarStyle, Span, StrInput, Tag};
use hence_canon::{JsonPointer, Object, Position, Value};

use crate::place::{position, span};
use crate::{Document, Place, YamlError, YamlErrorKind, scalar};

/// The maximum nesting depth of a text. People write these documents, and real ones are far less deep.
pub const DEPTH_MAX: usize = 128;
const _: () = assert!(DEPTH_MAX <= hence_canon::DEPTH_MAX);

/// The maximum number of nodes in a document after its aliases are expanded.
///
/// A few lines of aliases can expand to billions of nodes; a text that writes out this many nodes has megabytes.
pub const NODES_MAX: usize = 1_000_000;

/// The maximum number of bytes in all scalars of a document after its aliases are expanded.
///
/// A thousand aliases of one long text are few nodes and gigabytes. A document on the command line has at most as many
/// bytes, so this limit refuses nothing that is written out.
pub const EXPANDED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Reads one YAML document by the core schema of YAML 1.2.
///
/// # Errors
/// [`YamlError`] with line and column for what is not YAML, what JSON cannot express, and what is too deep or too
/// large.
pub fn parse(text: &[u8]) -> Result<Document, YamlError> {
    let document = parse_repeated(text)?;
    match document.repeated().first() {
        None => Ok(document),
        Some(first) => Err(first.clone()),
    }
}

/// Reads one YAML document in spite of keys that occur twice, which [`Document::repeated`] lists.
///
/// # Errors
/// The same as for [`parse`], duplicate keys left out.
pub fn parse_repeated(text: &[u8]) -> Result<Document, YamlError> {
    let text = utf8(text)?;
    Reader::new(text, Places::Kept).document(text)
}

/// Reads the value of one YAML document without places, under the same limits.
///
/// Leaving the places out saves memory for a deep text of many nodes.
///
/// # Errors
/// The same as for [`parse`].
pub fn parse_value(text: &[u8]) -> Result<Value, YamlError> {
    let text = utf8(text)?;
    let document = Reader::new(text, Places::Left).document(text)?;
    match document.repeated().first() {
        None => Ok(document.into_value()),
        Some(first) => Err(first.clone()),
    }
}

/// The choice between recording the places of values and leaving them out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Places {
    Kept,
    Left,
}

fn utf8(text: &[u8]) -> Result<&str, YamlError> {
    // Some editors begin a file with a mark of its encoding.
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    str::from_utf8(text).map_err(|error| {
        let before = text.get(..error.valid_up_to()).unwrap_or_default();
        YamlError { kind: YamlErrorKind::InvalidUtf8, position: end_of(&String::from_utf8_lossy(before)) }
    })
}

/// Returns the position after the last character of a text.
fn end_of(text: &str) -> Position {
    let line_start = text.rfind('\n').map_or(0, |at| at + 1);
    let line = text.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = text.get(line_start..).map_or(0, |line| line.chars().count()) + 1;
    Position { offset: text.len(), line, column }
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    anchors: BTreeMap<usize, Anchored>,
    size: Size,
    keeps: Places,
    /// The path to the node being read.
    at: Vec<String>,
    places: BTreeMap<JsonPointer, Place>,
    /// The keys that occur a second time in their mapping.
    repeated: Vec<YamlError>,
}

#[derive(Clone)]
struct Anchored {
    value: Value,
    depth: usize,
    size: Size,
}

/// The size of a part of a document with its aliases expanded.
#[derive(Clone, Copy, Default)]
struct Size {
    nodes: usize,
    /// The bytes of its scalars, keys included.
    bytes: usize,
}

type Spanned<'a> = (Event<'a>, Span);

impl<'a> Reader<'a> {
    fn new(text: &'a str, keeps: Places) -> Self {
        Self {
            parser: Parser::new_from_str(text),
            anchors: BTreeMap::new(),
            size: Size::default(),
            keeps,
            at: Vec::new(),
            places: BTreeMap::new(),
            repeated: Vec::new(),
        }
    }

    fn document(mut self, text: &str) -> Result<Document, YamlError> {
        let mut document = None;
        loop {
            let (event, span) = self.next(text)?;
            match event {
                Event::StreamEnd => break,
                Event::StreamStart | Event::DocumentEnd => {}
                Event::DocumentStart(..) if document.is_some() => {
                    return wrong(YamlErrorKind::SecondDocument, span);
                }
                Event::DocumentStart(..) => {
                    let first = self.next(text)?;
                    document = Some(self.node(first, None, 0, text)?);
                }
                other => return wrong(YamlErrorKind::Syntax(format!("unexpected {other:?}")), span),
            }
        }
        let start = Position { offset: 0, line: 1, column: 1 };
        let root = crate::Span { start, end: end_of(text) };
        Ok(Document::new(document.unwrap_or_default(), root, self.places).with_repeated(self.repeated))
    }

    fn next(&mut self, text: &str) -> Result<Spanned<'a>, YamlError> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(YamlError {
                kind: YamlErrorKind::Syntax(error.info()),
                position: position(error.marker()),
            }),
            None => Err(YamlError {
                kind: YamlErrorKind::Syntax("unexpected end".to_owned()),
                position: end_of(text),
            }),
        }
    }

    fn node(
        &mut self,
        (event, here): Spanned<'a>,
        key: Option<Span>,
        depth: usize,
        text: &str,
    ) -> Result<Value, YamlError> {
        let before = self.size;
        self.count(Size { nodes: 1, bytes: scalar_bytes(&event) }, here)?;
        if self.keeps == Places::Kept {
            let place = Place { key: key.map(span), value: span(here) };
            self.places.insert(self.at.iter().collect(), place);
        }
        let (value, anchor) = match event {
            Event::Scalar(scalar, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain;
                let value = scalar::resolve(&scalar, plain, tag.as_deref());
                (value.or_else(|kind| wrong(kind, here))?, anchor)
            }
            Event::SequenceStart(_, anchor, tag) => {
                check_collection(tag.as_deref(), "seq", depth, here)?;
                (self.sequence(depth + 1, text)?, anchor)
            }
            Event::MappingStart(_, anchor, tag) => {
                check_collection(tag.as_deref(), "map", depth, here)?;
                (self.mapping(depth + 1, text)?, anchor)
            }
            Event::Alias(anchor) => return self.alias(anchor, depth, here),
            other => return wrong(YamlErrorKind::Syntax(format!("unexpected {other:?}")), here),
        };
        if anchor != 0 {
            let (depth, now) = (value.depth(), self.size);
            let size = Size { nodes: now.nodes - before.nodes, bytes: now.bytes - before.bytes };
            self.anchors.insert(anchor, Anchored { value: value.clone(), depth, size });
        }
        Ok(value)
    }

    /// Returns the value of an alias. Its nodes and bytes count as if they were written out, and its place is that of the alias.
    fn alias(&mut self, anchor: usize, depth: usize, here: Span) -> Result<Value, YamlError> {
        let Some(anchored) = self.anchors.get(&anchor).cloned() else {
            return wrong(YamlErrorKind::RecursiveAlias, here);
        };
        if depth + anchored.depth > DEPTH_MAX {
            return wrong(YamlErrorKind::TooDeep, here);
        }
        self.count(anchored.size, here)?;
        Ok(anchored.value)
    }

    fn count(&mut self, size: Size, here: Span) -> Result<(), YamlError> {
        self.size.nodes = self.size.nodes.saturating_add(size.nodes);
        self.size.bytes = self.size.bytes.saturating_add(size.bytes);
        if self.size.nodes > NODES_MAX {
            return wrong(YamlErrorKind::TooManyNodes, here);
        }
        if self.size.bytes > EXPANDED_BYTES_MAX { wrong(YamlErrorKind::TooManyBytes, here) } else { Ok(()) }
    }

    fn sequence(&mut self, depth: usize, text: &str) -> Result<Value, YamlError> {
        let mut items: Vec<Value> = Vec::new();
        loop {
            let next = self.next(text)?;
            if next.0 == Event::SequenceEnd {
                return Ok(items.into());
            }
            self.at.push(items.len().to_string());
            items.push(self.node(next, None, depth, text)?);
            self.at.pop();
        }
    }

    fn mapping(&mut self, depth: usize, text: &str) -> Result<Value, YamlError> {
        let mut members: Vec<(Arc<str>, Value)> = Vec::new();
        let mut seen = BTreeSet::new();
        loop {
            let next = self.next(text)?;
            if next.0 == Event::MappingEnd {
                break;
            }
            let here = next.1;
            let key = self.key(next, depth, text)?;
            let value = self.next(text)?;
            if !seen.insert(key.clone()) {
                let kind = YamlErrorKind::DuplicateKey(key.to_string());
                self.repeated.push(YamlError { kind, position: position(&here.start) });
                // The first member counts, and no pointer leads to this one.
                let places = std::mem::take(&mut self.places);
                self.node(value, None, depth, text)?;
                self.places = places;
                continue;
            }
            self.at.push(key.to_string());
            members.push((key, self.node(value, Some(here), depth, text)?));
            self.at.pop();
        }
        Ok(members.into_iter().collect::<Object>().into())
    }

    fn key(&mut self, next: Spanned<'a>, depth: usize, text: &str) -> Result<Arc<str>, YamlError> {
        let here = next.1;
        // A key is read like any other node, but its places are discarded: no pointer leads to them.
        let places = std::mem::take(&mut self.places);
        let key = self.node(next, None, depth, text);
        self.places = places;
        match key? {
            Value::String(key) => Ok(key),
            other => {
                let found = other.to_string().chars().take(80).collect();
                wrong(YamlErrorKind::KeyNotText(found), here)
            }
        }
    }
}

fn scalar_bytes(event: &Event<'_>) -> usize {
    if let Event::Scalar(text, ..) = event { text.len() } else { 0 }
}

fn check_collection(
    tag: Option<&Tag>,
    expected: &'static str,
    depth: usize,
    here: Span,
) -> Result<(), YamlError> {
    if depth >= DEPTH_MAX {
        return wrong(YamlErrorKind::TooDeep, here);
    }
    match tag {
        None => Ok(()),
        Some(tag) if scalar::is_non_specific(tag) || tag.core_suffix() == Some(expected) => Ok(()),
        Some(tag) if tag.core_suffix().is_some() => {
            wrong(YamlErrorKind::TagMismatch { expected, found: tag.original() }, here)
        }
        Some(tag) => wrong(YamlErrorKind::UnknownTag(tag.original()), here),
    }
}

fn wrong<T>(kind: YamlErrorKind, here: Span) -> Result<T, YamlError> {
    Err(YamlError { kind, position: position(&here.start) })
}
