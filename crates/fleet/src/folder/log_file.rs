//! The file of a log: reading what was appended, appending, shortening.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::CutTail;
use super::log::{self, BadLine, LINE_BYTES_MAX, Sum};
use crate::error::QueueError;
use crate::hosted::Promise;
use crate::rows::Row;
use crate::state::QueueState;

/// The size below which a log is not shortened.
const SHORTEN_BYTES_MIN: u64 = 256 * 1024;

/// A log is shortened when it is so many times as long as its rows were when it was made.
const SHORTEN_FACTOR: u64 = 4;

/// A log that was read.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) state: QueueState,
    file: File,
    identity: (u64, u64),
    generation: u64,
    sum: Sum,
    /// The bytes of the whole lines.
    bytes: u64,
    /// The bytes after them.
    tail: u64,
    lines: u64,
    /// The bytes of the header and the first line.
    first_bytes: u64,
}

impl Loaded {
    /// Returns whether most of the log is history.
    pub(super) fn is_worth_shortening(&self) -> bool {
        self.bytes > SHORTEN_BYTES_MIN.max(self.first_bytes.saturating_mul(SHORTEN_FACTOR))
    }
}

/// The log of a folder.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogFile<'a> {
    pub(super) folder: &'a Path,
}

impl LogFile<'_> {
    fn path(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Returns a number that changes when the log does.
    pub(super) fn version(&self) -> u64 {
        let Ok(meta) = std::fs::symlink_metadata(self.path()) else { return 0 };
        meta.len() ^ identity(&meta).1.rotate_left(32)
    }

    /// Reads what was appended since the log was read, or all of it; `None` when there is no log.
    pub(super) fn refresh(&self, loaded: Option<Loaded>) -> Result<Option<Loaded>, QueueError> {
        let path = self.path();
        let meta = match std::fs::symlink_metadata(&path) {
            Ok(meta) => meta,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("read", &path, error)),
        };
        if let Some(mut loaded) = loaded
            && loaded.identity == identity(&meta)
            && meta.len() >= loaded.bytes
            && self.read_on(&mut loaded)?
        {
            return Ok(Some(loaded));
        }
        self.load().map(Some)
    }

    /// Reads the whole log.
    fn load(&self) -> Result<Loaded, QueueError> {
        let path = self.path();
        let file = open_plain(&path, Mode::Write).or_else(|_| open_plain(&path, Mode::Read))?;
        let meta = file.metadata().map_err(|error| failed("read", &path, error))?;
        let mut start = Vec::new();
        let limit = u64::try_from(log::FORMAT.len() + 32).unwrap_or(u64::MAX);
        read_at(&file, 0, limit, &mut start).map_err(|error| failed("read", &path, error))?;
        let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let (generation, sum) = log::read_header(line).map_err(|reason| self.damaged(1, reason))?;
        let bytes = u64::try_from(line.len()).unwrap_or(u64::MAX).saturating_add(1);
        let mut loaded = Loaded {
            state: QueueState::new(),
            file,
            identity: identity(&meta),
            generation,
            sum,
            bytes,
            tail: 0,
            lines: 1,
            first_bytes: 0,
        };
        if !self.read_on(&mut loaded)? {
            return Err(self.damaged(
                loaded.lines.saturating_add(1),
                "its sum does not follow from the line before".into(),
            ));
        }
        Ok(loaded)
    }

    /// Reads the lines after those that were read; false when one does not follow from the ones that were read.
    fn read_on(&self, loaded: &mut Loaded) -> Result<bool, QueueError> {
        let path = self.path();
        let mut buffer = Vec::new();
        let mut offset = loaded.bytes;
        loaded.tail = 0;
        loop {
            let before = buffer.len();
            read_at(&loaded.file, offset, READ_BYTES, &mut buffer)
                .map_err(|error| failed("read", &path, error))?;
            let got = buffer.len() - before;
            offset = offset.saturating_add(u64::try_from(got).unwrap_or(u64::MAX));
            let whole = buffer.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            let (lines, rest) = buffer.split_at(whole);
            for line in lines.split_inclusive(|byte| *byte == b'\n') {
                let text = line.strip_suffix(b"\n").unwrap_or(line);
                match log::read_line(&loaded.sum, text) {
                    Ok((rows, sum)) => loaded.take(rows, sum, line.len()),
                    Err(BadLine::Sum) => return Ok(false),
                    Err(BadLine::Rows(reason)) => {
                        return Err(self.damaged(loaded.lines.saturating_add(1), reason));
                    }
                }
            }
            if rest.len() > LINE_BYTES_MAX {
                let reason = format!("the line is longer than {LINE_BYTES_MAX} bytes");
                return Err(self.damaged(loaded.lines.saturating_add(1), reason));
            }
            if got == 0 {
                loaded.tail = u64::try_from(rest.len()).unwrap_or(u64::MAX);
                return Ok(true);
            }
            buffer = rest.to_vec();
        }
    }

    /// Cuts off a line that was never finished. The caller holds the lock, so nobody is writing it.
    pub(super) fn cut_tail(&self, loaded: &mut Loaded) -> Result<Option<CutTail>, QueueError> {
        if loaded.tail == 0 {
            return Ok(None);
        }
        let path = self.path();
        loaded.file.set_len(loaded.bytes).map_err(|error| failed("shorten", &path, error))?;
        let cut = CutTail { log: path, kept: loaded.bytes, cut: loaded.tail };
        loaded.tail = 0;
        Ok(Some(cut))
    }

    /// Appends the rows that changed. The caller holds the lock.
    pub(super) fn append(&self, loaded: &mut Loaded, promise: Promise) -> Result<(), QueueError> {
        let path = self.path();
        let rows = loaded.state.changes();
        if !rows.is_empty() {
            let (line, sum) = log::line(&loaded.sum, &rows).map_err(|error| unwritable(&path, &error))?;
            if let Err(error) = write_at(&loaded.file, loaded.bytes, line.as_bytes()) {
                // A part of the line may be there. Cutting it off now spares the next process a report; it may fail, too.
                let _ = loaded.file.set_len(loaded.bytes);
                return Err(failed("write", &path, error));
            }
            loaded.count(sum, line.len());
        }
        // Also without a change of its own: the answer may rest on lines of others that were not synced.
        if promise == Promise::Synced {
            loaded.file.sync_data().map_err(|error| failed("sync", &path, error))?;
        }
        Ok(())
    }

    /// Makes a log that holds each row once, in the place of the one that is there. The caller holds the lock.
    pub(super) fn create(&self, state: &QueueState) -> Result<Loaded, QueueError> {
        let (path, new) = (self.path(), self.folder.join("log.new"));
        let generation = match self.refresh(None)? {
            Some(before) => before.generation.saturating_add(1),
            None => 0,
        };
        let (header, sum) = log::header(generation);
        let rows: Vec<Row> = state.rows().collect();
        let (line, _) = log::line(&sum, &rows).map_err(|error| unwritable(&new, &error))?;
        match std::fs::remove_file(&new) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed("remove", &new, error));
            }
            _ => {}
        }
        let mut file = open_plain(&new, Mode::CreateNew)?;
        let written = file.write_all(header.as_bytes()).and_then(|()| file.write_all(line.as_bytes()));
        written.map_err(|error| failed("write", &new, error))?;
        file.sync_all().map_err(|error| failed("sync", &new, error))?;
        std::fs::rename(&new, &path).map_err(|error| failed("rename", &new, error))?;
        sync_folder(self.folder)?;
        self.load()
    }

    fn damaged(&self, line: u64, reason: String) -> QueueError {
        QueueError::Damaged { path: self.path(), line, reason }
    }
}

/// The bytes that one read asks for.
const READ_BYTES: u64 = 1024 * 1024;

impl Loaded {
    fn take(&mut self, rows: Vec<Row>, sum: Sum, bytes: usize) {
        for row in rows {
            self.state.put(row);
        }
        self.count(sum, bytes);
    }

    fn count(&mut self, sum: Sum, bytes: usize) {
        self.sum = sum;
        self.bytes = self.bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        self.lines = self.lines.saturating_add(1);
        if self.lines == 2 {
            self.first_bytes = self.bytes;
        }
    }
}

/// The mode in which a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Read,
    Write,
    WriteOrCreate,
    CreateNew,
}

/// Opens a plain file, never through a link; a new one is readable by its owner alone.
pub(super) fn open_plain(path: &Path, mode: Mode) -> Result<File, QueueError> {
    let mut options = OpenOptions::new();
    options.read(true).write(mode != Mode::Read);
    options.create(mode == Mode::WriteOrCreate).create_new(mode == Mode::CreateNew);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Without blocking: a pipe in the place of the file would wait for a writer.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path).map_err(|error| failed("open", path, error))?;
    let meta = file.metadata().map_err(|error| failed("read", path, error))?;
    if !meta.is_file() {
        return Err(failed("open", path, std::io::Error::other("it is not a plain file")));
    }
    Ok(file)
}

/// Makes the folder of the queue, readable by its owner alone, unless it exists.
pub(super) fn make_folder(path: &Path) -> Result<(), QueueError> {
    match std::fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => return Ok(()),
        Ok(_) => return Err(failed("use", path, std::io::Error::other("it is not a folder"))),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(failed("read", path, error));
        }
        Err(_) => {}
    }
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(failed("make", path, error)),
        _ => path.parent().map_or(Ok(()), sync_folder),
    }
}

fn sync_folder(path: &Path) -> Result<(), QueueError> {
    let synced = File::open(path).and_then(|folder| folder.sync_all());
    synced.map_err(|error| failed("sync", path, error))
}

fn identity(meta: &std::fs::Metadata) -> (u64, u64) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        (meta.dev(), meta.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = meta;
        (0, 0)
    }
}

fn read_at(file: &File, offset: u64, most: u64, buffer: &mut Vec<u8>) -> std::io::Result<()> {
    use std::io::Seek as _;
    let mut file = file;
    file.seek(std::io::SeekFrom::Start(offset))?;
    file.take(most).read_to_end(buffer)?;
    Ok(())
}

fn write_at(file: &File, offset: u64, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Seek as _;
    let mut file = file;
    file.seek(std::io::SeekFrom::Start(offset))?;
    file.write_all(bytes)
}

pub(super) fn failed(action: &'static str, path: &Path, error: std::io::Error) -> QueueError {
    QueueError::Disk { action, path: path.to_owned(), source: Arc::new(error) }
}

fn unwritable(path: &Path, error: &serde_json::Error) -> QueueError {
    failed("write", path, std::io::Error::other(error.to_string()))
}
