//! Problems whose settings bind steps to capabilities: the engine that runs them, and the one that reads their record.

mod calling;
mod means;

use std::sync::Arc;

use hence_canon::{Canonical, Digest, Lenient, Object, Value};
use hence_capabilities::Library;
use hence_engine::Engine;
use hence_state::{Profile, ProfileName};
use hence_store::AttachmentName;

use crate::code::Code;
use crate::error::CliError;
use crate::hint;
use crate::skills;
use crate::target::Journal;

pub(crate) use calling::{Calling, answering_library};
pub(crate) use means::BoundCallees;

/// A problem ready to run: what it says, and what its bound steps may call.
pub(crate) struct Ready {
    pub(crate) document: Lenient,
    pub(crate) engine: Engine,
    /// What its bound steps call, if it has any.
    pub(crate) means: Option<Arc<BoundCallees>>,
    /// What is kept beside the run.
    pub(crate) attachments: Vec<(AttachmentName, Vec<u8>)>,
}

/// Makes a problem ready: the declarations its steps are bound to are read, and pinned in its settings.
pub(crate) fn ready(
    engine: Engine,
    name: &str,
    document: Lenient,
    bytes: Vec<u8>,
    files: &[String],
    profile: &Profile,
) -> Result<Ready, CliError> {
    let problem = |bytes| vec![(crate::target::problem_name(), bytes)];
    if !binds(&document.value) {
        if !files.is_empty() {
            let message = format!("{name} binds no step to a capability, so it can call none");
            let advice = hint::BIND_OR_LEAVE_CAPABILITIES_OUT;
            return Err(CliError::new(Code::Refused, message).with_hint(advice));
        }
        return Ok(Ready { document, engine, means: None, attachments: problem(bytes) });
    }
    if profile.name != ProfileName::Strict {
        let message = format!("{name} binds steps to capabilities, which the compat profile does not know");
        return Err(CliError::new(Code::Refused, message).with_hint(hint::STRICT_PROFILE));
    }
    if files.is_empty() {
        let (engine, means) = equipped(engine, Library::built_in());
        return Ok(Ready { document, engine, means: Some(means), attachments: problem(bytes) });
    }
    let declared = skills::read_capabilities(files)?;
    let value = pinning(name, &document.value, declared.canonical().digest())?;
    let mut attachments = problem(Canonical::of(&value).bytes().to_vec());
    attachments.push((skills::capabilities_name(), skills::kept_capabilities(&declared)));
    let document = Lenient { value, ..document };
    let (engine, means) = equipped(engine, Library::with(declared));
    Ok(Ready { document, engine, means: Some(means), attachments })
}

/// Equips the engine that goes on with a run.
pub(crate) fn to_resume(
    engine: Engine,
    journal: &Journal,
    files: &[String],
) -> Result<(Engine, Option<Arc<BoundCallees>>), CliError> {
    let Some(problem) = bound_problem(journal) else {
        return without(engine, journal, files).map(|engine| (engine, None));
    };
    let library = skills::library_pinned(journal, files, pinned(&problem))?;
    let (engine, means) = equipped(engine, library);
    Ok((engine, Some(means)))
}

/// Equips the engine that reads a run's record. What it cannot call, it reads.
pub(crate) fn to_read(engine: Engine, journal: &Journal, files: &[String]) -> Result<Engine, CliError> {
    let Some(problem) = bound_problem(journal) else { return without(engine, journal, files) };
    match skills::library_pinned(journal, files, pinned(&problem)) {
        Ok(library) => Ok(equipped(engine, library).0),
        // A journal carried elsewhere without its declarations can still be read.
        Err(_) if files.is_empty() => Ok(equipped(engine, Library::built_in()).0),
        Err(error) => Err(error),
    }
}

fn without(engine: Engine, journal: &Journal, files: &[String]) -> Result<Engine, CliError> {
    if files.is_empty() {
        return Ok(engine);
    }
    let message = format!("run {} was made without declared capabilities", journal.name);
    Err(CliError::new(Code::OtherCapabilities, message).with_hint(hint::LEAVE_CAPABILITIES_OUT))
}

fn bound_problem(journal: &Journal) -> Option<Value> {
    // What is not JSON is judged by those who need a problem.
    let problem = hence_canon::parse(journal.problem.as_deref()?).ok()?;
    binds(&problem).then_some(problem)
}

fn binds(problem: &Value) -> bool {
    let bindings = problem.get("settings").and_then(|settings| settings.get("bindings"));
    bindings.is_some_and(|bindings| !bindings.is_null())
}

fn pinned(problem: &Value) -> Option<Digest> {
    problem.get("settings")?.get("capabilities")?.get("sha256")?.as_str()?.parse().ok()
}

/// Returns the problem with its settings pinning the declarations.
fn pinning(name: &str, problem: &Value, digest: Digest) -> Result<Value, CliError> {
    let object = problem.as_object().cloned().unwrap_or_default();
    let settings = object.get("settings").and_then(Value::as_object).cloned().unwrap_or_default();
    let is_pinned = settings.get("capabilities").is_some_and(|pin| !pin.is_null());
    match pinned(problem) {
        Some(pinned) if pinned == digest => return Ok(problem.clone()),
        Some(pinned) => {
            let message = format!(
                "{name} pins capabilities {}, the files given say {}",
                pinned.short(),
                digest.short()
            );
            return Err(CliError::new(Code::OtherCapabilities, message));
        }
        // What is no pin is told by those who read the problem.
        None if is_pinned => return Ok(problem.clone()),
        None => {}
    }
    let pin = Object::from_iter([("sha256", Value::from(digest))]);
    Ok(object.with("settings", settings.with("capabilities", pin)).into())
}

/// Returns the engine with the means to carry out bound steps, and these.
fn equipped(engine: Engine, library: Library) -> (Engine, Arc<BoundCallees>) {
    let means = Arc::new(BoundCallees::new(library));
    (engine.with_callees(means.clone()), means)
}
