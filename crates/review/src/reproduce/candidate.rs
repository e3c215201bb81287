//! Actions that say how to reproduce them.

use crate::wire::Trace;

use super::class::{Judgement, judge};

/// An action with a command that should give its result again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The id of the action.
    pub action_id: i64,
    /// The label of the action.
    pub label: String,
    /// The command as written.
    pub command: String,
    /// Where to run it, relative to the project.
    pub working_directory: Option<String>,
    /// The recorded result to compare with.
    pub expected: Option<String>,
    /// Whether running it is safe.
    pub judgement: Judgement,
}

/// Finds the candidates of a trace in the order of its actions.
pub fn candidates(trace: &Trace) -> Vec<Candidate> {
    let found = trace.actions().iter().filter_map(|action| {
        let reproducibility = action.object("reproducibility")?;
        let procedure = reproducibility.get("procedure")?.as_object()?;
        let command = procedure.get("command")?.as_str()?;
        let text =
            |value: Option<&hence_canon::Value>| value.and_then(|value| value.as_str()).map(str::to_owned);
        Some(Candidate {
            action_id: action.id()?,
            label: action.label().to_owned(),
            command: command.to_owned(),
            working_directory: text(procedure.get("working_directory")),
            expected: text(
                reproducibility.get("expected_output").and_then(|output| output.get("result_summary")),
            ),
            judgement: judge(command),
        })
    });
    found.collect()
}
