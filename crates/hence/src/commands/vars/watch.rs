//! `hence vars watch`: changes as they are recorded.

use std::time::Duration;

use hence_variables::Event;

use super::list::short;
use crate::args::vars::WatchArgs;
use crate::interactive::{ChangeClock, Session};
use crate::prelude::*;

/// The pause between two looks at the journal.
const POLL_PAUSE: Duration = Duration::from_millis(200);

/// One event as it was recorded.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WatchReport {
    /// The record.
    index: u64,
    /// The time, by the clock that `clock` names.
    at: String,
    /// The clock that gave `at`.
    clock: ChangeClock,
    /// The state that acted.
    state: String,
    /// The operation.
    action: &'static str,
    /// The changes, in words.
    changes: Vec<String>,
}

impl Text for WatchReport {
    fn text(&self) -> String {
        let changes = self.changes.join("; ");
        // A logical time is no date; the index says as much.
        let at = match self.clock {
            ChangeClock::Caller => format!("{}  ", self.at),
            ChangeClock::Logical => String::new(),
        };
        format!("{:>5}  {at}{}  {}  {changes}", self.index, self.state, self.action).trim_end().to_owned()
    }
}

impl WatchReport {
    fn of(session: &Session<'_>, index: u64, event: &Event) -> Self {
        let changes = event.mutations().map(|mutation| {
            let name = escape(&mutation.variable_name);
            let value = mutation.new_value.as_ref().map(|value| format!(" = {}", short(value)));
            format!("{} {name}{}", mutation.operation, value.unwrap_or_default())
        });
        Self {
            index,
            at: event.at.to_string(),
            clock: ChangeClock::of(session),
            state: event.state.to_string(),
            action: event.action.as_str(),
            changes: changes.collect(),
        }
    }
}

/// Prints the events from a record on that are recorded already.
pub(crate) fn print_recorded(
    context: &Context,
    session: &Session<'_>,
    args: &WatchArgs,
) -> Result<Exit, CliError> {
    let next = args.from.unwrap_or(session.loaded()?.head().records.get());
    let found = session.events()?;
    let found = found.iter().filter(|(index, _)| index.get() >= next);
    for (index, event) in found.take(usize::try_from(args.count.unwrap_or(u64::MAX)).unwrap_or(usize::MAX)) {
        context.print(&WatchReport::of(session, index.get(), event))?;
    }
    Ok(Exit::Yes)
}

/// Prints events from a record on, until the state has ended or enough events were printed.
pub(super) fn run(context: &Context, session: &mut Session<'_>, args: &WatchArgs) -> Result<Exit, CliError> {
    let state = session.state(args.target.state)?;
    let mut next = args.from.unwrap_or(session.loaded()?.head().records.get());
    let mut left = args.count.unwrap_or(u64::MAX);
    loop {
        session.refresh()?;
        if session.loaded()?.head().records.get() > next {
            let found = session.events()?;
            for (index, event) in found.iter().filter(|(index, _)| index.get() >= next) {
                if left == 0 {
                    break;
                }
                context.print(&WatchReport::of(session, index.get(), event))?;
                left -= 1;
            }
            next = found.last().map_or(next, |(index, _)| index.get() + 1);
        }
        let known = session.workspace()?.state(state);
        if left == 0
            || known.is_none_or(|known| session.loaded().is_ok_and(|run| run.status_of(known).is_terminal()))
        {
            return Ok(Exit::Yes);
        }
        std::thread::sleep(POLL_PAUSE);
    }
}
