//! Advice about checkpoints and rollbacks.

use super::{Hint, command, word};
use crate::context::Context;

/// The advice for a rollback after which calls that act would be made again.
pub(crate) fn repeat_after_rollback(run: &str) -> Hint {
    Hint::made(format!(
        "--yes rolls back, and `hence resume {}` then makes the calls again under the same idempotency keys",
        word(run)
    ))
}

/// The advice for a rollback that names a place, or nothing, where a checkpoint is expected.
pub(crate) fn name_checkpoint(run: &str, at: Option<&str>) -> Hint {
    let (run, at) = (word(run), at.map(word));
    Hint::made(match at {
        Some(at) => format!(
            "`hence checkpoint {run} NAME --at {at}` names that position, and `hence rollback {run} NAME` returns to it"
        ),
        None => format!("every run has `initial_state`: `hence rollback {run} initial_state`"),
    })
}

/// The advice for a run that has ended and was to be rolled back to before a step.
pub(crate) fn after_the_end(
    context: &Context,
    run: &str,
    status: hence_state::Status,
    step: Option<&str>,
) -> Hint {
    if step.is_some_and(|step| step.starts_with(hence_engine::SOLVE_STEP_PREFIX)) {
        let run = word(run);
        let fork = format!("`hence fork {run} --from TURN` starts a run that shares the turns before one");
        return Hint::made(match status {
            hence_state::Status::Failed => {
                format!("{fork}; `hence fork {run} --from end` with a higher limit continues it")
            }
            _ => fork,
        });
    }
    let other = match step {
        Some(step) => {
            let fork = command(context, &["fork", run, "--from", step]);
            format!("`{fork}` starts a run that shares what came before")
        }
        // No step was undone, or there is no such checkpoint.
        None => format!("`{}` lists its steps", command(context, &["log", run])),
    };
    if status == hence_state::Status::Failed {
        return Hint::made(format!("`{}` continues it; {other}", command(context, &["retry", run])));
    }
    Hint::made(other)
}

/// The advice about a checkpoint in a run that has ended.
pub(crate) fn checkpoint_after_the_end(context: &Context, run: &str, status: hence_state::Status) -> Hint {
    let instead = after_the_end(context, run, status, None);
    Hint::made(format!(
        "the run is {status}, and that is final: the checkpoint names a state, and no rollback returns to it; {instead}"
    ))
}

/// The advice to let a step in progress end before a rollback.
pub(crate) fn record_calls_first(context: &Context, run: &str) -> Hint {
    let (resume, why) = (command(context, &["resume", run]), command(context, &["why", run]));
    Hint::made(format!("`{resume}` ends the step and records them; `{why}` shows what it waits for"))
}
