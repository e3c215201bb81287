//! The JSON Schema of skill documents, for editors.
//!
//! It says what a document may look like; [`Skill::read`](super::Skill::read) says more, and is the judge.

use hence_canon::{Object, Value};

use super::control::{self, ITERATIONS_MAX, PARALLEL_MAX, RETRY_ATTEMPTS_MAX};
use super::{Recovery, ScatterMerge, document, field, step, variable};
use crate::mapping::MergeStrategy;

/// Returns the JSON Schema (draft 2020-12) of a skill document.
pub fn json_schema() -> Value {
    let text = || described(non_empty(), "A non-empty text");
    let members = [
        ("id", described(non_empty(), "The id by which other skills nest this one")),
        ("version", described(non_empty(), "The version, such as 1.0.0")),
        ("name", text()),
        ("description", text()),
        ("inputs", described(fields(), "What a caller provides, by name")),
        (
            "outputs",
            described(fields(), "What a caller gets, by name; required ones must be written to outputs.*"),
        ),
        (
            "steps",
            described(
                list_of(step_schema()),
                "The steps; each waits for the one before unless it says otherwise",
            ),
        ),
        ("capabilities", described(files(), "Files that declare what it calls, from the folder of this one")),
        ("skills", described(files(), "Files of the skills it nests, from the folder of this one")),
        (
            "policies",
            described(files(), "Policies every step must keep: files from the folder of this one, or packs"),
        ),
        ("metadata", described(kind("object"), "Anything else worth keeping")),
    ];
    let required = ["id", "version", "name", "description", "inputs", "outputs", "steps"];
    let schema = closed(&document::KEYS, members, &required);
    with(
        schema,
        [("$schema", "https://json-schema.org/draft/2020-12/schema".into()), ("title", "Skill".into())],
    )
}

fn files() -> Value {
    let forms = vec![non_empty(), list_of(non_empty())];
    Object::from_iter([("oneOf", Value::from(forms))]).into()
}

fn fields() -> Value {
    let field = closed(
        &field::KEYS,
        [
            (
                "type",
                described(
                    non_empty(),
                    "string, number, integer, boolean, object, array, or a name of your own",
                ),
            ),
            ("required", kind("boolean")),
            ("description", kind("string")),
            ("default", described(Object::new().into(), "What stands for it when it is absent")),
            ("secret", described(kind("boolean"), "Whether nobody may see an input: it is never recorded")),
        ],
        &["type"],
    );
    with(kind("object"), [("additionalProperties", field)])
}

fn step_schema() -> Value {
    let alias = |name: &str| described(kind("object"), &format!("The old name of `{name}`"));
    closed(
        &step::KEYS,
        [
            ("id", described(non_empty(), "Unique in the skill")),
            ("uses", described(non_empty(), "A capability, or skill:<id>")),
            ("input", described(nullable_object(), "Names to values; strings such as vars.x are references")),
            ("output", with(nullable_object(), [("additionalProperties", target())])),
            ("config", config()),
            ("input_mapping", alias("input")),
            ("output_mapping", alias("output")),
        ],
        &["id", "uses"],
    )
}

fn target() -> Value {
    with(non_empty(), [("pattern", r"^(vars|outputs|working|output|extensions)\..+$".into())])
}

fn config() -> Value {
    let strategies: Value = MergeStrategy::ALL.map(MergeStrategy::name).into_iter().collect();
    closed(
        &step::CONFIG_KEYS,
        [
            ("depends_on", described(list_of(kind("string")), "Steps to wait for; none means start at once")),
            ("timeout_seconds", with(kind("number"), [("exclusiveMinimum", 0.into())])),
            ("merge_strategy", Object::from_iter([("enum", strategies)]).into()),
            ("condition", expression("Runs the step only when this holds")),
            ("retry", retry()),
            ("foreach", foreach()),
            ("while", whiles()),
            ("router", router()),
            ("scatter", scatter()),
            ("recovery", recovery()),
            ("variables", described(variables(), "What the vars it writes shall be, by name")),
        ],
        &[],
    )
}

fn recovery() -> Value {
    let names: Value = Recovery::ALL.map(Recovery::name).into_iter().collect();
    described(
        Object::from_iter([("enum", names)]).into(),
        "What becomes of a call of which, after a crash, nobody knows whether it happened",
    )
}

fn retry() -> Value {
    let seconds = || with(kind("number"), [("minimum", 0.into())]);
    closed(
        &control::RETRY_KEYS,
        [
            ("max_attempts", count(RETRY_ATTEMPTS_MAX)),
            ("backoff_seconds", seconds()),
            ("backoff_multiplier", seconds()),
            ("max_backoff_seconds", seconds()),
            ("jitter", seconds()),
            ("on", list_of(non_empty())),
        ],
        &[],
    )
}

fn foreach() -> Value {
    let policy: Value = ["fail", "continue"].into_iter().collect();
    closed(
        &control::FOREACH_KEYS,
        [
            ("items", expression("Gives the list")),
            ("as", described(non_empty(), "The input under which a call gets its item")),
            (
                "index_as",
                described(non_empty(), "The input under which a call gets the position of its item"),
            ),
            ("parallel", count(PARALLEL_MAX)),
            ("on_error", Object::from_iter([("enum", policy)]).into()),
        ],
        &["items"],
    )
}

fn whiles() -> Value {
    let members = [
        ("condition", expression("Calls again while this holds")),
        ("max_iterations", count(ITERATIONS_MAX)),
    ];
    closed(&control::WHILE_KEYS, members, &["condition"])
}

fn router() -> Value {
    let cases = with(kind("object"), [("additionalProperties", non_empty()), ("minProperties", 1.into())]);
    let members = [("on", expression("Decides")), ("cases", cases), ("default", non_empty())];
    closed(&control::ROUTER_KEYS, members, &["on", "cases"])
}

fn scatter() -> Value {
    let merges: Value = ScatterMerge::ALL.map(ScatterMerge::name).into_iter().collect();
    let branches = with(list_of(non_empty()), [("minItems", 2.into())]);
    let members = [("capabilities", branches), ("merge", Object::from_iter([("enum", merges)]).into())];
    closed(&control::SCATTER_KEYS, members, &["capabilities"])
}

fn variables() -> Value {
    let words = |words: &[&str]| -> Value {
        let words: Value = words.iter().copied().collect();
        Object::from_iter([("enum", words)]).into()
    };
    let declared = closed(
        &variable::KEYS,
        [
            ("type", words(&variable::TYPES)),
            ("scope", words(&variable::SCOPES)),
            ("ttl_seconds", with(kind("integer"), [("minimum", 0.into())])),
            ("read_only", kind("boolean")),
            ("description", kind("string")),
        ],
        &[],
    );
    with(kind("object"), [("additionalProperties", declared)])
}

fn expression(description: &str) -> Value {
    described(
        non_empty(),
        &format!("{description}: an expression such as vars.score > 0.5 and not vars.done"),
    )
}

fn kind(name: &str) -> Value {
    Object::from_iter([("type", name)]).into()
}

fn non_empty() -> Value {
    with(kind("string"), [("minLength", 1.into())])
}

fn count(max: u64) -> Value {
    with(kind("integer"), [("minimum", 1.into()), ("maximum", max.into())])
}

fn list_of(items: Value) -> Value {
    with(kind("array"), [("items", items)])
}

fn nullable_object() -> Value {
    let kinds: Value = ["object", "null"].into_iter().collect();
    Object::from_iter([("type", kinds)]).into()
}

fn described(schema: Value, description: &str) -> Value {
    with(schema, [("description", description.into())])
}

fn with<const N: usize>(schema: Value, members: [(&str, Value); N]) -> Value {
    let object = schema.as_object().cloned().unwrap_or_default();
    members.into_iter().fold(object, |object, (key, value)| object.with(key, value)).into()
}

/// Returns the schema of an object that has these members and no others. The keys are those the reader takes; a
/// member the schema forgets is a key without a schema, which the tests refuse.
fn closed<const N: usize>(keys: &[&str], members: [(&str, Value); N], required: &[&str]) -> Value {
    let described: Object = members.into_iter().collect();
    let properties: Object =
        keys.iter().map(|key| (*key, described.get(key).cloned().unwrap_or(Value::Bool(false)))).collect();
    let schema =
        with(kind("object"), [("properties", properties.into()), ("additionalProperties", false.into())]);
    if required.is_empty() {
        return schema;
    }
    with(schema, [("required", required.iter().copied().collect())])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the schemas of objects, refusing any whose keys and schemas differ.
    fn walk(schema: &Value, objects: &mut usize) {
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            *objects += 1;
            for (key, property) in properties.iter() {
                assert!(property.as_object().is_some(), "`{key}` has no schema");
                walk(property, objects);
            }
        }
        ["items", "additionalProperties"]
            .into_iter()
            .filter_map(|key| schema.get(key))
            .for_each(|inner| walk(inner, objects));
    }

    #[test]
    fn every_key_the_reader_takes_has_a_schema() {
        let mut objects = 0;
        walk(&json_schema(), &mut objects);
        // Skill, two kinds of field, step, config, and five control blocks, and a declared variable.
        assert_eq!(objects, 11);
    }

    #[test]
    fn required_members_are_those_whose_absence_the_reader_reports() {
        let reading = crate::skill::Skill::read(&Object::new().into());
        let missing: Vec<String> =
            reading.problems.iter().map(|problem| problem.pointer.to_string()).collect();
        let schema = json_schema();
        let required = schema.get("required").and_then(Value::as_array).unwrap();
        let required: Vec<String> =
            required.iter().map(|key| format!("/{}", key.as_str().unwrap())).collect();
        assert_eq!(missing, required);
    }
}
