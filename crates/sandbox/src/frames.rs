//! The frames that a worker writes: a length of four bytes, least first, and the content.

use std::io::{ErrorKind, Read};
use std::process::ChildStdout;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The largest frame that is read or written.
pub(crate) const FRAME_BYTES_MAX: usize = 256 * 1024 * 1024;

/// The bytes that are read at once.
const READ_BYTES: usize = 64 * 1024;

/// The reason why there is no frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoFrame {
    /// The worker ended, or announced a frame that is too large.
    Ended,
    /// The worker did not write it in time.
    Late,
}

/// Reads frames on the thread that waits for them.
pub(crate) struct Frames {
    output: ChildStdout,
    /// The bytes that were read and not returned.
    read: Vec<u8>,
}

impl Frames {
    pub(crate) fn new(output: ChildStdout) -> Self {
        Self { output, read: Vec::new() }
    }

    /// Returns the next frame, if it comes before `deadline`.
    pub(crate) fn next(&mut self, deadline: Instant) -> Result<Vec<u8>, NoFrame> {
        loop {
            if let Some(end) = self.whole()? {
                let rest = self.read.split_off(end);
                let mut frame = std::mem::replace(&mut self.read, rest);
                frame.drain(..4);
                return Ok(frame);
            }
            self.wait(deadline)?;
            self.read_more()?;
        }
    }

    /// Returns where the first frame ends, once it is there as a whole.
    fn whole(&self) -> Result<Option<usize>, NoFrame> {
        let Some(length) = self.read.first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length > FRAME_BYTES_MAX {
            return Err(NoFrame::Ended);
        }
        let end = length + 4;
        Ok((self.read.len() >= end).then_some(end))
    }

    /// Waits until there is something to read.
    fn wait(&self, deadline: Instant) -> Result<(), NoFrame> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).map_err(|_| NoFrame::Late)?;
            let mut polled = [PollFd::new(&self.output, PollFlags::IN)];
            match poll(&mut polled, Some(&timeout)) {
                Ok(0) => return Err(NoFrame::Late),
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return Err(NoFrame::Ended),
            }
        }
    }

    /// Reads what is there. The buffer grows with what arrives, not with what is announced.
    fn read_more(&mut self) -> Result<(), NoFrame> {
        let start = self.read.len();
        self.read.resize(start + READ_BYTES, 0);
        let count = self.output.read(self.read.get_mut(start..).unwrap_or_default());
        self.read.truncate(start + *count.as_ref().unwrap_or(&0));
        match count {
            Ok(0) => Err(NoFrame::Ended),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(_) => Err(NoFrame::Ended),
        }
    }
}
