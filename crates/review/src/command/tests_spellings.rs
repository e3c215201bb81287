//! Spellings of pushes, deletions, deployments and changes that hide what they do.

use super::tests::{check, of};
use super::*;

#[test]
fn pushes_are_seen_through_what_runs_them() {
    for line in [
        "git submodule foreach git push -f",
        "git submodule foreach --recursive 'git push -f'",
        "$(which git) push -f",
        "`which git` push -f",
        "$(command -v git) push -f",
        "ssh host <<EOF\ngit push -f\nEOF",
        "ssh host 'bash -s' <<'EOF'\ngit push -f\nEOF",
        "echo 'git push -f' | ssh host bash",
        "source <(echo git push -f)",
        ". <(echo git push -f)",
        "git bisect run git push -f",
        "awk 'BEGIN{system(\"git push -f\")}'",
        "runuser -u bob -- git push -f",
        "unshare -r git push -f",
        "npx -c 'git push -f'",
        "npm exec -c 'git push -f'",
        "vagrant ssh -c 'git push -f'",
        "gcloud compute ssh vm --command='git push -f'",
        "git-push -f",
        "/usr/lib/git-core/git-push -f",
        "fakeroot git push -f",
        "python3 -c \"import git; git.Repo('.').git.push('--force')\"",
        "python3 -c \"import git; git.Repo('.').remote().push(force=True)\"",
        "powershell git push --force",
    ] {
        let parts = of(line, LineEnd::Well, "");
        assert!(parts.iter().any(|part| part.deed == Deed::Push && part.force), "{line}: {parts:?}");
    }
    let parts = of("git rebase --exec 'git push -f' main", LineEnd::Well, "");
    assert!(parts.iter().any(|part| part.deed == Deed::Push && part.force), "{parts:?}");
    assert!(parts.iter().any(|part| part.deed == Deed::Commit), "{parts:?}");
}

#[test]
fn whether_a_push_overwrites_is_not_known_where_its_words_are_not() {
    let push = |line: &str, output: &str| {
        let parts = of(line, LineEnd::Well, output);
        parts.into_iter().find(|part| part.deed == Deed::Push).unwrap_or_else(|| panic!("{line}"))
    };
    for line in [
        "cat args | xargs git push",
        "xargs git push",
        "git push ${FORCE:-}",
        "git push ${FORCE-} origin",
        "$TOOL push",
    ] {
        assert!(push(line, "").force_value().as_object().is_some(), "{line}");
    }
    for line in ["git push", "echo main | xargs git push origin", "F=; git push $F"] {
        assert_eq!(push(line, "").force_value(), false.into(), "{line}");
    }
    for output in [
        "To github.com:x/y\n + abc1234...def5678 main -> main (forced update)",
        " + abc1234...def5678 main -> main",
    ] {
        let found = push("git push", output);
        assert_eq!((found.force_value(), found.is_destructive), (true.into(), true), "{output}");
    }
    assert_eq!(push("git push", "   abc1234..def5678  main -> main").force_value(), false.into());
}

#[test]
fn deletions_are_seen_in_code_and_in_services() {
    for line in [
        "python3 -c 'import os; os.system(\"rm -rf x\")'",
        "python3 -c 'import subprocess; subprocess.run([\"rm\",\"-rf\",\"x\"])'",
        "python3 -c 'import os as o; o.remove(\"x\")'",
        "python3 -c 'from os import remove as r; r(\"x\")'",
        "python3 -c 'from shutil import rmtree; rmtree(\"x\")'",
        "node -e 'require(\"fs\").promises.rm(\"x\")'",
        "perl -e 'unlink \"x\"'",
        "perl -e 'unlink glob \"*.o\"'",
        "$(which rm) -rf x",
        "powershell Remove-Item x",
        "powershell -NoProfile Remove-Item x",
    ] {
        let parts = of(line, LineEnd::Well, "");
        assert!(parts.iter().any(|part| part.deed == Deed::Delete), "{line}: {parts:?}");
    }
    for line in [
        "terraform apply -destroy",
        "docker compose down -v",
        "docker-compose down --volumes",
        "aws s3 sync . s3://b --delete",
        "gcloud storage rm gs://b/x",
        "curl -X DELETE https://x/y",
        "curl -XDELETE https://x/y",
        "gh api -X DELETE repos/a/b",
        "gh api --method DELETE repos/a/b",
        "rails db:drop",
        "bin/rails db:drop",
        "rake db:drop",
        "prisma migrate reset",
        "npx prisma db push --force-reset",
        "supabase db reset",
        "flyway clean",
        "zfs destroy pool/x",
        "lvremove vg/x",
        "vault kv delete secret/x",
        "git gc --prune=now",
    ] {
        let parts = of(line, LineEnd::Well, "");
        assert!(parts.iter().any(|part| part.is_destructive), "{line}: {parts:?}");
    }
    for line in [
        "docker compose down",
        "curl https://x/y",
        "gh api repos/a/b",
        "git gc",
        "rails db:migrate",
        "zfs list",
    ] {
        let parts = of(line, LineEnd::Well, "");
        assert!(!parts.iter().any(|part| part.is_destructive), "{line}: {parts:?}");
    }
}

#[test]
fn deployments_and_releases_are_told_by_their_program() {
    check(&[
        ("wrangler pages deploy dist", "Deploy"),
        ("supabase functions deploy hello", "Deploy"),
        ("supabase db push", "Deploy"),
        ("npx prisma migrate deploy", "Deploy"),
        ("npx gh-pages -d dist", "Deploy"),
        ("jsr publish", "Release"),
        ("npx jsr publish", "Release"),
        ("dart pub publish", "Release"),
        ("dart pub publish --dry-run", "-"),
        ("fastlane release", "Release"),
        ("fastlane deliver", "Release"),
        ("eas submit", "Release"),
        ("anaconda upload x.tar.bz2", "Release"),
        ("goreleaser release", "Release"),
        ("goreleaser release --snapshot", "Build"),
    ]);
}

#[test]
fn changes_of_files_are_seen_in_commands_that_are_for_something_else() {
    for line in [
        "git switch other",
        "git checkout other",
        "git checkout -b new origin/main",
        "npm run lint:fix",
        "npm audit fix",
        "cargo add serde",
        "uv add x",
        "poetry add x",
        "go get x",
        "go mod tidy",
        "rename s/a/b/ *.py",
        "cargo insta accept",
        "npx jest -u",
        "npx jest --updateSnapshot",
        "pytest --snapshot-update",
    ] {
        let parts = of(line, LineEnd::Well, "");
        assert!(parts.iter().any(|part| part.deed == Deed::Format), "{line}: {parts:?}");
    }
    check(&[
        ("sort -o x.txt x.txt", "Edit(x.txt)"),
        ("xxd -r a.hex a.bin", "Create(a.bin)"),
        ("git checkout -b new", "-"),
        ("git switch -c new", "-"),
        ("npm ci", "Install"),
        ("go mod download", "Install"),
        ("npx jest", "Tests"),
        ("npm run lint", "Lint"),
        ("sort x.txt", "-"),
    ]);
}
