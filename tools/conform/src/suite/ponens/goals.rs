//! `goals` and `expected/goals`: resolution, cones, gaps, stale evidence, faithfulness.

use std::path::Path;

use hence_canon::{Float, Object, Value};
use hence_review::goals::{Faithfulness, GoalsReport, Stakes, faithfulness, resolve};
use hence_review::lineage::Lineage;
use hence_review::vocabulary::AcceptanceStatus;
use hence_review::wire::{Entry, Goal, Trace};

use crate::data::{DataError, json, json_folder, text};
use crate::report::Report;

pub(crate) fn run(dir: &Path, report: &mut Report) -> Result<(), DataError> {
    for (name, expected) in json_folder(&dir.join("expected/goals"))? {
        let trace = json(&dir.join("traces").join(format!("{name}.json")))?;
        report.case(&format!("goals/{name}"), resolution(&trace, &expected));
    }
    for (name, case) in json_folder(&dir.join("goals"))? {
        if name == "faithfulness" {
            for case in case.as_array().unwrap_or(&[]) {
                report.case(&format!("faithfulness/{}", text(case, "/name")?), trust(case));
            }
            continue;
        }
        let (trace, expected) = (case.get("trace"), case.get("upstream"));
        let outcome = resolution(trace.unwrap_or(&Value::Null), expected.unwrap_or(&Value::Null));
        report.case(&format!("goals/{name}"), outcome);
    }
    Ok(())
}

fn resolution(trace: &Value, expected: &Value) -> Result<(), String> {
    let trace = Trace::read(trace);
    let found = written(&resolve(&trace, &Lineage::of(&trace), Stakes::Normal));
    for key in ["goals", "exploration_actions", "summary", "derived_residuals"] {
        let expected = without_prose(expected.get(key).unwrap_or(&Value::Null));
        let found = found.get(key).unwrap_or(&Value::Null);
        if expected != *found {
            return Err(format!("{key}: expected {expected}, found {found}"));
        }
    }
    Ok(())
}

/// Notes are the recording tool's own wording.
fn without_prose(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(without_prose).collect(),
        Value::Object(object) => {
            let kept = object.iter().filter(|(key, _)| !matches!(&***key, "statement" | "suggested_check"));
            kept.map(|(key, value)| (key.clone(), without_prose(value))).collect::<Object>().into()
        }
        other => other.clone(),
    }
}

fn written(report: &GoalsReport) -> Value {
    let goals = report.goals.iter().map(|goal| {
        let items = goal.items.iter().map(|item| {
            Object::from_iter([
                ("id", Value::from(item.id.as_str())),
                ("kind", item.kind.map(|kind| kind.as_str()).into()),
                ("status", item.status.as_str().into()),
                ("from_trace", item.from_trace.into()),
                ("evidence", item.evidence.as_deref().into()),
            ])
        });
        Object::from_iter([
            ("id", Value::from(goal.id.as_str())),
            ("progress", Float::new(goal.progress).map_or(Value::Null, Value::from)),
            ("cone", goal.cone.iter().copied().collect()),
            ("open_gaps", goal.open_gaps.into()),
            ("faithfulness", judged(&goal.faithfulness)),
            ("acceptance", items.collect()),
        ])
    });
    let summary = &report.summary;
    let counts = Object::from_iter([
        ("policy_violations", summary.policy_violations),
        ("open_residuals", summary.open_residuals),
        ("open_high", summary.open_high),
        ("stale_evidence", summary.stale_evidence),
        ("goals_total", summary.goals_total),
        ("goals_met", summary.goals_met),
        ("goals_certified", summary.goals_certified),
        ("goals_weakly_specified", summary.goals_weakly_specified),
    ]);
    let derived = report.derived.iter().map(|residual| match without_prose(&residual.into()) {
        // The recorded ones do not name who surfaced them.
        Value::Object(residual) => residual.without("source").into(),
        other => other,
    });
    Object::from_iter([
        ("goals", goals.collect::<Value>()),
        ("exploration_actions", report.exploration.iter().copied().collect()),
        ("summary", counts.into()),
        ("derived_residuals", derived.collect()),
    ])
    .into()
}

fn judged(found: &Faithfulness) -> Value {
    Object::from_iter([
        ("met", Value::from(found.met)),
        ("certified", found.certified.into()),
        ("weakly_specified", found.weakly_specified.into()),
        ("uncovered_clauses", found.uncovered_clauses.iter().map(String::as_str).collect()),
    ])
    .into()
}

fn trust(case: &Value) -> Result<(), String> {
    let goal = case.get("goal").and_then(Value::as_object).ok_or("no goal")?;
    let goal = Goal::from(Entry::new(goal.clone(), 0));
    let statuses: Vec<AcceptanceStatus> = goal.acceptance().map(|item| item.authored_status()).collect();
    for (key, stakes) in [("upstream", Stakes::Normal), ("upstream_high_stakes", Stakes::High)] {
        let found = judged(&faithfulness(&goal, &statuses, stakes));
        if case.get(key) != Some(&found) {
            return Err(format!("{key}: expected {:?}, found {found}", case.get(key)));
        }
    }
    Ok(())
}
