//! Spans of keys and values in a text.

use hence_canon::Position;

/// A range of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The position of the first character.
    pub start: Position,
    /// The position after the last character.
    pub end: Position,
}

/// The span of a value, and of the key before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The span of the key, for members of mappings.
    pub key: Option<Span>,
    /// The span of the value.
    pub value: Span,
}

impl Place {
    /// Returns the span to underline for a finding about the whole member: its key, or its value if it has no key.
    pub fn head(&self) -> Span {
        self.key.unwrap_or(self.value)
    }
}

pub(crate) fn position(marker: &granit_parser::Marker) -> Position {
    // Columns start at 1. A parser of a `str` always knows the byte offset.
    let offset = marker.byte_offset().unwrap_or_else(|| marker.index());
    Position { offset, line: marker.line(), column: marker.col() + 1 }
}

pub(crate) fn span(span: granit_parser::Span) -> Span {
    Span { start: position(&span.start), end: position(&span.end) }
}
