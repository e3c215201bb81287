//! An example of an input for each built-in capability. Its output is computed when it is shown.

use hence_canon::{Value, parse};
use hence_skills::{WAIT_FOR, WAIT_UNTIL};

use crate::HUMAN_ASK;

/// The inputs, by id, as JSON.
const EXAMPLES: [(&str, &str); 37] = [
    (
        "claims.support",
        r#"{"claims": [{"id": "C1", "evidence": ["E1"]}, {"id": "C2", "evidence": ["E9"]}], "evidence": [{"id": "E1"}, {"id": "E2"}]}"#,
    ),
    (
        "data.aggregate",
        r#"{"items": [{"team": "a", "cost": 3}, {"team": "b", "cost": 4}, {"team": "a", "cost": 5}], "by": "team", "value": "cost"}"#,
    ),
    ("data.concat", r#"{"lists": [[1, 2], null, [3]]}"#),
    (
        "data.filter",
        r#"{"items": [{"ms": 120}, {"ms": 480}, {}], "where": "inputs.ms ?? 0 > vars.limit", "with": {"limit": 200}}"#,
    ),
    ("data.get", r#"{"from": {"user": {"name": "Ada"}}, "pointer": "/user/name"}"#),
    (
        "data.group",
        r#"{"items": [{"team": "a", "n": 1}, {"team": "b", "n": 2}, {"team": "a", "n": 3}], "by": "team"}"#,
    ),
    (
        "data.join",
        r#"{"left": [{"id": 1, "name": "Ada"}], "right": [{"id": 1, "city": "London"}, {"id": 2, "city": "Graz"}], "on": "id"}"#,
    ),
    (
        "data.map",
        r#"{"items": [{"user": {"name": "Ada"}}], "members": {"who": "/user/name"}, "constants": {"source": "crm"}}"#,
    ),
    ("data.merge", r#"{"objects": [{"a": 1, "b": 1}, {"b": 2}]}"#),
    (
        "data.query",
        r#"{"from": {"people": [{"name": "Ada", "age": 36}, {"name": "Kim", "age": 12}]}, "expression": "people[?age > `30`].name"}"#,
    ),
    ("data.slice", r#"{"items": [1, 2, 3, 4], "from": 1, "limit": 2}"#),
    ("data.sort", r#"{"items": [{"n": 2}, {"n": 10}, {"n": 1}], "by": "n", "order": "descending"}"#),
    ("data.unique", r#"{"items": [{"id": 1}, {"id": 2}, {"id": 1}], "by": "id"}"#),
    (
        "data.validate",
        r#"{"value": {"n": "x"}, "schema": {"type": "object", "properties": {"n": {"type": "integer"}}}}"#,
    ),
    ("data.value", r#"{"value": {"any": "value"}}"#),
    ("date.difference", r#"{"from": "2026-02-02", "to": "2026-02-04T12:00:00Z"}"#),
    ("date.parse", r#"{"text": "2026-02-02T10:00:00+01:00"}"#),
    ("date.shift", r#"{"time": "2026-02-02", "days": 30}"#),
    (
        "decision.matrix",
        r#"{"options": [{"name": "A", "price": 10, "score": 7}, {"name": "B", "price": 12, "score": 9}], "criteria": [{"name": "price", "weight": 1, "better": "lower"}, {"name": "score", "weight": 2, "better": "higher"}]}"#,
    ),
    ("evidence.collect", r#"{"items": [{"text": "pool exhausted", "line": 7}], "source": "app.log"}"#),
    ("hash.digest", r#"{"value": {"b": 1, "a": 2}}"#),
    ("number.calculate", r#"{"left": 7, "operator": "divide", "right": 2}"#),
    ("number.round", r#"{"value": 2.345, "digits": 2}"#),
    ("number.statistics", r#"{"values": [1, 2, 4]}"#),
    ("number.sum", r#"{"values": [1, 2, 4]}"#),
    (
        "rules.check",
        r#"{"records": [{"amount": 5}, {"amount": 50}], "rules": [{"id": "small", "expect": "inputs.amount <= vars.most"}], "with": {"most": 10}}"#,
    ),
    ("table.parse", r#"{"text": "name,n\nAda,3\n", "types": {"n": "integer"}}"#),
    ("table.write", r#"{"rows": [{"n": 3, "name": "Ada"}]}"#),
    ("text.diff", r#"{"before": "a\nb", "after": "a\nc"}"#),
    ("text.extract", r#"{"text": "order 17, order 18", "pattern": "order (?<number>[0-9]+)"}"#),
    ("text.join", r#"{"parts": ["a", "b", 3], "separator": ", "}"#),
    ("text.lines", r#"{"text": "one\ntwo"}"#),
    ("text.replace", r#"{"text": "2026-02-02", "pattern": "(?<y>[0-9]{4})-[0-9-]+", "with": "$y"}"#),
    ("text.similarity", r#"{"left": "kitten", "right": "sitting"}"#),
    ("text.split", r#"{"text": "a, b,, c", "separator": ",", "trim": true, "skip_empty": true}"#),
    (
        "text.template",
        r#"{"template": "Dear {{name}}, {{/orders/0}}", "values": {"name": "Ada", "orders": ["17"]}}"#,
    ),
    ("text.template_each", r#"{"template": "- {{name}}", "items": [{"name": "Ada"}, {"name": "Kim"}]}"#),
];

/// The inputs of capabilities whose output depends on a person or on the time.
const WAITING: [(&str, &str); 3] = [
    (HUMAN_ASK, r#"{"question": "Send the report?", "options": ["yes", "no"]}"#),
    (WAIT_FOR, r#"{"seconds": 1}"#),
    (WAIT_UNTIL, r#"{"time": "2026-02-09T10:00:00Z"}"#),
];

/// Returns an input with which a built-in capability, a timer or `human.ask` can be called.
pub(crate) fn example(id: &str) -> Option<Value> {
    let (_, input) = EXAMPLES.iter().chain(&WAITING).find(|(known, _)| *known == id)?;
    Some(parse(input.as_bytes()).expect("a test parses every example"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Library;
    use crate::families::FAMILIES;
    use hence_cognition::capability::Registry as _;

    #[test]
    fn every_example_of_waiting_is_json() {
        for (id, _) in WAITING {
            assert!(example(id).is_some_and(|input| input.as_object().is_some()), "{id}");
        }
    }

    #[test]
    fn every_built_in_capability_has_an_example_that_works() {
        let library = Library::built_in();
        let all: Vec<&str> = FAMILIES.into_iter().flatten().map(|one| one.id).collect();
        assert_eq!(all.len(), EXAMPLES.len());
        for id in all {
            let input = example(id).unwrap_or_else(|| panic!("no example of {id}"));
            if let Some(Err(refusal)) = library.call_built_in(id, &input) {
                panic!("{id}: {refusal}");
            }
            // A function ignores members that it does not know, so the contract is asked.
            let spec = library.capability(id).unwrap();
            for name in input.as_object().unwrap().keys() {
                assert!(spec.inputs.iter().any(|(known, _)| **known == **name), "{id} has no input {name}");
            }
        }
    }
}
