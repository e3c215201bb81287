//! The lineage of one artifact as a picture.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::show::visible;
use crate::wire::Trace;

use super::Lineage;

/// The direction of a picture from an artifact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Its sources.
    Up,
    /// Its descendants.
    Down,
    /// Both.
    Around,
}

impl Direction {
    /// Returns whether sources are looked at.
    pub const fn looks_up(self) -> bool {
        matches!(self, Self::Up | Self::Around)
    }

    /// Returns whether descendants are looked at.
    pub const fn looks_down(self) -> bool {
        matches!(self, Self::Down | Self::Around)
    }
}

/// The artifacts around one, with the derivations between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture<'a> {
    /// Sources first, then the artifact itself, then its descendants.
    nodes: Vec<&'a str>,
    /// The lines of each node's label.
    labels: Vec<Vec<&'a str>>,
    /// From source to derived, as places in `nodes`.
    edges: BTreeSet<(usize, usize)>,
    /// The place of the artifact itself.
    root: usize,
}

impl<'a> Picture<'a> {
    /// Draws the lineage of an artifact; an unknown id gives nothing.
    pub fn of(trace: &'a Trace, lineage: &'a Lineage, id: &str, direction: Direction) -> Option<Self> {
        let root = lineage.flow.graph.find(id).map(|node| lineage.flow.graph.id(node))?;
        let above = if direction.looks_up() { lineage.ancestors(id) } else { Vec::new() };
        let below = if direction.looks_down() { lineage.descendants(id) } else { Vec::new() };
        let mut seen = BTreeSet::new();
        let mut nodes: Vec<&str> = above.into_iter().chain([root]).chain(below).collect();
        // On a circle an artifact is above and below itself.
        nodes.retain(|node| seen.insert(*node));
        let places: BTreeMap<&str, usize> = nodes.iter().copied().zip(0..).collect();
        let mut edges = BTreeSet::new();
        for (place, id) in nodes.iter().enumerate() {
            let sources = trace.artifact_by_id(id).into_iter().flat_map(|artifact| artifact.derived_from());
            edges.extend(sources.filter_map(|source| Some((*places.get(source)?, place))));
        }
        let label = |id: &&'a str| {
            let artifact = trace.artifact_by_id(id);
            let kind = artifact.map_or("", |artifact| artifact.type_word());
            let name = artifact.and_then(|artifact| artifact.name()).unwrap_or("");
            [*id, kind, name].into_iter().filter(|line| !line.is_empty()).collect()
        };
        let root = places.get(root).copied().unwrap_or_default();
        Some(Self { labels: nodes.iter().map(label).collect(), nodes, edges, root })
    }

    /// Returns the immediate derivations, from the source to what was made.
    pub fn derivations(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let id = |place: usize| self.nodes.get(place).copied();
        self.edges.iter().filter_map(move |(source, derived)| Some((id(*source)?, id(*derived)?)))
    }

    /// Writes the picture for Graphviz.
    pub fn dot(&self) -> String {
        let quoted = |text: &str| visible(text).replace('\\', "\\\\").replace('"', "\\\"");
        let mut out = String::from("digraph lineage {\n  rankdir=LR;\n  node [shape=box];\n");
        for (place, (id, label)) in self.nodes.iter().zip(&self.labels).enumerate() {
            let lines: Vec<String> = label.iter().map(|line| quoted(line)).collect();
            let style = if place == self.root { ", style=bold" } else { "" };
            let _ = writeln!(out, "  \"{}\" [label=\"{}\"{style}];", quoted(id), lines.join("\\n"));
        }
        for (source, derived) in self.derivations() {
            let _ = writeln!(out, "  \"{}\" -> \"{}\";", quoted(source), quoted(derived));
        }
        out.push_str("}\n");
        out
    }

    /// Writes the picture for Mermaid. Nodes are numbered: Mermaid reads ids as words of its own.
    pub fn mermaid(&self) -> String {
        let mut out = String::from("flowchart LR\n");
        for (place, label) in self.labels.iter().enumerate() {
            let lines: Vec<String> = label.iter().map(|line| entities(line)).collect();
            let _ = writeln!(out, "  n{place}[\"{}\"]", lines.join("<br/>"));
        }
        for (source, derived) in &self.edges {
            let _ = writeln!(out, "  n{source} --> n{derived}");
        }
        let _ = writeln!(out, "  style n{} stroke-width:3px", self.root);
        out
    }
}

/// Escapes text for a label of Mermaid.
fn entities(text: &str) -> String {
    let mut out = String::new();
    for letter in visible(text).chars() {
        match letter {
            '"' => out.push_str("#quot;"),
            '#' => out.push_str("#35;"),
            '<' => out.push_str("#lt;"),
            '>' => out.push_str("#gt;"),
            '&' => out.push_str("#amp;"),
            '`' => out.push_str("#96;"),
            plain => out.push(plain),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use super::*;

    #[test]
    fn a_picture_shows_one_direction_and_obeys_no_text() {
        let trace = Trace::read(
            &parse(
                br#"{"actions": [{"id": 7, "outputs": ["b"]}], "artifacts": [
                    {"artifact_id": "a", "artifact_type": "SourceCode", "name": "x\"];\n<b>`"},
                    {"artifact_id": "b", "artifact_type": "Diff", "derived_from": ["a"]},
                    {"artifact_id": "c", "artifact_type": "Commit", "derived_from": ["b"]}]}"#,
            )
            .unwrap(),
        );
        let lineage = Lineage::of(&trace);
        let up = Picture::of(&trace, &lineage, "b", Direction::Up).unwrap();
        let dot = "digraph lineage {\n  rankdir=LR;\n  node [shape=box];\n  \"a\" [label=\"a\\nSourceCode\\nx\\\"];\\\\n<b>`\"];\n  \"b\" [label=\"b\\nDiff\", style=bold];\n  \"a\" -> \"b\";\n}\n";
        assert_eq!(up.dot(), dot);
        let mermaid = up.mermaid();
        assert!(mermaid.contains("n0[\"a<br/>SourceCode<br/>x#quot;];\\n#lt;b#gt;#96;\"]"), "{mermaid}");
        let down = Picture::of(&trace, &lineage, "b", Direction::Down).unwrap();
        assert_eq!(down.derivations().collect::<Vec<_>>(), [("b", "c")]);
        assert_eq!(Picture::of(&trace, &lineage, "b", Direction::Around).unwrap().derivations().count(), 2);
        assert_eq!(Picture::of(&trace, &lineage, "nobody", Direction::Up), None);
    }

    #[test]
    fn on_a_circle_everything_is_drawn_once() {
        let trace = Trace::read(
            &parse(br#"{"artifacts": [{"artifact_id": "a", "derived_from": ["b", "a"]}, {"artifact_id": "b", "derived_from": ["a"]}]}"#)
                .unwrap(),
        );
        let lineage = Lineage::of(&trace);
        let picture = Picture::of(&trace, &lineage, "a", Direction::Around).unwrap();
        assert_eq!(picture.nodes.len(), 2);
        assert_eq!(picture.derivations().count(), 3);
    }
}
