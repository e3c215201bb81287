//! `hence policy new`: write a first version of a policy, with examples that show the meaning of its formula.

use hence_canon::{Object, Value};
use hence_policy::formula::Formula;
use hence_policy::policy::{Policy, PolicyId};
use hence_policy::search::{Found, NotSearchable, joint_satisfaction, shortest_violation};
use hence_policy::{Options, check};

use super::check::FindingReport;
use crate::args::PolicyNewArgs;
use crate::prelude::*;

/// A new policy.
#[derive(Serialize, JsonSchema)]
pub(crate) struct NewReport {
    /// Its id.
    policy_id: String,
    /// The policy in TOML, as in a file of policies.
    toml: String,
    /// The number of examples found for it.
    examples: usize,
    /// The findings about it.
    findings: Vec<FindingReport>,
}

impl Text for NewReport {
    fn text(&self) -> String {
        self.toml.clone()
    }
}

/// Returns an example in TOML: the trace, if one was found and the policy gives it the expected verdict.
fn example(policy: &Policy, expect: &str, found: &Result<Found, NotSearchable>) -> Result<String, String> {
    let trace = match found {
        Ok(Found::Trace(trace)) => trace,
        Ok(Found::Nothing) => return Err("there is none, of any length".to_owned()),
        Ok(Found::NothingWithin { length, .. }) => {
            return Err(format!("there is none of up to {length} actions"));
        }
        Err(reason) => return Err(reason.to_string()),
    };
    let report = check(trace, [policy], Options::default());
    let status = report.verdicts.first().map(|verdict| verdict.status.as_str());
    if status != Some(expect) {
        return Err(format!("the shortest trace is {}", status.unwrap_or("not judged")));
    }
    let members = trace.as_object().map(|trace| trace.without("trace_id")).unwrap_or_default();
    let written = write_members(&members).ok_or("the trace found cannot be written in TOML")?;
    let verb = if expect == "passed" { "passes" } else { "fails" };
    let about = format!("about = \"a shortest trace that {verb}\"");
    Ok(format!("[[policy.example]]\n{about}\nexpect = \"{expect}\"\n{written}"))
}

/// Writes the members of a trace, each item of a list on a line.
fn write_members(members: &Object) -> Option<String> {
    let mut written = String::new();
    let is_empty = |value: &Value| value.as_array().is_some_and(<[Value]>::is_empty);
    for (key, value) in members.iter().filter(|(_, value)| !is_empty(value)) {
        let value = match value {
            Value::Array(items) => {
                let lines: Option<Vec<String>> =
                    items.iter().map(|item| Some(format!("  {},\n", inline(item)?))).collect();
                format!("[\n{}]", lines?.concat())
            }
            other => inline(other)?,
        };
        written.push_str(&format!("{} = {value}\n", name(key)));
    }
    Some(written)
}

pub(super) fn run(context: &Context, args: &PolicyNewArgs) -> Result<Exit, CliError> {
    let refused = |error| CliError::at(Code::Policies, "--formula", error);
    let formula = Formula::parse(&args.formula).map_err(refused)?;
    let id = PolicyId::new(&args.id);
    let id = id.ok_or_else(|| CliError::new(Code::Policies, "the id of a policy must not be empty"))?;
    let policy = Policy::from_formula(&id, &args.formula);

    let mut toml =
        format!("[[policy]]\nid = {}\nseverity = \"{}\"\n", text(id.as_str()), args.severity.as_str());
    if let Some(statement) = &args.statement {
        toml.push_str(&format!("statement = {}\n", text(statement)));
    }
    toml.push_str(&format!("formula = {}\n", text(&formula.expr().to_string())));
    let searches = [("passed", joint_satisfaction(&[&formula])), ("failed", shortest_violation(&formula))];
    let mut examples = 0;
    for (expect, found) in &searches {
        match example(&policy, expect, found) {
            Ok(written) => {
                examples += 1;
                toml.push_str(&format!("\n{written}"));
            }
            Err(reason) => {
                context.say(format!("note: no example that is {expect}: {reason}"));
            }
        }
    }
    let findings: Vec<FindingReport> =
        policy.lint().iter().map(|finding| FindingReport::of(id.as_str(), finding)).collect();
    for FindingReport { weight, text, .. } in &findings {
        context.say(format!("{weight}: {text}"));
    }
    let is_evaluable = findings.iter().all(|finding| finding.weight != "error");
    context.print(&NewReport { policy_id: id.to_string(), toml, examples, findings })?;
    Ok(if is_evaluable { Exit::Yes } else { Exit::No })
}

/// Writes a quoted TOML text. TOML has the escapes of JSON, and also forbids control characters.
fn text(text: &str) -> String {
    escape_json(&Value::from(text).to_string())
}

/// Writes a value on one line; `None` if it contains null, which TOML does not have.
fn inline(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Array(items) => {
            let items: Option<Vec<String>> = items.iter().map(inline).collect();
            Some(format!("[{}]", items?.join(", ")))
        }
        Value::Object(object) => {
            let members: Option<Vec<String>> = object
                .iter()
                .map(|(key, value)| Some(format!("{} = {}", name(key), inline(value)?)))
                .collect();
            Some(format!("{{ {} }}", members?.join(", ")))
        }
        Value::String(content) => Some(text(content)),
        scalar => Some(scalar.to_string()),
    }
}

/// Writes a key, quoted only if necessary.
fn name(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(is_bare) { key.to_owned() } else { text(key) }
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;
    use hence_policy::policy::parse_toml;

    use super::{inline, name};

    #[test]
    fn a_written_value_reads_back_unchanged() {
        let json = r#"{"a b":["x\n\"\\\u0001\u007f\u202e",1,2.5,true,[]],"plain":{"":{}}}"#;
        let value = parse(json.as_bytes()).unwrap();
        let toml = format!("{} = {}\n", name("value"), inline(&value).unwrap());
        assert_eq!(parse_toml(&toml).unwrap().get("value"), Some(&value), "{toml}");
    }

    #[test]
    fn null_cannot_be_written_in_toml() {
        assert_eq!(inline(&parse(b"[null]").unwrap()), None);
    }
}
