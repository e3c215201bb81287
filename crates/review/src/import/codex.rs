//! Codex logs.

use hence_canon::{Value, parse};

use crate::command::{Deed, LineEnd, Patched, Signs, line_of, parts, patched};
use crate::secret;
use crate::shell::{Guard, Script, Stage};
use crate::vocabulary::ActivityType;

use super::json::{JsonExt, block_text};
use super::outcome::{ToolOutcome, is_kill};
use super::session::{ActionEvent, Ending, Session};
use super::usage::{Usage, millis_of_seconds};

/// Reads one row of a log.
pub(super) fn row(session: &mut Session, row: &Value) {
    let word = |key: &str| row.text(key);
    Session::set_once(&mut session.started_at, word("timestamp"));
    // Older files hold bare items without an envelope.
    let (kind, payload) = match (word("type"), row.get("payload")) {
        (Some(kind), Some(payload)) => (kind, payload),
        _ => ("response_item", row),
    };
    let text = |key: &str| payload.text(key);
    match kind {
        "session_meta" => {
            Session::set_once(&mut session.id, text("id"));
            Session::set_once(&mut session.working_directory, text("cwd"));
        }
        "turn_context" => {
            Session::set_once(&mut session.model, text("model"));
            Session::set_once(&mut session.working_directory, text("cwd"));
        }
        "response_item" => item(session, payload, word("timestamp")),
        // Event messages repeat the items, except for the end of a turn and the tokens.
        "event_msg" if text("type") == Some("token_count") => {
            let usage = payload.member("info").get("last_token_usage").and_then(Usage::of);
            usage.into_iter().for_each(|usage| session.used_since(usage));
        }
        "event_msg" if text("type") == Some("turn_aborted") => session.ending = Ending::Interrupted,
        "event_msg" if text("type") == Some("error") => session.ending = Ending::Aborted,
        _ => {}
    }
}

fn item(session: &mut Session, item: &Value, at: Option<&str>) {
    let word = |key: &str| item.text(key);
    let call = word("call_id");
    match word("type") {
        Some("message") => {
            let text = block_text(item.member("content"));
            match word("role") {
                Some("user") => session.directive(&text, at),
                Some("assistant") => session.reasoning(None, &text),
                _ => {}
            }
        }
        Some("reasoning") => session.thought(None, &block_text(item.member("summary"))),
        Some("function_call") => {
            let arguments = parse(word("arguments").unwrap_or("").as_bytes()).unwrap_or_default();
            called(session, word("name").unwrap_or(""), &arguments, call, at);
        }
        Some("custom_tool_call") => {
            let input = item.get("input").cloned().unwrap_or_default();
            called(session, word("name").unwrap_or(""), &input, call, at);
        }
        Some("local_shell_call") => {
            let action = item.get("action").cloned().unwrap_or_default();
            called(session, "shell", &action, call.or_else(|| word("id")), at);
        }
        Some("web_search_call") => {
            let mut event = ActionEvent::new(ActivityType::SearchWeb, "web_search");
            event.query =
                item.get("action").and_then(|action| action.get("query")?.as_str()).map(str::to_owned);
            event.outcome = Some(ToolOutcome::default());
            session.action(event, None);
        }
        Some("function_call_output" | "custom_tool_call_output") => {
            session.outcome(call.unwrap_or(""), outcome(item.member("output")));
        }
        _ => {}
    }
}

fn called(session: &mut Session, name: &str, arguments: &Value, call: Option<&str>, at: Option<&str>) {
    if name == "update_plan" {
        return session.whole_plan(arguments.list("plan"), &["step"]);
    }
    let mut events = tool(name, arguments);
    for event in &mut events {
        event.at = at.map(str::to_owned);
    }
    // A patch can touch several files; its result is that of each.
    for event in events {
        session.action(event, call);
    }
}

fn tool(name: &str, arguments: &Value) -> Vec<ActionEvent> {
    let word = |key: &str| arguments.text(key);
    let command = command_of(arguments);
    match (name, command) {
        ("apply_patch", _) => patch(arguments.as_str().or_else(|| word("input")).unwrap_or(""), ""),
        ("shell" | "exec_command" | "shell_command" | "local_shell" | "container.exec", Some(command)) => {
            let folder = arguments.first_text(&["workdir", "working_directory", "cwd"]);
            if let Some((entered, text)) = patch_in(&command) {
                return patch(&text, &within(folder.unwrap_or(""), &entered));
            }
            let mut event = ActionEvent::of_command_with_input(name, &command, arguments);
            event.folder = folder.map(str::to_owned);
            vec![event]
        }
        // What is typed into a program that runs may be a command for a shell.
        ("write_stdin", _) if word("chars").is_some_and(is_command) => {
            vec![ActionEvent::of_command(name, word("chars").unwrap_or(""))]
        }
        ("view_image" | "read" | "read_file", _) => {
            let mut event = ActionEvent::new(ActivityType::ReadFile, name);
            event.file = word("path").or_else(|| word("file_path")).map(str::to_owned);
            vec![event]
        }
        ("spawn_agent", _) => {
            let mut event = ActionEvent::new(ActivityType::DecomposeTask, name);
            event.description = word("message").or_else(|| word("prompt")).map(str::to_owned);
            vec![event]
        }
        _ => {
            let mut event = ActionEvent::of_unknown_tool(name, arguments);
            let session = arguments.get("session_id").filter(|_| name == "write_stdin");
            event.polls = session.map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned));
            vec![event]
        }
    }
}

/// Returns whether a typed text is a command of a known kind.
fn is_command(text: &str) -> bool {
    parts(text, "", LineEnd::Hidden, Signs::default()).iter().any(|part| part.deed.is_known())
}

/// Returns the command, which is a text, or a list that may begin with a shell.
fn command_of(arguments: &Value) -> Option<String> {
    let command = arguments.get("command").or_else(|| arguments.get("cmd"))?;
    if let Some(text) = command.as_str() {
        return Some(text.to_owned());
    }
    let words: Vec<&str> = command.as_array()?.iter().filter_map(Value::as_str).collect();
    let is_shell = |program: &str| matches!(program.rsplit('/').next(), Some("bash" | "sh" | "zsh"));
    Some(match words.as_slice() {
        [shell, option, script] if is_shell(shell) && option.starts_with('-') && option.contains('c') => {
            (*script).to_owned()
        }
        // The words have been split already: what they hold is no syntax.
        words => line_of(words),
    })
}

/// Returns the patch that a command line applies with Codex's own command, and the folder it enters before, if the line
/// does nothing else.
fn patch_in(line: &str) -> Option<(String, String)> {
    if !line.contains("*** Begin Patch") {
        return None;
    }
    let script = Script::read(line);
    let mut folder = String::new();
    let mut found = None;
    for item in &script.items {
        let is_plain = item.guard == Guard::None && item.function.is_none() && !item.negated;
        let ([Stage::Command(command)], None, true) = (item.stages.as_slice(), &found, is_plain) else {
            return None;
        };
        let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
        let expands = command.words.iter().any(|word| word.expands || word.needs_shell);
        match words.as_slice() {
            ["cd", entered] if !expands && !entered.starts_with(['~', '-']) => {
                folder = within(&folder, entered)
            }
            ["apply_patch" | "applypatch", rest @ ..] => {
                let body = command.redirects.iter().find_map(|redirect| redirect.body.clone());
                found = Some(body.or_else(|| rest.first().map(|text| (*text).to_owned()))?);
            }
            _ => return None,
        }
    }
    Some((folder, found?))
}

/// Returns a path inside of a folder; the empty folder is that of the session.
fn within(folder: &str, path: &str) -> String {
    match path {
        _ if path.starts_with('/') || folder.is_empty() => path.to_owned(),
        "." => folder.to_owned(),
        _ => format!("{}/{path}", folder.trim_end_matches('/')),
    }
}

/// One action per file a patch names, with paths inside of the folder in which it was applied.
fn patch(text: &str, folder: &str) -> Vec<ActionEvent> {
    let one = |found: Patched| {
        let mut event = ActionEvent::new(ActivityType::EditFile, "apply_patch");
        event.action_type = found.deed.action_type();
        if let Some(to) = &found.file.renamed_to {
            event.description = Some(format!("{} → {to}", found.file.path));
        }
        event.renamed_to = found.file.renamed_to.map(|path| within(folder, &path));
        event.file = Some(within(folder, &found.file.path));
        // Only a file that the patch makes is there as a whole.
        let holds = secret::contains(&found.added);
        let is_whole = found.deed == Deed::Create && !found.added.is_empty();
        event.contains_secret = (holds || is_whole).then_some(holds);
        event
    };
    let events: Vec<ActionEvent> = patched(text).into_iter().map(one).collect();
    match events.is_empty() {
        true => vec![ActionEvent::new(ActivityType::EditFile, "apply_patch")],
        false => events,
    }
}

/// Reads an output, which is a text, or JSON in a text with an exit code next to it.
fn outcome(output: &Value) -> ToolOutcome {
    let parsed = output
        .as_str()
        .filter(|text| text.trim_start().starts_with('{'))
        .and_then(|text| parse(text.as_bytes()).ok())
        .filter(|value| value.as_object().is_some());
    let value = parsed.as_ref().unwrap_or(output);
    let text = match value {
        Value::Object(object) => {
            object.get("output").or_else(|| object.get("content")).map(block_text).unwrap_or_default()
        }
        other => block_text(other),
    };
    let metadata = value.member("metadata");
    let mut outcome = ToolOutcome::of_text(&text);
    outcome.exit_code = metadata.get("exit_code").and_then(Value::as_i64).or(outcome.exit_code);
    let seconds = metadata.get("duration_seconds").map(ToString::to_string);
    outcome.duration_ms = seconds.and_then(|seconds| millis_of_seconds(&seconds)).or(outcome.duration_ms);
    outcome.killed |= outcome.exit_code.is_some_and(is_kill);
    let refused = value.get("success").and_then(Value::as_bool) == Some(false);
    // Without an exit code, the words of the program itself say that nothing ran.
    let begins = |words: &&str| text.trim_start().starts_with(*words);
    let failed = match outcome.exit_code {
        Some(code) => code != 0,
        None => NOT_RUN.iter().any(begins),
    };
    outcome.with_error(refused || failed)
}

/// Beginnings of outputs of calls that did not run, or did not change anything.
const NOT_RUN: &[&str] = &[
    "apply_patch verification failed",
    "exec command rejected by user",
    "patch rejected by user",
    "rejected by user",
    "aborted by user",
    "aborted",
    "command rejected by user",
    "failed to parse function arguments",
    "failed to parse exec arguments",
    "unsupported call",
    "unsupported custom tool call",
    "execution error",
    "exec_command failed",
    "Failed to apply patch",
    "failed in sandbox",
    "user cancelled",
];
