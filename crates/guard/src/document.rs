//! Policies as a run pins and records them.

use hence_canon::{Object, Value};
use hence_engine::GateError;
use hence_policy::policy::{Document, Policy, PolicySet};

/// Members that say nothing about what a policy demands.
const LEFT_OUT: [&str; 3] = ["id", "examples", "downloads"];

/// Returns the document a run records: the policies as the specification writes them, in their order, without their
/// examples.
pub fn of<'p>(policies: impl IntoIterator<Item = &'p Policy>) -> Value {
    let policies: Value = policies.into_iter().map(specification).collect();
    Object::from_iter([("policies", policies)]).into()
}

/// Returns a policy object with every member the specification requires.
pub fn specification(policy: &Policy) -> Object {
    let or = |key: &'static str, other: &str| (key, Value::from(policy.text(key).unwrap_or(other)));
    let required = [
        ("policy_id", Value::from(policy.id().as_str())),
        or("name", policy.id().as_str()),
        ("severity", policy.severity().as_str().into()),
        or("scope", "trace"),
        or("kind", "trace_invariant"),
    ];
    let said = policy.source().iter().filter(|(key, _)| !LEFT_OUT.contains(&&***key));
    let said: Object = said.map(|(key, value)| (key.clone(), value.clone())).collect();
    required.into_iter().fold(said, |object, (key, value)| object.with(key, value))
}

/// Reads policies back.
///
/// # Errors
/// [`GateError::Policies`] when there are none, or one of them cannot be judged: it would never block anything.
pub fn read(document: &Value) -> Result<Vec<Policy>, GateError> {
    let refused = |message: String| GateError::Policies(message);
    let document = Document { name: "policies".to_owned(), value: document.clone() };
    let set = PolicySet::load(&[document]).map_err(|error| refused(error.to_string()))?;
    for policy in set.policies() {
        if let Some(finding) = policy.lint().into_iter().find(|finding| finding.is_error()) {
            return Err(refused(format!("policy {}: {finding}", policy.id())));
        }
    }
    Ok(set.policies().to_vec())
}

#[cfg(test)]
mod tests {
    use hence_canon::{Canonical, parse};

    use super::*;

    #[test]
    fn what_is_recorded_reads_back_as_the_same_policies() {
        for pack in hence_policy::policy::built_in().policies().chunks(7) {
            let document = of(pack);
            let again = read(&document).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(Canonical::of(&of(&again)).bytes(), Canonical::of(&document).bytes());
            for (policy, again) in pack.iter().zip(&again) {
                assert_eq!(policy.id(), again.id());
                assert_eq!(policy.severity(), again.severity());
                assert_eq!(policy.rule().map(|rule| rule.expr()), again.rule().map(|rule| rule.expr()));
            }
        }
    }

    #[test]
    fn policies_that_decide_nothing_are_refused() {
        for bad in [
            r#"{"policies": []}"#,
            r#"{"policies": [{"id": "p"}]}"#,
            r#"{"policies": [{"id": "p", "formula": "G("}]}"#,
            r#"{"policies": [{"id": "p", "formula": "F(x)"}, {"id": "p", "formula": "F(y)"}]}"#,
            "3",
        ] {
            assert!(read(&parse(bad.as_bytes()).unwrap()).is_err(), "{bad}");
        }
    }
}
