//! Run ids as folder names.
//!
//! Short ids: each of `a`–`z`, `0`–`9`, `-`, `_` and a dot that is neither first nor last is written as it is, every other byte
//! of the id's UTF-8 becomes `%` and two lower-case hex digits. Upper-case letters are among those, because some file
//! systems do not distinguish them from lower-case ones. A name over [`PLAIN_NAME_BYTES_MAX`] becomes `%%` and the
//! 64 hex digits of the id's SHA-256, and the folder's file `id` holds the id itself.
//!
//! No name begins with a dot, holds a separator or is empty, so none leads out of its folder.

use hence_canon::Digest;

use crate::RunId;

/// The longest folder name that contains the whole id. File systems allow 255 bytes; tools that add a suffix need
/// the rest.
pub(crate) const PLAIN_NAME_BYTES_MAX: usize = 200;

/// The meaning of a folder name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decoded {
    /// The name spells the id out.
    Plain(RunId),
    /// The name is the digest of the id that the folder's file `id` holds.
    Hashed(Digest),
}

/// Returns the folder name of a run.
pub(crate) fn encode(run: &RunId) -> String {
    let plain = encode_plain(run.as_str());
    let hashed = plain.len() > PLAIN_NAME_BYTES_MAX;
    if hashed { format!("%%{}", Digest::of(run.as_str().as_bytes())) } else { plain }
}

fn encode_plain(id: &str) -> String {
    let last = id.len().saturating_sub(1);
    let mut name = String::with_capacity(id.len());
    for (at, byte) in id.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            b'.' if at != 0 && at != last => name.push('.'),
            _ => name.push_str(&format!("%{byte:02x}")),
        }
    }
    name
}

/// Reads a folder name, accepting exactly what [`encode`] returns.
pub(crate) fn decode(name: &str) -> Option<Decoded> {
    if let Some(hex) = name.strip_prefix("%%") {
        return Digest::from_hex(hex.as_bytes()).map(Decoded::Hashed);
    }
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        if *first != b'%' {
            bytes.push(*first);
            rest = tail;
            continue;
        }
        let (digits, tail) = tail.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?);
        rest = tail;
    }
    let run = RunId::new(str::from_utf8(&bytes).ok()?).ok()?;
    // One id has one name: other spellings of it are not names.
    (encode(&run) == name).then_some(Decoded::Plain(run))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(text: &str) -> RunId {
        RunId::new(text).unwrap()
    }

    #[test]
    fn known_answers() {
        for (text, name) in [
            ("refund-42", "refund-42"),
            ("v1.2", "v1.2"),
            ("..", "%2e%2e"),
            (".hidden.", "%2ehidden%2e"),
            ("../../etc/passwd", "%2e.%2f..%2fetc%2fpasswd"),
            ("Run", "%52un"),
            ("a b\n", "a%20b%0a"),
            ("é", "%c3%a9"),
            ("%", "%25"),
        ] {
            assert_eq!(encode(&id(text)), name);
        }
    }

    #[test]
    fn long_ids_are_named_by_digest_beyond_the_limit() {
        let at_limit = "a".repeat(PLAIN_NAME_BYTES_MAX);
        assert_eq!(encode(&id(&at_limit)), at_limit);
        let beyond = "a".repeat(PLAIN_NAME_BYTES_MAX + 1);
        let name = encode(&id(&beyond));
        assert_eq!(name.len(), 2 + Digest::HEX_BYTES);
        assert_eq!(decode(&name), Some(Decoded::Hashed(Digest::of(beyond.as_bytes()))));
    }

    #[test]
    fn other_spellings_are_not_names() {
        for name in
            ["", ".", "..", "a/b", "A", "%41x%", "%6", "%zz", "%61", "%2E", "a.", ".a", "%+1", "%ff", "%%00"]
        {
            assert_eq!(decode(name), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn names_are_safe_and_lead_back(text in any::<String>().prop_filter("not empty", |text| !text.is_empty())) {
            let run = id(&text);
            let name = encode(&run);
            prop_assert!(name.len() <= PLAIN_NAME_BYTES_MAX);
            prop_assert!(!name.starts_with('.') && !name.ends_with('.'));
            prop_assert!(name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'%')));
            match decode(&name) {
                Some(Decoded::Plain(found)) => prop_assert_eq!(found, run),
                Some(Decoded::Hashed(digest)) => prop_assert_eq!(digest, Digest::of(text.as_bytes())),
                None => prop_assert!(false, "{} does not decode", name),
            }
        }

        #[test]
        fn no_name_makes_decoding_panic(name in any::<String>()) {
            if let Some(Decoded::Plain(run)) = decode(&name) {
                prop_assert_eq!(encode(&run), name);
            }
        }
    }
}
