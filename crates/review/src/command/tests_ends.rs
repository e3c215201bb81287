//! The end of each part of a line: whether it ran, and how it ended.

use super::tests::of;
use super::*;

/// Writes how each known part of a line ended.
fn fates(line: &str, end: LineEnd, output: &str) -> String {
    let known = of(line, end, output);
    let shown = |part: &Part| format!("{:?}:{:?}:{:?}", part.deed, part.ran, part.ended);
    known.iter().filter(|part| part.deed.is_known()).map(shown).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_exit_code_of_a_line_says_what_it_can_about_its_parts() {
    use LineEnd::{Absent, Badly, Well};
    for (line, end, output, expected) in [
        ("pytest", Well, "", "Tests:Yes:Well"),
        ("pytest", Badly, "", "Tests:Yes:Badly"),
        ("pytest && git commit -m x", Well, "", "Tests:Yes:Well Commit:Yes:Well"),
        ("pytest && git commit -m x", Badly, "", "Tests:Yes:Unknown Commit:Maybe:NotDone"),
        ("pytest && git commit -m x", Badly, "3 failed, 2 passed", "Tests:Yes:Badly Commit:No:NotDone"),
        (
            "pytest && git commit -m x",
            Badly,
            "5 passed\nnothing to commit, working tree clean",
            "Tests:Yes:Well Commit:Yes:Badly",
        ),
        ("cd x && pytest", Badly, "", "Tests:Yes:Badly"),
        (
            "git add . && git commit -m x && git push",
            Badly,
            "[main 1a2b3c4] x\n ! [rejected]",
            "Commit:Yes:Well Push:Yes:Badly",
        ),
        ("git add . && git commit -m x && git push", Badly, "", "Commit:Yes:Unknown Push:Maybe:NotDone"),
        ("pytest || true", Well, "3 failed", "Tests:Yes:Unknown"),
        ("pytest; git commit -m x", Well, "", "Tests:Yes:Unknown Commit:Yes:Well"),
        ("pytest; git commit -m x", Badly, "", "Tests:Yes:Unknown Commit:Yes:Badly"),
        ("set -e; pytest; git commit -m x", Well, "", "Tests:Yes:Well Commit:Yes:Well"),
        ("pytest | tail -3", Well, "", "Tests:Yes:Unknown"),
        ("set -o pipefail; pytest | tail -3", Well, "", "Tests:Yes:Well"),
        ("git diff --quiet || git commit -am x", Well, "", "Diff:Yes:Unknown Commit:Maybe:Unknown"),
        (
            "git diff --quiet || git commit -am x",
            Well,
            "[main 1a2b3c4] x",
            "Diff:Yes:Unknown Commit:Yes:Well",
        ),
        (
            "git commit -m x; echo ok",
            Well,
            "On branch main\nnothing to commit, working tree clean\nok",
            "Commit:Yes:Badly",
        ),
        ("git commit -m x || true", Well, "nothing to commit, working tree clean", "Commit:Yes:Badly"),
        ("if make; then git push -f; fi", Well, "", "Build:Yes:Unknown Push:Maybe:Unknown"),
        ("! pytest", Well, "", "Tests:Yes:Unknown"),
        ("pytest &", Well, "", "Tests:Yes:Unknown"),
        ("pytest && git commit -m x", Absent, "", "Tests:Yes:Unknown Commit:Yes:Unknown"),
        ("make lint || make test", Badly, "", "Lint:Yes:Badly Tests:Yes:Badly"),
        ("bash -c 'pytest && git push'", Well, "", "Tests:Yes:Well Push:Yes:Well"),
        ("sed -i s/a/b/ x && pytest", Badly, "1 failed", "Edit:Yes:Well Tests:Yes:Badly"),
        (
            "git push -f && npm test",
            Badly,
            " + 1a2...3b4 main -> main (forced update)",
            "Push:Yes:Well Tests:Yes:Badly",
        ),
        ("git push -f && npm test", Badly, "", "Push:Yes:Unknown Tests:Maybe:NotDone"),
        ("git push && npm run lint", Badly, "   1a2..3b4  main -> main", "Push:Yes:Well Lint:Yes:Badly"),
        ("pytest -q && ruff check .", Badly, "5 passed\nFound 1 error.", "Tests:Yes:Well Lint:Yes:Badly"),
        (
            "git push origin a b",
            Badly,
            " + 1a...2b a -> a (forced update)\n ! [rejected] b -> b",
            "Push:Yes:Unknown",
        ),
        ("git push origin a b", Badly, "", "Push:Yes:Unknown"),
        ("git push --all", Badly, "", "Push:Yes:Unknown"),
        ("git push origin a", Badly, "", "Push:Yes:Badly"),
        ("git push origin a b", Badly, " ! [rejected] a -> a", "Push:Yes:Unknown"),
        ("rm -rf a b", Badly, "rm: cannot remove 'b': Permission denied", "Delete:Yes:Unknown"),
        ("rm a", Badly, "rm: cannot remove 'a': No such file or directory", "Delete:Yes:Badly"),
        ("terraform destroy -auto-approve", Badly, "Error: x", "Destroy:Yes:Unknown"),
    ] {
        assert_eq!(fates(line, end, output), expected, "{line} {end:?} {output}");
    }
}
