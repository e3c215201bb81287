//! The commands that a bound step runs, read by the rules by which those of skills and logs are read.

use hence_canon::{Object, Value};
use hence_engine::{CALL_MEMBER, resolve};
use hence_journal::RecordIndex;
use hence_review::command::{
    Callee, Deed, Ended, LineEnd, NamedFile, Part, Ran, exit_codes, folder_given, line_of, lines_given,
    merged, parts, push_given,
};
use hence_review::model::{
    Action, ActionCommon, ActionPayload, ArtifactId, Evidence, ExecutionMetadata, Observation,
};
use hence_review::secret;
use hence_review::vocabulary::{ActionType, ActivityType, Determinism as Repeatability, EvidenceType};
use hence_state::{Outcome, StepResult};

use super::ReasonView;
use crate::ProjectError;
use crate::run_info::{RunInfo, action_common, action_step};
use crate::skill::command::{acts, private_files_member, signs_of};
use crate::text;
use crate::view::Context;

/// Everything that the call of a bound step does.
#[derive(Default)]
pub(super) struct Deeds {
    /// The commands that do something else than what the step is said to do.
    others: Vec<Part>,
    /// The command that does what the step is said to do.
    own: Option<Part>,
}

/// Returns what the call of a step does; nothing for a step that calls nothing that acts.
pub(super) fn deeds(
    reason: &ReasonView,
    run: &RunInfo<'_>,
    result: &StepResult,
    said: ActionType,
) -> Result<Deeds, ProjectError> {
    let name = result.step();
    let Some(deed) = reason.known(name).and_then(|known| known.deed.as_ref()) else {
        return Ok(Deeds::default());
    };
    let Some(input) = result.others().get(CALL_MEMBER).and_then(|call| call.get("input")) else {
        return Ok(Deeds::default());
    };
    let output = match result.outcome() {
        Outcome::Success(recorded) => Some(resolve(recorded, run.blobs)?),
        Outcome::Failed(_) | Outcome::Skipped => None,
    };
    let is_declared = deed.action.is_some();
    let callee = match is_declared {
        true if said == ActivityType::RunCommand.into() => Callee::RunsCommands,
        true => Callee::DoesElse,
        false => Callee::Runs,
    };
    let given = lines_given(input, callee);
    let program = (!deed.program.is_empty()).then(|| line_of(&deed.program));
    let (folder, signs) = (folder_given(input), output.as_ref().map(signs_of).unwrap_or_default());
    let mut found: Vec<Part> = Vec::new();
    for line in program.iter() {
        let all = merged(&parts(line, "", line_end(output.as_ref()), signs));
        // The files that a program writes are how it does what it is declared to do.
        found.extend(all.into_iter().filter(|part| !(is_declared && part.deed.writes_file())));
    }
    for line in &given {
        found.extend(merged(&parts(line, folder, line_end(output.as_ref()), signs)));
    }
    if said == ActivityType::GitPush.into() && !found.iter().any(|part| part.deed == Deed::Push) {
        found.extend(push_given(input).map(|part| Part { words: Vec::new(), ..part }));
    }
    let place = found.iter().position(|part| part.deed.action_type() == said);
    let own = place.map(|place| found.remove(place));
    // That a declared capability also looks at something is no deed of its own.
    let others = found.into_iter().filter(|part| !is_declared || part.deed.checks() || acts(part)).collect();
    Ok(Deeds { others, own })
}

impl Deeds {
    /// Returns the actions of the commands beside the step.
    pub(super) fn beside(
        &self,
        context: &Context<'_>,
        index: RecordIndex,
        step: &str,
        inputs: &[ArtifactId],
    ) -> Vec<Action> {
        let targets = self.others.iter().flat_map(|part| {
            part.targets().into_iter().map(move |file| (part, file.cloned())).collect::<Vec<_>>()
        });
        let action = |(place, (part, file)): (usize, (&Part, Option<NamedFile>))| {
            let id = context.action(place);
            let label = text::shortened(&format!("{step}: {}", secret::without_secrets(&part.source)));
            let why = "The call that the settings of the problem bind this step to runs this command.";
            let execution = context.run.execution(step, Repeatability::Nondeterministic);
            let common = ActionCommon {
                inputs: inputs.to_vec(),
                evidence: evidence(context, index, part, file.as_ref()),
                observations: note(part).into_iter().collect(),
                execution: Some(ExecutionMetadata { tool: Some("shell".into()), version: None, ..execution }),
                ..action_common(id, &label, why)
            };
            let request = request(part, file.as_ref(), Object::new());
            let payload = ActionPayload { request: Some(request), result: ended(part), result_summary: None };
            let tags = tags(part);
            let extra = if tags.is_empty() { Object::new() } else { Object::new().with("tags", tags) };
            Action { common, step: action_step(part.deed.action_type(), payload), extra }
        };
        targets.enumerate().map(action).collect()
    }

    /// Returns the request and the tags of the step itself.
    pub(super) fn of_call(&self, known: Object) -> (Object, Vec<Value>) {
        match &self.own {
            Some(part) => (request(part, part.files.first(), known), tags(part)),
            None => (known, Vec::new()),
        }
    }
}

fn tags(part: &Part) -> Vec<Value> {
    part.is_destructive.then(|| Value::from("destructive")).into_iter().collect()
}

fn request(part: &Part, file: Option<&NamedFile>, known: Object) -> Object {
    let words = secret::words_without_secrets(&part.words);
    let mut members: Vec<(&str, Value)> = Vec::new();
    if let Some(program) = words.first() {
        members.push(("program", program.as_str().into()));
        members.push(("arguments", part.arguments().into_iter().collect()));
    }
    members.extend(file.map(|file| ("path", Value::from(file.path.as_str()))));
    if part.deed == Deed::Push {
        members.push(("force", part.force_value()));
    }
    members.extend(private_files_member(&part.private_files));
    let holds_secret = secret::contains(&part.source)
        || part.content.as_deref().is_some_and(secret::contains)
        || !part.private_files.is_empty();
    members.extend(holds_secret.then(|| ("contains_secret", true.into())));
    members.into_iter().fold(known, |request, (key, value)| request.with(key, value))
}

fn evidence(
    context: &Context<'_>,
    index: RecordIndex,
    part: &Part,
    file: Option<&NamedFile>,
) -> Vec<Evidence> {
    let happened = part.ran == Ran::Yes && matches!(part.ended, Ended::Well);
    let paths =
        file.into_iter().filter(|_| happened).flat_map(|file| [Some(&file.path), file.renamed_to.as_ref()]);
    let files = paths.flatten().map(|path| Evidence {
        evidence_type: EvidenceType::FileRef,
        reference: path.as_str().into(),
        exit_code: None,
        extra: Object::new(),
    });
    std::iter::once(context.run.evidence(index)).chain(files).collect()
}

fn note(part: &Part) -> Option<Observation> {
    let statement = "whether it ran depends on something that the record does not show";
    let unknown = || Observation { statement: statement.into(), ..Observation::default() };
    (part.ran == Ran::Maybe).then(unknown)
}

/// Returns how a command ended. That a check was run says nothing about what it found.
fn ended(part: &Part) -> Option<Object> {
    let status = match part.ended {
        _ if part.ran == Ran::Maybe => "unknown",
        Ended::Unknown => "unknown",
        Ended::Badly | Ended::NotDone => "failed",
        Ended::Well if part.deed.checks() => return None,
        Ended::Well => "completed",
    };
    Some(Object::from_iter([("status", status)]))
}

/// Returns how a command line of a call ended, as its output says.
fn line_end(output: Option<&Value>) -> LineEnd {
    let Some(output) = output else { return LineEnd::Hidden };
    let codes = output.as_object().map(exit_codes).unwrap_or_default();
    if codes.iter().any(|code| *code != 0) { LineEnd::Badly } else { LineEnd::Well }
}
