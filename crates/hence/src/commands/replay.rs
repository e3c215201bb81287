//! `hence replay`: run it again, compare every byte.

use hence_engine::{Blobs, Engine, NoBlobs, RecordedSteps, Replay};

use crate::args::ReplayArgs;
use crate::prelude::*;
use crate::sink::StoreBlobs;
use crate::target::Journal;

/// What a replay found.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ReplayReport {
    /// The run's id.
    run: String,
    /// Whether every byte is equal.
    equal: bool,
    /// How many steps were executed again.
    executed: u64,
    /// How many results were read from the journal.
    read: u64,
    /// Where the bytes first differ.
    difference: Option<DifferenceReport>,
}

/// The first line at which a replay differs.
#[derive(Serialize, JsonSchema)]
struct DifferenceReport {
    /// The line, from 0.
    line: u64,
    /// The members that differ.
    members: Vec<String>,
    /// What the journal has there.
    recorded: Option<Data>,
    /// What the replay wrote there.
    replayed: Option<Data>,
}

impl Text for ReplayReport {
    fn text(&self) -> String {
        let done =
            format!("{} steps executed again, {} results read from the journal", self.executed, self.read);
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

pub(super) fn run(context: &Context, args: &ReplayArgs) -> Result<Exit, CliError> {
    let journal = Journal::of_target(context, &args.run)?;
    if let Some(kept) = crate::skills::Kept::of_given(&journal, &args.capabilities.capabilities)? {
        let replay = crate::skills::replay(&kept, &journal)?;
        return tell(context, args, &journal, replay);
    }
    let problem = journal.required_problem()?;
    let store_blobs = journal.store.as_ref().map(|store| StoreBlobs(store));
    let blobs: &dyn Blobs = match &store_blobs {
        Some(blobs) => blobs,
        None => &NoBlobs,
    };
    let engine = crate::bound::to_read(Engine::new(), &journal, &args.capabilities.capabilities)?;
    let replay = crate::guard::gated(engine)
        .replay(&journal.bytes, &problem.value, blobs, RecordedSteps::FromJournal)
        .map_err(|error| CliError::replay(&journal.name, error))?;
    tell(context, args, &journal, replay)
}

fn tell(context: &Context, args: &ReplayArgs, journal: &Journal, replay: Replay) -> Result<Exit, CliError> {
    let equal = replay.difference.is_none();
    context.print(&describe(&journal.name, replay))?;
    if !equal {
        context.hint(hint::verify(&args.run));
    }
    Ok(if equal { Exit::Yes } else { Exit::No })
}

fn describe(run: &str, replay: Replay) -> ReplayReport {
    ReplayReport {
        run: run.to_owned(),
        equal: replay.difference.is_none(),
        executed: replay.executed,
        read: replay.read,
        difference: replay.difference.map(|difference| DifferenceReport {
            line: difference.line,
            members: difference.members,
            recorded: difference.recorded.map(Data),
            replayed: difference.replayed.map(Data),
        }),
    }
}
