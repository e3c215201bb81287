use super::*;

fn json(yaml: &str) -> String {
    parse(yaml.as_bytes()).unwrap_or_else(|error| panic!("{yaml}: {error}")).to_string()
}

fn kind(yaml: &str) -> YamlErrorKind {
    match parse(yaml.as_bytes()) {
        Ok(value) => panic!("{yaml:?} was read as {value}"),
        Err(error) => error.kind,
    }
}

#[test]
fn scalars_follow_the_core_schema_of_yaml_1_2() {
    assert_eq!(json("[no, yes, on, off, y, n]"), r#"["no","yes","on","off","y","n"]"#);
    assert_eq!(json("[true, False, ~, null, NULL, nUll]"), r#"[true,false,null,null,null,"nUll"]"#);
    assert_eq!(json("[007, +5, -0, 0o17, 0xfF, 0b1, 1_000]"), r#"[7,5,0,15,255,"0b1","1_000"]"#);
    assert_eq!(json("[1., .5, 1e3, +1.5, -.5E-1, ., e3, 1e]"), r#"[1.0,0.5,1000.0,1.5,-0.05,".","e3","1e"]"#);
    assert_eq!(json("[2026-02-09, 2026-02-09T10:00:00Z, 12:30:45, 1.0.0, 0o8]").matches('"').count(), 10);
    assert_eq!(json("['1', \"true\", !!str 1, ! 2]"), r#"["1","true","1","2"]"#);
    assert_eq!(json("{a: , b: !!float 1, c: !!int '3'}"), r#"{"a":null,"b":1.0,"c":3}"#);
}

#[test]
fn integers_beyond_every_machine_word_stay_exact() {
    let digits = "123456789012345678901234567890123456789012345678901234567890";
    assert_eq!(json(digits), digits);
    assert_eq!(kind(&"9".repeat(hence_canon::INT_DIGITS_MAX + 1)), YamlErrorKind::Number);
}

#[test]
fn what_json_cannot_express_is_refused() {
    assert_eq!(kind(".inf"), YamlErrorKind::Number);
    assert_eq!(kind("-.INF"), YamlErrorKind::Number);
    assert_eq!(kind(".nan"), YamlErrorKind::Number);
    assert_eq!(kind("1e999"), YamlErrorKind::Number);
    assert!(matches!(kind("{1: a}"), YamlErrorKind::KeyNotText(_)));
    assert!(matches!(kind("{[a]: b}"), YamlErrorKind::KeyNotText(_)));
    assert_eq!(kind("a: 1\nb: 2\na: 3\n"), YamlErrorKind::DuplicateKey("a".into()));
    assert!(matches!(kind("!!binary aGk="), YamlErrorKind::UnknownTag(_)));
    assert!(matches!(kind("!mine [1]"), YamlErrorKind::UnknownTag(_)));
    assert!(matches!(kind("!!int x"), YamlErrorKind::TagMismatch { .. }));
    assert!(matches!(kind("!!map [1]"), YamlErrorKind::TagMismatch { .. }));
    assert_eq!(kind("a\n---\nb\n"), YamlErrorKind::SecondDocument);
}

#[test]
fn an_error_says_where_it_is() {
    let error = parse(b"a: 1\nb:\n  c: 1\n  c: 2\n").unwrap_err();
    assert_eq!((error.line, error.column), (4, 3));
    assert_eq!(parse(b"a: 1\nb: \xff").unwrap_err().line, 2);
}

#[test]
fn aliases_are_followed_but_neither_into_themselves_nor_without_end() {
    assert_eq!(json("{a: &x [1, 2], b: *x}"), r#"{"a":[1,2],"b":[1,2]}"#);
    assert_eq!(kind("&x [*x]"), YamlErrorKind::RecursiveAlias);
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let items = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{items}]\n"));
    }
    assert_eq!(kind(&bomb), YamlErrorKind::TooManyNodes);
}

#[test]
fn the_depth_limit_is_exact_also_through_aliases() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse(nested(DEPTH_MAX).as_bytes()).is_ok());
    assert_eq!(kind(&nested(DEPTH_MAX + 1)), YamlErrorKind::TooDeep);
    let through = |inside: usize| format!("[&x {}, {}*x{}]", nested(inside), "[".repeat(60), "]".repeat(60));
    assert!(parse(through(DEPTH_MAX - 61).as_bytes()).is_ok());
    assert_eq!(kind(&through(DEPTH_MAX - 60)), YamlErrorKind::TooDeep);
}

#[test]
fn an_empty_text_is_null() {
    assert_eq!(json(""), "null");
    assert_eq!(json("# nothing\n"), "null");
}
