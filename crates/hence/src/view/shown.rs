//! Values of runs in responses, cut where they are long, and lists in windows.

use hence_canon::{Kind, Value};
use hence_server::Window;
use hence_server::limits::RESPONSE_BYTES_MAX;

use crate::prelude::*;

/// The longest canonical text of a value that is given whole.
pub(super) const WHOLE_BYTES_MAX: usize = 4096;

/// The characters that are given of a longer one.
const START_CHARACTERS: usize = 512;

/// The bytes of a response that are left for what is around a list.
const ROOM_BYTES: usize = 24 * 1024;

/// A value of a run: whole if it is short, otherwise its size and its start.
#[derive(Serialize, JsonSchema, Clone)]
pub(super) struct Shown {
    /// `null`, `boolean`, `number`, `string`, `array` or `object`.
    kind: &'static str,
    /// The length of its canonical text.
    bytes: usize,
    /// The number of its elements or members.
    count: Option<usize>,
    /// Whether `value` is the value.
    whole: bool,
    /// The value, if it is short.
    value: Option<Data>,
    /// The start of its text, if it is not.
    start: Option<String>,
}

impl Shown {
    pub(super) fn of(value: &Value) -> Self {
        Self::within(value, WHOLE_BYTES_MAX)
    }

    /// Gives a value whole up to another length.
    pub(super) fn within(value: &Value, whole_bytes_max: usize) -> Self {
        let count = match value {
            Value::Array(items) => Some(items.len()),
            Value::Object(members) => Some(members.len()),
            _ => None,
        };
        let kind = kind_word(value);
        let text = value.to_string();
        if text.len() <= whole_bytes_max {
            let value = Some(Data(value.clone()));
            return Self { kind, bytes: text.len(), count, whole: true, value, start: None };
        }
        // Of a text its characters are given, of anything else its JSON.
        let start: String = value.as_str().unwrap_or(&text).chars().take(START_CHARACTERS).collect();
        Self { kind, bytes: text.len(), count, whole: false, value: None, start: Some(start) }
    }

    /// Leaves the value out, and only says how large it is.
    pub(super) fn leave_out(&mut self) {
        self.whole = false;
        self.value = None;
        self.start = None;
    }

    pub(super) fn maybe(value: Option<&Value>) -> Option<Self> {
        value.map(Self::of)
    }
}

fn kind_word(value: &Value) -> &'static str {
    match value.kind() {
        Kind::Null => "null",
        Kind::Bool => "boolean",
        Kind::Int | Kind::Float => "number",
        Kind::String => "string",
        Kind::Array => "array",
        Kind::Object => "object",
    }
}

/// A part of a list.
#[derive(Serialize, JsonSchema)]
pub(super) struct List<T> {
    /// The length of the whole list; null where counting it would mean reading everything.
    pub(super) total: Option<u64>,
    /// The place of the first item that was asked for.
    pub(super) from: u64,
    /// The place at which the list continues; null at its end.
    pub(super) next: Option<u64>,
    /// The items.
    pub(super) items: Vec<T>,
}

/// Counts the bytes that are left of a response.
pub(super) struct Budget {
    left: usize,
}

impl Budget {
    /// Returns the budget of a response, or none for a window of a whole list.
    pub(super) fn of(window: Window) -> Self {
        let left = if window == Window::WHOLE { usize::MAX } else { RESPONSE_BYTES_MAX - ROOM_BYTES };
        Self { left }
    }

    /// Takes the bytes of an item; `false` when they are not left.
    pub(super) fn take(&mut self, item: &impl Serialize) -> bool {
        let mut counted = Counted(0);
        // Counting cannot fail: every report has string keys and valid JSON inside.
        let _ = serde_json::to_writer(&mut counted, item);
        match self.left.checked_sub(counted.0 + 1) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }
}

struct Counted(usize);

impl std::io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<T: Serialize> List<T> {
    /// Takes the window of a list whose items can be made one by one.
    pub(super) fn of(window: Window, total: u64, mut item: impl FnMut(u64) -> Option<T>) -> Self {
        let mut budget = Budget::of(window);
        let until = window.from.saturating_add(window.limit).min(total);
        let mut items = Vec::new();
        let mut at = window.from;
        while at < until {
            if let Some(item) = item(at) {
                // One item is always given, or a reader would never get past it.
                if !budget.take(&item) && !items.is_empty() {
                    break;
                }
                items.push(item);
            }
            at += 1;
        }
        Self { total: Some(total), from: window.from, next: (at < total).then_some(at), items }
    }

    /// Takes the window of a list that is in memory.
    pub(super) fn of_slice<S>(window: Window, all: &[S], mut item: impl FnMut(&S) -> T) -> Self {
        Self::of(window, all.len() as u64, |at| all.get(usize::try_from(at).ok()?).map(&mut item))
    }
}
