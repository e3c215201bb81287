//! Hashing a state of 1 MB after a change, against hashing its bytes.

use std::sync::Arc;

use hence_canon::{Canonical, Digest, Value};
use hence_state::{
    Outcome, ProblemSpec, Profile, ReasoningState, State, StepResult, TICK_SECONDS, Timestamp,
};

use crate::Error;
use crate::measure::compare;
use crate::sample::object;
use crate::table::{Budget, Row, Table};

/// As many artifacts of this size make a state of 1 MB.
const ARTIFACTS: u64 = 128;
const ARTIFACT_BYTES: usize = 8 * 1024;

pub(crate) fn run(table: &mut Table) -> Result<(), Error> {
    let mut state = large_state()?;
    state.digest();
    let bytes = state.canonical().bytes().to_vec();
    let mut measure = |path: &str, key: &str, limit: f64| -> Result<(), Error> {
        let result = result(ARTIFACTS)?;
        let compared = compare(
            || state.clone(),
            |state| state.apply(key, &result).map(|mut state| state.digest()).map_err(|(_, error)| error),
            || Digest::of(&bytes),
        );
        table.push(Row {
            path: path.to_owned(),
            figure: Some(compared.ratio),
            unit: "×",
            budget: Some(Budget::AtMost(limit)),
            detail: format!(
                "{:.0?} to apply and hash, {:.0?} for {} bytes raw",
                compared.subject,
                compared.baseline,
                bytes.len()
            ),
        });
        Ok(())
    };
    measure("state hash, 1 MB state, change in last artifact / raw SHA-256 of the state", "z", 0.2)?;
    measure("state hash, 1 MB state, change in first artifact / raw SHA-256 of the state", "a", 1.25)
}

fn large_state() -> Result<ReasoningState, Error> {
    let problem = object([
        ("version", "1.0.0".into()),
        ("id", "bench".into()),
        ("created_at", "2026-01-01T00:00:00Z".into()),
        ("inputs", object([("prompt", "How large may a state be?".into())])),
    ]);
    let problem = Arc::new(ProblemSpec::decode(&problem, &Profile::STRICT)?);
    let created = problem.created_at().clone();
    let mut state = ReasoningState::Pending(State::new(problem, "bench", created, Profile::STRICT));
    for number in 0..ARTIFACTS {
        let key = format!("m{number:03}");
        state = state.apply(&key, &result(number)?).map_err(|(_, error)| format!("{error:?}"))?;
    }
    Ok(state)
}

/// Makes the result of the step that comes after `number` others.
fn result(number: u64) -> Result<StepResult, Error> {
    let start = Timestamp::parse("2026-01-01T00:00:00Z")?;
    let at = |mutation: u64| start.plus_seconds(mutation * TICK_SECONDS).ok_or("the calendar ends");
    let output = object([("text", "state ".repeat(ARTIFACT_BYTES / 6).into())]);
    let outcome = Outcome::Success(Canonical::of(&output));
    Ok(StepResult::new("bench", &Value::Null, at(number)?, at(number + 1)?, outcome))
}
