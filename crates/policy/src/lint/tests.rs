use super::*;

fn messages(text: &str) -> Vec<String> {
    let formula = Formula::parse(text).unwrap();
    lint(&formula).iter().map(ToString::to_string).collect()
}

fn errors(text: &str) -> usize {
    let formula = Formula::parse(text).unwrap();
    lint(&formula).iter().filter(|finding| finding.is_error()).count()
}

fn level(text: &str) -> LanguageLevel {
    LanguageLevel::of(Formula::parse(text).unwrap().expr())
}

#[test]
fn a_plain_rule_has_no_findings() {
    assert_eq!(messages("G(GitCommit → P(RunTests ∧ completed))"), [""; 0]);
    assert_eq!(messages("∀ r ∈ residuals . r.severity ≥ High → r.status ≠ Open"), [""; 0]);
}

#[test]
fn guesses_are_reported_with_their_location() {
    assert_eq!(
        messages("G(GitPush → ¬force)"),
        [
            "`force` is not a standard atom; it is looked for in the texts of actions, which is a guess at column 14"
        ]
    );
    assert!(messages("F(Frobnicate)")[0].starts_with("`Frobnicate` is not a standard type"));
}

#[test]
fn a_formula_without_meaning_is_an_error() {
    for text in [
        "F(approver_2 ≠ approver_1)",
        "∀ r ∈ residuals . r",
        "F(r.status = open)",
        "F(frob(a))",
        "F(inputs(z) ≠ ∅)",
        "F(Frob(proved))",
        "files_modified = {target(b) | G(b)}",
    ] {
        assert!(errors(text) > 0, "{text}: {:?}", messages(text));
    }
    assert_eq!(errors("G(∀ x ∈ inputs(a) . x ∈ outputs(a))"), 0);
    assert_eq!(errors("F(request.path = \"x\")"), 0);
    assert_eq!(errors("files_modified = {target(b) | b ∈ actions ∧ b.type = EditFile}"), 0);
}

#[test]
fn vacuous_rules_are_found() {
    assert!(
        messages("G(EditFile ∧ GitCommit → P(RunTests))").iter().any(|text| text.contains("can never occur"))
    );
    assert!(messages("G(EditFile → RunTests ∨ ¬RunTests)").iter().any(|text| text.contains("always holds")));
    assert!(messages("count(EditFile) ≥ 0").iter().any(|text| text.starts_with("every action satisfies")));
    assert!(messages("F(EditFile ∧ EditFile)").iter().any(|text| text.contains("is repeated")));
    assert!(messages("F(EditFile ∧ GitCommit)").iter().any(|text| text.starts_with("no action can satisfy")));
}

#[test]
fn operators_in_odd_places_are_found() {
    assert!(messages("G(ReadFile → G(Lint))")[0].starts_with("`G` inside `G`"));
    assert!(messages("P(ReadFile)")[0].starts_with("`P` stands outside"));
    assert!(messages("Lint S_last ReadFile")[0].starts_with("`S_last` stands outside"));
    assert!(messages("F(X Lint)")[0].starts_with("`X` is rarely meant"));
    assert_eq!(messages("count(P(Lint)) ≤ 3"), [""; 0]);
}

#[test]
fn the_level_is_what_the_formula_needs() {
    assert_eq!(level("G(GitCommit → P(RunTests))"), LanguageLevel::PureTemporal);
    assert_eq!(level("G(action → rationale ≠ ∅)"), LanguageLevel::PureTemporal);
    assert_eq!(level("G(GitCommit → Lint S_last GitCommit)"), LanguageLevel::ScopedTemporal);
    assert_eq!(level("G(GitCommit → H_chain(Lint))"), LanguageLevel::ScopedTemporal);
    assert_eq!(level("count(ToolCall) ≤ 20"), LanguageLevel::Structural);
    assert_eq!(level("data_flow_integrity"), LanguageLevel::Structural);
}

#[test]
fn what_nothing_ever_writes_is_found_with_what_to_ask_instead() {
    let found = |text: &str| -> Vec<String> {
        lint_written(&Formula::parse(text).unwrap()).iter().map(ToString::to_string).collect()
    };
    for (text, part) in [
        ("G(execution.latency ≠ ∅ → execution.latency ≤ 5)", "`execution.latency`"),
        ("F(request.forced = true)", "`request.forced`"),
        ("∀ x ∈ artifacts . x.metadata.secret = true", "`metadata.secret`"),
        ("∃ b ∈ actions . b.execution.price > 3", "`execution.price`"),
        ("∀ s ∈ telemetry . s.status = recorded", "the list `telemetry`"),
        ("G(ConformanceCheck → passed)", "`passed`"),
        ("F(ConformanceResult)", "`ConformanceResult`"),
        ("F(TestResult)", "`TestResult`"),
    ] {
        let findings = found(text);
        assert!(findings.iter().any(|finding| finding.contains(part)), "{text}: {findings:?}");
    }
    for text in [
        "G(execution.cost ≠ ∅ → execution.cost ≤ 5)",
        "F(request.force = true ∨ \"-f\" ∈ request.arguments)",
        "F(request.input.customer = \"x\")",
        "F(result.anything = 3)",
        "G(Deploy → P(UserApproval))",
    ] {
        assert_eq!(found(text), [""; 0], "{text}");
    }
}
