//! The shipped policies that a run of a skill or an imported log cannot violate, with the reason: what the product writes
//! has the property by construction. They are for traces that people or other programs write.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use hence_canon::{Object, Value};

use super::document::{BUILT_IN, built_in, parse_toml};
use super::{Policy, PolicyId};

/// The table of a pack that says it.
const MEMBER: &str = "by_construction";

/// The reasons why a policy cannot be violated, where it cannot.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ByConstruction {
    /// The reason why no run of a skill violates it.
    pub runs: Option<String>,
    /// The reason why no imported log violates it.
    pub logs: Option<String>,
}

impl ByConstruction {
    /// Returns what is known of a policy. A policy of the same id with another formula is another policy.
    pub fn of(policy: &Policy) -> Self {
        let Some((shipped, reasons)) = SHIPPED.get(policy.id()) else { return Self::default() };
        let is_same = match (policy.rule(), shipped.rule()) {
            (Ok(found), Ok(shipped)) => found.expr() == shipped.expr(),
            _ => false,
        };
        if is_same { reasons.clone() } else { Self::default() }
    }

    /// Returns a sentence for each kind of trace that cannot violate the policy.
    pub fn sentences(&self) -> Vec<String> {
        let sentence = |what: &str, why: &String| format!("no {what} violates it: {why}");
        let runs = self.runs.iter().map(|why| sentence("run of a skill", why));
        runs.chain(self.logs.iter().map(|why| sentence("imported log", why))).collect()
    }
}

/// The shipped policies with reasons.
static SHIPPED: LazyLock<BTreeMap<PolicyId, (Policy, ByConstruction)>> = LazyLock::new(|| {
    let set = built_in();
    let mut found = BTreeMap::new();
    for (_, text) in BUILT_IN {
        let Ok(document) = parse_toml(text) else { continue };
        let reasons = document.get(MEMBER).and_then(Value::as_object).cloned().unwrap_or_default();
        for (id, reasons) in reasons.iter() {
            let Some(policy) = set.get(id) else { continue };
            let reason = |key: &str| reasons.as_object().and_then(|reasons: &Object| text_of(reasons, key));
            let reasons = ByConstruction { runs: reason("runs"), logs: reason("logs") };
            found.insert(policy.id().clone(), (policy.clone(), reasons));
        }
    }
    found
});

fn text_of(object: &Object, key: &str) -> Option<String> {
    object.get(key).and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_about_a_policy_of_its_pack() {
        for (name, text) in BUILT_IN {
            let document = parse_toml(text).unwrap();
            let listed = document.get("policy").and_then(Value::as_array).unwrap();
            let reasons = document.get(MEMBER).and_then(Value::as_object).cloned().unwrap_or_default();
            for (id, reasons) in reasons.iter() {
                let is_listed = |policy: &Value| policy.get("id").and_then(Value::as_str) == Some(id);
                assert!(listed.iter().any(is_listed), "{name}: {id}");
                let known = reasons.as_object().unwrap().keys().all(|key| ["runs", "logs"].contains(&&**key));
                assert!(known, "{name}: {id}: {reasons}");
            }
        }
    }

    #[test]
    fn a_policy_of_the_same_id_with_another_formula_is_another_policy() {
        let set = built_in();
        let shipped = set.get("outputs-recorded").unwrap();
        assert_eq!(ByConstruction::of(shipped).sentences().len(), 2);
        let other = Policy::from_formula(shipped.id(), "G(EditFile → P(ReadFile))");
        assert_eq!(ByConstruction::of(&other), ByConstruction::default());
    }
}
