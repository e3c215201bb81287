//! The files a trace says it changed are those its actions changed.

use std::collections::BTreeSet;

use hence_review::vocabulary::{ActionType, ActivityType};

use super::Outcome;
use crate::eval::Subject;

pub(super) fn check(subject: &Subject) -> Outcome {
    let trace = subject.trace();
    let declared: BTreeSet<&str> = trace.files_modified().collect();
    let changing = trace.actions().iter().filter(|action| {
        matches!(
            action.action_type(),
            Some(ActionType::Activity(
                ActivityType::EditFile | ActivityType::CreateFile | ActivityType::DeleteFile
            ))
        )
    });
    let mut changed: BTreeSet<&str> = BTreeSet::new();
    let mut outcome = Outcome::default();
    for action in changing {
        changed.extend(action.file_refs());
        for path in action.file_refs().filter(|path| !declared.contains(path)) {
            outcome.faults.push(format!("`{path}` was changed, and `files_modified` does not list it"));
        }
    }
    for path in declared.difference(&changed) {
        outcome.faults.push(format!("`files_modified` lists `{path}`, which no action changed"));
    }
    outcome
}
