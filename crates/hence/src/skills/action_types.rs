//! Findings about the action types that skills and capabilities files name.

use hence_canon::{JsonPointer, Object, Value};
use hence_capabilities::Source;
use hence_capabilities::registry::{RegistryProblem, SourceProblem};
use hence_cognition::skill::{Flow, Rule, Skill, SkillFinding, Step};
use hence_projection::{ACTIONS_MEMBER, CUSTOM_ACTIONS_MEMBER, TAGS_MEMBER};
use hence_review::vocabulary::{ActionTypes, UnknownActionType};

/// Returns the findings about the types in a skill's metadata: unknown types, and names of steps that do not exist.
pub(super) fn of_skill(skill: &Skill) -> Vec<SkillFinding> {
    let metadata = JsonPointer::root().child("metadata");
    let mut findings = Vec::new();
    let mut add = |pointer: JsonPointer, message: String| {
        findings.push(SkillFinding { rule: Rule::UnknownAction, pointer, message });
    };
    let custom = metadata.child(CUSTOM_ACTIONS_MEMBER);
    let types = declared(skill.metadata.get(CUSTOM_ACTIONS_MEMBER), &custom, &mut add);
    let names = callees(skill);
    for (member, what) in [(ACTIONS_MEMBER, "step or callee"), (TAGS_MEMBER, "step")] {
        let Some(value) = skill.metadata.get(member) else { continue };
        let place = metadata.child(member);
        // `tags` may also be a plain list about the skill as a whole.
        let Some(members) = value.as_object() else {
            if member == ACTIONS_MEMBER {
                add(place, format!("expected an object from steps to action types, found {}", value.kind()));
            }
            continue;
        };
        for (name, value) in members.iter() {
            let is_step = skill.steps.iter().any(|step| step.id == *name);
            if !is_step && (member == TAGS_MEMBER || !names.contains(&name.to_string())) {
                add(place.child(name), format!("the skill has no {what} `{name}`"));
            }
            if member == ACTIONS_MEMBER {
                check(value, &types, place.child(name), &mut add);
            }
        }
    }
    findings
}

/// Returns the names of everything that a skill may call.
fn callees(skill: &Skill) -> Vec<String> {
    let of_step = |step: &Step| {
        let branches = match &step.control.flow {
            Flow::Scatter(scatter) => scatter.branches.clone(),
            _ => Vec::new(),
        };
        let routes = step.control.router.iter().flat_map(|router| {
            router.cases.iter().map(|(_, uses)| uses.clone()).chain(router.default.clone())
        });
        std::iter::once(step.uses.clone())
            .chain(branches)
            .chain(routes)
            .map(|uses| uses.to_string())
            .collect::<Vec<_>>()
    };
    skill.steps.iter().flat_map(of_step).collect()
}

/// Returns the findings about the types in capabilities files. Each file declares the custom types that it uses.
pub(super) fn of_files(sources: &[Source]) -> Vec<SourceProblem> {
    let mut problems = Vec::new();
    for (source, file) in sources.iter().enumerate() {
        let mut add = |pointer: JsonPointer, message: String| {
            problems.push(SourceProblem { source, problem: RegistryProblem { pointer, message } });
        };
        let custom = JsonPointer::root().child(CUSTOM_ACTIONS_MEMBER);
        let types = declared(file.document.get(CUSTOM_ACTIONS_MEMBER), &custom, &mut add);
        let capabilities = file.document.get("capabilities").and_then(Value::as_object);
        for (id, declared) in capabilities.into_iter().flat_map(Object::iter) {
            if let Some(action) = declared.get("action") {
                let place = JsonPointer::root().child("capabilities").child(id).child("action");
                check(action, &types, place, &mut add);
            }
        }
    }
    problems
}

/// Reads the declared custom types. A value that is no list of names is a finding.
fn declared(
    value: Option<&Value>,
    place: &JsonPointer,
    add: &mut impl FnMut(JsonPointer, String),
) -> ActionTypes {
    let mut types = ActionTypes::default();
    let Some(value) = value else { return types };
    let Some(items) = value.as_array() else {
        add(place.clone(), format!("expected a list of action types, found {}", value.kind()));
        return types;
    };
    for (index, item) in items.iter().enumerate() {
        let declared = match item.as_str() {
            Some(word) => types.declare(word),
            None => Err(format!("expected the name of an action type, found {}", item.kind())),
        };
        if let Err(message) = declared {
            add(place.child(index), message);
        }
    }
    types
}

fn check(value: &Value, types: &ActionTypes, place: JsonPointer, add: &mut impl FnMut(JsonPointer, String)) {
    match value.as_str().map(|word| types.read(word)) {
        Some(Ok(_)) => {}
        Some(Err(unknown)) => add(place, advice(&unknown)),
        None => add(place, format!("expected an action type, found {}", value.kind())),
    }
}

fn advice(unknown: &UnknownActionType) -> String {
    match &unknown.suggestion {
        Some(_) => unknown.to_string(),
        None => format!(
            "{unknown}; `hence policy actions` lists them, and `{CUSTOM_ACTIONS_MEMBER}: [{}]` declares it",
            unknown.found
        ),
    }
}
