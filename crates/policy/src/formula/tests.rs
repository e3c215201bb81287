use proptest::prelude::*;

use super::parse::NESTING_MAX;
use super::*;

fn parsed(text: &str) -> Expr {
    Formula::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).expr().clone()
}

fn error(text: &str) -> String {
    Formula::parse(text).expect_err(text).to_string()
}

#[test]
fn both_alphabets_read_the_same() {
    let pairs = [
        ("G(A → P(B ∧ c))", "G(A -> P(B /\\ c))"),
        ("G(A → P(B ∧ c))", "G(A -> P(B && c))"),
        ("¬a ∨ b", "not a \\/ b"),
        ("¬a ∨ b", "!a || b"),
        ("∀ r ∈ residuals . r.severity ≥ High", "forall r in residuals . r.severity >= High"),
        ("∃! r ∈ residuals . r.kind ≠ x", "exists! r in residuals . r.kind != x"),
        ("rationale ≠ ∅", "rationale != EMPTY"),
        ("rationale ≠ ∅", "has rationale"),
        ("count(a) ≤ 3", "count(a) <= 3"),
        ("a ↔ b", "a <-> b"),
    ];
    for (unicode, ascii) in pairs {
        assert_eq!(parsed(unicode), parsed(ascii), "{ascii}");
    }
}

#[test]
fn precedence_is_as_tabled() {
    let pairs = [
        ("a → b → c", "a → (b → c)"),
        ("a ∧ b ∨ c ∧ d", "(a ∧ b) ∨ (c ∧ d)"),
        ("a ∨ b → c", "(a ∨ b) → c"),
        ("a S b ∧ c", "(a S b) ∧ c"),
        ("a U b S_last c", "(a U b) S_last c"),
        ("¬a U b", "(¬a) U b"),
        ("G F x", "G(F(x))"),
        ("P ¬x", "P(¬x)"),
        ("G a → b", "(G a) → b"),
        ("a <-> b → c", "a <-> (b → c)"),
        ("¬∃ r ∈ rs . r.a = b ∧ r.c = d", "¬(∃ r ∈ rs . (r.a = b ∧ r.c = d))"),
        ("∀ x ∈ inputs(a) → b → c", "∀ x ∈ inputs(a) . (b → c)"),
    ];
    for (bare, full) in pairs {
        assert_eq!(parsed(bare), parsed(full), "{bare}");
    }
    assert_ne!(parsed("(a ∧ b) ∧ c"), parsed("a ∧ b ∧ c"));
}

#[test]
fn errors_say_what_was_expected_and_where() {
    let cases = [
        ("", "the formula is empty at column 1"),
        ("G(A @ B)", "'@' is not part of the policy language at column 5"),
        ("F(A) F(B)", "expected an operator or the end of the formula, found `F` at column 6"),
        ("count(A)", "expected a comparison after `count(…)`, found the end of the formula at column 9"),
        ("G(A →\n  )", "expected a formula, found `)` at line 2, column 3"),
        (
            "∀ r ∈ residuals r.a = b",
            "expected `.` or `→` before the body of the quantifier, found `r` at column 17",
        ),
        ("(a ∧ b", "expected `)`, found the end of the formula at column 7"),
        ("count(a) ≤ 99999999999999999999", "\"99999999999999999999\" is not a whole number at column 12"),
        ("a = \"x", "the text has no closing quote at column 5"),
        ("∅", "expected a comparison or `∈`, found the end of the formula at column 2"),
        ("a ∧ U", "expected a formula, found `U` at column 5"),
    ];
    for (text, message) in cases {
        assert_eq!(error(text), message, "{text}");
    }
}

#[test]
fn nesting_is_read_up_to_the_limit_and_refused_beyond() {
    let nested = |sign: &str, count: usize| format!("{}a", sign.repeat(count));
    let most = FORMULA_DEPTH_MAX - 1;
    for sign in ["¬", "G ", "H_chain ", "∀ x ∈ y . ", "a U ", "a S ", "a -> ", "a <-> "] {
        let text = nested(sign, most);
        let formula = Formula::parse(&text).unwrap_or_else(|error| panic!("{sign}: {error}"));
        assert_eq!(parsed(&formula.print(Alphabet::Unicode)), *formula.expr(), "{sign}");
        assert!(error(&nested(sign, most + 1)).starts_with("operators nest deeper"), "{sign}");
    }
    // Parentheses alone cost stack, not height, and have room for what printing adds.
    let wrapped = |count: usize| format!("{}a{}", "(".repeat(count), ")".repeat(count));
    assert_eq!(parsed(&wrapped(NESTING_MAX - 1)), parsed("a"));
    assert!(error(&wrapped(NESTING_MAX)).starts_with("operators nest deeper"));
}

#[test]
fn ten_thousand_operators_in_any_shape_end_in_an_error_or_a_flat_tree() {
    for sign in ["¬", "G ", "(", "a → ", "a U ", "∀ x ∈ y . ", "a <-> ", "b ∈ {x | ", "{", "f(", "T("]
    {
        let found = error(&sign.repeat(10_000));
        // The longest of these is refused for its length before its depth can be seen.
        assert!(found.starts_with("operators nest deeper") || found.contains("limit is 65536"), "{sign}");
        assert!(error(&sign.repeat(1_000)).starts_with("operators nest deeper"), "{sign}");
    }
    for joined in ["a ∧ ", "a || "] {
        let long = joined.repeat(10_000) + "a";
        assert_eq!(parsed(&parsed(&long).print(Alphabet::Ascii)), parsed(&long));
    }
}

#[test]
fn the_text_is_read_up_to_the_limit_and_refused_beyond() {
    let padded = |bytes: usize| format!("a{}", " ".repeat(bytes - 1));
    assert!(Formula::parse(&padded(FORMULA_BYTES_MAX)).is_ok());
    assert!(error(&padded(FORMULA_BYTES_MAX + 1)).starts_with("the formula has 65537 bytes"));
}

/// Any tree the parser can give, up to a depth.
pub(crate) fn any_expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Expr::Constant),
        name().prop_map(Expr::Atom),
        (any_term(), any_comparison(), any_term()).prop_map(|(left, comparison, right)| Expr::Compare {
            left,
            comparison,
            right
        }),
        (any_term(), any_set()).prop_map(|(element, set)| Expr::Member { element, set }),
    ];
    leaf.prop_recursive(5, 40, 3, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let several = proptest::collection::vec(inner.clone(), 2..4);
        prop_oneof![
            boxed.clone().prop_map(Expr::Not),
            several.clone().prop_map(Expr::And),
            several.prop_map(Expr::Or),
            (boxed.clone(), boxed.clone()).prop_map(|(left, right)| Expr::Implies(left, right)),
            (boxed.clone(), boxed.clone()).prop_map(|(left, right)| Expr::Iff(left, right)),
            (0..9usize, boxed.clone()).prop_map(|(at, inner)| Expr::Unary(Unary::ALL[at].1, inner)),
            (0..3usize, boxed.clone(), boxed.clone()).prop_map(|(at, left, right)| Expr::Binary(
                Binary::ALL[at].1,
                left,
                right
            )),
            (any_quantifier(), name(), proptest::option::of(any_set()), boxed.clone()).prop_map(
                |(quantifier, variable, set, body)| Expr::Quantified { quantifier, variable, set, body }
            ),
            (boxed.clone(), any_comparison(), any::<u64>()).prop_map(|(of, comparison, bound)| Expr::Count {
                of,
                comparison,
                bound
            }),
            (name(), boxed)
                .prop_map(|(word, guard)| Term::Comprehension { body: Box::new(Term::Word(word)), guard })
                .prop_map(|set| Expr::Member { element: Term::Int(1), set }),
            proptest::collection::vec(inner, 1..3)
                .prop_map(|conditions| Expr::Typed { name: "Verify".into(), conditions }),
        ]
    })
}

fn name() -> impl Strategy<Value = Word> {
    prop_oneof!["[a-z]{2,5}_[a-z]{1,3}", "[A-Z][a-z]{2,6}"].prop_map(|text| Word::from(text.as_str()))
}

fn any_set() -> impl Strategy<Value = Term> {
    prop_oneof![
        name().prop_map(Term::Word),
        name().prop_map(|word| Term::Call { function: "inputs".into(), arguments: vec![Term::Word(word)] }),
        Just(Term::List(vec![Term::Int(1), Term::Empty])),
    ]
}

fn any_term() -> impl Strategy<Value = Term> {
    prop_oneof![
        any_set(),
        (name(), name()).prop_map(|(base, member)| Term::Field { base, path: vec![member] }),
        ".{0,6}".prop_map(|text| Term::Text(text.into())),
        any::<u64>().prop_map(Term::Int),
        Just(Term::Empty),
    ]
}

fn any_comparison() -> impl Strategy<Value = Comparison> {
    use Comparison::{Above, AtLeast, AtMost, Below, Equal, NotEqual};
    proptest::sample::select(vec![Equal, NotEqual, AtLeast, AtMost, Above, Below])
}

fn any_quantifier() -> impl Strategy<Value = Quantifier> {
    proptest::sample::select(vec![Quantifier::All, Quantifier::Some, Quantifier::One])
}

proptest! {
    #[test]
    fn printing_then_parsing_gives_the_same_tree(expr in any_expr()) {
        for alphabet in [Alphabet::Unicode, Alphabet::Ascii] {
            let text = expr.print(alphabet);
            let read = Formula::parse(&text).map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
            prop_assert_eq!(read.expr(), &expr, "{}", text);
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[GFXPHUS_lastarge∀∃!∈.→()<>=≠{}|, \"¬∧∨0-9@]{0,60}") {
        let _ = Formula::parse(&text);
    }
}
