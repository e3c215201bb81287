//! The two scopes of policies, answered for every action in one pass.
//!
//! A past operator asks: is there an earlier action in scope where something holds? Because "earlier" only
//! compares positions, the earliest action in scope where it holds decides. Earliest positions spread along the
//! graph as minima, so a pass over the groups answers all actions together.

use crate::wire::Position;

use super::Lineage;
use super::graph::Node;

/// The earliest position seen so far.
type Earliest = Option<Position>;

fn earlier(left: Earliest, right: Earliest) -> Earliest {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (known, None) | (None, known) => known,
    }
}

fn lower(slots: &mut [Earliest], place: usize, position: Earliest) {
    if let Some(slot) = slots.get_mut(place) {
        *slot = earlier(*slot, position);
    }
}

fn at(slots: &[Earliest], place: usize) -> Earliest {
    slots.get(place).copied().flatten()
}

impl Lineage {
    /// Returns, for every action, the earliest action that satisfies `holds` and made something the action
    /// consumed, produced or built on.
    ///
    /// The answer may be the action itself or a later one; compare positions for "earlier than". `holds` has one
    /// entry per action, missing entries do not hold.
    pub fn earliest_in_chain(&self, holds: &[bool]) -> Vec<Option<Position>> {
        let mut made = vec![None; self.flow.graph.len()];
        for position in self.satisfying(holds) {
            for node in self.flow.outputs(position) {
                lower(&mut made, node.place(), Some(position));
            }
        }
        self.spread_to_derived(&mut made);
        self.positions().map(|position| self.earliest_touched(position, &made)).collect()
    }

    /// Returns, for every action, the earliest action that satisfies `holds` and shares a target with it.
    ///
    /// The answer may be the action itself or a later one; compare positions for "earlier than".
    pub fn earliest_on_target(&self, holds: &[bool]) -> Vec<Option<Position>> {
        let by_label = self.earliest_by_label(holds);
        let mut seen = vec![None; self.flow.graph.len()];
        for node in self.flow.graph.nodes() {
            for label in self.labels.places_of_node(node) {
                lower(&mut seen, node.place(), at(&by_label, label.place()));
            }
        }
        self.spread_to_derived(&mut seen);
        let own = |position| self.labels.target_place(position).and_then(|own| at(&by_label, own.place()));
        self.positions()
            .map(|position| earlier(own(position), self.earliest_touched(position, &seen)))
            .collect()
    }

    /// Returns, for every action, whether `holds` for an earlier action in its chain.
    pub fn held_in_chain(&self, holds: &[bool]) -> Vec<bool> {
        before(&self.earliest_in_chain(holds))
    }

    /// Returns, for every action, whether `holds` for an earlier action that shares a target with it.
    pub fn held_on_target(&self, holds: &[bool]) -> Vec<bool> {
        before(&self.earliest_on_target(holds))
    }

    /// Finds for every label the earliest satisfying action that has it in its target lineage.
    fn earliest_by_label(&self, holds: &[bool]) -> Vec<Earliest> {
        let mut touched = vec![None; self.flow.graph.len()];
        let mut by_label = vec![None; self.labels.len()];
        for position in self.satisfying(holds) {
            if let Some(own) = self.labels.target_place(position) {
                lower(&mut by_label, own.place(), Some(position));
            }
            for node in self.flow.inputs(position).iter().chain(self.flow.outputs(position)) {
                lower(&mut touched, node.place(), Some(position));
            }
        }
        self.spread_to_sources(&mut touched);
        for node in self.flow.graph.nodes() {
            for label in self.labels.places_of_node(node) {
                lower(&mut by_label, label.place(), at(&touched, node.place()));
            }
        }
        by_label
    }

    fn satisfying(&self, holds: &[bool]) -> impl Iterator<Item = Position> {
        self.positions().filter(|position| holds.get(position.get()) == Some(&true))
    }

    fn earliest_touched(&self, position: Position, slots: &[Earliest]) -> Earliest {
        let nodes = self.flow.inputs(position).iter().chain(self.flow.outputs(position));
        nodes.fold(None, |known, node| earlier(known, at(slots, node.place())))
    }

    /// Gives every node the minimum over itself and its ancestors.
    fn spread_to_derived(&self, slots: &mut [Earliest]) {
        for group in self.flow.components.iter() {
            spread(group, slots, |node| self.flow.graph.parents(node));
        }
    }

    /// Gives every node the minimum over itself and its descendants.
    fn spread_to_sources(&self, slots: &mut [Earliest]) {
        for group in self.flow.components.iter().rev() {
            spread(group, slots, |node| self.flow.graph.children(node));
        }
    }
}

/// Gives every node of a group the minimum over the group and its neighbours.
fn spread<'g>(group: &[Node], slots: &mut [Earliest], neighbours: impl Fn(Node) -> &'g [Node]) {
    let around = |node: &Node| {
        let known = at(slots, node.place());
        neighbours(*node).iter().fold(known, |known, next| earlier(known, at(slots, next.place())))
    };
    let least = group.iter().map(around).fold(None, earlier);
    for node in group {
        lower(slots, node.place(), least);
    }
}

fn before(earliest: &[Option<Position>]) -> Vec<bool> {
    let numbered = earliest.iter().enumerate();
    numbered.map(|(place, earliest)| earliest.is_some_and(|earliest| earliest.get() < place)).collect()
}
