//! Secrets on the command line: removed from inputs before use, required before anything runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_capabilities::Library;
use hence_capabilities::secret::MissingSecret;
use hence_cognition::capability::Registry as _;
use hence_cognition::run::StepOutcome;
use hence_cognition::secret::{INPUT_PREFIX, refer_to_secret, secret_reference};
use hence_cognition::skill::{Flow, Need, Skill, Step, Uses};

use crate::code::Code;
use crate::error::CliError;

/// The prefix of the environment variables of secret inputs.
const VARIABLE_PREFIX: &str = "HENCE_SECRET_";

/// Returns the environment variable of a secret input.
fn variable(input: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("{VARIABLE_PREFIX}{}", input.chars().map(plain).collect::<String>())
}

fn from_environment(input: &str) -> Result<String, String> {
    let variable = variable(input);
    std::env::var(&variable).map_err(|_| format!("the environment variable {variable} is not set"))
}

/// Moves the values of secret inputs into the library and leaves references in their place. Known secrets are also
/// removed from all other inputs.
pub(crate) fn take(library: &mut Library, skill: &Skill, mut inputs: Object) -> Result<Object, CliError> {
    for name in &skill.secrets {
        let secret = format!("{INPUT_PREFIX}{name}");
        let value = match inputs.get(name) {
            // The value is already a reference to a secret of a capabilities file.
            Some(value) if secret_reference(value).is_some() => continue,
            Some(Value::String(text)) => Ok(text.to_string()),
            Some(other) => {
                let message = format!("the secret input `{name}` is a string, found {}", other.kind());
                return Err(CliError::new(Code::Refused, message));
            }
            None => from_environment(name),
        };
        let needed = skill.inputs.iter().any(|(known, field)| known == name && field.need == Need::Required);
        if value.is_err() && !needed {
            continue;
        }
        library.hold_secret(&secret, value);
        inputs = inputs.with(name.clone(), refer_to_secret(&secret));
    }
    Ok(library.redactor().object(&inputs))
}

/// Finds the values of the secret inputs of a stored run.
pub(crate) fn find_again(library: &mut Library, skill: &Skill, inputs: &Object) {
    for name in &skill.secrets {
        let secret = format!("{INPUT_PREFIX}{name}");
        if inputs.get(name).and_then(secret_reference).is_some_and(|held| **held == *secret) {
            library.hold_secret(&secret, from_environment(name));
        }
    }
}

/// Refuses to run when a step needs a missing secret: a missing secret can be supplied and must not fail a run.
pub(crate) fn require(
    library: &Library,
    skill: &Skill,
    inputs: &Object,
    done: &[StepOutcome],
) -> Result<(), CliError> {
    let (left, calls) = calls_left(library, skill, done);
    let mut missing: Vec<MissingSecret> = calls.iter().flat_map(|id| library.missing_secrets(id)).collect();
    if left > 0 {
        missing.extend(inputs.iter().filter_map(|(_, value)| library.missing_in(value)));
    }
    missing.sort_by(|left, right| left.name.cmp(&right.name));
    missing.dedup();
    if missing.is_empty() {
        return Ok(());
    }
    let count = missing.len();
    let things = if count == 1 { "secret is" } else { "secrets are" };
    Err(CliError::new(Code::SecretMissing, format!("{count} {things} missing")).with_findings(&missing))
}

/// Refuses to drive a run on a machine that lacks a program which a step may start: a call of it would fail the run, and another
/// machine may have the program.
pub(crate) fn require_programs(
    library: &Library,
    skill: &Skill,
    done: &[StepOutcome],
) -> Result<(), CliError> {
    let (_, calls) = calls_left(library, skill, done);
    missing_programs(library, calls.iter())
}

/// Refuses capabilities whose programs this machine lacks.
pub(crate) fn missing_programs<'a>(
    library: &Library,
    calls: impl Iterator<Item = &'a Arc<str>>,
) -> Result<(), CliError> {
    let missing: Vec<String> = calls.filter_map(|id| library.missing_program(id)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let things = if missing.len() == 1 { "program is" } else { "programs are" };
    let message = format!("{} {things} missing on this machine", missing.len());
    Err(CliError::new(Code::OtherCapabilities, message).with_findings(&missing))
}

/// Returns the number of steps that have no outcome, and the capabilities that they may call.
fn calls_left(library: &Library, skill: &Skill, done: &[StepOutcome]) -> (usize, BTreeSet<Arc<str>>) {
    let done: BTreeSet<&Arc<str>> = done.iter().map(|outcome| &outcome.step_id).collect();
    let left: Vec<&Step> = skill.steps.iter().filter(|step| !done.contains(&step.id)).collect();
    let (mut calls, mut skills) = (BTreeSet::new(), BTreeSet::new());
    left.iter().for_each(|step| add_calls(step, library, &mut calls, &mut skills));
    (left.len(), calls)
}

/// Adds the capabilities that a step may call, including gates and the steps of nested skills.
fn add_calls(
    step: &Step,
    library: &Library,
    calls: &mut BTreeSet<Arc<str>>,
    skills: &mut BTreeSet<Arc<str>>,
) {
    let mut uses = vec![&step.uses];
    if let Some(router) = &step.control.router {
        uses.extend(router.cases.iter().map(|(_, uses)| uses).chain(&router.default));
    }
    if let Flow::Scatter(scatter) = &step.control.flow {
        uses.extend(&scatter.branches);
    }
    for uses in uses {
        match uses {
            Uses::Capability(id) => {
                let spec = library.capability(id);
                let gates = spec.iter().flat_map(|spec| spec.safety.before.iter().chain(&spec.safety.after));
                calls.extend(gates.map(|gate| gate.capability.clone()));
                calls.insert(id.clone());
            }
            Uses::Skill(id) => {
                if skills.insert(id.clone())
                    && let Some(skill) = library.skill(id)
                {
                    skill.steps.iter().for_each(|step| add_calls(step, library, calls, skills));
                }
            }
        }
    }
}
