//! All advice the command line gives. The library explains; only this module advises.
//!
//! Only this file and the modules below it can make a [`Hint`], so advice written anywhere else does not compile.

pub(crate) mod argument;
mod position;
pub(crate) mod queue;
mod store;

use std::borrow::Cow;
use std::fmt;

use hence_variables::Refusal;

use crate::code::Code;
use crate::context::Context;
use crate::document_kind::DocumentKind;
use crate::escape::escape;

pub(crate) use position::{
    after_the_end, checkpoint_after_the_end, name_checkpoint, record_calls_first, repeat_after_rollback,
};
pub(crate) use store::for_store;

/// A piece of advice: the next thing a person can do, without a full stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Hint(Cow<'static, str>);

impl Hint {
    const fn fixed(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    const fn made(text: String) -> Self {
        Self(Cow::Owned(text))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Returns the advice that fits every case of a code.
pub(crate) const fn for_code(code: Code) -> Hint {
    Hint::fixed(match code {
        Code::NotJson => "fix the document at that place",
        Code::Refused => "fix what is listed and run it again; nothing was run or stored",
        Code::Argument => argument::FIX,
        Code::NotAStore => "name another folder with --store, or use the version that wrote this one",
        Code::NoSuchRun => "`hence runs` lists the runs; --store names another folder",
        Code::Ambiguous => "give more of the id",
        Code::Conflict => "choose another id with --run-id; the stored run was not changed",
        Code::InUse => {
            "nothing was run; `hence why RUN` shows how far that process is; repeat the command when it has ended"
        }
        Code::Damaged => {
            "`hence verify RUN` shows which records still hold; `hence doctor` checks the whole store"
        }
        Code::Database => {
            "what was acknowledged is stored; check the server, then repeat the command or `hence resume RUN`"
        }
        Code::Disk => {
            "free space or fix the folder, then `hence resume RUN`: everything reported as done is stored"
        }
        Code::Blob => "`hence doctor` lists what is missing; import the bundle again to restore it",
        Code::BadRecord => "`hence verify RUN` shows which records hold up to there",
        Code::Diverged => "`hence verify RUN` shows where the journal first breaks",
        Code::Stopped => "fix the cause, then `hence resume RUN`",
        Code::Capabilities => "fix what is listed; `hence schema capabilities` describes the file",
        Code::OtherCapabilities => {
            "leave --capabilities out to continue with the capabilities stored with the run"
        }
        Code::NotAsked => "`hence why RUN` shows what the run waits for",
        Code::Answered => "`hence resume RUN` continues with the first answer; nothing was changed",
        Code::Answer => "nothing was stored; `hence why RUN` shows the question and the allowed answers",
        Code::Calls => "copy the call log before anything else; the journal itself is not affected",
        Code::Nested => "fix that file, or name another with --skill; nothing was run or stored",
        Code::CallsAgain => "nothing was stored or called; --yes makes the calls again",
        Code::Retry => "nothing was stored or called; `hence why RUN` shows what continues the run",
        Code::Fork => "nothing was stored; `hence log RUN` lists the recorded steps",
        Code::Interrupted => "`hence resume RUN` continues it; recorded steps are not executed again",
        Code::SecretMissing => "set what is listed and try again; nothing was run",
        Code::Imported => "look at what it would call; --trust-imported allows it",
        Code::Context => "fix the file or the pattern; text:FILE reads any UTF-8 file as text",
        Code::Model => "name a model as openai:NAME, anthropic:NAME or http://127.0.0.1:11434/v1#NAME",
        Code::Worker => "install it with the command in the message, or name it in HENCE_MONTY",
        Code::SolveStopped => {
            "fix the cause, then `hence resume RUN`: no reply that was recorded is paid for again"
        }
        Code::BoundStep => "fix the cause, then `hence resume RUN`: nothing was recorded for the step",
        Code::File => "check the path and its permissions",
        Code::Bundle => "export the run again, or check what changed in the folder",
        Code::Line => "`help` lists the commands",
        Code::Variables => {
            "nothing was changed; `hence vars status RUN` and `hence vars list RUN` show the current values"
        }
        Code::Document => "fix what is listed; nothing was stored",
        Code::Checkpoint => "`hence log RUN` shows the checkpoints; nothing was recorded",
        Code::ExportTarget => "export to another folder, or remove what is there",
        Code::Driven => "`hence vars list RUN` and `hence vars get RUN NAME` show what its steps wrote",
        Code::ReviewRefused => "`hence review handoff REVIEW` shows what is open; nothing was recorded",
        Code::ReviewBroken => {
            "`hence review status REVIEW` shows up to which entry it holds; nothing can be added to it"
        }
        Code::TraceUnchanged => "nothing was written; `hence trace show FILE` shows the trace",
        Code::Scratch => "free space, or name a smaller folder with --with",
        Code::NotBound => "nothing was written; `hence trace bind FILE --check` shows the current binding",
        Code::TraceRefused => "nothing was recorded; `hence trace show RUN` shows the trace so far",
        Code::NoSuchPlace => "`hence log RUN` lists the records, `hence state RUN` shows the state",
        Code::Policies => "fix the policies at that place; nothing was checked",
        Code::NotALog => "name its format if it is one of them: `hence import --help` lists them",
        Code::Request => "docs/api.md and /api/v1/openapi.json describe every route; nothing was changed",
        Code::Access => {
            "open the address that `hence view` or `hence serve` printed; nothing was read or changed"
        }
        Code::Busy => "send less at a time, or try again in a moment; nothing was changed",
        Code::NoSuchQueue => "`hence queue list` lists the queues; `hence queue add NAME` makes one",
        Code::QueueRefused => "nothing was changed; `hence fleet` shows queues, workers and stuck runs",
        Code::QueueUnusable => {
            "the runs are not affected; fix what the message names (`hence doctor` lists it), then repeat the command"
        }
        Code::Schedule => "`hence queue schedules` lists the schedules; nothing was submitted",
        Code::WorkerName => {
            "leave --name out, or choose another; the name of a dead worker is free after its lease"
        }
        Code::Listen => "`--listen 127.0.0.1:0` takes a free port of this machine",
        Code::SeveralTraces => "name a folder with --out, or one of them with --trace",
        Code::Blocked => "fix the cause, then `hence resume RUN`",
        Code::ApprovalBlocked => {
            "waive each gap that is listed, with a reason: `hence review waive REVIEW GAP --note WHY`; `hence policy show ID` shows a policy"
        }
        Code::Gate => "name the policies the run pins, or leave --policy out",
        Code::NotATrace => "name a review trace: an object whose `actions` are a list",
    })
}

/// Returns the advice for a command that needs a place in a run.
pub(crate) fn place_in(run: &str) -> Hint {
    let run = word(run);
    Hint::made(format!(
        "name it as {run}:STEP or {run}@INDEX; `hence log {run}` lists the records; `hence resume {run}` prints the result of a run that has ended"
    ))
}

macro_rules! fixed {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        $($(#[$doc])* pub(crate) const $name: Hint = Hint::fixed($text);)*
    };
}

// Ids, arguments and values.
fixed! {
    REMOVED = "import its bundle to bring it back; `removed/` in the store's folder keeps its hashes";
    WHOLE_ID = "give the whole id; `hence runs` lists them";
    MAKE_ROLES = "nobody but the owner of the tables can use the store yet: let a superuser run the statements, then `hence store migrate` once more";
    RM_YES = "nothing was removed; --yes removes these runs";
    NO_SESSIONS = "name the file of the session";
    ONE_PLACE = "name the place once: RUN:STEP, RUN@INDEX, or with its own argument";
    WHOLE_RUN = "leave the place out; `hence show`, `hence state` and `hence log` take one";
    OTHER_NAME = "choose another name";
    EMPTY_NAME = "a variable of the shell that is not set gives an empty name; `hence runs` lists the runs";
    FORCE = "name another file, or --force replaces this one";
    NAME_A_REGISTRY = "name the folder of a registry, which holds a document for each contract";
    ALLOW_BINDINGS = "--allow-python DIR and --allow-host HOST let bindings become providers; read them first";
    OTHER_FORMAT = "the log may be of another format: `hence import auto FILE` detects it";
    LIST_RUNS = "`hence runs` names the retries of a run";
    LIST_CHILDREN = "`hence vars tree RUN` shows the children with their runs";
    GIVE_TYPE = "give a value of that type, or say with --type which type it is to have";
    GIVE_TIME = "give a time such as 2026-02-09T10:00:00Z";
    SET_CLOCK = "set the clock of this machine";
    OTHER_ID = "choose another id";
    /// Advice for a copy onto itself.
    OTHER_STORE = "name another store to copy to";
    OTHER_RUN_ID = "choose another id with --run-id";
    HOW_IT_WAS_CHECKED =
        "say with --note how it was checked; or record `reread`, or `accepted` with a reason";
    OTHER_CHILD_ID = "choose another id for the child's run";
    OTHER_ID_FOR_RUN = "choose another id for the run";
    BEGIN_A_TRACE = "`hence trace init RUN TASK --agent NAME` begins a trace that an agent reports";
    CONTINUE_A_TRACE = "`hence trace act` records what the agent does next, `hence trace complete` the end";
    SUCCEED_A_TRACE =
        "begin another trace, and link it to this one with `hence trace link RUN THIS --as supersedes`";
    ARTIFACT_WITH_PAYLOAD = "record it after the action, with `hence trace artifact RUN KIND --payload @FILE`";
    TRACE_SCHEMA = "`hence schema trace` describes every kind of artifact; nothing was recorded";
    NOT_A_TRACE = "`hence trace export RUN --out FILE` writes the trace of a run, `hence import FILE` that of a log";
    NOT_A_DOCUMENT = "`hence new problem|skill|capabilities|policy NAME` writes a document to start from";
    LEAVE_IT_OUT = "leave it out";
    NAME_A_MODEL = "name it as openai:NAME, anthropic:NAME, or http://127.0.0.1:11434/v1#NAME";
    ONE_MODEL = "leave --model out, or remove the setting from the problem";
    LEAVE_THEM_OUT = "leave them out";
    LEAVE_EXECUTE_OUT = "leave --execute out: the results are then read from the record";
    LEAVE_CAPABILITIES_OUT = "leave --capabilities out";
    BIND_OR_LEAVE_CAPABILITIES_OUT =
        "name the capability of a step under `settings.bindings`, or leave --capabilities out";
    NAME_CAPABILITIES = "name the file the run was started with: --capabilities FILE";
    STRICT_PROFILE = "run it in the strict profile";
    RUN_AGAIN_STRICT = "run the problem again with --profile strict";
    NAME_PINNED_POLICIES = "name the policies it pins with --policy FILE|PACK";
    LINT_POLICIES = "`hence policy lint FILE` lists every finding";
    CHECK_ONE_BY_ONE = "check them one by one";
    LARGE_VALUES = "keep large values outside the document and refer to them";
    NOT_UTF8 = "values are texts or JSON; put other bytes into a file and refer to it with --type file_path";
    GIVE_VALUE = "give the value, @FILE, or - for standard input";
    TIME = "write a time as 2026-02-02T00:00:00Z";
    NEW_FOLDER = "name a folder that does not exist yet";
    STATE_POINTER = "write a place as /artifacts/verification/status";
    PROBLEM_PLACE = "write a place as settings.evidence_required or inputs.prompt";
    MEMORY_PLACE =
        "write a place as outputs.report; it begins with inputs, vars, outputs, frame, working, output or extensions";
}

// Lists and pages to look at.
fixed! {
    LIST_CODES = "`hence explain` lists all codes";
    LIST_SCHEMAS = "`hence schema` lists the names";
    NAME_A_JOURNAL = "name the run, or its journal: `trace.ndjson` in the folder of the run";
    LIST_CAPABILITIES = "`hence capabilities` lists them; --capabilities adds those of a file";
    QUOTE_BLANKS = "a value with blanks is written in quotes: set NAME 'some text'; `help` lists the commands";
    LIST_PROMPT_COMMANDS = "`help` lists the commands";
    LIST_POLICIES = "`hence policy list` lists the built-in ones; --policy names other files";
    LIST_IMPORT_FORMATS = "`hence import --help` describes the formats";
    LIST_VARIABLE_POSITIONS = "`hence vars checkpoints RUN` lists checkpoints, `hence log RUN` records";
    LIST_VARIABLES = "`hence vars list RUN` shows the variables";
    LIST_VARIABLES_AT = "`hence vars list RUN --at STEP` shows the variables at that position";
    WINDOWS_ONLY = "records, spans and bytes of it can be read in windows; `hence log` and `hence show` read it, too";
    DOCUMENTS = "`GET /api/v1/runs/RUN/documents` lists them";
    TOKENS_NEEDED = "`--token-file FILE` names people with their tokens and roles; docs/api.md describes the file";
    TOKEN_FILE = "docs/api.md describes the file; nothing was started";
    NAME_ONE = "name one: `hence view RUN --html FILE`; `hence runs` lists the runs";
    FOLDER_WITHOUT_JOURNAL =
        "the folder of that name holds no `trace.ndjson`; `hence runs` lists the runs, --store names another folder";
    NEITHER_FILE_NOR_RUN =
        "no file has that name either; `hence runs` lists the runs, --store names another folder";
    TRACE_OF_A_RUN = "name a trace's file; `hence trace export RUN --out FILE` makes the trace of a run";
    NOT_AN_INTERACTIVE_RUN = "name a run created by `hence vars init`";
    NOT_AN_EXPORT = "name a folder created by `hence export`";
    COMPARE_WITH_STORED = "the stored run was not changed; compare with `hence diff`";
    REBUILD = "`hence doctor --rebuild` repairs what can be repaired without losing a record";
    DAMAGE =
        "`hence verify RUN` shows which records of a run still hold; importing its bundle again restores lost values";
}

// Skills and calls.
fixed! {
    FORK_EARLIER = "fork from that step or an earlier one";
    ANSWER_BY_KEY = "name one of them by its key instead of the step";
    GIVE_ANOTHER_ID = "give one of them another id";
    NESTED_FILES = "a skill names files below its own folder; name others with --skill FILE";
}

// Traces and reviews.
fixed! {
    FIX_GIT = "fix what git reports, or stamp only the trace with --no-note";
    INSTALL_GIT = "install git, or make sure it is on the PATH";
    NO_DRAFT = "leave out --draft: a successor names the trace it replaces";
    TRACE_ID_OR_DRAFT = "give the trace an id, or use --draft";
    TRACE_ID_OR_NO_NOTE = "give the trace an id, or use --no-note";
    OTHER_SUCCESSOR_ID = "choose another id with --id";
    OTHER_RESIDUAL_ID = "choose another id with --residual-id";
    REPOSITORY_WITH_COMMIT = "name a repository that has a commit with --repo";
    ONE_TRACE_PER_COMMIT =
        "a commit has one trace: create a successor (`hence trace residuals add`, `hence trace meta`), or commit first";
    LIST_ARTIFACTS = "`hence trace show FILE` lists the artifacts";
    LIST_PARTS = "`hence trace show FILE` lists the parts";
    LIST_GAPS = "nothing was written; `hence trace residuals FILE` lists the gaps";
    LIST_UNITS = "nothing was written; `hence trace meta list FILE` lists the units";
    LIST_REPRODUCIBLE = "leave out --action to list those that do";
    CHOOSE_REVIEW_ID = "choose an id with --id";
    OTHER_REVIEW_ID = "choose another id with --id; the existing review was not changed";
    NAME_AUTHOR = "name yourself with --author";
    OPEN_REVIEW = "`hence review open TRACE` opens one; --store names another folder";
    LIST_REVIEWS = "`hence review status` lists the reviews";
}

/// Returns advice around one shell word: what comes before it, the word, what comes after it.
fn about(before: &str, name: &str, after: &str) -> Hint {
    Hint::made(format!("{before}{}{after}", word(name)))
}

/// The advice to find where a journal breaks.
pub(crate) fn verify(run: &str) -> Hint {
    about("`hence verify ", run, "` shows where the journal first breaks")
}

/// The advice to list the records of a run.
pub(crate) fn records(run: &str) -> Hint {
    about("`hence log ", run, "` lists the records")
}

/// The advice to list the steps of a run.
pub(crate) fn steps(run: &str) -> Hint {
    about("`hence log ", run, "` lists its steps")
}

/// The advice to look at a whole state.
pub(crate) fn places(run: &str) -> Hint {
    let run = word(run);
    Hint::made(format!(
        "`hence state {run}` shows the whole state; with --cognition, what the steps of a skill read and wrote: inputs, vars, outputs"
    ))
}

/// The advice to look at a state without its large values.
pub(crate) fn raw_state(run: &str) -> Hint {
    about(
        "`hence state ",
        run,
        " --raw` prints references as they are; importing the bundle again restores values",
    )
}

/// The advice to continue a run.
pub(crate) fn resume(run: &str) -> Hint {
    about("`hence resume ", run, "` continues it")
}

/// Returns the advice for a run that failed before. Only a run of a skill with a step that failed can be retried.
pub(crate) fn after_failure(run: &str, can_retry: bool) -> Hint {
    let run = word(run);
    Hint::made(match can_retry {
        true => format!(
            "`hence retry {run}` continues it with the same idempotency keys; `hence why {run}` shows the failure; `hence run` with --fresh starts another run"
        ),
        false => format!("`hence why {run}` shows the failure; `hence run` with --fresh starts another run"),
    })
}

/// Says that a new run was made next to one that has the name already.
pub(crate) fn another_run(named: &str, made: &str) -> Hint {
    Hint::made(format!(
        "{} is a new run, because {named} exists; `--run-id {}` shows or resumes that one",
        made,
        word(named)
    ))
}

/// The advice to continue a run after a fix.
pub(crate) fn fix_and_resume(run: &str) -> Hint {
    about("fix the cause, then `hence resume ", run, "` continues it")
}

/// The advice to continue a run in the store this command used.
pub(crate) fn continue_with(context: &Context, run: &str) -> Hint {
    Hint::made(format!("`{}` continues it", command(context, &["resume", run])))
}

/// The advice to continue a run whose journal ends with an unfinished append.
pub(crate) fn resume_torn(run: &str) -> Hint {
    about("`hence resume ", run, "` removes the unfinished append and continues")
}

/// The advice about a step without a record: to ask what the run waits for.
pub(crate) fn no_record_yet(run: &str) -> Hint {
    about("`hence why ", run, "` shows what it waits for")
}

/// The advice to ask what a run waits for.
pub(crate) fn why_waiting(context: &Context, run: &str) -> Hint {
    Hint::made(format!("`{}` shows what it waits for", command(context, &["why", run])))
}

/// The advice when policies block a run.
pub(crate) fn blocked(run: &str) -> Hint {
    let run = word(run);
    Hint::made(format!(
        "fix the cause, then `hence resume {run}` tries this step again, or `hence fork {run} --from STEP` repeats an \
         earlier one; `hence resume {run} --policy FILE` continues under other policies"
    ))
}

/// The advice when policies stop a step between its calls.
pub(crate) fn blocked_between(run: &str) -> Hint {
    let run = word(run);
    Hint::made(format!(
        "the calls listed as executed are not repeated; `hence resume {run}` judges the next call again, `hence resume {run} \
         --policy FILE` continues with it under other policies"
    ))
}

/// The advice when policies block a step that has acted.
pub(crate) fn blocked_deed(run: &str, step: &str) -> Hint {
    let (run, step) = (word(run), word(step));
    Hint::made(format!(
        "`hence resume {run} --policy FILE` continues under other policies with the recorded reply; resuming repeats no \
         call, `hence fork {run} --from {step}` does"
    ))
}

/// The advice for a document whose large values are somewhere else.
pub(crate) fn import_with_root(run: &str, file: &str) -> Hint {
    Hint::made(format!(
        "`hence vars import {} {} --root FOLDER` finds them below FOLDER/.aiwg/rlm; nothing was stored",
        word(run),
        word(file)
    ))
}

/// The advice to compare a journal with a copy of it.
pub(crate) fn compare_with_copy(target: &str) -> Hint {
    about("a copy stored elsewhere shows what changed: `hence diff COPY ", target, "`")
}

/// The advice to compare a journal with its anchor.
pub(crate) fn anchor(target: &str) -> Hint {
    about(
        "a head stored elsewhere shows a cut or rewritten journal: `hence verify --anchor HASH:COUNT ",
        target,
        "`",
    )
}

/// The advice when a run is stored and only its copy is not.
pub(crate) fn copy(run: &str) -> Hint {
    about("the run is in the store; `hence export ", run, " DIR` writes it elsewhere")
}

/// The advice to name a journal inside a folder.
pub(crate) fn folder(journal: &str) -> Hint {
    about("to read the folder's journal, name its file: ", journal, "")
}

/// The command that reads a document of this kind.
pub(crate) fn use_of(kind: DocumentKind, file: &str) -> Hint {
    let (command, reads) = match kind {
        DocumentKind::Problem | DocumentKind::Skill => ("run", "runs it"),
        DocumentKind::Capabilities | DocumentKind::Policies => ("check", "checks it"),
        DocumentKind::Trace => ("trace show", "shows it"),
    };
    Hint::made(format!("`hence {command} {}` {reads}; nothing was run or stored", escape(file)))
}

/// The advice to put a missing document next to a journal.
pub(crate) fn put_next_to_journal(document: &str, file: &str) -> Hint {
    Hint::made(format!("put the {document} next to the journal as {file}"))
}

/// The advice to find out why a skill cannot run.
pub(crate) fn check(skill: &str) -> Hint {
    about("`hence check ", skill, "` says why")
}

/// The advice to see the findings of a skill in their lines.
pub(crate) fn check_lines(skill: &str) -> Hint {
    about("`hence check ", skill, "` shows each finding at its line; nothing was run or stored")
}

/// The advice for a fork that would make calls that act again.
pub(crate) fn repeat_calls(run: &str, can_retry: bool) -> Hint {
    Hint::made(match can_retry {
        true => format!(
            "`hence retry {}` continues a failed run without repeating what succeeded; --yes makes the calls again",
            word(run)
        ),
        false => "--yes makes the calls again; --from with a later step shares them instead".to_owned(),
    })
}

/// The advice for a run of which only parts of a step failed.
pub(crate) fn fork_partial(run: &str, step: &str) -> Hint {
    Hint::made(format!(
        "`hence fork {} --from {}` lists the calls that it would make again, and asks",
        word(run),
        word(step)
    ))
}

/// The advice for a retry of a run whose record does not list the calls of the failed step.
pub(crate) fn repeat_unlisted(run: &str) -> Hint {
    Hint::made(format!(
        "`hence show {} STEP` shows the record; --yes continues, and a receiver that knows the keys recognises the calls",
        word(run)
    ))
}

/// The advice to continue a retry that exists.
pub(crate) fn retry(run: &str) -> Hint {
    about("`hence retry ", run, "` continues it")
}

/// The advice for a run of the loop that a limit ended.
pub(crate) fn continue_by_fork(run: &str) -> Hint {
    let run = word(run);
    Hint::made(format!(
        "`hence fork {run} --from end` with a higher limit continues it in another run; `hence why {run}` names the limit"
    ))
}

/// The advice for a replay of a run whose blocks cannot run here.
pub(crate) fn replay_again(run: &str) -> Hint {
    Hint::made(format!(
        "fix the cause, then `hence replay {0}`; `hence verify {0}` checks the rest",
        word(run)
    ))
}

/// The advice for a run that failed without a failed step.
pub(crate) fn retry_nothing(run: &str) -> Hint {
    Hint::made(format!(
        "`hence why {}` shows what failed; `hence fork` with another skill or other values starts a run that can succeed",
        word(run)
    ))
}

/// The advice to fork from a step that the given policies allow.
pub(crate) fn fork_earlier(step: &str) -> Hint {
    Hint::made(format!("fork from `{step}` or an earlier step, or leave --policy out"))
}

/// The advice when a name is neither a file nor a pack.
pub(crate) fn packs<const N: usize>(packs: [&str; N]) -> Hint {
    Hint::made(format!("name a file, or one of the built-in packs: {}", packs.join(", ")))
}

/// The advice to name the file that belongs to a format.
pub(crate) fn import_file(format: &str) -> Hint {
    Hint::made(format!("`hence import {format} FILE`; - is standard input"))
}

/// The advice to list the parts of a review.
pub(crate) fn review_parts(review: &str) -> Hint {
    about("`hence review handoff ", review, "` lists them")
}

/// The advice to look at what is open in a review.
pub(crate) fn open_items(review: &str) -> Hint {
    about("`hence review handoff ", review, "` shows what is open")
}

/// The advice to check a review's journal.
pub(crate) fn review_status(review: &str) -> Hint {
    about("`hence review status ", review, "` shows up to which entry it holds")
}

/// Returns a command line that can be typed as it is, with the store this command used.
pub(crate) fn command(context: &Context, words: &[&str]) -> String {
    let mut all = vec!["hence".to_owned()];
    if !context.place.is_found_without_option() {
        all.extend(["--store".to_owned(), word(&context.place.to_string())]);
    }
    all.extend(words.iter().map(|text| word(text)));
    all.join(" ")
}

/// Returns advice about a refused operation on variables, where there is better advice than to look at the values.
pub(crate) fn variables(refusal: &Refusal) -> Option<Hint> {
    let advice = match refusal {
        Refusal::RunEnded { .. } => "`hence fork RUN --from STEP --run-id NEW` continues it in another run",
        Refusal::InvalidArgument { what: "tree_id", .. } => {
            "only a task with a tree can have children: `hence vars init RUN PROMPT` begins one"
        }
        _ => return None,
    };
    Some(Hint::fixed(advice))
}

/// Returns a text quoted for a shell, with every control character escaped.
pub(crate) fn word(text: &str) -> String {
    if escape(text) == text {
        hence_review::show::shell_word(text)
    } else {
        format!("$'{}'", text.chars().map(ansi_c).collect::<String>())
    }
}

/// Returns a character as it is written inside `$'…'`.
fn ansi_c(c: char) -> String {
    match c {
        '\'' | '\\' => format!("\\{c}"),
        c if escape(c.encode_utf8(&mut [0; 4])) == c.to_string() => c.to_string(),
        c => format!("\\u{:04x}", u32::from(c)),
    }
}

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn a_quoted_word_is_read_back_unchanged_by_a_shell() {
        assert_eq!(word("refund-42"), "refund-42");
        assert_eq!(word("refund 42"), "'refund 42'");
        assert_eq!(word("it's"), r"'it'\''s'");
        assert_eq!(word("a\n\u{1b}[31m'"), r"$'a\u000a\u001b[31m\''");
        assert_eq!(word(""), "''");
    }
}
