//! The members of an action or an artifact, all found in one look over it.

use hence_canon::{Object, Value};

/// What an action has; a member that is null counts as missing.
#[derive(Clone, Copy, Default)]
pub(super) struct Members<'a> {
    pub(super) word: Option<&'a Value>,
    pub(super) category: Option<&'a Value>,
    pub(super) label: Option<&'a Value>,
    pub(super) rationale: Option<&'a Value>,
    pub(super) inputs: Option<&'a Value>,
    pub(super) outputs: Option<&'a Value>,
    pub(super) supporting_inputs: Option<&'a Value>,
    pub(super) evidence: Option<&'a Value>,
    pub(super) observations: Option<&'a Value>,
    pub(super) execution: Option<&'a Value>,
    pub(super) options: Option<&'a Value>,
    pub(super) reproducibility: Option<&'a Value>,
    pub(super) meta_action_id: Option<&'a Value>,
}

impl<'a> Members<'a> {
    pub(super) fn of(action: &'a Object) -> Self {
        let mut found = Self::default();
        for (key, value) in action.iter().filter(|(_, value)| !value.is_null()) {
            let slot = match &**key {
                "type" => &mut found.word,
                "category" => &mut found.category,
                "label" => &mut found.label,
                "rationale" => &mut found.rationale,
                "inputs" => &mut found.inputs,
                "outputs" => &mut found.outputs,
                "supporting_inputs" => &mut found.supporting_inputs,
                "evidence" => &mut found.evidence,
                "observations" => &mut found.observations,
                "execution" => &mut found.execution,
                "options" => &mut found.options,
                "reproducibility" => &mut found.reproducibility,
                "meta_action_id" => &mut found.meta_action_id,
                _ => continue,
            };
            *slot = Some(value);
        }
        found
    }
}

/// What an artifact has; a member that is null counts as missing.
#[derive(Clone, Copy, Default)]
pub(super) struct ArtifactMembers<'a> {
    pub(super) id: Option<&'a Value>,
    pub(super) word: Option<&'a Value>,
    pub(super) revision: Option<&'a Value>,
    pub(super) payload: Option<&'a Value>,
    pub(super) derived_from: Option<&'a Value>,
    pub(super) supersedes: Option<&'a Value>,
    pub(super) producer: Option<&'a Value>,
}

impl<'a> ArtifactMembers<'a> {
    pub(super) fn of(artifact: &'a Object) -> Self {
        let mut found = Self::default();
        for (key, value) in artifact.iter().filter(|(_, value)| !value.is_null()) {
            let slot = match &**key {
                "artifact_id" => &mut found.id,
                "artifact_type" => &mut found.word,
                "revision" => &mut found.revision,
                "payload" => &mut found.payload,
                "derived_from" => &mut found.derived_from,
                "supersedes" => &mut found.supersedes,
                "producer_action_id" => &mut found.producer,
                _ => continue,
            };
            *slot = Some(value);
        }
        found
    }
}

/// Returns the items of a list; anything else has none.
pub(super) fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).unwrap_or(&[])
}

/// Returns the objects of a list with their places in it.
pub(super) fn objects(value: Option<&Value>) -> impl Iterator<Item = (usize, &Object)> {
    items(value).iter().enumerate().filter_map(|(index, item)| Some((index, item.as_object()?)))
}
