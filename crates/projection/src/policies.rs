//! Policies in runs: the document a run pins and records, and their evaluations in its trace.

use std::collections::BTreeMap;

use hence_canon::{Object, Value};
use hence_engine::{Blobs, BlockedAt, GateError, POLICIES_STEP, POLICY_MEMBER, resolve};
use hence_journal::RecordIndex;
use hence_policy::policy::{Document, Policy, PolicySet};
use hence_policy::{Options, check};
use hence_review::model::{self, ActionId, ArtifactId, PolicyEvaluation, PolicyId, decode_policy};
use hence_state::StepResult;

use crate::ProjectError;

/// The member of an evaluation that lists the steps its policy blocked or remarked on, with the record of each.
pub const EVENTS_MEMBER: &str = "events";

/// Members that do not change the meaning of a policy.
const LEFT_OUT: [&str; 3] = ["id", "examples", "downloads"];

/// Returns the document a run records: the policies as the specification writes them, in their order, without their
/// examples.
pub fn policies_document<'p>(policies: impl IntoIterator<Item = &'p Policy>) -> Value {
    let policies: Value = policies.into_iter().map(policy_specification).collect();
    Object::from_iter([("policies", policies)]).into()
}

/// Returns a policy object with every member the specification requires.
pub fn policy_specification(policy: &Policy) -> Object {
    let or = |key: &'static str, other: &str| (key, Value::from(policy.text(key).unwrap_or(other)));
    let required = [
        ("policy_id", Value::from(policy.id().as_str())),
        or("name", policy.id().as_str()),
        ("severity", policy.severity().as_str().into()),
        or("scope", "trace"),
        or("kind", "trace_invariant"),
    ];
    let own = policy.source().iter().filter(|(key, _)| !LEFT_OUT.contains(&&***key));
    let own: Object = own.map(|(key, value)| (key.clone(), value.clone())).collect();
    required.into_iter().fold(own, |object, (key, value)| object.with(key, value))
}

/// Reads the policies of a recorded document.
///
/// # Errors
/// [`GateError::Policies`] when there are none, or one of them cannot be evaluated: it would never block anything.
pub fn read_policies(document: &Value) -> Result<Vec<Policy>, GateError> {
    let document = Document { name: "policies".to_owned(), value: document.clone() };
    let set = PolicySet::load(&[document]).map_err(|error| GateError::Policies(error.to_string()))?;
    for policy in set.policies() {
        if let Some(finding) = policy.lint().into_iter().find(|finding| finding.prevents_evaluation()) {
            return Err(GateError::Policies(format!("policy {}: {finding}", policy.id())));
        }
    }
    Ok(set.policies().to_vec())
}

/// The policy facts of a journal, collected while its records pass.
#[derive(Default)]
pub(crate) struct PolicyLog {
    document: Option<Value>,
    events: BTreeMap<String, Vec<Value>>,
}

impl PolicyLog {
    /// Notes the policies a record installs, or the policies that blocked or remarked on its result.
    pub(crate) fn note(
        &mut self,
        index: RecordIndex,
        result: &StepResult,
        blobs: &dyn Blobs,
    ) -> Result<(), GateError> {
        if &**result.step() == POLICIES_STEP {
            if let Some(output) = result.outcome().output() {
                let document =
                    resolve(output, blobs).map_err(|error| GateError::Policies(error.to_string()))?;
                self.document = Some(document);
            }
            return Ok(());
        }
        let remarks = result.others().get(POLICY_MEMBER).and_then(Value::as_array).unwrap_or(&[]);
        let decision = if result.outcome().is_blocked() { "blocked" } else { "remarked" };
        for remark in remarks {
            let Some(policy) = remark.get("policy_id").and_then(Value::as_str) else { continue };
            let event = Object::from_iter([
                ("record", Value::from(index.get())),
                ("step", result.step().clone().into()),
                ("decision", decision.into()),
                ("note", remark.get("note").cloned().unwrap_or_default()),
            ]);
            let event = match BlockedAt::of(result) {
                _ if decision != "blocked" => event,
                BlockedAt::End => event,
                at => event.with("executed", at != BlockedAt::BeforeExecution),
            };
            self.events.entry(policy.to_owned()).or_default().push(event.into());
        }
        Ok(())
    }

    /// Reads the policies that were installed last.
    pub(crate) fn in_force(self) -> Result<PoliciesInForce, GateError> {
        let policies = self.document.as_ref().map(read_policies).transpose()?.unwrap_or_default();
        Ok(PoliciesInForce { policies, events: self.events })
    }
}

/// The policies in force at the end of a run; none for a run without policies.
pub(crate) struct PoliciesInForce {
    policies: Vec<Policy>,
    events: BTreeMap<String, Vec<Value>>,
}

impl PoliciesInForce {
    /// Returns the policies as members of a trace.
    pub(crate) fn specifications(&self) -> Result<Vec<model::Policy>, ProjectError> {
        let policies = self.policies.iter().map(|policy| decode_policy(&policy_specification(policy).into()));
        Ok(policies.collect::<Result<_, _>>()?)
    }

    /// Returns a trace with one evaluation of each policy.
    pub(crate) fn with_evaluations(&self, trace: Value) -> Value {
        let Value::Object(object) = &trace else { return trace };
        if self.policies.is_empty() {
            return trace;
        }
        let report = check(&trace, &self.policies, Options::default());
        let evaluations = report.verdicts.iter().map(|verdict| {
            let actions = |ids: &[i64]| ids.iter().copied().map(ActionId).collect();
            let artifacts = |ids: &[std::sync::Arc<str>]| ids.iter().cloned().map(ArtifactId::new).collect();
            let events = self.events.get(verdict.policy_id.as_str());
            let events = events.map(|events| (EVENTS_MEMBER, events.iter().cloned().collect::<Value>()));
            Value::from(&PolicyEvaluation {
                policy_id: PolicyId::new(verdict.policy_id.as_str()),
                status: verdict.status,
                checked_at_action_id: verdict.checked_at_action_id.map(ActionId),
                evidence_action_ids: actions(&verdict.evidence.action_ids),
                evidence_artifact_ids: artifacts(&verdict.evidence.artifact_ids),
                violating_action_ids: actions(&verdict.violating.action_ids),
                violating_artifact_ids: artifacts(&verdict.violating.artifact_ids),
                note: verdict.note().map(Into::into),
                extra: events.into_iter().collect(),
            })
        });
        object.with("policy_evaluations", evaluations.collect::<Value>()).into()
    }
}

#[cfg(test)]
mod tests {
    use hence_canon::{Canonical, parse};

    use super::*;

    #[test]
    fn a_recorded_document_reads_back_as_the_same_policies() {
        for pack in hence_policy::policy::built_in().policies().chunks(7) {
            let document = policies_document(pack);
            let again = read_policies(&document).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(Canonical::of(&policies_document(&again)).bytes(), Canonical::of(&document).bytes());
            for (policy, again) in pack.iter().zip(&again) {
                assert_eq!(policy.id(), again.id());
                assert_eq!(policy.severity(), again.severity());
                assert_eq!(policy.rule().map(|rule| rule.expr()), again.rule().map(|rule| rule.expr()));
            }
        }
    }

    #[test]
    fn policies_that_cannot_be_evaluated_are_refused() {
        for bad in [
            r#"{"policies": []}"#,
            r#"{"policies": [{"id": "p"}]}"#,
            r#"{"policies": [{"id": "p", "formula": "G("}]}"#,
            r#"{"policies": [{"id": "p", "formula": "F(x)"}, {"id": "p", "formula": "F(y)"}]}"#,
            "3",
        ] {
            assert!(read_policies(&parse(bad.as_bytes()).unwrap()).is_err(), "{bad}");
        }
    }
}
