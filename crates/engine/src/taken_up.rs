//! A journal that is to be gone on with.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::thread;

use hence_journal::verify::{Break, Outcome, Reason, check_chain};
use hence_journal::{Chained, ReadError, Reader, RecordIndex, Sealed, positions};

use crate::Book;
use crate::blob::Blobs;

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
    /// Its records come to another state than the last of them names.
    OtherEnd {
        /// The last record.
        index: RecordIndex,
        /// Both states.
        reason: String,
    },
}

/// A run that is read back from its journal.
pub trait ReadBack {
    /// Why it cannot be.
    type Error: From<NotTakenUp>;

    /// Takes back a record that was kept before.
    ///
    /// # Errors
    /// Why it does not fit.
    fn take_back(&mut self, chained: &Chained, blobs: &dyn Blobs) -> Result<(), Self::Error>;

    /// Keeps where the run stands behind the record `index`, to be returned to.
    fn keep_position(&mut self, index: RecordIndex);

    /// Returns the book of the run.
    fn book(&mut self) -> &mut Book;
}

/// Reads a run that was just started back from its journal, behind the header that problem and engine write now. Every
/// record is hashed, and nothing that was built on one that does not hold is given back.
///
/// # Errors
/// [`NotTakenUp`] when the chain does not hold, begins otherwise or comes to another end; else why a record does not fit.
pub fn take_up<R: ReadBack>(
    run: R,
    journal: &[u8],
    header: &Sealed,
    blobs: &dyn Blobs,
) -> Result<R, R::Error> {
    let fold = |records| fold(run, records, &positions(journal), blobs);
    let check = || intact(check_chain(journal, NonZeroUsize::MIN).outcome);
    if journal.len() < ASIDE_BYTES_MIN {
        check()?;
        return fold(open(journal, header)?);
    }
    // Hashing and folding need nothing of each other, so they go on side by side.
    thread::scope(|scope| {
        let aside = thread::Builder::new().spawn_scoped(scope, check);
        let folded = open(journal, header).map_err(R::Error::from).and_then(fold);
        match aside {
            Ok(aside) => aside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?,
            // No thread is to be had: this one does the work.
            Err(_) => check()?,
        }
        folded
    })
}

fn fold<R: ReadBack>(
    mut run: R,
    records: Reader<'_>,
    wanted: &BTreeSet<RecordIndex>,
    blobs: &dyn Blobs,
) -> Result<R, R::Error> {
    let mut last = RecordIndex::HEADER;
    run.keep_position(last);
    for chained in records {
        let chained = chained.map_err(NotTakenUp::Read)?;
        last = chained.index;
        run.take_back(&chained, blobs)?;
        if wanted.contains(&last) {
            run.keep_position(last);
        }
    }
    // The state that was folded must be the one the last record names: everything before hangs on it.
    match run.book().check_end() {
        Ok(()) => Ok(run),
        Err((folded, claimed)) => {
            let reason = format!("the state hashes to {folded}, the record says {claimed}");
            Err(NotTakenUp::OtherEnd { index: last, reason }.into())
        }
    }
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
