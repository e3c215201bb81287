use super::*;

pub(super) fn of(line: &str, end: LineEnd, output: &str) -> Vec<Part> {
    parts(line, "", end, Signs::of(output))
}

/// Writes what a line did: deeds with their files, `!` for a forced push, `~` for destructive.
fn told(line: &str) -> String {
    let shown = |part: &Part| {
        let files: Vec<String> = part
            .files
            .iter()
            .map(|file| match &file.renamed_to {
                Some(to) => format!("{}>{to}", file.path),
                None => file.path.clone(),
            })
            .collect();
        let files = if files.is_empty() { String::new() } else { format!("({})", files.join(",")) };
        let marks =
            format!("{}{}", if part.force { "!" } else { "" }, if part.is_destructive { "~" } else { "" });
        format!("{:?}{marks}{files}", part.deed)
    };
    let known = of(line, LineEnd::Well, "");
    let known: Vec<String> = known.iter().filter(|part| part.deed.is_known()).map(shown).collect();
    if known.is_empty() { "-".to_owned() } else { known.join(" ") }
}

pub(super) fn check(table: &[(&str, &str)]) {
    let wrong: Vec<String> = table
        .iter()
        .filter(|(line, expected)| told(line) != *expected)
        .map(|(line, expected)| format!("{line}: expected {expected}, found {}", told(line)))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn tests_are_told_by_the_program_that_runs() {
    for line in [
        "pytest",
        "pytest -q tests/test_a.py::test_b",
        "py.test",
        "pytest-3 -x",
        "python -m pytest",
        "python3.11 -m pytest -q",
        "python -W ignore -m unittest discover",
        "python -m coverage run -m pytest",
        "coverage run -m pytest",
        "python manage.py test shop",
        "python setup.py test",
        "uv run pytest",
        "uv run --with hypothesis pytest -q",
        "poetry run pytest",
        "pipenv run python -m pytest",
        "hatch run test",
        "tox -e py311",
        "nox",
        "npx jest --ci",
        "npx --yes vitest run",
        "npx mocha",
        "npm test",
        "npm t",
        "npm run test",
        "npm run test:unit -- --watch=false",
        "npm --prefix web run test",
        "yarn test",
        "yarn jest",
        "yarn workspace web test",
        "pnpm test",
        "pnpm --filter web test",
        "pnpm exec vitest",
        "bun test",
        "bun run test",
        "bunx vitest",
        "./node_modules/.bin/jest",
        "node --test",
        "deno test",
        "make test",
        "make -j 4 check",
        "make -C sub test",
        "just test",
        "cargo test",
        "cargo t --workspace",
        "cargo +nightly test",
        "cargo nextest run",
        "go test ./...",
        "CGO_ENABLED=0 go test -race ./...",
        "gotestsum",
        "mvn test",
        "mvn -q -Dtest=A verify",
        "./mvnw test",
        "gradle test",
        "./gradlew :app:testDebugUnitTest",
        "./gradlew check",
        "dotnet test",
        "bundle exec rspec spec/a_spec.rb",
        "rspec",
        "bin/rails test",
        "rake test",
        "vendor/bin/phpunit",
        "php vendor/bin/phpunit",
        "php artisan test",
        "composer test",
        "ctest --output-on-failure",
        "swift test",
        "mix test",
        "sbt test",
        "stack test",
        "dune runtest",
        "zig build test",
        "flutter test",
        "bazel test //...",
        "xcodebuild -scheme A test",
        "npx playwright test",
        "npx cypress run",
        "npx nx run web:test",
        "turbo test",
        "bats tests/",
        "prove -l t",
        "./run_tests.sh",
        "bash scripts/test.sh",
        "sh ./scripts/run-tests.sh",
        "docker compose run --rm web pytest -q",
        "docker exec -it app npm test",
        "sudo -u ci pytest",
        "env X=1 Y=2 pytest",
        "X=1 pytest",
        "time pytest",
        "timeout 60 pytest",
        "timeout -k 5 60s pytest",
        "nice -n 10 pytest",
        "bash -c 'cd x && pytest -q'",
        "bash -lc \"pytest -q\"",
        "sh -c 'pytest'",
        "eval 'pytest -q'",
        "cd sub && pytest",
        "(cd sub; pytest)",
        "pytest 2>&1 | tail -20",
        "pytest > /tmp/out.txt 2>&1",
        "source .venv/bin/activate && pytest",
        ".venv/bin/pytest",
        "/usr/bin/python3 -m pytest",
        "set -e; pytest",
        "git ls-files '*_test.py' >/dev/null; pytest",
        "echo start; pytest; echo done",
        "find . -name '*_test.py' | xargs pytest",
        "bash <<'EOF'\npytest -q\nEOF",
        "if [ -f setup.py ]; then pytest; fi",
        "for v in 3.10 3.11; do python$v -m pytest; done",
    ] {
        let found = told(line);
        let tests = found.split(' ').filter(|deed| deed.starts_with("Tests")).count();
        assert!(tests == 1 || line.contains("python$v"), "{line}: {found}");
    }
}

#[test]
fn a_word_that_merely_occurs_is_no_test_and_no_commit() {
    check(&[
        ("cat pytest.log", "Read(pytest.log)"),
        ("grep -rn pytest .", "Search"),
        ("rg 'git commit' docs", "Search"),
        ("pip install pytest", "Install"),
        ("uv add --dev pytest", "Format Install"),
        ("npm install --save-dev jest", "Format Install"),
        ("echo 'do not run cargo test'", "-"),
        ("echo git commit", "-"),
        ("printf 'git push -f'", "-"),
        ("git log --grep='git commit'", "-"),
        ("git log --oneline | grep 'git push'", "-"),
        ("pytest --version", "-"),
        ("pytest --collect-only -q", "-"),
        ("cargo test --no-run", "-"),
        ("make -n test", "-"),
        ("jest --listTests", "-"),
        ("which pytest", "-"),
        ("ls tests", "List"),
        ("vim pytest.ini", "-"),
        ("git config alias.ci commit", "-"),
        ("git ci -m x", "Commit"),
        ("git commit --dry-run", "-"),
        ("git push --dry-run origin main", "-"),
        ("git commit --help", "-"),
        ("# git commit", "-"),
        ("cat <<'EOF'\ngit commit -am x\npytest\nEOF", "-"),
        ("test -f x", "-"),
        ("[ -d tests ]", "-"),
        ("kubectl get pods", "-"),
        ("terraform plan", "-"),
        ("npm publish --dry-run", "-"),
        ("kubectl apply --dry-run=client -f x.yaml", "-"),
    ]);
}

#[test]
fn checks_of_form_and_types_are_told_apart() {
    for line in [
        "ruff check .",
        "ruff .",
        "python -m ruff check src",
        "flake8",
        "pylint src",
        "npx eslint . --ext .ts",
        "yarn lint",
        "npm run lint",
        "cargo clippy --all-targets -- -D warnings",
        "golangci-lint run",
        "go vet ./...",
        "shellcheck a.sh",
        "pre-commit run --all-files",
        "make lint",
        "black --check .",
        "isort --check-only .",
        "prettier --check src",
        "cargo fmt --check",
        "cargo fmt --all -- --check",
        "gofmt -l .",
        "ruff format --check",
        "biome check src",
        "bundle exec rubocop",
        "mix format --check-formatted",
        "terraform validate",
    ] {
        assert_eq!(told(line), "Lint", "{line}");
    }
    for line in [
        "mypy src",
        "python -m mypy .",
        "uv run mypy .",
        "npx tsc --noEmit",
        "yarn tsc",
        "npm run typecheck",
        "npm run type-check",
        "pyright",
        "cargo check",
        "make typecheck",
        "vue-tsc --noEmit",
        "deno check mod.ts",
    ] {
        assert_eq!(told(line), "Types", "{line}");
    }
    check(&[("black .", "Format"), ("cargo fmt", "Format"), ("prettier --write src", "Format")]);
}

#[test]
fn every_spelling_of_commit_and_push_is_known() {
    for line in [
        "git commit",
        "git commit -am x",
        "git commit --amend --no-edit",
        "git -C sub commit -m x",
        "git -c user.name=a -c user.email=b commit -m x",
        "git --git-dir=/r/.git --work-tree /r commit -m x",
        "git --git-dir /r/.git commit -m x",
        "git --no-pager commit -m x",
        "/usr/bin/git commit -m x",
        "git add -A && git commit -m x",
        "cd x && git commit -m 'a && b'",
        "GIT_AUTHOR_NAME=a git commit -m x",
        "git commit -m \"$(cat <<'EOF'\nIt's done; git push -f\n\n(yes)\nEOF\n)\"",
        "bash -c \"git commit -m x\"",
        "git commit -F - <<EOF\nsubject\nEOF",
        "(git commit -m x)",
        "{ git commit -m x; }",
    ] {
        assert_eq!(told(line), "Commit", "{line}");
    }
    for line in [
        "git push --force",
        "git push --force origin main",
        "git push origin main --force",
        "git push -f",
        "git push -uf origin main",
        "git push -fu origin main",
        "git push --force-with-lease",
        "git push --force-with-lease=main:abc origin main",
        "git push --force-w",
        "git push origin +main",
        "git push origin +HEAD:main",
        "git push --mirror",
        "git -C x push -f",
        "cd x && git push --force",
        "git -c push.default=current push --force",
        "sudo git push -f",
        "X=1 git push -f",
        "bash -lc 'git push -f'",
        "echo $(git push -f)",
        "echo \"`git push -f`\"",
        "time git push --force",
        "true; git push -f",
        "echo main | xargs git push -f origin",
    ] {
        assert_eq!(told(line), "Push!~", "{line}");
    }
    check(&[
        ("git push", "Push"),
        ("git push -u origin feature-f", "Push"),
        ("git push origin main:feature", "Push"),
        ("git push --tags", "Push"),
        ("git push --no-verify", "Push"),
        ("git push -o ci.skip=f", "Push"),
        ("git push origin --delete old", "Push~"),
        ("git push origin :old", "Push~"),
        ("git commit -am x && git push -f", "Commit Push!~"),
        ("git add . && git commit -m x && git push && git status", "Commit Push Status"),
        ("git status && git diff", "Status Diff"),
        ("git diff | head", "Diff"),
        ("pytest -q && git status", "Tests Status"),
        ("git reset --hard HEAD~1", "Format~"),
        ("git clean -fdx", "Delete"),
        ("git clean -n", "-"),
        ("git checkout -- a.py", "Edit~(a.py)"),
        ("git checkout main", "Format"),
        ("git restore a.py", "Edit~(a.py)"),
        ("git restore --staged a.py", "-"),
        ("git branch -D old", "Destroy~"),
    ]);
}

#[test]
fn files_that_commands_change_are_named() {
    check(&[
        ("sed -i 's/a/b/' x.py", "Edit(x.py)"),
        ("sed -i '' -e 's/a/b/' x.py y.py", "Edit(x.py,y.py)"),
        ("sed -i.bak -E 's/a/b/' src/x.py", "Edit(src/x.py)"),
        ("sed --in-place=.bak s/a/b/ x", "Edit(x)"),
        ("sed -ne '/x/p' a.py", "Read(a.py)"),
        ("sed -n '1,20p' a.py", "Read(a.py)"),
        ("cat a | sed s/a/b/", "Read(a)"),
        ("perl -pi -e 's/a/b/' x.pl", "Edit(x.pl)"),
        ("perl -i -pe 's/a/b/' x.pl", "Edit(x.pl)"),
        ("perl -e 'print 1'", "-"),
        ("gawk -i inplace '{print}' x", "Edit(x)"),
        ("echo hi > a.txt", "Create(a.txt)"),
        ("echo hi >> a.txt", "Edit(a.txt)"),
        ("echo hi >| a.txt", "Create(a.txt)"),
        ("cat > a.txt <<'EOF'\nx > y\nEOF", "Create(a.txt)"),
        ("cat <<EOF | tee -a a.txt\nx\nEOF", "Edit(a.txt)"),
        ("echo x | tee a b", "Create(a,b)"),
        ("pytest > /dev/null 2>&1", "Tests"),
        ("pytest 2> err.log", "Create(err.log) Tests"),
        ("pytest | tee out.log", "Create(out.log) Tests"),
        ("echo x >&2", "-"),
        ("echo x > \"$OUT\"", "-"),
        ("make &> build.log", "Create(build.log) Build"),
        ("cd sub && sed -i s/a/b/ x.py", "Edit(sub/x.py)"),
        ("cd /abs/dir; echo x > y", "Create(/abs/dir/y)"),
        ("cd $DIR && sed -i s/a/b/ x.py", "Edit"),
        ("(cd sub && touch a) && touch b", "Create(sub/a) Create(b)"),
        ("touch ./a/../b", "Create(b)"),
        ("cp a b", "Create(b)"),
        ("cp a b dir/", "Create(dir/a,dir/b)"),
        ("mv a.py b.py", "Rename(a.py>b.py)"),
        ("git mv a.py b.py", "Rename(a.py>b.py)"),
        ("git -C sub mv a b", "Rename(sub/a>sub/b)"),
        ("rm -rf build dist", "Delete(build,dist)"),
        ("rm -- -x", "Delete(-x)"),
        ("rm *.pyc", "Delete"),
        ("git rm old.py", "Delete(old.py)"),
        ("git rm --cached old.py", "-"),
        ("rmdir x", "Delete(x)"),
        ("find . -name '*.tmp' -delete", "Delete"),
        ("find . -name '*.tmp' -exec rm {} \\;", "Delete"),
        ("find . -name '*.py' | xargs sed -i s/a/b/", "List Edit"),
        ("find . -name '*.py'", "List"),
        ("find . -type f | xargs rm -f", "List Delete"),
        ("patch -p1 < fix.diff", "Edit"),
        ("git apply fix.diff", "Edit"),
        ("truncate -s 0 log", "Edit(log)"),
        ("sudo rm -rf /var/x", "Delete(/var/x)"),
        ("echo 'rm -rf /'", "-"),
        ("cat a b", "Read(a,b)"),
        ("cat a | grep x | head", "Read(a)"),
        ("grep x a.py", "Search"),
        ("ps aux | grep x", "-"),
        ("ls -la", "List"),
        ("tail -n 20 log.txt", "Read(log.txt)"),
    ]);
}

#[test]
fn commands_in_unusual_places_are_found() {
    check(&[
        ("git push origin HEAD --force-with-lease --force-if-includes", "Push!~"),
        ("GIT_SSH_COMMAND=\"ssh -i k\" git push -f 2>&1 | tail -3", "Push!~"),
        ("nohup git push -f &", "Push!~"),
        ("git commit -m a -m 'b; git push -f'", "Commit"),
        ("X=$(git commit -m x)", "Commit"),
        ("yes | git push -f", "Push!~"),
        ("while true; do git push -f; done", "Push!~"),
        ("python3 -c \"import os; os.system('git push -f')\"", "Push!~"),
        ("cat <<EOF | bash\npytest\nEOF", "Tests"),
        ("echo 'git push -f' | sh", "Push!~"),
        ("echo 'git push -f' | cat", "-"),
        ("./gradlew clean test", "Tests"),
        ("mvn clean install", "Build"),
        ("make clean test", "Tests"),
        ("npm run test && npm run lint && npm run build", "Tests Lint Build"),
        ("npx tsc --noEmit && npx eslint .", "Types Lint"),
        ("pytest -k 'not slow' --maxfail=1", "Tests"),
        ("cd backend; source venv/bin/activate; python -m pytest", "Tests"),
        ("docker-compose exec -T web pytest", "Tests"),
        ("cat a > b", "Create(b) Read(a)"),
        ("cat > 'my file.txt' <<EOF\nx\nEOF", "Create(my file.txt)"),
        ("printf x >> a && git add a", "Edit(a)"),
        ("rm -rf \"$DIR\"", "Delete"),
        ("rm -rf node_modules/ .cache", "Delete(node_modules,.cache)"),
        ("pushd x && pytest && popd", "Tests"),
        ("[ -f x ] && rm x", "Delete(x)"),
        ("test -d x || mkdir x", "-"),
        ("cargo test --no-fail-fast -- --nocapture", "Tests"),
        ("go test -run TestX ./... -count=1", "Tests"),
        ("( set -x; git push --force )", "Push!~"),
        ("git push origin main -f;", "Push!~"),
        ("git\tpush\t-f", "Push!~"),
        ("git push \\\n  --force \\\n  origin main", "Push!~"),
        ("'git' push '--force'", "Push!~"),
        ("command git push -f", "Push!~"),
        ("env -u X git push -f", "Push!~"),
        ("git push --force # not really", "Push!~"),
    ]);
}

#[test]
fn installs_builds_releases_and_deployments_are_told() {
    check(&[
        ("pip install -r requirements.txt", "Install"),
        ("python -m pip install x", "Install"),
        ("npm ci", "Install"),
        ("npm i", "Install"),
        ("yarn", "Install"),
        ("yarn add x", "Format Install"),
        ("cargo add serde", "Format Install"),
        ("go get x", "Format Install"),
        ("sudo apt-get install -y x", "Install"),
        ("brew install x", "Install"),
        ("uv sync", "Install"),
        ("bundle install", "Install"),
        ("npm install && npm test", "Install Tests"),
        ("make", "Build"),
        ("cargo build --release", "Build"),
        ("npm run build", "Build"),
        ("docker build -t x .", "Build"),
        ("npm publish", "Release"),
        ("cargo publish", "Release"),
        ("twine upload dist/*", "Release"),
        ("python -m twine upload dist/*", "Release"),
        ("gh release create v1", "Release"),
        ("gh release list", "-"),
        ("docker push x/y:1", "Release"),
        ("poetry publish --build", "Release"),
        ("git tag v1 && git push --tags", "Push"),
        ("kubectl apply -f k8s/", "Deploy"),
        ("kubectl -n prod rollout restart deploy/x", "Deploy"),
        ("helm upgrade --install x ./chart", "Deploy"),
        ("terraform apply -auto-approve", "Deploy"),
        ("terraform -chdir=infra apply", "Deploy"),
        ("terraform destroy", "Destroy~"),
        ("kubectl delete ns x", "Destroy~"),
        ("vercel --prod", "Deploy"),
        ("fly deploy", "Deploy"),
        ("npm run deploy", "Deploy"),
        ("make deploy", "Deploy"),
        ("./deploy.sh", "Deploy"),
        ("ansible-playbook site.yml", "Deploy"),
        ("gcloud run deploy svc", "Deploy"),
        ("aws s3 rm s3://b --recursive", "Destroy~"),
        ("psql -c 'DROP TABLE users'", "Destroy~"),
    ]);
}

#[test]
fn any_line_ends() {
    for line in [
        "bash -c ".repeat(5000),
        "sudo ".repeat(20_000),
        "eval 'x' && ".repeat(500),
        "(".repeat(9000),
        "a|".repeat(9000),
    ] {
        of(&line, LineEnd::Well, "");
    }
    let mut nested = "pytest".to_owned();
    for _ in 0..12 {
        nested = format!("bash -c {}", shell_word(&nested));
    }
    of(&nested, LineEnd::Well, "");
}

#[test]
fn the_value_of_an_option_is_no_option() {
    for line in [
        "git commit -m '--help'",
        "git commit -am --dry-run",
        "git commit -m--dry-run",
        "git commit --message --help",
        "git commit -F -h",
        "git commit -m x -- --dry-run",
        "git commit --author '--dry-run' -m x",
    ] {
        assert_eq!(told(line), "Commit", "{line}");
    }
    check(&[
        ("git commit --dry-run -m x", "-"),
        ("git commit -m x --dry-run", "-"),
        ("git commit -h", "-"),
        ("git push -o --force", "Push"),
        ("git push -o ci.skip -f", "Push!~"),
        ("git push origin main -- ", "Push"),
    ]);
}

#[test]
fn every_command_that_makes_a_commit_is_one() {
    check(&[
        ("git merge feature", "Commit"),
        ("git merge --no-ff -m '--abort' feature", "Commit"),
        ("git merge --abort", "-"),
        ("git merge --squash feature", "Edit"),
        ("git merge --ff-only origin/main", "Edit"),
        ("git cherry-pick abc", "Commit"),
        ("git cherry-pick -n abc", "Edit"),
        ("git cherry-pick --continue", "Commit"),
        ("git revert --no-edit HEAD", "Commit"),
        ("git revert --no-commit HEAD", "Edit"),
        ("git rebase -i main", "Commit"),
        ("git rebase --abort", "-"),
        ("git am < fix.patch", "Commit"),
        ("git pull", "Edit"),
        ("git pull --no-ff", "Commit"),
        ("git stash pop", "Edit"),
        ("git stash drop", "Destroy~"),
        ("hg commit -m x", "Commit"),
        ("hg push -f", "Push!~"),
        ("svn ci -m x", "Commit"),
        ("jj git push", "Push"),
    ]);
}

#[test]
fn a_force_hidden_in_settings_is_one() {
    check(&[
        ("git -c alias.up='push -f' up", "Push!~"),
        ("git -c alias.up='!git push --force' up origin", "Push!~"),
        ("git -c remote.origin.push=+refs/heads/*:refs/heads/* push origin", "Push!~"),
        ("git -c remote.origin.mirror=true push", "Push!~"),
        ("git -c alias.ci=commit ci -m x", "Commit"),
        ("git send-pack --force origin main", "Push!~"),
        ("cmd /c \"git push -f\"", "Push!~"),
        ("powershell -Command \"git push -f\"", "Push!~"),
        ("pwsh -NoProfile -c 'git commit -m x'", "Commit"),
        ("C:\\\\tools\\\\git.exe push -f", "Push!~"),
    ]);
}
