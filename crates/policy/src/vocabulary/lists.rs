//! Lists of a trace and fields of an action.

/// The lists a quantifier can range over. Any other name is a list too when the trace has one by that key.
const TRACE_LISTS: &[&str] = &[
    "actions",
    "artifacts",
    "comments",
    "execution_environments",
    "files_modified",
    "goals",
    "high_stakes_paths",
    "meta_actions",
    "policies",
    "policy_evaluations",
    "reference_artifacts",
    "reference_models",
    "residuals",
    "review_items",
    "telemetry",
    "trace_links",
];

/// Returns whether a name is a list every trace may have.
pub(crate) fn is_trace_list(name: &str) -> bool {
    TRACE_LISTS.contains(&name)
}

/// Fields of an action that can stand in a formula without a variable before them.
pub(crate) const ACTION_FIELDS: &[&str] = &[
    "agent",
    "category",
    "decision_basis",
    "derived_from",
    "detail",
    "evidence",
    "execution",
    "id",
    "inputs",
    "label",
    "meta_action_id",
    "observations",
    "options",
    "outputs",
    "rationale",
    "reproducibility",
    "request",
    "result",
    "result_summary",
    "supporting_inputs",
    "tags",
    "target_artifact_id",
    "timestamp",
    "type",
];

/// The fields above that are lists: a bare field is compared as text, so these read as empty.
pub(crate) const ACTION_LIST_FIELDS: &[&str] =
    &["evidence", "inputs", "observations", "options", "outputs", "supporting_inputs", "tags"];
