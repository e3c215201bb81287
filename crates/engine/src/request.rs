//! The request of a caller: a problem and how to run it.

use hence_canon::{Defect, JsonPointer, Lenient, Object, Value};
use hence_state::{Finding, Profile, Stage, Timestamp, Typing, Version, finding};

/// The version this engine writes into headers unless the request names another.
pub const ENGINE_VERSION: &str = "0.1.0";

/// A problem to run. Absent options have the values that the problem declares.
#[derive(Clone, Debug)]
pub struct Request {
    /// The problem's document.
    pub problem: Lenient,
    /// The run's id; the problem's id when absent.
    pub trace_id: Option<String>,
    /// The engine version to record; [`ENGINE_VERSION`] when absent.
    pub engine_version: Option<String>,
    /// The time at which the run is created; the problem's `created_at` when absent.
    pub now: Option<String>,
    /// The rules the run follows.
    pub profile: Profile,
    /// The times of all mutations, the creation included; a ticking clock when absent. Strict profile only.
    pub times: Option<Vec<Timestamp>>,
}

impl Request {
    /// Makes a request for a problem without any option.
    pub fn new(problem: Lenient, profile: Profile) -> Self {
        Self { problem, trace_id: None, engine_version: None, now: None, profile, times: None }
    }

    /// Makes a request for a problem that was read strictly.
    pub fn of_value(problem: Value, profile: Profile) -> Self {
        Self::new(Lenient { value: problem, defects: Vec::new() }, profile)
    }

    /// Reads a request document: `{problem_spec, trace_id?, engine_version?, now?}`.
    ///
    /// # Errors
    /// Findings for arguments that are not texts.
    pub fn decode(document: &Lenient, profile: Profile) -> Result<Self, Vec<Finding>> {
        let empty = Object::new();
        let members = document.value.as_object().unwrap_or(&empty);
        let problem = members.get("problem_spec").cloned().unwrap_or_default();
        let mut findings = Vec::new();
        let mut text = |key: &str| match members.get(key) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.to_string()),
            Some(other) => {
                let message = format!("expected a string, found {}", other.kind());
                findings.push(args_finding(key, message));
                None
            }
        };
        let (trace_id, engine_version, now) = (text("trace_id"), text("engine_version"), text("now"));
        let request = Self {
            problem: Lenient { value: problem, defects: defects_inside(&document.defects, "problem_spec") },
            trace_id,
            engine_version,
            now,
            profile,
            times: None,
        };
        if findings.is_empty() { Ok(request) } else { Err(findings) }
    }

    /// Returns the engine version to record; an empty one counts as absent.
    pub(crate) fn checked_engine_version(&self) -> Result<String, Finding> {
        let version =
            self.engine_version.as_deref().filter(|version| !version.is_empty()).unwrap_or(ENGINE_VERSION);
        if Version::is_valid(version, self.profile.typing) {
            Ok(version.to_owned())
        } else {
            let message = format!("expected a semantic version such as {ENGINE_VERSION}, found {version:?}");
            Err(args_finding("engine_version", message))
        }
    }

    /// Returns the time of creation if one was given; an empty one counts as absent.
    pub(crate) fn checked_now(&self) -> Result<Option<Timestamp>, Finding> {
        let Some(now) = self.now.as_deref().filter(|now| !now.is_empty()) else { return Ok(None) };
        let error = match Timestamp::parse_as(now, self.profile.typing) {
            Ok(now) => return Ok(Some(now)),
            Err(error) => error,
        };
        let mut finding = args_finding("now", error.to_string());
        // The lax reader accepts one line feed here and refuses it when the first result is made.
        let trimmed = now.strip_suffix('\n').filter(|_| self.profile.typing == Typing::Lax);
        if trimmed.is_some_and(|now| Timestamp::is_valid(now, Typing::Lax)) {
            finding.rule.stage = Stage::StepResult;
        }
        Err(finding)
    }
}

pub(crate) fn args_finding(argument: &str, message: impl Into<String>) -> Finding {
    finding(Stage::Args, JsonPointer::root().child(argument), message)
}

/// Returns the defects inside a member, with paths relative to the member.
fn defects_inside(defects: &[Defect], key: &str) -> Vec<Defect> {
    let relative = |defect: &Defect| {
        let mut tokens = defect.pointer.tokens();
        let inside = tokens.next() == Some(key);
        inside.then(|| Defect { kind: defect.kind, pointer: tokens.collect::<JsonPointer>() })
    };
    defects.iter().filter_map(relative).collect()
}
