//! Verdicts as JSON.

use hence_canon::{Object, Value};

use super::{Explanation, Verdict, Witnesses};

impl Verdict {
    /// Returns the evaluation record a trace keeps: the members of the format, empty lists left out.
    pub fn record(&self) -> Object {
        let mut record: Object =
            [("policy_id", Value::from(self.policy_id.as_str())), ("status", self.status.into())]
                .into_iter()
                .collect();
        if let Some(id) = self.checked_at_action_id {
            record = record.with("checked_at_action_id", id);
        }
        for (prefix, witnesses) in [("evidence", &self.evidence), ("violating", &self.violating)] {
            record = with_list(record, &format!("{prefix}_action_ids"), &witnesses.action_ids);
            record = with_list(record, &format!("{prefix}_artifact_ids"), &witnesses.artifact_ids);
        }
        match self.note() {
            Some(note) => record.with("note", note),
            None => record,
        }
    }

    /// Returns everything the verdict says.
    pub fn to_value(&self) -> Value {
        let mut full = self.record().with("severity", self.severity);
        for (prefix, witnesses) in [("evidence", &self.evidence), ("violating", &self.violating)] {
            let Witnesses { residual_ids, elements, .. } = witnesses;
            full = with_list(full, &format!("{prefix}_residual_ids"), residual_ids);
            full = with_list(full, &format!("{prefix}_elements"), elements);
        }
        full = with_list(full, "heuristic_words", &self.heuristic_words);
        if let Some(explanation) = &self.explanation {
            full = full.with("explanation", explanation.to_value());
        }
        full.into()
    }
}

impl Explanation {
    /// Returns the steps as a list of objects.
    pub fn to_value(&self) -> Value {
        let steps = self.steps.iter().map(|step| {
            let mut object: Object = Object::new();
            if let Some(action) = &step.action {
                object = object.with("position", action.position);
                if let Some(id) = action.id {
                    object = object.with("action_id", id);
                }
                object = object.with("action_type", action.action_type.clone());
            }
            Value::from(object.with("found", step.found.clone()))
        });
        steps.collect()
    }
}

fn with_list<T: Clone + Into<Value>>(object: Object, key: &str, items: &[T]) -> Object {
    if items.is_empty() { object } else { object.with(key, items.iter().cloned().collect::<Value>()) }
}
