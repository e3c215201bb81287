//! The policies a person names for a run.

use std::path::Path;

use hence_canon::{Canonical, Digest, Object, Value};
use hence_policy::policy::BUILT_IN;
use hence_projection::policies_document;

use crate::code::Code;
use crate::commands::policies_named;
use crate::error::CliError;
use crate::hint;

/// Reads the policies of files and packs; nothing when nothing is named.
pub(crate) fn given(names: &[String]) -> Result<Option<Value>, CliError> {
    if names.is_empty() {
        return Ok(None);
    }
    let set = policies_named(names)?;
    // What could never block anything is refused before anything runs.
    let mut wrong = Vec::new();
    for policy in set.policies() {
        let errors = policy.lint().into_iter().filter(|finding| finding.is_error());
        wrong
            .extend(errors.map(|finding| format!("{}: policy {}: {finding}", names.join(", "), policy.id())));
    }
    let refused = |message: String| CliError::new(Code::Policies, message).with_hint(hint::LINT_POLICIES);
    match wrong.as_slice() {
        [] => Ok(Some(policies_document(set.policies()))),
        [one] => Err(refused(one.clone())),
        several => {
            let message = format!("{} cannot be enforced: {} findings", names.join(", "), several.len());
            Err(refused(message).with_findings(wrong))
        }
    }
}

/// Reads the policies a skill names itself, from its own folder, and those the command line adds.
pub(crate) fn given_for_skill(
    skill: &str,
    own: &[std::sync::Arc<str>],
    names: &[String],
) -> Result<Option<Value>, CliError> {
    let folder = Path::new(skill).parent().filter(|_| skill != "-").unwrap_or(Path::new(""));
    let place = |name: &str| match BUILT_IN.iter().any(|(pack, _)| *pack == name) {
        true => name.to_owned(),
        false => folder.join(name).to_string_lossy().into_owned(),
    };
    let mut all: Vec<String> = own.iter().map(|name| place(name)).collect();
    all.extend(names.iter().filter(|name| !all.contains(name)).cloned().collect::<Vec<_>>());
    given(&all)
}

/// Returns a problem that pins policies; one that pins some already must pin these.
pub(crate) fn pin(name: &str, problem: &Value, policies: Option<&Value>) -> Result<Value, CliError> {
    let settings = problem.get("settings").and_then(Value::as_object).cloned().unwrap_or_default();
    let pinned = settings.get("policies").and_then(|pin| pin.get("sha256")?.as_str()?.parse::<Digest>().ok());
    let given = policies.map(|policies| Canonical::of(policies).digest());
    match (pinned, given) {
        (None, None) => Ok(problem.clone()),
        (Some(pinned), Some(given)) if pinned == given => Ok(problem.clone()),
        (Some(pinned), given) => {
            let found = given.map_or("none".to_owned(), |given| given.short().to_string());
            let message = format!("{name}: the problem pins policies {}, given are {found}", pinned.short());
            Err(CliError::new(Code::Gate, message).with_hint(hint::NAME_PINNED_POLICIES))
        }
        (None, Some(given)) => {
            let Some(object) = problem.as_object() else { return Ok(problem.clone()) };
            let pin = Object::from_iter([("sha256", Value::from(given))]);
            Ok(object.with("settings", settings.with("policies", pin)).into())
        }
    }
}
