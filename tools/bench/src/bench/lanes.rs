//! Hashing records side by side, against hashing them one by one.

use hence_canon::{Digest, Message, digest_each};

use crate::measure::compare;
use crate::table::{Row, Table};
use crate::{Error, sample};

/// As many records as the verifier hashes together.
const RECORDS: usize = 256;

pub(crate) fn run(table: &mut Table) -> Result<(), Error> {
    let journal = sample::journal(sample::trivial_steps(RECORDS)?)?;
    let lines = journal.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let messages: Vec<Message<'_>> = lines.map(|line| line.split_at(line.len() / 8).into()).collect();
    let together = |()| {
        let mut digests = Vec::with_capacity(messages.len());
        digest_each(&messages, &mut digests);
        digests
    };
    let alone = || messages.iter().map(|message| Digest::of_parts(*message)).collect::<Vec<_>>();
    let compared = compare(|| (), together, alone);
    table.push(Row {
        path: "record hashes, three side by side, speed / one by one".to_owned(),
        figure: Some(compared.ratio.recip()),
        unit: "×",
        budget: None,
        detail: format!(
            "{:.0?} against {:.0?} for {} records",
            compared.subject,
            compared.baseline,
            messages.len()
        ),
    });
    Ok(())
}
