//! Commands in the input of a call: as a line, as a list of words, or as members that spell the options of a push.

use std::sync::Arc;

use hence_canon::{Value, parse};

use super::{Deed, LineEnd, Part, Signs};
use super::{line_of, parts};

/// Members that hold nothing but a command, in lower case and without `_` and `-`.
#[rustfmt::skip]
const COMMANDS: &[&str] = &["command", "cmd", "cmdline", "commandline", "shellcommand", "bashcommand", "argv"];
/// Members that hold several commands.
const SEVERAL: &[&str] = &["commands", "cmds", "commandlines"];
/// Members that hold a command if the callee runs commands, and may hold anything else if not.
const SCRIPTS: &[&str] = &["script", "shell", "bash", "sh", "run", "exec", "line", "powershell"];
/// Members that hold code or a command if the callee is declared to run commands.
const CODE: &[&str] = &["code", "source", "snippet", "stdin", "input", "payload"];
/// Members that hold what people read, whatever it begins with.
#[rustfmt::skip]
const PROSE: &[&str] = &[
    "message", "msg", "comment", "note", "notes", "description", "title", "reason", "subject", "prompt", "question", "name", "summary",
    "rationale", "explanation", "label", "commitmessage", "context", "text", "body",
];
/// Members that name the language of code.
const LANGUAGES: &[&str] = &["language", "lang", "interpreter", "runtime", "syntax"];
/// Members that hold the command of a program: `{"command": "git", "subcommand": "push"}`.
const SUBCOMMANDS: &[&str] = &["subcommand", "verb", "action", "operation"];
/// Members that may name a program, beside a command of it: `{"tool": "git", "command": "push"}`.
const TOOLS: &[&str] = &["tool", "name", "cli", "app"];
/// Members that name a program.
const PROGRAMS: &[&str] = &["program", "executable", "binary", "exe", "bin", "entrypoint"];
/// Members that hold the text that a program reads.
const INPUTS: &[&str] = &["stdin", "standardinput", "stdintext"];
/// Members that hold statements for a database.
const STATEMENTS: &[&str] = &["sql", "statement", "statements", "ddl", "sqlquery", "query"];
/// The word that ends a here-document made from an input.
const END_OF_INPUT: &str = "END_OF_INPUT";
/// Members that hold the arguments of a program.
const ARGUMENTS: &[&str] = &[
    "args",
    "arguments",
    "parameters",
    "params",
    "flags",
    "options",
    "opts",
    "extraargs",
    "pushoptions",
    "gitargs",
    "switches",
];
/// Members that name the folder in which a command runs.
const FOLDERS: &[&str] = &["cwd", "workdir", "workingdirectory", "dir", "directory", "folder"];
/// Members that name branches and tags of a push.
const REFS: &[&str] =
    &["ref", "refs", "refspec", "refspecs", "branch", "branches", "tag", "target", "to", "dst"];

/// Members that name the way in which a push is made.
#[rustfmt::skip]
const MODES: &[&str] = &[
    "mode", "pushmode", "strategy", "pushstrategy", "type", "pushtype", "kind", "method", "behavior", "behaviour", "updatetype", "policy",
    "operation", "action", "variant", "how",
];

/// Members that say whether something is on.
const SWITCHES: &[&str] = &["enabled", "enable", "on", "value", "active", "set"];

/// The depth to which members are looked into.
const DEPTH_MAX: usize = 6;
/// The words of one list that are read: more than any system hands to a program.
const WORDS_MAX: usize = 100_000;

/// The declared use of a callee's input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Callee {
    /// It is declared to run commands: any text that begins with a well-known program may be one.
    RunsCommands,
    /// It runs commands, or nothing is said.
    Runs,
    /// It does something else: only a member that can be nothing but a command counts as one.
    DoesElse,
}

/// Returns the command lines that the input of a call holds.
pub fn lines_given(input: &Value, callee: Callee) -> Vec<String> {
    let mut found = Vec::new();
    add_lines(input, callee, 0, &mut found);
    found
}

/// Returns the folder in which an input says that its command runs; the empty text is where the callee runs.
pub fn folder_given(input: &Value) -> &str {
    let members = input.as_object().into_iter().flat_map(hence_canon::Object::iter);
    let mut folders =
        members.filter(|(key, _)| is_one_of(key, FOLDERS)).filter_map(|(_, value)| value.as_str());
    folders.next().unwrap_or_default()
}

/// Returns the push that an input describes by its members: `force: true`, `refs: [+main]`, `options: {mirror: true}`.
pub fn push_given(input: &Value) -> Option<Part> {
    let mut words = vec!["git".to_owned(), "push".to_owned()];
    add_push_words(input, 0, &mut words);
    let line = line_of(&words);
    parts(&line, "", LineEnd::Well, Signs::default()).into_iter().find(|part| part.deed == Deed::Push)
}

fn is_one_of(key: &str, names: &[&str]) -> bool {
    let plain: String =
        key.chars().filter(|letter| !matches!(letter, '_' | '-')).flat_map(char::to_lowercase).collect();
    names.contains(&plain.as_str())
}

fn add_lines(input: &Value, callee: Callee, depth: usize, found: &mut Vec<String>) {
    let Some(members) = input.as_object().filter(|_| depth < DEPTH_MAX) else { return };
    // A record keeps members in the order of their names; a call that is only foreseen may have another.
    let mut members: Vec<(&Arc<str>, &Value)> = members.iter().collect();
    members.sort_by_key(|(key, _)| *key);
    let named = |names: &'static [&'static str]| {
        members.iter().filter(move |(key, _)| is_one_of(key, names)).map(|(_, value)| *value)
    };
    let before = found.len();
    let may_be_script = callee != Callee::DoesElse;
    let commands = named(COMMANDS).chain(named(SCRIPTS).filter(|_| may_be_script));
    match program_and_words(named(PROGRAMS).collect(), named(COMMANDS).collect()) {
        Some(line) => found.push(line),
        None => commands.chain(named(PROGRAMS)).for_each(|value| add_value(value, found)),
    }
    if may_be_script {
        add_command_of_program(named(TOOLS).collect(), named(SUBCOMMANDS).collect(), before, found);
    }
    let composed = named(COMMANDS).filter_map(Value::as_object).filter_map(line_of_object);
    found.extend(composed.filter(|_| may_be_script));
    named(SEVERAL).for_each(|value| add_several(value, found));
    let arguments: Vec<String> = named(ARGUMENTS).flat_map(words_of).take(WORDS_MAX).collect();
    if !arguments.is_empty() {
        match found.get_mut(before..).and_then(<[String]>::last_mut) {
            Some(line) => *line = format!("{line} {}", line_of(&arguments)),
            None if may_be_script => found.push(line_of(&arguments)),
            None => {}
        }
    }
    // What the program reads may be a script or statements.
    // A member called `input` is what a shell without a script reads; other callees have other uses for it.
    let is_shell = found.get(before..).and_then(<[String]>::last).is_some_and(|line| reads_script(line));
    let typed = named(&["input", "inputtext"]).filter(|_| is_shell);
    if let (Some(input), Some(line)) = (
        named(INPUTS).chain(typed).find_map(Value::as_str).filter(|text| !text.contains(END_OF_INPUT)),
        found.get_mut(before..).and_then(<[String]>::last_mut),
    ) {
        *line = format!("{line} <<'{END_OF_INPUT}'\n{input}\n{END_OF_INPUT}\n");
    }
    if callee == Callee::RunsCommands && found.len() == before {
        let language = named(LANGUAGES).find_map(Value::as_str);
        named(CODE).filter_map(Value::as_str).for_each(|text| add_code(text, language, found));
        let others = members.iter().filter(|(key, _)| {
            ![CODE, PROSE, LANGUAGES, STATEMENTS, FOLDERS].iter().any(|names| is_one_of(key, names))
        });
        let texts = others.filter_map(|(_, value)| value.as_str());
        found.extend(texts.filter(|text| super::unlisted::begins_with_told(text)).map(str::to_owned));
    }
    found.extend(deletion(&members).filter(|_| may_be_script));
    let statements =
        named(STATEMENTS).filter_map(Value::as_str).filter(|text| super::services::drops(&[text]));
    found.extend(statements.map(|text| line_of(&["sql", text])));
    for (_, value) in members.iter().copied() {
        match value {
            Value::Object(inner) if may_be_script && line_of_object(inner).is_some() => {}
            Value::Object(_) => add_lines(value, callee, depth + 1, found),
            Value::Array(items) => items.iter().for_each(|item| add_lines(item, callee, depth + 1, found)),
            // Arguments of a tool are often an object written as text.
            Value::String(text) if text.trim_start().starts_with('{') => {
                if let Ok(value) = parse(text.as_bytes()) {
                    add_lines(&value, callee, depth + 1, found);
                }
            }
            _ => {}
        }
    }
}

/// Returns the line of a request that deletes: `{"method": "DELETE", "url": "https://…"}`.
fn deletion(members: &[(&Arc<str>, &Value)]) -> Option<String> {
    let text = |names: &[&str]| members.iter().find(|(key, _)| is_one_of(key, names))?.1.as_str();
    text(&["method", "httpmethod", "verb"]).filter(|method| method.eq_ignore_ascii_case("delete"))?;
    let address = text(&["url", "uri", "endpoint", "address"])?;
    Some(line_of(&["curl", "-X", "DELETE", address]))
}

/// Returns the line of a command whose program and words are members: `{"name": "git", "args": ["push"]}`.
fn line_of_object(command: &hence_canon::Object) -> Option<String> {
    let program = command.iter().find(|(key, _)| is_one_of(key, TOOLS))?.1.as_str()?;
    let arguments = command.iter().filter(|(key, _)| is_one_of(key, ARGUMENTS));
    let words: Vec<String> = arguments.flat_map(|(_, value)| words_of(value)).take(WORDS_MAX).collect();
    (super::unlisted::is_told(program) && !words.is_empty()).then(|| format!("{program} {}", line_of(&words)))
}

/// Completes a command that only names a program, or a command of a program that another member names.
fn add_command_of_program(tools: Vec<&Value>, commands: Vec<&Value>, before: usize, found: &mut [String]) {
    let Some(line) = found.get_mut(before..).and_then(<[String]>::last_mut) else { return };
    let is_word = |text: &&str| !text.trim().is_empty() && !text.trim().contains(char::is_whitespace);
    let tool = tools.iter().find_map(|tool| tool.as_str().filter(|text| super::unlisted::is_told(text)));
    let is_shell =
        |tool: &str| matches!(super::program::name_of(tool).as_str(), "bash" | "sh" | "zsh" | "sudo");
    if let Some(tool) = tool.filter(|tool| !is_shell(tool))
        && line.split_whitespace().next().map(super::program::name_of) != Some(super::program::name_of(tool))
    {
        *line = format!("{tool} {line}");
    }
    if let Some(command) = commands.iter().find_map(|command| command.as_str().filter(is_word))
        && is_word(&line.as_str())
    {
        *line = format!("{line} {}", line_of(&[command]));
    }
}

/// Adds code: of a shell, or of a language whose calls of programs are looked for.
fn add_code(text: &str, language: Option<&str>, found: &mut Vec<String>) {
    let language = language.map(|language| super::program::name_of(language.trim()).to_lowercase());
    let interpreter = match language.as_deref() {
        Some("bash" | "sh" | "shell" | "zsh" | "dash" | "ksh" | "console") => None,
        Some("javascript" | "js" | "typescript" | "ts" | "node") => Some(["node", "-e"]),
        Some("ruby" | "rb") => Some(["ruby", "-e"]),
        Some("perl") => Some(["perl", "-e"]),
        Some(_) => Some(["python", "-c"]),
        None if super::unlisted::begins_with_told(text) => None,
        None => Some(["python", "-c"]),
    };
    match interpreter {
        Some([program, option]) => found.push(line_of(&[program, option, text])),
        None => found.push(text.to_owned()),
    }
}

/// Returns the line of a program whose words stand in a member of their own, with or without the program itself:
/// `exe: git, argv: [push]`, `entrypoint: [git], cmd: [push]`.
fn program_and_words(programs: Vec<&Value>, commands: Vec<&Value>) -> Option<String> {
    let ([program], [words]) = (programs.as_slice(), commands.as_slice()) else { return None };
    let words = words.as_array().map(|_| words_of(words)).filter(|words| !words.is_empty())?;
    let program = match program {
        Value::String(text) if !text.trim().contains(char::is_whitespace) => vec![text.trim().to_owned()],
        Value::Array(_) => words_of(program),
        _ => return None,
    };
    let name = |word: Option<&String>| word.map(|word| super::program::name_of(word));
    let repeats = name(program.first()) == name(words.first());
    let all: Vec<String> = if repeats { words } else { program.into_iter().chain(words).collect() };
    Some(line_of(&all))
}

/// Returns whether a line is a shell without a script.
fn reads_script(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let name = words.next().map(super::program::name_of).unwrap_or_default();
    let is_shell = matches!(name.as_str(), "bash" | "sh" | "zsh" | "dash" | "ksh");
    is_shell && words.all(|word| word.starts_with('-') && !word.contains('c'))
}

/// Adds a command: a line, the words of one command, or several commands.
fn add_value(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) if !text.trim().is_empty() => found.push(text.to_string()),
        Value::Array(items)
            if items.iter().any(|item| item.as_array().is_some()) || is_line(items.first()) =>
        {
            items.iter().for_each(|item| add_value(item, found));
        }
        Value::Array(_) => {
            let words = words_of(value);
            found.extend((!words.is_empty()).then(|| line_of(&words)));
        }
        _ => {}
    }
}

/// Returns whether an item of a list is a whole line: a program's name has no spaces.
fn is_line(item: Option<&Value>) -> bool {
    item.and_then(Value::as_str).is_some_and(|text| text.trim().contains(char::is_whitespace))
}

/// Adds the commands of a member whose name says that there are several.
fn add_several(value: &Value, found: &mut Vec<String>) {
    match value.as_array() {
        Some(items) if items.iter().any(|item| is_line(Some(item))) => {
            items.iter().for_each(|item| add_value(item, found));
        }
        _ => add_value(value, found),
    }
}

/// Returns the words of a list, or of a text.
fn words_of(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) if !text.trim_start().starts_with('{') => {
            let script = crate::shell::Script::read(text);
            let commands =
                script.items.iter().flat_map(|item| &item.stages).filter_map(|stage| match stage {
                    crate::shell::Stage::Command(command) => Some(command),
                    crate::shell::Stage::Group(..) => None,
                });
            let words = commands.flat_map(|command| command.assignments.iter().chain(&command.words));
            words.map(|word| word.text.clone()).collect()
        }
        Value::Array(items) => {
            let word = |item: &Value| match item {
                Value::String(text) => Some(text.to_string()),
                Value::Int(_) | Value::Float(_) => Some(item.to_string()),
                _ => None,
            };
            items.iter().filter_map(word).take(WORDS_MAX).collect()
        }
        _ => Vec::new(),
    }
}

/// Adds the words of a push that members spell: a member that is set is an option, others hold options or refs.
fn add_push_words(input: &Value, depth: usize, words: &mut Vec<String>) {
    let Some(members) = input.as_object().filter(|_| depth < DEPTH_MAX) else { return };
    for (key, value) in members.iter() {
        let option = option_of(key);
        let is_force = option.starts_with("--force");
        if let Value::String(text) = value
            && is_one_of(key, MODES)
            && is_forcing(text)
        {
            words.push("--force".to_owned());
        }
        match value {
            _ if is_set(value) => words.push(option),
            // `{"name": "force", "value": true}`
            Value::String(name)
                if is_one_of(key, &["name", "option", "flag", "key"])
                    && is_forcing(name)
                    && members.iter().any(|(key, set)| is_one_of(key, SWITCHES) && is_set(set)) =>
            {
                words.push("--force".to_owned());
            }
            // Whatever the name of its member: an option of git is nothing else.
            Value::String(text)
                if (text.trim_start().starts_with("--force") || text.trim() == "-f")
                    && ![PROSE, ARGUMENTS, COMMANDS].iter().any(|names| is_one_of(key, names))
                    && !is_one_of(key, REFS) =>
            {
                words.push(text.trim().to_owned());
            }
            Value::String(text) if is_forced_query(text) => words.push("--force".to_owned()),
            // `force: main` and `delete: main` name what is overwritten or removed.
            Value::String(text) if (is_force || option == "--delete") && !is_unset(text) => {
                words.extend([option, text.to_string()]);
            }
            Value::String(_) | Value::Array(_)
                if !is_object_text(value)
                    && (is_one_of(key, ARGUMENTS) || is_one_of(key, REFS) || is_one_of(key, COMMANDS)) =>
            {
                let given = words_of(value);
                let given = given.strip_prefix(&["git".to_owned()][..]).unwrap_or(&given);
                let given = given.strip_prefix(&["push".to_owned()][..]).unwrap_or(given);
                // A list of switches may name them without their dashes.
                let is_switch =
                    |word: &&String| is_one_of(key, ARGUMENTS) && is_forcing(word) && !word.contains('/');
                let spelt = given.iter().filter(is_switch).map(|_| "--force".to_owned());
                let spelt: Vec<String> = spelt.take(1).filter(|_| value.as_array().is_some()).collect();
                words.extend(spelt.into_iter().chain(given.iter().cloned()));
            }
            // `force: {enabled: true}`
            Value::Object(inner)
                if is_force && inner.iter().any(|(key, set)| is_one_of(key, SWITCHES) && is_set(set)) =>
            {
                words.push(option);
            }
            Value::Object(_) => add_push_words(value, depth + 1, words),
            Value::String(text) if text.trim_start().starts_with('{') => {
                if let Ok(inner) = parse(text.as_bytes()) {
                    add_push_words(&inner, depth + 1, words);
                }
            }
            _ => {}
        }
        for item in value.as_array().unwrap_or_default() {
            add_push_words(item, depth + 1, words);
        }
    }
}

/// Returns a member's name as an option: `forceWithLease` and `force_with_lease` are `--force-with-lease`.
fn option_of(key: &str) -> String {
    let mut option = String::from("--");
    // A name in capitals is one word.
    let lower = key.to_lowercase();
    let key = if key.chars().any(char::is_lowercase) { key } else { lower.as_str() };
    for letter in key.trim_start_matches('-').chars() {
        match letter {
            '_' | ' ' => option.push('-'),
            upper if upper.is_ascii_uppercase() => {
                if option.len() > 2 && !option.ends_with('-') {
                    option.push('-');
                }
                option.push(upper.to_ascii_lowercase());
            }
            letter => option.push(letter),
        }
    }
    let means_force = match option.as_str() {
        "--f"
        | "--allow-non-ff"
        | "--allow-non-fast-forward"
        | "--overwrite"
        | "--overwrites"
        | "--non-fast-forward"
        | "--rewrite-history"
        | "--hard" => true,
        "--force-with-lease" | "--force-if-includes" | "--no-force" | "--non-force" => false,
        // `force_push`, `is_forced`, `allowForce`, `use_force`, `force_update`
        option => option.split('-').any(|part| matches!(part, "force" | "forced" | "forcing" | "forcepush")),
    };
    if means_force { "--force".to_owned() } else { option }
}

/// Returns whether a word says that a push overwrites: `force`, `force-with-lease`, `forced_update`, `overwrite`, `+`.
fn is_forcing(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    let mut parts = lower.split(|letter: char| !letter.is_alphanumeric());
    let is_denied = ["no", "non", "not", "never", "without"];
    let names =
        |part: &str| matches!(part, "force" | "forced" | "forcepush" | "overwrite" | "mirror" | "rewrite");
    !parts.clone().any(|part| is_denied.contains(&part)) && parts.any(names)
        || matches!(lower.as_str(), "+" | "-f" | "non-fast-forward" | "non_fast_forward")
}

/// Returns whether the query of an address, or one alone, says that a push overwrites: `force=true`.
fn is_forced_query(text: &str) -> bool {
    let query = text.split_once('?').map_or(text, |(_, query)| query);
    !query.contains(char::is_whitespace)
        && query.split('&').any(|pair| {
            let on = |value: &str| matches!(value.to_lowercase().as_str(), "1" | "true" | "yes" | "on");
            pair.split_once('=').is_some_and(|(key, value)| option_of(key) == "--force" && on(value))
        })
}

/// Returns whether a value is an object written as text.
fn is_object_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.trim_start().starts_with('{'))
}

fn is_set(value: &Value) -> bool {
    match value {
        Value::Bool(set) => *set,
        Value::String(text) => {
            matches!(text.trim().to_lowercase().as_str(), "true" | "yes" | "on" | "1" | "y")
        }
        other => other.as_i64().is_some_and(|number| number != 0),
    }
}

fn is_unset(text: &str) -> bool {
    matches!(text.trim().to_lowercase().as_str(), "" | "false" | "no" | "off" | "0" | "n" | "none" | "never")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn commands_are_found_in_the_forms_in_which_inputs_give_them() {
        for (input, expected) in [
            (r#"{"command": "git push -f"}"#, "git push -f"),
            (r#"{"cmd": ["git", "commit", "-m", "a b"]}"#, "git commit -m 'a b'"),
            (r#"{"commands": ["ls", "make test"]}"#, "ls|make test"),
            (r#"{"commands": [["git", "add", "a b"], ["ls"]]}"#, "git add 'a b'|ls"),
            (r#"{"commands": ["cd x && ls", "make test"]}"#, "cd x && ls|make test"),
            (r#"{"command": "git", "args": ["push", "-f"]}"#, "git push -f"),
            (r#"{"program": "git", "arguments": "push -f"}"#, "git push -f"),
            (r#"{"args": ["git", "push"]}"#, "git push"),
            (r#"{"tool": "bash", "input": {"command": "ls"}}"#, "ls"),
            (r#"{"arguments": "{\"command\": \"rm x\"}"}"#, "rm x"),
            (r#"{"steps": [{"run": "rm x"}, {"run": "ls"}]}"#, "rm x|ls"),
            (r#"{"shellCommand": "ls", "Command_Line": "pwd"}"#, "pwd|ls"),
            (r#"{"text": "git push -f", "query": "rm"}"#, ""),
            (r#"{"entrypoint": ["git"], "cmd": ["push", "-f"]}"#, "git push -f"),
            (r#"{"exe": "git", "argv": ["push", "-f"]}"#, "git push -f"),
            (r#"{"exe": "/usr/bin/git", "argv": ["git", "push", "-f"]}"#, "git push -f"),
            (r#"{"sql": "DROP TABLE users"}"#, "sql 'DROP TABLE users'"),
            (r#"{"sql": "select 1"}"#, ""),
            (
                r#"{"command": "bash", "stdin": "git push -f"}"#,
                "bash <<'END_OF_INPUT'\ngit push -f\nEND_OF_INPUT\n",
            ),
        ] {
            assert_eq!(lines_given(&value(input), Callee::Runs).join("|"), expected, "{input}");
        }
        let script = value(r#"{"path": "a.sh", "script": "rm x", "args": ["rm"]}"#);
        assert_eq!(lines_given(&script, Callee::DoesElse), Vec::<String>::new());
    }

    #[test]
    fn a_callee_that_runs_commands_may_be_given_them_under_any_name() {
        for (input, expected) in [
            (r#"{"text": "git push -f"}"#, ""),
            (r#"{"anything": "git push -f"}"#, "git push -f"),
            (r#"{"q": "rm -rf x"}"#, "rm -rf x"),
            (r#"{"message": "git push -f"}"#, ""),
            (r#"{"anything": "the push"}"#, ""),
            (r#"{"language": "bash", "code": "ls; rm x"}"#, "ls; rm x"),
            (r#"{"language": "python", "code": "f()"}"#, "python -c 'f()'"),
            (r#"{"code": "f()"}"#, "python -c 'f()'"),
            (r#"{"stdin": "git push -f"}"#, "git push -f"),
            (r#"{"command": {"name": "git", "args": ["push", "-f"]}}"#, "git push -f"),
            (r#"{"command": "git", "subcommand": "push", "flags": ["-f"]}"#, "git push -f"),
            (r#"{"tool": "git", "command": "push"}"#, "git push"),
            (r#"{"tool": "bash", "command": "ls"}"#, "ls"),
            (r#"{"name": "git", "command": "git push"}"#, "git push"),
            (r#"{"method": "DELETE", "url": "http://x/1"}"#, "curl -X DELETE http://x/1"),
            (r#"{"method": "GET", "url": "http://x/1"}"#, ""),
        ] {
            assert_eq!(lines_given(&value(input), Callee::RunsCommands).join("|"), expected, "{input}");
        }
    }

    #[test]
    fn a_push_is_read_from_members() {
        let marks = |input: &str| {
            let push = push_given(&value(input)).unwrap();
            (push.force, push.is_destructive)
        };
        for input in [
            r#"{"force": true}"#,
            r#"{"FORCE": "yes"}"#,
            r#"{"FORCE_PUSH": 1}"#,
            r#"{"force": "true"}"#,
            r#"{"force": "main"}"#,
            r#"{"forceWithLease": true}"#,
            r#"{"force_with_lease": "main:abc"}"#,
            r#"{"force-push": 1}"#,
            r#"{"arguments": ["--force"]}"#,
            r#"{"args": ["-fu", "origin"]}"#,
            r#"{"flags": "-f"}"#,
            r#"{"options": ["--force-with-lease=main"]}"#,
            r#"{"options": {"force": true}}"#,
            r#"{"params": {"mirror": true}}"#,
            r#"{"mirror": true}"#,
            r#"{"refs": ["+main"]}"#,
            r#"{"refspec": "+HEAD:main"}"#,
            r#"{"branch": "+main"}"#,
            r#"{"command": ["git", "push", "--mirror"]}"#,
            r#"{"args": "origin main --force"}"#,
            r#"{"mode": "force"}"#,
            r#"{"push_mode": "Force-With-Lease"}"#,
            r#"{"strategy": "overwrite"}"#,
            r#"{"type": "forced_update"}"#,
            r#"{"force_push": true}"#,
            r#"{"isForced": true}"#,
            r#"{"allowForce": "yes"}"#,
            r#"{"use-force": 1}"#,
            r#"{"options": {"mode": "force"}}"#,
            r#"{"options": "{\"force\": true}"}"#,
            r#"{"force": {"enabled": true}}"#,
            r#"{"flags": {"f": true}}"#,
            r#"{"flags": ["force"]}"#,
            r#"{"push_options": ["--force"]}"#,
            r#"{"rewriteHistory": true}"#,
            r#"{"flag": "-f"}"#,
            r#"{"arguments": "--force origin main"}"#,
            r#"{"lease": "--force-with-lease=main"}"#,
            r#"{"opts": [{"name": "force", "value": true}]}"#,
            r#"{"allow_non_ff": true}"#,
            r#"{"query": "force=true"}"#,
            r#"{"url": "https://host/push?branch=main&force=1"}"#,
        ] {
            assert_eq!(marks(input), (true, true), "{input}");
        }
        for input in
            [r#"{"delete": true}"#, r#"{"delete": "old"}"#, r#"{"refspec": ":old"}"#, r#"{"prune": true}"#]
        {
            assert_eq!(marks(input), (false, true), "{input}");
        }
        for input in [
            r#"{"force": false, "branch": "main"}"#,
            r#"{"force": "no"}"#,
            r#"{"arguments": ["origin", "main"], "tags": true}"#,
            r#"{"args": ["--follow-tags"]}"#,
            r#"{"branch": "feature-f", "message": "--force"}"#,
            r#"{"mode": "no-force"}"#,
            r#"{"mode": "fast-forward", "no_force": true}"#,
            r#"{"mode": "simple", "branch": "force"}"#,
            r#"{"force": {"enabled": false}}"#,
            r#"{"force": null, "reason": "force"}"#,
            r#"{"url": "https://host/push?force=0"}"#,
            r#"{"opts": [{"name": "force", "value": false}]}"#,
            r#"{"message": "say -f or --force"}"#,
            r#"{}"#,
        ] {
            assert_eq!(marks(input), (false, false), "{input}");
        }
    }
}
