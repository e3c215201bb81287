//! Everything that descends from a process, and its end.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, waitid};

/// The interval between two looks at what is left. The kernel tells of the end of a child, not of a grandchild, so the
/// processes are looked at again until none is left or [`END_SECONDS_MAX`] is over.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// The time to wait for killed processes: one that the kernel holds in a system call ends when that does.
const END_SECONDS_MAX: u64 = 10;

/// Kills every descendant of this process and reaps it.
///
/// This process must be the one that orphans are handed to, and have no children that should live.
pub(super) fn end_all() {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(END_SECONDS_MAX) {
        match waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            // No child is left, so no descendant is: orphans would be children.
            Err(Errno::CHILD) => return,
            Ok(Some(_)) => {}
            _ => {
                // A killed process cannot start another one, so what is missed now is found the next time.
                for pid in descendants(getpid(), &BTreeSet::new()) {
                    let _ = kill_process(pid, Signal::KILL);
                }
                thread::sleep(LOOK_EVERY);
            }
        }
    }
}

/// Kills every descendant of this process that is not one of the given children or descends from one, and reaps it.
pub(super) fn end_all_but(kept: &BTreeSet<i32>) {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(END_SECONDS_MAX) {
        let left = descendants(getpid(), kept);
        if left.is_empty() {
            return;
        }
        for pid in left {
            let _ = kill_process(pid, Signal::KILL);
            // Only a child can be reaped; a grandchild becomes one when its parent has ended.
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Returns the descendants of a process that are not reaped yet, without the given ones and what descends from them.
fn descendants(root: Pid, without: &BTreeSet<i32>) -> Vec<Pid> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        if let Some(parent) = parent(&stat) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let (mut found, mut open) = (Vec::new(), vec![root.as_raw_nonzero().get()]);
    while let Some(parent) = open.pop() {
        let born = children.remove(&parent).unwrap_or_default().into_iter();
        for child in born.filter(|child| !without.contains(child)) {
            found.extend(Pid::from_raw(child));
            open.push(child);
        }
    }
    found
}

/// Reads the parent in the text of `/proc/PID/stat`. The name before it may hold anything, also parentheses.
fn parent(stat: &str) -> Option<i32> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_read_behind_a_strange_name() {
        assert_eq!(parent("12 (a) R 1 (b) S 77 12 12"), Some(77));
        assert_eq!(parent("12 (cat) S 1 12 12"), Some(1));
        assert_eq!((parent(""), parent("12 (cat")), (None, None));
    }

    #[test]
    fn a_child_is_a_descendant() {
        let mut child = std::process::Command::new("/bin/sleep").arg("60").spawn().unwrap();
        let pid = Pid::from_child(&child);
        let none = BTreeSet::new();
        assert!(descendants(getpid(), &none).contains(&pid));
        assert!(!descendants(getpid(), &BTreeSet::from([pid.as_raw_nonzero().get()])).contains(&pid));
        assert!(!descendants(pid, &none).contains(&pid));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
