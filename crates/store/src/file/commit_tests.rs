//! Writers that sync at the same time.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use super::checked_disk::{CheckedDisk, OpenFile};
use super::commit::{Committer, DIRECT_MAX, GROUP_MIN};
use super::disk::{Access, Disk, DiskFile, Entry, Identity, Kind, LockOutcome, Stamp};

/// Whether the disk can sync everything at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WholeSync {
    Works,
    Fails,
}

/// A disk that counts its syncs and holds them back until a gate opens.
#[derive(Debug)]
struct CountingDisk {
    whole_sync: WholeSync,
    own_syncs: AtomicUsize,
    whole_syncs: AtomicUsize,
    gate: Mutex<bool>,
    opened: Condvar,
    failing_file: Option<PathBuf>,
}

impl CountingDisk {
    fn new(whole_sync: WholeSync, failing_file: Option<&str>) -> Arc<Self> {
        Arc::new(Self {
            whole_sync,
            own_syncs: AtomicUsize::new(0),
            whole_syncs: AtomicUsize::new(0),
            gate: Mutex::new(false),
            opened: Condvar::new(),
            failing_file: failing_file.map(PathBuf::from),
        })
    }

    fn open_gate(&self) {
        *self.gate.lock().unwrap() = true;
        self.opened.notify_all();
    }

    fn pass_gate(&self) {
        drop(self.opened.wait_while(self.gate.lock().unwrap(), |is_open| !*is_open).unwrap());
    }
}

/// The disk of the committer under test; the committer only syncs.
#[derive(Debug)]
struct Shared(Arc<CountingDisk>);

#[derive(Debug)]
struct CountedFile(Arc<CountingDisk>, PathBuf);

fn unused<T>() -> io::Result<T> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Disk for Shared {
    fn kind(&self, _: &Path) -> io::Result<Option<Kind>> {
        unused()
    }
    fn stamp(&self, _: &Path) -> io::Result<Stamp> {
        unused()
    }
    fn list(&self, _: &Path) -> io::Result<Vec<Entry>> {
        unused()
    }
    fn open(&self, path: &Path, _: Access) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(CountedFile(Arc::clone(&self.0), path.to_owned())))
    }
    fn create_folder(&self, _: &Path) -> io::Result<()> {
        unused()
    }
    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        unused()
    }
    fn remove_file(&self, _: &Path) -> io::Result<()> {
        unused()
    }
    fn remove_folder(&self, _: &Path) -> io::Result<()> {
        unused()
    }
    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        unused()
    }
    fn sync_filesystem(&self, _: &Path) -> io::Result<()> {
        self.0.whole_syncs.fetch_add(1, Ordering::SeqCst);
        if self.0.whole_sync == WholeSync::Works { Ok(()) } else { unused() }
    }
    fn holder_name(&self) -> String {
        String::new()
    }
}

impl DiskFile for CountedFile {
    fn identity(&self) -> io::Result<Option<Identity>> {
        unused()
    }
    fn stamp(&self) -> io::Result<Stamp> {
        unused()
    }
    fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<usize> {
        unused()
    }
    fn write_at(&self, _: u64, _: &[u8]) -> io::Result<()> {
        unused()
    }
    fn truncate(&self, _: u64) -> io::Result<()> {
        unused()
    }
    fn sync(&self) -> io::Result<()> {
        self.0.pass_gate();
        self.0.own_syncs.fetch_add(1, Ordering::SeqCst);
        if self.0.failing_file.as_ref() == Some(&self.1) {
            Err(io::ErrorKind::StorageFull.into())
        } else {
            Ok(())
        }
    }
    fn mark(&self) -> io::Result<Option<Vec<u8>>> {
        unused()
    }
    fn set_mark(&self, _: &[u8]) -> io::Result<()> {
        unused()
    }
    fn try_lock(&self) -> io::Result<LockOutcome> {
        unused()
    }
}

/// Lets that many writers sync while the disk holds the first ones back, and returns how many succeeded.
fn sync_together(disk: &Arc<CountingDisk>, writers: usize) -> usize {
    let guarded = CheckedDisk(Arc::new(Shared(Arc::clone(disk))));
    let committer = Committer::new(guarded.clone(), "/store".into());
    let open = |number: usize| -> OpenFile {
        guarded.open(Path::new(&format!("/{number}")), Access::Write).unwrap()
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..writers)
            .map(|number| {
                let (file, committer) = (open(number), &committer);
                scope.spawn(move || committer.sync(&file).is_ok())
            })
            .collect();
        // Everybody who cannot sync at once has to wait before the gate opens, or nobody would share.
        while committer.waiting() < writers.saturating_sub(DIRECT_MAX) {
            std::thread::yield_now();
        }
        disk.open_gate();
        threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum()
    })
}

#[test]
fn few_writers_sync_their_own_files() {
    for writers in 1..DIRECT_MAX + GROUP_MIN {
        let disk = CountingDisk::new(WholeSync::Works, None);
        assert_eq!(sync_together(&disk, writers), writers);
        assert_eq!(disk.own_syncs.load(Ordering::SeqCst), writers);
        assert_eq!(disk.whole_syncs.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn many_waiting_writers_share_one_sync() {
    for writers in [DIRECT_MAX + GROUP_MIN, 20] {
        let disk = CountingDisk::new(WholeSync::Works, None);
        assert_eq!(sync_together(&disk, writers), writers);
        assert_eq!(disk.own_syncs.load(Ordering::SeqCst), DIRECT_MAX);
        assert_eq!(disk.whole_syncs.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn where_files_cannot_be_synced_together_each_is_synced_by_itself() {
    let disk = CountingDisk::new(WholeSync::Fails, None);
    assert_eq!(sync_together(&disk, 20), 20);
    assert_eq!(disk.own_syncs.load(Ordering::SeqCst), 20);
}

#[test]
fn a_failed_sync_is_told_to_its_writer_alone() {
    let disk = CountingDisk::new(WholeSync::Fails, Some("/7"));
    assert_eq!(sync_together(&disk, 20), 19);
    let disk = CountingDisk::new(WholeSync::Fails, Some("/0"));
    assert_eq!(sync_together(&disk, 1), 0);
}
