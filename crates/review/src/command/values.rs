//! The values of variables and the output of commands, as far as a command line itself shows them.
//!
//! `F=--force; git push $F` and `git $(echo push) -f` push with force. A word is replaced by what a shell would put in its
//! place where the line, or an earlier one, says what that is; any other expansion stays as it is written.

use std::collections::BTreeMap;

use crate::shell::{
    Command, ExpansionSource, ForLoop, Quotes, RedirectKind, Script, Stage, Token, Word, is_name,
};

/// The values that one variable is told apart by, and the commands that one command with such variables stands for.
const CHOICES_MAX: usize = 16;
/// The variables that are remembered.
const VARIABLES_MAX: usize = 1000;
/// The stages of a pipeline whose output is computed.
const STAGES_MAX: usize = 8;
/// The bytes of a value that are read.
const VALUE_BYTES_MAX: usize = 64 * 1024;
/// The substitutions inside of substitutions that are computed.
const DEPTH_MAX: usize = 8;

/// The values that a variable may have.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Variable {
    values: Vec<String>,
    certainty: Certainty,
}

/// Whether a command is known to be the one that ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(super) enum Certainty {
    Certain,
    /// A value in it was set under a condition, or by an earlier line that another shell may have run.
    Uncertain,
}

/// The variables that are set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Variables {
    known: BTreeMap<String, Variable>,
}

/// The words of a command after its expansions.
pub(super) struct Choice {
    pub(super) words: Vec<Word>,
    pub(super) certainty: Certainty,
}

impl Variables {
    /// Marks all values as those of an earlier line.
    pub(super) fn carry(&mut self) {
        self.known.values_mut().for_each(|variable| variable.certainty = Certainty::Uncertain);
    }

    /// Sets a variable. What is set under a condition leaves the earlier values possible.
    pub(super) fn set(&mut self, name: &str, value: String, certainty: Certainty) {
        if !is_name(name) || value.len() > VALUE_BYTES_MAX {
            self.known.remove(name);
            return;
        }
        let mut values = vec![value];
        if certainty == Certainty::Uncertain
            && let Some(before) = self.known.get(name)
        {
            for value in &before.values {
                if !values.contains(value) && values.len() < CHOICES_MAX {
                    values.push(value.clone());
                }
            }
        }
        if self.known.len() >= VARIABLES_MAX && !self.known.contains_key(name) {
            return;
        }
        self.known.insert(name.to_owned(), Variable { values, certainty });
    }

    /// Sets the arguments that a function or a script is given.
    pub(super) fn set_arguments(&mut self, arguments: &[Word]) {
        self.known.retain(|name, _| is_name(name));
        let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
        let mut put = |name: String, value: String| {
            self.known.insert(name, Variable { values: vec![value], certainty: Certainty::Certain });
        };
        for (index, text) in texts.iter().enumerate().take(9) {
            put((index + 1).to_string(), (*text).to_owned());
        }
        put("@".to_owned(), texts.join(" "));
        put("*".to_owned(), texts.join(" "));
    }

    /// Gives back the arguments that were set before.
    pub(super) fn restore_arguments(&mut self, before: Self) {
        self.known.retain(|name, _| is_name(name));
        self.known.extend(before.known.into_iter().filter(|(name, _)| !is_name(name)));
    }

    /// Notes what an assignment, or a command such as `export`, sets.
    pub(super) fn assign(&mut self, command: &Command, certainty: Certainty) {
        let is_alone = command.words.is_empty();
        for word in command.assignments.iter().filter(|_| is_alone) {
            self.assign_word(word, certainty);
        }
        let Some((program, arguments)) = command.words.split_first() else { return };
        match program.text.as_str() {
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                arguments.iter().for_each(|word| self.assign_word(word, certainty));
            }
            "unset" => arguments.iter().for_each(|word| drop(self.known.remove(&word.text))),
            // `set -- -f` sets the arguments.
            "set" if arguments.first().is_some_and(|word| word.text == "--") => {
                let given = self.choices(arguments.get(1..).unwrap_or(&[])).into_iter().next();
                self.set_arguments(&given.map(|choice| choice.words).unwrap_or_default());
            }
            // `printf -v X %s push`
            "printf" if arguments.first().is_some_and(|word| word.text == "-v") => {
                let given = self.choices(arguments.get(2..).unwrap_or(&[])).into_iter().next();
                let given = given.map(|choice| choice.words).unwrap_or_default();
                let texts: Vec<&str> = given.iter().map(|word| word.text.as_str()).collect();
                if let (Some(name), Some(value)) = (arguments.get(1), formatted(&texts)) {
                    self.set(&name.text, value, certainty);
                }
            }
            // `read X <<< push`
            "read" => {
                let given = command.redirects.iter().find_map(|redirect| redirect.body.clone());
                let name = arguments.iter().rfind(|word| is_name(&word.text));
                if let (Some(name), Some(given)) = (name, given) {
                    self.set(&name.text, given.trim().to_owned(), certainty);
                }
            }
            _ => {}
        }
    }

    /// Notes an assignment.
    pub(super) fn assign_word(&mut self, word: &Word, certainty: Certainty) {
        let Some(equals) = word.equals else { return };
        let Some(name) = word.text.get(..equals).map(str::to_owned) else { return };
        let (name, adds) = match name.strip_suffix('+') {
            Some(name) => (name.to_owned(), true),
            None => (name, false),
        };
        // A value keeps its spaces: an assignment is one word.
        let whole =
            self.texts(word, 0).filter(|texts| texts.iter().all(|text| text.text.len() <= VALUE_BYTES_MAX));
        let Some(whole) = whole else {
            self.known.remove(&name);
            return;
        };
        let before = self.known.get(&name).filter(|_| adds).map(|before| before.values.clone());
        for (index, text) in whole.iter().enumerate() {
            let value = text.text.get(equals + 1..).unwrap_or("").trim_matches(['(', ')']);
            let certainty = if index > 0 { Certainty::Uncertain } else { certainty.max(text.certainty) };
            let first = before.as_ref().and_then(|before| before.first());
            self.set(&name, format!("{}{value}", first.map_or("", String::as_str)), certainty);
        }
    }

    /// Sets the variables of loops to all the words that they run over.
    pub(super) fn enter_loops(&mut self, loops: &[std::sync::Arc<ForLoop>]) {
        for head in loops {
            let choices = self.choices(&head.words);
            let words: Vec<&Word> =
                choices.iter().flat_map(|choice| &choice.words).take(CHOICES_MAX).collect();
            // The names of files that match a pattern are not known.
            if words.is_empty() || words.iter().any(|word| word.expands || word.needs_shell) {
                self.known.remove(&head.name);
                continue;
            }
            let values = words.into_iter().map(|word| word.text.clone()).collect();
            self.known.insert(head.name.clone(), Variable { values, certainty: Certainty::Certain });
        }
    }

    /// Returns the commands that some words stand for: one for each way in which they may be expanded.
    pub(super) fn choices(&self, words: &[Word]) -> Vec<Choice> {
        let mut found = vec![Choice { words: Vec::new(), certainty: Certainty::Certain }];
        for word in words {
            let mut ways = self.fields(word);
            // Nearly every word is expanded in one way, which adds to what was found in place.
            if let [(fields, certainty)] = ways.as_mut_slice() {
                for choice in &mut found {
                    choice.words.extend(fields.iter().cloned());
                    choice.certainty = choice.certainty.max(*certainty);
                }
                continue;
            }
            let mut next = Vec::new();
            for choice in &found {
                for (fields, certainty) in &ways {
                    let words = choice.words.iter().chain(fields).cloned().collect();
                    next.push(Choice { words, certainty: choice.certainty.max(*certainty) });
                }
            }
            next.truncate(CHOICES_MAX);
            found = next;
        }
        found
    }

    /// Returns the words that one word becomes, for each way in which it may be expanded.
    fn fields(&self, word: &Word) -> Vec<(Vec<Word>, Certainty)> {
        if word.expansions.is_empty() {
            return vec![(in_braces(word), Certainty::Certain)];
        }
        let Some(texts) = self.texts(word, 0) else { return vec![(vec![word.clone()], Certainty::Certain)] };
        texts.into_iter().map(|text| (text.fields(word), text.certainty)).collect()
    }

    /// Returns the texts that a word may become; nothing if something in it is not known.
    fn texts(&self, word: &Word, depth: usize) -> Option<Vec<Text>> {
        let mut found = vec![Text::default()];
        let mut at = 0;
        for expansion in &word.expansions {
            let literal = word.text.get(at..expansion.place.start)?;
            at = expansion.place.end;
            let (values, certainty) = self.values(&expansion.source, word, depth)?;
            let mut next = Vec::new();
            for text in &found {
                for value in &values {
                    let mut text = text.clone();
                    text.text.push_str(literal);
                    let start = text.text.len();
                    text.text.push_str(value);
                    if expansion.quotes == Quotes::Outside {
                        text.split.push(start..text.text.len());
                    }
                    text.certainty = text.certainty.max(certainty);
                    next.push(text);
                }
            }
            next.truncate(CHOICES_MAX);
            found = next;
        }
        let rest = word.text.get(at..)?;
        found.iter_mut().for_each(|text| text.text.push_str(rest));
        let is_short = found.iter().all(|text| text.text.len() <= VALUE_BYTES_MAX);
        is_short.then_some(found)
    }

    fn values(
        &self,
        source: &ExpansionSource,
        word: &Word,
        depth: usize,
    ) -> Option<(Vec<String>, Certainty)> {
        match source {
            ExpansionSource::Variable { name, otherwise } => match (self.variable(name), otherwise) {
                (Some(variable), _) => Some((variable.values.clone(), variable.certainty)),
                (None, Some(otherwise)) => {
                    let plain = otherwise.trim_matches(['"', '\'']);
                    // The variable may come from outside of the line; `${FORCE:-}` says only that it may.
                    (!plain.is_empty() && !plain.contains(['$', '`']))
                        .then(|| (vec![plain.to_owned()], Certainty::Uncertain))
                }
                (None, None) => None,
            },
            ExpansionSource::Output(index) => {
                let printed = self.output_of(word.inner.get(*index)?, depth + 1)?;
                Some((vec![printed.trim_end_matches('\n').to_owned()], Certainty::Certain))
            }
            ExpansionSource::Unknown => None,
        }
    }

    /// Returns a variable; `!X` is the one that the value of `X` names.
    fn variable(&self, name: &str) -> Option<&Variable> {
        match name.strip_prefix('!').filter(|inner| !inner.is_empty()) {
            Some(inner) => self.known.get(self.known.get(inner)?.values.first()?),
            None => self.known.get(name),
        }
    }

    /// Returns what the commands of a substitution print, if they only print what they are given.
    pub(super) fn output_of(&self, tokens: &[Token], depth: usize) -> Option<String> {
        if depth > DEPTH_MAX {
            return None;
        }
        let script = Script::of_tokens(tokens, "");
        let [item] = script.items.as_slice() else { return None };
        self.output_of_stages(&item.stages, depth)
    }

    /// Returns what a pipeline prints, if it only prints what it is given.
    pub(super) fn output_of_stages(&self, stages: &[Stage], depth: usize) -> Option<String> {
        if stages.len() > STAGES_MAX {
            return None;
        }
        let mut printed: Option<String> = None;
        for stage in stages {
            let Stage::Command(command) = stage else { return None };
            let mut words = Vec::new();
            for word in &command.words {
                let texts = if word.expansions.is_empty() { None } else { Some(self.texts(word, depth)?) };
                match texts {
                    Some(texts) => words.extend(texts.first()?.fields(word)),
                    None => words.extend(in_braces(word)),
                }
            }
            let given = command.redirects.iter().find_map(|redirect| redirect.body.clone());
            let writes = |kind: RedirectKind| matches!(kind, RedirectKind::Write | RedirectKind::Append);
            if command.redirects.iter().any(|redirect| writes(redirect.kind)) {
                return None;
            }
            printed =
                Some(printed_by(&words, given.or(printed))?).filter(|text| text.len() <= VALUE_BYTES_MAX);
        }
        printed
    }
}

/// A text that a word may become.
#[derive(Clone, Debug)]
struct Text {
    text: String,
    /// The bytes that came from an expansion outside of quotes, which is split at its spaces.
    split: Vec<std::ops::Range<usize>>,
    certainty: Certainty,
}

impl Default for Text {
    fn default() -> Self {
        Self { text: String::new(), split: Vec::new(), certainty: Certainty::Certain }
    }
}

impl Text {
    fn fields(&self, word: &Word) -> Vec<Word> {
        let is_split = |at: usize| self.split.iter().any(|place| place.contains(&at));
        let mut fields: Vec<String> = Vec::new();
        let mut field = String::new();
        let mut is_open = word.quoted;
        for (at, letter) in self.text.char_indices() {
            if letter.is_whitespace() && is_split(at) {
                if is_open || !field.is_empty() {
                    fields.push(std::mem::take(&mut field));
                }
                is_open = false;
            } else {
                field.push(letter);
            }
        }
        if is_open || !field.is_empty() {
            fields.push(field);
        }
        // `"$@"` is one word for each argument.
        let is_list =
            word.text.starts_with("${") && word.text.ends_with("[@]}") && word.expansions.len() == 1;
        let is_arguments = (matches!(word.text.as_str(), "$@" | "${@}") || is_list) && word.quoted;
        if is_arguments {
            fields = self.text.split_whitespace().map(str::to_owned).collect();
        }
        let plain = |text: String| {
            let has_pattern = word.has_pattern || !self.split.is_empty() && text.contains(['*', '?', '[']);
            let equals = text.find('=');
            Word { equals, expands: has_pattern, has_pattern, quoted: word.quoted, text, ..Word::default() }
        };
        fields.into_iter().map(plain).collect()
    }
}

/// Returns the words that `{a,b}` becomes outside of quotes.
fn in_braces(word: &Word) -> Vec<Word> {
    let text = word.text.as_str();
    let braces = text.find('{').zip(text.rfind('}')).filter(|(open, close)| open < close);
    let parts = braces.and_then(|(open, close)| {
        Some((text.get(..open)?, text.get(open + 1..close)?, text.get(close + 1..)?))
    });
    match parts {
        Some((before, inside, after))
            if !word.quoted && inside.contains(',') && !inside.contains(['{', '}']) =>
        {
            let parts = inside.split(',').take(CHOICES_MAX);
            let made = parts.map(|part| Word { text: format!("{before}{part}{after}"), ..word.clone() });
            made.filter(|word| !word.text.is_empty()).collect()
        }
        _ => vec![word.clone()],
    }
}

/// Returns what a program prints that only prints what it is given.
fn printed_by(words: &[Word], input: Option<String>) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    match (program.text.rsplit('/').next()?, texts.as_slice()) {
        ("echo", texts) => {
            let is_option = |text: &&&str| matches!(**text, "-n" | "-e" | "-E" | "-ne" | "-en");
            let skip = texts.iter().take_while(is_option).count();
            Some(format!("{}\n", texts.get(skip..)?.join(" ")))
        }
        ("printf", texts) => formatted(texts),
        ("cat", []) | ("cat", ["-"]) => input,
        ("rev", []) => {
            Some(input?.lines().map(|line| line.chars().rev().collect::<String>() + "\n").collect())
        }
        // The path of a program is as good as its name.
        ("which" | "whereis", [.., name]) => Some(format!("{name}\n")),
        ("command" | "type", ["-v" | "-p" | "-P" | "-V", name]) => Some(format!("{name}\n")),
        ("xcrun", ["-f" | "--find", name]) => Some(format!("{name}\n")),
        ("base64", ["-d" | "-D" | "--decode"]) => decoded(&input?),
        ("tr", ["-d", "\n" | "\\n"]) => Some(input?.replace('\n', "")),
        ("tr", [from, to]) => translated(&input?, from, to),
        ("head" | "tail" | "sort" | "uniq", _) => input.filter(|text| text.lines().count() <= 1),
        _ => None,
    }
}

/// Returns what `printf` writes, if its format has only texts and known escapes.
fn formatted(texts: &[&str]) -> Option<String> {
    let (format, arguments) = texts.split_first()?;
    let mut arguments = arguments.iter();
    let mut printed = String::new();
    loop {
        let before = arguments.len();
        let mut letters = format.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '%' => match letters.next()? {
                    's' | 'b' | 'd' | 'q' => printed.push_str(arguments.next().copied().unwrap_or("")),
                    '%' => printed.push('%'),
                    _ => return None,
                },
                '\\' => match letters.next()? {
                    'n' => printed.push('\n'),
                    't' => printed.push('\t'),
                    other => printed.extend(['\\', other]),
                },
                plain => printed.push(plain),
            }
        }
        // The format is used again until no argument is left.
        if arguments.len() == 0 || arguments.len() == before || printed.len() > VALUE_BYTES_MAX {
            return Some(printed);
        }
    }
}

fn decoded(text: &str) -> Option<String> {
    let letters = text.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=');
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0_u32);
    for letter in letters {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Returns a text in which each letter of a list is replaced by the one at the same place of another list.
fn translated(text: &str, from: &str, to: &str) -> Option<String> {
    let is_range = |list: &str| list.contains('-') || list.contains('[') || list.contains('\\');
    if is_range(from) || is_range(to) {
        return None;
    }
    let to: Vec<char> = to.chars().collect();
    let replace = |letter: char| match from.chars().position(|found| found == letter) {
        Some(place) => to.get(place).or(to.last()).copied().unwrap_or(letter),
        None => letter,
    };
    Some(text.chars().map(replace).collect())
}
