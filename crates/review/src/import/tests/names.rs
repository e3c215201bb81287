//! Names that one command of a session defines and a later one uses, and commands that rewrite files.

use super::at;
use super::truth::{Claude, actions};

#[test]
fn a_push_that_an_earlier_command_made_a_forced_one_is_forced() {
    for (before, push) in [
        ("git config alias.ship 'push --force'", "git ship origin main"),
        ("git config remote.origin.push +main:main", "git push"),
        ("alias ship='git push -f'", "ship"),
        ("export OPTS=--force", "git push $OPTS origin main"),
        ("ship() { git push -f; }", "ship"),
    ] {
        let mut claude = Claude::asked("Push the change to the remote");
        claude.bash(before, "", false).bash(push, "done", false);
        let trace = claude.trace();
        let last = at(&trace, "/actions").as_array().unwrap().last().unwrap().clone();
        assert_eq!(*at(&last, "/type"), "GitPush".into(), "{before}");
        assert_eq!(*at(&last, "/request/force"), true.into(), "{before}");
    }
    let mut claude = Claude::asked("Push the change to the remote");
    claude.calls("Write", r#"{"file_path": "/p/ship.sh", "content": "git push -f\n"}"#).result("ok", false);
    claude.bash("bash ship.sh", "done", false);
    assert_eq!(*at(&claude.trace(), "/actions/1/request/force"), true.into());
    // A command that was refused defined nothing, so nobody knows what the variable holds.
    let mut claude = Claude::asked("Push the change to the remote");
    let refused = "The user doesn't want to proceed with this tool use. The tool use was rejected";
    claude.bash("export OPTS=--force", refused, true).bash("git push $OPTS", "done", false);
    assert_eq!(*at(&claude.trace(), "/actions/1/request/force/not_known"), "$OPTS".into());
}

#[test]
fn a_formatter_that_rewrites_files_is_a_change() {
    for (command, output, expected) in [
        ("cargo fmt", "", "Change completed"),
        ("black .", "reformatted a.py\n1 file reformatted, 3 files left unchanged.", "Change completed"),
        ("black .", "All done!\n4 files left unchanged.", "RunCommand completed"),
        ("ruff format .", "4 files left unchanged", "RunCommand completed"),
        ("npx prettier --write src", "src/a.ts 20ms", "Change completed"),
        ("npx prettier --check src", "All matched files use Prettier code style!", "Lint completed"),
    ] {
        let mut claude = Claude::asked("Format the files of the project");
        claude.bash(command, output, false);
        assert_eq!(actions(&claude.trace()), [expected], "{command}: {output}");
    }
    let mut claude = Claude::asked("Lint the files of the project");
    claude.bash("eslint --fix src", "", false);
    assert_eq!(actions(&claude.trace()), ["Change completed", "Lint completed"]);
}
