//! How a command is classed.

use super::program;
use super::shell::{Pipeline, parse_pipeline};

/// Whether a command may be run to reproduce a result, best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CommandClass {
    /// Known to read, build or test within the working directory.
    Safe,
    /// Known, but it runs recipes of the project or reads outside the working directory: look first.
    Caution,
    /// Nobody has judged this program.
    Unknown,
    /// It changes things, reaches the network, or takes a shell.
    Unsafe,
}

impl CommandClass {
    /// Returns the word for reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Caution => "caution",
            Self::Unknown => "unknown",
            Self::Unsafe => "unsafe",
        }
    }
}

/// A class with the reason for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The class.
    pub class: CommandClass,
    /// Why, in a few words.
    pub reason: String,
    /// What to run; nothing when the line takes a shell.
    pub pipeline: Option<Pipeline>,
}

/// Judges a command line. A pipeline is as good as its worst program.
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
mod tests {
    use super::*;
    use CommandClass::{Caution, Safe, Unknown, Unsafe};

    #[test]
    fn commands_are_judged_by_program_and_arguments() {
        for (line, class) in [
            ("pytest -q tests", Safe),
            ("python -m pytest -q", Safe),
            ("python3 -c 'import os'", Unsafe),
            ("cargo test -- --nocapture", Safe),
            ("cargo publish", Unsafe),
            ("cargo --config x test", Caution),
            ("npm run build", Safe),
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
