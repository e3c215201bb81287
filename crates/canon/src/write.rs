//! The canonical writer (`json-c14n-v1`).

use std::io::Write as _;

use crate::plain::plain_length;
use crate::{Value, float};

/// Returns the canonical bytes of `value`: members in byte order of their keys, no spaces, minimal escapes.
pub fn canonical_bytes(value: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    write(value, &mut out);
    out
}

/// Appends the canonical bytes of `value`.
pub(crate) fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Int(int) => write!(out, "{int}").expect("writing to memory does not fail"),
        Value::Float(float) => float::write(*float, out),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => write_list(items, out, write),
        Value::Object(object) => {
            out.push(b'{');
            for (position, (key, member)) in object.iter_sorted().enumerate() {
                if position > 0 {
                    out.push(b',');
                }
                write_string(key, out);
                out.push(b':');
                write(member, out);
            }
            out.push(b'}');
        }
    }
}

/// Appends a list, each item as `write` writes it.
pub(crate) fn write_list<T>(items: &[T], out: &mut Vec<u8>, write: impl Fn(&T, &mut Vec<u8>)) {
    out.push(b'[');
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            out.push(b',');
        }
        write(item, out);
    }
    out.push(b']');
}

/// Appends texts as a canonical list.
pub fn write_texts<T: AsRef<str>>(texts: &[T], out: &mut Vec<u8>) {
    write_list(texts, out, |text, out| write_string(text.as_ref(), out));
}

/// Appends `text` as a canonical string: only `"`, `\` and U+0000–U+001F are escaped.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let (plain, tail) = rest.split_at(plain_length(rest));
        out.extend_from_slice(plain);
        let Some((special, tail)) = tail.split_first() else { break };
        write_escape(*special, out);
        rest = tail;
    }
    out.push(b'"');
}

fn write_escape(byte: u8, out: &mut Vec<u8>) {
    match short_escape(byte) {
        Some(letter) => out.extend_from_slice(&[b'\\', letter]),
        None => write!(out, "\\u{byte:04x}").expect("writing to memory does not fail"),
    }
}

/// Returns the letter of the two-character escape that a byte must use, if it has one.
pub(crate) fn short_escape(byte: u8) -> Option<u8> {
    Some(match byte {
        b'"' => b'"',
        b'\\' => b'\\',
        0x08 => b'b',
        0x09 => b't',
        0x0a => b'n',
        0x0c => b'f',
        0x0d => b'r',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn canonical(json: &str) -> String {
        String::from_utf8(canonical_bytes(&parse(json.as_bytes()).unwrap())).unwrap()
    }

    #[test]
    fn only_what_must_be_escaped_is() {
        assert_eq!(
            canonical(r#""\u0000\u0008\u0009\u000a\u000b\u000c\u000d\u001f\"\\\/\u007f\u2028é😀""#),
            "\"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\\\"\\\\/\u{7f}\u{2028}é😀\"",
        );
    }

    #[test]
    fn keys_sort_by_bytes_not_by_utf16() {
        assert_eq!(
            canonical("{\"😀\":1,\"\u{e000}\":2,\"b\":3,\"B\":4,\"\":5}"),
            "{\"\":5,\"B\":4,\"b\":3,\"\u{e000}\":2,\"😀\":1}",
        );
    }

    #[test]
    fn numbers_keep_their_kind() {
        assert_eq!(
            canonical("[1, 1.0, 1e0, -0, -0.0, 123456789012345678901234567890, 1e-400]"),
            "[1,1.0,1.0,0,-0.0,123456789012345678901234567890,0.0]"
        );
    }
}
