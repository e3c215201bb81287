//! Hashes over JSON with sorted keys and ASCII escapes.

use hence_canon::{Digest, Value};

/// Returns JSON with keys in code point order, no spaces, and everything outside printable ASCII escaped.
pub(super) fn ascii_json(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// Returns `sha256:` and the digest of a value, or nothing for `null`.
pub(super) fn stable_hash(value: &Value) -> Option<String> {
    (!value.is_null()).then(|| format!("sha256:{}", Digest::of(ascii_json(value).as_bytes())))
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => write_text(text, out),
        Value::Array(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(object) => {
            out.push('{');
            // Byte order of UTF-8 is code point order.
            for (position, (key, member)) in object.iter_sorted().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                write_text(key, out);
                out.push(':');
                write(member, out);
            }
            out.push('}');
        }
        // Numbers, booleans and null are spelt as in canonical JSON.
        scalar => out.push_str(&scalar.to_string()),
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(character),
            other => {
                let mut units = [0; 2];
                for unit in other.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out.push('"');
}

/// The block of SHA-256, which a key fills.
const BLOCK_BYTES: usize = 64;

/// Returns the HMAC-SHA256 (RFC 2104) of a message.
pub(super) fn hmac_sha256(key: &[u8], message: &[u8]) -> Digest {
    let mut block = [0u8; BLOCK_BYTES];
    let digest;
    let key = if key.len() > BLOCK_BYTES {
        digest = Digest::of(key);
        digest.as_bytes().as_slice()
    } else {
        key
    };
    block.iter_mut().zip(key).for_each(|(byte, key)| *byte = *key);
    let padded = |pad: u8| block.map(|byte| byte ^ pad);
    let inner = Digest::of_parts([&padded(0x36), message]);
    Digest::of_parts([&padded(0x5c), inner.as_bytes().as_slice()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use hence_canon::parse;

    fn json(text: &str) -> Value {
        parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn everything_outside_printable_ascii_is_escaped() {
        let value = json(r#"{"b": "ñ😀\u007f\u0001\n", "a": [1.0, 1e16, 1e-7, -0.0]}"#);
        assert_eq!(
            ascii_json(&value),
            r#"{"a":[1.0,1e+16,1e-07,-0.0],"b":"\u00f1\ud83d\ude00\u007f\u0001\n"}"#
        );
        assert_eq!(stable_hash(&Value::Null), None);
    }

    #[test]
    fn hmac_matches_the_vectors_of_rfc_4231() {
        assert_eq!(
            hmac_sha256(b"Jefe", b"what do ya want for nothing?").to_string(),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            hmac_sha256(&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First").to_string(),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }
}
