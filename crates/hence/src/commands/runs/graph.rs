//! The runs as a graph: forks, retries and nested runs below the run they come from.

use std::collections::{BTreeMap, BTreeSet};

use super::RunRow;

/// Puts each run below the one it comes from, with the lines that lead to it. A run whose origin is not among the runs
/// stands by itself. Runs that name each other in a circle, which only a forged store has, stand by themselves too.
pub(super) fn arrange(runs: Vec<RunRow>) -> Vec<RunRow> {
    let known: BTreeSet<String> = runs.iter().map(|run| run.run.clone()).collect();
    let mut below: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut first = Vec::new();
    for run in &runs {
        let from = run.parent.as_ref().or(run.retries.as_ref()).or(run.origin.as_ref());
        match from.filter(|from| known.contains(*from) && **from != run.run) {
            // The list begins with the newest; below a run the oldest comes first.
            Some(from) => below.entry(from.clone()).or_default().insert(0, run.run.clone()),
            None => first.push(run.run.clone()),
        }
    }
    let mut order: Vec<(String, String)> = Vec::new();
    let mut left: Vec<(String, String, String)> =
        first.into_iter().rev().map(|run| (run, String::new(), String::new())).collect();
    let mut seen = BTreeSet::new();
    while let Some((run, branch, indent)) = left.pop() {
        if !seen.insert(run.clone()) {
            continue;
        }
        let children = below.remove(&run).unwrap_or_default();
        let last = children.len().saturating_sub(1);
        for (index, child) in children.into_iter().enumerate().rev() {
            let (sign, more) = if index == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            left.push((child, format!("{indent}{sign}"), format!("{indent}{more}")));
        }
        order.push((run, branch));
    }
    let mut rows: BTreeMap<String, RunRow> = runs.into_iter().map(|run| (run.run.clone(), run)).collect();
    let mut arranged: Vec<RunRow> =
        order.into_iter().filter_map(|(run, branch)| Some(RunRow { branch, ..rows.remove(&run)? })).collect();
    arranged.extend(rows.into_values());
    arranged
}
