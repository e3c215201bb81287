use super::*;
use crate::skill::{Rule, Skill};
use crate::testing::json;

fn skill(steps: &str) -> Skill {
    let text = format!(
        r#"{{"id": "s", "version": "1", "name": "N", "description": "D", "inputs": {{"x": {{"type": "any"}}, "n": {{"type": "any"}}, "l": {{"type": "array"}}, "t": {{"type": "any"}}}}, "outputs": {{}}, "steps": {steps}}}"#
    );
    Skill::read(&json(&text)).skill.unwrap()
}

fn step(id: &str, depends_on: &str, reads: &str, writes: &str) -> String {
    let config =
        if depends_on.is_empty() { "{}".to_owned() } else { format!(r#"{{"depends_on": {depends_on}}}"#) };
    let input = if reads.is_empty() { "{}".to_owned() } else { format!(r#"{{"x": "{reads}"}}"#) };
    format!(
        r#"{{"id": "{id}", "uses": "c", "input": {input}, "output": {{"r": "{writes}"}}, "config": {config}}}"#
    )
}

fn steps(list: &[String]) -> Skill {
    skill(&format!("[{}]", list.join(",")))
}

fn order(skill: &Skill) -> Vec<&str> {
    Plan::of(skill).unwrap().order().iter().map(|index| &*skill.steps[index.position()].id).collect()
}

fn checked(skill: &Skill) -> Vec<Rule> {
    check(skill, &Plan::of(skill).unwrap(), None).iter().map(|finding| finding.rule).collect()
}

#[test]
fn steps_take_effect_first_come_first_served() {
    let skill = steps(&[
        step("n0", "[]", "", "vars.n0"),
        step("n1", r#"["n0"]"#, "", "vars.n1"),
        step("n2", "[]", "", "vars.n2"),
        step("n3", "", "", "vars.n3"),
        step("n4", r#"["n1", "n3", "n1"]"#, "", "vars.n4"),
    ]);
    assert_eq!(order(&skill), ["n0", "n2", "n1", "n3", "n4"]);
}

#[test]
fn cycles_are_named_and_what_waits_behind_them_is_unreachable() {
    let skill = steps(&[
        step("a", r#"["c"]"#, "", "vars.a"),
        step("b", r#"["a"]"#, "", "vars.b"),
        step("c", r#"["b"]"#, "", "vars.c"),
        step("d", r#"["c"]"#, "", "vars.d"),
        step("e", r#"["e"]"#, "", "vars.e"),
        step("f", r#"["nope"]"#, "", "vars.f"),
    ]);
    let findings = Plan::of(&skill).unwrap_err();
    let found: Vec<(Rule, String)> =
        findings.iter().map(|finding| (finding.rule, finding.pointer.to_string())).collect();
    assert_eq!(
        found,
        [
            (Rule::UnknownDependency, "/steps/5/config/depends_on/0".to_owned()),
            (Rule::Cycle, "/steps/0".to_owned()),
            (Rule::Cycle, "/steps/4".to_owned()),
            (Rule::Unreachable, "/steps/3".to_owned()),
        ]
    );
    assert!(findings[1].message.contains("a → c → b → a"), "{}", findings[1].message);
}

#[test]
fn a_reader_waits_for_overlapping_writers_and_nobody_else() {
    let skill = steps(&[
        step("whole", "[]", "", "working.artifacts"),
        step("part", "[]", "", "working.artifacts.a.b"),
        step("other", "[]", "", "working.artifacts.ab"),
        step("reader", "[]", "working.artifacts.a", "vars.r"),
        step("late", "[]", "", "working.artifacts.a"),
    ]);
    let plan = Plan::of(&skill).unwrap();
    let waits: Vec<usize> = plan.reads_from(StepIndex::new(3)).iter().map(|step| step.position()).collect();
    assert_eq!(waits, [0, 1]);
}

#[test]
fn a_strict_reference_needs_an_earlier_writer() {
    let missing = steps(&[step("a", "", "vars.nope", "vars.a")]);
    assert_eq!(checked(&missing), [Rule::DanglingReference]);
    let late = steps(&[step("a", "", "vars.b", "vars.a"), step("b", "", "", "vars.b")]);
    assert_eq!(checked(&late), [Rule::DanglingReference]);
    let fine = steps(&[step("a", "", "working.risks", "vars.a"), step("b", "", "vars.a.deep", "vars.b")]);
    assert_eq!(checked(&fine), []);
    let impossible =
        steps(&[step("a", "", "working.scratch", "vars.a"), step("b", "", "frame.nope", "vars.b")]);
    assert_eq!(checked(&impossible), [Rule::DanglingReference; 2]);
}

#[test]
fn unordered_reads_and_writes_are_findings() {
    let read = steps(&[step("a", "[]", "", "vars.a"), step("b", "[]", "vars.a", "vars.b")]);
    assert_eq!(checked(&read), [Rule::UnorderedRead]);
    let write = steps(&[step("a", "[]", "", "vars.x"), step("b", "[]", "", "vars.x")]);
    assert_eq!(checked(&write), [Rule::ParallelWrite]);
    let ordered =
        steps(&[step("a", "", "", "vars.x"), step("b", "", "", "vars.y"), step("c", "", "", "vars.x")]);
    assert_eq!(checked(&ordered), []);
}

#[test]
fn ancestry_is_found_across_branches() {
    let skill = steps(&[
        step("a", "", "", "vars.a"),
        step("b", r#"["a"]"#, "", "vars.b"),
        step("c", r#"["a"]"#, "", "vars.c"),
        step("d", r#"["b", "c"]"#, "vars.a", "vars.d"),
        step("e", r#"["c"]"#, "vars.b", "vars.e"),
    ]);
    assert_eq!(checked(&skill), [Rule::UnorderedRead]);
}

#[test]
fn a_condition_that_never_holds_makes_its_step_unreachable() {
    let never = skill(r#"[{"id": "a", "uses": "c", "config": {"condition": "1 > 2"}}]"#);
    assert_eq!(checked(&never), [Rule::Unreachable]);
    let depends = skill(r#"[{"id": "a", "uses": "c", "config": {"condition": "inputs.x"}}]"#);
    assert_eq!(checked(&depends), []);
}

#[test]
fn a_default_of_another_type_than_its_input_is_a_warning() {
    let with = |inputs: &str| {
        let text = format!(
            r#"{{"id": "s", "version": "1", "name": "N", "description": "D", "inputs": {inputs}, "outputs": {{}}, "steps": [{{"id": "a", "uses": "c"}}]}}"#
        );
        checked(&Skill::read(&json(&text)).skill.unwrap())
    };
    for (kind, default) in [("integer", r#""3""#), ("boolean", "1"), ("array", "{}"), ("string", "0.5")] {
        let inputs = format!(r#"{{"n": {{"type": "{kind}", "default": {default}}}}}"#);
        assert_eq!(with(&inputs), [Rule::Default], "{inputs}");
    }
    for (kind, default) in
        [("integer", "3"), ("number", "3"), ("boolean", "null"), ("any", "{}"), ("mine", "1")]
    {
        let inputs = format!(r#"{{"n": {{"type": "{kind}", "default": {default}}}}}"#);
        assert_eq!(with(&inputs), [], "{inputs}");
    }
    assert_eq!(Rule::Default.severity(), crate::skill::Severity::Warning);
}

#[test]
fn a_name_that_a_skipped_step_would_have_written_needs_a_default_or_the_same_condition() {
    let skill = |first: &str, reader: &str| {
        skill(&format!(
            r#"[{{"id": "a", "uses": "c", "output": {{"x": "vars.a", "y": "vars.y"}}, "config": {{"condition": "{first}"}}}}, {reader}]"#
        ))
    };
    let found = |reader: &str| checked(&skill("inputs.x > 1", reader));
    let read = r#"{"id": "b", "uses": "c", "input": {"v": "vars.a"}}"#;
    assert_eq!(found(read), [Rule::SkippedWriter]);
    assert_eq!(found(&read.replace("vars.a", "vars.a.deep")), [Rule::SkippedWriter]);
    let under = |condition: &str| {
        let config = format!(r#"}}, "config": {{"condition": "{condition}"}}}}"#);
        read.replace("}}", &config)
    };
    for guarded in [
        "inputs.x > 1",
        "inputs.x  >  1",
        "inputs.n and inputs.x > 1",
        "(vars.a ?? 0) != 0",
        "(vars.y ?? 0) != 0",
    ] {
        assert_eq!(found(&under(guarded)), [], "{guarded}");
    }
    for open in ["inputs.x > 2", "inputs.n or inputs.x > 1", "not (inputs.x > 1)"] {
        assert_eq!(found(&under(open)), [Rule::SkippedWriter], "{open}");
    }
    assert_eq!(found(&under("vars.a > 0")), [Rule::SkippedWriter; 2], "the condition reads it too");
    // Two steps under different conditions are the branches of a decision.
    let branch = |condition: &str| {
        format!(
            r#"{{"id": "n", "uses": "c", "output": {{"x": "vars.a"}}, "config": {{"condition": "{condition}"}}}}, {read}"#
        )
    };
    assert_eq!(found(&branch("not (inputs.x > 1)")), []);
    assert_eq!(found(&branch("inputs.x > 1")), [Rule::SkippedWriter]);
    let always = format!(r#"{{"id": "n", "uses": "c", "output": {{"x": "vars.a"}}}}, {read}"#);
    assert_eq!(found(&always), []);
    let skill = skill("inputs.x > 1", read);
    let plan = Plan::of(&skill).unwrap();
    let finding = check(&skill, &plan, None).pop().unwrap();
    assert_eq!(finding.pointer.to_string(), "/steps/1/input/v");
    assert_eq!(
        finding.message,
        "`vars.a` is written only by `a`, and only if `inputs.x > 1`; give this step the condition `inputs.x > 1`, or let a step write it in every case"
    );
}

#[test]
fn planning_and_checking_a_long_skill_stay_linear() {
    let chain = |count: usize| {
        let list: Vec<String> = (0..count)
            .map(|n| step(&format!("s{n}"), "", if n == 0 { "" } else { "vars.v0" }, &format!("vars.v{n}")))
            .collect();
        steps(&list)
    };
    let skill = chain(20_000);
    assert_eq!(order(&skill).len(), 20_000);
    assert_eq!(checked(&skill), []);
}

#[test]
fn names_in_expressions_are_checked_where_they_stand() {
    let found = |config: &str| -> Vec<(Rule, String, String)> {
        let first = r#"{"id": "a", "uses": "c", "output": {"r": "vars.limit"}}"#;
        let steps = format!(
            r#"[{first}, {{"id": "b", "uses": "c", "output": {{"r": "vars.own"}}, "config": {config}}}, {{"id": "z", "uses": "c", "output": {{"r": "vars.late"}}}}]"#
        );
        let skill = skill(&steps);
        let findings = check(&skill, &Plan::of(&skill).unwrap(), None);
        findings.into_iter().map(|one| (one.rule, one.pointer.to_string(), one.message)).collect()
    };
    let one = |rule: Rule, place: &str, message: &str| {
        vec![(rule, format!("/steps/1/config/{place}"), message.to_owned())]
    };
    let dangling = Rule::DanglingReference;
    for (config, expected) in [
        (r#"{"condition": "vars.limit > 3"}"#, vec![]),
        (
            r#"{"condition": "vars.limt > 3"}"#,
            one(dangling, "condition", "no earlier step writes `vars.limt`; did you mean `limit`?"),
        ),
        (
            r#"{"condition": "inputs.y > 3"}"#,
            one(dangling, "condition", "`inputs.y` is not a declared input"),
        ),
        (
            r#"{"router": {"on": "typo", "cases": {"x": "c"}}}"#,
            one(dangling, "router/on", "no earlier step writes `vars.typo`"),
        ),
        (
            r#"{"foreach": {"items": "working.entites"}}"#,
            one(dangling, "foreach/items", "working memory has no slot `entites`; did you mean `entities`?"),
        ),
        (r#"{"while": {"condition": "vars.own < 3"}}"#, vec![]),
        (
            r#"{"condition": "vars.late == 1"}"#,
            one(dangling, "condition", "`vars.late` is first written by `z`, a later step"),
        ),
        (
            r#"{"condition": "frame.goals != null"}"#,
            one(dangling, "condition", "the frame has no field `goals`; did you mean `goal`?"),
        ),
        (
            r#"{"condition": "vars.typo ?? 1 == 1"}"#,
            one(Rule::UnwrittenName, "condition", "no earlier step writes `vars.typo`"),
        ),
        (r#"{"condition": "vars.limit ?? 1 == 1"}"#, vec![]),
        (r#"{"condition": "output.summary != null and inputs.x"}"#, vec![]),
    ] {
        assert_eq!(found(config), expected, "{config}");
    }
}

#[test]
fn a_name_in_a_mapping_is_shown_where_it_stands() {
    let skill = skill(
        r#"[{"id": "a", "uses": "c", "input": {"deep": {"list": [1, "vars.nope"]}, "i": "inputs.nope"}, "output": {"vars.gone": "outputs.o"}}]"#,
    );
    let findings = check(&skill, &Plan::of(&skill).unwrap(), None);
    let places: Vec<String> = findings.iter().map(|finding| finding.pointer.to_string()).collect();
    assert_eq!(places, ["/steps/0/input/deep/list/1", "/steps/0/input/i", "/steps/0/output/vars.gone"]);
}

#[test]
fn a_skill_without_a_plan_is_checked_as_far_as_order_does_not_matter() {
    let skill = skill(
        r#"[{"id": "a", "uses": "c", "input": {"x": "vars.b"}, "output": {"r": "vars.a"}, "config": {"depends_on": ["b"]}},
            {"id": "b", "uses": "c", "input": {"x": "vars.typo"}, "output": {"r": "vars.b"}, "config": {"depends_on": ["a"]}}]"#,
    );
    assert!(Plan::of(&skill).is_err());
    let places: Vec<String> =
        check_unplanned(&skill, None).iter().map(|one| one.pointer.to_string()).collect();
    assert_eq!(places, ["/steps/1/input/x"]);
}

/// A registry of one capability and one skill.
struct Known;

impl crate::capability::Registry for Known {
    fn capability(&self, id: &str) -> Option<std::sync::Arc<crate::capability::CapabilitySpec>> {
        let spec = match id {
            "counted" => {
                r#"{"inputs": {"n": {"type": "integer", "required": true}, "s": {"type": "string"}}}"#
            }
            "wired" => r#"{"cognitive_hints": {"produces": {"o": {"type": "Risk", "target": "outputs.o"}}}}"#,
            "closed" => {
                let mut spec = crate::capability::CapabilitySpec::read(&json(
                    r#"{"inputs": {"values": {"type": "array", "required": true}, "service": {"type": "string"}}, "outputs": {"text": {"type": "string"}}}"#,
                ))
                .0;
                (spec.takes_only_declared, spec.gives_only_declared) = (true, true);
                return Some(std::sync::Arc::new(spec));
            }
            "open" => r#"{"inputs": {"values": {"type": "array"}}, "outputs": {"text": {"type": "string"}}}"#,
            "hungry" => r#"{"cognitive_hints": {"consumes": ["Risk"]}}"#,
            _ => return None,
        };
        Some(std::sync::Arc::new(crate::capability::CapabilitySpec::read(&json(spec)).0))
    }

    fn callees(&self) -> Vec<std::sync::Arc<str>> {
        ["counted", "closed", "skill:other"].map(std::sync::Arc::from).into()
    }

    fn skill(&self, id: &str) -> Option<std::sync::Arc<Skill>> {
        (id == "other").then(|| std::sync::Arc::new(skill(r#"[{"id": "x", "uses": "counted"}]"#)))
    }
}

fn checked_against_known(steps: &str, outputs: &str) -> Vec<(Rule, String)> {
    let text = format!(
        r#"{{"id": "s", "version": "1", "name": "N", "description": "D", "inputs": {{"x": {{"type": "any"}}, "n": {{"type": "any"}}, "l": {{"type": "array"}}, "t": {{"type": "any"}}}}, "outputs": {outputs}, "steps": {steps}}}"#
    );
    let skill = Skill::read(&json(&text)).skill.unwrap();
    let findings = check(&skill, &Plan::of(&skill).unwrap(), Some(&Known));
    findings.into_iter().map(|finding| (finding.rule, finding.pointer.to_string())).collect()
}

#[test]
fn what_is_called_must_exist_and_fit_its_contract() {
    let steps = r#"[
        {"id": "a", "uses": "nope"},
        {"id": "b", "uses": "skill:nope"},
        {"id": "c", "uses": "skill:other"},
        {"id": "d", "uses": "counted", "input": {"s": 5}},
        {"id": "e", "uses": "counted", "input": {"n": "inputs.n"}},
        {"id": "f", "uses": "counted", "config": {"foreach": {"items": "inputs.l", "as": "n"}}},
        {"id": "g", "uses": "any", "config": {"router": {"on": "inputs.t", "cases": {"x": "gone"}, "default": "wired"}}},
        {"id": "h", "uses": "any", "config": {"scatter": {"capabilities": ["wired", "gone"]}}}]"#;
    let expected = [
        (Rule::UnknownCapability, "/steps/0/uses"),
        (Rule::UnknownCapability, "/steps/1/uses"),
        (Rule::Contract, "/steps/3/uses"),
        (Rule::Contract, "/steps/3/input/s"),
        (Rule::UnknownCapability, "/steps/6/config/router/cases/x"),
        (Rule::UnknownCapability, "/steps/7/config/scatter/capabilities/1"),
    ];
    assert_eq!(checked_against_known(steps, "{}"), expected.map(|(rule, place)| (rule, place.to_owned())));
}

#[test]
fn required_outputs_must_be_written_by_a_step_or_by_its_wiring() {
    let outputs = r#"{"o": {"type": "string", "required": true}}"#;
    assert_eq!(checked_against_known(r#"[{"id": "a", "uses": "wired"}]"#, outputs), []);
    let found = checked_against_known(r#"[{"id": "a", "uses": "counted", "input": {"n": 1}}]"#, outputs);
    assert_eq!(found, [(Rule::UnwrittenOutput, "/outputs/o".to_owned())]);
}

#[test]
fn knowledge_consumed_before_it_is_produced_is_a_warning() {
    let early = r#"[{"id": "a", "uses": "hungry"}, {"id": "b", "uses": "wired"}]"#;
    assert_eq!(checked_against_known(early, "{}"), [(Rule::Consumes, "/steps/0/uses".to_owned())]);
    let late = r#"[{"id": "a", "uses": "wired"}, {"id": "b", "uses": "hungry"}]"#;
    assert_eq!(checked_against_known(late, "{}"), []);
    assert_eq!(Rule::Consumes.severity(), crate::skill::Severity::Warning);
}

#[test]
fn members_that_a_callee_does_not_have_are_findings() {
    let found = |step: &str| {
        let skill = skill(&format!("[{step}]"));
        let findings = check(&skill, &Plan::of(&skill).unwrap(), Some(&Known));
        findings.into_iter().map(|one| (one.rule, one.pointer.to_string(), one.message)).collect::<Vec<_>>()
    };
    let one = |rule: Rule, place: &str, message: &str| {
        vec![(rule, format!("/steps/0/{place}"), message.to_owned())]
    };
    let given = r#""input": {"values": []}"#;
    for (step, expected) in [
        (format!(r#"{{"id": "a", "uses": "closed", {given}, "output": {{"text.0.x": "vars.t"}}}}"#), vec![]),
        (
            format!(r#"{{"id": "a", "uses": "closed", {given}, "output": {{"txt": "vars.t"}}}}"#),
            one(
                Rule::Contract,
                "output/txt",
                "what is called has no output `txt`; its outputs are `text`; did you mean `text`?",
            ),
        ),
        (
            r#"{"id": "a", "uses": "closed", "input": {"values": [], "sevice": "x"}}"#.to_owned(),
            one(
                Rule::Contract,
                "input/sevice",
                "what is called has no input `sevice`; its inputs are `service`, `values`; did you mean `service`?",
            ),
        ),
        (
            r#"{"id": "a", "uses": "open", "input": {"valus": []}, "output": {"other": "vars.o"}}"#
                .to_owned(),
            vec![
                (
                    Rule::UndeclaredMember,
                    "/steps/0/input/valus".to_owned(),
                    "what is called declares no input `valus`; did you mean `values`?".to_owned(),
                ),
                (
                    Rule::UndeclaredMember,
                    "/steps/0/output/other".to_owned(),
                    "what is called declares no output `other`".to_owned(),
                ),
            ],
        ),
        (
            format!(
                r#"{{"id": "a", "uses": "any", {given}, "output": {{"closed.text": "vars.t"}}, "config": {{"scatter": {{"capabilities": ["closed", "open"]}}}}}}"#
            ),
            vec![],
        ),
        (
            format!(
                r#"{{"id": "a", "uses": "any", {given}, "output": {{"text": "vars.t"}}, "config": {{"scatter": {{"capabilities": ["closed", "open"]}}}}}}"#
            ),
            one(
                Rule::Contract,
                "output/text",
                "`collect` gives one member for each branch, `closed`, `open`; `text` is none of them",
            ),
        ),
        (
            format!(
                r#"{{"id": "a", "uses": "any", {given}, "output": {{"text": "vars.t"}}, "config": {{"scatter": {{"capabilities": ["closed", "open"], "merge": "first_success"}}}}}}"#
            ),
            vec![],
        ),
        (
            format!(r#"{{"id": "a", "uses": "clozed", {given}}}"#),
            one(Rule::UnknownCapability, "uses", "no capability `clozed`; did you mean `closed`?"),
        ),
    ] {
        assert_eq!(found(&step), expected, "{step}");
    }
    let item = r#"{"id": "a", "uses": "closed", "input": {"values": [], "service": "item"}, "config": {"foreach": {"items": "inputs.l"}}}"#;
    let rules: Vec<(Rule, String)> = found(item).into_iter().map(|(rule, place, _)| (rule, place)).collect();
    assert_eq!(
        rules,
        [
            (Rule::ItemText, "/steps/0/input/service".to_owned()),
            (Rule::Contract, "/steps/0/config/foreach/as".to_owned())
        ]
    );
    let named = r#"{"id": "a", "uses": "closed", "input": {"values": []}, "config": {"foreach": {"items": "inputs.l", "as": "service"}}}"#;
    assert_eq!(found(named), []);
}
