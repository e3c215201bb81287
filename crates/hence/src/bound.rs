//! Problems whose settings bind steps to capabilities: the engine that runs them, and the one that reads their record.

use std::sync::Arc;

use hence_canon::{Canonical, Digest, Float, Lenient, Object, Value};
use hence_capabilities::registry::Recovery;
use hence_capabilities::{Declarations, Library};
use hence_cognition::capability::{Registry as _, Safety, breach};
use hence_cognition::run::{Call, CallPlace, CallPurpose};
use hence_engine::{BoundCall, BoundReply, Callees, Determinism, Engine};
use hence_skills::Host as _;
use hence_state::{Profile, ProfileName};
use hence_store::AttachmentName;

use crate::code::Code;
use crate::error::CliError;
use crate::skills;
use crate::target::Journal;

/// The name under which the built-in skill calls.
const REASON: &str = "reason";

/// A problem ready to run: what it says, and what its bound steps may call.
pub(crate) struct Ready {
    pub(crate) document: Lenient,
    pub(crate) engine: Engine,
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
            let advice =
                "name the capability of a step under `settings.bindings`, or leave --capabilities out";
            return Err(CliError::new(Code::Refused, message).advise(advice));
        }
        return Ok(Ready { document, engine, attachments: problem(bytes) });
    }
    if profile.name != ProfileName::Strict {
        let message = format!("{name} binds steps to capabilities, which the compat profile does not know");
        return Err(CliError::new(Code::Refused, message).advise("run it in the strict profile"));
    }
    if files.is_empty() {
        let engine = equipped(engine, Library::built_in());
        return Ok(Ready { document, engine, attachments: problem(bytes) });
    }
    let declared = skills::read_capabilities(files)?;
    let value = pinning(name, &document.value, declared.canonical().digest())?;
    let mut attachments = problem(Canonical::of(&value).bytes().to_vec());
    attachments.push((skills::capabilities_name(), skills::kept_capabilities(&declared)));
    let document = Lenient { value, ..document };
    Ok(Ready { document, engine: equipped(engine, Library::with(declared)), attachments })
}

/// Equips the engine that goes on with a run.
pub(crate) fn to_resume(engine: Engine, journal: &Journal, files: &[String]) -> Result<Engine, CliError> {
    let Some(problem) = bound_problem(journal) else { return without(engine, journal, files) };
    skills::library_pinned(journal, files, pinned(&problem)).map(|library| equipped(engine, library))
}

/// Equips the engine that reads a run's record. What it cannot call, it reads.
pub(crate) fn to_read(engine: Engine, journal: &Journal, files: &[String]) -> Result<Engine, CliError> {
    let Some(problem) = bound_problem(journal) else { return without(engine, journal, files) };
    match skills::library_pinned(journal, files, pinned(&problem)) {
        Ok(library) => Ok(equipped(engine, library)),
        // A journal carried elsewhere without its declarations can still be read.
        Err(_) if files.is_empty() => Ok(equipped(engine, Library::built_in())),
        Err(error) => Err(error),
    }
}

fn without(engine: Engine, journal: &Journal, files: &[String]) -> Result<Engine, CliError> {
    if files.is_empty() {
        return Ok(engine);
    }
    let message = format!("run {} was made without declared capabilities", journal.name);
    Err(CliError::new(Code::OtherCapabilities, message).advise("leave --capabilities out"))
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

fn equipped(engine: Engine, library: Library) -> Engine {
    engine.with_callees(Arc::new(Means(library)))
}

/// What bound steps call: the capabilities a skill could call too.
struct Means(Library);

impl Callees for Means {
    fn find(&self, capability: &str) -> Result<Determinism, String> {
        let Some(spec) = self.0.capability(capability) else {
            let declared = names(self.0.declarations());
            return Err(format!("there is no capability `{capability}`; {declared}"));
        };
        if spec.safety != Safety::default() {
            return Err(format!(
                "`{capability}` has rules of trust, confirmation or gates, which only a skill can keep"
            ));
        }
        if self.0.recovery(capability) != Recovery::Retry {
            return Err(format!(
                "a call of `{capability}` may be made twice when a run is taken up after a crash; if that does no \
                 harm, declare `effects: reads` or `recovery: retry`"
            ));
        }
        if let Some(missing) = self.0.missing_secrets(capability).first() {
            return Err(format!("`{capability}` cannot be called: {missing}"));
        }
        Ok(self.0.determinism(capability))
    }

    fn call(&self, call: &BoundCall<'_>) -> Result<BoundReply, String> {
        let spec = self.0.capability(call.capability).ok_or("there is none of that id")?;
        let given = call.input.as_object().cloned().unwrap_or_default();
        if let Some(breach) = breach(&spec.inputs, &given) {
            return Err(format!("its input does not keep the contract: {breach}"));
        }
        let seconds = Float::new(call.timeout.as_secs_f64()).map_err(|error| error.to_string())?;
        let reply = self.0.worker().call(&Call {
            capability: call.capability,
            input: call.input,
            purpose: CallPurpose::Step,
            skill_id: &REASON.into(),
            step_id: call.step,
            place: &CallPlace { iteration: call.step_index, ..CallPlace::default() },
            attempt: 1,
            timeout_seconds: seconds,
        });
        let reply = reply.map_err(|error| error.to_string())?;
        let Value::Object(output) = &reply.output else {
            return Err(format!("it gives an object, found {}", reply.output.kind()));
        };
        if let Some(breach) = breach(&spec.outputs, output) {
            return Err(format!("its output does not keep the contract: {breach}"));
        }
        // Time as the wall saw it belongs to no record; what the call is to a reviewer is no measure.
        let metrics = reply.meta.without("latency_ms").without("action");
        Ok(BoundReply { output: reply.output, metrics })
    }
}

fn names(declared: &Declarations) -> String {
    let names: Vec<&str> = declared.iter().map(|(id, _)| &**id).collect();
    match names.as_slice() {
        [] => "none is declared, see --capabilities".to_owned(),
        names => format!("declared are {}", names.join(", ")),
    }
}
