//! `hence task`: documents about a run of `hence solve` and its children.

use std::collections::BTreeMap;

use hence_canon::Value;
use hence_engine::RunKind;
use hence_journal::{Reader, Record};
use hence_solve::{
    Entry, Task, check_cost_report, check_task_tree, check_trajectory, cost_report, task_tree, trajectory,
};

use crate::args::solve::{TaskArgs, TaskDocument};
use crate::kind::{self, Purpose, StoredSolveRun};
use crate::prelude::*;
use crate::target::Journal;

/// The levels of children that are read.
const DEPTH_MAX: u64 = 16;

pub(super) fn run(context: &Context, args: &TaskArgs) -> Result<Exit, CliError> {
    let task = read(context, &args.run, 0)?;
    let (document, checked) = match args.document {
        TaskDocument::Tree => checked(task_tree(&task), check_task_tree),
        TaskDocument::Trajectory => checked(trajectory(&task), check_trajectory),
        TaskDocument::Cost => checked(cost_report(&task), check_cost_report),
    };
    if let Err(wrong) = checked {
        let message = format!("run {}: its document {} does not hold", &*args.run, args.document.as_str());
        return Err(CliError::new(Code::Diverged, message).with_findings(wrong));
    }
    if let Some(path) = args.output.write(context, &document)? {
        context.say(format_args!("{} written to {}", args.document.as_str(), path.display()));
    }
    Ok(Exit::Yes)
}

/// A document, and every rule of its format that it breaks.
type Checked = (Value, Result<(), Vec<String>>);

fn checked(document: Value, check: fn(&Value) -> Result<(), Vec<String>>) -> Checked {
    let wrong = check(&document);
    (document, wrong)
}

/// Reads a run and its children.
fn read(context: &Context, name: &str, depth: u64) -> Result<Task, CliError> {
    let journal = Journal::of_run(context, name)?;
    if journal.kind != RunKind::Solve || depth > DEPTH_MAX {
        let message = format!("run {} is not a run of `hence solve`", journal.name);
        return Err(CliError::new(Code::NoSuchPlace, message));
    }
    let opened = StoredSolveRun::open(&journal, Purpose::Read)?;
    let progress = opened.read_back(&journal)?.program().progress().clone();
    let mut times = BTreeMap::new();
    if let Ok((_, reader)) = Reader::open(kind::whole_records(&journal.bytes)) {
        for chained in reader.map_while(Result::ok) {
            if let Record::Step(step) = &chained.record {
                times.insert(chained.index, step.result.finished_at().as_str().into());
            }
        }
    }
    let mut children = Vec::new();
    for (_, entry) in progress.path() {
        if let Entry::Call(call) = &**entry
            && let Some(child) = &call.child
        {
            children.push(read(context, &child.run, depth + 1)?);
        }
    }
    Ok(Task { run: journal.name.as_str().into(), progress, times, children })
}
