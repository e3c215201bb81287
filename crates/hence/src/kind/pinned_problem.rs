//! A problem with everything it pins: policies, limits, capabilities, a model.

use std::sync::Arc;

use hence_canon::{Canonical, Digest, Lenient, Object, Value};
use hence_capabilities::Library;
use hence_cognition::budget::Limits;
use hence_skills::LIMITS_KEY;
use hence_store::AttachmentName;

use super::model::{self, NamedModel};
use crate::args::RunArgs;
use crate::bound::{self, BoundCallees};
use crate::prelude::*;
use crate::target::problem_name;
use crate::{skills, usage};

/// A problem with everything it pins, and the documents that are stored next to its journal.
pub(super) struct Prepared {
    pub(super) document: Lenient,
    pub(super) callees: Option<Arc<BoundCallees>>,
    pub(super) attachments: Vec<(AttachmentName, Vec<u8>)>,
}

/// Pins the policies and capabilities that the command line names into the settings of a problem.
pub(super) fn prepare(
    args: &RunArgs,
    name: &str,
    document: Lenient,
    bytes: Vec<u8>,
    policies: Option<&Value>,
) -> Result<Prepared, CliError> {
    let is_strict = args.profile.is_strict();
    if !args.limits.limits().is_empty() && !is_strict {
        return Err(CliError::new(Code::Argument, "limits apply in the strict profile only"));
    }
    if policies.is_some() && !is_strict {
        return Err(CliError::new(Code::Argument, "policies apply in the strict profile only"));
    }
    let (mut document, mut bytes) = (document, bytes);
    if is_strict {
        let pinned = pin_policies(name, &document.value, policies)?;
        let pinned = pin_limits(name, &pinned, &args.limits.limits())?;
        if pinned != document.value {
            bytes = hence_canon::pretty(&pinned).into_bytes();
            document.value = pinned;
        }
    }
    let named = model::named(args, name, &document.value)?;
    if let Some(named) = &named {
        document.value = named.pin(&document.value);
    }
    let files = &args.skill.capabilities.capabilities;
    if !bound::binds(&document.value) {
        if !files.is_empty() {
            let message = format!("{name} binds no step to a capability, so it can call none");
            let advice = hint::BIND_OR_LEAVE_CAPABILITIES_OUT;
            return Err(CliError::new(Code::Argument, message).with_hint(advice));
        }
        // Methods of tasks may compute built-in functions.
        let callees = is_strict.then(|| Arc::new(BoundCallees::new(Library::built_in())));
        return Ok(Prepared { document, callees, attachments: vec![(problem_name(), bytes)] });
    }
    if !is_strict {
        let message = format!("{name} binds steps to capabilities, which the compat profile does not know");
        return Err(CliError::new(Code::Argument, message).with_hint(hint::STRICT_PROFILE));
    }
    let mut attachments = Vec::new();
    let library = if files.is_empty() && named.is_none() {
        Library::built_in()
    } else {
        let declared = skills::read_capabilities_with(files, named.iter().map(NamedModel::source).collect())?;
        document.value = pin_capabilities(name, &document.value, declared.canonical().digest())?;
        bytes = Canonical::of(&document.value).bytes().to_vec();
        attachments.push((skills::capabilities_name(), skills::capabilities_attachment(&declared)));
        Library::with(declared)
    };
    attachments.insert(0, (problem_name(), bytes));
    Ok(Prepared { document, callees: Some(Arc::new(BoundCallees::new(library))), attachments })
}

/// Returns the problem with the given policies pinned. A problem that already pins policies must pin these.
fn pin_policies(name: &str, problem: &Value, policies: Option<&Value>) -> Result<Value, CliError> {
    let pin = problem.get("settings").and_then(|settings| settings.get("policies"));
    let pinned = pin.and_then(|pin| pin.get("sha256")?.as_str()?.parse::<Digest>().ok());
    let given = policies.map(|policies| Canonical::of(policies).digest());
    match (pinned, given) {
        (None, None) => Ok(problem.clone()),
        (Some(pinned), Some(given)) if pinned == given => Ok(problem.clone()),
        (Some(pinned), given) => {
            let found = given.map_or("none".to_owned(), |given| given.short().to_string());
            let message = format!("{name}: the problem pins policies {}, given are {found}", pinned.short());
            Err(CliError::new(Code::Gate, message).with_hint(hint::NAME_PINNED_POLICIES))
        }
        (None, Some(given)) => Ok(with_pin(problem, "policies", given)),
    }
}

/// Returns the problem with the given capabilities pinned. A problem that already pins capabilities must pin these.
fn pin_capabilities(name: &str, problem: &Value, given: Digest) -> Result<Value, CliError> {
    let pin = problem.get("settings").and_then(|settings| settings.get("capabilities"));
    match bound::pinned_capabilities(problem) {
        Some(pinned) if pinned == given => Ok(problem.clone()),
        Some(pinned) => {
            let message =
                format!("{name} pins capabilities {}, the files given say {}", pinned.short(), given.short());
            Err(CliError::new(Code::OtherCapabilities, message))
        }
        // Decoding the problem reports a malformed pin.
        None if pin.is_some_and(|pin| !pin.is_null()) => Ok(problem.clone()),
        None => Ok(with_pin(problem, "capabilities", given)),
    }
}

/// Returns the problem with limits next to those that it states itself.
fn pin_limits(name: &str, problem: &Value, given: &Limits) -> Result<Value, CliError> {
    let own = usage::limits_of(problem)
        .map_err(|message| CliError::new(Code::Refused, format!("{name} is refused: {message}")))?;
    if given.is_empty() {
        return Ok(problem.clone());
    }
    let Some(object) = problem.as_object() else { return Ok(problem.clone()) };
    let settings = object.get("settings").and_then(Value::as_object).cloned().unwrap_or_default();
    Ok(object.with("settings", settings.with(LIMITS_KEY, own.and(given).value())).into())
}

fn with_pin(problem: &Value, member: &str, digest: Digest) -> Value {
    let Some(object) = problem.as_object() else { return problem.clone() };
    let settings = object.get("settings").and_then(Value::as_object).cloned().unwrap_or_default();
    let pin = Object::from_iter([("sha256", Value::from(digest))]);
    object.with("settings", settings.with(member, pin)).into()
}
