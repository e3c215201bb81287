use hence_canon::{parse, parse_lenient};

use super::*;
use crate::{Category, Stage, dotted};

fn spec(members: &str) -> String {
    format!(
        r#"{{"version":"1.0.0","id":"r","created_at":"2026-02-02T00:00:00Z","inputs":{{"prompt":"x"}}{members}}}"#
    )
}

fn refuse(json: &str, profile: &Profile) -> Findings {
    ProblemSpec::decode(&parse(json.as_bytes()).unwrap(), profile).unwrap_err()
}

fn first(json: &str) -> (Stage, Category, String) {
    let findings = refuse(json, &Profile::COMPAT);
    (findings.first().rule.stage, findings.first().rule.category, dotted(&findings.first().pointer))
}

#[test]
fn a_strict_reading_reports_everything_at_once() {
    let findings = refuse(
        r#"{"version":"2","id":" ","created_at":"2026-02-30T00:00:00Z","inputs":{"prompt":" ","goals":["a",""],
            "context":{"evidence":[{},1]}},"settings":{"evidence_required":"yes","max_steps":7.0,"loop":{"enabled":1}}}"#,
        &Profile::STRICT,
    );
    let paths: Vec<String> = findings.iter().map(|finding| dotted(&finding.pointer)).collect();
    assert_eq!(
        paths,
        [
            "id",
            "created_at",
            "inputs.context.evidence.1",
            "settings.evidence_required",
            "settings.max_steps",
            "settings.loop.enabled",
            "settings.loop.start_step",
            "settings.loop.end_step",
            "settings.loop.max_iterations",
            "settings.loop.stop_condition",
            "version",
        ]
    );
}

#[test]
fn lax_typing_uses_the_truth_of_the_raw_value() {
    for (raw, truth) in
        [("true", true), ("\"no\"", true), ("\"0\"", true), ("1", true), ("0", false), ("0.0", false)]
    {
        let json = spec(&format!(r#","settings":{{"evidence_required":{raw}}}"#));
        let problem = ProblemSpec::decode(&parse(json.as_bytes()).unwrap(), &Profile::COMPAT).unwrap();
        assert_eq!(problem.settings().evidence_required, truth, "{raw}");
    }
    for (raw, category) in [
        ("2", Category::BoolParsing),
        ("2.0", Category::BoolParsing),
        ("\"\"", Category::BoolParsing),
        ("\" yes\"", Category::BoolParsing),
        ("0.5", Category::BoolType),
        ("[]", Category::BoolType),
    ] {
        let json = spec(&format!(r#","settings":{{"evidence_required":{raw}}}"#));
        assert_eq!(first(&json), (Stage::Schema, category, "settings.evidence_required".into()), "{raw}");
    }
}

#[test]
fn lax_integers_take_digits_in_several_forms() {
    let max = |raw: &str| spec(&format!(r#","settings":{{"max_steps":{raw}}}"#));
    for (raw, category) in [
        ("0", Category::GreaterThan),
        ("\"0\"", Category::GreaterThan),
        ("-3.0", Category::GreaterThan),
        ("1.5", Category::IntFromFloat),
        ("\"x\"", Category::IntParsing),
        ("[]", Category::IntType),
    ] {
        assert_eq!(first(&max(raw)), (Stage::Schema, category, "settings.max_steps".into()), "{raw}");
    }
    for (raw, steps) in [("7", "7"), ("7.0", "7"), ("true", "1"), ("1e2", "100")] {
        let problem = ProblemSpec::decode(&parse(max(raw).as_bytes()).unwrap(), &Profile::COMPAT).unwrap();
        assert_eq!(problem.settings().max_steps, Some(MaxSteps::Number(steps.parse().unwrap())), "{raw}");
    }
    let text =
        ProblemSpec::decode(&parse(max("\" +1_0.0 \"").as_bytes()).unwrap(), &Profile::COMPAT).unwrap();
    assert_eq!(text.settings().max_steps, Some(MaxSteps::Text));
}

fn looping(condition: &str) -> String {
    spec(&format!(
        r#","settings":{{"loop":{{"enabled":true,"start_step":"Verify","end_step":"Verify","max_iterations":2,
            "stop_condition":{condition}}}}}"#
    ))
}

#[test]
fn an_enabled_loop_has_rules_beyond_its_schema() {
    for (condition, path) in [
        (r#"{"path":"x","operator":"equals","value":1}"#, "settings.loop.stop_condition.path"),
        (r#"{"path":"artifacts.x","operator":"in","value":1}"#, "settings.loop.stop_condition.operator"),
        (r#"{"path":"artifacts.x","operator":"gt","value":true}"#, "settings.loop.stop_condition.value"),
        (r#"{"path":"artifacts.x","operator":"equals","value":1.5}"#, "settings.loop.stop_condition.value"),
    ] {
        assert_eq!(first(&looping(condition)), (Stage::LoopRules, Category::ValueError, path.into()));
    }
}

#[test]
fn stop_conditions_compare_as_the_documents_engine_does() {
    let condition = |operator: &str, value: &str| {
        let json = looping(&format!(r#"{{"path":"artifacts.x","operator":"{operator}","value":{value}}}"#));
        let problem = ProblemSpec::decode(&parse(json.as_bytes()).unwrap(), &Profile::COMPAT).unwrap();
        problem.settings().loop_settings.clone().unwrap().stop_condition
    };
    let met = |operator: &str, value: &str, found: &str| {
        condition(operator, value).is_met(Some(&parse(found.as_bytes()).unwrap()))
    };
    assert!(met("equals", "1", "true") && met("equals", "false", "0.0") && !met("equals", "\"1\"", "1"));
    assert!(met("not_equals", "1", "[1]") && !met("not_equals", "1", "null"));
    assert!(!condition("not_equals", "1").is_met(None));
    assert!(met("gt", "99999999999999999999", "100000000000000000000") && !met("gt", "1", "2.5"));
    assert!(!met("lte", "1", "true"));
}

#[test]
fn a_document_without_canonical_form_is_refused_last_in_lax_reading() {
    let lenient = |json: &str| {
        let findings =
            ProblemSpec::decode_lenient(&parse_lenient(json.as_bytes()).unwrap(), &Profile::COMPAT);
        findings
            .map(|_| ())
            .map_err(|findings| (findings.first().rule.stage, dotted(&findings.first().pointer)))
    };
    assert_eq!(lenient(&spec(r#","extra":NaN"#)), Err((Stage::Hashing, "extra".into())));
    assert_eq!(lenient(&spec("").replace("\"r\"", r#""\ud800""#)), Err((Stage::Schema, "id".into())));
    assert_eq!(lenient(&spec(r#","a":1,"a":2"#)), Ok(()));
}

#[test]
fn a_problem_nests_up_to_its_limit_and_no_deeper() {
    let nested = |depth: usize| spec(&format!(",\"x\":{}{}", "[".repeat(depth - 1), "]".repeat(depth - 1)));
    assert!(ProblemSpec::decode(&parse(nested(NESTING_MAX).as_bytes()).unwrap(), &Profile::STRICT).is_ok());
    let refused = refuse(&nested(NESTING_MAX + 1), &Profile::STRICT);
    assert_eq!(refused.first().message(), "problem nests 501 deep, limit is 500");
}

proptest::proptest! {
    #[test]
    fn no_document_makes_decoding_panic(text in r#"[\[\]{}",:0-9a-z_ .\-]{0,80}"#) {
        if let Ok(value) = parse(format!("{{\"version\":\"1.0.0\",\"settings\":{text}}}").as_bytes()) {
            let _ = ProblemSpec::decode(&value, &Profile::STRICT);
            let _ = ProblemSpec::decode(&value, &Profile::COMPAT);
        }
    }
}

#[test]
fn policies_are_pinned_by_a_digest() {
    let read = |pin: &str| {
        let json = spec(&format!(r#","settings":{{"policies":{pin}}}"#));
        ProblemSpec::decode(&parse(json.as_bytes()).unwrap(), &Profile::STRICT)
            .map(|problem| problem.settings().policies)
            .map_err(|findings| dotted(&findings.first().pointer))
    };
    let digest = hence_canon::Digest::of(b"x");
    assert_eq!(read(&format!(r#"{{"sha256":"{digest}"}}"#)), Ok(Some(digest)));
    assert_eq!(read("null"), Ok(None));
    assert_eq!(read(r#""engineering""#), Err("settings.policies".to_owned()));
    for bad in [r#"{"sha256":"ab"}"#, r#"{"sha256":1}"#, "{}"] {
        assert_eq!(read(bad), Err("settings.policies.sha256".to_owned()), "{bad}");
    }
}
