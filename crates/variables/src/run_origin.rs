//! Checks what the events of a run take from the run itself: the prompt of its first task, and the ids of tasks and trees.

use std::collections::BTreeSet;

use hence_canon::{Digest, Value};

use crate::{Action, Change, Creation, Event, Name, StateId, Stored, TreeId};

/// The comparison of the events of a run, oldest first, with its id and its prompt.
#[derive(Clone, Debug)]
pub struct RunOrigin<'a> {
    run: &'a str,
    prompt: Option<&'a str>,
    /// The run from which this one was forked, and whose first events it shares.
    forked_from: Option<&'a str>,
    states: BTreeSet<StateId>,
}

impl<'a> RunOrigin<'a> {
    /// Starts before the first event of the run with this id and this prompt.
    pub fn new(run: &'a str, prompt: Option<&'a str>) -> Self {
        Self { run, prompt, forked_from: None, states: BTreeSet::new() }
    }

    /// Names the run from which this one was forked: the first events have the ids of that run.
    pub fn forked_from(self, run: &'a str) -> Self {
        Self { forked_from: Some(run), ..self }
    }

    /// Compares the next event. Returns the ids in it that do not follow from the run: a caller may have chosen them, and
    /// nothing records whether one did.
    ///
    /// # Errors
    /// The reason, in words, when the first task has another prompt than the run.
    pub fn check(&mut self, event: &Event) -> Result<Vec<String>, String> {
        let is_first = self.states.is_empty();
        let mut chosen = Vec::new();
        match (event.action, event.changes.as_slice()) {
            (Action::Init, [Change::Created(creation), Change::Write { variable, .. }, ..]) => {
                if is_first {
                    self.check_prompt(&variable.stored)?;
                }
                chosen = self.chosen_ids(event.state, creation);
            }
            (Action::Import, [Change::Imported(imported)]) if is_first => {
                let prompt = imported.import.document.variables.get(&Name::prompt());
                // A run whose document has no prompt, or a large one, is named after its state.
                let is_text = |stored: &Stored| matches!(stored, Stored::Inline { value: Value::String(text), .. } if !text.trim().is_empty());
                if let Some((prompt, _)) = prompt.filter(|(prompt, _)| is_text(&prompt.stored)) {
                    self.check_prompt(&prompt.stored)?;
                }
            }
            _ => {}
        }
        self.states.insert(event.state);
        Ok(chosen)
    }

    fn check_prompt(&self, stored: &Stored) -> Result<(), String> {
        let expected = self.prompt.unwrap_or_default();
        let is_same = match stored {
            Stored::Spilled(spill) => spill.sha256 == Digest::of(expected.as_bytes()),
            stored => stored.shown().as_str() == Some(expected),
        };
        if is_same {
            Ok(())
        } else {
            Err("the task has another prompt than the problem of the run".to_owned())
        }
    }

    fn chosen_ids(&self, state: StateId, creation: &Creation) -> Vec<String> {
        // A child in a run of its own has the ids that its parent gave it.
        if creation.spawned_by.is_some() {
            return Vec::new();
        }
        let position = self.states.len() as u64;
        let runs = || std::iter::once(self.run).chain(self.forked_from);
        let is_used = |id: StateId| self.states.contains(&id);
        let follows = runs().any(|run| state == StateId::of_run_at(run, position, is_used));
        let other_state = (!follows).then(|| state.to_string());
        // A child joins the tree of its parent, which is compared when the event is applied.
        let tree = creation.tree.filter(|_| creation.parent.is_none());
        let other_tree = tree.filter(|tree| runs().all(|run| *tree != TreeId::of_run(run, position)));
        other_state.into_iter().chain(other_tree.map(|tree| tree.to_string())).collect()
    }
}
