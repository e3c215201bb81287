//! `hence cancel`: takes a run out of its queue.

use hence_fleet::CancelReply;
use hence_store::RunId;

use super::{JobRow, refused, say_remarks};
use crate::args::fleet::CancelArgs;
use crate::prelude::*;
use crate::target;

/// A job that was cancelled.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CancelReport {
    /// The run.
    run: String,
    /// `cancelled`, `asked` (its worker stops at the next safe point) or `settled` (nothing was left to cancel).
    outcome: &'static str,
    /// The job.
    job: JobRow,
    /// The command that continues the run.
    next: String,
}

impl Text for CancelReport {
    fn text(&self) -> String {
        let outcome = match self.outcome {
            "cancelled" => "it is cancelled; the run keeps its records",
            "asked" => {
                "its worker hears it at its next heartbeat, lets calls in progress end and makes no other; the run keeps its records"
            }
            _ => "nothing was left to cancel",
        };
        let mut rows = vec![("run", escape(&self.run)), ("cancel", outcome.to_owned())];
        rows.extend(self.job.rows());
        rows.push(("next", escape(&self.next)));
        pairs(&rows)
    }
}

/// Runs the command.
pub(crate) fn cancel(context: &Context, args: &CancelArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let queue = context.place.queue()?;
    let run = match target::find_run(&store, &args.run) {
        Ok(run) => run,
        // The job of a run that is gone is still there, under its whole id.
        Err(error) => match RunId::new(&args.run).map(|run| (queue.job(&run), run)) {
            Ok((Ok(Some(_)), run)) => run,
            _ => return Err(error),
        },
    };
    // A queue that nobody used is not made to learn that the run is not in it.
    if queue.job(&run).map_err(refused)?.is_none() {
        let message = format!("run {run} is in no queue");
        return Err(
            CliError::new(Code::QueueRefused, message).with_hint(hint::why_waiting(context, run.as_str()))
        );
    }
    let reply = queue.cancel(&run).map_err(refused)?;
    say_remarks(context, &*queue);
    let (outcome, job) = match &reply {
        CancelReply::Cancelled(job) => ("cancelled", job),
        CancelReply::Asked(job) => ("asked", job),
        CancelReply::Settled(job) => ("settled", job),
    };
    let next = hint::command(context, &["resume", run.as_str()]);
    context.print(&CancelReport { run: run.as_str().to_owned(), outcome, job: JobRow::of(job), next })?;
    Ok(if outcome == "settled" { Exit::No } else { Exit::Yes })
}
