use super::*;
use crate::{DEPTH_MAX, Float, INT_DIGITS_MAX, Int, Object, Value, canonical_bytes, parse};
use proptest::prelude::*;

#[test]
fn what_the_writer_would_not_write_is_refused() {
    for text in [
        "",
        " 1",
        "1 ",
        "01",
        "-0",
        "1.50",
        "1e5",
        "1E+16",
        "+1",
        ".5",
        "1.",
        "-",
        "1e400",
        "\"\\/\"",
        "\"\\u0041\"",
        "\"\\u000a\"",
        "\"\\u001F\"",
        "\"\\u001\"",
        "\"\n\"",
        "\"",
        "\"\\",
        "[1, 2]",
        "[1,]",
        "[",
        "{\"b\":1,\"a\":2}",
        "{\"a\":1,\"a\":1}",
        "{\"a\":1,}",
        "{a:1}",
        "{\"a\" :1}",
        "{\"A\":1,\"\\n\":2}",
        "nul",
        "NaN",
        "tru",
        "1 2",
    ] {
        assert!(prove(text.as_bytes()).is_err(), "{text:?}");
    }
    assert!(prove(b"\"\xff\"").is_err());
    assert!(prove("\u{feff}1".as_bytes()).is_err());
}

#[test]
fn escaped_keys_are_ordered_by_what_they_mean() {
    assert!(prove(br#"{"\n":1,"A":2}"#).is_ok());
    assert!(prove(br#"{"Z":1,"\\":2,"a":3}"#).is_ok());
}

#[test]
fn depth_is_bounded_like_the_parser() {
    let nested = |depth: usize| [b"[".repeat(depth), b"]".repeat(depth)].concat();
    assert!(prove(&nested(DEPTH_MAX)).is_ok());
    assert_eq!(prove(&nested(DEPTH_MAX + 1)), Err(NotCanonical { offset: DEPTH_MAX }));
    assert!(prove(&b"[".repeat(100_000)).is_err());
}

#[test]
fn members_are_handed_over_inside_out_with_their_spans() {
    let text = br#"{"a":{"b":[{"c":1}]},"d":2}"#;
    let mut seen = Vec::new();
    prove_with(text, 2, |member| {
        seen.push((
            member.depth,
            String::from_utf8_lossy(member.raw_key).into_owned(),
            member.start,
            member.end,
        ));
    })
    .unwrap();
    assert_eq!(seen, [(2, "b".into(), 6, 19), (1, "a".into(), 1, 20), (1, "d".into(), 21, 26)]);
}

/// Returns arbitrary trees, with keys and strings that often need escaping.
fn value() -> impl Strategy<Value = Value> {
    let text = || {
        proptest::collection::vec(
            prop_oneof![
                Just('a'),
                Just('"'),
                Just('\\'),
                Just('\n'),
                Just('\u{1}'),
                Just('é'),
                Just('😀'),
                any::<char>()
            ],
            0..6,
        )
        .prop_map(|characters| characters.into_iter().collect::<String>())
    };
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        "-?[1-9][0-9]{18,30}".prop_map(|digits| Value::Int(digits.parse::<Int>().unwrap())),
        any::<f64>().prop_filter_map("finite", |double| Float::new(double).ok().map(Value::Float)),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((text(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Object>())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_the_writer_writes_is_proved_and_read_back(value in value()) {
        let bytes = canonical_bytes(&value);
        prop_assert_eq!(prove(&bytes).unwrap().depth(), value.depth());
        prop_assert_eq!(parse(&bytes).unwrap(), value);
    }

    #[test]
    fn the_scanner_agrees_with_parse_and_write(value in value(), at: prop::sample::Index, byte: u8) {
        let mut bytes = canonical_bytes(&value);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let slow = parse(&bytes).is_ok_and(|value| canonical_bytes(&value) == bytes);
        prop_assert_eq!(prove(&bytes).is_ok(), slow);
    }

    #[test]
    fn the_scanner_agrees_on_arbitrary_json_like_text(text in r#"[\[\]{}",:0-9eE+.\\untrfalsb \-]{0,24}"#) {
        let slow = parse(text.as_bytes()).is_ok_and(|value| canonical_bytes(&value) == text.as_bytes());
        prop_assert_eq!(prove(text.as_bytes()).is_ok(), slow);
    }

    #[test]
    fn the_scanner_agrees_on_documents_with_bytes_put_in_taken_out_and_swapped(
        value in value(),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), 0..3u8, text_byte()), 1..4),
    ) {
        let mut bytes = canonical_bytes(&value);
        for (at, edit, byte) in edits {
            let at = at.index(bytes.len() + 1);
            match edit {
                0 => bytes.insert(at, byte),
                1 if at < bytes.len() => drop(bytes.remove(at)),
                _ if at + 1 < bytes.len() => bytes.swap(at, at + 1),
                _ => bytes.push(byte),
            }
        }
        prop_assert_eq!(prove(&bytes).is_ok(), slow(&bytes), "{}", String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn the_scanner_agrees_on_the_order_of_keys(keys in proptest::collection::vec(raw_key(), 1..5)) {
        let members: Vec<String> = keys.iter().map(|key| format!("\"{key}\":1")).collect();
        let text = format!("{{{}}}", members.join(","));
        prop_assert_eq!(prove(text.as_bytes()).is_ok(), slow(text.as_bytes()), "{}", text);
    }

    #[test]
    fn the_scanner_agrees_on_numbers(text in r"-?[0-9]{0,3}(\.[0-9]{0,4})?([eE][+-]?[0-9]{0,3})?[-+.e]?") {
        prop_assert_eq!(prove(text.as_bytes()).is_ok(), slow(text.as_bytes()), "{}", text);
    }

    #[test]
    fn the_scanner_agrees_on_fractions_of_any_length(text in r"-?(0|[1-9][0-9]{0,17})\.(0{0,5})[0-9]{0,18}") {
        prop_assert_eq!(prove(text.as_bytes()).is_ok(), slow(text.as_bytes()), "{}", text);
    }

    #[test]
    fn the_scanner_agrees_on_arbitrary_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..24)) {
        let quoted = [b"\"", bytes.as_slice(), b"\""].concat();
        prop_assert_eq!(prove(&bytes).is_ok(), slow(&bytes));
        prop_assert_eq!(prove(&quoted).is_ok(), slow(&quoted));
    }

    #[test]
    fn a_leading_value_is_proved_up_to_where_it_ends(value in value(), behind in "[,}\\]\" x]{0,4}") {
        let bytes = canonical_bytes(&value);
        let text = [bytes.as_slice(), behind.as_bytes()].concat();
        let proved = prove_leading(&text, 0).unwrap();
        prop_assert_eq!((proved.bytes(), proved.depth()), (bytes.as_slice(), value.depth()));
    }
}

/// Returns whether parsing `bytes` and writing the value again gives the same bytes.
fn slow(bytes: &[u8]) -> bool {
    parse(bytes).is_ok_and(|value| canonical_bytes(&value) == bytes)
}

/// Returns bytes that are significant to a scanner, mixed with arbitrary bytes.
fn text_byte() -> impl Strategy<Value = u8> {
    prop_oneof![prop::sample::select(&b"{}[]\",:0123456789-+.eEtrufalsn\\/bf \t\n\r"[..]), any::<u8>()]
}

/// Returns keys that differ late, early, in length, by an escape or not at all.
fn raw_key() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ !a-b]{0,3}",
        "abcdefg[gh]{0,3}",
        "abcdefgh[ !a]{0,2}",
        r#"(a|\\n|\\u0001|\\\\|\\"|é|\u{7f}){0,3}"#,
    ]
}

#[test]
fn a_leading_value_counts_what_encloses_it() {
    let nested = |depth: usize| [b"[".repeat(depth), b"]".repeat(depth)].concat();
    assert!(prove_leading(&nested(DEPTH_MAX - 2), 2).is_ok());
    assert!(prove_leading(&nested(DEPTH_MAX - 1), 2).is_err());
    assert!(prove_leading(b"\"\xff\",", 0).is_err());
    assert!(prove_leading(b"", 0).is_err());
}

#[test]
fn numbers_are_bounded_like_the_parser() {
    assert!(prove(&b"9".repeat(INT_DIGITS_MAX)).is_ok());
    assert!(prove(&b"9".repeat(INT_DIGITS_MAX + 1)).is_err());
    assert!(prove(&[b"0.".as_slice(), &b"1".repeat(1_000_000)].concat()).is_err());
}
