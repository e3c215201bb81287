//! A simulated disk in memory with faults, torn writes and lost data.
//!
//! It stores two versions of everything: the one that programs see, and the one that has been synced. After a crash of
//! the machine, nothing, all or a part of the unsynced data is left, as the test chooses. The model is that of a
//! journaling file system: names are synced with their folder, a file's bytes with the file, and bytes appended to a
//! file arrive in order and after marks that were set before.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use super::disk::{Access, Disk, DiskFile, Entry, Identity, Kind, LockOutcome, Stamp};

/// The fault at the operation that a test has chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The operation fails and changes nothing.
    Fail(io::ErrorKind),
    /// A write fails halfway; other operations fail and change nothing.
    Tear,
    /// The operation takes effect and reports a failure.
    FailAfter,
    /// The process dies during the operation, a write halfway: the operation and all later ones fail.
    Die,
}

/// The part of the unsynced data that survives a crash of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Survives {
    Nothing,
    Half,
    /// File contents but no names.
    Contents,
    /// Names but no file contents.
    Names,
    All,
}

pub(super) const SURVIVES: [Survives; 5] =
    [Survives::Nothing, Survives::Half, Survives::Contents, Survives::Names, Survives::All];

type Id = usize;

#[derive(Debug, Clone, Default)]
struct Node {
    /// The entries of a folder; `None` for files.
    names: Option<BTreeMap<String, Id>>,
    synced_names: BTreeMap<String, Id>,
    bytes: Vec<u8>,
    synced_bytes: Vec<u8>,
    mark: Option<Vec<u8>>,
    synced_mark: Option<Vec<u8>>,
    modified: u64,
}

/// Whether the disk accepts or refuses marks on files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Marks {
    #[default]
    Taken,
    Refused,
}

pub(super) const MARKS: [Marks; 2] = [Marks::Taken, Marks::Refused];

#[derive(Debug, Default)]
struct Inner {
    marks: Marks,
    /// Whether the disk can sync everything at once.
    syncs_filesystem: bool,
    nodes: Vec<Node>,
    locked: BTreeMap<Id, u64>,
    /// The number of modifying operations so far.
    operations: usize,
    fault: Option<(usize, Fault)>,
    is_dead: bool,
    clock: u64,
    handles: u64,
}

/// A simulated disk. Clones share the same disk.
#[derive(Debug, Clone)]
pub(super) struct SimDisk(Arc<Mutex<Inner>>);

const ROOT: Id = 0;

impl SimDisk {
    pub(super) fn new() -> Self {
        Self::with(Marks::Taken)
    }

    pub(super) fn with(marks: Marks) -> Self {
        let root = Node { names: Some(BTreeMap::new()), ..Node::default() };
        Self(Arc::new(Mutex::new(Inner { nodes: vec![root], marks, ..Inner::default() })))
    }

    /// Makes the disk one that can sync everything at once.
    pub(super) fn syncing_filesystem(self) -> Self {
        self.lock().syncs_filesystem = true;
        self
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }

    /// Returns the number of modifying operations so far.
    pub(super) fn operations(&self) -> usize {
        self.lock().operations
    }

    /// Makes the operation that comes after `operations` others fail.
    pub(super) fn fail_at(&self, operations: usize, fault: Fault) {
        self.lock().fault = Some((operations, fault));
    }

    /// Returns an independent copy of this disk in a state that a crash of the machine may leave.
    pub(super) fn crashed(&self, survives: Survives) -> Self {
        let inner = self.lock();
        let mut nodes = inner.nodes.clone();
        for node in &mut nodes {
            let keep_names = matches!(survives, Survives::Names | Survives::All | Survives::Half);
            match &mut node.names {
                Some(names) if !keep_names => *names = node.synced_names.clone(),
                Some(_) => {}
                None => node.bytes = surviving_bytes(node, survives),
            }
            if matches!(survives, Survives::Nothing | Survives::Names) {
                // The bytes written after the mark are lost too, so no byte survives without an earlier mark.
                node.mark = node.synced_mark.clone();
            }
            node.synced_mark = node.mark.clone();
            node.synced_names = node.names.clone().unwrap_or_default();
            node.synced_bytes = node.bytes.clone();
        }
        Self(Arc::new(Mutex::new(Inner {
            nodes,
            marks: inner.marks,
            clock: inner.clock,
            ..Inner::default()
        })))
    }

    /// Returns the bytes of every file, by path.
    pub(super) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let inner = self.lock();
        let mut files = BTreeMap::new();
        let mut open = vec![(PathBuf::from("/"), ROOT)];
        while let Some((path, id)) = open.pop() {
            match &inner.nodes[id].names {
                Some(names) => open.extend(names.iter().map(|(name, id)| (path.join(name), *id))),
                None => {
                    files.insert(path, inner.nodes[id].bytes.clone());
                }
            }
        }
        files
    }

    /// Replaces the bytes of a file, as a defect or another program would.
    pub(super) fn overwrite(&self, path: &Path, bytes: &[u8]) {
        let mut inner = self.lock();
        let id = inner.find(path).unwrap();
        inner.clock += 1;
        let modified = inner.clock;
        let node = &mut inner.nodes[id];
        (node.bytes, node.synced_bytes, node.modified) = (bytes.to_vec(), bytes.to_vec(), modified);
    }
}

fn surviving_bytes(node: &Node, survives: Survives) -> Vec<u8> {
    match survives {
        Survives::Nothing | Survives::Names => node.synced_bytes.clone(),
        Survives::All | Survives::Contents => node.bytes.clone(),
        Survives::Half => {
            // Half of the appended or overwritten bytes survive.
            let same =
                node.bytes.iter().zip(&node.synced_bytes).take_while(|(one, other)| one == other).count();
            let end = same + (node.bytes.len() - same) / 2;
            let rest = node.synced_bytes.get(end..).unwrap_or_default();
            [&node.bytes[..end], rest].concat()
        }
    }
}

impl Inner {
    fn find(&self, path: &Path) -> io::Result<Id> {
        let mut id = ROOT;
        for part in path.components().skip(1) {
            let names = self.nodes[id].names.as_ref().ok_or(io::ErrorKind::NotADirectory)?;
            id = *names.get(part.as_os_str().to_str().unwrap()).ok_or(io::ErrorKind::NotFound)?;
        }
        Ok(id)
    }

    /// Returns the folder that holds `path`, and the name of `path` in that folder.
    fn parent(&self, path: &Path) -> io::Result<(Id, String)> {
        let id = self.find(path.parent().unwrap())?;
        if self.nodes[id].names.is_none() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok((id, path.file_name().unwrap().to_str().unwrap().to_owned()))
    }

    fn names(&mut self, id: Id) -> &mut BTreeMap<String, Id> {
        self.nodes[id].names.as_mut().unwrap()
    }

    /// Counts a modifying operation and performs it, with the fault that the test chose for it.
    fn change(&mut self, act: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        self.change_or_tear(act, |_| {})
    }

    fn change_or_tear(
        &mut self,
        act: impl FnOnce(&mut Self) -> io::Result<()>,
        tear: impl FnOnce(&mut Self),
    ) -> io::Result<()> {
        let at = self.operations;
        self.operations += 1;
        let fault = self.fault.filter(|(chosen, _)| *chosen == at).map(|(_, fault)| fault);
        match fault {
            _ if self.is_dead => Err(io::ErrorKind::BrokenPipe.into()),
            None => act(self),
            Some(Fault::Fail(kind)) => Err(kind.into()),
            Some(Fault::Tear) => {
                tear(self);
                Err(io::ErrorKind::StorageFull.into())
            }
            Some(Fault::FailAfter) => {
                act(self)?;
                Err(io::ErrorKind::Other.into())
            }
            Some(Fault::Die) => {
                tear(self);
                self.is_dead = true;
                Err(io::ErrorKind::BrokenPipe.into())
            }
        }
    }

    fn write(&mut self, id: Id, offset: usize, bytes: &[u8]) {
        self.clock += 1;
        let node = &mut self.nodes[id];
        node.modified = self.clock;
        let end = offset + bytes.len();
        node.bytes.resize(node.bytes.len().max(end), 0);
        node.bytes[offset..end].copy_from_slice(bytes);
    }

    fn add(&mut self, path: &Path, node: Node) -> io::Result<Id> {
        let (parent, name) = self.parent(path)?;
        if self.names(parent).contains_key(&name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.nodes.push(node);
        let id = self.nodes.len() - 1;
        self.names(parent).insert(name, id);
        Ok(id)
    }
}

impl Disk for SimDisk {
    fn kind(&self, path: &Path) -> io::Result<Option<Kind>> {
        let inner = self.lock();
        match inner.find(path) {
            Ok(id) if inner.nodes[id].names.is_some() => Ok(Some(Kind::Folder)),
            Ok(_) => Ok(Some(Kind::File)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn stamp(&self, path: &Path) -> io::Result<Stamp> {
        let inner = self.lock();
        let node = &inner.nodes[inner.find(path)?];
        Ok(Stamp { bytes: node.bytes.len() as u64, modified: node.modified, changed: node.modified })
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        let inner = self.lock();
        let names = inner.nodes[inner.find(folder)?].names.as_ref().ok_or(io::ErrorKind::NotADirectory)?;
        let entry = |(name, id): (&String, &Id)| Entry {
            name: name.clone(),
            is_folder: inner.nodes[*id].names.is_some(),
        };
        Ok(names.iter().map(entry).collect())
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn DiskFile>> {
        let mut inner = self.lock();
        let found = inner.find(path);
        let id = match (found, access) {
            (Ok(_), Access::CreateNew) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Ok(id), _) => id,
            (Err(error), Access::CreateNew | Access::WriteOrCreate)
                if error.kind() == io::ErrorKind::NotFound =>
            {
                let mut id = None;
                inner.change(|inner| {
                    id = Some(inner.add(path, Node::default())?);
                    Ok(())
                })?;
                id.unwrap()
            }
            (Err(error), _) => return Err(error),
        };
        if inner.nodes[id].names.is_some() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        inner.handles += 1;
        Ok(Arc::new(SimFile { disk: self.clone(), id, handle: inner.handles }))
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        let folder = Node { names: Some(BTreeMap::new()), ..Node::default() };
        self.lock().change(|inner| inner.add(path, folder).map(|_| ()))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.lock().change(|inner| {
            let id = inner.find(from)?;
            let ((old, old_name), (new, new_name)) = (inner.parent(from)?, inner.parent(to)?);
            if let Ok(existing) = inner.find(to)
                && inner.nodes[existing].names.as_ref().is_some_and(|names| !names.is_empty())
            {
                return Err(io::ErrorKind::DirectoryNotEmpty.into());
            }
            inner.names(old).remove(&old_name);
            inner.names(new).insert(new_name, id);
            Ok(())
        })
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.lock().change(|inner| {
            inner.find(path)?;
            let (parent, name) = inner.parent(path)?;
            inner.names(parent).remove(&name);
            Ok(())
        })
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.remove_file(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.lock().change(|inner| {
            let id = inner.find(path)?;
            let node = &mut inner.nodes[id];
            node.synced_names = node.names.clone().ok_or(io::ErrorKind::NotADirectory)?;
            Ok(())
        })
    }

    fn sync_filesystem(&self, _: &Path) -> io::Result<()> {
        let mut inner = self.lock();
        if !inner.syncs_filesystem {
            return Err(io::ErrorKind::Unsupported.into());
        }
        inner.change(|inner| {
            for node in &mut inner.nodes {
                node.synced_names = node.names.clone().unwrap_or_default();
                node.synced_bytes = node.bytes.clone();
                node.synced_mark = node.mark.clone();
            }
            Ok(())
        })
    }

    fn holder_name(&self) -> String {
        "process 1".to_owned()
    }
}

#[derive(Debug)]
struct SimFile {
    disk: SimDisk,
    id: Id,
    handle: u64,
}

impl DiskFile for SimFile {
    fn identity(&self) -> io::Result<Option<Identity>> {
        Ok(Some(Identity { number: 7, created: 9 }))
    }

    fn stamp(&self) -> io::Result<Stamp> {
        let inner = self.disk.lock();
        let node = &inner.nodes[self.id];
        Ok(Stamp { bytes: node.bytes.len() as u64, modified: node.modified, changed: node.modified })
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let inner = self.disk.lock();
        let rest = inner.nodes[self.id].bytes.get(offset as usize..).unwrap_or_default();
        let read = rest.len().min(buffer.len());
        buffer[..read].copy_from_slice(&rest[..read]);
        Ok(read)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let offset = offset as usize;
        self.disk.lock().change_or_tear(
            |inner| {
                inner.write(self.id, offset, bytes);
                Ok(())
            },
            |inner| inner.write(self.id, offset, &bytes[..bytes.len() / 2]),
        )
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.disk.lock().change(|inner| {
            inner.clock += 1;
            let modified = inner.clock;
            let node = &mut inner.nodes[self.id];
            node.bytes.resize(bytes as usize, 0);
            node.modified = modified;
            Ok(())
        })
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.lock().change(|inner| {
            let node = &mut inner.nodes[self.id];
            node.synced_bytes = node.bytes.clone();
            node.synced_mark = node.mark.clone();
            Ok(())
        })
    }

    fn mark(&self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.disk.lock().nodes[self.id].mark.clone())
    }

    fn set_mark(&self, mark: &[u8]) -> io::Result<()> {
        let mut inner = self.disk.lock();
        if inner.marks == Marks::Refused {
            return Err(io::ErrorKind::Unsupported.into());
        }
        inner.change(|inner| {
            inner.nodes[self.id].mark = Some(mark.to_vec());
            Ok(())
        })
    }

    fn try_lock(&self) -> io::Result<LockOutcome> {
        let mut inner = self.disk.lock();
        let holder = *inner.locked.entry(self.id).or_insert(self.handle);
        Ok(if holder == self.handle { LockOutcome::Taken } else { LockOutcome::HeldElsewhere })
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        let mut inner = self.disk.lock();
        if inner.locked.get(&self.id) == Some(&self.handle) {
            inner.locked.remove(&self.id);
        }
    }
}
