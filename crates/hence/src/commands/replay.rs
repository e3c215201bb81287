//! `hence replay`: executes a recorded run again and compares every byte.

use std::collections::BTreeMap;

use hence_engine::{Evidence, Replay};

use crate::args::ReplayArgs;
use crate::guard;
use crate::kind::{self, Purpose};
use crate::prelude::*;
use crate::target::Journal;

/// The result of a replay.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ReplayReport {
    /// The run's id.
    run: String,
    /// Whether every byte is equal.
    equal: bool,
    /// The number of steps that were executed again.
    executed: u64,
    /// The number of results that were read from the journal.
    read: u64,
    /// The declared capabilities that were called, each with the number of calls; none without `--execute`.
    called: BTreeMap<String, u64>,
    /// The first difference.
    difference: Option<DifferenceReport>,
}

/// The first line at which a replay differs.
#[derive(Serialize, JsonSchema)]
struct DifferenceReport {
    /// The line, from 0.
    line: u64,
    /// The members that differ.
    members: Vec<String>,
    /// The record in the journal.
    recorded: Option<Data>,
    /// The record that the replay wrote.
    replayed: Option<Data>,
}

impl Text for ReplayReport {
    fn text(&self) -> String {
        let done = format!(
            "{} executed again, {} read from the journal{}",
            counted(self.executed, "step"),
            counted(self.read, "result"),
            called_text(&self.called).map(|called| format!("\n  {called}")).unwrap_or_default()
        );
        let Some(difference) = &self.difference else {
            return format!("{}: every byte is equal\n  {done}", escape(&self.run));
        };
        let cause = match (&difference.recorded, &difference.replayed) {
            (Some(_), None) => "the replay ends before this record".to_owned(),
            (None, Some(_)) => "the journal ends before this record".to_owned(),
            _ if difference.members.is_empty() => "the line is spelled otherwise".to_owned(),
            _ => format!("differs in {}", difference.members.join(", ")),
        };
        format!("{}: differs at record {}\n  {cause}\n  {done}", escape(&self.run), difference.line)
    }
}

/// Returns the declared capabilities that were called, in a line.
pub(super) fn called_text(called: &BTreeMap<String, u64>) -> Option<String> {
    let each = called.iter().map(|(id, calls)| format!("{} ({})", escape(id), counted(*calls, "call")));
    (!called.is_empty()).then(|| format!("called: {}", each.collect::<Vec<_>>().join(", ")))
}

pub(super) fn run(context: &Context, args: &ReplayArgs) -> Result<Exit, CliError> {
    let journal = Journal::of_target(context, &args.run)?;
    let problem = journal.required_problem()?;
    let run =
        kind::open(&journal, &args.capabilities.capabilities, Purpose::of_reading(&journal, args.execute)?)?;
    let replay = kind::with_blobs(&journal, |blobs| {
        let open_gate = || guard::open_to_read(&journal, run.projection(), blobs);
        let evidence = Evidence {
            problem: Some(problem),
            gate: Some(&open_gate),
            ..Evidence::of_journal(&journal.bytes, blobs)
        };
        run.replay(&evidence)
    });
    let replay = replay.map_err(|error| {
        let error = CliError::resume(&journal.name, error);
        // The run itself may have ended; it is the replay that can be repeated.
        match error.code {
            Code::SolveStopped => error.with_hint(hint::replay_again(&args.run)),
            _ => error,
        }
    })?;
    let equal = replay.difference.is_none();
    context.print(&describe(&journal.name, replay, run.declared_calls()))?;
    if !equal {
        context.hint(hint::verify(&args.run));
    }
    Ok(if equal { Exit::Yes } else { Exit::No })
}

fn describe(run: &str, replay: Replay, called: BTreeMap<String, u64>) -> ReplayReport {
    ReplayReport {
        run: run.to_owned(),
        equal: replay.difference.is_none(),
        executed: replay.executed,
        read: replay.read,
        called,
        difference: replay.difference.map(|difference| DifferenceReport {
            line: difference.line,
            members: difference.members,
            recorded: difference.recorded.map(Data),
            replayed: difference.replayed.map(Data),
        }),
    }
}
