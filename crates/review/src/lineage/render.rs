//! The lineage of one artifact as a picture.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use hence_canon::{Object, Value};

use crate::wire::Trace;

use super::Lineage;

/// Which way to look from an artifact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// What it was made from.
    Up,
    /// What was made from it.
    Down,
}

/// The artifacts around one, with the derivations between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    nodes: Vec<Node>,
    /// From source to derived, as places in `nodes`.
    edges: Vec<(usize, usize)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    id: String,
    label: String,
    producer: Option<i64>,
}

impl Picture {
    /// Draws the lineage of an artifact; an id nobody mentions gives nothing.
    pub fn of(trace: &Trace, lineage: &Lineage, id: &str, direction: Direction) -> Option<Self> {
        lineage.graph.find(id)?;
        let ids = match direction {
            Direction::Up => lineage.with_ancestors([id]),
            Direction::Down => lineage.with_descendants([id]),
        };
        let places: BTreeMap<&str, usize> = ids.iter().enumerate().map(|(place, id)| (*id, place)).collect();
        let mut edges = Vec::new();
        for (place, id) in ids.iter().enumerate() {
            let sources = trace.artifact_by_id(id).into_iter().flat_map(|artifact| artifact.derived_from());
            edges.extend(sources.filter_map(|source| Some((*places.get(source)?, place))));
        }
        edges.sort_unstable();
        edges.dedup();
        let node = |id: &&str| {
            let artifact = trace.artifact_by_id(id);
            let name = artifact.and_then(|artifact| artifact.name()).unwrap_or("");
            let kind = artifact.map_or("unknown", |artifact| artifact.type_word());
            let label =
                if name.is_empty() { format!("{id} ({kind})") } else { format!("{id} {name} ({kind})") };
            let producer = lineage.producer(id).and_then(|position| trace.action(position)?.id());
            Node { id: (*id).to_owned(), label, producer }
        };
        Some(Self { nodes: ids.iter().map(node).collect(), edges })
    }

    /// Writes the picture for Graphviz.
    pub fn dot(&self) -> String {
        let quoted = |text: &str| {
            let plain: String =
                text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
            plain.replace('\\', "\\\\").replace('"', "\\\"")
        };
        let mut out = String::from("digraph lineage {\n  rankdir=LR;\n");
        for (place, node) in self.nodes.iter().enumerate() {
            let _ = writeln!(out, "  n{place} [label=\"{}\"];", quoted(&node.label));
        }
        for (source, derived) in &self.edges {
            let _ = writeln!(out, "  n{source} -> n{derived};");
        }
        out.push_str("}\n");
        out
    }

    /// Writes the picture for Mermaid.
    pub fn mermaid(&self) -> String {
        let entity = |letter: char| match letter {
            '"' | '#' | '<' | '>' | '&' | '`' | ';' => format!("#{};", u32::from(letter)),
            control if control.is_control() => " ".to_owned(),
            plain => plain.to_string(),
        };
        let mut out = String::from("graph LR\n");
        for (place, node) in self.nodes.iter().enumerate() {
            let _ = writeln!(out, "  n{place}[\"{}\"]", node.label.chars().map(entity).collect::<String>());
        }
        for (source, derived) in &self.edges {
            let _ = writeln!(out, "  n{source} --> n{derived}");
        }
        out
    }
}

/// The picture for tools.
impl From<&Picture> for Value {
    fn from(picture: &Picture) -> Self {
        let nodes = picture.nodes.iter().map(|node| {
            Object::from_iter([
                ("artifact_id", Value::from(node.id.as_str())),
                ("label", node.label.as_str().into()),
                ("producer_action_id", node.producer.into()),
            ])
        });
        let id = |place: &usize| picture.nodes.get(*place).map(|node| node.id.as_str());
        let edges = picture.edges.iter().map(|(source, derived)| {
            Object::from_iter([("from", Value::from(id(source))), ("to", id(derived).into())])
        });
        Object::from_iter([("artifacts", nodes.collect::<Value>()), ("derivations", edges.collect())]).into()
    }
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
                    {"artifact_id": "a", "artifact_type": "SourceCode", "name": "x\"];\n<b>"},
                    {"artifact_id": "b", "artifact_type": "Diff", "derived_from": ["a"]},
                    {"artifact_id": "c", "artifact_type": "Commit", "derived_from": ["b"]}]}"#,
            )
            .unwrap(),
        );
        let lineage = Lineage::of(&trace);
        let up = Picture::of(&trace, &lineage, "b", Direction::Up).unwrap();
        let dot = "digraph lineage {\n  rankdir=LR;\n  n0 [label=\"a x\\\"]; <b> (SourceCode)\"];\n  n1 [label=\"b (Diff)\"];\n  n0 -> n1;\n}\n";
        assert_eq!(up.dot(), dot);
        assert!(up.mermaid().contains("n0[\"a x#34;]#59; #60;b#62; (SourceCode)\"]"), "{}", up.mermaid());
        let down = Picture::of(&trace, &lineage, "b", Direction::Down).unwrap();
        assert_eq!(
            Value::from(&down).to_string(),
            r#"{"artifacts":[{"artifact_id":"b","label":"b (Diff)","producer_action_id":7},{"artifact_id":"c","label":"c (Commit)","producer_action_id":null}],"derivations":[{"from":"b","to":"c"}]}"#
        );
        assert_eq!(Picture::of(&trace, &lineage, "nobody", Direction::Up), None);
    }
}
