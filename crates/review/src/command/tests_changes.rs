use super::tests::check;
use super::{Deed, LineEnd, NOT_KNOWN, Signs, parts};

/// Returns whether a request leaves open if a push is forced, and which arguments of its last command are not known.
fn open(line: &str) -> (bool, Vec<String>) {
    let parts = parts(line, "", LineEnd::Well, Signs::default());
    let part = parts.iter().rfind(|part| part.deed.is_known()).unwrap();
    let arguments = part.arguments();
    let marked = arguments.iter().filter_map(|argument| argument.get(NOT_KNOWN)?.as_str().map(str::to_owned));
    (part.deed == Deed::Push && part.force_value().get(NOT_KNOWN).is_some(), marked.collect())
}

#[test]
fn a_word_that_the_log_does_not_tell_may_be_an_option() {
    for line in [
        "git push $OPTIONS",
        "git push origin $OPTIONS",
        "git push ${OPTIONS} origin main",
        "git push $(cat flags)",
        "git push origin `cat flags`",
        "git push origin main$REST",
        "git push \"$OPTIONS\"",
        "git -C repo push $OPTIONS",
        "sudo git push $OPTIONS",
    ] {
        let (is_open, arguments) = open(line);
        assert!(is_open && arguments.len() == 1, "{line}: {arguments:?}");
    }
    for line in [
        "git push origin main",
        "git push -f $OPTIONS",
        "git push origin \"$BRANCH\"",
        "git push origin $(git branch --show-current)",
        "git push origin HEAD:\"$BRANCH\"",
        "B=main; git push origin $B",
        "git push \"origin\" '$OPTIONS'",
    ] {
        assert!(!open(line).0, "{line}");
    }
    assert_eq!(open("git commit $OPTIONS -m x").1, ["$OPTIONS"]);
    assert_eq!(open("git commit -m $MESSAGE").1, ["$MESSAGE"]);
    assert_eq!(open("git commit -m \"$MESSAGE\"").1, [""; 0]);
    assert_eq!(open("rm $FILES").1, ["$FILES"]);
    assert_eq!(open("rm \"$FILE\"").1, [""; 0]);
}

#[test]
fn files_that_are_changed_by_other_means_are_changes() {
    check(&[
        ("python3 -c \"open('src/x.py','w').write('a')\"", "Format"),
        ("python3 - <<'P'\nopen('src/x.py', mode='a').write('a')\nP", "Format"),
        ("python3 <<'P'\nfrom pathlib import Path\nPath('x').write_text('a')\nP", "Format"),
        ("echo \"require('fs').writeFileSync('x','a')\" | node", "Format"),
        ("node -e \"require('fs').writeFileSync('x.js','a')\"", "Format"),
        ("python3 -c \"print(open('x').read())\"", "-"),
        ("python3 -c \"open('/tmp/x','w').write('a')\"", "-"),
        ("yq -i '.a=1' x.yaml", "Edit(x.yaml)"),
        ("yq '.a' x.yaml", "Read(x.yaml)"),
        ("ed x.py", "Edit(x.py)"),
        ("ex -sc '%s/a/b/|x' x.py", "Edit(x.py)"),
        ("vim -es -c '%s/a/b/' -c wq x.py", "Edit(x.py)"),
        ("sd a b src/x.py", "Edit(src/x.py)"),
        ("cat x | sd a b", "Read(x)"),
        ("comby a b -i x.py", "Format"),
        ("ast-grep run -U -p a -r b", "Format"),
        ("crudini --set a.ini x y z", "Edit(a.ini)"),
        ("dos2unix src/x.py", "Edit(src/x.py)"),
        ("curl -sSLo src/x.js https://x.org/a", "Create(src/x.js)"),
        ("curl -O https://x.org/a.js", "Create(a.js)"),
        ("curl https://x.org/a.js", "-"),
        ("curl -o /dev/null https://x.org", "-"),
        ("wget -O src/x.js https://x.org", "Create(src/x.js)"),
        ("wget -qO- https://x.org/y", "-"),
        ("tar xzf a.tgz -C src", "Format"),
        ("tar -xf a.tgz", "Format"),
        ("tar -xf a.tgz -C /tmp/y", "-"),
        ("tar czf a.tgz src", "-"),
        ("unzip -o a.zip", "Format"),
        ("unzip -l a.zip", "-"),
        ("git stash", "Format"),
        ("git stash pop", "Edit"),
        ("git stash list", "-"),
        ("git reset --hard", "Format~"),
        ("git reset HEAD x", "-"),
        ("git checkout -- a.py", "Edit~(a.py)"),
        ("git checkout other -- a.py", "Edit~(a.py)"),
        ("git checkout HEAD~1 src/a.py b.py", "Edit~(src/a.py,b.py)"),
        ("git checkout -b topic origin/main", "Format"),
        ("git checkout main", "Format"),
        ("git restore src/a.py", "Edit~(src/a.py)"),
        ("git restore --staged src/a.py", "-"),
        ("git stash -u", "Format"),
        ("git stash -m 'half done'", "Format"),
        ("git stash push -- src/a.py", "Format"),
        ("git stash show", "-"),
        ("git clean -fd", "Delete"),
        ("git clean -dn", "-"),
        ("go generate ./...", "Format"),
        ("python manage.py makemigrations", "Format"),
    ]);
}

#[test]
fn a_force_that_the_shell_puts_together_is_one() {
    check(&[
        ("set -- -f; git push \"$@\"", "Push!~"),
        ("set -- -f origin; git push $@", "Push!~"),
        ("F=(-f); git push \"${F[@]}\"", "Push!~"),
        ("F=(origin -f); git push \"${F[@]}\"", "Push!~"),
        ("printf -v F %s -f; git push $F", "Push!~"),
        ("screen -dm git push -f", "Push!~"),
        ("screen -dmS x git push -f", "Push!~"),
        ("tmux send-keys -t x 'git push -f' Enter", "Push!~"),
        ("tmux new-session -d -s x 'git push -f'", "Push!~"),
        ("set -- origin main; git push \"$@\"", "Push"),
        ("tmux ls", "-"),
    ]);
}

#[test]
fn things_that_are_removed_deployed_and_committed_by_other_programs() {
    check(&[
        ("psql <<'E'\nDROP TABLE users;\nE", "Destroy~"),
        ("echo 'DROP TABLE users' | psql db", "Destroy~"),
        ("mysql -e 'truncate users'", "Destroy~"),
        ("echo 'select 1' | psql db", "-"),
        ("gsutil rm -r gs://b", "Destroy~"),
        ("gsutil -m rm -r gs://b", "Destroy~"),
        ("heroku apps:destroy x --confirm x", "Destroy~"),
        ("mkfs.ext4 /dev/sdb1", "Destroy~"),
        ("rsync -a --delete a/ b/", "Destroy~"),
        ("rsync -an --delete a/ b/", "-"),
        ("rsync a b", "Create(b)"),
        ("helmfile apply", "Deploy"),
        ("flux reconcile kustomization x", "Deploy"),
        ("sls deploy", "Deploy"),
        ("az webapp up", "Deploy"),
        ("nuget push x.nupkg", "Release"),
        ("git push heroku main", "Deploy"),
        ("git push -f heroku main", "Push!~"),
        ("npm version patch", "Commit"),
        ("npm version", "-"),
        ("npm version patch --no-git-tag-version", "-"),
        ("cz commit", "Commit"),
        ("p4 submit -d x", "Commit"),
        ("gh api -X PUT repos/a/b/contents/x.md -f message=m", "Commit"),
        ("gh api repos/a/b/contents/x.md", "-"),
        ("cargo release --execute", "Release"),
    ]);
}
