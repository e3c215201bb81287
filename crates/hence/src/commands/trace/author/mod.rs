//! `hence trace init`, `act`, `artifact`, `reference`, `observe`, `link`, `residual` and `complete`: an agent of its own
//! reports its work. Each accepted operation is one record, durable before it is reported.

mod act;
mod parts;
mod recorder;

use hence_canon::Value;
use hence_projection::authored_problem;
use hence_review::authoring::{Change, TASK_ACTION, TASK_ARTIFACT};

use crate::args;
use crate::clock;
use crate::commands::vars::{json_argument, text_argument};
use crate::interactive::CallerTime;
use crate::prelude::*;

pub(super) use act::act;
pub(super) use parts::{artifact, complete, link, observe, reference, residual};
pub(crate) use recorder::append_missing_end;

/// An operation that was recorded.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AuthoredReport {
    /// The run's id, which is the id of the trace.
    run: String,
    /// The operation: `init`, `act`, `artifact`, `reference`, `observe`, `link`, `residual`, `status` or `complete`.
    done: &'static str,
    /// The number of the action that was added, or that the operation is about.
    action: Option<i64>,
    /// The ids that the operation added or changed: artifacts, a gap, a link.
    ids: Vec<String>,
    /// The number of actions.
    actions: usize,
    /// The number of declared gaps that are open.
    gaps_open: usize,
    /// The warnings of validating the trace so far.
    warnings: Vec<String>,
    /// The head of the journal: store it elsewhere, and `hence verify --anchor` detects a cut or rewritten journal.
    head: String,
}

impl Text for AuthoredReport {
    fn text(&self) -> String {
        let action = self.action.map(|action| format!(" action {action}")).unwrap_or_default();
        let ids = match self.ids.is_empty() {
            true => String::new(),
            false => format!(" {}", escape(&self.ids.join(", "))),
        };
        let mut rows = vec![
            ("done", format!("{}{action}{ids}", self.done)),
            ("run", escape(&self.run)),
            ("so far", format!("{}, {}", counted(self.actions as u64, "action"), open_gaps(self.gaps_open))),
        ];
        rows.extend(self.warnings.iter().map(|warning| ("warning", escape(warning))));
        rows.push(("head", self.head.clone()));
        pairs(&rows)
    }
}

fn open_gaps(count: usize) -> String {
    if count == 1 { "1 open gap".to_owned() } else { format!("{count} open gaps") }
}

/// Begins a trace in a run of its own.
pub(super) fn init(context: &Context, args: &args::TraceInitArgs) -> Result<Exit, CliError> {
    let task = text_argument(&args.task)?;
    let at = CallerTime::of(args.now.as_deref())?.not_before(context, None)?;
    let problem = authored_problem(&args.run, clock::second_of(at)?.as_str(), &task);
    let change = Change::Init { assistant: args.agent.as_str().into(), model: args.model.as_str().into() };
    let recorded = recorder::create(context, &problem, change, at)?;
    recorded.report(context, Some(TASK_ACTION), vec![TASK_ARTIFACT.to_owned()])
}

/// Reads an argument that is JSON.
fn json(given: &str) -> Result<Value, CliError> {
    json_argument(given)
}
