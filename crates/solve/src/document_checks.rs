//! Checks of the documents about a run: a document that is printed keeps every rule of its format.

use std::collections::BTreeSet;

use hence_canon::{Object, Value};
use hence_cognition::budget::Usage;
use hence_variables::Timestamp;

/// The words of the formats.
mod words {
    pub(super) const TASK: [&str; 5] = ["pending", "running", "completed", "failed", "cancelled"];
    pub(super) const CONTEXT: [&str; 5] = ["full", "slice", "filtered", "summary", "none"];
    pub(super) const RESULT: [&str; 4] = ["success", "partial", "failed", "cancelled"];
    pub(super) const OUTPUT: [&str; 5] = ["text", "json", "markdown", "code", "file_path"];
    pub(super) const THOUGHT: [&str; 7] =
        ["goal", "research", "progress", "extraction", "reasoning", "exception", "synthesis"];
    pub(super) const OBSERVATION: [&str; 5] = ["success", "failure", "partial", "timeout", "error"];
    pub(super) const OBSERVED: [&str; 6] = ["text", "json", "file_path", "error", "exit_code", "object"];
    pub(super) const OUTCOME: [&str; 6] =
        ["success", "failure", "partial_success", "timeout", "cancelled", "error"];
    pub(super) const REASON: [&str; 6] =
        ["task_complete", "max_iterations", "timeout", "error", "user_cancel", "Final_set"];
    pub(super) const BUDGET: [&str; 4] = ["ok", "warning", "critical", "exceeded"];
    pub(super) const ENFORCEMENT: [&str; 3] = ["warn", "abort", "log-only"];
}

/// The rules that a document breaks.
#[derive(Default)]
struct Broken(Vec<String>);

impl Broken {
    fn unless(&mut self, holds: bool, rule: impl FnOnce() -> String) {
        if !holds {
            self.0.push(rule());
        }
    }

    fn word(&mut self, at: &str, value: Option<&Value>, allowed: &[&str]) {
        let found = value.and_then(Value::as_str);
        self.unless(found.is_some_and(|found| allowed.contains(&found)), || {
            format!("{at}: expected one of {}, found {found:?}", allowed.join(", "))
        });
    }

    fn id(&mut self, at: &str, value: Option<&Value>, prefix: &str) {
        let found = value.and_then(Value::as_str).unwrap_or_default();
        self.unless(is_id(found, prefix), || format!("{at}: expected {prefix}-, found {found:?}"));
    }

    fn text(&mut self, at: &str, value: Option<&Value>) {
        self.unless(value.is_some_and(|value| value.as_str().is_some()), || format!("{at}: expected a text"));
    }

    fn version(&mut self, document: &Value) {
        let found = document.get("version").and_then(Value::as_str).unwrap_or_default();
        let is_version = found.strip_prefix("1.").is_some_and(|rest| rest.split('.').count() == 2);
        self.unless(is_version, || format!("version: expected 1.x.y, found {found:?}"));
    }

    fn result(self) -> Result<(), Vec<String>> {
        if self.0.is_empty() { Ok(()) } else { Err(self.0) }
    }
}

/// Returns whether a text is a prefix, a hyphen and eight hexadecimal digits.
fn is_id(text: &str, prefix: &str) -> bool {
    let hex = text.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('-'));
    hex.is_some_and(|hex| {
        hex.len() == 8 && hex.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    })
}

fn count(value: &Value, key: &str) -> Option<u64> {
    value.get(key).and_then(Value::as_u64)
}

/// Reads the exact amounts of a member.
fn exact(value: &Value, key: &str) -> Usage {
    let cost = value.get(key).cloned().unwrap_or_default();
    Usage::of_meta(&Object::from_iter([("cost", cost)]))
}

/// Checks a trajectory: ids, words, numbers, times that do not go back, and an outcome that fits the iterations.
///
/// # Errors
/// Every rule that is broken, with its place.
pub fn check_trajectory(document: &Value) -> Result<(), Vec<String>> {
    let mut broken = Broken::default();
    broken.version(document);
    broken.id("trajectory_id", document.get("trajectory_id"), "traj");
    let about = document.get("task_context").cloned().unwrap_or_default();
    broken.id("task_context.task_id", about.get("task_id"), "task");
    broken.id("task_context.state_id", about.get("state_id"), "state");
    broken.text("task_context.task_type", about.get("task_type"));
    broken.text("task_context.task_prompt", about.get("task_prompt"));
    for (key, prefix) in [("tree_id", "tree"), ("parent_task_id", "task")] {
        if about.get(key).is_some() {
            broken.id(&format!("task_context.{key}"), about.get(key), prefix);
        }
    }
    let depth = count(&about, "depth");
    broken.unless(depth.is_some_and(|depth| (depth == 0) == about.get("parent_task_id").is_none()), || {
        format!("task_context.depth: {depth:?} does not fit the parent")
    });
    let iterations = document.get("iterations").and_then(Value::as_array).unwrap_or_default();
    let mut last: Option<Timestamp> = None;
    for (place, iteration) in iterations.iter().enumerate() {
        check_iteration(&mut broken, place, iteration, &mut last);
    }
    if let Some(outcome) = document.get("outcome") {
        check_outcome(&mut broken, outcome, iterations.len());
    }
    broken.result()
}

fn check_iteration(broken: &mut Broken, place: usize, iteration: &Value, last: &mut Option<Timestamp>) {
    let at = format!("iterations[{place}]");
    broken.unless(count(iteration, "number") == Some(place as u64 + 1), || format!("{at}.number"));
    let time = iteration.get("timestamp").and_then(Value::as_str).and_then(|text| text.parse().ok());
    let is_after = time.as_ref().is_some_and(|time| last.as_ref().is_none_or(|last| last <= time));
    broken.unless(is_after, || format!("{at}.timestamp: expected a time that is not before the last one"));
    *last = time.or_else(|| last.take());
    let part = |key: &str| iteration.get(key).cloned().unwrap_or_default();
    let (thought, action, observation) = (part("thought"), part("action"), part("observation"));
    broken.word(&format!("{at}.thought.type"), thought.get("type"), &words::THOUGHT);
    broken.text(&format!("{at}.thought.content"), thought.get("content"));
    broken.text(&format!("{at}.action.tool"), action.get("tool"));
    broken.word(&format!("{at}.observation.status"), observation.get("status"), &words::OBSERVATION);
    broken.word(&format!("{at}.observation.result_type"), observation.get("result_type"), &words::OBSERVED);
    let is_result =
        matches!(observation.get("result"), Some(Value::String(_) | Value::Object(_) | Value::Array(_)));
    broken.unless(is_result, || format!("{at}.observation.result: expected a text, an object or a list"));
    let is_success = observation.get("status").and_then(Value::as_str) == Some("success");
    broken.unless(is_success == observation.get("error_details").is_none(), || {
        format!("{at}.observation.error_details: there for every failure, and for nothing else")
    });
}

fn check_outcome(broken: &mut Broken, outcome: &Value, iterations: usize) {
    broken.word("outcome.status", outcome.get("status"), &words::OUTCOME);
    broken.word("outcome.completion_reason", outcome.get("completion_reason"), &words::REASON);
    let is = |key: &str, word: &str| outcome.get(key).and_then(Value::as_str) == Some(word);
    broken.unless(is("status", "success") == is("completion_reason", "Final_set"), || {
        "outcome: a success is a run whose Final was set".to_owned()
    });
    broken.unless(count(outcome, "iterations_to_completion") == Some(iterations as u64), || {
        "outcome.iterations_to_completion: not the number of iterations".to_owned()
    });
    let names = outcome.get("variables_set").and_then(Value::as_array).unwrap_or_default();
    let distinct: BTreeSet<&str> = names.iter().filter_map(Value::as_str).collect();
    broken.unless(distinct.len() == names.len(), || "outcome.variables_set: a name twice".to_owned());
    broken.unless(!is("status", "success") || distinct.contains("Final"), || {
        "outcome.variables_set: Final is missing".to_owned()
    });
}

/// Checks a report of cost: ids, sums of tokens and exact amounts, counts of runs, and the state of the budget.
///
/// # Errors
/// Every rule that is broken, with its place.
pub fn check_cost_report(document: &Value) -> Result<(), Vec<String>> {
    let mut broken = Broken::default();
    broken.version(document);
    broken.id("tree_id", document.get("tree_id"), "tree");
    let records = document.get("records").and_then(Value::as_array).unwrap_or_default();
    let (mut nodes, mut pairs, mut tokens, mut sum) =
        (BTreeSet::new(), BTreeSet::new(), 0_u64, Usage::default());
    for (place, record) in records.iter().enumerate() {
        let at = format!("records[{place}]");
        broken.id(&format!("{at}.node_id"), record.get("node_id"), "task");
        broken.text(&format!("{at}.model"), record.get("model"));
        let text = |key: &str| record.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        nodes.insert(text("node_id"));
        broken.unless(pairs.insert((text("node_id"), text("model"))), || format!("{at}: a pair twice"));
        let both = count(record, "input_tokens").zip(count(record, "output_tokens"));
        let total = count(record, "total_tokens");
        broken.unless(both.map(|(sent, got)| sent.saturating_add(got)) == total, || {
            format!("{at}.total_tokens")
        });
        tokens = tokens.saturating_add(total.unwrap_or(0));
        sum.add(&exact(record, "exact"));
    }
    let aggregates = document.get("aggregates").cloned().unwrap_or_default();
    let found = nodes.len() as u64;
    for (key, expected) in
        [("total_tokens", tokens), ("node_count", found), ("sub_call_count", found.saturating_sub(1))]
    {
        broken.unless(count(&aggregates, key) == Some(expected), || {
            format!("aggregates.{key}: expected {expected}")
        });
    }
    broken.unless(exact(&aggregates, "total_exact").cost == sum.cost, || {
        "aggregates.total_exact: not the sum of the records".to_owned()
    });
    for key in ["by_model", "by_depth"] {
        let mut parts = Usage::default();
        let members = aggregates.get(key).and_then(Value::as_object).cloned().unwrap_or_default();
        members.iter().for_each(|(_, used)| parts.add(&Usage::read(used)));
        broken.unless((parts.tokens(), &parts.cost) == (tokens, &sum.cost), || {
            format!("aggregates.{key}: its parts are not the sum of the records")
        });
    }
    if let Some(budget) = document.get("budget") {
        broken.word("budget.status", budget.get("status"), &words::BUDGET);
        broken.word("budget.enforcement", budget.get("enforcement"), &words::ENFORCEMENT);
        let percent = count(budget, "usage_pct");
        broken.unless(percent.is_some_and(|percent| percent <= 100), || {
            "budget.usage_pct: 0 to 100".to_owned()
        });
        if let (Some(limit), Some(left)) = (count(budget, "budget_tokens"), count(budget, "remaining")) {
            broken.unless(left == limit.saturating_sub(tokens), || "budget.remaining".to_owned());
        }
    }
    broken.result()
}

/// Checks a task tree: ids, depths, parents, counts, states of children, and sums of cost.
///
/// # Errors
/// Every rule that is broken, with the node.
pub fn check_task_tree(tree: &Value) -> Result<(), Vec<String>> {
    let mut wrong = Vec::new();
    let (mut ids, mut counted) = (BTreeSet::new(), [0_u64; 3]);
    match tree.get("root_task") {
        Some(root) => check_node(root, (None, 0), &mut ids, &mut counted, &mut wrong),
        None => wrong.push("root_task is missing".to_owned()),
    }
    for (key, found) in ["total_nodes", "completed_nodes", "failed_nodes"].into_iter().zip(counted) {
        let claimed = tree.get("metadata").and_then(|metadata| metadata.get(key)?.as_u64());
        if claimed != Some(found) {
            wrong.push(format!("metadata.{key} is {claimed:?}, found {found}"));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

fn check_node(
    node: &Value,
    (parent, depth): (Option<&str>, u64),
    ids: &mut BTreeSet<String>,
    counted: &mut [u64; 3],
    wrong: &mut Vec<String>,
) {
    let text = |key: &str| node.get(key).and_then(Value::as_str).unwrap_or_default();
    let (id, status) = (text("node_id"), text("status"));
    if !is_id(id, "task") || !ids.insert(id.to_owned()) {
        wrong.push(format!("node id {id:?} is malformed or taken"));
    }
    if node.get("depth").and_then(Value::as_u64) != Some(depth) {
        wrong.push(format!("{id}: its depth is not {depth}"));
    }
    if node.get("parent_id").and_then(Value::as_str) != parent {
        wrong.push(format!("{id}: its parent is not {parent:?}"));
    }
    let [total, completed, failed] = counted;
    *total += 1;
    *completed += u64::from(status == "completed");
    *failed += u64::from(status == "failed");
    let mut broken = Broken::default();
    broken.word(&format!("{id}.status"), node.get("status"), &words::TASK);
    broken.word(
        &format!("{id}.context.type"),
        node.get("context").and_then(|context| context.get("type")),
        &words::CONTEXT,
    );
    if let Some(result) = node.get("result") {
        broken.word(&format!("{id}.result.status"), result.get("status"), &words::RESULT);
        broken.word(&format!("{id}.result.output_type"), result.get("output_type"), &words::OUTPUT);
    }
    wrong.extend(broken.0);
    let cost = |node: &Value, key: &str| exact(&node.get("cost").cloned().unwrap_or_default(), key);
    let mut sum = cost(node, "exact");
    for child in node.get("children").and_then(Value::as_array).unwrap_or_default() {
        let child_status = child.get("status").and_then(Value::as_str).unwrap_or_default();
        if status == "completed" && matches!(child_status, "pending" | "running") {
            wrong.push(format!("{id} is completed and has a child that is {child_status}"));
        }
        sum.add(&cost(child, "subtree_exact"));
        check_node(child, (Some(id), depth + 1), ids, counted, wrong);
    }
    if cost(node, "subtree_exact") != sum {
        wrong.push(format!("{id}: the cost of its subtree is not the sum of its parts"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        hence_canon::parse(text.as_bytes()).unwrap()
    }

    const TRAJECTORY: &str = r#"{"version":"1.0.0","trajectory_id":"traj-00000001",
        "task_context":{"task_id":"task-00000001","state_id":"state-00000001","task_type":"solve","task_prompt":"q","depth":0},
        "iterations":[{"number":1,"timestamp":"2026-01-01T00:00:01Z","thought":{"type":"reasoning","content":""},
            "action":{"tool":"repl"},"observation":{"status":"success","result":"","result_type":"text"}}],
        "outcome":{"status":"success","completion_reason":"Final_set","iterations_to_completion":1,"variables_set":["Final"]}}"#;

    #[test]
    fn a_trajectory_that_breaks_a_rule_is_found() {
        assert_eq!(check_trajectory(&json(TRAJECTORY)), Ok(()));
        for (from, to, place) in [
            ("traj-00000001", "traj-1", "trajectory_id"),
            ("\"number\":1", "\"number\":2", "number"),
            ("2026-01-01T00:00:01Z", "yesterday", "timestamp"),
            ("\"reasoning\"", "\"musing\"", "thought.type"),
            ("\"status\":\"success\",\"result\"", "\"status\":\"error\",\"result\"", "error_details"),
            ("Final_set", "timeout", "outcome"),
            ("_completion\":1", "_completion\":2", "iterations_to_completion"),
            ("[\"Final\"]", "[]", "Final is missing"),
            ("\"depth\":0", "\"depth\":1", "depth"),
            ("\"result\":\"\"", "\"result\":3", "result"),
            ("1.0.0", "2.0.0", "version"),
        ] {
            let wrong = check_trajectory(&json(&TRAJECTORY.replacen(from, to, 1))).unwrap_err();
            assert!(wrong.iter().any(|rule| rule.contains(place)), "{to}: {wrong:?}");
        }
        assert!(check_trajectory(&Value::Null).is_err() && check_cost_report(&Value::Null).is_err());
    }

    const COST: &str = r#"{"version":"1.0.0","tree_id":"tree-00000001","records":[
        {"node_id":"task-00000001","model":"m","input_tokens":1,"output_tokens":2,"total_tokens":3,"exact":{"amount":"0.1","currency":"USD"}}],
        "aggregates":{"total_tokens":3,"node_count":1,"sub_call_count":0,"total_exact":{"amount":"0.1","currency":"USD"},
            "by_model":{"m":{"tokens_in":1,"tokens_out":2,"cost":{"amount":"0.1","currency":"USD"}}},
            "by_depth":{"0":{"tokens_in":1,"tokens_out":2,"cost":{"amount":"0.1","currency":"USD"}}}},
        "budget":{"budget_tokens":10,"remaining":7,"usage_pct":30,"status":"ok","enforcement":"abort"}}"#;

    #[test]
    fn a_report_of_cost_whose_sums_differ_is_found() {
        assert_eq!(check_cost_report(&json(COST)), Ok(()));
        for (from, to, place) in [
            ("\"total_tokens\":3,\"exact\"", "\"total_tokens\":4,\"exact\"", "records[0].total_tokens"),
            ("\"total_tokens\":3,\"node", "\"total_tokens\":4,\"node", "aggregates.total_tokens"),
            ("\"node_count\":1", "\"node_count\":2", "node_count"),
            ("total_exact\":{\"amount\":\"0.1\"", "total_exact\":{\"amount\":\"0.2\"", "total_exact"),
            ("\"tokens_in\":1", "\"tokens_in\":9", "by_model"),
            ("\"remaining\":7", "\"remaining\":8", "remaining"),
            ("\"usage_pct\":30", "\"usage_pct\":130", "usage_pct"),
            ("\"ok\"", "\"fine\"", "budget.status"),
        ] {
            let wrong = check_cost_report(&json(&COST.replacen(from, to, 1))).unwrap_err();
            assert!(wrong.iter().any(|rule| rule.contains(place)), "{to}: {wrong:?}");
        }
    }
}
