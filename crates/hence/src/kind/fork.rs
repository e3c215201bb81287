//! The point at which a problem or a run of variables is forked, and the problem of the fork.

use std::sync::Arc;

use hence_canon::{Canonical, Digest, Lenient, Object, Value};
use hence_cognition::budget::{Limits, Usage};
use hence_engine::without_defects;
use hence_journal::Reader;
use hence_skills::{EffectiveRecord, LIMITS_KEY, Origin, RecordKind, effective_records};
use hence_state::{StepResult, StepStatus};
use hence_store::RunId;

use super::whole_records;
use crate::commands::find_record;
use crate::prelude::*;
use crate::target::Journal;
use crate::usage;

/// The results that a fork shares with its origin.
pub(super) struct ForkPoint {
    /// The first step that the fork executes itself.
    pub(super) from: String,
    pub(super) shared: Vec<StepResult>,
    /// The results in effect from that step on.
    pub(super) after: Vec<StepResult>,
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
        let (before, after): (Vec<_>, Vec<_>) = effective.into_iter().partition(|one| one.index < at);
        let (record, hash) = match before.last() {
            Some(last) => (last.index.get(), last.hash),
            None => (0, Reader::open(whole).map_err(unread)?.0.hash),
        };
        let steps = |records: Vec<EffectiveRecord>| {
            let steps = records.into_iter().filter(|one| one.kind == RecordKind::Step);
            steps.map(|one| one.result).collect()
        };
        Ok(Self { from: from.to_owned(), shared: steps(before), after: steps(after), record, hash })
    }

    /// Returns the link of the new run to its origin. A retry uses the idempotency keys of `root`.
    pub(super) fn link(
        &self,
        journal: &Journal,
        from: &str,
        set: Vec<(Arc<str>, Value)>,
        root: Option<Arc<str>>,
    ) -> Origin {
        Origin {
            run: journal.name.as_str().into(),
            record: self.record,
            hash: self.hash,
            from: from.into(),
            set,
            idempotency_root: root,
            used: Usage::default(),
        }
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

/// Returns the record of the step that failed last, in effect.
pub(super) fn failed_record(journal: &Journal) -> Option<EffectiveRecord> {
    let effective = effective_records(whole_records(&journal.bytes)).ok()?;
    let is_failed = |one: &EffectiveRecord| {
        one.kind == RecordKind::Step && one.result.outcome().status() == StepStatus::Failed
    };
    effective.into_iter().next_back().filter(is_failed)
}

/// Makes the problem of a fork: its origin's with another id, the values that are set, the limits that are given, and a
/// link to the origin.
pub(super) fn forked_problem(
    journal: &Journal,
    link: &Origin,
    id: Option<&str>,
    given: &Limits,
) -> Result<ForkedProblem, CliError> {
    let mut problem = journal.required_problem()?.value.clone();
    for (place, value) in &link.set {
        problem = with_value(&problem, place, value)?;
    }
    let id = id.map(str::to_owned).unwrap_or_else(|| {
        let digest = Canonical::of(&link.value()).digest().to_string();
        let digest = match given.is_empty() {
            true => digest,
            false => {
                Canonical::of(&Value::from(vec![link.value(), given.value().into()])).digest().to_string()
            }
        };
        format!("{}-fork-{}", journal.name, digest.chars().take(8).collect::<String>())
    });
    let object = problem.as_object().cloned().unwrap_or_default();
    let settings = object.get("settings").and_then(Value::as_object).cloned().unwrap_or_default();
    let settings = match given.is_empty() {
        true => settings,
        false => {
            // Malformed limits were refused when the run was created.
            let own = usage::limits_of(&problem).unwrap_or_default();
            settings.with(LIMITS_KEY, own.replaced_by(given).value())
        }
    };
    let object = object.with("id", id.as_str()).with("settings", settings.with("origin", link.value()));
    let id = RunId::new(&id)
        .map_err(|error| CliError::from_error(Code::Argument, error).with_hint(hint::OTHER_RUN_ID))?;
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
