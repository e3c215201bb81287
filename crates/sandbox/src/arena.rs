//! Values on the wire: a list of nodes, in which a container names its children by their positions before it.

use hence_canon::{Float, Int, Object, Value};

use crate::PyValue;
use crate::wire::{Field, Fields, Malformed, Message};

/// The most nodes that a value may have when every shared part is counted as often as it occurs.
const NODES_MAX: u64 = 4_000_000;

/// The nesting of a value; deeper ones are passed as text.
const DEPTH_MAX: u32 = 200;

/// The bytes of the longest integer that becomes a number: it has fewer digits than [`hence_canon::INT_DIGITS_MAX`].
const INT_BYTES_MAX: usize = 1024;

/// The fields of a node that are written or read.
mod kind {
    pub(super) const NONE: u32 = 2;
    pub(super) const BOOLEAN: u32 = 4;
    pub(super) const INT: u32 = 5;
    pub(super) const BIG_INT: u32 = 6;
    pub(super) const FLOAT: u32 = 7;
    pub(super) const TEXT: u32 = 8;
    pub(super) const BYTES: u32 = 9;
    pub(super) const LIST: u32 = 11;
    pub(super) const TUPLE: u32 = 12;
    pub(super) const DICT: u32 = 14;
    pub(super) const SET: u32 = 15;
    pub(super) const FROZEN_SET: u32 = 16;
}

/// Writes values as nodes.
#[derive(Default)]
pub(crate) struct ArenaWriter {
    nodes: Message,
    count: u64,
}

impl ArenaWriter {
    /// Adds a value and returns its position.
    pub(crate) fn add(&mut self, value: &Value) -> u64 {
        let node = match value {
            Value::Null => Message::default().message(kind::NONE, &Message::default()),
            Value::Bool(value) => Message::default().number(kind::BOOLEAN, u64::from(*value)),
            Value::Int(int) => int_node(int),
            Value::Float(float) => Message::default().double(kind::FLOAT, float.get()),
            Value::String(text) => Message::default().text(kind::TEXT, text),
            Value::Array(items) => {
                let items: Vec<u64> = items.iter().map(|item| self.add(item)).collect();
                Message::default().message(kind::LIST, &Message::default().packed(1, &items))
            }
            Value::Object(members) => {
                let mut pairs = Message::default();
                for (key, value) in members.iter() {
                    let key = self.push(&Message::default().text(kind::TEXT, key));
                    let value = self.add(value);
                    pairs = pairs.message(1, &Message::default().number(1, key).number(2, value));
                }
                Message::default().message(kind::DICT, &pairs)
            }
        };
        self.push(&node)
    }

    fn push(&mut self, node: &Message) -> u64 {
        self.nodes = std::mem::take(&mut self.nodes).message(2, node);
        self.count += 1;
        self.count - 1
    }

    /// Returns the arena. The number of nodes comes first, so that the reader can reserve them.
    pub(crate) fn finish(self) -> Message {
        let count =
            if self.count == 0 { Message::default() } else { Message::default().number(1, self.count) };
        count.append(self.nodes)
    }
}

fn int_node(int: &Int) -> Message {
    if let Some(small) = int.as_i64() {
        return Message::default().number(kind::INT, ((small << 1) ^ (small >> 63)) as u64);
    }
    let text = int.to_string();
    let (digits, is_negative) = match text.strip_prefix('-') {
        Some(digits) => (digits, true),
        None => (&*text, false),
    };
    let big = Message::default();
    let big = if is_negative { big.number(1, 1) } else { big };
    Message::default().message(kind::BIG_INT, &big.bytes(2, &magnitude(digits)))
}

/// Returns the bytes of a decimal number, the highest first.
fn magnitude(digits: &str) -> Vec<u8> {
    let mut bytes: Vec<u8> = Vec::new();
    for digit in digits.bytes() {
        let mut carry = u32::from(digit.saturating_sub(b'0'));
        for byte in bytes.iter_mut().rev() {
            carry += u32::from(*byte) * 10;
            *byte = (carry & 0xff) as u8;
            carry >>= 8;
        }
        if carry > 0 {
            bytes.insert(0, carry as u8);
        }
    }
    bytes
}

/// Returns the decimal digits of a number whose highest byte comes first.
fn digits(bytes: &[u8]) -> String {
    // The digits in groups of nine, the lowest group first.
    let mut groups: Vec<u64> = Vec::new();
    for byte in bytes {
        let mut carry = u64::from(*byte);
        for group in &mut groups {
            carry += *group << 8;
            *group = carry % 1_000_000_000;
            carry /= 1_000_000_000;
        }
        if carry > 0 {
            groups.push(carry);
        }
    }
    let mut text = groups.pop().unwrap_or(0).to_string();
    groups.iter().rev().for_each(|group| text.push_str(&format!("{group:09}")));
    text
}

/// The nodes that were received.
pub(crate) struct Arena {
    nodes: Vec<Node>,
}

struct Node {
    value: PyValue,
    /// The nodes of the value, shared parts counted as often as they occur.
    size: u64,
    depth: u32,
}

impl Arena {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut arena = Self { nodes: Vec::new() };
        for field in Fields(bytes) {
            if let (2, Field::Bytes(node)) = field? {
                let node = arena.node(node)?;
                arena.nodes.push(node);
            }
        }
        Ok(arena)
    }

    /// Returns the value at a position.
    pub(crate) fn value(&self, position: u64) -> Result<PyValue, Malformed> {
        Ok(self.at(position)?.value.clone())
    }

    fn at(&self, position: u64) -> Result<&Node, Malformed> {
        usize::try_from(position).ok().and_then(|position| self.nodes.get(position)).ok_or(Malformed)
    }

    fn node(&self, bytes: &[u8]) -> Result<Node, Malformed> {
        let Some(first) = Fields(bytes).next() else { return Ok(leaf(other("object", ""))) };
        let (field, content) = first?;
        let data = |value: Value| Ok(leaf(PyValue::Data(value)));
        match u32::try_from(field).map_err(|_| Malformed)? {
            kind::NONE => data(Value::Null),
            kind::BOOLEAN => data(Value::Bool(content.number()? != 0)),
            kind::INT => {
                let coded = content.number()?;
                data(Value::Int(Int::from((coded >> 1) as i64 ^ -((coded & 1) as i64))))
            }
            kind::BIG_INT => Ok(leaf(big_int(content.bytes()?)?)),
            kind::FLOAT => {
                let Field::Double(number) = content else { return Err(Malformed) };
                Ok(leaf(Float::new(number).map_or_else(
                    |_| other("float", &number.to_string()),
                    |float| PyValue::Data(Value::Float(float)),
                )))
            }
            kind::TEXT => data(content.text()?.into()),
            kind::BYTES => Ok(leaf(other("bytes", &format!("{} bytes", content.bytes()?.len())))),
            kind::LIST | kind::TUPLE | kind::SET | kind::FROZEN_SET => self.list(content.bytes()?),
            kind::DICT => self.dict(content.bytes()?),
            number => Ok(leaf(unknown(number, content))),
        }
    }

    fn list(&self, bytes: &[u8]) -> Result<Node, Malformed> {
        let mut positions = Vec::new();
        for field in Fields(bytes) {
            if let (1, field) = field? {
                field.numbers(&mut positions)?;
            }
        }
        let children =
            positions.into_iter().map(|position| self.at(position)).collect::<Result<Vec<_>, _>>()?;
        Ok(container("list", &children, || {
            let items = children.iter().map(|child| child.value.data().cloned());
            items.collect::<Option<Vec<Value>>>().map(|items| Value::Array(items.into()))
        }))
    }

    fn dict(&self, bytes: &[u8]) -> Result<Node, Malformed> {
        let mut pairs = Vec::new();
        for field in Fields(bytes) {
            if let (1, Field::Bytes(pair)) = field? {
                let (mut key, mut value) = (0, 0);
                for field in Fields(pair) {
                    match field? {
                        (1, field) => key = field.number()?,
                        (2, field) => value = field.number()?,
                        _ => {}
                    }
                }
                pairs.push((self.at(key)?, self.at(value)?));
            }
        }
        let children: Vec<&Node> = pairs.iter().flat_map(|(key, value)| [*key, *value]).collect();
        Ok(container("dict", &children, || {
            let members =
                pairs.iter().map(|(key, value)| Some((key_text(&key.value)?, value.value.data()?.clone())));
            let members = members.collect::<Option<Vec<(std::sync::Arc<str>, Value)>>>()?;
            // Two keys of different types may have one text; such a value is not data.
            Object::from_members(members).ok().map(Value::from)
        }))
    }
}

fn leaf(value: PyValue) -> Node {
    Node { value, size: 1, depth: 0 }
}

/// Makes the node of a container, whose value is data if all its parts are and it is not too large.
fn container(kind: &str, children: &[&Node], data: impl FnOnce() -> Option<Value>) -> Node {
    let size = children.iter().fold(1_u64, |sum, child| sum.saturating_add(child.size));
    let depth = children.iter().map(|child| child.depth).max().map_or(0, |depth| depth.saturating_add(1));
    let value = if size > NODES_MAX || depth > DEPTH_MAX { None } else { data() };
    let value = value.map_or_else(|| other(kind, &format!("{} items", children.len())), PyValue::Data);
    Node { value, size, depth }
}

fn other(kind: &str, text: &str) -> PyValue {
    PyValue::Other { kind: kind.to_owned(), text: text.to_owned() }
}

fn unknown(number: u32, content: Field<'_>) -> PyValue {
    let kind = match number {
        17 => "date",
        18 => "time",
        19 => "datetime",
        20 => "timedelta",
        22 => "exception",
        23 => "type",
        24 => "instance",
        25 => "function",
        26 => "builtin",
        27 => "path",
        _ => "object",
    };
    let text = content.text().ok().filter(|text| !text.chars().any(char::is_control));
    other(kind, text.unwrap_or_default())
}

fn big_int(bytes: &[u8]) -> Result<PyValue, Malformed> {
    let (mut sign, mut magnitude) = ("", &[][..]);
    for field in Fields(bytes) {
        match field? {
            (1, field) if field.number()? != 0 => sign = "-",
            (2, field) => magnitude = field.bytes()?,
            _ => {}
        }
    }
    if magnitude.len() > INT_BYTES_MAX {
        return Ok(other("int", &format!("{} bytes", magnitude.len())));
    }
    let int = format!("{sign}{}", digits(magnitude)).parse::<Int>().map_err(|_| Malformed)?;
    Ok(PyValue::Data(Value::Int(int)))
}

/// Returns the text of a key, as Python's `json` writes it.
fn key_text(key: &PyValue) -> Option<std::sync::Arc<str>> {
    Some(match key.data()? {
        Value::String(text) => text.clone(),
        Value::Int(int) => int.to_string().into(),
        Value::Bool(value) => (if *value { "true" } else { "false" }).into(),
        Value::Null => "null".into(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(value: &Value) -> PyValue {
        let mut writer = ArenaWriter::default();
        let position = writer.add(value);
        Arena::read(&writer.finish().into_bytes()).unwrap().value(position).unwrap()
    }

    #[test]
    fn a_value_reads_back_as_it_was_written() {
        let text = r#"{"a":[1,-1,0,null,true,2.5,"é\u0000"],"b":{"c":[],"d":{}},
            "e":9223372036854775807,"f":-9223372036854775808,"g":9223372036854775808,
            "h":-123456789012345678901234567890,"i":1000000000000000000000000000}"#;
        let value = hence_canon::parse(text.as_bytes()).unwrap();
        assert_eq!(round_trip(&value), PyValue::Data(value));
    }

    #[test]
    fn a_value_that_shares_its_parts_is_not_expanded_without_limit() {
        let mut nodes = Message::default().message(2, &Message::default().text(kind::TEXT, "x"));
        for position in 0..60_u64 {
            let list = Message::default().packed(1, &[position, position]);
            nodes = nodes.message(2, &Message::default().message(kind::LIST, &list));
        }
        let arena = Arena::read(&nodes.into_bytes()).unwrap();
        assert!(matches!(arena.value(60).unwrap(), PyValue::Other { .. }));
        assert!(arena.value(61).is_err(), "a position that does not exist");
        let forward = Message::default()
            .message(2, &Message::default().message(kind::LIST, &Message::default().packed(1, &[0])));
        assert!(Arena::read(&forward.into_bytes()).is_err(), "a list that contains itself");
    }
}
