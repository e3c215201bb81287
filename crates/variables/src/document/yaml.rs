//! YAML 1.2 into values, losing nothing.
//!
//! A parser's events are turned into values here, because typed deserialisers lose what documents need: long
//! integers, duplicate keys, and the difference between `no` and `false`.

use std::collections::BTreeMap;
use std::sync::Arc;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};
use hence_canon::{DEPTH_MAX, Object, Value};

use crate::limits::YAML_NODES_MAX;

mod scalar;

/// A text that is not YAML, or that JSON cannot express.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at line {line}, column {column}")]
pub struct YamlError {
    /// What is wrong.
    pub kind: YamlErrorKind,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// What is wrong with a YAML text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what each variant means")]
pub enum YamlErrorKind {
    #[error("text is not UTF-8")]
    InvalidUtf8,
    #[error("{0}")]
    Syntax(String),
    #[error("key {0:?} occurs twice in one mapping")]
    DuplicateKey(String),
    #[error("a key must be a text, found {0}")]
    KeyNotText(String),
    #[error("unknown tag {0}")]
    UnknownTag(String),
    #[error("{found:?} is not {expected}")]
    TagMismatch { expected: &'static str, found: String },
    #[error("number is not finite or not representable")]
    Number,
    #[error("an alias stands inside what it refers to")]
    RecursiveAlias,
    #[error("nesting is deeper than {DEPTH_MAX}")]
    TooDeep,
    #[error("text stands for more than {YAML_NODES_MAX} nodes")]
    TooManyNodes,
    #[error("a second document follows")]
    SecondDocument,
}

/// Reads one YAML document by the core schema of YAML 1.2.
pub(super) fn parse(text: &[u8]) -> Result<Value, YamlError> {
    let text = str::from_utf8(text).map_err(|error| {
        let before = text.get(..error.valid_up_to()).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        YamlError { kind: YamlErrorKind::InvalidUtf8, line, column: 1 }
    })?;
    Reader { parser: Parser::new_from_str(text), anchors: BTreeMap::new(), nodes: 0 }.document()
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    anchors: BTreeMap<usize, Anchored>,
    nodes: usize,
}

#[derive(Clone)]
struct Anchored {
    value: Value,
    depth: usize,
    nodes: usize,
}

type Spanned<'a> = (Event<'a>, Span);

impl<'a> Reader<'a> {
    fn document(mut self) -> Result<Value, YamlError> {
        let mut document = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(document.unwrap_or_default()),
                Event::StreamStart | Event::DocumentEnd => {}
                Event::DocumentStart(..) if document.is_some() => {
                    return wrong(YamlErrorKind::SecondDocument, span);
                }
                Event::DocumentStart(..) => {
                    let first = self.next()?;
                    document = Some(self.node(first, 0)?);
                }
                other => return wrong(YamlErrorKind::Syntax(format!("unexpected {other:?}")), span),
            }
        }
    }

    fn next(&mut self) -> Result<Spanned<'a>, YamlError> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(syntax(&error)),
            None => Err(YamlError {
                kind: YamlErrorKind::Syntax("unexpected end".to_owned()),
                line: 1,
                column: 1,
            }),
        }
    }

    fn node(&mut self, (event, span): Spanned<'a>, depth: usize) -> Result<Value, YamlError> {
        let before = self.nodes;
        self.count(1, span)?;
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain;
                let value =
                    scalar::resolve(&text, plain, tag.as_deref()).map_err(|kind| place(kind, span))?;
                (value, anchor)
            }
            Event::SequenceStart(_, anchor, tag) => {
                check_collection(tag.as_deref(), "seq", depth, span)?;
                (self.sequence(depth + 1)?, anchor)
            }
            Event::MappingStart(_, anchor, tag) => {
                check_collection(tag.as_deref(), "map", depth, span)?;
                (self.mapping(depth + 1)?, anchor)
            }
            Event::Alias(anchor) => return self.alias(anchor, depth, span),
            other => return wrong(YamlErrorKind::Syntax(format!("unexpected {other:?}")), span),
        };
        if anchor != 0 {
            let (depth, nodes) = (value.depth(), self.nodes - before);
            self.anchors.insert(anchor, Anchored { value: value.clone(), depth, nodes });
        }
        Ok(value)
    }

    /// Follows an alias. What it stands for counts as if it were written out.
    fn alias(&mut self, anchor: usize, depth: usize, span: Span) -> Result<Value, YamlError> {
        let Some(anchored) = self.anchors.get(&anchor).cloned() else {
            return wrong(YamlErrorKind::RecursiveAlias, span);
        };
        if depth + anchored.depth > DEPTH_MAX {
            return wrong(YamlErrorKind::TooDeep, span);
        }
        self.count(anchored.nodes, span)?;
        Ok(anchored.value)
    }

    fn count(&mut self, nodes: usize, span: Span) -> Result<(), YamlError> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > YAML_NODES_MAX { wrong(YamlErrorKind::TooManyNodes, span) } else { Ok(()) }
    }

    fn sequence(&mut self, depth: usize) -> Result<Value, YamlError> {
        let mut items: Vec<Value> = Vec::new();
        loop {
            let next = self.next()?;
            if next.0 == Event::SequenceEnd {
                return Ok(items.into());
            }
            items.push(self.node(next, depth)?);
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<Value, YamlError> {
        let mut members: Vec<(Arc<str>, Value)> = Vec::new();
        let mut spans = Vec::new();
        loop {
            let next = self.next()?;
            if next.0 == Event::MappingEnd {
                break;
            }
            let span = next.1;
            let key = match self.node(next, depth)? {
                Value::String(key) => key,
                other => {
                    let found = other.to_string().chars().take(80).collect();
                    return wrong(YamlErrorKind::KeyNotText(found), span);
                }
            };
            let value = self.next()?;
            members.push((key, self.node(value, depth)?));
            spans.push(span);
        }
        match Object::from_members(members) {
            Ok(object) => Ok(object.into()),
            Err(twice) => {
                let span = spans.get(twice.position).copied().unwrap_or_default();
                wrong(YamlErrorKind::DuplicateKey(twice.key.to_string()), span)
            }
        }
    }
}

fn check_collection(
    tag: Option<&Tag>,
    expected: &'static str,
    depth: usize,
    span: Span,
) -> Result<(), YamlError> {
    if depth >= DEPTH_MAX {
        return wrong(YamlErrorKind::TooDeep, span);
    }
    match tag {
        None => Ok(()),
        Some(tag) if scalar::is_non_specific(tag) || tag.core_suffix() == Some(expected) => Ok(()),
        Some(tag) if tag.core_suffix().is_some() => {
            wrong(YamlErrorKind::TagMismatch { expected, found: tag.original() }, span)
        }
        Some(tag) => wrong(YamlErrorKind::UnknownTag(tag.original()), span),
    }
}

fn wrong<T>(kind: YamlErrorKind, span: Span) -> Result<T, YamlError> {
    Err(place(kind, span))
}

fn place(kind: YamlErrorKind, span: Span) -> YamlError {
    YamlError { kind, line: span.start.line(), column: span.start.col() + 1 }
}

fn syntax(error: &ScanError) -> YamlError {
    let at = error.marker();
    YamlError { kind: YamlErrorKind::Syntax(error.info()), line: at.line(), column: at.col() + 1 }
}

#[cfg(test)]
mod tests;
