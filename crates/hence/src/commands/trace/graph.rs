//! Lineage as a drawing: Graphviz and Mermaid.

use super::lineage::{LineageReport, NodeRow};
use crate::escape::escape;

fn nodes(report: &LineageReport) -> Vec<&NodeRow> {
    let above = report.ancestors.iter().flatten();
    let below = report.descendants.iter().flatten();
    let mut nodes: Vec<&NodeRow> = above.chain([&report.artifact]).chain(below).collect();
    // On a circle an artifact stands above and below itself.
    let mut seen = std::collections::BTreeSet::new();
    nodes.retain(|node| seen.insert(node.id.as_str()));
    nodes
}

/// Returns the graph in the language of Graphviz.
pub(super) fn dot(report: &LineageReport) -> String {
    let mut out = String::from("digraph lineage {\n  rankdir=LR;\n  node [shape=box];\n");
    for node in nodes(report) {
        let label = [node.id.as_str(), &node.kind, node.name.as_deref().unwrap_or("")];
        let lines: Vec<String> =
            label.iter().filter(|line| !line.is_empty()).map(|line| quoted(line)).collect();
        let style = if node.id == report.artifact.id { ", style=bold" } else { "" };
        out.push_str(&format!("  \"{}\" [label=\"{}\"{style}];\n", quoted(&node.id), lines.join("\\n")));
    }
    for edge in &report.edges {
        out.push_str(&format!("  \"{}\" -> \"{}\";\n", quoted(&edge.from), quoted(&edge.to)));
    }
    out.push('}');
    out
}

fn quoted(text: &str) -> String {
    escape(text).replace('\\', "\\\\").replace('"', "\\\"")
}

/// Returns the graph as a Mermaid flowchart. Nodes are numbered: Mermaid reads ids as words of its own.
pub(super) fn mermaid(report: &LineageReport) -> String {
    let nodes = nodes(report);
    let number = |id: &str| nodes.iter().position(|node| node.id == id).unwrap_or_default();
    let places: std::collections::BTreeMap<&str, usize> =
        nodes.iter().enumerate().map(|(place, node)| (node.id.as_str(), place)).collect();
    let mut out = String::from("flowchart LR\n");
    for (place, node) in nodes.iter().enumerate() {
        let label = [node.id.as_str(), &node.kind, node.name.as_deref().unwrap_or("")];
        let lines: Vec<String> =
            label.iter().filter(|line| !line.is_empty()).map(|line| entities(line)).collect();
        out.push_str(&format!("  n{place}[\"{}\"]\n", lines.join("<br/>")));
    }
    for edge in &report.edges {
        let (Some(from), Some(to)) = (places.get(edge.from.as_str()), places.get(edge.to.as_str())) else {
            continue;
        };
        out.push_str(&format!("  n{from} --> n{to}\n"));
    }
    out.push_str(&format!("  style n{} stroke-width:3px", number(&report.artifact.id)));
    out
}

fn entities(text: &str) -> String {
    let mut out = String::new();
    for letter in escape(text).chars() {
        match letter {
            '"' => out.push_str("#quot;"),
            '#' => out.push_str("#35;"),
            '<' => out.push_str("#lt;"),
            '>' => out.push_str("#gt;"),
            '&' => out.push_str("#amp;"),
            plain => out.push(plain),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_cannot_leave_their_quotes() {
        assert_eq!(quoted("a\"];x\\\n"), "a\\\"];x\\\\\\\\n");
        assert_eq!(entities("<script>\"#"), "#lt;script#gt;#quot;#35;");
    }
}
