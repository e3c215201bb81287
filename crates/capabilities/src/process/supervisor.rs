//! The supervisor: starts the programs of one job, reports how they end, and ends what they leave behind.

use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, ChildStderr, ChildStdin, Command, ExitCode, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::confine::{self, confine};
use super::wire::{Event, Order, read_order, write_event};
use super::{Confinement, Delivery, Program};

/// The only argument of a supervisor.
const SUPERVISE: &str = "__supervise";

/// The first argument of a process that confines itself and then starts a supervisor inside; the second is the folder that stays
/// writable.
const CONFINE: &str = "__confine";

/// The only argument of the supervisor inside: the first process of a namespace.
const SUPERVISE_INSIDE: &str = "__supervise_inside";

/// This executable, also when another file has its path by now.
const OWN_EXECUTABLE: &str = "/proc/self/exe";

/// Whether this executable becomes a supervisor when it is started with [`SUPERVISE`].
static IS_SERVED: AtomicBool = AtomicBool::new(false);

/// The largest part of one program's stderr that is stored while the others still run.
const ERRORS_BYTES_MAX: u64 = 1024 * 1024;

/// The time that threads get to say their last word after everything was killed.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The error of a program that the system was not even asked for, such as one with a zero byte in an argument.
const INVALID: i32 = rustix::io::Errno::INVAL.raw_os_error();

/// The processes that the end of a job reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reach {
    /// The process group of the programs.
    Group,
    /// Everything that descends from the programs.
    Descendants,
    /// Every process of the namespace whose first process this is: the kernel ends them with it.
    Namespace,
}

/// Supervises the programs of another process of this executable, if this process was started for it; `main` returns
/// the exit code then. Otherwise the jobs of this process get supervisors of their own.
///
/// `main` calls this before it does anything else.
pub fn serve() -> Option<ExitCode> {
    let arguments: Vec<_> = std::env::args_os().skip(1).take(3).collect();
    let served = match arguments.as_slice() {
        [word] if word == SUPERVISE => {
            let open = || Confinement::Open("nobody asked for it".to_owned());
            serve_stdin(Reach::Descendants, open())
        }
        [word] if word == SUPERVISE_INSIDE => {
            confine::settle_inside();
            serve_stdin(Reach::Namespace, Confinement::Confined)
        }
        [word, writable] if word == CONFINE => serve_confined(std::path::Path::new(writable)),
        _ => {
            let can_be_started = cfg!(target_os = "linux") && std::path::Path::new(OWN_EXECUTABLE).exists();
            IS_SERVED.store(can_be_started, Ordering::Relaxed);
            adopt_orphans();
            return None;
        }
    };
    Some(if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Moves into namespaces and has a supervisor serve inside. Where that is refused, this process serves and says why.
fn serve_confined(writable: &std::path::Path) -> io::Result<()> {
    if let Err(reason) = confine(writable) {
        return serve_stdin(Reach::Descendants, Confinement::Open(reason));
    }
    let mut inside = start_self(SUPERVISE_INSIDE).spawn()?;
    // The caller sees the end of a stream when nobody holds it, so this process must not.
    release_stdio()?;
    // Nothing of the namespace is left when its first process can be reaped.
    match inside.wait()?.success() {
        true => Ok(()),
        false => Err(io::Error::other("the supervisor inside ended before its programs")),
    }
}

/// Returns the command that starts this executable with one word.
fn start_self(word: &str) -> Command {
    let mut command = Command::new(OWN_EXECUTABLE);
    command.arg0("hence").arg(word).env_clear();
    command
}

/// Returns the command that starts a supervisor, confined to a folder if one is given; `None` where this executable is none.
pub(super) fn command(writable: Option<&OsStr>) -> Option<Command> {
    IS_SERVED.load(Ordering::Relaxed).then(|| {
        let mut command = start_self(if writable.is_some() { CONFINE } else { SUPERVISE });
        command.args(writable).process_group(0);
        command
    })
}

/// Has orphans handed to this process, also those that left the session: of the programs to their supervisor, and of a
/// supervisor that was killed itself to its caller.
#[cfg(target_os = "linux")]
fn adopt_orphans() {
    // Without it a process that leaves the group is out of reach, and nothing else changes.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

#[cfg(not(target_os = "linux"))]
fn adopt_orphans() {}

#[cfg(target_os = "linux")]
fn serve_stdin(reach: Reach, confinement: Confinement) -> io::Result<()> {
    adopt_orphans();
    let control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    let errors = io::stderr().as_fd().try_clone_to_owned()?;
    // The caller sees the end of a stream when no program holds it, so this process must not.
    release_stdio()?;
    supervise(control, output, errors, None, (reach, confinement))
}

#[cfg(not(target_os = "linux"))]
fn serve_stdin(_: Reach, _: Confinement) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Lets go of the three streams that this process was started with.
fn release_stdio() -> io::Result<()> {
    let null = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}

/// Something that happens to a job.
enum Notice {
    Input(Delivery),
    /// A program exited; it is not reaped yet, so its number stays its own.
    Exited(usize, ExitStatus),
    /// The caller wants no more, or is gone.
    Stop,
}

/// Reads an order and follows it to its end.
///
/// # Errors
/// The system's error when the order could not be read; nothing was started then.
pub(super) fn supervise(
    mut control: UnixStream,
    output: OwnedFd,
    errors: OwnedFd,
    directory: Option<&std::path::Path>,
    (reach, confinement): (Reach, Confinement),
) -> io::Result<()> {
    let order = read_order(&mut control)?;
    if order.is_confined {
        write_event(&Event::Confined(confinement), &mut control)?;
    }
    let (send, notices) = mpsc::channel();
    let watched = control.try_clone()?;
    watch(watched, send.clone())?;
    // From here on the caller must not believe that nothing was started, whatever becomes of this process.
    write_event(&Event::Starting, &mut control)?;
    let mut job = Started { children: Vec::new(), errors: Vec::new(), reach };
    let started = job.start(&order, output, &errors, directory);
    let event = match &started {
        Err((program, error)) => {
            Event::NotStarted { program: *program, error: error.raw_os_error().unwrap_or(INVALID) }
        }
        // Outside a namespace its numbers are those of other processes.
        Ok(_) if reach == Reach::Namespace => Event::Started(0),
        Ok(_) => Event::Started(job.group().map_or(0, |group| group.as_raw_nonzero().get())),
    };
    // A caller that is gone is noticed below.
    let _ = write_event(&event, &mut control);
    let Ok(stdin) = started else {
        job.end();
        return Ok(());
    };
    let merged = job.merge_errors(errors);
    let threads = job.wait_each(&send).and_then(|()| deliver_apart(stdin, order.input, &send));
    let mut is_delivered = threads.is_err();
    if threads.is_ok() {
        is_delivered = job.report(&notices, &mut control);
    }
    job.end();
    // What was killed has let go of its pipes, so whoever was writing or reading has ended too.
    while !is_delivered && let Ok(notice) = notices.recv_timeout(LAST_WORDS) {
        if let Notice::Input(delivery) = notice {
            is_delivered = true;
            let _ = write_event(&Event::Input(delivery), &mut control);
        }
    }
    let _ = merged.recv_timeout(LAST_WORDS);
    Ok(())
}

/// The programs of a job that were started.
struct Started {
    children: Vec<Child>,
    /// The stderr of each program, where there are several.
    errors: Vec<ChildStderr>,
    reach: Reach,
}

impl Started {
    /// Starts the programs from left to right, and returns the stdin of the first if it gets an input.
    fn start(
        &mut self,
        order: &Order,
        output: OwnedFd,
        errors: &OwnedFd,
        directory: Option<&std::path::Path>,
    ) -> Result<Option<ChildStdin>, (usize, io::Error)> {
        let mut stdin = None;
        let last = order.programs.len().saturating_sub(1);
        let mut output = Some(output);
        for (place, program) in order.programs.iter().enumerate() {
            let at = |error| (place, error);
            let mut command = prepare(program);
            if let Some(directory) = directory {
                command.current_dir(directory);
            }
            let before = self.children.last_mut().and_then(|child| child.stdout.take());
            match before {
                Some(before) => command.stdin(before),
                None if order.input.is_some() => command.stdin(Stdio::piped()),
                None => command.stdin(Stdio::null()),
            };
            match output.take_if(|_| place == last) {
                Some(output) => command.stdout(output),
                None => command.stdout(Stdio::piped()),
            };
            match last {
                0 => command.stderr(errors.try_clone().map_err(at)?),
                _ => command.stderr(Stdio::piped()),
            };
            // All programs are in one process group, so that one signal ends them.
            command.process_group(self.group().map_or(0, |group| group.as_raw_nonzero().get()));
            let mut child = command.spawn().map_err(at)?;
            if place == 0 {
                stdin = child.stdin.take();
            }
            self.errors.extend(child.stderr.take());
            self.children.push(child);
        }
        Ok(stdin)
    }

    /// Returns the process group of the programs.
    fn group(&self) -> Option<Pid> {
        self.children.first().map(Pid::from_child)
    }

    /// Waits for each program on a thread of its own.
    fn wait_each(&self, send: &Sender<Notice>) -> io::Result<()> {
        for (place, child) in self.children.iter().enumerate() {
            let (pid, send) = (Pid::from_child(child), send.clone());
            let wait = move || drop(send.send(Notice::Exited(place, wait(pid))));
            thread::Builder::new().spawn(wait)?;
        }
        Ok(())
    }

    /// Stores what each program writes to stderr, and passes it on, one program after the other, when all have ended.
    fn merge_errors(&mut self, errors: OwnedFd) -> Receiver<()> {
        let (send, merged) = mpsc::channel();
        let pipes = std::mem::take(&mut self.errors);
        let merge = move || {
            let collect = |pipe: ChildStderr| thread::spawn(move || collect(pipe));
            let threads: Vec<_> = pipes.into_iter().map(collect).collect();
            let mut errors = std::fs::File::from(errors);
            for thread in threads {
                let _ = errors.write_all(&thread.join().unwrap_or_default());
            }
            let _ = send.send(());
        };
        // Without the thread the messages are missing, and nothing else.
        let _ = thread::Builder::new().spawn(merge);
        merged
    }

    /// Reports what happens until the caller wants no more; returns whether that includes what became of the input.
    fn report(&self, notices: &Receiver<Notice>, control: &mut UnixStream) -> bool {
        let (mut left, mut last, mut is_delivered) = (self.children.len(), None, false);
        while let Ok(notice) = notices.recv() {
            let event = match notice {
                Notice::Stop => break,
                Notice::Input(delivery) => {
                    is_delivered = true;
                    Event::Input(delivery)
                }
                Notice::Exited(place, status) => {
                    left -= 1;
                    last = last.or((place + 1 == self.children.len()).then_some(status));
                    match last.filter(|_| left == 0) {
                        Some(status) => Event::Exited(status),
                        None => continue,
                    }
                }
            };
            if write_event(&event, control).is_err() {
                break;
            }
        }
        is_delivered
    }

    /// Ends the programs and everything in reach that descends from them.
    fn end(&mut self) {
        if let Some(group) = self.group() {
            // No program is reaped yet, so the group is still theirs. One that has ended cannot be killed.
            let _ = kill_process_group(group, Signal::KILL);
        }
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        if self.reach == Reach::Descendants {
            super::descendants::end_all();
        }
    }
}

fn prepare(program: &Program) -> Command {
    let mut command = Command::new(&program.path);
    command.args(&program.arguments).env_clear();
    command.envs(program.environment.iter().map(|(name, value)| (OsStr::new(name), OsStr::new(value))));
    command
}

/// Waits until the caller shuts down its side of the socket, or is gone.
fn watch(mut control: UnixStream, send: Sender<Notice>) -> io::Result<()> {
    let watch = move || {
        let mut byte = [0];
        loop {
            match control.read(&mut byte) {
                Ok(1..) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => break,
            }
        }
        let _ = send.send(Notice::Stop);
    };
    thread::Builder::new().spawn(watch).map(drop)
}

/// Waits for the exit of a child without reaping it.
fn wait(pid: Pid) -> ExitStatus {
    loop {
        match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(Some(status)) => {
                let code = status.exit_status().map(|code| (code & 0xff) << 8);
                return ExitStatus::from_raw(code.or(status.terminating_signal()).unwrap_or_default());
            }
            // It cannot be waited for: as if it had been killed.
            _ => return ExitStatus::from_raw(Signal::KILL.as_raw()),
        }
    }
}

/// Hands over the input on a thread: a program may read it late or never.
fn deliver_apart(stdin: Option<ChildStdin>, input: Option<Vec<u8>>, send: &Sender<Notice>) -> io::Result<()> {
    let (Some(stdin), Some(input)) = (stdin, input) else {
        let _ = send.send(Notice::Input(Delivery::Whole));
        return Ok(());
    };
    let send = send.clone();
    let deliver = move || drop(send.send(Notice::Input(deliver(stdin, &input))));
    thread::Builder::new().spawn(deliver).map(drop)
}

fn deliver(mut stdin: ChildStdin, input: &[u8]) -> Delivery {
    let mut delivered = 0;
    while let Some(rest) = input.get(delivered..).filter(|rest| !rest.is_empty()) {
        let error = match stdin.write(rest) {
            Ok(0) => io::ErrorKind::WriteZero.into(),
            Ok(count) => {
                delivered += count;
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => error,
        };
        // What nobody read is still in the pipe: a program that took nothing needs no input, one that took a part does.
        let unread = rustix::io::ioctl_fionread(&stdin).unwrap_or_default();
        if error.kind() == io::ErrorKind::BrokenPipe && unread == delivered as u64 {
            return Delivery::Unread;
        }
        return Delivery::Cut { delivered: delivered as u64, reason: error.to_string() };
    }
    Delivery::Whole
}

/// Reads a stream to its end, and returns its beginning.
fn collect(mut pipe: ChildStderr) -> Vec<u8> {
    let mut kept = Vec::new();
    let _ = pipe.by_ref().take(ERRORS_BYTES_MAX).read_to_end(&mut kept);
    let _ = io::copy(&mut pipe, &mut io::sink());
    kept
}
