//! `hence trace bind`: a trace bound to its content and to a commit.

use std::path::Path;

use hence_canon::Value;
use hence_review::ContentHash;
use hence_review::binding::{BindError, Bound, CommitPlace, bound, note, read_note, repo_slug, stamped};

use super::document::Document;
use crate::args::TraceBindArgs;
use crate::git::Git;
use crate::prelude::*;

/// The ref of the notes of commits.
const NOTES: &str = "ponens";

/// The binding of a trace.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BindReport {
    /// The trace's id, if it has one.
    trace_id: Option<String>,
    /// `unbound`, `dirty` (the content changed), `stale` (the head moved) or `bound`.
    state: &'static str,
    /// Its content hash now.
    content_hash: String,
    /// The commit that is checked out; null outside a repository.
    head: Option<String>,
    /// The commit it is stamped with.
    commit_sha: Option<String>,
    /// The repository, as `owner/name`.
    repo: Option<String>,
    /// The branch.
    branch: Option<String>,
    /// Whether a note of the commit that is checked out names the trace.
    noted: bool,
    /// The file that was written.
    file: Option<String>,
}

impl Text for BindReport {
    fn text(&self) -> String {
        let state = match self.state {
            "dirty" => "dirty: its content is not what it was bound to",
            "stale" => "stale: another commit is checked out",
            other => other,
        };
        let shown = |text: &Option<String>| text.as_deref().map(escape);
        let rows = [
            ("trace", shown(&self.trace_id)),
            ("state", Some(state.to_owned())),
            ("content", Some(self.content_hash.clone())),
            ("commit", shown(&self.commit_sha)),
            ("head", shown(&self.head)),
            ("repo", shown(&self.repo)),
            ("branch", shown(&self.branch)),
            ("note", Some(if self.noted { "names this trace" } else { "none of this trace" }.to_owned())),
            ("file", shown(&self.file)),
        ];
        let rows: Vec<(&str, String)> =
            rows.into_iter().filter_map(|(name, text)| Some((name, text?))).collect();
        pairs(&rows)
    }
}

pub(super) fn run(context: &Context, args: &TraceBindArgs) -> Result<Exit, CliError> {
    let document = Document::required(&args.file)?;
    let git = Git::at(&args.repo);
    if args.check {
        return check(context, &git, &document.value);
    }
    let place = place(&git, &args.repo)?;
    let stamped = stamped(&document.value, &place).map_err(refused)?;
    if !args.no_note {
        let before = git.note(NOTES, &place.commit_sha)?.as_deref().and_then(read_note);
        let text = note(&stamped, before.as_ref()).map_err(refused)?;
        git.set_note(NOTES, &place.commit_sha, &text)?;
    }
    if let Some(path) = args.output.write(context, &stamped)? {
        context.print(&report(&git, &stamped, Some(path))?)?;
    }
    Ok(Exit::Yes)
}

fn check(context: &Context, git: &Git, trace: &Value) -> Result<Exit, CliError> {
    let report = report(git, trace, None)?;
    context.print(&report)?;
    Ok(if report.state == Bound::Bound.as_str() { Exit::Yes } else { Exit::No })
}

fn report(git: &Git, trace: &Value, file: Option<&Path>) -> Result<BindReport, CliError> {
    let head = git.head()?;
    let text = |key: &str| trace.as_object().and_then(|object| object.get(key)?.as_str()).map(str::to_owned);
    let noted = match &head {
        Some(head) => git.note(NOTES, head)?.as_deref().and_then(read_note),
        None => None,
    };
    Ok(BindReport {
        trace_id: text("trace_id"),
        state: bound(trace, head.as_deref()).as_str(),
        content_hash: ContentHash::of(trace).to_string(),
        commit_sha: text("commit_sha"),
        repo: text("repo"),
        branch: text("branch"),
        noted: noted.is_some_and(|noted| Some(noted.trace_id) == text("trace_id")),
        file: file.map(|path| path.display().to_string()),
        head,
    })
}

fn place(git: &Git, folder: &Path) -> Result<CommitPlace, CliError> {
    let commit_sha = git.head()?.ok_or_else(|| {
        CliError::new(Code::NotBound, format!("{} has no commit to bind to", folder.display()))
            .with_hint(hint::REPOSITORY_WITH_COMMIT)
    })?;
    let repo = git.ask(&["remote", "get-url", "origin"])?.as_deref().and_then(repo_slug);
    let branch = git.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"])?;
    Ok(CommitPlace { repo, branch, commit_sha })
}

fn refused(error: BindError) -> CliError {
    let hint = match &error {
        BindError::NoId => Some(hint::TRACE_ID_OR_NO_NOTE),
        BindError::Taken(_) | BindError::Changed { .. } => Some(hint::ONE_TRACE_PER_COMMIT),
        _ => None,
    };
    CliError::from_error(Code::NotBound, error).with_hint(hint)
}
