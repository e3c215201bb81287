//! JSON for people: indented, members in their own order.

use crate::{Value, write};

/// Returns `value` indented by two spaces, ending without a line feed.
///
/// Scalars are spelled as in the canonical form, so copying one out of a listing does not change it.
pub fn pretty(value: &Value) -> String {
    let mut out = Vec::new();
    write_pretty(value, 0, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn write_pretty(value: &Value, level: usize, out: &mut Vec<u8>) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            out.push(b'[');
            for (position, item) in items.iter().enumerate() {
                start_line(position, level + 1, out);
                write_pretty(item, level + 1, out);
            }
            end_block(b']', level, out);
        }
        Value::Object(object) if !object.is_empty() => {
            out.push(b'{');
            for (position, (key, member)) in object.iter().enumerate() {
                start_line(position, level + 1, out);
                write::write_string(key, out);
                out.extend_from_slice(b": ");
                write_pretty(member, level + 1, out);
            }
            end_block(b'}', level, out);
        }
        flat => write::write(flat, out),
    }
}

fn start_line(position: usize, level: usize, out: &mut Vec<u8>) {
    if position > 0 {
        out.push(b',');
    }
    new_line(level, out);
}

fn end_block(bracket: u8, level: usize, out: &mut Vec<u8>) {
    new_line(level, out);
    out.push(bracket);
}

fn new_line(level: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.extend(std::iter::repeat_n(b' ', 2 * level));
}

#[cfg(test)]
mod tests {
    #[test]
    fn order_and_spelling_survive() {
        let value = crate::parse(br#"{"b":[1,{}],"a":{"c":1.0},"e":[]}"#).unwrap();
        let text = "{\n  \"b\": [\n    1,\n    {}\n  ],\n  \"a\": {\n    \"c\": 1.0\n  },\n  \"e\": []\n}";
        assert_eq!(super::pretty(&value), text);
        assert_eq!(crate::parse(text.as_bytes()).unwrap(), value);
    }
}
