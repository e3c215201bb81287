use hence_canon::Canonical;

use super::*;
use crate::testing::json;

fn document(steps: &str) -> hence_canon::Value {
    json(&format!(
        r#"{{"id": "s", "version": "1.0.0", "name": "N", "description": "D", "inputs": {{}}, "outputs": {{}}, "steps": {steps}}}"#
    ))
}

fn findings(steps: &str) -> Vec<(String, String)> {
    let reading = Skill::read(&document(steps));
    reading
        .findings
        .iter()
        .map(|finding| (finding.rule.code().to_owned(), finding.pointer.to_string()))
        .collect()
}

fn rules(steps: &str) -> Vec<String> {
    findings(steps).into_iter().map(|(rule, _)| rule).collect()
}

#[test]
fn every_finding_is_reported_with_its_place() {
    let steps = r#"[
        {"id": "a", "uses": "c", "colour": 1, "output": {"x": "trace.y", "z": "working.nope"}},
        {"uses": ""},
        {"id": "a", "uses": "c", "config": {"merge_strategy": null, "condition": "1 +", "retry": 3}}]"#;
    let expected = [
        ("unknown-key", "/steps/0/colour"),
        ("target-namespace", "/steps/0/output/x"),
        ("target", "/steps/0/output/z"),
        ("shape", "/steps/1/id"),
        ("shape", "/steps/1/uses"),
        ("merge-strategy", "/steps/2/config/merge_strategy"),
        ("expression", "/steps/2/config/condition"),
        ("control", "/steps/2/config/retry"),
        ("duplicate-step", "/steps/2/id"),
    ];
    let found = findings(steps);
    assert_eq!(found.iter().map(|(rule, place)| (&**rule, &**place)).collect::<Vec<_>>(), expected);
    assert!(Skill::read(&document(steps)).skill.is_none());
}

#[test]
fn a_document_that_is_no_skill_says_what_is_missing() {
    let reading = Skill::read(&json(r#"{"id": "", "version": 1.0, "steps": {}}"#));
    let places: Vec<String> = reading.findings.iter().map(|finding| finding.pointer.to_string()).collect();
    assert_eq!(places, ["/id", "/version", "/name", "/description", "/inputs", "/outputs", "/steps"]);
    assert!(Skill::read(&json("[]")).skill.is_none());
}

#[test]
fn a_well_formed_skill_has_no_findings() {
    let steps = r#"[{"id": "a", "uses": "skill: other ", "input": {"x": "inputs.t"}, "output": {"r": "vars.r"},
        "config": {"depends_on": [], "timeout_seconds": 2, "retry": {"max_attempts": 2, "on": ["StepTimeout"]},
                   "foreach": {"items": "inputs.l", "parallel": 4, "on_error": "continue"}}}]"#;
    let reading = Skill::read(&document(steps));
    assert_eq!(reading.findings, []);
    assert!(!reading.is_refused());
    let step = &reading.skill.unwrap().steps[0];
    assert_eq!(step.uses, Uses::Skill("other".into()));
    assert!(matches!(&step.control.flow, Flow::Foreach(foreach) if foreach.parallel == 4));
}

#[test]
fn control_blocks_that_exclude_each_other_are_findings() {
    let steps = r#"[{"id": "a", "uses": "c", "config": {
        "foreach": {"items": "inputs.l"}, "while": {"condition": "true"},
        "scatter": {"capabilities": ["a", "b"]}, "router": {"on": "inputs.t", "cases": {"x": "c"}}}}]"#;
    assert_eq!(rules(steps), ["control-conflict"; 4]);
}

#[test]
fn the_old_names_of_mappings_are_read_with_a_warning() {
    let steps = r#"[{"id": "a", "uses": "c", "input_mapping": {"t": "inputs.t"}, "output_mapping": {"r": "outputs.r"}}]"#;
    let reading = Skill::read(&document(steps));
    assert_eq!(rules(steps), ["alias", "alias"]);
    assert!(!reading.is_refused());
    let step = &reading.skill.unwrap().steps[0];
    assert_eq!(step.input.as_ref().unwrap().references().len(), 1);
    assert_eq!(step.output.as_ref().unwrap().entries().len(), 1);
}

#[test]
fn malformed_numbers_in_blocks_are_findings_even_where_a_default_stands_in() {
    for config in [
        r#"{"retry": {"max_attempts": "4"}}"#,
        r#"{"retry": {"max_attempts": 101}}"#,
        r#"{"retry": {"backoff_seconds": -1}}"#,
        r#"{"while": {"condition": "true", "max_iterations": 0}}"#,
        r#"{"while": {"condition": "true", "max_iterations": 1000001}}"#,
        r#"{"foreach": {"items": "inputs.l", "as": 5}}"#,
        r#"{"scatter": {"capabilities": ["a"]}}"#,
        r#"{"router": {"on": "inputs.t", "cases": {}}}"#,
        r#"{"timeout_seconds": 0}"#,
        r#"{"condition": false}"#,
    ] {
        let found = rules(&format!(r#"[{{"id": "a", "uses": "c", "config": {config}}}]"#));
        assert_eq!(found, ["control"], "{config}");
    }
    let (retry, findings) = Retry::parse(&json(r#"{"max_attempts": 100}"#));
    assert_eq!((retry.unwrap().max_attempts, findings.len()), (RETRY_ATTEMPTS_MAX, 0));
}

#[test]
fn waits_grow_are_capped_and_jitter_depends_on_the_seed_alone() {
    let retry = |text: &str| Retry::parse(&json(text)).0.unwrap();
    let plain = retry(r#"{"backoff_seconds": 0.5, "backoff_multiplier": 3, "max_backoff_seconds": 4}"#);
    let waits: Vec<f64> = (2..6).map(|next| plain.wait_before(next, "", "a").get()).collect();
    assert_eq!(waits, [0.5, 1.5, 4.0, 4.0]);
    let jittered = retry(r#"{"jitter": 0.5}"#);
    let wait = |seed: &str| jittered.wait_before(2, seed, "a").get();
    assert_eq!(wait("one"), wait("one"));
    assert_ne!(wait("one"), wait("two"));
    assert!((1.0..1.5).contains(&wait("one")));
    assert_eq!(retry(r#"{"backoff_seconds": -1}"#).wait_before(2, "", "a").get(), 0.0);
}

#[test]
fn rules_have_distinct_codes() {
    let codes: std::collections::BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.code()).collect();
    assert_eq!(codes.len(), Rule::ALL.len());
}

#[test]
fn the_limits_of_documents_are_exact() {
    let too_many = |count: usize| {
        let nulls: hence_canon::Value = std::iter::repeat_n(hence_canon::Value::Null, count).collect();
        let document = hence_canon::Object::from_iter([("steps", nulls)]);
        let findings = Skill::read(&document.into()).findings;
        findings.iter().any(|finding| finding.rule == Rule::TooManySteps)
    };
    assert!(!too_many(STEPS_MAX) && too_many(STEPS_MAX + 1));
    let findings =
        |block: &str| rules(&format!(r#"[{{"id": "a", "uses": "c", "config": {{{block}}}}}]"#)).len();
    let foreach =
        |parallel: u64| findings(&format!(r#""foreach": {{"items": "inputs.l", "parallel": {parallel}}}"#));
    assert_eq!((foreach(PARALLEL_MAX), foreach(PARALLEL_MAX + 1)), (0, 1));
    let whiles =
        |max: u64| findings(&format!(r#""while": {{"condition": "true", "max_iterations": {max}}}"#));
    assert_eq!((whiles(ITERATIONS_MAX), whiles(ITERATIONS_MAX + 1)), (0, 1));
}

#[test]
fn the_order_of_mappings_survives_the_canonical_form() {
    let pinned = |steps: &str| Canonical::of(&with_order(&document(steps)));
    let read = |source: &Canonical| Skill::read(&hence_canon::parse(source.bytes()).unwrap()).skill.unwrap();
    let steps = r#"[{"id": "a", "uses": "c", "input": {"z": "inputs.b", "m": 1, "a": {"y": "inputs.c", "x": ["inputs.a"]}},
        "output": {"value.z": "vars.z", "value.a": "vars.a"}}]"#;
    let source = pinned(steps);
    let skill = read(&source);
    let step = &skill.steps[0];
    assert_eq!(
        step.output.as_ref().unwrap().targets().iter().map(|one| &**one).collect::<Vec<_>>(),
        ["vars.z", "vars.a"]
    );
    assert_eq!(
        step.input.as_ref().unwrap().reads().iter().map(|one| &**one).collect::<Vec<_>>(),
        ["inputs.b", "inputs.c", "inputs.a"]
    );
    // Pinning what is pinned changes nothing.
    let again = hence_canon::parse(source.bytes()).unwrap();
    assert_eq!(Canonical::of(&with_order(&again)).bytes(), source.bytes());
    let other = r#"[{"id": "a", "uses": "c", "input": {"z": "inputs.b", "m": 1, "a": {"y": "inputs.c", "x": ["inputs.a"]}},
        "output": {"value.a": "vars.a", "value.z": "vars.z"}}]"#;
    assert_ne!(pinned(other).digest(), source.digest());
}

#[test]
fn an_order_that_does_not_show_is_not_stated() {
    for steps in [
        r#"[{"id": "a", "uses": "c", "input": {"a": "inputs.z", "b": "inputs.a"}, "output": {"a": "vars.z", "b": "vars.y"}}]"#,
        r#"[{"uses": "c", "id": "a", "input": {"z": 1, "a": "text", "k": {"$literal": {"z": "vars.z", "a": "vars.a"}}}}]"#,
        r#"[{"id": "a", "uses": "c", "input": {"z": 1, "a": "inputs.x"}, "output": {"one": "vars.z"}}]"#,
    ] {
        assert_eq!(with_order(&document(steps)).get(ORDER_KEY), None, "{steps}");
    }
}

#[test]
fn a_stated_order_that_fits_no_mapping_is_refused() {
    let steps = json(r#"[{"id": "a", "uses": "c", "output": {"a": "vars.a", "b": "vars.b"}}]"#);
    for order in [
        r#"[]"#,
        r#"{"/steps/0/output": "b"}"#,
        r#"{"/steps/0/output": ["b", "c"]}"#,
        r#"{"/steps/0/output": ["b", "b"]}"#,
        r#"{"/steps/1/output": ["b", "a"]}"#,
        r#"{"/steps/0/config": ["b", "a"]}"#,
        r#"{"nowhere": []}"#,
    ] {
        let stated =
            document("[]").as_object().unwrap().with("steps", steps.clone()).with(ORDER_KEY, json(order));
        let reading = Skill::read(&stated.into());
        assert!(reading.skill.is_none(), "{order}");
        assert!(reading.findings.iter().all(|one| one.pointer.to_string().starts_with("/$order")), "{order}");
    }
}

#[test]
fn misspelt_members_and_types_name_what_was_meant_and_registry_members_are_warnings() {
    let mut skill =
        document(r#"[{"id": "a", "use": "c", "uses": "c", "depends_on": [], "config": {"retri": {}}}]"#);
    skill = skill.as_object().unwrap().with("status", "draft").with("stepz", 1).into();
    skill = skill
        .as_object()
        .unwrap()
        .with("inputs", json(r#"{"x": {"type": "strng"}, "y": {"type": "Invoice"}}"#))
        .into();
    let reading = Skill::read(&skill);
    let found: Vec<(Rule, &str)> = reading.findings.iter().map(|one| (one.rule, &*one.message)).collect();
    assert_eq!(
        found,
        [
            (Rule::Ignored, "`status` is for registries; a run does not read it"),
            (Rule::UnknownKey, "a skill has no `stepz`; did you mean `steps`?"),
            (Rule::UnknownType, "`strng` is no type; did you mean `string`?"),
            (Rule::UnknownKey, "a step has no `use`; did you mean `uses`?"),
            (Rule::Ignored, "`depends_on` has no effect here; it is read in `config`"),
            (Rule::UnknownKey, "a config has no `retri`; did you mean `retry`?"),
        ]
    );
    assert_eq!(Rule::Ignored.severity(), Severity::Warning);
}

#[test]
fn a_guard_outside_of_config_is_an_error() {
    for key in [
        "condition",
        "foreach",
        "while",
        "router",
        "scatter",
        "retry",
        "recovery",
        "limits",
        "merge_strategy",
    ] {
        let skill = document(&format!(r#"[{{"id": "a", "uses": "c", "{key}": "inputs.q"}}]"#));
        let reading = Skill::read(&skill);
        let is_refused = |one: &SkillFinding| {
            one.rule.severity() == Severity::Error && one.message.contains("write it below `config`")
        };
        assert!(reading.findings.iter().any(is_refused), "{key}: {:?}", reading.findings);
    }
}

#[test]
fn a_document_with_defects_of_shape_is_read_as_far_as_it_goes() {
    let reading = Skill::read(&json(
        r#"{"id": 1, "version": "1", "name": "N", "inputs": {"a": {"type": 5}}, "outputs": {}, "steps": [7, {"uses": "c"}, {"id": "z", "uses": "d"}]}"#,
    ));
    assert!(reading.skill.is_none());
    let rest = reading.unfinished.unwrap();
    assert_eq!(rest.steps.iter().map(|step| &*step.id).collect::<Vec<_>>(), ["step 0", "step 1", "z"]);
    assert_eq!(rest.inputs.len(), 1);
}
