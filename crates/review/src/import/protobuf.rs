//! OpenTelemetry spans in the protobuf encoding → the equivalent JSON document.
//!
//! Seven small messages are needed, of which most fields are skipped. A reader of their wire format is shorter than the
//! declarations a general library would need, and works without a schema compiler.

use hence_canon::{Float, Object, Value};

/// The greatest nesting of lists in attributes; deeper values are dropped.
const VALUE_DEPTH_MAX: usize = 32;

/// One field in the wire format.
enum Wire<'b> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'b [u8]),
    Fixed32,
}

/// Iterator over the fields of a message; it ends where the bytes are malformed.
struct Fields<'b> {
    bytes: &'b [u8],
    broken: bool,
}

impl<'b> Fields<'b> {
    fn of(bytes: &'b [u8]) -> Self {
        Self { bytes, broken: false }
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for place in 0..10 {
            let (first, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            // The tenth byte holds the last bit; higher bits do not fit.
            value |= u64::from(first & 0x7f).checked_shl(7 * place)?;
            if first & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    fn field(&mut self) -> Option<(u64, Wire<'b>)> {
        let tag = self.varint()?;
        let wire = match tag & 7 {
            0 => Wire::Varint(self.varint()?),
            1 => Wire::Fixed64(u64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            2 => {
                let count = usize::try_from(self.varint()?).ok()?;
                Wire::Bytes(self.take(count)?)
            }
            5 => {
                self.take(4)?;
                Wire::Fixed32
            }
            _ => return None,
        };
        Some((tag >> 3, wire)).filter(|(number, _)| *number > 0)
    }
}

impl<'b> Iterator for Fields<'b> {
    type Item = (u64, Wire<'b>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.bytes.is_empty() || self.broken {
            return None;
        }
        let field = self.field();
        self.broken = field.is_none();
        field
    }
}

/// Returns the nested messages with a field number; `None` when the bytes are malformed.
fn messages(bytes: &[u8], number: u64) -> Option<Vec<&[u8]>> {
    let mut fields = Fields::of(bytes);
    let found = fields.by_ref().filter_map(|(found, wire)| match wire {
        Wire::Bytes(bytes) if found == number => Some(bytes),
        _ => None,
    });
    let found = found.collect();
    (!fields.broken).then_some(found)
}

/// Reads one export request, or several with a four-byte length before each, as the collector writes files.
pub(super) fn document(bytes: &[u8]) -> Option<Value> {
    if bytes.is_empty() {
        return None;
    }
    let whole = resources(bytes).filter(|found| !found.is_empty());
    let found = whole.or_else(|| {
        let mut rest = bytes;
        let mut found = Vec::new();
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let (message, after) =
                after.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
            found.extend(resources(message)?);
            rest = after;
        }
        rest.is_empty().then_some(found).filter(|found| !found.is_empty())
    })?;
    Some(Object::from_iter([("resourceSpans", Value::from(found))]).into())
}

fn resources(bytes: &[u8]) -> Option<Vec<Value>> {
    messages(bytes, 1)?.into_iter().map(resource_spans).collect()
}

fn resource_spans(bytes: &[u8]) -> Option<Value> {
    let mut attributes = Vec::new();
    for resource in messages(bytes, 1)? {
        attributes.extend(messages(resource, 1)?.into_iter().filter_map(|pair| key_value(pair, 0)));
    }
    let mut spans = Vec::new();
    for scope in messages(bytes, 2)? {
        for span_bytes in messages(scope, 2)? {
            spans.push(span(span_bytes)?);
        }
    }
    let resource = Object::from_iter([("attributes", Value::from(attributes))]);
    let scope: Value = Object::from_iter([("spans", Value::from(spans))]).into();
    Some(Object::from_iter([("resource", Value::from(resource)), ("scopeSpans", vec![scope].into())]).into())
}

fn span(bytes: &[u8]) -> Option<Value> {
    let mut members: Vec<(&str, Value)> = Vec::new();
    let mut attributes = Vec::new();
    let mut fields = Fields::of(bytes);
    for (number, wire) in fields.by_ref() {
        match (number, wire) {
            (1, Wire::Bytes(id)) => members.push(("traceId", hex(id).into())),
            (2, Wire::Bytes(id)) => members.push(("spanId", hex(id).into())),
            (4, Wire::Bytes(id)) if !id.is_empty() => members.push(("parentSpanId", hex(id).into())),
            (5, Wire::Bytes(name)) => members.push(("name", text(name).into())),
            (7, Wire::Fixed64(nanos)) => members.push(("startTimeUnixNano", nanos.to_string().into())),
            (8, Wire::Fixed64(nanos)) => members.push(("endTimeUnixNano", nanos.to_string().into())),
            (9, Wire::Bytes(pair)) => attributes.extend(key_value(pair, 0)),
            (15, Wire::Bytes(found)) => members.push(("status", status(found)?)),
            _ => {}
        }
    }
    if fields.broken {
        return None;
    }
    members.push(("attributes", attributes.into()));
    // Of a repeated field the last value counts.
    let mut object = Object::new();
    for (key, value) in members {
        object = object.with(key, value);
    }
    Some(object.into())
}

fn status(bytes: &[u8]) -> Option<Value> {
    let mut object = Object::new();
    let mut fields = Fields::of(bytes);
    for (number, wire) in fields.by_ref() {
        match (number, wire) {
            (2, Wire::Bytes(message)) => object = object.with("message", text(message)),
            (3, Wire::Varint(code)) => object = object.with("code", code),
            _ => {}
        }
    }
    (!fields.broken).then(|| object.into())
}

fn key_value(bytes: &[u8], depth: usize) -> Option<Value> {
    let (mut key, mut value) = (String::new(), Object::new());
    let mut fields = Fields::of(bytes);
    for (number, wire) in fields.by_ref() {
        match (number, wire) {
            (1, Wire::Bytes(name)) => key = text(name),
            (2, Wire::Bytes(found)) => value = any_value(found, depth + 1)?,
            _ => {}
        }
    }
    (!fields.broken).then(|| Object::from_iter([("key", Value::from(key)), ("value", value.into())]).into())
}

fn any_value(bytes: &[u8], depth: usize) -> Option<Object> {
    if depth > VALUE_DEPTH_MAX {
        return None;
    }
    let one = |key: &str, value: Value| Object::from_iter([(key, value)]);
    let mut found = Object::new();
    let mut fields = Fields::of(bytes);
    for (number, wire) in fields.by_ref() {
        found = match (number, wire) {
            (1, Wire::Bytes(words)) => one("stringValue", text(words).into()),
            (2, Wire::Varint(flag)) => one("boolValue", (flag != 0).into()),
            (3, Wire::Varint(number)) => one("intValue", number.cast_signed().to_string().into()),
            (4, Wire::Fixed64(bits)) => match Float::new(f64::from_bits(bits)) {
                Ok(number) => one("doubleValue", number.into()),
                Err(_) => one("stringValue", f64::from_bits(bits).to_string().into()),
            },
            (5, Wire::Bytes(list)) => {
                let items =
                    messages(list, 1)?.into_iter().map(|item| any_value(item, depth + 1).map(Value::from));
                one("arrayValue", one("values", items.collect::<Option<Vec<Value>>>()?.into()).into())
            }
            (6, Wire::Bytes(list)) => {
                let pairs = messages(list, 1)?.into_iter().map(|pair| key_value(pair, depth + 1));
                one("kvlistValue", one("values", pairs.collect::<Option<Vec<Value>>>()?.into()).into())
            }
            (7, Wire::Bytes(raw)) => one("bytesValue", hex(raw).into()),
            _ => continue,
        };
    }
    (!fields.broken).then_some(found)
}

/// Returns a text, with bytes that are not UTF-8 replaced.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
