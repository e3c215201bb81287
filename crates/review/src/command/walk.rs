//! The parts of a command line, with what is known of each.
//!
//! One file, because it is one walk over the tree of a line, with the folder, the variables and the guards that hold at each place.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::shell::{Command, Guard, Item, Join, Redirect, RedirectKind, Script, Stage, Word};

use super::code::{given_code, ignores_failures};
use super::files::{FolderPath, written};
use super::names::ShellNames;
use super::patched::patched;
use super::piped::{
    Input, all_but_unwritten, here_document, is_condition, piped_script, printed, runs_input, with_operands,
};
use super::staged::add_private_files;
use super::unlisted::lines_of_arguments;
use super::values::Certainty;
use super::voice::{Reads, Voice, defined_names, voice, writes_output_to_file};
use super::wrapper::{Unwrapped, unwrap};
use super::{
    Class, Deed, Ended, LineEnd, NamedFile, Part, Ran, Signs, formatters, manifests, partial, program,
};

/// The scripts inside of scripts that are read.
const DEPTH_MAX: usize = 8;
/// The parts of one line that are told apart. Those that change something that rules are about are always.
const PARTS_MAX: usize = 200;
/// The parts of one line, whatever they do.
const ACTING_PARTS_MAX: usize = 10_000;
/// The commands of one line that are read, each time that a loop or a function runs them counted.
const COMMANDS_MAX: usize = 20_000;

/// Returns the parts of a command line in the order in which they ran.
///
/// `folder` is the one the line ran in, relative to the log's; `signs` are those in its output.
pub fn parts(line: &str, folder: &str, end: LineEnd, signs: Signs) -> Vec<Part> {
    parts_after(line, folder, end, signs, &mut ShellNames::default())
}

/// Returns the parts of a command line that ran after others, which may have defined names that it uses.
///
/// `names` are the names that the earlier lines defined; those of this line are added.
pub fn parts_after(
    line: &str,
    folder: &str,
    end: LineEnd,
    signs: Signs,
    names: &mut ShellNames,
) -> Vec<Part> {
    names.carry();
    let mut walk = Walk {
        parts: Vec::new(),
        folder: FolderPath::Known(folder.to_owned()),
        entered: None,
        stops_at_failure: false,
        pipes_fail: false,
        signs,
        depth: 0,
        commands: 0,
        defined: defined_names(line),
        names: std::mem::take(names),
        functions: Vec::new(),
        called: BTreeSet::new(),
        voices: Vec::new(),
    };
    walk.script(&Script::read(line), line, end, Ran::Yes);
    walk.uncalled(line);
    *names = std::mem::take(&mut walk.names);
    let mut found = walk.with_voices();
    add_private_files(&mut found);
    found
}

struct Walk {
    parts: Vec<Part>,
    folder: FolderPath,
    /// The folder the line entered, as written.
    entered: Option<String>,
    /// `set -e`.
    stops_at_failure: bool,
    /// `set -o pipefail`.
    pipes_fail: bool,
    signs: Signs,
    depth: usize,
    /// The commands that were read.
    commands: usize,
    /// The names of functions and aliases that the line defines.
    defined: Vec<String>,
    /// The names of values and commands that are known.
    names: ShellNames,
    /// The functions that the line defines, and those of them that it calls.
    functions: Vec<Arc<str>>,
    called: BTreeSet<Arc<str>>,
    /// The output of each command that is no check.
    voices: Vec<Voice>,
}

impl Walk {
    /// Returns the parts. The output of the line is that of its checks if they are all of one kind and nothing else speaks.
    fn with_voices(mut self) -> Vec<Part> {
        let checks = |part: &&Part| part.deed.checks();
        let mut kinds: Vec<Deed> = self.parts.iter().filter(checks).map(|part| part.deed).collect();
        kinds.dedup();
        let is_alone = kinds.len() < 2 && !self.voices.contains(&Voice::Speaks);
        for part in self.parts.iter_mut().filter(|part| part.deed.checks()) {
            part.owns_output = is_alone && !writes_output_to_file(&part.source);
        }
        self.parts
    }

    fn script(&mut self, script: &Script, text: &str, end: LineEnd, ran: Ran) {
        if self.depth >= DEPTH_MAX {
            return;
        }
        self.depth += 1;
        self.functions.extend(self.names.define_functions(&script.items));
        let items: Vec<Item> = script.items.iter().filter(|item| item.function.is_none()).cloned().collect();
        let lists = lists(&items);
        let count = lists.len();
        for (index, list) in lists.into_iter().enumerate() {
            let is_last = index + 1 == count;
            let shown = match end {
                LineEnd::Absent => LineEnd::Absent,
                // What runs in the background ends later than the line.
                _ if list.iter().any(|item| item.in_background || item.negated) => LineEnd::Hidden,
                end if is_last => end,
                LineEnd::Well if self.stops_at_failure => LineEnd::Well,
                _ => LineEnd::Hidden,
            };
            self.list(list, text, shown, ran);
        }
        self.depth -= 1;
    }

    /// Walks the functions that the line defines and does not call: something else may call them.
    fn uncalled(&mut self, text: &str) {
        for name in std::mem::take(&mut self.functions) {
            if self.called.insert(name.clone())
                && let Some(body) = self.names.function(&name)
            {
                self.script(&body, text, LineEnd::Hidden, Ran::Maybe);
            }
        }
    }

    /// Walks pipelines joined by `&&` and `||`.
    fn list(&mut self, list: &[Item], text: &str, end: LineEnd, ran: Ran) {
        let fates = self.fates(list, end);
        for (item, (item_ran, ended)) in list.iter().zip(fates) {
            let guarded = match item.guard {
                Guard::Branch => Ran::Maybe,
                Guard::None | Guard::Condition | Guard::Loop => Ran::Yes,
            };
            let ended = if item.guard == Guard::None { ended } else { Ended::Unknown };
            self.pipeline(item, text, ran.max(item_ran).max(guarded), ended);
        }
    }

    /// Says for each pipeline of a list whether it ran and how it ended.
    fn fates(&self, list: &[Item], end: LineEnd) -> Vec<(Ran, Ended)> {
        let joined_by = |join: Join| list.iter().skip(1).all(|item| item.join == join);
        let deeds: Vec<Vec<Deed>> = list.iter().map(|item| self.deeds(item)).collect();
        let harmless = |deeds: &[Deed]| deeds.iter().all(|deed| *deed == Deed::Neutral);
        match end {
            LineEnd::Well if joined_by(Join::And) => vec![(Ran::Yes, Ended::Well); list.len()],
            LineEnd::Absent if joined_by(Join::And) => vec![(Ran::Yes, Ended::Unknown); list.len()],
            LineEnd::Badly if joined_by(Join::And) => self.fates_of_failed(&deeds),
            // With `||` alone, the whole fails only when each fails.
            LineEnd::Badly if joined_by(Join::Or) => vec![(Ran::Yes, Ended::Badly); list.len()],
            _ => {
                let mut ran = Ran::Yes;
                let mut fates = Vec::new();
                for (item, deeds) in list.iter().zip(&deeds) {
                    if item.join == Join::Or && !fates.is_empty() {
                        ran = Ran::Maybe;
                    }
                    fates.push((ran, Ended::Unknown));
                    // Commands that only prepare something are taken to succeed; a condition is there to fail.
                    if !harmless(deeds) || is_condition(item) {
                        ran = Ran::Maybe;
                    }
                }
                fates
            }
        }
    }

    /// A list joined by `&&` that failed: one of its pipelines failed, and those after it did not run.
    fn fates_of_failed(&self, deeds: &[Vec<Deed>]) -> Vec<(Ran, Ended)> {
        let has = |index: usize, deed: Deed| deeds.get(index).is_some_and(|found| found.contains(&deed));
        let only = |deed: Deed| {
            let mut places = (0..deeds.len()).filter(|index| has(*index, deed));
            places.next().filter(|_| places.next().is_none())
        };
        let mut failed = None;
        // Everything up to here succeeded.
        let mut done =
            deeds.iter().take_while(|deeds| deeds.iter().all(|deed| *deed == Deed::Neutral)).count();
        if let Some(place) = only(Deed::Tests) {
            if self.signs.tests_failed {
                failed = Some(place);
            } else if self.signs.tests_passed && place + 1 < deeds.len() {
                done = done.max(place + 1);
            }
        }
        if let Some(place) = only(Deed::Commit) {
            if self.signs.committed {
                done = done.max(place + 1);
            } else if self.signs.commit_failed {
                failed = failed.or(Some(place));
            }
        }
        if let Some(place) = only(Deed::Push) {
            if self.signs.push_failed {
                failed = failed.or(Some(place));
            } else if self.signs.pushed && place + 1 < deeds.len() {
                done = done.max(place + 1);
            }
        }
        let last = deeds.len().saturating_sub(1);
        // When all but the last are known to have succeeded, the last failed.
        let failed = failed.or((done >= last).then_some(last));
        let fate = |index: usize| match failed {
            Some(failed) if index < failed => (Ran::Yes, Ended::Well),
            Some(failed) if index == failed => (Ran::Yes, Ended::Badly),
            Some(_) => (Ran::No, Ended::NotDone),
            None if index < done => (Ran::Yes, Ended::Well),
            None if index == done => (Ran::Yes, Ended::Unknown),
            None if index == last => (Ran::Maybe, Ended::NotDone),
            None => (Ran::Maybe, Ended::Unknown),
        };
        (0..deeds.len()).map(fate).collect()
    }

    /// The deeds of a pipeline, to see whether it can fail and what its output shows.
    fn deeds(&self, item: &Item) -> Vec<Deed> {
        let mut found = Vec::new();
        for stage in &item.stages {
            match stage {
                Stage::Group(script, _) => {
                    found.extend(script.items.iter().flat_map(|item| self.deeds(item)))
                }
                Stage::Command(command) => found.push(match unwrap(&self.names.expanded(&command.words)) {
                    Unwrapped::Program(words) | Unwrapped::MoreOperands(words) => {
                        program::classify(words, &self.folder).deed
                    }
                    Unwrapped::Script(script) | Unwrapped::ScriptWith(script, _) => {
                        let inner = Script::read(&script);
                        let inner = inner.items.iter().filter(|_| self.depth < DEPTH_MAX);
                        let known = inner.flat_map(|item| item.stages.iter()).find_map(|stage| match stage {
                            Stage::Command(command) => {
                                let deed = program::classify(&command.words, &self.folder).deed;
                                deed.is_known().then_some(deed)
                            }
                            Stage::Group(..) => None,
                        });
                        known.unwrap_or(Deed::Other)
                    }
                }),
            }
        }
        found
    }

    fn pipeline(&mut self, item: &Item, text: &str, ran: Ran, ended: Ended) {
        self.names.enter_loops(&item.loops);
        let first = self.parts.len();
        let count = item.stages.len();
        for (index, stage) in item.stages.iter().enumerate() {
            let is_last = index + 1 == count;
            // Only the end of the last stage is seen, unless `pipefail` is set.
            let ended = match ended {
                _ if is_last => ended,
                Ended::Well if self.pipes_fail => Ended::Well,
                Ended::NotDone => Ended::NotDone,
                _ => Ended::Unknown,
            };
            let piped = self.piped(item, index);
            if let (Stage::Command(command), Some(script)) = (stage, &piped)
                && runs_input(&self.names.expanded(&command.words))
            {
                self.script(&Script::read(script), script, LineEnd::Hidden, ran);
                continue;
            }
            let input = match piped {
                _ if index == 0 => Input::Unpiped,
                Some(text) => Input::Known(text),
                None => Input::Unknown,
            };
            match stage {
                Stage::Command(command) => self.command(command, text, &input, ran, ended),
                Stage::Group(script, redirects) => {
                    self.redirects(redirects, None, ran, ended, "");
                    self.child(script, text, &[], ran, ended);
                }
            }
        }
        // All stages start together: a file that is written while tests run is no change after the tests.
        let is_plain = item.stages.iter().all(|stage| matches!(stage, Stage::Command(_)));
        if let Some(new) = self.parts.get_mut(first..).filter(|_| count > 1 && is_plain) {
            let is_beside = |part: &Part| match part.words.first() {
                None => true,
                Some(program) => matches!(program::name_of(program).as_str(), "tee" | "sponge"),
            };
            new.sort_by_key(|part| !is_beside(part));
        }
    }

    /// Returns what the stages before a stage print into it, if the line shows it.
    fn piped(&self, item: &Item, index: usize) -> Option<String> {
        let before = item.stages.get(..index).filter(|before| !before.is_empty())?;
        self.names.output_of(before).or_else(|| piped_script(item, index))
    }

    /// Walks a command, for each way in which its words may be expanded.
    fn command(&mut self, command: &Command, text: &str, input: &Input, ran: Ran, ended: Ended) {
        self.commands += 1;
        if self.commands > COMMANDS_MAX {
            return;
        }
        let targets = command.redirects.iter().map(|redirect| &redirect.target);
        let words = command.assignments.iter().chain(&command.words).chain(targets);
        for tokens in words.flat_map(|word| &word.inner) {
            self.script(&Script::of_tokens(tokens, text), text, LineEnd::Hidden, ran);
        }
        let certainty = if ran == Ran::Yes { Certainty::Certain } else { Certainty::Uncertain };
        if ran != Ran::No {
            self.names.assign(command, certainty);
        }
        let choices = self.names.choices(&command.words);
        let ended = if choices.len() > 1 && ended != Ended::NotDone { Ended::Unknown } else { ended };
        for choice in choices {
            let ran = if choice.certainty == Certainty::Uncertain { ran.max(Ran::Maybe) } else { ran };
            self.expanded(command, &choice.words, input, text, ran, ended);
        }
    }

    /// Walks a command whose words are those that its program gets.
    fn expanded(
        &mut self,
        command: &Command,
        all: &[Word],
        input: &Input,
        text: &str,
        ran: Ran,
        ended: Ended,
    ) {
        let (all, ran) = self.names.with_program(all, ran);
        // A shell without a script runs the lines it is given.
        if runs_input(&all) {
            let body = here_document(&command.redirects).map(str::to_owned);
            if let Some(body) = body.or_else(|| self.names.substituted(&command.redirects)) {
                return self.script(&Script::read(&body), &body, LineEnd::Hidden, ran);
            }
        }
        let (words, more) = match unwrap(&all) {
            Unwrapped::Program(words) => (words, false),
            Unwrapped::MoreOperands(words) => (words, true),
            Unwrapped::Script(script) => {
                self.redirects(&command.redirects, None, ran, ended, &command.source);
                return self.child(&Script::read(&script), &script, &command.assignments, ran, ended);
            }
            Unwrapped::ScriptWith(script, arguments) => {
                self.redirects(&command.redirects, None, ran, ended, &command.source);
                let outside = self.names.enter_call(arguments.get(1..).unwrap_or(&[]));
                self.child(&Script::read(&script), &script, &command.assignments, ran, ended);
                return self.names.leave_call(outside);
            }
        };
        self.redirects(&command.redirects, Some(words), ran, ended, &command.source);
        self.settings(words);
        self.names.define(words, ran);
        if let Some((alias, line)) = self.names.alias(words) {
            // Whether the shell of the log knew the alias already when it read the line is not known.
            self.script(&Script::read(&line), &line, LineEnd::Hidden, ran.max(Ran::Maybe));
            return self.names.return_alias(alias);
        }
        if self.call(words, text, ran, ended) {
            return;
        }
        if self.patch(command, words, input, ran, ended) {
            return;
        }
        let words = if more { with_operands(words, input) } else { words.to_vec() };
        self.hidden(command, &words, input, ran);
        let mut class = program::classify(&self.names.with_settings(&words, command), &self.folder);
        // A function or an alias has the name of a program, and may do anything.
        let is_defined = words.first().is_some_and(|program| self.defined.contains(&program.text));
        if is_defined && class.deed.checks() {
            class = Deed::Other.into();
        }
        let reads_pipe = !matches!(input, Input::Unpiped);
        if !class.deed.checks() && ran != Ran::No {
            let reads = if reads_pipe { Reads::Pipe } else { Reads::Nothing };
            self.voices.push(voice(command, &words, reads));
        }
        // A program in a pipe that reads what it is given is a filter.
        if reads_pipe && !more && matches!(class.deed, Deed::Read | Deed::Search | Deed::List) {
            class = Deed::Neutral.into();
        }
        if let Some(found) = given_code(&words, command, input)
            && class.deed == Deed::Other
        {
            class = found;
        }
        if class.deed == Deed::Other {
            self.lines(lines_of_arguments(&words), ran);
        }
        // A program that nobody knows may be the one that its words are written for.
        let foreseen = unknown_program(&words).filter(|_| class.deed == Deed::Other);
        let ran = if foreseen.is_some() { ran.max(Ran::Maybe) } else { ran };
        class = foreseen.unwrap_or(class);
        if class.deed == Deed::Format && self.signs.nothing_rewritten && !class.is_destructive {
            class = Deed::Other.into();
        }
        // A check that also fixes what it finds rewrites files.
        if class.deed == Deed::Lint && formatters::also_fixes(&words) {
            self.push(Deed::Format.into(), &words, None, ran, ended, &command.source);
        }
        // What installs a package also writes it down in a file of the project.
        if manifests::changes(&words) {
            self.push(Deed::Format.into(), &words, None, ran, ended, &command.source);
        }
        let updates = class.deed == Deed::Tests && manifests::updates_snapshots(&words, command);
        // Words that nobody wrote down may be options of a push.
        let shown: &[Word] =
            if more && class.deed != Deed::Push { all_but_unwritten(&words) } else { &words };
        // The message of a commit may be what the command reads.
        let read = || here_document(&command.redirects).or(input.text()).map(str::to_owned);
        let content = if class.deed == Deed::Commit { read() } else { None };
        self.push(class, shown, content, ran, ended, &command.source);
        // Tests that write down what they expect pass by what they just wrote.
        if updates {
            self.push(Deed::Format.into(), &words, None, ran, ended, &command.source);
        }
    }

    /// Adds the files that a patch of `apply_patch` changes; returns whether the command is that.
    fn patch(&mut self, command: &Command, words: &[Word], input: &Input, ran: Ran, ended: Ended) -> bool {
        let is_patch = words.first().is_some_and(|program| {
            matches!(program::name_of(&program.text).as_str(), "apply_patch" | "applypatch")
        });
        if !is_patch {
            return false;
        }
        let given = words.get(1).map(|word| word.text.as_str());
        let text = here_document(&command.redirects).or(given).or(input.text()).unwrap_or("").to_owned();
        let files = patched(&text);
        if files.is_empty() {
            self.push(Deed::Format.into(), words.get(..1).unwrap_or(&[]), None, ran, ended, "apply_patch");
        }
        for found in files {
            let place = |path: &str| self.folder.join(path).unwrap_or_else(|| path.to_owned());
            let file = NamedFile {
                path: place(&found.file.path),
                renamed_to: found.file.renamed_to.as_deref().map(place),
            };
            let source = format!("apply_patch {}", file.path);
            let class = Class::with_files(found.deed, vec![file]);
            let content = (!found.added.is_empty()).then_some(found.added);
            self.push(class, words.get(..1).unwrap_or(&[]), content, ran, ended, &source);
        }
        true
    }

    /// Adds the deeds that a command hides in a script or in code. What else it does there is left to its name.
    fn hidden(&mut self, command: &Command, words: &[Word], input: &Input, ran: Ran) {
        let folder = self.folder.clone();
        let place = |path: &str| folder.join(path);
        let lines = self.names.hidden_lines(command, words, input.text(), place);
        self.lines(lines, ran);
    }

    /// Adds those deeds of command lines that rules are about. Whether the lines ran is not known.
    fn lines(&mut self, lines: Vec<String>, ran: Ran) {
        let (first, voices) = (self.parts.len(), self.voices.len());
        for line in lines {
            self.child(&Script::read(&line), &line, &[], ran.max(Ran::Maybe), Ended::Unknown);
        }
        self.voices.truncate(voices);
        let new = self.parts.split_off(first.min(self.parts.len()));
        let acts =
            |part: &Part| part.is_destructive || part.deed == Deed::Delete || part.deed.is_consequential();
        self.parts.extend(new.into_iter().filter(acts));
    }

    /// Walks a script that a shell of its own runs, with the variables that are set for it.
    fn child(&mut self, script: &Script, text: &str, assignments: &[Word], ran: Ran, ended: Ended) {
        let outside = (self.folder.clone(), self.entered.clone(), self.names.variables());
        self.names.assign_all(assignments);
        self.script(script, text, line_end(ended), ran);
        let variables;
        (self.folder, self.entered, variables) = outside;
        self.names.set_variables(variables);
    }

    /// Walks the body of a function that a command calls; returns whether it was one.
    fn call(&mut self, words: &[Word], text: &str, ran: Ran, ended: Ended) -> bool {
        let Some((program, arguments)) = words.split_first() else { return false };
        let Some(body) = self.names.function(&program.text) else { return false };
        if self.depth >= DEPTH_MAX {
            return false;
        }
        self.called.insert(program.text.as_str().into());
        // A function of an earlier line is known only to the shell that ran it.
        let is_own = self.functions.iter().any(|name| **name == program.text);
        let ran = if is_own { ran } else { ran.max(Ran::Maybe) };
        let outside = self.names.enter_call(arguments);
        self.script(&body, text, line_end(ended), ran);
        self.names.leave_call(outside);
        true
    }

    /// Notes what `cd` and `set` change for the rest of the line.
    fn settings(&mut self, words: &[Word]) {
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        match texts.as_slice() {
            ["cd" | "pushd", ..] => {
                let target = words.iter().skip(1).find(|word| !word.text.starts_with('-'));
                self.folder = target.map_or(FolderPath::Unknown, |word| self.folder.enter(word));
                self.entered = match &self.folder {
                    FolderPath::Known(path) => Some(path.clone()),
                    FolderPath::Unknown => None,
                };
            }
            ["set", "--", ..] => {}
            ["set", options @ ..] => {
                let short = |flag: char| {
                    options.iter().any(|option| {
                        option
                            .strip_prefix('-')
                            .is_some_and(|flags| !flags.starts_with('-') && flags.contains(flag))
                    })
                };
                self.stops_at_failure |= short('e') || options.contains(&"errexit");
                self.pipes_fail |= options.contains(&"pipefail");
            }
            _ => {}
        }
    }

    /// Adds the files that redirections write.
    fn redirects(
        &mut self,
        redirects: &[Redirect],
        words: Option<&[Word]>,
        ran: Ran,
        ended: Ended,
        source: &str,
    ) {
        for redirect in redirects {
            let deed = match redirect.kind {
                RedirectKind::Write => Deed::Create,
                RedirectKind::Append => Deed::Edit,
                RedirectKind::Read | RedirectKind::HereDocument | RedirectKind::Duplicate => continue,
            };
            let target = &redirect.target;
            let path = (!target.expands && !target.needs_shell && !target.text.is_empty())
                .then(|| self.folder.join(&target.text))
                .flatten();
            let content = here_document(redirects).map(str::to_owned).or_else(|| printed(words?));
            if let (Some(path), Some(content)) = (&path, &content) {
                self.names.note_file(path, content, redirect.kind == RedirectKind::Append);
            }
            let class = written(deed, path.into_iter().map(NamedFile::at).collect());
            if class.deed == Deed::Neutral {
                continue;
            }
            // The file is opened, and so changed, even when the program then fails.
            let ended = if ended == Ended::Badly { Ended::Unknown } else { ended };
            self.push(class, &[], content, ran, ended, source);
        }
    }

    fn push(
        &mut self,
        class: Class,
        words: &[Word],
        content: Option<String>,
        ran: Ran,
        ended: Ended,
        source: &str,
    ) {
        let Class { deed, files, mut force, mut is_destructive } = class;
        // Git says itself that it overwrote a branch, whatever told it to.
        if deed == Deed::Push && self.signs.forced {
            (force, is_destructive) = (true, true);
        }
        let acts = is_destructive || deed.changes_file() || deed.is_consequential();
        if self.parts.len() >= if acts { ACTING_PARTS_MAX } else { PARTS_MAX } {
            return;
        }
        let ended = match deed {
            // What git printed is known even where the exit code is not.
            Deed::Commit if ended == Ended::Unknown && self.signs.committed => Ended::Well,
            Deed::Commit if matches!(ended, Ended::Unknown | Ended::Well) && self.signs.commit_failed => {
                Ended::Badly
            }
            Deed::Push if self.signs.pushed && self.signs.push_failed => Ended::Unknown,
            Deed::Push if ended == Ended::Unknown && self.signs.push_failed => Ended::Badly,
            Deed::Tests | Deed::Lint | Deed::Types if ended == Ended::Well && ignores_failures(words) => {
                Ended::Unknown
            }
            // A deed that failed may be done in part.
            _ if ended == Ended::Badly && partial::may_be(deed, &files, words) => Ended::Unknown,
            _ => ended,
        };
        let ran =
            if deed == Deed::Commit && self.signs.committed && ended == Ended::Well { Ran::Yes } else { ran };
        self.parts.push(Part {
            deed,
            files,
            words: words.iter().map(|word| word.text.clone()).collect(),
            open: match unknown_program(words) {
                Some(_) => vec![0],
                None => super::open::open_words(words),
            },
            force,
            is_destructive,
            source: source.to_owned(),
            folder: self.entered.clone(),
            content,
            private_files: Vec::new(),
            owns_output: true,
            ran,
            ended,
        });
    }
}

/// Classifies a command whose program is not known because a shell puts it in: what its words say, it may have done.
fn unknown_program(words: &[Word]) -> Option<Class> {
    let (program, arguments) = words.split_first()?;
    let is_whole = program.expansions.first().is_some_and(|expansion| expansion.place.start == 0);
    let command = arguments.iter().find(|word| !word.text.starts_with('-'))?;
    // No command of git has this name, but nearly everybody who has it as an alias commits by it.
    if program::name_of(&program.text) == "git" && arguments.first().is_some_and(|word| word.text == "ci") {
        return Some(Deed::Commit.into());
    }
    match command.text.as_str() {
        _ if !is_whole => None,
        // Nobody knows what the options of a program mean that nobody knows.
        "push" => Some(Deed::Push.into()),
        "commit" => Some(Deed::Commit.into()),
        _ => None,
    }
}

/// Returns the end of a script, given that of the command that runs it.
fn line_end(ended: Ended) -> LineEnd {
    match ended {
        Ended::Well => LineEnd::Well,
        Ended::Badly => LineEnd::Badly,
        Ended::Unknown | Ended::NotDone => LineEnd::Hidden,
    }
}

/// Splits pipelines where neither `&&` nor `||` joins them.
fn lists(items: &[Item]) -> Vec<&[Item]> {
    let mut found = Vec::new();
    let mut start = 0;
    for (index, item) in items.iter().enumerate() {
        if index > start && item.join == Join::Then {
            found.extend(items.get(start..index));
            start = index;
        }
    }
    found.extend(items.get(start..).filter(|list| !list.is_empty()));
    found
}
