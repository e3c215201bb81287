use super::tests::check;

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
