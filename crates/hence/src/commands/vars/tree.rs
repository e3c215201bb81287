//! `hence vars tree`: tasks and the tasks they spawned.

use super::list::short;
use crate::args::vars::StateArgs;
use crate::interactive::Session;
use crate::interactive::linked::{self, LinkedNode};
use crate::prelude::*;

/// A task with the tasks it spawned.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TreeReport {
    /// The run of the task.
    run: String,
    /// The state of the task in that run.
    state: String,
    /// The status.
    status: String,
    /// The distance from the root.
    depth: u8,
    /// The prompt.
    prompt: Option<Data>,
    /// The children, in the order they were spawned.
    children: Vec<TreeReport>,
}

impl From<&LinkedNode> for TreeReport {
    fn from(linked: &LinkedNode) -> Self {
        let node = &linked.node;
        Self {
            run: linked.run.clone(),
            state: node.state.to_string(),
            status: node.status.to_string(),
            depth: node.depth,
            prompt: node.prompt.clone().map(Data),
            children: linked.children.iter().map(Self::from).collect(),
        }
    }
}

impl TreeReport {
    fn draw(&self, before: &str, own: &str, below: &str, text: &mut String) {
        let prompt = self.prompt.as_ref().map(|prompt| short(&prompt.0)).unwrap_or_default();
        let run = escape(&self.run);
        text.push_str(&format!("{before}{own}{run} {}  {}  {prompt}\n", self.state, self.status));
        let before = format!("{before}{below}");
        for (position, child) in self.children.iter().enumerate() {
            let is_last = position + 1 == self.children.len();
            let (own, below) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            child.draw(&before, own, below, text);
        }
    }
}

impl Text for TreeReport {
    fn text(&self) -> String {
        let mut text = String::new();
        self.draw("", "", "", &mut text);
        text
    }
}

pub(super) fn run(context: &Context, session: &Session<'_>, args: &StateArgs) -> Result<Exit, CliError> {
    let state = session.state(args.target.state)?;
    let run = session.id.as_str();
    let tree = match session.is_driven_by_steps() {
        true if session.is_driven_by_blocks() => linked::solve_tree(context, run)?,
        true => linked::skill_tree(context, run)?,
        false => linked::whole_tree(context, run, session.workspace()?, state)?,
    };
    if let Some(tree) = tree {
        context.print(&TreeReport::from(&tree))?;
    }
    Ok(Exit::Yes)
}
