//! The caller's side: gives an order to a supervisor, reads what the programs write, and decides when it is over.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::supervisor::{self, Reach, supervise};
use super::wire::{Event, Order, read_event, write_order};
use super::{Confinement, Delivery, Ended, Exited, Job, Keep, Limits};

/// The time that output may still come in after the programs exited: a descendant may hold the pipe for ever.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// The time that the supervisor gets to end what is left.
const END: Duration = Duration::from_secs(15);

/// Runs a job to its end, or until its time is over. Nothing that descends from its programs is left.
pub fn run(job: Job, limits: &Limits) -> Ended {
    run_order(job, None, limits).0
}

/// Runs a job without network and with a disk that is read-only outside `writable`, as far as the system allows it.
pub fn run_confined(job: Job, writable: &Path, limits: &Limits) -> (Ended, Confinement) {
    let (ended, confinement) = run_order(job, Some(writable.as_os_str()), limits);
    (ended, confinement.unwrap_or_else(|| Confinement::Open("nothing was started".to_owned())))
}

fn run_order(job: Job, writable: Option<&OsStr>, limits: &Limits) -> (Ended, Option<Confinement>) {
    let order = Order { programs: job.programs, input: job.input, is_confined: writable.is_some() };
    match Running::start(&job.directory, writable, limits) {
        Ok(mut running) => {
            let ended = follow(&mut running, &order, limits);
            (ended, running.seen.confinement.take())
        }
        Err(error) => (Ended::NotStarted { program: 0, error }, None),
    }
}

/// Gives an order and follows it to its end.
fn follow(running: &mut Running, order: &Order, limits: &Limits) -> Ended {
    let deadline = Instant::now().checked_add(limits.timeout);
    let not_started = |error| Ended::NotStarted { program: 0, error };
    let ordered = running.order(order, deadline);
    if ordered.is_ok() {
        running.until(deadline, |seen| seen.is_over());
        if seen_exit(running) {
            // The programs have exited. What they wrote is in the pipes, which a descendant may still hold.
            let soon = Instant::now().checked_add(LAST_WORDS);
            running.until(soon, |seen| seen.open_streams == 0 && seen.input.is_some());
        }
    }
    let in_time = running.seen.is_over();
    running.end();
    let seen = &mut running.seen;
    if let Some((program, error)) = seen.not_started.take() {
        return Ended::NotStarted { program, error };
    }
    match (ordered, seen.status) {
        // An order that was not given whole was not followed, unless the supervisor says that it was.
        (Err(error), _) if !seen.is_starting => not_started(error),
        _ if seen.has_surplus => Ended::TooMuch,
        (_, Some(status)) if in_time => {
            let lost = || Delivery::Cut { delivered: 0, reason: "nobody knows".to_owned() };
            Ended::Exited(Exited {
                status,
                output: running.output.take(),
                errors: running.errors.take(),
                input: seen.input.take().unwrap_or_else(lost),
            })
        }
        _ if !in_time => Ended::TimedOut,
        _ if !seen.is_starting => not_started(io::Error::other("the supervisor ended")),
        _ => Ended::Lost("its supervisor ended before it did".to_owned()),
    }
}

fn seen_exit(running: &Running) -> bool {
    running.seen.status.is_some() && !running.seen.has_surplus
}

/// Something that happens to a job.
enum Notice {
    Event(Event),
    /// The supervisor has ended.
    Closed,
    /// One of the two streams has ended.
    StreamEnd,
    /// A stream has more bytes than allowed.
    Surplus,
}

/// The events of a job so far.
#[derive(Default)]
struct Seen {
    not_started: Option<(usize, io::Error)>,
    /// Whether the supervisor was about to start the programs.
    is_starting: bool,
    group: Option<Pid>,
    confinement: Option<Confinement>,
    input: Option<Delivery>,
    status: Option<ExitStatus>,
    open_streams: u8,
    has_surplus: bool,
    is_closed: bool,
}

impl Seen {
    fn is_over(&self) -> bool {
        self.not_started.is_some() || self.status.is_some() || self.has_surplus || self.is_closed
    }

    fn add(&mut self, notice: Notice) {
        match notice {
            Notice::Event(Event::NotStarted { program, error }) => {
                self.not_started = Some((program, io::Error::from_raw_os_error(error)));
            }
            Notice::Event(Event::Starting) => self.is_starting = true,
            Notice::Event(Event::Confined(confinement)) => self.confinement = Some(confinement),
            Notice::Event(Event::Started(group)) => self.group = Pid::from_raw(group),
            Notice::Event(Event::Input(delivery)) => self.input = Some(delivery),
            Notice::Event(Event::Exited(status)) => self.status = Some(status),
            Notice::Closed => self.is_closed = true,
            Notice::StreamEnd => self.open_streams = self.open_streams.saturating_sub(1),
            Notice::Surplus => self.has_surplus = true,
        }
    }
}

/// A job and its supervisor.
struct Running {
    control: UnixStream,
    /// The process of the supervisor; `None` when it is a thread.
    supervisor: Option<Child>,
    notices: Receiver<Notice>,
    output: Kept,
    errors: Kept,
    seen: Seen,
}

impl Running {
    fn start(directory: &Path, writable: Option<&OsStr>, limits: &Limits) -> io::Result<Self> {
        let (control, theirs) = UnixStream::pair()?;
        let (output_reader, output_writer) = io::pipe()?;
        let (errors_reader, errors_writer) = io::pipe()?;
        let (send, notices) = mpsc::channel();
        let output = Kept::read(output_reader, limits.output, &send)?;
        let errors = Kept::read(errors_reader, limits.errors, &send)?;
        listen(control.try_clone()?, send)?;
        let theirs = (OwnedFd::from(theirs), OwnedFd::from(output_writer), OwnedFd::from(errors_writer));
        let supervisor = start_supervisor(theirs, directory, writable)?;
        let seen = Seen { open_streams: 2, ..Seen::default() };
        Ok(Self { control, supervisor, notices, output, errors, seen })
    }

    /// Gives the order. The supervisor follows it once it has all of it.
    fn order(&mut self, order: &Order, deadline: Option<Instant>) -> io::Result<()> {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        self.control.set_write_timeout(left.map(|left| left.max(Duration::from_millis(1))))?;
        write_order(order, &mut self.control)
    }

    /// Takes in what happens until a condition holds or a time is over.
    fn until(&mut self, deadline: Option<Instant>, holds: impl Fn(&Seen) -> bool) {
        while !holds(&self.seen) {
            let notice = match deadline {
                None => self.notices.recv().ok(),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    self.notices.recv_timeout(left).ok()
                }
            };
            match notice {
                Some(notice) => self.seen.add(notice),
                None => return,
            }
        }
    }

    /// Tells the supervisor to end everything, and waits until it has.
    fn end(&mut self) {
        let _ = self.control.shutdown(Shutdown::Write);
        self.until(Instant::now().checked_add(END), |seen| seen.is_closed);
        // Whatever held the streams is dead, unless it left the group of a supervisor that reaches no further.
        let rest = if self.supervisor.is_some() { END } else { LAST_WORDS };
        if let Some(mut supervisor) = self.supervisor.take() {
            match self.seen.is_closed {
                true => end_orphans(&mut supervisor, self.seen.group),
                // One that is stuck in the kernel with what it ends is not waited for.
                false => drop(thread::Builder::new().spawn(move || drop(supervisor.wait()))),
            }
        }
        self.until(Instant::now().checked_add(rest), |seen| seen.open_streams == 0);
    }
}

/// The processes of supervisors that are not reaped yet.
static SUPERVISORS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn supervisors() -> MutexGuard<'static, BTreeSet<u32>> {
    // No code panics while holding the lock.
    SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reaps a supervisor that has ended, and ends what it should have ended if it was killed itself.
fn end_orphans(supervisor: &mut Child, group: Option<Pid>) {
    let has_served = supervisor.wait().is_ok_and(|status| status.success());
    // Under the lock no other thread starts a supervisor that would be taken for an orphan.
    let mut supervisors = supervisors();
    supervisors.remove(&supervisor.id());
    if has_served {
        return;
    }
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let kept = supervisors.iter().filter_map(|pid| i32::try_from(*pid).ok()).collect();
    super::descendants::end_all_but(&kept);
}

/// Starts a supervisor with its ends of the socket and the streams.
fn start_supervisor(
    (control, output, errors): (OwnedFd, OwnedFd, OwnedFd),
    directory: &Path,
    writable: Option<&OsStr>,
) -> io::Result<Option<Child>> {
    if let Some(mut command) = supervisor::command(writable) {
        command.current_dir(directory).stdin(control).stdout(output).stderr(errors);
        let mut supervisors = supervisors();
        let child = command.spawn()?;
        supervisors.insert(child.id());
        return Ok(Some(child));
    }
    let directory = directory.to_owned();
    let supervise = move || {
        // The caller sees from the end of the socket that nothing was started.
        let open = Confinement::Open("this process has no supervisor of its own".to_owned());
        let _ = supervise(UnixStream::from(control), output, errors, Some(&directory), (Reach::Group, open));
    };
    thread::Builder::new().spawn(supervise)?;
    Ok(None)
}

/// Passes on what the supervisor reports.
fn listen(mut control: UnixStream, send: Sender<Notice>) -> io::Result<()> {
    let listen = move || {
        while let Ok(event) = read_event(&mut control) {
            let _ = send.send(Notice::Event(event));
        }
        let _ = send.send(Notice::Closed);
    };
    thread::Builder::new().spawn(listen).map(drop)
}

/// The stored part of a stream, which a thread adds to. The thread ends with the stream and is not joined.
#[derive(Clone)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    fn read(mut pipe: impl Read + Send + 'static, keep: Keep, send: &Sender<Notice>) -> io::Result<Self> {
        let kept = Self(Arc::default());
        let (filled, send) = (kept.clone(), send.clone());
        let read = move || {
            let mut buffer = [0; 16 * 1024];
            loop {
                let count = match pipe.read(&mut buffer) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Ok(count @ 1..) => count,
                    _ => break,
                };
                if !filled.add(buffer.get(..count).unwrap_or_default(), keep) {
                    let _ = send.send(Notice::Surplus);
                    break;
                }
            }
            let _ = send.send(Notice::StreamEnd);
        };
        thread::Builder::new().spawn(read)?;
        Ok(kept)
    }

    /// Adds bytes as far as they are stored; returns whether they are allowed.
    fn add(&self, bytes: &[u8], keep: Keep) -> bool {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let length = |bytes_max: u64| usize::try_from(bytes_max).unwrap_or(usize::MAX);
        match keep {
            Keep::All(bytes_max) => {
                kept.extend_from_slice(bytes);
                kept.len() <= length(bytes_max)
            }
            Keep::Start(bytes_max) => {
                let room = length(bytes_max).saturating_sub(kept.len()).min(bytes.len());
                kept.extend_from_slice(bytes.get(..room).unwrap_or_default());
                true
            }
            Keep::End(bytes_max) => {
                kept.extend_from_slice(bytes);
                let surplus = kept.len().saturating_sub(length(bytes_max));
                kept.drain(..surplus);
                true
            }
        }
    }

    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
