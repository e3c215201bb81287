use super::*;
use crate::reference::Reference;
use crate::run::StepOutcome;
use crate::skill::Skill;
use crate::testing::json;

const STEPS: &str = r#"[
    {"id": "load", "uses": "c", "input": {"f": "inputs.file"}, "output": {"t": "vars.text"}},
    {"id": "old", "uses": "c", "input": {"t": "vars.text"}, "output": {"r": "working.risks"}},
    {"id": "new", "uses": "c", "input": {"g": "frame.goal"}, "output": {"r": "working.risks"}},
    {"id": "more", "uses": "c", "input": {"t": "vars.text"}, "output": {"r": "working.risks"},
        "config": {"merge_strategy": "append"}},
    {"id": "first", "uses": "c", "input": {"r": "working.risks.0"}, "output": {"s": "output.summary"}},
    {"id": "gated", "uses": "c", "output": {"o": "outputs.o"}, "config": {"condition": "output.summary != null"}},
    {"id": "apart", "uses": "c", "output": {"x": "vars.x"}}]"#;

fn skill() -> Skill {
    let text = format!(
        r#"{{"id": "s", "version": "1", "name": "N", "description": "D", "inputs": {{}}, "outputs": {{}}, "steps": {STEPS}}}"#
    );
    Skill::read(&json(&text)).skill.unwrap()
}

fn outcomes(skill: &Skill) -> Vec<StepOutcome> {
    let outcome = |step: &crate::skill::Step| {
        let writes: Vec<String> = step
            .output
            .iter()
            .flat_map(|mapping| mapping.entries().map(|(_, target)| target.to_string()))
            .collect();
        let text = format!(
            r#"{{"step_id": "{}", "uses": "c", "status": "completed", "writes": {}}}"#,
            step.id,
            hence_canon::Value::from(writes),
        );
        StepOutcome::from_value(&json(&text)).unwrap()
    };
    skill.steps.iter().map(outcome).collect()
}

fn ids(history: &[Written]) -> Vec<&str> {
    history.iter().map(|written| &*written.step_id).collect()
}

fn reference(text: &str) -> Reference {
    Reference::parse(text).unwrap()
}

#[test]
fn blame_goes_back_to_the_inputs_and_stops_at_what_replaced_a_value() {
    let skill = skill();
    let outcomes = outcomes(&skill);
    let lineage = Lineage::of(&skill, &outcomes);
    // `old` was overwritten by `new` and has no part in what `more` appended to.
    assert_eq!(ids(&lineage.blame(&reference("output.summary"))), ["first", "more", "new", "load"]);
    let load = lineage.blame(&reference("vars.text.deep")).remove(0);
    assert_eq!(load.sources, [Source { reference: reference("inputs.file"), from: vec![] }]);
    assert!(lineage.blame(&reference("vars.nobody")).is_empty());
}

#[test]
fn impact_follows_reads_and_conditions() {
    let skill = skill();
    let outcomes = outcomes(&skill);
    let lineage = Lineage::of(&skill, &outcomes);
    assert_eq!(ids(&lineage.impact_of_step("more")), ["first", "gated"]);
    assert_eq!(ids(&lineage.impact_of(&reference("inputs.file"))), ["load", "old", "more", "first", "gated"]);
    assert!(lineage.impact_of_step("apart").is_empty());
    assert!(lineage.impact_of_step("nobody").is_empty());
}

#[test]
fn outcomes_without_a_step_keep_their_place() {
    let skill = skill();
    let mut outcomes = outcomes(&skill);
    outcomes[1].step_id = "gone".into();
    let lineage = Lineage::of(&skill, &outcomes);
    assert_eq!(ids(&lineage.blame(&reference("vars.x"))), ["apart"]);
    assert_eq!(ids(&lineage.blame(&reference("outputs.o"))), ["gated", "first", "more", "new", "load"]);
}
