//! The point at which a problem or a run of variables is forked, and the problem of the fork.

use std::sync::Arc;

use hence_canon::{Canonical, Digest, Lenient, Object, Value};
use hence_engine::without_defects;
use hence_journal::Reader;
use hence_skills::{Origin, RecordKind, effective_records};
use hence_state::StepResult;
use hence_store::RunId;

use super::whole_records;
use crate::args::skill::ForkArgs;
use crate::commands::find_record;
use crate::prelude::*;
use crate::target::Journal;

/// The results that a fork shares with its origin.
pub(super) struct ForkPoint {
    /// The first step that the fork executes itself.
    pub(super) from: String,
    pub(super) shared: Vec<StepResult>,
    /// The last shared record, and its hash.
    record: u64,
    hash: Digest,
}

impl ForkPoint {
    /// Finds the effective records before a step, which is named by its record or by its name.
    pub(super) fn find(journal: &Journal, from: &str) -> Result<Self, CliError> {
        let unread = |error| CliError::at(Code::BadRecord, &journal.name, error);
        let whole = whole_records(&journal.bytes);
        let at = find_record(journal, from)?;
        let effective = effective_records(whole).map_err(unread)?;
        let before: Vec<_> = effective.into_iter().take_while(|one| one.index < at).collect();
        let (record, hash) = match before.last() {
            Some(last) => (last.index.get(), last.hash),
            None => (0, Reader::open(whole).map_err(unread)?.0.hash),
        };
        let steps = before.into_iter().filter(|one| one.kind == RecordKind::Step);
        let shared = steps.map(|one| one.result).collect();
        Ok(Self { from: from.to_owned(), shared, record, hash })
    }
}

/// Describes what a fork shares with its origin, and where it continues.
pub(super) fn shared_text(id: &RunId, journal: &Journal, point: &ForkPoint) -> String {
    let shared = point.shared.len();
    let results = if shared == 1 { "result" } else { "results" };
    format!("run {id} shares {shared} {results} with {} and continues at {}", journal.name, point.from)
}

/// The problem of a fork.
pub(super) struct ForkedProblem {
    pub(super) id: RunId,
    pub(super) document: Lenient,
}

/// Makes the problem of a fork: its origin's with another id, the values in `set`, and a link to the origin.
pub(super) fn forked_problem(
    journal: &Journal,
    args: &ForkArgs,
    point: &ForkPoint,
    set: &[(Arc<str>, Value)],
) -> Result<ForkedProblem, CliError> {
    let mut problem = journal.required_problem()?.value.clone();
    for (place, value) in set {
        problem = with_value(&problem, place, value)?;
    }
    let link = Origin {
        run: journal.name.as_str().into(),
        record: point.record,
        hash: point.hash,
        from: args.from.as_str().into(),
        set: set.to_vec(),
    };
    let id = args.run_id.clone().unwrap_or_else(|| {
        let digest = Canonical::of(&link.value()).digest().to_string();
        format!("{}-fork-{}", journal.name, digest.chars().take(8).collect::<String>())
    });
    let object = problem.as_object().cloned().unwrap_or_default();
    let settings = object.get("settings").and_then(Value::as_object).cloned().unwrap_or_default();
    let object = object.with("id", id.as_str()).with("settings", settings.with("origin", link.value()));
    let id = RunId::new(&id)
        .map_err(|error| CliError::from_error(Code::Refused, error).with_hint(hint::OTHER_RUN_ID))?;
    Ok(ForkedProblem { id, document: without_defects(object.into()) })
}

/// Returns a problem with a value at a place of its inputs or settings.
fn with_value(problem: &Value, place: &str, value: &Value) -> Result<Value, CliError> {
    let tokens: Vec<&str> = place.split('.').collect();
    if !matches!(tokens.as_slice(), ["inputs" | "settings", _, ..]) {
        let message = format!("cannot set `{place}`: a fork sets inputs and settings of the problem");
        return Err(CliError::new(Code::Fork, message).with_hint(hint::PROBLEM_PLACE));
    }
    Ok(replaced(problem, &tokens, value))
}

fn replaced(value: &Value, tokens: &[&str], new: &Value) -> Value {
    let Some((first, rest)) = tokens.split_first() else { return new.clone() };
    let object = value.as_object().cloned().unwrap_or_else(Object::new);
    let inner = object.get(first).cloned().unwrap_or_default();
    object.with(*first, replaced(&inner, rest, new)).into()
}
