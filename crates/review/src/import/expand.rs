//! A call of a log → the actions it was: a command line can do several things.

use hence_canon::Value;

use crate::command::{
    Deed, Ended, LineEnd, NamedFile, Part, Ran, ShellNames, echoed_end, merged, parts_after,
};
use crate::secret;
use crate::show::shell_word;
use crate::vocabulary::{ActionType, ActivityType};

use super::leaks::{Committed, Leaks};
use super::session::{ActionEvent, PartText, Repeatable, Status};
use super::text::collapse_to;

/// The arguments of one program that are kept, and the characters of each.
const ARGUMENTS_MAX: usize = 64;
const ARGUMENT_CHARS_MAX: usize = 400;

/// Returns the actions of one call, with their states; `project` is the folder of the session, `names` are those that the
/// commands of earlier calls defined, `leaks` the secrets that they showed.
pub(super) fn actions(
    mut event: ActionEvent,
    project: Option<&str>,
    names: &mut ShellNames,
    leaks: &mut Leaks,
) -> Vec<ActionEvent> {
    let Some(command) = event.command.clone().filter(|_| event.decision.is_none()) else {
        event.status = event.outcome.as_ref().map(super::outcome::ToolOutcome::status);
        note_leaks(&mut event, project, leaks);
        if let (Some(file), Some(text)) = (&event.file, event.written.take()) {
            names.note_script(file, &text);
            names.note_script(&folder(Some(file), project), &text);
        }
        return vec![event];
    };
    let not_run = event.outcome.as_ref().is_some_and(|outcome| outcome.not_run);
    let stopped = event.outcome.as_ref().and_then(|outcome| outcome.stopped);
    let stopped = stopped.or(not_run.then_some(Status::Failed));
    let end = match &event.outcome {
        None => LineEnd::Absent,
        Some(_) if stopped.is_some() => LineEnd::Absent,
        // How far a line came that was ended from outside is not known.
        Some(outcome) if outcome.killed || lost_its_host(&command, outcome) => LineEnd::Hidden,
        Some(outcome) if outcome.runs_on => LineEnd::Hidden,
        Some(outcome) if outcome.failed => LineEnd::Badly,
        Some(_) => LineEnd::Well,
    };
    let signs = event.outcome.as_ref().map(|outcome| outcome.signs).unwrap_or_default();
    let echoed = echoed_end(&command, &signs).filter(|_| end == LineEnd::Well);
    let (read, end) = match echoed {
        Some((head, end)) => (head, end),
        None => (command.clone(), end),
    };
    let is_echoed = read != command;
    let folder = folder(event.folder.as_deref(), project);
    let found = match stopped {
        // A call that was not let through defined nothing.
        Some(Status::Refused | Status::Failed) => parts_after(&read, &folder, end, signs, &mut names.clone()),
        _ => parts_after(&read, &folder, end, signs, names),
    };
    let happened = !not_run && stopped != Some(Status::Refused);
    let shown = event.outcome.as_ref().map(|outcome| outcome.shown.clone()).unwrap_or_default();
    let committed = if happened { leaks.line(&found, &shown) } else { Committed::default() };
    let line = Line { event, command, end, stopped, not_run, is_echoed, committed };
    line.actions(&found)
}

/// Notes the file that a tool read or wrote, and whether a commit by a tool holds a secret.
fn note_leaks(event: &mut ActionEvent, project: Option<&str>, leaks: &mut Leaks) {
    let Some(outcome) = event.outcome.as_ref() else { return };
    if !event.happened() {
        return;
    }
    if event.action_type == ActivityType::GitCommit.into() {
        let holds = event.request.iter().any(|(_, value)| secret::contains(&value.to_string()));
        event.contains_secret = holds.then_some(true);
    }
    let Some(path) = event.file.as_deref().map(|file| folder(Some(file), project)) else { return };
    match event.action_type {
        ActionType::Activity(ActivityType::ReadFile) => leaks.read(&path, &outcome.shown),
        _ if event.edits() => leaks.written(&path, event.contains_secret),
        _ => {}
    }
}

/// Returns the folder of a call relative to that of the session.
fn folder(folder: Option<&str>, project: Option<&str>) -> String {
    let Some(folder) = folder else { return String::new() };
    let inside = project.and_then(|project| folder.strip_prefix(project.trim_end_matches('/')));
    match inside {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => rest.trim_matches('/').to_owned(),
        _ => folder.to_owned(),
    }
}

/// Beginnings of lines by which `ssh` says that it did not reach the other machine: nothing began there.
const UNREACHED: &[&str] = &[
    "ssh: Could not resolve",
    "ssh: connect to host",
    "Host key verification failed",
    "Permission denied (",
    "kex_exchange_identification",
];

/// Returns whether the connection to another machine ended while a command ran there.
fn lost_its_host(command: &str, outcome: &super::outcome::ToolOutcome) -> bool {
    let is_remote = || command.split_whitespace().any(|word| matches!(word, "ssh" | "mosh" | "autossh"));
    let is_unreached = || UNREACHED.iter().any(|words| outcome.text.contains(words));
    outcome.failed && outcome.exit_code == Some(255) && is_remote() && !is_unreached()
}

/// A command line with its result.
struct Line {
    event: ActionEvent,
    command: String,
    end: LineEnd,
    /// Whether the whole call was refused or cancelled.
    stopped: Option<Status>,
    /// Whether the call never began.
    not_run: bool,
    /// The secrets that commits of the line hold.
    committed: Committed,
    /// Whether the end is that of an exit code that the line prints, which is not that of the line.
    is_echoed: bool,
}

impl Line {
    fn actions(self, found: &[Part]) -> Vec<ActionEvent> {
        let shown = merged(found);
        let not_done = found.iter().filter(|part| part.deed.is_known() && !part.can_have_happened());
        let not_done: Vec<&str> = not_done.map(|part| part.source.as_str()).collect();
        let count: usize = shown.iter().map(|part| part.targets().len()).sum();
        let mut actions: Vec<ActionEvent> = Vec::new();
        let last =
            found.iter().rev().find(|part| part.deed != Deed::Neutral).map(|part| part.source.as_str());
        for part in &shown {
            let is_last = last.is_some_and(|last| part.source.ends_with(last));
            for target in part.targets() {
                actions.push(self.of_part(part, target, count > 1, is_last));
            }
        }
        for (index, part) in actions.iter_mut().filter_map(|action| action.part.as_mut()).enumerate() {
            (part.place, part.count) = (index + 1, count);
        }
        if actions.is_empty() {
            actions.push(self.whole(found));
        }
        if let (Some(last), false) = (actions.last_mut(), not_done.is_empty()) {
            let rest = not_done.join("`, `");
            last.note =
                Some(format!("did not run, or failed, because the line ended with an error: `{rest}`"));
        }
        if let Some(first) = actions.first_mut() {
            first.usage = self.event.usage.clone();
        }
        actions
    }

    /// The line as one command of no known kind.
    fn whole(&self, found: &[Part]) -> ActionEvent {
        let mut event = self.event.clone();
        event.status = self.stopped.or(match self.end {
            LineEnd::Well => Some(Status::Completed),
            LineEnd::Badly => Some(Status::Failed),
            LineEnd::Hidden if self.was_killed() => Some(Status::Failed),
            LineEnd::Absent | LineEnd::Hidden => None,
        });
        let mut programs = found.iter().filter(|part| part.deed == Deed::Other);
        if let (Some(only), None) = (programs.next(), programs.next()) {
            event.request = request(only);
        }
        event.usage = None;
        event
    }

    /// Returns whether the output counts tests that failed, or says that there were none.
    fn contradicts_tests(&self) -> bool {
        let signs = self.event.outcome.as_ref().map(|outcome| outcome.signs).unwrap_or_default();
        signs.tests_failed || signs.no_tests
    }

    fn was_killed(&self) -> bool {
        let outcome = self.event.outcome.as_ref();
        outcome.is_some_and(|outcome| outcome.killed || lost_its_host(&self.command, outcome))
    }

    fn of_part(
        &self,
        part: &Part,
        target: Option<&NamedFile>,
        is_one_of_several: bool,
        is_last: bool,
    ) -> ActionEvent {
        let mut event = self.event.clone();
        event.action_type = part.deed.action_type();
        event.usage = None;
        // A check that was stopped found nothing; a deed may have begun, and may be done.
        let stopped = self.stopped.map(|stopped| match stopped {
            Status::Cancelled if !part.deed.only_looks() && !self.not_run => Status::Unknown,
            stopped => stopped,
        });
        event.status = stopped.or(match (self.end, part.ended) {
            (LineEnd::Absent, _) => None,
            // Some tools report no error whatever the exit code was.
            (_, Ended::Well) if part.deed == Deed::Tests && self.contradicts_tests() => Some(Status::Unknown),
            (_, Ended::Well) => Some(Status::Completed),
            (_, Ended::Unknown) if self.was_killed() && is_last && part.deed.only_looks() => {
                Some(Status::Failed)
            }
            (_, Ended::Badly | Ended::NotDone) => Some(Status::Failed),
            (_, Ended::Unknown) => Some(Status::Unknown),
        });
        event.owns_output = part.owns_output;
        // Of a line that failed, the code is that of the command that failed, and of no command before it.
        let is_contradicted =
            part.deed == Deed::Tests && self.contradicts_tests() && part.ended == Ended::Well;
        event.owns_exit_code = !self.is_echoed
            && !is_contradicted
            && matches!(
                (self.end, part.ended),
                (LineEnd::Well, Ended::Well) | (LineEnd::Badly, Ended::Badly)
            )
            || event.status == Some(Status::Failed) && self.was_killed();
        event.method = part.deed.method();
        event.repeatable = if part.deed.only_looks() { Repeatable::Yes } else { Repeatable::No };
        event.request = request(part);
        event.request.extend(self.committed.member().filter(|_| part.deed == Deed::Commit));
        if part.is_destructive {
            event.tags.push("destructive");
        }
        if let Some(file) = target {
            event.file = Some(file.path.clone());
            event.renamed_to = file.renamed_to.clone();
        } else if matches!(part.deed, Deed::Read) {
            let mut files = part.files.iter().map(|file| file.path.clone());
            event.file = files.next();
            event.more_files = files.collect();
        }
        event.contains_secret = match part.deed {
            Deed::Commit => self.committed.holds_secret.then_some(true),
            _ => part.content.as_deref().map(secret::contains),
        };
        if is_one_of_several {
            let again = match &part.folder {
                Some(folder) if !folder.is_empty() => format!("cd {} && {}", shell_word(folder), part.source),
                _ => part.source.clone(),
            };
            event.part = Some(PartText { label: part.source.clone(), again, place: 0, count: 0 });
            event.command = Some(self.command.clone());
        }
        let may_have_failed =
            part.deed == Deed::Commit && part.ended == Ended::Unknown && self.end == LineEnd::Badly;
        event.is_uncertain = part.ran == Ran::Maybe
            || may_have_failed
            || part.ended == Ended::Unknown && self.was_killed()
            || self.stopped == Some(Status::Cancelled) && !self.not_run;
        if part.ran == Ran::Maybe {
            event.status = event.status.map(|_| Status::Unknown);
            event.note = Some("whether it ran depends on something that the log does not show".to_owned());
        }
        event
    }
}

/// The program, its arguments, and whether a push overwrites.
fn request(part: &Part) -> Vec<(&'static str, Value)> {
    let words = secret::words_without_secrets(&part.words);
    let Some(program) = words.first() else { return Vec::new() };
    let shown = |argument: Value| match argument.as_str() {
        Some(text) => collapse_to(text, ARGUMENT_CHARS_MAX).into(),
        None => argument,
    };
    let arguments: Value = part.arguments().into_iter().take(ARGUMENTS_MAX).map(shown).collect();
    let mut members = vec![("program", Value::from(program.as_str())), ("arguments", arguments)];
    if part.deed == Deed::Push {
        members.push(("force", part.force_value()));
    }
    members
}
