use hence_canon::{Value, parse};

use super::*;
use crate::check::{FailOn, Options, Report, check};
use crate::policy::Policy;

fn report() -> Report {
    let policies = r#"[
        {"id": "kept", "formula": "F(EditFile)"},
        {"id": "broken", "severity": "error", "formula": "G(EditFile → P(ReadFile))"},
        {"id": "advice", "severity": "warning", "formula": "count(EditFile) < 1"},
        {"id": "moot", "formula": "G(Deploy → P(Lint))"},
        {"id": "odd", "formula": "G(\"<&"}
    ]"#;
    let policies = parse(policies.as_bytes()).unwrap();
    let policies: Vec<Policy> = policies
        .as_array()
        .unwrap()
        .iter()
        .map(|item| Policy::read(item.as_object().unwrap()).unwrap())
        .collect();
    let trace = parse(br#"{"trace_id": "t", "actions": [{"id": 4, "type": "EditFile"}]}"#).unwrap();
    check(&trace, &policies, Options::default())
}

#[test]
fn sarif_has_one_result_per_policy_with_kind_and_level() {
    let log = sarif(&report(), "traces/t.json");
    let results = log.pointer(&"/runs/0/results".parse().unwrap()).and_then(Value::as_array).unwrap();
    let said = |key: &str| -> Vec<&str> {
        results.iter().map(|result| result.get(key).unwrap().as_str().unwrap()).collect()
    };
    assert_eq!(said("kind"), ["pass", "fail", "fail", "notApplicable", "open"]);
    assert_eq!(said("level"), ["none", "error", "warning", "none", "none"]);
    let place = "/runs/0/results/1/locations/0/logicalLocations/0/fullyQualifiedName".parse().unwrap();
    assert_eq!(log.pointer(&place), Some(&Value::from("/actions/0")));
}

#[test]
fn junit_counts_add_up_and_everything_is_escaped() {
    let written = |name: &str, fail_on| hence_review::show::junit("all", &[junit(&report(), name, fail_on)]);
    let xml = written("a \"b\"", FailOn::Error);
    assert!(
        xml.contains(
            "<testsuite name=\"a &quot;b&quot;\" tests=\"5\" failures=\"1\" errors=\"1\" skipped=\"2\">"
        ),
        "{xml}"
    );
    assert!(
        xml.contains("<failure type=\"error\" message=\"action 4 (EditFile): `EditFile` holds; no earlier"),
        "{xml}"
    );
    assert!(xml.contains("<skipped message=\"warning: "), "{xml}");
    assert!(xml.contains("no closing quote"), "{xml}");
    let stricter = written("x", FailOn::Warning);
    assert!(stricter.contains("failures=\"2\""));
}

#[test]
fn github_commands_name_the_policy_and_stay_on_one_line() {
    let text = github(&report(), "a,b.json");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines[0].starts_with("::error file=a%2Cb.json,title=policy broken::action 4 (EditFile): "));
    assert!(lines[1].starts_with("::warning file=a%2Cb.json,title=policy advice::"));
    assert!(lines[2].starts_with("::warning file=a%2Cb.json,title=policy odd::"));
    assert!(lines[3].starts_with("::error file=a%2Cb.json,title=policy odd::"));
}
