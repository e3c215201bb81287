//! Findings about the action types that skills and capabilities files name.

use hence_canon::{JsonPointer, Object, Value};
use hence_capabilities::Source;
use hence_capabilities::registry::{RegistryProblem, SourceProblem};
use hence_cognition::skill::{Flow, Rule, Skill, SkillFinding, Step};
use hence_projection::{ACTIONS_MEMBER, CUSTOM_ACTIONS_MEMBER, GAPS_MEMBER, TAGS_MEMBER};
use hence_review::vocabulary::{
    ActionType, ActionTypes, ActivityType, GatewayType, ResidualKind, ResidualSeverity, UnknownActionType,
};
use hence_skills::{Effect, Host};

/// Returns the findings about the types in a skill's metadata: unknown types, names of steps that do not exist, and types
/// of deeds for callees that only compute or read.
pub(super) fn of_skill(skill: &Skill, host: &dyn Host) -> Vec<SkillFinding> {
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
                let said = value.as_str().and_then(|word| types.read(word).ok());
                if let Some(idle) = said.filter(|said| is_deed(*said)).and_then(|_| idle(skill, name, host)) {
                    let message = format!(
                        "`{idle}` only {}, so nothing it does is a {}: no such action would have happened; declare \
                         `effects: writes` where it acts",
                        host.effect(&idle).as_str(),
                        value.as_str().unwrap_or_default()
                    );
                    add(place.child(name), message.replace("only pure", "only computes"));
                }
            }
        }
    }
    for (place, message) in gaps(skill.metadata.get(GAPS_MEMBER)) {
        let place = place.iter().fold(metadata.child(GAPS_MEMBER), |place, part| place.child(part));
        findings.push(SkillFinding { rule: Rule::Shape, pointer: place, message });
    }
    findings
}

/// Returns what is wrong with the gaps that a skill declares, each with its place.
fn gaps(declared: Option<&Value>) -> Vec<(Vec<String>, String)> {
    let Some(declared) = declared else { return Vec::new() };
    let Some(items) = declared.as_array() else {
        return vec![(Vec::new(), format!("expected a list of gaps, found {}", declared.kind()))];
    };
    let mut wrong = Vec::new();
    for (index, gap) in items.iter().enumerate() {
        let text = |key: &str| gap.get(key).and_then(Value::as_str).unwrap_or_default();
        let mut add =
            |key: &str, message: String| wrong.push((vec![index.to_string(), key.to_owned()], message));
        if ResidualKind::from_word(text("kind")).is_none() {
            add("kind", format!("expected one of {}", ResidualKind::WORDS.join(", ")));
        }
        if text("statement").trim().is_empty() {
            add("statement", "expected a text that says what the skill does not establish".to_owned());
        }
        if gap.get("severity").is_some() && ResidualSeverity::from_word(text("severity")).is_none() {
            add("severity", format!("expected one of {}", ResidualSeverity::WORDS.join(", ")));
        }
    }
    wrong
}

/// Returns whether an action of this type changes something outside.
fn is_deed(action: ActionType) -> bool {
    use ActivityType as A;
    matches!(
        action,
        ActionType::Activity(
            A::GitCommit
                | A::GitPush
                | A::Deploy
                | A::Release
                | A::Distribution
                | A::EditFile
                | A::CreateFile
                | A::DeleteFile
                | A::RenameFile
                | A::Change
        )
    )
}

/// Returns the callee of a step, or the callee itself, if it is the only one and neither acts nor asks a person.
fn idle(skill: &Skill, name: &str, host: &dyn Host) -> Option<String> {
    let called: Vec<String> = match skill.step(name) {
        Some(step) => callees_of(step),
        None => vec![name.to_owned()],
    };
    let is_idle = |id: &String| {
        !id.starts_with("skill:")
            && host.capability(id).is_some()
            && matches!(host.effect(id), Effect::Pure | Effect::Reads)
    };
    called.iter().all(is_idle).then(|| called.into_iter().next()).flatten()
}

/// Returns the names of everything that a skill may call.
fn callees(skill: &Skill) -> Vec<String> {
    skill.steps.iter().flat_map(callees_of).collect()
}

/// Returns the names of everything that a step may call.
fn callees_of(step: &Step) -> Vec<String> {
    let branches = match &step.control.flow {
        Flow::Scatter(scatter) => scatter.branches.clone(),
        _ => Vec::new(),
    };
    let routes =
        step.control.router.iter().flat_map(|router| {
            router.cases.iter().map(|(_, uses)| uses.clone()).chain(router.default.clone())
        });
    std::iter::once(step.uses.clone()).chain(branches).chain(routes).map(|uses| uses.to_string()).collect()
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
                let said = action.as_str().and_then(|word| types.read(word).ok());
                let effects = declared.get("effects").and_then(Value::as_str);
                if let Some(effects) = effects.filter(|effects| ["none", "reads"].contains(effects))
                    && said.is_some_and(is_deed)
                {
                    add(
                        place.clone(),
                        format!("an action of this type changes something, and `effects` is {effects}"),
                    );
                }
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
        // Rules about approvals look for this type: whoever could declare it would approve without a person.
        Some(Ok(ActionType::Gateway(GatewayType::UserApproval))) => add(
            place,
            "`UserApproval` is the answer of a person and cannot be declared; ask with `human.ask` and `approves`".to_owned(),
        ),
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
