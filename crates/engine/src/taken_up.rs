//! A journal that is to be gone on with.

use std::num::NonZeroUsize;

use hence_journal::verify::{Break, Outcome, Reason, check_chain};
use hence_journal::{ReadError, Reader, Sealed};

/// Why a journal cannot be gone on with, whatever its program.
#[derive(Debug)]
pub enum NotTakenUp {
    /// The chain does not hold, so nothing may be appended to it.
    Broken {
        /// The line, from 0.
        line: u64,
        /// What does not hold.
        reasons: Vec<Reason>,
    },
    /// A line is no record.
    Read(ReadError),
    /// It begins with another header.
    OtherHeader(&'static str),
}

/// Opens a journal behind the header that problem and engine write now. Every record is hashed before anything is built
/// on it.
///
/// # Errors
/// [`NotTakenUp`] when the chain does not hold or begins otherwise.
pub fn open_behind<'j>(journal: &'j [u8], header: &Sealed) -> Result<Reader<'j>, NotTakenUp> {
    if let Outcome::Broken(Break { line, reasons }) = check_chain(journal, NonZeroUsize::MIN).outcome {
        return Err(NotTakenUp::Broken { line, reasons });
    }
    let (found, reader) = Reader::open(journal).map_err(NotTakenUp::Read)?;
    if found.hash != header.head().hash {
        return Err(NotTakenUp::OtherHeader("the header is not the one this problem and engine write"));
    }
    Ok(reader)
}
