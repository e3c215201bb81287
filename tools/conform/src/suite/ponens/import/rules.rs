//! The rules by which an imported trace may differ from the recorded one.

use std::collections::BTreeSet;
use std::fmt;

use hence_canon::Value;

use super::{at, items, texts};

/// The text that replaces a secret.
const REDACTED: &str = "[redacted]";

hence_canon::words! {
    /// The reason why ours differs.
    pub(super) enum Why {
        Command = "a command line is read as a shell reads it: each command by its program and arguments",
        NotDone = "what was refused, cancelled or failed made nothing",
        Reason = "a reason is the text written for that call; the recorded one was written for an earlier one",
        Input = "what an observation was given is its request, not a reason",
        Tool = "a call of a tool is no command",
        Plan = "what an agent notes of its plan is no command",
        SubAgent = "what a sub-agent does is a unit of its own",
        Kind = "the kind that an observation states counts before the words of its name",
        Approval = "an approval that was asked for, refused or failed is none",
        Harness = "rows that programs write are not instructions of the user",
        Instruction = "every instruction of the user begins a unit, unless the agent takes its task up again",
        Secret = "secrets are left out",
    }
}

/// The rules that applied, and what the log says about them.
#[derive(Default)]
pub(super) struct Rules {
    applied: BTreeSet<Why>,
    /// The calls for which the agent wrote no text, and for how many we found none.
    silent_calls: usize,
    silent_found: usize,
    /// The texts of the user that the recording tool did not read, because they are in blocks.
    has_block_texts: bool,
    /// Whether the user wrote again while a task was in progress.
    interrupts_task: bool,
    /// Whether the log has rows that a program wrote as the user, and rows of sub-agents.
    has_program_rows: bool,
    has_sub_agents: bool,
    /// Whether observations state a kind that the recording tool did not know.
    states_kinds: bool,
}

/// Beginnings of messages that programs write as the user.
const BY_PROGRAMS: &[&str] =
    &["<", "Caveat:", "[Request interrupted", "This session is being continued", "Stop hook"];

impl fmt::Display for Rules {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons: Vec<&str> = self.applied.iter().map(|why| why.as_str()).collect();
        out.write_str(&reasons.join("; "))
    }
}

impl Rules {
    /// Looks at the rows of a session.
    pub(super) fn of_log(rows: &[Value]) -> Self {
        let mut rules = Self::default();
        let mut has_text = false;
        let mut in_progress = false;
        let mut user_texts = 0;
        for row in rows {
            let message = row.get("message").unwrap_or(&Value::Null);
            let word =
                |value: &Value, key: &str| at(value, &format!("/{key}")).as_str().unwrap_or("").to_owned();
            let role = if word(row, "type") == "message" { word(message, "role") } else { word(row, "type") };
            let content = message.get("content").unwrap_or(&Value::Null);
            let blocks = content.as_array().unwrap_or(&[]);
            let flag = |key: &str| row.get(key).and_then(Value::as_bool) == Some(true);
            rules.has_sub_agents |= flag("isSidechain");
            if role != "assistant" {
                has_text = false;
                let by_program = content.as_str().is_some_and(is_by_program);
                rules.has_program_rows |= by_program || flag("isMeta") || flag("isCompactSummary");
                let block_text = blocks.iter().any(|block| word(block, "type") == "text");
                rules.has_block_texts |= role == "user" && block_text;
                let is_text = content.as_str().is_some_and(|text| !text.trim().is_empty());
                if role == "user" && (is_text || block_text) {
                    user_texts += 1;
                    rules.interrupts_task |= in_progress && user_texts > 1;
                }
                continue;
            }
            for block in blocks {
                let filled = |key: &str| !word(block, key).trim().is_empty();
                match word(block, "type").as_str() {
                    "text" => has_text |= filled("text"),
                    "thinking" => has_text |= filled("thinking") || filled("text"),
                    "tool_use" | "toolCall" => {
                        rules.silent_calls += usize::from(!has_text);
                        in_progress |= block.to_string().contains("in_progress");
                    }
                    _ => {}
                }
            }
        }
        rules
    }

    /// Looks at the observations of an export.
    pub(super) fn of_export(input: &Value) -> Self {
        let text = input.to_string();
        let states = |kind: &&str| text.contains(&format!("\"type\":\"{kind}\""));
        Self { states_kinds: ["TOOL", "RETRIEVER", "EMBEDDING"].iter().any(states), ..Self::default() }
    }

    pub(super) fn states_kinds(&self) -> bool {
        self.states_kinds
    }

    pub(super) fn is_empty(&self) -> bool {
        self.applied.is_empty()
    }

    pub(super) fn has(&self, why: Why) -> bool {
        self.applied.contains(&why)
    }

    pub(super) fn apply(&mut self, why: Why) {
        self.applied.insert(why);
    }

    /// Compares texts but for white space: JSON inside text can be written with or without it.
    pub(super) fn text(&mut self, pointer: &str, expected: &Value, found: &Value) -> Result<(), String> {
        let (expected, found) = (at(expected, pointer), at(found, pointer));
        if plain(&expected) == plain(&found) {
            return Ok(());
        }
        if is_redacted(&expected, &found) {
            self.apply(Why::Secret);
            return Ok(());
        }
        Err(format!("{pointer}: expected {expected}, found {found}"))
    }

    /// A reason that comes from the log is a fact; one that was carried over, or made up, is none.
    pub(super) fn reason(&mut self, expected: &Value, found: &Value) -> Result<(), String> {
        let (recorded, ours) = (at(expected, "/rationale"), at(found, "/rationale"));
        let text = recorded.as_str().unwrap_or("");
        let is_stock = text.contains("OpenTelemetry span")
            || text.contains("Langfuse ")
            || text == format!("({})", at(expected, "/type").as_str().unwrap_or(""));
        let is_silent = ours.as_str().unwrap_or("").is_empty();
        if is_silent && is_stock {
            return Ok(());
        }
        if is_silent
            && !at(found, "/request/arguments").is_null()
            && !at(found, "/evidence/0/ref").to_string().contains("span:")
        {
            // A call of a session with arguments; the text is judged below.
        } else if is_silent && !at(found, "/request/arguments").is_null() {
            self.apply(Why::Input);
            return Ok(());
        }
        if is_silent && self.silent_found < self.silent_calls {
            self.silent_found += 1;
            self.apply(Why::Reason);
            return Ok(());
        }
        self.text("/rationale", expected, found)
    }

    /// A task that a program wrote is replaced by the first one that the user wrote.
    pub(super) fn other_task(&mut self, expected: &Value, found: &Value) -> Result<(), String> {
        let text = expected.as_str().unwrap_or("").trim_start();
        if is_redacted(expected, found) {
            self.apply(Why::Secret);
        } else if is_by_program(text) || self.has_program_rows {
            self.apply(Why::Harness);
        } else if self.has_block_texts {
            self.apply(Why::Instruction);
        } else {
            return Err(format!("/trigger/description: expected {expected}, found {found}"));
        }
        Ok(())
    }

    /// Files differ by those that commands changed, and by those that were not changed after all.
    pub(super) fn files(&mut self, expected: &Value, found: &Value) -> Result<(), String> {
        let list =
            |trace: &Value| -> BTreeSet<String> { texts(trace, "/files_modified").into_iter().collect() };
        let (recorded, ours) = (list(expected), list(found));
        for file in ours.difference(&recorded) {
            let by_command = items(found, "actions")
                .iter()
                .any(|action| !at(action, "/detail").is_null() && names(action, file));
            if !by_command {
                return Err(format!("/files_modified: {file} is not in {recorded:?}"));
            }
            self.apply(Why::Command);
        }
        for file in recorded.difference(&ours) {
            let was_tried = items(found, "actions")
                .iter()
                .any(|action| is_not_done(action) && at(action, "/request/path").as_str() == Some(file));
            if !was_tried {
                return Err(format!("/files_modified: {file} is missing"));
            }
            self.apply(Why::NotDone);
        }
        Ok(())
    }

    /// Whether units may differ: the log has instructions that the recording tool did not see as such.
    pub(super) fn other_units(&mut self) -> bool {
        if self.has(Why::Harness) || self.has(Why::Plan) {
            return true;
        }
        for (is_so, why) in [(self.has_program_rows, Why::Harness), (self.has_sub_agents, Why::SubAgent)] {
            if is_so {
                self.apply(why);
                return true;
            }
        }
        let differs = self.interrupts_task || self.has_block_texts;
        if differs {
            self.apply(Why::Instruction);
        }
        differs
    }
}

fn is_by_program(text: &str) -> bool {
    BY_PROGRAMS.iter().any(|beginning| text.trim_start().starts_with(beginning))
}

fn names(action: &Value, file: &str) -> bool {
    items(action, "evidence").iter().any(|item| at(item, "/ref").as_str() == Some(file))
}

/// Returns whether an action says that it had no effect.
pub(super) fn is_not_done(action: &Value) -> bool {
    matches!(at(action, "/result/status").as_str(), Some("failed" | "refused" | "cancelled"))
}

fn plain(value: &Value) -> String {
    value.as_str().unwrap_or("").split_whitespace().collect()
}

/// Returns whether the found text is the recorded one with secrets replaced.
pub(super) fn is_redacted(expected: &Value, found: &Value) -> bool {
    let (expected, found) = (plain(expected), plain(found));
    if !found.contains(REDACTED) {
        return false;
    }
    // The pieces between the replacements occur in order. The end may be cut at another place.
    let mut rest = expected.as_str();
    let pieces: Vec<&str> = found.trim_end_matches('…').split(REDACTED).collect();
    let last = pieces.len().saturating_sub(1);
    pieces.iter().enumerate().all(|(index, piece)| match rest.find(piece) {
        Some(place) => {
            rest = rest.get(place + piece.len()..).unwrap_or("");
            true
        }
        None => index == last,
    })
}
