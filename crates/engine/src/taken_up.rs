//! A journal that is to be gone on with.

use std::num::NonZeroUsize;
use std::thread;

use hence_journal::verify::{Break, Outcome, Reason, check_chain};
use hence_journal::{ReadError, Reader, Sealed};

/// Starting a thread costs more than hashing this much.
const ASIDE_BYTES_MIN: usize = 64 * 1024;

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

/// Folds a journal behind the header that problem and engine write now. Every record is hashed, and nothing that was
/// built on one that does not hold is given back.
///
/// # Errors
/// [`NotTakenUp`] when the chain does not hold or begins otherwise; else what `fold` says.
pub fn take_up<T, E: From<NotTakenUp>>(
    journal: &[u8],
    header: &Sealed,
    fold: impl FnOnce(Reader<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let check = || intact(check_chain(journal, NonZeroUsize::MIN).outcome);
    if journal.len() < ASIDE_BYTES_MIN {
        check()?;
        return fold(open(journal, header)?);
    }
    // Hashing and folding need nothing of each other, so they go on side by side.
    thread::scope(|scope| {
        let aside = thread::Builder::new().spawn_scoped(scope, check);
        let folded = open(journal, header).map_err(E::from).and_then(fold);
        match aside {
            Ok(aside) => aside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?,
            // No thread is to be had: this one does the work.
            Err(_) => check()?,
        }
        folded
    })
}

fn intact(chain: Outcome) -> Result<(), NotTakenUp> {
    match chain {
        Outcome::Broken(Break { line, reasons }) => Err(NotTakenUp::Broken { line, reasons }),
        Outcome::Holds | Outcome::NotChecked(_) => Ok(()),
    }
}

fn open<'j>(journal: &'j [u8], header: &Sealed) -> Result<Reader<'j>, NotTakenUp> {
    let (found, reader) = Reader::open(journal).map_err(NotTakenUp::Read)?;
    if found.hash != header.head().hash {
        return Err(NotTakenUp::OtherHeader("the header is not the one this problem and engine write"));
    }
    Ok(reader)
}
