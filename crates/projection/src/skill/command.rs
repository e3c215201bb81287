//! The commands that a call runs, as the actions they are: `git push -f` is a forced push, whatever runs it.
//!
//! They are read from the input of the call and from the program that its capability starts, by the rules by which
//! imported logs are read, so that a policy judges a run as it judges a log. Both are known before the call.

use std::collections::BTreeMap;

use hence_canon::{Object, Value};
use hence_cognition::run::{StepOutcome, is_proposed, possible_calls};
use hence_cognition::skill::{Flow, Step};
use hence_cognition::state::StepStatus;
use hence_review::command::{
    Callee, Deed as PartDeed, Ended, LineEnd, NamedFile, Part, Ran, ShellNames, Signs, folder_given, line_of,
    lines_given, merged, parts_after, push_given,
};
use hence_review::secret;
use hence_review::vocabulary::{ActionType, ActivityType};
use hence_skills::Effect;

use super::{SkillView, approval, facts, kind};

/// One thing that a call does.
#[derive(Clone, Debug)]
pub(super) struct Deed {
    pub(super) kind: ActionType,
    /// The command that does it, if one does.
    pub(super) part: Option<Part>,
    /// The file that it changes, if the command names several.
    pub(super) file: Option<NamedFile>,
    /// Whether the program of the capability does it: that the call succeeded then says that the program did.
    is_program: bool,
    /// Whether it is all that the call does.
    pub(super) is_whole: bool,
}

/// Everything that a call does, in order.
pub(super) struct Deeds {
    pub(super) all: Vec<Deed>,
    /// The place of the one that is the call itself and has its result.
    pub(super) main: usize,
    /// The commands that did not run, or failed, because the line ended with an error.
    pub(super) not_done: Vec<String>,
}

impl Deeds {
    /// Returns the one that is the call itself.
    pub(super) fn main(&self) -> &Deed {
        self.all.get(self.main).expect("a call does at least one thing, and `main` is the place of one")
    }

    /// Says which commands had no effect.
    pub(super) fn left_out(&self) -> Option<String> {
        let commands = self.not_done.join("`, `");
        let note = format!("did not run, or failed, because the line ended with an error: `{commands}`");
        (!self.not_done.is_empty()).then_some(note)
    }
}

impl Deed {
    fn of_call(kind: ActionType) -> Self {
        Self { kind, part: None, file: None, is_program: false, is_whole: true }
    }

    /// Returns the files that it changes or reads.
    pub(super) fn files(&self) -> impl Iterator<Item = &NamedFile> {
        let named = self.part.iter().flat_map(|part| &part.files).filter(|_| self.file.is_none());
        self.file.iter().chain(named)
    }

    pub(super) fn is_destructive(&self) -> bool {
        self.part.as_ref().is_some_and(|part| part.is_destructive)
    }

    /// Returns whether the exit code of the call is that of the command.
    pub(super) fn owns_exit_code(&self) -> bool {
        let ended = |part: &Part| part.ran == Ran::Yes && matches!(part.ended, Ended::Well | Ended::Badly);
        self.part.as_ref().is_none_or(ended)
    }

    /// Returns whether the output of the call is that of the command. What the program of a capability prints is its report.
    pub(super) fn owns_output(&self) -> bool {
        self.is_program || self.part.as_ref().is_none_or(|part| part.owns_output)
    }

    /// Returns the exit code of the command, if the call shows it. A program that failed is a call that failed.
    pub(super) fn exit_code(&self, outcome: &StepOutcome) -> Option<i64> {
        if !self.owns_exit_code() {
            return None;
        }
        let ended_well =
            self.is_program && outcome.status == StepStatus::Completed && kind::checks(self.kind);
        facts::exit_code(outcome).or(ended_well.then_some(0))
    }

    /// Returns how a command that is not the call itself ended.
    pub(super) fn result(&self, outcome: &StepOutcome) -> Option<Object> {
        let part = self.part.as_ref()?;
        let code = self.exit_code(outcome);
        let status = match part.ended {
            _ if part.ran == Ran::Maybe => Some("unknown"),
            Ended::Unknown => Some("unknown"),
            Ended::Badly | Ended::NotDone => Some("failed"),
            // That a check was run says nothing about what it found.
            Ended::Well if kind::checks(self.kind) && code.is_none() => None,
            Ended::Well => Some("completed"),
        };
        let members = [("status", status.map(Value::from)), ("exit_code", code.map(Value::from))];
        let result: Object = members.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
        (!result.is_empty()).then_some(result)
    }

    /// Returns the members of a request that the command adds.
    pub(super) fn request(&self) -> Vec<(&'static str, Value)> {
        let mut members = Vec::new();
        let Some(part) = &self.part else { return members };
        let words = secret::words_without_secrets(&part.words);
        if let Some(program) = words.first() {
            members.push(("program", Value::from(program.as_str())));
            members.push(("arguments", facts::shown(&part.arguments().into_iter().collect(), 0)));
        }
        members.extend(self.files().next().map(|file| ("path", Value::from(file.path.as_str()))));
        if self.kind == ActivityType::GitPush.into() {
            members.push(("force", part.force_value()));
        }
        members.extend(private_files_member(&part.private_files));
        members
    }

    /// Returns whether the text of the command, what it writes or what it commits holds a secret.
    pub(super) fn holds_secret(&self) -> bool {
        let texts = |part: &Part| {
            secret::contains(&part.source)
                || part.content.as_deref().is_some_and(secret::contains)
                || !part.private_files.is_empty()
        };
        self.part.as_ref().is_some_and(texts)
    }

    /// Returns the facts about it that the record does not show.
    pub(super) fn note(&self) -> Option<&'static str> {
        let is_maybe = self.part.as_ref().is_some_and(|part| part.ran == Ran::Maybe);
        is_maybe.then_some("whether it ran depends on something that the record does not show")
    }
}

/// Returns the member of a commit's request that lists the files that count as secrets because of their names.
pub(crate) fn private_files_member(files: &[String]) -> Option<(&'static str, Value)> {
    let names = || files.iter().map(|path| Value::from(path.as_str())).collect();
    (!files.is_empty()).then(|| ("private_files", names()))
}

/// A command line of a call.
struct Line {
    text: String,
    folder: String,
    is_program: bool,
}

impl SkillView<'_> {
    /// Returns what a call did, or will do: the commands that it runs, or else what it is said to be.
    pub(super) fn deeds(&self, step: &Step, outcome: &StepOutcome) -> Deeds {
        self.deeds_as(self.kind(step, Some(outcome)), step, outcome)
    }

    /// Returns what a call did that is said to be an action of this type.
    pub(super) fn deeds_as(&self, said: ActionType, step: &Step, outcome: &StepOutcome) -> Deeds {
        self.deeds_after(said, step, outcome, &mut self.names.clone())
    }

    /// Adds to the known names those that the commands of a call define for later ones: settings of git. A shell that a call
    /// starts ends with the call.
    pub(super) fn note_names(&mut self, outcome: &StepOutcome) {
        let runs = |id: &str| self.host.effect(id) == Effect::Acts || self.host.program(id).is_some();
        let Some(step) = self.step_of(&outcome.step_id).filter(|_| outcome.called.keys().any(|id| runs(id)))
        else {
            return;
        };
        let mut names = self.names.clone();
        self.deeds_after(self.kind(step, Some(outcome)), step, outcome, &mut names);
        self.names = names;
    }

    fn deeds_after(
        &self,
        said: ActionType,
        step: &Step,
        outcome: &StepOutcome,
        names: &mut ShellNames,
    ) -> Deeds {
        let alone = |kind| Deeds { all: vec![Deed::of_call(kind)], main: 0, not_done: Vec::new() };
        let has_no_call = kind::is_uncalled(step, outcome)
            || outcome.status == StepStatus::Skipped
            || approval::is_question(said)
            || matches!(said, ActionType::Governance(_));
        if has_no_call {
            return alone(said);
        }
        let lines = self.lines(step, outcome, said);
        let given = lines.iter().filter(|line| !line.is_program).count();
        let signs = outcome.produced.as_ref().map(signs_of).unwrap_or_default();
        let mut found = Vec::new();
        let mut not_done = Vec::new();
        for line in &lines {
            let shows_code = if line.is_program { lines.len() == 1 } else { given == 1 };
            let all = parts_after(&line.text, &line.folder, line_end(outcome, shows_code), signs, names);
            names.end_shell();
            let gone = all.iter().filter(|part| part.deed.is_known() && !part.can_have_happened());
            not_done.extend(gone.map(|part| secret::without_secrets(&part.source)));
            found.extend(merged(&all).into_iter().map(|part| (part, line.is_program)));
        }
        if said == ActivityType::GitPush.into() && !found.iter().any(|(part, _)| part.deed == PartDeed::Push)
        {
            // There is no command whose words could be shown.
            found.extend(push_given(&outcome.input).map(|part| (Part { words: Vec::new(), ..part }, false)));
        }
        if let Some(push) = push_given(&outcome.input).filter(|push| push.force || push.is_destructive)
            && let Some((part, _)) = found.iter_mut().find(|(part, _)| part.deed == PartDeed::Push)
        {
            part.force |= push.force;
            part.is_destructive |= push.is_destructive;
        }
        let deeds = if runs_commands(said) { all_of(found) } else { beside(said, found) };
        match deeds {
            Some((mut all, main)) => {
                let count = all.len();
                all.iter_mut().for_each(|deed| deed.is_whole = count == 1);
                Deeds { all, main, not_done }
            }
            None => Deeds { not_done, ..alone(said) },
        }
    }

    /// Returns the command lines of a call: the program of its capability, and the commands in its input.
    fn lines(&self, step: &Step, outcome: &StepOutcome, said: ActionType) -> Vec<Line> {
        let mut lines = Vec::new();
        for (capability, input) in self.calls(step, outcome) {
            let effect = self.host.effect(&capability);
            if capability.starts_with("skill:") || matches!(effect, Effect::Pure | Effect::Asks) {
                continue;
            }
            let program = self.host.program(&capability);
            let is_declared = self.host.capability(&capability).is_some_and(|spec| spec.action.is_some());
            // What only reads, and is not said to run commands, is given a command to look at: a model, a search.
            let runs = effect == Effect::Acts || program.is_some() || is_declared;
            let callee = match runs_commands(said) {
                true if is_declared && said == ActivityType::RunCommand.into() => Callee::RunsCommands,
                true => Callee::Runs,
                false => Callee::DoesElse,
            };
            let is_program = true;
            lines.extend(program.map(|words| Line {
                text: line_of(&words),
                folder: String::new(),
                is_program,
            }));
            let given = lines_given(&input, callee).into_iter().filter(|_| runs);
            lines.extend(given.map(|text| Line {
                text,
                folder: folder_given(&input).to_owned(),
                is_program: false,
            }));
        }
        lines
    }

    /// Returns the calls of a step, each with its input.
    fn calls(&self, step: &Step, outcome: &StepOutcome) -> Vec<(String, Value)> {
        let listed = outcome.listed_calls().iter().filter(|call| self.is_own_call(call));
        // Several attempts of one call are one call.
        let listed: BTreeMap<(u64, u64, &str), &Value> =
            listed.map(|call| ((call.iteration, call.item, &*call.capability), &call.input)).collect();
        if !listed.is_empty() {
            let call = |((_, _, id), input): ((u64, u64, &str), &Value)| (id.to_owned(), input.clone());
            return listed.into_iter().map(call).collect();
        }
        let count: u64 = outcome.called.values().sum();
        let is_loop = matches!(step.control.flow, Flow::Foreach(_) | Flow::Scatter(_));
        let has_several = is_loop && count > 1 && !is_proposed(outcome);
        // The record of a loop has no inputs of its items; they follow from the state before it.
        let several = if has_several {
            let calls = possible_calls(step, &self.progress.state().memory);
            calls.into_iter().map(|call| call.outcome).collect()
        } else {
            vec![outcome.clone()]
        };
        let calls =
            several.iter().flat_map(|call| call.called.keys().map(|id| (id.to_string(), call.input.clone())));
        calls.collect()
    }
}

/// Returns whether actions of this type run commands of any kind.
fn runs_commands(kind: ActionType) -> bool {
    matches!(kind, ActionType::Activity(ActivityType::RunCommand | ActivityType::ToolCall))
}

/// Returns how a command line of a call ended; `shows_code` is whether the exit code that the reply shows is its own.
fn line_end(outcome: &StepOutcome, shows_code: bool) -> LineEnd {
    match facts::exit_code(outcome).filter(|code| shows_code || *code == 0) {
        Some(0) => LineEnd::Well,
        Some(_) => LineEnd::Badly,
        None if facts::exit_code(outcome).is_some() => LineEnd::Hidden,
        None if outcome.status == StepStatus::Completed => LineEnd::Well,
        // A program may have done everything and then written a reply that cannot be read.
        None => LineEnd::Hidden,
    }
}

/// Returns the signs in the texts of an output.
pub(crate) fn signs_of(produced: &Value) -> Signs {
    let texts =
        produced.as_object().into_iter().flat_map(Object::iter).filter_map(|(_, value)| value.as_str());
    Signs::of(&texts.collect::<Vec<_>>().join("\n"))
}

/// Returns every command as an action of its own. The last has the result.
fn all_of(found: Vec<(Part, bool)>) -> Option<(Vec<Deed>, usize)> {
    let all: Vec<Deed> = found.into_iter().flat_map(deeds_of).collect();
    let main = all.len().checked_sub(1)?;
    Some((all, main))
}

/// Returns the call as what it is said to be, and the commands that do something else as actions of their own.
fn beside(said: ActionType, found: Vec<(Part, bool)>) -> Option<(Vec<Deed>, usize)> {
    let mut all = Vec::new();
    let mut main = None;
    for (part, is_program) in found {
        if is_same(said, part.deed) && main.is_none() {
            main = Some(all.len());
            all.push(Deed { kind: said, part: Some(part), file: None, is_program, is_whole: false });
        } else if is_same(said, part.deed) || !acts(&part) || is_program && part.deed.writes_file() {
            // The files that a program writes are how it does what it is declared to do.
            continue;
        } else {
            all.extend(deeds_of((part, is_program)));
        }
    }
    if all.is_empty() {
        return None;
    }
    let main = main.unwrap_or_else(|| {
        all.push(Deed::of_call(said));
        all.len() - 1
    });
    Some((all, main))
}

/// Returns whether a command does what the call is said to do.
fn is_same(said: ActionType, deed: PartDeed) -> bool {
    let is_removal = said == ActivityType::DeleteFile.into();
    deed.action_type() == said || (deed.writes_file() && facts::changes_files(said) && !is_removal)
}

/// Returns whether a command changes something that rules are about.
pub(crate) fn acts(part: &Part) -> bool {
    let acts = part.deed.is_consequential() || part.deed == PartDeed::Format;
    acts || part.deed.changes_file() || part.is_destructive
}

/// Returns one action for each file that a command changes, or one for the command.
fn deeds_of((part, is_program): (Part, bool)) -> Vec<Deed> {
    let kind = part.deed.action_type();
    let targets = part.targets();
    let files: Vec<Option<NamedFile>> = targets.into_iter().map(|file| file.cloned()).collect();
    files
        .into_iter()
        .map(|file| Deed { kind, part: Some(part.clone()), file, is_program, is_whole: false })
        .collect()
}
