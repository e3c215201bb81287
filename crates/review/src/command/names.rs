//! The names that command lines define and later ones use: variables, aliases, functions and settings of git.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::shell::{Command, ForLoop, Item, Redirect, Script, Stage, Word};

use super::Ran;
use super::aliases::{Alias, Aliases, setting};
use super::program::name_of;
use super::scripts::{Scripts, hidden_lines};
use super::values::{Certainty, Choice, Variables};

/// The functions, and the settings of git, that are remembered.
const FUNCTIONS_MAX: usize = 200;
const SETTINGS_MAX: usize = 200;

/// The names that earlier commands of a session defined.
///
/// A shell may have forgotten variables, aliases and functions since, so what is read by them is uncertain. Settings of git
/// are files, and stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellNames {
    variables: Variables,
    aliases: Aliases,
    functions: BTreeMap<Arc<str>, Vec<Item>>,
    /// Settings of git that decide about pushes, by their names.
    settings: BTreeMap<String, String>,
    /// The files that were written.
    scripts: Scripts,
}

/// Programs whose name may be written as a pattern that only they match.
const PATTERNS: &[&str] = &["git", "rm", "bash", "sh"];

impl ShellNames {
    /// Notes that a file was written whole, which a later command may run.
    pub fn note_script(&mut self, path: &str, text: &str) {
        self.scripts.write(path, text);
    }

    pub(super) fn note_file(&mut self, path: &str, text: &str, appends: bool) {
        match appends {
            true => self.scripts.append(path, &format!("{text}\n")),
            false => self.scripts.write(path, &format!("{text}\n")),
        }
    }

    /// Returns the command lines that a command hides in a script or in code.
    pub(super) fn hidden_lines(
        &self,
        command: &Command,
        words: &[Word],
        input: Option<&str>,
        place: impl Fn(&str) -> Option<String>,
    ) -> Vec<String> {
        hidden_lines(&self.scripts, command, words, input, place)
    }

    /// Returns what the commands print that a shell reads as a file: `<(…)`.
    pub(super) fn substituted(&self, redirects: &[Redirect]) -> Option<String> {
        redirects.iter().find_map(|redirect| {
            let tokens = redirect.target.inner.first()?;
            self.variables.output_of(tokens, 0)
        })
    }

    /// Returns a command whose program is written as a file pattern with the program that the pattern means.
    pub(super) fn with_program(&self, words: &[Word], ran: Ran) -> (Vec<Word>, Ran) {
        let Some((first, rest)) = words.split_first().filter(|(first, _)| first.has_pattern) else {
            return (words.to_vec(), ran);
        };
        let pattern: Vec<char> = name_of(&first.text).chars().collect();
        let Some(name) = PATTERNS.iter().find(|name| matches(&pattern, &name.chars().collect::<Vec<_>>()))
        else {
            return (words.to_vec(), ran);
        };
        let program = Word { text: (*name).to_owned(), ..Word::default() };
        ([program].into_iter().chain(rest.iter().cloned()).collect(), ran.max(Ran::Maybe))
    }

    /// Forgets what only the shell knows that a line ran in.
    pub fn end_shell(&mut self) {
        self.variables = Variables::default();
        self.functions = BTreeMap::new();
        self.aliases.retain_git();
    }

    /// Returns whether no name is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn carry(&mut self) {
        self.variables.carry();
    }

    /// Notes the functions that some commands define, and returns their names.
    pub(super) fn define_functions(&mut self, items: &[Item]) -> Vec<Arc<str>> {
        let mut found: BTreeMap<Arc<str>, Vec<Item>> = BTreeMap::new();
        for item in items {
            if let Some(name) = &item.function {
                let body = Item { function: None, ..item.clone() };
                found.entry(name.clone()).or_default().push(body);
            }
        }
        let names = found.keys().cloned().collect();
        found.retain(|name, _| self.functions.len() < FUNCTIONS_MAX || self.functions.contains_key(name));
        self.functions.extend(found);
        names
    }

    /// Returns the body of a function.
    pub(super) fn function(&self, name: &str) -> Option<Script> {
        self.functions.get(name).map(|items| Script { items: items.clone() })
    }

    /// Notes what a command defines: an alias, a setting.
    pub(super) fn define(&mut self, words: &[Word], ran: Ran) {
        let Some((program, arguments)) = words.split_first().filter(|_| ran != Ran::No) else { return };
        self.aliases.define(words);
        if name_of(&program.text) != "git" {
            return;
        }
        let mirrors = |word: &Word| matches!(word.text.as_str(), "--mirror" | "--mirror=push");
        let is_remote = arguments.first().is_some_and(|word| word.text == "remote");
        let mirror = (is_remote && arguments.iter().any(mirrors)).then_some(("remote.any.mirror", "true"));
        if let Some((key, value)) = setting(arguments).or(mirror)
            && key.to_lowercase().starts_with("remote.")
            && self.settings.len() < SETTINGS_MAX
        {
            self.settings.insert(key.to_owned(), value.to_owned());
        }
    }

    /// Returns a command of git with the settings that are known, given as options; any other command as it is.
    pub(super) fn with_settings(&self, words: &[Word], command: &Command) -> Vec<Word> {
        let Some((program, arguments)) = words.split_first() else { return Vec::new() };
        if name_of(&program.text) != "git" {
            return words.to_vec();
        }
        let text = |text: String| Word { text, ..Word::default() };
        let given = given_by_environment(command);
        let settings = self.settings.clone().into_iter().chain(given);
        let options =
            settings.flat_map(|(key, value)| [text("-c".to_owned()), text(format!("{key}={value}"))]);
        [program.clone()].into_iter().chain(options).chain(arguments.iter().cloned()).collect()
    }

    /// Takes out the alias that a command uses, with the line it means.
    pub(super) fn alias(&mut self, words: &[Word]) -> Option<(Alias, String)> {
        self.aliases.take(words)
    }

    pub(super) fn return_alias(&mut self, alias: Alias) {
        self.aliases.put_back(alias);
    }

    /// Sets the arguments of a function or a script, and returns the variables outside of it.
    pub(super) fn enter_call(&mut self, arguments: &[Word]) -> Variables {
        let outside = self.variables.clone();
        self.variables.set_arguments(arguments);
        outside
    }

    /// Gives the arguments of the caller back. What the body set stays set.
    pub(super) fn leave_call(&mut self, outside: Variables) {
        self.variables.restore_arguments(outside);
    }

    pub(super) fn variables(&self) -> Variables {
        self.variables.clone()
    }

    pub(super) fn set_variables(&mut self, variables: Variables) {
        self.variables = variables;
    }

    pub(super) fn assign(&mut self, command: &Command, certainty: Certainty) {
        self.variables.assign(command, certainty);
    }

    pub(super) fn assign_all(&mut self, assignments: &[Word]) {
        assignments.iter().for_each(|word| self.variables.assign_word(word, Certainty::Certain));
    }

    pub(super) fn enter_loops(&mut self, loops: &[Arc<ForLoop>]) {
        self.variables.enter_loops(loops);
    }

    pub(super) fn choices(&self, words: &[Word]) -> Vec<Choice> {
        self.variables.choices(words)
    }

    /// Returns the words of a command in the first way in which they may be expanded.
    pub(super) fn expanded(&self, words: &[Word]) -> Vec<Word> {
        self.choices(words).into_iter().next().map(|choice| choice.words).unwrap_or_default()
    }

    /// Returns what commands print that only print what they are given.
    pub(super) fn output_of(&self, stages: &[Stage]) -> Option<String> {
        self.variables.output_of_stages(stages, 0)
    }
}

/// Returns the settings that the variables before a command give to git.
fn given_by_environment(command: &Command) -> Vec<(String, String)> {
    let given = |name: String| {
        command
            .assignments
            .iter()
            .find_map(|word| word.text.strip_prefix(name.as_str())?.strip_prefix('=').map(str::to_owned))
    };
    let setting = |index: usize| {
        Some((given(format!("GIT_CONFIG_KEY_{index}"))?, given(format!("GIT_CONFIG_VALUE_{index}"))?))
    };
    (0..).map_while(setting).take(SETTINGS_MAX).collect()
}

/// Returns whether a name matches a file pattern, of which `?` and `*` are known.
fn matches(pattern: &[char], name: &[char]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some(('*', rest)), _) => {
            matches(rest, name) || name.split_first().is_some_and(|(_, after)| matches(pattern, after))
        }
        (Some(('?', rest)), Some((_, after))) => matches(rest, after),
        (Some((letter, rest)), Some((found, after))) => letter == found && matches(rest, after),
        _ => false,
    }
}
