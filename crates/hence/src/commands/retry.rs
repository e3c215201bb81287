//! `hence retry`: continue a failed run under the same idempotency keys.

use crate::args::skill::RetryArgs;
use crate::kind::{self, DriveOptions, Purpose};
use crate::prelude::*;
use crate::run_view::status_of;
use crate::skills::newest_retry;
use crate::target::{self, Journal};

/// Continues the newest run in the line of retries: a failed one is retried, any other one is resumed.
///
/// A run has one retry. A second command continues it, so that no call is made by two runs.
pub(super) fn run(context: &Context, args: &RetryArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let first = target::find_run(&store, &args.run)?;
    let newest = newest_retry(&store, &first);
    let journal = Journal::of_run(context, newest.as_str())?;
    let run = kind::open(&journal, &[], Purpose::Resume(args.imported.imported()))?;
    let summary = store.summary(&newest)?;
    let status = status_of(&store, &summary);
    if newest != first && status != "failed" {
        let id = newest.as_str();
        if let Some(wanted) = args.run_id.as_deref().filter(|wanted| *wanted != id) {
            let message = format!("run {first}: its retry is {id}, and not {wanted}");
            return Err(CliError::new(Code::Retry, message).with_hint(hint::retry(id)));
        }
        context.say(format_args!("run {first}: its retry is {id}"));
    }
    match status {
        // A run that completed in part has steps that failed.
        "failed" | "partial" | "completed" if newest == first || status == "failed" => {
            run.retry(context, &journal, args)
        }
        _ => {
            let limits = args.limits.limits();
            let options = DriveOptions { limits: Some(&limits), ..DriveOptions::default() };
            run.resume(context, &journal, options)
        }
    }
}
