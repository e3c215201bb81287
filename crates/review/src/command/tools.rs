//! Tools whose names say what they do: `git_push`, `delete_file`, `mcp__filesystem__write_file`.

use hence_canon::Value;

use super::{Deed, Ended, NamedFile, Part, Ran, push_given};
use crate::secret;

/// Members that name the file of a tool.
#[rustfmt::skip]
const PATHS: &[&str] = &[
    "path", "file_path", "filePath", "filepath", "file", "filename", "file_name", "target_file", "absolute_path", "source", "src",
    "old_path", "oldPath", "from", "relative_workspace_path", "uri",
];
const NEW_PATHS: &[&str] = &["destination", "dest", "dst", "new_path", "newPath", "to", "target"];
/// Members that hold the text that is written.
#[rustfmt::skip]
const CONTENTS: &[&str] = &["content", "contents", "file_text", "text", "new_str", "new_string", "newString", "new_text", "code_edit"];

/// Returns the name of a tool in small letters with `_` between its words, and the server before it, if the name has one.
fn plain(name: &str) -> (String, String) {
    let (server, name) = match name.rsplit_once("__") {
        Some((server, name)) => (server, name),
        None => name.rsplit_once(['.', '/', ':']).unwrap_or(("", name)),
    };
    let mut found = String::new();
    let mut was_lower = false;
    for letter in name.trim().chars() {
        if letter.is_uppercase() && was_lower || !letter.is_alphanumeric() {
            found.push('_');
        }
        was_lower = letter.is_lowercase() || letter.is_ascii_digit();
        found.extend(letter.to_lowercase().filter(|letter| letter.is_alphanumeric()));
    }
    (found, server.to_lowercase())
}

/// Returns whether the last word of a tool's name says that it only tells something.
fn only_tells(name: &str) -> bool {
    const TELLING: [&str; 10] =
        ["check", "config", "history", "info", "list", "log", "logs", "plan", "preview", "status"];
    name.rsplit('_').next().is_some_and(|word| TELLING.contains(&word))
}

/// Returns what a tool did by its name and its arguments, if the name says it.
pub fn part_of_tool(name: &str, arguments: &Value) -> Option<Part> {
    let (plain, server) = plain(name);
    let text = |keys: &[&str]| {
        keys.iter().find_map(|key| arguments.get(key)?.as_str()).filter(|text| !text.is_empty())
    };
    let is_git = server.contains("git") || server.contains("gitlab");
    let deed = match plain.as_str() {
        "git_push" | "push_files" | "push_branch" | "push_commits" | "push_to_remote" | "push_changes"
        | "git_push_force" | "force_push" | "git_force_push" | "push_to_github" => Deed::Push,
        "push"
            if is_git
                || ["branch", "remote", "force", "refspec"]
                    .iter()
                    .any(|key| arguments.get(key).is_some()) =>
        {
            Deed::Push
        }
        "git_commit"
        | "commit_changes"
        | "create_commit"
        | "commit_files"
        | "git_commit_changes"
        | "commit_file"
        | "create_or_update_file"
        | "merge_pull_request"
        | "merge_pr"
        | "merge_merge_request"
        | "git_merge" => Deed::Commit,
        "commit" if is_git || arguments.get("message").is_some() => Deed::Commit,
        "git_reset" if text(&["mode"]).is_some_and(|mode| mode.contains("hard")) => Deed::Format,
        "str_replace_based_edit_tool" | "str_replace_editor" | "text_editor" | "str_replace_based_edit" => {
            match text(&["command"]) {
                Some("create") => Deed::Create,
                Some("view") => return None,
                _ => Deed::Edit,
            }
        }
        "write_file" | "create_file" | "save_file" | "file_write" | "write_to_file" | "create_new_file"
        | "write_text_file" | "create_text_file" | "new_file" | "fs_write" => Deed::Create,
        "edit_file" | "update_file" | "replace_in_file" | "apply_diff" | "str_replace" | "patch_file"
        | "file_edit" | "append_to_file" | "append_file" | "insert_into_file" | "insert_content"
        | "modify_file" | "search_replace" | "multi_edit" | "edit_block" | "apply_edit" | "replace_lines"
        | "replace_content" | "edit_notebook" => Deed::Edit,
        "delete_file" | "remove_file" | "delete_files" | "delete_directory" | "remove_directory"
        | "delete_folder" | "unlink_file" | "delete_path" | "file_delete" | "rm" => Deed::Delete,
        "move_file" | "rename_file" | "move_path" | "rename_path" => Deed::Rename,
        "deploy" | "trigger_deploy" | "create_deployment" => Deed::Deploy,
        name if name.starts_with("deploy_") && !only_tells(name) => Deed::Deploy,
        "release"
        | "release_package"
        | "release_version"
        | "release_app"
        | "release_to_production"
        | "release_to_prod"
        | "publish_package"
        | "npm_publish"
        | "publish_npm_package"
        | "publish_crate"
        | "publish_version"
        | "publish_app"
        | "publish_extension"
        | "publish_to_npm"
        | "publish_to_pypi" => Deed::Release,
        // Events and messages are published, too.
        "publish"
            if ["version", "package", "tag", "registry"].iter().any(|key| arguments.get(key).is_some()) =>
        {
            Deed::Release
        }
        "create_release" | "cut_release" | "make_release" | "do_release" | "publish_release"
        | "ship_release" | "promote_release" | "tag_release" | "trigger_release" => Deed::Release,
        "drop_table"
        | "drop_database"
        | "delete_database"
        | "delete_table"
        | "delete_branch"
        | "delete_repository"
        | "delete_repo"
        | "destroy"
        | "delete_bucket"
        | "delete_collection"
        | "delete_project"
        | "terminate_instances"
        | "delete_namespace"
        | "delete_stack" => Deed::Destroy,
        _ => return None,
    };
    let words = vec![plain.clone()];
    if deed == Deed::Push {
        let push = push_given(arguments)?;
        let force = push.force || plain.contains("force");
        return Some(Part {
            force,
            is_destructive: push.is_destructive || force,
            source: name.to_owned(),
            ..push
        });
    }
    let renamed_to = text(NEW_PATHS).filter(|_| deed == Deed::Rename).map(str::to_owned);
    let paths = paths_given(arguments).filter(|_| deed.changes_file());
    let files =
        paths.map(|path| NamedFile { path: path.to_owned(), renamed_to: renamed_to.clone() }).collect();
    Some(Part {
        deed,
        files,
        words,
        open: Vec::new(),
        force: false,
        is_destructive: deed == Deed::Destroy || plain == "git_reset",
        source: name.to_owned(),
        folder: None,
        content: text(CONTENTS).filter(|_| deed.writes_file()).map(str::to_owned),
        private_files: if deed == Deed::Commit { private_files_given(arguments) } else { Vec::new() },
        owns_output: true,
        ran: Ran::Yes,
        ended: Ended::Well,
    })
}

/// Returns the files that arguments name whose names say that they hold secrets: those that a tool would commit.
pub fn private_files_given(arguments: &Value) -> Vec<String> {
    paths_given(arguments).filter(|path| secret::is_private_file(path)).map(str::to_owned).collect()
}

fn paths_given(arguments: &Value) -> impl Iterator<Item = &str> {
    let listed = ["paths", "files"].iter().filter_map(|key| arguments.get(key)?.as_array()).flatten();
    let listed = listed.filter_map(|item| item.as_str().or_else(|| item.get("path")?.as_str()));
    PATHS.iter().find_map(|key| arguments.get(key)?.as_str()).into_iter().chain(listed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hence_canon::parse;

    #[test]
    fn a_tool_does_what_its_name_says() {
        let of = |name: &str, arguments: &str| {
            let part = part_of_tool(name, &parse(arguments.as_bytes()).unwrap())?;
            let files: Vec<&str> = part.files.iter().map(|file| file.path.as_str()).collect();
            Some(format!("{:?}{}({})", part.deed, if part.force { "!" } else { "" }, files.join(",")))
        };
        for (name, arguments, expected) in [
            ("git_push", r#"{"force": true}"#, Some("Push!()")),
            ("gitPush", r#"{"FORCE": "yes"}"#, Some("Push!()")),
            ("mcp__git__push", r#"{"branch": "main"}"#, Some("Push()")),
            ("mcp__github__push_files", r#"{"branch": "main"}"#, Some("Push()")),
            ("mcp__git__git_commit", r#"{"message": "m"}"#, Some("Commit()")),
            (
                "mcp__filesystem__write_file",
                r#"{"path": "/w/a.py", "content": "x"}"#,
                Some("Create(/w/a.py)"),
            ),
            ("mcp__filesystem__edit_file", r#"{"path": "/w/a.py", "edits": []}"#, Some("Edit(/w/a.py)")),
            ("str_replace_based_edit_tool", r#"{"command": "create", "path": "a"}"#, Some("Create(a)")),
            ("str_replace_based_edit_tool", r#"{"command": "str_replace", "path": "a"}"#, Some("Edit(a)")),
            ("str_replace_based_edit_tool", r#"{"command": "view", "path": "a"}"#, None),
            ("delete_file", r#"{"path": "a.py"}"#, Some("Delete(a.py)")),
            ("fs.deleteFile", r#"{"path": "a.py"}"#, Some("Delete(a.py)")),
            ("move_file", r#"{"source": "a", "destination": "b"}"#, Some("Rename(a)")),
            ("deploy", r#"{"env": "prod"}"#, Some("Deploy()")),
            ("deploy_release", "{}", Some("Deploy()")),
            ("deploy_status", "{}", None),
            ("mcp__srv__release", r#"{"version": "1.2"}"#, Some("Release()")),
            ("cut_release", "{}", Some("Release()")),
            ("publish", r#"{"package": "a"}"#, Some("Release()")),
            ("publish", r#"{"topic": "orders"}"#, None),
            ("release_notes", "{}", None),
            ("release_lock", "{}", None),
            ("push", r#"{"title": "a notification"}"#, None),
            ("commit", "{}", None),
            ("mcp__rooms__book", r#"{"room": 4}"#, None),
        ] {
            assert_eq!(of(name, arguments).as_deref(), expected, "{name} {arguments}");
        }
    }
}
