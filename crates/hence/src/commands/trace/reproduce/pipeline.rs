//! Programs joined by pipes, started without a shell and ended in time.

use std::io::Read;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use hence_review::reproduce::{Pipeline, Simple};
use rustix::process::{Pid, Signal, kill_process_group};

/// The longest stored output. The rest is read and dropped, so that the programs can end.
pub(super) const OUTPUT_BYTES_MAX: usize = 1024 * 1024;

/// The interval at which the end of the programs is polled.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The time to wait for output after all programs have ended: a descendant may still hold the pipe.
const LAST_WORDS: Duration = Duration::from_millis(500);

pub(super) struct Limits<'a> {
    pub(super) timeout: Duration,
    /// Variables of the environment that are passed on.
    pub(super) passed: &'a [String],
}

pub(super) enum Ended {
    NotStarted(String),
    TimedOut,
    Done { exit_code: Option<i32>, output: String },
}

/// Runs programs from left to right. The output is that of the last program, followed by the stderr of all of them.
pub(super) fn run_pipeline(pipeline: &Pipeline, folder: &Path, home: PathBuf, limits: &Limits<'_>) -> Ended {
    let started = Instant::now();
    let mut children: Vec<Child> = Vec::new();
    let mut readers: Vec<Receiver<Vec<u8>>> = Vec::new();
    let count = pipeline.stages.len();
    for (place, stage) in pipeline.stages.iter().enumerate() {
        let input = children.last_mut().and_then(|child| child.stdout.take());
        let input = input.map_or_else(Stdio::null, Stdio::from);
        let mut command = match command(stage, folder, &home, limits) {
            Ok(command) => command,
            Err(reason) => {
                end(children);
                return Ended::NotStarted(reason);
            }
        };
        // All programs are in one process group, so that one signal ends them and their descendants.
        let group = children.first().and_then(|child| i32::try_from(child.id()).ok()).unwrap_or(0);
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(group);
        match command.spawn() {
            Ok(mut child) => {
                if let Some(pipe) = child.stderr.take() {
                    readers.push(listen(pipe));
                }
                if place + 1 == count
                    && let Some(pipe) = child.stdout.take()
                {
                    readers.insert(0, listen(pipe));
                }
                children.push(child);
            }
            Err(error) => {
                end(children);
                let name = stage.words.first().map_or("", String::as_str);
                return Ended::NotStarted(format!("{name} cannot be run: {error}"));
            }
        }
    }
    finish(children, &readers, started, limits.timeout)
}

fn finish(
    mut children: Vec<Child>,
    readers: &[Receiver<Vec<u8>>],
    started: Instant,
    timeout: Duration,
) -> Ended {
    let is_over = |children: &mut Vec<Child>| {
        // The first program leads the group: it is checked last, and reaped only after the others have ended.
        let (first, rest) = match children.split_first_mut() {
            Some(parts) => parts,
            None => return true,
        };
        rest.iter_mut().all(has_ended) && has_ended(first)
    };
    while !is_over(&mut children) {
        if started.elapsed() >= timeout {
            end(children);
            return Ended::TimedOut;
        }
        thread::sleep(LOOK_EVERY);
    }
    let mut bytes = Vec::new();
    for reader in readers {
        bytes.extend(reader.recv_timeout(LAST_WORDS).unwrap_or_default());
    }
    bytes.truncate(OUTPUT_BYTES_MAX);
    let exit_code = children.last_mut().and_then(|child| child.wait().ok()).and_then(|status| status.code());
    Ended::Done { exit_code, output: String::from_utf8_lossy(&bytes).into_owned() }
}

fn has_ended(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

/// Ends programs and all their descendants.
fn end(children: Vec<Child>) {
    let group = children.first().and_then(|child| i32::try_from(child.id()).ok()).and_then(Pid::from_raw);
    if let Some(group) = group {
        // A group that has already ended cannot be killed, and need not be.
        let _ = kill_process_group(group, Signal::KILL);
    }
    for mut child in children {
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Makes a command whose environment holds only required variables and those that the caller passes on.
fn command(stage: &Simple, folder: &Path, home: &Path, limits: &Limits<'_>) -> Result<Command, String> {
    let (program, arguments) = stage.words.split_first().ok_or("there is no program to run")?;
    // The program `hence` is this executable, wherever it is installed.
    let own = std::env::current_exe().ok().filter(|_| program == "hence");
    let mut command = own.map_or_else(|| Command::new(program), Command::new);
    command.args(arguments).current_dir(folder).env_clear();
    command.env("HOME", home).env("TMPDIR", home).env("LANG", "C.UTF-8").env("GIT_PAGER", "cat");
    for name in ["PATH"].into_iter().chain(limits.passed.iter().map(String::as_str)) {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.envs(stage.assignments.iter().map(|(name, value)| (name, value)));
    Ok(command)
}

/// Starts a thread that drains a pipe. The thread ends with the pipe and is not joined.
fn listen(pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || drain(pipe, &send));
    receive
}

fn drain(mut pipe: impl Read, send: &Sender<Vec<u8>>) {
    let mut kept = Vec::new();
    let mut buffer = [0; 16 * 1024];
    while let Ok(count @ 1..) = pipe.read(&mut buffer) {
        let room = OUTPUT_BYTES_MAX.saturating_sub(kept.len()).min(count);
        kept.extend_from_slice(buffer.get(..room).unwrap_or_default());
    }
    let _ = send.send(kept);
}

#[cfg(test)]
mod tests {
    use hence_review::reproduce::parse_pipeline;

    use super::*;

    fn run(line: &str, timeout: Duration) -> Ended {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), "one\ntwo\n").unwrap();
        let pipeline = parse_pipeline(line).unwrap();
        let limits = Limits { timeout, passed: &[] };
        run_pipeline(&pipeline, folder.path(), folder.path().join("home"), &limits)
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
}
