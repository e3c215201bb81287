//! The queue in a folder: logs that are cut, damaged, shortened, locked or not plain files.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hence_fleet::contract::TestClock;
use hence_fleet::{
    ClaimRequest, FolderQueue, JobFilter, JobQueue, Millis, NewJob, NewWorker, QueueError, Settlement,
    SubmitReply, WorkerName,
};
use hence_store::RunId;

fn run(text: &str) -> RunId {
    RunId::new(text).unwrap()
}

fn open(folder: &Path) -> FolderQueue {
    FolderQueue::with_clock(folder.join("queue"), Arc::new(TestClock::new()))
}

fn names(queue: &FolderQueue) -> Vec<String> {
    let all = JobFilter { limit: 1000, ..JobFilter::default() };
    queue.jobs(&all).unwrap().iter().map(|job| job.run.to_string()).collect()
}

fn new_worker() -> NewWorker {
    NewWorker {
        name: WorkerName::new("w").unwrap(),
        about: "a test".to_owned(),
        queues: Default::default(),
        concurrency: 10,
        lease: Millis::seconds(10),
        nonce: 1,
    }
}

/// The state of every job, as far as a reader sees it.
fn seen(queue: &FolderQueue) -> Vec<String> {
    let all = JobFilter { limit: 1000, ..JobFilter::default() };
    queue.jobs(&all).unwrap().iter().map(|job| format!("{} {:?}", job.run, job.state)).collect()
}

#[test]
fn a_log_that_is_cut_at_any_byte_is_the_queue_before_or_after_a_change() {
    let folder = tempfile::tempdir().unwrap();
    let queue = open(folder.path());
    let mut states = vec![Vec::new()];
    let log = folder.path().join("queue/log");
    let mut ends = Vec::new();
    let mut note = |queue: &FolderQueue| {
        ends.push(std::fs::metadata(&log).unwrap().len());
        states.push(seen(queue));
    };
    for name in ["a", "b", "c"] {
        queue.submit(&NewJob::of(run(name))).unwrap();
        note(&queue);
    }
    let worker = queue.register(&new_worker()).unwrap();
    note(&queue);
    let claims = queue.claim(&ClaimRequest { worker, request: 1, max: 2 }).unwrap().claims;
    note(&queue);
    queue
        .settle(&claims[0].run, claims[0].token, &Settlement::Ended { status: "completed".to_owned() })
        .unwrap();
    note(&queue);
    drop(queue);
    let bytes = std::fs::read(&log).unwrap();
    // The log begins with a header and the rows of an empty queue, which are made in one piece.
    let start = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0 + 1;
    for cut in start..=bytes.len() {
        std::fs::write(&log, &bytes[..cut]).unwrap();
        let whole = ends.iter().filter(|end| **end <= cut as u64).count();
        let queue = open(folder.path());
        assert_eq!(seen(&queue), states[whole], "a reader, cut at {cut}");
        assert_eq!(std::fs::metadata(&log).unwrap().len(), cut as u64, "reading repairs nothing");
        queue.submit(&NewJob::of(run("z"))).unwrap();
        let is_torn = cut as u64 != ends.get(whole.wrapping_sub(1)).copied().unwrap_or(start as u64);
        let cuts = queue.take_cuts();
        assert_eq!(cuts.len(), usize::from(is_torn), "cut at {cut}: {cuts:?}");
        let again = open(folder.path());
        let mut expected: Vec<String> = states[whole].clone();
        expected.extend(seen(&queue).last().cloned());
        assert_eq!(seen(&again), expected, "after the next change, cut at {cut}");
    }
}

#[test]
fn a_changed_byte_is_found_and_nothing_is_written_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let queue = open(folder.path());
    for name in ["a", "b", "c"] {
        queue.submit(&NewJob::of(run(name))).unwrap();
    }
    let log = folder.path().join("queue/log");
    let bytes = std::fs::read(&log).unwrap();
    let second = bytes.windows(9).position(|part| part == b"\"run\":\"b\"").unwrap();
    let mut damaged = bytes.clone();
    damaged[second + 7] = b'x';
    std::fs::write(&log, &damaged).unwrap();
    let queue = open(folder.path());
    let error = queue.submit(&NewJob::of(run("d"))).unwrap_err();
    assert!(matches!(&error, QueueError::Damaged { line: 4, .. }), "{error}");
    assert!(queue.job(&run("a")).is_err());
    assert_eq!(std::fs::read(&log).unwrap(), damaged, "its bytes are evidence");
}

#[test]
fn a_file_that_is_no_log_is_refused_with_what_was_expected() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("queue")).unwrap();
    for content in ["", "hence-queue 2 0\n", "hence-queue 1 007\n", "something else\n"] {
        std::fs::write(folder.path().join("queue/log"), content).unwrap();
        let error = open(folder.path()).submit(&NewJob::of(run("a"))).unwrap_err().to_string();
        assert!(error.contains("line 1: expected `hence-queue 1 ` and a number"), "{content:?}: {error}");
    }
}

#[test]
fn two_that_use_one_folder_see_each_other_across_a_shortening() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (open(folder.path()), open(folder.path()));
    let log = folder.path().join("queue/log");
    one.submit(&NewJob::of(run("first"))).unwrap();
    assert_eq!(names(&two), ["first"]);
    let worker = one.register(&new_worker()).unwrap();
    let mut longest = 0;
    let mut shortened = 0;
    for request in 1..3000 {
        let before = std::fs::metadata(&log).unwrap().len();
        let queue = if request % 2 == 0 { &one } else { &two };
        queue.heartbeat(&worker, request, &Default::default()).unwrap();
        let after = std::fs::metadata(&log).unwrap().len();
        longest = longest.max(after);
        shortened += u32::from(after < before);
    }
    assert!(shortened >= 1, "history does not make the log longer and longer");
    assert!(longest < 300 * 1024, "{longest}");
    two.submit(&NewJob::of(run("last"))).unwrap();
    assert_eq!(names(&one), ["first", "last"]);
    assert_eq!(names(&open(folder.path())), ["first", "last"]);
}

#[test]
fn a_half_written_shorter_log_is_no_hindrance() {
    let folder = tempfile::tempdir().unwrap();
    let queue = open(folder.path());
    queue.submit(&NewJob::of(run("a"))).unwrap();
    std::fs::write(folder.path().join("queue/log.new"), "hence-queue 1 9\nhalf a li").unwrap();
    let worker = queue.register(&new_worker()).unwrap();
    for request in 1..3000 {
        queue.heartbeat(&worker, request, &Default::default()).unwrap();
    }
    assert!(!folder.path().join("queue/log.new").exists(), "it was overwritten and renamed");
    assert_eq!(names(&open(folder.path())), ["a"]);
}

#[test]
fn a_lock_that_is_held_for_too_long_is_named() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path()).submit(&NewJob::of(run("a"))).unwrap();
    let lock = std::fs::File::open(folder.path().join("queue/lock")).unwrap();
    lock.lock().unwrap();
    let queue = open(folder.path()).with_lock_wait(Duration::from_millis(5));
    let error = queue.submit(&NewJob::of(run("b"))).unwrap_err();
    assert!(matches!(&error, QueueError::Locked { .. }), "{error}");
    assert_eq!(names(&queue), ["a"], "reading needs no lock");
    drop(lock);
    assert!(matches!(queue.submit(&NewJob::of(run("b"))), Ok(SubmitReply::Queued(_))));
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("queue")).unwrap();
    let error = open(folder.path()).submit(&NewJob::of(run("a"))).unwrap_err().to_string();
    assert!(error.ends_with("it is not a folder"), "{error}");
    std::fs::remove_file(folder.path().join("queue")).unwrap();
    open(folder.path()).submit(&NewJob::of(run("a"))).unwrap();
    let (log, target) = (folder.path().join("queue/log"), elsewhere.path().join("log"));
    std::fs::rename(&log, &target).unwrap();
    std::os::unix::fs::symlink(&target, &log).unwrap();
    assert!(open(folder.path()).submit(&NewJob::of(run("b"))).is_err());
    assert!(open(folder.path()).job(&run("a")).is_err());
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(&target).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "others cannot read it");
}

#[test]
fn reading_a_queue_that_does_not_exist_makes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let queue = open(folder.path());
    assert_eq!(names(&queue), Vec::<String>::new());
    assert_eq!(queue.queues().unwrap().len(), 1);
    assert!(!folder.path().join("queue").exists());
}

fn findings(queue: &FolderQueue) -> Vec<String> {
    queue.inspect().iter().map(ToString::to_string).collect()
}

#[test]
fn a_check_of_the_folder_names_everything_that_no_queue_writes() {
    let folder = tempfile::tempdir().unwrap();
    let queue = open(folder.path());
    assert_eq!(findings(&queue), Vec::<String>::new(), "a queue that nobody has used");
    for name in ["a", "b", "c"] {
        queue.submit(&NewJob::of(run(name))).unwrap();
    }
    assert_eq!(findings(&queue), Vec::<String>::new());
    let path = folder.path().join("queue");
    let log = std::fs::read(path.join("log")).unwrap();

    // Garbage, a hole, and a line that is missing.
    let mut hole = log.clone();
    let middle = hole.len() / 2;
    hole[middle..middle + 8].fill(0);
    let lines: Vec<&[u8]> = log.split_inclusive(|byte| *byte == b'\n').collect();
    let without_a_line = [&lines[..1], &lines[2..]].concat().concat();
    for (damage, expected) in [
        (b"garbage\n".to_vec(), "queue/log: line 1: "),
        (hole, "queue/log: line "),
        (without_a_line, "queue/log: line 2: its sum does not follow"),
    ] {
        std::fs::write(path.join("log"), damage).unwrap();
        let found = findings(&queue);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{found:?}");
    }

    // A folder and a link in the place of the log.
    std::fs::remove_file(path.join("log")).unwrap();
    std::fs::create_dir(path.join("log")).unwrap();
    assert_eq!(findings(&queue), ["queue/log: expected a plain file, found a folder"]);
    std::fs::remove_dir(path.join("log")).unwrap();
    std::fs::write(path.join("log"), &log).unwrap();

    std::fs::write(path.join("lock"), "garbage").unwrap();
    std::fs::write(path.join("junk"), "").unwrap();
    std::fs::create_dir(path.join("folder")).unwrap();
    assert_eq!(
        findings(&queue),
        [
            "queue/lock: expected an empty file, found 7 bytes",
            "queue/folder: no queue writes a file of that name",
            "queue/junk: no queue writes a file of that name",
        ]
    );
    std::fs::remove_dir_all(&path).unwrap();
    std::fs::write(&path, "").unwrap();
    assert_eq!(findings(&queue), ["queue: expected a folder, found a file"]);
}

#[cfg(unix)]
#[test]
fn a_check_of_the_folder_follows_no_link_and_waits_for_no_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let queue = open(folder.path());
    queue.submit(&NewJob::of(run("a"))).unwrap();
    let path = folder.path().join("queue");
    std::fs::rename(path.join("log"), folder.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), path.join("log")).unwrap();
    assert_eq!(findings(&queue), ["queue/log: expected a plain file, found a link"]);
    std::fs::remove_file(path.join("log")).unwrap();
    std::fs::remove_file(path.join("lock")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(path.join("log")).arg(path.join("lock")).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: there is no mkfifo here");
        return;
    }
    let pipe = "expected a plain file, found a pipe, a socket or a device";
    assert_eq!(findings(&queue), [format!("queue/lock: {pipe}"), format!("queue/log: {pipe}")]);
}
