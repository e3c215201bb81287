//! Task trees across runs: the results of children in other runs, and the whole tree.

use hence_engine::{RunKind, VariablesRun, without_defects};
use hence_skills::Pinned;
use hence_solve::{Entry, Spec};
use hence_store::{RunId, StoreError};
use hence_variables::{Call, State, StateId, TaskNode, Timestamp, Workspace};

use super::loaded::status_of_task;
use super::{stored_run, whole_lines};
use crate::context::Context;
use crate::error::CliError;
use crate::kind::{Purpose, StoredSkillRun, StoredSolveRun};
use crate::sink::StoreBlobs;
use crate::skills::nested_runs;
use crate::target::{Journal, problem_name};

/// Reads another run of the store; `None` when the store does not have it.
pub(crate) fn read(context: &Context, run: &str) -> Result<Option<VariablesRun>, CliError> {
    let store = context.store()?;
    let Ok(id) = RunId::new(run) else { return Ok(None) };
    let problem = match store.attachment(&id, &problem_name()) {
        Err(StoreError::NoSuchRun { .. } | StoreError::NoSuchAttachment { .. }) => return Ok(None),
        outcome => outcome?,
    };
    let problem = hence_canon::parse(&problem).map_err(|error| CliError::not_json(run, error))?;
    let (loaded, _) = stored_run::load(&store, &id, &without_defects(problem))?;
    Ok(Some(loaded))
}

/// Returns the calls that record how children in other runs ended, and when the last of them did.
pub(super) fn answers(
    context: &Context,
    workspace: &Workspace,
    parent: &State,
) -> Result<(Vec<Call>, Option<Timestamp>), CliError> {
    let (mut calls, mut last) = (Vec::new(), None);
    for child in parent.children().iter().filter_map(|child| workspace.state(*child)) {
        let Some(run) = child.lives_in().filter(|_| !child.status().is_terminal()) else { continue };
        let Some(there) = read(context, run)? else { continue };
        let Some(found) = there.first_state().and_then(|first| there.workspace().state(first)) else {
            continue;
        };
        if found.status().is_terminal() {
            let (status, answer) = (found.status(), found.final_answer().stored.clone());
            calls.push(Call::Return { state: child.id(), status, answer });
            last = last.max(there.last_moment());
        }
    }
    Ok((calls, last))
}

/// A task and its run.
pub(crate) struct LinkedNode {
    /// The task, without its children.
    pub(crate) node: TaskNode,
    /// The run of the task.
    pub(crate) run: String,
    /// The tasks it spawned.
    pub(crate) children: Vec<LinkedNode>,
}

impl LinkedNode {
    /// Returns the number of tasks in this subtree.
    pub(crate) fn count(&self) -> usize {
        1 + self.children.iter().map(Self::count).sum::<usize>()
    }
}

/// Returns the whole tree that a state belongs to, from its root, across runs.
pub(crate) fn whole_tree(
    context: &Context,
    run: &str,
    workspace: &Workspace,
    state: StateId,
) -> Result<Option<LinkedNode>, CliError> {
    let Some(root) = workspace.task_tree(state) else { return Ok(None) };
    let spawner = workspace.state(root.state).and_then(State::spawned_by);
    if let Some(spawner) = spawner
        && let Some(above) = read(context, &spawner.run)?
    {
        // A child is younger than its spawner, so the recursion ends.
        return whole_tree(context, &spawner.run, above.workspace(), spawner.state);
    }
    descend(context, run, workspace, root).map(Some)
}

/// Returns the tree of a skill's run, from its outermost run: each run and the runs that its steps nest.
pub(crate) fn skill_tree(context: &Context, run: &str) -> Result<Option<LinkedNode>, CliError> {
    let mut root = run.to_owned();
    while let Some(above) = parent_of(context, &root)? {
        root = above;
    }
    skill_node(context, &root, 0)
}

/// Returns the run that nests a run, if the store has it.
fn parent_of(context: &Context, run: &str) -> Result<Option<String>, CliError> {
    let store = context.store()?;
    let problem = RunId::new(run).ok().and_then(|id| store.attachment(&id, &problem_name()).ok());
    let problem = problem.and_then(|bytes| hence_canon::parse(&bytes).ok());
    let parent =
        problem.and_then(|problem| Pinned::of_value(&problem)?.links.parent).map(|parent| parent.run);
    // The id of a nested run begins with that of its parent, so the climb ends.
    let parent = parent.filter(|parent| is_below(run, parent));
    Ok(parent
        .filter(|parent| RunId::new(parent).is_ok_and(|id| store.summary(&id).is_ok()))
        .map(|run| run.to_string()))
}

fn is_below(run: &str, above: &str) -> bool {
    run.len() > above.len() && run.starts_with(above)
}

/// Returns the tree of a run of the recursive loop, from its outermost run: each run and the child runs of its blocks.
pub(crate) fn solve_tree(context: &Context, run: &str) -> Result<Option<LinkedNode>, CliError> {
    let store = context.store()?;
    let problem = RunId::new(run).ok().and_then(|id| store.attachment(&id, &problem_name()).ok());
    let problem = problem.and_then(|bytes| hence_canon::parse(&bytes).ok());
    let spec = problem.and_then(|problem| Spec::read(&problem).ok());
    let root =
        spec.and_then(|spec| spec.parent).map_or_else(|| run.to_owned(), |parent| parent.root.to_string());
    solve_node(context, &root, 0)
}

fn solve_node(context: &Context, run: &str, depth: u8) -> Result<Option<LinkedNode>, CliError> {
    let store = context.store()?;
    if !RunId::new(run).is_ok_and(|id| store.summary(&id).is_ok()) {
        return Ok(None);
    }
    let journal = Journal::of_run(context, run)?;
    if journal.kind != RunKind::Solve {
        return Ok(None);
    }
    let opened = StoredSolveRun::open(&journal, Purpose::Read)?;
    let read = opened.read_back(&journal)?;
    let progress = read.program().progress();
    let variables = progress.variables();
    let Some(mut node) = variables.workspace().task_tree(variables.state()) else { return Ok(None) };
    node.depth = depth;
    node.status = status_of_task(read.state().status(), node.status);
    let mut children = Vec::new();
    for (_, entry) in progress.path() {
        if let Entry::Call(call) = &**entry
            && let Some(child) = call.child.as_ref().filter(|child| is_below(&child.run, run))
        {
            children.extend(solve_node(context, &child.run, depth.saturating_add(1))?);
        }
    }
    Ok(Some(LinkedNode { node, run: run.to_owned(), children }))
}

fn skill_node(context: &Context, run: &str, depth: u8) -> Result<Option<LinkedNode>, CliError> {
    let store = context.store()?;
    let is_there = RunId::new(run).is_ok_and(|id| store.summary(&id).is_ok());
    if !is_there {
        return Ok(None);
    }
    let journal = Journal::of_run(context, run)?;
    let Some(kept) = StoredSkillRun::open(&journal, &[])? else { return Ok(None) };
    let (bytes, blobs) = (whole_lines(journal.bytes.clone()), StoreBlobs(&store));
    let (variables, status) = kept.variables(&bytes, &blobs).map_err(|error| CliError::resume(run, error))?;
    let Some(mut node) = variables.workspace().task_tree(variables.state()) else { return Ok(None) };
    node.depth = depth;
    node.status = status_of_task(status, node.status);
    let mut children = Vec::new();
    for nested in nested_runs(&bytes, &blobs).iter().filter(|nested| is_below(nested, run)) {
        children.extend(skill_node(context, nested, depth.saturating_add(1))?);
    }
    Ok(Some(LinkedNode { node, run: run.to_owned(), children }))
}

fn descend(
    context: &Context,
    run: &str,
    workspace: &Workspace,
    mut node: TaskNode,
) -> Result<LinkedNode, CliError> {
    let mut children = Vec::new();
    for child in std::mem::take(&mut node.children) {
        let elsewhere = workspace.state(child.state).and_then(State::lives_in);
        let there = match elsewhere {
            Some(other) => read(context, other)?.map(|there| (other.to_string(), there)),
            None => None,
        };
        children.push(match there {
            Some((other, there)) => {
                match there.first_state().and_then(|first| there.workspace().task_tree(first)) {
                    Some(own) => descend(context, &other, there.workspace(), own)?,
                    None => descend(context, &other, workspace, child)?,
                }
            }
            None => descend(context, run, workspace, child)?,
        });
    }
    Ok(LinkedNode { node, run: run.to_owned(), children })
}
