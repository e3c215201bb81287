use proptest::prelude::*;

use super::*;

fn json(yaml: &str) -> String {
    parse(yaml.as_bytes()).unwrap_or_else(|error| panic!("{yaml}: {error}")).value().to_string()
}

fn kind(yaml: &str) -> YamlErrorKind {
    parse(yaml.as_bytes()).map(|document| document.value().to_string()).unwrap_err().kind
}

fn place(yaml: &str, pointer: &str) -> (usize, usize) {
    let place = parse(yaml.as_bytes()).unwrap().place(&pointer.parse().unwrap());
    (place.value.start.line, place.value.start.column)
}

#[test]
fn scalars_follow_the_core_schema() {
    assert_eq!(json("[no, yes, on, y]"), r#"["no","yes","on","y"]"#);
    assert_eq!(json("[true, False, ~, NULL, nUll]"), r#"[true,false,null,null,"nUll"]"#);
    assert_eq!(json("[007, +5, -0, 0o17, 0xfF, 1_000]"), r#"[7,5,0,15,255,"1_000"]"#);
    assert_eq!(json("[1., .5, 1e3, -.5E-1, 1.0.0]"), r#"[1.0,0.5,1000.0,-0.05,"1.0.0"]"#);
    assert_eq!(json("['1', \"true\", !!str 1]"), r#"["1","true","1"]"#);
    let digits = "123456789012345678901234567890";
    assert_eq!(json(digits), digits);
    assert_eq!(json(""), "null");
}

#[test]
fn json_is_read_by_the_same_words() {
    assert_eq!(json(r#"{"a": [1, 2.5, "x\u00e9\n", null], "b": {}}"#), r#"{"a":[1,2.5,"xé\n",null],"b":{}}"#);
}

#[test]
fn everything_has_its_place() {
    let yaml =
        "id: s\nsteps:\n  - id: a\n    uses: é.x\n    output: {r: vars.r}\n  - &b\n    id: b\nalso: *b\n";
    assert_eq!(place(yaml, "/id"), (1, 5));
    assert_eq!(place(yaml, "/steps/0/uses"), (4, 11));
    assert_eq!(place(yaml, "/steps/0/output/r"), (5, 17));
    assert_eq!(place(yaml, "/steps/1/id"), (7, 9));
    // The place of an aliased value is that of the alias.
    assert_eq!(place(yaml, "/also/id"), (8, 7));
    // A missing member is shown at its nearest enclosing value.
    assert_eq!(place(yaml, "/steps/0/config/retry"), place(yaml, "/steps/0"));
    let document = parse(yaml.as_bytes()).unwrap();
    let uses = document.place(&"/steps/0/uses".parse().unwrap());
    assert_eq!(yaml.get(uses.value.start.offset..uses.value.end.offset), Some("é.x"));
    assert_eq!(yaml.get(uses.head().start.offset..uses.head().end.offset), Some("uses"));
}

#[test]
fn what_json_cannot_express_is_refused() {
    for yaml in [".inf", "-.INF", ".nan", "1e999"] {
        assert_eq!(kind(yaml), YamlErrorKind::Number, "{yaml}");
    }
    assert!(matches!(kind("{1: a}"), YamlErrorKind::KeyNotText(_)));
    assert!(matches!(kind("{[a]: b}"), YamlErrorKind::KeyNotText(_)));
    assert!(matches!(kind("!mine [1]"), YamlErrorKind::UnknownTag(_)));
    assert!(matches!(kind("!!int x"), YamlErrorKind::TagMismatch { .. }));
    assert_eq!(kind("a\n---\nb\n"), YamlErrorKind::SecondDocument);
}

#[test]
fn errors_say_where() {
    let error = parse(b"a: 1\nb:\n  c: 1\n  c: 2\n").unwrap_err();
    assert_eq!(error.to_string(), "key \"c\" occurs twice in one mapping at line 4, column 3");
    let error = parse(b"a: 1\nb: \xff").unwrap_err();
    assert_eq!((error.position.line, error.position.column), (2, 4));
}

#[test]
fn aliases_neither_stand_inside_themselves_nor_grow_without_end() {
    assert_eq!(json("{a: &x [1, 2], b: *x}"), r#"{"a":[1,2],"b":[1,2]}"#);
    assert_eq!(kind("&x [*x]"), YamlErrorKind::RecursiveAlias);
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let items = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{items}]\n"));
    }
    assert_eq!(kind(&bomb), YamlErrorKind::TooManyNodes);
    // Few nodes, many bytes: as a value, inside a list that is itself an alias, and as a key.
    let long = "x".repeat(1 << 20);
    for (start, end, item) in [("", "", "*a"), ("&l [", "]", "*a"), ("", "", "{*a : 1}")] {
        let items = vec![item; 70].join(", ");
        let text = format!("a: &a {long}\nb: [{start}{items}{end}]\n");
        assert_eq!(kind(&text), YamlErrorKind::TooManyBytes, "{start}{item}");
    }
    let few = format!("a: &a {long}\nb: [{}]\n", vec!["*a"; 60].join(", "));
    assert!(parse(few.as_bytes()).is_ok());
}

#[test]
fn the_depth_limit_is_exact() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(parse(nested(DEPTH_MAX).as_bytes()).err(), None);
    assert_eq!(kind(&nested(DEPTH_MAX + 1)), YamlErrorKind::TooDeep);
    // An alias counts as if it were written out.
    let through = |inside: usize| format!("[&x {}, {}*x{}]", nested(inside), "[".repeat(60), "]".repeat(60));
    assert_eq!(parse(through(DEPTH_MAX - 61).as_bytes()).err(), None);
    assert_eq!(kind(&through(DEPTH_MAX - 60)), YamlErrorKind::TooDeep);
    assert_eq!(parse_value(nested(DEPTH_MAX + 1).as_bytes()).unwrap_err().kind, YamlErrorKind::TooDeep);
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let value = parse(&bytes).map(|document| document.value().clone());
        prop_assert_eq!(value, parse_value(&bytes));
    }

    #[test]
    fn no_mix_of_signs_makes_the_reader_panic(text in "[-a1: \n{}\\[\\],&*!|>'\"#?%@é]{0,50}") {
        if let Ok(document) = parse(text.as_bytes()) {
            document.place(&"/a/0".parse().unwrap());
        }
    }
}
