//! All states with the variables they share, and the view that one state has of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hence_canon::Value;

use crate::layer::{Layer, Variables, Writer};
use crate::{Name, Scope, SessionId, State, StateId, Status, Timestamp, TreeId, Variable};

/// All states of one store with their shared variables. It changes only by [`apply`](crate::apply).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Workspace {
    pub(crate) global: Layer,
    pub(crate) sessions: BTreeMap<SessionId, Layer>,
    pub(crate) trees: BTreeMap<TreeId, Layer>,
    pub(crate) states: BTreeMap<StateId, State>,
}

/// The place a variable belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Home {
    /// `Final` and `prompt`: always in their own state, in no scope.
    Special,
    /// A scope.
    Scope(Scope),
}

impl Home {
    /// Returns the scope, if it is one.
    pub fn scope(self) -> Option<Scope> {
        match self {
            Self::Special => None,
            Self::Scope(scope) => Some(scope),
        }
    }
}

impl Workspace {
    /// Returns a workspace without states.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the state `id`.
    pub fn state(&self, id: StateId) -> Option<&State> {
        self.states.get(&id)
    }

    /// Iterates over the states by id.
    pub fn states(&self) -> impl ExactSizeIterator<Item = &State> {
        self.states.values()
    }

    /// Returns the latest time that any of the states has seen.
    pub fn last_moment(&self) -> Option<Timestamp> {
        self.states.values().map(|state| state.clock).max()
    }

    /// Returns the lowest id above all in use, so that ids count up and a replay gives the same ones.
    ///
    /// Above the highest possible id it falls back to the lowest free one.
    pub fn next_state_id(&self) -> StateId {
        let above = match self.states.last_key_value() {
            None => Some(1),
            Some((last, _)) => last.number().checked_add(1),
        };
        let free = |number: &u32| !self.states.contains_key(&StateId::from_number(*number));
        let number = above.or_else(|| (1..=u32::MAX).find(free));
        StateId::from_number(number.unwrap_or(u32::MAX))
    }

    /// Returns how the state `id` sees the workspace.
    pub fn state_view(&self, id: StateId) -> Option<StateView<'_>> {
        Some(StateView { workspace: self, state: self.state(id)? })
    }

    /// Returns the revisions of the layers a state born now would see, which its first checkpoint records.
    pub(crate) fn revisions_for_new_state(
        &self,
        session: Option<&SessionId>,
        tree: Option<TreeId>,
    ) -> BTreeMap<Scope, u64> {
        let session = session.and_then(|session| self.sessions.get(session));
        let tree = tree.map(|tree| (Scope::Tree, self.trees.get(&tree).map_or(0, Layer::revision)));
        let others = [
            (Scope::Temporary, 0),
            (Scope::Session, session.map_or(0, Layer::revision)),
            (Scope::Global, self.global.revision()),
        ];
        others.into_iter().chain(tree).collect()
    }

    pub(crate) fn layer_mut(&mut self, id: StateId, scope: Scope) -> Option<(&mut Layer, Writer)> {
        let state = self.states.get_mut(&id)?;
        let sharing = Writer::Sharing(id);
        Some(match (scope, &state.session, state.tree) {
            (Scope::Temporary, _, _) => (&mut state.temporary, Writer::Alone),
            (Scope::Session, None, _) => (&mut state.private_session, Writer::Alone),
            (Scope::Session, Some(session), _) => {
                (self.sessions.entry(session.clone()).or_default(), sharing)
            }
            (Scope::Tree, _, tree) => (self.trees.entry(tree?).or_default(), sharing),
            (Scope::Global, _, _) => (&mut self.global, sharing),
        })
    }
}

/// The workspace as one state sees it: its own variables and the layers it shares.
#[derive(Clone, Copy, Debug)]
pub struct StateView<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) state: &'a State,
}

/// A variable and where it lives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// The place the variable belongs to.
    pub home: Home,
    /// The variable.
    pub variable: Arc<Variable>,
}

/// The variables a state sees, each name once, the narrowest scope winning.
pub type VisibleVariables = BTreeMap<Name, Found>;

impl<'a> StateView<'a> {
    /// Returns the state.
    pub fn state(&self) -> &'a State {
        self.state
    }

    /// Returns whether the state can use `scope` at all.
    pub fn has(&self, scope: Scope) -> bool {
        scope != Scope::Tree || self.state.tree.is_some()
    }

    /// Returns whether other states see what is written to `scope`.
    pub fn is_shared(&self, scope: Scope) -> bool {
        match scope {
            Scope::Temporary => false,
            Scope::Session => self.state.session.is_some(),
            Scope::Tree | Scope::Global => true,
        }
    }

    /// Returns the layer of `scope`; a shared one nobody wrote to does not exist yet.
    pub fn layer(&self, scope: Scope) -> Option<&'a Layer> {
        match (scope, &self.state.session) {
            (Scope::Temporary, _) => Some(&self.state.temporary),
            (Scope::Session, None) => Some(&self.state.private_session),
            (Scope::Session, Some(session)) => self.workspace.sessions.get(session),
            (Scope::Tree, _) => self.workspace.trees.get(&self.state.tree?),
            (Scope::Global, _) => Some(&self.workspace.global),
        }
    }

    /// Returns the revision of the layer of `scope`.
    pub fn revision(&self, scope: Scope) -> u64 {
        self.layer(scope).map_or(0, Layer::revision)
    }

    /// Returns the variable called `name`, from the narrowest scope that has it.
    pub fn find(&self, name: &Name) -> Option<Found> {
        if name.is_special() {
            return self.special(name);
        }
        Scope::LOOKUP_ORDER.into_iter().find_map(|scope| self.find_in(scope, name))
    }

    /// Returns the variable called `name` in `scope` only. The special variables count as the session's.
    pub fn find_in(&self, scope: Scope, name: &Name) -> Option<Found> {
        if name.is_special() {
            return self.special(name).filter(|_| scope == Scope::Session);
        }
        let variable = self.layer(scope)?.get(name.as_str())?.clone();
        Some(Found { home: Home::Scope(scope), variable })
    }

    fn special(&self, name: &Name) -> Option<Found> {
        let variable = if name.is_final() { &self.state.final_answer } else { self.state.prompt.as_ref()? };
        Some(Found { home: Home::Special, variable: variable.clone() })
    }

    /// Returns every variable the state sees.
    pub fn visible(&self) -> VisibleVariables {
        let layers = Scope::LOOKUP_ORDER.into_iter();
        let layers = layers.filter_map(|scope| Some((scope, self.layer(scope)?.variables())));
        overlay(self.state, &self.state.final_answer, layers)
    }

    /// Returns every variable the state saw at the checkpoint called `name`, if its snapshot is available.
    pub fn visible_at(&self, name: &str) -> Option<VisibleVariables> {
        let snapshot = self.state.checkpoint(name)?.snapshot.as_ref()?;
        let layers = snapshot.layers.iter().map(|(scope, layer)| (*scope, &layer.variables));
        Some(overlay(self.state, &snapshot.final_answer, layers))
    }

    /// Returns how many names the state sees.
    pub fn visible_count(&self) -> usize {
        let layers: Vec<_> = Scope::LOOKUP_ORDER
            .into_iter()
            .filter_map(|scope| self.layer(scope))
            .map(|layer| layer.variables())
            .filter(|variables| !variables.is_empty())
            .collect();
        let specials = 1 + usize::from(self.state.prompt.is_some());
        // Names are only compared when two layers could share one.
        specials
            + match layers.as_slice() {
                [] => 0,
                [only] => only.len(),
                many => many.iter().flat_map(|layer| layer.keys()).collect::<BTreeSet<_>>().len(),
            }
    }
}

/// Lays layers over each other, narrowest first.
fn overlay<'a>(
    state: &State,
    final_answer: &Arc<Variable>,
    layers: impl Iterator<Item = (Scope, &'a Variables)>,
) -> VisibleVariables {
    let specials = [Some(final_answer), state.prompt.as_ref()].into_iter().flatten();
    let mut visible: VisibleVariables = specials
        .map(|variable| (variable.name.clone(), Found { home: Home::Special, variable: variable.clone() }))
        .collect();
    for (scope, variables) in layers {
        for (name, variable) in variables.iter() {
            let found = || Found { home: Home::Scope(scope), variable: variable.clone() };
            visible.entry(name.clone()).or_insert_with(found);
        }
    }
    visible
}

/// A task with the tasks it spawned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskNode {
    /// The state of the task.
    pub state: StateId,
    /// The status.
    pub status: Status,
    /// The distance from the root.
    pub depth: u8,
    /// The prompt, or a reference to it; absent when its document did not state it.
    pub prompt: Option<Value>,
    /// The children, in the order they were spawned.
    pub children: Vec<TaskNode>,
}

impl Workspace {
    /// Returns the whole tree that `state` belongs to, from its root.
    pub fn task_tree(&self, state: StateId) -> Option<TaskNode> {
        Some(self.task_node(self.root_of(self.state(state)?)))
    }

    /// Climbs to the root. A parent is older than its child, so this ends.
    pub(crate) fn root_of<'a>(&'a self, mut state: &'a State) -> &'a State {
        while let Some(parent) = state.parent.and_then(|parent| self.state(parent)) {
            state = parent;
        }
        state
    }

    fn task_node(&self, state: &State) -> TaskNode {
        let children = state.children.iter().filter_map(|child| self.state(*child));
        TaskNode {
            state: state.id,
            status: state.status,
            depth: state.depth,
            prompt: state.prompt().map(|prompt| prompt.stored.shown()),
            children: children.map(|child| self.task_node(child)).collect(),
        }
    }
}

impl TaskNode {
    /// Returns how many tasks there are from here down.
    pub fn count(&self) -> usize {
        1 + self.children.iter().map(Self::count).sum::<usize>()
    }
}

/// A variable that is not the same in two views.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The name.
    pub name: Name,
    /// The variable in the first set.
    pub before: Option<Found>,
    /// The variable in the second set.
    pub after: Option<Found>,
}

/// Returns what differs, by name. When something was written and how often it was read does not count.
pub fn diff(before: &VisibleVariables, after: &VisibleVariables) -> Vec<Difference> {
    let added = after.keys().filter(|name| !before.contains_key(*name));
    let mut names: Vec<&Name> = before.keys().chain(added).collect();
    names.sort();
    let differences = names.into_iter().map(|name| Difference {
        name: name.clone(),
        before: before.get(name).cloned(),
        after: after.get(name).cloned(),
    });
    differences.filter(|difference| !difference.is_empty()).collect()
}

impl Difference {
    fn is_empty(&self) -> bool {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => {
                before.home == after.home && before.variable.has_same_content(&after.variable)
            }
            (None, None) => true,
            _ => false,
        }
    }
}
