//! Programs joined by pipes, started without a shell and ended in time.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hence_capabilities::process::{self, Confinement, Job, Keep, Program};
use hence_review::reproduce::{Pipeline, Simple};

/// The longest stored output. The rest is read and dropped, so that the programs can end.
pub(super) const OUTPUT_BYTES_MAX: usize = 1024 * 1024;

pub(super) struct Limits<'a> {
    pub(super) timeout: Duration,
    /// Variables of the environment that are passed on.
    pub(super) passed: &'a [String],
}

/// The folders of commands.
pub(super) struct Places {
    /// The only folder that commands can write to.
    pub(super) root: PathBuf,
    pub(super) home: PathBuf,
}

pub(super) enum Ended {
    NotStarted(String),
    TimedOut,
    Done { exit_code: Option<i32>, output: String },
}

/// Runs programs from left to right, and ends whatever they leave behind. The output is that of the last program,
/// followed by the stderr of all of them.
///
/// The programs reach no network and write to the scratch folder only, as far as the system allows that.
pub(super) fn run_pipeline(
    pipeline: &Pipeline,
    folder: &Path,
    scratch: &Places,
    limits: &Limits<'_>,
) -> (Ended, Confinement) {
    let home = &scratch.home;
    let programs: Option<Vec<Program>> =
        pipeline.stages.iter().map(|stage| program(stage, home, limits)).collect();
    let Some(programs) = programs.filter(|programs| !programs.is_empty()) else {
        let nothing = "there is no program to run".to_owned();
        return (Ended::NotStarted(nothing.clone()), Confinement::Open(nothing));
    };
    let name = |place: usize| {
        let stage = pipeline.stages.get(place);
        stage.and_then(|stage| stage.words.first()).map_or("", String::as_str).to_owned()
    };
    let job = Job { programs, directory: folder.to_owned(), input: None };
    let keep = Keep::Start(OUTPUT_BYTES_MAX as u64);
    let bounds = process::Limits { timeout: limits.timeout, output: keep, errors: keep };
    let (ended, confinement) = process::run_confined(job, &scratch.root, &bounds);
    let ended = match ended {
        process::Ended::NotStarted { program, error } => {
            Ended::NotStarted(format!("{} cannot be run: {error}", name(program)))
        }
        process::Ended::TimedOut | process::Ended::TooMuch => Ended::TimedOut,
        process::Ended::Lost(reason) => Ended::NotStarted(format!("{}: {reason}", name(0))),
        process::Ended::Exited(exited) => {
            let mut bytes = exited.output;
            bytes.extend(exited.errors);
            bytes.truncate(OUTPUT_BYTES_MAX);
            let output = String::from_utf8_lossy(&bytes).into_owned();
            Ended::Done { exit_code: exited.status.code(), output }
        }
    };
    (ended, confinement)
}

/// Describes a program whose environment holds only required variables and those that the caller passes on.
fn program(stage: &Simple, home: &Path, limits: &Limits<'_>) -> Option<Program> {
    let (program, arguments) = stage.words.split_first()?;
    // The program `hence` is this executable, wherever it is installed.
    let own = std::env::current_exe().ok().filter(|_| program == "hence");
    let set: [(&str, OsString); 4] = [
        ("HOME", home.into()),
        ("TMPDIR", home.into()),
        ("LANG", "C.UTF-8".into()),
        ("GIT_PAGER", "cat".into()),
    ];
    let passed = ["PATH"].into_iter().chain(limits.passed.iter().map(String::as_str));
    let passed = passed.filter_map(|name| Some((name, std::env::var_os(name)?)));
    let assigned = stage.assignments.iter().map(|(name, value)| (name.as_str(), value.into()));
    let all = set.into_iter().chain(passed).chain(assigned);
    Some(Program {
        path: own.map_or_else(|| program.into(), OsString::from),
        arguments: arguments.iter().map(OsString::from).collect(),
        environment: all.map(|(name, value)| (name.into(), value)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use hence_review::reproduce::parse_pipeline;

    use std::time::Instant;

    use super::*;

    fn run(line: &str, timeout: Duration) -> Ended {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), "one\ntwo\n").unwrap();
        let pipeline = parse_pipeline(line).unwrap();
        let limits = Limits { timeout, passed: &[] };
        let places = Places { root: folder.path().to_owned(), home: folder.path().join("home") };
        run_pipeline(&pipeline, folder.path(), &places, &limits).0
    }

    #[test]
    fn programs_are_joined_and_nothing_is_read_as_a_shell_would() {
        let long = Duration::from_secs(20);
        let Ended::Done { exit_code, output } = run("cat a | grep two | cat", long) else { panic!("ended") };
        assert_eq!((exit_code, output.as_str()), (Some(0), "two\n"));
        let Ended::Done { exit_code, output } = run("cat 'a;ls' '$HOME'", long) else { panic!("ended") };
        assert!(exit_code == Some(1) && output.contains("a;ls") && output.contains("$HOME"), "{output}");
        assert!(matches!(run("no-such-program-here", long), Ended::NotStarted(_)));
    }

    #[test]
    fn what_does_not_end_is_ended() {
        let started = Instant::now();
        assert!(matches!(run("sleep 60 | cat", Duration::from_millis(50)), Ended::TimedOut));
        assert!(started.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn output_is_kept_up_to_its_limit() {
        let long = Duration::from_secs(20);
        let Ended::Done { output, .. } = run("head -c 3000000 /dev/zero", long) else { panic!("ended") };
        assert_eq!(output.len(), OUTPUT_BYTES_MAX);
    }

    #[test]
    fn what_a_program_left_behind_is_ended() {
        let long = Duration::from_secs(600);
        let line = "sh -c 'sleep 600 & echo $!; exit 0'";
        let Ended::Done { exit_code, output } = run(line, long) else { panic!("ended") };
        assert_eq!(exit_code, Some(0));
        let stat = format!("/proc/{}/stat", output.trim());
        let lives = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
        let started = Instant::now();
        while lives() {
            assert!(started.elapsed() < Duration::from_secs(60), "{output}");
        }
    }
}
