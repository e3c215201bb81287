//! The provider kind `rules`: a pure gate declared in a capabilities file.

use std::sync::Arc;

use hence_canon::{Object, Value, parse};
use hence_cognition::run::{CallError, Reply};

use crate::arguments::Arguments;
use crate::provider::{Provider, ProviderCall, ProviderKind};
use crate::refusal::Refusal;
use crate::registry::{Effects, Members};
use crate::rules;

/// The provider kind of rules for an input, in the form that `rules.check` reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RulesKind;

struct Ruling {
    rules: Value,
}

impl ProviderKind for RulesKind {
    fn name(&self) -> &'static str {
        "rules"
    }

    fn read(&self, members: &mut Members<'_, '_>) -> Option<Arc<dyn Provider>> {
        let Some(rules) = members.value("rules").cloned() else {
            members.refuse_whole("`rules` is missing");
            return None;
        };
        let ruling = Ruling { rules };
        // Checking an empty list of records reveals defects of the rules themselves.
        match ruling.findings(Value::from(Vec::<Value>::new())) {
            Ok(_) => Some(Arc::new(ruling)),
            Err(refusal) => {
                members.refuse("rules", refusal);
                None
            }
        }
    }

    fn schema(&self) -> Value {
        parse(
            br#"{
          "description": "Rules that the input must keep; its members stand under `inputs`. Gives allowed, reason and findings.",
          "required": ["rules"],
          "properties": {
            "rules": {"type": "array", "items": {"type": "object", "required": ["id", "expect"], "properties": {
              "id": {"type": "string"}, "when": {"type": "string"}, "expect": {"type": "string"},
              "message": {"type": "string"}, "severity": {"type": "string"}}}}
          }
        }"#,
        )
        .expect("the text above is JSON")
    }

    fn effects(&self) -> Effects {
        Effects::None
    }
}

impl Ruling {
    fn findings(&self, records: Value) -> Result<Vec<Value>, Refusal> {
        let input = Object::from_iter([("records", records), ("rules", self.rules.clone())]);
        let found = (rules::CHECK.call)(&Arguments(&input))?;
        Ok(found.get("findings").and_then(Value::as_array).unwrap_or_default().to_vec())
    }
}

impl Provider for Ruling {
    fn call(&self, call: &ProviderCall<'_>) -> Result<Reply, CallError> {
        let findings = self
            .findings(vec![call.input.clone()].into())
            .map_err(|refusal| CallError::Failed { class: refusal.class, message: refusal.message })?;
        let reasons: Vec<&str> =
            findings.iter().filter_map(|finding| finding.get("message").and_then(Value::as_str)).collect();
        // Findings omit the record, because it is the input, which the caller has.
        let told =
            |finding: &Value| finding.as_object().map(|finding| finding.without("record").without("index"));
        let output = Object::from_iter([
            ("allowed", Value::from(findings.is_empty())),
            ("reason", reasons.join("; ").into()),
            ("findings", findings.iter().filter_map(told).collect()),
        ]);
        Ok(Reply { output: output.into(), meta: Object::new() })
    }
}
