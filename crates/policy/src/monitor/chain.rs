//! Who is in the chain: marks that spread from what was produced to all that is derived from it.

use super::growth::Growth;
use super::ledger::{Ledger, Marks, Node};

/// For one `P_chain φ`: the artifacts that descend from, or are, an output of an action where φ held.
#[derive(Clone, Debug, Default)]
pub(super) struct Chain {
    descending: Marks,
}

impl Chain {
    /// Returns whether φ held at an earlier action in the chain of this one.
    pub(super) fn peek(&self, growth: &Growth) -> bool {
        growth.reached.iter().any(|node| self.descending.has_node(*node))
    }

    /// Returns the same for a growth that tells something about the past; `ledger` already has what it tells.
    pub(super) fn peek_late(&self, ledger: &Ledger, growth: &Growth) -> bool {
        let mut told = self.clone();
        told.advance(ledger, growth, false);
        growth.touched.iter().any(|node| told.descending.has_node(*node))
    }

    /// Moves past an action; the ledger already has what it adds.
    pub(super) fn advance(&mut self, ledger: &Ledger, growth: &Growth, held: bool) {
        for (child, parent) in &growth.edges {
            if self.descending.has_node(*parent) {
                self.mark(ledger, *child);
            }
        }
        if held {
            for output in &growth.outputs {
                self.mark(ledger, *output);
            }
        }
    }

    /// Marks a node and all that is derived from it; each node is visited once in the life of the run.
    fn mark(&mut self, ledger: &Ledger, node: Node) {
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            if self.descending.add_node(node) {
                open.extend(ledger.children(node));
            }
        }
    }
}
