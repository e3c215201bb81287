use super::*;
use crate::{Int, JsonPointer};

fn kind(json: &str) -> ParseErrorKind {
    parse(json.as_bytes()).unwrap_err().kind
}

#[test]
fn an_error_says_where_in_the_text_and_in_the_document() {
    let error = parse("{\n  \"é\": [1,\n    {\"a\": tru}]}".as_bytes()).unwrap_err();
    assert_eq!((error.position.line, error.position.column), (3, 11));
    assert_eq!(error.pointer.to_string(), "/é/1/a");
    assert_eq!(error.to_string(), "expected a JSON value, found 't' at line 3, column 11 (`/é/1/a`)");
}

#[test]
fn duplicate_keys_are_refused_at_the_later_one() {
    let error = parse(br#"{"a":{"x":1,"\u0078":2}}"#).unwrap_err();
    assert_eq!(error.kind, ParseErrorKind::DuplicateKey("x".into()));
    assert_eq!((error.position.column, error.pointer.to_string().as_str()), (13, "/a/x"));
}

#[test]
fn lone_surrogates_are_refused_and_pairs_are_joined() {
    assert_eq!(parse(br#""\ud83d\ude00""#).unwrap().as_str(), Some("😀"));
    assert_eq!(kind(r#""a\ud83d""#), ParseErrorKind::LoneSurrogate(0xd83d));
    assert_eq!(kind(r#""\ude00\ud83d""#), ParseErrorKind::LoneSurrogate(0xde00));
    assert_eq!(kind(r#""\ud83d\ud83d\ude00""#), ParseErrorKind::LoneSurrogate(0xd83d));
}

#[test]
fn numbers_that_are_not_finite_are_refused() {
    for json in ["NaN", "Infinity", "-Infinity", "1e400", "-1e999"] {
        assert_eq!(kind(json), ParseErrorKind::NonFinite, "{json}");
    }
    assert_eq!(parse(b"1e-400").unwrap().to_string(), "0.0");
}

#[test]
fn what_is_not_json_is_refused() {
    for json in [
        "",
        " ",
        "[",
        "]",
        "{",
        "[1,]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{1:2}",
        "'a'",
        "01",
        "1.",
        ".1",
        "+1",
        "1e",
        "--1",
        "tru",
        "nulll",
        "\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\t\"",
        "1 2",
        "[1]]",
        "\u{feff}1",
        "-",
        "0x1",
        "1_0",
    ] {
        assert!(parse(json.as_bytes()).is_err(), "{json:?}");
    }
    assert_eq!(parse(b"\"\xc3\"").unwrap_err().kind, ParseErrorKind::InvalidUtf8);
}

#[test]
fn the_depth_limit_is_exact_and_deep_input_does_not_exhaust_the_stack() {
    let nested = |depth: usize| [b"[".repeat(depth), b"]".repeat(depth)].concat();
    assert_eq!(parse(&nested(DEPTH_MAX)).unwrap().depth(), DEPTH_MAX);
    assert_eq!(parse(&nested(DEPTH_MAX + 1)).unwrap_err().kind, ParseErrorKind::TooDeep);
    assert_eq!(parse(&b"[".repeat(1_000_000)).unwrap_err().kind, ParseErrorKind::TooDeep);
    assert_eq!(parse(&b"{\"a\":".repeat(10_000)).unwrap_err().kind, ParseErrorKind::TooDeep);
}

#[test]
fn integers_stay_exact_and_their_length_is_bounded() {
    let long = "123456789012345678901234567890";
    assert_eq!(parse(long.as_bytes()).unwrap().as_int().map(Int::to_string).as_deref(), Some(long));
    let digits = crate::INT_DIGITS_MAX + 1;
    assert_eq!(kind(&"9".repeat(digits)), ParseErrorKind::IntegerTooLong { found: digits });
}

#[test]
fn a_lenient_reader_names_what_it_lets_pass() {
    let json = br#"{"a":[1,NaN,-Infinity,1e400],"b":"\ud800x","c":{"k":1,"k":2},"\udc00":0}"#;
    let lenient = parse_lenient(json).unwrap();
    let defects: Vec<_> =
        lenient.defects.iter().map(|defect| (defect.kind, defect.pointer.to_string())).collect();
    assert_eq!(
        defects,
        [
            (DefectKind::NonFinite, "/a/1".to_owned()),
            (DefectKind::NonFinite, "/a/2".to_owned()),
            (DefectKind::NonFinite, "/a/3".to_owned()),
            (DefectKind::LoneSurrogate, "/b".to_owned()),
            (DefectKind::DuplicateKey, "/c".to_owned()),
            (DefectKind::LoneSurrogateInKey, "/\u{fffd}".to_owned()),
        ]
    );
    let last: JsonPointer = "/c/k".parse().unwrap();
    assert_eq!(lenient.value.pointer(&last), Some(&crate::Value::from(2)));
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(proptest::arbitrary::any::<u8>(), 0..64)) {
        let _ = parse(&bytes);
        let _ = parse_lenient(&bytes);
    }

    #[test]
    fn both_readers_agree_on_documents_without_defects(
        text in r#"([ \n]|\[|\]|\{|\}|,|:|"a"|"b":|"\\n\\u00e9"|"\\ud83d\\ude00"|-?[0-9]{1,3}|1[0-9]{17,20}|0\.5e1|true|null){0,12}"#,
    ) {
        match (parse(text.as_bytes()), parse_lenient(text.as_bytes())) {
            (Ok(strict), Ok(lenient)) => {
                proptest::prop_assert_eq!(&lenient.defects, &[]);
                proptest::prop_assert_eq!(strict, lenient.value);
            }
            (Err(strict), Ok(lenient)) => proptest::prop_assert!(!lenient.defects.is_empty(), "{}", strict),
            (Err(_), Err(_)) => {}
            (Ok(_), Err(lenient)) => proptest::prop_assert!(false, "{}", lenient),
        }
    }

    #[test]
    fn integers_of_any_length_are_read_exactly(text in "-?(0|[1-9][0-9]{0,24})") {
        let read = parse(text.as_bytes()).unwrap();
        proptest::prop_assert_eq!(read, crate::Value::Int(text.parse().unwrap()));
        let read = parse(format!("[{text},{text} ]").as_bytes()).unwrap();
        proptest::prop_assert_eq!(read.at(0), read.at(1));
    }
}

#[test]
fn nested_objects_keep_their_own_members_and_key_places() {
    let value = parse(br#"{"b":{"y":[{"k":1},{"k":2}],"x":{}},"a":[[],[1,[2]]]}"#).unwrap();
    assert_eq!(value.to_string(), r#"{"a":[[],[1,[2]]],"b":{"x":{},"y":[{"k":1},{"k":2}]}}"#);
    let error = parse(br#"{"a":{"x":1},"b":[{"y":{"z":0},"w":1,"y":2}]}"#).unwrap_err();
    assert_eq!((error.position.column, error.pointer.to_string().as_str()), (38, "/b/0/y"));
}

#[test]
fn large_documents_share_short_texts_and_mean_the_same() {
    let shares = |text: &str, bytes: usize| {
        let filler = "x".repeat(bytes);
        let value = parse(format!(r#"["{text}", "{text}", "{filler}"]"#).as_bytes()).unwrap();
        let (Some(Value::String(first)), Some(Value::String(second))) = (value.at(0), value.at(1)) else {
            panic!("both are texts")
        };
        assert_eq!((&**first, &**second), (text, text));
        std::sync::Arc::ptr_eq(first, second)
    };
    assert!(shares("activity", 64 * 1024));
    assert!(shares(&"y".repeat(24), 64 * 1024));
    assert!(!shares(&"y".repeat(25), 64 * 1024));
    assert!(!shares("activity", 100));
}
