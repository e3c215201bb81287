//! Places in a text.

use hence_canon::Position;

/// A stretch of text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Where it starts.
    pub start: Position,
    /// Where it ends, exclusive.
    pub end: Position,
}

/// Where a value stands, and the key in front of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The key, for members of mappings.
    pub key: Option<Span>,
    /// The value.
    pub value: Span,
}

impl Place {
    /// Returns what to underline for something wrong with the member as a whole: its key, else its value.
    pub fn head(&self) -> Span {
        self.key.unwrap_or(self.value)
    }
}

pub(crate) fn position(marker: &granit_parser::Marker) -> Position {
    // Columns are counted from 1 for people; the reader of a `str` always knows the byte.
    let offset = marker.byte_offset().unwrap_or_else(|| marker.index());
    Position { offset, line: marker.line(), column: marker.col() + 1 }
}

pub(crate) fn span(span: granit_parser::Span) -> Span {
    Span { start: position(&span.start), end: position(&span.end) }
}
