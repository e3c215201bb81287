//! Which actions, artifacts and units of an imported trace are those that were recorded.

use std::collections::{BTreeMap, BTreeSet};

use hence_canon::Value;
use hence_review::vocabulary::{ActionType, ArtifactType};

use super::rules::{Rules, Why, is_not_done, is_redacted};
use super::{at, items, same, texts};

/// The found actions and artifacts, by the ids of the recorded ones.
#[derive(Default)]
pub(super) struct Alignment {
    /// A line of several commands was recorded as one action.
    actions: BTreeMap<i64, Vec<i64>>,
    /// Artifacts that were rightly not made have no id.
    artifacts: BTreeMap<String, Option<String>>,
    /// The recorded artifacts of lines of several commands; ours are named by the command that made them.
    of_parts: BTreeSet<String>,
}

impl Alignment {
    /// Compares the actions.
    pub(super) fn of(expected: &Value, found: &Value, rules: &mut Rules) -> Result<Self, String> {
        let mut alignment = Self::default();
        let mut rest = items(found, "actions");
        let recorded = items(expected, "actions");
        for (index, action) in recorded.iter().enumerate() {
            let is_plan = at(action, "/type").as_str() == Some("RunCommand")
                && at(action, "/label").as_str() == Some("TodoWrite");
            if is_plan {
                rules.apply(Why::Plan);
                continue;
            }
            let count =
                rest.first().map(|first| at(first, "/request/parts")).and_then(|parts| parts.as_u64());
            let count = count.and_then(|count| usize::try_from(count).ok()).unwrap_or(1);
            let Some((group, after)) = rest.split_at_checked(count) else {
                return Err(format!(
                    "actions: expected {}, found {}",
                    recorded.len(),
                    items(found, "actions").len()
                ));
            };
            rest = after;
            alignment.group(action, group, rules).map_err(|error| format!("actions/{index}{error}"))?;
        }
        if rest.is_empty() {
            Ok(alignment)
        } else {
            Err(format!("actions: {} more than recorded", rest.len()))
        }
    }

    fn group(&mut self, expected: &Value, group: &[Value], rules: &mut Rules) -> Result<(), String> {
        let id = |action: &Value| at(action, "/id").as_i64().unwrap_or(-1);
        self.actions.insert(id(expected), group.iter().map(id).collect());
        let of_type = group.iter().find(|found| at(found, "/type") == at(expected, "/type"));
        let Some(main) = of_type.or(group.first()) else { return Err(": nothing found".to_owned()) };
        let several = group.len() > 1;
        if several {
            rules.apply(Why::Command);
            rules.text("/detail", expected, main)?;
        } else {
            rules.text("/label", expected, main)?;
        }
        for pointer in ["/agent", "/timestamp"] {
            if !at(expected, pointer).is_null() {
                same(pointer, expected, main)?;
            }
        }
        action_type(expected, main, rules)?;
        if !several {
            reproduced(expected, main, rules)?;
            result(expected, main, rules)?;
        }
        rules.reason(expected, main)?;
        self.exchange(expected, group, main, rules)
    }

    /// Compares what an action consumed and produced, by the artifacts that have been told apart so far.
    fn exchange(
        &mut self,
        expected: &Value,
        group: &[Value],
        main: &Value,
        rules: &mut Rules,
    ) -> Result<(), String> {
        let of_group =
            |pointer: &str| -> Vec<String> { group.iter().flat_map(|found| texts(found, pointer)).collect() };
        let made = of_group("/outputs");
        let is_command = !at(expected, "/detail").is_null();
        let recorded = texts(expected, "/outputs");
        for (index, output) in recorded.iter().enumerate() {
            // A command of another type made something else.
            let is_same_type = at(expected, "/type") == at(main, "/type");
            let ours = texts(main, "/outputs").get(index).cloned().filter(|_| is_same_type || !is_command);
            if ours.is_none() {
                match (is_not_done(main), is_command) {
                    (true, _) => rules.apply(Why::NotDone),
                    (false, true) => rules.apply(Why::Command),
                    (false, false) => return Err(format!("/outputs: {output} is missing")),
                }
            }
            self.artifacts.insert(output.clone(), ours);
            if group.len() > 1 {
                self.of_parts.insert(output.clone());
            }
        }
        let mapped = recorded.iter().filter(|id| matches!(self.artifacts.get(*id), Some(Some(_)))).count();
        if made.len() > mapped {
            if !is_command {
                return Err(format!("/outputs: expected {recorded:?}, found {made:?}"));
            }
            rules.apply(Why::Command);
        }
        self.same_ids(&texts(expected, "/inputs"), &of_group("/inputs"), rules, "/inputs")
    }

    /// Compares ids of artifacts. More of them are right only where commands made more than was recorded.
    fn same_ids(
        &self,
        expected: &[String],
        found: &[String],
        rules: &Rules,
        what: &str,
    ) -> Result<(), String> {
        let other = || format!("{what}: expected {expected:?}, found {found:?}");
        for id in expected {
            match self.artifacts.get(id) {
                Some(Some(ours)) if !found.contains(ours) => return Err(other()),
                Some(None) => {}
                // An input that nobody produced keeps its name.
                None if !found.contains(id) => return Err(other()),
                _ => {}
            }
        }
        let known = expected.iter().filter(|id| !matches!(self.artifacts.get(*id), Some(None))).count();
        if found.len() > known && !rules.has(Why::Command) { Err(other()) } else { Ok(()) }
    }

    /// Compares the artifacts. Ours also has the instructions of the user.
    pub(super) fn artifacts(&self, expected: &Value, found: &Value, rules: &mut Rules) -> Result<(), String> {
        let is_instruction =
            |artifact: &&Value| at(artifact, "/artifact_type").as_str() == Some("UserInstruction");
        let ours: Vec<&Value> =
            items(found, "artifacts").iter().filter(|artifact| !is_instruction(artifact)).collect();
        let recorded = items(expected, "artifacts");
        for (index, artifact) in recorded.iter().enumerate() {
            let wrong = |error: String| format!("artifacts/{index}{error}");
            let id = at(artifact, "/artifact_id").as_str().unwrap_or("").to_owned();
            let ours_id = match self.artifacts.get(&id) {
                Some(None) => continue,
                Some(Some(ours)) => ours.clone(),
                None => id.clone(),
            };
            let same_id = |found: &&&Value| at(found, "/artifact_id").as_str() == Some(ours_id.as_str());
            let Some(found) = ours.iter().find(same_id) else {
                return Err(wrong(format!(": {ours_id} is missing")));
            };
            for pointer in ["/name", "/summary"].iter().filter(|_| !self.of_parts.contains(&id)) {
                rules.text(pointer, artifact, found).map_err(wrong)?;
            }
            let from = (texts(artifact, "/derived_from"), texts(found, "/derived_from"));
            self.same_ids(&from.0, &from.1, rules, "/derived_from").map_err(wrong)?;
            let word = at(artifact, "/artifact_type");
            // A result of tests is a command result in the words of the specification.
            let expected_word = match word.as_str().and_then(ArtifactType::from_word) {
                Some(known) => known.as_str(),
                None => "CommandResult",
            };
            if at(found, "/artifact_type").as_str() != Some(expected_word) {
                return Err(wrong(format!("/artifact_type: expected {expected_word}")));
            }
        }
        let dropped = self.artifacts.values().filter(|ours| ours.is_none()).count();
        let expected_count = recorded.len().saturating_sub(dropped);
        if ours.len() == expected_count || (ours.len() > expected_count && rules.has(Why::Command)) {
            Ok(())
        } else {
            Err(format!("artifacts: expected {expected_count}, found {}", ours.len()))
        }
    }

    /// Compares the units of intent by their members.
    pub(super) fn units(&self, expected: &Value, found: &Value, rules: &mut Rules) -> Result<(), String> {
        let (recorded, ours) = (items(expected, "meta_actions"), items(found, "meta_actions"));
        for (index, unit) in recorded.iter().enumerate() {
            let outcome = match ours.get(index) {
                Some(found) => self.unit(unit, found, rules),
                None => Err(": missing".to_owned()),
            };
            if let Err(error) = outcome {
                return if rules.other_units() {
                    Ok(())
                } else {
                    Err(format!("meta_actions/{index}{error}"))
                };
            }
        }
        if recorded.len() == ours.len() || rules.other_units() {
            Ok(())
        } else {
            Err(format!("meta_actions: expected {}, found {}", recorded.len(), ours.len()))
        }
    }

    fn unit(&self, expected: &Value, found: &Value, rules: &mut Rules) -> Result<(), String> {
        for pointer in ["/id", "/source", "/status", "/parent_id"] {
            same(pointer, expected, found)?;
        }
        // A unit whose directive says too little is named by the first reason, or else by what was done.
        if rules.text("/title", expected, found).is_err() {
            let is_carried =
                at(expected, "/source").as_str() == Some("turn_segmented") && rules.has(Why::Reason);
            if !is_carried {
                return rules.text("/title", expected, found);
            }
        }
        let ids = |unit: &Value| -> Vec<i64> {
            at(unit, "/action_ids").as_array().unwrap_or(&[]).iter().filter_map(Value::as_i64).collect()
        };
        let aligned: Vec<i64> =
            ids(expected).iter().filter_map(|id| self.actions.get(id)).flatten().copied().collect();
        if aligned != ids(found) {
            return Err(format!("/action_ids: expected {aligned:?}, found {:?}", ids(found)));
        }
        let produced = (texts(expected, "/produced_artifact_ids"), texts(found, "/produced_artifact_ids"));
        self.same_ids(&produced.0, &produced.1, rules, "/produced_artifact_ids")
    }
}

fn action_type(expected: &Value, found: &Value, rules: &mut Rules) -> Result<(), String> {
    let (recorded, ours) = (at(expected, "/type"), at(found, "/type"));
    if recorded == ours {
        return Ok(());
    }
    let (recorded, ours) = (recorded.as_str().unwrap_or(""), ours.as_str().unwrap_or(""));
    let is_command = !at(expected, "/detail").is_null() && !at(found, "/detail").is_null();
    match (recorded, ours) {
        _ if is_command => rules.apply(Why::Command),
        ("RunCommand", _) if at(expected, "/detail").is_null() => rules.apply(Why::Tool),
        (_, "ToolCall" | "Retrieve" | "Compute") if rules.states_kinds() => rules.apply(Why::Kind),
        ("UserApproval", "RequestApproval" | "Reject" | "Decision") => rules.apply(Why::Approval),
        // An older name of the same type.
        _ if ActionType::from_word(recorded).is_some_and(|known| known.as_str() == ours) => {}
        _ => return Err(format!("/type: expected {recorded}, found {ours}")),
    }
    Ok(())
}

fn reproduced(expected: &Value, found: &Value, rules: &mut Rules) -> Result<(), String> {
    // The decision carries its answer in words; nothing else to compare.
    if at(expected, "/category").as_str() == Some("gateway") || at(expected, "/reproducibility").is_null() {
        return Ok(());
    }
    rules.text("/reproducibility/procedure/command", expected, found)?;
    rules.text("/reproducibility/expected_output/result_summary", expected, found)
}

/// Results agree except for the sentence that replaces an error without a message.
fn result(expected: &Value, found: &Value, rules: &mut Rules) -> Result<(), String> {
    let (recorded, ours) = (at(expected, "/result_summary"), at(found, "/result_summary"));
    let stock =
        recorded.as_str().is_some_and(|text| text.starts_with("ERROR: ") && text.ends_with("reported error"));
    if stock && ours.as_str().is_some_and(|text| text.starts_with("ERROR: ")) {
        return Ok(());
    }
    if is_redacted(&recorded, &ours) {
        rules.apply(Why::Secret);
        return Ok(());
    }
    rules.text("/result_summary", expected, found)
}
